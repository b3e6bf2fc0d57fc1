/* OME-Zarr that is written, by version 0.5.

   Planes are gathered on a shelf as deep as a chunk. When it is full, its chunks are encoded in ordered work,
   and the caller appends each to the file of its shard, in the order of the array: so that files depend on
   samples, level and library alone, and no more than a shelf is held. A shard ends with the index of its
   chunks, when its last shelf has been written. Planes may also come column by column: a column has whole
   shards, and a shelf then has chunks of one column alone. Chunks of zeros alone are left out: readers take
   what is missing for zeros. Metadata come last, and then the folder gets its name.

   Chunks have some two million samples. They are cubes as long as a shelf of them does not take much memory;
   of larger planes they are flatter. Shards are cubes of 512 in any case. */
#include "zarr_sink.h"

#include "base/folder_out.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/size.h"
#include "base/work_queue.h"
#include "zarr/codec.h"
#include "zarr_metadata.h"

#include <stdio.h>
#include <string.h>

enum { PLANES, ROWS, COLUMNS, AXES }; /* of a grid, slowest first */

/* A shelf of the cubes may take SHELF_BYTES, and whoever reads them needs another: both leave most of a
   gigabyte to the planes that levels hold. Of the workers, which may take WORKER_BYTES, each has a chunk, and
   some are done before their turn. */
#define SHELF_BYTES  ((size_t)128 << 20)
#define WORKER_BYTES ((size_t)256 << 20)
enum { SLOTS_BESIDE = 2, ZSTD_LEVEL = 3, KEY_BYTES = 256, NAME_BYTES = 256 };

/* Of an input whose chunks are taken over. */
#define CHUNK_SAMPLES_LEAST ((size_t)4 << 10)
#define CHUNK_SAMPLES_MOST  ((size_t)16 << 20)

/* How an array is cut: extents, and how many chunks of a shard, and of the array, lie along an axis. */
struct layout {
    size_t extents[AXES], chunk[AXES], in_shard[AXES], chunks[AXES];
    size_t channels;
    struct codec_chain chain; /* of a chunk */
};

/* A chunk of a shelf. */
struct cell {
    size_t channel, shard; /* of all shards of the layer */
    size_t row, column;    /* in chunks */
    size_t index;          /* in the shard */
};

/* A chunk on its way into a file. */
struct slot {
    struct cell cell;
    unsigned char *coded;
    size_t size; /* 0: all of its samples are 0 */
    bool failed; /* with this fault */
    struct fault fault;
};

/* What a worker has to itself. */
struct worker {
    struct codec_worker *codec;
    unsigned char *chunk; /* to gather samples */
};

/* A box of whole shards along x and y, whose planes come: its samples, and the shards before it and in it. */
struct column {
    size_t first[AXES], count[AXES], before[AXES], shards[AXES];
};

struct zarr_sink {
    struct layout layout;
    struct zarr_image image;
    struct column column;
    size_t plane_bytes; /* of each of its planes */
    struct folder_out *folder;

    /* From the first plane on. */
    unsigned char *shelf;
    size_t volume, plane, filled; /* what comes next; planes on the shelf */
    size_t workers, slot_count, under_way;
    struct ordered_work *ordered;
    struct slot *slots;
    struct worker *at_work; /* so many as `workers` */

    /* Of the shards of a layer: where each of their chunks is, and their bytes so far. */
    struct codec_place *places;
    uint64_t *shard_bytes;
};

/* ---- the layout ---- */

/* The extents of chunks, and those of shards that are aimed at. */
static void choose_chunks(const struct header *header, struct layout *layout, size_t shard[AXES])
{
    static const size_t cubes[][AXES] = {{128, 128, 128}, {32, 256, 256}, {8, 512, 512}};
    static const size_t flat[AXES] = {1024, 1, 1024}, of_shards = 512, of_flat_shards = 4096;
    const bool is_flat = header->grid.axes < 3;
    size_t choice = 0;

    while (choice < 2 && cubes[choice][PLANES] > SHELF_BYTES / header_plane_bytes(header))
        choice++;
    for (size_t i = 0; i < AXES; i++) {
        layout->chunk[i] = size_least(is_flat ? flat[i] : cubes[choice][i], layout->extents[i]);
        shard[i] = is_flat ? of_flat_shards : of_shards;
    }
}

