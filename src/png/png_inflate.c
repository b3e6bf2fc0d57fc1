/* Inflating a PNG's image data beside its reader: deflated bytes in, pieces of inflated ones out. What is fed
   goes round on one queue, what comes of it on another; the engine belongs to the thread that inflates. */
#include "png_inflate.h"

#include "base/work_queue.h"
#include "base/inflate.h"
#include "base/mem.h"
#include "base/pool.h"

enum { FEED_BYTES = 64 << 10, FEEDS = 4, PIECE_BYTES = 64 << 10, PIECES = 4 };

/* Phases of the queues. */
enum { FEEDING, EATING, FEED_PHASES };
enum { MAKING, TAKING, PIECE_PHASES };

struct feed {
    unsigned char bytes[FEED_BYTES];
    size_t size;
};

struct piece {
    struct png_inflate_piece told;
    unsigned char *buffer;
    size_t feeds_eaten; /* before its end */
};

struct png_inflater {
    struct pool *pool;
    bool threaded; /* else the caller inflates */

    /* Of whoever inflates. */
    struct inflater *engine;
    enum png_inflate_state state;
    const char *damage;
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

    struct work_queue *feed_queue, *piece_queue;
    struct feed *larder;
    struct piece pieces[PIECES];
    unsigned char *room; /* for the bytes of all pieces and of the one that is being made */
};

static void damage(struct png_inflater *inflater, const char *how)
{
    inflater->state = PNG_INFLATE_DAMAGED;
    inflater->damage = how;
}

/* ---- pieces, by whoever inflates ---- */

/* Have a feed at hand; without one the queue tells whether any will come. */
static enum work_queue_outcome take_feed(struct png_inflater *inflater, bool waits)
{
    enum work_queue_outcome outcome;
    if (inflater->feed_taken)
        return WORK_QUEUE_TAKEN;
    outcome = waits ? work_queue_take(inflater->feed_queue, EATING, &inflater->feed)
                    : work_queue_try(inflater->feed_queue, EATING, &inflater->feed);
    inflater->feed_taken = outcome == WORK_QUEUE_TAKEN;
    inflater->feed_used = 0;
    return outcome;
}

static void leave_feed(struct png_inflater *inflater)
{
    inflater->feed_taken = false;
    inflater->feeds_eaten++;
    work_queue_pass_on(inflater->feed_queue, inflater->feed);
}

/* One call of the engine, with or without a feed. */
static void run(struct png_inflater *inflater, bool last_chance)
{
    const struct feed *feed = inflater->feed_taken ? &inflater->larder[inflater->feed] : NULL;
    struct inflate_portion portion = {
        .from = feed == NULL ? NULL : feed->bytes + inflater->feed_used,
        .size = feed == NULL ? 0 : feed->size - inflater->feed_used,
        .to = inflater->making + inflater->made,
        .room = PIECE_BYTES - inflater->made,
    };
    enum inflate_progress progress = inflater_run(inflater->engine, &portion);
    inflater->feed_used += portion.used;
    inflater->made += portion.made;
    inflater->holds_back = inflater->made == PIECE_BYTES;
    if (progress == INFLATE_ENDED)
        inflater->state = PNG_INFLATE_ENDED;
    else if (progress == INFLATE_DAMAGED)
        damage(inflater, inflater_damage(inflater->engine));
    else if (last_chance)
        damage(inflater, "not enough image data");
    if (feed != NULL && inflater->feed_used == feed->size)
        leave_feed(inflater);
}

/* Go on with the piece until it is full, the stream is over, there is nothing to eat, or nobody wants it. */
static void make(struct png_inflater *inflater)
{
    while (inflater->made < PIECE_BYTES && inflater->state == PNG_INFLATE_UNDER_WAY) {
        enum work_queue_outcome feed = take_feed(inflater, false);
        if (feed == WORK_QUEUE_STOPPED || (feed == WORK_QUEUE_EMPTY && !inflater->holds_back))
            return;
        run(inflater, feed == WORK_QUEUE_FINISHED && !inflater->holds_back);
    }
}

