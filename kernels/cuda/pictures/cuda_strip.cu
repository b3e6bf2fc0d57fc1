/* Convolution of a picture with a K×K window, coarsened in registers.
 *
 * Known as: register-tiled 2D convolution; thread coarsening along the rows; weights in constant memory.
 * Idea: a warp streams down a column strip; a lane owns four samples of a row and keeps the open sums of the
 *   K rows that the arriving row takes part in. Every sample is read from shared memory once a row, never
 *   again.
 * Adds: sums in registers that move up by one row as they grow, so that nothing is copied; weights straight
 *   from the kernel's parameters, which lie in constant memory (small windows), or from shared memory, four
 *   at a time (large ones). Small windows without gaps are whole tiles in registers instead:
 *   cuda_window_unrolled.cuh, which has the gradient of a picture, too.
 * Costs: 4·K registers; rows above a strip that its neighbour reads, too.
 * Traffic per sample: 2 words, and the strips' overlap, which is mostly found in the L2 cache.
 * Wins when: the window is dense. Small windows run at the speed of copying, large ones at that of the
 *   multipliers. */
#include "kernels/cuda/shared/cuda_window_unrolled.cuh"

#include <type_traits>

namespace
{

/* Samples of a row that a lane computes. */
#define LANE_SAMPLES 4

/* Columns of a strip. */
#define STRIP_COLUMNS (CUDA_WARP * LANE_SAMPLES)

/* Windows up to this side are unrolled whole, with their weights in the kernel's parameters. */
#define UNROLLED_SIDE 15
#define LARGEST_SIDE  31

/* Rows of sums that are left out together where a strip has none of them, for windows that are larger than
   this: at its ends a strip opens sums that only its neighbours want. */
#define GROUP_ROWS     4
#define UNGROUPED_SIDE 11

/* A multiple of four, so that each lane's samples stay aligned. */
__host__ __device__ constexpr int halo_of(int side)
{
    return (side / 2 + 3) / 4 * 4;
}

/* What a launch computes, whatever the window. */
template <typename T> struct strip_task {
    cuda_view<T> from, to;
    cuda_edge<T> edge;
    struct cuda_reach reach;
    int first, count; /* rows of the picture to compute */
    int columns;      /* strips side by side */
    int strips, height;
};

/* Where a warp works. */
template <typename T> struct strip_site {
    int channel, x, begin, end; /* x: of the lane's first sample */
    int top, bottom;

    CUDA_INLINE strip_site(const strip_task<T> &task, int lane)
    {
        const cuda_place place = cuda_place_of(blockIdx.x, task.columns, task.strips);

        channel = place.channel;
        begin = place.column * STRIP_COLUMNS;
        end = begin + STRIP_COLUMNS < task.from.nx ? begin + STRIP_COLUMNS : task.from.nx;
        x = begin + lane * LANE_SAMPLES;
        top = task.first + place.strip * task.height;
        bottom = top + task.height < task.first + task.count ? top + task.height : task.first + task.count;
    }

    /* Whether a group of rows from y on has one of the strip's. */
    CUDA_INLINE bool wants(int y) const
    {
        return y + GROUP_ROWS > top && y < bottom;
    }
};

/* Store a lane's finished samples of row y; EDGE_HOLD gives those near the edge their old values back. */
template <typename T>
CUDA_INLINE void strip_store(const strip_task<T> &task, const strip_site<T> &site, const cuda_channel<T> &to,
                             int y, T (&samples)[LANE_SAMPLES])
{
    if (task.reach.rule == EDGE_HOLD) {
        const T *old = task.from.row(y, site.channel, 0);
#pragma unroll
        for (int i = 0; i < LANE_SAMPLES; i++) {
            if (site.x + i < site.end && !task.reach.interior(task.from, y, 0, site.x + i))
                samples[i] = old[site.x + i];
        }
    }
    cuda_store_columns<LANE_SAMPLES>(to.row(y), site.x, site.begin, site.end, samples);
}

/* Chain a row of the window onto sums: result may be another row's sums. A chain starts at −0: fma(w, v, −0)
   is the product w·v, its sign included. Dense: no tap is left out; else `present` has a bit for each. */
template <int Side, bool Dense, typename T>
CUDA_INLINE void chain_row(const T *weights, unsigned present, const T (&values)[Side + LANE_SAMPLES - 1],
                           const T (&sums)[LANE_SAMPLES], T (&result)[LANE_SAMPLES])
{
    cuda_copy(result, sums);
#pragma unroll
    for (int k = 0; k < Side; k++) {
        if (Dense || (present >> k & 1) != 0) {
#pragma unroll
            for (int i = 0; i < LANE_SAMPLES; i++)
                result[i] = cuda_fma(weights[k], values[k + i], result[i]);
        }
    }
}

/* A kernel's parameters may take 4 KiB: with toolkits before 12.1 no more than the largest of these. */
template <typename T, int Side> struct unrolled_window {
    T weights[Side * Side];
};

template <typename T, int Side> struct window : unrolled_window<T, Side> {
    unsigned present[Side]; /* a bit for each tap of a row */
};

/* A lane's part of an arriving row with the columns that its window reaches. */
template <int Side, typename T>
CUDA_INLINE void load_window(const T *row, int lane, T (&values)[Side + LANE_SAMPLES - 1])
{
    const int halo = halo_of(Side);
    T packs[LANE_SAMPLES + 2 * halo];

    cuda_load_packs<LANE_SAMPLES + 2 * halo>(row + lane * LANE_SAMPLES, packs);
#pragma unroll
    for (int i = 0; i < Side + LANE_SAMPLES - 1; i++)
        values[i] = packs[halo - Side / 2 + i];
}

/* Warps, each a block, that a multiprocessor is to run at once: as many as the sums leave registers for,
   of which ptxas wants some more from 10.0 on. */
template <typename T> __host__ __device__ constexpr int unrolled_warps(int side, int code)
{
    const int f32 = side <= 5 ? 32 : side <= 9 ? (code < 100 ? 24 : 20) : 16;
    const int f64 = side <= 5 ? 24 : side <= 9 ? 14 : 8;

    return cuda_residents(code, CUDA_WARP, sizeof(T) == 4 ? f32 : f64);
}

/* Chain an arriving row to the sums of row y and those after it, from a group on. The sums of row y + j move
   to place j from the one after it. */
template <typename T, int Side, bool Dense, int Group>
CUDA_INLINE void chain_groups(const strip_site<T> &site, int y, const window<T, Side> &window,
                              const T (&values)[Side + LANE_SAMPLES - 1], T (&sums)[Side][LANE_SAMPLES])
{
    constexpr int Rows = Group + GROUP_ROWS < Side ? GROUP_ROWS : Side - Group;

    if (Side <= UNGROUPED_SIDE || site.wants(y + Group)) {
#pragma unroll
        for (int i = 0; i < Rows; i++) {
            const int j = Group + i;
            const int row = Side - 1 - j;
            if (j == Side - 1) {
                const T fresh[LANE_SAMPLES] = {-T(0), -T(0), -T(0), -T(0)};
                chain_row<Side, Dense>(window.weights, window.present[0], values, fresh, sums[j]);
            } else {
                chain_row<Side, Dense>(window.weights + row * Side, window.present[row], values, sums[j + 1],
                                       sums[j]);
            }
        }
    }
    if constexpr (Group + GROUP_ROWS < Side)
        chain_groups<T, Side, Dense, Group + GROUP_ROWS>(site, y, window, values, sums);
}

template <typename T, int Side, bool Dense>
__global__ void __launch_bounds__(CUDA_WARP, unrolled_warps<T>(Side, cuda_code()))
    strip_kernel(const strip_task<T> task, const window<T, Side> window)
{
    CUDA_SHARED(T, stages);
    const int lane = static_cast<int>(threadIdx.x);
    const strip_site<T> site(task, lane);
    const int width = STRIP_COLUMNS + 2 * halo_of(Side);
    const cuda_strip<T, width> strip(task.from, task.edge, site.channel, site.begin - halo_of(Side));
    const cuda_channel<T> to(task.to, site.channel);
    cuda_ring<T, width> ring(strip, stages, lane, site.top - Side / 2, site.bottom + Side / 2);
    T sums[Side][LANE_SAMPLES];

#pragma unroll
    for (int j = 0; j < Side; j++)
        cuda_fill(sums[j], -T(0));
    for (int y = site.top - Side + 1; y < site.bottom; y++) {
        T values[Side + LANE_SAMPLES - 1];
        load_window<Side>(ring.receive(), lane, values);
        chain_groups<T, Side, Dense, 0>(site, y, window, values, sums);
        if (y >= site.top)
            strip_store(task, site, to, y, sums[0]);
    }
}

/* Large windows: a loop over chunks of four taps of all rows, so that the code fits into the instruction
   cache. The first chunk moves the sums up; it is as short as it takes to align the others. */
__host__ __device__ constexpr int first_chunk(int side)
{
    return 4 - (halo_of(side) - side / 2) % 4;
}
__host__ __device__ constexpr int chunks_of(int side)
{
    return 1 + (side - first_chunk(side) + 3) / 4;
}

/* Weights by chunk, row and tap, four taps each. */
template <int Side> CUDA_INLINE void stage_weights(const float *weights, float *staged, int lane)
{
    for (int i = lane; i < chunks_of(Side) * Side * 4; i += CUDA_WARP) {
        const int chunk = i / (Side * 4), row = i / 4 % Side, k = i % 4;
        const int tap = chunk == 0 ? k : first_chunk(Side) + 4 * (chunk - 1) + k;
        const bool exists = tap < Side && (chunk > 0 || k < first_chunk(Side));
        staged[i] = exists ? weights[row * Side + tap] : 0.0f;
    }
}

/* Chain Count taps of every row of the window. Moving: the sums come from the next row's place. */
template <int Side, int Count, bool Moving>
CUDA_INLINE void chain_chunk(const float *weights, const float *values, float (&sums)[Side][LANE_SAMPLES])
{
#pragma unroll
    for (int j = 0; j < Side; j++) {
        float row_weights[4];
        cuda_load_packs<4>(weights + (Side - 1 - j) * 4, row_weights);
#pragma unroll
        for (int k = 0; k < Count; k++) {
#pragma unroll
            for (int i = 0; i < LANE_SAMPLES; i++) {
                float sum = sums[j][i];
                if (Moving && k == 0)
                    sum = j == Side - 1 ? -0.0f : sums[j + 1 < Side ? j + 1 : j][i];
                sums[j][i] = cuda_fma(row_weights[k], values[k + i], sum);
            }
        }
    }
}

/* The same for large windows, where 12.x wants more. */
__host__ __device__ constexpr int rolled_warps(int side, int code)
{
    return side <= 19 && code < 120 ? 16 : side <= 27 ? 12 : 8;
}

template <int Side>
__global__ void __launch_bounds__(CUDA_WARP, rolled_warps(Side, cuda_code()))
    large_strip_kernel(const strip_task<float> task, const unrolled_window<float, Side> window)
{
    CUDA_SHARED(float, shared);
    const int first = first_chunk(Side), rest = (Side - first) % 4;
    const int lane = static_cast<int>(threadIdx.x);
    float *const staged = shared, *const stages = shared + chunks_of(Side) * Side * 4;
    const strip_site<float> site(task, lane);
    const int width = STRIP_COLUMNS + 2 * halo_of(Side);
    const cuda_strip<float, width> strip(task.from, task.edge, site.channel, site.begin - halo_of(Side));
    const cuda_channel<float> to(task.to, site.channel);
    float sums[Side][LANE_SAMPLES];

    stage_weights<Side>(window.weights, staged, lane);
    cuda_ring<float, width> ring(strip, stages, lane, site.top - Side / 2, site.bottom + Side / 2);
#pragma unroll
    for (int j = 0; j < Side; j++)
        cuda_fill(sums[j], -0.0f);
    for (int y = site.top - Side + 1; y < site.bottom; y++) {
        const float *row = ring.receive() + lane * LANE_SAMPLES;
        const float *weights = staged;
        float values[8];
        cuda_load_packs<8>(row, values);
        chain_chunk<Side, first, true>(weights, values + 4 - first, sums);
#pragma unroll 1
        for (int k = first; k + 4 <= Side; k += 4) {
            row += 4;
            weights += Side * 4;
            cuda_load_packs<8>(row, values);
            chain_chunk<Side, 4, false>(weights, values, sums);
        }
        if (rest > 0) {
            cuda_load_packs<8>(row + 4, values);
            chain_chunk<Side, rest, false>(weights + Side * 4, values, sums);
        }
        if (y >= site.top)
            strip_store(task, site, to, y, sums[0]);
    }
}

/* The smallest square around the centre that holds all taps, which lie in a picture, or in planes. */
int side_of(const struct op *op)
{
    int radius = 1;

    for (const struct reach &reach : {op->x, op->row, op->plane})
        radius = cuda_larger(radius, cuda_larger(-reach.low, reach.high));
    return 2 * radius + 1;
}

/* Sparse windows cost a branch a tap: worth it for small ones. */
#define SPARSE_SIDE 9

bool is_dense(const struct op *op)
{
    return op->tap_count == static_cast<size_t>(side_of(op)) * static_cast<size_t>(side_of(op));
}

/* One kernel of the family, ready to be asked about and launched. */
struct strip_kernel_entry {
    int side;
    int (*warps)(int side, int code);
    const void *kernel;
    cudaError_t (*launch)(const struct cuda_job *job);
};

template <typename T> strip_task<T> task_of(const struct cuda_job *job)
{
    strip_task<T> task = {};

    task.from = *static_cast<const cuda_view<T> *>(job->from);
    task.to = *static_cast<const cuda_view<T> *>(job->to);
    task.edge = cuda_edge_of<T>(job->op);
    task.reach = cuda_reach_of(job->op->op);
    task.first = static_cast<int>(job->planes.first);
    task.count = static_cast<int>(job->planes.count);
    task.columns = static_cast<int>(cuda_ceil_divide(task.from.nx, STRIP_COLUMNS));
    task.height = job->form->coarsen;
    task.strips = static_cast<int>(cuda_ceil_divide(task.count, task.height));
    return task;
}

template <typename T, int Side> window<T, Side> window_of(const struct op *op)
{
    window<T, Side> window = {};

    for (size_t k = 0; k < op->tap_count; k++) {
        const int row = op->taps[k].dplane + Side / 2, column = op->taps[k].dx + Side / 2;
        window.weights[row * Side + column] = static_cast<T>(op->taps[k].weight);
        window.present[row] |= 1u << column;
    }
    return window;
}

/* Launch a kernel with the op's weights. */
template <typename T, typename Weights>
cudaError_t launch(const struct cuda_job *job, void (*kernel)(strip_task<T>, Weights),
                   const std::decay_t<Weights> &weights)
{
    const strip_task<T> task = task_of<T>(job);

    return CUDA_LAUNCH(job->stream,
                       dim3(static_cast<unsigned>(task.columns * task.strips * task.from.channels)),
                       dim3(CUDA_WARP), job->form->shared_bytes, kernel, task, weights);
}

template <typename T, int Side, bool Dense> strip_kernel_entry unrolled_entry()
{
    return {Side, unrolled_warps<T>, reinterpret_cast<const void *>(strip_kernel<T, Side, Dense>),
            [](const struct cuda_job *job) {
                return launch(job, strip_kernel<T, Side, Dense>, window_of<T, Side>(job->op->op));
            }};
}

template <int Side> strip_kernel_entry large_entry()
{
    return {Side, rolled_warps, reinterpret_cast<const void *>(large_strip_kernel<Side>),
            [](const struct cuda_job *job) {
                return launch(job, large_strip_kernel<Side>, window_of<float, Side>(job->op->op));
            }};
}

/* Whole windows in memory order: what needs no loop over the rows of a strip. How many samples a thread has
   below each other, and how many blocks a multiprocessor is asked to hold, is what was fastest on an H200. */
template <typename T, int Side> struct whole_forms;
template <int Side> struct whole_forms<float, Side> {
    static constexpr int Radius = Side / 2;
    using small = unrolled_form<float, Radius, Radius, Side <= 5 ? 4 : 8, 2, 4, Side <= 5 ? 8 : 5>;
    using middle =
        unrolled_form<float, Radius, Radius, Side <= 9 ? 4 : 3, 0, 4, Side <= 9 ? 5 : 4, UNROLLED_BY_TAPS>;
    using large = unrolled_form<float, Radius, Radius, Side <= 19 ? 4 : 3, 0, 4, Side <= 15 ? 4 : 3,
                                UNROLLED_BY_TAPS_LOOPING>;
    using form = typename std::conditional<Side <= 7, small,
                                           typename std::conditional<Side <= 11, middle, large>::type>::type;
};
template <int Side> struct whole_forms<double, Side> {
    static constexpr int Radius = Side / 2;
    using small = unrolled_form<double, Radius, Radius, 4, 2, 4, Side <= 3 ? 6 : 5>;
    using large = unrolled_form<double, Radius, Radius, Side <= 7 ? 6 : 5, 0, 4, 3, UNROLLED_BY_TAPS>;
    using form = typename std::conditional<Side <= 5, small, large>::type;
};

template <typename T, int Side> using whole_form = typename whole_forms<T, Side>::form;

/* The largest of them. */
template <typename T> constexpr int whole_side()
{
    return sizeof(T) == 4 ? LARGEST_SIDE : 9;
}

template <typename T>
using gradient_form = unrolled_form<T, 1, 1, 4, 2, 4, sizeof(T) == 4 ? 8 : 6, UNROLLED_BY_ROWS, true>;

/* Call act with the form in memory order for an op's window or gradient, if there is one. */
template <typename T, typename Act> void whole_with_form(const struct op *op, Act act)
{
    if (op->kind == OP_GRADIENT)
        act(gradient_form<T>());
    else if (is_dense(op) && side_of(op) <= whole_side<T>())
        cuda_with_number<3, whole_side<T>(), 2>(
            side_of(op), [&](auto chosen) { act(whole_form<T, decltype(chosen)::value>()); });
}

/* What make gives for a side of Least to Most samples; else an entry without side. */
template <int Least, int Most, typename Make> strip_kernel_entry entry_for(int side, const Make &make)
{
    return side <= Most ? cuda_with_number<Least, Most, 2>(side, make) : strip_kernel_entry();
}

/* Short strips keep what runs together close in memory, which is worth walking rows twice while the
   multipliers have time for it: on an H100 up to 5×5. Where sums that no strip wants are left out, 128 rows
   are faster than 256 or more. */
int most_rows(int side)
{
    return side <= 5 ? 8 : side <= UNGROUPED_SIDE ? 256 : side <= UNROLLED_SIDE ? 128 : 512;
}

/* The kernel that serves an op, or one without side. */
template <typename T> strip_kernel_entry entry_of(const struct op *op)
{
    const int side = side_of(op);

    if (!is_dense(op))
        return entry_for<3, SPARSE_SIDE>(
            side, [](auto chosen) { return unrolled_entry<T, decltype(chosen)::value, false>(); });
    if constexpr (sizeof(T) == sizeof(float)) {
        if (side > UNROLLED_SIDE)
            return entry_for<UNROLLED_SIDE + 2, LARGEST_SIDE>(
                side, [](auto chosen) { return large_entry<decltype(chosen)::value>(); });
    }
    return entry_for<3, UNROLLED_SIDE>(
        side, [](auto chosen) { return unrolled_entry<T, decltype(chosen)::value, true>(); });
}

template <typename T> size_t strip_shared_bytes(const struct op *op)
{
    const int side = side_of(op);
    const int weights = side > UNROLLED_SIDE && sizeof(T) == sizeof(float) ? chunks_of(side) * side * 4 : 0;

    return cuda_ring_bytes(STRIP_COLUMNS + 2 * halo_of(side), sizeof(T)) +
           static_cast<size_t>(weights) * sizeof(T);
}

/* A picture's rows are its planes. */
enum unrolled_axis axis_of(const struct shape *shape)
{
    return shape->rows == 1 ? UNROLLED_PLANES : UNROLLED_ROWS;
}

/* Settle the form in memory order, if there is one; its tiles are not to choose. */
template <typename T> bool whole_shape(const struct cuda_question *asked, struct cuda_form *form)
{
    const enum unrolled_axis axis = axis_of(asked->shape);
    bool serves = false;

    whole_with_form<T>(asked->op, [&](auto chosen) {
        serves = unrolled_serves<decltype(chosen)>(asked->shape, axis);
        if (serves)
            unrolled_describe<decltype(chosen)>(asked, axis, form);
    });
    return serves;
}

template <typename T> bool strip_shape(const struct cuda_question *asked, struct cuda_form *form)
{
    const bool is_picture = cuda_is_picture(asked->op, asked->shape);
    const bool is_gradient = asked->op->kind == OP_GRADIENT && is_picture && asked->op->tap_count == 2;

    if (!is_picture && (asked->shape->rows == 1 || cuda_span(asked->op->plane) > 0))
        return cuda_refuse(asked->refusal, "taps leave the plane");
    if (!is_gradient && (asked->op->kind != OP_TAPS || asked->op->tap_count == 0))
        return cuda_refuse(asked->refusal, "neither a chain of taps nor the gradient of a picture");
    if (asked->wish->coarsen == 0 && whole_shape<T>(asked, form)) {
        /* Neither a volume nor a gradient has strips to ask for. */
        form->coarsen = is_picture && !is_gradient ? form->coarsen : 0;
        return true;
    }
    if (is_gradient && asked->wish->coarsen > 0)
        return cuda_refuse(asked->refusal, "a gradient is not coarsened");
    if (is_gradient)
        return cuda_refuse(asked->refusal, "a gradient of rows of fewer than %d samples",
                           gradient_form<T>::Loaded);
    if (!is_picture)
        return cuda_refuse(asked->refusal,
                           "in volumes only windows without gaps, up to %dx%d, of rows of whole packs",
                           whole_side<T>(), whole_side<T>());
    const strip_kernel_entry entry = entry_of<T>(asked->op);
    if (entry.side == 0)
        return cuda_refuse(asked->refusal,
                           "a window of %dx%d with %zu taps: dense ones up to %d (f64: %d), others up to %d",
                           side_of(asked->op), side_of(asked->op), asked->op->tap_count, LARGEST_SIDE,
                           UNROLLED_SIDE, SPARSE_SIDE);
    const long long columns =
        cuda_ceil_divide(static_cast<long long>(asked->shape->nx), STRIP_COLUMNS) * asked->shape->channels;
    const long long warps =
        static_cast<long long>(asked->limits->multiprocessors) * entry.warps(entry.side, asked->limits->code);
    const long long rows = static_cast<long long>(asked->shape->planes);
    form->coarsen = asked->wish->coarsen > 0
                        ? asked->wish->coarsen
                        : static_cast<int>(cuda_strip_rows(columns, rows, 1, entry.side - 1, warps,
                                                           most_rows(entry.side)));
    form->tile_x = STRIP_COLUMNS;
    form->tile_y = form->coarsen;
    form->reach = entry.side / 2;
    form->block = dim3(CUDA_WARP);
    form->grid = dim3(cuda_blocks(columns * cuda_ceil_divide(rows, form->coarsen)));
    form->shared_bytes = strip_shared_bytes<T>(asked->op);
    form->kernel = entry.kernel;
    form->bytes_per_update = sizeof(T) * (2 + static_cast<double>(entry.side - 1) / form->coarsen);
    form->operations_per_update = cuda_operations(asked->op);
    return true;
}

/* A form in memory order is a block of several warps. */
bool is_whole(const struct cuda_form *form)
{
    return form->block.x > CUDA_WARP;
}

template <typename T> cudaError_t strip_launch(const struct cuda_job *job)
{
    const struct shape shape = cuda_shape_of(job);
    const enum unrolled_axis axis = axis_of(&shape);
    cudaError_t error = cudaSuccess;

    if (!is_whole(job->form))
        return entry_of<T>(job->op->op).launch(job);
    whole_with_form<T>(job->op->op,
                       [&](auto chosen) { error = unrolled_launch<decltype(chosen)>(job, axis); });
    return error;
}

} // namespace

CUDA_RUNG(strip, false, true, false);
