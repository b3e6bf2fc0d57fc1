/* Rung `fused`, for volumes: which walk serves an op on a grid.
 *
 * Known as: temporal blocking with overlapped tiling (trapezoid, redundant computation at the halo).
 * Idea: several steps a pass over memory: a block streams along the planes and carries each sample through
 *   all levels.
 * Adds: levels, each two registers a sample, and one barrier a plane for all of them; from 9.0 on, for plain
 *   grids, a barrier that warps pass before they wait at it, planes that arrive as TMA boxes, and edges
 *   outside the loop. cuda_fused_star1.cu has this walk, cuda_fused_star2.cu and cuda_fused_box27.cu those
 *   of larger stencils, cuda_fused_star_any.cuh that of all other grids and devices.
 * Costs: a halo of the taps' reach a level around each tile is computed for nothing; all registers there
 *   are.
 * Traffic per sample: 2 words through memory a pass, divided by the steps of the pass.
 * Wins when: a stage has more than one step. */
#include "cuda_fused.h"
#include "cuda_plane.cuh"
#include "cuda_fused_star_any.cuh"

#define FUSED_MOST_STEPS 4

/* Walks whose planes come as TMA boxes: they serve plain grids, on devices with TMA. */
static const struct fused_walk *const fused_walks[] = {&fused_star1, &fused_box27, &fused_star2};

/* Warps of a block, which is alone on a multiprocessor: occupancy against registers. Many warps of few rows
   beat few warps of many rows, since some compute while others wait. Twelve warps leave a thread 168
   registers; ten leave it the 204 that a form needs which keeps planes. Eight leave it all 255, and four
   levels of their tile fit into 96 KiB of shared memory. */
static constexpr int fused_warps(bool crowded, bool keeps)
{
    return !crowded ? 8 : keeps ? 10 : 12;
}

/* Rows of a thread. */
static constexpr int fused_rows(bool crowded, int levels)
{
    return crowded && levels == 4 ? 3 : 4;
}

template <typename T, bool Crowded, int FusedSteps, bool Full, bool Keeps>
using fused_form = star_form<T, 16 / static_cast<int>(sizeof(T)), fused_rows(Crowded, FusedSteps),
                             fused_warps(Crowded, Keeps), FusedSteps, Full, Keeps>;

template <typename T, int FusedSteps, bool Full, bool Keeps, typename Act>
static auto fused_choose_kind(int code, Act act)
{
    return star_is_crowded(code, Keeps) ? act(fused_form<T, true, FusedSteps, Full, Keeps>())
                                        : act(fused_form<T, false, FusedSteps, Full, Keeps>());
}

/* Call act with the form that an op and a number of steps, at least two, need. */
template <typename T, int FusedSteps, typename Act>
static auto fused_choose(int code, const struct op *op, Act act)
{
    if (!cuda_is_star(op, 1))
        return fused_choose_kind<T, FusedSteps, false, true>(code, act);
    if (star_keeps(op))
        return fused_choose_kind<T, FusedSteps, true, true>(code, act);
    return fused_choose_kind<T, FusedSteps, true, false>(code, act);
}

template <typename T, typename Act>
static auto fused_choose_levels(int code, const struct op *op, int steps, Act act)
{
    switch (steps) {
    case 2:
        return fused_choose<T, 2>(code, op, act);
    case 3:
        return fused_choose<T, 3>(code, op, act);
    default:
        return fused_choose_kind<T, 4, true, false>(code, act);
    }
}

/* The walk that serves an op on a grid, or NULL. */
static const struct fused_walk *fused_find(const struct cuda_limits *limits, const struct op *op,
                                           const struct shape *shape)
{
    for (const struct fused_walk *walk : fused_walks) {
        if (walk->serves(limits, op, shape))
            return walk;
    }
    return NULL;
}

/* Settle the star's walk with as many steps as shared memory allows. A form that keeps planes, because of the
   edge rule or since the op has not all taps of the star, has no registers for a fourth. */
template <typename T>
static bool fused_shape_of_star(const struct cuda_question *asked, int wished, struct cuda_form *form)
{
    const int most = !cuda_is_star(asked->op, 1) || star_keeps(asked->op) ? 3 : FUSED_MOST_STEPS;
    int steps = wished < most ? wished : most;
    const auto shared_bytes = [&] {
        return fused_choose_levels<T>(asked->limits->code, asked->op, steps,
                                      [](auto chosen) { return decltype(chosen)::SharedBytes; });
    };

    /* Fewer levels take less shared memory. */
    while (steps > 2 && shared_bytes() > asked->limits->shared_per_block)
        steps--;
    if (!star_serves(asked, shared_bytes()))
        return false;
    fused_choose_levels<T>(asked->limits->code, asked->op, steps, [&](auto chosen) {
        using chosen_form = decltype(chosen);
        cuda_march_describe<chosen_form>(asked, form, star_kernel<chosen_form>, asked->op->edge == EDGE_WRAP);
    });
    return true;
}

template <typename T> static bool fused_shape(const struct cuda_question *asked, struct cuda_form *form)
{
    const int wished = asked->wish->steps > 0 ? asked->wish->steps : FUSED_MOST_STEPS;
    const struct fused_walk *walk = fused_find(asked->limits, asked->op, asked->shape);

    if (wished == 1)
        return cuda_refuse(asked->refusal, "it needs more than one step a pass");
    if (cuda_is_beyond_32_bits(asked)) /* rung plane takes a single step that is left */
        return false;
    if (walk == NULL || wished < walk->steps)
        return fused_shape_of_star<T>(asked, wished, form);
    walk->describe(asked, form);
    form->most_first = true;
    if (asked->wish->rung == NULL && walk->pays != NULL && !walk->pays(asked, form))
        return cuda_refuse(asked->refusal, "single steps should be faster");
    return true;
}

/* Fewer steps than a pass takes are left at a run's end: the star's walk takes them, or, one by one, rung
   plane. */
template <typename T> static cudaError_t fused_launch(const struct cuda_job *job)
{
    const struct shape shape = cuda_shape_of(job);
    const struct fused_walk *walk = fused_find(job->limits, job->op->op, &shape);

    if (job->steps == 1)
        return cuda_plane_step(job, job->form->resident_blocks > 0 ? job->limits->multiprocessors : 0);
    if (walk != NULL && job->steps == walk->steps)
        return walk->launch(job);
    return fused_choose_levels<T>(job->limits->code, job->op->op, job->steps,
                                  [&](auto chosen) { return star_launch<decltype(chosen)>(job); });
}

CUDA_RUNG(fused, false, true, false);
