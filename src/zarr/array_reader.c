/* Reading boxes of an array of Zarr.

   A box is read shelf by shelf. To fill a shelf, the indexes of its shards are read, unless they are those
   that are held; then each thread takes the next chunk, reads and decodes it into memory of its own, and
   copies what the box has of it: up to four pieces where the box goes around. A chunk that is not there is
   copied from the fill value, with a stride of 0.
 */
#include "array_reader.h"

#include "base/mem.h"
#include "base/size.h"
#include "base/threads.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

/* Bytes for each thread: shelves of more layers than one have at most so many, and chunks of all threads,
   unless a layer has more. */
#define ROOMY_BYTES ((size_t)8 << 20)

/* What a thread has to itself. */
struct decoder {
    struct codec_worker *worker;
    unsigned char *coded, *plain; /* a chunk */
};

/* Samples that are held: a box, packed. Memory that is new costs a page fault for each page of it, so it is
   kept for the next box, which is seldom of another size. */
struct shelf {
    unsigned char *samples;
    size_t bytes, volume;
    struct region box;
    bool filled;
};

/* A range of chunks or files along each axis of the array, which goes on at the first one of the axis; and
   how many they are in all. */
struct span {
    uint64_t first[ARRAY_MOST_AXES], count[ARRAY_MOST_AXES], all[ARRAY_MOST_AXES];
    size_t total;
};

struct array_reader {
    struct array array;
    const struct store *store;
    const char *folder;
    size_t space[3];
    unsigned axis_of[ARRAY_MOST_AXES]; /* which of x, y and z an axis is; 3: none */
    unsigned slow;                     /* the axis of space along which shelves follow each other: 0 to 2 */
    size_t extents[3];                 /* of the grid */
    size_t depth;                      /* planes of a shelf */
    struct decoder *decoders;
    size_t decoder_count;
    pthread_mutex_t mutex; /* of what follows */
    struct shelf shelf;
    struct span shards;         /* whose indexes are held */
    struct codec_place *places; /* of these; NULL: none */
};

/* ---- spans ---- */

/* The index of a volume along an axis that is not in space: the last of these runs fastest. */
static void find_volume(const struct array_reader *reader, size_t volume, uint64_t index[ARRAY_MOST_AXES])
{
    const struct array *array = &reader->array;

    for (size_t i = array->axes; i-- > 0;) {
        const uint64_t extent = reader->axis_of[i] < 3 ? 1 : array->shape[i];
        index[i] = volume % extent;
        volume /= (size_t)extent;
    }
}

/* The chunks, or files, of such extents that have samples of a box. */
static struct span span_of(const struct array_reader *reader, size_t volume, const struct region *box,
                           const size_t extents[ARRAY_MOST_AXES])
{
    struct span span = {.total = 1};
    uint64_t first[ARRAY_MOST_AXES];

    find_volume(reader, volume, first);
    for (size_t i = 0; i < reader->array.axes; i++) {
        const uint64_t shape = reader->array.shape[i];
        const unsigned axis = reader->axis_of[i];
        uint64_t last;
        if (axis < 3)
            first[i] = box->first[axis];
        last = first[i] + (axis < 3 ? box->count[axis] : 1) - 1;
        span.all[i] = (shape - 1) / extents[i] + 1;
        span.first[i] = first[i] / extents[i];
        span.count[i] = last < shape ? last / extents[i] + 1 : span.all[i] + (last - shape) / extents[i] + 1;
        span.count[i] -= span.first[i];
        /* Where it goes around, it may end in the chunk in which it begins. */
        if (span.count[i] > span.all[i])
            span.count[i] = span.all[i];
        span.total *= (size_t)span.count[i];
    }
    return span;
}

/* The numbers of the turn-th of a span, whose last axis runs fastest. */
static void find_numbers(const struct span *span, size_t axes, size_t turn, uint64_t numbers[ARRAY_MOST_AXES])
{
    for (size_t i = axes; i-- > 0;) {
        numbers[i] = (span->first[i] + turn % span->count[i]) % span->all[i];
        turn /= (size_t)span->count[i];
    }
}

