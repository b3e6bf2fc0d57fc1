/* Tests of deflating in strips: zlib gives back what went in, and the bytes depend on strip and level alone.
 */
#include "base/deflate.h"
#include "assertions.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { TEXT_BYTES = 128 << 10, BESIDE_BYTES = 64, LEVELS = MOST_LEVEL + 1, DEFLATERS = 60 };

/* What a strip is deflated by: a level, or, after all of those, a way. */
static const struct deflate_way ways[] = {
    {DEFLATE_RUNS, true, 1},    {DEFLATE_MATCHES, true, 1},  {DEFLATE_MATCHES, true, 2},
    {DEFLATE_MATCHES, true, 3}, {DEFLATE_MATCHES, false, 4}, {DEFLATE_RUNS, false, 9},
};
enum { RECIPES = LEVELS + sizeof ways / sizeof *ways };

/* ---- what is deflated ---- */

enum pattern { NOISE, ECHOES, WORDS, FLAT, PATTERNS };

static unsigned next_random(uint32_t *seed)
{
    *seed = *seed * 1664525U + 1013904223U;
    return *seed >> 16;
}

static void fill_noise(unsigned char *text, size_t size, uint32_t *seed)
{
    for (size_t i = 0; i < size; i++)
        text[i] = (unsigned char)next_random(seed);
}

/* Repetitions of the one to four bytes just before, each followed by something new or by none: what a coder
   of runs finds there depends on all that it remembers. */
static void fill_echoes(unsigned char *text, size_t size, uint32_t *seed)
{
    size_t filled = 4;
    fill_noise(text, filled, seed);
    while (filled < size) {
        size_t distance = 1 + next_random(seed) % 4;
        for (size_t left = 4 + next_random(seed) % 20; left > 0 && filled < size; left--, filled++)
            text[filled] = text[filled - distance];
        if (filled < size && next_random(seed) % 2 == 0)
            text[filled++] = (unsigned char)next_random(seed);
    }
}

static void fill_words(unsigned char *text, size_t size, uint32_t *seed)
{
    static const char *const words[] = {"pebble ", "and ", "stone ", "on ", "a ", "shore of sand, "};
    for (size_t filled = 0; filled < size;) {
        const char *word = words[next_random(seed) % (sizeof words / sizeof words[0])];
        for (; *word != '\0' && filled < size; word++)
            text[filled++] = (unsigned char)*word;
    }
}

static unsigned char *text_make(enum pattern pattern)
{
    uint32_t seed = 3;
    unsigned char *text = malloc(TEXT_BYTES + BESIDE_BYTES);
    ck_assert_ptr_nonnull(text);
    memset(text, 200, TEXT_BYTES + BESIDE_BYTES);
    if (pattern == NOISE)
        fill_noise(text, TEXT_BYTES, &seed);
    else if (pattern == ECHOES)
        fill_echoes(text, TEXT_BYTES, &seed);
    else if (pattern == WORDS)
        fill_words(text, TEXT_BYTES, &seed);
    return text;
}

/* ---- a deflated strip ---- */

struct deflated {
    unsigned char *bytes;
    size_t size;
};

static struct deflater *deflater_make(int recipe)
{
    struct fault fault;
    struct deflater *deflater;
    ck_assert(deflater_create(&deflater, recipe < LEVELS ? recipe : MOST_LEVEL, TEXT_BYTES, &fault));
    return deflater;
}

static struct deflated deflate_strip(struct deflater *deflater, int recipe, const struct deflate_strip *strip)
{
    struct deflated deflated = {.bytes = malloc(deflate_bound(strip->size))};
    ck_assert_ptr_nonnull(deflated.bytes);
    deflated.size = recipe < LEVELS ? deflater_run(deflater, strip, deflated.bytes)
                                    : deflater_code(deflater, &ways[recipe - LEVELS], strip, deflated.bytes);
    ck_assert_uint_le(deflated.size, deflate_bound(strip->size));
    if (recipe >= LEVELS)
        ck_assert_uint_eq(deflater_measure(deflater, &ways[recipe - LEVELS], strip), deflated.size);
    return deflated;
}

