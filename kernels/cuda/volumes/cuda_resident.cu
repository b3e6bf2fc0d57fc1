/* Rung `resident`, for volumes that the registers of the whole device hold.
 *
 * Idea: a launch takes hundreds of steps. Each block keeps its tile in registers from the first step to the
 *   last; between blocks only the borders of tiles travel, through L2.
 * Adds: all blocks run at once, and each raises a signal that its neighbours await. Tiles are as wide as the
 *   grid; they overlap by `depth` rows and planes, so that signals are awaited every `depth` steps.
 * Costs: what overlaps is computed more than once; the way of a border from block to block takes a few
 *   thousand cycles, which nothing hides.
 * Traffic per sample: 2 words through memory a launch.
 * Wins when: a pass of the walks takes little longer than its launch and the way through its first planes. */
#include "cuda_resident.cuh"

#include <algorithm>

#define MOST_STEPS 256 /* of a launch: the host looks in between */
#define MOST_DEPTH 8

/* Cycles, for the choice of a cut: of a scheduler for a warp's pack; of a plane, however few warps there are;
   of a step beside its planes; of an exchange, and what it takes more for each plane. Fitted to what an H200
   took for 64³ and 128³ cut in seven ways. */
#define PACK_CYCLES           75.0
#define PLANE_CYCLES          175.0
#define STEP_CYCLES           880.0
#define EXCHANGE_CYCLES       3000.0
#define EXCHANGE_PLANE_CYCLES 200.0

/* ---- cuts ---- */

/* What a launch computes. */
struct resident_grid {
    int packs, rows, planes, channels;
    int most_planes; /* of a thread */
};

/* How far a range of a grid is cut, as a tile sees it in the worst case. */
struct resident_side {
    int own, least; /* of the largest and of the smallest tile */
    int halos;      /* sides at which there are other tiles */
};

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
template <typename Act> static auto choose(int code, const struct op *op, Act act)
{
    if (op->work == WORK_F64)
        return choose_rule<double, resident_most_planes(8, 90)>(op, act);
    return code >= 100 ? choose_rule<float, resident_most_planes(4, 100)>(op, act)
                       : choose_rule<float, resident_most_planes(4, 90)>(op, act);
}

static int packs_of(size_t nx, enum work_type work)
{
    return static_cast<int>(
        cuda_ceil_divide(static_cast<long long>(nx), 16 / static_cast<int>(work_size(work))));
}

static size_t border_bytes(size_t packs, size_t rows, size_t planes, size_t channels)
{
    return 2 * 16 * packs * rows * planes * channels;
}

static size_t signal_bytes(const struct cuda_limits *limits)
{
    return static_cast<size_t>(limits->multiprocessors) * RESIDENT_SIGNAL_STRIDE * sizeof(unsigned);
}

static bool serves(const struct cuda_question *asked)
{
    const struct op *op = asked->op;
    const struct shape *shape = asked->shape;

    if (!cuda_is_star1(op))
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
    /* What is beyond fits nowhere. */
    const auto limited = [](size_t extent) { return static_cast<int>(std::min(extent, (size_t)1 << 24)); };

    return {packs_of(static_cast<size_t>(limited(shape->nx)), asked->op->work), limited(shape->rows),
            limited(shape->planes), limited(shape->channels),
            resident_most_planes(work_size(asked->op->work), asked->limits->code)};
}

static bool resident_shape(const struct cuda_question *asked, struct cuda_form *form)
{
    const struct shape *shape = asked->shape;
    const size_t sample = work_size(asked->op->work);
    struct resident_cut cut;

    if (!serves(asked))
        return false;
    const struct resident_grid grid = grid_of(asked);
    if (cut_grid(grid, asked->limits->multiprocessors, &cut) == 0)
        return cuda_refuse(asked->refusal, "the registers of %d multiprocessors do not hold the grid",
                           asked->limits->multiprocessors);
    const struct resident_side rows = side_of(grid.rows, cut.tiles_row);
    const struct resident_side planes = side_of(grid.planes, cut.tiles_plane);
    const int height = rows.own + rows.halos * cut.depth;
    form->tile_x = static_cast<int>(shape->nx);
    form->tile_y = rows.own;
    form->tile_z = planes.own;
    form->depth = cut.depth;
    form->reach = 1;
    form->steps = asked->wish->steps > 0 ? std::min(asked->wish->steps, MOST_STEPS) : MOST_STEPS;
    form->grid = blocks_of(grid, cut);
    form->block = threads_of(grid, cut);
    form->scratch_bytes =
        signal_bytes(asked->limits) +
        border_bytes(static_cast<size_t>(grid.packs), shape->rows, shape->planes, shape->channels);
    form->bytes_per_update = 2.0 * static_cast<double>(sample) / form->steps;
    form->operations_per_update = cuda_operations(asked->op) *
                                  (height * (planes.own + planes.halos * cut.depth)) /
                                  (rows.own * planes.own);
    choose(asked->limits->code, asked->op, [&](auto chosen) {
        using chosen_form = decltype(chosen);
        form->shared_bytes = chosen_form::SharedBytes;
        form->kernel = reinterpret_cast<const void *>(&resident_kernel<chosen_form>);
    });
    if (form->shared_bytes > asked->limits->shared_per_block)
        return cuda_refuse(asked->refusal, "takes %zu bytes of shared memory a block, the device has %zu",
                           form->shared_bytes, asked->limits->shared_per_block);
    return true;
}

/* The planes that a launch computes: those that are wanted, and as many beside them as the steps reach. What
   is wrong at ends that are not the grid's does not come to what is wanted. */
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

/* A part of the grid is cut anew. */
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

/* What a launch has of its fields and its op. */
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
    for (size_t k = 0; k < op->tap_count; k++)
        job.weights[k] = static_cast<T>(op->taps[k].weight);
    job.signals = static_cast<unsigned *>(from->scratch);
    job.borders = reinterpret_cast<T *>(static_cast<char *>(from->scratch) + signal_bytes(from->limits));
    return job;
}

template <typename Form> static cudaError_t launch_form(const struct cuda_job *from)
{
    resident_job<typename Form::T> job = job_of<Form>(from);
    cudaError_t status = cuda_permit_shared(&resident_kernel<Form>, Form::SharedBytes);

    if (status != cudaSuccess || from->planes.count == 0)
        return status;
    if (!cut_for_job<Form>(from, &job))
        return cudaErrorInvalidConfiguration;
    status = cudaMemsetAsync(job.signals, 0, signal_bytes(from->limits), from->stream);
    if (status != cudaSuccess)
        return status;
    const struct resident_grid grid = grid_of_job<Form>(job);
    return cuda_launch_together(from->stream, blocks_of(grid, job.cut), threads_of(grid, job.cut),
                                Form::SharedBytes, &resident_kernel<Form>, job);
}

static cudaError_t resident_launch(const struct cuda_job *job)
{
    return choose(job->limits->code, job->op->op,
                  [&](auto chosen) { return launch_form<decltype(chosen)>(job); });
}

extern const struct cuda_rung cuda_rung_resident = {
    false, false, false, resident_shape, resident_launch,
};
