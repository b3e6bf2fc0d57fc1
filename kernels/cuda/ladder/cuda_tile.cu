/* Rung `tile`.
 *
 * Known as: shared-memory tiling with a halo (ghost cells), spatial blocking, 3D blocking.
 * Idea: a block loads a T³ tile (of a picture: T²) with its halo into shared memory; taps read there.
 * Adds: each sample is fetched once a tile instead of once a tap.
 * Costs: (1 + 2r/T)³ cells for T³ samples, and a barrier between loading and computing, before which a block
 *   can only wait: other blocks have to keep memory busy.
 * Traffic per sample: 1 word written, (1 + 2r/T)³ words read, of which the caches save a part.
 * Wins when: taps are many and spread. For a small star, what `march` keeps from plane to plane is loaded
 *   again by each tile: 42 % more cells than samples at T = 16.
 *
 * A block has one tile. Its threads settle where each cell comes from, start all copies, wait for their own
 * and meet at a barrier; then each computes its samples. Cells and samples are dealt out in turns, since a
 * tile has more of them than a block has threads. Cells outside the grid are filled by the edge rule as they
 * are loaded, so that computing knows of no edge. */
#include "cuda_halo.cuh"

#define TILE_EXTENT  16
#define TILE_PICTURE 32
#define TILE_THREADS 256

/* Start the copies of all cells of the tile's planes. */
template <typename T>
static CUDA_INLINE void tile_load(const T *const *planes, int count, const int *offsets, int plane_cells,
                                  T outside, T *cells)
{
    int cell = halo_thread();

#pragma unroll 1
    for (halo_turn turn(plane_cells); turn.plane < count; turn.next(), cell += halo_threads())
        halo_copy(cells + cell, planes[turn.plane], offsets[turn.index], outside);
    cuda_commit_copies();
}

/* Compute the tile's samples, in turns of all threads. */
template <typename T, typename Filter>
static CUDA_INLINE void tile_compute(const halo_task<T> &task, const halo_place &place,
                                     const halo_sample *samples, const Filter &filter, const T *cells)
{
    const int width = task.tile.width, plane_cells = task.tile.cells;
    T *const to = task.to + halo_offset_of(task, place, place.first);

    cells -= task.tile.reach_plane.low * plane_cells;
#pragma unroll 1
    for (halo_turn turn(place.width * place.rows); turn.plane < place.planes; turn.next()) {
        const halo_sample sample = samples[turn.index];
        const T *here = cells + turn.plane * plane_cells + sample.cell;
        to[turn.plane * task.plane_stride + sample.place()] =
            sample.held() || halo_holds(task, place.first + turn.plane)
                ? *here
                : filter(*here, [=](int dx, int drow, int dplane) {
                      return here[dplane * plane_cells + drow * width + dx];
                  });
    }
}

template <typename T, typename Filter>
__global__ void __launch_bounds__(TILE_THREADS, 1) tile_kernel(halo_task<T> task, Filter filter)
{
    CUDA_SHARED(unsigned char, shared);
    unsigned char *free = shared;
    const halo_tile &tile = task.tile;
    const halo_place place = halo_locate(task);
    const int depth = place.planes + tile.span;

    halo_share_taps(&filter, &free);
    const T **const planes = halo_take<const T *>(&free, tile.planes + tile.span);
    int *const offsets = halo_take<int>(&free, tile.cells);
    halo_sample *const samples = halo_take<halo_sample>(&free, tile.x * tile.rows);
    T *const cells = halo_take<T>(&free, tile.cells * (tile.planes + tile.span));

    /* The planes that the tile reads, as the edge rule supplies them. */
#pragma unroll 1
    for (int k = halo_thread(); k < depth; k += halo_threads()) {
        const int plane = place.first + tile.reach_plane.low + k;
        planes[k] = halo_supplied(task, plane, task.from + halo_offset_of(task, place, plane));
    }
    halo_settle_cells(task, place, offsets);
    halo_settle_samples(task, place, samples);
    __syncthreads();
    /* Nothing overlaps within a block: loading, waiting, computing. */
    tile_load(planes, depth, offsets, tile.cells, halo_outside(task, place), cells);
    cuda_await_copies<0>();
    __syncthreads();
    tile_compute(task, place, samples, filter, cells);
}

