/* Rung `plane`: the walk for any device and edge rule; cuda_plane_tma.cu has a faster one for devices that
 * fetch boxes.
 *
 * Known as: 2.5D blocking, one step at the speed of a copy; multistage pipeline by cp.async.
 * Idea: a block streams along the planes, and its tile begins and ends with the lines of the memory.
 * Adds: planes ahead by asynchronous copies, 16 bytes an access; x neighbours by warp shuffle; open sums
 *   instead of a window of planes; edge rules in what is fetched, so that no tile is slower than another.
 * Costs: a row above and below a tile, and a sector on either side, are read again, from L2.
 * Traffic per sample: 2 words through memory.
 * Wins when: one step of a small stencil is all that is asked for.
 *
 * A warp's part of the tile is 32 lanes × one pack of 16 bytes wide, so that rows begin and end with lines of
 * the memory, and Rows high; the tile is Across warps wide. Planes of it, and what lies in reach around it,
 * arrive in a ring of shared memory. x neighbours come by shuffles, those of a warp's outermost lanes and y
 * neighbours from the ring. One barrier a plane keeps the warps together: warps that drift apart would have
 * the rows that they share fetched from memory twice.
 *
 * A plane that arrives gives its taps to every sum that it belongs to, which is raster order: it closes the
 * oldest, and opens one. What lies outside the grid is put into the ring as the edge rule has it, and the
 * walk knows of no edge but that a sample under `hold` is taken from the ring instead. */
#include "cuda_plane.cuh"

/* The code that a form is for: any; for compute capabilities before 8.0, where what is copied passes through
 * registers; from there on. */
enum plane_code { PLANE_ANY_CODE, PLANE_SYNCHRONOUS_CODE, PLANE_ASYNCHRONOUS_CODE };

static __host__ __device__ constexpr bool plane_is_asynchronous(int code)
{
    return code >= 80;
}

/* Blocks that walk further drift apart, and miss in L2 what they share; a box shares most. */
static constexpr int plane_most_planes(enum step_taps taps)
{
    return taps == STEP_BOX ? 16 : 32;
}

/* What the compiler must know of a walk. */
template <typename Type, step_taps Taps_, int Radius_, int Rows_, int Across_, int Down_, int Blocks_,
          int Stages_, enum plane_code Code_ = PLANE_ANY_CODE>
struct plane_form : step_taps_of<Taps_, Radius_> {
    using T = Type;
    using base = step_taps_of<Taps_, Radius_>;
    using base::Taps, base::Radius;
    static constexpr enum plane_code Code = Code_;
    static constexpr int Rows = Rows_, Blocks = Blocks_, Stages = Stages_;
    static constexpr int Across = Across_, Down = Down_; /* warps of a block */
    static constexpr int Threads = CUDA_WARP * Across * Down;
    static constexpr int Pack = cuda_pack_of<T>::samples;
    static constexpr int Width = CUDA_WARP * Pack * Across;
    static constexpr int Height = Down * Rows;
    static constexpr int UsefulX = Width, UsefulRows = Height;
    static constexpr int Window = Rows + 2 * Radius; /* rows in reach of a warp */
    static constexpr int Pitch = Width + 2 * Pack;   /* of a row in the ring */
    static constexpr int StageSamples = (Height + 2 * Radius) * Pitch;
    static constexpr int Ahead = Stages - Radius; /* planes under way: the ring keeps Radius for `hold` */
    static constexpr size_t SharedBytes = sizeof(T) * Stages * StageSamples;

    static_assert(Radius <= Pack && Ahead > 0 && (Taps == STEP_STAR || Radius == 1),
                  "the window holds the taps");

    static __host__ __device__ constexpr bool serves(int code)
    {
        return Code == PLANE_ANY_CODE || (Code == PLANE_ASYNCHRONOUS_CODE) == plane_is_asynchronous(code);
    }
    /* All rounds of blocks together shall end soonest. The 2 · Radius planes that a chunk reads besides count
       half, being in L2 more often than not. */
    static inline long long chunk(long long planes, long long columns, long long residents)
    {
        return cuda_march_chunk(planes, plane_most_planes(Taps), [=](long long length, long long chunks) {
            return static_cast<double>(cuda_ceil_divide(columns * chunks, residents) * (length + Radius));
        });
    }
    /* A row of the window has neighbours beside it that count. */
    static __host__ __device__ constexpr bool widens(int row)
    {
        return Taps != STEP_STAR || (row >= Radius && row < Radius + Rows);
    }
};

