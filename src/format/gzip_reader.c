/* Reading of gzip and zlib streams, by several threads where that is possible.

   One engine inflates the stream in order and decides what is damaged. A stream of gzip_writer.h consists of
   strips that end in a mark and refer to nothing before them. Once the engine stands between two blocks at a
   mark, what follows is cut at marks, and all threads inflate these strips, each as if a stream began there
   (inflate_ahead). That is a guess: bytes that look like a mark may stand anywhere. A strip that was inflated
   is adopted if the engine would begin it between two blocks, and then the engine is spared it; otherwise the
   engine inflates the strip itself. After some wrong guesses in a row no more are made. */
#include "gzip_reader.h"

#include "base/checksum.h"
#include "base/mem.h"
#include "base/size.h"
#include "base/work_queue.h"
#include "gzip_writer.h"

#include <string.h>
#include <zlib.h>

enum { PORTION_BYTES = 64 << 10, THREADS_MOST = 16, STRIPS_A_THREAD = 2, STRIPS_MOST = 32, WRONG_MOST = 4 };
_Static_assert(STRIPS_MOST == STRIPS_A_THREAD * THREADS_MOST, "room for the strips of all threads");

/* Strips that deflating does not shrink take a little more; and an engine must find room left at the end. */
#define CODE_MOST  (GZIP_STRIP_BYTES + GZIP_STRIP_BYTES / 64)
#define PLAIN_MOST (GZIP_STRIP_BYTES + PORTION_BYTES)

/* The outcome of inflating a strip by itself. */
enum outcome {
    UNTRIED,
    FAILED, /* it does not stand alone, or is damaged */
    WHOLE,  /* it ends where a block does */
    ENDED   /* the stream ends within it */
};

struct strip {
    unsigned char *code, *plain;
    size_t size;       /* of the code; 0 at its end */
    bool ends_in_mark; /* so that a strip may follow */
    bool follows_mark; /* so that inflating it ahead is worth a try */
    enum outcome outcome;
    size_t used, made; /* bytes of the code, of which the stream has no more; and what they became */
    uint32_t checksum; /* of what was made */
};

struct gzip_reader {
    const char *name;
    enum inflate_wrapper wrapper;
    gzip_reader_fetch *fetch;
    void *context;
    size_t threads;

    unsigned char *portion; /* fetched, and cut into strips from portion_begin on */
    size_t portion_begin, portion_end;
    uint64_t fetched, done; /* bytes of code: all, and those that were used */
    bool cut_at_mark;       /* the last strip was */
    bool gave_up;           /* no more guesses */
    unsigned wrong;         /* guesses in a row */

    struct strip alone;               /* of the caller, while there is no ordered work */
    struct strip strips[STRIPS_MOST]; /* of the ordered work */
    struct ordered_work *ordered;
    struct inflater *engines[THREADS_MOST];
    size_t under_way; /* strips that were put into the ordered work and not taken */
    size_t place;     /* of the strip at hand, or STRIPS_MOST */
    bool all_cut;

    const struct strip *strip; /* at hand */
    size_t at;                 /* in its code */
    bool adopted;              /* what it was inflated to is taken over, */
    size_t given;              /* bytes of which were given */
    uint64_t made_ahead;

    enum { HEAD, BODY, TAIL, OVER } phase;
    bool ended; /* a stream has, with its tail */
    uint32_t checksum;
    uint64_t size;                             /* of what the stream has become */
    unsigned char excess[INFLATE_UNUSED_MOST]; /* behind the body, which the engine has used */
    size_t excess_at, excess_end;

    struct inflater *engine;
    bool is_behind;                       /* strips were adopted since it ran */
    bool holds_back;                      /* it stopped for want of room */
    unsigned char window[INFLATE_WINDOW]; /* what it may look back on, if strips may be adopted */
    size_t window_size;
};

static bool refuse(const struct gzip_reader *reader, const char *reason, struct fault *fault)
{
    return fault_set_for(fault, STATUS_INPUT, reader->name, "%s: %s",
                         reader->wrapper == INFLATE_GZIP ? "gzip" : "zlib", reason);
}

