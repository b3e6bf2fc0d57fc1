/* Rung `naive`.
 *
 * Idea: one thread a sample, and nothing between it and the device's memory.
 * Adds: nothing; it serves every op, shape and edge rule, and is what the other rungs are compared with. Of
 * channels under one conductivity a thread takes all of a pixel, so that exponentials are done once for them.
 * Costs: each tap is a load of its own; only the caches know that neighbours read the same samples.
 * Traffic per sample: 2 words through memory while the caches hold 2r + 1 planes, taps + 1 words through L1.
 * Wins when: the grid is small, the op is bound by arithmetic (fluxes), or no other rung applies. */
#include "kernels/cuda/shared/cuda_chain.cuh"

#define NAIVE_THREADS 256

/* The most blocks that a launch counts along its second and third axis. */
#define NAIVE_BLOCKS 65535

/* What one launch computes. A layer is a plane of one channel, counted from the first one of the launch;
   samples in all three spans have no tap outside the grid. */
template <typename T> struct naive_part {
    const T *from, *kept;
    T *to; /* all three: the first layer of the launch */
    int nx, rows, layers, first_row;
    int pitch;
    long long layer_stride, plane_stride;
    cuda_indices x, row, layer;
    int channels;
    long long planes, first_layer; /* of the grid */
};

/* The sample of a thread. */
struct naive_site {
    int x, row, layer;
    long long offset;
};

/* Blocks are counted by the three axes of the launch, which spares divisions. */
template <typename T> static CUDA_INLINE bool naive_locate(const naive_part<T> &part, naive_site *site)
{
    site->x = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    site->row = part.first_row + static_cast<int>(blockIdx.y * blockDim.y + threadIdx.y);
    site->layer = static_cast<int>(blockIdx.z * blockDim.z + threadIdx.z);
    site->offset = site->layer * part.layer_stride + static_cast<long long>(site->row) * part.pitch + site->x;
    return site->x < part.nx && site->row < part.rows && site->layer < part.layers;
}

/* How far along an axis the sample stands that a tap reads; `outside` is set where the rule puts nothing of
   the grid. */
static CUDA_INLINE long long naive_shift(enum edge_rule rule, long long own, int offset, long long extent,
                                         bool *outside)
{
    const long long index = own + offset;

    if (offset == 0 || (index >= 0 && index < extent))
        return offset;
    const long long supplied = cuda_edge_index(rule, index, extent);
    *outside |= supplied < 0;
    return supplied - own;
}

/* A sample with a tap outside the grid. */
template <typename T, typename Filter>
static CUDA_INLINE T naive_edge_sample(const naive_part<T> &part, const cuda_edge<T> &edge,
                                       const Filter &filter, const naive_site &site)
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
            naive_shift(edge.rule, plane, dplane, part.planes, &outside) * part.plane_stride +
            naive_shift(edge.rule, site.row, drow, part.rows, &outside) * part.pitch +
            naive_shift(edge.rule, site.x, dx, part.nx, &outside);
        if (outside)
            return edge.rule == EDGE_CONSTANT ? edge.outside[channel] : T(0);
        return here[shift];
    });
}

/* Blocks that a multiprocessor should hold: many where the filter knows its offsets, since more loads on
   their way are worth more than registers. Before 7.5 and from 10.0 on ptxas wants some more
   of those. */
template <typename T> static constexpr int naive_residents(int, const cuda_any_filter<T> *)
{
    return 1;
}
template <typename Filter> static constexpr int naive_residents(int code, const Filter *)
{
    const bool frugal = sizeof(Filter::weights[0]) == sizeof(float) && code >= 75 && code < 100;

    return cuda_residents(code, NAIVE_THREADS, frugal ? 8 : 6);
}

template <typename T, typename Filter>
__global__ void __launch_bounds__(NAIVE_THREADS,
                                  naive_residents(cuda_code(), static_cast<const Filter *>(nullptr)))
    naive_kernel(naive_part<T> part, cuda_edge<T> edge, Filter filter)
{
    naive_site site;

    if (!naive_locate(part, &site))
        return;
    if (part.x.holds(site.x) && part.row.holds(site.row) && part.layer.holds(site.layer)) {
        const T *here = part.from + site.offset;
        part.to[site.offset] = filter(*here, [=](int dx, int drow, int dplane) {
            return here[dplane * part.plane_stride + static_cast<long long>(drow) * part.pitch + dx];
        });
    } else {
        part.to[site.offset] = naive_edge_sample(part, edge, filter, site);
    }
}

