/* Taps along one axis: what gauss and box are made of.
 *
 * Known as: separable convolution (the row and the column pass).
 * Idea: across x, a thread owns 16 bytes of a row and the sums of many samples in a line along the axis;
 *   every sample on the line is read once and added to all sums that it takes part in. Along x, a block
 *   brings a piece of a row and what the taps reach around it to shared memory, and each thread slides a
 *   window over it. Windows up to radius 8 without gaps are unrolled instead: cuda_window_unrolled.cuh.
 * Adds: any radius in one kernel: weights stand in shared memory.
 * Costs: across x, the samples before and after a line are read by its neighbours, too.
 * Traffic per sample: 2 words, and radius/8 words more across x, most of them found in the L2 cache.
 * Wins when: taps lie on one axis. */
#include "kernels/cuda/shared/cuda_window_unrolled.cuh"

namespace
{

#define BLOCK_THREADS 128

/* Samples of a line whose sums a thread holds. */
#define LINE_SAMPLES 16

/* Rows that a block takes one after the other along x. */
#define BLOCK_ROWS 8

enum axis { AXIS_X, AXIS_ROW, AXIS_PLANE, AXIS_NONE };

/* Blocks stride over more work than a launch has blocks. */
template <typename T> struct axis_task {
    cuda_view<T> from, to;
    cuda_edge<T> edge;
    struct cuda_reach reach;
    const cuda_tap<T> *taps;
    int tap_count;
    int low, span;          /* the window: offsets low … low + span − 1 */
    long long first, count; /* planes to compute */
};

CUDA_INLINE int offset_along(enum axis axis, int dx, int drow, int dplane)
{
    return axis == AXIS_X ? dx : axis == AXIS_ROW ? drow : dplane;
}

/* The weights of the window in shared memory; a gap is 0, which no tap has. */
template <typename T>
CUDA_INLINE void stage_taps(const axis_task<T> &task, enum axis axis, T *weights, int length)
{
    const int thread = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);

    for (int i = thread; i < length; i += threads)
        weights[i] = T(0);
    __syncthreads();
    for (int k = thread; k < task.tap_count; k += threads) {
        const cuda_tap<T> tap = task.taps[k];
        weights[offset_along(axis, tap.dx, tap.drow, tap.dplane) - task.low] = tap.weight;
    }
    __syncthreads();
}

/* A line of a field across x: the axis is the plane's or the row's, the other one is fixed. */
template <typename T, axis Axis> struct axis_line {
    const cuda_view<T> &view;
    int channel;
    long long fixed;

    CUDA_INLINE T *row(long long i) const
    {
        return Axis == AXIS_PLANE ? view.row(i, channel, static_cast<int>(fixed))
                                  : view.row(fixed, channel, static_cast<int>(i));
    }
    CUDA_INLINE long long extent() const
    {
        return Axis == AXIS_PLANE ? view.planes : view.rows;
    }
};

/* What lies at place i of a line, columns x … x + pack − 1. */
template <typename T, axis Axis>
CUDA_INLINE void read_line(const axis_task<T> &task, const axis_line<T, Axis> &line, long long i, int x,
                           T *values)
{
    const long long source = arith_edge_index(task.edge.rule, i, line.extent());

    if (source >= 0) {
        cuda_load_packs<cuda_pack_of<T>::samples>(line.row(source) + x, values);
        return;
    }
#pragma unroll
    for (int k = 0; k < cuda_pack_of<T>::samples; k++)
        values[k] = task.edge.rule == EDGE_CONSTANT ? task.edge.outside[line.channel] : T(0);
}

