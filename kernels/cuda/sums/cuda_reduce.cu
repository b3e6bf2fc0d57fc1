/* Sums of squared change, and tallies, with the same bytes in every form.
 *
 * Known as: tree reduction by warp shuffles, thread-coarsened (sum-threads) or block-coarsened (sum-blocks).
 * Idea: a leaf is folded by halves. In the form `sum-threads`, a thread holds `factor` samples of the leaf,
 *   1024/factor apart, so that the first folds are its own; then the block's threads fold on, in shared
 *   memory, at last by shuffles. In the form `sum-blocks`, a thread holds two, and a block takes `factor`
 *   leaves, `stride` apart.
 * Adds: the order of additions is that of arith.h whatever the form.
 * Costs: thread: registers and fewer threads; block: as many barriers a leaf as there are warps to be
 *   folded.
 * Traffic per sample: each operand once.
 * Wins when: thread, nearly always; block shows what barriers cost.
 *
 * Three kernels in a row. leaf_kernel folds each leaf to one total: samples beyond a row's end count as
 * zeros, and so the tree is the same for all leaves. Within a block, the upper half of the threads writes its
 * items to shared memory, a barrier, the lower half adds them to its own, another barrier; when one warp is
 * left, it folds by shuffles, without memory or barriers. Then order_kernel adds the leaves of each row, and
 * again the rows of each plane, one thread for each sum, since these orders are sequential; there are few of
 * them. */
#include "cuda_reduce.h"

#include "kernels/cuda/shared/cuda_sample.cuh"

#include <string.h>
#include <type_traits>

namespace
{

/* All leaves of some planes, numbered along rows, rows of a channel, channels and planes. */
struct leaves {
    int nx, rows, channels;
    int per_row;
    long long count;
    int factor;       /* leaves that a block takes */
    long long stride; /* from one of these to the next */
};

/* A leaf's place. */
struct leaf_place {
    long long plane;
    int channel, row, begin, length;

    CUDA_INLINE leaf_place(const leaves &all, long long leaf)
    {
        const long long line = leaf / all.per_row;

        begin = static_cast<int>(leaf % all.per_row) * ARITH_LEAF;
        length = all.nx - begin < ARITH_LEAF ? all.nx - begin : ARITH_LEAF;
        row = static_cast<int>(line % all.rows);
        channel = static_cast<int>(line / all.rows % all.channels);
        plane = line / all.rows / all.channels;
    }
};

/* ---- what is folded ----
 *
 * A source reads an item of a leaf, folds two of them, and turns the last one into a total. resident_blocks
 * says how many blocks a multiprocessor must hold at once, by the compute capability and the factor; 0 leaves
 * it to ptxas. */

/* Σ (a − b)². */
template <typename T> struct change_source {
    cuda_view<T> a, b;
    long long first;
    bool missing; /* samples that are NaN in b do not count */

    typedef double item;
    typedef double total;

    static constexpr int resident_blocks(int, int)
    {
        return 0;
    }

    CUDA_INLINE item read(const leaf_place &place, int i) const
    {
        if (i >= place.length)
            return 0.0;
        const int x = place.begin + i;
        const T after = b.row(first + place.plane, place.channel, place.row)[x];
        const double difference =
            static_cast<double>(a.row(first + place.plane, place.channel, place.row)[x]) -
            static_cast<double>(after);
        return missing && after != after ? 0.0 : difference * difference;
    }
    static CUDA_INLINE item folded(item lower, item upper)
    {
        return lower + upper;
    }
    static CUDA_INLINE item shuffled(item mine, int distance)
    {
        return __shfl_down_sync(CUDA_ALL_LANES, mine, distance);
    }
    CUDA_INLINE total result(const leaf_place &, item item) const
    {
        return item;
    }
};

/* A tally in the making. Extremes have their places in the leaf, so that of equal ones (−0 and 0) the first
 * is kept. */
struct tally_item {
    double sum, squares, energy;
    double min, max;
    int min_at, max_at;
    int nans;
};

/* A sample of a file, whose type is known at run time only: deciding costs less than the sample's way over
   the bus, and one kernel serves all types. */
CUDA_INLINE double packed_value(enum sample_type type, const void *packed, long long index, bool swapped)
{
    switch (type) {
    default:
#define SAMPLE(constant, name, stored, ...)                                                                  \
    case SAMPLE_##constant:                                                                                  \
        return cuda_number<double>(static_cast<const stored *>(packed)[index], swapped);
#include "model/samples.def"
    }
}

struct tally_source {
    const void *packed;
    const double *anchors;
    int nx, rows, channels;
    enum sample_type type;
    bool swapped;
    int marked; /* channels in which samples that equal the mark are missing */
    double mark;

