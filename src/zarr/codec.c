/* Codecs of Zarr: how a store keeps the samples of a chunk as bytes.

   Decoding hands bytes from one buffer to the other, the last codec of the chain first; a checksum is cut off
   where it stands. Each compressor has room for the most bytes that what stands before it in the chain can
   give, so that nothing depends on a size that the bytes claim. The last one writes into the samples
   directly, unless they have to be transposed.

   libzstd and libblosc are loaded when an array first needs them. Their functions take only plain types, so
   that no header of theirs is needed to build. */
#include "codec.h"

#include "base/checksum.h"
#include "base/inflate.h"
#include "base/library.h"
#include "base/mem.h"
#include "base/size.h"

#include <string.h>

enum { CHECKSUM_BYTES = 4, BLOSC_HEADER = 16, BLOSC_SIZE_AT = 4, BLOSC_CODED_AT = 12 };

static bool has(const struct codec_chain *chain, enum codec_kind kind)
{
    for (size_t i = 0; i < chain->count; i++) {
        if (chain->codecs[i].kind == kind)
            return true;
    }
    return false;
}

static bool is_compressor(enum codec_kind kind)
{
    return kind != CODEC_TRANSPOSE && kind != CODEC_BYTES && kind != CODEC_CRC32C;
}

/* ---- the libraries ---- */

static struct {
    void *(*ZSTD_createCCtx)(void);
    size_t (*ZSTD_freeCCtx)(void *context);
    size_t (*ZSTD_compressCCtx)(void *context, void *to, size_t room, const void *from, size_t size,
                                int level);
    void *(*ZSTD_createDCtx)(void);
    size_t (*ZSTD_freeDCtx)(void *context);
    size_t (*ZSTD_decompressDCtx)(void *context, void *to, size_t room, const void *from, size_t size);
    unsigned (*ZSTD_isError)(size_t code);
    const char *(*ZSTD_getErrorName)(size_t code);
} zstd;

static struct {
    int (*blosc_decompress_ctx)(const void *from, void *to, size_t room, int threads);
} blosc;

static const struct library_function zstd_functions[] = {
    {"ZSTD_createCCtx", &zstd.ZSTD_createCCtx},     {"ZSTD_freeCCtx", &zstd.ZSTD_freeCCtx},
    {"ZSTD_compressCCtx", &zstd.ZSTD_compressCCtx}, {"ZSTD_createDCtx", &zstd.ZSTD_createDCtx},
    {"ZSTD_freeDCtx", &zstd.ZSTD_freeDCtx},         {"ZSTD_decompressDCtx", &zstd.ZSTD_decompressDCtx},
    {"ZSTD_isError", &zstd.ZSTD_isError},           {"ZSTD_getErrorName", &zstd.ZSTD_getErrorName},
};

static const struct library_function blosc_functions[] = {
    {"blosc_decompress_ctx", &blosc.blosc_decompress_ctx},
};

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

static bool load(struct library *library, const char *name, enum status status, struct fault *fault)
{
    const char *failure = library_load(library);

    return failure == NULL ||
           fault_raise(fault, status, "%s is needed, but cannot be loaded (apt install %s1): %s", name, name,
                       failure);
}

bool codec_load(const struct codec_chain *chain, enum status status, struct fault *fault)
{
    static struct library libzstd = {"libzstd.so.1", zstd_functions, COUNT_OF(zstd_functions), NULL, false},
                          libblosc = {"libblosc.so.1", blosc_functions, COUNT_OF(blosc_functions), NULL,
                                      false};

    return (!has(chain, CODEC_ZSTD) || load(&libzstd, "libzstd", status, fault)) &&
           (!has(chain, CODEC_BLOSC) || load(&libblosc, "libblosc", status, fault));
}

/* ---- sizes ---- */

size_t codec_plain_bytes(const struct codec_chain *chain)
{
    size_t bytes = sample_size(chain->type);

    for (size_t i = 0; i < chain->axes; i++)
        bytes *= chain->extents[i];
    return bytes;
}

