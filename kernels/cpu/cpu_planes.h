/* Planes in the memory of the process: fields, and how planes of files come into them and leave. */
#ifndef CPU_PLANES_H
#define CPU_PLANES_H

#include "kernels/backend.h"

/* The seam's functions of these names. */
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

#endif
