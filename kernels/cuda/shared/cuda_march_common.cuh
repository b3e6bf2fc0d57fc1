/* What the walks along the planes have in common (thread coarsening along z): a block has a tile of x and
 * rows, and walks all planes or a chunk of them, so that it loads each plane once and keeps in registers or
 * shared memory what the next planes need. Here planes are cut into chunks, blocks find their tiles and
 * chunks, launches are made and described, and fields are described for TMA boxes.
 *
 * A form has T, FusedSteps, Width, Height, UsefulX, UsefulRows, Halo, Radius, Threads, Blocks (that a
 * multiprocessor runs at once), SharedBytes, chunk(planes, columns, residents), the planes of a chunk where
 * the device runs so many blocks at once, and WalksWhole: whether as many columns of tiles as fill whole
 * rounds of the device are walked from end to end. Its job is a cuda_march_job with views, `from` and `to`.
 */
#ifndef CUDA_MARCH_COMMON_CUH
#define CUDA_MARCH_COMMON_CUH

#include "cuda_chain.cuh"

#define CUDA_SECTOR        32  /* bytes that memory moves at once */
#define CUDA_BOX_ALIGNMENT 128 /* bytes, of a box in shared memory */

/* For walks that count the bytes of a plane in 32 bits, and planes in an int: whether a shape is beyond that,
   which is then the refusal. */
static inline bool cuda_is_beyond_32_bits(const struct cuda_question *asked)
{
    const struct shape *shape = asked->shape;

    if (shape->rows * (shape->nx + CUDA_ROW_ALIGNMENT) > UINT32_MAX / work_size(asked->op->work))
        return !cuda_refuse(asked->refusal, "a plane of 4 GiB or more");
    return shape->planes > INT32_MAX / 2 && !cuda_refuse(asked->refusal, "too many planes");
}

/* The planes of a chunk, at most `most` of them, for which cost(chunk, chunks) is least; the longest of
 * several. Short chunks load more planes twice; long ones leave multiprocessors idle at the end. */
template <typename Cost> static inline long long cuda_march_chunk(long long planes, long long most, Cost cost)
{
    const long long fewest = cuda_ceil_divide(planes, most);
    long long best = planes;
    double least = 0;

    for (long long chunks = fewest; chunks <= planes && chunks < fewest + 256; chunks++) {
        const long long chunk = cuda_ceil_divide(planes, chunks);
        const double spent = cost(chunk, cuda_ceil_divide(planes, chunk));
        if (chunks == fewest || spent < least) {
            least = spent;
            best = chunk;
        }
    }
    return best;
}

/* How long walks of so many planes take, in planes of one: each also spends `extra` planes on its start and
 * end, the last of a column has what is left, and the device takes them chunk by chunk, `residents` at a
 * time. While some of these have nothing left to do, the others have more of the memory: half of that time is
 * not lost. */
static inline double cuda_march_time(long long planes, long long columns, long long residents,
                                     long long length, double extra)
{
    const long long walks = planes / length * columns, late = walks % residents;
    const double full = static_cast<double>(length) + extra;
    const double rest = planes % length > 0 ? static_cast<double>(planes % length) + extra : 0;
    double early_end = static_cast<double>(walks / residents) * full;
    double late_end = late > 0 ? early_end + full : early_end;

    for (long long left = rest > 0 ? columns : 0; left > 0;) {
        const bool early = early_end <= late_end || late == 0;
        left -= early ? residents - late : late;
        (early ? early_end : late_end) += rest;
    }
    const double last = early_end > late_end ? early_end : late_end;
    const double busy =
        static_cast<double>(walks) * full + (rest > 0 ? static_cast<double>(columns) * rest : 0);
    return (last + busy / static_cast<double>(residents)) / 2;
}

/* The planes of a walk, at most `most`, with which all are done first; the most of several. */
static inline long long cuda_march_length(long long planes, long long most, long long columns,
                                          long long residents, double extra)
{
    long long best = most < planes ? most : planes;
    double least = cuda_march_time(planes, columns, residents, best, extra);

    for (long long length = best - 1; length > 0; length--) {
        const double time = cuda_march_time(planes, columns, residents, length, extra);
        if (time < least) {
            least = time;
            best = length;
        }
    }
    return best;
}

/* Tiles as wide as a warp, and those of the last columns, whose lanes stand in several groups below each
 * other: few lanes have columns that do not exist. Lanes that are not side by side load slowly, so these
 * tiles begin before all others of a launch. */
struct cuda_tiles {
    unsigned across;     /* side by side, as wide as a warp */
    unsigned wide, last; /* of a plane: as wide as a warp, and those of the last columns */
    unsigned last_lanes; /* side by side in these */
    unsigned all_last;   /* of the launch */