/* The most bytes that the first `count` codecs of a chain give. Those that libraries
   promise, at any level, are fewer. */
static size_t bytes_after(const struct codec_chain *chain, size_t count)
{
    size_t bytes = codec_plain_bytes(chain);

    for (size_t i = 0; i < count; i++) {
        if (is_compressor(chain->codecs[i].kind))
            bytes += bytes / 16 + 4096;
        else if (chain->codecs[i].kind == CODEC_CRC32C)
            bytes += CHECKSUM_BYTES;
    }
    return bytes;
}

size_t codec_coded_bytes(const struct codec_chain *chain)
{
    return bytes_after(chain, chain->count);
}

/* ---- a worker ---- */

struct codec_worker {
    const struct codec_chain *chain;
    size_t order[CODEC_MOST_AXES]; /* of all transpositions together */
    bool transposed;
    unsigned char *buffers[2]; /* between codecs */
    struct inflater *inflaters[2];
    void *compressor, *decompressor; /* of libzstd */
};

/* How many buffers decoding needs: one less than there are steps that copy, and two at most. */
static size_t buffers_of(const struct codec_chain *chain)
{
    size_t steps = has(chain, CODEC_TRANSPOSE) ? 1 : 0;
    bool summed = false;

    for (size_t i = 0; i < chain->count; i++) {
        /* With a checksum in what it decompresses, a codec cannot write into the samples. */
        if (is_compressor(chain->codecs[i].kind))
            steps += summed ? 2 : 1;
        summed = chain->codecs[i].kind == CODEC_CRC32C;
    }
    return size_least(2, steps > 0 ? steps - 1 : 0);
}

size_t codec_worker_bytes(const struct codec_chain *chain)
{
    /* libzstd's tables grow with the level and the chunk. What it takes was measured with release 1.5.4. */
    const size_t tables = (size_t)3 << 20, large_tables = (size_t)13 << 20, most_small_level = 4;
    size_t bytes = buffers_of(chain) * bytes_after(chain, chain->count);

    for (size_t i = 0; i < chain->count; i++)
        bytes += !is_compressor(chain->codecs[i].kind)                ? 0
                 : (size_t)chain->codecs[i].level <= most_small_level ? tables
                                                                      : large_tables;
    return bytes;
}

/* The order of all transpositions, one after the other. */
static void settle_order(struct codec_worker *worker)
{
    const struct codec_chain *chain = worker->chain;
    size_t before[CODEC_MOST_AXES];

    for (size_t i = 0; i < chain->axes; i++)
        worker->order[i] = i;
    for (size_t k = 0; k < chain->count && chain->codecs[k].kind == CODEC_TRANSPOSE; k++) {
        memcpy(before, worker->order, sizeof before);
        for (size_t i = 0; i < chain->axes; i++)
            worker->order[i] = before[chain->codecs[k].order[i]];
    }
    for (size_t i = 0; i < chain->axes; i++)
        worker->transposed = worker->transposed || worker->order[i] != i;
}

static bool start(struct codec_worker *worker, struct fault *fault)
{
    const struct codec_chain *chain = worker->chain;
    const char *purpose = "a chunk";

    settle_order(worker);
    for (size_t i = 0; i < buffers_of(chain); i++) {
        worker->buffers[i] = mem_alloc(bytes_after(chain, chain->count), 1, purpose, fault);
        if (worker->buffers[i] == NULL)
            return false;
    }
    if (has(chain, CODEC_ZSTD)) {
        worker->compressor = zstd.ZSTD_createCCtx();
        worker->decompressor = zstd.ZSTD_createDCtx();
        if (worker->compressor == NULL || worker->decompressor == NULL)
            return fault_raise(fault, STATUS_LIMIT, "not enough memory for %s", purpose);
    }
    return (!has(chain, CODEC_GZIP) || inflater_create(&worker->inflaters[0], INFLATE_GZIP, fault)) &&
           (!has(chain, CODEC_ZLIB) || inflater_create(&worker->inflaters[1], INFLATE_ZLIB, fault));
}