template <typename T, axis Axis>
__global__ void __launch_bounds__(BLOCK_THREADS, 4) line_kernel(const axis_task<T> task)
{
    CUDA_SHARED(T, weights);
    const int pack = cuda_pack_of<T>::samples;
    const int x = (static_cast<int>(blockIdx.x) * BLOCK_THREADS + static_cast<int>(threadIdx.x)) * pack;
    const cuda_view<T> &view = task.from;
    const long long line_first = Axis == AXIS_PLANE ? task.first : 0;
    const long long line_end = Axis == AXIS_PLANE ? task.first + task.count : view.rows;
    const long long pieces = (line_end - line_first + LINE_SAMPLES - 1) / LINE_SAMPLES;
    const long long lines = (Axis == AXIS_PLANE ? view.rows : task.count) * view.channels * pieces;

    stage_taps(task, Axis, weights, task.span);
    if (x >= view.nx)
        return;
    for (long long index = blockIdx.y; index < lines; index += gridDim.y) {
        const long long begin = line_first + index % pieces * LINE_SAMPLES;
        const long long end = begin + LINE_SAMPLES < line_end ? begin + LINE_SAMPLES : line_end;
        const long long across = index / pieces;
        const axis_line<T, Axis> line = {view, static_cast<int>(across % view.channels),
                                         Axis == AXIS_PLANE ? across / view.channels
                                                            : task.first + across / view.channels};
        const axis_line<T, Axis> result = {task.to, line.channel, line.fixed};
        T sums[LINE_SAMPLES][cuda_pack_of<T>::samples];

        /* A chain starts at −0: fma(w, v, −0) is the product w·v, its sign included. */
#pragma unroll
        for (int o = 0; o < LINE_SAMPLES; o++) {
#pragma unroll
            for (int k = 0; k < pack; k++)
                sums[o][k] = -T(0);
        }
        for (long long i = begin + task.low; i < end + task.low + task.span - 1; i++) {
            T values[cuda_pack_of<T>::samples];
            const int place = static_cast<int>(i - begin) - task.low; /* in the window of the first sum */
            read_line(task, line, i, x, values);
#pragma unroll
            for (int o = 0; o < LINE_SAMPLES; o++) {
                const int tap = place - o;
                const T weight = tap >= 0 && tap < task.span ? weights[tap] : T(0);
                if (weight != T(0)) {
#pragma unroll
                    for (int k = 0; k < pack; k++)
                        sums[o][k] = cuda_fma(weight, values[k], sums[o][k]);
                }
            }
        }
#pragma unroll
        for (int o = 0; o < LINE_SAMPLES; o++) {
            if (begin + o >= end)
                continue;
            if (task.edge.rule == EDGE_HOLD &&
                !cuda_reach::inside(Axis == AXIS_PLANE ? task.reach.plane : task.reach.row, begin + o,
                                    line.extent()))
                cuda_load_packs<cuda_pack_of<T>::samples>(line.row(begin + o) + x, sums[o]);
            cuda_store_columns<cuda_pack_of<T>::samples>(result.row(begin + o), x, x, view.nx, sums[o]);
        }
    }
}

/* Along x. The window is widened to whole packs on both sides: taps that do not exist have weight 0. */
template <typename T> struct row_plan {
    int before, packs; /* samples before the first of a thread, packs of taps */

    __host__ __device__ row_plan(int low, int span)
    {
        const int pack = cuda_pack_of<T>::samples;

        before = low < 0 ? (-low + pack - 1) / pack * pack : -(low / pack * pack);
        packs = (before + low + span + pack - 1) / pack;
    }
    __host__ __device__ int taps() const
    {
        return packs * cuda_pack_of<T>::samples;
    }
    __host__ __device__ int cells() const
    {
        return BLOCK_THREADS * cuda_pack_of<T>::samples + taps();
    }
};

/* Send for the cells of a piece of a row: columns begin … begin + count − 1. */
template <typename T>
CUDA_INLINE void fetch_cells(const axis_task<T> &task, const T *row, int channel, int begin, int count,
                             T *cells)
{
    const int pack = cuda_pack_of<T>::samples;

    for (int i = static_cast<int>(threadIdx.x) * pack; i < count; i += BLOCK_THREADS * pack) {
        if (begin + i >= 0 && begin + i + pack <= task.from.nx) {
            cuda_copy_async<16>(cells + i, row + begin + i);
            continue;
        }
        for (int k = 0; k < pack; k++) {
            const int x = static_cast<int>(arith_edge_index(task.edge.rule, begin + i + k, task.from.nx));
            if (x < 0)
                cells[i + k] = task.edge.rule == EDGE_CONSTANT ? task.edge.outside[channel] : T(0);
            else
                cuda_copy_async<sizeof(T)>(cells + i + k, row + x);
        }
    }
}

