/* The walk of rung `fused` through any grid, on any device: a block streams along the planes of a volume and
 * takes every sample of its tile through several levels of a radius-1 star on the way.
 *
 * Known as: temporal blocking (2.5D in space, 1D in time), as 3.5D blocking.
 *
 * Steps of the walk go to the right here, levels down, and the number is the plane that arrives:
 *
 *     step       0   1   2   3   4
 *     level 0    0   1   2   3   4   fetched
 *     level 1        0   1   2   3
 *     level 2            0   1   2
 *     level 3                0   1   stored, if there are three levels
 *
 * So in step s plane s − l arrives at level l. A step has three parts:
 *
 * - the cascade, down the column: plane p of a level gives the tap at z + 1 to plane p − 1 of the next level,
 *   which is below it in the table and lacks only that tap. It needs no neighbours, so all levels take it
 *   without a barrier: one multiply-add a sample and level.
 * - the exchange: x neighbours come by warp shuffles, y neighbours from the thread's own registers but for
 *   the first and last row, which go through shared memory. One barrier a step serves all levels.
 * - the fold, to the right and down: plane p of a level gives plane p of the next one, which arrives a step
 *   later, the taps of its own plane. Plane p − 1 has opened those sums with the tap at z − 1.
 *
 * The tile is 32 lanes × Pack samples wide and Warps × Rows high; a thread owns Rows packs. Planes of level 0
 * arrive by asynchronous copies in a ring of three.
 *
 * A level keeps two registers a sample: the open sum, and the product of its last plane with the tap at z −
 * 1, which opens the next chain. This is why the chain's raster order costs nothing. Rules that need the last
 * plane itself (hold, mirror) keep the plane instead.
 *
 * One barrier a step is enough, because the exchange has two halves, used in turn: a warp that is a step
 * ahead writes the other half than the one that slower warps still read.
 *
 * Samples of the tile nearer to its border than there are levels come out wrong and are not stored. Samples
 * outside the grid are supplied by cuda_fused_star_any_edges.cuh. */
#ifndef CUDA_FUSED_STAR_ANY_CUH
#define CUDA_FUSED_STAR_ANY_CUH

#include "cuda_fused_star_any_edges.cuh"

#define STAR_STAGES 3

template <typename T> struct star_job : cuda_march_job {
    cuda_view<T> from, to;
    T weights[7];     /* in raster order */
    unsigned present; /* a bit for each tap that exists */
    struct star_rules rules;
    const T *outside; /* EDGE_CONSTANT: a value for each channel */
};

/* Two kinds of forms. Crowded ones have more warps, and a thread fewer registers than it could use: they are
 * the fastest on an H100. Code has them if ptxas fits them into the registers (those that keep planes, only
 * for 9.x) and shared memory holds so large a tile; else it has the others. */
static __host__ __device__ constexpr bool star_is_crowded(int code, bool keeps)
{
    return code >= 90 && code < (keeps ? 100 : 120);
}

/* In longer walks blocks drift apart, and no longer find in L2 what they share with their neighbours: 255 ×
   1023 × 511 in f32 ran at 364 GCells/s in one walk of all planes on an H200, and at 435 in walks of 64. */
#define STAR_MOST_PLANES 64

/* The shape of a walk: everything that the compiler must know.
 * Full: all seven taps exist. Keeps: the last plane is kept instead of its product. */
template <typename Type, int Pack_, int Rows_, int Warps_, int FusedSteps_, bool Full_, bool Keeps_>
struct star_form {
    using T = Type;
    static constexpr int Pack = Pack_, Rows = Rows_, Warps = Warps_, FusedSteps = FusedSteps_;
    static constexpr bool Full = Full_, Keeps = Keeps_;
    static constexpr int Radius = 1, Halo = FusedSteps;
    static constexpr int Threads = 32 * Warps, Blocks = 1; /* of a multiprocessor */
    static constexpr bool Crowded = Warps > 8;
    static constexpr int Width = 32 * Pack, Height = Rows * Warps;
    static constexpr int HaloX = (FusedSteps + Pack - 1) / Pack * Pack;
    static constexpr int UsefulX = Width - 2 * HaloX, UsefulRows = Height - 2 * FusedSteps;
    static constexpr int Vector = 16 / static_cast<int>(sizeof(T)); /* samples of one access */
    static constexpr int StageSamples = Width * Height;
    static constexpr int BorderSamples = Width * Warps; /* first or last rows of all warps */
    static constexpr int ExchangeSamples = 2 * BorderSamples * (FusedSteps - 1);
    static constexpr size_t SharedBytes = (STAR_STAGES * StageSamples + 2 * ExchangeSamples) * sizeof(T);
    static_assert(Pack % Vector == 0 && Rows >= 2 && UsefulX > 0 && UsefulRows > 0,
                  "a tile with something left");

