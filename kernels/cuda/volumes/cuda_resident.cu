/* Rung `resident`, for volumes that the registers of the whole device hold.
 *
 * Known as: persistent kernel, cooperative launch, register blocking over time.
 * Idea: a launch takes hundreds of steps. Each block keeps its tile in registers from the first step to the
 *   last; between blocks only the borders of tiles travel, through L2.
 * Adds: all blocks run at once, and each raises a signal that its neighbours await. Tiles are as wide as the
 *   grid; they overlap by `depth` rows and planes, so that signals are awaited every `depth` steps.
 * Costs: what overlaps is computed more than once; the way of a border from block to block takes a few
 *   thousand cycles, which nothing hides.
 * Traffic per sample: 2 words through memory a launch.
 * Wins when: a pass of the walks takes little longer than its launch and the way through its first planes.
 *
 * A thread owns one pack (16 bytes) of a row, in all planes of its block's tile. A step: all threads show
 * their packs in shared memory and meet at a barrier; then each computes its planes from first to last. It
 * has the planes before and after in registers, gets the samples beside its pack by warp shuffles, and reads
 * the rows above and below where other threads have shown them. A second barrier keeps the next step from
 * overwriting what a thread still reads.
 *
 * Each step spoils one more row and plane at the sides where a tile meets others. After `depth` steps a block
 * publishes its own samples that others read, raises its signal, waits for those of the eight tiles around
 * it, and receives their samples. Borders have two fields, used in turn: a block can be ahead of a neighbour
 * by one round, never by two, so it does not overwrite what that neighbour has yet to read. All blocks must
 * be resident at once, or the wait would never end: hence the cooperative launch.
 *
 * At the grid's ends nothing is spoiled: ghost() puts there what the edge rule says. */
#include "cuda_tma_walk.cuh"

#include <algorithm>

#define RESIDENT_MOST_THREADS 512 /* which leaves each 128 registers */

/* In words: each signal has a cache line of its own, so that polling one does not slow raising another. */
#define RESIDENT_SIGNAL_STRIDE 32

/* The most planes of a thread. In f64, addresses and sums take registers that planes have in f32; from 10.0
   on, ptxas needs more in f32, too. For 8.6 to 8.9, f64 spills with eleven planes under mirror, and with
   ten and nine under constant, but not with twelve. */
static __host__ __device__ constexpr int resident_most_planes(size_t sample_bytes, int code)
{
    if (sample_bytes == 8)
        return code > 80 && code < 90 ? 12 : 11;
    return code >= 100 ? 13 : 15;
}

/* How the grid is cut into tiles: each channel's rows and planes into ranges. */
struct resident_cut {
    int tiles_row, tiles_plane;
    int depth; /* steps between exchanges; also the rows and planes of each neighbour that a tile computes,
                  too */
};

/* Planes: the most that a thread has. */
template <typename Type, tma_rule Rule_, int Planes_> struct resident_form {
    using T = Type;
    static constexpr tma_rule Rule = Rule_;
    static constexpr int Planes = Planes_;
    static constexpr int Pack = cuda_pack_of<T>::samples;

    /* Shared memory has each plane's packs, by thread, and one pack of samples outside the grid. */
    static constexpr int ShownPlane = (RESIDENT_MOST_THREADS + 1) * Pack;
    static constexpr size_t SharedBytes = Planes * ShownPlane * sizeof(T);

    static __host__ __device__ constexpr bool serves(int code)
    {
        return Planes == resident_most_planes(sizeof(T), code);
    }
};

template <typename T> struct resident_job {
    cuda_view<T> from, to;
    T *borders;        /* two fields of whole packs, of the planes that are computed */
    unsigned *signals; /* of each tile: the number of its last round */
    T weights[7];      /* in raster order */
    bool hold;
    const T *outside; /* TMA_CONSTANT: a value for each channel */
    int steps;
    int packs; /* in a row */
    struct resident_cut cut;
    int begin, end;               /* planes that are computed, of the grid */
    int stored_begin, stored_end; /* the planes among them that are written */
};

