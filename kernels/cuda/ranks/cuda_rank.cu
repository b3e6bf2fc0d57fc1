/* Ranks: one of the samples of a window by their order, for median, min, max, order and percentile. Rung
 * `plane` of volumes and `strip` of pictures take the medians of 3×3, 5×5 and 3×3×3; `naive` takes any
 * window.
 *
 * Known as: rank-order (order-statistic) filter, erosion and dilation; selection and sorting networks.
 * Idea: samples become whole numbers of the same order, so that NaN and −0 need no thought. In these three
 * windows, a thread walks along the rows with four columns (two of a volume), two rows at a time. What two
 * windows below each other share of a column is sorted once, and two windows side by side merge the columns
 * that they share once. Elsewhere a thread bisects: it counts the samples up to the middle of what is left,
 * and both ends then move to samples; where some may be missing, it first counts those that are there.
 * Missing samples are the last in order; where one of the three has some, the list of the columns that
 * two windows share moves up by as many places as the rank is lower. Adds: networks that are merges of sorted
 * lists (Batcher), of which the compiler drops whatever no result needs. Costs: 18 minima and maxima a sample
 * for 3×3, 70 for 5×5, 110 for 3×3×3, in the pipeline that has half of the lanes; edges have a loop of their
 * own, since indices would go through it, too. Bisection reads all samples of the window some eight times
 * from L1. Traffic per sample: 2 words. Wins when: the op is a rank, but no extreme of taps along one axis
 * (cuda_axis.cu). */
#include "kernels/cuda/ladder/cuda_each_sample.cuh"
#include "kernels/cuda/shared/cuda_order.cuh"
#include "kernels/cuda/shared/cuda_row_ring.cuh"

