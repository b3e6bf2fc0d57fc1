/* The walk of rung `fused` through plain pictures, where rows come as TMA boxes: a warp alone.
 *
 * Known as: temporal blocking in registers; TMA multistage pipeline with mbarriers, one warp a block.
 *
 * A block is one warp, and waits for no other. It streams down a column strip of a picture; a lane owns some
 * neighbouring samples of each row, and keeps in registers the two last rows of every level: level 0 is the
 * picture before the pass, level n has taken n steps. When row y arrives, level 1 gets its row y − 1, from it
 * level 2 its row y − 2, and so on, and the last level's row is stored, all before row y + 1. Samples beside
 * a lane's own come by warp shuffles. A level's chain is opened with its two older rows before the newest is
 * there, so that the sequence of dependent multiply-adds through all levels has the taps of the newest row
 * only.
 *
 * Rows come two at a time, as TMA boxes that begin and end with sectors of the memory, in a ring of four
 * stages. A stage has an mbarrier: its phase ends when the box has come and all lanes have read the stage
 * before it, which is then filled with the pair of rows three further on. This is all that the warp ever
 * waits for. A lane's samples are a sector of 32 bytes, of which one store writes 16: in f32, rows go out
 * through shared memory instead, so that the lanes of one store write whole sectors.
 *
 * Samples of the strip nearer to its sides than there are levels come out wrong and are not stored
 * (overlapped tiling). Tests for edges are outside the loop over the rows, which is compiled five times (enum
 * tma2d_edges). */
#ifndef CUDA_FUSED_2D_TMA_CUH
#define CUDA_FUSED_2D_TMA_CUH

#include "kernels/cuda/shared/cuda_march_common.cuh"
#include "kernels/cuda/shared/cuda_row_ring.cuh"

#include <algorithm>

/* ---- windows of 3×3 taps, chained row by row: a lane has some samples of a row, a warp the row ---- */

/* The taps that exist: the five of the star, all nine, or any, known at run time (`present`, a bit for each).
 */
enum window_kind { WINDOW_STAR, WINDOW_BOX, WINDOW_SOME };

template <typename Type, window_kind Kind> struct window_of_kind {
    using T = Type;
    T weights[9]; /* in raster order */
    unsigned present;

    static CUDA_INLINE constexpr bool diagonal()
    {
        return Kind != WINDOW_STAR;
    }
    CUDA_INLINE bool exists(int k) const
    {
        return Kind == WINDOW_BOX || (Kind == WINDOW_STAR ? k % 2 == 1 || k == 4 : (present >> k & 1) != 0);
    }
};
template <typename T> using window_star = window_of_kind<T, WINDOW_STAR>;
template <typename T> using window_box = window_of_kind<T, WINDOW_BOX>;
template <typename T> using window_some = window_of_kind<T, WINDOW_SOME>;

/* The samples on either side of a lane's, from the lanes beside it. */
template <typename T, int Samples>
CUDA_INLINE void window_neighbours(const T (&row)[Samples], T *before, T *after)
{
    *before = __shfl_up_sync(CUDA_ALL_LANES, row[Samples - 1], 1);
    *after = __shfl_down_sync(CUDA_ALL_LANES, row[0], 1);
}

/* A chain starts at −0: fma(w, v, −0) is the product w·v, its sign included. */
template <typename T, int Samples> CUDA_INLINE void window_begin(T (&sums)[Samples])
{
    cuda_fill(sums, -T(0));
}

/* Chain the taps of one row of the window. */
template <typename Taps, typename T, int Samples>
CUDA_INLINE void window_chain(const Taps &taps, int row_of_taps, const T (&row)[Samples], T before, T after,
                              T (&sums)[Samples])
{
    const int k = 3 * row_of_taps;

    if (taps.exists(k)) {
#pragma unroll
        for (int i = 0; i < Samples; i++)
            sums[i] = cuda_fma(taps.weights[k], i == 0 ? before : row[i > 0 ? i - 1 : 0], sums[i]);
    }
    if (taps.exists(k + 1)) {
#pragma unroll
        for (int i = 0; i < Samples; i++)
            sums[i] = cuda_fma(taps.weights[k + 1], row[i], sums[i]);
    }
    if (taps.exists(k + 2)) {
#pragma unroll
        for (int i = 0; i < Samples; i++)
            sums[i] = cuda_fma(taps.weights[k + 2],
                               i == Samples - 1 ? after : row[i < Samples - 1 ? i + 1 : 0], sums[i]);
    }
}