template <typename Form> struct plane_job {
    using T = typename Form::T;

    cuda_view<T> from, to;
    T weights[Form::TapCount]; /* in raster order */
    unsigned present;          /* STEP_SOME: a bit a tap */
    enum edge_rule rule;
    struct reach x, row, plane; /* for hold */
    const T *outside;
    long long first, end; /* planes to compute */
    long long chunk;      /* planes a block computes */
    int tiles_x, tiles_rows;
};

template <typename Form> struct plane_walk {
    using T = typename Form::T;
    static constexpr int Radius = Form::Radius, Rows = Form::Rows, Pack = Form::Pack, Window = Form::Window;
    using part = T[Rows][Pack];
    using window = T[Window][Pack + 2 * Radius];

    const plane_job<Form> &job;
    T *const ring;
    const int lane, across, down; /* the place in the block */
    int channel;
    int x, row; /* of this lane's first sample */
    long long begin, end;
    T outside;
    bool ragged, clipped;  /* columns, rows in reach of the tile lie outside the grid */
    int ghost_to;          /* in a stage, or −1 */
    long long ghost_from;  /* in a plane, or −1 for a constant */
    part sums[2 * Radius]; /* the open ones, the oldest first */

    CUDA_INLINE plane_walk(const plane_job<Form> &job_, T *shared)
        : job(job_), ring(shared), lane(static_cast<int>(threadIdx.x) % CUDA_WARP),
          across(static_cast<int>(threadIdx.x) / CUDA_WARP % Form::Across),
          down(static_cast<int>(threadIdx.x) / CUDA_WARP / Form::Across), sums()
    {
        cuda_march_number number;
        const int tile_x = number.of(job.tiles_x) * Form::Width;
        const int tile_row = number.of(job.tiles_rows) * Form::Height;

        channel = number.of(job.from.channels);
        begin = job.first + number.rest * job.chunk;
        end = cuda_march_end(job, begin);
        outside = job.outside == NULL ? T(0) : job.outside[channel];
        x = tile_x + column() - Pack;
        row = tile_row + down * Rows;
        ragged = tile_x < Radius || tile_x + Form::Width + Pack > job.from.nx;
        clipped = tile_row < Radius || tile_row + Form::Height + Radius > job.from.rows;
        place_ghost(tile_x);
    }

    /* Columns beside the grid stand in the ring, too. There are so few that each lane of the tile's first
       warps sees to one at most. */
    CUDA_INLINE void place_ghost(int tile_x)
    {
        const int first = down == 0 ? 0 : Radius, end_place = down == Form::Down - 1 ? Window : Radius + Rows;
        const int place = first + lane / (2 * Radius), number = lane % (2 * Radius);
        const int ghost_row = row - Radius + place;
        const int ghost_x = number < Radius ? number - Radius : job.from.nx + number - Radius;
        const int in_tile = ghost_x - tile_x;

        static_assert(2 * Radius * Window <= CUDA_WARP, "a lane for each");
        ghost_to = -1;
        ghost_from = -1;
        if (across != 0 || place >= end_place || in_tile < -Radius || in_tile >= Form::Width + Radius ||
            ghost_row >= job.from.rows + Radius)
            return;
        ghost_to = line(place) + Pack + in_tile;
        const int source_row = cuda_near_index(job.rule, ghost_row, job.from.rows);
        const int source_x = cuda_near_index(job.rule, ghost_x, job.from.nx);
        if (source_row >= 0 && source_x >= 0)
            ghost_from = source_row * job.from.pitch + source_x;
    }

    /* ---- arrival ---- */

    /* Where this lane's pack begins in a row of the ring, and where in a stage the row at a place of its
       warp's window. */
    CUDA_INLINE int column() const
    {
        return Pack + (across * CUDA_WARP + lane) * Pack;
    }
    CUDA_INLINE int line(int place) const
    {
        return (down * Rows + place) * Form::Pitch;
    }

    CUDA_INLINE void fill_pack(T *to) const
    {
#pragma unroll
        for (int j = 0; j < Pack; j++)
            to[j] = outside;
    }

    /* What the grid has of columns [at, at + Pack) of a row. */
    CUDA_INLINE void fetch_pack(T *to, const T *from, int at) const
    {
        if (!ragged || (at >= 0 && at + Pack <= job.from.nx)) {
            cuda_copy_row_async(to, from + at);
            return;
        }
#pragma unroll
        for (int j = 0; j < Pack - 1; j++) {
            if (at >= 0 && at + j < job.from.nx)
                cuda_copy_async<sizeof(T)>(to + j, from + at + j);
        }
    }

    /* The sample beside the grid that this lane has to send for. */
    CUDA_INLINE void fetch_ghost(T *stage, const T *plane) const
    {
        if (ghost_to < 0)
            return;
        if (plane == NULL || ghost_from < 0)
            stage[ghost_to] = outside;
        else
            cuda_copy_async<sizeof(T)>(stage + ghost_to, plane + ghost_from);
    }

    /* This lane's pack of a row, and the one beside the tile if the lane is outermost. `from` is NULL where
       the edge rule gives a constant. */
    CUDA_INLINE void fetch_packs(T *to, const T *from) const
    {
        const bool first = lane == 0 && across == 0;
        const bool last = lane == CUDA_WARP - 1 && across == Form::Across - 1;
        const int beside = first ? -Pack : Pack;

        if (from == NULL) {
            fill_pack(to);
            if (first || last)
                fill_pack(to + beside);
            return;
        }
        fetch_pack(to, from, x);
        if (first || last)
            fetch_pack(to + beside, from, x + beside);
    }

    CUDA_INLINE void fetch_row(T *stage, const T *plane, int place) const
    {
        int source = row - Radius + place;

        if (clipped) {
            if (source >= job.from.rows + Radius)
                return;
            source = cuda_near_index(job.rule, source, job.from.rows);
        }
        fetch_packs(stage + line(place) + column(),
                    plane == NULL || source < 0 ? NULL : plane + source * job.from.pitch);
    }

    CUDA_INLINE void fetch(long long plane, T *stage) const
    {
        const long long source = arith_edge_index(job.rule, plane, job.from.planes);
        const T *const from = source < 0 ? NULL : job.from.row(source, channel, 0);

#pragma unroll
        for (int r = 0; r < Rows; r++)
            fetch_row(stage, from, Radius + r);
        if (ragged)
            fetch_ghost(stage, from);
        if (down == 0) {
#pragma unroll
            for (int k = 0; k < Radius; k++)
                fetch_row(stage, from, k);
        }
        if (down == Form::Down - 1) {
#pragma unroll
            for (int k = 0; k < Radius; k++)
                fetch_row(stage, from, Radius + Rows + k);
        }
    }

    /* ---- the chain ---- */

    /* The rows in reach, with the neighbours of this lane's pack. */
    CUDA_INLINE void load(window &rows, const T *stage) const
    {
#pragma unroll
        for (int w = 0; w < Window; w++) {
            const T *const own = stage + line(w) + column();
            cuda_load_packs<Pack>(own, rows[w] + Radius);
            if (!Form::widens(w))
                continue;
#pragma unroll
            for (int k = 0; k < Radius; k++) {
                rows[w][k] = __shfl_up_sync(CUDA_ALL_LANES, rows[w][k + Pack], 1);
                rows[w][k + Radius + Pack] = __shfl_down_sync(CUDA_ALL_LANES, rows[w][k + Radius], 1);
                if (lane == 0)
                    rows[w][k] = own[k - Radius];
                if (lane == CUDA_WARP - 1)
                    rows[w][k + Radius + Pack] = own[k + Pack];
            }
        }
    }

    /* The taps of the plane that lies at dplane of the sums' own. */
    CUDA_INLINE void chain(part &sum, const window &rows, int dplane) const
    {
#pragma unroll
        for (int drow = -Radius; drow <= Radius; drow++) {
#pragma unroll
            for (int dx = -Radius; dx <= Radius; dx++) {
                if (!Form::has(dx, drow, dplane))
                    continue;
                const int tap = Form::index(dx, drow, dplane);
                if (Form::Taps == STEP_SOME && (job.present >> tap & 1) == 0)
                    continue;
#pragma unroll
                for (int r = 0; r < Rows; r++) {
#pragma unroll
                    for (int j = 0; j < Pack; j++)
                        sum[r][j] =
                            cuda_fma(job.weights[tap], rows[r + drow + Radius][j + dx + Radius], sum[r][j]);
                }
            }
        }
    }

    static CUDA_INLINE void copy(part &to, const part &from)
    {
#pragma unroll
        for (int r = 0; r < Rows; r++) {
#pragma unroll
            for (int j = 0; j < Pack; j++)
                to[r][j] = from[r][j];
        }
    }

    /* A chain starts at −0: fma(w, v, −0) is the product w·v, its sign included. */
    static CUDA_INLINE void open(part &sum)
    {
#pragma unroll
        for (int r = 0; r < Rows; r++) {
#pragma unroll
            for (int j = 0; j < Pack; j++)
                sum[r][j] = -T(0);
        }
    }

    /* Give a plane's taps to all sums, and take the one that it completes. */
    CUDA_INLINE void take(const T *stage, part &done)
    {
        window rows;

        load(rows, stage);
        copy(done, sums[0]);
        chain(done, rows, Radius);
#pragma unroll
        for (int k = 1; k < 2 * Radius; k++) {
            copy(sums[k - 1], sums[k]);
            chain(sums[k - 1], rows, Radius - k);
        }
        open(sums[2 * Radius - 1]);
        chain(sums[2 * Radius - 1], rows, -Radius);
    }

    /* ---- departure ---- */

    CUDA_INLINE void hold(part &done, const T *stage, long long plane) const
    {
        const bool whole = !cuda_reach::inside(job.plane, plane, job.from.planes);

#pragma unroll
        for (int r = 0; r < Rows; r++) {
            const bool whole_row = whole || !cuda_reach::inside(job.row, row + r, job.from.rows);
#pragma unroll
            for (int j = 0; j < Pack; j++) {
                if (whole_row || !cuda_reach::inside(job.x, x + j, job.from.nx))
                    done[r][j] = stage[line(r + Radius) + column() + j];
            }
        }
    }

    CUDA_INLINE void store(long long plane, const part &done) const
    {
        T *const to = job.to.row(plane, channel, row) + x;

        if (x >= job.from.nx)
            return;
#pragma unroll
        for (int r = 0; r < Rows; r++) {
            if (!clipped || row + r < job.from.rows)
                *reinterpret_cast<typename cuda_pack_of<T>::vector *>(to + r * job.to.pitch) =
                    cuda_pack(done[r]);
        }
    }

    CUDA_INLINE T *stage_at(int number) const
    {
        return ring + number * Form::StageSamples;
    }
    static CUDA_INLINE int stage_after(int number, int by)
    {
        return number + by < Form::Stages ? number + by : number + by - Form::Stages;
    }

    CUDA_INLINE void run()
    {
        const long long first = begin - Radius;
        const int arrivals = static_cast<int>(end - begin) + 2 * Radius;
        int now = 0;

#pragma unroll 1
        for (int n = 0; n < Form::Ahead; n++) {
            if (n < arrivals)
                fetch(first + n, stage_at(n));
            cuda_commit_copies();
        }
#pragma unroll 1
        for (int n = 0; n < arrivals; n++) {
            const int oldest =
                stage_after(now, Form::Stages - Radius); /* its plane is the one that is done */
            const long long plane = first + n - Radius;
            part done;
            cuda_await_copies<Form::Ahead - 1>();
            __syncthreads();
            take(stage_at(now), done);
            if (n >= 2 * Radius) {
                if (job.rule == EDGE_HOLD)
                    hold(done, stage_at(oldest), plane);
                store(plane, done);
            }
            if (n + Form::Ahead < arrivals)
                fetch(first + n + Form::Ahead, stage_at(oldest));
            cuda_commit_copies();
            now = stage_after(now, 1);
        }
    }
};

