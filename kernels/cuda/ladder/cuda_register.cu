/* Rung `register`.
 *
 * Known as: register tiling (register blocking) along z, with double buffering in shared memory.
 * Idea: a block walks along the planes; a thread keeps the 2r + 1 samples of its own column in registers,
 *   and only the plane in the middle, and the next one, lie in shared memory.
 * Adds: taps along the walk cost no access at all; a sample is read once and goes through its register into
 *   shared memory, where only the rim of the tile is loaded besides.
 * Costs: a thread a column, so the tile has at most as many samples as a block has threads, and each sample
 *   bears what a thread does once a plane; 2r + 1 registers; a barrier a plane.
 * Traffic per sample: 1 word written, 1 + 2r/coarsen words read from memory; the rim comes from the caches.
 * Wins when: the taps are a star of small radius.
 *
 * Each thread has one column of the tile. For each plane of the walk, a thread loads into a register its own
 * sample of the plane that is Radius + 1 ahead, so that memory has the whole turn to answer. It waits for the
 * copies of the middle plane's rim, and meets the others at a barrier, behind which the middle plane is
 * complete. It then shares its sample of the next plane in the other of two buffers, computes, and shifts its
 * column by one. One barrier a plane is enough, because the two buffers take turns: whoever writes one has
 * passed the barrier behind which nobody reads it. */
#include "cuda_halo.cuh"

#define REGISTER_X       32
#define REGISTER_ROWS    8
#define REGISTER_COARSEN 32
#define REGISTER_RADIUS  4

/* Threads of a block, and at most where the filter knows its offsets: any other takes too many registers for
 * 1024. */
#define REGISTER_THREADS      256
#define REGISTER_THREADS_MOST 1024

/* The samples of a thread's column around the plane in the middle: a sliding window in registers. */
template <typename T, int Radius> struct register_column {
    T window[2 * Radius + 1];

    /* By comparisons with constants: an index would move the window out of registers. */
    CUDA_INLINE T at(int dplane) const
    {
        T value = window[Radius];

#pragma unroll
        for (int k = -Radius; k <= Radius; k++) {
            if (k == dplane)
                value = window[Radius + k];
        }
        return value;
    }

    CUDA_INLINE void shift(T next)
    {
#pragma unroll
        for (int k = 0; k < 2 * Radius; k++)
            window[k] = window[k + 1];
        window[2 * Radius] = next;
    }
};

/* A cell of the tile's rim, and its place in the grid's plane. */
struct register_rim {
    int cell, offset;
};

/* The cells of the rim are counted from above the tile to below it, then those beside it. */
static CUDA_INLINE int register_rim_cell(const halo_tile &tile, int index)
{
    const int above = -tile.reach_row.low * tile.width, outer = above + tile.reach_row.high * tile.width;
    const int beside = tile.width - tile.x;

    if (index < above)
        return index;
    if (index < outer)
        return index + tile.rows * tile.width;
    const int row = (index - outer) / beside, left = index - outer - row * beside;
    return above + row * tile.width + left + (left < -tile.reach_x.low ? 0 : tile.x);
}

/* Fill the table of the rim's cells. */
template <typename T>
static CUDA_INLINE void register_settle(const halo_task<T> &task, const halo_place &place, int count,
                                        register_rim *rim)
{
#pragma unroll 1
    for (int index = halo_thread(); index < count; index += halo_threads()) {
        const int cell = register_rim_cell(task.tile, index);
        rim[index] = {cell, halo_offset(task, place, cell)};
    }
}