/* The index of a tap in the window, in raster order. */
static inline int window_index(const struct op_tap *tap)
{
    return (tap->dplane + 1) * 3 + tap->dx + 1;
}

/* The taps of an op in their places of the window. */
template <typename Taps> static inline Taps window_taps(const struct op *op)
{
    Taps taps = {};

    for (size_t k = 0; k < op->tap_count; k++) {
        taps.weights[window_index(&op->taps[k])] = static_cast<typename Taps::T>(op->taps[k].weight);
        taps.present |= 1u << window_index(&op->taps[k]);
    }
    return taps;
}

/* ---- the walk ---- */

/* The edges of the grid among a lane's samples, a bit each. */
enum tma2d_edge_bits {
    TMA2D_FIRST = 1u << 0, /* its first column is the grid's first */
    TMA2D_LAST = 1u << 1,  /* its last column is the grid's last */
    TMA2D_STORED = 1u << 2 /* from here on, a bit for each of its packs: it is stored */
};

/* The edges that a loop over the rows knows: none; those at the sides, under any rule, under one whose
   samples outside are the nearest ones, or held; or those at the sides and at the first and the last row. */
enum tma2d_edges { TMA2D_INSIDE, TMA2D_SIDES, TMA2D_NEAREST_SIDES, TMA2D_HELD_SIDES, TMA2D_ENDS };

/* The shape of a walk: everything that the compiler must know. */
template <typename Type, template <typename> class Taps_, int Samples_, int FusedSteps_, bool Staged_,
          int Warps_>
struct tma2d_form {
    using T = Type;
    using Taps = Taps_<T>;
    static constexpr int Samples = Samples_, FusedSteps = FusedSteps_, Warps = Warps_;
    static constexpr bool Staged = Staged_;
    static constexpr int Pack = cuda_pack_of<T>::samples, Packs = Samples / Pack;
    static constexpr int Width = CUDA_WARP * Samples;

    /* Halo: columns of a strip before and behind the useful ones, whole packs. Lead: columns of the first
       strip before the grid, whole sectors. */
    static constexpr int Sector = CUDA_SECTOR / static_cast<int>(sizeof(T));
    static constexpr int Halo = (FusedSteps + Pack - 1) / Pack * Pack;
    static constexpr int Lead = (Halo + Sector - 1) / Sector * Sector;
    static constexpr int Useful = (Width - 2 * Halo) / Sector * Sector;

    /* The ring: boxes of two rows, and Ahead of them under way while one is read. */
    static constexpr int BoxRows = 2;
    static constexpr int StageSamples = BoxRows * Width;
    static constexpr unsigned BoxBytes = StageSamples * sizeof(T);
    static constexpr int Stages = 4, Ahead = Stages - 1;
    static constexpr int StagingSamples = Staged ? BoxRows * Width : 0;
    static constexpr size_t SharedBytes =
        (Stages * StageSamples + StagingSamples) * sizeof(T) + Stages * sizeof(cuda_barrier);

    static_assert(Samples >= 2 && Useful > 0, "a strip with something left");
    static_assert(Lead % Samples == 0, "the grid's first column is a lane's first");
    static_assert(StageSamples * sizeof(T) % CUDA_BOX_ALIGNMENT == 0, "stages take boxes");

    /* For 10.0 and later ptxas does not fit all walks into the registers. */
    static __host__ __device__ constexpr bool serves(int code)
    {
        return cuda_has_boxes(code) && code < 100;
    }
};

template <typename Form> struct tma2d_job {
    using T = typename Form::T;

    cuda_box_map boxes; /* of `from` */
    cuda_view<T> from, to;
    typename Form::Taps taps;
    cuda_edge<T> edge;
    int first, end;      /* rows to compute */
    int height;          /* rows of a strip */
    int spared;          /* rows that the first strip has less, since those at the grid's edge take longer */
    int columns, strips; /* strips in a row, and in a column */
};

