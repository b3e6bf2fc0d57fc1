/* What the textbook rungs share: a tile of samples with its halo in shared memory, and the count of threads
 * that has nothing to do with it. All threads of a block fill the tile in a loop, rows by warps and x by
 * lanes, so a 32×32 tile with its 34×34 cells needs no 1156 threads. */
#ifndef CUDA_HALO_CUH
#define CUDA_HALO_CUH

#include "cuda_chain.cuh"

/* The tile of a block and the reach of the taps around it. */
struct halo_tile {
    int x, rows, planes; /* samples that the tile's block computes at a time */
    struct cuda_reach reach;
    int tiles_x, tiles_rows;

    __host__ __device__ __forceinline__ int width() const
    {
        return x + reach.x.high - reach.x.low;
    }
    __host__ __device__ __forceinline__ int height() const
    {
        return rows + reach.row.high - reach.row.low;
    }
    /* Cells of one plane. */
    __host__ __device__ __forceinline__ int cells() const
    {
        return width() * height();
    }
};

/* Which tile a block computes. */
struct halo_place {
    int x, row, channel;
    long long first, end; /* planes */
};

/* Blocks are counted along x, rows, channels, then runs of `run` planes. */
static CUDA_INLINE halo_place halo_locate(const halo_tile &tile, long long block, int channels,
                                          long long first, long long end, long long run)
{
    halo_place place;

    place.x = static_cast<int>(block % tile.tiles_x) * tile.x;
    block /= tile.tiles_x;
    place.row = static_cast<int>(block % tile.tiles_rows) * tile.rows;
    block /= tile.tiles_rows;
    place.channel = static_cast<int>(block % channels);
    place.first = first + block / channels * run;
    place.end = place.first + run < end ? place.first + run : end;
    return place;
}

/* Fill one line of cells; `samples` is the row that the edge rule supplies, or NULL for what stands outside.
 */
template <typename T>
static CUDA_INLINE void halo_load_line(const cuda_view<T> &from, const cuda_edge<T> &edge,
                                       const halo_place &place, const T *samples, int first_x, int width,
                                       T *line)
{
    const T outside = edge.rule == EDGE_CONSTANT ? edge.outside[place.channel] : T(0);

#pragma unroll 1
    for (int i = static_cast<int>(threadIdx.x) & 31; i < width; i += 32) {
        long long x = first_x + i;
        if (x < 0 || x >= from.nx)
            x = arith_edge_index(edge.rule, x, from.nx);
        line[i] = samples == NULL || x < 0 ? outside : samples[x];
    }
}

/* Fill the cells of `count` planes from `plane` on; the edge rule supplies what lies outside the grid. */
template <typename T>
static CUDA_INLINE void halo_load(const cuda_view<T> &from, const cuda_edge<T> &edge, const halo_tile &tile,
                                  const halo_place &place, long long plane, int count, T *cells)
{
    const int width = tile.width(), height = tile.height();
    const int warps = static_cast<int>(blockDim.x) >> 5;

#pragma unroll 1
    for (int line = static_cast<int>(threadIdx.x) >> 5; line < height * count; line += warps) {
        const int above = line / height;
        const long long p = arith_edge_index(edge.rule, plane + above, from.planes);
        const long long row =
            arith_edge_index(edge.rule, place.row + tile.reach.row.low + line - above * height, from.rows);
        const T *samples = p < 0 || row < 0 ? NULL : from.row(p, place.channel, static_cast<int>(row));
        halo_load_line(from, edge, place, samples, place.x + tile.reach.x.low, width, cells + line * width);
    }
}

/* The number of a sample of the tile's plane, as x and row. */
struct halo_sample {
    int x, row;
    bool inside; /* the grid */
};

template <typename T>
static CUDA_INLINE halo_sample halo_sample_of(const cuda_view<T> &view, const halo_tile &tile,
                                              const halo_place &place, int index)
{
    halo_sample sample;

    sample.row = index / tile.x;
    sample.x = index - sample.row * tile.x;
    sample.inside = place.x + sample.x < view.nx && place.row + sample.row < view.rows;
    return sample;
}

