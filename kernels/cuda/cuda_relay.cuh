/* The walk of rung `fused` through plain grids: a block streams along the planes of a volume and takes every
 * sample of its tile through several levels of the seven-point star on the way.
 *
 * The tile is a warp's 32 packs of 16 bytes wide and Warps × Rows high; a thread owns Rows packs. Between
 * planes it keeps, of each sample and level, the level's two last planes. When plane p of level 0 arrives,
 * every level finishes one plane, row by row:
 *
 * - the fold: the plane before the last and the last one give all taps of a chain but the one at z + 1. x
 *   neighbours come by warp shuffles, y neighbours from the thread's own registers but for its first and last
 *   row, which go through shared memory.
 * - the cascade: the sample of level 0 that has arrived closes the chain of level 1, whose sample closes that
 *   of level 2, and so on: one multiply-add a level, which needs no neighbour. What comes out of the last
 *   level is stored.
 *
 * That the fold of a plane waits for the next one to arrive is what makes the walk fast: open sums live for a
 * row and not for a tile, and as planes are kept as they are, `hold` may ask for them. And nobody waits for
 * anybody at a barrier: a warp does its first and last row, gives them to its neighbours, arrives, does its
 * inner rows, and only then, at the next plane, waits for the others. Planes of level 0 arrive as boxes that
 * one thread sends for, their rows widened to whole sectors of the memory; the barrier at which warps arrive
 * is the one that boxes complete, so that a plane costs one wait.
 *
 * Samples of the tile nearer to its border than the levels reach come out wrong and are not stored. Outside
 * the grid each level reads the nearest sample: in x by a select, above and below from a row that the warp at
 * the edge has put into shared memory. What edges cost stands outside the loop over the planes, which is
 * there three times: for warps and planes that see no edge, for those at the sides, and for the ends of the
 * grid and of a chunk. Registers are what there is least of: what a loop needs of the edges is a word of
 * bits, tested anew where it is needed, and addresses are found anew for each plane. */
#ifndef CUDA_RELAY_CUH
#define CUDA_RELAY_CUH

#include "cuda_stream.cuh"
#include "cuda_walk.cuh"

/* What a thread sees of the grid's edges; a bit each. */
enum relay_sight {
    RELAY_TOP = 1u << 0,    /* its first row is the grid's */
    RELAY_BOTTOM = 1u << 1, /* its last row is */
    RELAY_FIRST = 1u << 2,  /* its first column is the grid's */
    RELAY_LAST = 1u << 3,   /* its last column is */
    RELAY_STORED = 1u << 4  /* a bit for each row, from here on: its pack is to be stored */
};

/* Which edges a loop over the planes heeds: none; those of x and of rows; those of planes, too. */
enum relay_edges { RELAY_INSIDE, RELAY_SIDES, RELAY_ENDS };

template <typename T> struct relay_job {
    cuda_box_map boxes; /* of `from` */
    cuda_view<T> from, to;
    T weights[7]; /* in raster order */
    bool hold;
    long long first, end; /* planes to compute */
    long long chunk;      /* planes a block computes */
    int tiles_x, tiles_rows;
};

