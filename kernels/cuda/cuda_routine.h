/* Routines: ops by a rung of the ladder, settled, prepared and run. */
#ifndef CUDA_ROUTINE_H
#define CUDA_ROUTINE_H

#include "kernels/backend.h"

/* The seam's functions of these names. */
bool cuda_routine_settle(const struct device *device, const struct op *op, const struct shape *shape,
                         const struct rung_wish *wish, struct form *form, struct fault *fault);
bool cuda_routine_prepare(struct device *device, const struct form *form, struct routine **result,
                          struct fault *fault);
void cuda_routine_release(struct device *device, struct routine *routine);
bool cuda_routine_advance(struct device *device, struct routine *routine, unsigned steps,
                          const struct field *from, const struct field *kept, struct field *to,
                          struct range planes, struct fault *fault);

#endif