/* Take the chunks of an input that has some, and its shards, unless a chunk has few samples or many, or a
   shelf of them would take more memory than one of our own. */
static void take_chunks(const struct header *header, const struct source *origin, struct layout *layout,
                        size_t shard[AXES])
{
    const struct zarr_source *zarr =
        origin != NULL && origin->format->family == FAMILY_ZARR ? origin->state : NULL;
    const bool is_flat = header->grid.axes < 3;
    size_t chunk[AXES], file[AXES], samples = 1;

    if (zarr == NULL)
        return;
    for (size_t i = 0; i < AXES; i++) {
        const size_t axis = zarr->space[is_flat && i == PLANES ? 1 : COLUMNS - i];
        const bool has = axis != ARRAY_NO_AXIS && !(is_flat && i == ROWS);
        chunk[i] = size_least(has ? zarr->array.chain.extents[axis] : 1, layout->extents[i]);
        file[i] = has ? zarr->array.file[axis] : 1;
        samples *= chunk[i];
        if (samples > CHUNK_SAMPLES_MOST)
            return;
    }
    if ((samples < CHUNK_SAMPLES_LEAST && samples < grid_samples(&header->grid)) ||
        chunk[PLANES] > size_most(layout->chunk[PLANES], SHELF_BYTES / header_plane_bytes(header)))
        return;
    memcpy(layout->chunk, chunk, sizeof chunk);
    if (zarr->array.sharded)
        memcpy(shard, file, sizeof file);
}

static struct layout layout_of(const struct header *header, const struct sink_request *request)
{
    const struct grid *grid = &header->grid;
    struct layout layout = {.extents = {grid_planes(grid), grid_rows(grid), grid->nx},
                            .channels = grid->channels};
    struct codec_chain *chain = &layout.chain;
    size_t shard[AXES];

    choose_chunks(header, &layout, shard);
    take_chunks(header, request->origin, &layout, shard);
    *chain = (struct codec_chain){.type = header->type, .axes = AXES};
    for (size_t i = 0; i < AXES; i++) {
        layout.chunks[i] = size_divided_up(layout.extents[i], layout.chunk[i]);
        layout.in_shard[i] = size_least(layout.chunks[i], size_most(1, shard[i] / layout.chunk[i]));
        chain->extents[i] = layout.chunk[i];
    }
    chain->codecs[chain->count++] = (struct codec){.kind = CODEC_BYTES, .big = header->endian == ENDIAN_BIG};
    if (request->level != 0)
        chain->codecs[chain->count++] =
            (struct codec){.kind = CODEC_ZSTD, .level = request->level < 0 ? ZSTD_LEVEL : request->level};
    chain->codecs[chain->count++] = (struct codec){.kind = CODEC_CRC32C};
    return layout;
}

static size_t shard_chunks(const struct layout *layout)
{
    return layout->in_shard[PLANES] * layout->in_shard[ROWS] * layout->in_shard[COLUMNS];
}

/* The column that a box of the array belongs to. */
static struct column column_of(const struct layout *layout, const struct region *box)
{
    struct column column = {.count = {layout->extents[PLANES]}};

    for (size_t i = ROWS; i < AXES; i++) {
        const size_t shard = layout->in_shard[i] * layout->chunk[i];
        column.first[i] = box->first[COLUMNS - i];
        column.count[i] = box->count[COLUMNS - i];
        column.before[i] = column.first[i] / shard;
        column.shards[i] = size_divided_up(column.count[i], shard);
    }
    return column;
}

/* That of whole planes. */
static struct column all_columns(const struct layout *layout)
{
    return column_of(layout, &(struct region){.count = {layout->extents[COLUMNS], layout->extents[ROWS]}});
}

