/* The image data of a PNG file. libpng would read and inflate its IDAT chunks on the calling thread alone, so
   it sees one empty IDAT chunk in their place, and they are read here. The caller checks their checksums and
   puts their bytes into feeds, which a queue carries to the thread that inflates. What that makes comes back
   through a second queue, in pieces of 64 KiB; the caller copies rows out of them. If no thread can be had,
   the caller inflates a piece whenever it needs one. The engine (base/inflate.h) belongs to whoever inflates;
   errors are raised by the caller, as libpng words them, once it has come to the piece that they follow. */
#include "png_image_data.h"

#include "base/checksum.h"
#include "base/inflate.h"
#include "base/mem.h"
#include "base/threads.h"
#include "base/work_queue.h"
#include "png_error.h"

#include <string.h>

/* Four of each let either side be a little ahead of the other. */
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

    /* Only whoever inflates touches these. */
    struct inflater *engine;
    enum png_inflate_state state;
    const char *damage;
    bool feed_taken;
    size_t feed, feed_used; /* the one at hand, and bytes of it that are done with */
    size_t feeds_eaten;
    unsigned char *making; /* the piece that is being made */
    size_t made;           /* bytes of it */
    bool holds_back;       /* the engine stopped for want of room, and may have more without being fed */

    /* Only the caller touches these. */
    size_t feeding; /* where there is room */
    bool has_room;
    size_t feeds;
    size_t taken; /* the piece that it has */
    bool has_piece;
    struct piece last;

    /* Both sides have these: whoever has taken a feed or a piece is the only one to touch it. */
    struct work_queue *feed_queue, *piece_queue;
    struct feed *larder;
    struct piece pieces[PIECES];
    unsigned char *room; /* for the bytes of all pieces and of the one that is being made */
};

enum { TYPE_AT = 4, TYPE_BYTES = 4, CHECKSUM_BYTES = 4 };

bool png_image_data_is_head(png_const_bytep head)
{
    return memcmp(head + TYPE_AT, "IDAT", TYPE_BYTES) == 0;
}

/* ---- the file's chunks ---- */

static void enter_chunk(struct png_image_data *data, png_structp png, png_const_bytep head)
{
    /* A chunk's checksum covers its type and its bytes. */
    data->left = png_get_uint_31(png, head);
    data->checksum = checksum_crc(CHECKSUM_CRC, head + TYPE_AT, TYPE_BYTES);
}

static void leave_chunk(struct png_image_data *data, png_structp png)
{
    unsigned char checksum[CHECKSUM_BYTES];
    data->read(png, checksum, sizeof checksum);
    if (png_get_uint_32(checksum) != data->checksum)
        png_chunk_error(png, "CRC error");
    data->read(png, data->head, sizeof data->head);
    if (png_image_data_is_head(data->head))
        enter_chunk(data, png, data->head);
    else
        data->file_is_past = true;
}

/* The next bytes of the file's image data; fewer than there is room for only when these are the last. */
static size_t read_data(struct png_image_data *data, png_structp png, unsigned char *to, size_t room)
{
    size_t got = 0;
    while (got < room && !data->file_is_past) {
        size_t part = data->left < room - got ? data->left : room - got;
        data->read(png, to + got, part);
        data->checksum = checksum_crc(data->checksum, to + got, part);
        data->left -= part;
        got += part;
        if (data->left == 0)
            leave_chunk(data, png);
    }
    return got;
}

/* ---- inflating, by the thread or the caller ---- */

static void damage(struct png_inflater *inflater, const char *how)
{
    inflater->state = PNG_INFLATE_DAMAGED;
    inflater->damage = how;
}

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
    /* The engine may have more for a full piece than it could put there; then the next call needs no feed. */
    inflater->holds_back = inflater->made == PIECE_BYTES;
    if (progress == INFLATE_ENDED)
        inflater->state = PNG_INFLATE_ENDED;
    else if (progress == INFLATE_DAMAGED)
        damage(inflater, inflater_damage(inflater->engine));
    else if (last_chance)
        damage(inflater, "not enough image data");
    if (feed != NULL && inflater->feed_used == feed->size) {
        inflater->feed_taken = false;
        inflater->feeds_eaten++;
        work_queue_pass_on(inflater->feed_queue, inflater->feed);
    }
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