/* The shape of a walk: everything that the compiler must know. */
template <typename Type, int Rows_, int Warps_, int Levels_> struct relay_form {
    using T = Type;
    static constexpr int Rows = Rows_, Warps = Warps_, Levels = Levels_;
    static constexpr int Threads = CUDA_WARP * Warps;
    static constexpr int Pack = cuda_chunk<T>::samples;
    static constexpr int Width = CUDA_WARP * Pack, Height = Rows * Warps;
    static constexpr int HaloX = (Levels + Pack - 1) / Pack * Pack;
    static constexpr int UsefulX = Width - 2 * HaloX, UsefulRows = Height - 2 * Levels;

    /* Beside a box, so that its rows begin and end with sectors. */
    static constexpr int Sector = CUDA_SECTOR / static_cast<int>(sizeof(T));
    static constexpr int Margin = (Sector - HaloX % Sector) % Sector;
    static constexpr int Pitch = Width + 2 * Margin;
    static constexpr int Unit = CUDA_BOX_ALIGNMENT / static_cast<int>(sizeof(T));
    static constexpr int StageSamples = (Pitch * Height + Unit - 1) / Unit * Unit;
    static constexpr unsigned BoxBytes = Pitch * Height * sizeof(T);

    /* Of the stages two hold the plane that is taken and the one before. */
    static constexpr int Stages = 4, Ahead = Stages - 2;

    /* The last row of a warp and the first of the next, for each pair of warps and each level but 0. */
    static constexpr int BorderSamples = 2 * Width;
    static constexpr int ExchangeSamples = BorderSamples * (Warps - 1) * (Levels - 1);
    /* Rows just outside the grid: above and below, for each level but 0, which has them in the stage. */
    static constexpr int RimSamples = 2 * (Levels - 1) * Width;
    static constexpr size_t SharedBytes =
        (Stages * StageSamples + 2 * ExchangeSamples + RimSamples) * sizeof(T) +
        Stages * sizeof(cuda_barrier);

    static_assert(Rows >= 2 && Warps >= 2 && Levels >= 2 && UsefulX > 0 && UsefulRows > 0,
                  "a tile with something left");
    static_assert(UsefulX % Sector == 0, "all tiles begin with a sector, or none does");

    /* For 10.0 and later ptxas does not fit the walk into the registers. */
    static __host__ __device__ constexpr bool serves(int code)
    {
        return cuda_has_boxes(code) && code < 100;
    }
};