/* ---- opening ---- */

static size_t plain_bytes(const struct array_reader *reader)
{
    return codec_plain_bytes(&reader->array.chain);
}

/* What a thread needs to decode a chunk. */
static size_t member_bytes(const struct array_reader *reader)
{
    const struct codec_chain *chain = &reader->array.chain;

    return codec_coded_bytes(chain) + plain_bytes(reader) + codec_worker_bytes(chain);
}

/* The most chunks or files of such extents that so many samples along an axis of space may have a part in.
   They may have only a part of the first and the last one, and the axis may end within another. */
static size_t most_along(const struct array_reader *reader, const size_t *extents, unsigned axis,
                         size_t samples)
{
    size_t all, own = reader->space[axis];

    if (own == ARRAY_NO_AXIS)
        return 1;
    all = (reader->extents[axis] - 1) / extents[own] + 1;
    return samples >= reader->extents[axis] ? all : size_least(all, (samples - 1) / extents[own] + 3);
}

/* Product, or the greatest size if that is more. */
static size_t times(size_t a, size_t b)
{
    size_t product;

    return mem_product(&product, a, b) ? product : SIZE_MAX;
}

static size_t plus(size_t a, size_t b)
{
    return a <= SIZE_MAX - b ? a + b : SIZE_MAX;
}

static size_t shelf_bytes(const struct array_reader *reader, size_t nx, size_t ny, size_t depth)
{
    const size_t counts[3] = {nx, ny, reader->extents[2]};
    size_t bytes = sample_size(reader->array.chain.type);

    for (unsigned axis = 0; axis < 3; axis++)
        bytes = times(bytes, axis == reader->slow ? size_least(depth, counts[axis]) : counts[axis]);
    return bytes;
}

/* Where few chunks make a layer, more layers keep all threads busy. Whole shards are not cut into other
   shelves than each other. */
static void choose_depth(struct array_reader *reader, size_t threads)
{
    const struct array *array = &reader->array;
    const size_t axis = reader->space[reader->slow], shard = array->file[axis];
    const size_t roomy = times(threads, ROOMY_BYTES);
    size_t chunks = 1, depth = array->chain.extents[axis], next, shelf;

    for (unsigned i = 0; i < 3; i++)
        chunks = times(chunks, i == reader->slow ? 1 : most_along(reader, array->chain.extents, i, SIZE_MAX));
    for (; chunks < 2 * threads && depth < reader->extents[reader->slow]; depth = next) {
        next = depth >= shard || shard % (2 * depth) == 0 ? 2 * depth : shard;
        if (shelf_bytes(reader, reader->extents[0], reader->extents[1], next) > roomy)
            break;
        chunks = times(chunks, next / depth);
    }
    reader->depth = depth;
    shelf = shelf_bytes(reader, reader->extents[0], reader->extents[1], depth);
    reader->decoder_count =
        size_most(1, size_least(size_least(threads, chunks), size_most(roomy, shelf) / member_bytes(reader)));
}

bool array_reader_open(struct array_reader **result, const struct array_reader_request *request,
                       struct fault *fault)
{
    struct array_reader *reader = mem_zeroed(1, sizeof *reader, "a reader of chunks", fault);

    if (reader == NULL)
        return false;
    reader->array = *request->array;
    reader->store = request->store;
    reader->folder = request->folder;
    for (size_t i = 0; i < ARRAY_MOST_AXES; i++)
        reader->axis_of[i] = 3;
    for (unsigned axis = 0; axis < 3; axis++) {
        reader->space[axis] = request->space[axis];
        reader->extents[axis] = 1;
        if (reader->space[axis] == ARRAY_NO_AXIS)
            continue;
        reader->axis_of[reader->space[axis]] = axis;
        reader->extents[axis] = (size_t)reader->array.shape[reader->space[axis]];
        reader->slow = axis;
    }
    choose_depth(reader, request->threads);
    reader->decoders =
        mem_zeroed(reader->decoder_count, sizeof *reader->decoders, "threads that decode", fault);
    if (reader->decoders == NULL) {
        mem_free(reader);
        return false;
    }
    pthread_mutex_init(&reader->mutex, NULL);
    *result = reader;
    return true;
}

