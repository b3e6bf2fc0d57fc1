/* The ladder: every rung that the CUDA backend has, and the order in which rungs are tried for an op. Fast
 * rungs that serve few ops come first, then those that serve more; `naive` serves all but bilateral windows.
 * The textbook rungs at the end are there to be asked for by name, and for --bench. */
#include "kernels/cuda/shared/cuda_rung.h"

extern const struct cuda_rung cuda_rung_naive, cuda_rung_pointwise, cuda_rung_tile, cuda_rung_march,
    cuda_rung_register, cuda_rung_plane, cuda_rung_fused, cuda_rung_fused_2d, cuda_rung_strip, cuda_rung_axis,
    cuda_rung_separable_2d, cuda_rung_separable_3d, cuda_rung_resident, cuda_rung_faces, cuda_rung_rank,
    cuda_rung_median, cuda_rung_bilateral;

/* Each name once, and its index in cuda_rungs. */
#define RUNGS(RUNG)                                                                                          \
    RUNG(NAIVE, "naive", "one thread a sample")                                                              \
    RUNG(TILE, "tile", "a tile with its halo in shared memory")                                              \
    RUNG(MARCH, "march", "a walk along the planes, those in reach in shared memory")                         \
    RUNG(REGISTER, "register", "a walk along the planes, each thread's column in registers")                 \
    RUNG(PLANE, "plane", "one step of a volume, streamed along the planes")                                  \
    RUNG(STRIP, "strip", "one step of a picture or of a volume's planes, the sums in registers")             \
    RUNG(PASSES, "passes", "taps or extremes of one axis")                                                   \
    RUNG(FUSED, "fused", "several steps a pass over memory")                                                 \
    RUNG(RESIDENT, "resident", "hundreds of steps of a small volume, in registers")

#define RUNG_INDEX(index, name, summary) index,
#define RUNG_ROW(index, name, summary)   {name, summary},

enum { RUNGS(RUNG_INDEX) };

const struct rung cuda_rungs[] = {RUNGS(RUNG_ROW){NULL, NULL}};

/* Name, rung, grids, ops, steps of a pass. */
const struct cuda_ladder_entry cuda_ladder[] = {
    {&cuda_rungs[PASSES], &cuda_rung_separable_3d, CUDA_VOLUMES, CUDA_PASSES, CUDA_ANY_STEPS},
    {&cuda_rungs[PASSES], &cuda_rung_separable_2d, CUDA_GRIDS, CUDA_PASSES, CUDA_ANY_STEPS},
    {&cuda_rungs[PLANE], &cuda_rung_faces, CUDA_VOLUMES, CUDA_OTHERS, CUDA_ANY_STEPS},
    {&cuda_rungs[STRIP], &cuda_rung_faces, CUDA_PICTURES, CUDA_OTHERS, CUDA_ANY_STEPS},
    {&cuda_rungs[PLANE], &cuda_rung_median, CUDA_VOLUMES, CUDA_OTHERS_MISSING, CUDA_ANY_STEPS},
    {&cuda_rungs[STRIP], &cuda_rung_median, CUDA_PICTURES, CUDA_OTHERS_MISSING, CUDA_ANY_STEPS},
    {&cuda_rungs[PASSES], &cuda_rung_axis, CUDA_GRIDS, CUDA_OTHERS, CUDA_ANY_STEPS},
    {&cuda_rungs[NAIVE], &cuda_rung_rank, CUDA_GRIDS, CUDA_OTHERS_MISSING, CUDA_ANY_STEPS},
    {&cuda_rungs[STRIP], &cuda_rung_bilateral, CUDA_GRIDS, CUDA_OTHERS_MISSING, CUDA_ANY_STEPS},
    {&cuda_rungs[STRIP], &cuda_rung_strip, CUDA_VOLUMES, CUDA_CHAINS, CUDA_ANY_STEPS},
    {&cuda_rungs[PLANE], &cuda_rung_plane, CUDA_VOLUMES, CUDA_ALL_OPS, CUDA_ONE_STEP},
    {&cuda_rungs[PASSES], &cuda_rung_axis, CUDA_GRIDS, CUDA_ALL_OPS, CUDA_ONE_STEP},
    {&cuda_rungs[STRIP], &cuda_rung_strip, CUDA_PICTURES, CUDA_ALL_OPS, CUDA_ONE_STEP},
    {&cuda_rungs[RESIDENT], &cuda_rung_resident, CUDA_VOLUMES, CUDA_CHAINS, CUDA_SEVERAL_STEPS},
    {&cuda_rungs[FUSED], &cuda_rung_fused, CUDA_VOLUMES, CUDA_ALL_OPS, CUDA_ANY_STEPS},
    {&cuda_rungs[FUSED], &cuda_rung_fused_2d, CUDA_PICTURES, CUDA_ALL_OPS, CUDA_ANY_STEPS},
    {&cuda_rungs[PLANE], &cuda_rung_plane, CUDA_VOLUMES, CUDA_ALL_OPS, CUDA_ANY_STEPS},
    {&cuda_rungs[PASSES], &cuda_rung_axis, CUDA_GRIDS, CUDA_ALL_OPS, CUDA_ANY_STEPS},
    {&cuda_rungs[STRIP], &cuda_rung_strip, CUDA_PICTURES, CUDA_ALL_OPS, CUDA_ANY_STEPS},
    {&cuda_rungs[TILE], &cuda_rung_tile, CUDA_VOLUMES, CUDA_LONG_OPS, CUDA_ANY_STEPS},
    {&cuda_rungs[NAIVE], &cuda_rung_pointwise, CUDA_GRIDS, CUDA_EVERY_OP, CUDA_ANY_STEPS},
    {&cuda_rungs[NAIVE], &cuda_rung_naive, CUDA_GRIDS, CUDA_EVERY_OP, CUDA_ANY_STEPS},
    {&cuda_rungs[TILE], &cuda_rung_tile, CUDA_GRIDS, CUDA_EVERY_OP, CUDA_ANY_STEPS},
    {&cuda_rungs[MARCH], &cuda_rung_march, CUDA_GRIDS, CUDA_EVERY_OP, CUDA_ANY_STEPS},
    {&cuda_rungs[REGISTER], &cuda_rung_register, CUDA_GRIDS, CUDA_EVERY_OP, CUDA_ANY_STEPS},
    {NULL, NULL, CUDA_GRIDS, CUDA_ALL_OPS, CUDA_ANY_STEPS},
};