    typedef tally_item item;
    typedef struct tally total;

    /* For these factors ptxas would spill registers to fit a few more blocks on a multiprocessor. */
    static constexpr int resident_blocks(int, int factor)
    {
        return factor == 4 ? 3 : factor == 8 ? 5 : factor == 16 ? 8 : factor == 32 ? 12 : 0;
    }

    CUDA_INLINE item read(const leaf_place &place, int i) const
    {
        item item = {0.0, 0.0, 0.0, INFINITY, -INFINITY, ARITH_LEAF, ARITH_LEAF, 0};

        if (i >= place.length)
            return item;
        const long long pixel = (place.plane * rows + place.row) * nx + place.begin + i;
        const double value = packed_value(type, packed, pixel * channels + place.channel, swapped);
        if (value != value || (place.channel < marked && value == mark)) {
            item.nans = 1;
            return item;
        }
        item.sum = value - anchors[place.plane * channels + place.channel];
        item.squares = item.sum * item.sum;
        item.energy = value * value;
        item.min = item.max = value;
        item.min_at = item.max_at = i;
        return item;
    }
    static CUDA_INLINE item folded(const item &lower, const item &upper)
    {
        item item = lower;

        item.sum += upper.sum;
        item.squares += upper.squares;
        item.energy += upper.energy;
        item.nans += upper.nans;
        if (upper.min < item.min || (upper.min == item.min && upper.min_at < item.min_at)) {
            item.min = upper.min;
            item.min_at = upper.min_at;
        }
        if (upper.max > item.max || (upper.max == item.max && upper.max_at < item.max_at)) {
            item.max = upper.max;
            item.max_at = upper.max_at;
        }
        return item;
    }
    static CUDA_INLINE item shuffled(const item &mine, int distance)
    {
        return {__shfl_down_sync(CUDA_ALL_LANES, mine.sum, distance),
                __shfl_down_sync(CUDA_ALL_LANES, mine.squares, distance),
                __shfl_down_sync(CUDA_ALL_LANES, mine.energy, distance),
                __shfl_down_sync(CUDA_ALL_LANES, mine.min, distance),
                __shfl_down_sync(CUDA_ALL_LANES, mine.max, distance),
                __shfl_down_sync(CUDA_ALL_LANES, mine.min_at, distance),
                __shfl_down_sync(CUDA_ALL_LANES, mine.max_at, distance),
                __shfl_down_sync(CUDA_ALL_LANES, mine.nans, distance)};
    }
    CUDA_INLINE total result(const leaf_place &place, const item &item) const
    {
        total tally = {};

        tally.anchored = true;
        tally.count = static_cast<uint64_t>(place.length - item.nans);
        tally.nans = static_cast<uint64_t>(item.nans);
        tally.min = item.min;
        tally.max = item.max;
        tally.anchor = anchors[place.plane * channels + place.channel];
        tally.sum = item.sum;
        tally.squares = item.squares;
        tally.energy = item.energy;
        return tally;
    }
};

/* ---- leaves ---- */

/* The k-th item of a thread after its Factor samples are folded to Width items: itself and the one Width
   further on, at twice the width. The compiler unrolls this tree depth first, so that few items are in
   registers at a time. */
template <typename Source, int Factor, int Width = 1>
CUDA_INLINE typename Source::item thread_fold(const Source &source, const leaf_place &place, int first, int k)
{
    if constexpr (Width < Factor)
        return Source::folded(thread_fold<Source, Factor, 2 * Width>(source, place, first, k),
                              thread_fold<Source, Factor, 2 * Width>(source, place, first, k + Width));
    else
        return source.read(place, first + k * (ARITH_LEAF / Factor));
}

/* A block folds leaves, with 1024/Factor threads: first each thread alone, then halves of the block, then of
 * a warp. */
template <typename Source, int Factor>
__global__ void __launch_bounds__(ARITH_LEAF / Factor, Source::resident_blocks(cuda_code(), Factor))
    leaf_kernel(const Source source, const leaves leaves, typename Source::total *totals)
{
    CUDA_SHARED(typename Source::item, items);
    const int thread = static_cast<int>(threadIdx.x);
    const long long block = static_cast<long long>(blockIdx.x);
    const long long base = block / leaves.stride * leaves.factor * leaves.stride + block % leaves.stride;

    for (int k = 0; k < leaves.factor; k++) {
        const long long leaf = base + k * leaves.stride;
        if (leaf >= leaves.count)
            break;
        /* In registers: the first folds of the tree are between samples of one thread, which are 1024/Factor
         * apart. */
        const leaf_place place(leaves, leaf);
        typename Source::item item = thread_fold<Source, Factor>(source, place, thread, 0);
        /* The upper half of the threads hands its items to the lower half, until one warp is left. */
        for (int half = ARITH_LEAF / Factor / 2; half >= CUDA_WARP; half /= 2) {
            if (thread >= half && thread < 2 * half)
                items[thread] = item;
            __syncthreads();
            if (thread < half)
                item = Source::folded(item, items[thread + half]);
            __syncthreads();
        }
        if (thread >= CUDA_WARP)
            continue;
            /* The last warp: lanes get the items of other lanes by shuffles. */
#pragma unroll
        for (int half = CUDA_WARP / 2; half > 0; half /= 2)
            item = Source::folded(item, Source::shuffled(item, half));
        if (thread == 0)
            totals[leaf] = source.result(place, item);
    }
}

/* ---- in order ---- */

CUDA_INLINE void add_in_order(double *total, double part)
{
    *total += part;
}

CUDA_INLINE void add_in_order(struct tally *total, const struct tally &part)
{
    total->anchored = true;
    total->anchor = part.anchor;
    total->count += part.count;
    total->nans += part.nans;
    total->min = part.min < total->min ? part.min : total->min;
    total->max = part.max > total->max ? part.max : total->max;
    total->sum += part.sum;
    total->squares += part.squares;
    total->energy += part.energy;
}

CUDA_INLINE void begin_total(double *total)
{
    *total = 0.0;
}

CUDA_INLINE void begin_total(struct tally *total)
{
    *total = {};
    total->min = INFINITY;
    total->max = -INFINITY;
}

#define ORDER_THREADS 128

/* Each thread adds `length` totals that follow one another, in order. */
template <typename Total>
__global__ void __launch_bounds__(ORDER_THREADS)
    order_kernel(const Total *parts, long long length, long long groups, Total *totals)
{
    const long long group = static_cast<long long>(blockIdx.x) * ORDER_THREADS + threadIdx.x;
    Total total;

    if (group >= groups)
        return;
    begin_total(&total);
    for (long long i = 0; i < length; i++)
        add_in_order(&total, parts[group * length + i]);
    totals[group] = total;
}

template <typename Total>
cudaError_t add_groups(const Total *parts, long long length, long long groups, Total *totals,
                       cudaStream_t stream)
{
    const auto kernel = order_kernel<Total>;
    const dim3 grid(cuda_blocks(cuda_ceil_divide(groups, ORDER_THREADS)));

    return CUDA_LAUNCH(stream, grid, dim3(ORDER_THREADS), 0, kernel, parts, length, groups, totals);
}

/* ---- launches ---- */

struct leaves leaves_of(const struct cuda_reduction *reduction, size_t nx, size_t rows, size_t channels,
                        size_t planes)
{
    struct leaves leaves = {};

    leaves.nx = static_cast<int>(nx);
    leaves.rows = static_cast<int>(rows);
    leaves.channels = static_cast<int>(channels);
    leaves.per_row = static_cast<int>(cuda_ceil_divide(leaves.nx, ARITH_LEAF));
    leaves.count = static_cast<long long>(leaves.per_row * rows * channels * planes);
    leaves.factor = reduction->by_blocks ? reduction->factor : 1;
    leaves.stride = reduction->by_blocks ? reduction->stride : 1;
    return leaves;
}

/* Call act with the samples that a thread folds alone: 1, 2, 4 and so on, until a warp folds the leaf. */
template <int Factor = 1, typename Act> auto with_factor(const struct cuda_reduction *reduction, Act act)
{
    if constexpr (Factor < ARITH_LEAF / CUDA_WARP) {
        if (Factor < (reduction->by_blocks ? 2 : reduction->factor))
            return with_factor<2 * Factor>(reduction, act);
    }
    return act(std::integral_constant<int, Factor>());
}

/* The launch that folds leaves: a block takes `factor` leaves, `stride` apart; `stride` blocks share a round.
 */
template <typename Source, int Factor> struct cuda_form form_of(const leaves &leaves)
{
    const int threads = ARITH_LEAF / Factor;
    const long long rounds =
        cuda_ceil_divide(leaves.count, static_cast<long long>(leaves.factor) * leaves.stride);
    struct cuda_form form = {};

    form.grid = dim3(cuda_blocks(rounds * leaves.stride));
    form.block = dim3(threads);
    form.shared_bytes = threads > CUDA_WARP ? threads * sizeof(typename Source::item) : 0;
    form.kernel = reinterpret_cast<const void *>(leaf_kernel<Source, Factor>);
    return form;
}

/* Launch the kernel that folds leaves. */
template <typename Source, int Factor>
cudaError_t fold_leaves(const Source &source, const leaves &leaves, typename Source::total *totals,
                        cudaStream_t stream)
{
    const auto kernel = leaf_kernel<Source, Factor>;
    const struct cuda_form form = form_of<Source, Factor>(leaves);
    const cudaError_t error = cuda_permit_shared(kernel, form.shared_bytes);

    if (error != cudaSuccess)
        return error;
    return CUDA_LAUNCH(stream, form.grid, form.block, form.shared_bytes, kernel, source, leaves, totals);
}

/* Leaves, then rows, then planes. The scratch holds the leaves' totals, then the rows'. */
template <typename Source>
cudaError_t reduce(const struct cuda_reduction *reduction, const Source &source, const leaves &leaves,
                   void *scratch, typename Source::total *totals, cudaStream_t stream)
{
    typename Source::total *const of_leaves = static_cast<typename Source::total *>(scratch);
    typename Source::total *const of_rows = of_leaves + leaves.count;
    const long long rows = leaves.count / leaves.per_row;
    cudaError_t error = with_factor(reduction, [&](auto factor) {
        return fold_leaves<Source, decltype(factor)::value>(source, leaves, of_leaves, stream);
    });

    if (error == cudaSuccess)
        error = add_groups(of_leaves, leaves.per_row, rows, of_rows, stream);
    if (error == cudaSuccess)
        error = add_groups(of_rows, leaves.rows, rows / leaves.rows, totals, stream);
    return error;
}

} // namespace