void array_reader_close(struct array_reader *reader)
{
    if (reader == NULL)
        return;
    for (size_t i = 0; i < reader->decoder_count; i++) {
        codec_worker_free(reader->decoders[i].worker);
        mem_free(reader->decoders[i].coded);
        mem_free(reader->decoders[i].plain);
    }
    mem_free(reader->decoders);
    mem_free(reader->shelf.samples);
    mem_free(reader->places);
    pthread_mutex_destroy(&reader->mutex);
    mem_free(reader);
}

/* Places of chunks in the shards that a layer has, and an index of each thread as it stands in the file. */
static size_t index_bytes(const struct array_reader *reader, size_t nx, size_t ny)
{
    const struct array *array = &reader->array;
    const size_t counts[3] = {nx, ny, reader->depth};
    size_t bytes = times(array->shard_chunks, sizeof(struct codec_place));

    for (unsigned axis = 0; axis < 3; axis++)
        bytes = times(bytes, axis == reader->slow
                                 ? size_divided_up(reader->depth, array->file[reader->space[axis]])
                                 : most_along(reader, array->file, axis, counts[axis]));
    return !array->sharded
               ? 0
               : plus(bytes, times(reader->decoder_count,
                                   codec_index_bytes(array->shard_chunks, array->index_checksum)));
}

size_t array_reader_bytes(const struct array_reader *reader, size_t nx, size_t ny)
{
    return plus(plus(shelf_bytes(reader, nx, ny, reader->depth), index_bytes(reader, nx, ny)),
                times(reader->decoder_count, member_bytes(reader)));
}

/* ---- filling a shelf ---- */

/* A loop over the chunks or shards of a span. Each turn is that of a thread, which takes one after another.
 */
struct filling {
    struct array_reader *reader;
    const struct shelf *shelf; /* that is filled; NULL: indexes are read */
    struct span span;
    uint64_t index[ARRAY_MOST_AXES]; /* of the volume */
    atomic_size_t next;
    bool (*work)(struct filling *filling, struct decoder *decoder, size_t turn, struct fault *fault);
};

static bool fill_turns(void *context, size_t turn, struct parallel_loop *loop, struct fault *fault)
{
    struct filling *filling = context;
    struct decoder *decoder = &filling->reader->decoders[turn];
    size_t next;

    while ((next = atomic_fetch_add(&filling->next, 1)) < filling->span.total) {
        if (parallel_loop_has_failed(loop, fault) || !filling->work(filling, decoder, next, fault))
            return false;
    }
    return true;
}

static bool fill_all(struct filling *filling, struct fault *fault)
{
    atomic_init(&filling->next, 0);
    return parallel_for(size_least(filling->reader->decoder_count, filling->span.total), fill_turns, filling,
                        fault);
}

