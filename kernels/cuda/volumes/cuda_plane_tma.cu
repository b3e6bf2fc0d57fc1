/* Rung `plane` where a device fetches boxes: the stars up to radius 4.
 *
 * Known as: TMA multistage pipeline with mbarriers; 2.5D blocking with short walks.
 * Idea: one step of a stencil, by blocks that take few planes each.
 * Adds: planes come as TMA boxes whose copies one thread starts, and stay in a ring of shared memory until
 *   no tap reads them any more. A plane has a barrier: a thread arrives when it has read what it needs, and
 *   waits only when the next plane is due.
 * Costs: taps are read from shared memory; a walk reads as many planes of its neighbours as taps reach.
 * Traffic per sample: 2 words through memory; planes that two walks read come from L2.
 * Wins when: it applies. Since starting costs little, a block may walk a few planes only: blocks that run
 *   at the same time then read near one another, and find in L2 what they share.
 *
 * A thread has a pack of 16 bytes in Rows rows; a block is Packs threads wide and Groups threads high. The
 * ring has the planes that are read, and Ahead more that are under way. A step waits until its newest plane
 * has come and all threads have finished the step before. The oldest plane of that step is no longer needed:
 * the plane that is Ahead planes further is copied into its stage. The step then computes, and arrives at the
 * next stage's barrier.
 *
 * Of the larger stars, not all planes fit: the ring has Late planes fewer. Sums begin when the plane behind
 * their own is the newest; those of radius 4, when their own is. They take the Late planes that follow one by
 * one, as these come. So a thread keeps Late open sums of each of its samples.
 *
 * A plane outside the grid is another plane of the grid, or the constant. Rows and columns outside are cells
 * that a box does not bring. Threads of a block that has such cells put them into the box when it has come.
 * They have loaded their values a step before. A plane's rows and columns are read in a later step than that,
 * so what reads them knows no edges. Only where rows end within a tile do threads wait for cells. Under
 * `hold` these cells have any value, since samples that read them are not changed. */
#include "cuda_plane.cuh"

/* The constants of a walk. MostPlanes: of a walk. In longer ones, blocks drift apart, and no longer find in
   L2 what they share. */
template <typename Type, int Radius_, int Late_, int Rows_, int Packs_, int Groups_, int Ahead_, int Blocks_,
          int MostPlanes>
struct plane_tma_form : step_taps_of<STEP_STAR, Radius_> {
    using T = Type;
    using base = step_taps_of<STEP_STAR, Radius_>;
    using base::Radius, base::TapCount;
    static constexpr int Late = Late_, Rows = Rows_, Packs = Packs_, Ahead = Ahead_,
                         Threads = Packs * Groups_;
    static constexpr int Blocks = Blocks_; /* of a multiprocessor */
    static constexpr int Pack = cuda_pack_of<T>::samples;
    static constexpr int Side = (Radius + Pack - 1) / Pack * Pack; /* columns that are read beside a pack */
    static constexpr int Width = Packs * Pack, Height = Groups_ * Rows;
    static constexpr int UsefulX = Width, UsefulRows = Height;
    static constexpr int Margin = CUDA_SECTOR / static_cast<int>(sizeof(T));
    static constexpr int Pitch = Width + 2 * Margin, BoxRows = Height + 2 * Radius;
    static constexpr int Unit = CUDA_BOX_ALIGNMENT / static_cast<int>(sizeof(T));
    static constexpr int StageSamples = (Pitch * BoxRows + Unit - 1) / Unit * Unit;
    static constexpr int Reached = 2 * Radius + 1 - Late, Stages = Reached + Ahead;
    static constexpr size_t SharedBytes =
        Stages * (StageSamples * sizeof(T) + sizeof(cuda_barrier)) + sizeof(cuda_barrier);

    /* How many cells a thread puts into a box of a block that sees all sides: single ones beside the tile's
       rows, and packs above and below it. */
    static constexpr int SideCells = (2 * Radius * Height + Threads - 1) / Threads;
    static constexpr int RowPacks = (2 * Radius * Packs + Threads - 1) / Threads;

    /* Boxes have rows of units of 8 bytes, since a row may have more samples than a box may have elements. */
    static constexpr int BoxUnit = 8 / static_cast<int>(sizeof(T));
    static constexpr unsigned BoxBytes = Pitch * BoxRows * sizeof(T);

