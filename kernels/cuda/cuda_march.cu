/* Rung `march`.
 *
 * Idea: a block walks along the planes with the 2r + 1 planes of its tile that the taps reach in shared
 * memory. Adds: a plane is loaded once a walk, so the halo of a tile is one of rows and x only; the slicing
 * length
 *   (`--coarsen`) says how many planes a block walks.
 * Costs: two barriers a plane, with the load of the next plane between them.
 * Traffic per sample: 1 word written, 1 + 2r/coarsen words read from memory; the halo of rows comes from the
 * caches. Wins when: taps are off the axes, so that registers cannot hold what they read. */
#include "cuda_halo.cuh"

#define MARCH_X       32
#define MARCH_ROWS    8
#define MARCH_COARSEN 32
#define MARCH_THREADS 256

/* The ring of planes: the slot of the lowest plane that the taps reach turns by one each plane. */
struct march_ring {
    int lowest, depth, plane_cells;

    CUDA_INLINE int slot(int plane) const
    {
        const int index = lowest + plane;
        return index < depth ? index : index - depth;
    }
};

template <typename T, typename Filter>
static CUDA_INLINE void march_plane(const cuda_view<T> &from, const cuda_view<T> &to, const halo_tile &tile,
                                    const halo_place &place, long long plane, const Filter &filter,
                                    const march_ring ring, const T *cells)
{
    const int width = tile.width(), low = tile.reach.plane.low;
    const int corner = -tile.reach.row.low * width - tile.reach.x.low;

#pragma unroll 1
    for (int index = static_cast<int>(threadIdx.x); index < tile.x * tile.rows; index += blockDim.x) {
        const halo_sample sample = halo_sample_of(from, tile, place, index);
        const T *here = cells + corner + sample.row * width + sample.x;
        if (sample.inside)
            to.row(plane, place.channel, place.row + sample.row)[place.x + sample.x] =
                halo_filtered(from, tile, place, sample, plane, filter,
                              here[ring.slot(-low) * ring.plane_cells], [=](int dx, int drow, int dplane) {
                                  return here[ring.slot(dplane - low) * ring.plane_cells + drow * width + dx];
                              });
    }
}

template <typename T, typename Filter>
__global__ void __launch_bounds__(MARCH_THREADS, 2)
    march_kernel(cuda_view<T> from, cuda_view<T> to, cuda_edge<T> edge, halo_tile tile, Filter filter,
                 long long first, long long end, long long run, long long blocks)
{
    CUDA_SHARED(T, cells);
    const int low = tile.reach.plane.low, high = tile.reach.plane.high;
    march_ring ring = {0, high - low + 1, tile.cells()};

#pragma unroll 1
    for (long long block = blockIdx.x; block < blocks; block += gridDim.x) {
        const halo_place place = halo_locate(tile, block, from.channels, first, end, run);
        ring.lowest = 0;
        halo_load(from, edge, tile, place, place.first + low, high - low, cells);
        for (long long plane = place.first; plane < place.end; plane++) {
            halo_load(from, edge, tile, place, plane + high, 1,
                      cells + ring.slot(high - low) * ring.plane_cells);
            __syncthreads();
            march_plane(from, to, tile, place, plane, filter, ring, cells);
            __syncthreads();
            ring.lowest = ring.slot(1 < ring.depth ? 1 : 0);
        }
    }
}

template <typename T> static const void *march_kernel_of(const struct op *op)
{
    return cuda_is_full_star(op) ? reinterpret_cast<const void *>(&march_kernel<T, cuda_star_filter<T>>)
                                 : reinterpret_cast<const void *>(&march_kernel<T, cuda_any_filter<T>>);
}

static bool march_shape(const struct cuda_limits *limits, const struct op *op, const struct shape *shape,
                        const struct cuda_wish *wish, struct cuda_form *form, char *reason, size_t size)
{
    const halo_tile tile = halo_tile_of(op, shape, wish, MARCH_X, MARCH_ROWS, 1);
    const int depth = 1 + cuda_span(op->plane);
    const size_t bytes = static_cast<size_t>(tile.cells()) * depth * work_size(op->work);

    if (!halo_serves(op, reason, size) || !halo_fits(limits, bytes, tile, depth, reason, size))
        return false;
    *form = halo_form(op, shape, tile, wish->coarsen > 0 ? wish->coarsen : MARCH_COARSEN,
                      halo_threads(static_cast<long long>(tile.x) * tile.rows, MARCH_THREADS), bytes,
                      op->work == WORK_F32 ? march_kernel_of<float>(op) : march_kernel_of<double>(op));
    return true;
}

template <typename T, typename Filter>
static cudaError_t march_launch_with(const struct cuda_job *job, Filter filter)
{
    const cuda_view<T> &from = *static_cast<const cuda_view<T> *>(job->from);
    const cuda_view<T> &to = *static_cast<const cuda_view<T> *>(job->to);
    const halo_tile tile = halo_tile_of_job(job, from.nx, from.rows);
    const int run = job->form->coarsen;
    const long long blocks = halo_blocks(tile, from.channels, job->planes.count, run);
    const long long first = static_cast<long long>(job->planes.first);
    const long long end = first + static_cast<long long>(job->planes.count);
    auto kernel = march_kernel<T, Filter>;
    cudaError_t status = cuda_permit_shared(kernel, job->form->shared_bytes);

    if (status != cudaSuccess || blocks == 0)
        return status;
    return CUDA_LAUNCH(job->stream, dim3(cuda_blocks(blocks)), job->form->block, job->form->shared_bytes,
                       kernel, from, to, cuda_edge_of<T>(job->op), tile, filter, first, end,
                       static_cast<long long>(run), blocks);
}

template <typename T> static cudaError_t march_launch_as(const struct cuda_job *job)
{
    if (cuda_is_full_star(job->op->op))
        return march_launch_with<T>(job, cuda_star_filter_of<T>(job->op->op));
    return march_launch_with<T>(job, cuda_any_filter_of<T>(job->op));
}

static cudaError_t march_launch(const struct cuda_job *job)
{
    return job->op->op->work == WORK_F32 ? march_launch_as<float>(job) : march_launch_as<double>(job);
}

extern const struct cuda_rung cuda_rung_march = {
    {"march", "a walk along the planes, those in reach in shared memory"},
    true,
    true,
    march_shape,
    march_launch,
};
