/* Inflating a stream of deflate, zlib or gzip, portion by portion, by the fastest library that is linked. */
#include "inflate.h"

#include "mem.h"
#include "size.h"
#include "vectors.h"

#include <stdint.h>
#ifdef HAVE_ISAL
#include <isa-l/igzip_lib.h>
#else
#include <zlib.h>
#endif

/* Both libraries count in 32 bits. */
enum { WINDOW_BITS_MOST = 15, PORTION_MOST = 1 << 30 };

struct inflater {
    enum inflate_wrapper wrapper;
    enum inflate_progress progress;
    const char *damage;
#ifdef HAVE_ISAL
    struct inflate_state stream;
    size_t looked_at; /* bytes of the stream's header */
#else
    z_stream stream;
#endif
};

static void damage(struct inflater *inflater, const char *how)
{
    inflater->progress = INFLATE_DAMAGED;
    inflater->damage = how;
}

/* A portion may be larger than a library can count; then the call uses or makes a part of it. */
static unsigned count_of(size_t size)
{
    return size < PORTION_MOST ? (unsigned)size : PORTION_MOST;
}

#ifdef HAVE_ISAL
static bool start(struct inflater *inflater)
{
    static const uint32_t wrappers[] = {
        [INFLATE_ZLIB] = ISAL_ZLIB, [INFLATE_GZIP] = ISAL_GZIP, [INFLATE_BARE] = ISAL_DEFLATE};

    isal_inflate_init(&inflater->stream);
    inflater->stream.crc_flag = wrappers[inflater->wrapper];
    return true;
}

static void restart(struct inflater *inflater)
{
    inflater->looked_at = 0;
    isal_inflate_reset(&inflater->stream);
}

static void know(struct inflater *inflater, const void *before, size_t size)
{
    isal_inflate_set_dict(&inflater->stream, (uint8_t *)before, (uint32_t)size);
}

bool inflater_at_boundary(const struct inflater *inflater)
{
    const struct inflate_state *stream = &inflater->stream;
    const bool before_block =
        stream->block_state == ISAL_BLOCK_NEW_HDR || stream->block_state == ISAL_BLOCK_HDR;

    return inflater->progress == INFLATE_UNDER_WAY && before_block && stream->read_in_length == 0 &&
           stream->tmp_in_size == 0 && stream->tmp_out_valid == stream->tmp_out_processed;
}

/* They are whole bytes above the bits of the last one of the stream. */
size_t inflater_unused_input(const struct inflater *inflater, unsigned char bytes[INFLATE_UNUSED_MOST])
{
    const size_t bits = (size_t)inflater->stream.read_in_length, count = bits / 8;

    for (size_t i = 0; i < count; i++)
        bytes[i] = (unsigned char)(inflater->stream.read_in >> (bits % 8 + 8 * i));
    return count;
}

static const char *damage_of(int outcome)
{
    switch (outcome) {
    case ISAL_INVALID_LOOKBACK:
        return "invalid distance too far back";
    case ISAL_INVALID_WRAPPER:
    case ISAL_UNSUPPORTED_METHOD:
    case ISAL_NEED_DICT:
        return "incorrect header of compressed data";
    case ISAL_INCORRECT_CHECKSUM:
        return "incorrect data check";
    default:
        return "invalid compressed data";
    }
}

/* Two bytes of headers say what ISA-L does not look at: the size of zlib's window is in the first one, and
   flags that nobody has defined are in the fourth one of gzip. */
static bool begins_badly(struct inflater *inflater, const struct inflate_portion *portion)
{
    enum { TELLING_BYTES = 4, GZIP_FLAGS = 3, GZIP_RESERVED = 0xe0 };
    bool gzip = inflater->wrapper == INFLATE_GZIP;

    if (inflater->wrapper == INFLATE_BARE)
        return false;
    for (size_t i = 0; i < portion->size && inflater->looked_at < TELLING_BYTES; i++, inflater->looked_at++) {
        if (!gzip && inflater->looked_at == 0 && portion->from[i] >> 4 > WINDOW_BITS_MOST - 8) {
            damage(inflater, "invalid window size");
            return true;
        }
        if (gzip && inflater->looked_at == GZIP_FLAGS && (portion->from[i] & GZIP_RESERVED) != 0) {
            damage(inflater, "unknown header flags set");
            return true;
        }
    }
    return false;
}