#define BY_THREADS "sum-threads"
#define BY_BLOCKS  "sum-blocks"

extern const struct rung cuda_sum_rungs[] = {
    {BY_THREADS, "sums: a thread folds 1 to 32 samples of a leaf before the block does"},
    {BY_BLOCKS, "sums: a thread folds 2 samples, and a block takes leaf after leaf"},
    {NULL, NULL},
};

/* The most leaves of a block, and the farthest apart: no launch has more blocks than a device can count. */
#define MOST_APART 65536

/* A wish for threads that fold several samples each, or for blocks that fold several leaves each. */
static bool settle_threads(const struct cuda_wish *wish, struct cuda_reduction *reduction,
                           struct cuda_refusal *refusal)
{
    const int factor = wish->coarsen > 0 ? wish->coarsen : 16;

    if (factor > ARITH_LEAF / CUDA_WARP || ARITH_LEAF % factor != 0)
        return cuda_refuse(refusal, "a thread folds 1, 2, 4, 8, 16 or 32 samples of a leaf, not %d", factor);
    if (wish->stride > 0 && wish->stride != ARITH_LEAF / factor)
        return cuda_refuse(refusal, "a thread that folds %d samples of a leaf takes them %d apart", factor,
                           ARITH_LEAF / factor);
    *reduction = {false, factor, ARITH_LEAF / factor};
    return true;
}

