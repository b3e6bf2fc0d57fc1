/* Two passes in one trip, along x and along the rows or planes: of pictures all of a separable convolution,
 * of volumes the first two passes of one whose windows are too large for cuda_separable_3d.cu.
 *
 * Known as: separable convolution, kernel fusion of its row and column pass.
 * Idea: a block walks down a strip of columns. A group of rows comes to shared memory, where each lane has
 *   a row of its own and gives it its taps along x. The results go into a ring of rows, which is there, too.
 *   From it a thread reads columns, and gives samples below each other their other taps.
 * Adds: what the first pass leaves never goes to memory; nor do weights, where samples may be missing.
 * Costs: the columns beside a strip are read for its neighbours, too; a walk begins with rows that get their
 *   taps along x alone.
 * Traffic per sample: 2 words. An unsharp mask reads 1 more, and so does an average where samples are
 *   missing, mostly from the L2 cache.
 * Wins when: windows are so short that the memory binds passes one by one, not their multiply-adds.
 *
 * Each pass rounds to the work type and applies the edge rule along its own axis, as if what it leaves were
 * stored: a row outside the grid is a copy of another row, and its taps along x give the same values; a row
 * of the constant stays constant. While the samples of a group get their other taps, the rows of the next
 * group are on their way.
 *
 * Averages have a second ring, for weights. A group is first taken for complete, unless the group before it
 * lacked samples. If it is complete, its weights in the ring are all equal. If one of its samples is NaN,
 * the group gets its taps along x again: once for the samples, with 0 for what is missing, and once for the
 * weights. Where this group or the one before it lacks samples, the other taps go over both rings, and sums
 * are divided by weights. Elsewhere, the sums are the averages. */
#include "cuda_axis.cuh"

#include <algorithm>

