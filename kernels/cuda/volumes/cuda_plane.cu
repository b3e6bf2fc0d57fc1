/* Rung `plane`: windows of up to 5×5×5 taps, with or without gaps, stars up to radius 4, and gradients, one
 * step, for any device and edge rule. cuda_plane_tma.cu has a faster walk for stars, on devices that
 * fetch boxes.
 *
 * Known as: 2.5D blocking in registers; direct 3D convolution, register-tiled; partial sums in flight.
 * Idea: a plane that comes gives all its taps at once, to every sum that is open.
 * Adds: samples go from memory to registers, and no warp waits for another; the next plane comes while one is
 *   chained; gaps are passed over by branches that a whole warp takes.
 * Costs: registers, an open sum for each plane in reach; rows beside a thread's own are read again, from the
 *   first-level cache.
 * Traffic per sample: 2 words through memory.
 * Wins when: one step is all that is asked for.
 *
 * A thread owns a pack of columns in some rows, and walks along the planes. Of each plane it loads the rows
 * in reach of its own, and the columns beside them. That plane is the last of the 2r + 1 that the oldest open
 * sum waits for, the middle one of another, and the first of the youngest. This is raster order. So a sample
 * has one sum for each plane that is still to come, and a plane is forgotten when it has been chained.
 *
 * The walk knows no edges, except that held samples stay. Planes outside the grid are loaded from where the
 * edge rule finds them, and so are rows and columns, which a table in shared memory has for the tile. Only
 * packs at the sides of the grid take their columns one by one. A warp is 32 packs wide; where what is left
 * of a row is less, its lanes stand in several groups below each other.
 *
 * A tap of weight 0 does not exist, since it would spread a NaN. Rows of a window that have no taps are
 * passed over together, and other gaps one by one: a branch costs two instructions, and a tap 8 to 12
 * multiply-adds. */
#include "kernels/cuda/shared/cuda_march_common.cuh"
#include "cuda_plane.cuh"

/* How the next plane comes while one is chained: into registers, or from memory into L2, which takes none. */
enum plane_ahead { PLANE_IN_REGISTERS, PLANE_IN_L2 };

/* What the compiler must know of a walk. Rows: that a thread owns. Blocks: that a multiprocessor should hold.
 */
template <typename Type, step_taps Taps_, int Radius_, bool Gradient_, int Rows_, int Warps_, int Blocks_,
          plane_ahead Ahead_, int Planes_>
struct plane_form : step_taps_of<Taps_, Radius_> {
    using T = Type;
    using base = step_taps_of<Taps_, Radius_>;
    using base::Taps, base::Radius;
    static constexpr bool Gradient = Gradient_;
    static constexpr plane_ahead Ahead = Ahead_;
    static constexpr int Rows = Rows_, Warps = Warps_, Blocks = Blocks_;
    static constexpr int MostPlanes = Planes_; /* of a walk: longer ones drift apart */
    static constexpr int Threads = CUDA_WARP * Warps;
    static constexpr int Pack = cuda_pack_of<T>::samples;
    static constexpr int Width = CUDA_WARP * Pack;
    static constexpr int Open = Gradient ? 3 : 2 * Radius;          /* values that a sample keeps */
    static constexpr bool Dense = Taps == STEP_SOME && Radius == 2; /* windows without gaps go another way */
    /* The share of a device's peak, measured on an H100 and an H200; 0: what other chains reach. */
    static constexpr double Reached = Taps == STEP_STAR ? (Radius > 2 ? 0.2 : 0) : Dense ? 0.6 : 0.25;

    /* Lines that are loaded of a plane; those with the columns beside them; and how many, the last ones, are
       loaded when others have been chained, for want of registers. */
    static constexpr int Lines = Rows + 2 * Radius;
    static constexpr int FirstWide = Taps == STEP_STAR ? Radius : 0;
    static constexpr int WideLines = Lines - 2 * FirstWide;
    static constexpr int Late = Taps == STEP_STAR && Radius == 4 ? Radius : 0;
    /* Whether what hold keeps of a plane is fetched when the one before is stored. */
    static constexpr bool EarlyHeld = Late > 0 || sizeof(T) == sizeof(float);
    static constexpr int Side = Radius == 3 ? 4 : Radius; /* columns on either side */
    /* Whether, under hold, columns outside are whatever stands there: no sample that is computed has a tap
       there. It pays where it leaves registers enough. */
    static constexpr bool AnyOutside = Late > 0 && Side <= Pack;