/* The filtered value, or the old one where the rule holds it. */
template <typename T, typename Filter, typename Reader>
static CUDA_INLINE T halo_filtered(const cuda_view<T> &from, const halo_tile &tile, const halo_place &place,
                                   const halo_sample &sample, long long plane, const Filter &filter, T own,
                                   const Reader &read)
{
    if (tile.reach.rule == EDGE_HOLD &&
        !tile.reach.interior(from, plane, place.row + sample.row, place.x + sample.x))
        return own;
    return filter(own, read);
}

/* Any op of taps; not what looks at one sample alone. */
static inline bool halo_serves(const struct op *op, char *reason, size_t size)
{
    if (op->kind == OP_UNSHARP)
        return cuda_refuse(reason, size, "a sample reads no neighbours: nothing to share");
    if (op->tap_count == 0)
        return cuda_refuse(reason, size, "no taps");
    return true;
}

/* A tile of the default size, or of the wished one. */
static inline halo_tile halo_tile_of(const struct op *op, const struct shape *shape,
                                     const struct cuda_wish *wish, int x, int rows, int planes)
{
    halo_tile tile;

    tile.x = wish->tile_x > 0 ? wish->tile_x : x;
    tile.rows = wish->tile_y > 0 ? wish->tile_y : rows;
    tile.planes = planes;
    tile.reach = cuda_reach_of(op);
    tile.tiles_x = static_cast<int>(cuda_ceil_divide(static_cast<long long>(shape->nx), tile.x));
    tile.tiles_rows = static_cast<int>(cuda_ceil_divide(static_cast<long long>(shape->rows), tile.rows));
    return tile;
}

/* The tile that a form was settled with. */
static inline halo_tile halo_tile_of_job(const struct cuda_job *job, int nx, int rows)
{
    struct shape shape = {static_cast<size_t>(nx), static_cast<size_t>(rows), 1, 1};
    struct cuda_wish wish = {};

    wish.tile_x = job->form->tile_x;
    wish.tile_y = job->form->tile_y;
    return halo_tile_of(job->op->op, &shape, &wish, 1, 1, job->form->tile_z);
}

/* Warps enough for the samples, and no more than a block may have. */
static inline unsigned halo_threads(long long samples, int most)
{
    const long long warps = cuda_ceil_divide(samples, 32);

    return static_cast<unsigned>(warps * 32 < most ? warps * 32 : most);
}

static inline bool halo_fits(const struct cuda_limits *limits, size_t bytes, const halo_tile &tile,
                             int planes, char *reason, size_t size)
{
    if (bytes <= limits->shared_per_block)
        return true;
    return cuda_refuse(reason, size,
                       "%d planes of %dx%d cells take %zu bytes of shared memory, a block has %zu", planes,
                       tile.width(), tile.height(), bytes, limits->shared_per_block);
}

/* What all forms of the family tell of themselves. */
static inline struct cuda_form halo_form(const struct op *op, const struct shape *shape,
                                         const halo_tile &tile, int coarsen, unsigned threads,
                                         size_t shared_bytes, const void *kernel)
{
    const long long runs = cuda_ceil_divide(static_cast<long long>(shape->planes), coarsen);
    struct cuda_form form = cuda_form();

    form.tile_x = tile.x;
    form.tile_y = tile.rows;
    form.tile_z = tile.planes;
    form.coarsen = coarsen;
    form.stride = 1;
    form.steps = 1;
    form.grid = dim3(cuda_blocks(runs * shape->channels * tile.tiles_x * tile.tiles_rows));
    form.block = dim3(threads);
    form.shared_bytes = shared_bytes;
    form.kernel = kernel;
    form.operations_per_update = cuda_operations(op);
    /* Halo cells come from the caches; between runs of planes they come from memory. */
    form.bytes_per_update =
        static_cast<double>(work_size(op->work)) * (2 + static_cast<double>(cuda_span(op->plane)) / coarsen);
    return form;
}

/* The blocks of a job. */
static inline long long halo_blocks(const halo_tile &tile, int channels, size_t planes, int run)
{
    return cuda_ceil_divide(static_cast<long long>(planes), run) * channels * tile.tiles_x * tile.tiles_rows;
}

#endif
