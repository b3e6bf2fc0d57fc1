/* Deflating strips of data, each by itself; the pieces joined are one deflate stream, since each but the last
   ends with a flush at a byte. Two engines do it: ISA-L's igzip is fast, zlib reaches smaller sizes at high
   levels. A strip is coded by runs alone or by matches. A level says which engine codes each way, and how to
   decide: never, by a sample from the middle of the strip, or by both in full. What does not shrink is
   stored. */
#include "deflate.h"

#include "checksum.h"
#include "mem.h"
#include "vectors.h"

#include <string.h>
#include <zlib.h>
#ifdef HAVE_ISAL
#include <isa-l/igzip_lib.h>
#endif

enum {
    WINDOW_BITS = 15,
    MEMORY_LEVEL = 8,
    STORED_MOST = 65535,
    STORED_HEAD = 5,
    ENGINE_BYTES_MOST = 1 << 30 /* both engines count in 32 bits */
};

struct deflater {
    int level;
    z_stream zlib;
    bool zlib_started;
    unsigned char *other; /* what a strip becomes that is only tried */
#ifdef HAVE_ISAL
    struct isal_zstream igzip;
    unsigned char *igzip_tables;
#endif
};

void deflate_header(int level, unsigned char header[DEFLATE_HEADER])
{
    /* The second byte tells the level in two bits, and makes the two bytes a multiple of 31. */
    static const unsigned char flags[] = {0x01, 0x01, 0x5e, 0x5e, 0x5e, 0x5e, 0x9c, 0xda, 0xda, 0xda};
    header[0] = 0x78; /* deflate with a window of 32 KiB */
    header[1] = flags[level];
}

uint32_t deflate_checksum(const struct deflate_strip *strip)
{
    return checksum_adler(CHECKSUM_ADLER, strip->bytes, strip->size);
}

uint32_t deflate_join(uint32_t first, uint32_t second, size_t second_size)
{
    return (uint32_t)adler32_combine(first, second, (z_off_t)second_size);
}

/* ---- nothing gained: stored blocks ---- */

size_t deflate_bound(size_t size)
{
    return size + (size / STORED_MOST + 1) * STORED_HEAD;
}

/* A stored block, which begins with a byte here: a bit says whether it is the last block, two bits are 0 for
   its kind, and the rest of the byte is not used. Its length follows, and the inverse of that. */
static unsigned char *store_block(unsigned char *to, const unsigned char *bytes, size_t size, bool last)
{
    to[0] = last;
    to[1] = (unsigned char)(size & 0xff);
    to[2] = (unsigned char)(size >> 8);
    to[3] = (unsigned char)~to[1];
    to[4] = (unsigned char)~to[2];
    memcpy(to + STORED_HEAD, bytes, size);
    return to + STORED_HEAD + size;
}

size_t deflater_store(const struct deflate_strip *strip, unsigned char *deflated)
{
    const unsigned char *from = strip->bytes;
    unsigned char *to = deflated;
    size_t left = strip->size;
    for (; left > STORED_MOST; left -= STORED_MOST, from += STORED_MOST)
        to = store_block(to, from, STORED_MOST, false);
    return (size_t)(store_block(to, from, left, strip->last) - deflated);
}

/* ---- the engines: each returns the bytes used, or 0 where the room does not do ---- */

/* How many of the bytes before a strip an engine may refer to. */
static size_t dictionary_size(const struct deflate_strip *strip, size_t window)
{
    return strip->before < window ? strip->before : window;
}

static size_t code_with_zlib(struct deflater *deflater, int level, enum deflate_coding coding,
                             const struct deflate_strip *strip, unsigned char *deflated, size_t room)
{
    z_stream *zlib = &deflater->zlib;
    size_t known = dictionary_size(strip, DEFLATE_WINDOW);
    deflateReset(zlib);
    deflateParams(zlib, level, coding == DEFLATE_RUNS ? Z_RLE : Z_DEFAULT_STRATEGY);
    if (coding == DEFLATE_MATCHES && known > 0)
        deflateSetDictionary(zlib, strip->bytes - known, (uInt)known);
    zlib->next_in = (z_const Bytef *)strip->bytes;
    zlib->avail_in = (uInt)strip->size;
    zlib->next_out = deflated;
    zlib->avail_out = (uInt)room;
    int outcome = deflate(zlib, strip->last ? Z_FINISH : Z_SYNC_FLUSH);
    /* Room that is full may hide a part of the flush, so a strip that just fits counts as one that does
       not. */
    bool complete = strip->last ? outcome == Z_STREAM_END : outcome == Z_OK && zlib->avail_out > 0;
    return complete ? room - zlib->avail_out : 0;
}