    static constexpr int Columns = Side + Width + Side;                      /* in reach of a tile */
    static constexpr int TableLines = CUDA_WARP * Warps * Rows + 2 * Radius; /* of the narrowest tile */

    static_assert(Lines <= 16 && Rows * Pack <= 16, "a bit for each");
    static_assert(2 * Pack * sizeof(T) == CUDA_SECTOR && CUDA_ROW_ALIGNMENT % CUDA_SECTOR == 0,
                  "see plane_tiles");

    /* ptxas wants more registers for other code than 9.0, and most from 10.0 on. */
    static __host__ __device__ constexpr int residents(int code)
    {
        const int fewer = code >= 100 ? Blocks / 2 : code >= 90 ? 0 : 1;

        return cuda_residents(code, Threads, Blocks - fewer);
    }
};

/* Two lanes have a sector of the memory, which they store whole, padding and all: what is stored of a part of
   one has to be read first. */
template <typename Form> static struct cuda_tiles plane_tiles(long long nx, long long rows)
{
    const unsigned lanes = cuda_last_lanes(nx % Form::Width, Form::Pack);

    return cuda_tiles_of<Form>(nx, rows, lanes < 2 ? 2 : lanes);
}

template <typename Form> struct plane_job {
    using T = typename Form::T;

    cuda_view<T> from, to;
    T weights[Form::TapCount]; /* in raster order; 0 where there is no tap */
    unsigned rows;             /* of the window that have taps, a bit each */
    bool dense;                /* there are no gaps */
    enum edge_rule rule;
    struct reach x, row, plane; /* for hold */
    const T *outside;
    int first, end; /* planes to compute */
    int chunk;      /* planes that a warp computes */
    struct cuda_tiles tiles;
};

/* Of a tile, in shared memory, where a thread looks them up anew for each plane. */
template <typename Form> struct alignas(16) plane_tables {
    typename Form::T outside;         /* under a constant edge */
    int columns[Form::Columns];       /* where those in reach are found */
    unsigned lines[Form::TableLines]; /* bytes from the beginning of a plane to each */
};

/* Behind them, under hold: each thread's samples of the plane that is stored next, as they were. */
template <typename Form> static constexpr size_t plane_kept_bytes()
{
    return sizeof(typename Form::T) * Form::Threads * Form::Rows * Form::Pack;
}

