/* Bilateral windows, in rung `strip` of pictures and volumes.
 *
 * Known as: bilateral filter, edge-preserving smoothing; register tiling.
 * Idea: a weight is an exponential of what the samples are, so instructions bind and memory does not: some 25
 *   a tap, and one exponential serves all channels of a pixel. A thread has four samples of a column, or two
 *   pixels, and goes through the rows in reach in order; what it loads from a row serves all samples that
 *   reach there. So each chain meets its taps in raster order.
 * Adds: any radius by one loop. Of the most frequent ones, rows are unrolled, so that no sample asks whether
 *   a row is in its reach.
 * Costs: a weight of distance is loaded for each tap and sample; the edge rule is asked for each row, and for
 *   columns at the sides. Neighbours load the same samples, and the first-level cache serves them.
 * Traffic per sample: 2 words through memory; the window's rows through L1.
 * Wins when: always; no other rung serves such weights. */
#include "kernels/cuda/shared/cuda_march_common.cuh"

/* Lanes lie along x, warps along the lines of a thread. */
static constexpr int BILATERAL_WARPS = 8;

/* Channels that have sums at once. Of a group with more, each launch adds up some. */
static constexpr int BILATERAL_CHANNELS = 4;

/* An axis of the grid: places of it, and how far taps reach. */
struct bilateral_axis {
    long long stride; /* samples from a place to the next */
    long long extent;
    int reach;
    long long first, end; /* to be computed */
};

/* `lines` are rows of a volume, or planes of a picture; `layers` are planes of a volume. */
template <typename T> struct bilateral_job {
    const T *from; /* place 0 of all axes, of the first channel of the group */
    T *to;         /* the same */
    const cuda_tap<T> *taps;
    const T *outside;         /* of that channel; or NULL */
    long long outside_stride; /* from a channel to the next */
    bilateral_axis lines, layers;
    long long channel; /* samples from a channel to the next */
    enum edge_rule rule;
    int nx, reach;
    int groups, count; /* of channels: groups that the launch computes, and channels of one */
    int sums;          /* the first channel that has sums */
    T inverse;         /* 1/(SR √2) */
    unsigned tiles_x, tiles_lines;
};

/* Samples of a column that a thread has. */
static __host__ __device__ constexpr int bilateral_lines(int channels)
{
    return channels == 1 ? 4 : 2;
}

/* A thread's samples, with so many channels, which are all of the group if it is Whole. Reach is that along x
   and the lines, or 0 for any: where the compiler knows it, it sees which samples a row's taps are for. Where
   samples may be Missing, each channel has a sum of weights of its own. */