/* A thread's pack of samples from the cells: the window slides by a pack of taps at a time. */
template <typename T>
CUDA_INLINE void chain_cells(const T *cells, const T *weights, int packs, T (&sums)[cuda_pack_of<T>::samples])
{
    const int pack = cuda_pack_of<T>::samples;
    T values[2 * cuda_pack_of<T>::samples], taps[cuda_pack_of<T>::samples];

#pragma unroll
    for (int k = 0; k < pack; k++)
        sums[k] = -T(0);
    cuda_load_packs<cuda_pack_of<T>::samples>(cells, values);
    for (int c = 0; c < packs; c++) {
        cells += pack;
        cuda_load_packs<cuda_pack_of<T>::samples>(cells, values + pack);
        cuda_load_packs<cuda_pack_of<T>::samples>(weights + c * pack, taps);
#pragma unroll
        for (int tap = 0; tap < pack; tap++) {
            if (taps[tap] != T(0)) {
#pragma unroll
                for (int k = 0; k < pack; k++)
                    sums[k] = cuda_fma(taps[tap], values[tap + k], sums[k]);
            }
        }
#pragma unroll
        for (int k = 0; k < pack; k++)
            values[k] = values[k + pack];
    }
}

/* A row of the planes to compute, by its number among all of them. */
struct numbered_row {
    long long plane;
    int channel, row;

    template <typename T> CUDA_INLINE numbered_row(const axis_task<T> &task, long long number)
    {
        const long long per_plane = static_cast<long long>(task.from.channels) * task.from.rows;
        const long long within = number % per_plane;

        plane = task.first + number / per_plane;
        channel = static_cast<int>(within / task.from.rows);
        row = static_cast<int>(within % task.from.rows);
    }

    template <typename T> CUDA_INLINE T *in(const cuda_view<T> &view) const
    {
        return view.row(plane, channel, row);
    }
};

/* A block's piece of one row after another: the columns from `begin` on. The cells of two rows are in shared
 * memory, those of the next one on their way while this one is added up. */
template <typename T> struct row_walk {
    static constexpr int Pack = cuda_pack_of<T>::samples;

    const axis_task<T> &task;
    const row_plan<T> plan;
    T *const weights, *const stages;
    const int begin, mine; /* the thread's first sample, from there */

    CUDA_INLINE row_walk(const axis_task<T> &task_, T *shared)
        : task(task_), plan(task_.low, task_.span), weights(shared), stages(shared + plan.taps()),
          begin(static_cast<int>(blockIdx.x) * BLOCK_THREADS * Pack),
          mine(static_cast<int>(threadIdx.x) * Pack)
    {
        axis_task<T> widened = task;

        widened.low = -plan.before;
        stage_taps(widened, AXIS_X, weights, plan.taps());
    }

    CUDA_INLINE T *stage(long long number) const
    {
        return stages + (number & 1) * plan.cells();
    }

    CUDA_INLINE void fetch(long long number) const
    {
        const numbered_row row(task, number);

        fetch_cells(task, row.in(task.from), row.channel, begin - plan.before, plan.cells(), stage(number));
    }

    /* Samples with a tap outside the grid keep their value. */
    CUDA_INLINE void hold(const T *old, T (&sums)[Pack]) const
    {
#pragma unroll
        for (int k = 0; k < Pack; k++) {
            const int x = begin + mine + k;
            if (x < task.from.nx && !cuda_reach::inside(task.reach.x, x, task.from.nx))
                sums[k] = old[x];
        }
    }

    CUDA_INLINE void sum(long long number) const
    {
        const numbered_row row(task, number);
        T sums[Pack];

        chain_cells(stage(number) + mine, weights, plan.packs, sums);
        if (task.edge.rule == EDGE_HOLD)
            hold(row.in(task.from), sums);
        cuda_store_columns<Pack>(row.in(task.to), begin + mine, begin + mine, task.from.nx, sums);
    }

    /* The copies of a row have arrived when no more than those of the next one, if there is one, are under
     * way. */
    CUDA_INLINE void run(long long first, long long end) const
    {
        fetch(first);
        cuda_commit_copies();
        for (long long number = first; number < end; number++) {
            if (number + 1 < end)
                fetch(number + 1);
            cuda_commit_copies();
            cuda_await_copies<1>();
            __syncthreads();
            sum(number);
            __syncthreads();
        }
    }
};

template <typename T> __global__ void __launch_bounds__(BLOCK_THREADS) row_kernel(const axis_task<T> task)
{
    CUDA_SHARED(T, shared);
    const long long rows = task.count * task.from.channels * task.from.rows;
    const long long stride = static_cast<long long>(gridDim.y) * BLOCK_ROWS;
    const row_walk<T> walk(task, shared);

    for (long long first = static_cast<long long>(blockIdx.y) * BLOCK_ROWS; first < rows; first += stride)
        walk.run(first, first + BLOCK_ROWS < rows ? first + BLOCK_ROWS : rows);
}