bool codec_worker_create(struct codec_worker **worker, const struct codec_chain *chain, struct fault *fault)
{
    struct codec_worker *made = mem_zeroed(1, sizeof *made, "a chunk", fault);

    if (made == NULL)
        return false;
    made->chain = chain;
    if (!start(made, fault)) {
        codec_worker_free(made);
        return false;
    }
    *worker = made;
    return true;
}

void codec_worker_free(struct codec_worker *worker)
{
    if (worker == NULL)
        return;
    if (worker->compressor != NULL)
        zstd.ZSTD_freeCCtx(worker->compressor);
    if (worker->decompressor != NULL)
        zstd.ZSTD_freeDCtx(worker->decompressor);
    for (size_t i = 0; i < COUNT_OF(worker->buffers); i++)
        mem_free(worker->buffers[i]);
    for (size_t i = 0; i < COUNT_OF(worker->inflaters); i++)
        inflater_free(worker->inflaters[i]);
    mem_free(worker);
}

static void put_sum(unsigned char *bytes, size_t size)
{
    endian_put(ENDIAN_LITTLE, bytes + size, CHECKSUM_BYTES, checksum_crc32c(CHECKSUM_CRC32C, bytes, size));
}

/* ---- decoding: each codec gives the bytes before it, at most as many as there is room ---- */

struct bytes {
    const unsigned char *from;
    size_t size;
};

static bool refuse_more(size_t room, struct fault *fault)
{
    return fault_raise(fault, STATUS_INPUT, "it holds more than %zu bytes", room);
}

static bool check_sum(struct bytes *bytes, struct fault *fault)
{
    if (bytes->size < CHECKSUM_BYTES)
        return fault_raise(fault, STATUS_INPUT, "crc32c: %zu bytes are too few", bytes->size);
    bytes->size -= CHECKSUM_BYTES;
    return checksum_crc32c(CHECKSUM_CRC32C, bytes->from, bytes->size) ==
               endian_get(ENDIAN_LITTLE, bytes->from + bytes->size, CHECKSUM_BYTES) ||
           fault_raise(fault, STATUS_INPUT, "crc32c: the checksum is not that of its bytes");
}

/* Inflate one stream. Where the room is full, the rest may still be its end, and a byte more is too many. */
static bool inflate_stream(struct inflater *inflater, struct inflate_portion *portion, const char *name,
                           size_t room, struct fault *fault)
{
    enum inflate_progress progress;
    unsigned char surplus;

    inflater_restart(inflater);
    do {
        size_t left = portion->room;
        struct inflate_portion next = *portion;
        if (left == 0) {
            next.to = &surplus;
            next.room = 1;
        }
        progress = inflater_run(inflater, &next);
        if (left == 0 && next.made > 0)
            return refuse_more(room, fault);
        portion->from += next.used;
        portion->size -= next.used;
        portion->to += next.made;
        portion->room -= next.made;
        if (progress == INFLATE_DAMAGED)
            return fault_raise(fault, STATUS_INPUT, "%s: %s", name, inflater_damage(inflater));
        if (progress == INFLATE_UNDER_WAY && next.used == 0 && next.made == 0)
            return fault_raise(fault, STATUS_INPUT, "%s: the stream has no end", name);
    } while (progress == INFLATE_UNDER_WAY);
    return true;
}

/* gzip's streams may follow each other, as gunzip has it. */
static bool inflate_all(struct codec_worker *worker, enum codec_kind kind, struct bytes *bytes,
                        unsigned char *to, size_t room, struct fault *fault)
{
    const bool gzip = kind == CODEC_GZIP;
    const char *name = gzip ? "gzip" : "zlib";
    struct inflate_portion portion = {.from = bytes->from, .size = bytes->size, .to = to, .room = room};

    do {
        if (!inflate_stream(worker->inflaters[gzip ? 0 : 1], &portion, name, room, fault))
            return false;
    } while (gzip && portion.size > 0);
    if (portion.size > 0)
        return fault_raise(fault, STATUS_INPUT, "%s: %zu bytes follow its end", name, portion.size);
    *bytes = (struct bytes){to, room - portion.room};
    return true;
}

