/* Rungs of the CUDA ladder: the question that each is asked before it runs, the form that it answers with,
 * and the job that it then launches. */
#ifndef CUDA_RUNG_H
#define CUDA_RUNG_H

#include "kernels/backend.h"
#include "cuda_field.h"
#include "cuda_platform.h"

#include <stddef.h>

/* The limits of a device that decide what can be launched. */
struct cuda_limits {
    int multiprocessors;
    int threads_per_multiprocessor, blocks_per_multiprocessor;
    int registers_per_multiprocessor;
    size_t shared_per_block; /* with the opt-in */
    size_t shared_per_multiprocessor;
    int code;                /* the compute capability that the kernels it runs were compiled for, as 90 */
    double bytes_per_second; /* of its memory */
    double operations_per_second[2]; /* of all its lanes, by enum work_type; a multiply-add is two */
};

/* The wishes of a user; 0 or NULL leaves the choice to the rung. */
struct cuda_wish {
    const char *rung;
    int tile_x, tile_y;
    int coarsen; /* planes, rows or samples that a thread computes (thread coarsening) */
    int stride;  /* between these samples */
    int steps;   /* of a pass */
};

/* A wish as rungs read it. */
static inline struct cuda_wish cuda_wish_of(const struct rung_wish *wish)
{
    struct cuda_wish wished = {};

    wished.rung = wish->rung;
    wished.tile_x = static_cast<int>(wish->tile_x);
    wished.tile_y = static_cast<int>(wish->tile_y);
    wished.coarsen = static_cast<int>(wish->coarsen);
    wished.stride = static_cast<int>(wish->stride);
    wished.steps = static_cast<int>(wish->steps);
    return wished;
}

/* Why something cannot be, in one line. */
struct cuda_refusal {
    char text[160];
};

/* The question to a rung: how it would run an op on a shape as wished, on a device with these limits. */
struct cuda_question {
    const struct cuda_limits *limits;
    const struct op *op;
    const struct shape *shape;
    const struct cuda_wish *wish;
    struct cuda_refusal *refusal; /* filled in if it would not */
};

/* How a rung will be launched for an op on a shape. */
struct cuda_form {
    int tile_x, tile_y, tile_z; /* samples of a block's tile; 0 where it has none */
    int coarsen, stride = 1;
    int steps = 1;   /* the most steps one launch takes */
    bool most_first; /* as in struct form */
    int reach; /* planes on either side that a step reads, even if no tap needs them; 0: as far as the taps
                  reach */
    dim3 grid, block;
    size_t shared_bytes;
    int resident_blocks;     /* that the device runs at once, if the launch has to know it; else 0 */
    const void *kernel;      /* for cudaFuncGetAttributes and the occupancy calculator */
    double bytes_per_update; /* through device memory, as the card predicts */
    double operations_per_update;
    double reached; /* the share of its peak that the device reaches in the kernel, as measured; 0: as in
                       other kernels of the op */
    int depth;      /* steps between exchanges of blocks within a launch; 0: they exchange nothing */
    size_t scratch_bytes; /* of device memory that launches use, one after the other */
};

/* An op, and the arrays of it that kernels read in the device's memory. */
struct cuda_op {
    const struct op *op;
    const void *taps;    /* cuda_tap<T>[op->tap_count] */
    const void *outside; /* T[channels], or NULL */
};

/* One launch: planes of `to` from `from`, `steps` at once. Fields are cuda_view<T> of the op's work type. */
struct cuda_job {
    const struct cuda_limits *limits;
    const struct cuda_op *op;
    const struct cuda_form *form;
    const void *from, *kept, *to; /* const cuda_view<T> * */
    struct range planes;
    int steps;
    cudaStream_t stream;
    void *scratch; /* as many bytes as the form asks for */
};

struct cuda_rung {
    bool tiles, coarsens; /* whether a wish may choose its tile, its coarsening */
    bool mixes;           /* whether it serves ops that mix channels */

    /* By work type: settle the form, or say why this rung does not apply (or which limit a wish breaks). */
    bool (*shape[2])(const struct cuda_question *asked, struct cuda_form *form);
    cudaError_t (*launch[2])(const struct cuda_job *job);
};

/* The rung of the templates NAME_shape and NAME_launch. */
#define CUDA_RUNG(name, tiles, coarsens, mixes)                                                              \
    extern const struct cuda_rung cuda_rung_##name = {tiles,                                                 \
                                                      coarsens,                                              \
                                                      mixes,                                                 \
                                                      {name##_shape<float>, name##_shape<double>},           \
                                                      {name##_launch<float>, name##_launch<double>}}

/* ---- the ladder: every rung that the backend has (cuda_ladder.cu) ---- */

enum cuda_grids { CUDA_VOLUMES = 1, CUDA_PICTURES = 2, CUDA_GRIDS = CUDA_VOLUMES | CUDA_PICTURES };

/* Chains of at most CUDA_SHORT_CHAIN taps, and longer ones, whose kernels know their taps; other ops, which
   one filter serves; OP_PASSES; and ops whose neighbours may be missing. */
enum cuda_ops {
    CUDA_SHORT_CHAINS = 1,
    CUDA_LONG_CHAINS = 2,
    CUDA_CHAINS = CUDA_SHORT_CHAINS | CUDA_LONG_CHAINS,
    CUDA_OTHERS = 4,
    CUDA_LONG_OPS = CUDA_LONG_CHAINS | CUDA_OTHERS,
    CUDA_ALL_OPS = CUDA_CHAINS | CUDA_OTHERS,
    CUDA_PASSES = 8,
    CUDA_MISSING = 16,
    CUDA_OTHERS_MISSING = CUDA_OTHERS | CUDA_MISSING,
    CUDA_EVERY_OP = CUDA_ALL_OPS | CUDA_MISSING
};

#define CUDA_SHORT_CHAIN 7

/* The passes that an entry is for: of one step; of any number; or of several, where no rung of single steps
   is faster. */
enum cuda_steps { CUDA_ONE_STEP, CUDA_ANY_STEPS, CUDA_SEVERAL_STEPS };

/* An entry of the ladder: a rung and the grids, ops and passes that it is tried for. Several rungs may have
 * one name (fused: of volumes, of pictures), and a rung several entries, even under several names (faces). */
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

/* Each name once, in the order in which a reader climbs the ladder. Ends with a rung without name. */
extern const struct rung cuda_rungs[];

#endif
