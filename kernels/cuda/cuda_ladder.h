/* The ladder: every rung that the CUDA backend has. */
#ifndef CUDA_LADDER_H
#define CUDA_LADDER_H

#include "cuda_rung.h"

/* In the order in which they are tried for an op: the first that applies is taken. Ends with NULL. A name may stand
   twice, once for volumes and once for pictures. */
extern const struct cuda_rung *const cuda_ladder[];

/* Each name once, in the order in which the ladder is climbed by a reader. Ends with a rung without name. */
extern const struct rung cuda_rungs[];

#endif