template <typename Form> struct relay_walk {
    using T = typename Form::T;
    static constexpr int Pack = Form::Pack, Rows = Form::Rows, Levels = Form::Levels;
    using pack = T[Pack];
    using planes = pack[Levels][Rows]; /* a plane of each level */

    const relay_job<T> &job;
    T *const stages, *const exchange, *const rim;
    cuda_barrier *const barriers;
    int lane, warp;
    int channel;
    int origin_x, origin_row; /* of the tile */
    T *target;                /* of the first row of the plane that is finished next */
    unsigned sight;           /* of enum relay_sight */
    bool sides;               /* its warp sees an edge of x or of rows */

    /* Steps are counted from the walk's first plane on. */
    int first_step, last_step; /* that bring the grid's first and last plane to level 0; else out of range */
    int begun, steps;          /* those that store planes: from the one to before the other */
    int fetched;               /* those that take a plane of memory: before this one */
    int first;                 /* the walk's first plane, counted from the field's */

    int now;           /* the step */
    int stage;         /* of the plane that it takes, and that stage's barrier */
    unsigned parity;   /* of the barrier's phase */
    planes one, other; /* the two last planes of each level, by turns */

    CUDA_INLINE relay_walk(const relay_job<T> &job_, T *shared)
        : job(job_), stages(shared), exchange(shared + Form::Stages * Form::StageSamples),
          rim(exchange + 2 * Form::ExchangeSamples),
          barriers(reinterpret_cast<cuda_barrier *>(rim + Form::RimSamples)),
          lane(static_cast<int>(threadIdx.x) % CUDA_WARP),
          warp(__shfl_sync(CUDA_ALL_LANES, static_cast<int>(threadIdx.x) / CUDA_WARP, 0)), now(0), stage(0),
          parity(0)
    {
        long long rest = blockIdx.x;
        const int tile_x = static_cast<int>(rest % job.tiles_x);
        rest /= job.tiles_x;
        const int tile_row = static_cast<int>(rest % job.tiles_rows);
        rest /= job.tiles_rows;
        channel = static_cast<int>(rest % job.from.channels);
        rest /= job.from.channels;
        const long long begin = job.first + rest * job.chunk;
        place(tile_x, tile_row);
        see_sides();
        find_ends(begin, begin + job.chunk < job.end ? begin + job.chunk : job.end);
        clear(one);
        clear(other);
    }

    static CUDA_INLINE void clear(planes &kept)
    {
#pragma unroll
        for (int l = 0; l < Levels; l++) {
#pragma unroll
            for (int r = 0; r < Rows; r++) {
#pragma unroll
                for (int j = 0; j < Pack; j++)
                    kept[l][r][j] = T(0);
            }
        }
    }

    /* ---- where the walk goes ---- */

    CUDA_INLINE int first_row() const
    {
        return origin_row + warp * Rows;
    }
    CUDA_INLINE int first_x() const
    {
        return origin_x + lane * Pack;
    }

    /* Along the rows, the first tile begins with the grid and the last one ends with it, so that edges lie at
       the tile's. */
    CUDA_INLINE void place(int tile_x, int tile_row)
    {
        const int rows = job.from.rows;
        const int x = tile_x * Form::UsefulX, row = tile_row * Form::UsefulRows;
        const int begin_row = tile_row == 0 ? row : row + Levels;
        const int end_row = tile_row + 1 == job.tiles_rows ? rows : row + Levels + Form::UsefulRows;

        origin_x = x - Form::HaloX;
        origin_row = min(row, rows - Form::Height);
        sight = 0;
#pragma unroll
        for (int r = 0; r < Rows; r++) {
            if (first_row() + r >= begin_row && first_row() + r < end_row && first_x() >= x &&
                first_x() < min(x + Form::UsefulX, job.from.nx))
                sight |= RELAY_STORED << r;
        }
    }

    CUDA_INLINE void note(bool seen, unsigned what)
    {
        sight |= seen ? what : 0;
    }
    CUDA_INLINE bool sees(unsigned what) const
    {
        unsigned seen = sight;
        cuda_forget(&seen);
        return (seen & what) != 0;
    }

    CUDA_INLINE void see_sides()
    {
        const int row = first_row(), x = first_x(), nx = job.from.nx;

        note(row == 0, RELAY_TOP);
        note(row + Rows == job.from.rows, RELAY_BOTTOM);
        note(x == 0, RELAY_FIRST);
        note(x + Pack == nx, RELAY_LAST);
        sides = row == 0 || row + Rows == job.from.rows || origin_x <= 0 || origin_x + Form::Width >= nx;
    }

    /* The levels of a plane end as many steps after it arrives. */
    CUDA_INLINE void find_ends(long long begin, long long end)
    {
        const int never = 0x40000000;
        const long long extent = job.from.planes;
        const long long plane = begin > Levels ? begin - Levels : 0;

        first_step = plane > 0 ? -never : 0;
        last_step = extent - 1 - plane > never ? never : static_cast<int>(extent - 1 - plane);
        begun = static_cast<int>(begin - plane) + Levels;
        steps = static_cast<int>(end - plane) + Levels;
        fetched = min(steps, last_step + 1);
        first = static_cast<int>(plane - job.from.first);
        target = job.to.row(plane - Levels, channel, first_row()) + first_x();
    }

    /* ---- arrival ---- */

    /* This thread's first pack of a stage. */
    CUDA_INLINE T *own(int number) const
    {
        return stages + number * Form::StageSamples + Form::Margin + warp * Rows * Form::Pitch + lane * Pack;
    }

    static CUDA_INLINE int turned(int number, int by)
    {
        return (number + by) % Form::Stages;
    }

    /* Send for the plane that a step will take, to a stage that nobody reads any more. */
    CUDA_INLINE void fetch(int step, int to_stage) const
    {
        if (step < fetched && warp == 0 && lane == 0)
            cuda_fetch_box(stages + to_stage * Form::StageSamples, &job.boxes,
                           {origin_x - Form::Margin, origin_row, channel, first + step}, barriers + to_stage,
                           Form::BoxBytes);
    }

    /* ---- rows of other warps ---- */

    /* Of the pair of warps that this one makes with the warp before it, or with the next, this lane's pack of
       the upper warp's last row; that of the lower warp's first row is a Width behind. A warp that has no
       such neighbour reads another pair's: its rows are the tile's, and come out wrong anyway. */
    CUDA_INLINE T *border_before(int turn) const
    {
        return exchange + turn * Form::ExchangeSamples + max(warp - 1, 0) * Form::BorderSamples + lane * Pack;
    }
    CUDA_INLINE T *border_behind(int turn) const
    {
        return exchange + turn * Form::ExchangeSamples + min(warp, Form::Warps - 2) * Form::BorderSamples +
               lane * Pack;
    }
    static CUDA_INLINE constexpr int level_offset(int level)
    {
        return (level - 1) * (Form::Warps - 1) * Form::BorderSamples;
    }

    /* Of the planes that the last step brought, the row above the thread's first and that below its last one.
       `before`: this thread's first pack of the stage of that step. */
    CUDA_INLINE const T *row_above(int l, const T *before, int turn) const
    {
        return l == 0 ? before - (warp > 0 ? Form::Pitch : 0) : border_before(1 - turn) + level_offset(l);
    }
    CUDA_INLINE const T *row_below(int l, const T *before, int turn) const
    {
        return l == 0 ? before + (warp < Form::Warps - 1 ? Rows : Rows - 1) * Form::Pitch
                      : border_behind(1 - turn) + level_offset(l) + Form::Width;
    }

    static CUDA_INLINE void put(T *to, const pack &from)
    {
        *reinterpret_cast<typename cuda_chunk<T>::vector *>(to) = cuda_pack(from);
    }

    CUDA_INLINE void publish_first(const planes &fresh, int turn) const
    {
        if (warp == 0)
            return;
#pragma unroll
        for (int l = 1; l < Levels; l++)
            put(border_before(turn) + level_offset(l) + Form::Width, fresh[l][0]);
    }
    CUDA_INLINE void publish_last(const planes &fresh, int turn) const
    {
        if (warp == Form::Warps - 1)
            return;
#pragma unroll
        for (int l = 1; l < Levels; l++)
            put(border_behind(turn) + level_offset(l), fresh[l][Rows - 1]);
    }

    /* ---- the chain ---- */

    /* All of a row's chains but the last tap: `before` is of the plane before, `row` of the sums' own. */
    template <enum relay_edges Edges>
    CUDA_INLINE void fold(pack &sum, const pack &before, const pack &above, const pack &row,
                          const pack &below, unsigned seen) const
    {
        T left = __shfl_up_sync(CUDA_ALL_LANES, row[Pack - 1], 1);
        T right = __shfl_down_sync(CUDA_ALL_LANES, row[0], 1);

        if (Edges != RELAY_INSIDE) {
            left = (seen & RELAY_FIRST) != 0 ? row[0] : left;
            right = (seen & RELAY_LAST) != 0 ? row[Pack - 1] : right;
        }
#pragma unroll
        for (int j = 0; j < Pack; j++)
            sum[j] = cuda_fma(job.weights[1], above[j], job.weights[0] * before[j]);
#pragma unroll
        for (int j = 0; j < Pack; j++) {
            T value = cuda_fma(job.weights[2], j > 0 ? row[j > 0 ? j - 1 : 0] : left, sum[j]);
            value = cuda_fma(job.weights[3], row[j], value);
            value = cuda_fma(job.weights[4], j < Pack - 1 ? row[j < Pack - 1 ? j + 1 : 0] : right, value);
            sum[j] = cuda_fma(job.weights[5], below[j], value);
        }
    }

    CUDA_INLINE void close(pack &sum, const pack &arrived) const
    {
#pragma unroll
        for (int j = 0; j < Pack; j++)
            sum[j] = cuda_fma(job.weights[6], arrived[j], sum[j]);
    }

    static CUDA_INLINE void copy(pack &to, const pack &from)
    {
#pragma unroll
        for (int j = 0; j < Pack; j++)
            to[j] = from[j];
    }

    /* ---- edges ---- */

    /* This lane's packs of the rows outside the grid: no other thread reads them. */
    CUDA_INLINE T *rim_row(int l, bool below) const
    {
        return rim + (2 * l - (below ? 1 : 2)) * Form::Width + lane * Pack;
    }

    /* The rows above and below where they may be the grid's edge. */
    CUDA_INLINE const T *side_above(int l, const T *before, int turn) const
    {
        return !sees(RELAY_TOP) ? row_above(l, before, turn) : l > 0 ? rim_row(l, false) : before;
    }
    CUDA_INLINE const T *side_below(int l, const T *before, int turn) const
    {
        return !sees(RELAY_BOTTOM) ? row_below(l, before, turn)
               : l > 0             ? rim_row(l, true)
                                   : before + (Rows - 1) * Form::Pitch;
    }

    /* Put the nearest rows just outside the grid, in the planes that the last step brought. */
    CUDA_INLINE void dress(const planes &newer) const
    {
#pragma unroll
        for (int l = 1; l < Levels; l++) {
            if (sees(RELAY_TOP))
                put(rim_row(l, false), newer[l][0]);
            if (sees(RELAY_BOTTOM))
                put(rim_row(l, true), newer[l][Rows - 1]);
        }
    }

    /* What is held has the value of the level before: in the planes that a step has brought to row r, and in
       what it finished. */
    CUDA_INLINE void hold(int r, planes &older, const planes &newer, pack &value) const
    {
        unsigned seen = sight;

        cuda_forget(&seen);
        const bool row = (r == 0 && (seen & RELAY_TOP) != 0) || (r == Rows - 1 && (seen & RELAY_BOTTOM) != 0);
#pragma unroll
        for (int j = 0; j < Pack; j++) {
            if (row || (j == 0 && (seen & RELAY_FIRST) != 0) || (j == Pack - 1 && (seen & RELAY_LAST) != 0))
                hold_column(r, j, older, newer, value);
        }
    }
    static CUDA_INLINE void hold_column(int r, int j, planes &older, const planes &newer, pack &value)
    {
#pragma unroll
        for (int l = 1; l < Levels; l++)
            older[l][r][j] = newer[l - 1][r][j];
        value[j] = newer[Levels - 1][r][j];
    }

    /* ---- a row through all levels ---- */

    static CUDA_INLINE const pack &either(bool first, const pack &one_row, const pack &other_row)
    {
        return first ? one_row : other_row;
    }

    template <enum relay_edges Edges, int Turn>
    CUDA_INLINE void fold_level(int l, int r, pack &sum, const pack &oldest, const pack (&level)[Rows],
                                const T *before, unsigned seen) const
    {
        pack above, below;

        if (r == 0)
            cuda_load_chunks<Pack>(
                Edges == RELAY_INSIDE ? row_above(l, before, Turn) : side_above(l, before, Turn), above);
        if (r == Rows - 1)
            cuda_load_chunks<Pack>(
                Edges == RELAY_INSIDE ? row_below(l, before, Turn) : side_below(l, before, Turn), below);
        fold<Edges>(sum, oldest, either(r > 0, level[r > 0 ? r - 1 : 0], above), level[r],
                    either(r < Rows - 1, level[r < Rows - 1 ? r + 1 : 0], below), seen);
    }

    /* `value` arrives, and becomes what it finishes. */
    template <enum relay_edges Edges, int Turn>
    CUDA_INLINE void take_levels(int r, planes &older, const planes &newer, const T *before,
                                 pack &value) const
    {
        pack sums[Levels];
        unsigned seen = sight;

        cuda_forget(&seen);

#pragma unroll
        for (int l = Levels - 1; l >= 0; l--)
            fold_level<Edges, Turn>(l, r, sums[l], older[l][r], newer[l], before, seen);
#pragma unroll
        for (int l = 0; l < Levels; l++) {
            close(sums[l], value);
            copy(older[l][r], value);
            copy(value, sums[l]);
        }
    }

    /* At the ends of the grid the last plane stands in for the one before the first, and for the one past the
       last: one level after the other. What a level has after its last plane counts for nothing. */
    template <int Turn>
    CUDA_INLINE void take_ends(int r, planes &older, const planes &newer, const T *before, pack &value) const
    {
        unsigned seen = sight;

        cuda_forget(&seen);
#pragma unroll
        for (int l = 0; l < Levels; l++) {
            const int plane = now - 1 - l;
            pack sum;
            if (plane == first_step) {
                cuda_keep_branch();
                copy(older[l][r], newer[l][r]);
            }
            fold_level<RELAY_ENDS, Turn>(l, r, sum, older[l][r], newer[l], before, seen);
            if (plane == last_step)
                copy(older[l][r], newer[l][r]);
            else
                copy(older[l][r], value);
            close(sum, older[l][r]);
            copy(value, sum);
            if (job.hold && (plane == first_step || plane == last_step)) {
                cuda_keep_branch();
                copy(value, newer[l][r]);
            }
        }
    }

    /* Row r of the plane that has arrived goes through all levels, and what it finishes is stored. */
    template <enum relay_edges Edges, int Turn>
    CUDA_INLINE void take_row(int r, planes &older, const planes &newer, const T *arrived,
                              const T *before) const
    {
        pack value;

        cuda_load_chunks<Pack>(arrived + r * Form::Pitch, value);
        if (Edges == RELAY_ENDS)
            take_ends<Turn>(r, older, newer, before, value);
        else
            take_levels<Edges, Turn>(r, older, newer, before, value);
        if (Edges != RELAY_INSIDE && job.hold) {
            cuda_keep_branch();
            hold(r, older, newer, value);
        }
        cuda_store_past((Edges != RELAY_ENDS || (now >= begun && now < steps)) && sees(RELAY_STORED << r),
                        target + r * job.to.pitch, value);
    }

    /* ---- a plane ---- */

    CUDA_INLINE void arrive(int at) const
    {
        cuda_barrier_arrive(barriers + at);
    }

    /* Turn: of the two halves of the exchange, the one that this step writes. */
    template <enum relay_edges Edges, int Turn> CUDA_INLINE void step(planes &older, planes &newer)
    {
        const T *const arrived = own(stage);
        const T *const before = own(turned(stage, Form::Stages - 1));
        const int next = turned(stage, 1);

        forget_place();
        cuda_barrier_await(barriers + stage, parity);
        fetch(now + Form::Ahead, turned(stage, Form::Ahead));
        if (Edges != RELAY_INSIDE && !job.hold && sees(RELAY_TOP | RELAY_BOTTOM)) {
            cuda_keep_branch();
            dress(newer);
        }
        take_row<Edges, Turn>(0, older, newer, arrived, before);
        publish_first(older, Turn);
        take_row<Edges, Turn>(Rows - 1, older, newer, arrived, before);
        publish_last(older, Turn);
        arrive(next);
#pragma unroll
        for (int r = 1; r < Rows - 1; r++)
            take_row<Edges, Turn>(r, older, newer, arrived, before);
        now++;
        target += job.to.plane_stride();
        parity ^= next == 0 ? 1 : 0;
        stage = next;
    }

    /* Addresses of the thread's own, which the registers do not hold besides all else. */
    CUDA_INLINE void forget_place()
    {
        cuda_forget(&lane);
        cuda_forget(&warp);
        cuda_forget(&stage);
    }

    /* Two steps at a time, so that the planes kept change their roles and not their registers. */
    template <enum relay_edges Edges> CUDA_INLINE void advance(int until)
    {
#pragma unroll 1
        while (now < until) {
            step<Edges, 0>(one, other);
            step<Edges, 1>(other, one);
        }
    }

    CUDA_INLINE void start()
    {
        if (warp == 0 && lane < Form::Stages)
            cuda_barrier_create(barriers + lane, Form::Threads);
        cuda_barriers_created();
#pragma unroll
        for (int n = 0; n < Form::Ahead; n++)
            fetch(n, n);
        arrive(0);
    }

    static CUDA_INLINE int even_above(int number)
    {
        return (number + 1) / 2 * 2;
    }
    static CUDA_INLINE int even_below(int number)
    {
        return number / 2 * 2;
    }

    /* Three parts: until planes are stored and all levels are past the grid's first plane; until some level
       comes to its last one, or all planes are stored; and the rest. */
    CUDA_INLINE void run()
    {
        const int entered = even_above(first_step == 0 ? max(begun, Levels + 1) : begun);
        const int left = max(even_below(fetched), entered);

        start();
#pragma unroll 1
        for (int part = 0; part < 3; part++) {
            forget_place();
            const int until = part == 0 ? entered : part == 1 ? left : steps;
            if (part != 1)
                advance<RELAY_ENDS>(until);
            else if (sides)
                advance<RELAY_SIDES>(until);
            else
                advance<RELAY_INSIDE>(until);
        }
    }
};