/* All that a thread needs to read its samples of a plane. */
template <typename T> struct register_walk {
    const halo_task<T> &task;
    int low, high; /* the planes that a tap of the block reads */
    const register_rim *rim;
    int rim_count, cell,
        offset; /* of the thread's own sample; −1: it has none, or the edge rule has none there */
    T outside;  /* the value of samples outside the grid */

    /* The plane that the edge rule supplies; NULL also for planes that no tap reads. */
    CUDA_INLINE const T *plane(int index, const T *itself) const
    {
        return index < low || index > high ? NULL : halo_supplied(task, index, itself);
    }

    CUDA_INLINE T own(const T *samples) const
    {
        return samples == NULL || offset < 0 ? outside : samples[offset];
    }

    /* Put a plane into shared memory: the thread's own sample from a register, the rim by copies. */
    CUDA_INLINE void share(const T *samples, T value, T *cells) const
    {
        if (cell >= 0)
            cells[cell] = value;
#pragma unroll 1
        for (int index = halo_thread(); index < rim_count; index += halo_threads()) {
            const register_rim at = rim[index];
            halo_copy(cells + at.cell, samples, at.offset, outside);
        }
        cuda_commit_copies();
    }
};

/* Blocks that a multiprocessor should hold (occupancy): many if the filter's offsets are compiled in, since
   more loads under way are worth more than registers. Before 7.5 and for 12.x, ptxas needs some more
   registers. */
template <typename T, typename Filter> static constexpr int register_residents(int code, int threads)
{
    const int blocks = code < 75 ? 3 : code < 120 ? 5 : 4;

    if (std::is_same<Filter, cuda_any_filter<T>>::value || threads > REGISTER_THREADS)
        return 1;
    return cuda_residents(code, threads, blocks);
}

template <typename T, typename Filter, int Radius, int Threads>
__global__ void __launch_bounds__(Threads, register_residents<T, Filter>(cuda_code(), Threads))
    register_kernel(halo_task<T> task, Filter filter)
{
    CUDA_SHARED(unsigned char, shared);
    unsigned char *free = shared;
    const halo_tile &tile = task.tile;
    const halo_place place = halo_locate(task);
    const int row = halo_thread() / tile.x, x = halo_thread() - row * tile.x,
              end = place.first + place.planes;
    const bool has = row < tile.rows, inside = row < place.rows && x < place.width;
    const halo_sample sample = halo_sample_of(task, place, row, x);
    const T *ahead = task.from + halo_offset_of(task, place, place.first - Radius);
    T *to = task.to + halo_offset_of(task, place, place.first) + sample.place();
    register_column<T, Radius> column;
    register_column<const T *, Radius> planes;

    halo_share_taps(&filter, &free);
    register_rim *const rim = halo_take<register_rim>(&free, tile.cells - tile.x * tile.rows);
    T *cells = halo_take<T>(&free, 2 * tile.cells), *others = cells + tile.cells;
    const register_walk<T> walk = {task,
                                   place.first + tile.reach_plane.low,
                                   end - 1 + tile.reach_plane.high,
                                   rim,
                                   tile.cells - tile.x * tile.rows,
                                   has ? sample.cell : -1,
                                   has ? halo_offset(task, place, sample.cell) : -1,
                                   halo_outside(task, place)};

    register_settle(task, place, walk.rim_count, rim);
    /* Fill the window before the first plane, and share the plane in its middle. */
#pragma unroll
    for (int k = 0; k <= 2 * Radius; k++, ahead += task.plane_stride) {
        planes.window[k] = walk.plane(place.first + k - Radius, ahead);
        column.window[k] = walk.own(planes.window[k]);
    }
    __syncthreads();
    walk.share(planes.window[Radius], column.window[Radius], cells);
#pragma unroll 1
    for (int plane = place.first; plane < end; plane++) {
        /* A load that is needed only after Radius + 1 planes hides its latency. */
        const T *const supplied = walk.plane(plane + Radius + 1, ahead);
        const T next = walk.own(supplied);
        cuda_await_copies<0>();
        __syncthreads();
        walk.share(planes.window[Radius + 1], column.window[Radius + 1], others);
        if (inside) {
            const T *here = cells + sample.cell;
            *to = sample.held() || halo_holds(task, plane)
                      ? column.window[Radius]
                      : filter(column.window[Radius], [&](int dx, int drow, int dplane) {
                            return dplane == 0 ? here[drow * tile.width + dx] : column.at(dplane);
                        });
        }
        /* The window slides, and the two buffers swap. */
        column.shift(next);
        planes.shift(supplied);
        to += task.plane_stride;
        ahead += task.plane_stride;
        T *const shown = cells;
        cells = others;
        others = shown;
    }
}

