/* Rung `plane` where a device fetches boxes: the stars of radius 1 and 2.
 *
 * Known as: TMA multistage pipeline with mbarriers; 2.5D blocking with short walks.
 * Idea: one step of a small stencil, by blocks that take few planes each.
 * Adds: planes come as TMA boxes whose copies one thread starts, and stay in a ring of shared memory until
 *   no tap reaches them. A plane has a barrier: a thread arrives when it has read what it needs, and waits
 *   only when the next plane is due.
 * Costs: all taps are read from shared memory; a walk reads as many planes of its neighbours as taps reach.
 * Traffic per sample: 2 words through memory; planes that two walks read come from L2.
 * Wins when: it applies. Since starting costs little, a block may walk a few planes only: blocks that run
 *   at the same time then read near one another, and find in L2 what they share.
 *
 * A warp has 32 lanes × one pack of 16 bytes in Rows rows; a block has Across × Down warps. The ring has the
 * planes that the taps reach, and Ahead more that are under way. A step waits until its newest plane has come
 * and all threads have read the oldest one, starts the copy of the plane that is Ahead into that one's stage,
 * computes, arrives at the next stage's barrier, and only then stores: nobody waits for stores. Neighbours in
 * x come by warp shuffles, and for the outermost lanes from the stage, whose rows are a sector wider on
 * either side.
 *
 * Outside the grid, a plane is another plane of the grid, a row another row of the tile (the first and the
 * last tile begin and end with the grid), and a column another one of the row: lanes at the grid's sides find
 * these places once, at the start. Warps that see no side run a loop without such tests. */
#include "cuda_plane.cuh"

/* The most planes of a walk: in longer ones blocks drift apart, and no longer find in L2 what they share; but
   the more planes of its neighbours a walk reads, the longer it should be. */
static constexpr int plane_tma_most_planes(int radius)
{
    return radius > 1 ? 64 : 16;
}

/* The constants of a walk. */
template <typename Type, step_taps Taps_, int Radius_, int Rows_, int Across_, int Down_, int Ahead_>
struct plane_tma_form : step_taps_of<Taps_, Radius_> {
    using T = Type;
    using base = step_taps_of<Taps_, Radius_>;
    using base::Radius, base::TapCount;
    static constexpr int Rows = Rows_, Across = Across_, Down = Down_, Ahead = Ahead_;
    static constexpr int Blocks = 1; /* of a multiprocessor */
    static constexpr int Threads = CUDA_WARP * Across * Down;
    static constexpr int Pack = cuda_pack_of<T>::samples;
    static constexpr int Width = CUDA_WARP * Pack * Across, Height = Down * Rows;
    static constexpr int UsefulX = Width, UsefulRows = Height;
    static constexpr int Window = Rows + 2 * Radius; /* rows that a warp reads */
    static constexpr int Margin = CUDA_SECTOR / static_cast<int>(sizeof(T));
    static constexpr int Pitch = Width + 2 * Margin, BoxRows = Height + 2 * Radius;
    static constexpr int Unit = CUDA_BOX_ALIGNMENT / static_cast<int>(sizeof(T));
    static constexpr int StageSamples = (Pitch * BoxRows + Unit - 1) / Unit * Unit;
    static constexpr int Reached = 2 * Radius + 1, Stages = Reached + Ahead;
    static constexpr size_t SharedBytes = Stages * (StageSamples * sizeof(T) + sizeof(cuda_barrier));

    /* Boxes have rows of units of 8 bytes, since a row may have more samples than a box may have elements. */
    static constexpr int BoxUnit = 8 / static_cast<int>(sizeof(T));
    static constexpr unsigned BoxBytes = Pitch * BoxRows * sizeof(T);

    static_assert(Radius <= Pack && Pitch / BoxUnit <= 256 && BoxRows <= 256, "a box that can be sent for");

    /* 12.x has too little shared memory. */
    static __host__ __device__ constexpr bool serves(int code)
    {
        return cuda_has_boxes(code) && code < 120;
    }

    /* The chunk with which all rounds of blocks end soonest. */
    static inline long long chunk(long long planes, long long columns, long long residents)
    {
        return cuda_march_chunk(planes, plane_tma_most_planes(Radius),
                                [=](long long length, long long chunks) {
                                    return static_cast<double>(cuda_ceil_divide(columns * chunks, residents) *
                                                               (length + 2 * Radius));
                                });
    }
};