template <typename Form>
__global__ void __launch_bounds__(Form::Threads, 1)
    relay_kernel(const __grid_constant__ relay_job<typename Form::T> job)
{
    CUDA_SHARED(typename Form::T, shared);

    if (!cuda_code_has<Form>())
        return;
    relay_walk<Form> walk(job, shared);
    walk.run();
}

/* An op that a form serves on a grid: a full star; what stands outside is the nearest sample, or held samples
   make no account of it; rows end with packs, and the grid is as high as the tile. */
template <typename Form>
static inline bool relay_serves(const struct cuda_limits *limits, const struct op *op, size_t nx, size_t rows)
{
    return Form::serves(limits->code) && Form::SharedBytes <= limits->shared_per_block &&
           cuda_is_full_star(op) &&
           (op->edge == EDGE_REFLECT || op->edge == EDGE_NEAREST || op->edge == EDGE_HOLD) &&
           nx % Form::Pack == 0 && rows >= static_cast<size_t>(Form::Height);
}

/* How many tiles of a form cover the rows. */
template <typename Form> static inline long long relay_row_tiles(long long rows)
{
    return rows <= Form::Height ? 1 : cuda_ceil_divide(rows - 2 * Form::Levels, Form::UsefulRows);
}

/* The planes of a chunk, which walks 2 · Levels planes more and some to get going: blocks are in step, and
   the device takes them in rounds of `slots`. */
