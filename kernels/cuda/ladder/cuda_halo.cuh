/* The common part of the rungs `tile`, `march` and `register`: a tile of samples with its halo in shared
 * memory, and any number of threads. A 32×32 tile has 34×34 = 1156 cells, more than the 1024 threads that a
 * block may have: cells and samples are dealt out in turns.
 *
 * Divisions and edge tests are done once a block, and their results kept in two tables in shared memory:
 * where each cell of the tile's plane is in the grid's plane, and which cell each sample is. A plane then
 * costs additions only.
 *
 * A kernel begins with halo_locate, which finds the block's tile. halo_share_taps and halo_take lay out its
 * shared memory. halo_settle_cells and halo_settle_samples fill the two tables. Then, plane by plane,
 * halo_supplied says which plane the edge rule puts in the place of one outside, and halo_copy starts the
 * copy of one of its cells. A sample for which halo_holds or held() is true keeps its value; any other is
 * computed by the filter from the cells. */
#ifndef CUDA_HALO_CUH
#define CUDA_HALO_CUH

#include "kernels/cuda/shared/cuda_chain.cuh"

#include <limits.h>

/* The most blocks that a launch counts along its second and third axis, and planes that a block may walk:
   with these, 32 bits count the planes of a launch. */
#define HALO_BLOCKS 65535
#define HALO_RUN    16384
#define HALO_PLANES (1 << 30)

/* The tile of a block and the reach of the taps around it. */
struct halo_tile {
    int x, rows, planes; /* samples that the tile's block computes at a time */
    struct reach reach_x, reach_row, reach_plane;
    int width, height; /* of a plane with its halo */
    int cells;         /* width × height */
    int span;          /* planes besides its own that the taps of a sample reach */
    int corner;        /* from a plane's first cell to that of its first sample */
};

/* The parameters of a launch. Planes are counted from its first one. */
template <typename T> struct halo_task {
    const T *from;
    T *to; /* both: the first plane of the launch */
    int nx, rows, channels, pitch;
    long long channel_stride, plane_stride;
    cuda_edge<T> edge;
    halo_tile tile;
    int first_block;            /* of the third axis */
    int planes, run;            /* of the launch, and of a block */
    cuda_indices x, row, plane; /* indices with all taps inside the grid */
    cuda_indices there;         /* planes that the grid has */
    long long first, extent;    /* the launch's first plane in the grid, and the grid's planes */
};

/* The place of a block's tile, and the part of it that is inside the grid. */
struct halo_place {
    int x, row, channel, first; /* plane */
    int width, rows, planes;
};

static CUDA_INLINE int halo_thread()
{
    return static_cast<int>(threadIdx.x);
}

static CUDA_INLINE int halo_threads()
{
    return static_cast<int>(blockDim.x);
}

/* Blocks are counted along x, rows, and channels within runs of planes. */
template <typename T> static CUDA_INLINE halo_place halo_locate(const halo_task<T> &task)
{
    const int block = task.first_block + static_cast<int>(blockIdx.z);
    const int run = task.channels == 1 ? block : block / task.channels;
    halo_place place;

    place.x = static_cast<int>(blockIdx.x) * task.tile.x;
    place.row = static_cast<int>(blockIdx.y) * task.tile.rows;
    place.channel = block - run * task.channels;
    place.first = run * task.run;
    place.width = task.tile.x < task.nx - place.x ? task.tile.x : task.nx - place.x;
    place.rows = task.tile.rows < task.rows - place.row ? task.tile.rows : task.rows - place.row;
    place.planes = task.run < task.planes - place.first ? task.run : task.planes - place.first;
    return place;
}

/* Samples from the first plane of a launch to another one, in a block's channel. */
template <typename T>
static CUDA_INLINE long long halo_offset_of(const halo_task<T> &task, const halo_place &place, int plane)
{
    return place.channel * task.channel_stride + plane * task.plane_stride;
}

/* The items that a thread takes in turn, through planes of `count` items each: every halo_threads()-th one,
   found by additions. */
struct halo_turn {
    int plane, index;
    int count, plane_step, index_step;

    CUDA_INLINE halo_turn(int count)
        : plane(halo_thread() / count), index(halo_thread() - plane * count), count(count),
          plane_step(halo_threads() / count), index_step(halo_threads() - plane_step * count)
    {
    }

    CUDA_INLINE void next()
    {
        plane += plane_step;
        index += index_step;
        if (index >= count) {
            index -= count;
            plane++;
        }
    }
};

/* ---- shared memory ---- */