    static_assert(Side <= Margin && Pitch / BoxUnit <= 256 && BoxRows <= 256, "a box that can be sent for");
    static_assert(Late <= Radius, "a plane's cells are put into it before its rows and columns are read");
    static_assert(Rows * Pack <= 32, "a bit for each");

    /* 12.x has too little shared memory for most forms. */
    static __host__ __device__ constexpr bool serves(int code)
    {
        return cuda_has_boxes(code) && code < 120;
    }

    static constexpr bool WalksWhole = false;

    /* The chunk with which all rounds of blocks end soonest. */
    static inline long long chunk(long long planes, long long columns, long long residents)
    {
        return cuda_march_chunk(planes, MostPlanes, [=](long long length, long long chunks) {
            return static_cast<double>(cuda_ceil_divide(columns * chunks, residents) * (length + 2 * Radius));
        });
    }
};

template <typename Form> struct plane_tma_job : cuda_march_job {
    using T = typename Form::T;

    cuda_box_map boxes; /* of `from` */
    cuda_view<T> from, to;
    T weights[Form::TapCount]; /* in raster order */
    cuda_edge<T> edge;
    struct reach x, row, plane; /* for hold */
};

/* What a thread puts into each box: cells beside rows, and packs of rows above and below. `at`: the place in
   a stage, or -1. `source`: the place in a plane of the sample that the cell repeats. `sides` and `rows`: the
   values for the next plane. */
template <typename Form> struct plane_tma_cells {
    using T = typename Form::T;
    int side_at[Form::SideCells], side_source[Form::SideCells];
    int row_at[Form::RowPacks], row_source[Form::RowPacks];
    T sides[Form::SideCells], rows[Form::RowPacks][Form::Pack];
};