/* The range of a tile along an axis: its own indices, and all with those that it shares with its neighbours.
 */
struct resident_span {
    int own, own_end;
    int begin, end;

    CUDA_INLINE resident_span(int index, int tiles, int depth, int extent)
        : own(static_cast<int>(static_cast<long long>(index) * extent / tiles)),
          own_end(static_cast<int>(static_cast<long long>(index + 1) * extent / tiles)),
          begin(max(own - depth, 0)), end(min(own_end + depth, extent))
    {
    }

    /* The range that is still right after a number of steps since the last exchange: each step takes one
       index, but not at the grid's ends. */
    CUDA_INLINE int right_begin(int steps) const
    {
        return begin == 0 ? 0 : begin + steps;
    }
    CUDA_INLINE int right_end(int steps, int extent) const
    {
        return end == extent ? extent : end - steps;
    }

    /* Whether a neighbour reads an index of its own. */
    CUDA_INLINE bool is_read(int index, int depth, int extent) const
    {
        return (own > 0 && index < own + depth) || (own_end < extent && index >= own_end - depth);
    }
    CUDA_INLINE bool owns(int index) const
    {
        return index >= own && index < own_end;
    }
};

template <typename Form> struct resident_walk {
    using T = typename Form::T;
    static constexpr int Pack = Form::Pack, Planes = Form::Planes;
    using pack = T[Pack];

    const resident_job<T> &job;
    T *const shown;
    const int thread, lane, warp;
    const int tile_row, tile_plane, channel;
    const resident_span rows, planes; /* planes: counted from job.begin */
    const int x, row;                 /* of this thread's packs; the row may lie beyond the tile */
    const int last;                   /* the grid's last column, counted from x */
    pack state[Planes];               /* planes.begin and on */

    CUDA_INLINE resident_walk(const resident_job<T> &job_, T *shared)
        : job(job_), shown(shared), thread(static_cast<int>(threadIdx.x)), lane(thread % CUDA_WARP),
          warp(thread / CUDA_WARP), tile_row(static_cast<int>(blockIdx.x)),
          tile_plane(static_cast<int>(blockIdx.y)), channel(static_cast<int>(blockIdx.z)),
          rows(tile_row, job.cut.tiles_row, job.cut.depth, job.from.rows),
          planes(tile_plane, job.cut.tiles_plane, job.cut.depth, job.end - job.begin),
          x(thread % job.packs * Pack), row(rows.begin + thread / job.packs), last(job.from.nx - 1 - x)
    {
    }

    CUDA_INLINE int extent() const
    {
        return job.end - job.begin;
    }
    CUDA_INLINE bool exists() const
    {
        return row < rows.end;
    }
    /* Whether a plane is the grid's first or last one. */
    CUDA_INLINE bool is_first(int plane) const
    {
        return job.begin + plane == 0;
    }
    CUDA_INLINE bool is_last(int plane) const
    {
        return job.begin + plane + 1 == job.from.planes;
    }

    /* ---- between blocks ---- */

    /* This thread's pack of a plane in one of the two fields of borders. */
    CUDA_INLINE T *border(int plane, unsigned round) const
    {
        const long long planes_before =
            (round % 2 * static_cast<long long>(extent()) + plane) * job.from.channels + channel;

        return job.borders + ((planes_before * job.from.rows + row) * job.packs) * Pack + x;
    }

    /* Write this thread's samples that other tiles read to memory. */
    CUDA_INLINE void publish(unsigned round) const
    {
        const bool read = rows.is_read(row, job.cut.depth, job.from.rows);

#pragma unroll
        for (int p = 0; p < Planes; p++) {
            const int plane = planes.begin + p;
            if (rows.owns(row) && planes.owns(plane) &&
                (read || planes.is_read(plane, job.cut.depth, extent())))
                cuda_put(border(plane, round), state[p]);
        }
    }

    /* Read the samples of other tiles anew. */
    CUDA_INLINE void receive(unsigned round)
    {
#pragma unroll
        for (int p = 0; p < Planes; p++) {
            const int plane = planes.begin + p;
            if (exists() && plane < planes.end && !(rows.owns(row) && planes.owns(plane)))
                cuda_load_signalled(border(plane, round), state[p]);
        }
    }

    CUDA_INLINE unsigned *signal_of(int of_row, int of_plane) const
    {
        const int tiles_before = (channel * job.cut.tiles_plane + of_plane) * job.cut.tiles_row + of_row;

        return job.signals + tiles_before * RESIDENT_SIGNAL_STRIDE;
    }

    /* One thread for each of the nine tiles around. */
    CUDA_INLINE void await_neighbours(unsigned round) const
    {
        const int of_row = tile_row + thread % 3 - 1, of_plane = tile_plane + thread / 3 - 1;

        if (thread < 9 && of_row >= 0 && of_row < job.cut.tiles_row && of_plane >= 0 &&
            of_plane < job.cut.tiles_plane)
            cuda_await_signal(signal_of(of_row, of_plane), round);
    }

    CUDA_INLINE void exchange(unsigned round)
    {
        publish(round);
        __syncthreads(); /* all threads have published before one raises the signal */
        if (thread == 0)
            cuda_raise_signal(signal_of(tile_row, tile_plane), round);
        await_neighbours(round);
        __syncthreads(); /* nine threads have waited for all */
        receive(round);
    }

    /* ---- between threads ---- */

    CUDA_INLINE T *shown_plane(int p) const
    {
        return shown + p * Form::ShownPlane;
    }

    /* The place of the pack outside the grid in a shown plane. */
    static constexpr int beyond = RESIDENT_MOST_THREADS * Pack;

    CUDA_INLINE T outside() const
    {
        return Form::Rule == TMA_CONSTANT ? job.outside[channel] : T(0);
    }

    CUDA_INLINE void show_outside() const
    {
        pack constant;

#pragma unroll
        for (int j = 0; j < Pack; j++)
            constant[j] = outside();
        if (Form::Rule == TMA_CONSTANT && thread < Planes)
            cuda_put(shown_plane(thread) + beyond, constant);
    }

    CUDA_INLINE void show() const
    {
#pragma unroll
        for (int p = 0; p < Planes; p++) {
            if (planes.begin + p < planes.end)
                cuda_put(shown_plane(p) + thread * Pack, state[p]);
        }
    }

    /* The samples beside this thread's pack: in a register of the next lane, by a warp shuffle, but at the
       ends of a warp in shared memory. At the ends of a row they are anything, and ghost() replaces them. */
    CUDA_INLINE T left_of(int p) const
    {
        const T beside = __shfl_up_sync(CUDA_ALL_LANES, state[p][Pack - 1], 1);

        return lane > 0 || warp == 0 ? beside : shown_plane(p)[thread * Pack - 1];
    }
    CUDA_INLINE T right_of(int p) const
    {
        const T beside = __shfl_down_sync(CUDA_ALL_LANES, state[p][0], 1);

        return lane < CUDA_WARP - 1 || thread + 1 == static_cast<int>(blockDim.x)
                   ? beside
                   : shown_plane(p)[thread * Pack + Pack];
    }

    /* The place of the row above or below in a shown plane. Rows at the tile's border read themselves
       instead: they come out wrong, and nobody uses them. */
    CUDA_INLINE int place_beside(int step) const
    {
        const int beside = row + step;
        const bool out = beside < 0 || beside >= job.from.rows;
        const int from = thread + (!out ? step : Form::Rule == TMA_MIRROR ? -step : 0) * job.packs;

        if (out && Form::Rule == TMA_CONSTANT)
            return beyond;
        return (from < 0 || from >= static_cast<int>(blockDim.x) ? thread : from) * Pack;
    }

    /* ---- a step ---- */

    /* The sample outside the grid beside `own`, whose neighbour inside is `opposite`. */
    CUDA_INLINE T ghost(T own, T opposite) const
    {
        return Form::Rule == TMA_CONSTANT ? outside() : Form::Rule == TMA_MIRROR ? opposite : own;
    }
    CUDA_INLINE void ghost_pack(pack &to, const pack &own, const pack &opposite) const
    {
#pragma unroll
        for (int j = 0; j < Pack; j++)
            to[j] = ghost(own[j], opposite[j]);
    }

    /* A select instead of a branch: both values are in registers first. */
    static CUDA_INLINE void choose(T &value, bool other, T otherwise)
    {
        const T one = cuda_in_register(value), two = cuda_in_register(otherwise);

        value = other ? two : one;
    }

    /* A pack with its neighbours in x, the first and the last one. */
    CUDA_INLINE void widen(T (&wide)[Pack + 2], int p) const
    {
        wide[0] = left_of(p);
        wide[Pack + 1] = right_of(p);
#pragma unroll
        for (int j = 0; j < Pack; j++)
            wide[j + 1] = state[p][j];
        choose(wide[0], x == 0, ghost(wide[1], wide[2]));
#pragma unroll
        for (int j = 0; j < Pack; j++)
            choose(wide[j + 2], j == last, ghost(wide[j + 1], wide[j]));
    }

    /* The seven taps in raster order. */
    CUDA_INLINE void chain(pack &sum, const pack &before, const pack &above, const T (&wide)[Pack + 2],
                           const pack &below, const pack &after) const
    {
#pragma unroll
        for (int j = 0; j < Pack; j++) {
            T value = cuda_fma(job.weights[1], above[j], job.weights[0] * before[j]);
            value = cuda_fma(job.weights[2], wide[j], value);
            value = cuda_fma(job.weights[3], wide[j + 1], value);
            value = cuda_fma(job.weights[4], wide[j + 2], value);
            value = cuda_fma(job.weights[5], below[j], value);
            sum[j] = cuda_fma(job.weights[6], after[j], value);
        }
    }
    /* Samples with a tap outside the grid keep their values. */
    CUDA_INLINE void hold(pack &fresh, int p) const
    {
        const int plane = planes.begin + p;
        const bool all = is_first(plane) || is_last(plane) || row == 0 || row + 1 == job.from.rows;

#pragma unroll
        for (int j = 0; j < Pack; j++) {
            if (all || (j == 0 && x == 0) || j == last)
                fresh[j] = state[p][j];
        }
    }

    /* Advance a plane in place. `before` is the plane before it as it was before the step, and becomes this
     * one's. */
    CUDA_INLINE void advance_plane(int p, pack &before, int above_at, int below_at)
    {
        const int next = p + 1 < Planes ? p + 1 : p, plane = planes.begin + p;
        T wide[Pack + 2];
        pack above, below, after, fresh;

        widen(wide, p);
        cuda_copy(after, state[next]);
        if (is_last(plane))
            ghost_pack(after, state[p], before);
        cuda_load_packs<Pack>(shown_plane(p) + above_at, above);
        cuda_load_packs<Pack>(shown_plane(p) + below_at, below);
        chain(fresh, before, above, wide, below, after);
        if (job.hold)
            hold(fresh, p);
        cuda_copy(before, state[p]);
        cuda_copy(state[p], fresh);
    }

    /* A step, `taken` steps after an exchange. Planes that have been spoiled are skipped. */
    CUDA_INLINE void advance(int taken)
    {
        const int begin = planes.right_begin(taken + 1), end = planes.right_end(taken + 1, extent());
        const int above_at = place_beside(-1), below_at = place_beside(1);
        pack before;

        ghost_pack(before, state[0], state[1]);
#pragma unroll
        for (int p = 0; p < Planes; p++) {
            if (planes.begin + p >= begin && planes.begin + p < end)
                advance_plane(p, before, above_at, below_at);
            else
                cuda_copy(before, state[p]);
        }
    }

    /* Whether a lane of the warp has a row that is right after the step. */
    CUDA_INLINE bool has_work(int taken) const
    {
        return __any_sync(CUDA_ALL_LANES, row >= rows.right_begin(taken + 1) &&
                                              row < rows.right_end(taken + 1, job.from.rows)) != 0;
    }

    CUDA_INLINE void step(int taken)
    {
        show();
        __syncthreads();
        if (has_work(taken))
            advance(taken);
        __syncthreads();
    }

    /* ---- from the first step to the last ---- */

    CUDA_INLINE void load()
    {
#pragma unroll
        for (int p = 0; p < Planes; p++) {
            cuda_fill(state[p], T(0));
            if (exists() && planes.begin + p < planes.end)
                cuda_load_packs<Pack>(job.from.row(job.begin + planes.begin + p, channel, row) + x, state[p]);
        }
    }

    CUDA_INLINE void store() const
    {
#pragma unroll
        for (int p = 0; p < Planes; p++) {
            const int plane = job.begin + planes.begin + p;
            if (rows.owns(row) && planes.owns(planes.begin + p) && plane >= job.stored_begin &&
                plane < job.stored_end)
                cuda_put(job.to.row(plane, channel, row) + x, state[p]);
        }
    }

    CUDA_INLINE void run()
    {
        unsigned round = 0;
        int taken = 0;

        show_outside();
        load();
#pragma unroll 1
        for (int done = 0; done < job.steps; done++) {
            if (taken == job.cut.depth) {
                exchange(++round);
                taken = 0;
            }
            step(taken++);
        }
        store();
    }
};