template <typename T, int Channels, bool Whole, int Reach, bool Missing> struct bilateral_walk {
    static constexpr int Lines = bilateral_lines(Channels);
    static constexpr int Rows = Reach > 0 ? 2 * Reach + Lines : 1; /* of a layer, unrolled */

    const bilateral_job<T> &job;
    const int x;
    const long long line, layer;
    const T *from;
    T *to;
    const T *outside;
    T own[Lines][Channels], sums[Lines][Channels], weights[Lines][Missing ? Channels : 1];

    CUDA_INLINE bilateral_walk(const bilateral_job<T> &job_, int x_, long long line_, unsigned layer_)
        : job(job_), x(x_), line(line_),
          layer(job_.layers.first + layer_ / static_cast<unsigned>(job_.groups)), from(job_.from),
          to(job_.to), outside(job_.outside)
    {
        const int group = static_cast<int>(layer_ % static_cast<unsigned>(job.groups));

        from += group * job.channel;
        to += group * job.channel;
        /* What is not there is not used either: a sample that would read it is held. */
        outside = outside == nullptr ? here(0) : outside + group;
#pragma unroll
        for (int o = 0; o < Lines; o++) {
#pragma unroll
            for (int c = 0; c < Channels; c++) {
                own[o][c] = c < channels() ? here(o)[(first() + c) * job.channel] : T(0);
                sums[o][c] = -T(0);
                weights[o][Missing ? c : 0] = -T(0);
            }
        }
    }

    CUDA_INLINE int reach() const
    {
        return Reach > 0 ? Reach : job.reach;
    }

    CUDA_INLINE int lines_reach() const
    {
        return Reach > 0 ? Reach : job.lines.reach;
    }

    CUDA_INLINE int first() const
    {
        return Whole ? 0 : job.sums;
    }

    /* Those that have sums. */
    CUDA_INLINE int channels() const
    {
        return Whole ? Channels : min(Channels, job.count - first());
    }

    CUDA_INLINE long long last() const
    {
        return min(line + Lines, job.lines.end) - 1;
    }

    CUDA_INLINE long long offset(int o) const
    {
        return layer * job.layers.stride + min(line + o, last()) * job.lines.stride + x;
    }

    CUDA_INLINE const T *here(int o) const
    {
        return from + offset(o);
    }

    /* The place that the edge rule puts in for one; below 0: none of the grid. */
    CUDA_INLINE long long place(long long index, long long extent) const
    {
        return index >= 0 && index < extent ? index : cuda_edge_index(job.rule, index, extent);
    }

    /* In units of SR √2. */
    CUDA_INLINE T distance(T value, T sample) const
    {
        return (Missing ? cuda_present(value - sample, T(0)) : value - sample) * job.inverse;
    }

    /* The square of the distance between a sample and what a tap reads. */
    template <typename Read> CUDA_INLINE T square(int o, const T (&values)[Channels], const Read &read) const
    {
        T s = T(0);

#pragma unroll
        for (int c = 0; Whole && c < Channels; c++) {
            const T q = distance(values[c], own[o][c]);
            s = c == 0 ? q * q : cuda_fma(q, q, s);
        }
#pragma unroll 1
        for (int c = 0; !Whole && c < job.count; c++) {
            const T q = distance(read(c), here(o)[c * job.channel]);
            s = c == 0 ? q * q : cuda_fma(q, q, s);
        }
        return s;
    }

    /* The taps of all samples in a row. Sums begin with -0, so that the first product stays as it is. */
    CUDA_INLINE void add_row(const T *row, int layer_offset, int line_offset)
    {
        const int width = 2 * reach() + 1;
        const cuda_tap<T> *const taps =
            job.taps + ((layer_offset + job.layers.reach) * (2 * lines_reach() + 1) + lines_reach()) * width;

#pragma unroll 1
        for (int k = 0; k < width; k++) {
            int column = x + k - reach();
            if (static_cast<unsigned>(column) >= static_cast<unsigned>(job.nx))
                column = static_cast<int>(cuda_edge_index(job.rule, column, job.nx));
            const bool beyond = row == nullptr || column < 0;
            const T *const source = beyond ? outside : row + column;
            const long long stride = beyond ? job.outside_stride : job.channel;
            const auto read = [=](int c) { return source[c * stride]; };
            T values[Channels];
#pragma unroll
            for (int c = 0; c < Channels; c++)
                values[c] = c < channels() ? read(first() + c) : T(0);
#pragma unroll
            for (int o = 0; o < Lines; o++) {
                const int drow = line_offset - o;
                if (drow < -lines_reach() || drow > lines_reach())
                    continue;
                const T weight = taps[drow * width + k].weight * cuda_pm1_joint(square(o, values, read));
#pragma unroll
                for (int c = 0; c < Channels; c++) {
                    const T share = Missing && values[c] != values[c] ? T(0) : weight;
                    const T value = Missing ? cuda_present(values[c], T(0)) : values[c];
                    sums[o][c] = cuda_fma(share, value, sums[o][c]);
                    if (Missing || c == 0)
                        weights[o][Missing ? c : 0] += share;
                }
            }
        }
    }

    CUDA_INLINE void add_all()
    {
        const int rows = static_cast<int>(last() - line) + 2 * lines_reach() + 1;

        for (int d = -job.layers.reach; d <= job.layers.reach; d++) {
            const long long from_layer = place(layer + d, job.layers.extent);
#pragma unroll Rows
            for (int i = 0; i < (Reach > 0 ? Rows : rows); i++) {
                const int e = i - lines_reach();
                const long long from_line = place(line + e, job.lines.extent);
                if (i < rows)
                    add_row(from_layer < 0 || from_line < 0
                                ? nullptr
                                : from + from_layer * job.layers.stride + from_line * job.lines.stride,
                            d, e);
            }
        }
    }

    static CUDA_INLINE bool leaves(long long index, int reach, long long extent)
    {
        return index < reach || index + reach >= extent;
    }

    CUDA_INLINE bool holds(int o) const
    {
        return job.rule == EDGE_HOLD &&
               (leaves(x, reach(), job.nx) || leaves(line + o, lines_reach(), job.lines.extent) ||
                leaves(layer, job.layers.reach, job.layers.extent));
    }

    CUDA_INLINE void store() const
    {
#pragma unroll
        for (int o = 0; o < Lines; o++) {
            if (line + o > last())
                continue;
#pragma unroll
            for (int c = 0; c < Channels; c++) {
                if (c < channels())
                    to[offset(o) + (first() + c) * job.channel] =
                        holds(o) || (Missing && own[o][c] != own[o][c])
                            ? own[o][c]
                            : sums[o][c] / weights[o][Missing ? c : 0];
            }
        }
    }
};