static uint32_t empty_checksum(const struct gzip_reader *reader)
{
    return reader->wrapper == INFLATE_GZIP ? CHECKSUM_CRC : CHECKSUM_ADLER;
}

static uint32_t add_to_checksum(const struct gzip_reader *reader, uint32_t sum, const void *bytes,
                                size_t size)
{
    return reader->wrapper == INFLATE_GZIP ? checksum_crc(sum, bytes, size)
                                           : checksum_adler(sum, bytes, size);
}

/* ---- strips that are inflated ahead of their turn ---- */

/* Where the first mark that begins at `from` or later ends; 0: there is none. It is found by the first byte
   of its second half; the next one is three bytes behind at least. */
static size_t end_of_mark(const unsigned char *code, size_t from, size_t size)
{
    const size_t half = GZIP_MARK_SIZE / 2;
    size_t at = from + half;

    while (at + half <= size) {
        const unsigned char *found = memchr(code + at, GZIP_MARK[half], size - half + 1 - at);
        if (found == NULL)
            return 0;
        if (memcmp(found - half, GZIP_MARK, GZIP_MARK_SIZE) == 0)
            return (size_t)(found - code) + half;
        at = (size_t)(found - code) + half + 1;
    }
    return 0;
}

/* Fill a strip with code: up to a mark, or `most` bytes of it. */
static bool cut(struct gzip_reader *reader, struct strip *strip, size_t most, struct fault *fault)
{
    *strip = (struct strip){
        .code = strip->code, .plain = strip->plain, .follows_mark = reader->cut_at_mark && !reader->gave_up};
    while (!strip->ends_in_mark && strip->size < most) {
        size_t before = strip->size, taken, end = 0;
        if (reader->portion_begin == reader->portion_end) {
            reader->portion_begin = reader->portion_end = 0;
            if (!reader->fetch(reader->context, reader->portion, PORTION_BYTES, &reader->portion_end, fault))
                return false;
            if (reader->portion_end == 0)
                break;
            reader->fetched += reader->portion_end;
        }
        taken = size_least(most - before, reader->portion_end - reader->portion_begin);
        memcpy(strip->code + before, reader->portion + reader->portion_begin, taken);
        /* A mark may begin in the bytes that were there before. */
        if (reader->threads > 1)
            end = end_of_mark(strip->code, before < GZIP_MARK_SIZE ? 0 : before - GZIP_MARK_SIZE + 1,
                              before + taken);
        strip->ends_in_mark = end != 0;
        strip->size = end != 0 ? end : before + taken;
        reader->portion_begin += strip->size - before;
    }
    reader->cut_at_mark = strip->ends_in_mark;
    return true;
}

/* A worker inflates a strip as if a stream began there. Whether the guess was right shows only when the
   engine comes to it (next_strip). */
static void inflate_ahead(void *context, size_t place, unsigned worker)
{
    struct gzip_reader *reader = context;
    struct inflater *engine = reader->engines[worker];
    struct strip *strip = &reader->strips[place];
    unsigned char excess[INFLATE_UNUSED_MOST];
    struct inflate_portion portion;
    enum inflate_progress progress;

    if (!strip->follows_mark)
        return;
    inflater_restart(engine);
    do {
        portion = (struct inflate_portion){.from = strip->code + strip->used,
                                           .size = strip->size - strip->used,
                                           .to = strip->plain + strip->made,
                                           .room = PLAIN_MOST - strip->made};
        progress = inflater_run(engine, &portion);
        strip->used += portion.used;
        strip->made += portion.made;
    } while (progress == INFLATE_UNDER_WAY && portion.used + portion.made > 0 && strip->used < strip->size);
    /* A strip counts if it ends with the stream, or between two blocks with all its code used. */
    strip->outcome = FAILED;
    if (progress == INFLATE_ENDED) {
        strip->outcome = ENDED;
        strip->used -= inflater_unused_input(engine, excess);
    } else if (progress == INFLATE_UNDER_WAY && strip->used == strip->size && inflater_at_boundary(engine)) {
        strip->outcome = WHOLE;
    }
    if (strip->outcome != FAILED)
        strip->checksum = add_to_checksum(reader, empty_checksum(reader), strip->plain, strip->made);
}