template <typename Form> struct tma2d_walk {
    using T = typename Form::T;
    using Taps = typename Form::Taps;
    static constexpr int Samples = Form::Samples, FusedSteps = Form::FusedSteps, Pack = Form::Pack;
    using lane_row = T[Samples];
    using pair = T[2];

    const tma2d_job<Form> &job;
    T *const stages, *const staging;
    cuda_barrier *const barriers;
    const int lane;
    int channel;
    int x;              /* this lane's first column */
    int origin;         /* the strip's first column */
    int begin, end;     /* rows that the strip stores */
    int pairs;          /* of rows that arrive */
    unsigned edge_bits; /* of enum tma2d_edge_bits */
    T outside;          /* the value of EDGE_CONSTANT */
    T *target;          /* this lane's first pack of the row that is stored next */
    int now;            /* the pair that is computed */
    int stage;          /* of the pair, and of that stage's barrier */
    unsigned parity;    /* of the barrier's phase */

    lane_row rows[2]
                 [FusedSteps]; /* the older and the newer row of each level but the last; turns swap them */
    pair sides[2][FusedSteps]; /* the samples before and after these rows, for diagonal taps */

    CUDA_INLINE tma2d_walk(const tma2d_job<Form> &job_, T *shared)
        : job(job_), stages(shared), staging(shared + Form::Stages * Form::StageSamples),
          barriers(reinterpret_cast<cuda_barrier *>(staging + Form::StagingSamples)),
          lane(static_cast<int>(threadIdx.x)), now(0), stage(0), parity(0)
    {
        const cuda_place place = cuda_place_of(blockIdx.x, job.columns, job.strips);

        channel = place.channel;
        origin = place.column * Form::Useful - Form::Lead;
        x = origin + lane * Samples;
        begin = job.first + max(place.strip * job.height - job.spared, 0);
        end = min(job.first + (place.strip + 1) * job.height - job.spared, job.end);
        pairs = (end + FusedSteps - first_row() + 1) / 2;
        outside = job.edge.rule == EDGE_CONSTANT ? job.edge.outside[channel] : T(0);
        target = job.to.row(first_row() - FusedSteps, channel, 0) + first_stored();
        find_edges();
        clear();
    }

    /* ---- where the walk goes ---- */

    /* The column of the first pack that a lane stores, and the distance to its next one. */
    CUDA_INLINE int first_stored() const
    {
        return Form::Staged ? origin + lane * Pack : x;
    }
    static CUDA_INLINE constexpr int stored_stride()
    {
        return Form::Staged ? CUDA_WARP * Pack : Pack;
    }

    /* The edges among the lane's columns, and the packs that it stores. */
    CUDA_INLINE void find_edges()
    {
        const int useful = origin + Form::Halo, beyond = min(useful + Form::Useful, job.from.nx);

        edge_bits = (x == 0 ? TMA2D_FIRST : 0) | (x + Samples == job.from.nx ? TMA2D_LAST : 0);
#pragma unroll
        for (int c = 0; c < Form::Packs; c++) {
            const int column = first_stored() + c * stored_stride();
            if (column >= max(useful, 0) && column < beyond)
                edge_bits |= TMA2D_STORED << c;
        }
    }
    CUDA_INLINE bool at_edge(unsigned what) const
    {
        return (edge_bits & what) != 0;
    }

    /* Rows that have not come yet are read before they count: they must be numbers. */
    CUDA_INLINE void clear()
    {
#pragma unroll
        for (int l = 0; l < FusedSteps; l++) {
#pragma unroll
            for (int turn = 0; turn < 2; turn++) {
                cuda_fill(rows[turn][l], T(0));
                sides[turn][l][0] = sides[turn][l][1] = T(0);
            }
        }
    }

    /* The row that arrives first. */
    CUDA_INLINE int first_row() const
    {
        return max(begin - FusedSteps, 0);
    }

    /* ---- arrival ---- */

    static CUDA_INLINE int stage_after(int number, int by)
    {
        return (number + by) % Form::Stages;
    }

    /* Start the copy of a pair of rows, to a stage that nobody reads any more. */
    CUDA_INLINE void fetch(int step, int to_stage) const
    {
        if (step < pairs && lane == 0)
            cuda_fetch_box(
                stages + to_stage * Form::StageSamples, &job.boxes,
                {origin, 0, channel, first_row() + Form::BoxRows * step - static_cast<int>(job.from.first)},
                barriers + to_stage, Form::BoxBytes);
    }

    /* Read the lane's samples of a row; after the pair's last row, say at the next stage's barrier that this
       stage has been read. Lanes run together, so that this wait costs nothing. */
    CUDA_INLINE void receive(int row, lane_row &samples) const
    {
        cuda_load_packs<Samples>(stages + stage * Form::StageSamples + row * Form::Width + lane * Samples,
                                 samples);
        if (row == Form::BoxRows - 1)
            cuda_barrier_arrive(barriers + stage_after(stage, 1));
    }

    /* ---- edges ---- */

    /* The sample just outside the grid, by the edge rule. */
    CUDA_INLINE T beyond(T nearest, T mirrored) const
    {
        const T inside = job.edge.rule == EDGE_MIRROR ? mirrored : nearest;

        return job.edge.rule == EDGE_CONSTANT ? outside : inside;
    }
    /* A row just outside the grid, from the rows inside. */
    CUDA_INLINE void put_beyond(lane_row &row, pair &row_sides, const lane_row &nearest,
                                const pair &nearest_sides, const lane_row &mirrored,
                                const pair &mirrored_sides) const
    {
#pragma unroll
        for (int i = 0; i < Samples; i++)
            row[i] = beyond(nearest[i], mirrored[i]);
#pragma unroll
        for (int i = 0; i < 2; i++)
            row_sides[i] = beyond(nearest_sides[i], mirrored_sides[i]);
    }

    /* The samples beside a lane's own, of other lanes or outside the grid. */
    template <enum tma2d_edges Edges> CUDA_INLINE void neighbours(const lane_row &row, pair &beside) const
    {
        window_neighbours(row, &beside[0], &beside[1]);
        if (Edges == TMA2D_NEAREST_SIDES) {
            beside[0] = at_edge(TMA2D_FIRST) ? row[0] : beside[0];
            beside[1] = at_edge(TMA2D_LAST) ? row[Samples - 1] : beside[1];
        } else if (Edges == TMA2D_SIDES || Edges == TMA2D_ENDS) {
            beside[0] = at_edge(TMA2D_FIRST) ? beyond(row[0], row[1]) : beside[0];
            beside[1] = at_edge(TMA2D_LAST) ? beyond(row[Samples - 1], row[Samples - 2]) : beside[1];
        }
    }

    /* ---- a row through all levels ---- */

    /* Begin a chain of the next level with the taps on the two last rows of this one. */
    template <enum tma2d_edges Edges> CUDA_INLINE void open(int l, int turn, lane_row &sums) const
    {
        const pair &above = sides[turn][l], &kept = sides[1 - turn][l];
        pair beside = {kept[0], kept[1]};

        window_begin(sums);
        window_chain(job.taps, 0, rows[turn][l], above[0], above[1], sums);
        if (!Taps::diagonal())
            neighbours<Edges>(rows[1 - turn][l], beside);
        window_chain(job.taps, 1, rows[1 - turn][l], beside[0], beside[1], sums);
    }

    /* The row becomes the newer one of its level, in the place of the older one. */
    CUDA_INLINE void keep(int turn, int l, const lane_row &row, const pair &beside)
    {
        cuda_copy(rows[turn][l], row);
        sides[turn][l][0] = beside[0];
        sides[turn][l][1] = beside[1];
    }

    /* Send a row that arrives through all levels. Turn says which of each level's two rows is the older. The
       next level's chain is opened before this level's row is kept, so that the row can take the older one's
       registers. */
    template <enum tma2d_edges Edges, int Turn> CUDA_INLINE void take_levels(lane_row &row)
    {
        lane_row sums;

        open<Edges>(0, Turn, sums);
        receive(Turn, row);
#pragma unroll
        for (int l = 0; l < FusedSteps; l++) {
            lane_row next = {};
            pair beside = {};
            if (l + 1 < FusedSteps)
                open<Edges>(l + 1, Turn, next);
            keep_beside<Edges>(row, beside);
            window_chain(job.taps, 2, row, beside[0], beside[1], sums);
            if (Edges == TMA2D_HELD_SIDES) {
                sums[0] = at_edge(TMA2D_FIRST) ? rows[1 - Turn][l][0] : sums[0];
                sums[Samples - 1] = at_edge(TMA2D_LAST) ? rows[1 - Turn][l][Samples - 1] : sums[Samples - 1];
            }
            keep(Turn, l, row, beside);
            cuda_copy(row, sums);
            cuda_copy(sums, next);
        }
    }

    /* Let values that follow from the lane's place be computed again: there are no registers for them. */
    CUDA_INLINE void launder_place()
    {
        cuda_launder(&x);
        cuda_launder(&edge_bits);
    }

    /* Find the samples beside a row now, for diagonal taps that need them later. */
    template <enum tma2d_edges Edges> CUDA_INLINE void keep_beside(const lane_row &row, pair &beside) const
    {
        if (Taps::diagonal())
            neighbours<Edges>(row, beside);
    }

    /* The grid's first row comes to a level, and the row outside takes the place of the one before it. */
    CUDA_INLINE void begin_level(int turn, int l, const lane_row &row)
    {
        pair beside = {};

        keep_beside<TMA2D_ENDS>(row, beside);
        keep(turn, l, row, beside);
        put_beyond(rows[1 - turn][l], sides[1 - turn][l], row, beside, row, beside);
    }

    /* Send a row through one level, where the row that it completes may be the grid's first or last one.
       Behind the last row, the row outside takes the place of the one that arrives, which nobody needs. A
       mirror has the row before the first one only now, when the second one arrives. */
    template <int Turn> CUDA_INLINE void take_level(int l, bool first, bool last, lane_row &row)
    {
        const lane_row &newer = rows[1 - Turn][l];
        lane_row sums;
        pair beside = {};

        launder_place();
        keep_beside<TMA2D_ENDS>(row, beside);
        if (first && job.edge.rule == EDGE_MIRROR) {
            cuda_keep_branch();
            keep(Turn, l, row, beside);
        }
        if (last) {
            cuda_keep_branch();
            put_beyond(row, beside, newer, sides[1 - Turn][l], rows[Turn][l], sides[Turn][l]);
        }
        open<TMA2D_ENDS>(l, Turn, sums);
        window_chain(job.taps, 2, row, beside[0], beside[1], sums);
        if (job.edge.rule == EDGE_HOLD) {
            cuda_keep_branch();
            hold(first || last, newer, sums);
        }
        keep(Turn, l, row, beside);
        cuda_copy(row, sums);
    }

    /* Send a row through all levels at the ends of the grid. The first rows get no further than the level
       whose first row they complete. */
    template <int Turn> CUDA_INLINE void take_ends(int arriving, lane_row &row)
    {
        const int last = static_cast<int>(job.from.planes) - 1;

        receive(Turn, row);
#pragma unroll
        for (int l = 0; l < FusedSteps; l++) {
            int y = arriving - 1 - l;
            cuda_launder(&y);
            if (y >= 0) {
                take_level<Turn>(l, y == 0, y == last, row);
            } else if (y == -1) {
                cuda_keep_branch();
                begin_level(Turn, l, row);
            }
        }
    }

    /* Samples with a tap outside the grid keep the level's values. */
    CUDA_INLINE void hold(bool held_row, const lane_row &level, lane_row &sums) const
    {
#pragma unroll
        for (int i = 0; i < Samples; i++)
            sums[i] =
                held_row || (i == 0 && at_edge(TMA2D_FIRST)) || (i == Samples - 1 && at_edge(TMA2D_LAST))
                    ? level[i]
                    : sums[i];
    }

    /* ---- storing ---- */

    /* Exchange packs of a row through shared memory, so that neighbouring lanes store neighbouring packs. Two
       buffers take turns: between reading one and writing it again the lanes have met at the other's
       __syncwarp. */
    CUDA_INLINE void exchange(T *buffer, lane_row &row) const
    {
        cuda_put(buffer + lane * Samples, row);
        __syncwarp();
#pragma unroll
        for (int c = 0; c < Form::Packs; c++)
            cuda_load_packs<Pack>(buffer + (c * CUDA_WARP + lane) * Pack, row + c * Pack);
    }

    CUDA_INLINE void store(bool wanted, lane_row &row)
    {
#pragma unroll
        for (int c = 0; c < Form::Packs; c++) {
            T pack[Pack];
#pragma unroll
            for (int i = 0; i < Pack; i++)
                pack[i] = row[c * Pack + i];
            cuda_store_past(wanted && at_edge(TMA2D_STORED << c), target + c * stored_stride(), pack);
        }
        target += job.to.plane_stride();
    }

    /* ---- two rows ---- */

    /* One of the two rows of a pair. */
    template <enum tma2d_edges Edges, int Turn> CUDA_INLINE void take_row()
    {
        const int arriving = first_row() + Form::BoxRows * now + Turn;
        lane_row row;

        if (Edges == TMA2D_ENDS)
            take_ends<Turn>(arriving, row);
        else
            take_levels<Edges, Turn>(row);
        if (Form::Staged)
            exchange(staging + Turn * Form::Width, row);
        store(arriving - FusedSteps >= begin && (Turn == 0 || arriving - FusedSteps < end), row);
    }

    /* Wait for the pair's rows; the stage before it is free then, and takes the pair that is Ahead. */
    CUDA_INLINE void await()
    {
        cuda_barrier_await(barriers + stage, parity);
        fetch(now + Form::Ahead, stage_after(stage, Form::Ahead));
    }
    CUDA_INLINE void go_on()
    {
        now++;
        stage = stage_after(stage, 1);
        parity ^= stage == 0 ? 1 : 0;
    }

    template <enum tma2d_edges Edges> CUDA_INLINE void advance(int until)
    {
#pragma unroll 1
        while (now < until) {
            await();
            take_row<Edges, 0>();
            take_row<Edges, 1>();
            go_on();
        }
    }

    /* Create the barriers and start the first copies; nobody reads a stage before the first one. */
    CUDA_INLINE void start()
    {
        if (lane < Form::Stages)
            cuda_barrier_create(barriers + lane, CUDA_WARP);
        cuda_barriers_created();
#pragma unroll
        for (int n = 0; n < Form::Ahead; n++)
            fetch(n, n);
        cuda_barrier_arrive(barriers);
    }

    /* The walk in three parts: until all levels are past the grid's first row; until some level comes to its
       last one; and the rest. */
    CUDA_INLINE void run()
    {
        const int planes = static_cast<int>(job.from.planes), nx = job.from.nx;
        const int entered = begin < FusedSteps ? FusedSteps / Form::BoxRows + 1 : 0;
        const int left = max(entered, min(pairs, (planes - first_row()) / Form::BoxRows));

        start();
#pragma unroll 1
        for (int part = 0; part < 3; part++) {
            if (part != 1)
                advance<TMA2D_ENDS>(part == 0 ? entered : pairs);
            else if (origin > 0 && origin + Form::Width < nx)
                advance<TMA2D_INSIDE>(left);
            else if (job.edge.rule == EDGE_HOLD)
                advance<TMA2D_HELD_SIDES>(left);
            else if (job.edge.rule == EDGE_MIRROR || job.edge.rule == EDGE_CONSTANT)
                advance<TMA2D_SIDES>(left);
            else
                advance<TMA2D_NEAREST_SIDES>(left);
        }
    }
};

