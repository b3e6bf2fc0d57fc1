/* Rung `naive`.
 *
 * Idea: one thread a sample, and nothing between it and the device's memory.
 * Adds: nothing; it serves every op, shape and edge rule, and is what the other rungs are compared with.
 * Costs: each tap is a load of its own; only the caches know that neighbours read the same samples.
 * Traffic per sample: 2 words through memory while the caches hold 2r + 1 planes, taps + 1 words through L1.
 * Wins when: the grid is small, the op is bound by arithmetic (fluxes), or no other rung applies. */
#include "cuda_chain.cuh"

#define NAIVE_THREADS 256

/* Where the sample of a thread stands. */
struct naive_site {
    long long plane;
    int channel, row, x;
};

/* Call act for the samples of a thread. Blocks are counted by the three axes of the launch, which spares
   divisions; rows and planes that a launch cannot count are walked. */
template <typename T, typename Act>
static CUDA_INLINE void naive_each(const cuda_view<T> &view, long long first, long long count, Act act)
{
    naive_site site;

    site.x = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    if (site.x >= view.nx)
        return;
#pragma unroll 1
    for (long long layer = blockIdx.z; layer < count * view.channels; layer += gridDim.z) {
        site.channel = view.channels == 1 ? 0 : static_cast<int>(layer % view.channels);
        site.plane = first + (view.channels == 1 ? layer : layer / view.channels);
#pragma unroll 1
        for (long long row = static_cast<long long>(blockIdx.y) * blockDim.y + threadIdx.y; row < view.rows;
             row += static_cast<long long>(gridDim.y) * blockDim.y) {
            site.row = static_cast<int>(row);
            act(site);
        }
    }
}

template <typename T, typename Filter>
static CUDA_INLINE T naive_sample(const cuda_view<T> &from, const cuda_edge<T> &edge, const cuda_reach &reach,
                                  const Filter &filter, const naive_site &site)
{
    const T *here = from.row(site.plane, site.channel, site.row) + site.x;
    const T own = *here;

    if (reach.interior(from, site.plane, site.row, site.x)) {
        const long long pitch = from.pitch, stride = from.plane_stride();
        return filter(
            own, [=](int dx, int drow, int dplane) { return here[dplane * stride + drow * pitch + dx]; });
    }
    if (reach.rule == EDGE_HOLD)
        return own;
    return filter(own, [&](int dx, int drow, int dplane) {
        return cuda_read(from, edge, site.channel, site.plane + dplane,
                         static_cast<long long>(site.row) + drow, static_cast<long long>(site.x) + dx);
    });
}

template <typename T, typename Filter>
__global__ void __launch_bounds__(NAIVE_THREADS)
    naive_kernel(cuda_view<T> from, cuda_view<T> to, cuda_edge<T> edge, cuda_reach reach, Filter filter,
                 long long first, long long count)
{
    naive_each(from, first, count, [&](const naive_site &site) {
        to.row(site.plane, site.channel, site.row)[site.x] = naive_sample(from, edge, reach, filter, site);
    });
}

template <typename T>
__global__ void __launch_bounds__(NAIVE_THREADS)
    naive_unsharp_kernel(cuda_view<T> from, cuda_view<T> kept, cuda_view<T> to, T amount, long long first,
                         long long count)
{
    naive_each(from, first, count, [&](const naive_site &site) {
        const T blurred = from.row(site.plane, site.channel, site.row)[site.x];
        const T original = kept.row(site.plane, site.channel, site.row)[site.x];
        to.row(site.plane, site.channel, site.row)[site.x] = cuda_fma(amount, original - blurred, original);
    });
}

