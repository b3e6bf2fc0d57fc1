/* Rung `naive`.
 *
 * Known as: one thread per output, global-memory stencil.
 * Idea: one thread a sample, and nothing between it and the device's memory.
 * Adds: nothing; it serves every op of taps, every shape and edge rule, and is what the other rungs are
 *   compared with. Weights are kernel parameters, which lie in constant memory, or a list of taps that all
 *   threads read.
 * Costs: each tap is a load of its own; only the caches know that neighbours read the same samples.
 * Traffic per sample: 2 words through memory while the caches hold 2r + 1 planes, taps + 1 words through L1;
 *   the last pass of an unsharp mask has 1 word more.
 * Wins when: the grid is small, or no other rung applies.
 *
 * Neighbouring threads have neighbouring samples of a row, so that a warp's loads are coalesced: each tap of
 * 32 samples is one or two lines of memory. A sample whose taps are all inside the grid reads at fixed
 * distances from itself; only those near an edge ask the edge rule for each tap. */
#include "cuda_each_sample.cuh"

/* A sample with a tap outside the grid. */
template <typename T, typename Filter>
static CUDA_INLINE T naive_edge_sample(const each_part<T> &part, const cuda_edge<T> &edge,
                                       const Filter &filter, const each_site &site)
{
    const T *here = part.from + site.offset;
    const long long layer = part.first_layer + site.layer;
    const long long plane = part.channels == 1 ? layer : layer / part.channels;
    const int channel = static_cast<int>(layer - plane * part.channels);

    if (edge.rule == EDGE_HOLD)
        return *here;
    return filter(*here, [&](int dx, int drow, int dplane) {
        bool outside = false;
        const long long shift =
            each_shift(edge.rule, plane, dplane, part.planes, &outside) * part.plane_stride +
            each_shift(edge.rule, site.row, drow, part.rows, &outside) * part.pitch +
            each_shift(edge.rule, site.x, dx, part.nx, &outside);
        if (outside)
            return edge.rule == EDGE_CONSTANT ? edge.outside[channel] : T(0);
        return here[shift];
    });
}

template <typename T, typename Filter>
static CUDA_INLINE T naive_sample(const each_part<T> &part, const cuda_edge<T> &edge, const Filter &filter,
                                  const each_site &site)
{
    const T *here = part.from + site.offset;

    if (!part.x.holds(site.x) || !part.row.holds(site.row) || !part.layer.holds(site.layer))
        return naive_edge_sample(part, edge, filter, site);
    return filter(*here, [=](int dx, int drow, int dplane) {
        return here[dplane * part.plane_stride + static_cast<long long>(drow) * part.pitch + dx];
    });
}

/* Blocks that a multiprocessor should hold (occupancy): many if the filter's offsets are compiled in, since
   more loads under way are worth more than registers. Before 7.5 and from 10.0 on, ptxas needs some more
   registers. */
template <typename T, typename Filter> static constexpr int naive_residents(int code)
{
    const bool frugal = sizeof(T) == sizeof(float) && code >= 75 && code < 100;

    if (std::is_same<Filter, cuda_any_filter<T>>::value)
        return 1;
    return cuda_residents(code, EACH_THREADS, frugal ? 8 : 6);
}

template <typename T, typename Filter>
__global__ void __launch_bounds__(EACH_THREADS, naive_residents<T, Filter>(cuda_code()))
    naive_kernel(each_part<T> part, cuda_edge<T> edge, Filter filter)
{
    each_site site;

    if (!each_locate(part, &site))
        return;
    const T value = naive_sample(part, edge, filter, site);
    if (std::is_same<Filter, cuda_any_filter<T>>::value && part.kept != nullptr)
        part.to[site.offset] = cuda_unsharp(part.amount, part.kept[site.offset], value);
    else
        part.to[site.offset] = value;
}

template <typename T> static bool naive_shape(const struct cuda_question *asked, struct cuda_form *form)
{
    if (asked->op->kind == OP_BILATERAL)
        return cuda_refuse(asked->refusal, "weights depend on the samples");
    *form =
        each_form(asked, cuda_with_filter<T>(asked->op, [](const auto &filter) {
                      return reinterpret_cast<const void *>(&naive_kernel<T, std::decay_t<decltype(filter)>>);
                  }));
    if (asked->op->kind == OP_UNSHARP)
        form->bytes_per_update += sizeof(T);
    return true;
}

template <typename T> static cudaError_t naive_launch(const struct cuda_job *job)
{
    return each_launch<T>(job, [&](dim3 grid, dim3 block, const each_part<T> &part) {
        return cuda_with_filter<T>(job->op, [&](const auto &filter) {
            auto kernel = naive_kernel<T, std::decay_t<decltype(filter)>>;
            return CUDA_LAUNCH(job->stream, grid, block, 0, kernel, part, cuda_edge_of<T>(job->op), filter);
        });
    });
}

CUDA_RUNG(naive, false, false, false);
