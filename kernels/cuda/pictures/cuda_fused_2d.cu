/* Several steps of a 3×3 stencil on a picture in one pass over memory.
 *
 * Known as: temporal blocking in registers, by single warps; overlapped tiling along x.
 * Idea: a warp streams down a column strip; a lane holds a few samples of a row, and of every level its last
 *   two rows, all in registers. A row that arrives from memory sends a row through every level before the
 *   next one.
 * Adds: no shared memory but the ring that rows arrive in, and no barrier. A level's chain is opened with
 *   the two older rows before the newest is there, so that levels hang together by one fma a tap of the last
 *   row. From 9.0 on, for whole stencils, rows that arrive as TMA boxes and edges within the walk:
 *   cuda_fused_2d_tma.cuh. The walk here takes any number of steps, any taps, wrapped edges and older
 *   devices, and leaves a frame to patches.
 * Costs: registers (2 · levels · samples), and samples that neighbouring strips compute twice.
 * Traffic per sample: 2 words per `levels` steps, and the strips' overlap.
 * Wins when: many steps of one stencil are wanted.
 *
 * Three kernels share the work. The TMA walk takes whole pictures, edges included, where it serves. Otherwise
 * the walk here takes the samples that no step brings near an edge: one warp a strip, as
 * cuda_fused_2d_tma.cuh tells, but rows come through a ring of asynchronous copies (cuda_row_ring.cuh). And
 * patches take the frame that it leaves, or all of the picture for ops that are not chains of taps: a block
 * loads a patch with a margin as wide as there are steps into shared memory, and takes it step by step from
 * one of two buffers to the other, with one barrier a step (double buffering in shared memory; overlapped
 * tiling). */
#include "cuda_fused_2d_tma.cuh"

namespace
{

/* Columns [x, end_x) and rows [y, end_y) of a picture. */
struct area {
    int x, end_x;
    int y, end_y;