template <typename Form> struct plane_walk {
    using T = typename Form::T;
    static constexpr int Radius = Form::Radius, Rows = Form::Rows, Pack = Form::Pack, Lines = Form::Lines;
    static constexpr int Side = Form::Side, FirstWide = Form::FirstWide, WideLines = Form::WideLines;
    static constexpr int HeldMark = 16;
    using part = T[Rows][Pack];

    /* What comes of a plane. */
    struct arrival {
        T lines[Lines][Pack];
        T left[WideLines][Side], right[WideLines][Side];
    };

    const plane_job<Form> &job;
    plane_tables<Form> &tables;
    int table_column, table_line; /* the first in reach, of this lane */
    int channel;
    int x, row; /* of this lane's first sample; rows that are not of the grid are not stored */
    int begin, end;
    bool whole, left_inside, right_inside; /* the pack, and what lies beside it, are of the grid */
    /* A bit a line that is nowhere in the grid; and from HeldMark on, a bit a sample that hold keeps in every
       plane. */
    unsigned marks;
    part open[Form::Open]; /* sums, the oldest first; of a gradient what `slope` says */

    /* ---- the place ---- */

    CUDA_INLINE plane_walk(const plane_job<Form> &job_, plane_tables<Form> *tables_)
        : job(job_), tables(*tables_), open()
    {
        const cuda_tile_place<true> place(job.tiles, blockIdx.x, Form::Warps);
        const int tile_x = place.column * Form::Width;
        const int stored = (job.from.nx + 2 * Pack - 1) / (2 * Pack) * (2 * Pack); /* columns, in sectors */
        const int readable = Form::AnyOutside && job.rule == EDGE_HOLD ? stored : job.from.nx;

        x = min(tile_x + place.lane * Pack, stored - Pack);
        row = place.row * Rows;
        whole = x + Pack <= readable;
        left_inside = x >= Side;
        right_inside = x + Pack + Side <= readable;
        place_chunk(place.rest);
        fill_tables(tile_x, place.first_row * Rows, place.rows * Rows + 2 * Radius);
        see_marks();
        if (tile_x + place.lane * Pack >= stored)
            row = job.from.rows;
    }

    CUDA_INLINE void see_marks()
    {
        marks = 0;
#pragma unroll
        for (int l = 0; l < Lines; l++)
            marks |= (line_source(row + l - Radius) < 0 ? 1u : 0u) << l;
#pragma unroll
        for (int r = 0; r < Rows; r++) {
            const bool whole_row = !cuda_reach::inside(job.row, row + r, job.from.rows);
#pragma unroll
            for (int j = 0; j < Pack; j++) {
                const bool held = whole_row || !cuda_reach::inside(job.x, x + j, job.from.nx);
                marks |= (held ? 1u : 0u) << (HeldMark + r * Pack + j);
            }
        }
    }

    /* Which column and line stand in the place of those in reach of the tile. */
    CUDA_INLINE void fill_tables(int tile_x, int tile_row, int lines)
    {
        const int nx = job.from.nx;

        for (int i = static_cast<int>(threadIdx.x); i < Form::Columns; i += Form::Threads)
            tables.columns[i] = column_source(min(tile_x + i - Side, nx - 1 + Side));
        for (int i = static_cast<int>(threadIdx.x); i < lines; i += Form::Threads)
            tables.lines[i] = static_cast<unsigned>(max(line_source(tile_row + i - Radius), 0)) *
                              static_cast<unsigned>(job.from.pitch * static_cast<long long>(sizeof(T)));
        if (threadIdx.x == 0)
            tables.outside = job.outside == NULL ? T(0) : job.outside[channel];
        __syncthreads();
        table_column = x - tile_x;
        table_line = row - tile_row;
    }

    /* Of columns that are nowhere in the grid, the nearest ones are loaded, which are in the cache. */
    CUDA_INLINE int column_source(int column) const
    {
        const int source = cuda_near_index(job.rule, column, job.from.nx);

        return source >= 0 ? source : min(max(column, 0), job.from.nx - 1);
    }

    CUDA_INLINE int line_source(int line) const
    {
        return cuda_near_index(job.rule, min(line, job.from.rows - 1 + Radius), job.from.rows);
    }

    CUDA_INLINE void place_chunk(unsigned rest)
    {
        const unsigned channels = static_cast<unsigned>(job.from.channels);

        channel = static_cast<int>(rest % channels);
        begin = min(job.first + static_cast<int>(rest / channels) * job.chunk, job.end);
        end = min(begin + job.chunk, job.end);
    }

    /* ---- arrival ---- */

    /* Where this lane's pack of a line stands. */
    template <typename Sample> CUDA_INLINE Sample *line(Sample *plane, int l) const
    {
        return cuda_further(plane, tables.lines[table_line + l]) + x;
    }

    /* Columns from `shift` on, counted from the lane's pack, of some lines. */
    template <int First, int End, int Count>
    CUDA_INLINE void load_columns(T (*to)[Count], const T *plane, bool inside, int shift) const
    {
        if (inside) {
#pragma unroll
            for (int l = 0; l < End - First; l++)
                cuda_load_aligned<Count>(line(plane, First + l) + shift, to[l]);
            return;
        }
        if (Form::AnyOutside && job.rule == EDGE_HOLD) {
#pragma unroll
            for (int l = 0; l < End - First; l++)
                cuda_fill(to[l], T(0));
            return;
        }
#pragma unroll
        for (int i = 0; i < Count; i++) {
            const int column = tables.columns[table_column + Side + shift + i];
#pragma unroll
            for (int l = 0; l < End - First; l++)
                to[l][i] = cuda_further(plane, tables.lines[table_line + First + l])[column];
        }
        if (job.rule == EDGE_CONSTANT) {
            cuda_keep_branch();
#pragma unroll
            for (int i = 0; i < Count; i++) {
                const int column = x + shift + i;
#pragma unroll
                for (int l = 0; l < End - First; l++)
                    to[l][i] = column < 0 || column >= job.from.nx ? tables.outside : to[l][i];
            }
        }
    }

    /* Lines that are nowhere in the grid. */
    template <int First, int End, bool Sides> CUDA_INLINE void replace(arrival &arrived, unsigned lines) const
    {
        const T value = tables.outside;

#pragma unroll
        for (int l = 0; l < Lines; l++) {
            if ((lines >> l & 1) == 0)
                continue;
#pragma unroll
            for (int j = 0; j < Pack && l >= First && l < End; j++)
                arrived.lines[l][j] = value;
#pragma unroll
            for (int k = 0; k < Side && Sides && l >= FirstWide && l < FirstWide + WideLines; k++)
                arrived.left[l - FirstWide][k] = arrived.right[l - FirstWide][k] = value;
        }
    }

    /* Lines [First, End) of a plane, and, `Sides`, the columns beside all. */
    template <int First, int End, bool Sides> CUDA_INLINE void load_lines(arrival &arrived, int plane) const
    {
        const int source = cuda_near_index(job.rule, plane, static_cast<int>(job.from.planes));
        const T *const from = job.from.row(source < 0 ? job.first : source, channel, 0);
        const unsigned lines = source < 0 ? ~0u : marks & ((1u << Lines) - 1);

        load_columns<First, End>(arrived.lines + First, from, whole, 0);
        if constexpr (Sides) {
            load_columns<FirstWide, FirstWide + WideLines>(arrived.left, from, left_inside, -Side);
            load_columns<FirstWide, FirstWide + WideLines>(arrived.right, from, right_inside, Pack);
        }
        if (lines != 0) {
            cuda_keep_branch();
            replace<First, End, Sides>(arrived, lines);
        }
    }

    CUDA_INLINE void load(arrival &arrived, int plane) const
    {
        load_lines<0, Lines - Form::Late, Form::Late == 0>(arrived, plane);
    }

    CUDA_INLINE void prefetch(int plane) const
    {
        const int source = cuda_near_index(job.rule, plane, static_cast<int>(job.from.planes));
        const T *const from = job.from.row(source < 0 ? job.first : source, channel, 0);

#pragma unroll
        for (int r = 0; r < Rows; r++)
            cuda_prefetch(line(from, Radius + r));
    }

    /* ---- the chain ---- */

    /* A column of a line, counted from the lane's pack. */
    static CUDA_INLINE T value(const arrival &arrived, int l, int column)
    {
        return column < 0       ? arrived.left[l - FirstWide][column + Side]
               : column >= Pack ? arrived.right[l - FirstWide][column - Pack]
                                : arrived.lines[l][column];
    }

    /* The taps of the plane that lies at dplane of the sums' own. */
    template <bool Gaps>
    CUDA_INLINE void chain(part &sums, const arrival &now, int dplane, int first = -Radius,
                           int last = Radius) const
    {
#pragma unroll
        for (int drow = first; drow <= last; drow++) {
            if (Gaps && (job.rows >> Form::row_index(drow, dplane) & 1) == 0)
                continue;
#pragma unroll
            for (int dx = -Radius; dx <= Radius; dx++) {
                if (!Form::has(dx, drow, dplane))
                    continue;
                const T weight = job.weights[Form::index(dx, drow, dplane)];
                if (Gaps) {
                    if (weight == T(0))
                        continue;
                    cuda_keep_branch();
                }
#pragma unroll
                for (int r = 0; r < Rows; r++) {
#pragma unroll
                    for (int j = 0; j < Pack; j++)
                        sums[r][j] = cuda_fma(weight, value(now, r + drow + Radius, j + dx), sums[r][j]);
                }
            }
        }
    }

    static CUDA_INLINE void copy(part &to, const part &from)
    {
#pragma unroll
        for (int r = 0; r < Rows; r++)
            cuda_copy(to[r], from[r]);
    }

    /* Give a plane's taps to all sums, and take the one that it completes; where lines come late, store it,
       which sets registers free for them. A chain starts at −0: fma(w, v, −0) is the product w·v, its sign
       included. */
    template <bool Gaps> CUDA_INLINE void take(part &done, arrival &now, int plane)
    {
        copy(done, open[0]);
        chain<Gaps>(done, now, Radius);
        if (Form::Late > 0)
            store(done, plane - Radius);
#pragma unroll
        for (int k = 1; k < 2 * Radius; k++) {
            copy(open[k - 1], open[k]);
            if (Form::Late > 0 && k == Radius) {
                chain<Gaps>(open[k - 1], now, 0, -Radius, -1);
                load_lines<Lines - Form::Late, Lines, true>(now, plane);
                chain<Gaps>(open[k - 1], now, 0, 0, Radius);
            } else {
                chain<Gaps>(open[k - 1], now, Radius - k);
            }
        }
#pragma unroll
        for (int r = 0; r < Rows; r++)
            cuda_fill(open[2 * Radius - 1][r], -T(0));
        chain<Gaps>(open[2 * Radius - 1], now, -Radius);
    }

    /* The same for a gradient. Open are the sum of the plane before, which lacks the slope along the planes,
       and the samples of two planes. */
    CUDA_INLINE void slope(part &done, const arrival &now)
    {
#pragma unroll
        for (int r = 0; r < Rows; r++) {
#pragma unroll
            for (int j = 0; j < Pack; j++) {
                const T own = now.lines[r + 1][j];
                const T along_planes = (own - open[1][r][j]) * job.weights[2];
                const T along_x = (value(now, r + 1, j + 1) - value(now, r + 1, j - 1)) * job.weights[0];
                const T along_rows = (now.lines[r + 2][j] - now.lines[r][j]) * job.weights[1];
                done[r][j] = cuda_sqrt(cuda_fma(along_planes, along_planes, open[0][r][j]));
                open[0][r][j] = cuda_fma(along_rows, along_rows, along_x * along_x);
                open[1][r][j] = open[2][r][j];
                open[2][r][j] = own;
            }
        }
    }

    /* ---- departure ---- */

    CUDA_INLINE bool is_stored(int r) const
    {
        return row + r < job.from.rows;
    }

    /* Samples of which a tap lies outside are what they were. Those of a plane come into shared memory while
       taps are chained, before it is stored: registers are wanted for the chains. */
    CUDA_INLINE unsigned held(int plane) const
    {
        return cuda_reach::inside(job.plane, plane, job.from.planes) ? marks >> HeldMark : ~0u;
    }
    CUDA_INLINE T *kept(int r) const
    {
        return reinterpret_cast<T *>(&tables + 1) +
               (r * Form::Threads + static_cast<int>(threadIdx.x)) * Pack;
    }
    CUDA_INLINE void fetch_held(int plane) const
    {
        const T *const from = job.from.row(plane, channel, 0);

        if (held(plane) == 0)
            return;
#pragma unroll
        for (int r = 0; r < Rows; r++)
            cuda_copy_async<16>(kept(r), line(from, Radius + r));
        cuda_commit_copies();
    }
    CUDA_INLINE void hold(part &done, int plane) const
    {
        const unsigned bits = held(plane);

        if (bits == 0)
            return;
        cuda_await_copies<0>();
#pragma unroll
        for (int r = 0; r < Rows; r++) {
            T before[Pack];
            cuda_load_packs<Pack>(kept(r), before);
#pragma unroll
            for (int j = 0; j < Pack; j++)
                done[r][j] = (bits >> (r * Pack + j) & 1) != 0 ? before[j] : done[r][j];
        }
    }

    /* Sums of planes before the walk's first lack what came earlier. */
    CUDA_INLINE void store(part &done, int plane) const
    {
        T *const to = job.to.row(plane, channel, 0);
        const bool has_begun = plane >= begin;

        if (has_begun && job.rule == EDGE_HOLD) {
            cuda_keep_branch();
            hold(done, plane);
        }
#pragma unroll
        for (int r = 0; r < Rows; r++)
            cuda_store_past(has_begun && is_stored(r), line(to, Radius + r), done[r]);
        if (Form::EarlyHeld && job.rule == EDGE_HOLD && plane + 1 >= begin && plane + 1 < end) {
            cuda_keep_branch();
            fetch_held(plane + 1);
        }
    }

    CUDA_INLINE void step(arrival &now, int plane)
    {
        part done;

        if (!Form::EarlyHeld && job.rule == EDGE_HOLD && plane - Radius >= begin) {
            cuda_keep_branch();
            fetch_held(plane - Radius);
        }
        if constexpr (Form::Gradient)
            slope(done, now);
        else if (Form::Taps == STEP_STAR || (Form::Dense && job.dense))
            take<false>(done, now, plane);
        else
            take<true>(done, now, plane);
        if (Form::Late == 0 && plane - Radius >= begin - Form::EarlyHeld)
            store(done, plane - Radius);
    }

    /* Whether hold keeps all that the lane has, as it does in the last columns. */
    CUDA_INLINE bool holds_all() const
    {
        return job.rule == EDGE_HOLD && marks >> HeldMark == (1u << Rows * Pack) - 1;
    }

    CUDA_INLINE void keep() const
    {
#pragma unroll 1
        for (int plane = begin; plane < end; plane++) {
            part kept;
#pragma unroll
            for (int r = 0; r < Rows; r++)
                cuda_load_packs<Pack>(line(job.from.row(plane, channel, 0), Radius + r), kept[r]);
#pragma unroll
            for (int r = 0; r < Rows; r++)
                cuda_store_past(is_stored(r), line(job.to.row(plane, channel, 0), Radius + r), kept[r]);
        }
    }

    CUDA_INLINE void run()
    {
        const int last = end - 1 + Radius;
        arrival now, next;

        if (Form::Ahead == PLANE_IN_REGISTERS)
            load(now, begin - Radius);
#pragma unroll 1
        for (int plane = begin - Radius; plane <= last; plane++) {
            const int plane_ahead = min(plane + 1, last);
            if (Form::Ahead == PLANE_IN_REGISTERS) {
                load(next, plane_ahead);
                step(now, plane);
                now = next;
            } else {
                prefetch(plane_ahead);
                load(now, plane);
                step(now, plane);
            }
        }
    }
};