/* The bytes go out in exchange for those of an earlier piece, in whose place the next is made. */
static void put_out(struct png_inflater *inflater, size_t place)
{
    struct piece *piece = &inflater->pieces[place];
    piece->told = (struct png_inflate_piece){.state = inflater->state, .damage = inflater->damage};
    piece->feeds_eaten = inflater->feeds_eaten;
    /* The bytes made just before damage do not come out: whether a row of it is whole would depend on the
       engine. */
    if (inflater->made == PIECE_BYTES || inflater->state == PNG_INFLATE_ENDED) {
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

/* ---- beginning and end of inflating ---- */

static bool make_room(struct png_inflater *inflater, struct fault *fault)
{
    inflater->larder = mem_alloc(FEEDS, sizeof *inflater->larder, "inflating", fault);
    inflater->room = mem_alloc(PIECES + 1, PIECE_BYTES, "inflating", fault);
    if (inflater->larder == NULL || inflater->room == NULL ||
        !work_queue_create(&inflater->feed_queue, FEEDS, FEED_PHASES, fault) ||
        !work_queue_create(&inflater->piece_queue, PIECES, PIECE_PHASES, fault) ||
        !pool_create(&inflater->pool, 1, THREAD_SMALL_STACK, fault))
        return false;
    inflater->making = inflater->room;
    for (size_t i = 0; i < PIECES; i++)
        inflater->pieces[i].buffer = inflater->room + (i + 1) * PIECE_BYTES;
    return inflater_create(&inflater->engine, INFLATE_ZLIB, fault);
}

static void stop(struct png_inflater *inflater)
{
    if (inflater == NULL)
        return;
    if (inflater->threaded) {
        work_queue_stop(inflater->feed_queue);
        work_queue_stop(inflater->piece_queue);
        pool_join(inflater->pool);
    }
    inflater_free(inflater->engine);
    pool_destroy(inflater->pool);
    work_queue_destroy(inflater->feed_queue);
    work_queue_destroy(inflater->piece_queue);
    mem_free(inflater->larder);
    mem_free(inflater->room);
    mem_free(inflater);
}

static bool start(struct png_inflater **inflater, size_t threads, struct fault *fault)
{
    struct png_inflater *made = mem_zeroed(1, sizeof *made, "inflating", fault);
    if (made == NULL)
        return false;
    /* The queues, the engine and the thread are made when the first row is asked for: a file that is refused
       for its header needs none of them. */
    if (!make_room(made, fault)) {
        stop(made);
        return false;
    }
    made->threaded = threads > 1 && pool_start(made->pool, 1, inflate_all, made) == 1;
    *inflater = made;
    return true;
}

/* ---- the reader's side ---- */

/* Put the file's data into every feed that is free. */
static void read_ahead(struct png_image_data *data, png_structp png)
{
    struct png_inflater *inflater = data->inflater;
    while (!data->file_is_past &&
           (inflater->has_room ||
            work_queue_try(inflater->feed_queue, FEEDING, &inflater->feeding) == WORK_QUEUE_TAKEN)) {
        struct feed *feed = &inflater->larder[inflater->feeding];
        inflater->has_room = true;
        /* The file may end in an empty chunk. A feed without bytes is not passed on, but kept for the next
           data. */
        feed->size = read_data(data, png, feed->bytes, FEED_BYTES);
        if (feed->size > 0) {
            inflater->has_room = false;
            inflater->feeds++;
            work_queue_pass_on(inflater->feed_queue, inflater->feeding);
        }
        if (data->file_is_past)
            work_queue_finish(inflater->feed_queue);
    }
}

static void take(struct png_inflater *inflater)
{
    size_t place;
    /* As the thread would, but without waiting: feeds that are missing come with the next call. */
    if (!inflater->threaded && work_queue_try(inflater->piece_queue, MAKING, &place) == WORK_QUEUE_TAKEN) {
        make(inflater);
        put_out(inflater, place);
    }
    inflater->has_piece =
        work_queue_take(inflater->piece_queue, TAKING, &inflater->taken) == WORK_QUEUE_TAKEN;
    inflater->last = inflater->pieces[inflater->taken];
}

static struct png_inflate_piece take_piece(struct png_inflater *inflater)
{
    if (inflater->has_piece)
        work_queue_pass_on(inflater->piece_queue, inflater->taken);
    inflater->has_piece = false;
    if (inflater->last.told.state != PNG_INFLATE_UNDER_WAY)
        inflater->last.told.size = 0;
    else
        take(inflater);
    /* A feed counts as eaten only when all of its bytes are used, so a single byte behind the stream shows
       here. */
    if (inflater->last.told.state == PNG_INFLATE_ENDED && inflater->last.feeds_eaten < inflater->feeds)
        inflater->last.told.state = PNG_INFLATE_EXCESS;
    return inflater->last.told;
}

/* The next piece that has bytes; false after the last. */
static bool fetch(struct png_image_data *data, png_structp png)
{
    /* Feeds first: without a thread, the piece is made from them in this very call. */
    do {
        read_ahead(data, png);
        data->piece = take_piece(data->inflater);
        data->piece_used = 0;
        if (data->piece.state == PNG_INFLATE_DAMAGED)
            png_chunk_error(png, data->piece.damage);
    } while (data->piece.size == 0 && data->piece.state == PNG_INFLATE_UNDER_WAY);
    return data->piece.size > 0;
}

void png_image_data_inflate(struct png_image_data *data, png_structp png, unsigned char *bytes, size_t size,
                            struct fault *fault)
{
    if (data->inflater == NULL && !start(&data->inflater, data->threads, fault))
        png_error_leave(png);
    while (size > 0) {
        if (data->piece_used == data->piece.size && !fetch(data, png))
            png_error(png, "Not enough image data");
        size_t left = data->piece.size - data->piece_used, part = left < size ? left : size;
        memcpy(bytes, data->piece.bytes + data->piece_used, part);
        data->piece_used += part;
        bytes += part;
        size -= part;
    }
}

void png_image_data_end(struct png_image_data *data, png_structp png)
{
    bool excess = data->piece_used < data->piece.size;
    while (data->piece.state == PNG_INFLATE_UNDER_WAY)
        excess = fetch(data, png) || excess;
    if (excess)
        png_chunk_error(png, "Too much image data");
}

/* ---- what libpng sees ---- */

void png_image_data_begin(struct png_image_data *data, png_structp png, png_bytep head)
{
    /* The CRC of the four bytes "IDAT". libpng sees a length of 0, the type, then this checksum. */
    static const unsigned char empty_checksum[CHECKSUM_BYTES] = {0x35, 0xaf, 0x06, 0x1e};
    enter_chunk(data, png, head);
    data->begun = true;
    memset(head, 0, TYPE_AT);
    data->next = empty_checksum;
    data->available = sizeof empty_checksum;
}

void png_image_data_give(struct png_image_data *data, png_bytep bytes, size_t size)
{
    size_t part = data->available < size ? data->available : size;
    memcpy(bytes, data->next, part);
    data->next += part;
    data->available -= part;
}

/* libpng goes on with the head of the chunk behind the image, which has been read already. */
void png_image_data_leave(struct png_image_data *data, png_structp png)
{
    unsigned char byte;
    if (data->piece.state == PNG_INFLATE_EXCESS || read_data(data, png, &byte, 1) > 0)
        png_chunk_error(png, "extra compressed data");
    data->next = data->head;
    data->available = sizeof data->head;
}

void png_image_data_release(struct png_image_data *data)
{
    stop(data->inflater);
}