static size_t column_plane(const struct layout *layout, const struct column *column)
{
    return column->count[ROWS] * column->count[COLUMNS] * layout->channels * sample_size(layout->chain.type);
}

/* Shards of a column with the same planes. */
static size_t layer_shards(const struct layout *layout, const struct column *column)
{
    return layout->channels * column->shards[ROWS] * column->shards[COLUMNS];
}

/* What each worker takes: samples, what they become, and tables. */
static size_t worker_bytes(const struct layout *layout)
{
    return codec_plain_bytes(&layout->chain) + codec_coded_bytes(&layout->chain) +
           codec_worker_bytes(&layout->chain);
}

/* No more than a shelf has chunks. */
static size_t workers_of(const struct layout *layout, size_t threads)
{
    const size_t chunks = layout->channels * layout->chunks[ROWS] * layout->chunks[COLUMNS];

    return size_least(size_least(threads, chunks), size_most(1, WORKER_BYTES / worker_bytes(layout)));
}

size_t zarr_sink_bytes(const struct header *header, const struct sink_request *request)
{
    const struct layout layout = layout_of(header, request);
    const struct column column =
        request->column[0] > 0
            ? column_of(&layout, &(struct region){.count = {request->column[0], request->column[1]}})
            : all_columns(&layout);
    const size_t shards = layer_shards(&layout, &column);

    return layout.chunk[PLANES] * column_plane(&layout, &column) +
           workers_of(&layout, request->threads) * worker_bytes(&layout) +
           SLOTS_BESIDE * codec_coded_bytes(&layout.chain) +
           shards * (shard_chunks(&layout) * sizeof(struct codec_place) + sizeof(uint64_t));
}

/* ---- chunks ---- */

/* Copy the samples of a chunk off the shelf; those beyond the grid are 0. */
static void gather(const struct zarr_sink *state, const struct cell *cell, unsigned char *chunk)
{
    const struct layout *layout = &state->layout;
    const size_t size = sample_size(layout->chain.type), step = layout->channels * size;
    const struct column *own = &state->column;
    const size_t row = cell->row * layout->chunk[ROWS], column = cell->column * layout->chunk[COLUMNS];
    const size_t rows = size_least(layout->chunk[ROWS], layout->extents[ROWS] - row);
    const size_t columns = size_least(layout->chunk[COLUMNS], layout->extents[COLUMNS] - column);

    if (state->filled < layout->chunk[PLANES] || rows < layout->chunk[ROWS] ||
        columns < layout->chunk[COLUMNS])
        memset(chunk, 0, codec_plain_bytes(&layout->chain));
    for (size_t z = 0; z < state->filled; z++) {
        for (size_t y = 0; y < rows; y++) {
            const size_t sample =
                (row - own->first[ROWS] + y) * own->count[COLUMNS] + column - own->first[COLUMNS];
            const unsigned char *from =
                state->shelf + z * state->plane_bytes + cell->channel * size + sample * step;
            sample_move(size, chunk + (z * layout->chunk[ROWS] + y) * layout->chunk[COLUMNS] * size, 1, from,
                        layout->channels, columns);
        }
    }
}

/* By a worker. */
static void encode(void *context, size_t index, unsigned worker)
{
    const struct zarr_sink *state = context;
    struct slot *slot = &state->slots[index];
    unsigned char *chunk = state->at_work[worker].chunk;

    gather(state, &slot->cell, chunk);
    slot->size = 0;
    slot->failed = !mem_is_zero(chunk, codec_plain_bytes(&state->layout.chain)) &&
                   !codec_encode(state->at_work[worker].codec, chunk, slot->coded, &slot->size, &slot->fault);
}

/* ---- shards ---- */

/* The key of a shard: the numbers of the volume along the axes of its series, that of a channel where there
   are several, and those of the shard. */
