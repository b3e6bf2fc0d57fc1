/* Tests of gzip streams: with any number of threads the reader makes of gzip and zlib what zlib does, whoever
   wrote them, and refuses what is damaged as one thread would. */
#include "base/checksum.h"
#include "base/file_set.h"
#include "format/gzip_reader.h"
#include "format/gzip_writer.h"
#include "fixture.h"
#include "harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { PATIENCE = 300, MUTANTS = 400, STRIPS = 4, GZIP_HEAD = 10 };

/* ---- what is packed ---- */

enum text { NOISE, WORDS, FLAT, MARKS, TEXTS };

struct bytes {
    unsigned char *data;
    size_t size, room;
};

static struct bytes bytes_make(size_t room)
{
    return (struct bytes){.data = fixture_memory(room, 1), .room = room};
}

static void bytes_add(struct bytes *bytes, const void *data, size_t size)
{
    ck_assert_uint_le(size, bytes->room - bytes->size);
    memcpy(bytes->data + bytes->size, data, size);
    bytes->size += size;
}

/* Words repeat each other over all distances; marks are what a strip ends in. */
static struct bytes text_make(enum text text, size_t size)
{
    static const char words[] = "pebbles and stones on a shore of sand, ";
    struct bytes made = bytes_make(size);

    made.size = size;
    fill_samples(FILL_RANDOM, SAMPLE_U8, made.data, size, 7);
    for (size_t i = 0; text != NOISE && i < size; i++) {
        if (text == WORDS && made.data[i] > 3)
            made.data[i] = (unsigned char)words[i % (sizeof words - 1)];
        else if (text == FLAT)
            made.data[i] = 0;
        else if (text == MARKS)
            made.data[i] = (unsigned char)GZIP_MARK[(i + made.data[i] % 64 / 63) % GZIP_MARK_SIZE];
    }
    return made;
}

static struct bytes pack_up(const struct bytes *plain, enum gzip_writer_wrapper wrapper, int level,
                            size_t threads)
{
    struct file_out *file = NULL;
    struct gzip_writer *pack = NULL;
    struct fault fault;
    struct bytes packed = {.data = NULL};
    bool done = file_out_open(&file, "packed", &fault) &&
                gzip_writer_open(&pack, file, wrapper, level, threads, &fault) &&
                gzip_writer_write(pack, plain->data, plain->size, &fault) &&
                gzip_writer_finish(pack, &fault) && file_set_commit_one(file, &fault);

    ck_assert_msg(done, "%s", done ? "" : fault.text);
    gzip_writer_close(pack);
    file_out_close(file);
    packed.data = file_content("packed", &packed.size);
    return packed;
}

/* ---- unpacking ---- */

struct code {
    const unsigned char *data;
    size_t left;
};

static bool fetch(void *context, void *bytes, size_t size, size_t *got, struct fault *fault)
{
    struct code *code = context;

    (void)fault;
    *got = size < code->left ? size : code->left;
    memcpy(bytes, code->data, *got);
    code->data += *got;
    code->left -= *got;
    return true;
}

struct unpacked {
    struct bytes plain;
    char reason[sizeof((struct fault *)0)->text]; /* why it was refused; else empty */
    uint64_t ahead;                               /* bytes of strips that were inflated ahead */
};

/* By reads of odd sizes, up to so many bytes in all. */
static struct unpacked unpack_all(const struct bytes *packed, enum inflate_wrapper wrapper, size_t threads,
                                  size_t most)
{
    struct unpacked made = {.plain = bytes_make(most + 1)};
    struct code code = {packed->data, packed->size};
    struct gzip_reader *reader = NULL;
    struct fault fault;
    size_t got = 1;

    ck_assert(gzip_reader_open(&reader, wrapper, threads, "file", fetch, &code, &fault));
    for (size_t wish = 1; got > 0 && made.plain.size < made.plain.room; wish = wish * 7 % 300007 + 1) {
        size_t room = made.plain.room - made.plain.size;
        if (!gzip_reader_read(reader, made.plain.data + made.plain.size, wish < room ? wish : room, &got,
                              &fault)) {
            snprintf(made.reason, sizeof made.reason, "%s", fault.text);
            break;
        }
        made.plain.size += got;
    }
    if (made.reason[0] == '\0' && made.plain.size <= most)
        ck_assert_uint_eq(gzip_reader_held(reader), 0);
    made.ahead = gzip_reader_made_ahead(reader);
    gzip_reader_close(reader);
    return made;
}

