/* Sums: the changes of steps, and the statistics of samples. */
#ifndef CPU_SUMS_H
#define CPU_SUMS_H

#include "kernels/backend.h"

extern const struct rung cpu_sums_rungs[];

/* The seam's functions of these names; settle is settle_sums. */
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