template <typename Form>
__global__ void __launch_bounds__(Form::Threads, Form::residents(cuda_code()))
    plane_kernel(const __grid_constant__ plane_job<Form> job)
{
    CUDA_SHARED(unsigned char, shared);
    plane_walk<Form> walk(job, reinterpret_cast<plane_tables<Form> *>(shared));

    if (walk.begin >= walk.end || !__any_sync(CUDA_ALL_LANES, walk.is_stored(0)))
        return;
    if (__all_sync(CUDA_ALL_LANES, walk.holds_all()))
        walk.keep();
    else
        walk.run();
}

/* ---- the host ---- */

enum plane_kind {
    PLANE_NOT,
    PLANE_GRADIENT,
    PLANE_STAR1,
    PLANE_STAR2,
    PLANE_STAR3,
    PLANE_STAR4,
    PLANE_THREE, /* in a box of 3×3×3 */
    PLANE_FIVE   /* of 5×5×5 */
};

/* Several taps along one axis, as many as lie between the first and the last. */
static bool is_whole_line(const struct op *op)
{
    const int spans[] = {cuda_span(op->x), cuda_span(op->row), cuda_span(op->plane)};
    const int all = spans[0] + spans[1] + spans[2];

    return op->kind == OP_TAPS && all > 0 && (all == spans[0] || all == spans[1] || all == spans[2]) &&
           op->tap_count == static_cast<size_t>(all + 1);
}