static void name_shard(const struct sink *sink, size_t layer, size_t shard, char key[KEY_BYTES])
{
    const struct zarr_sink *state = sink->state;
    const struct zarr_image *image = &state->image;
    const struct column *column = &state->column;
    const size_t plane = column->shards[ROWS] * column->shards[COLUMNS];
    size_t volumes = sink->header.volumes;

    snprintf(key, KEY_BYTES, "%s/c", ZARR_ARRAY);
    for (size_t i = 0; i < image->series; i++) {
        volumes /= image->axes[i].extent;
        diag_append(key, KEY_BYTES, "/%zu", state->volume / volumes % image->axes[i].extent);
    }
    if (state->layout.channels > 1)
        diag_append(key, KEY_BYTES, "/%zu", shard / plane);
    diag_append(key, KEY_BYTES, "/%zu", layer);
    if (sink->header.grid.axes == 3)
        diag_append(key, KEY_BYTES, "/%zu", column->before[ROWS] + shard % plane / column->shards[COLUMNS]);
    diag_append(key, KEY_BYTES, "/%zu", column->before[COLUMNS] + shard % column->shards[COLUMNS]);
}

/* The layer that the shelf's planes are in, and their place there, in chunks. */
static size_t layer_of(const struct zarr_sink *state, size_t *within)
{
    const size_t shelf = (state->plane - state->filled) / state->layout.chunk[PLANES];

    *within = shelf % state->layout.in_shard[PLANES];
    return shelf / state->layout.in_shard[PLANES];
}

/* Append what a chunk has become, the oldest that is under way. */
static bool put_chunk(const struct sink *sink, struct fault *fault)
{
    struct zarr_sink *state = sink->state;
    const size_t index = ordered_work_take(state->ordered);
    const struct slot *slot = &state->slots[index];
    const size_t shard = slot->cell.shard;
    char key[KEY_BYTES];
    size_t within;
    bool done = !slot->failed;

    state->under_way--;
    if (slot->failed) {
        *fault = slot->fault;
        fault_prefix(fault, file_out_name(sink->file));
    } else if (slot->size > 0) {
        struct codec_place *place = &state->places[shard * shard_chunks(&state->layout) + slot->cell.index];
        name_shard(sink, layer_of(state, &within), shard, key);
        *place = (struct codec_place){state->shard_bytes[shard], slot->size};
        done = folder_out_append(state->folder, key, place->offset == 0, slot->coded, slot->size, fault);
        state->shard_bytes[shard] += slot->size;
    }
    ordered_work_vacate(state->ordered, index);
    return done;
}

/* The chunk of a shelf at this turn: those of a shard follow each other. False where the shard reaches beyond
   the array. */
static bool find_cell(const struct zarr_sink *state, size_t turn, size_t within, struct cell *cell)
{
    const struct layout *layout = &state->layout;
    const size_t rows = layout->in_shard[ROWS], columns = layout->in_shard[COLUMNS];
    const size_t *shards = state->column.shards, *before = state->column.before;
    const size_t shard = turn / (rows * columns), in_layer = shard % (shards[ROWS] * shards[COLUMNS]);
    const size_t row = turn / columns % rows, column = turn % columns;

    *cell = (struct cell){.channel = shard / (shards[ROWS] * shards[COLUMNS]),
                          .shard = shard,
                          .row = (before[ROWS] + in_layer / shards[COLUMNS]) * rows + row,
                          .column = (before[COLUMNS] + in_layer % shards[COLUMNS]) * columns + column,
                          .index = (within * rows + row) * columns + column};
    return cell->row < layout->chunks[ROWS] && cell->column < layout->chunks[COLUMNS];
}

/* End the shards of a layer by their indexes, and forget them. Those without chunks have no file. */
static bool end_layer(const struct sink *sink, size_t layer, struct fault *fault)
{
    struct zarr_sink *state = sink->state;
    const size_t chunks = shard_chunks(&state->layout), shards = layer_shards(&state->layout, &state->column);
    const size_t bytes = codec_index_bytes(chunks, true);
    unsigned char *index = mem_alloc(bytes, 1, "the index of a shard", fault);
    bool done = index != NULL;

    for (size_t shard = 0; done && shard < shards; shard++) {
        char key[KEY_BYTES];
        if (state->shard_bytes[shard] == 0)
            continue;
        codec_index_encode(state->places + shard * chunks, chunks, true, index);
        name_shard(sink, layer, shard, key);
        done = folder_out_append(state->folder, key, false, index, bytes, fault);
        state->shard_bytes[shard] = 0;
    }
    memset(state->places, 0xff, shards * chunks * sizeof *state->places); /* CODEC_ABSENT */
    mem_free(index);
    return done;
}