template <typename Form> struct plane_tma_walk {
    using T = typename Form::T;
    static constexpr int Radius = Form::Radius, Late = Form::Late, Rows = Form::Rows;
    static constexpr int Pack = Form::Pack, Side = Form::Side;
    using part = T[Rows][Pack];

    const plane_tma_job<Form> &job;
    T *const stages;
    cuda_barrier *const barriers, *const cells_put; /* of the stages; of a step's cells */
    const int place;                                /* in a stage, of this thread's first sample */
    int channel;
    int tile_x, tile_row;
    int x, row;     /* of this thread's first sample */
    int stored_row; /* the tile's first row that no other tile stores */
    int begin, end; /* planes that the block computes */

    /* Columns and rows of the block's boxes that lie outside the grid and are read. */
    int left, right, above, below;

    part open[Late + 1]; /* sums, the oldest first; the last ones begin in this step */

    CUDA_INLINE plane_tma_walk(const plane_tma_job<Form> &job_, T *shared)
        : job(job_), stages(shared),
          barriers(reinterpret_cast<cuda_barrier *>(shared + Form::Stages * Form::StageSamples)),
          cells_put(barriers + Form::Stages), place(place_of_thread()), open()
    {
        const int rows = job.from.rows, nx = job.from.nx;
        const cuda_march_place<Form::WalksWhole> found(job);

        tile_x = found.tile_x * Form::Width;
        stored_row = found.tile_row * Form::Height;
        channel = found.channel;
        tile_row = min(stored_row, rows - Form::Height);
        x = tile_x + place % Form::Pitch - Form::Margin;
        row = tile_row + place / Form::Pitch - Radius;
        begin = static_cast<int>(found.begin);
        end = static_cast<int>(found.end);
        left = max(Radius - tile_x, 0);
        right = min(max(tile_x + Form::Width + Radius - nx, 0), Radius);
        above = max(Radius - tile_row, 0);
        below = max(tile_row + Form::Height + Radius - rows, 0);
    }

    static CUDA_INLINE int place_of_thread()
    {
        const int thread = static_cast<int>(threadIdx.x);

        return (thread / Form::Packs * Rows + Radius) * Form::Pitch + Form::Margin +
               thread % Form::Packs * Pack;
    }

    CUDA_INLINE bool sees_sides() const
    {
        return left + right + above + below > 0;
    }

    /* ---- arrival ---- */

    static CUDA_INLINE int stage_after(int number, int by)
    {
        return (number + by) % Form::Stages;
    }

    /* The plane of the grid that comes in the place of one. Under `hold` and a constant, the nearest one
       comes, and is not used. */
    CUDA_INLINE int plane_source(int plane) const
    {
        const int planes = static_cast<int>(job.from.planes),
                  source = cuda_near_index(job.edge.rule, plane, planes);

        return source >= 0 ? source : min(max(plane, 0), planes - 1);
    }

    /* Start the copy of the plane of a step, to a stage that nobody reads any more. */
    CUDA_INLINE void fetch(int step, int stage) const
    {
        const int plane = begin - Radius + step;

        if (threadIdx.x == 0 && plane < end + Radius)
            cuda_fetch_box(stages + stage * Form::StageSamples, &job.boxes,
                           {(tile_x - Form::Margin) / Form::BoxUnit, tile_row - Radius, channel,
                            plane_source(plane) - static_cast<int>(job.from.first)},
                           barriers + stage, Form::BoxBytes);
    }

    /* Create the barriers and start the first copies. Threads arrive at the first stage's barrier at once,
     * since there is no step before. */
    CUDA_INLINE void start() const
    {
        if (threadIdx.x <= Form::Stages)
            cuda_barrier_create(barriers + threadIdx.x, Form::Threads);
        cuda_barriers_created();
#pragma unroll
        for (int n = 0; n < Form::Ahead; n++)
            fetch(n, n);
        cuda_barrier_arrive(barriers);
    }

    /* ---- what lies outside the grid ---- */

    CUDA_INLINE T outside() const
    {
        return job.edge.rule == EDGE_CONSTANT ? job.edge.outside[channel] : T(0);
    }

    CUDA_INLINE int place_in_stage(int column, int line) const
    {
        return (line - tile_row + Radius) * Form::Pitch + column - tile_x + Form::Margin;
    }
    CUDA_INLINE int place_in_plane(int column, int line) const
    {
        return static_cast<int>(cuda_near_index(job.edge.rule, line, job.from.rows) * job.from.pitch) +
               cuda_near_index(job.edge.rule, column, job.from.nx);
    }

    CUDA_INLINE void find_cells(plane_tma_cells<Form> &cells) const
    {
        const int columns = left + right, nx = job.from.nx;

#pragma unroll
        for (int i = 0; i < Form::SideCells; i++) {
            const int n = static_cast<int>(threadIdx.x) + i * Form::Threads;
            const bool wanted = n < columns * Form::Height;
            const int k = wanted ? n % columns : 0, line = tile_row + (wanted ? n / columns : 0);
            const int column = k < left ? k - left : nx + k - left;
            cells.side_at[i] = wanted ? place_in_stage(column, line) : -1;
            cells.side_source[i] = place_in_plane(column, line);
            cells.sides[i] = outside();
        }
#pragma unroll
        for (int i = 0; i < Form::RowPacks; i++) {
            const int n = static_cast<int>(threadIdx.x) + i * Form::Threads, k = n / Form::Packs;
            const int column = tile_x + n % Form::Packs * Pack;
            const int line = k < above ? k - above : job.from.rows + k - above;
            cells.row_at[i] = k < above + below && column < nx ? place_in_stage(column, line) : -1;
            cells.row_source[i] = place_in_plane(min(column, nx - 1), line);
            cuda_fill(cells.rows[i], outside());
        }
    }

    CUDA_INLINE void load_cells(plane_tma_cells<Form> &cells, int plane) const
    {
        const T *const from = job.from.row(plane_source(min(plane, end - 1 + Radius)), channel, 0);

        if (job.edge.rule == EDGE_CONSTANT)
            return;
#pragma unroll
        for (int i = 0; i < Form::SideCells; i++) {
            if (cells.side_at[i] >= 0)
                cells.sides[i] = from[cells.side_source[i]];
        }
#pragma unroll
        for (int i = 0; i < Form::RowPacks; i++) {
            if (cells.row_at[i] >= 0)
                cuda_load_packs<Pack>(from + cells.row_source[i], cells.rows[i]);
        }
    }

    /* Put the cells of a plane into its box, and load those of the next one. */
    CUDA_INLINE void put_cells(plane_tma_cells<Form> &cells, int plane, int stage) const
    {
        T *const to = stages + stage * Form::StageSamples;

#pragma unroll
        for (int i = 0; i < Form::SideCells; i++) {
            if (cells.side_at[i] >= 0)
                to[cells.side_at[i]] = cells.sides[i];
        }
#pragma unroll
        for (int i = 0; i < Form::RowPacks; i++) {
            if (cells.row_at[i] >= 0)
                cuda_put(to + cells.row_at[i], cells.rows[i]);
        }
        cuda_boxes_follow();
        load_cells(cells, plane + 1);
    }

    CUDA_INLINE bool is_constant(int plane) const
    {
        return job.edge.rule == EDGE_CONSTANT && (plane < 0 || plane >= job.from.planes);
    }

    /* Fill a plane outside the grid with the constant. A thread needs only its own samples of it, since no
       sum that is stored has this plane as its own. */
    CUDA_INLINE void put_plane(int stage) const
    {
        T constant[Pack];

        cuda_fill(constant, outside());
#pragma unroll
        for (int r = 0; r < Rows; r++)
            cuda_put(own(stage) + r * Form::Pitch, constant);
        cuda_boxes_follow();
    }

    /* ---- the chain ---- */

    CUDA_INLINE T *own(int stage) const
    {
        return stages + stage * Form::StageSamples + place;
    }

    CUDA_INLINE void add(T (&sums)[Pack], int tap, const T *values) const
    {
#pragma unroll
        for (int j = 0; j < Pack; j++)
            sums[j] = cuda_fma(job.weights[tap], values[j], sums[j]);
    }

    CUDA_INLINE void add_plane(part &sums, int stage, int dplane) const
    {
#pragma unroll
        for (int r = 0; r < Rows; r++) {
            T values[Pack];
            cuda_load_packs<Pack>(own(stage) + r * Form::Pitch, values);
            add(sums[r], Form::index(0, 0, dplane), values);
        }
    }

    /* The taps of the samples' own plane. A row that is read gives its taps to all rows in its reach. */
    CUDA_INLINE void add_own_plane(part &sums, int stage) const
    {
#pragma unroll
        for (int line = -Radius; line < Rows + Radius; line++) {
            const T *const from = own(stage) + line * Form::Pitch;
            T wide[Side + Pack + Side];
            if (line >= 0 && line < Rows)
                cuda_load_packs<Side + Pack + Side>(from - Side, wide);
            else
                cuda_load_packs<Pack>(from, wide + Side);
#pragma unroll
            for (int r = 0; r < Rows; r++) {
                if (r == line) {
#pragma unroll
                    for (int dx = -Radius; dx <= Radius; dx++)
                        add(sums[r], Form::index(dx, 0, 0), wide + Side + dx);
                } else if (line - r >= -Radius && line - r <= Radius) {
                    add(sums[r], Form::index(0, line - r, 0), wide + Side);
                }
            }
        }
    }

    /* Begin sums, and give them the planes before the newest one. If sums begin when their own plane is the
       newest, they take that plane a step later: here, those begun a step ago do. A chain starts at −0:
       fma(w, v, −0) is the product w·v, its sign included. */
    CUDA_INLINE void begin_sums(int newest)
    {
        part &sums = open[Late];

#pragma unroll
        for (int r = 0; r < Rows; r++)
            cuda_fill(sums[r], -T(0));
#pragma unroll
        for (int dplane = -Radius; dplane < Radius - Late; dplane++) {
            const int stage = stage_after(newest, Form::Stages - (Radius - Late) + dplane);
            if (dplane == 0)
                add_own_plane(sums, stage);
            else
                add_plane(sums, stage, dplane);
        }
        if constexpr (Late == Radius)
            add_own_plane(open[Late - 1], stage_after(newest, Form::Stages - 1));
    }

    /* Give a row of the newest plane to all sums but those whose own plane it is. The oldest are then done.
     */
    CUDA_INLINE void take_newest(int r, int newest, T (&done)[Pack])
    {
        T values[Pack];

        cuda_load_packs<Pack>(own(newest) + r * Form::Pitch, values);
        cuda_copy(done, open[0][r]);
        add(done, Form::index(0, 0, Radius), values);
#pragma unroll
        for (int k = 1; k <= Late; k++) {
            cuda_copy(open[k - 1][r], open[k][r]);
            if (k < Radius)
                add(open[k - 1][r], Form::index(0, 0, Radius - k), values);
        }
    }

    /* ---- departure ---- */

    /* The samples that `hold` keeps in every plane, a bit each. */
    CUDA_INLINE unsigned held_bits() const
    {
        unsigned bits = 0;

#pragma unroll
        for (int r = 0; r < Rows; r++) {
            const bool whole_row = !cuda_reach::inside(job.row, row + r, job.from.rows);
#pragma unroll
            for (int j = 0; j < Pack; j++) {
                const bool held = whole_row || !cuda_reach::inside(job.x, x + j, job.from.nx);
                bits |= (held ? 1u : 0u) << (r * Pack + j);
            }
        }
        return bits;
    }

    CUDA_INLINE unsigned held_in(int plane, unsigned bits) const
    {
        return job.edge.rule != EDGE_HOLD                              ? 0
               : cuda_reach::inside(job.plane, plane, job.from.planes) ? bits
                                                                       : ~0u;
    }

    CUDA_INLINE void hold(int r, T (&done)[Pack], int newest, unsigned held) const
    {
        T before[Pack];

        if (held == 0)
            return;
        cuda_load_packs<Pack>(own(stage_after(newest, Form::Stages - Radius)) + r * Form::Pitch, before);
#pragma unroll
        for (int j = 0; j < Pack; j++)
            done[j] = (held >> (r * Pack + j) & 1) != 0 ? before[j] : done[j];
    }

    /* Sectors of the memory are stored whole, padding and all. */
    CUDA_INLINE void store(int plane, int r, const T (&done)[Pack]) const
    {
        const int stored = (job.from.nx + 2 * Pack - 1) / (2 * Pack) * (2 * Pack);

        cuda_store_past(x < stored && row + r >= stored_row && plane >= begin,
                        job.to.row(plane, channel, row + r) + x, done);
    }

    /* End the sums of a plane. Sums of planes before the walk's first are incomplete, and are not stored. */
    CUDA_INLINE void end_sums(int newest, int plane, unsigned bits)
    {
        const unsigned held = held_in(plane, bits);

#pragma unroll
        for (int r = 0; r < Rows; r++) {
            T done[Pack];
            take_newest(r, newest, done);
            hold(r, done, newest, held);
            store(plane, r, done);
        }
    }

    /* Puts: whether threads put cells into boxes. Where rows end within the tile, some cells lie in packs
     * that other threads read in the same step. So all threads of the block wait until cells are put in,
     * although the results go into padding only. */
    template <bool Puts> CUDA_INLINE void run()
    {
        const int steps = end - begin + 2 * Radius;
        const unsigned held = job.edge.rule == EDGE_HOLD ? held_bits() : 0;
        const bool waits = Puts && tile_x + Form::Width > job.from.nx;
        plane_tma_cells<Form> cells;
        int stage = 0;
        unsigned parity = 0;

        start();
        if (Puts) {
            find_cells(cells);
            load_cells(cells, begin - Radius);
        }
#pragma unroll 1
        for (int n = 0; n < steps; n++) {
            const int next = stage_after(stage, 1), newest = begin - Radius + n;
            cuda_barrier_await(barriers + stage, parity);
            fetch(n + Form::Ahead, stage_after(stage, Form::Ahead));
            if (is_constant(newest))
                put_plane(stage);
            else if (Puts)
                put_cells(cells, newest, stage);
            if (waits)
                cuda_barrier_arrive(cells_put);
            if (n >= Form::Reached - 1)
                begin_sums(stage);
            if (waits)
                cuda_barrier_await(cells_put, static_cast<unsigned>(n) & 1);
            if (n >= Form::Reached - 1)
                end_sums(stage, newest - Radius, held);
            cuda_barrier_arrive(barriers + next);
            parity ^= next == 0 ? 1 : 0;
            stage = next;
        }
    }
};