static void run(struct inflater *inflater, struct inflate_portion *portion)
{
    struct inflate_state *stream = &inflater->stream;
    unsigned size = count_of(portion->size), room = count_of(portion->room);
    int outcome;

    if (begins_badly(inflater, portion))
        return;
    stream->next_in = (uint8_t *)portion->from;
    stream->avail_in = size;
    stream->next_out = portion->to;
    stream->avail_out = room;
    outcome = isal_inflate(stream);
    vectors_clear();
    portion->used = size - stream->avail_in;
    portion->made = room - stream->avail_out;
    if (outcome < 0 || outcome == ISAL_NEED_DICT)
        damage(inflater, damage_of(outcome));
    else if (stream->block_state == ISAL_BLOCK_FINISH)
        inflater->progress = INFLATE_ENDED;
    /* It has read ahead of a wrapper's end, too. */
    if (inflater->progress == INFLATE_ENDED && inflater->wrapper != INFLATE_BARE)
        portion->used -= size_least(portion->used, (size_t)stream->read_in_length / 8);
}
#else
static bool start(struct inflater *inflater)
{
    static const int wrappers[] = {[INFLATE_ZLIB] = WINDOW_BITS_MOST,
                                   [INFLATE_GZIP] = WINDOW_BITS_MOST + 16,
                                   [INFLATE_BARE] = -WINDOW_BITS_MOST};

    return inflateInit2(&inflater->stream, wrappers[inflater->wrapper]) == Z_OK;
}

static void restart(struct inflater *inflater)
{
    inflateReset(&inflater->stream);
}

static void know(struct inflater *inflater, const void *before, size_t size)
{
    inflateSetDictionary(&inflater->stream, before, (uInt)size);
}

bool inflater_at_boundary(const struct inflater *inflater)
{
    enum { BETWEEN_BLOCKS = 128 }; /* and no bits of a byte left, as zlib documents it */

    return inflater->progress == INFLATE_UNDER_WAY && inflater->stream.data_type == BETWEEN_BLOCKS;
}

size_t inflater_unused_input(const struct inflater *inflater, unsigned char bytes[INFLATE_UNUSED_MOST])
{
    (void)inflater, (void)bytes; /* zlib takes no more than it needs */
    return 0;
}

static void run(struct inflater *inflater, struct inflate_portion *portion)
{
    z_stream *stream = &inflater->stream;
    unsigned size = count_of(portion->size), room = count_of(portion->room);
    int outcome;

    stream->next_in = (z_const Bytef *)portion->from;
    stream->avail_in = size;
    stream->next_out = portion->to;
    stream->avail_out = room;
    outcome = inflate(stream, Z_NO_FLUSH);
    portion->used = size - stream->avail_in;
    portion->made = room - stream->avail_out;
    if (outcome == Z_STREAM_END)
        inflater->progress = INFLATE_ENDED;
    else if (outcome != Z_OK && outcome != Z_BUF_ERROR)
        damage(inflater, stream->msg != NULL ? stream->msg : "invalid compressed data");
}
#endif

enum inflate_progress inflater_run(struct inflater *inflater, struct inflate_portion *portion)
{
    portion->used = portion->made = 0;
    if (inflater->progress == INFLATE_UNDER_WAY)
        run(inflater, portion);
    return inflater->progress;
}

const char *inflater_damage(const struct inflater *inflater)
{
    return inflater->damage;
}

void inflater_restart(struct inflater *inflater)
{
    inflater->progress = INFLATE_UNDER_WAY;
    restart(inflater);
}

void inflater_resume(struct inflater *inflater, const void *before, size_t size)
{
    inflater_restart(inflater);
    if (size > 0)
        know(inflater, before, size);
}

bool inflater_create(struct inflater **inflater, enum inflate_wrapper wrapper, struct fault *fault)
{
    struct inflater *made = mem_zeroed(1, sizeof *made, "decompressing", fault);

    if (made == NULL)
        return false;
    made->wrapper = wrapper;
    if (!start(made)) {
        mem_free(made);
        return fault_raise(fault, STATUS_LIMIT, "not enough memory for decompressing");
    }
    *inflater = made;
    return true;
}

void inflater_free(struct inflater *inflater)
{
    if (inflater == NULL)
        return;
#ifndef HAVE_ISAL
    inflateEnd(&inflater->stream);
#endif
    mem_free(inflater);
}
