/* The ladder: every rung that the CUDA backend has. */
#ifndef CUDA_LADDER_H
#define CUDA_LADDER_H

#include "kernels/cuda/shared/cuda_rung.h"

enum cuda_grids { CUDA_VOLUMES = 1, CUDA_PICTURES = 2, CUDA_GRIDS = CUDA_VOLUMES | CUDA_PICTURES };

/* Chains of at most CUDA_SHORT_CHAIN taps, and longer ones, whose kernels know their taps; other ops, which
   one filter serves; and OP_PASSES. */
enum cuda_ops {
    CUDA_SHORT_CHAINS = 1,
    CUDA_LONG_CHAINS = 2,
    CUDA_CHAINS = CUDA_SHORT_CHAINS | CUDA_LONG_CHAINS,
    CUDA_OTHERS = 4,
    CUDA_LONG_OPS = CUDA_LONG_CHAINS | CUDA_OTHERS,
    CUDA_ALL_OPS = CUDA_CHAINS | CUDA_OTHERS,
    CUDA_PASSES = 8
};

#define CUDA_SHORT_CHAIN 7

/* Passes that an entry is for: of one step alone; of any number; or of several, beside which no single step
   is faster. */
enum cuda_steps { CUDA_ONE_STEP, CUDA_ANY_STEPS, CUDA_SEVERAL_STEPS };

/* An entry of the ladder: a rung and what it is tried for. A name may stand for several rungs, as for
 * those of volumes and of pictures (fused), and a rung may have several entries, even under several names
 * (faces). */
struct cuda_ladder_entry {
    const struct rung *name; /* of cuda_rungs */
    const struct cuda_rung *rung;
    enum cuda_grids grids;
    enum cuda_ops ops;
    enum cuda_steps steps;
};

/* In the order in which they are tried for an op: the first that applies is taken. Ends with an entry without
 * rung. */
extern const struct cuda_ladder_entry cuda_ladder[];

/* Each name once, in the order in which the ladder is climbed by a reader. Ends with a rung without name. */
extern const struct rung cuda_rungs[];

#endif
