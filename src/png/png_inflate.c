/* Inflating a PNG's image data beside its reader: deflated bytes in, pieces of inflated ones out. What is fed
   goes round on one belt, what comes of it on another; the engine belongs to the thread that inflates. */
#include "png_inflate.h"

#include "base/belt.h"
#include "base/mem.h"
#include "base/pool.h"

#include <stdint.h>
#include <zlib.h>
#ifdef HAVE_ISAL
#include <isa-l/igzip_lib.h>
#endif

enum { FEED_BYTES = 64 << 10, FEEDS = 4, PIECE_BYTES = 64 << 10, PIECES = 4 };

/* Stations of the belts. */
enum { FEEDING, EATING, FEED_STATIONS };
enum { MAKING, TAKING, PIECE_STATIONS };

struct feed {
    unsigned char bytes[FEED_BYTES];
    size_t size;
};

/* What one call of an engine is to do, and what it has done. */
struct portion {
    const unsigned char *from;
    size_t size, used;
    unsigned char *to;
    size_t room, made;
};

struct piece {
    struct png_inflate_piece told;
    unsigned char *buffer;
    size_t feeds_eaten; /* before its end */
};

struct engine {
#ifdef HAVE_ISAL
    struct inflate_state stream;
    bool begun;
#else
    z_stream stream;
#endif
    enum png_inflate_state state;
    const char *damage;
};

struct png_inflater {
    struct pool *pool;
    bool threaded; /* else the caller inflates */

    /* Of whoever inflates. */
    struct engine engine;
    bool engine_started;
    bool feed_taken;
    size_t feed, feed_used; /* the one at hand, and bytes of it that are done with */
    size_t feeds_eaten;
    unsigned char *making; /* the piece that is being made */
    size_t made;           /* bytes of it */
    bool holds_back;       /* the engine stopped for want of room, and may have more without being fed */

    /* Of the caller. */
    size_t feeding; /* where there is room */
    bool has_room;
    size_t feeds;
    size_t taken; /* the piece that it has */
    bool has_piece;
    struct piece last;

    struct belt *feed_belt, *piece_belt;
    struct feed *larder;
    struct piece pieces[PIECES];
    unsigned char *room; /* for the bytes of all pieces and of the one that is being made */
};

/* ---- the engines ---- */

static void damage(struct engine *engine, const char *how)
{
    engine->state = PNG_INFLATE_DAMAGED;
    engine->damage = how;
}

#ifdef HAVE_ISAL
enum { WINDOW_BITS_MOST = 15 };

static bool start_engine(struct engine *engine)
{
    isal_inflate_init(&engine->stream);
    engine->stream.crc_flag = ISAL_ZLIB;
    return true;
}