template <typename Form>
__global__ void __launch_bounds__(RESIDENT_MOST_THREADS, 1)
    resident_kernel(const __grid_constant__ resident_job<typename Form::T> job)
{
    CUDA_SHARED(typename Form::T, shared);

    CUDA_WHERE_SERVED (Form) {
        resident_walk<Form> walk(job, shared);
        walk.run();
    }
}

/* ---- the host ---- */

#define MOST_STEPS 256 /* of a launch: between launches the host can stop */
#define MOST_DEPTH 8

/* Prices in cycles, for the choice of a cut: a scheduler's time for a warp's packs of a plane; a plane's
   time, however few warps there are; a step's, planes apart; an exchange's, and that of each plane of it.
   Fitted to measurements on an H200: 64³ and 128³, cut in seven ways. */
#define PACK_CYCLES           75.0
#define PLANE_CYCLES          175.0
#define STEP_CYCLES           880.0
#define EXCHANGE_CYCLES       3000.0
#define EXCHANGE_PLANE_CYCLES 200.0

/* ---- cuts ---- */

/* The extents that a launch computes. */
struct resident_grid {
    int packs, rows, planes, channels;
    int most_planes; /* of a thread */
};

/* An axis that is cut, as a tile sees it in the worst case. */
struct resident_side {
    int own, least; /* indices of the largest tile and of the smallest */
    int halos;      /* sides at which there are other tiles: 0 to 2 */
};