    unsigned count() const
    {
        return wide + last;
    }
};

/* The tiles of a plane, where a warp computes Form::Rows rows, and a block Form::Warps times as many.
   `lanes` have the last columns. */
template <typename Form>
static inline struct cuda_tiles cuda_tiles_of(long long nx, long long rows, unsigned lanes)
{
    const long long height = Form::Warps * Form::Rows, rest = nx % Form::Width;
    struct cuda_tiles tiles = {static_cast<unsigned>(nx / Form::Width), 0, 0, lanes, 0};

    tiles.wide = tiles.across * static_cast<unsigned>(cuda_ceil_divide(rows, height));
    if (rest > 0)
        tiles.last = static_cast<unsigned>(cuda_ceil_divide(rows, height * (CUDA_WARP / tiles.last_lanes)));
    return tiles;
}

/* Where a thread finds its part of a tile: blocks that follow each other stand side by side. */
template <bool Last> struct cuda_tile_place {
    int column, lanes;   /* of tiles; and lanes side by side */
    int lane, row;       /* in the tile's columns; and of all groups of lanes below each other */
    int first_row, rows; /* groups of the tile */
    unsigned rest;       /* of the number: of channel and chunk */

    CUDA_INLINE cuda_tile_place(const struct cuda_tiles &tiles, unsigned number, int warps,
                                unsigned warp = threadIdx.x / CUDA_WARP)
    {
        const bool is_last = Last && number < tiles.all_last;
        const unsigned tile_number = is_last ? number : number - tiles.all_last;
        const unsigned count = is_last ? tiles.last : tiles.wide, tile = tile_number % count;
        const unsigned across = is_last ? tiles.last_lanes : CUDA_WARP;
        const unsigned tile_row = is_last ? tile : tile / tiles.across;
        const unsigned in_warp = threadIdx.x % CUDA_WARP;

        column = static_cast<int>(is_last ? tiles.across : tile % tiles.across);
        lanes = static_cast<int>(across);
        lane = static_cast<int>(in_warp % across);
        rows = warps * static_cast<int>(CUDA_WARP / across);
        first_row = static_cast<int>(tile_row) * rows;
        row = first_row + static_cast<int>(warp * (CUDA_WARP / across) + in_warp / across);
        rest = tile_number / count;
    }
};

/* What a launch computes, and how it is cut: the part of a job that all walks share. */
struct cuda_march_job {
    long long first, end; /* planes to compute */
    long long chunk;      /* planes that a block computes of a column that is cut */
    unsigned whole;       /* columns of tiles that are walked from end to end: they come first */
    unsigned others;      /* columns that are cut; 1 if there are none, since blocks divide by it */
    int tiles_x, tiles_rows;
};

/* The tile of a block and its planes. Blocks that follow one another are neighbours along x, then along the
   rows, and so share rows in the L2 cache. Channels come next, and chunks last. */
template <bool WalksWhole> struct cuda_march_place {
    int tile_x, tile_row, channel;
    long long begin, end;

    CUDA_INLINE cuda_march_place(const struct cuda_march_job &job)
    {
        const unsigned across = static_cast<unsigned>(job.tiles_x),
                       down = static_cast<unsigned>(job.tiles_rows);
        const unsigned whole = WalksWhole ? min(blockIdx.x, job.whole) : 0;
        const unsigned number = (blockIdx.x - whole) / job.others; /* of the chunk */
        const unsigned column = blockIdx.x - number * job.others;

        tile_x = static_cast<int>(column % across);
        tile_row = static_cast<int>(column / across % down);
        channel = static_cast<int>(column / across / down);
        begin = job.first + number * job.chunk;
        end = (WalksWhole && blockIdx.x < job.whole) || begin + job.chunk > job.end ? job.end
                                                                                    : begin + job.chunk;
    }
};

/* Tiles of a form that cover the rows. The first one begins with the grid and the last one ends with it, so
   that neither needs a halo there; if rows wrap, all need it. */
template <typename Form> static inline long long cuda_march_row_tiles(long long rows, bool wraps)
{
    if (wraps)
        return cuda_ceil_divide(rows, Form::UsefulRows);
    return rows <= Form::Height ? 1 : cuda_ceil_divide(rows - 2 * Form::Halo, Form::UsefulRows);
}

/* How the columns of a launch are cut. */
struct cuda_march_cut {
    long long whole, others; /* columns that are walked from end to end, and those that are cut */
    long long chunk;         /* planes of a walk through one of the others */
    long long blocks;
};

/* Of a form that walks whole, as many columns as fill whole rounds of the device are walked from end to end.
   All others are cut into chunks, so that all multiprocessors end at about the same time. `residents` 0: all
   columns have the wished chunk. */