/* Encode and write all chunks of the shelf, and clear it. */
static bool put_shelf(const struct sink *sink, struct fault *fault)
{
    struct zarr_sink *state = sink->state;
    const struct layout *layout = &state->layout;
    const size_t turns =
        layer_shards(layout, &state->column) * layout->in_shard[ROWS] * layout->in_shard[COLUMNS];
    size_t within, layer = layer_of(state, &within), index;
    bool done = true;

    for (size_t turn = 0; done && turn < turns; turn++) {
        struct cell cell;
        if (!find_cell(state, turn, within, &cell))
            continue;
        while (done && !ordered_work_claim(state->ordered, &index))
            done = put_chunk(sink, fault);
        if (done) {
            state->slots[index].cell = cell;
            ordered_work_put(state->ordered, index);
            state->under_way++;
        }
    }
    while (done && state->under_way > 0)
        done = put_chunk(sink, fault);
    if (done && (within + 1 == layout->in_shard[PLANES] || state->plane == layout->extents[PLANES]))
        done = end_layer(sink, layer, fault);
    /* After a failure workers may still read it. */
    if (done)
        state->filled = 0;
    return done;
}

/* ---- planes ---- */

static bool make_workers(struct zarr_sink *state, struct fault *fault)
{
    const struct codec_chain *chain = &state->layout.chain;
    const char *purpose = "the chunks of an output";

    state->slots = mem_zeroed(state->slot_count, sizeof *state->slots, purpose, fault);
    state->at_work = mem_zeroed(state->workers, sizeof *state->at_work, purpose, fault);
    if (state->slots == NULL || state->at_work == NULL)
        return false;
    for (size_t i = 0; i < state->slot_count; i++) {
        state->slots[i].coded = mem_alloc(codec_coded_bytes(chain), 1, purpose, fault);
        if (state->slots[i].coded == NULL)
            return false;
    }
    for (size_t i = 0; i < state->workers; i++) {
        struct worker *worker = &state->at_work[i];
        worker->chunk = mem_alloc(codec_plain_bytes(chain), 1, purpose, fault);
        if (worker->chunk == NULL || !codec_worker_create(&worker->codec, chain, fault))
            return false;
    }
    return ordered_work_open(&state->ordered, state->slot_count, (unsigned)state->workers, encode, state,
                             fault);
}

/* Before the first plane, of the largest column. */
static bool begin(struct zarr_sink *state, struct fault *fault)
{
    const struct layout *layout = &state->layout;
    const size_t shards = layer_shards(layout, &state->column), places = shards * shard_chunks(layout);

    state->shelf =
        mem_alloc(layout->chunk[PLANES], state->plane_bytes, "the planes of a layer of chunks", fault);
    state->shard_bytes = mem_zeroed(shards, sizeof *state->shard_bytes, "the shards of an output", fault);
    state->places = mem_alloc(places, sizeof *state->places, "the shards of an output", fault);
    if (state->shelf == NULL || state->shard_bytes == NULL || state->places == NULL)
        return false;
    memset(state->places, 0xff, places * sizeof *state->places);
    return make_workers(state, fault);
}

bool zarr_sink_write(struct sink *sink, const void *samples, size_t planes, struct fault *fault)
{
    struct zarr_sink *state = sink->state;
    const struct layout *layout = &state->layout;
    const unsigned char *from = samples;

    if (state->ordered == NULL && !begin(state, fault))
        return false;
    for (; planes > 0; planes--, from += state->plane_bytes) {
        memcpy(state->shelf + state->filled++ * state->plane_bytes, from, state->plane_bytes);
        state->plane++;
        if ((state->filled == layout->chunk[PLANES] || state->plane == layout->extents[PLANES]) &&
            !put_shelf(sink, fault))
            return false;
        if (state->plane == layout->extents[PLANES]) {
            state->plane = 0;
            state->volume++;
        }
    }
    return true;
}