template <typename Form>
__global__ void __launch_bounds__(Form::Threads, Form::Blocks) plane_kernel(const plane_job<Form> job)
{
    CUDA_SHARED(typename Form::T, shared);

    if (!cuda_code_has<Form>())
        return;
    plane_walk<Form> walk(job, shared);
    walk.run();
}

/* ---- the host ---- */

/* `residents`: how many blocks of the form the device runs at once; 0 where the chunk is settled. */
template <typename Form> static cudaError_t launch(const struct cuda_job *from, int residents)
{
    using T = typename Form::T;
    const struct op *op = from->op->op;
    plane_job<Form> job = {};

    for (size_t k = 0; k < op->tap_count; k++) {
        const struct op_tap *tap = &op->taps[k];
        const int index = Form::index(tap->dx, tap->drow, tap->dplane);
        job.weights[index] = static_cast<T>(tap->weight);
        job.present |= 1u << index;
    }
    job.rule = op->edge;
    job.x = op->x;
    job.row = op->row;
    job.plane = op->plane;
    job.outside = op->edge == EDGE_CONSTANT ? static_cast<const T *>(from->op->outside) : NULL;
    return cuda_march_launch<Form>(from, &job, plane_kernel<Form>, false, residents);
}

enum plane_stencil { PLANE_NOT, PLANE_SEVEN, PLANE_THIRTEEN, PLANE_TWENTYSEVEN, PLANE_FEWER };

