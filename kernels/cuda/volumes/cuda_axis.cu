/* Taps along one axis, side by side but for one or two that are left out: what gauss and its derivatives, box
 * and unsharp masks are made of; and the extremes of windows that leave out none, of which erosion and
 * dilation by boxes are made.
 *
 * Known as: separable convolution (the row and the column pass), register-tiled; weights in constant memory
 *   and uniform registers; of extremes, a blocked form of van Herk's and Gil and Werman's algorithm.
 * Idea: a thread has the sums of 8 to 32 samples in a line along the axis and goes through the taps in order.
 *   The samples that a tap meets are in registers, and its weight serves all sums; the next tap needs one
 *   sample more, in the slot of one that no tap needs any longer. Slots take turns, so nothing is moved.
 *   Across x, a thread owns 16 bytes of a row and loads each row by itself; its neighbours load it, too, and
 *   the first-level cache serves them. Along x, a block brings pieces of 32 rows to shared memory, where each
 *   lane has a row of its own; sums go back the same way, so that memory sees whole sectors. Windows side by
 *   side share what lies in all of them. If they are long, a block works on lines in shared memory, with all
 *   that their windows reach: along x on 16 rows, across x on a strip 128 bytes wide. If windows are so long
 *   that most of such a block would be halo, it has fewer rows or columns, and longer pieces of them. It
 *   first finds the extremes of groups of as many samples as a thread has. For very long windows, it also
 *   finds the extremes of sets of 16 groups. What windows share is then mostly groups or sets. All windows of
 *   a block find their samples in the same lines. Where edge rules only repeat what long windows have inside
 *   the grid, lines end 16 samples outside it.
 * Adds: any radius by one loop; edge rules outside of it: across x as a table of the rows to read; along x,
 *   and of long windows, when a piece is brought. The last pass of an unsharp mask ends with what makes the
 *   blur sharp.
 * Costs: the rows before and after what a block computes, and the columns beside it, are read for its
 *   neighbours, too.
 * Traffic per sample: 2 words; 1 more for the last pass of an unsharp mask; 3 more for each further launch,
 *   where a window does not fit into one.
 * Wins when: taps lie on one axis. */
#include "cuda_axis.cuh"

#include <algorithm>
#include <math.h>

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
    int turns;      /* places of a block, in units of its form's Places; 1, but for long windows */
    unsigned tiles; /* blocks of a row or a strip */
    int cell_pitch,
        group_pitch; /* along x: samples, and groups with sets, from a row to the next in a block */
    int width;       /* long windows: 128 for wide blocks; of narrow ones, the bytes of a place */
    float segments;  /* a place, of a narrow strip; see strip_form */
    int groups;      /* long windows: the most that a line has; its sets follow them */
    cuda_edge<T> edge;
    struct reach reach; /* of the op, along the axis */
    int low, span;      /* offsets of the taps: low … low + span − 1 */
    int gap, gap_end;   /* weights among which all gaps are; equal: there are none */
    bool resumes, ends; /* whether taps have been chained before these, and whether none come after them */
    bool clips; /* long windows leave out what is outside the grid, since they have the same samples inside */
    int seen, seen_end; /* the places that windows look at: of the grid, if they are clipped, or all */
    T sign;             /* OP_RANK: -1 where the greatest comes first in order */
    typename order_for<T>::type flip; /* -1 where the last one in order is taken, else 0 */
    /* Along x in packs, as in a line_piece. A gap has weight 0; a tap never has. */
    alignas(16) T weights[Most + 2 * cuda_pack_of<T>::samples];

    CUDA_INLINE T outside(int number) const
    {
        return edge.rule == EDGE_CONSTANT ? edge.outside[number / channel_lines % channels] : T(0);
    }

    /* Whether weights from one on have no gap among them. */
    CUDA_INLINE bool is_dense(int from, int end) const
    {
        return end <= gap || from >= gap_end;
    }

    /* Across x, a place of a line by its first sample. Without the launder, compilers would multiply 64 bits
       by 64. */
    template <typename Sample> CUDA_INLINE Sample *at(Sample *base, int index) const
    {
        typedef typename std::conditional<std::is_const<Sample>::value, const char, char>::type byte;
        unsigned apart = place;
        cuda_launder(&apart);
        const auto bytes = static_cast<unsigned long long>(static_cast<unsigned>(index)) * apart;

        return reinterpret_cast<Sample *>(reinterpret_cast<byte *>(base) + bytes);
    }

    CUDA_INLINE bool holds(int index) const
    {
        return ends && edge.rule == EDGE_HOLD && !cuda_reach::inside(reach, index, places);
    }
};

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