#ifdef HAVE_ISAL
enum { IGZIP_RUNS_WINDOW_BITS = 2, IGZIP_TABLES_BYTES = ISAL_DEF_LVL3_DEFAULT };

/* Code a strip that has at least one byte before it. */
static size_t code_rest_with_igzip(struct deflater *deflater, int level, enum deflate_coding coding,
                                   const struct deflate_strip *strip, unsigned char *deflated, size_t room)
{
    struct isal_zstream *igzip = &deflater->igzip;
    const size_t window = coding == DEFLATE_RUNS ? (size_t)1 << IGZIP_RUNS_WINDOW_BITS : DEFLATE_WINDOW;
    const size_t known = dictionary_size(strip, window);
    isal_deflate_init(igzip);
    igzip->level = (uint32_t)level;
    igzip->level_buf = deflater->igzip_tables;
    igzip->level_buf_size = IGZIP_TABLES_BYTES;
    igzip->hist_bits = coding == DEFLATE_RUNS ? IGZIP_RUNS_WINDOW_BITS : 0;
    igzip->flush = strip->last ? NO_FLUSH : SYNC_FLUSH;
    igzip->end_of_stream = strip->last;
    isal_deflate_set_dict(igzip, (uint8_t *)strip->bytes - known, (uint32_t)known);
    igzip->next_in = (uint8_t *)strip->bytes;
    igzip->avail_in = (uint32_t)strip->size;
    igzip->next_out = deflated;
    igzip->avail_out = (uint32_t)room;
    bool complete = isal_deflate(igzip) == COMP_OK && igzip->avail_in == 0 && igzip->avail_out > 0;
    vectors_clear();
    return complete ? room - igzip->avail_out : 0;
}

/* Where nothing stands before the first byte, igzip's hash of the third one is that of the address of its
   stream (HACKING.md). So the first byte goes ahead, stored, and stands before the rest. */
static size_t code_with_igzip(struct deflater *deflater, int level, enum deflate_coding coding,
                              const struct deflate_strip *strip, unsigned char *deflated, size_t room)
{
    size_t ahead = strip->before == 0 ? 1 : 0, stored = ahead == 0 ? 0 : STORED_HEAD + ahead;
    struct deflate_strip rest = {strip->bytes + ahead, strip->size - ahead, strip->before + ahead,
                                 strip->last};
    if (room <= stored)
        return 0;
    if (ahead > 0)
        store_block(deflated, strip->bytes, ahead, false);
    size_t used = code_rest_with_igzip(deflater, level, coding, &rest, deflated + stored, room - stored);
    return used > 0 ? stored + used : 0;
}
#endif

static size_t code(struct deflater *deflater, const struct deflate_way *way,
                   const struct deflate_strip *strip, unsigned char *deflated, size_t room)
{
#ifdef HAVE_ISAL
    if (way->quick)
        return code_with_igzip(deflater, way->level, way->coding, strip, deflated, room);
#endif
    return code_with_zlib(deflater, way->level, way->coding, strip, deflated, room);
}

size_t deflater_code(struct deflater *deflater, const struct deflate_way *way,
                     const struct deflate_strip *strip, unsigned char *deflated)
{
    size_t used = strip->size > ENGINE_BYTES_MOST
                      ? 0
                      : code(deflater, way, strip, deflated, deflate_bound(strip->size));
    return used > 0 ? used : deflater_store(strip, deflated);
}

size_t deflater_measure(struct deflater *deflater, const struct deflate_way *way,
                        const struct deflate_strip *strip)
{
    size_t most = deflate_bound(strip->size);
    size_t used = deflater->other == NULL ? 0 : code(deflater, way, strip, deflater->other, most);
    return used > 0 ? used : most;
}

/* ---- what a level asks of them ---- */

/* In noise, such as the low bits of measured samples, matches cost more than they save: coding runs alone is
   both smaller and far faster. Samples that repeat themselves, as in masks, need matches. So a strip is
   tried, in part or in full. PNGs choose by themselves (png/png_strip.c). */
enum tactic { STORE, CODE_RUNS, TRY_SAMPLE, TRY_BOTH };

