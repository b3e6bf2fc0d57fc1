/* One step by rung `plane`, for passes of another rung that have one step left. */
#ifndef CUDA_PLANE_H
#define CUDA_PLANE_H

#include "kernels/cuda/shared/cuda_rung.h"

/* The op is one that the rung serves. `multiprocessors` is 0 where the job's form settles the coarsening. */
cudaError_t cuda_plane_step(const struct cuda_job *job, int multiprocessors);

#endif
