/* The CPU as a device: loops chosen for its instruction set, threads, and its stopwatch. */
#ifndef CPU_DEVICE_H
#define CPU_DEVICE_H

#include "kernels/backend.h"
#include "cpu_build.h"

struct device {
    const struct cpu_build *build;
    struct pool *pool;
    int threads;
    bool asked;  /* for just so many */
    double span; /* when it began */
    struct outcomes outcomes;
    struct extremes extremes;
};

/* Threads for so many samples: as many as were asked for, else no more than they are worth. */
struct cpu_crew cpu_device_crew(const struct device *device, size_t samples);

/* Large pages, where the system has them, for memory that is swept in strides: a page of the usual size holds
   a row or two. Nothing is lost where the advice is not taken. */
void cpu_device_advise_large_pages(void *memory, size_t bytes);

/* The seam's functions of these names. */
unsigned cpu_device_count(void);
void cpu_device_close(struct device *device);
bool cpu_device_open(struct device **result, const struct device_request *request, struct fault *fault);
bool cpu_device_describe(int index, char *text, size_t size);
void cpu_device_warm_up(int index);
struct forecast cpu_device_predict(const struct device_request *request, const struct op *op,
                                   const struct shape *shape, bool single);
uint64_t cpu_device_memory(const struct device *device);
bool cpu_device_begin_span(struct device *device, struct fault *fault);
bool cpu_device_end_span(struct device *device, double *seconds, struct fault *fault);
bool cpu_device_sync(struct device *device, double *seconds, struct fault *fault);
double cpu_device_multiply_adds(struct device *device, enum work_type work);

#endif