/* Memory and engines for strips that are inflated ahead, and the threads that do it. */
static bool make_ordered_work(struct gzip_reader *reader, struct fault *fault)
{
    const size_t count = STRIPS_A_THREAD * reader->threads;

    for (size_t i = 0; i < count; i++) {
        struct strip *strip = &reader->strips[i];
        strip->code = mem_alloc(CODE_MOST, 1, "decompressing", fault);
        strip->plain = mem_alloc(PLAIN_MOST, 1, "decompressing", fault);
        if (strip->code == NULL || strip->plain == NULL)
            return false;
    }
    for (size_t i = 0; i < reader->threads; i++) {
        if (!inflater_create(&reader->engines[i], INFLATE_BARE, fault))
            return false;
    }
    return ordered_work_open(&reader->ordered, count, (unsigned)reader->threads, inflate_ahead, reader,
                             fault) &&
           ordered_work_threads(reader->ordered) > 0;
}

/* End the threads before what they use is released. */
static void free_ordered_work(struct gzip_reader *reader)
{
    ordered_work_close(reader->ordered);
    reader->ordered = NULL;
    for (size_t i = 0; i < THREADS_MOST; i++) {
        inflater_free(reader->engines[i]);
        reader->engines[i] = NULL;
    }
    for (size_t i = 0; i < STRIPS_MOST; i++) {
        mem_free(reader->strips[i].code);
        mem_free(reader->strips[i].plain);
        reader->strips[i] = (struct strip){.code = NULL};
    }
}

/* Strips do stand alone here: have all threads inflate those to come. Without memory for it the engine goes
 * on alone. */
static void spread(struct gzip_reader *reader)
{
    struct fault unheard;

    if (reader->threads == 1 || reader->ordered != NULL || reader->gave_up ||
        make_ordered_work(reader, &unheard))
        return;
    free_ordered_work(reader);
    reader->gave_up = true;
}

/* Give the ordered work all the strips that it has room for, and take the oldest one back. */
static bool take_strip(struct gzip_reader *reader, struct fault *fault)
{
    size_t place;

    if (reader->place < STRIPS_MOST)
        ordered_work_vacate(reader->ordered, reader->place);
    reader->place = STRIPS_MOST;
    /* Fill all free places, so that the threads have work. */
    while (!reader->all_cut && ordered_work_claim(reader->ordered, &place)) {
        if (!cut(reader, &reader->strips[place], CODE_MOST, fault))
            return false;
        reader->all_cut = reader->strips[place].size == 0;
        if (reader->all_cut)
            break;
        reader->under_way++;
        ordered_work_put(reader->ordered, place);
    }
    reader->alone.size = 0;
    reader->strip = &reader->alone;
    if (reader->under_way == 0)
        return true;
    reader->under_way--;
    reader->place = ordered_work_take(reader->ordered);
    reader->strip = &reader->strips[reader->place];
    return true;
}

/* ---- the stream in order ---- */

/* Whether the engine would inflate what follows as if a stream began there, but for what it can look
   back on. */
static bool rests(const struct gzip_reader *reader)
{
    return reader->phase == BODY && (reader->is_behind || inflater_at_boundary(reader->engine));
}

/* Keep the last bytes, which the engine may have to look back on. */
static void remember(struct gzip_reader *reader, const unsigned char *bytes, size_t size)
{
    size_t fresh = size_least(size, INFLATE_WINDOW);
    size_t kept = size_least(reader->window_size, INFLATE_WINDOW - fresh);

    reader->size += size;
    if (reader->threads == 1 || size == 0)
        return;
    memmove(reader->window, reader->window + reader->window_size - kept, kept);
    memcpy(reader->window + kept, bytes + size - fresh, fresh);
    reader->window_size = kept + fresh;
}