static void stop_engine(struct engine *engine)
{
    (void)engine; /* owns nothing else */
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
static bool begins_badly(struct engine *engine, const struct portion *portion)
{
    bool begins = !engine->begun && portion->size > 0;
    engine->begun = engine->begun || begins;
    return begins && portion->from[0] >> 4 > WINDOW_BITS_MOST - 8;
}

static void run_engine(struct engine *engine, struct portion *portion)
{
    struct inflate_state *stream = &engine->stream;
    if (begins_badly(engine, portion)) {
        damage(engine, "invalid window size");
        return;
    }
    stream->next_in = (uint8_t *)portion->from;
    stream->avail_in = (uint32_t)portion->size;
    stream->next_out = portion->to;
    stream->avail_out = (uint32_t)portion->room;
    int outcome = isal_inflate(stream);
    portion->used = portion->size - stream->avail_in;
    portion->made = portion->room - stream->avail_out;
    if (outcome < 0 || outcome == ISAL_NEED_DICT)
        damage(engine, damage_of(outcome));
    else if (stream->block_state == ISAL_BLOCK_FINISH)
        engine->state = PNG_INFLATE_ENDED;
}
#else
static bool start_engine(struct engine *engine)
{
    return inflateInit(&engine->stream) == Z_OK;
}

static void stop_engine(struct engine *engine)
{
    inflateEnd(&engine->stream);
}

static void run_engine(struct engine *engine, struct portion *portion)
{
    z_stream *stream = &engine->stream;
    stream->next_in = (z_const Bytef *)portion->from;
    stream->avail_in = (uInt)portion->size;
    stream->next_out = portion->to;
    stream->avail_out = (uInt)portion->room;
    int outcome = inflate(stream, Z_NO_FLUSH);
    portion->used = portion->size - stream->avail_in;
    portion->made = portion->room - stream->avail_out;
    if (outcome == Z_STREAM_END)
        engine->state = PNG_INFLATE_ENDED;
    else if (outcome != Z_OK && outcome != Z_BUF_ERROR)
        damage(engine, stream->msg != NULL ? stream->msg : "invalid compressed data");
}
#endif

/* ---- pieces, by whoever inflates ---- */

/* Have a feed at hand; without one the belt tells whether any will come. */
static enum belt_outcome take_feed(struct png_inflater *inflater, bool waits)
{
    enum belt_outcome outcome;
    if (inflater->feed_taken)
        return BELT_TAKEN;
    outcome = waits ? belt_take(inflater->feed_belt, EATING, &inflater->feed)
                    : belt_try(inflater->feed_belt, EATING, &inflater->feed);
    inflater->feed_taken = outcome == BELT_TAKEN;
    inflater->feed_used = 0;
    return outcome;
}

static void leave_feed(struct png_inflater *inflater)
{
    inflater->feed_taken = false;
    inflater->feeds_eaten++;
    belt_hand_on(inflater->feed_belt, inflater->feed);
}

/* One call of the engine, with or without a feed. */
static void run(struct png_inflater *inflater, bool last_chance)
{
    const struct feed *feed = inflater->feed_taken ? &inflater->larder[inflater->feed] : NULL;
    struct portion portion = {
        .from = feed == NULL ? NULL : feed->bytes + inflater->feed_used,
        .size = feed == NULL ? 0 : feed->size - inflater->feed_used,
        .to = inflater->making + inflater->made,
        .room = PIECE_BYTES - inflater->made,
    };
    run_engine(&inflater->engine, &portion);
    inflater->feed_used += portion.used;
    inflater->made += portion.made;
    inflater->holds_back = inflater->made == PIECE_BYTES;
    if (inflater->engine.state == PNG_INFLATE_UNDER_WAY && last_chance)
        damage(&inflater->engine, "not enough image data");
    if (feed != NULL && inflater->feed_used == feed->size)
        leave_feed(inflater);
}

/* Go on with the piece until it is full, the stream is over, or there is nothing to eat. */
static void make(struct png_inflater *inflater)
{
    while (inflater->made < PIECE_BYTES && inflater->engine.state == PNG_INFLATE_UNDER_WAY) {
        enum belt_outcome feed = take_feed(inflater, false);
        if (feed == BELT_EMPTY && !inflater->holds_back)
            return;
        run(inflater, feed == BELT_FINISHED && !inflater->holds_back);
    }
}

/* What was made just before damage does not come out: whether a row of it is whole would depend on the
 * engine. */
static bool is_complete(const struct png_inflater *inflater)
{
    return inflater->made == PIECE_BYTES || inflater->engine.state == PNG_INFLATE_ENDED;
}

/* The bytes go out in exchange for those of an earlier piece, in whose place the next is made. */
static void put_out(struct png_inflater *inflater, size_t place)
{
    struct piece *piece = &inflater->pieces[place];
    piece->told =
        (struct png_inflate_piece){.state = inflater->engine.state, .damage = inflater->engine.damage};
    piece->feeds_eaten = inflater->feeds_eaten;
    if (is_complete(inflater)) {
        unsigned char *bytes = inflater->making;
        inflater->making = piece->buffer;
        piece->buffer = bytes;
        piece->told.bytes = bytes;
        piece->told.size = inflater->made;
        inflater->made = 0;
    }
    belt_hand_on(inflater->piece_belt, place);
}

/* Until the stream is over or nobody wants more of it. */
static void inflate_all(void *context, size_t first, size_t count, unsigned member)
{
    struct png_inflater *inflater = context;
    size_t place;
    (void)first;
    (void)count;
    (void)member;
    while (inflater->engine.state == PNG_INFLATE_UNDER_WAY &&
           belt_take(inflater->piece_belt, MAKING, &place) == BELT_TAKEN) {
        if (!inflater->holds_back && take_feed(inflater, true) == BELT_STOPPED)
            break;
        make(inflater);
        put_out(inflater, place);
    }
}

/* ---- the reader's side ---- */

unsigned char *png_inflater_room(struct png_inflater *inflater, size_t *size)
{
    if (!inflater->has_room)
        inflater->has_room = belt_try(inflater->feed_belt, FEEDING, &inflater->feeding) == BELT_TAKEN;
    *size = FEED_BYTES;
    return inflater->has_room ? inflater->larder[inflater->feeding].bytes : NULL;
}

void png_inflater_feed(struct png_inflater *inflater, size_t size)
{
    inflater->larder[inflater->feeding].size = size;
    inflater->has_room = false;
    inflater->feeds++;
    belt_hand_on(inflater->feed_belt, inflater->feeding);
}

void png_inflater_end(struct png_inflater *inflater)
{
    belt_finish(inflater->feed_belt);
}

static void give_back(struct png_inflater *inflater)
{
    if (inflater->has_piece)
        belt_hand_on(inflater->piece_belt, inflater->taken);
    inflater->has_piece = false;
}

static void make_by_itself(struct png_inflater *inflater)
{
    size_t place;
    if (belt_try(inflater->piece_belt, MAKING, &place) != BELT_TAKEN)
        return;
    make(inflater);
    put_out(inflater, place);
}

static bool is_over(const struct png_inflater *inflater)
{
    return inflater->last.told.state != PNG_INFLATE_UNDER_WAY;
}

static void take(struct png_inflater *inflater)
{
    if (!inflater->threaded)
        make_by_itself(inflater);
    inflater->has_piece = belt_take(inflater->piece_belt, TAKING, &inflater->taken) == BELT_TAKEN;
    inflater->last = inflater->pieces[inflater->taken];
}

struct png_inflate_piece png_inflater_take(struct png_inflater *inflater)
{
    give_back(inflater);
    if (is_over(inflater))
        inflater->last.told.size = 0;
    else
        take(inflater);
    if (inflater->last.told.state == PNG_INFLATE_ENDED && inflater->last.feeds_eaten < inflater->feeds)
        inflater->last.told.state = PNG_INFLATE_EXCESS;
    return inflater->last.told;
}

/* ---- beginning and end ---- */

static void share_room(struct png_inflater *inflater)
{
    inflater->making = inflater->room;
    for (size_t i = 0; i < PIECES; i++)
        inflater->pieces[i].buffer = inflater->room + (i + 1) * PIECE_BYTES;
}

static bool make_room(struct png_inflater *inflater, struct fault *fault)
{
    inflater->larder = mem_alloc(FEEDS, sizeof *inflater->larder, "inflating", fault);
    inflater->room = mem_alloc(PIECES + 1, PIECE_BYTES, "inflating", fault);
    if (inflater->larder == NULL || inflater->room == NULL ||
        !belt_create(&inflater->feed_belt, FEEDS, FEED_STATIONS, fault) ||
        !belt_create(&inflater->piece_belt, PIECES, PIECE_STATIONS, fault) ||
        !pool_create(&inflater->pool, 1, POOL_SMALL_STACKS, fault))
        return false;
    share_room(inflater);
    inflater->engine_started = start_engine(&inflater->engine);
    return inflater->engine_started || fault_raise(fault, STATUS_LIMIT, "not enough memory for inflating");
}

bool png_inflater_start(struct png_inflater **inflater, size_t threads, struct fault *fault)
{
    struct png_inflater *made = mem_zeroed(1, sizeof *made, "inflating", fault);
    if (made == NULL)
        return false;
    if (!make_room(made, fault)) {
        png_inflater_stop(made);
        return false;
    }
    made->threaded = threads > 1 && pool_start(made->pool, 1, inflate_all, made) == 1;
    *inflater = made;
    return true;
}

static void stop_thread(struct png_inflater *inflater)
{
    belt_stop(inflater->feed_belt);
    belt_stop(inflater->piece_belt);
    pool_join(inflater->pool);
}

void png_inflater_stop(struct png_inflater *inflater)
{
    if (inflater == NULL)
        return;
    if (inflater->threaded)
        stop_thread(inflater);
    if (inflater->engine_started)
        stop_engine(&inflater->engine);
    pool_destroy(inflater->pool);
    belt_destroy(inflater->feed_belt);
    belt_destroy(inflater->piece_belt);
    mem_free(inflater->larder);
    mem_free(inflater->room);
    mem_free(inflater);
}
