/* Taps along one axis, side by side but for one or two that are left out: what gauss and its derivatives, box
 * and unsharp masks are made of; and the extremes of windows that leave out none, of which erosion and
 * dilation by boxes are made.
 *
 * Known as: separable convolution (the row and the column pass), register-tiled; weights in constant memory
 *   and uniform registers; of extremes, a blocked form of van Herk's and Gil and Werman's algorithm.
 * Idea: a thread has the sums of 8 or 16 samples in a line along the axis and goes through the taps in order.
 *   The samples that a tap meets are in registers, and its weight serves all sums; the next tap needs one
 *   sample more, in the slot of one that no tap needs any longer. Slots take turns, so nothing is moved.
 *   Across x, a thread owns 16 bytes of a row and loads each row by itself; its neighbours load it, too, and
 *   the first-level cache serves them. Along x, a block brings pieces of 32 rows to shared memory, where each
 *   lane has a row of its own; sums go back the same way, so that memory sees whole sectors. Windows side by
 *   side share what lies in all of them. If they are long, a block first finds the extremes of groups of as
 *   many samples as a thread has, and what is shared is mostly groups. Then it also computes several tiles
 *   along the axis, one after another, and finds the groups of all of them at once. Where edge rules only
 *   repeat what long windows have inside the grid, groups outside of it are left out.
 * Adds: any radius by one loop; edge rules outside of it: across x as a table of the rows to read, along x
 *   when a piece is brought. The last pass of an unsharp mask ends with what makes the blur sharp.
 * Costs: the rows before and after what a block computes, and the columns beside it, are read for its
 *   neighbours, too.
 * Traffic per sample: 2 words; 1 more for the last pass of an unsharp mask; 3 more for each further launch,
 *   where a window does not fit into one.
 * Wins when: taps lie on one axis. */
#include "kernels/cuda/shared/cuda_march_common.cuh"
#include "kernels/cuda/shared/cuda_order.cuh"
#include "kernels/cuda/shared/cuda_row_ring.cuh"

#include <algorithm>

