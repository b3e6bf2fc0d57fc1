/* The functions of this backend that the seam asks for, by the file that has them: kernels/backend.h says
 * what each does. */
#ifndef CPU_SEAM_H
#define CPU_SEAM_H

#include "kernels/backend.h"

/* cpu_device.c: the CPU, and its stopwatch. */
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

/* cpu_planes.c: fields, and what moves between them and files. */
size_t cpu_planes_bytes(const struct shape *shape, enum work_type work, size_t planes);
void cpu_planes_staging_destroy(struct device *device, struct staging *staging);
struct staging *cpu_planes_staging_create(struct device *device, size_t bytes, void *memory,
                                          struct fault *fault);
bool cpu_planes_staging_wait(struct device *device, struct staging *staging, double *seconds,
                             struct fault *fault);
void cpu_planes_destroy(struct device *device, struct field *field);
bool cpu_planes_create(struct device *device, struct field **result, const struct shape *shape,
                       enum work_type work, struct range planes, struct fault *fault);
bool cpu_planes_slide(struct device *device, struct field *field, size_t first, struct range keep,
                      struct fault *fault);
bool cpu_planes_upload(struct device *device, struct field *field, const struct encoding *encoding,
                       struct staging *staging, struct range planes, struct range counted,
                       struct fault *fault);
bool cpu_planes_download(struct device *device, const struct field *field, const struct encoding *encoding,
                         struct staging *staging, struct range planes, struct fault *fault);
bool cpu_planes_tell_outcomes(struct device *device, struct outcomes *outcomes, struct fault *fault);
bool cpu_planes_measure(struct device *device, const struct field *field, const struct encoding *encoding,
                        struct range planes, struct fault *fault);
bool cpu_planes_tell_extremes(struct device *device, struct extremes *extremes, struct fault *fault);
bool cpu_planes_copy(struct device *device, const struct field *from, struct field *to, struct fault *fault);

/* cpu_routine.c: ops by a rung and an engine, settled, prepared and run. */
extern const struct rung cpu_routine_rungs[];
void cpu_routine_release(struct device *device, struct routine *routine);
bool cpu_routine_settle(const struct device *device, const struct op *op, const struct shape *shape,
                        const struct rung_wish *wish, struct form *form, struct fault *fault);
bool cpu_routine_prepare(struct device *device, const struct form *form, struct routine **result,
                         struct fault *fault);
bool cpu_routine_advance(struct device *device, struct routine *routine, unsigned steps,
                         const struct field *from, const struct field *kept, struct field *to,
                         struct range planes, struct fault *fault);

/* cpu_sums.c: the changes of steps, and the statistics of samples; settle is settle_sums. */
extern const struct rung cpu_sums_rungs[];
bool cpu_sums_change(struct device *device, const struct field *a, const struct field *b, unsigned channels,
                     struct range planes, double *sums, struct fault *fault);
bool cpu_sums_tally(struct device *device, const struct encoding *encoding, const struct shape *shape,
                    const void *samples, size_t planes, struct tally *tallies, struct fault *fault);
size_t cpu_sums_tally_bytes(const struct shape *shape, size_t planes);
size_t cpu_sums_change_bytes(const struct shape *shape, size_t planes);
bool cpu_sums_settle(const struct device *device, const struct shape *shape, enum work_type work,
                     const struct rung_wish *wish, struct form *form, struct fault *fault);
void cpu_sums_add_by(struct device *device, const struct form *form);

#endif
