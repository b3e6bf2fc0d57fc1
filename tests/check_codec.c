/* Tests of Zarr's codecs: what other libraries encode is decoded to the same samples, and damaged chunks are
   refused or at least stay within their room. */
#include "base/checksum.h"
#include "zarr/codec.h"
#include "assertions.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { ROOM = 1 << 18, CANARY = 64, PATTERN = 0xa5 };

/* ---- encoding by the libraries themselves ---- */

static size_t (*zstd_compress)(void *to, size_t room, const void *from, size_t size, int level);
static int (*blosc_compress)(int level, int shuffle, size_t type_bytes, size_t size, const void *from,
                             void *to, size_t room, const char *compressor, size_t block, int threads);

/* Without a library its codec is not tested, unless nothing may be left out. */
static bool find(const char *library, const char *name, void *place)
{
    void *handle = dlopen(library, RTLD_NOW), *function = handle == NULL ? NULL : dlsym(handle, name);

    ck_assert_msg(function != NULL || getenv("REQUIRE_READERS") == NULL, "%s is missing", library);
    memcpy(place, &function, sizeof function);
    return function != NULL;
}

static size_t deflate_by_zlib(bool gzip, const void *from, size_t size, unsigned char *to)
{
    z_stream stream = {
        .next_in = (z_const Bytef *)from, .avail_in = (uInt)size, .next_out = to, .avail_out = ROOM};

    ck_assert_int_eq(deflateInit2(&stream, 6, Z_DEFLATED, gzip ? 31 : 15, 8, Z_DEFAULT_STRATEGY), Z_OK);
    ck_assert_int_eq(deflate(&stream, Z_FINISH), Z_STREAM_END);
    deflateEnd(&stream);
    return stream.total_out;
}

/* The chains that are tested, as rows: what comes after `bytes`, and how blosc is told to code. */
static const struct recipe {
    const char *name;
    unsigned transpositions;
    bool big;
    enum codec_kind after[4];
    size_t count;
    const char *blosc;
    int shuffle;
} recipes[] = {
    {"bytes", 0, false, {0}, 0, NULL, 0},
    {"bytes, big", 0, true, {0}, 0, NULL, 0},
    {"transpose", 1, true, {0}, 0, NULL, 0},
    {"crc32c", 0, false, {CODEC_CRC32C}, 1, NULL, 0},
    {"gzip", 0, false, {CODEC_GZIP}, 1, NULL, 0},
    {"zlib", 1, false, {CODEC_ZLIB}, 1, NULL, 0},
    {"zstd", 0, false, {CODEC_ZSTD}, 1, NULL, 0},
    {"transpose twice, zstd, crc32c", 2, true, {CODEC_ZSTD, CODEC_CRC32C}, 2, NULL, 0},
    {"gzip, zstd", 0, false, {CODEC_GZIP, CODEC_ZSTD}, 2, NULL, 0},
    {"crc32c, zlib, crc32c, gzip", 1, true, {CODEC_CRC32C, CODEC_ZLIB, CODEC_CRC32C, CODEC_GZIP}, 4, NULL, 0},
    {"blosc zstd", 0, false, {CODEC_BLOSC}, 1, "zstd", 2},
    {"blosc lz4", 1, false, {CODEC_BLOSC}, 1, "lz4", 1},
    {"blosc lz4hc", 0, true, {CODEC_BLOSC}, 1, "lz4hc", 0},
    {"blosc zlib, crc32c", 0, false, {CODEC_BLOSC, CODEC_CRC32C}, 2, "zlib", 2},
    {"blosc blosclz", 2, false, {CODEC_BLOSC}, 1, "blosclz", 1},
};
enum { RECIPES = sizeof recipes / sizeof *recipes };

static const size_t shapes[][CODEC_MOST_AXES] = {{1}, {3, 5, 7}, {2, 1, 4, 3, 5}, {16, 33, 20}};
static const size_t shape_axes[] = {1, 3, 5, 3};
enum { SHAPES = sizeof shape_axes / sizeof *shape_axes };

static unsigned next_random(uint32_t *seed)
{
    *seed = *seed * 1664525U + 1013904223U;
    return *seed >> 16;
}