template <int Count, int Group, int Pack, typename T, typename Read>
CUDA_INLINE void take_groups(const axis_job<T> &job, const Read &read, T (&found)[Count][Pack])
{
    using Order = typename order_for<T>::type;

#pragma unroll
    for (int first = 0; first < Count; first += Group) {
        take_windows<Group, Pack>(
            job, [&](int k, Order(&places)[Pack]) { read(first + k, places); },
            [&](Order(&shared)[Pack]) {
                Order places[Pack];
#pragma unroll 4
                for (int k = first + Group; k < first + job.span; k++) {
                    read(k, places);
                    take_lesser(shared, places);
                }
            },
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

/* Places that a block computes. */
template <typename Form> __host__ __device__ int places_of(const axis_job<typename Form::T> &job)
{
    return (Form::Long ? job.turns : 1) * Form::Places;
}

/* ---- across x ---- */

template <typename Form> struct line_tile;
template <typename Form> struct row_tile;
template <typename Form> struct strip_tile;

/* Extremes: whether windows have these instead of sums. */
template <typename Type, bool Extremes_> struct line_form {
    using T = Type;
    using tile = line_tile<line_form>;
    static constexpr bool Extremes = Extremes_, Long = false, AlongX = false;
    static constexpr int Pack = cuda_pack_of<T>::samples;
    static constexpr int Samples = 8;                    /* below each other, of a thread */
    static constexpr int Ahead = sizeof(T) == 4 ? 1 : 4; /* rows that are loaded before a tap needs them */
    static constexpr int Warps = sizeof(T) == 4 ? 5 : 8; /* of a block, below each other */
    static constexpr int Threads = Warps * CUDA_WARP;
    static constexpr int Columns = CUDA_WARP * Pack, Rows = Warps * Samples, Places = Rows;
    static constexpr double Reached = 0.58; /* of the peak, by the longest windows */

    /* Blocks that a multiprocessor should hold. */
    static __host__ __device__ constexpr int residents(int code)
    {
        return cuda_residents(code, Threads, sizeof(T) == 4 ? 4 - Extremes : 2);
    }

    /* Places that it looks up; the last ones are loaded and not used. */
    static __host__ __device__ int sources(const axis_job<T> &job)
    {
        return Rows + job.span - 1 + Ahead;
    }
    static size_t shared_bytes(const axis_job<T> &job)
    {
        return static_cast<size_t>(sources(job)) * sizeof(int);
    }
    static dim3 grid(const axis_job<T> &job)
    {
        return dim3(cuda_blocks(cuda_ceil_divide(job.nx, Columns)),
                    cuda_blocks(cuda_ceil_divide(job.end - job.first, Rows)), cuda_blocks(job.lines));
    }
};

template <typename Form> struct line_tile {
    using T = typename Form::T;
    using order = typename order_for<T>::type;
    static constexpr int Pack = Form::Pack, Samples = Form::Samples;

    const axis_job<T> &job;
    T *const shared;
    /* This thread's first column, its block's first place, and its own. */
    const int x =
        (static_cast<int>(blockIdx.x) * CUDA_WARP + static_cast<int>(threadIdx.x) % CUDA_WARP) * Pack;
    const int origin = job.first + static_cast<int>(blockIdx.y) * Form::Rows;
    const int begin = origin + static_cast<int>(threadIdx.x) / CUDA_WARP * Samples;
    /* Of what the first tap of its first sample reads, and of what lies behind. */
    int *const sources = reinterpret_cast<int *>(shared) + (begin - origin);
    const T *const from = own(job.from);
    const T outside = job.outside(static_cast<int>(blockIdx.z));

    /* Place 0 of this thread's first column. */
    template <typename Sample> CUDA_INLINE Sample *own(Sample *first) const
    {
        return first + blockIdx.z * job.line + x;
    }

    CUDA_INLINE int last_read() const
    {
        return min(origin + Form::Rows, job.end) - 1 + job.low + job.span - 1;
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
            cuda_load_packs<Pack>(job.at(from, source), row);
    }

    /* A line of what an earlier launch has left. */
    CUDA_INLINE void resume(int o, T (&sums)[Pack]) const
    {
        cuda_load_packs<Pack>(job.at(own(job.to), min(begin + o, job.end - 1)), sums);
    }

    CUDA_INLINE void store(T (&sums)[Samples][Pack]) const
    {
#pragma unroll
        for (int o = 0; o < Samples && job.edge.rule == EDGE_HOLD; o++) {
            if (job.holds(begin + o))
                cuda_load_packs<Pack>(job.at(from, min(begin + o, job.end - 1)), sums[o]);
        }
        if (job.kept != nullptr) {
            const T *const kept = own(job.kept);
            T originals[Samples][Pack]; /* loads of all samples are under way together */
#pragma unroll
            for (int o = 0; o < Samples; o++)
                cuda_load_packs<Pack>(job.at(kept, min(begin + o, job.end - 1)), originals[o]);
            axis_sharpen(job.amount, originals, sums);
        }
#pragma unroll
        for (int o = 0; o < Samples; o++) {
            if (begin + o >= job.end)
                break;
            cuda_store_columns<Pack>(job.at(own(job.to), begin + o) - x, x, x, job.nx, sums[o]);
        }
    }

    /* A chain starts at −0: fma(w, v, −0) is the product w·v, its sign included. */
    template <bool Inside> CUDA_INLINE void compute() const
    {
        T sums[Samples][Pack];

        if constexpr (Form::Extremes) {
            const auto read = [&](int number, order(&places)[Pack]) {
                T row[Pack];
                load<Inside>(number, row);
#pragma unroll
                for (int i = 0; i < Pack; i++)
                    places[i] = place_of(job, row[i]);
            };
            find_extremes(job, read, sums);
#pragma unroll
            for (int o = 0; o < Samples && job.resumes; o++) {
                T earlier[Pack];
                resume(o, earlier);
                join_extremes(job, earlier, sums[o]);
            }
        } else {
#pragma unroll
            for (int o = 0; o < Samples; o++) {
                cuda_fill(sums[o], -T(0));
                if (job.resumes)
                    resume(o, sums[o]);
            }
            axis_chain_lines<Samples + Form::Ahead, Inside>(
                job, [&](int number, T(&row)[Pack]) { load<Inside>(number, row); }, sums);
        }
        store(sums);
    }

    CUDA_INLINE void run() const
    {
        axis_look_up(sources - (begin - origin), Form::sources(job), origin + job.low, origin + job.low,
                     last_read(), job.edge.rule, job.places);
        __syncthreads();
        if (x >= job.nx || begin >= job.end)
            return;
        if (is_inside())
            compute<true>();
        else
            compute<false>();
    }
};

/* ---- long windows ---- */

__host__ __device__ inline int within(int place, int least, int most)
{
    return place < least ? least : place > most ? most : place;
}

/* A piece of a line with what its taps reach, in whole units. `column` is its first place, `skipped` the cell
   of the first sample's first tap, `cells` the number of its cells. A piece of clipped windows reaches only
   as many places beyond the grid as a thread has samples; `skipped` may then be negative. Groups have as many
   samples as a thread and begin with that tap. Those from `group` to `group_end` have a place that windows
   look at. */
template <typename Form> struct line_piece {
    static constexpr int Unit = Form::Unit, Samples = Form::Samples;
    int column, skipped, cells, group, group_end;

    CUDA_INLINE line_piece(const axis_job<typename Form::T> &job, int begin, int places)
    {
        const int first = begin + job.low, reached = places + job.span - 1;
        int end = first + reached;

        column = begin - axis_places_before<Unit>(job.low);
        if (Form::Long) {
            column = within(column, job.seen - Samples, job.seen_end / Unit * Unit - Samples);
            end = within(end, job.seen + Samples, job.seen_end + Samples);
        }
        skipped = first - column;
        cells = (end - column + Unit - 1) / Unit * Unit;
        group = max(job.seen - first, 0) / Samples;
        group_end = min(reached, max(job.seen_end - first, 0) + Samples - 1) / Samples;
    }

    /* Cells at most, of a launch. No more groups count than these have room for. */
    static __host__ __device__ int most_cells(const axis_job<typename Form::T> &job)
    {
        const int reached = axis_places_before<Unit>(job.low) + job.low + places_of<Form>(job) + job.span - 1;

        return within(reached, 0, job.seen_end - job.seen + 2 * Samples);
    }
    static int most_groups(const axis_job<typename Form::T> &job)
    {
        return most_cells(job) / Samples;
    }
    /* Whether windows are long enough for sets. A set has as many groups as a group has samples. */
    static __host__ __device__ bool has_sets(const axis_job<typename Form::T> &job)
    {
        return job.span >= 3 * Samples * Samples;
    }
    static int groups_and_sets(const axis_job<typename Form::T> &job)
    {
        return most_groups(job) + (has_sets(job) ? most_groups(job) / Samples : 0);
    }
};

/* Shift out as many of the first samples as wanted, fewer than 2 · Most. */
template <int Most, int Count, typename T> CUDA_INLINE void shift_out(int wanted, T (&samples)[Count])
{
#pragma unroll
    for (int k = 0; k + Most < Count; k++)
        samples[k] = (wanted & Most) != 0 ? cuda_in_register(samples[k + Most]) : samples[k];
    if constexpr (Most > 1)
        shift_out<Most / 2>(wanted, samples);
}

/* Await what a block has fetched. Of long windows, all packs of cells become the places of their samples,
   since several windows read each. */
template <typename Form>
CUDA_INLINE void await_cells(const axis_job<typename Form::T> &job, typename Form::T *cells, int count)
{
    cuda_commit_copies();
    cuda_await_copies<0>();
    __syncthreads();
#pragma unroll 2
    for (int i = static_cast<int>(threadIdx.x) * Form::Pack; Form::Long && i < count;
         i += Form::Threads * Form::Pack) {
        typename Form::T values[Form::Pack];
        cuda_load_packs<Form::Pack>(cells + i, values);
        for (auto &value : values)
            value = axis_bits_as<typename Form::T>(place_of(job, value));
        cuda_put(cells + i, values);
    }
    if (Form::Long)
        __syncthreads();
}

/* Extremes of long windows, of lines whose pieces lie in shared memory. Several threads have samples of the
   same line. */
template <typename Form> struct long_windows {
    using T = typename Form::T;
    using order = typename order_for<T>::type;
    static constexpr int Pack = Form::Pack, Samples = Form::Samples;
    static constexpr int Step = Form::AlongX ? 1 : Form::Columns;  /* samples from a cell to the next */
    static constexpr int Slots = Step > 1 ? 128 / Form::Bytes : 1; /* lanes of a column, of a warp */

    const axis_job<T> &job;
    const int begin; /* the tile's first place */
    const line_piece<Form> &piece;
    const T *const cells; /* of this thread's line: the places of samples */
    order *const groups;  /* the same */

    /* The places of as many samples as a thread has, from a cell on. Across x, lanes read samples side by
       side. Along x, each lane reads whole packs of its own row. These come from all banks, and single
       samples would come from every fourth one. Up to Pack − 1 samples that precede the wanted ones are then
       shifted out. */
    CUDA_INLINE void read(int cell, order (&found)[Samples]) const
    {
        T values[Samples + Pack];

        if constexpr (Step == 1) {
            cuda_load_packs<Samples + Pack>(cells + cell / Pack * Pack, values);
            shift_out<Pack / 2>(cell % Pack, values);
        } else {
            const T *const first = cells + Form::row_of(job, cell) * Step;
#pragma unroll
            for (int k = 0; k < Samples; k++)
                values[k] = first[k * Step];
        }
#pragma unroll
        for (int k = 0; k < Samples; k++)
            found[k] = axis_bits_as<order>(values[k]);
    }

    /* The least of them. */
    CUDA_INLINE order least_of(int cell) const
    {
        order found[Samples];

        read(cell, found);
#pragma unroll
        for (int k = 1; k < Samples; k++)
            found[0] = lesser(found[0], found[k]);
        return found[0];
    }

    /* Call act(number) for the numbers below a count that fall to this thread. The threads of a line share
       them; each slot has a part of its own. */
    template <typename Act> CUDA_INLINE static void share(int count, int unit, const Act &act)
    {
        const int part = (count + Slots - 1) / Slots, before = unit % Slots * part;

#pragma unroll 1
        for (int i = before + unit / Slots; i < min(before + part, count); i += Form::Units / Slots)
            act(i);
    }

    /* The least of what has been found and of the groups, or sets, from `number` up to `end`. */
    CUDA_INLINE order least_of_groups(int number, int end, order least) const
    {
#pragma unroll 4
        for (; number < end; number++)
            least = lesser(least, groups[number * Step]);
        return least;
    }

    /* The extremes of all groups of the line, and of sets of them. Threads of a line that does not exist wait
       for the others. */
    CUDA_INLINE void make_groups(bool exists, int unit) const
    {
        const int count = exists ? piece.group_end - piece.group : 0;

        share(count, unit, [&](int number) {
            groups[number * Step] = least_of(piece.skipped + (piece.group + number) * Samples);
        });
        __syncthreads();
        if (!line_piece<Form>::has_sets(job))
            return;
        share(count / Samples, unit, [&](int number) {
            const int first = number * Samples;
            groups[(job.groups + number) * Step] =
                least_of_groups(first + 1, first + Samples, groups[first * Step]);
        });
        __syncthreads();
    }

    /* The same for the groups of a window. Where it has whole sets, these stand for their groups. */
    CUDA_INLINE order least_of_sets(int number, int end, order least) const
    {
        const int set = (number + Samples - 1) / Samples, last = end / Samples;

        if (!line_piece<Form>::has_sets(job) || set >= last)
            return least_of_groups(number, end, least);
        least = least_of_groups(number, set * Samples, least);
        least = least_of_groups(job.groups + set, job.groups + last, least);
        return least_of_groups(last * Samples, end, least);
    }

    /* The extremes of the windows of a thread's samples, from a place of the tile on. The first window has
       the samples that it begins with, whole groups, and a rest of fewer samples than a group has. Instead of
       the rest, it takes as many samples before its end as a group has: the compiler then knows their number.
       Pieces of clipped windows have only a group's samples on either side of the grid. These stand for all
       that lie further out. That changes no extreme, since all these values are inside the window, too. */
    CUDA_INLINE void find(int place, T (&found)[Samples][1]) const
    {
        const int first = begin + place + job.low, end = first + job.span;
        const int before = within(first, job.seen - Samples, job.seen_end) - piece.column;
        const int behind = within(end, job.seen, job.seen_end + 1) - piece.column;
        const int own = place / Samples, last = own + job.span / Samples;
        order samples[Samples];

        read(before, samples);
        take_windows<Samples, 1>(
            job, [&](int k, order(&least)[1]) { least[0] = samples[k]; },
            [&](order(&least)[1]) {
                least[0] = least_of_sets(max(own + 1, piece.group) - piece.group,
                                         min(last, piece.group_end) - piece.group, least[0]);
                least[0] = lesser(least[0], least_of(behind - Samples));
                read(behind, samples);
            },
            [&](int o, order(&least)[1]) { least[0] = samples[o - 1]; }, found);
    }
};

/* ---- along x ---- */

/* Where windows are long, blocks have fewer rows than a warp has lanes, so that a multiprocessor holds
   several blocks even of long pieces. The narrow ones have 32 or 16 bytes of a column. */
template <typename Type, bool Extremes_, int Rows_ = CUDA_WARP> struct row_form {
    using T = Type;
    using tile = row_tile<row_form>;
    static constexpr int Rows = Rows_, Bytes = Rows * sizeof(T); /* of a column */
    static constexpr bool Extremes = Extremes_, Long = Rows < CUDA_WARP, Narrow = Bytes <= CUDA_SECTOR;
    static constexpr bool AlongX = true;
    static constexpr int Pack = cuda_pack_of<T>::samples, Unit = Pack;
    static constexpr bool Many = !Extremes && sizeof(T) == 4; /* there are registers for more sums */
    static constexpr int Samples = Many ? 32 : 16;            /* side by side, of a thread */
    static constexpr int Warps = Narrow ? 8 + 2 * Pack : Long || (Extremes && sizeof(T) == 4) ? 8 : 4;
    static constexpr int Threads = Warps * CUDA_WARP;
    static constexpr int Units = Threads / Rows; /* threads side by side, of a row */
    static constexpr int Columns = Units * Samples, Places = Narrow ? 4 * Samples : Columns;
    static constexpr int Fetching = Long ? Units : 8;             /* lanes that bring a row */
    static constexpr int Storing = Long ? Units : Columns / Pack; /* and those that store one */
    static constexpr int Blocks = Narrow ? 2 : Pack; /* as many as rows of 512 samples leave room for */
    /* Of the peak, by the longest windows. */
    static constexpr double Reached = Long ? 0.25 : Many ? 0.57 : 0.52;

    /* On older devices, ptxas wants more registers for some forms. */
    static __host__ __device__ constexpr int residents(int code)
    {
        return cuda_residents(code, Threads,
                              Long             ? Blocks
                              : Many           ? 6
                              : sizeof(T) == 4 ? 5 - (code < 90) - (code < 86)
                                               : 6 - Extremes - (code < 86));
    }
    /* Samples from a row to the next: an odd number of units. Lanes, each in its row, then use all banks. */
    static __host__ __device__ int pitch(int samples, int unit)
    {
        return ((samples + unit - 1) / unit | 1) * unit;
    }
    static int cell_pitch(const axis_job<T> &job)
    {
        return pitch(line_piece<row_form>::most_cells(job), Pack);
    }
    /* Here units are as many groups as lanes read side by side, while the other lanes read other rows. */
    static int group_pitch(const axis_job<T> &job)
    {
        return Long ? pitch(line_piece<row_form>::groups_and_sets(job), 128 / Bytes) : 0;
    }
    /* In shared memory, pieces come first, then the groups of each row. If pieces are clipped, later turns
       read where the results of a turn would go; these are then behind. */
    static size_t shared_bytes(const axis_job<T> &job)
    {
        return static_cast<size_t>(cell_pitch(job) + group_pitch(job) +
                                   (job.clips ? pitch(Columns, Pack) : 0)) *
               Rows * sizeof(T);
    }
    static dim3 grid(const axis_job<T> &job)
    {
        return dim3(cuda_blocks(cuda_ceil_divide(job.nx, places_of<row_form>(job)) *
                                cuda_ceil_divide(job.lines, Rows)));
    }
};

template <typename Form> struct row_tile {
    using T = typename Form::T;
    using order = typename order_for<T>::type;
    static constexpr int Pack = Form::Pack, Samples = Form::Samples;

    const axis_job<T> &job;
    T *const shared;
    /* This thread's row, and its number among those of the row. */
    const int own = static_cast<int>(threadIdx.x % Form::Rows),
              unit = static_cast<int>(threadIdx.x / Form::Rows);
    /* The tile's first column, and its columns in whole threads; the last may lie behind the grid. */
    const int begin = static_cast<int>(blockIdx.x % job.tiles) * places_of<Form>(job);
    const int columns = min(places_of<Form>(job), (job.nx - begin + Samples - 1) / Samples * Samples);
    const line_piece<Form> piece = {job, begin, columns};
    /* Its first row, and how many there are. */
    const int first = static_cast<int>(blockIdx.x / job.tiles) * Form::Rows;
    const int rows = min(Form::Rows, job.lines - first);

    CUDA_INLINE T *staged(int row) const
    {
        return shared + row * job.cell_pitch;
    }

    /* Rows behind the last one are read from it. */
    CUDA_INLINE int read(int row) const
    {
        return first + min(row, rows - 1);
    }

    CUDA_INLINE void fetch() const
    {
        const int lane = static_cast<int>(threadIdx.x % Form::Fetching) * Pack, end = piece.cells;
        const int column = piece.column, before = min(max(-column, 0), end);
        const int behind = min(max(job.nx / Pack * Pack - column, 0), end);
        const unsigned whole = static_cast<unsigned>(behind - before); /* cells of whole packs */

#pragma unroll
        for (int turn = 0; turn < Form::Rows; turn += Form::Threads / Form::Fetching) {
            const int row = turn + static_cast<int>(threadIdx.x / Form::Fetching);
            const T *from = job.from + read(row) * job.line + column + lane;
            T *to = staged(row) + lane;
#pragma unroll 1
            for (int i = lane - before; i < end - before; i += Form::Fetching * Pack) {
                cuda_copy_async_if<16>(static_cast<unsigned>(i) < whole, to, from);
                from += Form::Fetching * Pack;
                to += Form::Fetching * Pack;
            }
        }
        if (before > 0 || behind < end)
            axis_fetch_outside(job.from + read(own) * job.line, staged(own), column, before, behind, end,
                               job.nx, job.edge.rule, job.outside(read(own)), unit, Form::Units);
        await_cells<Form>(job, shared, Form::Rows * job.cell_pitch);
    }

    /* What an earlier launch has left, in columns of the grid. */
    CUDA_INLINE void resume(int place, T (&sums)[Samples]) const
    {
        const int column = begin + place;
        const T *const row = job.to + read(own) * job.line;
#pragma unroll
        for (int s = 0; s < Samples; s++) {
            if (column + s < job.nx)
                sums[s] = row[column + s];
        }
    }

    CUDA_INLINE long_windows<Form> windows() const
    {
        order *const groups = reinterpret_cast<order *>(shared + Form::Rows * job.cell_pitch);

        return {job, begin, piece, staged(own), groups + own * job.group_pitch};
    }

    CUDA_INLINE void find(int place, T (&sums)[Samples]) const
    {
        const T *const cells = staged(own) + place + piece.skipped;
        T found[Samples][1];

        if constexpr (Form::Long)
            windows().find(place, found);
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
        T *const behind = shared + Form::Rows * (job.cell_pitch + job.group_pitch);

        return Form::Long && job.clips ? behind + row * Form::pitch(Form::Columns, Pack)
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
        const int before = static_cast<int>(threadIdx.x % Form::Storing) * Pack;
        const int x = begin + turn * Form::Columns + before, end = min(begin + columns, job.nx);
        int row = static_cast<int>(threadIdx.x / Form::Storing);
        T *to = job.to + (first + row) * job.line;

#pragma unroll 1
        for (; row < rows; row += Form::Threads / Form::Storing) {
#pragma unroll 1
            for (int i = 0; i < Form::Columns && x + i < end; i += Form::Storing * Pack) {
                T sums[Pack];

                cuda_load_packs<Pack>(results(turn, row) + before + i, sums);
                if (job.edge.rule == EDGE_HOLD)
                    hold(row, x + i, sums);
                cuda_store_columns<Pack>(to, x + i, x + i, job.nx, sums);
            }
            to += Form::Threads / Form::Storing * job.line;
        }
    }

    /* Results go where no later turn reads, or are stored before the next turn. */
    CUDA_INLINE void run() const
    {
        const int turns = Form::Long ? (columns + Form::Columns - 1) / Form::Columns : 1;
        const bool at_once = Form::Long && job.clips;

        fetch();
        if constexpr (Form::Long)
            windows().make_groups(true, unit);
#pragma unroll 1
        for (int turn = 0; turn < turns; turn++) {
            const int place = turn * Form::Columns + unit * Samples;
            const bool works = place < columns;
            T sums[Samples];

            if (works) {
                if constexpr (Form::Extremes) {
                    find(place, sums);
                } else {
                    cuda_fill(sums, -T(0)); /* chains start as those across x do */
                    if (job.resumes)
                        resume(place, sums);
                    const T *const cells = staged(own) + place;
                    const auto load = [=](int number, T *samples) {
                        cuda_load_packs<Pack>(cells + number, samples);
                    };
                    axis_chain_cells(job, load, piece.skipped, sums);
                }
            }
            __syncthreads();
            if (works)
                cuda_put(results(turn, own) + unit * Samples, sums);
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

/* ---- long windows across x ---- */

/* A strip is as wide as a line of the cache or, if it is narrow, as a sector. A warp reads rows of samples
   from shared memory. In a narrow strip, rows 4 apart are in the same banks. So are the rows that threads
   begin with, 16 apart. Therefore the lanes of a column have slots, and each slot has a part of the places:
   lanes of a warp are then as far apart as parts are long. In shared memory, the strip is cut into segments
   of that length. Behind each, the first 15 rows of the next one are repeated. Lanes are then an odd number
   of rows apart, and what a thread reads at once lies in one segment. Groups are not repeated: without
   sets, a part has an odd number of them. */
template <typename Type, int Bytes_> struct strip_form {
    using T = Type;
    using tile = strip_tile<strip_form>;
    static constexpr int Bytes = Bytes_, Columns = Bytes / sizeof(T), Slots = 128 / Bytes;
    static constexpr bool Extremes = true, Long = true, Narrow = Slots > 1, AlongX = false;
    static constexpr int Pack = cuda_pack_of<T>::samples, Unit = 1;
    static constexpr int Samples = 16; /* below each other, of a thread */
    static constexpr int Threads = (Narrow ? 8 + 2 * Pack : 8) * CUDA_WARP, Blocks = Narrow ? 2 : 3;
    static constexpr int Units = Threads / Columns; /* threads below each other, of a column */
    static constexpr int Rows = Units * Samples, Places = Narrow ? Slots * Samples : Rows;
    static constexpr double Reached = 0.25; /* of the peak */

    static __host__ __device__ constexpr int residents(int code)
    {
        return cuda_residents(code, Threads, Blocks);
    }
    /* The row of a cell, in its segment. */
    static __host__ __device__ int row_of(const axis_job<T> &job, int cell)
    {
        const float segment = (static_cast<float>(cell) + 0.5F) * job.segments;

        return Narrow ? cell + static_cast<int>(segment) * (Samples - 1) : cell;
    }
    /* Groups are behind the piece. */
    static __host__ __device__ int group_row(const axis_job<T> &job)
    {
        return row_of(job, line_piece<strip_form>::most_cells(job));
    }
    static size_t shared_bytes(const axis_job<T> &job)
    {
        return static_cast<size_t>(group_row(job) + line_piece<strip_form>::groups_and_sets(job)) * Bytes;
    }
    /* Blocks that follow one another are neighbours along the axis, so they find in the second-level cache
       what windows of both reach. */
    static dim3 grid(const axis_job<T> &job)
    {
        return dim3(cuda_blocks(cuda_ceil_divide(job.end - job.first, places_of<strip_form>(job)) *
                                cuda_ceil_divide(job.nx, Columns)),
                    1, cuda_blocks(job.lines));
    }
};

template <typename Form> struct strip_tile {
    using T = typename Form::T;
    using order = typename order_for<T>::type;
    static constexpr int Pack = Form::Pack, Samples = Form::Samples;

    const axis_job<T> &job;
    T *const shared;
    const int strip = static_cast<int>(blockIdx.x / job.tiles) * Form::Columns; /* its first column */
    const int columns = min(Form::Columns, job.nx - strip);
    /* This thread's column, and its number among those of the column. */
    const int x = static_cast<int>(threadIdx.x) % Form::Columns,
              unit = static_cast<int>(threadIdx.x) / Form::Columns;
    /* The tile's first place, and its places in whole threads; the last may lie behind the grid. */
    const int begin = job.first + static_cast<int>(blockIdx.x % job.tiles) * places_of<Form>(job);
    const int places = min(places_of<Form>(job), (job.end - begin + Samples - 1) / Samples * Samples);
    const line_piece<Form> piece = {job, begin, places};
    const T *const from = job.from + blockIdx.z * job.line + strip; /* place 0 of the strip */
    T *const to = job.to + (from - job.from);                       /* the same */

    /* Places behind `last` are read only for samples that are not computed. They may not be in the field, so
       `last` stands for them. */
    CUDA_INLINE void fetch() const
    {
        const enum edge_rule rule = job.edge.rule == EDGE_HOLD ? EDGE_NEAREST : job.edge.rule;
        const int lanes = Form::Columns / Pack; /* that bring a row */
        const int column = static_cast<int>(threadIdx.x) % lanes * Pack;
        const int last = min(begin + places, job.end) - 1 + job.low + job.span - 1;
        const int rows = Form::row_of(job, piece.cells);
        const int segment = places_of<Form>(job) / Form::Slots + Samples - 1;
        int before = piece.column, end = segment; /* the place of row 0, if nothing were repeated */
        T outside[Pack];

        cuda_fill(outside, job.outside(static_cast<int>(blockIdx.z)));
#pragma unroll 1
        for (int row = static_cast<int>(threadIdx.x) / lanes; row < rows && column < columns;
             row += Form::Threads / lanes) {
            for (; Form::Narrow && row >= end; end += segment)
                before -= Samples - 1;
            const int source = cuda_near_index(rule, min(before + row, last), job.places);
            T *const cells = shared + row * Form::Columns + column;
            if (source < 0)
                cuda_put(cells, outside);
            else
                cuda_copy_async<16>(cells, job.at(from, source) + column);
        }
        await_cells<Form>(job, shared, rows * Form::Columns);
    }

    /* The results at a place of the tile, after those of an earlier launch. Samples with a tap outside the
       grid keep their value. */
    CUDA_INLINE void store(int place, T (&found)[Samples][1]) const
    {
#pragma unroll
        for (int o = 0; o < Samples; o++) {
            const int index = begin + place + o;
            if (index >= job.end)
                break;
            T *const result = job.at(to, index) + x;
            if (job.resumes || job.edge.rule == EDGE_HOLD) {
                cuda_keep_branch();
                if (job.resumes)
                    join_extremes(job, {*result}, found[o]);
                if (job.holds(index))
                    found[o][0] = job.at(from, index)[x];
            }
            *result = found[o][0];
        }
    }

    CUDA_INLINE void run() const
    {
        order *const groups = reinterpret_cast<order *>(shared + Form::group_row(job) * Form::Columns);
        const long_windows<Form> windows = {job, begin, piece, shared + x, groups + x};

        fetch();
        windows.make_groups(x < columns, unit);
        windows.share(x < columns ? places / Samples : 0, unit, [&](int number) {
            T found[Samples][1];
            windows.find(number * Samples, found);
            store(number * Samples, found);
        });
    }
};

template <typename Form>
__global__ void __launch_bounds__(Form::Threads, Form::residents(cuda_code()))
    axis_kernel(const __grid_constant__ axis_job<typename Form::T> job)
{
    CUDA_SHARED(typename Form::T, shared);

    typename Form::tile{job, shared}.run();
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

/* Call act with the form for an op's launch. */
template <typename T, typename Act> auto with_form(const struct op *op, const axis_job<T> &job, Act act)
{
    const bool along_x = axis_of(op) == AXIS_X;

    if (op->kind != OP_RANK)
        return along_x ? act(row_form<T, false>()) : act(line_form<T, false>());
    if (job.span < (along_x ? 3 : 2) * strip_form<T, 128>::Samples) /* groups would gain nothing */
        return along_x ? act(row_form<T, true>()) : act(line_form<T, true>());
    if (job.width < CUDA_SECTOR)
        return act(row_form<T, true, CUDA_SECTOR / 2 / sizeof(T)>());
    if (job.width == CUDA_SECTOR)
        return along_x ? act(row_form<T, true, CUDA_SECTOR / sizeof(T)>())
                       : act(strip_form<T, CUDA_SECTOR>());
    return along_x ? act(row_form<T, true, CUDA_WARP / 2>()) : act(strip_form<T, 128>());
}

/* What a launch costs for long windows, relative to others. A place that a block holds takes about as long as
   one of a round, in which each thread has 16 windows; the last round takes as long as the others, even if it
   has fewer. A block that is alone on its multiprocessor fetches nothing while it computes. When a launch
   ends, half of the blocks are idle, on average. Memory is a little slower for narrow blocks. A block
   of two rows uses few banks. Along x, a round of clipped pieces ends when its results are stored. */
template <typename Form>
double cost_of(const struct cuda_limits *limits, const axis_job<typename Form::T> &job)
{
    const size_t bytes = Form::shared_bytes(job), room = limits->shared_per_multiprocessor;
    const double residents = static_cast<double>(std::min<size_t>(Form::Blocks, room / (bytes + 1024)));
    const int round = Form::Units * Form::Samples, rounds = (places_of<Form>(job) + round - 1) / round;
    const dim3 grid = Form::grid(job);
    const double blocks = 1.0 * grid.x * grid.y * grid.z + limits->multiprocessors * residents / 2;
    const double slower = Form::AlongX && Form::Rows == 2 ? 1.5 : Form::Narrow ? 1.1 : 1;

    if (bytes > limits->shared_per_block)
        return HUGE_VAL;
    return blocks * Form::Bytes * (line_piece<Form>::most_cells(job) + rounds * round) *
           (1 + 0.4 / (residents * residents)) * slower * (job.clips && Form::AlongX ? 1.1 : 1);
}

/* Choose the form of a launch and its turns, and whether its windows are clipped. Where windows are long, all
   that a block has room for are tried, and the one that costs least is taken. A part of a narrow strip has as
   many groups as there are turns. Without sets, this is an odd number, so that lanes read groups from
   different banks; with sets, they read few single groups. A launch of few places may need turns that find
   nothing to compute: of short parts, too many rows are repeated. */
template <typename T> void fit(const struct cuda_limits *limits, const struct op *op, axis_job<T> *job)
{
    const int room = static_cast<int>(limits->shared_per_block);
    const int widths = axis_of(op) == AXIS_X ? 3 : 2;
    axis_job<T> tried = *job;
    double least = HUGE_VAL;

    for (int kind = 0; kind < (op_reads_itself_outside(op) ? 2 * widths : widths); kind++) {
        static const int width[] = {128, CUDA_SECTOR, CUDA_SECTOR / 2};
        tried.width = width[kind % widths];
        tried.clips = kind >= widths;
        tried.seen = tried.clips ? 0 : -axis_job<T>::Beside;
        tried.seen_end = tried.clips ? tried.places : axis_job<T>::Beyond;
        tried.turns = 1;
        if (kind == 0)
            *job = tried;
        with_form<T>(op, tried, [&](auto chosen) {
            using form = decltype(chosen);
            if constexpr (form::Long) {
                const int slots = long_windows<form>::Slots;
                const int step = slots > 1 && !line_piece<form>::has_sets(tried) ? 2 : 1;
                const int all = std::min(std::max(job->end - job->first, job->span), room / form::Bytes);
                for (; (tried.turns - step) * form::Places < all; tried.turns += step) {
                    tried.segments = 1.0F * slots / places_of<form>(tried);
                    const double cost = cost_of<form>(limits, tried);
                    if (cost < least)
                        *job = tried;
                    least = std::min(cost, least);
                }
            }
        });
    }
}

/* Taps of a launch. Those of extremes have no weights, so shared memory sets their number. A launch that
   clips its windows takes all. Any other takes at most three fifths of the places that the narrowest block
   holds; the rest is for groups, repeated rows and places to compute. All launches have nearly the same
   number of taps, since a short one reads and writes as much as a long one. */
template <typename T> int most_taps(const struct cuda_limits *limits, const struct op *op, axis_job<T> job)
{
    const int width = axis_of(op) == AXIS_X ? CUDA_SECTOR / 2 : CUDA_SECTOR;
    const int most = static_cast<int>(limits->shared_per_block) / width * 3 / 5;

    if (op->kind != OP_RANK)
        return axis_job<T>::Most;
    job.low = offset_along(axis_of(op), &op->taps[0]);
    job.span = span_of(op);
    fit(limits, op, &job);
    const int launches = (job.span + most - 1) / most;
    return job.clips ? job.span : (job.span + launches - 1) / launches;
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
    const int before = axis == AXIS_X ? axis_places_before<cuda_pack_of<T>::samples>(job->low) + job->low : 0;
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
    fit(limits, op, job);
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

template <typename Form>
void describe(const struct cuda_question *asked, const axis_job<typename Form::T> &job,
              struct cuda_form *form)
{
    using T = typename Form::T;
    const double launches = static_cast<double>(
        cuda_ceil_divide(span_of(asked->op), most_taps<T>(asked->limits, asked->op, job)));
    /* By as many windows as a thread has. */
    const double taken = span_of(asked->op) + launches * Form::Samples;

    form->tile_x = Form::Columns;
    form->tile_y = Form::Rows;
    form->coarsen = Form::Samples;
    form->block = dim3(Form::Threads);
    form->grid = Form::grid(job);
    form->shared_bytes = Form::shared_bytes(job);
    form->kernel = reinterpret_cast<const void *>(&axis_kernel<Form>);
    form->bytes_per_update = sizeof(T) * (3 * launches - 1 + (asked->op->kind == OP_UNSHARP ? 1 : 0));
    form->operations_per_update = Form::Extremes ? 12.0 * taken / Form::Samples : cuda_operations(asked->op);
    if constexpr (Form::Long) /* by runs of an H200 */
        form->operations_per_update = 20 * launches * cost_of<Form>(asked->limits, job) /
                                      (1.0 * job.nx * job.lines * (job.end - job.first) * sizeof(T));
    form->reached = Form::Reached;
}

/* Whether a shape has too many lines or places for the blocks of a launch, or too many bytes from a place to
   the next for 32 bits. */
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
    const axis_job<T> job = job_of<T>(asked->limits, op, asked->shape, {0, asked->shape->planes});
    with_form<T>(op, job, [&](auto chosen) { describe<decltype(chosen)>(asked, job, form); });
    return true;
}

/* Launches of other spans share the kernel, and what it was permitted last. */
template <typename Form> cudaError_t launch(axis_job<typename Form::T> job, cudaStream_t stream)
{
    const size_t shared = Form::shared_bytes(job);
    const cudaError_t error = cuda_permit_shared(&axis_kernel<Form>, shared);

    job.tiles = static_cast<unsigned>(cuda_ceil_divide(job.end - job.first, places_of<Form>(job)));
    if constexpr (Form::Long)
        job.groups = line_piece<Form>::most_groups(job);
    if constexpr (Form::AlongX) {
        job.cell_pitch = Form::cell_pitch(job);
        job.group_pitch = Form::group_pitch(job);
    }
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
        error =
            with_form<T>(op, job, [&](auto chosen) { return launch<decltype(chosen)>(job, from->stream); });
    }
    return error;
}

} // namespace

CUDA_RUNG(axis, false, false, false);
