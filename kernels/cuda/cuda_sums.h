/* Sums: the changes of steps, and the statistics of samples, as reductions give them. */
#ifndef CUDA_SUMS_H
#define CUDA_SUMS_H

#include "kernels/backend.h"

/* The seam's functions of these names; settle is settle_sums. */
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