/* Read the index of a shard. If there is no such file, none of its chunks is there. */
static bool read_index(struct filling *filling, struct decoder *decoder, size_t turn, struct fault *fault)
{
    const struct array_reader *reader = filling->reader;
    const struct array *array = &reader->array;
    const size_t chunks = array->shard_chunks, size = codec_index_bytes(chunks, array->index_checksum);
    struct codec_place *places = reader->places + turn * chunks;
    uint64_t numbers[ARRAY_MOST_AXES];
    struct store_file file;
    char key[STORE_KEY_MOST];
    unsigned char *bytes;
    bool done;

    (void)decoder;
    find_numbers(&filling->span, array->axes, turn, numbers);
    array_key(array, reader->folder, numbers, key);
    if (!store_find(reader->store, key, &file, fault))
        return false;
    if (file.descriptor < 0) {
        memset(places, 0xff, chunks * sizeof *places); /* CODEC_ABSENT */
        return true;
    }
    bytes = mem_alloc(size, 1, "the index of a shard", fault);
    done = bytes != NULL &&
           (file.bytes >= size ||
            store_refuse(reader->store, key, fault, "shorter than the index of a shard")) &&
           store_read(reader->store, key, &file, array->index_first ? 0 : file.bytes - size, bytes, size,
                      fault) &&
           (codec_index_decode(bytes, chunks, array->index_checksum, file.bytes,
                               codec_coded_bytes(&array->chain), places, fault) ||
            store_prefix(reader->store, key, fault));
    mem_free(bytes);
    store_file_close(&file);
    return done;
}

/* Hold the indexes of the shards that a shelf needs. */
static bool read_indexes(struct array_reader *reader, size_t volume, const struct region *box,
                         struct fault *fault)
{
    const struct array *array = &reader->array;
    struct filling filling = {.reader = reader, .work = read_index};

    if (!array->sharded)
        return true;
    filling.span = span_of(reader, volume, box, array->file);
    if (reader->places != NULL && memcmp(&filling.span, &reader->shards, sizeof reader->shards) == 0)
        return true;
    mem_free(reader->places);
    reader->places = mem_alloc(times(filling.span.total, array->shard_chunks), sizeof *reader->places,
                               "the indexes of shards", fault);
    reader->shards = filling.span;
    if (reader->places != NULL && fill_all(&filling, fault))
        return true;
    mem_free(reader->places);
    reader->places = NULL;
    return false;
}

/* Where a chunk stands: the numbers of its file, and its place in that, all of which it is if there are no
   shards. */
static struct codec_place place_of(const struct array_reader *reader, const uint64_t *chunk, uint64_t *file)
{
    const struct array *array = &reader->array;
    const struct span *shards = &reader->shards;
    size_t shard = 0, inner = 0;

    for (size_t i = 0; i < array->axes; i++) {
        uint64_t within = array->file[i] / array->chain.extents[i];
        file[i] = chunk[i] / within;
        inner = inner * (size_t)within + (size_t)(chunk[i] % within);
        if (array->sharded)
            shard = shard * (size_t)shards->count[i] +
                    (size_t)((file[i] + shards->all[i] - shards->first[i]) % shards->all[i]);
    }
    return array->sharded ? reader->places[shard * array->shard_chunks + inner]
                          : (struct codec_place){0, CODEC_ABSENT};
}

/* Threads that get no chunk take no memory. */
static bool make_decoder(const struct array_reader *reader, struct decoder *decoder, struct fault *fault)
{
    const struct codec_chain *chain = &reader->array.chain;

    if (decoder->coded == NULL)
        decoder->coded = mem_alloc(codec_coded_bytes(chain), 1, "a chunk", fault);
    if (decoder->plain == NULL)
        decoder->plain = mem_alloc(plain_bytes(reader), 1, "a chunk", fault);
    return decoder->coded != NULL && decoder->plain != NULL &&
           (decoder->worker != NULL || codec_worker_create(&decoder->worker, chain, fault));
}

/* Read and decode the chunk of an open file. */
static bool decode(const struct array_reader *reader, struct decoder *decoder, const char *key,
                   const struct store_file *file, struct codec_place place, struct fault *fault)
{
    if (!reader->array.sharded)
        place.size = file->bytes;
    if (place.size > codec_coded_bytes(&reader->array.chain))
        return store_refuse(reader->store, key, fault, "longer than a chunk can be");
    return make_decoder(reader, decoder, fault) &&
           store_read(reader->store, key, file, place.offset, decoder->coded, (size_t)place.size, fault) &&
           (codec_decode(decoder->worker, decoder->coded, (size_t)place.size, decoder->plain, fault) ||
            store_prefix(reader->store, key, fault));
}

