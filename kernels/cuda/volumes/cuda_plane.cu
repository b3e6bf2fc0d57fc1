/* Rung `plane`.
 *
 * Idea: one step at the speed of copying: a block streams along the planes, and its tile begins and ends with
 *   the lines of the memory.
 * Adds: planes ahead by asynchronous copies, 16 bytes an access; x neighbours by warp shuffle; open sums
 *   instead of a window of planes; edge rules in what is fetched, so that no tile is slower than another.
 * Costs: a row above and below a tile, and a sector on either side, are read again, from L2.
 * Traffic per sample: 2 words through memory.
 * Wins when: one step of a small stencil is all that is asked for.
 *
 * cuda_plane.cuh has the walk for any device and edge rule, cuda_plane_tma.cuh a faster one for devices that
 * fetch boxes. */
#include "cuda_plane.cuh"
#include "cuda_plane.h"
#include "cuda_plane_tma.h"

enum plane_stencil { PLANE_NOT, PLANE_SEVEN, PLANE_THIRTEEN, PLANE_TWENTYSEVEN, PLANE_FEWER };

static bool is_in_box(const struct op *op)
{
    for (size_t k = 0; k < op->tap_count; k++) {
        if (cuda_box_index(&op->taps[k]) < 0)
            return false;
    }
    return true;
}

static enum plane_stencil stencil_of(const struct op *op)
{
    if (!is_in_box(op))
        return cuda_is_star2(op) ? PLANE_THIRTEEN : PLANE_NOT;
    return cuda_is_star1(op) ? PLANE_SEVEN : op->tap_count == 27 ? PLANE_TWENTYSEVEN : PLANE_FEWER;
}

/* Few rows and many warps are fastest where registers allow. */
template <typename T, typename Act> static auto choose_seven(int code, Act act)
{
    if constexpr (sizeof(T) == sizeof(double)) {
        (void)code;
        return act(plane_form<T, STEP_STAR, 1, 4, 2, 8, 1, 3>());
    } else {
        return plane_is_asynchronous(code)
                   ? act(plane_form<T, STEP_STAR, 1, 2, 2, 16, 1, 3, PLANE_ASYNCHRONOUS_CODE>())
                   : act(plane_form<T, STEP_STAR, 1, 4, 2, 8, 1, 3, PLANE_SYNCHRONOUS_CODE>());
    }
}

/* Call act with the form that a stencil needs. */
template <typename T, typename Act> static auto choose(int code, enum plane_stencil stencil, Act act)
{
    switch (stencil) {
    case PLANE_SEVEN:
        return choose_seven<T>(code, act);
    case PLANE_THIRTEEN:
        return act(plane_form<T, STEP_STAR, 2, 4, 2, 6, 1, 4>());
    case PLANE_TWENTYSEVEN:
        return act(plane_form<T, STEP_BOX, 1, 4, 2, 8, 1, 3>());
    default:
        return act(plane_form<T, STEP_SOME, 1, 3, 2, 8, 1, 3>());
    }
}

template <typename Act> static auto dispatch(const struct cuda_limits *limits, const struct op *op, Act act)
{
    return op->work == WORK_F32 ? choose<float>(limits->code, stencil_of(op), act)
                                : choose<double>(limits->code, stencil_of(op), act);
}

static bool plane_shape(const struct cuda_question *asked, struct cuda_form *form)
{
    if (!cuda_is_chain(asked->op))
        return cuda_refuse(asked->refusal,
                           "only linear taps: the chain of a flux, a reaction or a gradient is not one");
    if (asked->op->tap_count == 0)
        return cuda_refuse(asked->refusal, "no taps");
    if (stencil_of(asked->op) == PLANE_NOT)
        return cuda_refuse(asked->refusal, "taps lie outside the 3x3x3 box, and are no star of radius 2");
    if (asked->shape->rows == 1)
        return cuda_refuse(asked->refusal, "planes of one row: a picture's rungs serve it");
    if (cuda_plane_tma_serves(asked->limits, asked->op, asked->shape->nx, asked->shape->rows,
                              asked->shape->planes)) {
        cuda_plane_tma_describe(asked, form);
        return true;
    }
    dispatch(asked->limits, asked->op, [&](auto chosen) { step_describe<decltype(chosen)>(asked, form); });
    if (form->shared_bytes > asked->limits->shared_per_block)
        return cuda_refuse(asked->refusal, "takes %zu bytes of shared memory a block, the device has %zu",
                           form->shared_bytes, asked->limits->shared_per_block);
    return true;
}

cudaError_t cuda_plane_step(const struct cuda_job *job, int multiprocessors)
{
    const struct op *op = job->op->op;
    const struct cuda_march_grid grid = cuda_march_extents(job);

    if (cuda_plane_tma_serves(job->limits, op, grid.nx, grid.rows, grid.planes))
        return cuda_plane_tma_launch(job, multiprocessors);
    return dispatch(job->limits, op, [&](auto chosen) {
        using form = decltype(chosen);
        return plane_launch<form>(job, multiprocessors * form::Blocks);
    });
}

static cudaError_t plane_start(const struct cuda_job *job)
{
    return cuda_plane_step(job, job->form->resident_blocks > 0 ? job->limits->multiprocessors : 0);
}

extern const struct cuda_rung cuda_rung_plane = {
    false, true, false, plane_shape, plane_start,
};