    static __host__ __device__ constexpr bool serves(int code)
    {
        return star_is_crowded(code, Keeps) == Crowded;
    }

    static constexpr bool WalksWhole = false;

    /* A chunk walks 2 · Halo planes more than its own. Tiles at edges are slower, so that blocks do not end
       together, and one round is lost at the end in any case. */
    static inline long long chunk(long long planes, long long columns, long long residents)
    {
        return cuda_march_chunk(planes, STAR_MOST_PLANES, [=](long long length, long long chunks) {
            const double rounds = static_cast<double>(columns * chunks) / static_cast<double>(residents);
            return (rounds < 1 ? 1 : rounds + 1) * static_cast<double>(length + 2 * Halo);
        });
    }
};

template <typename T> struct alignas(16) star_vector {
    T part[16 / sizeof(T)];
};

template <typename Form> struct star_walk {
    using T = typename Form::T;
    static constexpr int Pack = Form::Pack, Rows = Form::Rows, FusedSteps = Form::FusedSteps;
    using plane_part = T[Rows][Pack];

    /* A step of the walk, with this thread's packs of level 0: of the plane that arrives, and the one before.
     */
    struct moment {
        int step;
        const T *now, *before;

        /* The plane that arrives at a level, numbered from the first that the walk reads. */
        CUDA_INLINE int plane(int level) const
        {
            return step - level;
        }
        /* Which half of the exchange is written in this step. */
        CUDA_INLINE int parity() const
        {
            return step & 1;
        }
    };

    /* The tile of a block with its halo, and the part of it that is stored. */
    struct tile {
        int channel;
        int x, row; /* of the tile's first sample */
        int store_x, store_x_end, store_row, store_row_end;
        long long begin, end; /* planes */

        CUDA_INLINE tile(const star_job<T> &job)
        {
            const cuda_march_place<Form::WalksWhole> place(job);

            channel = place.channel;
            begin = place.begin;
            end = place.end;
            place_x(job, place.tile_x);
            place_rows(job, place.tile_row);
        }

        CUDA_INLINE void place_x(const star_job<T> &job, int number)
        {
            store_x = number * Form::UsefulX;
            store_x_end = min(store_x + Form::UsefulX, job.from.nx);
            x = store_x - Form::HaloX;
        }

        /* The first tile begins with the grid and the last one ends with it, so that edges of the grid in
           rows are edges of a tile. */
        CUDA_INLINE void place_rows(const star_job<T> &job, int number)
        {
            const int rows = job.from.rows;

            store_row = number * Form::UsefulRows;
            if (job.rules.row == STAR_WRAP) {
                row = store_row - FusedSteps;
                store_row_end = min(store_row + Form::UsefulRows, rows);
                return;
            }
            row = max(min(store_row, rows - Form::Height), 0);
            store_row_end = number + 1 == job.tiles_rows ? rows : store_row + FusedSteps + Form::UsefulRows;
            store_row = number == 0 ? 0 : store_row + FusedSteps;
        }

        /* Whether packs of it go around the grid, and are not contiguous there. */
        CUDA_INLINE bool is_scattered(const star_job<T> &job) const
        {
            const int nx = job.from.nx;

            return job.rules.x == STAR_WRAP && nx % Pack != 0 && (x < 0 || x + Form::Width > nx);
        }
    };

    const star_job<T> &job;
    T *const shared;
    const int lane, warp;
    const tile own;
    const bool scattered;
    star_edges<Form> edges;

    /* sums[l] has the open sums of level l + 1 and, from the cascade to the fold, the plane of it that has
       arrived. lasts[l] is what level l keeps of its last plane; level 0 has that plane in shared memory. */
    T sums[FusedSteps][Rows][Pack];
    T lasts[FusedSteps][Rows][Pack];

    CUDA_INLINE star_walk(const star_job<T> &job_, T *shared_)
        : job(job_), shared(shared_), lane(static_cast<int>(threadIdx.x) & 31),
          warp(static_cast<int>(threadIdx.x) >> 5), own(job_), scattered(own.is_scattered(job_)),
          edges(job_.rules, job_.from, lane, warp, own.x, own.row,
                job_.outside == NULL ? T(0) : job_.outside[own.channel])
    {
#pragma unroll
        for (int l = 0; l < FusedSteps; l++) {
#pragma unroll
            for (int r = 0; r < Rows; r++) {
#pragma unroll
                for (int j = 0; j < Pack; j++)
                    sums[l][r][j] = lasts[l][r][j] = T(0);
            }
        }
    }

    /* ---- shared memory ---- */

    /* This thread's first pack in a stage of the ring. */
    CUDA_INLINE T *stage_at(int ring) const
    {
        return shared + ring * Form::StageSamples + (warp * Rows * 32 + lane) * Pack;
    }

    /* A warp's first or last row of a level in the exchange. */
    CUDA_INLINE T *border(int parity, int level, bool last, int of_warp) const
    {
        return shared + STAR_STAGES * Form::StageSamples + parity * Form::ExchangeSamples +
               (((level - 1) * 2 + (last ? 1 : 0)) * Form::Warps + of_warp) * Form::Width + lane * Pack;
    }

    static CUDA_INLINE void load_pack(T (&pack)[Pack], const T *from)
    {
#pragma unroll
        for (int k = 0; k < Pack; k += Form::Vector) {
            const star_vector<T> vector = *reinterpret_cast<const star_vector<T> *>(from + k);
#pragma unroll
            for (int j = 0; j < Form::Vector; j++)
                pack[k + j] = vector.part[j];
        }
    }

    static CUDA_INLINE void store_pack(T *to, const T (&pack)[Pack])
    {
#pragma unroll
        for (int k = 0; k < Pack; k += Form::Vector) {
            star_vector<T> vector;
#pragma unroll
            for (int j = 0; j < Form::Vector; j++)
                vector.part[j] = pack[k + j];
            *reinterpret_cast<star_vector<T> *>(to + k) = vector;
        }
    }

    static CUDA_INLINE void load_part(plane_part &part, const T *from)
    {
#pragma unroll
        for (int r = 0; r < Rows; r++)
            load_pack(part[r], from + r * Form::Width);
    }

    /* ---- fetching ---- */

    /* Start the copies of this thread's packs of a plane. Samples outside the grid, or in the padding of a
       row, may be anything. */
    CUDA_INLINE void fetch(long long plane, int ring) const
    {
        T *to = stage_at(ring);
        const T *base;
        int x = own.x + lane * Pack;

        if (job.rules.plane == STAR_WRAP)
            plane = arith_edge_index(EDGE_WRAP, plane, job.from.planes);
        base = job.from.row(plane, own.channel, 0);
        if (job.rules.x == STAR_WRAP && !scattered)
            x = static_cast<int>(arith_edge_index(EDGE_WRAP, x, job.from.nx));
        x = max(min(x, static_cast<int>(job.from.pitch) - Pack), 0);
#pragma unroll
        for (int r = 0; r < Rows; r++) {
            int row = own.row + warp * Rows + r;
            if (job.rules.row == STAR_WRAP)
                row = static_cast<int>(arith_edge_index(EDGE_WRAP, row, job.from.rows));
            row = max(min(row, job.from.rows - 1), 0);
            if (scattered)
                fetch_scattered(to + r * Form::Width, base + row * job.from.pitch);
            else
                fetch_pack(to + r * Form::Width, base + row * job.from.pitch + x);
        }
    }

    static CUDA_INLINE void fetch_pack(T *to, const T *from)
    {
#pragma unroll
        for (int k = 0; k < Pack; k += Form::Vector)
            cuda_copy_async<16>(to + k, from + k);
    }

    CUDA_INLINE void fetch_scattered(T *to, const T *row) const
    {
        for (int j = 0; j < Pack; j++) {
            const int x = own.x + lane * Pack + j;
            cuda_copy_async<sizeof(T)>(to + j, row + arith_edge_index(EDGE_WRAP, x, job.from.nx));
        }
    }

    /* ---- the chain ---- */

    /* The link of one tap: a tap that does not exist leaves the sum as it is. */
    template <int Tap> CUDA_INLINE T link(T sum, T value) const
    {
        return Form::Full || (job.present >> Tap & 1) != 0 ? cuda_fma(job.weights[Tap], value, sum) : sum;
    }

    /* The first tap is a product. −0 opens a chain without it: fma(w, v, −0) is w·v, signs of zero included.
     */
    CUDA_INLINE T opened(T value) const
    {
        return Form::Full || (job.present & 1) != 0 ? job.weights[0] * value : T(-0.0);
    }

    /* The open sums of `level` + 1 take the arrived plane of `level` and become planes. */
    CUDA_INLINE void close(plane_part &sum, const plane_part &arrived) const
    {
#pragma unroll
        for (int r = 0; r < Rows; r++) {
#pragma unroll
            for (int j = 0; j < Pack; j++)
                sum[r][j] = link<6>(sum[r][j], arrived[r][j]);
        }
    }

    /* The taps of the arrived plane itself, x and y. */
    CUDA_INLINE void fold(plane_part &sum, plane_part &arrived, const T *above_row, const T *below_row) const
    {
        T above[Pack], below[Pack];

        load_pack(above, above_row);
        load_pack(below, below_row);
        edges.fill(arrived, above, below);
#pragma unroll
        for (int r = 0; r < Rows; r++) {
            const T left = __shfl_up_sync(CUDA_ALL_LANES, arrived[r][Pack - 1], 1);
            const T right = __shfl_down_sync(CUDA_ALL_LANES, arrived[r][0], 1);
#pragma unroll
            for (int j = 0; j < Pack; j++) {
                T value = sum[r][j];
                value = link<1>(value, r > 0 ? arrived[r > 0 ? r - 1 : 0][j] : above[j]);
                value = link<2>(value, j > 0 ? arrived[r][j > 0 ? j - 1 : 0] : left);
                value = link<3>(value, arrived[r][j]);
                value = link<4>(value, j < Pack - 1 ? arrived[r][j < Pack - 1 ? j + 1 : 0] : right);
                sum[r][j] = link<5>(value, r < Rows - 1 ? arrived[r < Rows - 1 ? r + 1 : 0][j] : below[j]);
            }
        }
    }

    /* ---- the exchange ---- */

    /* Show the first and the last row to the warps above and below. */
    CUDA_INLINE void publish(const plane_part &part, int level, int parity) const
    {
        store_pack(border(parity, level, false, warp), part[0]);
        store_pack(border(parity, level, true, warp), part[Rows - 1]);
    }

    /* The rows above and below the thread's own, published by other warps, or in a stage of the ring. Beyond
       the tile any row will do. */
    CUDA_INLINE const T *row_above(const T *packs, int level, int parity) const
    {
        if (level == 0)
            return warp > 0 ? packs - Form::Width : packs;
        return border(parity, level, true, max(warp - 1, 0));
    }
    CUDA_INLINE const T *row_below(const T *packs, int level, int parity) const
    {
        if (level == 0)
            return packs + (warp < Form::Warps - 1 ? Rows : Rows - 1) * Form::Width;
        return border(parity, level, false, min(warp + 1, Form::Warps - 1));
    }

    /* ---- the cascade ---- */

    /* A mirror: the grid's first plane reads the second one first, so its sums are opened only now. */
    CUDA_INLINE void reopen(const moment &at, int level, const plane_part &arrived, plane_part &last)
    {
        if (level > 0) {
            __syncthreads();
            publish(last, level, at.parity());
            __syncthreads();
        }
        open_sum(sums[level], arrived);
        fold(sums[level], last, row_above(at.before, level, at.parity()),
             row_below(at.before, level, at.parity()));
        if (level > 0)
            __syncthreads();
    }

    /* `arrived` is the level's plane, `last` the one before it, of which the next level's plane arrives. */
    CUDA_INLINE void cascade_level(const moment &at, int level, plane_part &arrived, plane_part &last)
    {
        const int plane = at.plane(level);

        if (Form::Keeps && edges.mirrors_first(plane))
            reopen(at, level, arrived, last);
        /* The sums of the grid's last plane were closed when they opened. */
        if (plane <= edges.last_plane)
            close(sums[level], arrived);
        if (Form::Keeps && edges.held(plane - 1))
            edges.hold_old(sums[level], last, plane - 1);
    }

    /* From level 0 down: each level's plane is complete when the one below takes its tap. */
    CUDA_INLINE void cascade(const moment &at)
    {
        plane_part arrived, last;

        load_part(arrived, at.now);
        if (Form::Keeps && (edges.held(at.plane(0) - 1) || at.plane(0) == edges.first_plane + 1))
            load_part(last, at.before);
        cascade_level(at, 0, arrived, last);
#pragma unroll
        for (int l = 1; l < FusedSteps; l++)
            cascade_level(at, l, sums[l - 1], lasts[l]);
    }

    /* ---- the fold ---- */

    CUDA_INLINE void open_sum(plane_part &sum, const plane_part &before) const
    {
#pragma unroll
        for (int r = 0; r < Rows; r++) {
#pragma unroll
            for (int j = 0; j < Pack; j++)
                sum[r][j] = opened(before[r][j]);
        }
    }

    /* A level keeps of its last plane the product that opens the next sums, or the plane itself. */
    CUDA_INLINE void keep(plane_part &last, const plane_part &plane) const
    {
#pragma unroll
        for (int r = 0; r < Rows; r++) {
#pragma unroll
            for (int j = 0; j < Pack; j++)
                last[r][j] = Form::Keeps ? plane[r][j] : opened(plane[r][j]);
        }
    }

    /* Open sums with what a level has kept. */
    CUDA_INLINE void open_with_kept(plane_part &sum, const plane_part &last) const
    {
#pragma unroll
        for (int r = 0; r < Rows; r++) {
#pragma unroll
            for (int j = 0; j < Pack; j++)
                sum[r][j] = Form::Keeps ? opened(last[r][j]) : last[r][j];
        }
    }

    /* Open the sums of the grid's first plane with the plane outside before it. */
    CUDA_INLINE void open_at_edge(plane_part &sum, const plane_part &first) const
    {
#pragma unroll
        for (int r = 0; r < Rows; r++) {
#pragma unroll
            for (int j = 0; j < Pack; j++)
                sum[r][j] = opened(edges.before_first(first[r][j]));
        }
    }

    /* Close the sums of the grid's last plane with the plane outside behind it. */
    CUDA_INLINE void close_at_edge(plane_part &sum, const plane_part &last, const plane_part &before) const
    {
#pragma unroll
        for (int r = 0; r < Rows; r++) {
#pragma unroll
            for (int j = 0; j < Pack; j++)
                sum[r][j] = link<6>(sum[r][j], edges.after_last(last[r][j], before[r][j]));
        }
    }

    /* Add the taps of a level's plane that has arrived to the same plane of the next level. */
    CUDA_INLINE void fold_level(const moment &at, int level, plane_part &arrived, const plane_part &last)
    {
        const int plane = at.plane(level);

        if (plane == edges.first_plane)
            open_at_edge(sums[level], arrived);
        fold(sums[level], arrived, row_above(at.now, level, at.parity()),
             row_below(at.now, level, at.parity()));
        if (plane == edges.last_plane)
            close_at_edge(sums[level], arrived, last);
    }

    /* From the last level up: the plane that arrived at level l is in sums[l − 1], which opens anew
     * afterwards. */
    CUDA_INLINE void fold_all(const moment &at)
    {
        plane_part arrived, last;

#pragma unroll
        for (int l = FusedSteps - 1; l > 0; l--) {
            open_with_kept(sums[l], lasts[l]);
            fold_level(at, l, sums[l - 1], lasts[l]);
            keep(lasts[l], sums[l - 1]);
        }
        load_part(last, at.before);
        open_sum(sums[0], last);
        load_part(arrived, at.now);
        fold_level(at, 0, arrived, last);
    }

    /* ---- the walk ---- */

    /* Store the plane that has arrived at the last level. */
    CUDA_INLINE void store(long long plane) const
    {
        const int x = own.x + lane * Pack;
        T *to = job.to.row(plane, own.channel, own.row + warp * Rows) + x;

        if (x < own.store_x || x >= own.store_x_end)
            return;
#pragma unroll
        for (int r = 0; r < Rows; r++) {
            const int row = own.row + warp * Rows + r;
            if (row >= own.store_row && row < own.store_row_end)
                store_pack(to + r * job.to.pitch, sums[FusedSteps - 1][r]);
        }
    }

    /* A step: cascade, exchange, fold. */
    CUDA_INLINE void take(const moment &at, long long finished)
    {
        cascade(at);
        if (finished >= own.begin)
            store(finished);
#pragma unroll
        for (int l = 1; l < FusedSteps; l++)
            publish(sums[l - 1], l, at.parity());
        __syncthreads();
        fold_all(at);
    }

    /* Walk the chunk's planes and, before and behind them, as many as there are levels, but none outside the
       grid. The ring has the plane that arrives, the one before, and the next one, which is under way. */
    CUDA_INLINE void run()
    {
        const bool wraps = job.rules.plane == STAR_WRAP;
        const long long first = wraps || own.begin > FusedSteps ? own.begin - FusedSteps : 0;
        const int steps = static_cast<int>(own.end + FusedSteps - first);
        int now = 0, next = 1, before = 2;

        /* Two planes are under way before the first step. A group is committed even if it is empty, so that
           waiting counts planes. */
        edges.place_planes(first, job.from.planes);
        const int fetched = min(steps, edges.last_plane + 1);
        fetch(first, now);
        cuda_commit_copies();
        if (1 < fetched)
            fetch(first + 1, next);
        cuda_commit_copies();
        for (int step = 0; step < steps; step++) {
            cuda_await_copies<1>();
            take({step, stage_at(now), stage_at(before)}, first + step - FusedSteps);
            if (step + 2 < fetched)
                fetch(first + step + 2, before);
            cuda_commit_copies();
            const int freed = before;
            before = now;
            now = next;
            next = freed;
        }
    }
};