/* Take over what a strip was inflated to: its checksum joins that of the stream, and its end is what the
   engine may look back on. */
static void adopt(struct gzip_reader *reader)
{
    const struct strip *strip = reader->strip;
    const z_off_t size = (z_off_t)strip->made;

    reader->adopted = reader->is_behind = true;
    reader->given = 0;
    reader->wrong = 0;
    reader->checksum = (uint32_t)(reader->wrapper == INFLATE_GZIP
                                      ? crc32_combine(reader->checksum, strip->checksum, size)
                                      : adler32_combine(reader->checksum, strip->checksum, size));
    remember(reader, strip->plain, strip->made);
}

/* Take the next strip, of size 0 at the end of the code. If it was inflated ahead, it is adopted or counts as
   a wrong guess. */
static bool next_strip(struct gzip_reader *reader, struct fault *fault)
{
    if (reader->strip->ends_in_mark && rests(reader))
        spread(reader);
    if (!(reader->ordered != NULL ? take_strip(reader, fault)
                                  : cut(reader, &reader->alone, PORTION_BYTES, fault)))
        return false;
    reader->at = 0;
    if (reader->strip->outcome == UNTRIED)
        return true;
    if (reader->strip->outcome != FAILED && rests(reader))
        adopt(reader);
    else if (++reader->wrong == WRONG_MOST)
        reader->gave_up = true;
    return true;
}

/* Count code of the strip as used. */
static void use(struct gzip_reader *reader, size_t size)
{
    reader->at += size;
    reader->done += size;
}

/* Give what an adopted strip was inflated to. */
static void give_adopted(struct gzip_reader *reader, unsigned char *bytes, size_t room, size_t *given)
{
    const struct strip *strip = reader->strip;

    *given = size_least(room, strip->made - reader->given);
    memcpy(bytes, strip->plain + reader->given, *given);
    reader->given += *given;
    reader->made_ahead += *given;
    if (reader->given < strip->made)
        return;
    reader->adopted = false;
    use(reader, strip->used);
    if (strip->outcome == ENDED)
        reader->phase = TAIL;
}

/* Let the engine inflate, which first catches up with what was adopted. */
static bool inflate_here(struct gzip_reader *reader, unsigned char *bytes, size_t room, size_t *made,
                         struct fault *fault)
{
    struct inflate_portion portion = {.from = reader->strip->code + reader->at,
                                      .size = reader->strip->size - reader->at,
                                      .to = bytes,
                                      .room = room};
    enum inflate_progress progress;

    /* Strips were adopted meanwhile: the engine goes on behind them, with their last bytes to look back
       on. */
    if (reader->is_behind)
        inflater_resume(reader->engine, reader->window, reader->window_size);
    reader->is_behind = false;
    progress = inflater_run(reader->engine, &portion);
    use(reader, portion.used);
    *made = portion.made;
    reader->checksum = add_to_checksum(reader, reader->checksum, bytes, portion.made);
    remember(reader, bytes, portion.made);
    reader->holds_back = portion.made == room;
    if (progress == INFLATE_DAMAGED)
        return refuse(reader, inflater_damage(reader->engine), fault);
    /* The engine reads ahead: what it has taken beyond the end belongs to the tail. */
    if (progress == INFLATE_ENDED) {
        reader->phase = TAIL;
        reader->excess_at = 0;
        reader->excess_end = inflater_unused_input(reader->engine, reader->excess);
    }
    return true;
}

/* Give the next bytes of a stream's body: from an adopted strip, or by the engine. */
static bool read_body(struct gzip_reader *reader, unsigned char *bytes, size_t room, size_t *made,
                      struct fault *fault)
{
    if (reader->adopted) {
        give_adopted(reader, bytes, room, made);
        return true;
    }
    if (reader->at < reader->strip->size || reader->holds_back)
        return inflate_here(reader, bytes, room, made, fault);
    return next_strip(reader, fault) && (reader->strip->size > 0 || refuse(reader, "it ends early", fault));
}