/* Get a chunk's samples; *plain is NULL if it is not there. */
static bool load(const struct array_reader *reader, struct decoder *decoder, const uint64_t *chunk,
                 const unsigned char **plain, struct fault *fault)
{
    uint64_t numbers[ARRAY_MOST_AXES];
    const struct codec_place place = place_of(reader, chunk, numbers);
    struct store_file file;
    char key[STORE_KEY_MOST];
    bool done;

    *plain = NULL;
    if (place.offset == CODEC_ABSENT)
        return true;
    array_key(&reader->array, reader->folder, numbers, key);
    if (!store_find(reader->store, key, &file, fault))
        return false;
    if (file.descriptor < 0)
        return !reader->array.sharded || store_refuse(reader->store, key, fault, "it has gone");
    done = decode(reader, decoder, key, &file, place, fault);
    *plain = decoder->plain;
    store_file_close(&file);
    return done;
}

/* ---- copying ---- */

/* A box in memory: its first sample, and the samples from one to the next along x, y and z. */
struct layout {
    size_t first, stride[3];
};

/* That of a packed box of such extents. */
static struct layout layout_packed(const size_t count[3])
{
    return (struct layout){.stride = {1, count[0], count[0] * count[1]}};
}

static void copy_box(size_t size, const size_t count[3], unsigned char *to, const struct layout *target,
                     const unsigned char *from, const struct layout *origin)
{
    for (size_t z = 0; z < count[2]; z++) {
        for (size_t y = 0; y < count[1]; y++)
            sample_move(size, to + (target->first + z * target->stride[2] + y * target->stride[1]) * size, 1,
                        from + (origin->first + z * origin->stride[2] + y * origin->stride[1]) * size,
                        origin->stride[0], count[0]);
    }
}

/* What the shelf has of a chunk: its extents, and where it stands on the shelf and in the chunk. `around` has
   a bit for each axis along which the box goes around, and the chunk is met at the beginning of the axis.
   False where they do not meet. */
static bool meet(const struct filling *filling, const uint64_t *chunk, unsigned around, size_t count[3],
                 struct layout *target, struct layout *origin)
{
    const struct array_reader *reader = filling->reader;
    const struct region *shelf = &filling->shelf->box;
    size_t stride = 1;

    *target = layout_packed(shelf->count);
    *origin = (struct layout){.first = 0};
    for (size_t i = reader->array.axes; i-- > 0;) {
        const size_t extent = reader->array.chain.extents[i], begin = (size_t)chunk[i] * extent;
        const unsigned axis = reader->axis_of[i];
        size_t at = (size_t)filling->index[i];
        if (axis < 3) {
            const size_t whole = reader->extents[axis], shift = (around >> axis & 1) != 0 ? whole : 0;
            const size_t first = size_most(begin + shift, shelf->first[axis]);
            const size_t end = size_least(begin + size_least(extent, whole - begin) + shift,
                                          shelf->first[axis] + shelf->count[axis]);
            if (first >= end)
                return false;
            at = first - shift;
            count[axis] = end - first;
            target->first += (first - shelf->first[axis]) * target->stride[axis];
            origin->stride[axis] = stride;
        }
        origin->first += (at - begin) * stride;
        stride *= extent;
    }
    return true;
}

static bool fill_chunk(struct filling *filling, struct decoder *decoder, size_t turn, struct fault *fault)
{
    const struct array_reader *reader = filling->reader;
    const struct region *shelf = &filling->shelf->box;
    uint64_t chunk[ARRAY_MOST_AXES];
    const unsigned char *plain;
    struct layout target, origin;
    unsigned goes = 0;

    find_numbers(&filling->span, reader->array.axes, turn, chunk);
    if (!load(reader, decoder, chunk, &plain, fault))
        return false;
    for (unsigned axis = 0; axis < 3; axis++)
        goes |= (shelf->first[axis] + shelf->count[axis] > reader->extents[axis] ? 1U : 0U) << axis;
    for (unsigned around = 0; around <= goes; around++) {
        size_t count[3] = {1, 1, 1};
        if ((around & ~goes) != 0 || !meet(filling, chunk, around, count, &target, &origin))
            continue;
        if (plain == NULL)
            origin = (struct layout){.first = 0};
        copy_box(sample_size(reader->array.chain.type), count, filling->shelf->samples, &target,
                 plain == NULL ? reader->array.fill : plain, &origin);
    }
    return true;
}

