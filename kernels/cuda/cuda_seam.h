/* The functions of this backend that the seam asks for, by the file that has them: kernels/backend.h says
 * what each does. */
#ifndef CUDA_SEAM_H
#define CUDA_SEAM_H

#include "kernels/backend.h"

/* cuda_device.cu: a GPU, and its stopwatch. */
unsigned cuda_device_count(void);
bool cuda_device_describe(int index, char *text, size_t size);
bool cuda_device_reaches(int index, int other);
void cuda_device_warm_up(int index);
struct forecast cuda_device_predict(const struct device_request *request, const struct op *op,
                                    const struct shape *shape, bool single);
bool cuda_device_open(struct device **result, const struct device_request *request, struct fault *fault);
void cuda_device_close(struct device *device);
uint64_t cuda_device_memory(const struct device *device);
bool cuda_device_begin_span(struct device *device, struct fault *fault);
bool cuda_device_end_span(struct device *device, double *seconds, struct fault *fault);
bool cuda_device_sync(struct device *device, double *seconds, struct fault *fault);

/* cuda_planes.cu: fields; what moves between them and files; and planes that one GPU hands over to another.
 */
size_t cuda_planes_bytes(const struct shape *shape, enum work_type work, size_t planes);
bool cuda_planes_create(struct device *device, struct field **result, const struct shape *shape,
                        enum work_type work, struct range planes, struct fault *fault);
void cuda_planes_destroy(struct device *device, struct field *field);
bool cuda_planes_slide(struct device *device, struct field *field, size_t first, struct range keep,
                       struct fault *fault);
void cuda_planes_renumber(struct field *field, size_t planes, ptrdiff_t shift);
bool cuda_planes_copy(struct device *device, const struct field *from, struct field *to, struct fault *fault);
struct staging *cuda_planes_staging_create(struct device *device, size_t bytes, void *memory,
                                           struct fault *fault);
void cuda_planes_staging_destroy(struct device *device, struct staging *staging);
bool cuda_planes_staging_wait(struct device *device, struct staging *staging, double *seconds,
                              struct fault *fault);
bool cuda_planes_upload(struct device *device, struct field *field, const struct encoding *encoding,
                        struct staging *staging, struct range planes, struct range counted,
                        struct fault *fault);
bool cuda_planes_download(struct device *device, const struct field *field, const struct encoding *encoding,
                          struct staging *staging, struct range planes, struct fault *fault);
bool cuda_planes_tell_outcomes(struct device *device, struct outcomes *outcomes, struct fault *fault);
bool cuda_planes_measure(struct device *device, const struct field *field, const struct encoding *encoding,
                         struct range planes, struct fault *fault);
bool cuda_planes_tell_extremes(struct device *device, struct extremes *extremes, struct fault *fault);
bool cuda_planes_hand_over(struct device *device, struct field *from, struct range planes,
                           struct device *other, struct field *to, size_t first, struct fault *fault);
bool cuda_planes_tell_handings(struct device *device, double *seconds, struct fault *fault);

/* cuda_routine.cu: ops by a rung of the ladder, settled, prepared and run. */
bool cuda_routine_settle(const struct device *device, const struct op *op, const struct shape *shape,
                         const struct rung_wish *wish, struct form *form, struct fault *fault);
bool cuda_routine_prepare(struct device *device, const struct form *form, struct routine **result,
                          struct fault *fault);
void cuda_routine_release(struct device *device, struct routine *routine);
bool cuda_routine_advance(struct device *device, struct routine *routine, unsigned steps,
                          const struct field *from, const struct field *kept, struct field *to,
                          struct range planes, struct fault *fault);

/* cuda_sums.cu: the changes of steps, and the statistics of samples; settle is settle_sums. */
bool cuda_sums_change(struct device *device, const struct field *a, const struct field *b, unsigned channels,
                      struct range planes, double *sums, struct fault *fault);
bool cuda_sums_tally(struct device *device, const struct encoding *encoding, const struct shape *shape,
                     const void *samples, size_t planes, struct tally *tallies, struct fault *fault);
bool cuda_sums_settle(const struct device *device, const struct shape *shape, enum work_type work,
                      const struct rung_wish *wish, struct form *form, struct fault *fault);
void cuda_sums_add_by(struct device *device, const struct form *form);
size_t cuda_sums_tally_bytes(const struct shape *shape, size_t planes);
size_t cuda_sums_change_bytes(const struct shape *shape, size_t planes);

#endif