template <typename Form> struct plane_tma_job {
    using T = typename Form::T;

    cuda_box_map boxes; /* of `from` */
    cuda_view<T> from, to;
    T weights[Form::TapCount]; /* in raster order */
    enum edge_rule rule;       /* EDGE_NEAREST for EDGE_HOLD */
    bool hold;
    struct reach x, row, plane; /* for hold */
    long long first, end;       /* planes to compute */
    long long chunk;            /* planes that a block computes */
    int tiles_x, tiles_rows;
};

template <typename Form> struct plane_tma_walk {
    using T = typename Form::T;
    static constexpr int Radius = Form::Radius, Rows = Form::Rows, Pack = Form::Pack, Window = Form::Window;
    using part = T[Rows][Pack];
    using wide_row = T[Pack + 2 * Radius];

    const plane_tma_job<Form> &job;
    T *const stages;
    cuda_barrier *const barriers;
    const int lane;
    int across, down; /* the warp's place in the block */
    int channel;
    int tile_x, tile_row;
    int x, row;     /* of this lane's first sample */
    int stored_row; /* the tile's first row that no other tile stores */
    int begin, end; /* planes that the block computes */
    bool sides;     /* columns or rows that the warp reads are outside the grid */

    bool ends, cut; /* the grid's last column is in this lane's pack; and is not the pack's last one */

    /* The places of columns, counted from this lane's first one: those before its pack, its own but the
       first, and those behind it. Columns outside the grid have the places that the edge rule gives them. */
    int left_at[Radius], own_at[Pack - 1], right_at[Radius];
    /* Likewise of the rows above and below the warp's, the nearest first, counted from the warp's first row.
     */
    int above[Radius], below[Radius];

    CUDA_INLINE plane_tma_walk(const plane_tma_job<Form> &job_, T *shared)
        : job(job_), stages(shared),
          barriers(reinterpret_cast<cuda_barrier *>(shared + Form::Stages * Form::StageSamples)),
          lane(static_cast<int>(threadIdx.x) % CUDA_WARP)
    {
        const int warp = __shfl_sync(CUDA_ALL_LANES, static_cast<int>(threadIdx.x) / CUDA_WARP, 0);
        const int rows = job.from.rows;
        cuda_march_number number;

        across = warp % Form::Across;
        down = warp / Form::Across;
        tile_x = number.of(job.tiles_x) * Form::Width;
        stored_row = number.of(job.tiles_rows) * Form::Height;
        channel = number.of(job.from.channels);
        tile_row = min(stored_row, rows - Form::Height);
        x = tile_x + (across * CUDA_WARP + lane) * Pack;
        row = tile_row + down * Rows;
        begin = static_cast<int>(job.first + number.rest * job.chunk);
        end = static_cast<int>(cuda_march_end(job, begin));
        find_sides();
    }

    /* Find the places of columns and rows around the warp's own. */
    CUDA_INLINE void find_sides()
    {
        const int first_x = tile_x + across * CUDA_WARP * Pack, nx = job.from.nx, rows = job.from.rows;

        sides = first_x == 0 || first_x + CUDA_WARP * Pack + Radius > nx || row < Radius ||
                row + Rows + Radius > rows;
        ends = x < nx && x + Pack >= nx;
        cut = ends && x + Pack > nx;
#pragma unroll
        for (int j = 1; j < Pack; j++)
            own_at[j - 1] = column_at(x + j);
#pragma unroll
        for (int k = 0; k < Radius; k++) {
            left_at[k] = column_at(x + k - Radius);
            right_at[k] = column_at(x + Pack + k);
            above[k] = cuda_near_index(job.rule, row - 1 - k, rows) - row;
            below[k] = cuda_near_index(job.rule, row + Rows + k, rows) - row;
        }
    }

    CUDA_INLINE int column_at(int column) const
    {
        const int nx = job.from.nx;
        const bool outside = column < 0 || (column >= nx && column < nx + Radius);

        return (outside ? cuda_near_index(job.rule, column, nx) : column) - x;
    }

    /* ---- arrival ---- */

    static CUDA_INLINE int stage_after(int number, int by)
    {
        return (number + by) % Form::Stages;
    }

    /* Start the copy of the plane of a step, to a stage that nobody reads any more. */
    CUDA_INLINE void fetch(int step, int stage) const
    {
        const int plane = begin - Radius + step;

        if (threadIdx.x == 0 && plane < end + Radius) {
            const int source = cuda_near_index(job.rule, plane, static_cast<int>(job.from.planes));
            cuda_fetch_box(stages + stage * Form::StageSamples, &job.boxes,
                           {(tile_x - Form::Margin) / Form::BoxUnit, tile_row - Radius, channel,
                            source - static_cast<int>(job.from.first)},
                           barriers + stage, Form::BoxBytes);
        }
    }

    /* Create the barriers and start the first copies; no stage is read before the first one. */
    CUDA_INLINE void start() const
    {
        if (threadIdx.x < Form::Stages)
            cuda_barrier_create(barriers + threadIdx.x, Form::Threads);
        cuda_barriers_created();
#pragma unroll
        for (int n = 0; n < Form::Ahead; n++)
            fetch(n, n);
        cuda_barrier_arrive(barriers);
    }

    /* ---- reading a plane ---- */

    /* This lane's pack of a row of the warp's window; a row outside the grid is another row. */
    template <bool Sides> CUDA_INLINE const T *pack_of(int stage, int place) const
    {
        const int at = !Sides || (place >= Radius && place < Radius + Rows) ? place - Radius
                       : place < Radius                                     ? above[Radius - 1 - place]
                                                                            : below[place - Radius - Rows];

        return stages + stage * Form::StageSamples + (down * Rows + Radius + at) * Form::Pitch +
               Form::Margin + (across * CUDA_WARP + lane) * Pack;
    }

    /* A pack with its neighbours in x, by shuffles; the outermost lanes read one side, and lanes at the
       grid's sides read the columns that the edge rule puts outside. */
    template <bool Sides> CUDA_INLINE void widen(wide_row &wide, const T *own) const
    {
        const bool first = lane == 0, last = lane == CUDA_WARP - 1 || (Sides && ends);

        cuda_load_packs<Pack>(own, wide + Radius);
        if (Sides && cut) {
#pragma unroll
            for (int j = 1; j < Pack; j++)
                wide[Radius + j] = own[own_at[j - 1]];
        }
#pragma unroll
        for (int k = 0; k < Radius; k++) {
            wide[k] = __shfl_up_sync(CUDA_ALL_LANES, wide[k + Pack], 1);
            wide[k + Radius + Pack] = __shfl_down_sync(CUDA_ALL_LANES, wide[k + Radius], 1);
        }
        if (first) {
#pragma unroll
            for (int k = 0; k < Radius; k++)
                wide[k] = own[Sides ? left_at[k] : k - Radius];
        }
        if (last) {
#pragma unroll
            for (int k = 0; k < Radius; k++)
                wide[k + Radius + Pack] = own[Sides ? right_at[k] : k + Pack];
        }
    }

    /* ---- the chain ---- */

    /* The taps of one row of the stencil. */
    template <int Dplane, int Drow> CUDA_INLINE void chain(part &sum, const wide_row (&rows)[Window]) const
    {
#pragma unroll
        for (int dx = -Radius; dx <= Radius; dx++) {
            if (!Form::has(dx, Drow, Dplane))
                continue;
            const int tap = Form::index(dx, Drow, Dplane);
#pragma unroll
            for (int r = 0; r < Rows; r++) {
#pragma unroll
                for (int j = 0; j < Pack; j++) {
                    const T value = rows[r + Drow + Radius][j + dx + Radius];
                    sum[r][j] =
                        tap == 0 ? job.weights[tap] * value : cuda_fma(job.weights[tap], value, sum[r][j]);
                }
            }
        }
    }

    /* Load the rows of a plane that taps read, widened where a tap is beside them. */
    template <bool Sides, int Dplane> CUDA_INLINE void load(wide_row (&rows)[Window], int stage) const
    {
#pragma unroll
        for (int w = 0; w < Window; w++) {
            const int drow = w < Radius ? w - Radius : w >= Radius + Rows ? w - Radius - Rows + 1 : 0;
            if (!Form::has(0, drow, Dplane))
                continue;
            if (Form::has(1, drow, Dplane))
                widen<Sides>(rows[w], pack_of<Sides>(stage, w));
            else
                cuda_load_packs<Pack>(pack_of<Sides>(stage, w), rows[w] + Radius);
        }
    }

    /* Add the taps of a plane, then of the next one: raster order. `arrived`: the stage of the newest plane.
     */
    template <bool Sides, int Dplane> CUDA_INLINE void take_plane(part &sum, int arrived) const
    {
        wide_row rows[Window];

        load<Sides, Dplane>(rows, stage_after(arrived, Form::Stages - Radius + Dplane));
        take_rows<Dplane, -Radius>(sum, rows);
        if constexpr (Dplane < Radius)
            take_plane<Sides, Dplane + 1>(sum, arrived);
    }

    template <int Dplane, int Drow>
    CUDA_INLINE void take_rows(part &sum, const wide_row (&rows)[Window]) const
    {
        chain<Dplane, Drow>(sum, rows);
        if constexpr (Drow < Radius)
            take_rows<Dplane, Drow + 1>(sum, rows);
    }

    /* ---- departure ---- */

    /* Samples with a tap outside the grid keep their values. */
    template <bool Sides> CUDA_INLINE void hold(part &done, int arrived, int plane) const
    {
        const bool whole = !cuda_reach::inside(job.plane, plane, job.from.planes);

        if (!Sides && !whole)
            return;

#pragma unroll
        for (int r = 0; r < Rows; r++) {
            const T *const own = pack_of<false>(stage_after(arrived, Form::Stages - Radius), Radius + r);
            const bool whole_row = whole || !cuda_reach::inside(job.row, row + r, job.from.rows);
#pragma unroll
            for (int j = 0; j < Pack; j++) {
                if (whole_row || !cuda_reach::inside(job.x, x + j, job.from.nx))
                    done[r][j] = own[j];
            }
        }
    }

    CUDA_INLINE void store(int plane, const part &done) const
    {
        T *const to = job.to.row(plane, channel, row) + x;

#pragma unroll
        for (int r = 0; r < Rows; r++)
            cuda_store_past(x < job.from.nx && row + r >= stored_row, to + r * job.to.pitch, done[r]);
    }

    template <bool Sides> CUDA_INLINE void run() const
    {
        const int steps = end - begin + 2 * Radius;
        int stage = 0;
        unsigned parity = 0;

        start();
#pragma unroll 1
        for (int n = 0; n < steps; n++) {
            const int next = stage_after(stage, 1), plane = begin - 2 * Radius + n;
            part done;
            cuda_barrier_await(barriers + stage, parity);
            fetch(n + Form::Ahead, stage_after(stage, Form::Ahead));
            if (plane >= begin) {
                take_plane<Sides, -Radius>(done, stage);
                if (job.hold)
                    hold<Sides>(done, stage, plane);
            }
            cuda_barrier_arrive(barriers + next);
            if (plane >= begin)
                store(plane, done);
            parity ^= next == 0 ? 1 : 0;
            stage = next;
        }
    }
};