static enum plane_kind kind_of(const struct op *op)
{
    static const enum plane_kind stars[] = {PLANE_NOT, PLANE_STAR1, PLANE_STAR2, PLANE_STAR3, PLANE_STAR4};
    const int radius = op_radius(op);

    if (op->kind == OP_GRADIENT)
        return op->tap_count == 3 ? PLANE_GRADIENT : PLANE_NOT;
    if (!cuda_is_chain(op) || op->tap_count == 0 || radius > 4)
        return PLANE_NOT;
    if (radius > 0 && cuda_is_star(op, radius))
        return stars[radius];
    return radius <= 1 ? PLANE_THREE : radius == 2 ? PLANE_FIVE : PLANE_NOT;
}

/* Call act with the form of a kind: rows of a thread, warps, blocks of a multiprocessor and planes of a walk
   as an H100 is fastest. Few rows and many warps are, where registers allow. Gradients have
   a compromise of 48 planes: an H200 gains from longer walks, but under `hold` they lose. */
template <typename T, typename Act> static auto choose(enum plane_kind kind, Act act)
{
    constexpr int fewer =
        sizeof(T) == sizeof(double) ? 1 : 0; /* blocks in f64, of what takes most registers */

    switch (kind) {
    case PLANE_GRADIENT:
        return act(plane_form<T, STEP_STAR, 1, true, 3, 4, 4 - fewer, PLANE_IN_REGISTERS, 48>());
    case PLANE_STAR1:
        return act(plane_form<T, STEP_STAR, 1, false, 4, 4, 4 - fewer, PLANE_IN_REGISTERS, 8>());
    case PLANE_STAR2:
        return act(plane_form<T, STEP_STAR, 2, false, 3, 4, 4, PLANE_IN_L2, 32>());
    case PLANE_STAR3:
        return act(plane_form<T, STEP_STAR, 3, false, 2, 4, 4, PLANE_IN_L2, 64>());
    case PLANE_STAR4:
        return act(plane_form<T, STEP_STAR, 4, false, 2, 4, 4 - fewer, PLANE_IN_L2, 64>());
    case PLANE_THREE:
        return act(plane_form<T, STEP_SOME, 1, false, 3, 4, 5, PLANE_IN_L2, 16>());
    default:
        return act(plane_form<T, STEP_SOME, 2, false, 2, 4, 4, PLANE_IN_L2, 64>());
    }
}

