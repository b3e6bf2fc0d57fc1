/* Rung `register`.
 *
 * Idea: a block walks along the planes; a thread keeps the 2r + 1 samples of its own column in registers, and
 * only the plane in the middle lies in shared memory. Adds: shared memory holds one plane instead of 2r + 1;
 * taps along the walk cost no access at all. Costs: a thread a column, so the tile has at most as many
 * samples as a block has threads, and 2r + 1 registers. Traffic per sample: as `march`, and the middle plane
 * is read a second time, from the caches, with its halo. Wins when: the taps are a star of small radius. */
#include "cuda_halo.cuh"

#define REGISTER_X       32
#define REGISTER_ROWS    8
#define REGISTER_COARSEN 32
#define REGISTER_RADIUS  4

/* Threads of a block at most: any filter but the plain star takes too many registers for 1024. */
#define REGISTER_THREADS_STAR 1024
#define REGISTER_THREADS_ANY  256

/* The column of a thread around the plane in the middle. */
template <typename T, int Radius> struct register_column {
    T window[2 * Radius + 1];

    CUDA_INLINE T at(int dplane) const
    {
        T value = window[Radius];

#pragma unroll
        for (int k = -Radius; k <= Radius; k++) {
            if (k == dplane)
                value = window[Radius + k];
        }
        return value;
    }

    CUDA_INLINE void shift(T next)
    {
#pragma unroll
        for (int k = 0; k < 2 * Radius; k++)
            window[k] = window[k + 1];
        window[2 * Radius] = next;
    }
};

/* The sample of a thread's column in a plane that the taps reach; beyond their reach nothing is read. */
template <typename T>
static CUDA_INLINE T register_read(const cuda_view<T> &from, const cuda_edge<T> &edge,
                                   const halo_place &place, const halo_sample &sample, long long plane,
                                   long long lowest, long long highest)
{
    if (!sample.inside || plane < lowest || plane > highest)
        return T(0);
    return cuda_read(from, edge, place.channel, plane, place.row + sample.row, place.x + sample.x);
}

template <typename T, typename Filter, int Radius, int Threads>
__global__ void __launch_bounds__(Threads)
    register_kernel(cuda_view<T> from, cuda_view<T> to, cuda_edge<T> edge, halo_tile tile, Filter filter,
                    long long first, long long end, long long run, long long blocks)
{
    CUDA_SHARED(T, cells);
    const int width = tile.width();
    const int corner = -tile.reach.row.low * width - tile.reach.x.low;

#pragma unroll 1
    for (long long block = blockIdx.x; block < blocks; block += gridDim.x) {
        const halo_place place = halo_locate(tile, block, from.channels, first, end, run);
        halo_sample sample = halo_sample_of(from, tile, place, static_cast<int>(threadIdx.x));
        const T *here = cells + corner + sample.row * width + sample.x;
        const long long lowest = place.first + tile.reach.plane.low;
        const long long highest = place.end - 1 + tile.reach.plane.high;
        register_column<T, Radius> column;

        sample.inside = sample.inside && sample.row < tile.rows;
#pragma unroll
        for (int k = 1; k <= 2 * Radius; k++)
            column.window[k] =
                register_read(from, edge, place, sample, place.first - Radius + k - 1, lowest, highest);
        for (long long plane = place.first; plane < place.end; plane++) {
            column.shift(register_read(from, edge, place, sample, plane + Radius, lowest, highest));
            halo_load(from, edge, tile, place, plane, 1, cells);
            __syncthreads();
            if (sample.inside)
                to.row(plane, place.channel, place.row + sample.row)[place.x + sample.x] =
                    halo_filtered(from, tile, place, sample, plane, filter, column.window[Radius],
                                  [&](int dx, int drow, int dplane) {
                                      return dplane == 0 ? here[drow * width + dx] : column.at(dplane);
                                  });
            __syncthreads();
        }
    }
}

/* The radius along the planes, as a kernel is compiled for it. */
static int register_radius(const struct op *op)
{
    const int radius = op->plane.high > -op->plane.low ? op->plane.high : -op->plane.low;

    return radius <= 1 ? 1 : radius <= 2 ? 2 : REGISTER_RADIUS;
}

/* Call act with the filter's kernel. */
template <typename T, typename Act> static auto register_dispatch(const struct op *op, Act act)
{
    constexpr int threads = REGISTER_THREADS_ANY;

    if (cuda_is_full_star(op))
        return act(register_kernel<T, cuda_star_filter<T>, 1, REGISTER_THREADS_STAR>,
                   cuda_star_filter_of<T>(op));
    return act(register_radius(op) == 1   ? register_kernel<T, cuda_any_filter<T>, 1, threads>
               : register_radius(op) == 2 ? register_kernel<T, cuda_any_filter<T>, 2, threads>
                                          : register_kernel<T, cuda_any_filter<T>, REGISTER_RADIUS, threads>,
               cuda_any_filter<T>());
}

