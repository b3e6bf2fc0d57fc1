/* Rung `tile`, for volumes.
 *
 * Idea: a block loads a T³ tile with its halo into shared memory, then every tap is a read of shared memory.
 * Adds: each sample is fetched once a tile instead of once a tap.
 * Costs: (1 + 2r/T)³ cells for T³ samples, all of them through registers into shared memory, and a barrier
 * between loading and computing that leaves memory idle half of the time. Traffic per sample: 1 word written,
 * (1 + 2r/T)³ words read, of which the caches save a part. Wins when: taps are many and spread, and caches
 * small: on today's chips it is the slowest of the ladder. */
#include "cuda_halo.cuh"

#define TILE_EXTENT  16
#define TILE_THREADS 512

template <typename T, typename Filter>
__global__ void __launch_bounds__(TILE_THREADS)
    tile_kernel(cuda_view<T> from, cuda_view<T> to, cuda_edge<T> edge, halo_tile tile, Filter filter,
                long long first, long long end, long long blocks)
{
    CUDA_SHARED(T, cells);
    const int width = tile.width(), plane_cells = tile.cells(), samples = tile.x * tile.rows;
    const int centre = -tile.reach.plane.low * plane_cells - tile.reach.row.low * width - tile.reach.x.low;

#pragma unroll 1
    for (long long block = blockIdx.x; block < blocks; block += gridDim.x) {
        const halo_place place = halo_locate(tile, block, from.channels, first, end, tile.planes);
        const int planes = static_cast<int>(place.end - place.first);
        halo_load(from, edge, tile, place, place.first + tile.reach.plane.low,
                  planes + tile.reach.plane.high - tile.reach.plane.low, cells);
        __syncthreads();
#pragma unroll 1
        for (int index = static_cast<int>(threadIdx.x); index < samples * planes; index += blockDim.x) {
            const int z = index / samples;
            const halo_sample sample = halo_sample_of(from, tile, place, index - z * samples);
            const T *here = cells + centre + z * plane_cells + sample.row * width + sample.x;
            if (sample.inside)
                to.row(place.first + z, place.channel, place.row + sample.row)[place.x + sample.x] =
                    halo_filtered(from, tile, place, sample, place.first + z, filter, *here,
                                  [=](int dx, int drow, int dplane) {
                                      return here[dplane * plane_cells + drow * width + dx];
                                  });
        }
        __syncthreads();
    }
}

template <typename T> static const void *tile_kernel_of(const struct op *op)
{
    return cuda_is_full_star(op) ? reinterpret_cast<const void *>(&tile_kernel<T, cuda_star_filter<T>>)
                                 : reinterpret_cast<const void *>(&tile_kernel<T, cuda_any_filter<T>>);
}

static size_t tile_bytes(const struct op *op, const halo_tile &tile)
{
    return static_cast<size_t>(tile.cells()) * (tile.planes + cuda_span(op->plane)) * work_size(op->work);
}

static bool tile_shape(const struct cuda_limits *limits, const struct op *op, const struct shape *shape,
                       const struct cuda_wish *wish, struct cuda_form *form, char *reason, size_t size)
{
    halo_tile tile = halo_tile_of(op, shape, wish, TILE_EXTENT, TILE_EXTENT, TILE_EXTENT);

    if (!halo_serves(op, reason, size))
        return false;
    tile.planes = tile.x < tile.rows ? tile.x : tile.rows;
    while (tile.planes > 1 && tile_bytes(op, tile) > limits->shared_per_block)
        tile.planes--;
    if (!halo_fits(limits, tile_bytes(op, tile), tile, 1 + cuda_span(op->plane), reason, size))
        return false;
    *form = halo_form(op, shape, tile, tile.planes,
                      halo_threads(static_cast<long long>(tile.x) * tile.rows * tile.planes, TILE_THREADS),
                      tile_bytes(op, tile),
                      op->work == WORK_F32 ? tile_kernel_of<float>(op) : tile_kernel_of<double>(op));
    return true;
}

template <typename T, typename Filter>
static cudaError_t tile_launch_with(const struct cuda_job *job, Filter filter)
{
    const cuda_view<T> &from = *static_cast<const cuda_view<T> *>(job->from);
    const cuda_view<T> &to = *static_cast<const cuda_view<T> *>(job->to);
    const halo_tile tile = halo_tile_of_job(job, from.nx, from.rows);
    const long long blocks = halo_blocks(tile, from.channels, job->planes.count, tile.planes);
    const long long first = static_cast<long long>(job->planes.first);
    const long long end = first + static_cast<long long>(job->planes.count);
    auto kernel = tile_kernel<T, Filter>;
    cudaError_t status = cuda_permit_shared(kernel, job->form->shared_bytes);

    if (status != cudaSuccess || blocks == 0)
        return status;
    return CUDA_LAUNCH(job->stream, dim3(cuda_blocks(blocks)), job->form->block, job->form->shared_bytes,
                       kernel, from, to, cuda_edge_of<T>(job->op), tile, filter, first, end, blocks);
}

template <typename T> static cudaError_t tile_launch_as(const struct cuda_job *job)
{
    if (cuda_is_full_star(job->op->op))
        return tile_launch_with<T>(job, cuda_star_filter_of<T>(job->op->op));
    return tile_launch_with<T>(job, cuda_any_filter_of<T>(job->op));
}

static cudaError_t tile_launch(const struct cuda_job *job)
{
    return job->op->op->work == WORK_F32 ? tile_launch_as<float>(job) : tile_launch_as<double>(job);
}

extern const struct cuda_rung cuda_rung_tile = {
    {"tile", "a tile with halo in shared memory"}, true, false, tile_shape, tile_launch,
};
