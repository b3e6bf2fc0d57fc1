/* The ladder: every rung that the CUDA backend has. */
#include "cuda_ladder.h"

extern const struct cuda_rung cuda_rung_naive, cuda_rung_tile, cuda_rung_march, cuda_rung_register,
    cuda_rung_plane, cuda_rung_fused, cuda_rung_fused2, cuda_rung_strip, cuda_rung_passes;

const struct cuda_ladder_place cuda_ladder[] = {
    {&cuda_rung_plane, CUDA_VOLUMES, CUDA_ALL_OPS, true},
    {&cuda_rung_passes, CUDA_GRIDS, CUDA_ALL_OPS, true},
    {&cuda_rung_strip, CUDA_PICTURES, CUDA_ALL_OPS, true},
    {&cuda_rung_fused, CUDA_VOLUMES, CUDA_ALL_OPS, false},
    {&cuda_rung_fused2, CUDA_PICTURES, CUDA_ALL_OPS, false},
    {&cuda_rung_plane, CUDA_VOLUMES, CUDA_ALL_OPS, false},
    {&cuda_rung_passes, CUDA_GRIDS, CUDA_ALL_OPS, false},
    {&cuda_rung_strip, CUDA_PICTURES, CUDA_ALL_OPS, false},
    {&cuda_rung_tile, CUDA_VOLUMES, CUDA_OTHERS, false},
    {&cuda_rung_naive, CUDA_GRIDS, CUDA_ALL_OPS, false},
    {&cuda_rung_tile, CUDA_GRIDS, CUDA_ALL_OPS, false},
    {&cuda_rung_march, CUDA_GRIDS, CUDA_ALL_OPS, false},
    {&cuda_rung_register, CUDA_GRIDS, CUDA_ALL_OPS, false},
    {NULL, CUDA_GRIDS, CUDA_ALL_OPS, false},
};

const struct rung cuda_rungs[] = {
    {"naive", "one thread a sample"},
    {"tile", "a tile with its halo in shared memory"},
    {"march", "a walk along the planes, those in reach in shared memory"},
    {"register", "a walk along the planes, each thread's column in registers"},
    {"plane", "one step of a volume, streamed along the planes"},
    {"strip", "one step of a picture: a warp streams down, the window's sums in registers"},
    {"passes", "taps of one axis"},
    {"fused", "several steps a pass over memory"},
    {NULL, NULL},
};