template <typename T>
__global__ void __launch_bounds__(NAIVE_THREADS) naive_unsharp_kernel(naive_part<T> part, T amount)
{
    naive_site site;

    if (!naive_locate(part, &site))
        return;
    const T blurred = part.from[site.offset], original = part.kept[site.offset];
    part.to[site.offset] = cuda_fma(amount, original - blurred, original);
}

template <typename T>
__global__ void __launch_bounds__(NAIVE_THREADS)
    naive_point_kernel(naive_part<T> part, enum point_kind kind, T a, T b)
{
    naive_site site;

    if (!naive_locate(part, &site))
        return;
    part.to[site.offset] = cuda_point(kind, part.from[site.offset], a, b);
}

/* Colour in the channels before alpha. */
template <typename T> struct naive_colour {
    int colours;
    T max; /* of alpha */
};

template <typename T>
__global__ void __launch_bounds__(NAIVE_THREADS)
    naive_cover_kernel(naive_part<T> part, naive_colour<T> colour)
{
    naive_site site;

    if (!naive_locate(part, &site))
        return;
    const int channel = static_cast<int>((part.first_layer + site.layer) % part.channels);
    const T *pixel = part.from + site.offset - channel * part.layer_stride;
    const T value =
        pixel[(channel > colour.colours ? channel - colour.colours - 1 : channel) * part.layer_stride];
    part.to[site.offset] = channel < colour.colours
                               ? value * cuda_cover(pixel[colour.colours * part.layer_stride], colour.max)
                               : value;
}

template <typename T>
__global__ void __launch_bounds__(NAIVE_THREADS)
    naive_uncover_kernel(naive_part<T> part, naive_colour<T> colour)
{
    naive_site site;

    if (!naive_locate(part, &site))
        return;
    const int channel = static_cast<int>((part.first_layer + site.layer) % part.channels);
    if (channel >= colour.colours)
        return;
    const T *pixel = part.from + site.offset - channel * part.layer_stride;
    part.to[site.offset] =
        cuda_uncovered(part.from[site.offset], pixel[(colour.colours + 1 + channel) * part.layer_stride],
                       cuda_cover(pixel[colour.colours * part.layer_stride], colour.max));
}

/* Channels that go together; a layer of such a launch is a plane. */
struct naive_group {
    int first, count;
    long long stride; /* samples from a channel to the next */
};

/* What the taps of a pixel read, in any channel. */
template <typename T> struct naive_reads {
    long long shifts[OP_HEAT_TAPS];
    unsigned outside; /* a bit a tap that the rule gives nothing of the grid */

    CUDA_INLINE naive_reads(const naive_part<T> &part, const cuda_edge<T> &edge,
                            const cuda_joint_filter<T> &filter, const naive_site &site)
        : outside(0)
    {
        const long long plane = part.first_layer + site.layer;

#pragma unroll
        for (int k = 0; k < OP_HEAT_TAPS; k++) {
            if (k < filter.tap_count) {
                const cuda_tap<T> tap = filter.taps[k];
                bool beyond = false;
                shifts[k] =
                    naive_shift(edge.rule, plane, tap.dplane, part.planes, &beyond) * part.plane_stride +
                    naive_shift(edge.rule, site.row, tap.drow, part.rows, &beyond) * part.pitch +
                    naive_shift(edge.rule, site.x, tap.dx, part.nx, &beyond);
                outside |= (beyond ? 1u : 0u) << k;
            }
        }
    }
};

template <typename T>
__global__ void __launch_bounds__(NAIVE_THREADS)
    naive_joint_kernel(naive_part<T> part, cuda_edge<T> edge, cuda_joint_filter<T> filter, naive_group group)
{
    naive_site site;

    if (!naive_locate(part, &site))
        return;
    const T *from = part.from + site.offset + group.first * group.stride;
    T *to = part.to + site.offset + group.first * group.stride;
    const bool inside = part.x.holds(site.x) && part.row.holds(site.row) && part.layer.holds(site.layer);
    const auto before = [=](int c) { return from[c * group.stride]; };
    const auto now = [=](int c) { return to[c * group.stride]; };
    const auto put = [=](int c, T value) { to[c * group.stride] = value; };
    if (edge.rule == EDGE_HOLD && !inside) {
#pragma unroll 1
        for (int c = 0; c < group.count; c++)
            put(c, before(c));
        return;
    }
    const naive_reads<T> reads(part, edge, filter, site);
    const auto read = [&](int k, int c) {
        return reads.outside >> k & 1 ? edge.outside[group.first + c]
                                      : from[c * group.stride + reads.shifts[k]];
    };
    filter.relax(group.count, before, read, put);
#pragma unroll 1
    for (unsigned long long n = 1; n < filter.heat.inner; n++)
        filter.relax(group.count, now, read, put);
}

