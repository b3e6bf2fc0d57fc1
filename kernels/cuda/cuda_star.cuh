/* The walk of rung `fused` through any grid, on any device: a block streams along the planes of a volume and
 * takes every sample of its tile through several levels of a radius-1 star on the way.
 *
 * The tile is 32 lanes × Pack samples wide and Warps × Rows high; a thread owns Rows packs. Planes of level 0
 * arrive by asynchronous copies in a ring of three. When plane p of level 0 arrives, plane p − l of level l
 * arrives, too:
 *
 * - the cascade: the tap at z + 1 closes the open sums of each level. It needs no neighbours, so all levels
 * take it without a barrier: one multiply-add a sample and level.
 * - the exchange: x neighbours come by warp shuffles, y neighbours from the thread's own registers but for
 * the first and last row, which go through shared memory. One barrier a plane serves all levels.
 * - the fold: the arrived planes open the next sums with the taps of their own plane.
 *
 * A level keeps two registers a sample: the open sum, and the product of its last plane with the tap at z −
 * 1, which is what opens the next chain. This is why the chain's raster order costs nothing. Where a rule
 * asks for the last plane itself (hold, mirror), the plane is kept instead.
 *
 * Samples of the tile nearer to its border than the levels reach come out wrong and are not stored. Outside
 * the grid each level reads by the edge rule, from registers, at the time of the fold; a grid that wraps is
 * continued by the loads, and no level knows of an edge. */
#ifndef CUDA_STAR_CUH
#define CUDA_STAR_CUH

#include "cuda_walk.cuh"

#define STAR_SLOTS     3
#define STAR_ALL_LANES 0xffffffffu

/* What edge rules come to at radius 1. */
enum star_rule { STAR_NEAREST, STAR_MIRROR, STAR_CONSTANT, STAR_WRAP };

template <typename T> struct star_job {
    cuda_view<T> from, to;
    T weights[7];     /* in raster order */
    unsigned present; /* a bit a tap */
    enum star_rule rule_x, rule_row, rule_plane;
    bool hold;
    struct reach x, row, plane; /* for hold */
    const T *outside;
    long long first, end; /* planes to compute */
    long long chunk;      /* planes a block computes */
    int tiles_x, tiles_rows;
};

/* Two kinds of forms. Crowded ones have so many warps that a thread has to do with fewer registers than it
 * could use: fastest on an H100. Code has them where ptxas fits them into the registers (those that keep
 * planes, for 9.x alone) and where shared memory holds so large a tile; else the others. */
static __host__ __device__ constexpr bool star_is_crowded(int code, bool keeps)
{
    return code >= 90 && code < (keeps ? 100 : 120);
}

/* The shape of a walk: everything that the compiler must know.
 * Full: all seven taps exist. Keeps: the last plane is kept instead of its product. */
template <typename Type, int Pack_, int Rows_, int Warps_, int Levels_, bool Full_, bool Keeps_>
struct star_form {
    using T = Type;
    static constexpr int Pack = Pack_, Rows = Rows_, Warps = Warps_, Levels = Levels_;
    static constexpr bool Full = Full_, Keeps = Keeps_;
    static constexpr int Threads = 32 * Warps;
    static constexpr bool Crowded = Warps > 8;
    static constexpr int Width = 32 * Pack, Height = Rows * Warps;
    static constexpr int HaloX = (Levels + Pack - 1) / Pack * Pack;
    static constexpr int UsefulX = Width - 2 * HaloX, UsefulRows = Height - 2 * Levels;
    static constexpr int Vector = 16 / static_cast<int>(sizeof(T)); /* samples of one access */
    static constexpr int SlotSamples = Width * Height;
    static constexpr int BorderSamples = Width * Warps; /* first or last rows of all warps */
    static constexpr int ExchangeSamples = 2 * BorderSamples * (Levels - 1);
    static constexpr size_t SharedBytes = (STAR_SLOTS * SlotSamples + 2 * ExchangeSamples) * sizeof(T);
    static_assert(Pack % Vector == 0 && Rows >= 2 && UsefulX > 0 && UsefulRows > 0,
                  "a tile with something left");

    static __host__ __device__ constexpr bool serves(int code)
    {
        return star_is_crowded(code, Keeps) == Crowded;
    }
};

template <typename T> struct alignas(16) star_vector {
    T part[16 / sizeof(T)];
};