/* Planes of a walk, where the device runs `residents` blocks at once. What a walk reads before its first
   plane and behind its last counts half, and its start half a plane. */
template <typename Form> static int chunk_of(long long planes, long long columns, long long residents)
{
    return static_cast<int>(
        cuda_march_length(planes, Form::MostPlanes, columns, residents, Form::Radius + 0.5));
}

template <typename Form> static size_t shared_bytes(const struct op *op)
{
    return sizeof(plane_tables<Form>) + (op->edge == EDGE_HOLD ? plane_kept_bytes<Form>() : 0);
}

template <typename Form> static void describe(const struct cuda_question *asked, struct cuda_form *form)
{
    const struct shape *shape = asked->shape;
    const long long planes = static_cast<long long>(shape->planes);
    const long long channels = static_cast<long long>(shape->channels);
    const struct cuda_tiles tiles =
        plane_tiles<Form>(static_cast<long long>(shape->nx), static_cast<long long>(shape->rows));
    const long long columns = tiles.count() * channels;
    const int residents = asked->limits->multiprocessors * Form::residents(asked->limits->code);

    *form = cuda_form();
    form->tile_x = Form::Width;
    form->tile_y = Form::Warps * Form::Rows;
    form->tile_z = 1;
    form->resident_blocks = asked->wish->coarsen > 0 ? 0 : residents;
    form->coarsen =
        asked->wish->coarsen > 0 ? asked->wish->coarsen : chunk_of<Form>(planes, columns, residents);
    form->reach = Form::Radius;
    form->grid = dim3(cuda_blocks(columns * cuda_ceil_divide(planes, form->coarsen)));
    form->block = dim3(Form::Threads);
    form->shared_bytes = shared_bytes<Form>(asked->op);
    form->kernel = reinterpret_cast<const void *>(&plane_kernel<Form>);
    form->bytes_per_update = 2.0 * sizeof(typename Form::T);
    form->operations_per_update = cuda_operations(asked->op);
    form->reached = Form::Reached;
}

