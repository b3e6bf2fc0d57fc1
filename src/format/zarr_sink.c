/* OME-Zarr that is written, by version 0.5.

   Planes are gathered on a shelf as deep as a chunk. When it is full, its chunks are encoded in ordered work,
   and the caller appends each to the file of its shard, in the order of the array: so that files depend on
   samples, level and library alone, and no more than a shelf is held. A shard ends with the index of its
   chunks, when its last shelf has been written. Chunks of zeros alone are left out: readers take what is
   missing for zeros. Metadata come last, and then the folder gets its name.

   Chunks have some two million samples. They are cubes as long as a shelf of them does not take much memory;
   of larger planes they are flatter. Shards are cubes of 512 in any case. */
#include "zarr_sink.h"

#include "base/folder_out.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/size.h"
#include "base/work_queue.h"
#include "zarr/codec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PLANES, ROWS, COLUMNS, AXES }; /* of a grid, slowest first */

/* A shelf of the cubes may take SHELF_BYTES. Of the workers each has a chunk, and some are done before their
 * turn. */
#define SHELF_BYTES ((size_t)256 << 20)
enum { WORKERS_MOST = 64, SLOTS_BESIDE = 2, ZSTD_LEVEL = 3, KEY_BYTES = 160 };

static const char array_name[] = "0";

/* How an array is cut: extents, and how many chunks of a shard, and chunks and shards of the array, lie along
   an axis. */
struct layout {
    size_t extents[AXES], chunk[AXES], in_shard[AXES], chunks[AXES], shards[AXES];
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

struct zarr_sink {
    size_t threads;
    const struct source *origin;
    struct layout layout;
    size_t plane_bytes;
    struct folder_out *folder;

    /* From the first plane on. */
    unsigned char *shelf;
    size_t volume, plane, filled; /* what comes next; planes on the shelf */
    size_t workers, slot_count, under_way;
    struct ordered_work *ordered;
    struct slot *slots;
    struct codec_worker **codecs;
    unsigned char **chunks; /* of workers, to gather samples */

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

static struct layout layout_of(const struct header *header, const struct sink_request *request)
{
    const struct grid *grid = &header->grid;
    struct layout layout = {.extents = {grid_planes(grid), grid_rows(grid), grid->nx},
                            .channels = grid->channels};
    struct codec_chain *chain = &layout.chain;
    size_t shard[AXES];