/* The largest and the smallest range of an axis, and its neighbours. */
static struct resident_side side_of(int extent, int tiles)
{
    return {static_cast<int>(cuda_ceil_divide(extent, tiles)), extent / tiles, std::min(tiles, 3) - 1};
}

/* Cycles of a step, on average, of a multiprocessor with the largest tile; 0 where it does not hold the tile.
 */
static double cycles_of(const struct resident_grid &grid, const struct resident_side &rows,
                        const struct resident_side &planes, int depth)
{
    const bool overlaps =
        (rows.halos == 0 || rows.least >= depth) && (planes.halos == 0 || planes.least >= depth);
    double cycles = 0;

    if (!overlaps || planes.own + planes.halos * depth > grid.most_planes ||
        static_cast<long long>(grid.packs) * (rows.own + rows.halos * depth) > RESIDENT_MOST_THREADS)
        return 0;
    /* Each step after an exchange computes one index less on every side with a neighbour. */
    for (int left = 0; left < depth; left++) {
        const int warps =
            static_cast<int>(cuda_ceil_divide(grid.packs * (rows.own + rows.halos * left), CUDA_WARP));
        const double plane = std::max(PACK_CYCLES * cuda_ceil_divide(warps, 4), PLANE_CYCLES);
        cycles += (planes.own + planes.halos * left) * plane + STEP_CYCLES;
    }
    if (rows.halos + planes.halos > 0)
        cycles += EXCHANGE_CYCLES + EXCHANGE_PLANE_CYCLES * (planes.own + planes.halos * depth);
    return cycles / depth;
}

