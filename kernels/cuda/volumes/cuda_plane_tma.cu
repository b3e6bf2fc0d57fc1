/* The walk of rung `plane` by boxes: the stars of radius 1 and 2. */
#include "cuda_plane_tma.h"
#include "cuda_plane_tma.cuh"

/* Tiles of sixteen warps, as high as the ring has room for. */
template <typename T> using seven_form = plane_tma_form<T, STEP_STAR, 1, 4, 2, 8, 2>;
template <typename T> using thirteen_form = plane_tma_form<T, STEP_STAR, 2, 3, 2, 8, 2>;

template <typename T, typename Act> static auto choose(const struct op *op, Act act)
{
    return cuda_is_star1(op) ? act(seven_form<T>()) : act(thirteen_form<T>());
}

/* Call act with the form that a stencil needs. */
template <typename Act> static auto dispatch(const struct op *op, Act act)
{
    return op->work == WORK_F32 ? choose<float>(op, act) : choose<double>(op, act);
}

bool cuda_plane_tma_serves(const struct cuda_limits *limits, const struct op *op, size_t nx, size_t rows,
                           size_t planes)
{
    return (cuda_is_star1(op) || cuda_is_star2(op)) && dispatch(op, [&](auto chosen) {
               return plane_tma_serves<decltype(chosen)>(limits, op, nx, rows, planes);
           });
}

void cuda_plane_tma_describe(const struct cuda_question *asked, struct cuda_form *form)
{
    dispatch(asked->op, [&](auto chosen) { step_describe<decltype(chosen)>(asked, form); });
}

cudaError_t cuda_plane_tma_launch(const struct cuda_job *job, int residents)
{
    return dispatch(job->op->op,
                    [&](auto chosen) { return plane_tma_launch<decltype(chosen)>(job, residents); });
}