/* Bytes of an array, a multiple of 16, so that the next one is aligned. */
template <typename U> __host__ __device__ __forceinline__ size_t halo_bytes(size_t count)
{
    return (count * sizeof(U) + 15) / 16 * 16;
}

/* Take an array from the rest of a block's shared memory. */
template <typename U> static CUDA_INLINE U *halo_take(unsigned char **shared, int count)
{
    U *const taken = reinterpret_cast<U *>(*shared);

    *shared += halo_bytes<U>(static_cast<size_t>(count));
    return taken;
}

/* Every thread reads the taps of a filter that has a list of them: copy the list to shared memory. */
template <typename T>
static CUDA_INLINE void halo_share_taps(cuda_any_filter<T> *filter, unsigned char **shared)
{
    cuda_tap<T> *const taps = halo_take<cuda_tap<T>>(shared, filter->tap_count);

#pragma unroll 1
    for (int k = halo_thread(); k < filter->tap_count; k += halo_threads())
        taps[k] = filter->taps[k];
    filter->taps = taps;
}
template <typename Filter> static CUDA_INLINE void halo_share_taps(Filter *, unsigned char **)
{
}

template <typename T> static inline size_t halo_tap_bytes(const struct op *op)
{
    return cuda_knows_offsets(op) ? 0 : halo_bytes<cuda_tap<T>>(op->tap_count);
}

/* ---- loading ---- */

/* The place of a cell in the grid's plane; −1: the edge rule has no sample of the grid there. */
template <typename T>
static CUDA_INLINE int halo_offset(const halo_task<T> &task, const halo_place &place, int cell)
{
    const int line = cell / task.tile.width;
    const int row = place.row + task.tile.reach_row.low + line;
    const int x = place.x + task.tile.reach_x.low + cell - line * task.tile.width;
    const long long r = cuda_edge_index(task.edge.rule, row, task.rows);
    const long long i = cuda_edge_index(task.edge.rule, x, task.nx);

    return r < 0 || i < 0 ? -1 : static_cast<int>(r) * task.pitch + static_cast<int>(i);
}

/* The offsets of all cells of a plane. */
template <typename T>
static CUDA_INLINE void halo_settle_cells(const halo_task<T> &task, const halo_place &place, int *offsets)
{
#pragma unroll 1
    for (int cell = halo_thread(); cell < task.tile.cells; cell += halo_threads())
        offsets[cell] = halo_offset(task, place, cell);
}

/* The plane that the edge rule supplies for a plane of a launch: itself, another one, or NULL, none of the
 * grid. */
template <typename T>
static CUDA_INLINE const T *halo_supplied(const halo_task<T> &task, int plane, const T *itself)
{
    if (task.there.holds(plane))
        return itself;
    const long long index = cuda_edge_index(task.edge.rule, task.first + plane, task.extent);
    return index < 0 ? NULL : itself + (index - task.first - plane) * task.plane_stride;
}

/* The value of samples that the edge rule takes from outside the grid. */
template <typename T> static CUDA_INLINE T halo_outside(const halo_task<T> &task, const halo_place &place)
{
    return task.edge.rule == EDGE_CONSTANT ? task.edge.outside[place.channel] : T(0);
}

/* Fill a cell: start an asynchronous copy, or write the value outside. */
template <typename T> static CUDA_INLINE void halo_copy(T *cell, const T *plane, int offset, T outside)
{
    if (plane == NULL || offset < 0)
        *cell = outside;
    else
        cuda_copy_async<sizeof(T)>(cell, plane + offset);
}

/* ---- computing ---- */

/* A sample of the tile's plane: its cell, and its place in the grid's plane, or the complement of that if the
   edge rule holds the sample in every plane. */
struct halo_sample {
    int cell, offset;

    CUDA_INLINE bool held() const
    {
        return offset < 0;
    }
    CUDA_INLINE int place() const
    {
        return offset < 0 ? ~offset : offset;
    }
};

/* Find a sample of the tile's plane by its place in the tile. */
template <typename T>
static CUDA_INLINE halo_sample halo_sample_of(const halo_task<T> &task, const halo_place &place, int row,
                                              int x)
{
    const int offset = (place.row + row) * task.pitch + place.x + x;
    const bool interior = task.x.holds(place.x + x) && task.row.holds(place.row + row);

    return {task.tile.corner + row * task.tile.width + x,
            task.edge.rule == EDGE_HOLD && !interior ? ~offset : offset};
}

