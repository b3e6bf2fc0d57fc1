/* One step of an op on a picture, through tiles in shared memory.
 *
 * Idea: a block loads a tile with what its taps reach around it into shared memory, once; then every tap of
 * every sample reads there. Edge rules are settled while loading. Heat relaxes any number of times in
 * registers against the frozen tile. Adds: one barrier. Cells and samples are dealt out to the threads in
 * turns, so that tile, window and number of threads have nothing to do with each other: 32×32 samples have
 * 34×34 = 1156 cells, more than a block has threads. Costs: shared memory; cells around the tile that its
 * neighbours load, too; every tap is read from shared memory. Traffic per sample: 1 word, and (1 +
 * reach/side)² words, much of it found in the L2 cache. Wins when: windows are large and have gaps, or each
 * sample is worth much arithmetic. */
#include "cuda_stream.cuh"

namespace
{

#define TILE_THREADS 256
#define TILE_SIDE    32

/* Where the cells of a tile are: columns from x, rows from y. */
template <typename T> struct tile_task {
    cuda_view<T> from, to;
    cuda_edge<T> edge;
    struct cuda_reach reach;
    cuda_any_filter<T> filter;
    long long first, count; /* rows of the picture to compute */
    int tile_x, tile_y;
    int cells_x, cells_y; /* of a tile with what is around it */
    int columns;          /* tiles side by side */
};

/* Reads the taps of a sample from the tile. */
template <typename T> struct tile_reader {
    const T *own;
    int pitch;

    CUDA_INLINE T operator()(int dx, int, int dplane) const
    {
        return own[dplane * pitch + dx];
    }
};

/* Taps stand in shared memory, too: each is read by every thread. Rounded up, so that cells stay aligned. */
template <typename T> __host__ __device__ size_t tap_bytes(int tap_count)
{
    return (static_cast<size_t>(tap_count) * sizeof(cuda_tap<T>) + 15) / 16 * 16;
}

template <typename T> __global__ void __launch_bounds__(TILE_THREADS) tile_kernel(const tile_task<T> task)
{
    CUDA_SHARED(unsigned char, shared);
    cuda_tap<T> *const taps = reinterpret_cast<cuda_tap<T> *>(shared);
    T *const cells = reinterpret_cast<T *>(shared + tap_bytes<T>(task.filter.tap_count));
    const int thread = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
    const int channel = static_cast<int>(blockIdx.y);
    const int x = static_cast<int>(blockIdx.x) % task.columns * task.tile_x;
    const long long y = task.first + static_cast<long long>(blockIdx.x) / task.columns * task.tile_y;
    cuda_any_filter<T> filter = task.filter;

    for (int k = thread; k < filter.tap_count; k += threads)
        taps[k] = filter.taps[k];
    for (int cell = thread; cell < task.cells_x * task.cells_y; cell += threads)
        cells[cell] = cuda_read(task.from, task.edge, channel, y + task.reach.plane.low + cell / task.cells_x,
                                0, x + task.reach.x.low + cell % task.cells_x);
    __syncthreads();
    filter.taps = taps;
    for (int sample = thread; sample < task.tile_x * task.tile_y; sample += threads) {
        const int column = sample % task.tile_x, row = sample / task.tile_x;
        if (x + column >= task.from.nx || y + row >= task.first + task.count)
            continue;
        const T *own = cells + (row - task.reach.plane.low) * task.cells_x + column - task.reach.x.low;
        const bool held =
            task.edge.rule == EDGE_HOLD && !task.reach.interior(task.from, y + row, 0, x + column);
        task.to.row(y + row, channel, 0)[x + column] =
            held ? *own : filter(*own, tile_reader<T>{own, task.cells_x});
    }
}

size_t tile_bytes(const struct op *op, int tile_x, int tile_y)
{
    const size_t cells =
        static_cast<size_t>(tile_x + cuda_span(op->x)) * static_cast<size_t>(tile_y + cuda_span(op->plane));
    const int taps = static_cast<int>(op->tap_count);

    return cells * work_size(op->work) +
           (op->work == WORK_F32 ? tap_bytes<float>(taps) : tap_bytes<double>(taps));
}

/* Threads for a tile: one a sample as far as a block goes, in whole warps. */
int tile_threads(int samples)
{
    const int whole = (samples + CUDA_WARP - 1) / CUDA_WARP * CUDA_WARP;

    return whole < TILE_THREADS ? whole : TILE_THREADS;
}

bool tile_shape(const struct cuda_limits *limits, const struct op *op, const struct shape *shape,
                const struct cuda_wish *wish, struct cuda_form *form, char *reason, size_t size)
{
    int tile_x = wish->tile_x > 0 ? wish->tile_x : TILE_SIDE;
    int tile_y = wish->tile_y > 0 ? wish->tile_y : TILE_SIDE;
    const bool free = wish->tile_x <= 0 && wish->tile_y <= 0;

    if (!cuda_is_picture(op, shape))
        return cuda_refuse(reason, size, "the grid has three axes");
    if (op->kind == OP_UNSHARP)
        return cuda_refuse(reason, size, "the op reads no neighbours");
    while (free && tile_x > 1 && tile_bytes(op, tile_x, tile_y) > limits->shared_per_block)
        tile_x = tile_y = tile_x / 2;

    const size_t bytes = tile_bytes(op, tile_x, tile_y);
    if (bytes > limits->shared_per_block)
        return cuda_refuse(
            reason, size,
            "a tile of %d×%d with its surroundings takes %zu bytes of shared memory, a block has %zu", tile_x,
            tile_y, bytes, limits->shared_per_block);
    *form = cuda_form();
    form->tile_x = tile_x;
    form->tile_y = tile_y;
    form->coarsen = 1;
    form->stride = 1;
    form->steps = 1;
    form->block = dim3(static_cast<unsigned>(tile_threads(tile_x * tile_y)));
    form->grid = dim3(cuda_blocks(cuda_ceil_divide(static_cast<long long>(shape->nx), tile_x) *
                                  cuda_ceil_divide(static_cast<long long>(shape->planes), tile_y)),
                      shape->channels);
    form->shared_bytes = bytes;
    form->kernel = op->work == WORK_F32 ? reinterpret_cast<const void *>(tile_kernel<float>)
                                        : reinterpret_cast<const void *>(tile_kernel<double>);
    form->bytes_per_update = static_cast<double>(work_size(op->work)) *
                             (1 + (1 + static_cast<double>(cuda_span(op->x)) / tile_x) *
                                      (1 + static_cast<double>(cuda_span(op->plane)) / tile_y));
    form->operations_per_update = cuda_operations(op);
    return true;
}

template <typename T> cudaError_t tile_launch_of(const struct cuda_job *job)
{
    const struct op *op = job->op->op;
    const struct cuda_form *form = job->form;
    const auto kernel = tile_kernel<T>;
    tile_task<T> task = {};

    task.from = *static_cast<const cuda_view<T> *>(job->from);
    task.to = *static_cast<const cuda_view<T> *>(job->to);
    task.edge = cuda_edge_of<T>(job->op);
    task.reach = cuda_reach_of(op);
    task.filter = cuda_any_filter_of<T>(job->op);
    task.first = static_cast<long long>(job->planes.first);
    task.count = static_cast<long long>(job->planes.count);
    task.tile_x = form->tile_x;
    task.tile_y = form->tile_y;
    task.cells_x = form->tile_x + cuda_span(op->x);
    task.cells_y = form->tile_y + cuda_span(op->plane);
    task.columns = static_cast<int>(cuda_ceil_divide(task.from.nx, form->tile_x));

    const cudaError_t error = cuda_permit_shared(kernel, form->shared_bytes);
    if (error != cudaSuccess)
        return error;
    const long long tiles = task.columns * cuda_ceil_divide(task.count, form->tile_y);
    const dim3 grid(static_cast<unsigned>(tiles), static_cast<unsigned>(task.from.channels));
    return CUDA_LAUNCH(job->stream, grid, form->block, form->shared_bytes, kernel, task);
}

cudaError_t tile_launch(const struct cuda_job *job)
{
    return job->op->op->work == WORK_F32 ? tile_launch_of<float>(job) : tile_launch_of<double>(job);
}

} // namespace

extern const struct cuda_rung cuda_rung_tile2 = {
    {"tile", "a block loads a tile and its surroundings to shared memory"},
    true,
    false,
    tile_shape,
    tile_launch,
};