static void check_unpacks(const struct bytes *packed, enum inflate_wrapper wrapper, const struct bytes *plain)
{
    static const size_t threads[] = {1, 2, 6};

    for (size_t i = 0; i < LENGTH(threads); i++) {
        struct unpacked made = unpack_all(packed, wrapper, threads[i], plain->size);
        ck_assert_msg(made.reason[0] == '\0', "%zu threads: %s", threads[i], made.reason);
        ck_assert_uint_eq(made.plain.size, plain->size);
        ck_assert_msg(memcmp(made.plain.data, plain->data, plain->size) == 0, "%zu threads", threads[i]);
        free(made.plain.data);
    }
}

/* ---- what pack makes ---- */

static const int levels[] = {0, 1, 6};

START_TEST(what_is_packed_is_unpacked)
{
    const enum text text = (enum text)(_i % TEXTS);
    const int level = levels[_i / TEXTS];
    static const size_t sizes[] = {1, GZIP_STRIP_BYTES, 2 * GZIP_STRIP_BYTES + 12345};

    for (size_t i = 0; i < LENGTH(sizes); i++) {
        if (!harness_takes((uint64_t)_i * LENGTH(sizes) + i))
            continue;
        struct bytes plain = text_make(text, sizes[i]);
        struct bytes gzip = pack_up(&plain, GZIP_WRITER_GZIP, level, 2),
                     other = pack_up(&plain, GZIP_WRITER_GZIP, level, 5);
        struct bytes zlib = pack_up(&plain, GZIP_WRITER_ZLIB, level, 3);
        ck_assert_uint_eq(gzip.size, other.size);
        ck_assert_mem_eq(gzip.data, other.data, gzip.size);
        check_unpacks(&gzip, INFLATE_GZIP, &plain);
        check_unpacks(&zlib, INFLATE_ZLIB, &plain);
        free(gzip.data);
        free(other.data);
        free(zlib.data);
        free(plain.data);
    }
}
END_TEST

/* Every strip but the first is inflated ahead by other threads, and its bytes are right. */
static void check_strips(const struct bytes *packed, const struct bytes *plain, size_t strip_bytes)
{
    struct unpacked made = unpack_all(packed, INFLATE_GZIP, 3, plain->size);

    ck_assert_str_eq(made.reason, "");
    ck_assert_uint_eq(made.plain.size, plain->size);
    ck_assert_mem_eq(made.plain.data, plain->data, plain->size);
    ck_assert_uint_eq(made.ahead, plain->size - strip_bytes);
    free(made.plain.data);
}

START_TEST(strips_of_ours_stand_alone)
{
    const enum text text = (enum text)(_i % TEXTS);
    const int level = levels[_i / TEXTS];
    struct bytes plain, packed;

    if (text != NOISE && level == 0) /* what looks like marks is stored */
        return;
    plain = text_make(text, STRIPS * GZIP_STRIP_BYTES - 777);
    packed = pack_up(&plain, GZIP_WRITER_GZIP, level, 2);
    check_strips(&packed, &plain, GZIP_STRIP_BYTES);
    free(packed.data);
    free(plain.data);
}
END_TEST

/* ---- what others make ---- */

static const int flushes[] = {Z_NO_FLUSH, Z_SYNC_FLUSH, Z_FULL_FLUSH};
static const int windows[] = {15 + 16, 15};

/* Appends a stream by zlib, flushed after every portion. */
static void add_by_zlib(struct bytes *packed, const struct bytes *plain, int window, int flush, int level,
                        size_t portion)
{
    z_stream zlib = {.next_in = plain->data};

    ck_assert_int_eq(deflateInit2(&zlib, level, Z_DEFLATED, window, 8, Z_DEFAULT_STRATEGY), Z_OK);
    zlib.next_out = packed->data + packed->size;
    zlib.avail_out = (unsigned)(packed->room - packed->size);
    for (size_t at = 0; at < plain->size; at += zlib.avail_in) {
        size_t left = plain->size - at, taken = left < portion ? left : portion;
        zlib.avail_in = (unsigned)taken;
        ck_assert_int_eq(deflate(&zlib, taken == left ? Z_FINISH : flush),
                         taken == left ? Z_STREAM_END : Z_OK);
        ck_assert_uint_eq(zlib.avail_in, 0);
        zlib.avail_in = (unsigned)taken;
    }
    packed->size += zlib.total_out;
    deflateEnd(&zlib);
}