/* The samples of a plane of the tile that lie inside the grid. */
template <typename T>
static CUDA_INLINE void halo_settle_samples(const halo_task<T> &task, const halo_place &place,
                                            halo_sample *samples)
{
#pragma unroll 1
    for (int index = halo_thread(); index < place.rows * place.width; index += halo_threads()) {
        const int row = index / place.width;
        samples[index] = halo_sample_of(task, place, row, index - row * place.width);
    }
}

/* Whether the edge rule holds all samples of a plane of a launch. */
template <typename T> static CUDA_INLINE bool halo_holds(const halo_task<T> &task, int plane)
{
    return task.edge.rule == EDGE_HOLD && !task.plane.holds(plane);
}

/* ---- on the host ---- */

/* Any op that taps are all of; ops on single samples have nothing to share. */
static inline bool halo_serves(const struct cuda_question *asked)
{
    if (asked->op->kind == OP_UNSHARP)
        return cuda_refuse(asked->refusal, "the last pass of an unsharp mask reads another field, too");
    if (asked->op->kind == OP_COMBINE || asked->op->kind == OP_POINT)
        return cuda_refuse(asked->refusal, "a sample reads no neighbours: nothing to share");
    if (asked->op->kind == OP_RANK)
        return cuda_refuse(asked->refusal, "it chains taps: rung naive serves ranks");
    if (asked->op->kind == OP_BILATERAL)
        return cuda_refuse(asked->refusal, "weights depend on the samples");
    if (asked->op->tap_count == 0)
        return cuda_refuse(asked->refusal, "no taps");
    return true;
}

/* A tile of the extents, with the halo that the op's taps need. */
static inline halo_tile halo_tile_with(const struct op *op, int x, int rows, int planes)
{
    halo_tile tile = {x, rows, planes, op->x, op->row, op->plane, 0, 0, 0, 0, 0};

    tile.width = x + cuda_span(op->x);
    tile.height = rows + cuda_span(op->row);
    const long long cells = static_cast<long long>(tile.width) * tile.height;
    tile.cells = cells < INT_MAX ? static_cast<int>(cells) : INT_MAX; /* more than shared memory holds */
    tile.span = cuda_span(op->plane);
    tile.corner = -op->row.low * tile.width - op->x.low;
    return tile;
}

/* A tile of the default size, all along x where planes have one row; or of the wished one. */
static inline halo_tile halo_tile_of(const struct cuda_question *asked, int x, int rows)
{
    const struct cuda_wish *wish = asked->wish;
    const bool flat = asked->shape->rows == 1;

    return halo_tile_with(asked->op,
                          wish->tile_x > 0 ? wish->tile_x
                          : flat           ? x * rows
                                           : x,
                          wish->tile_y > 0 ? wish->tile_y
                          : flat           ? 1
                                           : rows,
                          1);
}

/* Warps enough for the samples, and no more than a block shall have. */
static inline unsigned halo_block(long long samples, int most)
{
    const long long threads = cuda_ceil_divide(samples, 32) * 32;

    return static_cast<unsigned>(threads < most ? threads : most);
}

/* Whether a tile and a run of planes are within the limits of launches and of shared memory. */
static inline bool halo_fits(const struct cuda_question *asked, size_t bytes, const halo_tile &tile, int run,
                             int planes)
{
    const long long tiles_down = cuda_ceil_divide(static_cast<long long>(asked->shape->rows), tile.rows);

    if (asked->shape->rows > INT_MAX / (asked->shape->nx + CUDA_ROW_ALIGNMENT))
        return cuda_refuse(asked->refusal, "a plane of %zux%zu samples is beyond offsets of 32 bits",
                           asked->shape->nx, asked->shape->rows);
    if (tiles_down > HALO_BLOCKS)
        return cuda_refuse(asked->refusal, "%lld tiles down a plane, a launch counts %d", tiles_down,
                           HALO_BLOCKS);
    if (run > HALO_RUN)
        return cuda_refuse(asked->refusal, "a block walks %d planes at most", HALO_RUN);
    if (bytes > asked->limits->shared_per_block)
        return cuda_refuse(asked->refusal,
                           "%d planes of %dx%d cells take %zu bytes of shared memory, a block has %zu",
                           planes, tile.width, tile.height, bytes, asked->limits->shared_per_block);
    return true;
}

/* Blocks of a job along the third axis. */
static inline long long halo_layers(unsigned long long planes, unsigned long long channels, int run)
{
    return cuda_ceil_divide(static_cast<long long>(planes), run) * static_cast<long long>(channels);
}