/* The fastest cut of a grid among those of a number of tiles along the planes. */
static double cut_rows(const struct resident_grid &grid, int blocks, int tiles_plane,
                       struct resident_cut *best, double least)
{
    const struct resident_side planes = side_of(grid.planes, tiles_plane);

    for (int tiles_row = 1; tiles_row <= std::min(grid.rows, blocks / tiles_plane); tiles_row++) {
        const struct resident_side rows = side_of(grid.rows, tiles_row);
        for (int depth = 1; depth <= MOST_DEPTH; depth++) {
            const double cycles = cycles_of(grid, rows, planes, depth);
            if (cycles > 0 && (least == 0 || cycles < least)) {
                least = cycles;
                *best = {tiles_row, tiles_plane, depth};
            }
        }
    }
    return least;
}

/* The fastest cut of a grid into no more tiles than there are blocks, and the cycles that a step takes then;
   0 where none holds the grid. */
static double cut_grid(const struct resident_grid &grid, int blocks, struct resident_cut *cut)
{
    const int for_channel = blocks / grid.channels;
    double least = 0;

    for (int tiles_plane = 1; tiles_plane <= std::min(grid.planes, for_channel); tiles_plane++)
        least = cut_rows(grid, for_channel, tiles_plane, cut, least);
    return least;
}