/* A box that begins with the first plane begins the next column. */
bool zarr_sink_write_box(struct sink *sink, const void *samples, size_t volume, const struct region *box,
                         struct fault *fault)
{
    struct zarr_sink *state = sink->state;

    if (box->first[2] == 0) {
        state->volume = volume;
        state->column = column_of(&state->layout, box);
        state->plane_bytes = column_plane(&state->layout, &state->column);
    }
    return zarr_sink_write(sink, samples, box->count[2], fault);
}

/* ---- the sink ---- */

bool zarr_sink_find_unit(const struct format *format, const struct header *header,
                         const struct sink_request *request, size_t unit[2])
{
    const struct layout layout = layout_of(header, request);

    (void)format;
    unit[0] = layout.in_shard[COLUMNS] * layout.chunk[COLUMNS];
    unit[1] = layout.in_shard[ROWS] * layout.chunk[ROWS];
    return true;
}

/* Tell the metadata how the array is cut: the last axes are those of the layout, but for rows of pictures. */
static void describe(struct zarr_sink *state, const struct header *header, const struct source *origin)
{
    const struct layout *layout = &state->layout;
    struct zarr_image *image = &state->image;
    size_t axis = AXES;

    zarr_metadata_begin(image, header, origin);
    image->chain = &layout->chain;
    for (size_t i = image->count; i-- > 0;) {
        image->axes[i].chunk = image->axes[i].shard = 1;
        if (axis == 0)
            continue;
        axis -= header->grid.axes < 3 && axis - 1 == ROWS ? 2 : 1;
        image->axes[i].chunk = layout->chunk[axis];
        image->axes[i].shard = layout->chunk[axis] * layout->in_shard[axis];
    }
}

bool zarr_sink_create(struct sink *sink, const struct sink_request *request, struct fault *fault)
{
    struct zarr_sink *state = mem_zeroed(1, sizeof *state, "an output", fault);

    if (state == NULL)
        return false;
    sink->state = state;
    state->layout = layout_of(&sink->header, request);
    describe(state, &sink->header, request->origin);
    state->column = all_columns(&state->layout);
    state->plane_bytes = column_plane(&state->layout, &state->column);
    state->workers = workers_of(&state->layout, request->threads);
    state->slot_count = state->workers + SLOTS_BESIDE;
    if (codec_load(&state->layout.chain, STATUS_USAGE, fault)
            ? folder_out_open(&state->folder, sink->file, fault)
            : fault_prefix(fault, file_out_name(sink->file)))
        return true;
    zarr_sink_discard(sink);
    return false;
}

bool zarr_sink_finish(struct sink *sink, struct fault *fault)
{
    const struct zarr_sink *state = sink->state;
    const char *path = path_base_name(file_out_name(sink->file));
    char name[NAME_BYTES];

    snprintf(name, sizeof name, "%.*s", (int)format_stem_length(path), path);
    return zarr_metadata_put(&state->image, name, state->folder, fault) &&
           folder_out_complete(state->folder, fault);
}

void zarr_sink_discard(struct sink *sink)
{
    struct zarr_sink *state = sink->state;

    if (state == NULL)
        return;
    ordered_work_close(state->ordered);
    for (size_t i = 0; state->slots != NULL && i < state->slot_count; i++)
        mem_free(state->slots[i].coded);
    for (size_t i = 0; state->at_work != NULL && i < state->workers; i++) {
        codec_worker_free(state->at_work[i].codec);
        mem_free(state->at_work[i].chunk);
    }
    mem_free(state->slots);
    mem_free(state->at_work);
    mem_free(state->places);
    mem_free(state->shard_bytes);
    mem_free(state->shelf);
    folder_out_close(state->folder);
    mem_free(state);
    sink->state = NULL;
}