static bool is_in_box(const struct op *op)
{
    for (size_t k = 0; k < op->tap_count; k++) {
        if (cuda_box_index(&op->taps[k]) < 0)
            return false;
    }
    return true;
}

static enum plane_stencil stencil_of(const struct op *op)
{
    if (!is_in_box(op))
        return cuda_is_star2(op) ? PLANE_THIRTEEN : PLANE_NOT;
    return cuda_is_star1(op) ? PLANE_SEVEN : op->tap_count == 27 ? PLANE_TWENTYSEVEN : PLANE_FEWER;
}

/* Few rows and many warps are fastest where registers allow. */
template <typename T, typename Act> static auto choose_seven(int code, Act act)
{
    if constexpr (sizeof(T) == sizeof(double)) {
        (void)code;
        return act(plane_form<T, STEP_STAR, 1, 4, 2, 8, 1, 3>());
    } else {
        return plane_is_asynchronous(code)
                   ? act(plane_form<T, STEP_STAR, 1, 2, 2, 16, 1, 3, PLANE_ASYNCHRONOUS_CODE>())
                   : act(plane_form<T, STEP_STAR, 1, 4, 2, 8, 1, 3, PLANE_SYNCHRONOUS_CODE>());
    }
}

/* Call act with the form that an op needs in code for a compute capability. */
template <typename T, typename Act> static auto choose(int code, const struct op *op, Act act)
{
    switch (stencil_of(op)) {
    case PLANE_SEVEN:
        return choose_seven<T>(code, act);
    case PLANE_THIRTEEN:
        return act(plane_form<T, STEP_STAR, 2, 4, 2, 6, 1, 4>());
    case PLANE_TWENTYSEVEN:
        return act(plane_form<T, STEP_BOX, 1, 4, 2, 8, 1, 3>());
    default:
        return act(plane_form<T, STEP_SOME, 1, 3, 2, 8, 1, 3>());
    }
}

