/* Inflating a PNG's image data beside its reader: deflated bytes in, IDAT chunks of stored blocks out. */
#include "png_inflate.h"

#include "base/mem.h"
#include "base/thread.h"

#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <zlib.h>
#ifdef HAVE_ISAL
#include <isa-l/igzip_lib.h>
#endif

/* A chunk: length, IDAT, the head of a stored block, its data, after the last the Adler-32, then the CRC. */
enum {
    TYPE_AT = 4,
    BLOCK_AT = 8,
    DATA_AT = 13,
    DATA_MOST = 65535,
    CHECKSUM_BYTES = 4,
    CHUNK_BYTES = DATA_AT + DATA_MOST + CHECKSUM_BYTES + CHECKSUM_BYTES
};

enum { FEED_BYTES = 64 << 10, FEEDS = 4, CHUNKS = 4 };

const unsigned char png_inflate_first[PNG_INFLATE_FIRST_BYTES] = {0,   0,    0,    2,    'I',  'D',  'A',
                                                                  'T', 0x78, 0x01, 0xec, 0x1a, 0x7e, 0xd2};

struct feed {
    unsigned char bytes[FEED_BYTES];
    size_t size;
};

struct chunk {
    unsigned char bytes[CHUNK_BYTES];
    size_t size;
};

enum state { UNDER_WAY, ENDED, DAMAGED };

struct png_inflater {
#ifdef HAVE_ISAL
    struct inflate_state engine;
#else
    z_stream engine;
#endif
    bool engine_started;
    bool threaded;
    pthread_t thread;

    /* Of the thread that inflates. */
    size_t feed_used; /* bytes of the feed at hand */
    size_t data_size; /* bytes in the chunk at hand */
    uLong checksum;   /* Adler-32 so far */
    bool holds_back;  /* the engine stopped for want of room, and may have more without being fed */

    /* Numbers, ever growing, in rings. Guarded by the mutex. */
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    size_t fed, eaten;
    size_t made, taken;
    bool starved; /* nothing will follow what has been fed */
    bool stopping;
    enum state state;
    const char *damage;

    bool handed_out; /* the chunk `taken` is with the caller */
    struct feed *feeds;
    struct chunk *chunks;
};

/* ---- the engines ---- */

/* What one call of an engine is to do, and what it has done. */
struct portion {
    const unsigned char *from;
    size_t size, used;
    unsigned char *to;
    size_t room, made;
};

#ifdef HAVE_ISAL
enum { WINDOW_BITS_MOST = 15 };

static bool start_engine(struct png_inflater *inflater)
{
    isal_inflate_init(&inflater->engine);
    inflater->engine.crc_flag = ISAL_ZLIB;
    return true;
}