template <typename Form>
static inline long long relay_chunk(long long planes, long long columns, long long slots)
{
    const int start = 3;

    return cuda_walk_chunk(planes, planes, [=](long long chunk, long long chunks) {
        return static_cast<double>(cuda_ceil_divide(columns * chunks, slots) *
                                   (chunk + 2 * Form::Levels + start));
    });
}

/* The launch of a form: blocks of chunks over columns of tiles. */
template <typename Form> static inline relay_job<typename Form::T> relay_job_of(const struct cuda_job *from)
{
    using T = typename Form::T;
    const struct op *op = from->op->op;
    relay_job<T> job = relay_job<T>();

    job.from = *static_cast<const cuda_view<T> *>(from->from);
    job.to = *static_cast<const cuda_view<T> *>(from->to);
    for (size_t k = 0; k < op->tap_count; k++)
        job.weights[k] = static_cast<T>(op->taps[k].weight);
    job.hold = op->edge == EDGE_HOLD;
    job.first = static_cast<long long>(from->planes.first);
    job.end = job.first + static_cast<long long>(from->planes.count);
    job.tiles_x = static_cast<int>(cuda_ceil_divide(job.from.nx, Form::UsefulX));
    job.tiles_rows = static_cast<int>(relay_row_tiles<Form>(job.from.rows));
    return job;
}