template <typename T, int Channels, bool Whole, int Reach, bool Missing>
__global__ void __launch_bounds__(BILATERAL_WARPS *CUDA_WARP, 2) bilateral_kernel(bilateral_job<T> job)
{
    const unsigned tile = blockIdx.x % (job.tiles_x * job.tiles_lines);
    const int x = static_cast<int>(tile % job.tiles_x * CUDA_WARP + threadIdx.x);
    const long long line =
        job.lines.first + (static_cast<long long>(tile / job.tiles_x) * BILATERAL_WARPS + threadIdx.y) *
                              bilateral_lines(Channels);

    if (x >= job.nx || line >= job.lines.end)
        return;
    bilateral_walk<T, Channels, Whole, Reach, Missing> walk(job, x, line,
                                                            blockIdx.x / (job.tiles_x * job.tiles_lines));
    walk.add_all();
    walk.store();
}

/* ---- the host ---- */

/* Call act(kernel, channels) with the kernel for a reach. Reaches from 1 to Most have their own. */
template <typename T, int Channels, int Most, typename Act>
static auto choose_reach(int reach, const Act &act)
{
    return cuda_with_number<0, Most, 1>(reach <= Most ? reach : 0, [&](auto own) {
        return act(bilateral_kernel<T, Channels, true, own(), false>, Channels);
    });
}

/* Call act(kernel, channels) with the kernel for groups of `channels` and for a reach, or 0 for unlike ones,
   and the channels that it adds up. Frequent ones have kernels of their own; where samples may be missing,
   fewer have. */
template <typename T, typename Act>
static auto choose(const struct op *op, size_t channels, int reach, const Act &act)
{
    if (op->missing && channels == 1)
        return act(bilateral_kernel<T, 1, true, 0, true>, 1);
    if (op->missing)
        return act(bilateral_kernel<T, BILATERAL_CHANNELS, false, 0, true>, BILATERAL_CHANNELS);
    switch (channels) {
    case 1:
        return choose_reach<T, 1, 3>(reach, act);
    case 2:
        return choose_reach<T, 2, 0>(reach, act);
    case 3:
        return choose_reach<T, 3, 3>(reach, act);
    case 4:
        return choose_reach<T, 4, 0>(reach, act);
    default:
        return act(bilateral_kernel<T, BILATERAL_CHANNELS, false, 0, false>, BILATERAL_CHANNELS);
    }
}

/* Whether lines are planes: else the layers would come first. */
static bool is_picture(const struct op *op, size_t rows)
{
    return rows == 1 && op->row.high == 0;
}

/* The reach along x and the lines, if it is one. */
static int common_reach(const struct op *op, size_t rows)
{
    const int lines = is_picture(op, rows) ? op->plane.high : op->row.high;

    return op->x.high == lines ? lines : 0;
}