static void make_chain(const struct recipe *recipe, enum sample_type type, size_t shape, uint32_t *seed,
                       struct codec_chain *chain)
{
    *chain = (struct codec_chain){.type = type, .axes = shape_axes[shape]};
    memcpy(chain->extents, shapes[shape], sizeof chain->extents);
    for (unsigned k = 0; k < recipe->transpositions; k++) {
        struct codec *codec = &chain->codecs[chain->count++];
        codec->kind = CODEC_TRANSPOSE;
        for (size_t i = 0; i < chain->axes; i++)
            codec->order[i] = (unsigned char)i;
        for (size_t i = chain->axes; i-- > 1;) {
            size_t other = next_random(seed) % (i + 1);
            unsigned char kept = codec->order[i];
            codec->order[i] = codec->order[other];
            codec->order[other] = kept;
        }
    }
    chain->codecs[chain->count++] = (struct codec){.kind = CODEC_BYTES, .big = recipe->big};
    for (size_t i = 0; i < recipe->count; i++)
        chain->codecs[chain->count++] = (struct codec){.kind = recipe->after[i], .level = 3};
}

/* Transpose as the specification says it: axis i of the result is axis order[i] of what there was. */
static void transpose(const unsigned char *order, size_t axes, size_t *extents, const unsigned char *from,
                      unsigned char *to, size_t size)
{
    size_t result[CODEC_MOST_AXES], total = 1;

    for (size_t i = 0; i < axes; i++)
        total *= result[i] = extents[order[i]];
    for (size_t k = 0; k < total; k++) {
        size_t index[CODEC_MOST_AXES], left = k, place = 0;
        for (size_t i = axes; i-- > 0; left /= result[i])
            index[order[i]] = left % result[i];
        for (size_t i = 0; i < axes; i++)
            place = place * extents[i] + index[i];
        memcpy(to + k * size, from + place * size, size);
    }
    memcpy(extents, result, axes * sizeof *extents);
}

/* Encode samples by the rules, each codec by its own library; false where one is missing. */
static bool encode(const struct codec_chain *chain, const struct recipe *recipe, const unsigned char *samples,
                   unsigned char *coded, size_t *size)
{
    static unsigned char other[ROOM];
    size_t extents[CODEC_MOST_AXES], bytes = codec_plain_bytes(chain), sample = sample_size(chain->type);

    memcpy(extents, chain->extents, sizeof extents);
    memcpy(coded, samples, bytes);
    for (size_t i = 0; i < chain->count; i++) {
        const struct codec *codec = &chain->codecs[i];
        uint32_t sum;
        memcpy(other, coded, bytes);
        switch (codec->kind) {
        case CODEC_TRANSPOSE:
            transpose(codec->order, chain->axes, extents, other, coded, sample);
            break;
        case CODEC_BYTES:
            if (codec->big)
                sample_swap(chain->type, coded, bytes / sample);
            break;
        case CODEC_GZIP:
        case CODEC_ZLIB:
            bytes = deflate_by_zlib(codec->kind == CODEC_GZIP, other, bytes, coded);
            break;
        case CODEC_ZSTD:
            if (!find("libzstd.so.1", "ZSTD_compress", &zstd_compress))
                return false;
            bytes = zstd_compress(coded, ROOM, other, bytes, codec->level);
            break;
        case CODEC_BLOSC:
            if (!find("libblosc.so.1", "blosc_compress_ctx", &blosc_compress))
                return false;
            bytes = (size_t)blosc_compress(5, recipe->shuffle, sample, bytes, other, coded, ROOM,
                                           recipe->blosc, 0, 1);
            break;
        case CODEC_CRC32C:
            sum = checksum_crc32c(CHECKSUM_CRC32C, coded, bytes);
            for (unsigned k = 0; k < 4; k++)
                coded[bytes++] = (unsigned char)(sum >> 8 * k);
            break;
        }
    }
    *size = bytes;
    return true;
}

static void fill(unsigned char *samples, size_t bytes, uint32_t *seed)
{
    for (size_t i = 0; i < bytes; i++)
        samples[i] = (unsigned char)(i % 7 == 0 ? next_random(seed) : i / 16);
}

/* Decode into room of exactly the samples: nothing may be written behind it. */
static bool decode(struct codec_worker *worker, const struct codec_chain *chain, const unsigned char *coded,
                   size_t size, unsigned char *samples, struct fault *fault)
{
    size_t plain = codec_plain_bytes(chain);
    unsigned char *exact = malloc(size > 0 ? size : 1);
    bool done;

    memcpy(exact, coded, size);
    memset(samples + plain, PATTERN, CANARY);
    *fault = (struct fault){.status = STATUS_DONE};
    done = codec_decode(worker, exact, size, samples, fault);
    free(exact);
    for (size_t i = 0; i < CANARY; i++)
        ck_assert_int_eq(samples[plain + i], PATTERN);
    if (!done) {
        ck_assert_int_eq(fault->status, STATUS_INPUT);
        ck_assert_int_ne(fault->text[0], '\0');
    }
    return done;
}