/* ---- the shelf ---- */

static bool holds(const struct shelf *shelf, size_t volume, const struct region *box)
{
    bool held = shelf->filled && shelf->volume == volume;

    for (unsigned axis = 0; axis < 3; axis++)
        held = held && box->first[axis] >= shelf->box.first[axis] &&
               box->first[axis] + box->count[axis] <= shelf->box.first[axis] + shelf->box.count[axis];
    return held;
}

/* Hold a box, which lies in one layer. */
static bool fill_shelf(struct array_reader *reader, size_t volume, const struct region *box,
                       struct fault *fault)
{
    struct shelf *shelf = &reader->shelf;
    struct filling filling = {.reader = reader, .work = fill_chunk, .shelf = shelf};
    size_t bytes = sample_size(reader->array.chain.type);

    for (unsigned axis = 0; axis < 3; axis++)
        bytes = times(bytes, box->count[axis]);
    shelf->filled = false;
    if (bytes != shelf->bytes) {
        mem_free(shelf->samples);
        shelf->samples = mem_alloc(bytes, 1, "a layer of chunks", fault);
        shelf->bytes = shelf->samples == NULL ? 0 : bytes;
    }
    shelf->volume = volume;
    shelf->box = *box;
    filling.span = span_of(reader, volume, box, reader->array.chain.extents);
    find_volume(reader, volume, filling.index);
    shelf->filled =
        shelf->samples != NULL && read_indexes(reader, volume, box, fault) && fill_all(&filling, fault);
    return shelf->filled;
}

/* Read a part of the box that lies in one layer; `place` of it are before it along the slowest axis. */
static bool read_piece(struct array_reader *reader, unsigned char *samples, size_t volume,
                       const struct region *box, const struct region *piece, size_t place,
                       struct fault *fault)
{
    const unsigned slow = reader->slow;
    const struct region *shelf = &reader->shelf.box;
    struct region layer = *piece;
    struct layout target = layout_packed(box->count), origin;

    /* What follows in the layer is read next. */
    layer.count[slow] = size_least(reader->extents[slow] - layer.first[slow],
                                   reader->depth - layer.first[slow] % reader->depth);
    if (!holds(&reader->shelf, volume, piece) && !fill_shelf(reader, volume, &layer, fault))
        return false;
    target.first = place * target.stride[slow];
    origin = layout_packed(shelf->count);
    for (unsigned axis = 0; axis < 3; axis++)
        origin.first += (piece->first[axis] - shelf->first[axis]) * origin.stride[axis];
    copy_box(sample_size(reader->array.chain.type), piece->count, samples, &target, reader->shelf.samples,
             &origin);
    return true;
}

bool array_reader_read(struct array_reader *reader, void *samples, size_t volume, const struct region *box,
                       struct fault *fault)
{
    const unsigned slow = reader->slow;
    const size_t extent = reader->extents[slow];
    struct region piece = *box;
    bool done = true;

    pthread_mutex_lock(&reader->mutex);
    for (size_t place = 0; done && place < box->count[slow]; place += piece.count[slow]) {
        piece.first[slow] = (box->first[slow] + place) % extent;
        piece.count[slow] = size_least(size_least(box->count[slow] - place, extent - piece.first[slow]),
                                       reader->depth - piece.first[slow] % reader->depth);
        done = read_piece(reader, samples, volume, box, &piece, place, fault);
    }
    pthread_mutex_unlock(&reader->mutex);
    return done;
}
