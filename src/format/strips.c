/* Strips of the code of a deflate stream, as it comes in: cut by the caller, inflated in any order, and taken
   in turn. */
#include "strips.h"

#include "base/checksum.h"
#include "base/mem.h"
#include "base/size.h"
#include "base/workshop.h"
#include "gzip_writer.h"

#include <string.h>

enum { PORTION_BYTES = 64 << 10, THREADS_MOST = 16, STRIPS_A_THREAD = 2, PLACES_MOST = 32 };
_Static_assert(PLACES_MOST == STRIPS_A_THREAD * THREADS_MOST, "places for the strips of all threads");

/* What cannot be made smaller takes a little more; and an engine is to find room left at the end. */
#define CODE_MOST  (GZIP_STRIP_BYTES + GZIP_STRIP_BYTES / 64)
#define PLAIN_MOST (GZIP_STRIP_BYTES + PORTION_BYTES)

struct place {
    struct strip strip;
    unsigned char *code, *plain;
    bool is_tried;
};

struct strips {
    enum inflate_wrapper wrapper;
    size_t threads;
    strips_fetch *fetch;
    void *context;
    uint64_t fetched;
    unsigned char *portion; /* that was fetched last; what is to be cut of it */
    size_t portion_begin, portion_end;
    bool ends_marked; /* the strip that was cut last */
    bool gave_up;

    /* Of the caller alone, as long as nothing was spread. */
    struct place alone;

    struct place places[PLACES_MOST];
    size_t under_way; /* that were cut and not taken */
    bool over;        /* all code has been cut */
    bool has_taken;
    size_t taken;
    struct inflater *engines[THREADS_MOST]; /* the first is the caller's */
    struct workshop *workshop;              /* once it was */
};

uint64_t strips_fetched(const struct strips *strips)
{
    return strips->fetched;
}

/* ---- cutting ---- */

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

static bool have_portion(struct strips *strips, struct fault *fault)
{
    if (strips->portion_begin < strips->portion_end)
        return true;
    strips->portion_begin = strips->portion_end = 0;
    if (!strips->fetch(strips->context, strips->portion, PORTION_BYTES, &strips->portion_end, fault))
        return false;
    strips->fetched += strips->portion_end;
    return true;
}

/* Of what is to be cut, up to a mark or so many bytes in all. */
static void cut_portion(struct strips *strips, unsigned char *code, struct strip *strip, size_t most)
{
    size_t before = strip->size,
           taken = size_least(most - before, strips->portion_end - strips->portion_begin);
    size_t from = before < GZIP_MARK_SIZE ? 0 : before - GZIP_MARK_SIZE + 1, end = 0;

    memcpy(code + before, strips->portion + strips->portion_begin, taken);
    if (strips->threads > 1)
        end = end_of_mark(code, from, before + taken);
    strip->marked = end != 0;
    strip->size = strip->marked ? end : before + taken;
    strips->portion_begin += strip->size - before;
}

static bool cut(struct strips *strips, struct place *place, size_t most, struct fault *fault)
{
    struct strip strip = {.code = place->code, .plain = place->plain, .follows_mark = strips->ends_marked};

    while (!strip.marked && strip.size < most) {
        if (!have_portion(strips, fault))
            return false;
        if (strips->portion_end == 0)
            break;
        cut_portion(strips, place->code, &strip, most);
    }
    strips->ends_marked = strip.marked;
    place->is_tried = strip.follows_mark && !strips->gave_up;
    place->strip = strip;
    return true;
}

/* ---- inflating ---- */

static enum inflate_progress inflate_all(struct inflater *engine, const struct place *place, size_t *used,
                                         size_t *made)
{
    struct inflate_portion portion;
    enum inflate_progress progress;

    inflater_restart(engine);
    *used = *made = 0;
    do {
        portion = (struct inflate_portion){.from = place->code + *used,
                                           .size = place->strip.size - *used,
                                           .to = place->plain + *made,
                                           .room = PLAIN_MOST - *made};
        progress = inflater_run(engine, &portion);
        *used += portion.used;
        *made += portion.made;
    } while (progress == INFLATE_UNDER_WAY && portion.used + portion.made > 0 && *used < place->strip.size);
    return progress;
}

static void try_strip(const struct strips *strips, struct inflater *engine, struct place *place)
{
    struct strip *strip = &place->strip;
    unsigned char excess[INFLATE_EXCESS];
    enum inflate_progress progress = inflate_all(engine, place, &strip->used, &strip->made);

    strip->outcome = STRIP_FAILED;
    if (progress == INFLATE_ENDED) {
        strip->outcome = STRIP_ENDED;
        strip->used -= inflater_excess(engine, excess);
    } else if (progress == INFLATE_UNDER_WAY && strip->used == strip->size && inflater_rests(engine)) {
        strip->outcome = STRIP_WHOLE;
    }
    if (strip->outcome != STRIP_FAILED)
        strip->checksum = strips->wrapper == INFLATE_GZIP
                              ? checksum_crc(CHECKSUM_CRC, place->plain, strip->made)
                              : checksum_adler(CHECKSUM_ADLER, place->plain, strip->made);
}

