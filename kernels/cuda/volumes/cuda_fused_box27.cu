/* The cube of rung `fused`: all 27 taps of the 3×3×3 cube by cuda_fused_box27.cuh. */
#include "cuda_fused_box27.cuh"
#include "cuda_fused.h"

#define STEPS 2

/* The share of its peak that an H200 reaches. */
#define REACHED 0.6

/* Twelve warps leave a thread 168 registers, which f64 fills. */
template <typename T, bool Plain>
using form_of = std::conditional_t<sizeof(T) == sizeof(float), box27_form<T, 4, 12, STEPS, Plain>,
                                   box27_form<T, 6, 8, STEPS, Plain>>;

template <typename T, typename Act> static auto choose_kind(const struct op *op, size_t nx, Act act)
{
    return tma_rule_of(op, 1) == TMA_NEAREST && nx % cuda_pack_of<T>::samples == 0 ? act(form_of<T, true>())
                                                                                   : act(form_of<T, false>());
}

/* Call act with the form that an op needs on rows of nx samples. */
template <typename Act> static auto choose(const struct op *op, size_t nx, Act act)
{
    return op->work == WORK_F32 ? choose_kind<float>(op, nx, act) : choose_kind<double>(op, nx, act);
}

static bool serves(const struct cuda_limits *limits, const struct op *op, size_t nx, size_t rows,
                   size_t planes)
{
    return cuda_is_full_box(op) && tma_has_edges(op, 1, nx, planes) &&
           choose(op, nx, [&](auto form) { return tma_serves<decltype(form)>(limits, rows); });
}

static void describe(const struct cuda_question *asked, struct cuda_form *form)
{
    choose(asked->op, asked->shape->nx, [&](auto chosen) { tma_describe<decltype(chosen)>(asked, form); });
    form->reached = REACHED;
}

static cudaError_t launch(const struct cuda_job *job)
{
    return choose(job->op->op, cuda_march_extents(job).nx,
                  [&](auto chosen) { return tma_launch<decltype(chosen)>(job); });
}

extern const struct fused_walk fused_box27 = {STEPS, serves, describe, NULL, launch};
