/* Rung `naive` for ops that take a pixel at a time: sums of chains, filters of points.def, alpha in and out
 * of colours, weights of samples that may be missing, and fluxes whose channels share one conductivity, where
 * cuda_faces.cu does not serve them.
 *
 * Known as: elementwise (map) kernels.
 * Idea: a thread computes one sample; or, of channels that go together, all of a pixel, so that their
 *   exponentials are computed once.
 * Adds: nothing.
 * Costs: nothing; of a flux, each tap is a load of its own.
 * Traffic per sample: 2 words, of two fields 3.
 * Wins when: no other rung serves the op. */
#include "cuda_each_sample.cuh"

template <typename T>
__global__ void __launch_bounds__(EACH_THREADS) combine_kernel(each_part<T> part, enum combine kind, T amount)
{
    each_site site;

    if (!each_locate(part, &site))
        return;
    part.to[site.offset] = cuda_combine(kind, part.from[site.offset], part.kept[site.offset], amount);
}

template <typename T>
__global__ void __launch_bounds__(EACH_THREADS) point_kernel(each_part<T> part, cuda_point<T> point)
{
    each_site site;

    if (!each_locate(part, &site))
        return;
    part.to[site.offset] = cuda_pointed(point, part.from[site.offset]);
}

/* Channels of a premultiplied picture: `colours` times alpha, then alpha, then the colours as they are. */
template <typename T> struct alpha_colours {
    int colours;
    T max; /* of alpha */
};

/* Multiply the colours before alpha by it, and copy those behind it. */
template <typename T>
__global__ void __launch_bounds__(EACH_THREADS) cover_kernel(each_part<T> part, alpha_colours<T> colours)
{
    each_site site;

    if (!each_locate(part, &site))
        return;
    const int channel = static_cast<int>((part.first_layer + site.layer) % part.channels);
    const T *pixel = part.from + site.offset - channel * part.layer_stride;
    const T value =
        pixel[(channel > colours.colours ? channel - colours.colours - 1 : channel) * part.layer_stride];
    part.to[site.offset] = channel < colours.colours
                               ? value * cuda_cover(pixel[colours.colours * part.layer_stride], colours.max)
                               : value;
}

/* Divide the colours by alpha; where that is 0, take the colours as they are. */
template <typename T>
__global__ void __launch_bounds__(EACH_THREADS) uncover_kernel(each_part<T> part, alpha_colours<T> colours)
{
    each_site site;

    if (!each_locate(part, &site))
        return;
    const int channel = static_cast<int>((part.first_layer + site.layer) % part.channels);
    if (channel >= colours.colours)
        return;
    const T *pixel = part.from + site.offset - channel * part.layer_stride;
    part.to[site.offset] =
        cuda_uncovered(part.from[site.offset], pixel[(colours.colours + 1 + channel) * part.layer_stride],
                       cuda_cover(pixel[colours.colours * part.layer_stride], colours.max));
}

/* Channels of samples, then those of their weights. */
template <typename T>
__global__ void __launch_bounds__(EACH_THREADS) weigh_kernel(each_part<T> part, int weighed)
{
    each_site site;

    if (!each_locate(part, &site))
        return;
    const int channel = static_cast<int>((part.first_layer + site.layer) % part.channels);
    if (channel >= 2 * weighed)
        return;
    const T value = part.from[site.offset - (channel < weighed ? 0 : weighed * part.layer_stride)];
    part.to[site.offset] = channel < weighed ? cuda_present(value, T(0)) : value == value ? T(1) : T(0);
}

/* Their averages; other channels are those of the stage's input, and freed ones are not written. Near the
   ends of an axis, EDGE_HOLD has kept samples. */
template <typename T> struct whole_weights {
    int weighed;
    bool holds;
    T whole[8];
    struct reach x, row, plane;
    int freed; /* channels behind those weighed, which are not written */
};

template <typename T>
__global__ void __launch_bounds__(EACH_THREADS) average_kernel(each_part<T> part, whole_weights<T> weights)
{
    each_site site;

    if (!each_locate(part, &site))
        return;
    const long long layer = part.first_layer + site.layer;
    const int channel = static_cast<int>(layer % part.channels);
    if (channel >= weights.weighed && channel < weights.weighed + weights.freed)
        return;
    const T old = part.kept[site.offset];
    int held = 0;
    if (channel >= weights.weighed || old != old) {
        part.to[site.offset] = old;
        return;
    }
    if (weights.holds)
        held = (cuda_reach::inside(weights.x, site.x, part.nx) ? 0 : OP_HELD_X) +
               (cuda_reach::inside(weights.row, site.row, part.rows) ? 0 : OP_HELD_ROW) +
               (cuda_reach::inside(weights.plane, layer / part.channels, part.planes) ? 0 : OP_HELD_PLANE);
    /* Chosen one by one: a look-up would copy all to the thread's own memory. */
    T whole = weights.whole[0];
#pragma unroll
    for (int k = 1; k < 8; k++)
        whole = held == k ? weights.whole[k] : whole;
    part.to[site.offset] = cuda_average(part.from[site.offset],
                                        part.from[site.offset + weights.weighed * part.layer_stride], whole);
}

/* Channels under one conductivity; a layer of such a launch is a plane. */
struct joint_group {
    int first, count;
    long long stride; /* samples from one channel to the next */
};