namespace
{

enum axis { AXIS_X, AXIS_ROW, AXIS_PLANE, AXIS_NONE };

/* One launch. A line is what the axis sees of the field. Along x it is a row, and a place a column; across x
 * it is the rows of one column, and places are those of the axis. */
template <typename T> struct axis_job {
    /* Weights of a launch: a piece of as many rows as a warp has lanes then fits into 48 KiB. */
    static constexpr int Most = 1000 / sizeof(T);
    static constexpr int Beside = 1 << 22, Beyond = (1 << 30) + Beside; /* all places that taps reach */

    const T *from;     /* place 0 of the first line */
    T *to;             /* the same */
    const T *kept;     /* the same, where the launch ends OP_UNSHARP; else NULL */
    T amount;          /* OP_UNSHARP */
    long long line;    /* samples from a line to the next */
    unsigned place;    /* across x: bytes from a place to the next */
    int nx, places;    /* of the grid */
    int first, end;    /* places to compute */
    int lines;         /* to compute */
    int channel_lines; /* of one channel, one after the other */
    int channels;
    int turns; /* tiles that a block computes, one after another along the axis; of chains, one */
    int tiles; /* along x: blocks side by side */
    cuda_edge<T> edge;
    struct reach reach; /* of the op, along the axis */
    int low, span;      /* offsets of the taps: low … low + span − 1 */
    int gap, gap_end;   /* weights among which all gaps are; equal: there are none */
    bool resumes, ends; /* whether taps have been chained before these, and whether none come after them */
    bool clips; /* extremes of long windows that find nothing outside the grid that they do not have inside */
    T sign;     /* OP_RANK: -1 where the greatest comes first in order */
    typename order_for<T>::type flip; /* -1 where the last one in order is taken, else 0 */
    /* Along x in packs, as in a row_piece. A gap has weight 0: a tap never has. */
    alignas(16) T weights[Most + 2 * cuda_pack_of<T>::samples];

    CUDA_INLINE T outside(int number) const
    {
        return edge.rule == EDGE_CONSTANT ? edge.outside[number / channel_lines % channels] : T(0);
    }

    /* The places that windows look at: of the grid, or all. */
    __host__ __device__ int seen() const
    {
        return clips ? 0 : -Beside;
    }
    __host__ __device__ int seen_end() const
    {
        return clips ? places : Beyond;
    }

    /* Whether weights from one on have no gap among them. */
    CUDA_INLINE bool is_dense(int from, int end) const
    {
        return end <= gap || from >= gap_end;
    }

    CUDA_INLINE bool holds(int index) const
    {
        return ends && edge.rule == EDGE_HOLD && !cuda_reach::inside(reach, index, places);
    }
};

/* Comparing bits, not numbers, lets the compiler see that all threads of a warp take the same branch. */
CUDA_INLINE bool is_gap(float weight)
{
    return arith_bits_f32(weight) == 0;
}
CUDA_INLINE bool is_gap(double weight)
{
    return arith_bits_f64(weight) == 0;
}

/* ---- extremes ---- */

/* The place of a sample where the extreme comes first, and back. */
template <typename T> CUDA_INLINE typename order_for<T>::type place_of(const axis_job<T> &job, T value)
{
    return order_of(value, job.sign) ^ job.flip;
}
template <typename T> CUDA_INLINE T placed(const axis_job<T> &job, typename order_for<T>::type place)
{
    return ordered(place ^ job.flip) * job.sign;
}

template <typename Order, int Pack>
CUDA_INLINE void take_lesser(Order (&least)[Pack], const Order (&places)[Pack])
{
#pragma unroll
    for (int i = 0; i < Pack; i++)
        least[i] = lesser(least[i], places[i]);
}

/* The first places of Group windows that begin one behind the other, each of at least Group samples. What
   lies in all of them is taken once. `head` gives the samples that the first window begins with, by their
   number in it; what precedes the last one of these counts for the first windows. `middle` takes all others
   of the first window. `tail` gives those behind it, from number 1 on, which count for the last windows. */
template <int Group, int Pack, typename T, typename Head, typename Middle, typename Tail>
CUDA_INLINE void take_windows(const axis_job<T> &job, const Head &head, const Middle &middle,
                              const Tail &tail, T (*found)[Pack])
{
    using Order = typename order_for<T>::type;
    Order before[Group][Pack], shared[Pack], places[Pack];

#pragma unroll
    for (int k = 0; k < Group; k++)
        head(k, before[k]);
    cuda_copy(shared, before[Group - 1]);
#pragma unroll
    for (int k = Group - 3; k >= 0; k--)
        take_lesser(before[k], before[k + 1]);
    middle(shared);
#pragma unroll
    for (int o = 0; o < Group; o++) {
        if (o > 0) {
            tail(o, places);
            take_lesser(shared, places);
        }
#pragma unroll
        for (int i = 0; i < Pack; i++)
            found[o][i] = placed(job, o < Group - 1 ? lesser(before[o][i], shared[i]) : shared[i]);
    }
}

/* The least of a place and of those with numbers from one on. */
template <int Pack, typename T, typename Read>
CUDA_INLINE void take_numbers(const Read &read, int first, int end, T (&least)[Pack])
{
    T places[Pack];

#pragma unroll 4
    for (int k = first; k < end; k++) {
        read(k, places);
        take_lesser(least, places);
    }
}

template <int Count, int Group, int Pack, typename T, typename Read>
CUDA_INLINE void take_groups(const axis_job<T> &job, const Read &read, T (&found)[Count][Pack])
{
    using Order = typename order_for<T>::type;

#pragma unroll
    for (int first = 0; first < Count; first += Group) {
        take_windows<Group, Pack>(
            job, [&](int k, Order(&places)[Pack]) { read(first + k, places); },
            [&](Order(&shared)[Pack]) { take_numbers(read, first + Group, first + job.span, shared); },
            [&](int o, Order(&places)[Pack]) { read(first + job.span - 1 + o, places); }, &found[first]);
    }
}

/* The first places of windows of three samples: all that they read is on its way at once. */
template <int Count, int Pack, typename T, typename Read>
CUDA_INLINE void take_threes(const axis_job<T> &job, const Read &read, T (&found)[Count][Pack])
{
    typename order_for<T>::type places[Count + 2][Pack];

#pragma unroll
    for (int k = 0; k < Count + 2; k++)
        read(k, places[k]);
#pragma unroll
    for (int o = 0; o < Count; o++) {
#pragma unroll
        for (int i = 0; i < Pack; i++)
            found[o][i] = placed(job, lesser(lesser(places[o][i], places[o + 1][i]), places[o + 2][i]));
    }
}

/* What is first of extremes and those of an earlier launch. */
template <int Count, typename T>
CUDA_INLINE void join_extremes(const axis_job<T> &job, const T (&earlier)[Count], T (&found)[Count])
{
#pragma unroll
    for (int o = 0; o < Count; o++)
        found[o] = placed(job, lesser(place_of(job, found[o]), place_of(job, earlier[o])));
}

/* The extremes of windows that begin one behind the other, in groups as large as the windows allow. */
template <int Count, int Pack, typename T, typename Read>
CUDA_INLINE void find_extremes(const axis_job<T> &job, const Read &read, T (&found)[Count][Pack])
{
    if (job.span >= Count)
        take_groups<Count, Count>(job, read, found);
    else if (job.span >= Count / 2)
        take_groups<Count, Count / 2>(job, read, found);
    else if (job.span == 3)
        take_threes(job, read, found);
    else
        take_groups<Count, 2>(job, read, found);
}

/* Groups of samples of a block, one behind the other from place `begin` on, of which only those count that
   have a place that windows look at. */
template <int Group> struct group_range {
    int first, end;

    template <typename T>
    CUDA_INLINE group_range(const axis_job<T> &job, int begin, int count)
        : first(max(job.seen() - begin, 0) / Group),
          end(min(count, (max(job.seen_end() - begin, 0) + Group - 1) / Group))
    {
    }

    /* At most, of a launch whose blocks have so many places. */
    template <typename T> static __host__ __device__ int most(const axis_job<T> &job, int places)
    {
        const int count = places / Group, seen = (job.seen_end() - job.seen()) / Group + 2;

        return count < seen ? count : seen;
    }
};

/* Places of a block. */
template <typename Form> __host__ __device__ int places_of(const axis_job<typename Form::T> &job)
{
    return (Form::Extremes ? job.turns : 1) * (Form::Warps * Form::Samples);
}

/* Groups of places whose extremes a block finds before those of windows: along x, of each row. */
template <typename Form> __host__ __device__ int groups_of(const axis_job<typename Form::T> &job)
{
    const bool groups = Form::Extremes && job.span >= Form::Grouped;

    return groups ? group_range<Form::Samples>::most(job, places_of<Form>(job) + job.span - 1) : 0;
}

/* ---- across x ---- */

/* Extremes: whether windows have these instead of sums. */
template <typename Type, bool Extremes_> struct line_form {
    using T = Type;
    static constexpr bool Extremes = Extremes_;
    static constexpr int Pack = cuda_pack_of<T>::samples;
    static constexpr int Samples = 8;                    /* below each other, of a thread */
    static constexpr int Ahead = sizeof(T) == 4 ? 1 : 4; /* rows that are loaded before a tap needs them */
    static constexpr int Slots = Samples + Ahead;
    static constexpr int Warps = sizeof(T) == 4 ? 5 : 8; /* of a block, below each other */
    static constexpr int Threads = Warps * CUDA_WARP;
    static constexpr int Columns = CUDA_WARP * Pack, Rows = Warps * Samples;
    static constexpr int Grouped = 4 * Samples; /* the shortest windows that gain by groups */
    static constexpr double Reached = 0.58;     /* of the peak, by long windows */

    /* Blocks that a multiprocessor should hold. */
    static __host__ __device__ constexpr int residents(int code)
    {
        return cuda_residents(code, Threads, sizeof(T) == 4 ? 4 - Extremes : 2);
    }

    /* Places that it looks up; the last ones are loaded and not used. */
    static __host__ __device__ int sources(const axis_job<T> &job)
    {
        return places_of<line_form>(job) + job.span - 1 + Ahead;
    }
    /* In shared memory, groups come first. */
    static __host__ __device__ int group_bytes(const axis_job<T> &job)
    {
        return groups_of<line_form>(job) * CUDA_WARP * 16;
    }
    static size_t shared_bytes(const axis_job<T> &job)
    {
        return static_cast<size_t>(group_bytes(job)) + static_cast<size_t>(sources(job)) * sizeof(int);
    }
    static dim3 grid(const axis_job<T> &job)
    {
        return dim3(static_cast<unsigned>(cuda_ceil_divide(job.nx, Columns)),
                    static_cast<unsigned>(cuda_ceil_divide(job.end - job.first, places_of<line_form>(job))),
                    static_cast<unsigned>(job.lines));
    }
};

/* Look up where a block's places are read, from one on: −1 is outside. What only places behind the last one
   to compute read may not be of the field, so the last one that is read stands for it. Samples that `hold`
   keeps may read anything. A function of its own: behind its branches, the compiler does not see that all
   threads take the same taps, and keeps the weights in registers of each. */
__device__ __attribute__((noinline)) void look_up(int *table, int count, int first, int last,
                                                  enum edge_rule rule, int places)
{
#pragma unroll 1
    for (int i = static_cast<int>(threadIdx.x); i < count; i += static_cast<int>(blockDim.x))
        table[i] = cuda_near_index(rule == EDGE_HOLD ? EDGE_NEAREST : rule, min(first + i, last), places);
}

/* Places in shared memory, as a thread has them. */
template <typename Order> struct alignas(16) group_pack {
    static constexpr int Pack = 16 / sizeof(Order);
    Order places[Pack];
};

template <typename Form> struct line_tile {
    using T = typename Form::T;
    using order = typename order_for<T>::type;
    static constexpr int Pack = Form::Pack, Samples = Form::Samples, Slots = Form::Slots;

    const axis_job<T> &job;
    const int x, origin; /* this thread's first column, its block's first place */
    int begin;           /* its own in this turn */
    const int *sources;  /* of what the first tap of its first sample reads, and of what lies behind */
    const T *const from;
    const T outside;
    group_pack<order> *const groups;

    CUDA_INLINE line_tile(const axis_job<T> &job_, char *shared, int *table)
        : job(job_),
          x((static_cast<int>(blockIdx.x) * CUDA_WARP + static_cast<int>(threadIdx.x) % CUDA_WARP) * Pack),
          origin(job.first + static_cast<int>(blockIdx.y) * places_of<Form>(job)),
          begin(origin + static_cast<int>(threadIdx.x) / CUDA_WARP * Samples),
          sources(table + (begin - origin)), from(own(job.from)),
          outside(job.outside(static_cast<int>(blockIdx.z))),
          groups(reinterpret_cast<group_pack<order> *>(shared))
    {
    }

    /* All groups of the block. */
    CUDA_INLINE group_range<Samples> range() const
    {
        return group_range<Samples>(job, origin + job.low, (places_of<Form>(job) + job.span - 1) / Samples);
    }

    /* Where a group is, by its number among those that count. */
    CUDA_INLINE group_pack<order> *group_at(int group) const
    {
        return groups + group * CUDA_WARP + static_cast<int>(threadIdx.x) % CUDA_WARP;
    }

    /* Place 0 of this thread's first column. */
    template <typename Sample> CUDA_INLINE Sample *own(Sample *first) const
    {
        return first + blockIdx.z * job.line + x;
    }

    /* Without the launder, compilers would multiply 64 bits by 64. */
    template <typename Sample> CUDA_INLINE Sample *at(Sample *base, int index) const
    {
        typedef typename std::conditional<std::is_const<Sample>::value, const char, char>::type byte;
        unsigned place = job.place;
        cuda_launder(&place);
        const unsigned long long bytes =
            static_cast<unsigned long long>(static_cast<unsigned>(index)) * place;

        return reinterpret_cast<Sample *>(reinterpret_cast<byte *>(base) + bytes);
    }

    CUDA_INLINE int last_read() const
    {
        return min(origin + places_of<Form>(job), job.end) - 1 + job.low + job.span - 1;
    }

    /* Whether no thread of the block has to look whether a row lies outside the grid. */
    CUDA_INLINE bool is_inside() const
    {
        return job.edge.rule != EDGE_CONSTANT || (origin + job.low >= 0 && last_read() < job.places);
    }

    template <bool Inside> CUDA_INLINE void load(int number, T (&row)[Pack]) const
    {
        const int source = sources[number];

        if (!Inside && source < 0)
            cuda_fill(row, outside);
        else
            cuda_load_packs<Pack>(at(from, source), row);
    }

    /* A line of what an earlier launch has left. */
    CUDA_INLINE void resume(int o, T (&sums)[Pack]) const
    {
        cuda_load_packs<Pack>(at(own(job.to), min(begin + o, job.end - 1)), sums);
    }

    /* As many taps as there are slots, from one on, or those of them that exist: sample o meets tap t in what
       was loaded as number t + o. */
    template <bool Inside, bool All>
    CUDA_INLINE void take_turn(int first, T (&rows)[Slots][Pack], T (&sums)[Samples][Pack]) const
    {
#pragma unroll
        for (int turn = 0; turn < Slots; turn++) {
            const int tap = first + turn;
            if (!All && tap >= job.span)
                break;
            load<Inside>(tap + Slots - 1, rows[(turn + Slots - 1) % Slots]);
            const T weight = job.weights[tap];
            if (!All && is_gap(weight))
                continue;
#pragma unroll
            for (int o = 0; o < Samples; o++) {
#pragma unroll
                for (int i = 0; i < Pack; i++)
                    sums[o][i] = cuda_fma(weight, rows[(turn + o) % Slots][i], sums[o][i]);
            }
        }
    }

    CUDA_INLINE void hold(T (&sums)[Samples][Pack]) const
    {
#pragma unroll
        for (int o = 0; o < Samples; o++) {
            if (job.holds(begin + o))
                cuda_load_packs<Pack>(at(from, min(begin + o, job.end - 1)), sums[o]);
        }
    }

    /* Loads of all samples are under way together. */
    CUDA_INLINE void sharpen(T (&sums)[Samples][Pack]) const
    {
        const T *const kept = own(job.kept);
        T originals[Samples][Pack];

#pragma unroll
        for (int o = 0; o < Samples; o++)
            cuda_load_packs<Pack>(at(kept, min(begin + o, job.end - 1)), originals[o]);
#pragma unroll
        for (int o = 0; o < Samples; o++) {
#pragma unroll
            for (int i = 0; i < Pack; i++)
                sums[o][i] = cuda_unsharp(job.amount, originals[o][i], sums[o][i]);
        }
    }

    CUDA_INLINE void store(T (&sums)[Samples][Pack]) const
    {
        if (job.edge.rule == EDGE_HOLD)
            hold(sums);
        if (job.kept != nullptr)
            sharpen(sums);
#pragma unroll
        for (int o = 0; o < Samples; o++) {
            if (begin + o >= job.end)
                break;
            cuda_store_columns<Pack>(at(own(job.to), begin + o) - x, x, x, job.nx, sums[o]);
        }
    }

    template <bool Inside> CUDA_INLINE void chain(T (&sums)[Samples][Pack]) const
    {
        T rows[Slots][Pack];

#pragma unroll
        for (int number = 0; number < Slots - 1; number++)
            load<Inside>(number, rows[number]);
#pragma unroll 1
        for (int first = 0, end = Slots; first < job.span; first = end, end += Slots) {
            if (Inside && end <= job.span && job.is_dense(first, end))
                take_turn<Inside, true>(first, rows, sums);
            else
                take_turn<Inside, false>(first, rows, sums);
        }
    }

    template <bool Inside> CUDA_INLINE void read_places(int number, order (&places)[Pack]) const
    {
        T row[Pack];

        load<Inside>(number, row);
#pragma unroll
        for (int i = 0; i < Pack; i++)
            places[i] = place_of(job, row[i]);
    }

    /* The first places of as many rows as a thread has, for all threads of the block: warps share the groups,
       of which the first begins with the first row that the block reads. */
    template <bool Inside> CUDA_INLINE void make_groups() const
    {
        const int warp = static_cast<int>(threadIdx.x) / CUDA_WARP;
        const group_range<Samples> all = range();

        for (int group = all.first + warp; group < all.end && x < job.nx; group += Form::Warps) {
            order least[Pack], places[Pack];
            const int number = (group - warp) * Samples;
            read_places<Inside>(number, least);
#pragma unroll
            for (int k = 1; k < Samples; k++) {
                read_places<Inside>(number + k, places);
                take_lesser(least, places);
            }
            cuda_copy(group_at(group - all.first)->places, least);
        }
    }

    template <bool Inside> CUDA_INLINE void find(T (&found)[Samples][Pack]) const
    {
        const auto read = [&](int number, order(&places)[Pack]) { read_places<Inside>(number, places); };
        const group_range<Samples> all = range();
        const int own = (begin - origin) / Samples, whole = job.span / Samples;
        const auto read_group = [&](int group, order(&places)[Pack]) {
            const group_pack<order> packed = *group_at(group - all.first);
            cuda_copy(places, packed.places);
        };
        const auto middle = [&](order(&least)[Pack]) {
            take_numbers(read_group, max(own + 1, all.first), min(own + whole, all.end), least);
            take_numbers(read, whole * Samples, job.span, least);
        };
        const auto tail = [&](int o, order(&places)[Pack]) { read(job.span - 1 + o, places); };

        if (groups_of<Form>(job) == 0)
            find_extremes(job, read, found);
        else
            take_windows<Samples, Pack>(job, read, middle, tail, found);
#pragma unroll
        for (int o = 0; o < Samples && job.resumes; o++) {
            T earlier[Pack];
            resume(o, earlier);
            join_extremes(job, earlier, found[o]);
        }
    }

    /* Go on to the next tile of the block. False: this thread has no part of it. */
    CUDA_INLINE bool move_on()
    {
        begin += Form::Rows;
        sources += Form::Rows;
        return begin < min(origin + places_of<Form>(job), job.end);
    }

    /* A chain starts at −0: fma(w, v, −0) is the product w·v, its sign included. */
    template <bool Inside> CUDA_INLINE void run() const
    {
        T sums[Samples][Pack];

        if constexpr (Form::Extremes) {
            find<Inside>(sums);
        } else {
#pragma unroll
            for (int o = 0; o < Samples; o++) {
                cuda_fill(sums[o], -T(0));
                if (job.resumes)
                    resume(o, sums[o]);
            }
            chain<Inside>(sums);
        }
        store(sums);
    }
};

/* ---- along x ---- */

/* Columns before a piece of a row, in whole packs, from the first tap of its first sample on. */
template <typename T> __host__ __device__ int columns_before(int low)
{
    const int pack = cuda_pack_of<T>::samples;

    return low < 0 ? (-low + pack - 1) / pack * pack : -(low / pack * pack);
}

__host__ __device__ inline int within(int place, int least, int most)
{
    return place < least ? least : place > most ? most : place;
}

/* A piece of a row with what its taps reach, in whole packs: its first column, where among its cells the
   first tap of the first sample stands, and how many packs there are. Where windows are clipped, so is the
   piece, but for as many columns beside the grid as a thread has samples; the first tap may then stand before
   it. */
template <typename T, int Samples> struct row_piece {
    int column, skipped, packs;

    CUDA_INLINE row_piece(const axis_job<T> &job, int begin, int columns)
    {
        const int pack = cuda_pack_of<T>::samples;
        const int end = begin + columns + job.low + job.span - 1;

        column = within(begin - columns_before<T>(job.low), job.seen() - Samples,
                        job.seen_end() / pack * pack - Samples);
        skipped = begin + job.low - column;
        packs = (within(end, job.seen() + Samples, job.seen_end() + Samples) - column + pack - 1) / pack;
    }
};

template <typename Type, bool Extremes_> struct row_form {
    using T = Type;
    static constexpr bool Extremes = Extremes_;
    static constexpr int Pack = cuda_pack_of<T>::samples;
    static constexpr int Samples = 16;                   /* side by side, of a thread */
    static constexpr int Slots = Samples / Pack + 1;     /* packs */
    static constexpr int Warps = sizeof(T) == 4 ? 8 : 4; /* of a block, side by side */
    static constexpr int Threads = Warps * CUDA_WARP;
    static constexpr int Columns = Warps * Samples, Rows = CUDA_WARP;
    static constexpr int Grouped = 3 * Samples; /* the shortest windows that gain by groups */
    static constexpr int Fetching = 8;          /* lanes that bring a row */
    static constexpr double Reached = 0.52;     /* of the peak, by long windows */

    static_assert(Columns / Pack == CUDA_WARP, "a warp stores a row of a piece");

    /* Before 8.6, ptxas wants more registers. */
    static __host__ __device__ constexpr int residents(int code)
    {
        return cuda_residents(code, Threads,
                              (sizeof(T) == 4 ? 5 - (Extremes && code < 90) : 6 - Extremes) - (code < 86));
    }
    /* In shared memory, pieces come first, then the groups of each row, an odd number from a row to the next.
       If pieces are clipped, later turns read where the results of a turn would go; these are then behind. */
    static __host__ __device__ int piece_bytes(const axis_job<T> &job)
    {
        const int reached = columns_before<T>(job.low) + job.low + places_of<row_form>(job) + job.span - 1;
        const int cells = within(reached, 0, job.seen_end() - job.seen() + 2 * Samples);

        return Rows * ((cells + Pack - 1) / Pack | 1) * 16;
    }
    static __host__ __device__ int group_bytes(const axis_job<T> &job)
    {
        return groups_of<row_form>(job) > 0
                   ? Rows * (groups_of<row_form>(job) | 1) * static_cast<int>(sizeof(T))
                   : 0;
    }
    static constexpr int ResultPitch = CUDA_WARP | 1; /* in packs */
    static size_t shared_bytes(const axis_job<T> &job)
    {
        return static_cast<size_t>(piece_bytes(job)) + static_cast<size_t>(group_bytes(job)) +
               (job.clips ? static_cast<size_t>(Rows * ResultPitch * 16) : 0);
    }
    static dim3 grid(const axis_job<T> &job)
    {
        return dim3(static_cast<unsigned>(job.tiles * cuda_ceil_divide(job.lines, Rows)));
    }
};

/* What copies of whole packs do not bring of a row: its columns before one of its cells and from another one
   on, by the edge rule; the first cell is a column's. Each lane has a row, and warps share the cells. A
   function of its own, as look_up is. */
template <typename T>
__device__ __attribute__((noinline)) void fetch_outside(const T *row, T *cells, int column, int before,
                                                        int behind, int end, int nx, enum edge_rule rule,
                                                        T outside)
{
    const int warp = static_cast<int>(threadIdx.x) / CUDA_WARP,
              warps = static_cast<int>(blockDim.x) / CUDA_WARP;

#pragma unroll 1
    for (int number = warp; number < before + end - behind; number += warps) {
        const int i = number < before ? number : behind + number - before;
        const int x = cuda_near_index(rule == EDGE_HOLD ? EDGE_NEAREST : rule, column + i, nx);
        if (x < 0)
            cells[i] = outside;
        else
            cuda_copy_async<sizeof(T)>(cells + i, row + x);
    }
}

/* Shift out as many of the first samples as wanted, fewer than 2 · Most. */
template <int Most, int Count, typename T> CUDA_INLINE void shift_out(int wanted, T (&samples)[Count])
{
#pragma unroll
    for (int k = 0; k + Most < Count; k++)
        samples[k] = (wanted & Most) != 0 ? cuda_in_register(samples[k + Most]) : samples[k];
    if constexpr (Most > 1)
        shift_out<Most / 2>(wanted, samples);
}

template <typename Form> struct row_tile {
    using T = typename Form::T;
    using order = typename order_for<T>::type;
    static constexpr int Pack = Form::Pack, Samples = Form::Samples, Slots = Form::Slots;

    const axis_job<T> &job;
    const int lane, warp;
    const int begin;   /* the tile's first column */
    const int columns; /* that threads have, the last of them behind the grid */
    const row_piece<T, Samples> piece;
    const int first, rows; /* its first row, and how many there are */
    char *const shared;

    CUDA_INLINE row_tile(const axis_job<T> &job_, char *shared_)
        : job(job_), lane(static_cast<int>(threadIdx.x) % CUDA_WARP),
          warp(static_cast<int>(threadIdx.x) / CUDA_WARP),
          begin(static_cast<int>(blockIdx.x % static_cast<unsigned>(job.tiles)) * places_of<Form>(job)),
          columns(min(places_of<Form>(job), (job.nx - begin + Samples - 1) / Samples * Samples)),
          piece(job, begin, columns),
          first(static_cast<int>(blockIdx.x / static_cast<unsigned>(job.tiles)) * Form::Rows),
          rows(min(Form::Rows, job.lines - first)), shared(shared_)
    {
    }

    /* Rows are an odd number of packs apart, so that lanes, each in its row, use all banks. */
    CUDA_INLINE T *staged(int row) const
    {
        return reinterpret_cast<T *>(shared) + row * (piece.packs | 1) * Pack;
    }

    /* Rows behind the last one are read from it. */
    CUDA_INLINE int read(int row) const
    {
        return first + min(row, rows - 1);
    }

    CUDA_INLINE void fetch_packs() const
    {
        const int own = lane % Form::Fetching * Pack, end = piece.packs * Pack, column = piece.column;
        const unsigned last = static_cast<unsigned>(max(job.nx - Pack + 1, 0)); /* columns of whole packs */

#pragma unroll
        for (int turn = 0; turn < Form::Rows; turn += Form::Threads / Form::Fetching) {
            const int row = turn + static_cast<int>(threadIdx.x) / Form::Fetching;
            const T *from = job.from + read(row) * job.line + column + own;
            T *to = staged(row) + own;
#pragma unroll 1
            for (int i = own; i < end; i += Form::Fetching * Pack) {
                cuda_copy_async_if<16>(static_cast<unsigned>(column + i) < last, to, from);
                from += Form::Fetching * Pack;
                to += Form::Fetching * Pack;
            }
        }
    }

    CUDA_INLINE void fetch() const
    {
        const int column = piece.column, end = piece.packs * Pack;
        const int before = min(max(-column, 0), end);
        const int behind = min(max(job.nx / Pack * Pack - column, 0), end);

        fetch_packs();
        if (before > 0 || behind < end)
            fetch_outside(job.from + read(lane) * job.line, staged(lane), column, before, behind, end, job.nx,
                          job.edge.rule, job.outside(read(lane)));
        cuda_commit_copies();
        cuda_await_copies<0>();
        __syncthreads();
    }

    /* What an earlier launch has left, in columns of the grid. */
    CUDA_INLINE void resume(int place, T (&sums)[Samples]) const
    {
        const int column = begin + place;
        const T *const row = job.to + read(lane) * job.line;
#pragma unroll
        for (int s = 0; s < Samples; s++) {
            if (column + s < job.nx)
                sums[s] = row[column + s];
        }
    }

    /* The taps of as many packs as there are slots, or those of them that exist: sample s meets place p of
       the window in place p + s of the cells. */
    template <bool All>
    CUDA_INLINE void take_turn(const T *cells, int from, T (&values)[Slots * Pack], T (&sums)[Samples]) const
    {
        const int end = piece.skipped + job.span;

#pragma unroll
        for (int turn = 0; turn < Slots; turn++) {
            const int place = from + turn * Pack;
            T weights[Pack];

            if (!All && place >= end)
                break;
            if (All || place + 1 < end)
                cuda_load_packs<Pack>(cells + place + Samples, values + (turn + Slots - 1) % Slots * Pack);
            cuda_load_packs<Pack>(job.weights + place, weights);
#pragma unroll
            for (int k = 0; k < Pack; k++) {
                if (!All && is_gap(weights[k]))
                    continue;
#pragma unroll
                for (int s = 0; s < Samples; s++)
                    sums[s] = cuda_fma(weights[k], values[(turn * Pack + k + s) % (Slots * Pack)], sums[s]);
            }
        }
    }

    /* Of the samples at a place of the tile; they start as those across x do. */
    CUDA_INLINE void chain(int place, T (&sums)[Samples]) const
    {
        const T *const cells = staged(lane) + place;
        const int turn = Slots * Pack, end = piece.skipped + job.span;
        T values[Slots * Pack];

        cuda_fill(sums, -T(0));
        if (job.resumes)
            resume(place, sums);
        cuda_load_packs<Samples>(cells, values);
#pragma unroll 1
        for (int from = 0; from < end; from += turn) {
            if (from >= piece.skipped && from + turn <= end && job.is_dense(from, from + turn))
                take_turn<true>(cells, from, values, sums);
            else
                take_turn<false>(cells, from, values, sums);
        }
    }

    /* Of this lane's row. */
    CUDA_INLINE order *groups() const
    {
        return reinterpret_cast<order *>(shared + Form::piece_bytes(job)) + lane * (groups_of<Form>(job) | 1);
    }

    /* All groups of a row. */
    CUDA_INLINE group_range<Samples> range() const
    {
        return group_range<Samples>(job, begin + job.low, (columns + job.span - 1) / Samples);
    }

    /* The places of as many samples as a thread has, from one of the cells of this lane's row on. Lanes read
       whole packs, each from other banks; up to Pack − 1 samples before those that are wanted are then
       shifted out. All lanes shift by as many. */
    CUDA_INLINE void read_places(int cell, order (&places)[Samples]) const
    {
        const int skipped = cell % Pack;
        T values[Samples + Pack];

        cuda_load_packs<Samples + Pack>(staged(lane) + cell - skipped, values);
        shift_out<Pack / 2>(skipped, values);
#pragma unroll
        for (int k = 0; k < Samples; k++)
            places[k] = place_of(job, values[k]);
    }

    /* The least of them. */
    CUDA_INLINE order least_of(int cell) const
    {
        order places[Samples];

        read_places(cell, places);
#pragma unroll
        for (int k = 1; k < Samples; k++)
            places[0] = lesser(places[0], places[k]);
        return places[0];
    }

    /* Groups begin with the first column that the tile reads, and warps share them. */
    CUDA_INLINE void make_groups() const
    {
        const group_range<Samples> all = range();

        for (int group = all.first + warp; group < all.end; group += Form::Warps)
            groups()[group - all.first] = least_of(piece.skipped + group * Samples);
        __syncthreads();
    }

    /* The extremes of windows whose first samples lie at a place of the tile. The first samples of a window
       are read at once, and so are as many as a thread has before its end, which the groups may lack, and
       behind it. Where windows are clipped, the first samples that lie far before the grid, and the last ones
       far behind it, are not there: those next to the grid have the same values as others inside, and stand
       for them. */
    CUDA_INLINE void find_long(int place, T (&found)[Samples][1]) const
    {
        const int column = begin + place + job.low, end = column + job.span;
        const int before = within(column, job.seen() - Samples, job.seen_end()) - piece.column;
        const int behind = within(end, job.seen(), job.seen_end() + 1) - piece.column;
        const group_range<Samples> all = range();
        const int own = place / Samples, last = own + job.span / Samples;
        const auto read_group = [&](int group, order(&least)[1]) { least[0] = groups()[group - all.first]; };
        order places[Samples];

        read_places(before, places);
        take_windows<Samples, 1>(
            job, [&](int k, order(&least)[1]) { least[0] = places[k]; },
            [&](order(&least)[1]) {
                take_numbers(read_group, max(own + 1, all.first), min(last, all.end), least);
                least[0] = lesser(least[0], least_of(behind - Samples));
                read_places(behind, places);
            },
            [&](int o, order(&least)[1]) { least[0] = places[o - 1]; }, found);
    }

    CUDA_INLINE void find(int place, T (&sums)[Samples]) const
    {
        const T *const cells = staged(lane) + place + piece.skipped;
        T found[Samples][1];

        if (groups_of<Form>(job) > 0)
            find_long(place, found);
        else
            find_extremes(
                job, [&](int k, order(&places)[1]) { places[0] = place_of(job, cells[k]); }, found);
#pragma unroll
        for (int s = 0; s < Samples; s++)
            sums[s] = found[s][0];
        if (job.resumes) {
            T earlier[Samples];
            cuda_fill(earlier, T(0));
            resume(place, earlier);
            join_extremes(job, earlier, sums);
        }
    }

    /* Where a row of the results of a turn is. */
    CUDA_INLINE T *results(int turn, int row) const
    {
        T *const behind = reinterpret_cast<T *>(shared + Form::piece_bytes(job) + Form::group_bytes(job));

        return Form::Extremes && job.clips ? behind + row * Form::ResultPitch * Pack
                                           : staged(row) + turn * Form::Columns;
    }

    /* Samples with a tap outside the grid keep their value. */
    CUDA_INLINE void hold(int row, int x, T (&sums)[Pack]) const
    {
        cuda_launder(&x);
#pragma unroll
        for (int i = 0; i < Pack; i++) {
            if (x + i < job.nx && job.holds(x + i))
                sums[i] = job.from[read(row) * job.line + x + i];
        }
    }

    /* The columns of a turn. */
    CUDA_INLINE void store(int turn) const
    {
        const int place = turn * Form::Columns + lane * Pack, x = begin + place;
        T *to = job.to + (first + warp) * job.line;

#pragma unroll 1
        for (int row = warp; row < rows && x < job.nx; row += Form::Warps) {
            T sums[Pack];
            cuda_load_packs<Pack>(results(turn, row) + lane * Pack, sums);
            if (job.edge.rule == EDGE_HOLD)
                hold(row, x, sums);
            cuda_store_columns<Pack>(to, x, x, job.nx, sums);
            to += Form::Warps * job.line;
        }
    }

    /* Results go where no later turn reads, or are stored before the next turn. */
    CUDA_INLINE void run() const
    {
        const int turns = places_of<Form>(job) / Form::Columns;
        const bool at_once = Form::Extremes && job.clips;

        fetch();
        if (groups_of<Form>(job) > 0)
            make_groups();
#pragma unroll 1
        for (int turn = 0; turn < turns; turn++) {
            const int place = turn * Form::Columns + warp * Samples;
            const bool works = place < columns;
            T sums[Samples];

            if (works) {
                if constexpr (Form::Extremes)
                    find(place, sums);
                else
                    chain(place, sums);
            }
            __syncthreads();
            if (works)
                cuda_put(results(turn, lane) + warp * Samples, sums);
            if (at_once) {
                __syncthreads();
                store(turn);
            }
        }
        __syncthreads();
#pragma unroll 1
        for (int turn = 0; turn < turns && !at_once; turn++)
            store(turn);
    }
};

template <typename T, bool Extremes> CUDA_INLINE void run(row_form<T, Extremes>, const axis_job<T> &job)
{
    CUDA_SHARED(char, shared);

    row_tile<row_form<T, Extremes>>(job, shared).run();
}
template <typename T, bool Extremes> CUDA_INLINE void run(line_form<T, Extremes>, const axis_job<T> &job)
{
    using form = line_form<T, Extremes>;
    CUDA_SHARED(char, shared);
    int *const table = reinterpret_cast<int *>(shared + form::group_bytes(job));
    line_tile<form> tile(job, shared, table);

    look_up(table, form::sources(job), tile.origin + job.low, tile.last_read(), job.edge.rule, job.places);
    __syncthreads();
    if (groups_of<form>(job) > 0) {
        if (tile.is_inside())
            tile.template make_groups<true>();
        else
            tile.template make_groups<false>();
        __syncthreads();
    }
    if (tile.x >= job.nx || tile.begin >= job.end)
        return;
    do {
        if (tile.is_inside())
            tile.template run<true>();
        else
            tile.template run<false>();
    } while (Extremes && tile.move_on());
}

template <typename Form>
__global__ void __launch_bounds__(Form::Threads, Form::residents(cuda_code()))
    axis_kernel(const __grid_constant__ axis_job<typename Form::T> job)
{
    run(Form(), job);
}

/* ---- the host ---- */

int offset_along(enum axis axis, const struct op_tap *tap)
{
    return axis == AXIS_X ? tap->dx : axis == AXIS_ROW ? tap->drow : tap->dplane;
}

/* The axis that all taps lie on. The centre alone lies on each: x is as good as any. */
enum axis axis_of(const struct op *op)
{
    const bool x = cuda_span(op->x) > 0, row = cuda_span(op->row) > 0, plane = cuda_span(op->plane) > 0;