static dim3 blocks_of(const struct resident_grid &grid, const struct resident_cut &cut)
{
    return dim3(static_cast<unsigned>(cut.tiles_row), static_cast<unsigned>(cut.tiles_plane),
                static_cast<unsigned>(grid.channels));
}

/* A thread for each pack of the highest tile's rows. */
static dim3 threads_of(const struct resident_grid &grid, const struct resident_cut &cut)
{
    const struct resident_side rows = side_of(grid.rows, cut.tiles_row);

    return dim3(static_cast<unsigned>(
        cuda_ceil_divide(grid.packs * (rows.own + rows.halos * cut.depth), CUDA_WARP) * CUDA_WARP));
}

/* ---- forms ---- */

template <typename T, int Planes, typename Act> static auto choose_rule(const struct op *op, Act act)
{
    switch (tma_rule_of(op, 1)) {
    case TMA_MIRROR:
        return act(resident_form<T, TMA_MIRROR, Planes>());
    case TMA_CONSTANT:
        return act(resident_form<T, TMA_CONSTANT, Planes>());
    default:
        return act(resident_form<T, TMA_NEAREST, Planes>());
    }
}

/* Call act with the form that an op needs in code for a compute capability. */
template <typename T, typename Act> static auto choose(int code, const struct op *op, const Act &act)
{
    if (code > 80 && code < 90)
        return choose_rule<T, resident_most_planes(sizeof(T), 86)>(op, act);
    if (code >= 100)
        return choose_rule<T, resident_most_planes(sizeof(T), 100)>(op, act);
    return choose_rule<T, resident_most_planes(sizeof(T), 90)>(op, act);
}