/* The radius along the planes, as a kernel is compiled for it. */
static int register_radius(const struct op *op)
{
    const int radius = op->plane.high > -op->plane.low ? op->plane.high : -op->plane.low;

    return radius <= 1 ? 1 : radius <= 2 ? 2 : REGISTER_RADIUS;
}

/* The kernel for an op and a number of threads. */
template <typename T, typename Filter>
static auto register_choose(const struct op *op, unsigned threads, const Filter &)
    -> void (*)(halo_task<T>, Filter)
{
    if constexpr (std::is_same<Filter, cuda_any_filter<T>>::value)
        return register_radius(op) == 1   ? register_kernel<T, Filter, 1, REGISTER_THREADS>
               : register_radius(op) == 2 ? register_kernel<T, Filter, 2, REGISTER_THREADS>
                                          : register_kernel<T, Filter, REGISTER_RADIUS, REGISTER_THREADS>;
    else
        return threads <= REGISTER_THREADS ? register_kernel<T, Filter, 1, REGISTER_THREADS>
                                           : register_kernel<T, Filter, 1, REGISTER_THREADS_MOST>;
}

/* A tap must be in the middle plane or on the thread's own column. */
static bool register_serves(const struct cuda_question *asked)
{
    if (!halo_serves(asked))
        return false;
    for (size_t k = 0; k < asked->op->tap_count; k++) {
        const struct op_tap *tap = &asked->op->taps[k];
        if (tap->dplane != 0 && (tap->dx != 0 || tap->drow != 0))
            return cuda_refuse(asked->refusal, "tap %d,%d,%d is off the column that a thread keeps", tap->dx,
                               tap->drow, tap->dplane);
    }
    if (asked->op->plane.high > REGISTER_RADIUS || -asked->op->plane.low > REGISTER_RADIUS)
        return cuda_refuse(asked->refusal, "radius over %d: the column would spill", REGISTER_RADIUS);
    return true;
}

template <typename T> static bool register_shape(const struct cuda_question *asked, struct cuda_form *form)
{
    const halo_tile tile = halo_tile_of(asked, REGISTER_X, REGISTER_ROWS);
    const long long samples = static_cast<long long>(tile.x) * tile.rows;
    const size_t cells = static_cast<size_t>(tile.cells);
    const size_t bytes = halo_tap_bytes<T>(asked->op) +
                         halo_bytes<register_rim>(cells - static_cast<size_t>(samples)) +
                         halo_bytes<T>(cells * 2);
    const int run = asked->wish->coarsen > 0 ? asked->wish->coarsen : REGISTER_COARSEN;

    if (!register_serves(asked) || !halo_fits(asked, bytes, tile, run, 2))
        return false;
    const int most = cuda_knows_offsets(asked->op) ? REGISTER_THREADS_MOST : REGISTER_THREADS;
    if (samples > most)
        return cuda_refuse(asked->refusal, "%dx%d columns need %lld threads, a block has at most %d", tile.x,
                           tile.rows, samples, most);
    const unsigned threads = halo_block(samples, most);
    *form =
        halo_form(asked, tile, run, threads, bytes, cuda_with_filter<T>(asked->op, [=](const auto &filter) {
                      return reinterpret_cast<const void *>(register_choose<T>(asked->op, threads, filter));
                  }));
    return true;
}

template <typename T> static cudaError_t register_launch(const struct cuda_job *job)
{
    return cuda_with_filter<T>(job->op, [=](const auto &filter) {
        return halo_launch<T>(job, halo_tile_of_form(job),
                              register_choose<T>(job->op->op, job->form->block.x, filter), filter);
    });
}

CUDA_RUNG(register, true, true, false);