template <typename Form> static inline cudaError_t relay_launch(const struct cuda_job *from)
{
    relay_job<typename Form::T> job = relay_job_of<Form>(from);
    const long long planes = job.end - job.first;
    const long long columns = static_cast<long long>(job.tiles_x) * job.tiles_rows * job.from.channels;
    auto kernel = relay_kernel<Form>;
    cudaError_t status = cuda_permit_shared(kernel, Form::SharedBytes);

    if (status != cudaSuccess || planes == 0)
        return status;
    const struct cuda_boxed_field field = cuda_boxed(job.from);
    status = cuda_map_boxes(&job.boxes, &field, Form::Pitch, Form::Height, 1);
    if (status != cudaSuccess)
        return status;
    job.chunk = from->form->resident_blocks > 0
                    ? relay_chunk<Form>(planes, columns, from->form->resident_blocks)
                    : from->form->coarsen;
    return CUDA_LAUNCH(from->stream, dim3(cuda_blocks(columns * cuda_ceil_divide(planes, job.chunk))),
                       dim3(Form::Threads), Form::SharedBytes, kernel, job);
}

/* What the launch of a form looks like on a device. */
template <typename Form>
static inline void relay_describe(const struct cuda_question *asked, struct cuda_form *form)
{
    const long long columns = cuda_ceil_divide(static_cast<long long>(asked->shape->nx), Form::UsefulX) *
                              relay_row_tiles<Form>(static_cast<long long>(asked->shape->rows)) *
                              asked->shape->channels;
    const long long planes = static_cast<long long>(asked->shape->planes);
    const double overlap =
        static_cast<double>(Form::Width) * Form::Height / (Form::UsefulX * Form::UsefulRows);

    *form = cuda_form();
    form->tile_x = Form::UsefulX;
    form->tile_y = Form::UsefulRows;
    form->tile_z = 1;
    form->resident_blocks = asked->wish->coarsen > 0 ? 0 : asked->limits->multiprocessors;
    form->coarsen = asked->wish->coarsen > 0
                        ? asked->wish->coarsen
                        : static_cast<int>(relay_chunk<Form>(planes, columns, form->resident_blocks));
    form->stride = 1;
    form->steps = Form::Levels;
    form->reach = 1;
    form->grid = dim3(cuda_blocks(columns * cuda_ceil_divide(planes, form->coarsen)));
    form->block = dim3(Form::Threads);
    form->shared_bytes = Form::SharedBytes;
    form->kernel = reinterpret_cast<const void *>(&relay_kernel<Form>);
    form->bytes_per_update = 2.0 * sizeof(typename Form::T) / Form::Levels;
    form->operations_per_update = cuda_operations(asked->op) * overlap;
}

#endif