START_TEST(what_others_packed_is_unpacked)
{
    const enum text text = (enum text)(_i % TEXTS);
    const int flush = flushes[_i / TEXTS % 3], window = windows[_i / TEXTS / 3];
    static const size_t portions[] = {1000, 30000, 200000};
    struct bytes plain = text_make(text, 400001);

    for (size_t i = 0; i < LENGTH(portions); i++) {
        if (!harness_takes((uint64_t)_i * LENGTH(portions) + i))
            continue;
        struct bytes packed = bytes_make(plain.size + plain.size / 8);
        add_by_zlib(&packed, &plain, window, flush, i % 2 == 0 ? 6 : 0, portions[i]);
        check_unpacks(&packed, window == 15 ? INFLATE_ZLIB : INFLATE_GZIP, &plain);
        free(packed.data);
    }
    free(plain.data);
}
END_TEST

START_TEST(strips_between_full_flushes_stand_alone)
{
    struct bytes plain = text_make(WORDS, 400001), packed = bytes_make(plain.size);

    add_by_zlib(&packed, &plain, 15 + 16, Z_FULL_FLUSH, 6, 50000);
    check_strips(&packed, &plain, 50000);
    free(packed.data);
    free(plain.data);
}
END_TEST

/* Strips that stand alone between such as do not, and members. */
static struct bytes pack_medley(const struct bytes *plain, unsigned members, size_t portion)
{
    struct bytes packed = bytes_make(members * (plain->size + plain->size / 2) + 4096);

    for (unsigned i = 0; i < members; i++)
        add_by_zlib(&packed, plain, 15 + 16, flushes[(i + 2) % 3], (int)(6 * (i % 3) / 2), portion);
    return packed;
}

START_TEST(members_follow_each_other)
{
    enum { MEMBERS = 7 };
    struct bytes plain = text_make((enum text)_i, 50000), packed = pack_medley(&plain, MEMBERS, 5000);
    struct bytes all = bytes_make(MEMBERS * plain.size);

    for (int i = 0; i < MEMBERS; i++)
        bytes_add(&all, plain.data, plain.size);
    check_unpacks(&packed, INFLATE_GZIP, &all);
    free(all.data);
    free(packed.data);
    free(plain.data);
}
END_TEST

/* All that a head of gzip may have; its checksum counts. */
START_TEST(a_head_has_optional_parts)
{
    static const unsigned char head[] = {0x1f, 0x8b, 8,   0x1f, 0,   0,   0, 0,   0, 255,
                                         3,    0,    'a', 'b',  'c', 'n', 0, 'c', 0};
    struct bytes plain = text_make(WORDS, 5000), bare = bytes_make(10000), packed = bytes_make(10000);
    uint32_t sum = checksum_crc(CHECKSUM_CRC, head, sizeof head);
    unsigned char check[] = {(unsigned char)sum, (unsigned char)(sum >> 8)};
    struct unpacked refused;

    add_by_zlib(&bare, &plain, 15 + 16, Z_NO_FLUSH, 6, plain.size);
    bytes_add(&packed, head, sizeof head);
    bytes_add(&packed, check, sizeof check);
    bytes_add(&packed, bare.data + GZIP_HEAD, bare.size - GZIP_HEAD);
    check_unpacks(&packed, INFLATE_GZIP, &plain);
    packed.data[sizeof head] ^= 1;
    refused = unpack_all(&packed, INFLATE_GZIP, 2, plain.size);
    ck_assert_str_eq(refused.reason, "file: gzip: incorrect header of compressed data");
    free(refused.plain.data);
    free(packed.data);
    free(bare.data);
    free(plain.data);
}
END_TEST