/* ---- heads and tails ---- */

/* The next byte outside a body; *got is 0 at the end of the code. */
static bool next_byte(struct gzip_reader *reader, unsigned char *byte, size_t *got, struct fault *fault)
{
    *got = 1;
    if (reader->excess_at < reader->excess_end) {
        *byte = reader->excess[reader->excess_at++];
        return true;
    }
    if (reader->at == reader->strip->size && !next_strip(reader, fault))
        return false;
    if (reader->strip->size == 0) {
        *got = 0;
        return true;
    }
    *byte = reader->strip->code[reader->at];
    use(reader, 1);
    return true;
}

/* A byte that has to be there, which a checksum of a head counts. */
static bool need_byte(struct gzip_reader *reader, unsigned char *byte, struct fault *fault)
{
    size_t got;

    if (!next_byte(reader, byte, &got, fault))
        return false;
    if (got == 0)
        return refuse(reader, "it ends early", fault);
    reader->checksum = checksum_crc(reader->checksum, byte, 1);
    return true;
}

/* A number of two bytes, the least one first. */
static bool need_short(struct gzip_reader *reader, unsigned *number, struct fault *fault)
{
    unsigned char low, high;

    if (!need_byte(reader, &low, fault) || !need_byte(reader, &high, fault))
        return false;
    *number = low | (unsigned)high << 8;
    return true;
}

static bool skip_text(struct gzip_reader *reader, struct fault *fault)
{
    unsigned char byte;

    do {
        if (!need_byte(reader, &byte, fault))
            return false;
    } while (byte != 0);
    return true;
}

static const char not_a_head[] = "incorrect header of compressed data";

/* Read the head behind its first byte: method, flags, time, and the parts that the flags announce. */
static bool read_gzip_head(struct gzip_reader *reader, struct fault *fault)
{
    enum { CHECK = 0x02, EXTRA = 0x04, NAME = 0x08, COMMENT = 0x10, RESERVED = 0xe0, FIXED_BYTES = 10 };
    static const unsigned char start[] = {0x1f, 0x8b, 8};
    unsigned char byte, flags = 0;
    unsigned count = 0, check;
    uint32_t sum;

    for (size_t i = 1; i < FIXED_BYTES; i++) {
        if (!need_byte(reader, &byte, fault))
            return false;
        if (i < sizeof start && byte != start[i])
            return refuse(reader, not_a_head, fault);
        flags = i == sizeof start ? byte : flags;
        if ((flags & RESERVED) != 0)
            return refuse(reader, "unknown header flags set", fault);
    }
    /* Optional parts, in the order of the standard; none of them matters here. */
    if ((flags & EXTRA) != 0 && !need_short(reader, &count, fault))
        return false;
    for (; count > 0; count--) {
        if (!need_byte(reader, &byte, fault))
            return false;
    }
    if (((flags & NAME) != 0 && !skip_text(reader, fault)) ||
        ((flags & COMMENT) != 0 && !skip_text(reader, fault)))
        return false;
    sum = reader->checksum;
    return (flags & CHECK) == 0 || (need_short(reader, &check, fault) &&
                                    (check == (sum & 0xffff) || refuse(reader, not_a_head, fault)));
}

/* The second byte: no preset dictionary, which nobody could supply. */
static bool read_zlib_head(struct gzip_reader *reader, unsigned char first, struct fault *fault)
{
    enum { DICTIONARY = 0x20, DIVISOR = 31 };
    unsigned char second;

    return need_byte(reader, &second, fault) &&
           (((second & DICTIONARY) == 0 && (first << 8 | second) % DIVISOR == 0) ||
            refuse(reader, not_a_head, fault));
}