static void stop_engine(struct png_inflater *inflater)
{
    (void)inflater; /* owns nothing else */
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

/* ISA-L does not look at the size of the window in the first byte. */
static bool begins_badly(const struct png_inflater *inflater, const struct portion *portion)
{
    bool begins = inflater->eaten == 0 && inflater->feed_used == 0 && portion->size > 0;
    return begins && portion->from[0] >> 4 > WINDOW_BITS_MOST - 8;
}

static enum state run_engine(struct png_inflater *inflater, struct portion *portion)
{
    struct inflate_state *engine = &inflater->engine;
    if (begins_badly(inflater, portion)) {
        inflater->damage = "invalid window size";
        return DAMAGED;
    }
    engine->next_in = (uint8_t *)portion->from;
    engine->avail_in = (uint32_t)portion->size;
    engine->next_out = portion->to;
    engine->avail_out = (uint32_t)portion->room;
    int outcome = isal_inflate(engine);
    portion->used = portion->size - engine->avail_in;
    portion->made = portion->room - engine->avail_out;
    if (outcome < 0 || outcome == ISAL_NEED_DICT) {
        inflater->damage = damage_of(outcome);
        return DAMAGED;
    }
    return engine->block_state == ISAL_BLOCK_FINISH ? ENDED : UNDER_WAY;
}
#else
static bool start_engine(struct png_inflater *inflater)
{
    return inflateInit(&inflater->engine) == Z_OK;
}

static void stop_engine(struct png_inflater *inflater)
{
    inflateEnd(&inflater->engine);
}

static enum state run_engine(struct png_inflater *inflater, struct portion *portion)
{
    z_stream *engine = &inflater->engine;
    engine->next_in = (z_const Bytef *)portion->from;
    engine->avail_in = (uInt)portion->size;
    engine->next_out = portion->to;
    engine->avail_out = (uInt)portion->room;
    int outcome = inflate(engine, Z_NO_FLUSH);
    portion->used = portion->size - engine->avail_in;
    portion->made = portion->room - engine->avail_out;
    if (outcome == Z_STREAM_END)
        return ENDED;
    if (outcome == Z_OK || outcome == Z_BUF_ERROR)
        return UNDER_WAY;
    inflater->damage = engine->msg != NULL ? engine->msg : "invalid compressed data";
    return DAMAGED;
}
#endif

/* ---- chunks ---- */

static void put32(unsigned char *to, uLong value)
{
    for (int i = 0; i < 4; i++)
        to[i] = (unsigned char)(value >> (24 - 8 * i));
}

static void put_block_head(unsigned char *to, size_t size, bool last)
{
    to[0] = last;
    to[1] = (unsigned char)(size & 0xff);
    to[2] = (unsigned char)(size >> 8);
    to[3] = (unsigned char)~to[1];
    to[4] = (unsigned char)~to[2];
}

/* Put around the data of a chunk what makes it one. */
static void wrap(struct png_inflater *inflater, struct chunk *chunk, bool last)
{
    size_t size = inflater->data_size, end = DATA_AT + size;
    inflater->checksum = adler32_z(inflater->checksum, chunk->bytes + DATA_AT, size);
    memcpy(chunk->bytes + TYPE_AT, "IDAT", 4);
    put_block_head(chunk->bytes + BLOCK_AT, size, last);
    if (last) {
        put32(chunk->bytes + end, inflater->checksum);
        end += CHECKSUM_BYTES;
    }
    put32(chunk->bytes, end - BLOCK_AT);
    put32(chunk->bytes + end, crc32_z(0, chunk->bytes + TYPE_AT, end - TYPE_AT));
    chunk->size = end + CHECKSUM_BYTES;
    inflater->data_size = 0;
}

/* ---- work, by whichever thread ---- */

static bool has_feed(const struct png_inflater *inflater)
{
    return inflater->fed > inflater->eaten;
}

static bool can_work(const struct png_inflater *inflater)
{
    return inflater->state == UNDER_WAY && inflater->made - inflater->taken < CHUNKS &&
           (has_feed(inflater) || inflater->holds_back || inflater->starved);
}

/* One call of the engine. With the mutex held, which is let go meanwhile. */
static void work(struct png_inflater *inflater)
{
    struct chunk *chunk = &inflater->chunks[inflater->made % CHUNKS];
    const struct feed *feed = has_feed(inflater) ? &inflater->feeds[inflater->eaten % FEEDS] : NULL;
    struct portion portion = {
        .from = feed == NULL ? NULL : feed->bytes + inflater->feed_used,
        .size = feed == NULL ? 0 : feed->size - inflater->feed_used,
        .to = chunk->bytes + DATA_AT + inflater->data_size,
        .room = DATA_MOST - inflater->data_size,
    };
    bool last_chance = feed == NULL && !inflater->holds_back;
    pthread_mutex_unlock(&inflater->mutex);
    enum state state = run_engine(inflater, &portion);
    if (state == UNDER_WAY && last_chance) {
        inflater->damage = "not enough image data";
        state = DAMAGED;
    }
    inflater->feed_used += portion.used;
    inflater->data_size += portion.made;
    inflater->holds_back = inflater->data_size == DATA_MOST;
    bool complete = state == ENDED || inflater->holds_back;
    if (complete)
        wrap(inflater, chunk, state == ENDED);
    pthread_mutex_lock(&inflater->mutex);
    inflater->state = state;
    inflater->made += complete;
    if (feed != NULL && inflater->feed_used == feed->size) {
        inflater->eaten++;
        inflater->feed_used = 0;
    }
    pthread_cond_signal(&inflater->changed);
}

static void *run_thread(void *argument)
{
    struct png_inflater *inflater = argument;
    pthread_mutex_lock(&inflater->mutex);
    while (!inflater->stopping) {
        if (can_work(inflater))
            work(inflater);
        else
            pthread_cond_wait(&inflater->changed, &inflater->mutex);
    }
    pthread_mutex_unlock(&inflater->mutex);
    return NULL;
}

/* ---- the reader's side ---- */

static bool has_room(const struct png_inflater *inflater)
{
    return inflater->fed - inflater->eaten < FEEDS;
}

unsigned char *png_inflater_room(struct png_inflater *inflater, size_t *size)
{
    pthread_mutex_lock(&inflater->mutex);
    bool room = has_room(inflater);
    pthread_mutex_unlock(&inflater->mutex);
    *size = FEED_BYTES;
    return room ? inflater->feeds[inflater->fed % FEEDS].bytes : NULL;
}

void png_inflater_feed(struct png_inflater *inflater, size_t size)
{
    pthread_mutex_lock(&inflater->mutex);
    inflater->feeds[inflater->fed % FEEDS].size = size;
    inflater->fed++;
    pthread_cond_signal(&inflater->changed);
    pthread_mutex_unlock(&inflater->mutex);
}

void png_inflater_end(struct png_inflater *inflater)
{
    pthread_mutex_lock(&inflater->mutex);
    inflater->starved = true;
    pthread_cond_signal(&inflater->changed);
    pthread_mutex_unlock(&inflater->mutex);
}

/* Until there is a chunk, or none will come of what is there. With the mutex held. */
static void await(struct png_inflater *inflater)
{
    while (inflater->made == inflater->taken && inflater->state == UNDER_WAY) {
        if (inflater->threaded ? has_room(inflater) && !inflater->starved : !can_work(inflater))
            return;
        if (inflater->threaded)
            pthread_cond_wait(&inflater->changed, &inflater->mutex);
        else
            work(inflater);
    }
}

static enum png_inflate_outcome take(struct png_inflater *inflater, struct png_inflate_chunk *chunk)
{
    if (inflater->made > inflater->taken) {
        const struct chunk *next = &inflater->chunks[inflater->taken % CHUNKS];
        *chunk = (struct png_inflate_chunk){.bytes = next->bytes, .size = next->size};
        inflater->handed_out = true;
        return PNG_INFLATE_CHUNK;
    }
    if (inflater->state == UNDER_WAY)
        return PNG_INFLATE_HUNGRY;
    chunk->damage = inflater->damage;
    if (inflater->state == DAMAGED)
        return PNG_INFLATE_DAMAGED;
    return has_feed(inflater) ? PNG_INFLATE_EXCESS : PNG_INFLATE_ALL;
}

enum png_inflate_outcome png_inflater_take(struct png_inflater *inflater, struct png_inflate_chunk *chunk)
{
    pthread_mutex_lock(&inflater->mutex);
    inflater->taken += inflater->handed_out;
    inflater->handed_out = false;
    pthread_cond_signal(&inflater->changed);
    await(inflater);
    enum png_inflate_outcome outcome = take(inflater, chunk);
    pthread_mutex_unlock(&inflater->mutex);
    return outcome;
}

/* ---- beginning and end ---- */

static bool make_room(struct png_inflater *inflater, struct fault *fault)
{
    inflater->feeds = mem_alloc(FEEDS, sizeof *inflater->feeds, "inflating", fault);
    inflater->chunks = mem_alloc(CHUNKS, sizeof *inflater->chunks, "inflating", fault);
    if (inflater->feeds == NULL || inflater->chunks == NULL)
        return false;
    inflater->engine_started = start_engine(inflater);
    return inflater->engine_started || fault_raise(fault, STATUS_LIMIT, "not enough memory for inflating");
}

bool png_inflater_start(struct png_inflater **inflater, size_t threads, struct fault *fault)
{
    struct png_inflater *made = mem_zeroed(1, sizeof *made, "inflating", fault);
    if (made == NULL)
        return false;
    made->checksum = adler32(0, NULL, 0);
    pthread_mutex_init(&made->mutex, NULL);
    pthread_cond_init(&made->changed, NULL);
    if (!make_room(made, fault)) {
        png_inflater_stop(made);
        return false;
    }
    made->threaded = threads > 1 && thread_start(&made->thread, run_thread, made);
    *inflater = made;
    return true;
}

static void stop_thread(struct png_inflater *inflater)
{
    pthread_mutex_lock(&inflater->mutex);
    inflater->stopping = true;
    pthread_cond_signal(&inflater->changed);
    pthread_mutex_unlock(&inflater->mutex);
    pthread_join(inflater->thread, NULL);
}

void png_inflater_stop(struct png_inflater *inflater)
{
    if (inflater == NULL)
        return;
    if (inflater->threaded)
        stop_thread(inflater);
    if (inflater->engine_started)
        stop_engine(inflater);
    pthread_cond_destroy(&inflater->changed);
    pthread_mutex_destroy(&inflater->mutex);
    mem_free(inflater->feeds);
    mem_free(inflater->chunks);
    mem_free(inflater);
}