static void inflate_place(void *context, size_t place, unsigned worker)
{
    struct strips *strips = context;

    if (strips->places[place].is_tried)
        try_strip(strips, strips->engines[worker], &strips->places[place]);
}

/* ---- taking ---- */

/* Every place that is free gets a strip, as long as there is code. */
static bool cut_ahead(struct strips *strips, struct fault *fault)
{
    size_t place;

    while (!strips->over && workshop_claim(strips->workshop, &place)) {
        if (!cut(strips, &strips->places[place], CODE_MOST, fault))
            return false;
        strips->over = strips->places[place].strip.size == 0;
        if (strips->over)
            return true;
        strips->under_way++;
        workshop_put(strips->workshop, place);
    }
    return true;
}

static bool next_of_many(struct strips *strips, struct strip *strip, struct fault *fault)
{
    if (strips->has_taken)
        workshop_vacate(strips->workshop, strips->taken);
    strips->has_taken = false;
    if (!cut_ahead(strips, fault))
        return false;
    *strip = (struct strip){.size = 0};
    if (strips->under_way == 0)
        return true;
    strips->taken = workshop_take(strips->workshop);
    strips->under_way--;
    strips->has_taken = true;
    *strip = strips->places[strips->taken].strip;
    return true;
}

bool strips_next(struct strips *strips, struct strip *strip, struct fault *fault)
{
    if (strips->workshop != NULL)
        return next_of_many(strips, strip, fault);
    if (!cut(strips, &strips->alone, PORTION_BYTES, fault))
        return false;
    *strip = strips->alone.strip;
    return true;
}

void strips_give_up(struct strips *strips)
{
    strips->gave_up = true;
}

/* ---- beginning and end ---- */

static bool make_place(struct place *place, struct fault *fault)
{
    place->code = mem_alloc(CODE_MOST, 1, "decompressing", fault);
    place->plain = mem_alloc(PLAIN_MOST, 1, "decompressing", fault);
    return place->code != NULL && place->plain != NULL;
}

static bool make_crew(struct strips *strips, struct fault *fault)
{
    const size_t places = STRIPS_A_THREAD * strips->threads;

    for (size_t i = 0; i < places; i++) {
        if (!make_place(&strips->places[i], fault))
            return false;
    }
    for (size_t i = 0; i < strips->threads; i++) {
        if (!inflater_create(&strips->engines[i], INFLATE_BARE, fault))
            return false;
    }
    return workshop_open(&strips->workshop, places, (unsigned)strips->threads, inflate_place, strips, fault);
}

static void free_place(struct place *place)
{
    mem_free(place->code);
    mem_free(place->plain);
    *place = (struct place){.is_tried = false};
}

static void free_crew(struct strips *strips)
{
    workshop_close(strips->workshop);
    strips->workshop = NULL;
    for (size_t i = 0; i < THREADS_MOST; i++) {
        inflater_free(strips->engines[i]);
        strips->engines[i] = NULL;
    }
    for (size_t i = 0; i < PLACES_MOST; i++)
        free_place(&strips->places[i]);
}

void strips_spread(struct strips *strips)
{
    struct fault fault;

    if (strips->threads == 1 || strips->workshop != NULL || strips->gave_up)
        return;
    if (!make_crew(strips, &fault) || workshop_threads(strips->workshop) == 0) {
        free_crew(strips);
        strips_give_up(strips);
    }
}

bool strips_create(struct strips **strips, enum inflate_wrapper wrapper, size_t threads, strips_fetch *fetch,
                   void *context, struct fault *fault)
{
    struct strips *made = mem_zeroed(1, sizeof *made, "decompressing", fault);

    if (made == NULL)
        return false;
    made->wrapper = wrapper;
    made->threads = size_least(threads, THREADS_MOST);
    made->fetch = fetch;
    made->context = context;
    made->portion = mem_alloc(PORTION_BYTES, 1, "decompressing", fault);
    made->alone.code = mem_alloc(PORTION_BYTES, 1, "decompressing", fault);
    if (made->portion == NULL || made->alone.code == NULL) {
        strips_free(made);
        return false;
    }
    *strips = made;
    return true;
}

void strips_free(struct strips *strips)
{
    if (strips == NULL)
        return;
    free_crew(strips);
    free_place(&strips->alone);
    mem_free(strips->portion);
    mem_free(strips);
}