template <typename Form>
__global__ void __launch_bounds__(Form::Threads, 1) star_kernel(const star_job<typename Form::T> job)
{
    CUDA_SHARED(typename Form::T, shared);

    CUDA_WHERE_SERVED (Form) {
        star_walk<Form> walk(job, shared);
        walk.run();
    }
}

/* Whether the op is a chain of taps of the seven-point star, at least one. */
static inline bool star_serves(const struct cuda_question *asked, size_t shared_bytes)
{
    if (!cuda_is_chain(asked->op))
        return cuda_refuse(asked->refusal,
                           "only linear taps: the chain of a flux, a reaction or a gradient is not one");
    if (asked->op->tap_count == 0)
        return cuda_refuse(asked->refusal, "no taps");
    for (size_t k = 0; k < asked->op->tap_count; k++) {
        if (cuda_star_index(&asked->op->taps[k]) < 0)
            return cuda_refuse(asked->refusal, "tap %d,%d,%d lies outside the seven-point star",
                               asked->op->taps[k].dx, asked->op->taps[k].drow, asked->op->taps[k].dplane);
    }
    if (shared_bytes > asked->limits->shared_per_block)
        return cuda_refuse(asked->refusal, "takes %zu bytes of shared memory a block, the device has %zu",
                           shared_bytes, asked->limits->shared_per_block);
    if (asked->shape->rows == 1)
        return cuda_refuse(asked->refusal, "planes of one row: a picture's rungs serve it");
    return true;
}

