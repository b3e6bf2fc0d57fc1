/* Rung `march`.
 *
 * Known as: 2.5D blocking, thread coarsening along z, a circular buffer of planes in shared memory.
 * Idea: a block walks along the planes with the 2r + 1 planes of its tile that the taps reach in shared
 *   memory, and the next ones on their way there.
 * Adds: a plane is loaded once a walk, so the halo of a tile is one of rows and x only; `--coarsen` says how
 *   many planes a block walks. Loads go on while samples are computed.
 * Costs: a barrier a plane, and what a thread does once a plane: several samples a thread make up for it.
 * Traffic per sample: 1 word written, 1 + 2r/coarsen words read from memory; the caches have the halo.
 * Wins when: taps are off the axes, so that registers cannot hold what they read.
 *
 * A software pipeline over planes. For each plane of the walk, all threads wait until the newest plane that
 * its taps read has arrived (asynchronous copies, committed plane by plane), meet at one barrier, start the
 * copy of the plane MARCH_AHEAD later into the ring's free stage, and compute their samples. The barrier
 * serves twice: the copies of all threads have arrived, and nobody reads the stage any more that is filled
 * next. The first turns of the loop, before the walk's first plane, only fill the ring. */
#include "cuda_halo.cuh"

#define MARCH_X       64
#define MARCH_ROWS    16
#define MARCH_COARSEN 32
#define MARCH_THREADS 256

/* Planes whose copies are under way while one is computed. */
#define MARCH_AHEAD 2

/* The ring of planes, a circular buffer: a stage for each plane that the taps reach, for those under way, and
   the one that is filled. With each plane of the walk the lowest stage moves on by one. */
struct march_ring {
    int lowest, plane_cells, all_cells; /* lowest: the first cell of the lowest plane that the taps reach */

    CUDA_INLINE int stage(int plane) const
    {
        const int cell = lowest + plane * plane_cells;
        return cell < all_cells ? cell : cell - all_cells;
    }
};

/* Start the copies of a plane's cells. */
template <typename T>
static CUDA_INLINE void march_load(const T *plane, const int *offsets, int count, T outside, T *cells)
{
#pragma unroll 1
    for (int cell = halo_thread(); cell < count; cell += halo_threads())
        halo_copy(cells + cell, plane, offsets[cell], outside);
}

/* Compute the tile's samples of a plane, in turns of all threads. */
template <typename T, typename Filter>
static CUDA_INLINE void march_plane(const halo_tile &tile, const march_ring &ring, const T *cells,
                                    const halo_sample *samples, int count, bool held, const Filter &filter,
                                    T *to)
{
    const int width = tile.width, low = tile.reach_plane.low;

#pragma unroll 1
    for (int index = halo_thread(); index < count; index += halo_threads()) {
        const halo_sample sample = samples[index];
        const T *here = cells + sample.cell;
        const T own = here[ring.stage(-low)];
        to[sample.place()] = held || sample.held() ? own : filter(own, [=](int dx, int drow, int dplane) {
            return here[ring.stage(dplane - low) + drow * width + dx];
        });
    }
}

template <typename T, typename Filter>
__global__ void __launch_bounds__(MARCH_THREADS, 1) march_kernel(halo_task<T> task, Filter filter)
{
    CUDA_SHARED(unsigned char, shared);
    unsigned char *free = shared;
    const halo_tile &tile = task.tile;
    const halo_place place = halo_locate(task);
    const int count = place.width * place.rows, ahead = tile.span + MARCH_AHEAD;
    const int last = place.first + place.planes - 1;
    const T outside = halo_outside(task, place);
    march_ring ring = {0, tile.cells, tile.cells * (ahead + 1)};

    halo_share_taps(&filter, &free);
    int *const offsets = halo_take<int>(&free, tile.cells);
    halo_sample *const samples = halo_take<halo_sample>(&free, tile.x * tile.rows);
    T *const cells = halo_take<T>(&free, ring.all_cells);

    /* The tables are written by all threads, and read by all. */
    halo_settle_cells(task, place, offsets);
    halo_settle_samples(task, place, samples);
    __syncthreads();
    /* `next` is the plane that is loaded, `ahead` planes before `plane` is computed. */
    int plane = place.first - ahead, next = place.first + tile.reach_plane.low;
    const T *from = task.from + halo_offset_of(task, place, next);
    T *to = task.to + halo_offset_of(task, place, place.first);
#pragma unroll 1
    for (; plane <= last; plane++, next++) {
        if (plane >= place.first) {
            cuda_await_copies<MARCH_AHEAD - 1>();
            __syncthreads();
        }
        /* An empty group is committed, too, so that waiting counts planes. */
        if (next <= last + tile.reach_plane.high)
            march_load(halo_supplied(task, next, from), offsets, tile.cells, outside,
                       cells + ring.stage(ahead));
        cuda_commit_copies();
        from += task.plane_stride;
        if (plane >= place.first) {
            march_plane(tile, ring, cells, samples, count, halo_holds(task, plane), filter, to);
            to += task.plane_stride;
        }
        ring.lowest = ring.stage(1);
    }
}

/* Shared memory has the two tables and the ring: the planes in reach, and MARCH_AHEAD more. */
template <typename T> static bool march_shape(const struct cuda_question *asked, struct cuda_form *form)
{
    const halo_tile tile = halo_tile_of(asked, MARCH_X, MARCH_ROWS);
    const size_t cells = static_cast<size_t>(tile.cells);
    const int depth = tile.span + 1 + MARCH_AHEAD;
    const long long samples = static_cast<long long>(tile.x) * tile.rows;
    const int run = asked->wish->coarsen > 0 ? asked->wish->coarsen : MARCH_COARSEN;
    const size_t bytes = halo_tap_bytes<T>(asked->op) + halo_bytes<int>(cells) +
                         halo_bytes<halo_sample>(static_cast<size_t>(samples)) + halo_bytes<T>(cells * depth);

    if (!halo_serves(asked) || !halo_fits(asked, bytes, tile, run, depth))
        return false;
    *form =
        halo_form(asked, tile, run, halo_block(samples, MARCH_THREADS), bytes,
                  cuda_with_filter<T>(asked->op, [](const auto &filter) {
                      return reinterpret_cast<const void *>(&march_kernel<T, std::decay_t<decltype(filter)>>);
                  }));
    return true;
}

template <typename T> static cudaError_t march_launch(const struct cuda_job *job)
{
    return cuda_with_filter<T>(job->op, [=](const auto &filter) {
        return halo_launch<T>(job, halo_tile_of_form(job), &march_kernel<T, std::decay_t<decltype(filter)>>,
                              filter);
    });
}

CUDA_RUNG(march, true, true, false);
