/* Unpacking: the code of gzip or zlib comes in, bytes go out. An engine follows the stream, strip by strip;
   it is spared those that others have inflated and that it would have begun where it rests. */
#include "unpack.h"

#include "base/checksum.h"
#include "base/mem.h"
#include "base/size.h"
#include "wrapping.h"

#include <string.h>
#include <zlib.h>

/* After so many wrong guesses in a row there are no more. */
enum { WRONG_MOST = 4 };

enum phase { HEAD, BODY, TAIL, OVER };

struct unpack {
    const char *name;
    enum inflate_wrapper wrapper;
    struct strips *strips;
    uint64_t done; /* bytes of code */

    struct strip strip; /* at hand */
    size_t used;        /* of its code */
    bool adopted;       /* what it was inflated to is taken over */
    size_t given;       /* bytes of that */
    unsigned wrong;     /* guesses in a row */

    enum phase phase;
    struct wrapping wrapping;
    bool begun; /* a byte of the head has come */
    bool ended; /* a stream has, with its tail */
    uint32_t checksum;
    uint64_t size; /* of what has been inflated */

    struct inflater *engine;
    bool is_behind;  /* strips were adopted since it ran */
    bool holds_back; /* it stopped for want of room */

    bool remembers; /* adopted strips may come */
    unsigned char window[INFLATE_WINDOW];
    size_t window_size;
};

static bool refuse(const struct unpack *unpack, const char *reason, struct fault *fault)
{
    return fault_raise_about(fault, STATUS_INPUT, unpack->name, "%s: %s",
                             unpack->wrapper == INFLATE_GZIP ? "gzip" : "zlib", reason);
}

/* ---- what has been inflated ---- */

/* The last bytes, which the engine may have to look back on. */
static void remember(struct unpack *unpack, const unsigned char *bytes, size_t size)
{
    size_t fresh = size_least(size, INFLATE_WINDOW);
    size_t kept = size_least(unpack->window_size, INFLATE_WINDOW - fresh);

    if (!unpack->remembers || size == 0)
        return;
    memmove(unpack->window, unpack->window + unpack->window_size - kept, kept);
    memcpy(unpack->window + kept, bytes + size - fresh, fresh);
    unpack->window_size = kept + fresh;
}

static void add_inflated(struct unpack *unpack, const unsigned char *bytes, size_t size)
{
    unpack->checksum = unpack->wrapper == INFLATE_GZIP ? checksum_crc(unpack->checksum, bytes, size)
                                                       : checksum_adler(unpack->checksum, bytes, size);
    unpack->size += size;
    remember(unpack, bytes, size);
}

static void add_adopted(struct unpack *unpack, const struct strip *strip)
{
    const z_off_t size = (z_off_t)strip->made;

    unpack->checksum = (uint32_t)(unpack->wrapper == INFLATE_GZIP
                                      ? crc32_combine(unpack->checksum, strip->checksum, size)
                                      : adler32_combine(unpack->checksum, strip->checksum, size));
    unpack->size += strip->made;
    remember(unpack, strip->plain, strip->made);
}

/* ---- from phase to phase ---- */

static void begin_head(struct unpack *unpack)
{
    unpack->phase = HEAD;
    unpack->begun = false;
    wrapping_begin_head(&unpack->wrapping);
}

static void begin_body(struct unpack *unpack)
{
    unpack->phase = BODY;
    unpack->checksum = unpack->wrapper == INFLATE_GZIP ? CHECKSUM_CRC : CHECKSUM_ADLER;
    unpack->size = 0;
    unpack->window_size = 0;
    unpack->is_behind = unpack->holds_back = false;
    inflater_restart(unpack->engine);
}

static bool take_head(struct unpack *unpack, unsigned char byte, struct fault *fault)
{
    unpack->begun = true;
    if (!wrapping_take_head(&unpack->wrapping, byte)) {
        if (unpack->wrapping.damage != NULL)
            return refuse(unpack, unpack->wrapping.damage, fault);
        begin_body(unpack);
    }
    return true;
}

static bool take_tail(struct unpack *unpack, unsigned char byte, struct fault *fault)
{
    if (!wrapping_take_tail(&unpack->wrapping, byte, unpack->checksum, unpack->size)) {
        if (unpack->wrapping.damage != NULL)
            return refuse(unpack, unpack->wrapping.damage, fault);
        unpack->ended = true;
        begin_head(unpack);
    }
    return true;
}

/* A byte outside the body. */
static bool take_byte(struct unpack *unpack, unsigned char byte, struct fault *fault)
{
    if (unpack->phase == TAIL)
        return take_tail(unpack, byte, fault);
    if (unpack->wrapper == INFLATE_ZLIB && unpack->ended)
        return refuse(unpack, "bytes follow its end", fault);
    return take_head(unpack, byte, fault);
}

/* The engine may have used bytes behind the body. */
static bool begin_tail(struct unpack *unpack, const unsigned char *excess, size_t count, struct fault *fault)
{
    unpack->phase = TAIL;
    wrapping_begin_tail(&unpack->wrapping);
    for (size_t i = 0; i < count; i++) {
        if (!take_byte(unpack, excess[i], fault))
            return false;
    }
    return true;
}

/* ---- strips ---- */

static void use(struct unpack *unpack, size_t size)
{
    unpack->used += size;
    unpack->done += size;
}

