/* How a strip of a PNG is filtered and deflated. Differences of a photograph's neighbours are small numbers
   without order: a filter and a code for single bytes and runs serve it best, and matches cost much time for
   nothing. Text and drawings repeat themselves: matches serve them best, and often better without a filter,
   which takes from two equal places what they have in common. So a level tries several ways, on pieces of the
   strip or on all of it. What it takes depends on the strip's bytes alone. */
#include "png_strip.h"

#include "base/deflate.h"
#include "base/mem.h"
#include "base/size.h"

enum tactic { STORE, CODE_RUNS, TRY_PIECES, TRY_ALL };

static const struct effort {
    enum tactic tactic;
    struct deflate_way matches;
    size_t filters; /* that are tried in full */
} efforts[] = {
    {.tactic = STORE},
    {.tactic = CODE_RUNS},
    {.tactic = TRY_PIECES, .matches = {DEFLATE_MATCHES, true, 1}},
    {.tactic = TRY_PIECES, .matches = {DEFLATE_MATCHES, true, 2}},
    {.tactic = TRY_PIECES, .matches = {DEFLATE_MATCHES, false, 4}},
    {.tactic = TRY_PIECES, .matches = {DEFLATE_MATCHES, false, 5}},
    {.tactic = TRY_PIECES, .matches = {DEFLATE_MATCHES, false, 6}},
    {TRY_ALL, {DEFLATE_MATCHES, false, 7}, 2},
    {TRY_ALL, {DEFLATE_MATCHES, false, 8}, 3},
    {TRY_ALL, {DEFLATE_MATCHES, false, 9}, 6},
};
_Static_assert(sizeof efforts / sizeof *efforts == MOST_LEVEL + 1, "an effort for every level");

struct png_strip_coder {
    const struct effort *effort;
    struct deflater *deflater;
    unsigned char *bare, *filtered; /* the rows without a filter, and with one */
};

struct choice {
    enum png_filter filter;
    struct deflate_way way;
};

static const struct choice by_runs = {PNG_FILTER_LEAST_SUM, {DEFLATE_RUNS, true, 1}};
static const struct deflate_way quick_matches = {DEFLATE_MATCHES, true, 1};

/* ---- by pieces ---- */

enum { PIECES = 3, PIECE_BYTES = 10 << 10 };

/* Matches have to save one part in so many of what runs leave. */
enum { WORTHWHILE = 32 };

/* A strip is plain if runs leave less than one part in so many of it: searching all of it costs little. */
enum { PLAIN = 32 };

/* A filter has to save one part in so many of what quick matches leave without it, since good matches save
   some of that by themselves. */
enum { FILTER_SAVES = 8 };

/* Good matches are not tried where they would have to save more than one part in so many of what quick ones
   leave. */
enum { GOOD_SAVE = 4 };

/* Bytes used by pieces of the strip, or by all of it; pieces take matches from all that is before them. */
static size_t measure(struct png_strip_coder *coder, const struct deflate_way *way,
                      const struct deflate_strip *strip, bool all)
{
    size_t count = all ? size_divided_up(strip->size, DEFLATE_SAMPLE) : PIECES;
    size_t step = size_divided_up(strip->size, count), most = all ? step : PIECE_BYTES, used = 0;
    for (size_t from = 0; from < strip->size; from += step) {
        size_t room = size_least(step, strip->size - from), size = size_least(room, most);
        size_t skipped = from + (room - size) / 2;
        struct deflate_strip piece = {strip->bytes + skipped, size, strip->before + skipped, true};
        used += deflater_measure(coder->deflater, way, &piece);
    }
    return used;
}

static struct choice choose(struct png_strip_coder *coder, const struct deflate_strip *filtered,
                            const struct deflate_strip *bare)
{
    const struct deflate_way *matches = &coder->effort->matches;
    size_t runs = measure(coder, &by_runs.way, filtered, false);
    bool plain = runs < size_least(filtered->size, PIECES * PIECE_BYTES) / PLAIN;
    size_t least = measure(coder, &quick_matches, filtered, plain);
    size_t none = measure(coder, &quick_matches, bare, plain);
    bool unfiltered = least >= none - none / FILTER_SAVES;
    struct choice by_matches = {unfiltered ? PNG_FILTER_NONE_ROW : PNG_FILTER_LEAST_SUM, *matches};
    if (plain || size_least(least, none) < runs - runs / WORTHWHILE)
        return by_matches;
    if (matches->quick || none - none / GOOD_SAVE >= runs)
        return by_runs;
    return measure(coder, matches, bare, false) < runs ? by_matches : by_runs;
}