static bool settle_blocks(const struct cuda_wish *wish, struct cuda_reduction *reduction,
                          struct cuda_refusal *refusal)
{
    const int factor = wish->coarsen > 0 ? wish->coarsen : 4, stride = wish->stride > 0 ? wish->stride : 1;

    if (factor > MOST_APART || stride > MOST_APART)
        return cuda_refuse(refusal, "a block takes at most %d leaves, at most %d apart", MOST_APART,
                           MOST_APART);
    *reduction = {true, factor, stride};
    return true;
}

bool cuda_reduction_settle(const struct cuda_wish *wish, struct cuda_reduction *reduction,
                           struct cuda_refusal *refusal)
{
    const char *rung = wish->rung != NULL ? wish->rung : BY_THREADS;

    if (wish->tile_x > 0)
        return cuda_refuse(refusal, "sums have no tiles");
    if (strcmp(rung, BY_THREADS) == 0)
        return settle_threads(wish, reduction, refusal);
    if (strcmp(rung, BY_BLOCKS) == 0)
        return settle_blocks(wish, reduction, refusal);
    return cuda_refuse(refusal, "no such reduction kernel");
}

const struct rung *cuda_reduction_rung(const struct cuda_reduction *reduction)
{
    return &cuda_sum_rungs[reduction->by_blocks ? 1 : 0];
}

