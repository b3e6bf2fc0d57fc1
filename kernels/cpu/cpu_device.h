/* The CPU as a device: kernels chosen for its instruction set, and threads. And the functions of this backend
   that are not in cpu_backend.c: kernels/backend.h says what the seam's functions do. */
#ifndef CPU_DEVICE_H
#define CPU_DEVICE_H

#include "cpu_kernels.h"

/* The kernels built for one instruction set. */
struct cpu_build {
    const char *name;
    const struct cpu_kernels *kernels[2]; /* by work type */
    double times;                         /* as long as the fastest build takes, for forecasts */
};

struct device {
    const struct cpu_build *build;
    struct pool *pool;
    int threads;
    bool asked;               /* a user asked for just so many threads */
    double span;              /* when it began, in seconds of the clock */
    struct outcomes outcomes; /* of all uploads and downloads since they were last reported */
    struct extremes extremes; /* likewise of what was measured */
};

/* The build that runs here, or that VOXFILT_ISA names; NULL where that does not run. */
const struct cpu_build *cpu_device_build(void);

/* For forecasts: how many times as long a thread takes as one of the machine that they were measured on, to
   compute and to move samples. */
struct cpu_times {
    double computing, moving;
};
struct cpu_times cpu_device_times(const struct cpu_build *build, const struct op *op);

/* Threads for so many samples: as many as were asked for, else no more than they are worth. */
struct cpu_threads cpu_device_threads(const struct device *device, size_t samples);

/* cpu_device.c, for the seam. */
void cpu_device_close(struct device *device);
bool cpu_device_open(struct device **result, const struct device_request *request, struct fault *fault);
bool cpu_device_describe(int index, char *text, size_t size);
double cpu_device_multiply_adds(struct device *device, enum work_type work);

/* cpu_routine.c, for the seam: ops by a rung and an engine, settled, prepared and run. */
extern const struct rung cpu_routine_rungs[];
struct forecast cpu_routine_predict(const struct device_request *request, const struct op *op,
                                    const struct shape *shape, bool single);
void cpu_routine_release(struct device *device, struct routine *routine);
bool cpu_routine_settle(const struct device *device, const struct op *op, const struct shape *shape,
                        const struct rung_wish *wish, struct form *form, struct fault *fault);
bool cpu_routine_prepare(struct device *device, const struct form *form, struct routine **result,
                         struct fault *fault);
bool cpu_routine_advance(struct device *device, struct routine *routine, unsigned steps,
                         const struct field *from, const struct field *kept, struct field *to,
                         struct range planes, struct fault *fault);

#endif