/* The op's part of the kernel's parameters. */
template <typename T> static inline star_job<T> star_job_of(const struct cuda_job *from)
{
    const struct shape grid = cuda_shape_of(from);
    const struct op *op = from->op->op;
    star_job<T> job = star_job<T>();

    for (size_t k = 0; k < op->tap_count; k++) {
        const int index = cuda_star_index(&op->taps[k]);
        job.weights[index] = static_cast<T>(op->taps[k].weight);
        job.present |= 1u << index;
    }
    job.rules.x = star_rule_of(op->edge, static_cast<long long>(grid.nx));
    job.rules.row = star_rule_of(op->edge, static_cast<long long>(grid.rows));
    job.rules.plane = star_rule_of(op->edge, static_cast<long long>(grid.planes));
    job.rules.hold = op->edge == EDGE_HOLD;
    job.rules.reach_x = op->x;
    job.rules.reach_row = op->row;
    job.rules.reach_plane = op->plane;
    job.outside = static_cast<const T *>(from->op->outside);
    return job;
}

template <typename Form> static inline cudaError_t star_launch(const struct cuda_job *from)
{
    star_job<typename Form::T> job = star_job_of<typename Form::T>(from);

    return cuda_march_launch<Form>(from, &job, star_kernel<Form>, job.rules.row == STAR_WRAP,
                                   from->form->resident_blocks);
}

/* Whether a form has to keep planes instead of products. */
static inline bool star_keeps(const struct op *op)
{
    return op->edge == EDGE_HOLD || op->edge == EDGE_MIRROR;
}

#endif