template <typename T> static bool plane_shape(const struct cuda_question *asked, struct cuda_form *form)
{
    const struct shape *shape = asked->shape;
    const enum plane_kind kind = kind_of(asked->op);

    if (kind == PLANE_NOT)
        return cuda_refuse(asked->refusal,
                           "neither linear taps in a box of 5x5x5, nor a star of radius 3 or 4, "
                           "nor a gradient along three axes");
    if (asked->wish->rung == NULL && is_whole_line(asked->op))
        return cuda_refuse(asked->refusal, "taps without gaps along one axis: rung passes serves them");
    if (asked->wish->steps > 1)
        return cuda_refuse(asked->refusal, "it takes one step a pass");
    if (shape->rows == 1)
        return cuda_refuse(asked->refusal, "planes of one row: a picture's rungs serve it");
    if (cuda_is_beyond_32_bits(asked))
        return false;
    if (cuda_plane_tma_serves(asked->limits, asked->op, shape))
        cuda_plane_tma_describe(asked, form);
    else
        choose<T>(kind, [&](auto chosen) { describe<decltype(chosen)>(asked, form); });
    return true;
}

template <typename Form> static plane_job<Form> job_of(const struct cuda_job *from)
{
    using T = typename Form::T;
    const struct op *op = from->op->op;
    plane_job<Form> job = {};

    for (size_t k = 0; k < op->tap_count; k++) {
        const struct op_tap *tap = &op->taps[k];
        if (Form::Gradient) {
            job.weights[k] = static_cast<T>(tap->weight);
            continue;
        }
        job.weights[Form::index(tap->dx, tap->drow, tap->dplane)] = static_cast<T>(tap->weight);
        if (Form::Taps == STEP_SOME)
            job.rows |= 1u << Form::row_index(tap->drow, tap->dplane);
    }
    job.dense = op->tap_count == Form::TapCount;
    job.from = *static_cast<const cuda_view<T> *>(from->from);
    job.to = *static_cast<const cuda_view<T> *>(from->to);
    job.rule = op->edge;
    job.x = op->x;
    job.row = op->row;
    job.plane = op->plane;
    job.outside = op->edge == EDGE_CONSTANT ? static_cast<const T *>(from->op->outside) : NULL;
    job.first = static_cast<int>(from->planes.first);
    job.end = static_cast<int>(from->planes.first + from->planes.count);
    job.tiles = plane_tiles<Form>(job.from.nx, job.from.rows);
    return job;
}