template <typename T> static bool bilateral_shape(const struct cuda_question *asked, struct cuda_form *form)
{
    const struct op *op = asked->op;
    const struct shape *shape = asked->shape;
    const size_t channels = op_group_most(op);
    const double tap = 36, more = 5; /* operations of a tap, and of each further channel */

    if (op->kind != OP_BILATERAL)
        return cuda_refuse(asked->refusal, "only weights that depend on the samples");
    if (asked->wish->steps > 1)
        return cuda_refuse(asked->refusal, "it takes one step a pass");
    if (cuda_is_beyond_32_bits(asked))
        return false;
    choose<T>(op, channels, common_reach(op, shape->rows), [&](auto kernel, int sums) {
        form->kernel = reinterpret_cast<const void *>(kernel);
        form->coarsen = bilateral_lines(sums);
    });
    form->block = dim3(CUDA_WARP, BILATERAL_WARPS);
    form->grid = dim3(cuda_blocks(cuda_ceil_divide(
        static_cast<long long>(shape->nx * shape->rows * shape->planes * op->channels / channels),
        BILATERAL_WARPS * CUDA_WARP * form->coarsen)));
    form->bytes_per_update = 2.0 * sizeof(T);
    form->operations_per_update = static_cast<double>(op->tap_count) *
                                  (tap + more * static_cast<double>(channels - 1)) /
                                  static_cast<double>(channels);
    form->reached = 0.5;
    return true;
}

/* Groups of `count` channels, from a channel on. */
template <typename T>
static bilateral_job<T> job_of(const struct cuda_job *from, int first, int groups, int count)
{
    const struct op *op = from->op->op;
    const cuda_view<T> &source = *static_cast<const cuda_view<T> *>(from->from);
    const cuda_view<T> &target = *static_cast<const cuda_view<T> *>(from->to);
    const long long begin = static_cast<long long>(from->planes.first);
    const bilateral_axis rows = {source.pitch, source.rows, op->row.high, 0, source.rows};
    const bilateral_axis planes = {source.plane_stride(), source.planes, op->plane.high, begin,
                                   begin + static_cast<long long>(from->planes.count)};
    const bool picture = is_picture(op, static_cast<size_t>(source.rows));
    bilateral_job<T> job = {};

    job.from = source.row(0, first, 0);
    job.to = target.row(0, first, 0);
    job.taps = static_cast<const cuda_tap<T> *>(from->op->taps);
    job.outside = static_cast<const T *>(from->op->outside);
    job.outside_stride = job.outside == nullptr ? 0 : 1;
    job.outside += job.outside_stride * first;
    job.lines = picture ? planes : rows;
    job.layers = picture ? rows : planes;
    job.channel = source.pitch * source.rows;
    job.rule = op->edge;
    job.nx = source.nx;
    job.reach = op->x.high;
    job.groups = groups;
    job.count = count;
    job.inverse = static_cast<T>(op->inverse_scale);
    return job;
}

/* A launch for as many channels as have sums at once. */
template <typename T> static cudaError_t launch(const struct cuda_job *from, int first, int groups, int count)
{
    bilateral_job<T> job = job_of<T>(from, first, groups, count);
    const long long lines = job.lines.end - job.lines.first;
    const size_t rows = static_cast<size_t>(static_cast<const cuda_view<T> *>(from->from)->rows);
    const long long layers = (job.layers.end - job.layers.first) * groups;

    if (lines == 0 || layers == 0)
        return cudaSuccess;
    return choose<T>(
        from->op->op, static_cast<size_t>(count), common_reach(from->op->op, rows),
        [&](auto kernel, int sums) {
            cudaError_t status = cudaSuccess;
            job.tiles_x = static_cast<unsigned>(cuda_ceil_divide(job.nx, CUDA_WARP));
            job.tiles_lines =
                static_cast<unsigned>(cuda_ceil_divide(lines, BILATERAL_WARPS * bilateral_lines(sums)));
            for (; job.sums < count && status == cudaSuccess; job.sums += sums)
                status = CUDA_LAUNCH(from->stream, dim3(cuda_blocks(job.tiles_x * job.tiles_lines * layers)),
                                     dim3(CUDA_WARP, BILATERAL_WARPS), 0, kernel, job);
            return status;
        });
}

template <typename T> static cudaError_t bilateral_launch(const struct cuda_job *job)
{
    const struct op *op = job->op->op;
    cudaError_t status = cudaSuccess;

    if (op->joint == 0)
        return launch<T>(job, 0, static_cast<int>(op->channels), 1);
    for (size_t i = 0; i < op_group_count(op) && status == cudaSuccess; i++) {
        const struct range group = op_group(op, i);
        status = launch<T>(job, static_cast<int>(group.first), 1, static_cast<int>(group.count));
    }
    return status;
}

CUDA_RUNG(bilateral, false, false, true);