    __host__ __device__ long long columns() const
    {
        return end_x > x ? end_x - x : 0;
    }
    __host__ __device__ long long rows() const
    {
        return end_y > y ? end_y - y : 0;
    }
    __host__ __device__ bool empty() const
    {
        return columns() == 0 || rows() == 0;
    }
};

/* The parameters of the walk. Its area has the samples that no step of the pass brings near an edge. */
template <typename T, template <typename> class Taps> struct fused_task {
    cuda_view<T> from, to;
    cuda_edge<T> edge;
    Taps<T> taps;
    struct area area;
    int steps;
    int columns;        /* strips in a row */
    int halo, useful;   /* columns of a strip: on either side, and between */
    int strips, height; /* strips in a column, and their rows */
};

/* The walk of a warp. Level 0 is the picture before the pass. Whole: the pass has exactly FusedSteps steps;
   otherwise `steps`, at most as many. */
template <typename T, template <typename> class Taps, int Samples, int FusedSteps, bool Whole> struct walk {
    const Taps<T> &taps;
    int steps;
    T rows[2][FusedSteps]
          [Samples]; /* the older and the newer row of each level but the last; turns swap them */

    /* Chain the taps of one row of the stencil. */
    CUDA_INLINE void chain(int row_of_taps, const T (&row)[Samples], T (&sums)[Samples]) const
    {
        T before = T(0), after = T(0);

        if (Taps<T>::diagonal() || row_of_taps == 1)
            window_neighbours(row, &before, &after);
        window_chain(taps, row_of_taps, row, before, after, sums);
    }

    /* Begin a chain of the next level with the taps on the two last rows of this one. */
    template <int Turn> CUDA_INLINE void open(int level, T (&sums)[Samples]) const
    {
        window_begin(sums);
        chain(0, rows[Turn][level], sums);
        chain(1, rows[1 - Turn][level], sums);
    }

    /* Send a row of the picture through all levels. Turn says which of each level's two rows is the older.
       The next level's chain is opened before this level's row is kept, so that the row can take the older
       one's registers. */
    template <int Turn> CUDA_INLINE void step(const T *arrived, T (&row)[Samples])
    {
        T sums[Samples];

        open<Turn>(0, sums);
        cuda_load_packs<Samples>(arrived, row);
#pragma unroll
        for (int level = 0; level < FusedSteps; level++) {
            T next[Samples] = {};
            if (!Whole && level == steps)
                break;
            if (level + 1 < FusedSteps)
                open<Turn>(level + 1, next);
            chain(2, row, sums);
#pragma unroll
            for (int i = 0; i < Samples; i++) {
                rows[Turn][level][i] = row[i];
                row[i] = sums[i];
                sums[i] = next[i];
            }
        }
    }
};

/* A warp walks down its strip, two rows a turn, so that each level's rows keep their registers. */
template <typename T, template <typename> class Taps, int Samples, int FusedSteps, bool Whole, int Warps>
__global__ void __launch_bounds__(CUDA_WARP, Warps) fused_kernel(const fused_task<T, Taps> task)
{
    CUDA_SHARED(T, stages);
    const int lane = static_cast<int>(threadIdx.x);
    const cuda_place place = cuda_place_of(blockIdx.x, task.columns, task.strips);
    const int steps = Whole ? FusedSteps : task.steps;
    const int begin = task.area.x + place.column * task.useful;
    const int end = begin + task.useful < task.area.end_x ? begin + task.useful : task.area.end_x;
    const int top = task.area.y + place.strip * task.height;
    const int bottom = top + task.height < task.area.end_y ? top + task.height : task.area.end_y;
    const cuda_strip<T, CUDA_WARP * Samples> strip(task.from, task.edge, place.channel, begin - task.halo);
    cuda_ring<T, CUDA_WARP * Samples> ring(strip, stages, lane, top - steps, bottom + steps);
    const int x = strip.begin + lane * Samples;
    walk<T, Taps, Samples, FusedSteps, Whole> walk = {task.taps, steps, {}};
    T row[Samples];

    /* The first 2 · steps rows only fill the levels. */
    for (int y = top - 2 * steps; y < bottom; y += 2) {
        walk.template step<0>(ring.receive() + lane * Samples, row);
        if (y >= top)
            cuda_store_columns<Samples>(task.to.row(y, place.channel, 0), x, begin, end, row);
        walk.template step<1>(ring.receive() + lane * Samples, row);
        if (y + 1 >= top && y + 1 < bottom)
            cuda_store_columns<Samples>(task.to.row(y + 1, place.channel, 0), x, begin, end, row);
    }
}

/* ---- patches: the frame of the picture, where levels meet the edge, and whatever the walk does not serve
 * ---- */

/* The areas of a launch: the four sides of the frame, or one, the whole picture. */
#define PATCH_AREAS 4

template <typename T> struct patch_task {
    cuda_view<T> from, to;
    cuda_edge<T> edge;
    struct cuda_reach reach;
    cuda_any_filter<T> filter;
    int steps;
    struct area areas[PATCH_AREAS];
    struct patch_size {
        int x, y;
    } sizes[PATCH_AREAS];              /* of an area's patches */
    long long before[PATCH_AREAS + 1]; /* patches in the areas before each, and in all */
    int cells;                         /* of the largest patch with its margin */
};

/* Find the patch of a block, and the cells that it needs: the patch and its margin, clipped to the grid. */
template <typename T>
CUDA_INLINE void patch_place(const patch_task<T> &task, struct area &patch, struct area &cells)
{
    long long index = blockIdx.x;
    int which = 0;

    while (index >= task.before[which + 1])
        which++;
    index -= task.before[which];
    const struct area &area = task.areas[which];
    const int width = task.sizes[which].x, height = task.sizes[which].y;
    const long long columns = (area.columns() + width - 1) / width;
    const int margin = task.steps;

    patch.x = area.x + static_cast<int>(index % columns) * width;
    patch.y = area.y + static_cast<int>(index / columns) * height;
    patch.end_x = patch.x + width < area.end_x ? patch.x + width : area.end_x;
    patch.end_y = patch.y + height < area.end_y ? patch.y + height : area.end_y;
    cells.x = patch.x > margin ? patch.x - margin : 0;
    cells.y = patch.y > margin ? patch.y - margin : 0;
    cells.end_x = patch.end_x + margin < task.from.nx ? patch.end_x + margin : task.from.nx;
    const int planes = static_cast<int>(task.from.planes);
    cells.end_y = patch.end_y + margin < planes ? patch.end_y + margin : planes;
}

/* A cell on the rim of the cells by its number: the first row, the last one, then the columns' rest. */
CUDA_INLINE void rim_cell(const struct area &cells, int number, int *x, int *y)
{
    const int width = static_cast<int>(cells.columns()), height = static_cast<int>(cells.rows());
    const int rest = number - 2 * width;

    *x = number < width  ? cells.x + number
         : rest < 0      ? cells.x + number - width
         : rest < height ? cells.x
                         : cells.end_x - 1;
    *y = number < width ? cells.y : rest < 0 ? cells.end_y - 1 : cells.y + rest % height;
}

/* The next level of a cell on the rim. If the rim is not the grid's edge, the cell keeps its value: it is
   wrong, but too far from the patch for that to count. */
template <typename T>
CUDA_INLINE T advance_rim(const patch_task<T> &task, const cuda_any_filter<T> &filter,
                          const struct area &cells, const T *level, T outside, int x, int y)
{
    const T own = level[(y - cells.y) * static_cast<int>(cells.columns()) + x - cells.x];
    const bool counts = (x > cells.x || x == 0) && (x < cells.end_x - 1 || x == task.from.nx - 1) &&
                        (y > cells.y || y == 0) && (y < cells.end_y - 1 || y == task.from.planes - 1);

    if (!counts || (task.reach.rule == EDGE_HOLD && !task.reach.interior(task.from, y, 0, x)))
        return own;
    return filter(own, [=, &task, &cells](int dx, int, int dplane) {
        const int column = cuda_near_index(task.edge.rule, x + dx, task.from.nx);
        const int row = cuda_near_index(task.edge.rule, y + dplane, static_cast<int>(task.from.planes));

        if (column < 0 || row < 0)
            return outside;
        return level[(row - cells.y) * static_cast<int>(cells.columns()) + column - cells.x];
    });
}

#define PATCH_THREADS 256

/* Warps take the rows of a patch in turns. The taps are copied to shared memory, since every thread reads all
 * of them. */
template <typename T>
__global__ void __launch_bounds__(PATCH_THREADS, cuda_least_residents(cuda_code()))
    patch_kernel(const patch_task<T> task)
{
    CUDA_SHARED(T, shared);
    const int channel = static_cast<int>(blockIdx.y);
    const int lane = static_cast<int>(threadIdx.x) % CUDA_WARP,
              warp = static_cast<int>(threadIdx.x) / CUDA_WARP;
    const int warps = PATCH_THREADS / CUDA_WARP;
    const T outside = task.edge.rule == EDGE_CONSTANT ? task.edge.outside[channel] : T(0);
    struct area patch, cells;
    cuda_any_filter<T> filter = task.filter;
    T *level = shared, *next = shared + task.cells;
    cuda_tap<T> *const taps = reinterpret_cast<cuda_tap<T> *>(shared + 2 * task.cells);

    /* Where samples may be missing, no plan fuses steps; said here, it saves registers. */
    filter.missing = false;
    /* Load the taps and the patch with its margin. */
    patch_place(task, patch, cells);
    for (int k = static_cast<int>(threadIdx.x); k < filter.tap_count; k += PATCH_THREADS)
        taps[k] = filter.taps[k];
    filter.taps = taps;
    const int width = static_cast<int>(cells.columns()), height = static_cast<int>(cells.rows());
    for (int y = cells.y + warp; y < cells.end_y; y += warps) {
        const T *row = task.from.row(y, channel, 0);
        for (int x = cells.x + lane; x < cells.end_x; x += CUDA_WARP)
            level[(y - cells.y) * width + x - cells.x] = row[x];
    }
    for (int step = 0; step < task.steps; step++) {
        /* The level is complete, and nobody reads the other buffer any more. */
        __syncthreads();
        for (int y = 1 + warp; y < height - 1; y += warps) {
            for (int x = 1 + lane; x < width - 1; x += CUDA_WARP) {
                const T *own = level + y * width + x;
                next[y * width + x] =
                    filter(*own, [=](int dx, int, int dplane) { return own[dplane * width + dx]; });
            }
        }
        for (int i = static_cast<int>(threadIdx.x); i < 2 * (width + height); i += PATCH_THREADS) {
            int x, y;
            rim_cell(cells, i, &x, &y);
            next[(y - cells.y) * width + x - cells.x] =
                advance_rim(task, filter, cells, level, outside, x, y);
        }
        T *const done = level;
        level = next;
        next = done;
    }
    /* Store the patch without its margin. */
    __syncthreads();
    for (int y = patch.y + warp; y < patch.end_y; y += warps) {
        T *row = task.to.row(y, channel, 0);
        for (int x = patch.x + lane; x < patch.end_x; x += CUDA_WARP)
            row[x] = level[(y - cells.y) * width + x - cells.x];
    }
}

/* Samples of a lane, levels of a pass and warps of a multiprocessor, as many as registers allow. A walk that
   may end at any level, or chains any taps, needs more registers for each sample. */
template <typename T> struct fused_sizes;
template <> struct fused_sizes<float> {
    enum { samples = 8, samples_of_any = 4, levels = 10, warps = 8 };
};
template <> struct fused_sizes<double> {
    enum { samples = 4, samples_of_any = 2, levels = 10, warps = 8 };
};

/* Warps of a multiprocessor for the TMA walk, where a lane's samples are a sector: three for each scheduler
   if two thirds of the registers are enough for a thread, else two (occupancy). */
template <typename T, template <typename> class Taps, int FusedSteps> constexpr int fused_tma2d_warps()
{
    const int words = sizeof(T) / sizeof(float), samples = CUDA_SECTOR / sizeof(T);

    return 2 * FusedSteps * (samples + (Taps<T>::diagonal() ? 2 : 0)) * words <= 120 ? 12 : 8;
}
template <typename T, template <typename> class Taps, int FusedSteps>
using fused_tma2d = tma2d_form<T, Taps, CUDA_SECTOR / static_cast<int>(sizeof(T)), FusedSteps, sizeof(T) == 4,
                               fused_tma2d_warps<T, Taps, FusedSteps>()>;

/* The most steps of a pass. Nine taps keep the multipliers busy with fewer steps than five. */
#define TMA2D_MOST_OF_STAR 10
#define TMA2D_MOST_OF_BOX  6

/* A number of steps in a pass, and the rows that strips must then have at least. Short strips walk more rows
   of their neighbours than of their own, and wait longer for their first rows than they walk. Measured, with
   five taps in f32: strips of 567 rows are faster with ten steps, of 284 with eight; if eight steps leave
   strips of 18 rows or 8, four are faster. In f64, strips of 153 rows are faster with eight. With nine taps,
   183 rows are faster with six steps, 47 with five; if five leave strips of 5 rows, four are faster. */
struct tma2d_depth {
    int steps, rows;
};
constexpr struct tma2d_depth tma2d_star_depths[] = {{TMA2D_MOST_OF_STAR, 400}, {8, 64}, {4, 0}};
constexpr struct tma2d_depth tma2d_star_depths_f64[] = {{TMA2D_MOST_OF_STAR, 200}, {8, 64}, {4, 0}};
constexpr struct tma2d_depth tma2d_box_depths[] = {{TMA2D_MOST_OF_BOX, 96}, {5, 16}, {4, 0}};
constexpr struct tma2d_depth tma2d_box_depths_f64[] = {{TMA2D_MOST_OF_BOX, 0}};

template <typename T> constexpr int fused_samples(bool whole)
{
    return whole ? fused_sizes<T>::samples : fused_sizes<T>::samples_of_any;
}

/* A kernel of the walk. */
template <typename Type, template <typename> class Stencil, bool Whole_> struct walk_form {
    using T = Type;
    using Taps = Stencil<T>;
    using task = fused_task<T, Stencil>;
    static constexpr bool Whole = Whole_;

    static constexpr auto kernel()
    {
        return fused_kernel<T, Stencil, fused_samples<T>(Whole), fused_sizes<T>::levels, Whole,
                            fused_sizes<T>::warps>;
    }
};

/* A lane keeps its packs whole, so halos are multiples of one. */
template <typename T> int fused_halo(int steps)
{
    const int pack = cuda_pack_of<T>::samples;

    return (steps + pack - 1) / pack * pack;
}

enum fused_class { FUSED_STAR, FUSED_BOX, FUSED_SOME };

/* The taps of an op in the window, a bit each. */
unsigned window_of(const struct op *op)
{
    unsigned present = 0;

    for (size_t k = 0; k < op->tap_count; k++)
        present |= 1u << window_index(&op->taps[k]);
    return present;
}

fused_class class_of(const struct op *op)
{
    switch (window_of(op)) {
    case 0xba: /* 010 111 010 */
        return FUSED_STAR;
    case 0x1ff:
        return FUSED_BOX;
    default:
        return FUSED_SOME;
    }
}

/* Call act with the form of the TMA walk for a number of steps. */
template <typename T, typename Act> auto fused_choose_tma2d(const struct op *op, int steps, Act act)
{
    if (class_of(op) == FUSED_STAR)
        return cuda_with_number<1, TMA2D_MOST_OF_STAR, 1>(
            steps, [&](auto levels) { return act(fused_tma2d<T, window_star, levels()>()); });
    return cuda_with_number<1, TMA2D_MOST_OF_BOX, 1>(
        steps, [&](auto levels) { return act(fused_tma2d<T, window_box, levels()>()); });
}

/* Whether a walk serves the op; otherwise patches take the whole picture. */
bool walks(const struct op *op)
{
    return cuda_is_chain(op);
}

/* The most steps of a pass of the TMA walk; 0 if a stencil has not all its taps. */
int tma2d_most(const struct op *op)
{
    if (!walks(op) || class_of(op) == FUSED_SOME)
        return 0;
    return class_of(op) == FUSED_STAR ? TMA2D_MOST_OF_STAR : TMA2D_MOST_OF_BOX;
}

/* Whether the TMA walk takes a number of steps of an op, whose taps reach one sample. */
template <typename T>
bool tma2d_takes(const struct cuda_limits *limits, const struct op *op, size_t nx, size_t planes, int steps)
{
    return steps > 0 && steps <= tma2d_most(op) && fused_choose_tma2d<T>(op, steps, [&](auto form) {
               return tma2d_serves<decltype(form)>(limits, op, nx, planes);
           });
}

/* Whether there is a kernel of the walk for exactly this number of steps. */
template <typename T> bool is_whole(const struct op *op, int steps)
{
    return steps == fused_sizes<T>::levels && class_of(op) != FUSED_SOME;
}

/* Call act with the form of the walk for a stencil; whole: for exactly the most steps that a pass has. */
template <typename T, typename Act> auto choose_walk(const struct op *op, bool whole, const Act &act)
{
    switch (class_of(op)) {
    case FUSED_STAR:
        return whole ? act(walk_form<T, window_star, true>()) : act(walk_form<T, window_star, false>());
    case FUSED_BOX:
        return whole ? act(walk_form<T, window_box, true>()) : act(walk_form<T, window_box, false>());
    default:
        return act(walk_form<T, window_some, false>());
    }
}

bool reaches_one(struct reach reach)
{
    return reach.low >= -1 && reach.high <= 1;
}

/* Sides of a patch that is part of a larger area; patches of the frame are long, and as narrow as the frame
 * is. */
#define PATCH_SIDE   32
#define PATCH_LENGTH 96

/* The most steps of a pass for ops that only patches serve: with more, most of the work would be on margins.
 */
#define PATCH_STEPS 4

/* The most rows of a strip: with more, warps that run at the same time read too far apart. */
#define MOST_ROWS 128

/* The width of a patch of the frame: no walk leaves more columns. */
int patch_rim(int steps)
{
    return cuda_larger(8, fused_halo<float>(steps));
}

/* The rows of a strip, as wished for or else so that the device's warps share the work evenly. */
template <typename T>
int walk_height(const struct cuda_limits *limits, const struct cuda_form *form, long long columns,
                long long rows, int steps)
{
    const long long warps = static_cast<long long>(limits->multiprocessors) * fused_sizes<T>::warps;

    if (form->resident_blocks == 0)
        return form->coarsen;
    return static_cast<int>(cuda_strip_rows(columns, rows, 1, 2 * steps, warps, MOST_ROWS));
}

/* The samples of the walk: those far enough from all edges, or all if the picture wraps around. */
template <typename T>
struct area walk_area(const struct op *op, int nx, int planes, struct range range, int steps)
{
    const bool wraps = op->edge == EDGE_WRAP;
    const int halo = wraps ? 0 : fused_halo<T>(steps);
    const int rim = wraps ? 0 : steps;
    const int first = static_cast<int>(range.first), end = first + static_cast<int>(range.count);
    struct area area = {halo, nx - rim, first > rim ? first : rim, end < planes - rim ? end : planes - rim};