template <typename T> static const void *naive_kernel_of(const struct op *op)
{
    if (op->kind == OP_UNSHARP)
        return reinterpret_cast<const void *>(&naive_unsharp_kernel<T>);
    if (op->kind == OP_POINT)
        return reinterpret_cast<const void *>(&naive_point_kernel<T>);
    if (op->kind == OP_COVER)
        return reinterpret_cast<const void *>(&naive_cover_kernel<T>);
    if (op->kind == OP_UNCOVER)
        return reinterpret_cast<const void *>(&naive_uncover_kernel<T>);
    if (op->joint > 0)
        return reinterpret_cast<const void *>(&naive_joint_kernel<T>);
    return cuda_with_filter<T>(op, [](const auto &filter) {
        return reinterpret_cast<const void *>(&naive_kernel<T, std::decay_t<decltype(filter)>>);
    });
}

/* A warp lies along x, the warps of a block along rows, or along planes that have one row. */
static dim3 naive_block(size_t rows)
{
    return rows == 1 ? dim3(32, 1, NAIVE_THREADS / 32) : dim3(32, NAIVE_THREADS / 32, 1);
}

/* Blocks for so many samples, as far as one launch counts them. */
static dim3 naive_grid(dim3 block, size_t nx, size_t rows, unsigned long long layers)
{
    const auto blocks = [](unsigned long long samples, unsigned extent, unsigned most) {
        const unsigned long long wanted = (samples + extent - 1) / extent;
        return static_cast<unsigned>(wanted < most ? wanted : most);
    };

    return dim3(blocks(nx, block.x, 0x7fffffff), blocks(rows, block.y, NAIVE_BLOCKS),
                blocks(layers, block.z, NAIVE_BLOCKS));
}

/* Layers of a plane, as a launch counts them. */
static int naive_layers(const struct op *op, int channels)
{
    return op->joint > 0 ? 1 : channels;
}

static bool naive_shape(const struct cuda_question *asked, struct cuda_form *form)
{
    *form = cuda_form();
    form->coarsen = 1;
    form->stride = 1;
    form->steps = 1;
    form->block = naive_block(asked->shape->rows);
    form->grid = naive_grid(form->block, asked->shape->nx, asked->shape->rows,
                            static_cast<unsigned long long>(asked->shape->planes) *
                                naive_layers(asked->op, static_cast<int>(asked->shape->channels)));
    form->kernel =
        asked->op->work == WORK_F32 ? naive_kernel_of<float>(asked->op) : naive_kernel_of<double>(asked->op);
    form->bytes_per_update =
        (asked->op->kind == OP_UNSHARP ? 3.0 : 2.0) * static_cast<double>(work_size(asked->op->work));
    form->operations_per_update = asked->op->kind == OP_UNSHARP ? 3
                                  : asked->op->kind == OP_POINT ? 2
                                                                : cuda_operations(asked->op);
    return true;
}

/* Layers [first, first + layers) of the grid, from a row on. */
template <typename T>
static naive_part<T> naive_part_of(const struct cuda_job *job, long long first, int layers, int first_row)
{
    const cuda_view<T> &from = *static_cast<const cuda_view<T> *>(job->from);
    const cuda_view<T> &to = *static_cast<const cuda_view<T> *>(job->to);
    const struct op *op = job->op->op;
    const int channels = naive_layers(op, from.channels);
    const struct reach plane = {op->plane.low * channels, op->plane.high * channels};
    naive_part<T> part = {};

    part.layer_stride = from.plane_stride() / channels;
    part.plane_stride = from.plane_stride();
    part.from = from.samples + (first - from.first * channels) * part.layer_stride;
    part.to = to.samples + (first - to.first * channels) * part.layer_stride;
    if (op->kind == OP_UNSHARP) {
        const cuda_view<T> &kept = *static_cast<const cuda_view<T> *>(job->kept);
        part.kept = kept.samples + (first - kept.first * channels) * part.layer_stride;
    }
    part.nx = from.nx;
    part.rows = from.rows;
    part.layers = layers;
    part.first_row = first_row;
    part.pitch = static_cast<int>(from.pitch);
    part.x = cuda_interior(op->x, from.nx, 0, from.nx);
    part.row = cuda_interior(op->row, from.rows, 0, from.rows);
    part.channels = channels;
    part.planes = from.planes;
    part.first_layer = first;
    part.layer = cuda_interior(plane, from.planes * channels, first, layers);
    return part;
}