/* Read the head of the first or the next stream, or find the end. */
static bool read_head(struct gzip_reader *reader, struct fault *fault)
{
    enum { WINDOW_MOST = 7, METHOD_DEFLATE = 8, GZIP_FIRST = 0x1f };
    const bool gzip = reader->wrapper == INFLATE_GZIP;
    unsigned char first = 0;
    size_t got;

    if (!next_byte(reader, &first, &got, fault))
        return false;
    /* The end is fine after a whole stream; a file of none at all is damaged. */
    if (got == 0) {
        reader->phase = OVER;
        return reader->ended || refuse(reader, "it ends early", fault);
    }
    /* Members of gzip follow each other; nothing follows zlib. */
    if (!gzip && reader->ended)
        return refuse(reader, "bytes follow its end", fault);
    if (!gzip && first >> 4 > WINDOW_MOST)
        return refuse(reader, "invalid window size", fault);
    if (gzip ? first != GZIP_FIRST : (first & 0xf) != METHOD_DEFLATE)
        return refuse(reader, not_a_head, fault);
    reader->checksum = checksum_crc(CHECKSUM_CRC, &first, 1);
    if (!(gzip ? read_gzip_head(reader, fault) : read_zlib_head(reader, first, fault)))
        return false;
    /* A new stream: nothing to look back on. */
    reader->phase = BODY;
    reader->checksum = empty_checksum(reader);
    reader->size = 0;
    reader->window_size = 0;
    reader->is_behind = reader->holds_back = false;
    inflater_restart(reader->engine);
    return true;
}

/* A tail has the checksum, in gzip with the low bits of the size. */
static bool read_tail(struct gzip_reader *reader, struct fault *fault)
{
    const bool gzip = reader->wrapper == INFLATE_GZIP;
    const uint64_t due = gzip ? reader->size << 32 | reader->checksum : reader->checksum;
    uint64_t found = 0;
    unsigned char byte;

    for (unsigned i = 0; i < (gzip ? 8 : 4); i++) {
        if (!need_byte(reader, &byte, fault))
            return false;
        found = gzip ? found | (uint64_t)byte << (8 * i) : found << 8 | byte;
    }
    reader->phase = HEAD;
    reader->ended = true;
    return found == due || refuse(reader, "incorrect data check", fault);
}

bool gzip_reader_read(struct gzip_reader *reader, void *bytes, size_t size, size_t *got, struct fault *fault)
{
    for (*got = 0; *got < size && reader->phase != OVER;) {
        size_t made = 0;
        if (!(reader->phase == HEAD ? read_head(reader, fault)
              : reader->phase == TAIL
                  ? read_tail(reader, fault)
                  : read_body(reader, (unsigned char *)bytes + *got, size - *got, &made, fault)))
            return false;
        *got += made;
    }
    return true;
}

uint64_t gzip_reader_held(const struct gzip_reader *reader)
{
    return reader->fetched - reader->done;
}

uint64_t gzip_reader_made_ahead(const struct gzip_reader *reader)
{
    return reader->made_ahead;
}

/* ---- beginning and end ---- */

bool gzip_reader_open(struct gzip_reader **reader, enum inflate_wrapper wrapper, size_t threads,
                      const char *name, gzip_reader_fetch *fetch, void *context, struct fault *fault)
{
    struct gzip_reader *made = mem_zeroed(1, sizeof *made, "decompressing", fault);

    if (made == NULL)
        return false;
    made->name = name;
    made->wrapper = wrapper;
    made->fetch = fetch;
    made->context = context;
    made->threads = size_least(threads, THREADS_MOST);
    made->strip = &made->alone;
    made->place = STRIPS_MOST;
    made->portion = mem_alloc(PORTION_BYTES, 1, "decompressing", fault);
    made->alone.code = mem_alloc(PORTION_BYTES, 1, "decompressing", fault);
    if (made->portion == NULL || made->alone.code == NULL ||
        !inflater_create(&made->engine, INFLATE_BARE, fault)) {
        gzip_reader_close(made);
        return false;
    }
    *reader = made;
    return true;
}

void gzip_reader_close(struct gzip_reader *reader)
{
    if (reader == NULL)
        return;
    free_ordered_work(reader);
    inflater_free(reader->engine);
    mem_free(reader->alone.code);
    mem_free(reader->portion);
    mem_free(reader);
}