static void tamper(struct codec_worker *worker, const struct codec_chain *chain, const unsigned char *coded,
                   size_t size, const unsigned char *samples, uint32_t *seed)
{
    static unsigned char damaged[ROOM], result[ROOM];
    const bool summed = chain->codecs[chain->count - 1].kind == CODEC_CRC32C;
    struct fault fault;

    for (size_t i = 0; i < 400; i++) {
        size_t cut = next_random(seed) % size, at = next_random(seed) % size;
        ck_assert(!decode(worker, chain, coded, cut, result, &fault));
        memcpy(damaged, coded, size);
        damaged[at] ^= (unsigned char)(1U << next_random(seed) % 8);
        if (decode(worker, chain, damaged, size, result, &fault))
            ck_assert_msg(!summed, "byte %zu", at);
    }
    memcpy(damaged, coded, size);
    damaged[size] = 1;
    ck_assert(!decode(worker, chain, damaged, size + 1, result, &fault));
    ck_assert(decode(worker, chain, coded, size, result, &fault));
    ck_assert_mem_eq(result, samples, codec_plain_bytes(chain));
}

START_TEST(chunks_come_back)
{
    static unsigned char samples[ROOM], coded[ROOM], result[ROOM];
    static const enum sample_type types[] = {SAMPLE_U8, SAMPLE_I16, SAMPLE_F32, SAMPLE_F64};
    const struct recipe *recipe = &recipes[_i / SHAPES];
    struct codec_worker *worker;
    struct codec_chain chain;
    struct fault fault;
    uint32_t seed = (uint32_t)_i + 1;
    size_t size;

    for (size_t k = 0; k < sizeof types / sizeof *types; k++) {
        make_chain(recipe, types[k], (size_t)_i % SHAPES, &seed, &chain);
        fill(samples, codec_plain_bytes(&chain), &seed);
        if (!encode(&chain, recipe, samples, coded, &size))
            return;
        ck_assert_uint_le(size, codec_coded_bytes(&chain));
        ck_assert_msg(codec_load(&chain, STATUS_INPUT, &fault), "%s", fault.text);
        ck_assert(codec_worker_create(&worker, &chain, &fault));
        ck_assert_msg(decode(worker, &chain, coded, size, result, &fault), "%s: %s", recipe->name,
                      fault.text);
        ck_assert_mem_eq(result, samples, codec_plain_bytes(&chain));
        if (k == 1)
            tamper(worker, &chain, coded, size, samples, &seed);
        codec_worker_free(worker);
    }
}
END_TEST

/* A chunk that unfolds to more than its samples, or to less, is refused by its size alone. */
START_TEST(sizes_are_those_of_samples)
{
    static unsigned char samples[ROOM], coded[ROOM], result[ROOM];
    const struct recipe *recipe = &recipes[_i];
    struct codec_worker *worker;
    struct codec_chain chain, other;
    struct fault fault;
    uint32_t seed = 1;
    size_t size;

    make_chain(recipe, SAMPLE_U16, 1, &seed, &chain);
    for (int way = -1; way <= 1; way += 2) {
        other = chain;
        other.extents[0] = (size_t)((int)chain.extents[0] + way);
        if (!encode(&other, recipe, samples, coded, &size))
            return;
        ck_assert(codec_load(&chain, STATUS_INPUT, &fault) && codec_worker_create(&worker, &chain, &fault));
        ck_assert(!decode(worker, &chain, coded, size, result, &fault));
        ck_assert_msg(strstr(fault.text, "bytes") != NULL || strstr(fault.text, "small") != NULL, "%s: %s",
                      recipe->name, fault.text);
        codec_worker_free(worker);
    }
}
END_TEST

