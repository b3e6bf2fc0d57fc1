/* One step of rung `plane` by blocks that take few planes each (cuda_plane_tma.cuh), for what it serves. */
#ifndef CUDA_PLANE_TMA_H
#define CUDA_PLANE_TMA_H

#include "kernels/cuda/shared/cuda_rung.h"

bool cuda_plane_tma_serves(const struct cuda_limits *limits, const struct op *op, size_t nx, size_t rows,
                           size_t planes);

/* Of what is served. */
void cuda_plane_tma_describe(const struct cuda_question *asked, struct cuda_form *form);

/* `residents`: how many blocks the device runs at once, a multiprocessor one; 0 where the job's form settles
   the coarsening. */
cudaError_t cuda_plane_tma_launch(const struct cuda_job *job, int residents);

#endif
