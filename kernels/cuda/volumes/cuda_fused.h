/* The walks of rung `fused` through volumes whose planes come as TMA boxes. Each serves some ops on some
 * grids, with one number of steps in a pass; cuda_fused.cu asks them in turn. */
#ifndef CUDA_FUSED_H
#define CUDA_FUSED_H

#include "kernels/cuda/shared/cuda_rung.h"

struct fused_walk {
    int steps; /* in a pass */

    bool (*serves)(const struct cuda_limits *limits, const struct op *op, const struct shape *shape);

    /* Fill in the form for an op that it serves. */
    void (*describe)(const struct cuda_question *asked, struct cuda_form *form);

    /* Whether a pass should be faster than as many single steps; or NULL: always. */
    bool (*pays)(const struct cuda_question *asked, const struct cuda_form *form);
    cudaError_t (*launch)(const struct cuda_job *job);
};

extern const struct fused_walk fused_star1, fused_box27, fused_star2;

#endif