static int packs_of(size_t nx, enum work_type work)
{
    return static_cast<int>(
        cuda_ceil_divide(static_cast<long long>(nx), 16 / static_cast<int>(work_size(work))));
}

static size_t signal_bytes(const struct cuda_limits *limits)
{
    return static_cast<size_t>(limits->multiprocessors) * RESIDENT_SIGNAL_STRIDE * sizeof(unsigned);
}

/* Whether the op and the grid are of the kind that the rung serves, whatever their size. */
static bool serves(const struct cuda_question *asked)
{
    const struct op *op = asked->op;
    const struct shape *shape = asked->shape;

    if (!cuda_is_star(op, 1))
        return cuda_refuse(asked->refusal, "only all seven taps of the star");
    if (op->edge == EDGE_WRAP)
        return cuda_refuse(asked->refusal, "tiles at opposite ends of the grid are no neighbours");
    if (op->edge == EDGE_MIRROR && (shape->nx == 1 || shape->rows == 1 || shape->planes == 1))
        return cuda_refuse(asked->refusal, "a mirror needs two samples along each axis");
    if (asked->wish->steps == 1)
        return cuda_refuse(asked->refusal, "one step a pass");
    return true;
}

static struct resident_grid grid_of(const struct cuda_question *asked)
{
    const struct shape *shape = asked->shape;
    /* Larger extents fit nowhere, and must not overflow. */
    const auto limited = [](size_t extent) { return static_cast<int>(std::min(extent, (size_t)1 << 24)); };

    return {packs_of(static_cast<size_t>(limited(shape->nx)), asked->op->work), limited(shape->rows),
            limited(shape->planes), limited(shape->channels),
            resident_most_planes(work_size(asked->op->work), asked->limits->code)};
}

/* Settle the fastest cut, if there is one, and describe it. */
template <typename T> static bool resident_shape(const struct cuda_question *asked, struct cuda_form *form)
{
    const struct shape *shape = asked->shape;
    struct resident_cut cut;

    if (!serves(asked))
        return false;
    const struct resident_grid grid = grid_of(asked);
    if (cut_grid(grid, asked->limits->multiprocessors, &cut) == 0)
        return cuda_refuse(asked->refusal, "the registers of %d multiprocessors do not hold the grid",
                           asked->limits->multiprocessors);
    /* The form describes the largest tile; operations include rows and planes that neighbours compute, too.
     */
    const struct resident_side rows = side_of(grid.rows, cut.tiles_row);
    const struct resident_side planes = side_of(grid.planes, cut.tiles_plane);
    const int height = rows.own + rows.halos * cut.depth;
    form->tile_x = static_cast<int>(shape->nx);
    form->tile_y = rows.own;
    form->tile_z = planes.own;
    form->depth = cut.depth;
    form->reach = 1;
    form->stride = 0;
    form->steps = asked->wish->steps > 0 ? std::min(asked->wish->steps, MOST_STEPS) : MOST_STEPS;
    form->grid = blocks_of(grid, cut);
    form->block = threads_of(grid, cut);
    /* The signals, and two fields of borders. */
    form->scratch_bytes = signal_bytes(asked->limits) + 2 * 16 * static_cast<size_t>(grid.packs) *
                                                            shape->rows * shape->planes * shape->channels;
    form->bytes_per_update = 2.0 * sizeof(T) / form->steps;
    form->operations_per_update = cuda_operations(asked->op) *
                                  (height * (planes.own + planes.halos * cut.depth)) /
                                  (rows.own * planes.own);
    choose<T>(asked->limits->code, asked->op, [&](auto chosen) {
        using chosen_form = decltype(chosen);
        form->shared_bytes = chosen_form::SharedBytes;
        form->kernel = reinterpret_cast<const void *>(&resident_kernel<chosen_form>);
    });
    if (form->shared_bytes > asked->limits->shared_per_block)
        return cuda_refuse(asked->refusal, "takes %zu bytes of shared memory a block, the device has %zu",
                           form->shared_bytes, asked->limits->shared_per_block);
    return true;
}