static bool decompress_zstd(struct codec_worker *worker, struct bytes *bytes, unsigned char *to, size_t room,
                            struct fault *fault)
{
    size_t made = zstd.ZSTD_decompressDCtx(worker->decompressor, to, room, bytes->from, bytes->size);

    if (zstd.ZSTD_isError(made))
        return fault_raise(fault, STATUS_INPUT, "zstd: %s", zstd.ZSTD_getErrorName(made));
    *bytes = (struct bytes){to, made};
    return true;
}

/* Its header tells both sizes, which libblosc believes. */
static bool decompress_blosc(struct bytes *bytes, unsigned char *to, size_t room, struct fault *fault)
{
    uint32_t plain, coded;
    int made;

    if (bytes->size < BLOSC_HEADER)
        return fault_raise(fault, STATUS_INPUT, "blosc: %zu bytes are too few", bytes->size);
    plain = (uint32_t)endian_get(ENDIAN_LITTLE, bytes->from + BLOSC_SIZE_AT, 4);
    coded = (uint32_t)endian_get(ENDIAN_LITTLE, bytes->from + BLOSC_CODED_AT, 4);
    if (coded != bytes->size)
        return fault_raise(fault, STATUS_INPUT, "blosc: its header says %u bytes, but there are %zu",
                           (unsigned)coded, bytes->size);
    if (plain > room)
        return refuse_more(room, fault);
    made = blosc.blosc_decompress_ctx(bytes->from, to, room, 1);
    if (made < 0 || (uint32_t)made != plain)
        return fault_raise(fault, STATUS_INPUT,
                           "blosc: damaged, or of a compressor that libblosc was built without");
    *bytes = (struct bytes){to, plain};
    return true;
}

static bool decompress(struct codec_worker *worker, enum codec_kind kind, struct bytes *bytes,
                       unsigned char *to, size_t room, struct fault *fault)
{
    return kind == CODEC_ZSTD    ? decompress_zstd(worker, bytes, to, room, fault)
           : kind == CODEC_BLOSC ? decompress_blosc(bytes, to, room, fault)
                                 : inflate_all(worker, kind, bytes, to, room, fault);
}

/* Put transposed samples into the order of the array's axes, row by row. */
static void transpose_back(const struct codec_worker *worker, const unsigned char *from, unsigned char *to)
{
    const struct codec_chain *chain = worker->chain;
    const size_t size = sample_size(chain->type), last = chain->axes - 1, row = chain->extents[last];
    const size_t rows = codec_plain_bytes(chain) / size / row;
    size_t strides[CODEC_MOST_AXES], index[CODEC_MOST_AXES] = {0}, stride = 1;

    for (size_t i = chain->axes; i-- > 0; stride *= chain->extents[worker->order[i]])
        strides[worker->order[i]] = stride;
    for (size_t k = 0; k < rows; k++, to += row * size) {
        size_t begin = 0;
        for (size_t i = 0; i < last; i++)
            begin += index[i] * strides[i];
        sample_move(size, to, 1, from + begin * size, strides[last], row);
        for (size_t i = last; i-- > 0 && ++index[i] == chain->extents[i];)
            index[i] = 0;
    }
}

/* The order of bytes, and that of axes. */
static void order_samples(const struct codec_worker *worker, bool big, const unsigned char *from,
                          unsigned char *samples)
{
    const struct codec_chain *chain = worker->chain;
    const size_t size = sample_size(chain->type), bytes = codec_plain_bytes(chain);

    if (worker->transposed)
        transpose_back(worker, from, samples);
    else if (from != samples)
        memcpy(samples, from, bytes);
    if (big == (endian_native() == ENDIAN_LITTLE))
        sample_swap(chain->type, samples, bytes / size);
}