template <typename Form>
__global__ void __launch_bounds__(CUDA_WARP, Form::Warps)
    tma2d_kernel(const __grid_constant__ tma2d_job<Form> job)
{
    CUDA_SHARED(typename Form::T, shared);

    CUDA_WHERE_SERVED (Form) {
        tma2d_walk<Form> walk(job, shared);
        walk.run();
    }
}

/* Whether a form serves an op, whose taps it has, on a picture. Wrapped edges need rows that are fetched
   sample by sample; and a picture has more rows than levels, so that no row is near both ends. */
template <typename Form>
static inline bool tma2d_serves(const struct cuda_limits *limits, const struct op *op, size_t nx,
                                size_t planes)
{
    return Form::serves(limits->code) && Form::SharedBytes <= limits->shared_per_block &&
           op->edge != EDGE_WRAP && nx % Form::Samples == 0 && planes > Form::FusedSteps;
}

template <typename Form> static inline int tma2d_columns(long long nx)
{
    return static_cast<int>(cuda_ceil_divide(nx + Form::Lead - Form::Halo, Form::Useful));
}

/* The rows of a strip. It also walks 2 · FusedSteps rows of its neighbours, and takes the time of some rows
   to start, so that a strip of less than FusedSteps rows does not pay. The device runs strips in rounds of
   `residents`; in many rounds they get out of step, and only the last round leaves multiprocessors idle. */