    if (!walks(op) || area.empty())
        area = {0, 0, first, first};
    return area;
}

/* Add an area, cut into patches, to those of a launch. */
template <typename T> void patch_add(patch_task<T> *task, int *count, struct area area, int width, int height)
{
    long long patches = 0;

    if (!area.empty())
        patches = cuda_ceil_divide(area.columns(), width) * cuda_ceil_divide(area.rows(), height);
    task->areas[*count] = area;
    task->sizes[*count] = {width, height};
    task->before[*count + 1] = task->before[*count] + patches;
    (*count)++;
}

/* The areas that the walk leaves: the four sides of a frame, or everything. */
template <typename T> void patch_frame(patch_task<T> *task, const struct area &walked, int first, int end)
{
    const int nx = task->from.nx, rim = patch_rim(task->steps);
    int count = 0;

    if (walked.empty()) {
        patch_add(task, &count, {0, nx, first, end}, PATCH_SIDE, PATCH_SIDE);
    } else {
        patch_add(task, &count, {0, nx, first, walked.y}, PATCH_LENGTH, rim);
        patch_add(task, &count, {0, nx, walked.end_y, end}, PATCH_LENGTH, rim);
        patch_add(task, &count, {0, walked.x, walked.y, walked.end_y}, rim, PATCH_LENGTH);
        patch_add(task, &count, {walked.end_x, nx, walked.y, walked.end_y}, rim, PATCH_LENGTH);
    }
    for (; count < PATCH_AREAS; count++) {
        task->areas[count] = {};
        task->before[count + 1] = task->before[count];
    }
}

/* Cells of the largest patch with its margin; shared memory has two levels of it. */
int patch_cells(int steps)
{
    const int margin = 2 * steps, rim = patch_rim(steps);

    return cuda_larger((PATCH_SIDE + margin) * (PATCH_SIDE + margin),
                       (PATCH_LENGTH + margin) * (rim + margin));
}

template <typename T> size_t patch_bytes(const struct op *op, int steps)
{
    return 2 * sizeof(T) * static_cast<size_t>(patch_cells(steps)) + op->tap_count * sizeof(cuda_tap<T>);
}

/* Settle the walk with its patches, or patches alone. */
template <typename T> void fused_settle(const struct cuda_question *asked, int steps, struct cuda_form *form)
{
    const bool whole = is_whole<T>(asked->op, steps);
    const int width = CUDA_WARP * fused_samples<T>(whole);
    const long long nx = static_cast<long long>(asked->shape->nx),
                    planes = static_cast<long long>(asked->shape->planes);

    form->steps = steps;
    form->reach = 1;
    form->tile_x = form->tile_y = PATCH_SIDE;
    form->block = dim3(PATCH_THREADS);
    form->shared_bytes = patch_bytes<T>(asked->op, steps);
    form->kernel = reinterpret_cast<const void *>(patch_kernel<T>);
    double walked = PATCH_SIDE + 2.0 * steps;
    double read = walked * walked / (PATCH_SIDE * PATCH_SIDE);
    form->operations_per_update = cuda_operations(asked->op) * read;
    /* The frame is small: the form describes the walk if there is one. */
    if (walks(asked->op)) {
        form->tile_x = width - 2 * fused_halo<T>(steps);
        const long long columns = cuda_ceil_divide(nx, form->tile_x) * asked->shape->channels;
        form->resident_blocks =
            asked->wish->coarsen > 0 ? 0 : asked->limits->multiprocessors * fused_sizes<T>::warps;
        form->coarsen = asked->wish->coarsen;
        form->coarsen = walk_height<T>(asked->limits, form, columns, planes, steps);
        form->tile_y = form->coarsen;
        form->block = dim3(CUDA_WARP);
        form->shared_bytes = cuda_ring_bytes(width, sizeof(T));
        form->kernel = choose_walk<T>(
            asked->op, whole, [](auto chosen) { return reinterpret_cast<const void *>(chosen.kernel()); });
        read = static_cast<double>(width) / form->tile_x * (1 + 2.0 * steps / form->coarsen);
        form->operations_per_update = cuda_operations(asked->op) * read;
    }
    form->grid =
        dim3(cuda_blocks(cuda_ceil_divide(nx, form->tile_x) * cuda_ceil_divide(planes, form->tile_y)),
             asked->shape->channels);
    form->bytes_per_update = (read + 1) * sizeof(T) / steps;
}

/* Settle the TMA walk, if it takes that number of steps. */
template <typename T> bool tma2d_settle(const struct cuda_question *asked, int steps, struct cuda_form *form)
{
    if (!tma2d_takes<T>(asked->limits, asked->op, asked->shape->nx, asked->shape->planes, steps))
        return false;
    fused_choose_tma2d<T>(asked->op, steps,
                          [&](auto chosen) { tma2d_describe<decltype(chosen)>(asked, form); });
    return true;
}

/* In order of their steps, the last one for strips of any height. */
template <typename T> const struct tma2d_depth *tma2d_depths_of(const struct op *op)
{
    const bool is_f32 = sizeof(T) == sizeof(float);

    if (class_of(op) == FUSED_BOX)
        return is_f32 ? tma2d_box_depths : tma2d_box_depths_f64;
    return is_f32 ? tma2d_star_depths : tma2d_star_depths_f64;
}

/* Settle the TMA walk with the wished number of steps, or one of its own. */
template <typename T> bool tma2d_shape(const struct cuda_question *asked, struct cuda_form *form)
{
    const struct tma2d_depth *depth = tma2d_depths_of<T>(asked->op);

    if (asked->wish->steps > 0)
        return tma2d_settle<T>(asked, asked->wish->steps, form);
    while (tma2d_settle<T>(asked, depth->steps, form)) {
        if (form->coarsen >= depth->rows)
            return true;
        depth++;
    }
    return false;
}

template <typename T> bool fused_2d_shape(const struct cuda_question *asked, struct cuda_form *form)
{
    const int most = walks(asked->op) ? static_cast<int>(fused_sizes<T>::levels) : PATCH_STEPS;
    const int steps = asked->wish->steps > 0 ? asked->wish->steps : most;

    if (!cuda_is_picture(asked->op, asked->shape))
        return cuda_refuse(asked->refusal, "the grid has three axes");
    if (asked->op->kind != OP_TAPS && asked->op->kind != OP_HEAT)
        return cuda_refuse(asked->refusal, "only taps and heat are fused");
    if (!reaches_one(asked->op->x) || !reaches_one(asked->op->plane))
        return cuda_refuse(asked->refusal, "taps reach further than one sample");
    if (asked->wish->coarsen > 0 && !walks(asked->op))
        return cuda_refuse(asked->refusal, "this op runs in patches, which nothing coarsens");
    if (asked->op->edge == EDGE_WRAP && !walks(asked->op))
        return cuda_refuse(asked->refusal, "patches do not reach around the grid");
    if (asked->op->tap_count == 0)
        return cuda_refuse(asked->refusal, "there are no taps");
    if (steps > most)
        return cuda_refuse(asked->refusal, "%d steps in a pass: this stencil takes %d", steps, most);
    if (tma2d_shape<T>(asked, form))
        return true;
    if (patch_bytes<T>(asked->op, steps) > asked->limits->shared_per_block)
        return cuda_refuse(asked->refusal, "%d steps need %zu bytes of shared memory, a block has %zu", steps,
                           patch_bytes<T>(asked->op, steps), asked->limits->shared_per_block);
    *form = cuda_form();
    fused_settle<T>(asked, steps, form);
    return true;
}

/* Launch the walk over an area. */
template <typename Form> cudaError_t walk_run(const struct cuda_job *job, const struct area &area)
{
    using T = typename Form::T;
    const int width = CUDA_WARP * fused_samples<T>(Form::Whole);
    typename Form::task task = {};

    task.from = *static_cast<const cuda_view<T> *>(job->from);
    task.to = *static_cast<const cuda_view<T> *>(job->to);
    task.edge = cuda_edge_of<T>(job->op);
    task.taps = window_taps<typename Form::Taps>(job->op->op);
    task.area = area;
    task.steps = job->steps;
    task.halo = fused_halo<T>(job->steps);
    task.useful = width - 2 * task.halo;
    task.columns = static_cast<int>(cuda_ceil_divide(area.columns(), task.useful));
    task.height =
        walk_height<T>(job->limits, job->form, static_cast<long long>(task.columns) * task.from.channels,
                       area.rows(), job->steps);
    task.strips = static_cast<int>(cuda_ceil_divide(area.rows(), task.height));

    const dim3 grid(static_cast<unsigned>(task.columns * task.strips * task.from.channels));
    return CUDA_LAUNCH(job->stream, grid, dim3(CUDA_WARP), cuda_ring_bytes(width, sizeof(T)), Form::kernel(),
                       task);
}

template <typename T> cudaError_t patch_launch(const struct cuda_job *job, const struct area &walked)
{
    const struct op *op = job->op->op;
    const int first = static_cast<int>(job->planes.first);
    const size_t shared = patch_bytes<T>(op, job->steps);
    const auto kernel = patch_kernel<T>;
    patch_task<T> task = {};

    task.from = *static_cast<const cuda_view<T> *>(job->from);
    task.to = *static_cast<const cuda_view<T> *>(job->to);
    task.edge = cuda_edge_of<T>(job->op);
    task.reach = cuda_reach_of(op);
    task.filter = cuda_any_filter_of<T>(job->op);
    task.steps = job->steps;
    task.cells = patch_cells(job->steps);
    patch_frame(&task, walked, first, first + static_cast<int>(job->planes.count));
    if (task.before[PATCH_AREAS] == 0)
        return cudaSuccess;
    const cudaError_t error = cuda_permit_shared(kernel, shared);
    if (error != cudaSuccess)
        return error;
    const dim3 grid(static_cast<unsigned>(task.before[PATCH_AREAS]),
                    static_cast<unsigned>(task.from.channels));
    return CUDA_LAUNCH(job->stream, grid, dim3(PATCH_THREADS), shared, kernel, task);
}

/* The TMA walk alone, or the walk and then the patches that it leaves. */
template <typename T> cudaError_t fused_2d_launch(const struct cuda_job *job)
{
    const struct op *op = job->op->op;
    const cuda_view<T> &from = *static_cast<const cuda_view<T> *>(job->from);

    if (tma2d_takes<T>(job->limits, op, static_cast<size_t>(from.nx), static_cast<size_t>(from.planes),
                       job->steps))
        return fused_choose_tma2d<T>(op, job->steps,
                                     [&](auto form) { return tma2d_launch<decltype(form)>(job); });
    const struct area area =
        walk_area<T>(op, from.nx, static_cast<int>(from.planes), job->planes, job->steps);
    cudaError_t error = cudaSuccess;

    if (!area.empty())
        error = choose_walk<T>(op, is_whole<T>(op, job->steps),
                               [&](auto form) { return walk_run<decltype(form)>(job, area); });
    return error == cudaSuccess ? patch_launch<T>(job, area) : error;
}

} // namespace

CUDA_RUNG(fused_2d, false, true, false);