/* The places that the taps of a pixel read, the same in each channel. */
template <typename T> struct joint_reads {
    long long shifts[OP_HEAT_TAPS]; /* from the pixel */
    unsigned outside;               /* a bit for each tap: the edge rule has no sample of the grid there */

    CUDA_INLINE joint_reads(const each_part<T> &part, const cuda_edge<T> &edge,
                            const cuda_joint_filter<T> &filter, const each_site &site)
        : outside(0)
    {
        const long long plane = part.first_layer + site.layer;

#pragma unroll
        for (int k = 0; k < OP_HEAT_TAPS; k++) {
            if (k < filter.tap_count) {
                const cuda_tap<T> tap = filter.taps[k];
                bool beyond = false;
                shifts[k] =
                    each_shift(edge.rule, plane, tap.dplane, part.planes, &beyond) * part.plane_stride +
                    each_shift(edge.rule, site.row, tap.drow, part.rows, &beyond) * part.pitch +
                    each_shift(edge.rule, site.x, tap.dx, part.nx, &beyond);
                outside |= (beyond ? 1u : 0u) << k;
            }
        }
    }
};

/* A thread relaxes all channels of a pixel. The first relaxation reads `from`; the others read the pixel's
   own samples in `to`, where the thread has put them, and its neighbours in `from`, which stay as they were.
 */
template <typename T>
__global__ void __launch_bounds__(EACH_THREADS, cuda_least_residents(cuda_code()))
    joint_kernel(each_part<T> part, cuda_edge<T> edge, cuda_joint_filter<T> filter, joint_group group)
{
    each_site site;

    if (!each_locate(part, &site))
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
    const joint_reads<T> reads(part, edge, filter, site);
    const auto read = [&](int k, int c) {
        return reads.outside >> k & 1 ? edge.outside[group.first + c]
                                      : from[c * group.stride + reads.shifts[k]];
    };
    filter.relax(group.count, before, read, put);
#pragma unroll 1
    for (unsigned long long n = 1; n < filter.heat.inner; n++)
        filter.relax(group.count, now, read, put);
}

template <typename T> static whole_weights<T> whole_weights_of(const struct op *op)
{
    whole_weights<T> weights = {
        static_cast<int>(op->weighed), op->edge == EDGE_HOLD, {}, op->held[0], op->held[1], op->held[2],
        static_cast<int>(op->freed)};

    for (int held = 0; held < 8; held++)
        weights.whole[held] = static_cast<T>(op->whole[held]);
    return weights;
}

/* Call act(kernel, argument...) with the kernel of an op other than OP_HEAT, and what it takes beside its
   part; with NULL if it has none here. */
template <typename T, typename Act> static auto with_pointwise(const struct op *op, const Act &act)
{
    const alpha_colours<T> colours = {static_cast<int>(op->colours), static_cast<T>(op->max)};
    void (*const none)(each_part<T>) = nullptr;

    switch (op->kind) {
    case OP_COMBINE:
        return act(combine_kernel<T>, op->combine, static_cast<T>(op->amount));
    case OP_POINT:
        return act(point_kernel<T>, cuda_point_of<T>(op->point));
    case OP_COVER:
        return act(cover_kernel<T>, colours);
    case OP_UNCOVER:
        return act(uncover_kernel<T>, colours);
    case OP_WEIGH:
        return act(weigh_kernel<T>, static_cast<int>(op->weighed));
    case OP_AVERAGE:
        return act(average_kernel<T>, whole_weights_of<T>(op));
    default:
        return act(none);
    }
}

template <typename T> static bool pointwise_shape(const struct cuda_question *asked, struct cuda_form *form)
{
    const struct op *op = asked->op;
    const void *kernel = with_pointwise<T>(
        op, [](auto chosen, const auto &...) { return reinterpret_cast<const void *>(chosen); });

    if (op->kind == OP_HEAT && op->joint > 0)
        kernel = reinterpret_cast<const void *>(&joint_kernel<T>);
    if (kernel == NULL)
        return cuda_refuse(asked->refusal, "a sample reads its neighbours");
    *form = each_form(asked, kernel);
    if (op->kind == OP_COMBINE) {
        form->bytes_per_update = 3.0 * sizeof(T);
        form->operations_per_update = 3;
    } else if (op->kind == OP_POINT) {
        form->operations_per_update = 2;
    }
    return true;
}

/* A launch for each group of channels. */
template <typename T>
static cudaError_t launch_joint(const struct cuda_job *job, dim3 grid, dim3 block, const each_part<T> &part)
{
    const struct op *op = job->op->op;
    cudaError_t status = cudaSuccess;

    for (size_t i = 0; i < op_group_count(op) && status == cudaSuccess; i++) {
        const struct range channels = op_group(op, i);
        const joint_group group = {static_cast<int>(channels.first), static_cast<int>(channels.count),
                                   static_cast<long long>(part.pitch) * part.rows};
        status = CUDA_LAUNCH(job->stream, grid, block, 0, joint_kernel<T>, part, cuda_edge_of<T>(job->op),
                             cuda_joint_filter_of<T>(job->op), group);
    }
    return status;
}

template <typename T> static cudaError_t pointwise_launch(const struct cuda_job *job)
{
    return each_launch<T>(job, [&](dim3 grid, dim3 block, const each_part<T> &part) {
        if (job->op->op->kind == OP_HEAT)
            return launch_joint<T>(job, grid, block, part);
        return with_pointwise<T>(job->op->op, [&](auto kernel, const auto &...more) {
            return CUDA_LAUNCH(job->stream, grid, block, 0, kernel, part, more...);
        });
    });
}

CUDA_RUNG(pointwise, false, false, true);