template <typename Form>
__global__ void __launch_bounds__(Form::Threads, 1)
    plane_tma_kernel(const __grid_constant__ plane_tma_job<Form> job)
{
    CUDA_SHARED(typename Form::T, shared);

    CUDA_WHERE_SERVED (Form) {
        const plane_tma_walk<Form> walk(job, shared);
        if (walk.sides)
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

    for (size_t k = 0; k < op->tap_count; k++) {
        const struct op_tap *tap = &op->taps[k];
        job.weights[Form::index(tap->dx, tap->drow, tap->dplane)] = static_cast<T>(tap->weight);
    }
    job.hold = op->edge == EDGE_HOLD;
    job.rule = job.hold ? EDGE_NEAREST : op->edge;
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

/* Call act with the form that an op needs: tiles of sixteen warps, as high as the ring has room for. */
template <typename Act> static auto choose(const struct op *op, const Act &act)
{
    return cuda_with_work(op->work, [&](auto sample) {
        using T = decltype(sample);
        return cuda_is_star1(op) ? act(plane_tma_form<T, STEP_STAR, 1, 4, 2, 8, 2>())
                                 : act(plane_tma_form<T, STEP_STAR, 2, 3, 2, 8, 2>());
    });
}

/* Only edge rules that take samples outside the grid from inside, near its edge. */
bool cuda_plane_tma_serves(const struct cuda_limits *limits, const struct op *op, const struct shape *shape)
{
    if ((!cuda_is_star1(op) && !cuda_is_star2(op)) || op->edge == EDGE_WRAP || op->edge == EDGE_CONSTANT)
        return false;
    return choose(op, [=](auto chosen) {
        using Form = decltype(chosen);
        const size_t reach = static_cast<size_t>(Form::Radius);
        return Form::serves(limits->code) && Form::SharedBytes <= limits->shared_per_block &&
               shape->nx > reach && shape->planes > reach && shape->rows >= static_cast<size_t>(Form::Height);
    });
}

void cuda_plane_tma_describe(const struct cuda_question *asked, struct cuda_form *form)
{
    choose(asked->op, [=](auto chosen) {
        using chosen_form = decltype(chosen);
        cuda_march_describe<chosen_form>(asked, form, plane_tma_kernel<chosen_form>, false);
    });
}

cudaError_t cuda_plane_tma_launch(const struct cuda_job *job, int residents)
{
    return choose(job->op->op, [=](auto chosen) { return launch<decltype(chosen)>(job, residents); });
}