bool codec_decode(struct codec_worker *worker, const void *coded, size_t size, void *samples,
                  struct fault *fault)
{
    const struct codec_chain *chain = worker->chain;
    const size_t plain = codec_plain_bytes(chain);
    struct bytes bytes = {coded, size};
    size_t i = chain->count;

    for (size_t turn = 0; i-- > 0 && chain->codecs[i].kind != CODEC_BYTES;) {
        const size_t room = bytes_after(chain, i);
        if (chain->codecs[i].kind == CODEC_CRC32C) {
            if (!check_sum(&bytes, fault))
                return false;
            continue;
        }
        unsigned char *to = room == plain && !worker->transposed ? samples : worker->buffers[turn];
        if (!decompress(worker, chain->codecs[i].kind, &bytes, to, room, fault))
            return false;
        turn = 1 - turn;
    }
    if (bytes.size != plain)
        return fault_raise(fault, STATUS_INPUT, "it holds %zu bytes, and its samples have %zu", bytes.size,
                           plain);
    order_samples(worker, chain->codecs[i].big, bytes.from, samples);
    return true;
}

/* ---- encoding ---- */

bool codec_encode(struct codec_worker *worker, const void *samples, void *coded, size_t *size,
                  struct fault *fault)
{
    const struct codec_chain *chain = worker->chain;
    const size_t plain = codec_plain_bytes(chain);
    size_t made = plain;

    if (has(chain, CODEC_ZSTD)) {
        made = zstd.ZSTD_compressCCtx(worker->compressor, coded, codec_coded_bytes(chain), samples, plain,
                                      chain->codecs[1].level);
        if (zstd.ZSTD_isError(made))
            return fault_raise(fault, STATUS_LIMIT, "zstd: %s", zstd.ZSTD_getErrorName(made));
    } else {
        memcpy(coded, samples, plain);
    }
    if (has(chain, CODEC_CRC32C)) {
        put_sum(coded, made);
        made += CHECKSUM_BYTES;
    }
    *size = made;
    return true;
}

/* ---- the index of a shard ---- */

size_t codec_index_bytes(size_t chunks, bool checksum)
{
    return chunks * sizeof(struct codec_place) + (checksum ? CHECKSUM_BYTES : 0);
}

/* Offsets and sizes have 64 bits, least byte first. */
static void copy_places(const void *from, size_t chunks, void *to)
{
    memcpy(to, from, codec_index_bytes(chunks, false));
    if (endian_native() != ENDIAN_LITTLE)
        sample_swap(SAMPLE_U64, to, 2 * chunks);
}

bool codec_index_decode(const unsigned char *bytes, size_t chunks, bool checksum, uint64_t shard_bytes,
                        size_t most_bytes, struct codec_place *places, struct fault *fault)
{
    struct bytes all = {bytes, codec_index_bytes(chunks, checksum)};

    if (checksum && !check_sum(&all, fault))
        return fault_prefix(fault, "the index of the shard");
    copy_places(bytes, chunks, places);
    for (size_t i = 0; i < chunks; i++) {
        const struct codec_place *place = &places[i];
        if (place->offset == CODEC_ABSENT && place->size == CODEC_ABSENT)
            continue;
        if (place->offset > shard_bytes || place->size > shard_bytes - place->offset)
            return fault_raise(fault, STATUS_INPUT,
                               "the index of the shard: chunk %zu lies beyond the %llu bytes", i,
                               (unsigned long long)shard_bytes);
        if (place->size > most_bytes)
            return fault_raise(fault, STATUS_INPUT,
                               "the index of the shard: chunk %zu has %llu bytes, and %zu is the most", i,
                               (unsigned long long)place->size, most_bytes);
    }
    return true;
}

void codec_index_encode(const struct codec_place *places, size_t chunks, bool checksum, unsigned char *bytes)
{
    copy_places(places, chunks, bytes);
    if (checksum)
        put_sum(bytes, codec_index_bytes(chunks, false));
}