template <typename T> static bool plane_shape(const struct cuda_question *asked, struct cuda_form *form)
{
    if (!cuda_is_chain(asked->op))
        return cuda_refuse(asked->refusal,
                           "only linear taps: the chain of a flux, a reaction or a gradient is not one");
    if (asked->op->tap_count == 0)
        return cuda_refuse(asked->refusal, "no taps");
    if (stencil_of(asked->op) == PLANE_NOT)
        return cuda_refuse(asked->refusal, "taps lie outside the 3x3x3 box, and are no star of radius 2");
    if (asked->shape->rows == 1)
        return cuda_refuse(asked->refusal, "planes of one row: a picture's rungs serve it");
    if (cuda_plane_tma_serves(asked->limits, asked->op, asked->shape)) {
        cuda_plane_tma_describe(asked, form);
        return true;
    }
    choose<T>(asked->limits->code, asked->op, [&](auto chosen) {
        using chosen_form = decltype(chosen);
        step_describe<chosen_form>(asked, form, plane_kernel<chosen_form>);
    });
    if (form->shared_bytes > asked->limits->shared_per_block)
        return cuda_refuse(asked->refusal, "takes %zu bytes of shared memory a block, the device has %zu",
                           form->shared_bytes, asked->limits->shared_per_block);
    return true;
}

cudaError_t cuda_plane_step(const struct cuda_job *job, int multiprocessors)
{
    const struct op *op = job->op->op;
    const struct shape shape = cuda_shape_of(job);

    if (cuda_plane_tma_serves(job->limits, op, &shape))
        return cuda_plane_tma_launch(job, multiprocessors);
    return cuda_with_work(op->work, [=](auto sample) {
        return choose<decltype(sample)>(job->limits->code, op, [=](auto chosen) {
            using form = decltype(chosen);
            return launch<form>(job, multiprocessors * form::Blocks);
        });
    });
}

template <typename T> static cudaError_t plane_launch(const struct cuda_job *job)
{
    return cuda_plane_step(job, job->form->resident_blocks > 0 ? job->limits->multiprocessors : 0);
}

CUDA_RUNG(plane, false, true, false);