template <typename T> static size_t tile_bytes(const struct op *op, const halo_tile &tile)
{
    const size_t depth = static_cast<size_t>(tile.planes + tile.span),
                 cells = static_cast<size_t>(tile.cells);

    return halo_tap_bytes<T>(op) + halo_bytes<const T *>(depth) + halo_bytes<int>(cells) +
           halo_bytes<halo_sample>(static_cast<size_t>(tile.x) * static_cast<size_t>(tile.rows)) +
           halo_bytes<T>(cells * depth);
}

/* A tile of T³ samples, or of the wished extents in x and rows and the smaller of them in planes; fewer
 * planes if a block has too little shared memory. */
template <typename T> static halo_tile tile_of_volume(const struct cuda_question *asked)
{
    const struct cuda_wish *wish = asked->wish;
    const int x = wish->tile_x > 0 ? wish->tile_x : TILE_EXTENT,
              rows = wish->tile_y > 0 ? wish->tile_y : TILE_EXTENT;
    halo_tile tile = halo_tile_with(asked->op, x, rows, x < rows ? x : rows);

    while (tile.planes > 1 && tile_bytes<T>(asked->op, tile) > asked->limits->shared_per_block)
        tile.planes--;
    return tile;
}

/* A tile of T² samples, whose rows are planes. */
template <typename T> static halo_tile tile_of_picture(const struct cuda_question *asked)
{
    const struct cuda_wish *wish = asked->wish;
    const bool free = wish->tile_x <= 0 && wish->tile_y <= 0;
    halo_tile tile = halo_tile_with(asked->op, wish->tile_x > 0 ? wish->tile_x : TILE_PICTURE, 1,
                                    wish->tile_y > 0 ? wish->tile_y : TILE_PICTURE);

    while (free && tile.x > 1 && tile_bytes<T>(asked->op, tile) > asked->limits->shared_per_block)
        tile = halo_tile_with(asked->op, tile.x / 2, 1, tile.planes / 2);
    return tile;
}

template <typename T> static bool tile_shape(const struct cuda_question *asked, struct cuda_form *form)
{
    if (!halo_serves(asked))
        return false;
    const halo_tile tile = asked->shape->rows == 1 ? tile_of_picture<T>(asked) : tile_of_volume<T>(asked);
    if (!halo_fits(asked, tile_bytes<T>(asked->op, tile), tile, tile.planes, tile.planes + tile.span))
        return false;
    *form =
        halo_form(asked, tile, tile.planes,
                  halo_block(static_cast<long long>(tile.x) * tile.rows * tile.planes, TILE_THREADS),
                  tile_bytes<T>(asked->op, tile), cuda_with_filter<T>(asked->op, [](const auto &filter) {
                      return reinterpret_cast<const void *>(&tile_kernel<T, std::decay_t<decltype(filter)>>);
                  }));
    if (asked->shape->rows == 1) {
        form->tile_y = tile.planes;
        form->tile_z = 0;
    }
    return true;
}

/* The tile that a form was settled with: that of a picture names its planes as rows. */
static halo_tile tile_of_form(const struct cuda_job *job)
{
    const struct cuda_form *form = job->form;

    return form->tile_z == 0 ? halo_tile_with(job->op->op, form->tile_x, 1, form->tile_y)
                             : halo_tile_of_form(job);
}

template <typename T> static cudaError_t tile_launch(const struct cuda_job *job)
{
    return cuda_with_filter<T>(job->op, [=](const auto &filter) {
        return halo_launch<T>(job, tile_of_form(job), &tile_kernel<T, std::decay_t<decltype(filter)>>,
                              filter);
    });
}

CUDA_RUNG(tile, true, false, false);