template <typename Form>
__global__ void __launch_bounds__(Form::Threads, Form::Blocks)
    plane_tma_kernel(const __grid_constant__ plane_tma_job<Form> job)
{
    CUDA_SHARED(typename Form::T, shared);

    CUDA_WHERE_SERVED (Form) {
        plane_tma_walk<Form> walk(job, shared);
        if (walk.sees_sides() && job.edge.rule != EDGE_HOLD)
            walk.template run<true>();
        else
            walk.template run<false>();
    }
}

/* ---- the host ---- */

/* Fill in the parameters and the map of boxes, and launch. */
template <typename Form> static cudaError_t launch(const struct cuda_job *from, int residents)
{
    using T = typename Form::T;
    const struct op *op = from->op->op;
    const cuda_view<T> &view = *static_cast<const cuda_view<T> *>(from->from);
    plane_tma_job<Form> job = plane_tma_job<Form>();
    struct cuda_boxed_field field = cuda_boxed(view);

    cuda_copy_weights(op, job.weights);
    job.edge = cuda_edge_of<T>(from->op);
    job.x = op->x;
    job.row = op->row;
    job.plane = op->plane;
    field.sample_bytes = 8;
    field.nx = static_cast<size_t>(view.pitch / Form::BoxUnit);
    const cudaError_t status =
        cuda_map_boxes(&job.boxes, &field, Form::Pitch / Form::BoxUnit, Form::BoxRows, 1);
    if (status != cudaSuccess)
        return status;
    return cuda_march_launch<Form>(from, &job, plane_tma_kernel<Form>, false, residents);
}