    if (x + row + plane > 1)
        return AXIS_NONE;
    return row ? AXIS_ROW : plane ? AXIS_PLANE : AXIS_X;
}

/* Offsets from the first tap to the last. */
int span_of(const struct op *op)
{
    const enum axis axis = axis_of(op);

    return offset_along(axis, &op->taps[op->tap_count - 1]) - offset_along(axis, &op->taps[0]) + 1;
}

/* Whether taps lie side by side, but for a few of many: a first derivative has none in the middle, and a
   second one has none where it changes its sign. */
bool has_few_gaps(const struct op *op)
{
    const size_t gaps = static_cast<size_t>(span_of(op)) - op->tap_count;

    return gaps == 0 || (op->kind != OP_RANK && gaps <= 2 && op->tap_count > 2 * gaps + 1);
}

/* Call act with the form for an op. */
template <typename T, typename Act> auto with_form(const struct op *op, Act act)
{
    if (op->kind == OP_RANK)
        return axis_of(op) == AXIS_X ? act(row_form<T, true>()) : act(line_form<T, true>());
    return axis_of(op) == AXIS_X ? act(row_form<T, false>()) : act(line_form<T, false>());
}

template <typename T> size_t bytes_of(const struct op *op, const axis_job<T> &job)
{
    return with_form<T>(op, [&](auto form) { return decltype(form)::shared_bytes(job); });
}

/* Whether windows of a launch are clipped, if that fits. Along x, results then take a place of their own,
   which pays where windows are long beside rows. */
template <typename T> bool clips(const struct cuda_limits *limits, const struct op *op, axis_job<T> job)
{
    const bool along_x = axis_of(op) == AXIS_X;

    job.turns = 1;
    job.clips = op->kind == OP_RANK && op_reads_itself_outside(op) &&
                job.span >= (along_x ? row_form<T, true>::Grouped : line_form<T, true>::Grouped) &&
                (!along_x || 4 * job.span >= job.places);
    return job.clips && bytes_of(op, job) <= limits->shared_per_block;
}

/* Taps of a launch. Those of extremes have no weights, so a block's shared memory sets their number: all of a
   clipped window, if that fits; else up to four times as many as there are weights, in 160 KiB. */
template <typename T> int most_taps(const struct cuda_limits *limits, const struct op *op, axis_job<T> job)
{
    const int times = static_cast<int>(limits->shared_per_block / (40 * 1024));

    job.low = offset_along(axis_of(op), &op->taps[0]);
    job.span = span_of(op);
    if (clips(limits, op, job))
        return job.span;
    return (op->kind == OP_RANK ? std::max(1, std::min(times, 4)) : 1) * axis_job<T>::Most;
}

/* Turns of a block that finds extremes of long windows, with which an H100 is fastest. Windows read more than
   a turn computes, and turns of one block read it once; but all multiprocessors need several blocks. */
template <typename T> int turns_across(const struct cuda_limits *limits, const axis_job<T> &job)
{
    using form = line_form<T, true>;
    const long long blocks = cuda_ceil_divide(job.nx, form::Columns) * static_cast<long long>(job.lines) *
                             cuda_ceil_divide(job.end - job.first, form::Rows);
    const int most = static_cast<int>(std::min(blocks / (12 * limits->multiprocessors), 4ll));
    const int seen = job.clips ? std::min(job.span, job.places) : job.span;
    const int wished = seen < 7 * form::Rows ? 2 : seen < 14 * form::Rows ? 3 : 4;

    return job.span < form::Grouped ? 1 : std::max(1, std::min(most, wished));
}

/* Along x: four turns of a clipped piece, or two, if two such blocks fit a multiprocessor; else one block has
   it alone and takes up to eight. */
template <typename T> int turns_along(const struct cuda_limits *limits, axis_job<T> job)
{
    using form = row_form<T, true>;
    const auto is_paired = [&](int turns) {
        job.turns = turns;
        return 2 * form::shared_bytes(job) <= limits->shared_per_block;
    };
    const long long tiles = cuda_ceil_divide(job.nx, form::Columns);
    const long long blocks = tiles * cuda_ceil_divide(job.lines, form::Rows);
    const long long most = std::min(tiles, blocks / (2 * limits->multiprocessors));
    const int wished = job.span < form::Grouped                                 ? 1
                       : job.clips && job.span >= form::Columns && is_paired(4) ? 4
                       : is_paired(2)                                           ? 2
                                                                                : 8;

    return std::max(1, static_cast<int>(std::min<long long>(most, wished)));
}

/* The taps of a launch, from one on. Returns the first one that is left. */
template <typename T>
size_t take_taps(const struct cuda_limits *limits, const struct op *op, size_t first, axis_job<T> *job)
{
    const enum axis axis = axis_of(op);
    const int most = most_taps<T>(limits, op, *job), left = static_cast<int>(op->tap_count - first);
    const int count = left == most + 1 ? most - 1 : most; /* windows of extremes have two samples at least */
    size_t next = first;

    job->low = offset_along(axis, &op->taps[first]);
    job->span = 0;
    job->gap = job->gap_end = 0;
    const int before = axis == AXIS_X ? columns_before<T>(job->low) + job->low : 0;
    for (T &weight : job->weights)
        weight = T(0);
    for (; next < op->tap_count; next++) {
        const int place = offset_along(axis, &op->taps[next]) - job->low;
        if (place >= count)
            break;
        if (place > job->span) {
            job->gap = job->gap_end > 0 ? job->gap : before + job->span;
            job->gap_end = before + place;
        }
        if (op->kind != OP_RANK)
            job->weights[before + place] = static_cast<T>(op->taps[next].weight);
        job->span = place + 1;
    }
    job->resumes = first > 0;
    job->ends = next == op->tap_count;
    job->clips = clips(limits, op, *job);
    job->turns = op->kind != OP_RANK ? 1
                 : axis == AXIS_X    ? turns_along(limits, *job)
                                     : turns_across(limits, *job);
    while (job->turns > 1 && bytes_of(op, *job) > limits->shared_per_block)
        job->turns--;
    job->tiles = static_cast<int>(cuda_ceil_divide(job->nx, row_form<T, false>::Columns * job->turns));
    return next;
}

/* The first launch of an op, without its fields. */
template <typename T>
axis_job<T> job_of(const struct cuda_limits *limits, const struct op *op, const struct shape *shape,
                   struct range planes)
{
    const enum axis axis = axis_of(op);
    const int rows = static_cast<int>(shape->rows), count = static_cast<int>(planes.count);
    axis_job<T> job = {};