/* Choose, and point the strip to the bytes that the chosen filter gave. */
static struct choice choose_by_pieces(struct png_strip_coder *coder, const struct png_filter_rows *rows,
                                      struct deflate_strip *strip)
{
    struct deflate_strip bare = *strip;
    bare.bytes = coder->bare;
    png_filter_apply(rows, PNG_FILTER_NONE_ROW, coder->bare);
    png_filter_apply(rows, PNG_FILTER_LEAST_SUM, coder->filtered);
    struct choice choice = choose(coder, strip, &bare);
    if (choice.filter == PNG_FILTER_NONE_ROW)
        *strip = bare;
    return choice;
}

/* ---- in full ---- */

/* In the order in which levels come to try them. */
static const enum png_filter filters[] = {PNG_FILTER_LEAST_SUM, PNG_FILTER_NONE_ROW, PNG_FILTER_PAETH_ROW,
                                          PNG_FILTER_UP_ROW,    PNG_FILTER_SUB_ROW,  PNG_FILTER_AVERAGE_ROW};

static struct choice choose_in_full(struct png_strip_coder *coder, const struct png_filter_rows *rows,
                                    const struct deflate_strip *strip)
{
    const struct deflate_way *ways[] = {&by_runs.way, &coder->effort->matches};
    struct choice best = by_runs;
    size_t least = SIZE_MAX;
    for (size_t i = 0; i < coder->effort->filters; i++) {
        png_filter_apply(rows, filters[i], coder->filtered);
        for (size_t j = 0; j < sizeof ways / sizeof *ways; j++) {
            size_t used = deflater_measure(coder->deflater, ways[j], strip);
            if (used < least)
                best = (struct choice){filters[i], *ways[j]};
            least = size_least(used, least);
        }
    }
    png_filter_apply(rows, best.filter, coder->filtered);
    return best;
}

/* ---- a strip ---- */

size_t png_strip_code(struct png_strip_coder *coder, const struct png_filter_rows *rows, bool last,
                      unsigned char *deflated, uint32_t *checksum)
{
    struct deflate_strip strip = {coder->filtered, rows->count * (rows->bytes + 1), 0, last};
    struct choice choice = by_runs;
    switch (coder->effort->tactic) {
    case STORE:
        png_filter_apply(rows, PNG_FILTER_NONE_ROW, coder->filtered);
        break;
    case CODE_RUNS:
        png_filter_apply(rows, PNG_FILTER_LEAST_SUM, coder->filtered);
        break;
    case TRY_PIECES:
        choice = choose_by_pieces(coder, rows, &strip);
        break;
    case TRY_ALL:
        choice = choose_in_full(coder, rows, &strip);
        break;
    }
    *checksum = deflate_checksum(&strip);
    return coder->effort->tactic == STORE ? deflater_store(&strip, deflated)
                                          : deflater_code(coder->deflater, &choice.way, &strip, deflated);
}

bool png_strip_coder_create(struct png_strip_coder **coder, int level, size_t row_bytes, size_t rows,
                            struct fault *fault)
{
    struct png_strip_coder *made = mem_zeroed(1, sizeof *made, "filtered rows", fault);
    bool needs_bare = efforts[level].tactic == TRY_PIECES;
    *coder = made;
    if (made == NULL)
        return false;
    made->effort = &efforts[level];
    made->filtered = mem_alloc(rows, row_bytes + 1, "filtered rows", fault);
    if (made->filtered == NULL)
        return false;
    made->bare = needs_bare ? mem_alloc(rows, row_bytes + 1, "filtered rows", fault) : NULL;
    return (made->bare != NULL || !needs_bare) &&
           deflater_create(&made->deflater, level, rows * (row_bytes + 1), fault);
}

void png_strip_coder_free(struct png_strip_coder *coder)
{
    if (coder == NULL)
        return;
    deflater_free(coder->deflater);
    mem_free(coder->bare);
    mem_free(coder->filtered);
    mem_free(coder);
}