/* By zlib, which knows what stands before the strip. */
static void check_inflates(const struct deflated *deflated, const struct deflate_strip *strip)
{
    unsigned char *text = malloc(strip->size + 1);
    size_t known = strip->before < DEFLATE_WINDOW ? strip->before : DEFLATE_WINDOW;
    z_stream zlib = {.next_in = deflated->bytes, .avail_in = (uInt)deflated->size};
    ck_assert_ptr_nonnull(text);
    zlib.next_out = text;
    zlib.avail_out = (uInt)strip->size + 1;
    ck_assert_int_eq(inflateInit2(&zlib, -MAX_WBITS), Z_OK);
    if (known > 0)
        ck_assert_int_eq(inflateSetDictionary(&zlib, strip->bytes - known, (uInt)known), Z_OK);
    int outcome = inflate(&zlib, Z_SYNC_FLUSH);
    ck_assert_msg(outcome == (strip->last ? Z_STREAM_END : Z_OK), "%zu bytes after %zu: %s", strip->size,
                  strip->before, zlib.msg != NULL ? zlib.msg : "no error, but not the end");
    ck_assert_uint_eq(zlib.avail_in, 0);
    ck_assert_uint_eq(zlib.avail_out, 1);
    ck_assert_mem_eq(text, strip->bytes, strip->size);
    ck_assert_int_eq(zlib.data_type & 7, 0); /* the next strip begins with a byte */
    inflateEnd(&zlib);
    free(text);
}

static void check_strip(struct deflater *deflater, int recipe, const struct deflate_strip *strip)
{
    struct deflated deflated = deflate_strip(deflater, recipe, strip);
    check_inflates(&deflated, strip);
    free(deflated.bytes);
}

static void check_strips(int recipe, enum pattern pattern)
{
    static const size_t sizes[] = {1, 2, 3, 4, 5, 6, 8, 15, 16, 17, 18, 40, 288, 300, 4000, 70000};
    static const size_t befores[] = {0, 1, 2, 3, 4, 5, 300, 32767, 32768, 40000};
    unsigned char *text = text_make(pattern);
    struct deflater *deflater = deflater_make(recipe);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        for (size_t j = 0; j < 2 * sizeof befores / sizeof befores[0]; j++) {
            struct deflate_strip strip = {text + befores[j / 2], sizes[i], befores[j / 2], j % 2 != 0};
            check_strip(deflater, recipe, &strip);
        }
    deflater_free(deflater);
    free(text);
}

START_TEST(any_strip_comes_back)
{
    for (enum pattern pattern = NOISE; pattern < PATTERNS; pattern++)
        check_strips(_i, pattern);
}
END_TEST

/* ---- a function of strip and level alone ---- */

/* What stands in memory that is not yet written, where the C library lets that be chosen. */
static void choose_litter(int byte)
{
#ifdef M_PERTURB
    mallopt(M_PERTURB, byte);
#else
    (void)byte;
#endif
}

/* A strip that is coded in between leaves behind what the next one must not see. */
static void leave_traces(struct deflater *deflater, int recipe, const unsigned char *text, size_t size)
{
    struct deflate_strip other = {text, size, 0, false};
    struct deflated deflated = deflate_strip(deflater, recipe, &other);
    free(deflated.bytes);
}

/* By deflaters that all stand at the same time, so at as many addresses. */
static void check_any_deflater(int recipe, unsigned char *text, const struct deflate_strip *strip)
{
    struct deflater *deflaters[DEFLATERS], *first = deflater_make(recipe);
    struct deflated deflated = deflate_strip(first, recipe, strip);
    for (int i = 0; i < DEFLATERS; i++) {
        choose_litter(i);
        memset(text + TEXT_BYTES, i, BESIDE_BYTES);
        deflaters[i] = deflater_make(recipe);
        if (i % 3 == 1)
            leave_traces(deflaters[i], recipe, strip->bytes + strip->size / 3, strip->size / 2);
        struct deflated again = deflate_strip(deflaters[i], recipe, strip);
        ck_assert_msg(again.size == deflated.size && memcmp(again.bytes, deflated.bytes, again.size) == 0,
                      "recipe %d, %zu bytes after %zu: deflater %d gives other bytes", recipe, strip->size,
                      strip->before, i);
        free(again.bytes);
    }
    choose_litter(0);
    for (int i = 0; i < DEFLATERS; i++)
        deflater_free(deflaters[i]);
    deflater_free(first);
    free(deflated.bytes);
}

START_TEST(where_a_deflater_stands_does_not_show)
{
    int recipe = _i / PATTERNS;
    unsigned char *text = text_make((enum pattern)(_i % PATTERNS));
    size_t quarter = TEXT_BYTES / 4;
    for (size_t before = 0; before <= quarter; before += quarter) {
        struct deflate_strip strip = {text + quarter, quarter, before, before > 0};
        check_any_deflater(recipe, text, &strip);
    }
    free(text);
}
END_TEST

static Suite *deflate_suite(void)
{
    Suite *suite = suite_create("deflate");
    TCase *strips_case = tcase_create("strips");
    tcase_set_timeout(strips_case, 300);
    tcase_add_loop_test(strips_case, any_strip_comes_back, 0, RECIPES);
    tcase_add_loop_test(strips_case, where_a_deflater_stands_does_not_show, 0, RECIPES * PATTERNS);
    suite_add_tcase(suite, strips_case);
    return suite;
}

int main(void)
{
    SRunner *runner = srunner_create(deflate_suite());
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