/* What was made just before damage does not come out: whether a row of it is whole would depend on the
 * engine. */
static bool is_complete(const struct png_inflater *inflater)
{
    return inflater->made == PIECE_BYTES || inflater->state == PNG_INFLATE_ENDED;
}

/* The bytes go out in exchange for those of an earlier piece, in whose place the next is made. */
static void put_out(struct png_inflater *inflater, size_t place)
{
    struct piece *piece = &inflater->pieces[place];
    piece->told = (struct png_inflate_piece){.state = inflater->state, .damage = inflater->damage};
    piece->feeds_eaten = inflater->feeds_eaten;
    if (is_complete(inflater)) {
        unsigned char *bytes = inflater->making;
        inflater->making = piece->buffer;
        piece->buffer = bytes;
        piece->told.bytes = bytes;
        piece->told.size = inflater->made;
        inflater->made = 0;
    }
    work_queue_pass_on(inflater->piece_queue, place);
}

/* Until the stream is over or nobody wants more of it. */
static void inflate_all(void *context, size_t first, size_t count, unsigned member)
{
    struct png_inflater *inflater = context;
    size_t place;
    (void)first;
    (void)count;
    (void)member;
    while (inflater->state == PNG_INFLATE_UNDER_WAY &&
           work_queue_take(inflater->piece_queue, MAKING, &place) == WORK_QUEUE_TAKEN) {
        if (!inflater->holds_back && take_feed(inflater, true) == WORK_QUEUE_STOPPED)
            break;
        make(inflater);
        put_out(inflater, place);
    }
}

/* ---- the reader's side ---- */

unsigned char *png_inflater_room(struct png_inflater *inflater, size_t *size)
{
    if (!inflater->has_room)
        inflater->has_room =
            work_queue_try(inflater->feed_queue, FEEDING, &inflater->feeding) == WORK_QUEUE_TAKEN;
    *size = FEED_BYTES;
    return inflater->has_room ? inflater->larder[inflater->feeding].bytes : NULL;
}

void png_inflater_feed(struct png_inflater *inflater, size_t size)
{
    inflater->larder[inflater->feeding].size = size;
    inflater->has_room = false;
    inflater->feeds++;
    work_queue_pass_on(inflater->feed_queue, inflater->feeding);
}

void png_inflater_end(struct png_inflater *inflater)
{
    work_queue_finish(inflater->feed_queue);
}

static void give_back(struct png_inflater *inflater)
{
    if (inflater->has_piece)
        work_queue_pass_on(inflater->piece_queue, inflater->taken);
    inflater->has_piece = false;
}

static void make_by_itself(struct png_inflater *inflater)
{
    size_t place;
    if (work_queue_try(inflater->piece_queue, MAKING, &place) != WORK_QUEUE_TAKEN)
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
    inflater->has_piece =
        work_queue_take(inflater->piece_queue, TAKING, &inflater->taken) == WORK_QUEUE_TAKEN;
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
        !work_queue_create(&inflater->feed_queue, FEEDS, FEED_PHASES, fault) ||
        !work_queue_create(&inflater->piece_queue, PIECES, PIECE_PHASES, fault) ||
        !pool_create(&inflater->pool, 1, POOL_SMALL_STACKS, fault))
        return false;
    share_room(inflater);
    return inflater_create(&inflater->engine, INFLATE_ZLIB, fault);
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
    work_queue_stop(inflater->feed_queue);
    work_queue_stop(inflater->piece_queue);
    pool_join(inflater->pool);
}

void png_inflater_stop(struct png_inflater *inflater)
{
    if (inflater == NULL)
        return;
    if (inflater->threaded)
        stop_thread(inflater);
    inflater_free(inflater->engine);
    pool_destroy(inflater->pool);
    work_queue_destroy(inflater->feed_queue);
    work_queue_destroy(inflater->piece_queue);
    mem_free(inflater->larder);
    mem_free(inflater->room);
    mem_free(inflater);
}