static inline dim3 halo_grid(const halo_tile &tile, size_t nx, size_t rows, long long layers)
{
    return dim3(static_cast<unsigned>(cuda_ceil_divide(static_cast<long long>(nx), tile.x)),
                static_cast<unsigned>(cuda_ceil_divide(static_cast<long long>(rows), tile.rows)),
                static_cast<unsigned>(layers < HALO_BLOCKS ? layers : HALO_BLOCKS));
}

/* The form of a kernel of this family. */
static inline struct cuda_form halo_form(const struct cuda_question *asked, const halo_tile &tile, int run,
                                         unsigned threads, size_t shared_bytes, const void *kernel)
{
    const struct op *op = asked->op;
    const struct shape *shape = asked->shape;
    struct cuda_form form = cuda_form();

    form.tile_x = tile.x;
    form.tile_y = tile.rows;
    form.tile_z = tile.planes;
    form.coarsen = run;
    form.grid = halo_grid(tile, shape->nx, shape->rows, halo_layers(shape->planes, shape->channels, run));
    form.block = dim3(threads);
    form.shared_bytes = shared_bytes;
    form.kernel = kernel;
    form.operations_per_update = cuda_operations(op);
    /* Halo cells in x and rows come from the caches; planes that two runs read come from memory. */
    form.bytes_per_update =
        static_cast<double>(work_size(op->work)) * (2 + static_cast<double>(cuda_span(op->plane)) / run);
    return form;
}

/* The parameters that all launches of a job have in common. */
template <typename T> static halo_task<T> halo_task_of(const struct cuda_job *job, const halo_tile &tile)
{
    const cuda_view<T> &from = *static_cast<const cuda_view<T> *>(job->from);
    const struct op *op = job->op->op;
    halo_task<T> task = {};

    task.nx = from.nx;
    task.rows = from.rows;
    task.channels = from.channels;
    task.pitch = static_cast<int>(from.pitch);
    task.channel_stride = from.pitch * from.rows;
    task.plane_stride = from.plane_stride();
    task.edge = cuda_edge_of<T>(job->op);
    task.tile = tile;
    task.run = job->form->coarsen;
    task.x = cuda_interior(op->x, from.nx, 0, from.nx);
    task.row = cuda_interior(op->row, from.rows, 0, from.rows);
    task.extent = from.planes;
    return task;
}

/* Let the task begin at a run of planes of the job. */
template <typename T> static void halo_begin(halo_task<T> *task, const struct cuda_job *job, long long run)
{
    const long long first = run * task->run, rest = static_cast<long long>(job->planes.count) - first;
    const cuda_view<T> &from = *static_cast<const cuda_view<T> *>(job->from);
    const cuda_view<T> &to = *static_cast<const cuda_view<T> *>(job->to);

    task->first = static_cast<long long>(job->planes.first) + first;
    task->planes = static_cast<int>(rest < HALO_PLANES ? rest : HALO_PLANES);
    task->from = from.row(task->first, 0, 0);
    task->to = to.row(task->first, 0, 0);
    task->plane = cuda_interior(job->op->op->plane, task->extent, task->first, HALO_PLANES);
    task->there = cuda_interior({0, 0}, task->extent, task->first, HALO_PLANES);
}

/* The tile that a form was settled with. */
static inline halo_tile halo_tile_of_form(const struct cuda_job *job)
{
    return halo_tile_with(job->op->op, job->form->tile_x, job->form->tile_y, job->form->tile_z);
}

/* Launch a kernel for a job; more blocks than one launch may have are several launches. */
template <typename T, typename Filter>
static cudaError_t halo_launch(const struct cuda_job *job, const halo_tile &tile,
                               void (*kernel)(halo_task<T>, Filter), const Filter &filter)
{
    const struct cuda_form *form = job->form;
    halo_task<T> task = halo_task_of<T>(job, tile);
    const long long layers =
        halo_layers(job->planes.count, static_cast<unsigned long long>(task.channels), task.run);
    cudaError_t status = cuda_permit_shared(kernel, form->shared_bytes);

    for (long long layer = 0; layer < layers && status == cudaSuccess; layer += HALO_BLOCKS) {
        halo_begin(&task, job, layer / task.channels);
        task.first_block = static_cast<int>(layer % task.channels);
        status = CUDA_LAUNCH(
            job->stream,
            halo_grid(tile, static_cast<size_t>(task.nx), static_cast<size_t>(task.rows), layers - layer),
            form->block, form->shared_bytes, kernel, task, filter);
    }
    return status;
}

#endif