/* ---- windows without gaps ---- */

/* Windows up to this radius have forms in which every tap is unrolled. */
#define WHOLE_RADIUS 8

/* Blocks that a multiprocessor is asked to hold, as the registers allow that a row with its neighbours takes.
 */
template <typename T> constexpr int along_x_blocks(int radius)
{
    return sizeof(T) == 4 ? (radius <= 6 ? 8 : 6) : radius <= 4 ? 5 : 4;
}

/* Along x a thread has two rows, for the neighbours that it loads; across it as many samples as its registers
   take, and the block's warps below each other, so that few are loaded for other blocks' sake. */
template <typename T, int Radius>
using axis_along_x = unrolled_form<T, Radius, 0, 2, 2, 4, along_x_blocks<T>(Radius)>;
template <typename T, int Radius> using axis_across = unrolled_form<T, 0, Radius, 8, 4, 8, 3>;

/* Call act with the form for a window that reaches as far on both sides. */
template <typename T, typename Act> auto axis_choose(bool along_x, int radius, Act act)
{
    return cuda_with_number<1, WHOLE_RADIUS, 1>(radius, [=](auto chosen) {
        constexpr int Radius = decltype(chosen)::value;
        return along_x ? act(axis_along_x<T, Radius>()) : act(axis_across<T, Radius>());
    });
}

/* ---- any other window ---- */

/* The axis that all taps lie on. The centre alone lies on each: x is as good as any. */
enum axis axis_of(const struct op *op)
{
    const bool x = cuda_span(op->x) > 0, row = cuda_span(op->row) > 0, plane = cuda_span(op->plane) > 0;

    if (x + row + plane > 1)
        return AXIS_NONE;
    return row ? AXIS_ROW : plane ? AXIS_PLANE : AXIS_X;
}

const struct reach *reach_along(const struct op *op, enum axis axis)
{
    return axis == AXIS_X ? &op->x : axis == AXIS_ROW ? &op->row : &op->plane;
}

template <typename T> const void *axis_kernel(enum axis axis)
{
    switch (axis) {
    case AXIS_X:
        return reinterpret_cast<const void *>(row_kernel<T>);
    case AXIS_ROW:
        return reinterpret_cast<const void *>(line_kernel<T, AXIS_ROW>);
    default:
        return reinterpret_cast<const void *>(line_kernel<T, AXIS_PLANE>);
    }
}

template <typename T>
void axis_settle(const struct op *op, const struct shape *shape, struct range planes, struct cuda_form *form)
{
    const enum axis axis = axis_of(op);
    const struct reach *reach = reach_along(op, axis);
    const long long count = static_cast<long long>(planes.count), rows = static_cast<long long>(shape->rows);
    const long long line = axis == AXIS_PLANE ? count : rows, across = axis == AXIS_PLANE ? rows : count;
    const row_plan<T> plan(reach->low, cuda_span(*reach) + 1);
    long long pieces = cuda_ceil_divide(rows * count * shape->channels, BLOCK_ROWS);

    if (axis != AXIS_X)
        pieces = across * shape->channels * cuda_ceil_divide(line, LINE_SAMPLES);
    form->tile_x = BLOCK_THREADS * cuda_pack_of<T>::samples;
    form->tile_y = axis == AXIS_X ? BLOCK_ROWS : LINE_SAMPLES;
    form->coarsen = form->tile_y;
    form->block = dim3(BLOCK_THREADS);
    form->grid = dim3(cuda_blocks(cuda_ceil_divide(static_cast<long long>(shape->nx), form->tile_x)),
                      static_cast<unsigned>(pieces < 65535 ? pieces : 65535));
    form->shared_bytes = sizeof(T) * static_cast<size_t>(axis == AXIS_X ? plan.taps() + 2 * plan.cells()
                                                                        : cuda_span(*reach) + 1);
    form->kernel = axis_kernel<T>(axis);
    form->bytes_per_update =
        sizeof(T) * (2 + (axis == AXIS_X ? 0 : static_cast<double>(cuda_span(*reach)) / LINE_SAMPLES));
    form->operations_per_update = cuda_operations(op);
}