template <typename Form> struct star_walk {
    using T = typename Form::T;
    static constexpr int Pack = Form::Pack, Rows = Form::Rows, Levels = Form::Levels;
    using plane_part = T[Rows][Pack];

    const star_job<T> &job;
    T *const shared;
    const int lane, warp;
    int channel;
    int origin_x, origin_row; /* of the tile */
    int store_x, store_x_end, store_row, store_row_end;
    long long begin, end; /* planes to store */
    T outside;

    /* Where the edges of the grid lie, as this thread sees them. */
    bool rows_edge, x_edge, tile_holds, scattered;
    bool top;             /* its first row is the grid's */
    unsigned bottom;      /* a bit for the row that is the grid's last one */
    int before_x, past_x; /* columns of the tile just outside the grid; else out of range */

    /* The steps of the walk at which the grid's first and last plane arrive at level 0; else out of range. */
    int first_step, last_step;

    /* sums[l] opens level l + 1 and, from the cascade to the fold, holds the plane of it that has arrived.
       lasts[l] is of level l; level 0 has its in shared memory. */
    T sums[Levels][Rows][Pack];
    T lasts[Levels][Rows][Pack];

    CUDA_INLINE star_walk(const star_job<T> &job_, T *shared_)
        : job(job_), shared(shared_), lane(static_cast<int>(threadIdx.x) & 31),
          warp(static_cast<int>(threadIdx.x) >> 5)
    {
        long long rest = blockIdx.x;
        const int tile_x = static_cast<int>(rest % job.tiles_x);
        rest /= job.tiles_x;
        const int tile_row = static_cast<int>(rest % job.tiles_rows);
        rest /= job.tiles_rows;
        channel = static_cast<int>(rest % job.from.channels);
        rest /= job.from.channels;
        begin = job.first + rest * job.chunk;
        end = begin + job.chunk < job.end ? begin + job.chunk : job.end;
        outside = job.outside == NULL ? T(0) : job.outside[channel];
        place_x(tile_x);
        place_rows(tile_row);
        find_edges();
#pragma unroll
        for (int l = 0; l < Levels; l++) {
#pragma unroll
            for (int r = 0; r < Rows; r++) {
#pragma unroll
                for (int j = 0; j < Pack; j++)
                    sums[l][r][j] = lasts[l][r][j] = T(0);
            }
        }
    }

    CUDA_INLINE void place_x(int tile)
    {
        store_x = tile * Form::UsefulX;
        store_x_end = min(store_x + Form::UsefulX, job.from.nx);
        origin_x = store_x - Form::HaloX;
    }

    /* The first tile begins with the grid and the last one ends with it, so that edges lie at the tile's. */
    CUDA_INLINE void place_rows(int tile)
    {
        const int rows = job.from.rows;

        store_row = tile * Form::UsefulRows;
        if (job.rule_row == STAR_WRAP) {
            origin_row = store_row - Levels;
            store_row_end = min(store_row + Form::UsefulRows, rows);
            return;
        }
        origin_row = max(min(store_row, rows - Form::Height), 0);
        store_row_end = tile + 1 == job.tiles_rows ? rows : store_row + Levels + Form::UsefulRows;
        store_row = tile == 0 ? 0 : store_row + Levels;
    }

    CUDA_INLINE void find_edges()
    {
        const int nx = job.from.nx, rows = job.from.rows;
        const int first_row = origin_row + warp * Rows;

        top = job.rule_row != STAR_WRAP && first_row == 0;
        const int last_row = rows - 1 - first_row;
        bottom = job.rule_row != STAR_WRAP && last_row >= 0 && last_row < Rows ? 1u << last_row : 0;
        rows_edge = top || bottom != 0;
        before_x = job.rule_x != STAR_WRAP && origin_x < 0 ? -1 - origin_x : -1;
        past_x = job.rule_x != STAR_WRAP && origin_x + Form::Width > nx ? nx - origin_x : -1;
        x_edge = before_x >= 0 || past_x >= 0;
        tile_holds = Form::Keeps && job.hold &&
                     (origin_x <= 0 || origin_x + Form::Width >= nx || origin_row == 0 ||
                      origin_row + Form::Height >= rows);
        scattered =
            job.rule_x == STAR_WRAP && nx % Pack != 0 && (origin_x < 0 || origin_x + Form::Width > nx);
    }

    CUDA_INLINE bool plane_wraps() const
    {
        return job.rule_plane == STAR_WRAP;
    }

    /* This thread's first pack in a slot of the ring. */
    CUDA_INLINE T *slot(int ring) const
    {
        return shared + ring * Form::SlotSamples + (warp * Rows * 32 + lane) * Pack;
    }

    CUDA_INLINE T *border(int parity, int level, bool last, int of_warp) const
    {
        return shared + STAR_SLOTS * Form::SlotSamples + parity * Form::ExchangeSamples +
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

    /* Send this thread's packs of a plane on their way. What lies outside the grid, or in the padding of a
       row, may be anything. */
    CUDA_INLINE void fetch(long long plane, int ring) const
    {
        T *to = slot(ring);
        const T *base;
        int x = origin_x + lane * Pack;

        if (plane_wraps())
            plane = arith_edge_index(EDGE_WRAP, plane, job.from.planes);
        base = job.from.row(plane, channel, 0);
        if (job.rule_x == STAR_WRAP && !scattered)
            x = static_cast<int>(arith_edge_index(EDGE_WRAP, x, job.from.nx));
        x = max(min(x, static_cast<int>(job.from.pitch) - Pack), 0);
#pragma unroll
        for (int r = 0; r < Rows; r++) {
            int row = origin_row + warp * Rows + r;
            if (job.rule_row == STAR_WRAP)
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
            const int x = origin_x + lane * Pack + j;
            cuda_copy_async<sizeof(T)>(to + j, row + arith_edge_index(EDGE_WRAP, x, job.from.nx));
        }
    }

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

    /* Samples with a tap outside the grid keep the value of the level before. */
    CUDA_INLINE void hold_old(plane_part &fresh, const plane_part &old, int step) const
    {
        const bool whole = step + job.plane.low < first_step || step + job.plane.high > last_step;

#pragma unroll
        for (int r = 0; r < Rows; r++) {
            const int row = origin_row + warp * Rows + r;
            const bool whole_row = whole || row + job.row.low < 0 || row + job.row.high >= job.from.rows;
#pragma unroll
            for (int j = 0; j < Pack; j++) {
                const int x = origin_x + lane * Pack + j;
                if (whole_row || x + job.x.low < 0 || x + job.x.high >= job.from.nx)
                    fresh[r][j] = old[r][j];
            }
        }
    }

    /* What stands outside, next to `own`, whose neighbour on the other side is `opposite`. */
    static CUDA_INLINE T ghost(enum star_rule rule, T own, T opposite, T constant)
    {
        return rule == STAR_CONSTANT ? constant : rule == STAR_MIRROR ? opposite : own;
    }

    /* Put what the edge rule supplies into the columns just outside the grid. */
    CUDA_INLINE void fill_x(plane_part &part) const
    {
#pragma unroll
        for (int r = 0; r < Rows; r++) {
            if (before_x >= 0) {
                const T own = __shfl_down_sync(STAR_ALL_LANES, part[r][0], 1);
                const T opposite = __shfl_down_sync(STAR_ALL_LANES, part[r][1], 1);
                if (lane == before_x / Pack)
                    part[r][Pack - 1] = ghost(job.rule_x, own, opposite, outside);
            }
            if (past_x >= 0) {
                const T own = __shfl_up_sync(STAR_ALL_LANES, part[r][Pack - 1], 1);
                const T opposite = __shfl_up_sync(STAR_ALL_LANES, part[r][Pack - 2], 1);
                if (lane == past_x / Pack)
                    fill_past(part[r], own, opposite);
            }
        }
    }

    /* left and farther are the two samples before the pack. */
    CUDA_INLINE void fill_past(T (&pack)[Pack], T left, T farther) const
    {
        const unsigned column = 1u << past_x % Pack;

#pragma unroll
        for (int j = 0; j < Pack; j++) {
            const T own = j >= 1 ? pack[j >= 1 ? j - 1 : 0] : left;
            const T opposite = j >= 2 ? pack[j >= 2 ? j - 2 : 0] : j == 1 ? left : farther;
            if ((column >> j & 1) != 0)
                pack[j] = ghost(job.rule_x, own, opposite, outside);
        }
    }

    /* The same for rows: above the thread's first row, below its last one, or within. */
    CUDA_INLINE void fill_rows(plane_part &part, T (&above)[Pack], T (&below)[Pack]) const
    {
#pragma unroll
        for (int j = 0; j < Pack; j++) {
            if (top)
                above[j] = ghost(job.rule_row, part[0][j], part[1][j], outside);
            if ((bottom >> (Rows - 1) & 1) != 0)
                below[j] = ghost(job.rule_row, part[Rows - 1][j], part[Rows - 2][j], outside);
#pragma unroll
            for (int r = 0; r < Rows - 1; r++) {
                if ((bottom >> r & 1) != 0)
                    part[r + 1][j] = ghost(job.rule_row, part[r][j],
                                           r > 0 ? part[r > 0 ? r - 1 : 0][j] : above[j], outside);
            }
        }
    }

    /* The taps of the arrived plane itself, x and y. */
    CUDA_INLINE void fold(plane_part &sum, plane_part &arrived, const T *above_row, const T *below_row) const
    {
        T above[Pack], below[Pack];

        load_pack(above, above_row);
        load_pack(below, below_row);
        if (rows_edge)
            fill_rows(arrived, above, below);
        if (x_edge)
            fill_x(arrived);
#pragma unroll
        for (int r = 0; r < Rows; r++) {
            const T left = __shfl_up_sync(STAR_ALL_LANES, arrived[r][Pack - 1], 1);
            const T right = __shfl_down_sync(STAR_ALL_LANES, arrived[r][0], 1);
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

    /* The rows that other warps have published, or that a slot holds. Beyond the tile any row will do. */
    CUDA_INLINE const T *row_above(const T *now, int level, int parity) const
    {
        if (level == 0)
            return warp > 0 ? now - Form::Width : now;
        return border(parity, level, true, max(warp - 1, 0));
    }
    CUDA_INLINE const T *row_below(const T *now, int level, int parity) const
    {
        if (level == 0)
            return now + (warp < Form::Warps - 1 ? Rows : Rows - 1) * Form::Width;
        return border(parity, level, false, min(warp + 1, Form::Warps - 1));
    }

    CUDA_INLINE void publish(const plane_part &part, int level, int parity) const
    {
        store_pack(border(parity, level, false, warp), part[0]);
        store_pack(border(parity, level, true, warp), part[Rows - 1]);
    }

    /* EDGE_MIRROR: plane 0 reads plane 1 first, so its sum can open only when plane 1 has arrived. */
    CUDA_INLINE void reopen(int level, const plane_part &arrived, plane_part &last, const T *before,
                            int parity)
    {
        if (level > 0) {
            __syncthreads();
            publish(last, level, parity);
            __syncthreads();
        }
#pragma unroll
        for (int r = 0; r < Rows; r++) {
#pragma unroll
            for (int j = 0; j < Pack; j++)
                sums[level][r][j] = opened(arrived[r][j]);
        }
        fold(sums[level], last, row_above(before, level, parity), row_below(before, level, parity));
        if (level > 0)
            __syncthreads();
    }

    /* Some sample of the block in a level's plane is held. Steps count that level's planes from the walk's
     * first. */
    CUDA_INLINE bool held(int step) const
    {
        return job.hold && (tile_holds || step <= first_step || step >= last_step);
    }

    CUDA_INLINE void cascade_level(int level, int step, plane_part &arrived, plane_part &last,
                                   const T *before, int parity)
    {
        if (Form::Keeps && job.rule_plane == STAR_MIRROR && step - level == first_step + 1)
            reopen(level, arrived, last, before, parity);
        /* The sums of the grid's last plane were closed when they opened. */
        if (step - level <= last_step)
            close(sums[level], arrived);
        if (Form::Keeps && held(step - level - 1))
            hold_old(sums[level], last, step - level - 1);
    }

    CUDA_INLINE void cascade(int step, const T *now, const T *before, int parity)
    {
        plane_part arrived, last;

        load_part(arrived, now);
        if (Form::Keeps && (held(step - 1) || step == first_step + 1))
            load_part(last, before);
        cascade_level(0, step, arrived, last, before, parity);
#pragma unroll
        for (int l = 1; l < Levels; l++)
            cascade_level(l, step, sums[l - 1], lasts[l], before, parity);
    }

    /* Open the sums of `level` + 1, which hold what starts the chain, with the plane of `level` that has
     * arrived. */
    CUDA_INLINE void open_level(int level, int step, plane_part &arrived, const plane_part &last,
                                const T *above, const T *below)
    {
        if (step - level == first_step) {
#pragma unroll
            for (int r = 0; r < Rows; r++) {
#pragma unroll
                for (int j = 0; j < Pack; j++)
                    sums[level][r][j] = opened(job.rule_plane == STAR_CONSTANT ? outside : arrived[r][j]);
            }
        }
        fold(sums[level], arrived, above, below);
        if (step - level == last_step) {
#pragma unroll
            for (int r = 0; r < Rows; r++) {
#pragma unroll
                for (int j = 0; j < Pack; j++)
                    sums[level][r][j] =
                        link<6>(sums[level][r][j], ghost(job.rule_plane, arrived[r][j], last[r][j], outside));
            }
        }
    }

    CUDA_INLINE void start(plane_part &sum, const plane_part &last, bool product) const
    {
#pragma unroll
        for (int r = 0; r < Rows; r++) {
#pragma unroll
            for (int j = 0; j < Pack; j++)
                sum[r][j] = product ? last[r][j] : opened(last[r][j]);
        }
    }

    CUDA_INLINE void remember(plane_part &last, const plane_part &arrived) const
    {
#pragma unroll
        for (int r = 0; r < Rows; r++) {
#pragma unroll
            for (int j = 0; j < Pack; j++)
                last[r][j] = Form::Keeps ? arrived[r][j] : opened(arrived[r][j]);
        }
    }

    CUDA_INLINE void open(int step, const T *now, const T *before, int parity)
    {
        plane_part arrived, last;

#pragma unroll
        for (int l = Levels - 1; l > 0; l--) {
            start(sums[l], lasts[l], !Form::Keeps);
            open_level(l, step, sums[l - 1], lasts[l], row_above(now, l, parity), row_below(now, l, parity));
            remember(lasts[l], sums[l - 1]);
        }
        load_part(last, before);
        start(sums[0], last, false);
        load_part(arrived, now);
        open_level(0, step, arrived, last, row_above(now, 0, parity), row_below(now, 0, parity));
    }

    CUDA_INLINE void store(long long plane) const
    {
        const int x = origin_x + lane * Pack;
        T *to = job.to.row(plane, channel, origin_row + warp * Rows) + x;

        if (x < store_x || x >= store_x_end)
            return;
#pragma unroll
        for (int r = 0; r < Rows; r++) {
            const int row = origin_row + warp * Rows + r;
            if (row >= store_row && row < store_row_end)
                store_pack(to + r * job.to.pitch, sums[Levels - 1][r]);
        }
    }

    CUDA_INLINE void take(int step, long long finished, int now, int before, int parity)
    {
        cascade(step, slot(now), slot(before), parity);
        if (finished >= begin)
            store(finished);
#pragma unroll
        for (int l = 1; l < Levels; l++)
            publish(sums[l - 1], l, parity);
        __syncthreads();
        open(step, slot(now), slot(before), parity);
    }

    CUDA_INLINE void run()
    {
        const int never = 0x40000000;
        const long long planes = job.from.planes;
        const long long first = plane_wraps() || begin > Levels ? begin - Levels : 0;
        const int steps = static_cast<int>(end + Levels - first);
        int fetched = steps, now = 0, next = 1, before = 2;

        first_step = plane_wraps() || first > 0 ? -never : 0;
        last_step =
            plane_wraps() || planes - 1 - first > never ? never : static_cast<int>(planes - 1 - first);
        fetched = min(steps, last_step + 1);
        fetch(first, now);
        cuda_commit_copies();
        if (1 < fetched)
            fetch(first + 1, next);
        cuda_commit_copies();
        for (int step = 0; step < steps; step++) {
            cuda_await_copies<1>();
            take(step, first + step - Levels, now, before, step & 1);
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

    if (!cuda_code_has<Form>())
        return;
    star_walk<Form> walk(job, shared);
    walk.run();
}

static inline enum star_rule star_rule_of(enum edge_rule rule, long long extent)
{
    switch (rule) {
    case EDGE_MIRROR:
        return extent > 1 ? STAR_MIRROR : STAR_NEAREST;
    case EDGE_WRAP:
        return STAR_WRAP;
    case EDGE_CONSTANT:
        return STAR_CONSTANT;
    default:
        return STAR_NEAREST; /* of hold no ghost is ever stored */
    }
}

/* The op is a chain of taps of the seven-point star, at least one. */
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

/* How many tiles of a form cover the rows. */
template <typename Form> static inline int star_row_tiles(int rows, bool wraps)
{
    if (wraps)
        return static_cast<int>(cuda_ceil_divide(rows, Form::UsefulRows));
    return rows <= Form::Height
               ? 1
               : static_cast<int>(cuda_ceil_divide(rows - 2 * Form::Levels, Form::UsefulRows));
}

/* Longer walks drift apart, and what neighbouring blocks share is no longer in L2: 255 × 1023 × 511 in f32
   ran at 364 GCells/s in one walk of all planes on an H200, and at 435 in walks of 64. */
#define STAR_MOST_PLANES 64

/* The planes of a chunk, which walks 2 · Levels planes more. Blocks do not end together, edge tiles being
   slower, so that a round is lost at the end, whatever fits. */
template <typename Form>
static inline long long star_chunk(long long planes, long long columns, long long slots)
{
    return cuda_walk_chunk(planes, STAR_MOST_PLANES, [=](long long chunk, long long chunks) {
        const double rounds = static_cast<double>(columns * chunks) / static_cast<double>(slots);
        return (rounds < 1 ? 1 : rounds + 1) * static_cast<double>(chunk + 2 * Form::Levels);
    });
}

/* The launch of a form: blocks of chunks over columns of tiles. */
template <typename Form> static inline star_job<typename Form::T> star_job_of(const struct cuda_job *from)
{
    using T = typename Form::T;
    const struct op *op = from->op->op;
    star_job<T> job = star_job<T>();

    job.from = *static_cast<const cuda_view<T> *>(from->from);
    job.to = *static_cast<const cuda_view<T> *>(from->to);
    for (size_t k = 0; k < op->tap_count; k++) {
        const int index = cuda_star_index(&op->taps[k]);
        job.weights[index] = static_cast<T>(op->taps[k].weight);
        job.present |= 1u << index;
    }
    job.rule_x = star_rule_of(op->edge, job.from.nx);
    job.rule_row = star_rule_of(op->edge, job.from.rows);
    job.rule_plane = star_rule_of(op->edge, job.from.planes);
    job.hold = op->edge == EDGE_HOLD;
    job.x = op->x;
    job.row = op->row;
    job.plane = op->plane;
    job.outside = static_cast<const T *>(from->op->outside);
    job.first = static_cast<long long>(from->planes.first);
    job.end = job.first + static_cast<long long>(from->planes.count);
    job.tiles_x = static_cast<int>(cuda_ceil_divide(job.from.nx, Form::UsefulX));
    job.tiles_rows = star_row_tiles<Form>(job.from.rows, job.rule_row == STAR_WRAP);
    return job;
}

template <typename Form> static inline cudaError_t star_launch(const struct cuda_job *from)
{
    star_job<typename Form::T> job = star_job_of<Form>(from);
    const long long planes = job.end - job.first;
    const long long columns = static_cast<long long>(job.tiles_x) * job.tiles_rows * job.from.channels;
    auto kernel = star_kernel<Form>;
    cudaError_t status = cuda_permit_shared(kernel, Form::SharedBytes);

    if (status != cudaSuccess || planes == 0)
        return status;
    job.chunk = from->form->resident_blocks > 0
                    ? star_chunk<Form>(planes, columns, from->form->resident_blocks)
                    : from->form->coarsen;
    return CUDA_LAUNCH(from->stream, dim3(cuda_blocks(columns * cuda_ceil_divide(planes, job.chunk))),
                       dim3(Form::Threads), Form::SharedBytes, kernel, job);
}

/* What the launch of a form looks like on a device. */
template <typename Form>
static inline void star_describe(const struct cuda_question *asked, struct cuda_form *form)
{
    const long long columns =
        cuda_ceil_divide(static_cast<long long>(asked->shape->nx), Form::UsefulX) *
        star_row_tiles<Form>(static_cast<int>(asked->shape->rows), asked->op->edge == EDGE_WRAP) *
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
                        : static_cast<int>(star_chunk<Form>(planes, columns, form->resident_blocks));
    form->stride = 1;
    form->steps = Form::Levels;
    form->reach = 1;
    form->grid = dim3(cuda_blocks(columns * cuda_ceil_divide(planes, form->coarsen)));
    form->block = dim3(Form::Threads);
    form->shared_bytes = Form::SharedBytes;
    form->kernel = reinterpret_cast<const void *>(&star_kernel<Form>);
    form->bytes_per_update = 2.0 * sizeof(typename Form::T) / Form::Levels;
    form->operations_per_update = cuda_operations(asked->op) * overlap;
}

/* Whether a form has to keep planes instead of products. */
static inline bool star_keeps(const struct op *op)
{
    return op->edge == EDGE_HOLD || op->edge == EDGE_MIRROR;
}

#endif