template <typename Form>
static inline int tma2d_height(long long rows, long long columns, long long residents)
{
    const int start = 6, few = 4;
    const long long least = Form::FusedSteps;
    const double tail = 0.3;

    return static_cast<int>(cuda_march_chunk(rows, rows, [=](long long height, long long strips) {
        const double full = static_cast<double>(columns * strips) / static_cast<double>(residents);
        const double rounds =
            full > few ? full + tail : static_cast<double>(cuda_ceil_divide(columns * strips, residents));
        return rounds * static_cast<double>((height > least ? height : least) + 2 * Form::FusedSteps + start);
    }));
}

/* Rows that strips at the grid's ends have less than others, because a row there takes about as long as
 * three. These rows are as many as levels at the bottom, and two more at the top, where the strip walks no
 * rows before its own. */
template <typename Form> static inline int tma2d_spared_above(int first)
{
    return first == 0 ? Form::FusedSteps + 4 : 0;
}
template <typename Form> static inline int tma2d_spared_below(int end, long long planes)
{
    return end == planes ? 2 * Form::FusedSteps : 0;
}

template <typename Form> static inline cudaError_t tma2d_launch(const struct cuda_job *from)
{
    using T = typename Form::T;
    const struct op *op = from->op->op;
    const auto kernel = tma2d_kernel<Form>;
    tma2d_job<Form> job = tma2d_job<Form>();

    if (from->planes.count == 0)
        return cudaSuccess;
    job.from = *static_cast<const cuda_view<T> *>(from->from);
    job.to = *static_cast<const cuda_view<T> *>(from->to);
    job.taps = window_taps<typename Form::Taps>(op);
    job.edge = cuda_edge_of<T>(from->op);
    job.first = static_cast<int>(from->planes.first);
    job.end = job.first + static_cast<int>(from->planes.count);
    /* Strips of equal rows, but that those at the grid's ends have less. */
    job.columns = tma2d_columns<Form>(job.from.nx);
    const int residents = from->form->resident_blocks > 0 ? from->limits->multiprocessors * Form::Warps : 0;
    const long long rows = job.end - job.first,
                    across = static_cast<long long>(job.columns) * job.from.channels;
    const int above = tma2d_spared_above<Form>(job.first),
              below = tma2d_spared_below<Form>(job.end, job.from.planes);
    job.height =
        residents > 0 ? tma2d_height<Form>(rows + above + below, across, residents) : from->form->coarsen;
    job.spared = residents > 0 ? std::min(above, job.height / 2) : 0;
    job.strips = static_cast<int>(cuda_ceil_divide(rows + job.spared, job.height));
    /* The map is part of the kernel's parameters. */
    const struct cuda_boxed_field field = cuda_boxed(job.from);
    const cudaError_t status = cuda_map_boxes(&job.boxes, &field, Form::Width, 1, Form::BoxRows);
    if (status != cudaSuccess)
        return status;
    return CUDA_LAUNCH(from->stream, dim3(cuda_blocks(across * job.strips)), dim3(CUDA_WARP),
                       Form::SharedBytes, kernel, job);
}

