/* Rung `plane`.
 *
 * Idea: one step at the speed of copying: a block streams along the planes, and whatever can stay in
 * registers does. Adds: asynchronous copies two planes ahead, 16 bytes an access, x neighbours by warp
 * shuffle, y neighbours in the thread's own registers but for its first and last row, one open sum a sample
 * instead of a window of planes. Costs: a tile's halo is read again, from L2; a halo lane on each side
 * computes what nobody stores. Traffic per sample: 2 words through memory, 1.2 words read from L2 on top.
 * Wins when: one step of a seven-point star is all that is asked for. */
#include "cuda_star.cuh"

/* One high tile a multiprocessor: the fewer rows are halo, the less is read again. */
template <typename T, bool Full, bool Keeps>
using plane_form = star_form<T, 16 / static_cast<int>(sizeof(T)), 3, 12, 1, 1, Full, Keeps>;

/* Call act with the form that an op needs. */
template <typename T, typename Act> static auto plane_choose(const struct op *op, Act act)
{
    if (!cuda_is_full_star(op))
        return act(plane_form<T, false, true>());
    if (star_keeps(op))
        return act(plane_form<T, true, true>());
    return act(plane_form<T, true, false>());
}

template <typename Act> static auto plane_dispatch(const struct op *op, Act act)
{
    return op->work == WORK_F32 ? plane_choose<float>(op, act) : plane_choose<double>(op, act);
}

static bool plane_shape(const struct cuda_limits *limits, const struct op *op, const struct shape *shape,
                        const struct cuda_wish *wish, struct cuda_form *form, char *reason, size_t size)
{
    if (!star_serves(limits, op, shape, plane_form<float, true, false>::SharedBytes, reason, size))
        return false;
    plane_dispatch(
        op, [&](auto chosen) { star_describe<decltype(chosen)>(limits, op, shape, wish->coarsen, form); });
    return true;
}

static cudaError_t plane_launch(const struct cuda_job *job)
{
    return plane_dispatch(job->op->op, [&](auto chosen) { return star_launch<decltype(chosen)>(job); });
}

extern const struct cuda_rung cuda_rung_plane = {
    {"plane", "one step, streamed along the planes"}, false, true, plane_shape, plane_launch,
};
