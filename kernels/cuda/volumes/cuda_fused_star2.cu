/* The wide walk of rung `fused`: the star of radius 2 by cuda_fused_star2.cuh. */
#include "cuda_fused.h"
#include "cuda_fused_star2.cuh"

#define STEPS 2

/* Eight warps leave a thread all registers. Of five rows four are a neighbour's, too; the fifth is done while
   others arrive. */
template <typename T> using form_of = star2_form<T, 5, 8, STEPS>;

/* Call act with the form that an op needs. */
template <typename Act> static auto choose(const struct op *op, Act act)
{
    return op->work == WORK_F32 ? act(form_of<float>()) : act(form_of<double>());
}

static bool serves(const struct cuda_limits *limits, const struct op *op, size_t nx, size_t rows,
                   size_t planes)
{
    const enum tma_rule rule = tma_rule_of(op, 2);

    return cuda_is_star2(op) && tma_has_edges(op, 2, nx, planes) &&
           (rule == TMA_NEAREST || rule == TMA_REFLECT) && choose(op, [&](auto chosen) {
               using form = decltype(chosen);
               return nx % form::Pack == 0 && tma_serves<form>(limits, rows);
           });
}

static void describe(const struct cuda_question *asked, struct cuda_form *form)
{
    choose(asked->op, [&](auto chosen) { tma_describe<decltype(chosen)>(asked, form); });
}

/* Columns that tiles have outside the grid, and planes that two chunks walk, are wasted work. In f32, single
   steps are as fast as passes of two steps that waste a third of their work; in f64, they are slower. */
static bool pays(const struct cuda_question *asked, const struct cuda_form *form)
{
    const double columns = static_cast<double>(cuda_ceil_divide(asked->shape->nx, form->tile_x)) *
                           form->tile_x / static_cast<double>(asked->shape->nx);
    const double planes = 1 + 2.0 * STEPS * form_of<float>::Radius / form->coarsen;

    return asked->op->work != WORK_F32 || columns * planes < 1.5;
}

static cudaError_t launch(const struct cuda_job *job)
{
    return choose(job->op->op, [&](auto chosen) { return tma_launch<decltype(chosen)>(job); });
}

extern const struct fused_walk fused_star2 = {STEPS, serves, describe, pays, launch};