START_TEST(nothing_follows_a_stream_of_zlib)
{
    struct bytes plain = text_make(WORDS, 5000), packed = bytes_make(10000);
    struct unpacked refused;

    add_by_zlib(&packed, &plain, 15, Z_FULL_FLUSH, 6, 100);
    check_unpacks(&packed, INFLATE_ZLIB, &plain);
    bytes_add(&packed, "", 1);
    refused = unpack_all(&packed, INFLATE_ZLIB, 2, plain.size);
    ck_assert_str_eq(refused.reason, "file: zlib: bytes follow its end");
    free(refused.plain.data);
    free(packed.data);
    free(plain.data);
}
END_TEST

/* ---- damage ---- */

static unsigned next_random(uint64_t *seed)
{
    *seed = *seed * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (unsigned)(*seed >> 33);
}

/* A bit or a byte changes, a piece is left out, comes twice or becomes a mark, or the end is missing. */
static struct bytes mutant_of(const struct bytes *packed, uint64_t *seed)
{
    struct bytes made = bytes_make(2 * packed->size);
    size_t at = next_random(seed) % packed->size, size = 1 + next_random(seed) % 300;
    unsigned kind = next_random(seed) % 6;

    size = size < packed->size - at ? size : packed->size - at;
    bytes_add(&made, packed->data, kind == 2 || kind == 5 ? at : packed->size);
    if (kind == 0)
        made.data[at] ^= (unsigned char)(1U << next_random(seed) % 8);
    else if (kind == 1)
        made.data[at] = (unsigned char)next_random(seed);
    else if (kind == 2)
        bytes_add(&made, packed->data + at + size, packed->size - at - size);
    else if (kind == 3)
        memmove(made.data + at, packed->data + (size_t)next_random(seed) % (packed->size - size + 1), size);
    else if (kind == 4)
        memcpy(made.data + at, GZIP_MARK, size < GZIP_MARK_SIZE ? size : GZIP_MARK_SIZE);
    return made;
}

/* What one thread makes of it counts. */
static void check_mutant(const struct bytes *mutant, size_t most)
{
    struct unpacked one = unpack_all(mutant, INFLATE_GZIP, 1, most);
    struct unpacked many = unpack_all(mutant, INFLATE_GZIP, 2 + mutant->size % 3, most);

    ck_assert_str_eq(many.reason, one.reason);
    if (one.reason[0] == '\0') {
        ck_assert_uint_eq(many.plain.size, one.plain.size);
        ck_assert_mem_eq(many.plain.data, one.plain.data, one.plain.size);
    }
    free(one.plain.data);
    free(many.plain.data);
}

static unsigned mutants(void)
{
    const char *wanted = getenv("VOXFILT_MUTANTS");

    return wanted != NULL ? (unsigned)strtoul(wanted, NULL, 10) : MUTANTS / harness_thinning();
}

START_TEST(damage_is_refused_with_any_threads)
{
    struct bytes plain = text_make((enum text)_i, 30000), packed = pack_medley(&plain, 3, 3000);
    uint64_t seed = 11 + (uint64_t)_i;

    for (unsigned i = 0; i < mutants() / TEXTS; i++) {
        struct bytes mutant = mutant_of(&packed, &seed);
        check_mutant(&mutant, 4 * plain.size);
        free(mutant.data);
    }
    free(packed.data);
    free(plain.data);
}
END_TEST

int main(void)
{
    TCase *ours = tcase_create("ours"), *others = tcase_create("others"), *damage = tcase_create("damage");
    TCase *const cases[] = {ours, others, damage};

    tcase_add_loop_test(ours, what_is_packed_is_unpacked, 0, (int)(TEXTS * LENGTH(levels)));
    tcase_add_loop_test(ours, strips_of_ours_stand_alone, 0, (int)(TEXTS * LENGTH(levels)));
    tcase_add_loop_test(others, what_others_packed_is_unpacked, 0,
                        (int)(TEXTS * LENGTH(flushes) * LENGTH(windows)));
    tcase_add_test(others, strips_between_full_flushes_stand_alone);
    tcase_add_loop_test(others, members_follow_each_other, 0, TEXTS);
    tcase_add_test(others, a_head_has_optional_parts);
    tcase_add_test(others, nothing_follows_a_stream_of_zlib);
    tcase_add_loop_test(damage, damage_is_refused_with_any_threads, 0, TEXTS);
    return harness_run("gzip", cases, LENGTH(cases), PATIENCE);
}