static const void *naive_kernel_of(const struct op *op)
{
    const bool single = op->work == WORK_F32;

    if (op->kind == OP_UNSHARP)
        return single ? reinterpret_cast<const void *>(&naive_unsharp_kernel<float>)
                      : reinterpret_cast<const void *>(&naive_unsharp_kernel<double>);
    if (cuda_is_full_star(op))
        return single ? reinterpret_cast<const void *>(&naive_kernel<float, cuda_star_filter<float>>)
                      : reinterpret_cast<const void *>(&naive_kernel<double, cuda_star_filter<double>>);
    return single ? reinterpret_cast<const void *>(&naive_kernel<float, cuda_any_filter<float>>)
                  : reinterpret_cast<const void *>(&naive_kernel<double, cuda_any_filter<double>>);
}

/* A warp lies along x; a block is 32 × 8 samples, or 256 × 1 where planes have one row. */
static dim3 naive_block(int rows)
{
    return rows == 1 ? dim3(NAIVE_THREADS, 1, 1) : dim3(32, NAIVE_THREADS / 32, 1);
}

static dim3 naive_grid(dim3 block, size_t nx, size_t rows, unsigned channels, size_t planes)
{
    const auto bounded = [](long long blocks) {
        return static_cast<unsigned>(blocks < 65535 ? blocks : 65535);
    };

    return dim3(static_cast<unsigned>(cuda_ceil_divide(static_cast<long long>(nx), block.x)),
                bounded(cuda_ceil_divide(static_cast<long long>(rows), block.y)),
                bounded(static_cast<long long>(planes) * channels));
}

static bool naive_shape(const struct cuda_limits *, const struct op *op, const struct shape *shape,
                        const struct cuda_wish *, struct cuda_form *form, char *, size_t)
{
    *form = cuda_form();
    form->coarsen = 1;
    form->stride = 1;
    form->steps = 1;
    form->block = naive_block(static_cast<int>(shape->rows));
    form->grid = naive_grid(form->block, shape->nx, shape->rows, shape->channels, shape->planes);
    form->kernel = naive_kernel_of(op);
    form->bytes_per_update = (op->kind == OP_UNSHARP ? 3.0 : 2.0) * static_cast<double>(work_size(op->work));
    form->operations_per_update = op->kind == OP_UNSHARP ? 3 : cuda_operations(op);
    return true;
}

template <typename T> static cudaError_t naive_launch_as(const struct cuda_job *job)
{
    const cuda_view<T> &from = *static_cast<const cuda_view<T> *>(job->from);
    const cuda_view<T> &to = *static_cast<const cuda_view<T> *>(job->to);
    const struct op *op = job->op->op;
    const dim3 block = naive_block(from.rows);
    const dim3 grid = naive_grid(block, static_cast<size_t>(from.nx), static_cast<size_t>(from.rows),
                                 static_cast<unsigned>(from.channels), job->planes.count);
    const long long first = static_cast<long long>(job->planes.first);
    const long long count = static_cast<long long>(job->planes.count);
    const cuda_edge<T> edge = cuda_edge_of<T>(job->op);
    const cuda_reach reach = cuda_reach_of(op);

    if (count == 0)
        return cudaSuccess;
    if (op->kind == OP_UNSHARP)
        return CUDA_LAUNCH(job->stream, grid, block, 0, naive_unsharp_kernel<T>, from,
                           *static_cast<const cuda_view<T> *>(job->kept), to, static_cast<T>(op->amount),
                           first, count);
    if (cuda_is_full_star(op)) {
        auto kernel = naive_kernel<T, cuda_star_filter<T>>;
        return CUDA_LAUNCH(job->stream, grid, block, 0, kernel, from, to, edge, reach,
                           cuda_star_filter_of<T>(op), first, count);
    }
    auto kernel = naive_kernel<T, cuda_any_filter<T>>;
    return CUDA_LAUNCH(job->stream, grid, block, 0, kernel, from, to, edge, reach,
                       cuda_any_filter_of<T>(job->op), first, count);
}

static cudaError_t naive_launch(const struct cuda_job *job)
{
    return job->op->op->work == WORK_F32 ? naive_launch_as<float>(job) : naive_launch_as<double>(job);
}

extern const struct cuda_rung cuda_rung_naive = {
    {"naive", "one thread a sample"}, false, false, naive_shape, naive_launch,
};