namespace
{

/* The taps of a pass, side by side. Along x, weights are in packs, as cells are. */
template <typename T> struct pair_taps {
    static constexpr int Most = 33;

    int low, span; /* offsets: low … low + span − 1 */
    alignas(16) T weights[Most + 2 * cuda_pack_of<T>::samples];

    CUDA_INLINE bool is_dense(int, int) const
    {
        return true;
    }

    /* Whether the sample at a place has a tap outside of so many places. */
    CUDA_INLINE bool leaves(int place, int places) const
    {
        return place + low < 0 || place + low + span > places;
    }
};

/* One launch. If the second pass goes along the planes, planes are the rows here, and rows are layers. */
template <typename T> struct pair_job {
    const T *from;        /* row 0 of the first layer */
    T *to;                /* the same */
    long long row, layer; /* samples from one to the next */
    int nx, rows;         /* of the grid */
    int first, end;       /* rows to compute */
    int layers;           /* to compute */
    int channels, channel_layers;
    int own_layers, plane_layers; /* of a plane: those to compute, and all */
    int tiles;                    /* strips side by side */
    int chunk;                    /* rows that a block computes */
    cuda_edge<T> edge;
    bool sharpens; /* OP_UNSHARP */
    T amount;
    T whole_x, whole; /* averages: a complete window's weight after taps along x, and after all taps */
    pair_taps<T> x, down;
};

/* Averages: whether samples may be missing. */
template <typename Type, bool Averages_> struct pair_form {
    using T = Type;
    static constexpr bool Averages = Averages_;
    static constexpr int Pack = cuda_pack_of<T>::samples;
    static constexpr int Warps = Averages ? 8 : 4, Threads = Warps * CUDA_WARP;
    static constexpr int Columns = CUDA_WARP * Pack; /* of a strip */
    static constexpr int Rows = CUDA_WARP;           /* of a group: each lane has one */
    /* Samples of a thread, along x and down. */
    static constexpr int Beside = Columns / Warps < 16 ? Columns / Warps : 16, Below = Rows / Warps;
    static constexpr int Slots = Below + 1;
    static constexpr int Fetching = 8;    /* lanes that bring a row */
    static constexpr int Ring = 2 * Rows; /* rows that taps along x have passed: a group and one before it */
    static constexpr int RingPitch = Columns + Pack; /* lanes, each in its row, use all banks */
    static constexpr int RingSamples = Ring * RingPitch;
    static constexpr int Blocks = Averages ? 2 : sizeof(T) == 4 ? 4 : 3; /* of a multiprocessor */
    static constexpr int MostRows = 512;                                 /* of a walk */
    static constexpr double Reached = 0.73; /* of the peak, if a sample is Overhead more operations */
    static constexpr double Overhead = 77;

    static_assert(pair_taps<T>::Most <= Rows + 1, "the rows before a group are those of another one");
    static_assert(Columns % (Warps * Beside) == 0, "warps share the columns of a strip");

    /* So many blocks have room on 9.0 and 10.x. */
    static __host__ __device__ constexpr bool serves(int code)
    {
        return code >= 90 && code < 110;
    }
    /* Groups of a walk; the first one has rows that are read before those that are computed. */
    static __host__ __device__ int groups(int rows)
    {
        return 1 + (rows + Rows - 1) / Rows;
    }
    /* Cells of a row of a group, in packs, an odd number. */
    static __host__ __device__ int packs(const pair_job<T> &job)
    {
        const int cells = axis_places_before<Pack>(job.x.low) + job.x.low + Columns + job.x.span - 1;

        return (cells + Pack - 1) / Pack | 1;
    }
    static size_t shared_bytes(const pair_job<T> &job)
    {
        const int samples = Rows * packs(job) * Pack + (Averages ? 2 : 1) * RingSamples;

        return static_cast<size_t>(samples) * sizeof(T) +
               static_cast<size_t>(groups(job.chunk) * Rows) * sizeof(int);
    }
};

template <typename Form> struct pair_walk {
    using T = typename Form::T;
    static constexpr int Pack = Form::Pack, Rows = Form::Rows, Below = Form::Below;

    const pair_job<T> &job;
    T *const cells; /* of the rows of a group */
    const int lane = static_cast<int>(threadIdx.x) % CUDA_WARP,
              warp = static_cast<int>(threadIdx.x) / CUDA_WARP;
    /* The strip's first column, and its columns in whole threads; the last may lie behind the grid. */
    const int begin = static_cast<int>(blockIdx.x) % job.tiles * Form::Columns;
    const int columns = min(Form::Columns, (job.nx - begin + Form::Beside - 1) / Form::Beside * Form::Beside);
    /* Among the layers to compute, and among all. */
    const int computed = static_cast<int>(blockIdx.x) / job.tiles % job.layers;
    const int layer = computed / job.own_layers * job.plane_layers + computed % job.own_layers;
    /* The first row to compute, and how many there are. */
    const int first = job.first + static_cast<int>(blockIdx.x) / job.tiles / job.layers * job.chunk;
    const int count = min(job.chunk, job.end - first);
    const int skipped = Rows - (job.down.span - 1); /* rows of the first group that nobody reads */
    const int pitch = Form::packs(job) * Pack;      /* of cells */
    T *const ring = cells + Rows * pitch;
    /* Where the rows of all groups are read; −1: outside. */
    int *const sources = reinterpret_cast<int *>(ring + (Form::Averages ? 2 : 1) * Form::RingSamples);

    CUDA_INLINE T outside() const
    {
        return job.edge.rule == EDGE_CONSTANT ? job.edge.outside[layer / job.channel_layers % job.channels]
                                              : T(0);
    }

    /* A row of the layer. One of the constant is nowhere; the block's first row, which is of the field,
       stands for it. */
    CUDA_INLINE const T *row(int number) const
    {
        const int source = sources[number];

        return job.from + layer * job.layer + (source < 0 ? first : source) * job.row;
    }

    /* Send for the rows of a group, with the columns beside the strip that taps reach. */
    CUDA_INLINE void fetch(int group) const
    {
        const int column = begin - axis_places_before<Pack>(job.x.low), own = lane % Form::Fetching * Pack;
        const int end = (begin + columns + job.x.low + job.x.span - 1 - column + Pack - 1) / Pack * Pack;
        const int before = min(max(-column, 0), end),
                  behind = min(max(job.nx / Pack * Pack - column, 0), end);
        const unsigned whole = static_cast<unsigned>(max(behind - before, 0)); /* cells of whole packs */

#pragma unroll
        for (int turn = 0; turn < Rows; turn += Form::Threads / Form::Fetching) {
            const int number = turn + static_cast<int>(threadIdx.x) / Form::Fetching;
            const T *from = row(group * Rows + number) + column + own;
            T *to = cells + number * pitch + own;
#pragma unroll 1
            for (int i = own - before; i < end - before; i += Form::Fetching * Pack) {
                cuda_copy_async_if<16>(static_cast<unsigned>(i) < whole, to, from);
                from += Form::Fetching * Pack;
                to += Form::Fetching * Pack;
            }
        }
        if (before > 0 || behind < end)
            axis_fetch_outside(row(group * Rows + lane), cells + lane * pitch, column, before, behind, end,
                               job.nx, job.edge.rule, outside(), warp, Form::Warps);
        cuda_commit_copies();
    }

    /* Where a ring has a row. Rows of all groups are numbered one after another. */
    static CUDA_INLINE int passed(int number)
    {
        return (number & (Form::Ring - 1)) * Form::RingPitch;
    }

    /* The taps along x of a group: warps share its columns. worth(sample) is the value that is chained. */
    template <typename Worth> CUDA_INLINE void pass_rows(int group, const Worth &worth, T *to) const
    {
        const int number = group * Rows + lane, before = axis_places_before<Pack>(job.x.low) + job.x.low;

#pragma unroll 1
        for (int turn = 0; turn < columns; turn += Form::Warps * Form::Beside) {
            const int place = turn + warp * Form::Beside;
            const T *const own = cells + lane * pitch + place;
            const auto load = [&](int k, T *samples) {
                cuda_load_packs<Pack>(own + k, samples);
#pragma unroll
                for (int i = 0; i < Pack; i++)
                    samples[i] = worth(samples[i]);
            };
            T sums[Form::Beside];

            cuda_fill(sums, -T(0));
            axis_chain_cells(job.x, load, before, sums);
            if (job.edge.rule == EDGE_CONSTANT && sources[number] < 0)
                cuda_fill(sums, outside());
            if (job.edge.rule == EDGE_HOLD) {
#pragma unroll
                for (int s = 0; s < Form::Beside; s++) {
                    if (job.x.leaves(begin + place + s, job.nx))
                        sums[s] = own[before - job.x.low + s];
                }
            }
            cuda_put(to + passed(number) + place, sums);
        }
    }

    /* The weights of a group in which no sample is missing. */
    CUDA_INLINE void put_whole_weights(int group) const
    {
        T weights[Pack];

        cuda_fill(weights, job.whole_x);
        for (int i = static_cast<int>(threadIdx.x) * Pack; i < Rows * Form::RingPitch;
             i += Form::Threads * Pack)
            cuda_put(ring + Form::RingSamples + passed(group * Rows) + i, weights);
    }

    /* Taps along x of a group. All threads learn whether it lacks samples. `lacked`: the group before it
       lacked some. */
    CUDA_INLINE bool pass_group(int group, bool lacked) const
    {
        bool lacks = false;
        const auto sample = [&](T value) {
            lacks |= Form::Averages && value != value;
            return value;
        };
        const auto present = [&](T value) { return cuda_present(sample(value), T(0)); };
        const auto weight = [](T value) { return value == value ? T(1) : T(0); };

        if (!lacked)
            pass_rows(group, sample, ring);
        if constexpr (Form::Averages) {
            if (!lacked) {
                put_whole_weights(group);
                if (__syncthreads_or(lacks) == 0)
                    return false;
            }
            pass_rows(group, present, ring);
            pass_rows(group, weight, ring + Form::RingSamples);
            return __syncthreads_or(lacks) != 0;
        }
        __syncthreads();
        return false;
    }

    /* The other taps of a thread's samples, over a ring: `number` is the first row that they read. */
    CUDA_INLINE void chain_columns(const T *from, int number, T (&sums)[Below][Pack]) const
    {
#pragma unroll
        for (int o = 0; o < Below; o++)
            cuda_fill(sums[o], -T(0));
        axis_chain_lines<Form::Slots, true>(
            job.down,
            [&](int k, T(&row)[Pack]) {
                cuda_load_packs<Pack>(from + passed(number + k) + lane * Pack, row);
            },
            sums);
    }

    /* The other taps of the samples whose windows end in this group. `lacks`: samples are missing in it or
       in the group before it. */
    CUDA_INLINE void pass_columns(int group, bool lacks) const
    {
        const int own = (group - 1) * Rows + warp * Below, x = begin + lane * Pack;
        const int number = own + skipped;
        T sums[Below][Pack];

        chain_columns(ring, number, sums);
        if (job.edge.rule == EDGE_HOLD) {
#pragma unroll
            for (int o = 0; o < Below; o++) {
                if (job.down.leaves(first + own + o, job.rows))
                    cuda_load_packs<Pack>(ring + passed(number - job.down.low + o) + lane * Pack, sums[o]);
            }
        }
        if (own < count && x < job.nx) {
            const long long place = layer * job.layer + (first + own) * job.row;
            const int rows = min(Below, count - own);
            if (job.sharpens || lacks)
                finish(job.from + place + x, number, rows, sums);
#pragma unroll
            for (int o = 0; o < Below; o++) {
                if (o < rows)
                    cuda_store_columns<Pack>(job.to + place + o * job.row, x, x, job.nx, sums[o]);
            }
        }
    }

    /* Load the original samples again, from `from` on, to sharpen the sums or divide them by weights. */
    CUDA_INLINE void finish(const T *from, int number, int rows, T (&sums)[Below][Pack]) const
    {
        T originals[Below][Pack]; /* loads of all lines are under way together */

#pragma unroll
        for (int o = 0; o < Below; o++)
            cuda_load_packs<Pack>(from + min(o, rows - 1) * job.row, originals[o]);
        if constexpr (Form::Averages) {
            T weights[Below][Pack];
            chain_columns(ring + Form::RingSamples, number, weights);
#pragma unroll
            for (int o = 0; o < Below; o++) {
#pragma unroll
                for (int i = 0; i < Pack; i++)
                    sums[o][i] = originals[o][i] == originals[o][i]
                                     ? cuda_average(sums[o][i], weights[o][i], job.whole)
                                     : originals[o][i];
            }
        } else {
            axis_sharpen(job.amount, originals, sums);
        }
    }

    /* The first barrier lets all read the rows that came, and the last one of pass_group those that passed;
       behind it, nobody reads the cells of the group any more. */
    CUDA_INLINE void run() const
    {
        const int groups = Form::groups(count), from = first + job.down.low;
        bool lacked = false;

        axis_look_up(sources, groups * Rows, from - skipped, from, from + count - 1 + job.down.span - 1,
                     job.edge.rule, job.rows);
        __syncthreads();
        fetch(0);
#pragma unroll 1
        for (int group = 0; group < groups; group++) {
            cuda_await_copies<0>();
            __syncthreads();
            const bool lacks = pass_group(group, lacked);
            if (group + 1 < groups)
                fetch(group + 1);
            if (group > 0)
                pass_columns(group, lacks || lacked);
            lacked = lacks;
        }
    }
};

template <typename Form>
__global__ void __launch_bounds__(Form::Threads, Form::Blocks)
    pair_kernel(const __grid_constant__ pair_job<typename Form::T> job)
{
    CUDA_SHARED(typename Form::T, shared);

    CUDA_WHERE_SERVED (Form) {
        pair_walk<Form>{job, shared}.run();
    }
}

/* ---- the host ---- */

/* Whether a pass has all taps along the axis of a reach, more than one, and no others. */
bool is_dense(const struct op *pass, struct reach reach)
{
    return op_is_chain(pass) && cuda_span(reach) > 0 &&
           pass->tap_count == static_cast<size_t>(cuda_span(reach)) + 1 &&
           cuda_span(pass->x) + cuda_span(pass->row) + cuda_span(pass->plane) == cuda_span(reach);
}

/* Whether the second pass goes along the planes. */
bool goes_along_planes(const struct op *passes)
{
    return cuda_span(passes[1].plane) > 0;
}

struct reach reach_down(const struct op *passes)
{
    return goes_along_planes(passes) ? passes[1].plane : passes[1].row;
}

template <typename T>
void take_taps(const struct op *pass, struct reach reach, int skipped, pair_taps<T> *taps)
{
    taps->low = static_cast<int>(reach.low);
    taps->span = static_cast<int>(cuda_span(reach)) + 1;
    cuda_copy_weights(pass, taps->weights + skipped);
}

/* Planes of each channel that is computed; or its rows, where planes are the rows of a job. */
long long layers_of(const struct op *op, const struct shape *shape, size_t planes)
{
    return static_cast<long long>(op->channels *
                                  (goes_along_planes(cuda_passes_of(op)) ? shape->rows : planes));
}

/* The launch of an op, without its fields. */
template <typename Form>
pair_job<typename Form::T> job_of(const struct cuda_limits *limits, const struct op *op,
                                  const struct shape *shape, struct range planes)
{
    using T = typename Form::T;
    const struct op *const passes = cuda_passes_of(op);
    const bool along_planes = goes_along_planes(passes);
    const int low = static_cast<int>(passes[0].x.low);
    pair_job<T> job = {};

    job.nx = static_cast<int>(shape->nx);
    job.channels = static_cast<int>(shape->channels);
    job.rows = static_cast<int>(along_planes ? shape->planes : shape->rows);
    job.first = along_planes ? static_cast<int>(planes.first) : 0;
    job.end = along_planes ? job.first + static_cast<int>(planes.count) : job.rows;
    job.channel_layers = along_planes ? static_cast<int>(shape->rows) : 1;
    job.layers = static_cast<int>(layers_of(op, shape, planes.count));
    job.own_layers = static_cast<int>(op->channels) * job.channel_layers;
    job.plane_layers = job.channels * job.channel_layers;
    job.tiles = static_cast<int>(cuda_ceil_divide(job.nx, Form::Columns));
    job.sharpens = op_sharpens(op);
    job.amount = static_cast<T>(passes[1].amount);
    job.whole = static_cast<T>(op->whole[0]);
    take_taps(&passes[0], passes[0].x, axis_places_before<Form::Pack>(low) + low, &job.x);
    take_taps(&passes[1], reach_down(passes), 0, &job.down);
    for (size_t i = 0; i < passes[0].tap_count; i++)
        job.whole_x += static_cast<T>(passes[0].taps[i].weight);
    job.chunk = static_cast<int>(cuda_strip_rows(static_cast<long long>(job.tiles) * job.layers,
                                                 job.end - job.first, Form::Rows, Form::Rows,
                                                 limits->multiprocessors * Form::Blocks, Form::MostRows));
    return job;
}

template <typename Form> dim3 grid_of(const pair_job<typename Form::T> &job)
{
    return dim3(cuda_blocks(static_cast<long long>(job.tiles) * job.layers *
                            cuda_ceil_divide(job.end - job.first, job.chunk)));
}

/* Taps that walks of so many rows take, by those that they shall: a walk begins with rows that get their taps
   along x alone, and ends with whole groups. */
template <typename Form> double waste_of(int rows)
{
    return (Form::groups(rows) - 0.5) * Form::Rows / rows;
}

/* Passes one by one waste nothing. On an H200, those of 25 taps take as long as joined ones with this waste.
   Walks are shorter than they may be only where the device is not full. */
#define MOST_WASTE 1.3

template <typename Form> bool describe(const struct cuda_question *asked, struct cuda_form *form)
{
    const struct op *op = asked->op, *const passes = cuda_passes_of(op);
    const struct shape *shape = asked->shape;
    const int most = pair_taps<typename Form::T>::Most;
    const size_t around = Form::Averages ? 2 : 0;

    if (op->pass_count != 2 + around || !is_dense(&passes[0], passes[0].x) ||
        !is_dense(&passes[1], reach_down(passes)) || cuda_span(passes[0].x) >= most ||
        cuda_span(reach_down(passes)) >= most)
        return cuda_refuse(asked->refusal,
                           "two joined windows, the first along x, have no gaps and at most %d taps", most);
    if (Form::Averages && (op->edge == EDGE_HOLD || op->outside != NULL))
        return cuda_refuse(asked->refusal,
                           "averages of what is there are joined under neither hold nor constant");
    if (cuda_is_beyond_32_bits(asked))
        return false;
    const size_t rows = goes_along_planes(passes) ? shape->planes : shape->rows;
    if (layers_of(op, shape, shape->planes) *
            cuda_ceil_divide(static_cast<long long>(shape->nx), Form::Columns) >
        INT32_MAX / cuda_ceil_divide(static_cast<long long>(rows), Form::Rows))
        return cuda_refuse(asked->refusal, "the grid is too large for a launch");
    const auto job = job_of<Form>(asked->limits, op, shape, {0, shape->planes});
    if (asked->wish->rung == NULL &&
        waste_of<Form>(std::min(job.end - job.first, Form::MostRows)) > MOST_WASTE)
        return cuda_refuse(asked->refusal, "there are too few rows for passes to be joined");
    form->tile_x = Form::Columns;
    form->tile_y = Form::Rows;
    form->coarsen = Form::Below;
    form->block = dim3(Form::Threads);
    form->grid = grid_of<Form>(job);
    form->shared_bytes = Form::shared_bytes(job);
    form->kernel = reinterpret_cast<const void *>(&pair_kernel<Form>);
    /* Channels that are not computed, such as weights, move nothing. */
    form->bytes_per_update =
        1.0 * sizeof(typename Form::T) * (2 + (job.sharpens ? 1 : 0)) * op->channels / shape->channels;
    form->operations_per_update =
        waste_of<Form>(std::min(job.chunk, job.end - job.first)) * (cuda_operations(op) + Form::Overhead);
    form->reached = Form::Reached;
    if (!Form::serves(asked->limits->code))
        return cuda_refuse(asked->refusal, "two passes are joined on devices of 9.0 and 10.x");
    return form->shared_bytes <= asked->limits->shared_per_multiprocessor / Form::Blocks ||
           cuda_refuse(asked->refusal,
                       "two joined passes want room for %d blocks of %zu bytes of shared memory",
                       Form::Blocks, form->shared_bytes);
}

template <typename Form> cudaError_t launch(const struct cuda_job *from)
{
    using T = typename Form::T;
    const struct op *op = from->op->op;
    const struct shape shape = cuda_shape_of(from);
    const bool along_planes = goes_along_planes(cuda_passes_of(op));
    const long long first_plane = along_planes ? 0 : static_cast<long long>(from->planes.first);
    const cuda_view<T> &source = *static_cast<const cuda_view<T> *>(from->from);
    const auto kernel = pair_kernel<Form>;

    if (from->planes.count == 0)
        return cudaSuccess;
    pair_job<T> job = job_of<Form>(from->limits, op, &shape, from->planes);
    job.from = source.row(first_plane, 0, 0);
    job.to = static_cast<const cuda_view<T> *>(from->to)->row(first_plane, 0, 0);
    job.row = along_planes ? source.plane_stride() : source.pitch;
    job.layer = along_planes ? source.pitch : source.pitch * source.rows;
    job.edge = cuda_edge_of<T>(from->op);
    const size_t shared = Form::shared_bytes(job);
    const cudaError_t error = cuda_permit_shared(kernel, shared);
    return error != cudaSuccess
               ? error
               : CUDA_LAUNCH(from->stream, grid_of<Form>(job), dim3(Form::Threads), shared, kernel, job);
}

/* Call act with the form for an op. */
template <typename T, typename Act> auto with_form(const struct op *op, Act act)
{
    return op->weighed > 0 ? act(pair_form<T, true>()) : act(pair_form<T, false>());
}

template <typename T> bool separable_2d_shape(const struct cuda_question *asked, struct cuda_form *form)
{
    return with_form<T>(asked->op, [=](auto chosen) { return describe<decltype(chosen)>(asked, form); });
}

template <typename T> cudaError_t separable_2d_launch(const struct cuda_job *job)
{
    return with_form<T>(job->op->op, [=](auto chosen) { return launch<decltype(chosen)>(job); });
}

} // namespace

CUDA_RUNG(separable_2d, false, false, false);