/* Whether what follows would be inflated as if a stream began there, but for what it can look back on. */
static bool rests(const struct unpack *unpack)
{
    return unpack->phase == BODY && (unpack->is_behind || inflater_rests(unpack->engine));
}

static void adopt(struct unpack *unpack)
{
    unpack->adopted = unpack->is_behind = true;
    unpack->given = 0;
    unpack->wrong = 0;
    add_adopted(unpack, &unpack->strip);
}

/* A strip that was inflated is adopted where the engine would begin it at rest. */
static void judge(struct unpack *unpack)
{
    const enum strip_outcome outcome = unpack->strip.outcome;

    if (outcome == STRIP_UNTRIED)
        return;
    if (outcome != STRIP_FAILED && rests(unpack))
        adopt(unpack);
    else if (++unpack->wrong == WRONG_MOST)
        strips_give_up(unpack->strips);
}

static bool next_strip(struct unpack *unpack, struct fault *fault)
{
    if (unpack->strip.marked && rests(unpack))
        strips_spread(unpack->strips);
    if (!strips_next(unpack->strips, &unpack->strip, fault))
        return false;
    unpack->used = 0;
    if (unpack->strip.size > 0) {
        judge(unpack);
        return true;
    }
    if (!unpack->ended || unpack->phase != HEAD || unpack->begun)
        return refuse(unpack, "it ends early", fault);
    unpack->phase = OVER;
    return true;
}

/* ---- bytes ---- */

static bool give_adopted(struct unpack *unpack, unsigned char *bytes, size_t room, size_t *given,
                         struct fault *fault)
{
    const struct strip *strip = &unpack->strip;

    *given = size_least(room, strip->made - unpack->given);
    memcpy(bytes, strip->plain + unpack->given, *given);
    unpack->given += *given;
    if (unpack->given < strip->made)
        return true;
    unpack->adopted = false;
    use(unpack, strip->used);
    return strip->outcome == STRIP_WHOLE || begin_tail(unpack, NULL, 0, fault);
}

static void let_engine_catch_up(struct unpack *unpack)
{
    if (unpack->is_behind)
        inflater_go_on(unpack->engine, unpack->window, unpack->window_size);
    unpack->is_behind = false;
}

static bool inflate_here(struct unpack *unpack, unsigned char *bytes, size_t room, size_t *made,
                         struct fault *fault)
{
    struct inflate_portion portion = {.from = unpack->strip.code + unpack->used,
                                      .size = unpack->strip.size - unpack->used,
                                      .to = bytes,
                                      .room = room};
    unsigned char excess[INFLATE_EXCESS];
    enum inflate_progress progress;

    let_engine_catch_up(unpack);
    progress = inflater_run(unpack->engine, &portion);
    use(unpack, portion.used);
    add_inflated(unpack, bytes, portion.made);
    *made = portion.made;
    unpack->holds_back = portion.made == room;
    if (progress == INFLATE_DAMAGED)
        return refuse(unpack, inflater_damage(unpack->engine), fault);
    return progress == INFLATE_UNDER_WAY ||
           begin_tail(unpack, excess, inflater_excess(unpack->engine, excess), fault);
}

static bool take_next_byte(struct unpack *unpack, struct fault *fault)
{
    const unsigned char byte = unpack->strip.code[unpack->used];

    use(unpack, 1);
    return take_byte(unpack, byte, fault);
}

static bool step(struct unpack *unpack, unsigned char *bytes, size_t room, size_t *made, struct fault *fault)
{
    const bool holds_back = unpack->phase == BODY && unpack->holds_back;

    *made = 0;
    if (unpack->adopted)
        return give_adopted(unpack, bytes, room, made, fault);
    if (unpack->used == unpack->strip.size && !holds_back)
        return next_strip(unpack, fault);
    return unpack->phase == BODY ? inflate_here(unpack, bytes, room, made, fault)
                                 : take_next_byte(unpack, fault);
}

bool unpack_read(struct unpack *unpack, void *bytes, size_t size, size_t *got, struct fault *fault)
{
    size_t made;

    for (*got = 0; *got < size && unpack->phase != OVER; *got += made) {
        if (!step(unpack, (unsigned char *)bytes + *got, size - *got, &made, fault))
            return false;
    }
    return true;
}

uint64_t unpack_held(const struct unpack *unpack)
{
    return strips_fetched(unpack->strips) - unpack->done;
}

/* ---- beginning and end ---- */

bool unpack_open(struct unpack **unpack, enum inflate_wrapper wrapper, size_t threads, const char *name,
                 strips_fetch *fetch, void *context, struct fault *fault)
{
    struct unpack *made = mem_zeroed(1, sizeof *made, "decompressing", fault);

    if (made == NULL)
        return false;
    made->name = name;
    made->wrapper = made->wrapping.wrapper = wrapper;
    made->remembers = threads > 1;
    begin_head(made);
    if (!strips_create(&made->strips, wrapper, threads, fetch, context, fault) ||
        !inflater_create(&made->engine, INFLATE_BARE, fault)) {
        unpack_close(made);
        return false;
    }
    *unpack = made;
    return true;
}

void unpack_close(struct unpack *unpack)
{
    if (unpack == NULL)
        return;
    strips_free(unpack->strips);
    inflater_free(unpack->engine);
    mem_free(unpack);
}