static const struct effort {
    enum tactic tactic;
    struct deflate_way runs, matches;
} efforts[] = {
    {.tactic = STORE},
    {.tactic = CODE_RUNS, .runs = {DEFLATE_RUNS, true, 1}},
    {TRY_SAMPLE, {DEFLATE_RUNS, true, 1}, {DEFLATE_MATCHES, true, 1}},
    {TRY_SAMPLE, {DEFLATE_RUNS, true, 1}, {DEFLATE_MATCHES, true, 2}},
    {TRY_SAMPLE, {DEFLATE_RUNS, true, 1}, {DEFLATE_MATCHES, true, 3}},
    {TRY_SAMPLE, {DEFLATE_RUNS, true, 1}, {DEFLATE_MATCHES, false, 5}},
    {TRY_SAMPLE, {DEFLATE_RUNS, true, 1}, {DEFLATE_MATCHES, false, 6}},
    {TRY_BOTH, {DEFLATE_RUNS, false, 7}, {DEFLATE_MATCHES, false, 7}},
    {TRY_BOTH, {DEFLATE_RUNS, false, 8}, {DEFLATE_MATCHES, false, 8}},
    {TRY_BOTH, {DEFLATE_RUNS, false, 9}, {DEFLATE_MATCHES, false, 9}},
};
_Static_assert(sizeof efforts / sizeof *efforts == MOST_LEVEL + 1, "an effort for every level");

/* Matches take so much longer that they have to save one part in WORTHWHILE. */
#define WORTHWHILE 32

/* Whether a sample from the middle of the strip becomes much smaller by matches than by runs. */
static bool sample_wants_matches(struct deflater *deflater, const struct deflate_strip *strip)
{
    static const struct deflate_way runs = {DEFLATE_RUNS, true, 1}, matches = {DEFLATE_MATCHES, true, 1};
    size_t size = strip->size < DEFLATE_SAMPLE ? strip->size : DEFLATE_SAMPLE;
    size_t skipped = (strip->size - size) / 2;
    struct deflate_strip sample = {strip->bytes + skipped, size, strip->before + skipped, true};
    size_t by_runs = deflater_measure(deflater, &runs, &sample);
    return deflater_measure(deflater, &matches, &sample) < by_runs - by_runs / WORTHWHILE;
}

static size_t run_both(struct deflater *deflater, const struct effort *effort,
                       const struct deflate_strip *strip, unsigned char *deflated)
{
    size_t by_matches = deflater_code(deflater, &effort->matches, strip, deflated);
    size_t by_runs = deflater_code(deflater, &effort->runs, strip, deflater->other);
    if (by_matches <= by_runs)
        return by_matches;
    memcpy(deflated, deflater->other, by_runs);
    return by_runs;
}

size_t deflater_run(struct deflater *deflater, const struct deflate_strip *strip, unsigned char *deflated)
{
    const struct effort *effort = &efforts[deflater->level];
    if (effort->tactic == STORE || strip->size > ENGINE_BYTES_MOST)
        return deflater_store(strip, deflated);
    if (effort->tactic == TRY_BOTH)
        return run_both(deflater, effort, strip, deflated);
    bool matches = effort->tactic == TRY_SAMPLE && sample_wants_matches(deflater, strip);
    return deflater_code(deflater, matches ? &effort->matches : &effort->runs, strip, deflated);
}

/* Get what the level needs: the engines' tables, and room for the outcome that is not taken. */
static bool start(struct deflater *deflater, size_t strip_bytes, struct fault *fault)
{
    enum tactic tactic = efforts[deflater->level].tactic;
    if (tactic == STORE || strip_bytes > ENGINE_BYTES_MOST)
        return true;
    size_t room = deflate_bound(tactic == TRY_BOTH ? strip_bytes : DEFLATE_SAMPLE);
    deflater->other = mem_alloc(room, 1, "compressing", fault);
    if (deflater->other == NULL)
        return false;
#ifdef HAVE_ISAL
    deflater->igzip_tables = mem_alloc(IGZIP_TABLES_BYTES, 1, "compressing", fault);
    if (deflater->igzip_tables == NULL)
        return false;
#endif
    if (deflateInit2(&deflater->zlib, Z_DEFAULT_COMPRESSION, Z_DEFLATED, -WINDOW_BITS, MEMORY_LEVEL,
                     Z_DEFAULT_STRATEGY) != Z_OK)
        return fault_raise(fault, STATUS_LIMIT, "not enough memory for compressing");
    deflater->zlib_started = true;
    return true;
}

bool deflater_create(struct deflater **deflater, int level, size_t strip_bytes, struct fault *fault)
{
    struct deflater *made = mem_zeroed(1, sizeof *made, "compressing", fault);
    if (made == NULL)
        return false;
    made->level = level;
    if (!start(made, strip_bytes, fault)) {
        deflater_free(made);
        return false;
    }
    *deflater = made;
    return true;
}

void deflater_free(struct deflater *deflater)
{
    if (deflater == NULL)
        return;
    if (deflater->zlib_started)
        deflateEnd(&deflater->zlib);
#ifdef HAVE_ISAL
    mem_free(deflater->igzip_tables);
#endif
    mem_free(deflater->other);
    mem_free(deflater);
}