struct cuda_form cuda_change_form(const struct cuda_reduction *reduction, const struct shape *shape,
                                  enum work_type work, size_t planes)
{
    const leaves leaves = leaves_of(reduction, shape->nx, shape->rows, shape->channels, planes);
    struct cuda_form form = cuda_with_work(work, [&](auto sample) {
        return with_factor(reduction, [&](auto factor) {
            return form_of<change_source<decltype(sample)>, decltype(factor)::value>(leaves);
        });
    });

    form.coarsen = reduction->factor;
    form.stride = reduction->stride;
    form.bytes_per_update = 2.0 * static_cast<double>(work_size(work));
    form.operations_per_update = 3.0;
    return form;
}

size_t cuda_reduction_scratch(const struct shape *shape, size_t planes, size_t total)
{
    const size_t rows = planes * shape->channels * shape->rows;

    return rows * ((shape->nx + ARITH_LEAF - 1) / ARITH_LEAF + 1) * total;
}

template <typename T>
cudaError_t cuda_change(const struct cuda_reduction *reduction, const cuda_view<T> &a, const cuda_view<T> &b,
                        unsigned channels, bool missing, struct range planes, void *scratch, double *sums,
                        cudaStream_t stream)
{
    const change_source<T> source = {a, b, static_cast<long long>(planes.first), missing};

    const leaves leaves =
        leaves_of(reduction, static_cast<size_t>(a.nx), static_cast<size_t>(a.rows), channels, planes.count);

    return reduce(reduction, source, leaves, scratch, sums, stream);
}

#define INSTANTIATE(T)                                                                                       \
    template cudaError_t cuda_change(const struct cuda_reduction *reduction, const cuda_view<T> &a,          \
                                     const cuda_view<T> &b, unsigned channels, bool missing,                 \
                                     struct range planes, void *scratch, double *sums, cudaStream_t stream);

INSTANTIATE(float)
INSTANTIATE(double)

cudaError_t cuda_tally(const struct cuda_reduction *reduction, const struct encoding *encoding,
                       const struct shape *shape, const void *packed, size_t planes, const double *anchors,
                       void *scratch, struct tally *tallies, cudaStream_t stream)
{
    const leaves leaves = leaves_of(reduction, shape->nx, shape->rows, encoding->channels, planes);
    const int marked = encoding->marked ? static_cast<int>(encoding_colours(encoding)) : 0;
    const tally_source source = {packed,         anchors,           leaves.nx, leaves.rows,   leaves.channels,
                                 encoding->type, encoding->swapped, marked,    encoding->mark};

    return reduce(reduction, source, leaves, scratch, tallies, stream);
}