namespace
{

/* ---- any window ---- */

template <typename T> struct rank_window {
    int tap_count;
    const cuda_tap<T> *taps;
    int rank;
    bool descends;
    double percent; /* where samples may be missing: struct op */
};

/* The order of the sample of a rank among those that a reader of taps has; or Missing, among those that are
   there, which NaN comes behind. */
template <bool Missing, typename T, typename Reader>
CUDA_INLINE typename order_for<T>::type select(const rank_window<T> &window, const Reader &read)
{
    using Order = typename order_for<T>::type;
    Order low = read(0), high = low;
    const Order missing = order_of(T(NAN));
    int rank = window.rank, present = low < missing ? 1 : 0;

#pragma unroll 4
    for (int k = 1; k < window.tap_count; k++) {
        const Order order = read(k);
        low = lesser(low, order);
        high = greater(high, order);
        present += Missing && order < missing ? 1 : 0;
    }
    if (Missing)
        rank = static_cast<int>(arith_rank_among(static_cast<uint32_t>(max(present, 1)), window.percent,
                                                 static_cast<uint32_t>(rank)));
    else if (window.rank == 0 || window.rank == window.tap_count - 1)
        return window.rank == 0 ? low : high;
    while (low != high) {
        const Order middle = (low & high) + ((low ^ high) >> 1); /* without overflow */
        Order below = low, above = high;
        int count = 0;
#pragma unroll 4
        for (int k = 0; k < window.tap_count; k++) {
            const Order order = read(k);
            const bool before = order <= middle;
            count += before ? 1 : 0;
            below = before ? greater(below, order) : below;
            above = before ? above : lesser(above, order);
        }
        if (count > rank)
            high = below;
        else
            low = above;
    }
    return low;
}

template <typename T, bool Missing>
__global__ void __launch_bounds__(EACH_THREADS, cuda_least_residents(cuda_code()))
    rank_kernel(each_part<T> part, cuda_edge<T> edge, rank_window<T> window)
{
    each_site site;

    if (!each_locate(part, &site))
        return;
    const bool inside = part.x.holds(site.x) && part.row.holds(site.row) && part.layer.holds(site.layer);
    const long long layer = part.first_layer + site.layer, plane = layer / part.channels;
    const T *here = part.from + site.offset;
    if ((edge.rule == EDGE_HOLD && !inside) || (Missing && *here != *here)) {
        part.to[site.offset] = *here;
        return;
    }
    const auto read = [&](int k) {
        const cuda_tap<T> tap = window.taps[k];
        long long shift =
            tap.dplane * part.plane_stride + static_cast<long long>(tap.drow) * part.pitch + tap.dx;
        bool outside = false;
        if (!inside)
            shift = each_shift(edge.rule, plane, tap.dplane, part.planes, &outside) * part.plane_stride +
                    each_shift(edge.rule, site.row, tap.drow, part.rows, &outside) * part.pitch +
                    each_shift(edge.rule, site.x, tap.dx, part.nx, &outside);
        const T value = outside ? edge.outside[layer - plane * part.channels] : here[shift];
        return order_of(window.descends ? -value : value);
    };
    const T value = ordered(select<Missing>(window, read));
    part.to[site.offset] = window.descends ? -value : value;
}

/* ---- networks ---- */

/* Merge two sorted lists, whose members are StrideA and StrideB apart: the members of odd and of even places,
   each as one, then neighbours (Batcher's odd-even merge). */
template <int M, int StrideA, int N, int StrideB, typename Order>
CUDA_INLINE void merge(const Order *a, const Order *b, Order *merged)
{
    if constexpr (M == 0 || N == 0) {
#pragma unroll
        for (int i = 0; i < M + N; i++)
            merged[i] = M > 0 ? a[i * StrideA] : b[i * StrideB];
    } else if constexpr (M == 1 && N == 1) {
        merged[0] = lesser(*a, *b);
        merged[1] = greater(*a, *b);
    } else {
        constexpr int Evens = (M + 1) / 2 + (N + 1) / 2, Odds = M / 2 + N / 2;
        Order even[Evens], odd[Odds];
        merge<(M + 1) / 2, 2 * StrideA, (N + 1) / 2, 2 * StrideB>(a, b, even);
        merge<M / 2, 2 * StrideA, N / 2, 2 * StrideB>(a + StrideA, b + StrideB, odd);
        merged[0] = even[0];
#pragma unroll
        for (int i = 0; i < Odds; i++) {
            if (i + 1 < Evens) {
                merged[2 * i + 1] = lesser(odd[i], even[i + 1]);
                merged[2 * i + 2] = greater(odd[i], even[i + 1]);
            } else {
                merged[2 * i + 1] = odd[i];
            }
        }
        if (Evens > Odds + 1)
            merged[M + N - 1] = even[Evens - 1];
    }
}

template <int M, int N, typename Order>
CUDA_INLINE void merge(const Order (&a)[M], const Order (&b)[N], Order (&merged)[M + N])
{
    merge<M, 1, N, 1>(&a[0], &b[0], &merged[0]);
}

template <int N, typename Order> CUDA_INLINE void sort(const Order (&samples)[N], Order (&sorted)[N])
{
    if constexpr (N == 1) {
        sorted[0] = samples[0];
    } else {
        Order first[N / 2], second[N - N / 2], a[N / 2], b[N - N / 2];
#pragma unroll
        for (int i = 0; i < N; i++)
            (i < N / 2 ? first[i < N / 2 ? i : 0] : second[i < N / 2 ? 0 : i - N / 2]) = samples[i];
        sort(first, a);
        sort(second, b);
        merge(a, b, sorted);
    }
}

/* The sample of a rank of two sorted lists: i are the first list's, in whichever way makes the greater of
   both last ones least. */
template <int Rank, int M, int N, typename Order>
CUDA_INLINE Order select_of(const Order (&a)[M], const Order (&b)[N])
{
    Order least = b[Rank];

#pragma unroll
    for (int i = 1; i <= M; i++)
        least = lesser(least, i <= Rank ? greater(a[i - 1], b[i <= Rank ? Rank - i : 0]) : a[i - 1]);
    return least;
}

/* Put a sample before all others of a list, so many times; as many at its end are dropped. */
template <int N, typename Order> CUDA_INLINE void move_up(Order (&sorted)[N], int places, Order first)
{
#pragma unroll 1
    for (; places > 0; places--) {
#pragma unroll
        for (int i = N - 1; i > 0; i--)
            sorted[i] = sorted[i - 1];
        sorted[0] = first;
    }
}

/* ---- medians of windows with networks ---- */

/* What a block computes: planes of a volume row by row, or a picture, whose planes are its rows. */
template <typename T> struct median_walk {
    const T *from; /* plane 0 of the grid, wherever the fields begin */
    T *to;
    int nx, channels;
    long long planes, first_plane;  /* of the grid; of the launch, in a volume */
    long long extent, first, end;   /* of the axis that is walked: of the grid, of the launch */
    long long plane, channel, line; /* samples to the next */
    unsigned tiles, runs;           /* blocks along x and along the walk */
    cuda_edge<T> edge;
    struct reach x, along, across; /* of the window; across: planes of a volume */
    T sign;                        /* -1: the greatest comes first */
    double percent;                /* where samples may be missing: struct op */
};

/* As many samples as a thread owns side by side, without room after them. */
template <typename T, int Count> struct alignas(Count * sizeof(T) < 16 ? Count * sizeof(T) : 16) median_pack {
    T samples[Count];
};

/* A window of (2 Radius + 1)² samples, or with Depth of as many planes. Of a volume, where columns cost most,
   lanes get the sorted columns beside their own from their neighbours, and the first and the last one have no
   samples of their own to find. Missing: some samples may be missing. */
template <typename T_, int Radius_, bool Solid_, bool Missing_> struct median_form {
    using T = T_;
    using Order = typename order_for<T>::type;
    static constexpr int Radius = Radius_, Side = 2 * Radius + 1, Depth = Solid_ ? Side : 1;
    static constexpr int Columns = Solid_ ? 2 : 4;                                   /* of a thread */
    static constexpr int Beside = Solid_ ? 0 : Radius, Cells = Columns + 2 * Beside; /* that it loads */
    static constexpr int First = Solid_ ? 1 : 0;                                     /* lane that stores */
    static constexpr int Width = (CUDA_WARP - 2 * First) * Columns;
    static constexpr int List = Side * Depth, Rank = Side * List / 2;
    static constexpr bool Light = !Solid_ && Radius == 1 && sizeof(T) == 4; /* memory binds */
    static constexpr int Warps = Light ? 8 : 4, Run = Light ? 16 : 32;      /* rows of a thread */
    static constexpr bool Solid = Solid_, Missing = Missing_;
    static_assert(!Solid || Radius == 1, "columns of a volume are merged from three lists");

    /* Blocks that a multiprocessor should hold. Elsewhere than on 9.0, ptxas wants more registers for 5x5. In
       pictures, lists that move up for missing samples take many. */
    static __host__ __device__ constexpr int residents(int code)
    {
        if (Missing && !Solid)
            return 2;
        return Light || (Radius > 1 && code != 90) ? 3 : 4;
    }
};

/* Where a thread reads and writes. */
template <typename Form> struct median_place {
    using T = typename Form::T;
    const T *planes[Form::Depth]; /* NULL: outside the grid */
    int columns[Form::Cells];     /* −1: outside the grid */
    T outside;
    int x;
    unsigned held; /* a bit for each own column that the edge rule holds in all rows */
};

template <typename Form>
CUDA_INLINE void find_place(const median_walk<typename Form::T> &walk, int x, long long layer,
                            median_place<Form> *place)
{
    const long long plane = layer / walk.channels;
    const int channel = static_cast<int>(layer - plane * walk.channels);
    const bool across = Form::Solid && !cuda_reach::inside(walk.across, plane, walk.planes);

    const int last = walk.nx - 1 + Form::Radius; /* that a window reads */

    place->x = x;
    place->outside = walk.edge.rule == EDGE_CONSTANT ? walk.edge.outside[channel] : typename Form::T(0);
    place->held = 0;
#pragma unroll
    for (int d = 0; d < Form::Depth; d++) {
        const long long read =
            Form::Solid ? cuda_edge_index(walk.edge.rule, plane + d - Form::Radius, walk.planes) : 0;
        place->planes[d] = read < 0 ? NULL : walk.from + read * walk.plane + channel * walk.channel;
    }
#pragma unroll
    for (int i = 0; i < Form::Cells; i++)
        place->columns[i] =
            static_cast<int>(cuda_edge_index(walk.edge.rule, min(x + i - Form::Beside, last), walk.nx));
#pragma unroll
    for (int i = 0; i < Form::Columns; i++) {
        const bool held = across || !cuda_reach::inside(walk.x, x + i, walk.nx);
        place->held |= (walk.edge.rule == EDGE_HOLD && held ? 1u : 0u) << i;
    }
}

/* The samples of all columns at a place of the walk. */
template <typename Form>
CUDA_INLINE void load_line(const median_walk<typename Form::T> &walk, const median_place<Form> &place,
                           long long at, typename Form::T (&line)[Form::Cells][Form::Depth])
{
    using T = typename Form::T;
    const long long source = cuda_edge_index(walk.edge.rule, at, walk.extent);

#pragma unroll
    for (int d = 0; d < Form::Depth; d++) {
        const T *row = place.planes[d] == NULL || source < 0 ? NULL : place.planes[d] + source * walk.line;
#pragma unroll
        for (int i = 0; i < Form::Cells; i++)
            line[i][d] = row == NULL || place.columns[i] < 0 ? place.outside : row[place.columns[i]];
    }
}

/* The same where the grid has them all; `rows` are at the thread's first own column, or at the first one. */
template <typename Form>
CUDA_INLINE void load_easily(const typename Form::T *const (&rows)[Form::Depth],
                             const median_place<Form> &place,
                             typename Form::T (&line)[Form::Cells][Form::Depth])
{
    using pack = median_pack<typename Form::T, Form::Columns>;

#pragma unroll
    for (int d = 0; d < Form::Depth; d++) {
        if constexpr (Form::Beside == 0) {
#pragma unroll
            for (int i = 0; i < Form::Cells; i++)
                line[i][d] = rows[d][place.columns[i]];
            continue;
        }
        const pack own = *reinterpret_cast<const pack *>(rows[d]);
#pragma unroll
        for (int i = 0; i < Form::Cells; i++) {
            const int k = i - Form::Beside;
            line[i][d] = k >= 0 && k < Form::Columns ? own.samples[k >= 0 && k < Form::Columns ? k : 0]
                                                     : rows[d][place.columns[i] - place.x];
        }
    }
}

/* The orders of the samples of a line, those of several planes sorted. */
template <typename Form>
CUDA_INLINE void sort_slice(typename Form::T sign, const typename Form::T (&line)[Form::Cells][Form::Depth],
                            typename Form::Order (&slice)[Form::Cells][Form::Depth])
{
#pragma unroll
    for (int i = 0; i < Form::Cells; i++) {
        typename Form::Order orders[Form::Depth];
#pragma unroll
        for (int d = 0; d < Form::Depth; d++)
            orders[d] = order_of(line[i][d], sign);
        sort(orders, slice[i]);
    }
}

/* The samples of a column that two windows below each other share, sorted: all slices that the first one
   crosses but its own first. */
template <typename Form>
CUDA_INLINE void sort_common(const typename Form::Order (&slices)[Form::Side + 1][Form::Cells][Form::Depth],
                             int cell, typename Form::Order (&common)[Form::List - Form::Depth])
{
    using Order = typename Form::Order;

    if constexpr (Form::Depth == 1) {
        Order column[Form::Side - 1];
#pragma unroll
        for (int i = 1; i < Form::Side; i++)
            column[i - 1] = slices[i][cell][0];
        sort(column, common);
    } else {
        merge(slices[1][cell], slices[2][cell], common);
    }
}

/* The columns that two windows side by side share, as one list. */
template <typename Form>
CUDA_INLINE void merge_shared(const typename Form::Order (*lists)[Form::List],
                              typename Form::Order (&shared)[2 * Form::Radius * Form::List])
{
    if constexpr (Form::Radius == 1) {
        merge(lists[0], lists[1], shared);
    } else {
        typename Form::Order first[2 * Form::List], second[2 * Form::List];
        merge(lists[0], lists[1], first);
        merge(lists[2], lists[3], second);
        merge(first, second, shared);
    }
}

/* How many samples of a sorted list are missing. */
template <int N, typename Order> CUDA_INLINE int count_missing(const Order (&sorted)[N], Order missing)
{
    int count = 0;

    if (sorted[N - 1] < missing)
        return 0;
#pragma unroll
    for (int i = 0; i < N; i++)
        count += sorted[i] < missing ? 0 : 1;
    return count;
}

/* The median of a window, from the list of its own column and that of those that another window has as well.
   If samples are missing, the rank is lower. The shared list then gets as many samples before all others, and
   loses as many at its end, which are far behind the median. */
template <typename Form>
CUDA_INLINE typename Form::T find_median(const median_walk<typename Form::T> &walk,
                                         const typename Form::Order (&own)[Form::List],
                                         const typename Form::Order (&shared)[2 * Form::Radius * Form::List])
{
    using T = typename Form::T;
    using Order = typename Form::Order;
    constexpr int Taps = Form::Side * Form::List;

    if constexpr (Form::Missing) {
        const Order last = order_of(T(NAN));
        const int missing = count_missing(own, last) + count_missing(shared, last);
        if (missing > 0) {
            Order rest[2 * Form::Radius * Form::List];
            cuda_copy(rest, shared);
            const auto there = static_cast<uint32_t>(max(Taps - missing, 1));
            move_up(rest, Form::Rank - static_cast<int>(arith_rank_among(there, walk.percent, Form::Rank)),
                    order_of(-T(INFINITY)));
            return ordered(select_of<Form::Rank>(own, rest)) * walk.sign;
        }
    }
    return ordered(select_of<Form::Rank>(own, shared)) * walk.sign;
}

/* The medians of a line, from what its columns have in common with those of its neighbour, and their slices
   that the neighbour has not. */
template <typename Form>
CUDA_INLINE median_pack<typename Form::T, Form::Columns>
find_medians(const median_walk<typename Form::T> &walk,
             const typename Form::Order (&common)[Form::Cells][Form::List - Form::Depth],
             const typename Form::Order (&slice)[Form::Cells][Form::Depth])
{
    using Order = typename Form::Order;
    Order lists[Form::Columns + 2 * Form::Radius][Form::List];
    median_pack<typename Form::T, Form::Columns> medians;

#pragma unroll
    for (int i = 0; i < Form::Cells; i++)
        merge(common[i], slice[i], lists[i + Form::Radius - Form::Beside]);
    if constexpr (Form::Beside == 0) {
#pragma unroll
        for (int k = 0; k < Form::List; k++) {
            lists[0][k] = __shfl_up_sync(CUDA_ALL_LANES, lists[Form::Columns][k], 1);
            lists[Form::Columns + 1][k] = __shfl_down_sync(CUDA_ALL_LANES, lists[1][k], 1);
        }
    }
#pragma unroll
    for (int i = 0; i < Form::Columns; i += 2) {
        Order shared[2 * Form::Radius * Form::List];
        merge_shared<Form>(&lists[i + 1], shared);
        medians.samples[i] = find_median<Form>(walk, lists[i], shared);
        medians.samples[i + 1] = find_median<Form>(walk, lists[i + 2 * Form::Radius + 1], shared);
    }
    return medians;
}

/* What is missing stays so. */
template <int Count, typename T>
CUDA_INLINE void keep_missing(const T *old, int count, median_pack<T, Count> *medians)
{
#pragma unroll
    for (int i = 0; i < Count; i++) {
        if (i < count && old[i] != old[i])
            medians->samples[i] = old[i];
    }
}

/* The medians of a thread's lines, two at a time; Easy: the windows of all lanes are in the grid, but for
   columns that others stand for, and none is held; then the next two are on their way meanwhile. */
template <typename Form, bool Easy> struct median_lines {
    using T = typename Form::T;
    using Order = typename Form::Order;
    using pack = median_pack<T, Form::Columns>;

    const median_walk<T> &walk;
    const median_place<Form> &place;
    const long long first; /* line */
    const int count;
    const T *rows[Form::Depth], *old;
    T *to;
    T lines[2][Form::Cells][Form::Depth];                   /* that come next */
    Order slices[Form::Side + 1][Form::Cells][Form::Depth]; /* that two windows below each other cross */

    CUDA_INLINE median_lines(const median_walk<T> &walk_, const median_place<Form> &place_, long long own,
                             long long first_, int count_)
        : walk(walk_), place(place_), first(first_), count(count_), old(walk.from + own + first * walk.line),
          to(walk.to + own + first * walk.line), slices()
    {
#pragma unroll
        for (int d = 0; d < Form::Depth; d++)
            rows[d] =
                Easy ? place.planes[d] + (first - Form::Radius) * walk.line + (Form::Beside > 0 ? place.x : 0)
                     : NULL;
    }

    /* Of an odd number of lines, the last one is loaded twice, and nothing comes of the second. */
    CUDA_INLINE void load(int number)
    {
#pragma unroll
        for (int k = 0; k < 2; k++) {
            const int last = count + 2 * Form::Radius - 1;
            if constexpr (Easy)
                load_easily<Form>(rows, place, lines[k]);
            else
                load_line<Form>(walk, place, first - Form::Radius + min(number + k, last), lines[k]);
#pragma unroll
            for (int d = 0; d < Form::Depth; d++)
                rows[d] += Easy ? walk.line : 0;
        }
    }

    CUDA_INLINE void take(int number)
    {
        if (!Easy)
            load(number);
#pragma unroll
        for (int s = 0; s + 2 < Form::Side + 1; s++) {
#pragma unroll
            for (int i = 0; i < Form::Cells; i++)
                cuda_copy(slices[s][i], slices[s + 2][i]);
        }
        sort_slice<Form>(walk.sign, lines[0], slices[Form::Side - 1]);
        sort_slice<Form>(walk.sign, lines[1], slices[Form::Side]);
    }

    static CUDA_INLINE bool stores()
    {
        return Form::First == 0 || (threadIdx.x >= Form::First && threadIdx.x < CUDA_WARP - Form::First);
    }

    /* Those that the edge rule holds stay as they were. */
    CUDA_INLINE void store(int number, pack medians)
    {
        if (Form::Missing && number < count && stores())
            keep_missing(old + place.x, Easy ? Form::Columns : walk.nx - place.x, &medians);
        if constexpr (Easy) {
            if (stores())
                *reinterpret_cast<pack *>(to + place.x) = medians;
        } else if (number < count && stores()) {
            const bool held =
                walk.edge.rule == EDGE_HOLD && !cuda_reach::inside(walk.along, first + number, walk.extent);
#pragma unroll
            for (int i = 0; i < Form::Columns; i++) {
                const int x = place.x + i;
                if (x < walk.nx)
                    to[x] = held || (place.held >> i & 1) != 0 ? old[x] : medians.samples[i];
            }
        }
        old += walk.line;
        to += walk.line;
    }

    CUDA_INLINE void run()
    {
        if (Easy)
            load(0);
#pragma unroll
        for (int number = 0; number < 2 * Form::Radius; number += 2) {
            take(number);
            if (Easy)
                load(number + 2);
        }
#pragma unroll 1
        for (int number = 0; number < count; number += 2) {
            Order common[Form::Cells][Form::List - Form::Depth];
            take(number + 2 * Form::Radius);
#pragma unroll
            for (int i = 0; i < Form::Cells; i++)
                sort_common<Form>(slices, i, common[i]);
            store(number, find_medians<Form>(walk, common, slices[0]));
            if (Easy && number + 2 < count)
                load(number + 2 + 2 * Form::Radius);
            store(number + 1, find_medians<Form>(walk, common, slices[Form::Side]));
        }
    }
};

/* Whether the windows of a warp are easy, from a column and a line on. */
template <typename Form>
CUDA_INLINE bool is_easy(const median_walk<typename Form::T> &walk, int x, long long plane, long long first,
                         int count)
{
    const int behind = x + Form::Width, around = max(Form::Radius, Form::First * Form::Columns);
    const bool repeats = walk.edge.rule != EDGE_CONSTANT && walk.edge.rule != EDGE_HOLD;
    const bool inside = x >= around && behind + around <= walk.nx &&
                        (!Form::Solid || (plane >= Form::Radius && plane + Form::Radius < walk.planes));

    return behind <= walk.nx && count % 2 == 0 && first >= Form::Radius &&
           first + count + Form::Radius <= walk.extent && (repeats || inside);
}

template <typename Form>
__global__ void __launch_bounds__(CUDA_WARP *Form::Warps, Form::residents(cuda_code()))
    median_kernel(median_walk<typename Form::T> walk)
{
    const unsigned tile = blockIdx.x % walk.tiles, rest = blockIdx.x / walk.tiles;
    const long long layer = walk.first_plane * walk.channels + rest / walk.runs;
    const int warp_x = static_cast<int>(tile) * Form::Width;
    const int x = warp_x + (static_cast<int>(threadIdx.x) - Form::First) * Form::Columns;
    const long long first = walk.first + (rest % walk.runs * Form::Warps + threadIdx.y) * Form::Run;
    median_place<Form> place;

    if ((Form::First == 0 && x >= walk.nx) || first >= walk.end)
        return;
    find_place(walk, x, layer, &place);
    const int count = static_cast<int>(min(static_cast<long long>(Form::Run), walk.end - first));
    const long long plane = layer / walk.channels;
    const long long own = (Form::Solid ? plane : 0) * walk.plane + layer % walk.channels * walk.channel;
    if (is_easy<Form>(walk, warp_x, plane, first, count))
        median_lines<Form, true>(walk, place, own, first, count).run();
    else
        median_lines<Form, false>(walk, place, own, first, count).run();
}

/* ---- the host ---- */

template <typename T> bool rank_shape(const struct cuda_question *asked, struct cuda_form *form)
{
    const struct op *op = asked->op;
    const double look = 6, rounds = 8; /* operations of a tap, and bisections after the extremes are known */

    if (op->kind != OP_RANK)
        return cuda_refuse(asked->refusal, "nothing is chosen by its rank");
    *form = each_form(asked, op->missing ? reinterpret_cast<const void *>(&rank_kernel<T, true>)
                                         : reinterpret_cast<const void *>(&rank_kernel<T, false>));
    form->operations_per_update =
        look * static_cast<double>(op->tap_count) * (op_takes_extreme(op) ? 1 : 1 + rounds);
    return true;
}

template <typename T> cudaError_t rank_launch(const struct cuda_job *job)
{
    const struct op *op = job->op->op;
    const rank_window<T> window = {static_cast<int>(op->tap_count),
                                   static_cast<const cuda_tap<T> *>(job->op->taps),
                                   static_cast<int>(op->rank), op->descends, op->percent};

    return each_launch<T>(job, [&](dim3 grid, dim3 block, const each_part<T> &part) {
        const auto kernel = op->missing ? &rank_kernel<T, true> : &rank_kernel<T, false>;
        return CUDA_LAUNCH(job->stream, grid, block, 0, kernel, part, cuda_edge_of<T>(job->op), window);
    });
}

bool is_side(struct reach reach, int radius)
{
    return reach.low == -radius && reach.high == radius;
}

/* The radius of the median of a square window of a picture or a cube of a volume that has a network, or 0.
   Values of f64 take twice the registers and more instructions, so that bisection serves all but the
   smallest. */
template <typename T> int median_radius(const struct op *op, bool is_picture)
{
    for (int radius = 1; radius <= (is_picture && sizeof(T) == sizeof(float) ? 2 : 1); radius++) {
        const size_t side = 2 * static_cast<size_t>(radius) + 1, taps = side * side * (is_picture ? 1 : side);
        if (op->tap_count == taps && op->rank == taps / 2 && is_side(op->x, radius) &&
            is_side(op->plane, radius) && is_side(op->row, is_picture ? 0 : radius))
            return is_picture || sizeof(T) == sizeof(float) ? radius : 0;
    }
    return 0;
}

/* Call act with the form of such a median. */
template <typename T, bool Missing, typename Act>
auto with_median(const struct op *op, bool is_picture, const Act &act)
{
    if constexpr (sizeof(T) == sizeof(float)) {
        if (!is_picture)
            return act(median_form<T, 1, true, Missing>());
        if (op->x.high == 2)
            return act(median_form<T, 2, false, Missing>());
    }
    return act(median_form<T, 1, false, Missing>());
}

template <typename T, typename Act> auto with_median(const struct op *op, bool is_picture, const Act &act)
{
    return op->missing ? with_median<T, true>(op, is_picture, act)
                       : with_median<T, false>(op, is_picture, act);
}

/* Blocks of a launch: along x, along the walk, and all of them. */
template <typename Form> struct median_blocks {
    long long tiles, runs, all;

    median_blocks(const struct shape &shape, struct range planes)
    {
        const long long length = static_cast<long long>(Form::Solid ? shape.rows : planes.count);

        tiles = cuda_ceil_divide(static_cast<long long>(shape.nx), Form::Width);
        runs = cuda_ceil_divide(length, Form::Warps * Form::Run);
        all = tiles * runs * static_cast<long long>(Form::Solid ? planes.count : 1) * shape.channels;
    }
};

template <typename T> bool median_shape(const struct cuda_question *asked, struct cuda_form *form)
{
    const bool is_picture = asked->shape->rows == 1;

    if (asked->op->kind != OP_RANK || median_radius<T>(asked->op, is_picture) == 0)
        return cuda_refuse(asked->refusal, "of ranks, only medians of 3x3, 5x5 and 3x3x3 have a network");
    return with_median<T>(asked->op, is_picture, [&](auto chosen) {
        using Form = decltype(chosen);
        const median_blocks<Form> blocks(*asked->shape, {0, asked->shape->planes});
        const double networks[] = {22, 55, 85};

        if (blocks.all > 0x7fffffff)
            return cuda_refuse(asked->refusal, "the grid is too large for a launch");
        form->tile_x = Form::Width;
        form->tile_y = Form::Warps * Form::Run;
        form->coarsen = Form::Run;
        form->block = dim3(CUDA_WARP, Form::Warps);
        form->grid = dim3(static_cast<unsigned>(blocks.all));
        form->kernel = reinterpret_cast<const void *>(&median_kernel<Form>);
        form->bytes_per_update = 2.0 * sizeof(T);
        form->operations_per_update = networks[Form::Solid ? 2 : Form::Radius - 1];
        return true;
    });
}

template <typename Form> cudaError_t launch_median(const struct cuda_job *job)
{
    using T = typename Form::T;
    const cuda_view<T> &from = *static_cast<const cuda_view<T> *>(job->from);
    const cuda_view<T> &to = *static_cast<const cuda_view<T> *>(job->to);
    const struct op *op = job->op->op;
    const median_blocks<Form> blocks(cuda_shape_of(job), job->planes);
    median_walk<T> walk = {};

    if (job->planes.count == 0)
        return cudaSuccess;
    walk.from = from.samples - from.first * from.plane_stride();
    walk.to = to.samples - to.first * to.plane_stride();
    walk.nx = from.nx;
    walk.channels = from.channels;
    walk.planes = from.planes;
    walk.plane = from.plane_stride();
    walk.channel = from.pitch * from.rows;
    walk.first_plane = Form::Solid ? static_cast<long long>(job->planes.first) : 0;
    walk.extent = Form::Solid ? from.rows : from.planes;
    walk.first = Form::Solid ? 0 : static_cast<long long>(job->planes.first);
    walk.end = walk.first + (Form::Solid ? from.rows : static_cast<long long>(job->planes.count));
    walk.line = Form::Solid ? from.pitch : from.plane_stride();
    walk.tiles = static_cast<unsigned>(blocks.tiles);
    walk.runs = static_cast<unsigned>(blocks.runs);
    walk.edge = cuda_edge_of<T>(job->op);
    walk.x = op->x;
    walk.along = Form::Solid ? op->row : op->plane;
    walk.across = op->plane;
    walk.sign = op->descends ? T(-1) : T(1);
    walk.percent = op->percent;
    return CUDA_LAUNCH(job->stream, dim3(static_cast<unsigned>(blocks.all)), dim3(CUDA_WARP, Form::Warps), 0,
                       median_kernel<Form>, walk);
}

template <typename T> cudaError_t median_launch(const struct cuda_job *job)
{
    const bool is_picture = cuda_shape_of(job).rows == 1;

    return with_median<T>(job->op->op, is_picture,
                          [&](auto chosen) { return launch_median<decltype(chosen)>(job); });
}

} // namespace

CUDA_RUNG(rank, false, false, false);
CUDA_RUNG(median, false, false, false);