/* The planes that a launch computes: those that are wanted, and on either side as many as there are steps.
   The ends that are not the grid's come out wrong, but that does not reach the planes that are wanted. */
template <typename T>
static struct range computed_planes(const struct cuda_job *job, const cuda_view<T> &from)
{
    const size_t steps = static_cast<size_t>(job->steps), extent = static_cast<size_t>(from.planes);
    const size_t begin = job->planes.first > steps ? job->planes.first - steps : 0;
    const size_t end = std::min(job->planes.first + job->planes.count + steps, extent);

    return {begin, end - begin};
}

template <typename Form> static struct resident_grid grid_of_job(const resident_job<typename Form::T> &job)
{
    return {job.packs, job.from.rows, job.end - job.begin, job.from.channels, Form::Planes};
}

/* The cut of the form, or, for a part of the grid, one of its own. */
template <typename Form>
static bool cut_for_job(const struct cuda_job *from, resident_job<typename Form::T> *job)
{
    const struct resident_grid grid = grid_of_job<Form>(*job);

    if (grid.planes == job->from.planes) {
        job->cut = {static_cast<int>(from->form->grid.x), static_cast<int>(from->form->grid.y),
                    from->form->depth};
        return true;
    }
    return cut_grid(grid, from->limits->multiprocessors, &job->cut) > 0;
}

/* The kernel's parameters, but for the cut. */
template <typename Form> static resident_job<typename Form::T> job_of(const struct cuda_job *from)
{
    using T = typename Form::T;
    const struct op *op = from->op->op;
    resident_job<T> job = resident_job<T>();

    job.from = *static_cast<const cuda_view<T> *>(from->from);
    job.to = *static_cast<const cuda_view<T> *>(from->to);
    job.packs = packs_of(static_cast<size_t>(job.from.nx), op->work);
    const struct range planes = computed_planes(from, job.from);
    job.begin = static_cast<int>(planes.first);
    job.end = static_cast<int>(planes.first + planes.count);
    job.stored_begin = static_cast<int>(from->planes.first);
    job.stored_end = static_cast<int>(from->planes.first + from->planes.count);
    job.steps = from->steps;
    job.hold = op->edge == EDGE_HOLD;
    job.outside = static_cast<const T *>(from->op->outside);
    cuda_copy_weights(op, job.weights);
    job.signals = static_cast<unsigned *>(from->scratch);
    job.borders = reinterpret_cast<T *>(static_cast<char *>(from->scratch) + signal_bytes(from->limits));
    return job;
}

/* Reset the signals, and launch all blocks together. */
template <typename Form> static cudaError_t launch_form(const struct cuda_job *from)
{
    resident_job<typename Form::T> job = job_of<Form>(from);
    cudaError_t status = cuda_permit_shared(&resident_kernel<Form>, Form::SharedBytes);

    if (status != cudaSuccess || from->planes.count == 0)
        return status;
    if (!cut_for_job<Form>(from, &job))
        return cudaErrorInvalidConfiguration;
    /* Signals start at 0 in each launch; the first round is 1. */
    status = cudaMemsetAsync(job.signals, 0, signal_bytes(from->limits), from->stream);
    if (status != cudaSuccess)
        return status;
    const struct resident_grid grid = grid_of_job<Form>(job);
    return cuda_launch_together(from->stream, blocks_of(grid, job.cut), threads_of(grid, job.cut),
                                Form::SharedBytes, &resident_kernel<Form>, job);
}

template <typename T> static cudaError_t resident_launch(const struct cuda_job *job)
{
    return choose<T>(job->limits->code, job->op->op,
                     [=](auto chosen) { return launch_form<decltype(chosen)>(job); });
}

CUDA_RUNG(resident, false, false, false);