/* The forms of a radius, as an H200 is fastest: few large tiles, if rows fill them; else many small ones. */
template <typename T, int Radius> struct plane_tma_forms;
template <typename T> struct plane_tma_forms<T, 1> {
    using large = plane_tma_form<T, 1, 0, 4, 64, 8, 2, 1, 32>;
    using small = plane_tma_form<T, 1, 0, 3, 32, 8, 3, 2, 16>;
};
template <typename T> struct plane_tma_forms<T, 2> {
    using large = plane_tma_form<T, 2, 1, 4, 64, 6, 2, 1, 64>;
    using small = plane_tma_form<T, 2, 1, 4, 32, 12, 2, 1, 32>;
};
template <typename T> struct plane_tma_forms<T, 3> {
    using large = plane_tma_form<T, 3, 2, 4, 32, 12, 2, 1, 64>;
    using small = plane_tma_form<T, 3, 2, 4, 16, 10, 2, 2, 64>;
};
template <typename T> struct plane_tma_forms<T, 4> {
    using large = plane_tma_form<T, 4, 4, 3, 32, 16, 2, 1, 64>;
    using small = plane_tma_form<T, 4, 4, 3, 16, 8, 2, 3, 64>;
};

/* Call act with the form that a star needs for a shape. Large tiles may leave columns empty, up to a tenth of
   a row. */