/* Describe the launch of a form. */
template <typename Form>
static inline void tma2d_describe(const struct cuda_question *asked, struct cuda_form *form)
{
    const long long rows = static_cast<long long>(asked->shape->planes);
    const long long columns =
        static_cast<long long>(tma2d_columns<Form>(static_cast<long long>(asked->shape->nx))) *
        asked->shape->channels;
    const int coarsen = asked->wish->coarsen;

    form->resident_blocks = coarsen > 0 ? 0 : asked->limits->multiprocessors * Form::Warps;
    const int spared = tma2d_spared_above<Form>(0) + tma2d_spared_below<Form>(static_cast<int>(rows), rows);
    form->coarsen = coarsen > 0 ? coarsen : tma2d_height<Form>(rows + spared, columns, form->resident_blocks);
    const double walked = static_cast<double>(Form::Width) / Form::Useful *
                          (1 + 2.0 * Form::FusedSteps / static_cast<double>(form->coarsen));
    form->tile_x = Form::Useful;
    form->tile_y = form->coarsen;
    form->steps = Form::FusedSteps;
    form->reach = 1;
    form->grid = dim3(cuda_blocks(columns * cuda_ceil_divide(rows, form->coarsen)));
    form->block = dim3(CUDA_WARP);
    form->shared_bytes = Form::SharedBytes;
    form->kernel = reinterpret_cast<const void *>(&tma2d_kernel<Form>);
    form->bytes_per_update = (walked + 1) * sizeof(typename Form::T) / Form::FusedSteps;
    form->operations_per_update = cuda_operations(asked->op) * walked;
}

#endif
