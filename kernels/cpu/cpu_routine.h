/* Routines: ops by a rung and an engine, settled, prepared and run. */
#ifndef CPU_ROUTINE_H
#define CPU_ROUTINE_H

#include "kernels/backend.h"

extern const struct rung cpu_routine_rungs[];

/* The seam's functions of these names. */
void cpu_routine_release(struct device *device, struct routine *routine);
bool cpu_routine_settle(const struct device *device, const struct op *op, const struct shape *shape,
                        const struct rung_wish *wish, struct form *form, struct fault *fault);
bool cpu_routine_prepare(struct device *device, const struct form *form, struct routine **result,
                         struct fault *fault);
bool cpu_routine_advance(struct device *device, struct routine *routine, unsigned steps,
                         const struct field *from, const struct field *kept, struct field *to,
                         struct range planes, struct fault *fault);

#endif