/* What is encoded here is decoded here, and by nothing but the codecs that the chain names. */
START_TEST(what_is_written_is_read)
{
    static unsigned char samples[ROOM], coded[ROOM], result[ROOM];
    static const enum codec_kind after[] = {CODEC_ZSTD, CODEC_CRC32C};
    uint32_t seed = 1;

    for (unsigned which = 0; which < 4; which++) {
        struct codec_chain chain = {.type = SAMPLE_U16,
                                    .axes = 3,
                                    .extents = {9, 10, 11},
                                    .count = 1,
                                    .codecs = {{.kind = CODEC_BYTES}}};
        struct codec_worker *worker;
        struct fault fault;
        size_t size;
        for (unsigned i = 0; i < 2; i++) {
            if (which >> i & 1)
                chain.codecs[chain.count++] = (struct codec){.kind = after[i], .level = (int)which};
        }
        fill(samples, codec_plain_bytes(&chain), &seed);
        if (!codec_load(&chain, STATUS_USAGE, &fault)) {
            ck_assert_ptr_nonnull(strstr(fault.text, "apt install lib"));
            continue;
        }
        ck_assert(codec_worker_create(&worker, &chain, &fault));
        ck_assert(codec_encode(worker, samples, coded, &size, &fault));
        ck_assert_uint_le(size, codec_coded_bytes(&chain));
        ck_assert(decode(worker, &chain, coded, size, result, &fault));
        ck_assert_mem_eq(result, samples, codec_plain_bytes(&chain));
        codec_worker_free(worker);
    }
}
END_TEST

/* The vectors of RFC 3720, and sums that are continued. */
START_TEST(checksums_are_known)
{
    unsigned char bytes[32] = {0};

    ck_assert_uint_eq(checksum_crc32c(CHECKSUM_CRC32C, "123456789", 9), 0xe3069283U);
    ck_assert_uint_eq(checksum_crc32c(CHECKSUM_CRC32C, bytes, sizeof bytes), 0x8a9136aaU);
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)i;
    ck_assert_uint_eq(checksum_crc32c(CHECKSUM_CRC32C, bytes, sizeof bytes), 0x46dd794eU);
    ck_assert_uint_eq(checksum_crc32c(checksum_crc32c(CHECKSUM_CRC32C, bytes, 5), bytes + 5, 27),
                      0x46dd794eU);
    memset(bytes, 0xff, sizeof bytes);
    ck_assert_uint_eq(checksum_crc32c(CHECKSUM_CRC32C, bytes, sizeof bytes), 0x62a8ab43U);
}
END_TEST

START_TEST(an_index_names_places_of_its_shard)
{
    enum { CHUNKS = 3, SHARD = 1000, MOST = 500 };
    const bool summed = _i == 1;
    struct codec_place places[CHUNKS] = {{0, 500}, {CODEC_ABSENT, CODEC_ABSENT}, {990, 10}}, back[CHUNKS];
    unsigned char bytes[CHUNKS * 16 + 4];
    struct fault fault;

    codec_index_encode(places, CHUNKS, summed, bytes);
    ck_assert_uint_eq(codec_index_bytes(CHUNKS, summed), CHUNKS * 16 + (summed ? 4 : 0));
    ck_assert(codec_index_decode(bytes, CHUNKS, summed, SHARD, MOST, back, &fault));
    ck_assert_mem_eq(places, back, sizeof places);
    ck_assert_int_eq(bytes[8] + 256 * bytes[9], 500);
    for (size_t i = 0; summed && i < sizeof bytes * 8; i++) {
        bytes[i / 8] ^= (unsigned char)(1U << i % 8);
        ck_assert(!codec_index_decode(bytes, CHUNKS, summed, SHARD, MOST, back, &fault));
        bytes[i / 8] ^= (unsigned char)(1U << i % 8);
    }
    ck_assert(!codec_index_decode(bytes, CHUNKS, summed, SHARD - 1, MOST, back, &fault));
    ck_assert_str_eq(fault.text, "the index of the shard: chunk 2 lies beyond the 999 bytes");
    ck_assert(!codec_index_decode(bytes, CHUNKS, summed, SHARD, MOST - 1, back, &fault));
    ck_assert_str_eq(fault.text, "the index of the shard: chunk 0 has 500 bytes, and 499 is the most");
}
END_TEST

static Suite *codec_suite(void)
{
    Suite *suite = suite_create("codec");
    TCase *codecs = tcase_create("codecs");

    tcase_add_test(codecs, checksums_are_known);
    tcase_add_loop_test(codecs, chunks_come_back, 0, RECIPES * SHAPES);
    tcase_add_loop_test(codecs, sizes_are_those_of_samples, 0, RECIPES);
    tcase_add_test(codecs, what_is_written_is_read);
    tcase_add_loop_test(codecs, an_index_names_places_of_its_shard, 0, 2);
    tcase_set_timeout(codecs, 60);
    suite_add_tcase(suite, codecs);
    return suite;
}

int main(void)
{
    SRunner *runner = srunner_create(codec_suite());
    int failed;

    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
