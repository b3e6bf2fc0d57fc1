/* The relay of rung `fused`: the seven-point star by cuda_fused_star1.cuh. */
#include "cuda_fused.h"
#include "cuda_fused_star1.cuh"

#define STEPS 4

/* Many warps of few rows beat few of many: the waits of one are filled by others. Twelve leave a thread 168
   registers. These hold two planes of each of four levels of four rows, but not what a mirror, rows that end
   within a pack, or a constant in f64 need as well. If the inner rows are read again, all but the last fit.
   To read all rows again is slower. */
template <typename T, enum tma_rule Rule, int Rest> static constexpr enum star1_rereads rereads_of()
{
    if (Rule == TMA_CONSTANT)
        return sizeof(T) == sizeof(double) ? STAR1_ALL_ROWS : STAR1_NO_ROW;
    return Rule == TMA_MIRROR || Rest > 0 ? STAR1_INNER_ROWS : STAR1_NO_ROW;
}

template <typename T, enum tma_rule Rule, int Rest>
using form_of = star1_form<T, 4, 12, STEPS, Rule, Rest, rereads_of<T, Rule, Rest>()>;

template <typename T, enum tma_rule Rule, typename Act> static auto choose_rows(size_t nx, Act act)
{
    if constexpr (sizeof(T) == sizeof(float)) {
        switch (nx % 4) {
        case 2:
            return act(form_of<T, Rule, 2>());
        case 3:
            return act(form_of<T, Rule, 3>());
        }
    }
    return nx % cuda_pack_of<T>::samples == 0 ? act(form_of<T, Rule, 0>()) : act(form_of<T, Rule, 1>());
}

/* A constant beside rows that end within a pack has no form: what ptxas 13.0 made of it read shared memory
   where the source does not. */
template <typename T, typename Act> static auto choose_rule(const struct op *op, size_t nx, Act act)
{
    switch (tma_rule_of(op, 1)) {
    case TMA_MIRROR:
        return choose_rows<T, TMA_MIRROR>(nx, act);
    case TMA_CONSTANT:
        return act(form_of<T, TMA_CONSTANT, 0>());
    default:
        return choose_rows<T, TMA_NEAREST>(nx, act);
    }
}

/* Call act with the form that an op needs on rows of nx samples. */
template <typename Act> static auto choose(const struct op *op, size_t nx, Act act)
{
    return op->work == WORK_F32 ? choose_rule<float>(op, nx, act) : choose_rule<double>(op, nx, act);
}

static bool serves(const struct cuda_limits *limits, const struct op *op, size_t nx, size_t rows,
                   size_t planes)
{
    return cuda_is_star1(op) && tma_has_edges(op, 1, nx, planes) && choose(op, nx, [&](auto chosen) {
               using form = decltype(chosen);
               return (form::Rest > 0 || nx % form::Pack == 0) && tma_serves<form>(limits, rows);
           });
}

static void describe(const struct cuda_question *asked, struct cuda_form *form)
{
    choose(asked->op, asked->shape->nx, [&](auto chosen) { tma_describe<decltype(chosen)>(asked, form); });
}

static cudaError_t launch(const struct cuda_job *job)
{
    return choose(job->op->op, cuda_march_extents(job).nx,
                  [&](auto chosen) { return tma_launch<decltype(chosen)>(job); });
}

extern const struct fused_walk fused_star1 = {STEPS, serves, describe, NULL, launch};
