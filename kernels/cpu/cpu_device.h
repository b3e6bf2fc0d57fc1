/* The CPU as a device: loops chosen for its instruction set, threads, and its stopwatch. */
#ifndef CPU_DEVICE_H
#define CPU_DEVICE_H

#include "kernels/backend.h"
#include "cpu_kernels.h"

/* The kernels built for one instruction set. */
struct cpu_build {
    const char *name;
    const struct cpu_kernels *kernels[2]; /* by work type */
};

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
struct cpu_threads cpu_device_threads(const struct device *device, size_t samples);

/* Large pages, where the system has them, for memory that is swept in strides: a page of the usual size holds
   a row or two. Nothing is lost where the advice is not taken. */
void cpu_device_advise_large_pages(void *memory, size_t bytes);

#endif