    choose_chunks(header, &layout, shard);
    *chain = (struct codec_chain){.type = header->type, .axes = AXES};
    for (size_t i = 0; i < AXES; i++) {
        layout.chunks[i] = size_divided_up(layout.extents[i], layout.chunk[i]);
        layout.in_shard[i] = size_least(layout.chunks[i], size_most(1, shard[i] / layout.chunk[i]));
        layout.shards[i] = size_divided_up(layout.chunks[i], layout.in_shard[i]);
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

/* Shards with the same planes. */
static size_t layer_shards(const struct layout *layout)
{
    return layout->channels * layout->shards[ROWS] * layout->shards[COLUMNS];
}

/* No more than a shelf has chunks. */
static size_t workers_of(const struct layout *layout, size_t threads)
{
    return size_least(size_least(threads, WORKERS_MOST),
                      layout->channels * layout->chunks[ROWS] * layout->chunks[COLUMNS]);
}

size_t zarr_sink_bytes(const struct header *header, const struct sink_request *request)
{
    const struct layout layout = layout_of(header, request);
    const size_t workers = workers_of(&layout, request->threads), shards = layer_shards(&layout);

    return layout.chunk[PLANES] * header_plane_bytes(header) +
           workers * (codec_plain_bytes(&layout.chain) + codec_worker_bytes(&layout.chain)) +
           (workers + SLOTS_BESIDE) * codec_coded_bytes(&layout.chain) +
           shards * (shard_chunks(&layout) * sizeof(struct codec_place) + sizeof(uint64_t));
}

/* ---- chunks ---- */

/* Copy the samples of a chunk off the shelf; those beyond the grid are 0. */
static void gather(const struct zarr_sink *state, const struct cell *cell, unsigned char *chunk)
{
    const struct layout *layout = &state->layout;
    const size_t size = sample_size(layout->chain.type), step = layout->channels * size;
    const size_t row = cell->row * layout->chunk[ROWS], column = cell->column * layout->chunk[COLUMNS];
    const size_t rows = size_least(layout->chunk[ROWS], layout->extents[ROWS] - row);
    const size_t columns = size_least(layout->chunk[COLUMNS], layout->extents[COLUMNS] - column);

    if (state->filled < layout->chunk[PLANES] || rows < layout->chunk[ROWS] ||
        columns < layout->chunk[COLUMNS])
        memset(chunk, 0, codec_plain_bytes(&layout->chain));
    for (size_t z = 0; z < state->filled; z++) {
        for (size_t y = 0; y < rows; y++) {
            const unsigned char *from = state->shelf + z * state->plane_bytes + cell->channel * size +
                                        ((row + y) * layout->extents[COLUMNS] + column) * step;
            unsigned char *to = chunk + (z * layout->chunk[ROWS] + y) * layout->chunk[COLUMNS] * size;
            if (step == size)
                memcpy(to, from, columns * size);
            for (size_t x = 0; step > size && x < columns; x++)
                memcpy(to + x * size, from + x * step, size);
        }
    }
}

static bool is_zero(const unsigned char *bytes, size_t size)
{
    return bytes[0] == 0 && memcmp(bytes, bytes + 1, size - 1) == 0;
}

/* By a worker. */
static void encode(void *context, size_t index, unsigned worker)
{
    const struct zarr_sink *state = context;
    struct slot *slot = &state->slots[index];
    unsigned char *chunk = state->chunks[worker];

    gather(state, &slot->cell, chunk);
    slot->size = 0;
    slot->failed = !is_zero(chunk, codec_plain_bytes(&state->layout.chain)) &&
                   !codec_encode(state->codecs[worker], chunk, slot->coded, &slot->size, &slot->fault);
}

/* ---- shards ---- */

/* The key of a shard: the numbers of volume and channel where there are several, then those of the shard. */
static void name_shard(const struct sink *sink, size_t layer, size_t shard, char key[KEY_BYTES])
{
    const struct zarr_sink *state = sink->state;
    const size_t *shards = state->layout.shards, plane = shards[ROWS] * shards[COLUMNS];

    snprintf(key, KEY_BYTES, "%s/c", array_name);
    if (sink->header.volumes > 1)
        diag_append(key, KEY_BYTES, "/%zu", state->volume);
    if (state->layout.channels > 1)
        diag_append(key, KEY_BYTES, "/%zu", shard / plane);
    diag_append(key, KEY_BYTES, "/%zu", layer);
    if (sink->header.grid.axes == 3)
        diag_append(key, KEY_BYTES, "/%zu", shard % plane / shards[COLUMNS]);
    diag_append(key, KEY_BYTES, "/%zu", shard % shards[COLUMNS]);
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
    const size_t shard = turn / (rows * columns),
                 in_layer = shard % (layout->shards[ROWS] * layout->shards[COLUMNS]);
    const size_t row = turn / columns % rows, column = turn % columns;

    *cell = (struct cell){.channel = shard / (layout->shards[ROWS] * layout->shards[COLUMNS]),
                          .shard = shard,
                          .row = in_layer / layout->shards[COLUMNS] * rows + row,
                          .column = in_layer % layout->shards[COLUMNS] * columns + column,
                          .index = (within * rows + row) * columns + column};
    return cell->row < layout->chunks[ROWS] && cell->column < layout->chunks[COLUMNS];
}

/* End the shards of a layer by their indexes, and forget them. Those without chunks have no file. */
static bool end_layer(const struct sink *sink, size_t layer, struct fault *fault)
{
    struct zarr_sink *state = sink->state;
    const size_t chunks = shard_chunks(&state->layout), shards = layer_shards(&state->layout);
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
    const size_t turns = layer_shards(layout) * layout->in_shard[ROWS] * layout->in_shard[COLUMNS];
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
    state->filled = 0;
    return done;
}

/* ---- planes ---- */

static bool make_workers(struct zarr_sink *state, struct fault *fault)
{
    const struct codec_chain *chain = &state->layout.chain;
    const char *purpose = "the chunks of an output";

    state->slots = mem_zeroed(state->slot_count, sizeof *state->slots, purpose, fault);
    state->codecs = mem_zeroed(state->workers, sizeof(struct codec_worker *), purpose, fault);
    state->chunks = mem_zeroed(state->workers, sizeof(unsigned char *), purpose, fault);
    if (state->slots == NULL || state->codecs == NULL || state->chunks == NULL)
        return false;
    for (size_t i = 0; i < state->slot_count; i++) {
        state->slots[i].coded = mem_alloc(codec_coded_bytes(chain), 1, purpose, fault);
        if (state->slots[i].coded == NULL)
            return false;
    }
    for (size_t i = 0; i < state->workers; i++) {
        state->chunks[i] = mem_alloc(codec_plain_bytes(chain), 1, purpose, fault);
        if (state->chunks[i] == NULL || !codec_worker_create(&state->codecs[i], chain, fault))
            return false;
    }
    return ordered_work_open(&state->ordered, state->slot_count, (unsigned)state->workers, encode, state,
                             fault);
}

/* Before the first plane. */
static bool begin(struct zarr_sink *state, struct fault *fault)
{
    const struct layout *layout = &state->layout;
    const size_t shards = layer_shards(layout), places = shards * shard_chunks(layout);

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

/* ---- metadata ---- */

/* The axes of an array, slowest first. */
struct axis {
    const char *name, *type;
    size_t extent, chunk, shard;
    double scale, place; /* of the first sample, in the unit of the scale */
};
enum { AXES_MOST = AXES + 2 };

static size_t list_axes(const struct sink *sink, struct axis axes[AXES_MOST])
{
    static const char *const names[] = {"z", "y", "x"};
    const struct header *header = &sink->header;
    const struct zarr_sink *state = sink->state;
    const struct layout *layout = &state->layout;
    size_t count = 0;

    if (header->volumes > 1)
        axes[count++] = (struct axis){"t", "time", header->volumes, 1, 1, 1.0, 0.0};
    if (layout->channels > 1)
        axes[count++] = (struct axis){"c", "channel", layout->channels, 1, 1, 1.0, 0.0};
    for (size_t i = 0; i < AXES; i++) {
        const bool is_flat = header->grid.axes < 3;
        const size_t own = is_flat && i == PLANES ? (size_t)ROWS : i, axis = (size_t)COLUMNS - own;
        if (is_flat && i == ROWS)
            continue;
        axes[count++] = (struct axis){names[own],
                                      "space",
                                      layout->extents[i],
                                      layout->chunk[i],
                                      layout->chunk[i] * layout->in_shard[i],
                                      header->grid.spacing[axis],
                                      (double)header->first[axis] * header->grid.spacing[axis]};
    }
    return count;
}

/* As UDUNITS has it, which OME-Zarr asks for; NULL: the unit is not known. */
static const char *unit_name(double millimetres)
{
    static const char *const names[] = {"millimeter", "micrometer", "nanometer",
                                        "centimeter", "meter",      "inch"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        double unit = unit_millimetres(unit_of_name(names[i]));
        if (!(unit < millimetres || unit > millimetres))
            return names[i];
    }
    return NULL;
}

static void write_codec(struct json *json, const struct codec *codec)
{
    static const char *const names[] = {
        [CODEC_BYTES] = "bytes", [CODEC_ZSTD] = "zstd", [CODEC_CRC32C] = "crc32c"};

    json_begin_object(json, NULL);
    json_text(json, "name", names[codec->kind]);
    if (codec->kind != CODEC_CRC32C)
        json_begin_object(json, "configuration");
    if (codec->kind == CODEC_BYTES)
        json_text(json, "endian", codec->big ? "big" : "little");
    if (codec->kind == CODEC_ZSTD) {
        json_count(json, "level", (uint64_t)codec->level);
        json_flag(json, "checksum", false);
    }
    if (codec->kind != CODEC_CRC32C)
        json_end_object(json);
    json_end_object(json);
}

static void write_extents(struct json *json, const char *name, const struct axis *axes, size_t count,
                          size_t (*extent)(const struct axis *axis))
{
    json_begin_array(json, name);
    for (size_t i = 0; i < count; i++)
        json_count(json, NULL, extent(&axes[i]));
    json_end_array(json);
}

static size_t extent_of(const struct axis *axis)
{
    return axis->extent;
}

static size_t chunk_of(const struct axis *axis)
{
    return axis->chunk;
}

static size_t shard_of(const struct axis *axis)
{
    return axis->shard;
}

/* The one codec of the array: shards, with the codecs of their chunks and of their indexes. */
static void write_sharding(struct json *json, const struct codec_chain *chain, const struct axis *axes,
                           size_t count)
{
    static const struct codec of_index[] = {{.kind = CODEC_BYTES}, {.kind = CODEC_CRC32C}};

    json_begin_array(json, "codecs");
    json_begin_object(json, NULL);
    json_text(json, "name", "sharding_indexed");
    json_begin_object(json, "configuration");
    write_extents(json, "chunk_shape", axes, count, chunk_of);
    json_begin_array(json, "codecs");
    for (size_t i = 0; i < chain->count; i++)
        write_codec(json, &chain->codecs[i]);
    json_end_array(json);
    json_begin_array(json, "index_codecs");
    for (size_t i = 0; i < 2; i++)
        write_codec(json, &of_index[i]);
    json_end_array(json);
    json_text(json, "index_location", "end");
    json_end_object(json);
    json_end_object(json);
    json_end_array(json);
}

static void write_array(struct json *json, const struct sink *sink, const struct axis *axes, size_t count)
{
    const struct zarr_sink *state = sink->state;
    const enum sample_type type = sink->header.type;
    char name[16];

    snprintf(name, sizeof name, "%s%zu",
             !sample_is_integer(type) ? "float"
             : sample_min(type) < 0.0 ? "int"
                                      : "uint",
             8 * sample_size(type));
    json_text(json, "node_type", "array");
    write_extents(json, "shape", axes, count, extent_of);
    json_text(json, "data_type", name);
    json_begin_object(json, "chunk_grid");
    json_text(json, "name", "regular");
    json_begin_object(json, "configuration");
    write_extents(json, "chunk_shape", axes, count, shard_of);
    json_end_object(json);
    json_end_object(json);
    json_begin_object(json, "chunk_key_encoding");
    json_text(json, "name", "default");
    json_end_object(json);
    json_count(json, "fill_value", 0);
    write_sharding(json, &state->layout.chain, axes, count);
    json_begin_array(json, "dimension_names");
    for (size_t i = 0; i < count; i++)
        json_text(json, NULL, axes[i].name);
    json_end_array(json);
}

static void write_axes(struct json *json, const struct axis *axes, size_t count, const char *unit)
{
    json_begin_array(json, "axes");
    for (size_t i = 0; i < count; i++) {
        json_begin_object(json, NULL);
        json_text(json, "name", axes[i].name);
        json_text(json, "type", axes[i].type);
        if (unit != NULL && strcmp(axes[i].type, "space") == 0)
            json_text(json, "unit", unit);
        json_end_object(json);
    }
    json_end_array(json);
}

static void write_transformation(struct json *json, const char *type, const struct axis *axes, size_t count,
                                 bool is_scale)
{
    json_begin_object(json, NULL);
    json_text(json, "type", type);
    json_begin_array(json, type);
    for (size_t i = 0; i < count; i++)
        json_number(json, NULL, is_scale ? axes[i].scale : axes[i].place);
    json_end_array(json);
    json_end_object(json);
}

static void write_group(struct json *json, const struct sink *sink, const struct axis *axes, size_t count)
{
    const char *path = path_base_name(file_out_name(sink->file));
    bool is_placed = false;
    char name[256];

    snprintf(name, sizeof name, "%.*s", (int)format_stem_length(path), path);
    for (size_t i = 0; i < count; i++)
        is_placed = is_placed || axes[i].place < 0.0 || axes[i].place > 0.0;
    json_text(json, "node_type", "group");
    json_begin_object(json, "attributes");
    json_begin_object(json, "ome");
    json_text(json, "version", "0.5");
    json_begin_array(json, "multiscales");
    json_begin_object(json, NULL);
    json_text(json, "name", name);
    write_axes(json, axes, count, unit_name(sink->header.millimetres));
    json_begin_array(json, "datasets");
    json_begin_object(json, NULL);
    json_text(json, "path", array_name);
    json_begin_array(json, "coordinateTransformations");
    write_transformation(json, "scale", axes, count, true);
    if (is_placed)
        write_transformation(json, "translation", axes, count, false);
    json_end_array(json);
    json_end_object(json);
    json_end_array(json);
    json_end_object(json);
    json_end_array(json);
    json_end_object(json);
    json_end_object(json);
}

/* Write zarr.json of the array, or of the group that it is in. */
static bool put_metadata(const struct sink *sink, bool of_group, struct fault *fault)
{
    const struct zarr_sink *state = sink->state;
    struct axis axes[AXES_MOST];
    const size_t count = list_axes(sink, axes);
    char *text = NULL, key[KEY_BYTES];
    size_t size;
    FILE *stream = open_memstream(&text, &size);
    struct json json = {.stream = stream};
    bool done;

    if (stream != NULL) {
        json_begin_object(&json, NULL);
        json_count(&json, "zarr_format", 3);
        (of_group ? write_group : write_array)(&json, sink, axes, count);
        json_end_object(&json);
    }
    done = stream != NULL && fclose(stream) == 0;
    if (!done)
        fault_raise(fault, STATUS_LIMIT, "not enough memory for the metadata of an output");
    snprintf(key, sizeof key, "%s%szarr.json", of_group ? "" : array_name, of_group ? "" : "/");
    done = done && folder_out_append(state->folder, key, true, text, size, fault);
    free(text);
    return done;
}

/* ---- the sink ---- */

bool zarr_sink_create(struct sink *sink, const struct sink_request *request, struct fault *fault)
{
    struct zarr_sink *state = mem_zeroed(1, sizeof *state, "an output", fault);

    if (state == NULL)
        return false;
    sink->state = state;
    state->origin = request->origin;
    state->layout = layout_of(&sink->header, request);
    state->plane_bytes = header_plane_bytes(&sink->header);
    state->workers = workers_of(&state->layout, request->threads);
    state->slot_count = state->workers + SLOTS_BESIDE;
    if (codec_load(&state->layout.chain, STATUS_USAGE, fault) ||
        fault_prefix(fault, file_out_name(sink->file))) {
        if (folder_out_open(&state->folder, sink->file, fault))
            return true;
    }
    zarr_sink_discard(sink);
    return false;
}

bool zarr_sink_finish(struct sink *sink, struct fault *fault)
{
    const struct zarr_sink *state = sink->state;

    return put_metadata(sink, false, fault) && put_metadata(sink, true, fault) &&
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
    for (size_t i = 0; state->codecs != NULL && i < state->workers; i++)
        codec_worker_free(state->codecs[i]);
    for (size_t i = 0; state->chunks != NULL && i < state->workers; i++)
        mem_free(state->chunks[i]);
    mem_free(state->slots);
    mem_free(state->codecs);
    mem_free(state->chunks);
    mem_free(state->places);
    mem_free(state->shard_bytes);
    mem_free(state->shelf);
    folder_out_close(state->folder);
    mem_free(state);
    sink->state = NULL;
}
