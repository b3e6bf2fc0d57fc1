/* Rung `plane`: what its two walks share, which take one step, and what others ask of them.
 *
 * A form of either has what step_taps_of has; that of the boxes' walk has what cuda_march_common.cuh asks
 * for, too. */
#ifndef CUDA_PLANE_CUH
#define CUDA_PLANE_CUH

#include "kernels/cuda/shared/cuda_row_ring.cuh"
#include "kernels/cuda/shared/cuda_march_common.cuh"

/* One step by rung `plane`, for passes of another rung that have one step left. The op is one that the rung
   serves. `multiprocessors` is 0 where the job's form settles the coarsening. */
cudaError_t cuda_plane_step(const struct cuda_job *job, int multiprocessors);

/* The walk by TMA boxes (cuda_plane_tma.cu): whether it serves an op on a shape, how it does, and a launch.
   `multiprocessors` is 0 where the job's form settles the coarsening. */
bool cuda_plane_tma_serves(const struct cuda_limits *limits, const struct op *op, const struct shape *shape);
void cuda_plane_tma_describe(const struct cuda_question *asked, struct cuda_form *form);
cudaError_t cuda_plane_tma_launch(const struct cuda_job *job, int multiprocessors);

/* All taps along the axes; or those of a box that there are. */
enum step_taps { STEP_STAR, STEP_SOME };

/* The taps of a stencil, and their places in raster order. */
template <step_taps Taps_, int Radius_> struct step_taps_of {
    static constexpr enum step_taps Taps = Taps_;
    static constexpr int Radius = Radius_;
    static constexpr int FusedSteps = 1, Halo = 0;
    static constexpr int Span = 2 * Radius + 1;
    static constexpr int TapCount = Taps == STEP_STAR ? 6 * Radius + 1 : Span * Span * Span;

    static __host__ __device__ constexpr bool has(int dx, int drow, int dplane)
    {
        return Taps != STEP_STAR || (dx != 0) + (drow != 0) + (dplane != 0) <= 1;
    }
    static __host__ __device__ constexpr int row_index(int drow, int dplane)
    {
        return (dplane + Radius) * Span + drow + Radius;
    }
    static __host__ __device__ constexpr int index(int dx, int drow, int dplane)
    {
        if (Taps != STEP_STAR)
            return row_index(drow, dplane) * Span + dx + Radius;
        return dplane != 0 ? (dplane < 0 ? Radius : 5 * Radius) + dplane
               : drow != 0 ? (drow < 0 ? 2 : 4) * Radius + drow
                           : 3 * Radius + dx;
    }
};

#endif