template <typename T> static const void *register_kernel_of(const struct op *op)
{
    return register_dispatch<T>(op, [](auto kernel, auto) { return reinterpret_cast<const void *>(kernel); });
}

static bool register_serves(const struct op *op, char *reason, size_t size)
{
    if (!halo_serves(op, reason, size))
        return false;
    for (size_t k = 0; k < op->tap_count; k++) {
        const struct op_tap *tap = &op->taps[k];
        if (tap->dplane != 0 && (tap->dx != 0 || tap->drow != 0))
            return cuda_refuse(reason, size, "tap %d,%d,%d is off the column that a thread keeps", tap->dx,
                               tap->drow, tap->dplane);
    }
    if (op->plane.high > REGISTER_RADIUS || -op->plane.low > REGISTER_RADIUS)
        return cuda_refuse(reason, size, "radius over %d: the column would spill", REGISTER_RADIUS);
    return true;
}

static bool register_shape(const struct cuda_limits *limits, const struct op *op, const struct shape *shape,
                           const struct cuda_wish *wish, struct cuda_form *form, char *reason, size_t size)
{
    const halo_tile tile = halo_tile_of(op, shape, wish, REGISTER_X, REGISTER_ROWS, 1);
    const size_t bytes = static_cast<size_t>(tile.cells()) * work_size(op->work);
    const long long samples = static_cast<long long>(tile.x) * tile.rows;
    const int most = cuda_is_full_star(op) ? REGISTER_THREADS_STAR : REGISTER_THREADS_ANY;

    if (!register_serves(op, reason, size) || !halo_fits(limits, bytes, tile, 1, reason, size))
        return false;
    if (samples > most)
        return cuda_refuse(reason, size, "%dx%d columns need %lld threads, a block has at most %d", tile.x,
                           tile.rows, samples, most);
    *form = halo_form(op, shape, tile, wish->coarsen > 0 ? wish->coarsen : REGISTER_COARSEN,
                      halo_threads(samples, most), bytes,
                      op->work == WORK_F32 ? register_kernel_of<float>(op) : register_kernel_of<double>(op));
    return true;
}

template <typename T, typename Kernel, typename Filter>
static cudaError_t register_launch_with(const struct cuda_job *job, Kernel *kernel, const Filter &filter)
{
    const cuda_view<T> &from = *static_cast<const cuda_view<T> *>(job->from);
    const cuda_view<T> &to = *static_cast<const cuda_view<T> *>(job->to);
    const halo_tile tile = halo_tile_of_job(job, from.nx, from.rows);
    const int run = job->form->coarsen;
    const long long blocks = halo_blocks(tile, from.channels, job->planes.count, run);
    const long long first = static_cast<long long>(job->planes.first);
    const long long end = first + static_cast<long long>(job->planes.count);
    cudaError_t status = cuda_permit_shared(kernel, job->form->shared_bytes);

    if (status != cudaSuccess || blocks == 0)
        return status;
    return CUDA_LAUNCH(job->stream, dim3(cuda_blocks(blocks)), job->form->block, job->form->shared_bytes,
                       kernel, from, to, cuda_edge_of<T>(job->op), tile, filter, first, end,
                       static_cast<long long>(run), blocks);
}

static cuda_any_filter<float> register_filter(const struct cuda_job *job, const cuda_any_filter<float> &)
{
    return cuda_any_filter_of<float>(job->op);
}
static cuda_any_filter<double> register_filter(const struct cuda_job *job, const cuda_any_filter<double> &)
{
    return cuda_any_filter_of<double>(job->op);
}
template <typename T>
static cuda_star_filter<T> register_filter(const struct cuda_job *, const cuda_star_filter<T> &filter)
{
    return filter;
}

template <typename T> static cudaError_t register_launch_as(const struct cuda_job *job)
{
    return register_dispatch<T>(job->op->op, [&](auto kernel, auto filter) {
        return register_launch_with<T>(job, kernel, register_filter(job, filter));
    });
}

static cudaError_t register_launch(const struct cuda_job *job)
{
    return job->op->op->work == WORK_F32 ? register_launch_as<float>(job) : register_launch_as<double>(job);
}

extern const struct cuda_rung cuda_rung_register = {
    {"register", "a walk along the planes, each thread's column in registers"},
    true,
    true,
    register_shape,
    register_launch,
};