/* The axis along which threads of a form for whole windows have several samples. */
enum unrolled_axis whole_axis(const struct op *op, const struct shape *shape)
{
    const enum axis axis = axis_of(op);

    return axis == AXIS_ROW || (axis == AXIS_X && shape->rows > 1) ? UNROLLED_ROWS : UNROLLED_PLANES;
}

/* Whether a form with unrolled taps serves a window that reaches as far on both sides. */
template <typename T>
bool whole_serves(enum axis axis, int radius, const struct shape *shape, enum unrolled_axis down)
{
    return axis_choose<T>(axis == AXIS_X, radius,
                          [&](auto chosen) { return unrolled_serves<decltype(chosen)>(shape, down); });
}

/* How far the window of an op reaches on both sides if a form with unrolled taps serves it, else 0. */
template <typename T> int whole_radius(const struct op *op, const struct shape *shape)
{
    const enum axis axis = axis_of(op);
    const enum unrolled_axis down = whole_axis(op, shape);
    const int radius = reach_along(op, axis)->high;
    const bool along_x = axis == AXIS_X;

    if (radius < 1 || radius > WHOLE_RADIUS || !whole_serves<T>(axis, radius, shape, down))
        return 0;
    return unrolled_is_whole(op, down, along_x ? radius : 0, along_x ? 0 : radius) ? radius : 0;
}

template <typename T> void axis_settle_any(const struct cuda_question *asked, struct cuda_form *form)
{
    const struct range all = {0, asked->shape->planes};
    const int radius = whole_radius<T>(asked->op, asked->shape);

    if (radius == 0) {
        axis_settle<T>(asked->op, asked->shape, all, form);
        return;
    }
    axis_choose<T>(axis_of(asked->op) == AXIS_X, radius, [&](auto chosen) {
        unrolled_describe<decltype(chosen)>(asked, whole_axis(asked->op, asked->shape), form);
    });
}

template <typename T> bool axis_shape(const struct cuda_question *asked, struct cuda_form *form)
{
    if (asked->op->kind != OP_TAPS || asked->op->tap_count == 0)
        return cuda_refuse(asked->refusal, "only chains of taps run in passes");
    if (axis_of(asked->op) == AXIS_NONE)
        return cuda_refuse(asked->refusal, "taps lie on more than one axis");
    axis_settle_any<T>(asked, form);
    if (form->shared_bytes > asked->limits->shared_per_block)
        return cuda_refuse(asked->refusal, "the window takes %zu bytes of shared memory, a block has %zu",
                           form->shared_bytes, asked->limits->shared_per_block);
    return true;
}

template <typename T> cudaError_t axis_launch(const struct cuda_job *job)
{
    const struct op *op = job->op->op;
    const enum axis axis = axis_of(op);
    const struct reach *reach = reach_along(op, axis);
    axis_task<T> task = {};
    struct cuda_form form = {};

    task.from = *static_cast<const cuda_view<T> *>(job->from);
    const struct shape shape = cuda_shape_of(job);
    const int radius = whole_radius<T>(op, &shape);
    if (radius > 0)
        return axis_choose<T>(axis == AXIS_X, radius, [&](auto chosen) {
            return unrolled_launch<decltype(chosen)>(job, whole_axis(op, &shape));
        });
    task.to = *static_cast<const cuda_view<T> *>(job->to);
    task.edge = cuda_edge_of<T>(job->op);
    task.reach = cuda_reach_of(op);
    task.taps = static_cast<const cuda_tap<T> *>(job->op->taps);
    task.tap_count = static_cast<int>(op->tap_count);
    task.low = reach->low;
    task.span = cuda_span(*reach) + 1;
    task.first = static_cast<long long>(job->planes.first);
    task.count = static_cast<long long>(job->planes.count);
    axis_settle<T>(op, &shape, job->planes, &form);
    const auto kernel = axis == AXIS_X     ? row_kernel<T>
                        : axis == AXIS_ROW ? line_kernel<T, AXIS_ROW>
                                           : line_kernel<T, AXIS_PLANE>;
    const cudaError_t error = cuda_permit_shared(kernel, form.shared_bytes);
    if (error != cudaSuccess)
        return error;
    return CUDA_LAUNCH(job->stream, form.grid, form.block, form.shared_bytes, kernel, task);
}

} // namespace

CUDA_RUNG(axis, false, false, false);