template <typename Act> static auto choose(const struct op *op, const struct shape *shape, const Act &act)
{
    return cuda_with_work(op->work, [&](auto sample) {
        return cuda_with_number<1, 4, 1>(op_radius(op), [&](auto radius) {
            using forms = plane_tma_forms<decltype(sample), decltype(radius)::value>;
            using large = typename forms::large;
            using small = typename forms::small;
            const long long nx = static_cast<long long>(shape->nx),
                            rows = static_cast<long long>(shape->rows);
            const long long empty = cuda_ceil_divide(nx, large::Width) * large::Width - nx;
            const bool is_large = rows < small::Height || (empty * 10 < nx && rows >= large::Height);

            return is_large ? act(large()) : act(small());
        });
    });
}

bool cuda_plane_tma_serves(const struct cuda_limits *limits, const struct op *op, const struct shape *shape)
{
    const int radius = op_radius(op);

    if (radius == 0 || radius > 4 || !cuda_is_star(op, radius))
        return false;
    return choose(op, shape, [=](auto chosen) {
        using Form = decltype(chosen);
        return Form::serves(limits->code) && Form::SharedBytes <= limits->shared_per_block &&
               shape->rows >= static_cast<size_t>(Form::Height);
    });
}

void cuda_plane_tma_describe(const struct cuda_question *asked, struct cuda_form *form)
{
    choose(asked->op, asked->shape, [=](auto chosen) {
        using chosen_form = decltype(chosen);
        cuda_march_describe<chosen_form>(asked, form, plane_tma_kernel<chosen_form>, false);
    });
}

cudaError_t cuda_plane_tma_launch(const struct cuda_job *job, int multiprocessors)
{
    const struct shape shape = cuda_shape_of(job);

    return choose(job->op->op, &shape, [=](auto chosen) {
        using Form = decltype(chosen);
        return launch<Form>(job, multiprocessors * Form::Blocks);
    });
}