    job.nx = static_cast<int>(shape->nx);
    job.channels = static_cast<int>(shape->channels);
    job.places = axis == AXIS_X ? job.nx : axis == AXIS_ROW ? rows : static_cast<int>(shape->planes);
    job.first = axis == AXIS_PLANE ? static_cast<int>(planes.first) : 0;
    job.end = axis == AXIS_PLANE ? job.first + count : job.places;
    job.lines = job.channels * (axis == AXIS_X ? rows * count : axis == AXIS_ROW ? count : rows);
    job.channel_lines = axis == AXIS_ROW ? 1 : rows;
    job.sign = op->descends ? T(-1) : T(1);
    job.flip = op->rank > 0 ? -1 : 0;
    job.reach = axis == AXIS_X ? op->x : axis == AXIS_ROW ? op->row : op->plane;
    take_taps(limits, op, 0, &job);
    return job;
}

template <typename Form> void describe(const struct cuda_question *asked, struct cuda_form *form)
{
    using T = typename Form::T;
    const axis_job<T> job = job_of<T>(asked->limits, asked->op, asked->shape, {0, asked->shape->planes});
    const double launches = static_cast<double>(
        cuda_ceil_divide(span_of(asked->op), most_taps<T>(asked->limits, asked->op, job)));
    /* On average, of a window. */
    const double span = span_of(asked->op), inside = std::min(span, 2.0 * job.places);
    const double seen = job.clips ? inside - inside * inside / (4.0 * job.places) : span;

    form->tile_x = Form::Columns;
    form->tile_y = Form::Rows;
    form->coarsen = Form::Samples;
    form->block = dim3(Form::Threads);
    form->grid = Form::grid(job);
    form->shared_bytes = Form::shared_bytes(job);
    form->kernel = reinterpret_cast<const void *>(&axis_kernel<Form>);
    form->bytes_per_update = sizeof(T) * (3 * launches - 1 + (asked->op->kind == OP_UNSHARP ? 1 : 0));
    form->operations_per_update = Form::Extremes ? 12.0 * (seen + launches * Form::Samples) / Form::Samples
                                                 : cuda_operations(asked->op);
    form->reached = Form::Reached;
}

/* Whether the lines and places of a shape are more than a launch may have blocks for, or than 32 bits count
   the bytes between. */
bool is_too_large(const struct op *op, const struct shape *shape)
{
    const enum axis axis = axis_of(op);
    const size_t most = 65535, rows_of_tile = line_form<float, false>::Rows;
    const size_t lines = shape->channels * (axis == AXIS_ROW ? shape->planes : shape->rows);
    const size_t places = axis == AXIS_ROW ? shape->rows : shape->planes;

    if (axis == AXIS_X)
        return shape->rows * shape->planes > INT32_MAX / shape->channels;
    return lines > most || places > most * rows_of_tile ||
           (axis == AXIS_PLANE &&
            lines * (shape->nx + CUDA_ROW_ALIGNMENT) > UINT32_MAX / work_size(op->work));
}

template <typename T> bool axis_shape(const struct cuda_question *asked, struct cuda_form *form)
{
    const struct op *op = asked->op;

    if (!(op_is_chain(op) || (op_takes_extreme(op) && op->tap_count > 1)) || op->tap_count == 0)
        return cuda_refuse(asked->refusal, "only chains of taps and extremes run in passes");
    if (axis_of(op) == AXIS_NONE)
        return cuda_refuse(asked->refusal, "taps lie on more than one axis");
    if (op->kind == OP_UNSHARP && axis_of(op) == AXIS_X)
        return cuda_refuse(asked->refusal, "an unsharp mask ends with taps along x");
    if (!has_few_gaps(op))
        return cuda_refuse(asked->refusal, "there are gaps between the taps");
    if (cuda_is_beyond_32_bits(asked))
        return false;
    if (is_too_large(op, asked->shape))
        return cuda_refuse(asked->refusal, "the grid is too large for a launch");
    with_form<T>(op, [=](auto chosen) { describe<decltype(chosen)>(asked, form); });
    return true;
}

/* Launches of other spans share the kernel, and what it was permitted last. */
template <typename Form> cudaError_t launch(const axis_job<typename Form::T> &job, cudaStream_t stream)
{
    const size_t shared = Form::shared_bytes(job);
    const cudaError_t error = cuda_permit_shared(&axis_kernel<Form>, shared);

    return error != cudaSuccess
               ? error
               : CUDA_LAUNCH(stream, Form::grid(job), dim3(Form::Threads), shared, axis_kernel<Form>, job);
}

template <typename T> cudaError_t axis_launch(const struct cuda_job *from)
{
    const struct op *op = from->op->op;
    const struct shape shape = cuda_shape_of(from);
    const enum axis axis = axis_of(op);
    const long long first_plane = axis == AXIS_PLANE ? 0 : static_cast<long long>(from->planes.first);
    const cuda_view<T> &source = *static_cast<const cuda_view<T> *>(from->from);
    axis_job<T> job = job_of<T>(from->limits, op, &shape, from->planes);
    cudaError_t error = cudaSuccess;

    if (from->planes.count == 0)
        return cudaSuccess;
    job.from = source.row(first_plane, 0, 0);
    job.to = static_cast<const cuda_view<T> *>(from->to)->row(first_plane, 0, 0);
    job.line = axis == AXIS_ROW ? source.pitch * source.rows : source.pitch;
    job.place = static_cast<unsigned>((axis == AXIS_ROW ? source.pitch : source.plane_stride()) *
                                      static_cast<long long>(sizeof(T)));
    job.edge = cuda_edge_of<T>(from->op);
    job.amount = static_cast<T>(op->amount);
    for (size_t next = 0; next < op->tap_count && error == cudaSuccess;) {
        next = take_taps(from->limits, op, next, &job);
        if (op->kind == OP_UNSHARP && job.ends)
            job.kept = static_cast<const cuda_view<T> *>(from->kept)->row(first_plane, 0, 0);
        error = with_form<T>(op, [&](auto chosen) { return launch<decltype(chosen)>(job, from->stream); });
    }
    return error;
}

} // namespace

CUDA_RUNG(axis, false, false, false);