/* Group by group. */
template <typename T>
static cudaError_t naive_launch_joint(const struct cuda_job *job, dim3 grid, dim3 block,
                                      const naive_part<T> &part)
{
    const struct op *op = job->op->op;
    cudaError_t status = cudaSuccess;

    for (size_t i = 0; i < op_group_count(op) && status == cudaSuccess; i++) {
        const struct range channels = op_group(op, i);
        const naive_group group = {static_cast<int>(channels.first), static_cast<int>(channels.count),
                                   static_cast<long long>(part.pitch) * part.rows};
        status = CUDA_LAUNCH(job->stream, grid, block, 0, naive_joint_kernel<T>, part,
                             cuda_edge_of<T>(job->op), cuda_joint_filter_of<T>(job->op), group);
    }
    return status;
}

template <typename T>
static cudaError_t naive_launch_part(const struct cuda_job *job, dim3 grid, dim3 block,
                                     const naive_part<T> &part)
{
    const struct op *op = job->op->op;

    const naive_colour<T> colour = {static_cast<int>(op->colours), static_cast<T>(op->max)};

    if (op->kind == OP_UNSHARP)
        return CUDA_LAUNCH(job->stream, grid, block, 0, naive_unsharp_kernel<T>, part,
                           static_cast<T>(op->amount));
    if (op->kind == OP_POINT)
        return CUDA_LAUNCH(job->stream, grid, block, 0, naive_point_kernel<T>, part, op->point.kind,
                           static_cast<T>(op->point.a), static_cast<T>(op->point.b));
    if (op->kind == OP_COVER)
        return CUDA_LAUNCH(job->stream, grid, block, 0, naive_cover_kernel<T>, part, colour);
    if (op->kind == OP_UNCOVER)
        return CUDA_LAUNCH(job->stream, grid, block, 0, naive_uncover_kernel<T>, part, colour);
    if (op->joint > 0)
        return naive_launch_joint<T>(job, grid, block, part);
    return cuda_with_filter<T>(job->op, [&](const auto &filter) {
        auto kernel = naive_kernel<T, std::decay_t<decltype(filter)>>;
        return CUDA_LAUNCH(job->stream, grid, block, 0, kernel, part, cuda_edge_of<T>(job->op), filter);
    });
}

/* What one launch cannot count is cut into several. */
template <typename T> static cudaError_t naive_launch_as(const struct cuda_job *job)
{
    const cuda_view<T> &from = *static_cast<const cuda_view<T> *>(job->from);
    const dim3 block = naive_block(static_cast<size_t>(from.rows));
    const int channels = naive_layers(job->op->op, from.channels);
    const long long end = static_cast<long long>(job->planes.first + job->planes.count) * channels;
    const long long most_layers = static_cast<long long>(NAIVE_BLOCKS) * block.z;
    const long long most_rows = static_cast<long long>(NAIVE_BLOCKS) * block.y;
    cudaError_t status = cudaSuccess;

    for (long long first = static_cast<long long>(job->planes.first) * channels; first < end;
         first += most_layers) {
        const long long layers = end - first < most_layers ? end - first : most_layers;
        for (long long row = 0; row < from.rows && status == cudaSuccess; row += most_rows) {
            const dim3 grid =
                naive_grid(block, static_cast<size_t>(from.nx), static_cast<size_t>(from.rows - row),
                           static_cast<unsigned long long>(layers));
            status = naive_launch_part<T>(
                job, grid, block,
                naive_part_of<T>(job, first, static_cast<int>(layers), static_cast<int>(row)));
        }
    }
    return status;
}

static cudaError_t naive_launch(const struct cuda_job *job)
{
    return job->op->op->work == WORK_F32 ? naive_launch_as<float>(job) : naive_launch_as<double>(job);
}

extern const struct cuda_rung cuda_rung_naive = {
    false, false, true, naive_shape, naive_launch,
};