/* `multiprocessors` is 0 where the job's form settles the chunk. */
template <typename Form> static cudaError_t launch(const struct cuda_job *from, int multiprocessors)
{
    plane_job<Form> job = job_of<Form>(from);
    const long long planes = job.end - job.first;
    const long long columns = static_cast<long long>(job.tiles.count()) * job.from.channels;
    const int residents = multiprocessors * Form::residents(from->limits->code);

    if (planes == 0)
        return cudaSuccess;
    job.chunk = residents > 0 ? chunk_of<Form>(planes, columns, residents) : from->form->coarsen;
    job.tiles.all_last =
        job.tiles.last * static_cast<unsigned>(job.from.channels * cuda_ceil_divide(planes, job.chunk));
    return CUDA_LAUNCH(from->stream, dim3(cuda_blocks(columns * cuda_ceil_divide(planes, job.chunk))),
                       dim3(Form::Threads), shared_bytes<Form>(from->op->op), plane_kernel<Form>, job);
}

cudaError_t cuda_plane_step(const struct cuda_job *job, int multiprocessors)
{
    const struct op *op = job->op->op;
    const struct shape shape = cuda_shape_of(job);

    if (cuda_plane_tma_serves(job->limits, op, &shape))
        return cuda_plane_tma_launch(job, multiprocessors);
    return cuda_with_work(op->work, [=](auto sample) {
        return choose<decltype(sample)>(
            kind_of(op), [=](auto chosen) { return launch<decltype(chosen)>(job, multiprocessors); });
    });
}

template <typename T> static cudaError_t plane_launch(const struct cuda_job *job)
{
    return cuda_plane_step(job, job->form->resident_blocks > 0 ? job->limits->multiprocessors : 0);
}

CUDA_RUNG(plane, false, true, false);