template <typename Form>
static inline struct cuda_march_cut cuda_march_cut_of(long long planes, long long columns,
                                                      long long residents, long long wished)
{
    struct cuda_march_cut cut = {0, columns, wished, 0};

    if (residents > 0) {
        cut.whole = Form::WalksWhole ? columns / residents * residents : 0;
        cut.others = columns - cut.whole;
        cut.chunk = Form::chunk(planes, cut.others, residents);
    }
    cut.blocks = cut.whole + cut.others * cuda_ceil_divide(planes, cut.chunk);
    return cut;
}

/* Launch a form; the caller has filled in the op's part of `job`. `wraps`: rows go on at the other end.
   `residents`: the blocks that the device runs at once, for the choice of chunks; 0: the wished chunk. */
template <typename Form, typename Job>
static inline cudaError_t cuda_march_launch(const struct cuda_job *from, Job *job, void (*kernel)(const Job),
                                            bool wraps, int residents)
{
    using T = typename Form::T;
    const cudaError_t status = cuda_permit_shared(kernel, Form::SharedBytes);

    job->from = *static_cast<const cuda_view<T> *>(from->from);
    job->to = *static_cast<const cuda_view<T> *>(from->to);
    job->first = static_cast<long long>(from->planes.first);
    job->end = job->first + static_cast<long long>(from->planes.count);
    /* Tiles cover the useful columns and rows. */
    job->tiles_x = static_cast<int>(cuda_ceil_divide(job->from.nx, Form::UsefulX));
    job->tiles_rows = static_cast<int>(cuda_march_row_tiles<Form>(job->from.rows, wraps));
    const long long planes = job->end - job->first;
    const long long columns = static_cast<long long>(job->tiles_x) * job->tiles_rows * job->from.channels;
    if (status != cudaSuccess || planes == 0)
        return status;
    const struct cuda_march_cut cut =
        cuda_march_cut_of<Form>(planes, columns, residents, from->form->coarsen);
    job->whole = static_cast<unsigned>(cut.whole);
    job->others = cut.others > 0 ? static_cast<unsigned>(cut.others) : 1;
    job->chunk = cut.chunk;
    return CUDA_LAUNCH(from->stream, dim3(cuda_blocks(cut.blocks)), dim3(Form::Threads), Form::SharedBytes,
                       kernel, *job);
}

/* Describe such a launch for a form. */
template <typename Form, typename Job>
static inline void cuda_march_describe(const struct cuda_question *asked, struct cuda_form *form,
                                       void (*kernel)(const Job), bool wraps)
{
    const long long columns = cuda_ceil_divide(static_cast<long long>(asked->shape->nx), Form::UsefulX) *
                              cuda_march_row_tiles<Form>(static_cast<long long>(asked->shape->rows), wraps) *
                              asked->shape->channels;
    const long long planes = static_cast<long long>(asked->shape->planes);
    /* Samples that a tile computes over those that it stores. */
    const double overlap =
        static_cast<double>(Form::Width) * Form::Height / (Form::UsefulX * Form::UsefulRows);

    form->tile_x = Form::UsefulX;
    form->tile_y = Form::UsefulRows;
    form->tile_z = 1;
    form->resident_blocks = asked->wish->coarsen > 0 ? 0 : asked->limits->multiprocessors * Form::Blocks;
    const struct cuda_march_cut cut =
        cuda_march_cut_of<Form>(planes, columns, form->resident_blocks, asked->wish->coarsen);
    /* All planes, if any columns are walked whole. If a caller wishes for that number, all columns are. */
    form->coarsen = static_cast<int>(cut.whole > 0 ? planes : cut.chunk);
    form->steps = Form::FusedSteps;
    form->reach = Form::Radius;
    form->grid = dim3(cuda_blocks(cut.blocks));
    form->block = dim3(Form::Threads);
    form->shared_bytes = Form::SharedBytes;
    form->kernel = reinterpret_cast<const void *>(kernel);
    form->bytes_per_update = 2.0 * sizeof(typename Form::T) / Form::FusedSteps;
    form->operations_per_update = cuda_operations(asked->op) * overlap;
}

/* A field for TMA boxes. */
template <typename T> static inline struct cuda_boxed_field cuda_boxed(const cuda_view<T> &view)
{
    const size_t row = static_cast<size_t>(view.pitch) * sizeof(T);
    const size_t channel = row * static_cast<size_t>(view.rows);

    return {view.samples,
            sizeof(T),
            static_cast<size_t>(view.nx),
            static_cast<size_t>(view.rows),
            static_cast<size_t>(view.channels),
            static_cast<size_t>(view.count),
            row,
            channel,
            channel * static_cast<size_t>(view.channels)};
}

#endif
