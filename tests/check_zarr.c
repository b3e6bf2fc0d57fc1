/* Tests of Zarr stores that no other library writes: metadata that are refused, what leads out of the folder,
   and stores in which bytes were changed. VOXFILT_MUTATIONS is the number of changes (3000). */
#include "base/json.h"
#include "base/mem.h"
#include "format/format.h"
#include "zarr/array.h"
#include "assertions.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_BYTES = 256, FILE_MOST = 4096, PATIENCE = 3600, X = 6, Y = 5, Z = 4, CHUNK = 3, SHARD = 6 };

static char folder[PATH_BYTES];

static const char *path_in(const char *key)
{
    static char path[PATH_BYTES];

    snprintf(path, sizeof path, "%.128s/%.100s", folder, key);
    return path;
}

static void put(const char *key, const void *bytes, size_t size)
{
    FILE *file;

    for (const char *slash = strchr(key, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        char outer[PATH_BYTES];
        snprintf(outer, sizeof outer, "%.128s/%.*s", folder, (int)(slash - key), key);
        mkdir(outer, 0777);
    }
    file = fopen(path_in(key), "wb");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(bytes, 1, size, file), size);
    ck_assert_int_eq(fclose(file), 0);
}

static void put_text(const char *key, const char *text)
{
    put(key, text, strlen(text));
}

static void make_folder(void)
{
    snprintf(folder, sizeof folder, "%s/voxfilt-zarr-XXXXXX",
             access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    ck_assert_ptr_nonnull(mkdtemp(folder));
}

static void remove_folder(void)
{
    char command[PATH_BYTES + 16];

    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    ck_assert_int_eq(system(command), 0);
}

/* ---- JSON ---- */

static const struct {
    const char *text;
    bool read;
} texts[] = {
    {"{\"a\": [1, -2.5e+3, true, false, null, \"\\u00b5m\\ud83d\\ude00\\n\"]}", true},
    {" [] ", true},
    {"0", true},
    {"{\"a\": 1, \"a\": 2}", true},
    {"", false},
    {"{", false},
    {"[1,]", false},
    {"[1 2]", false},
    {"{\"a\" 1}", false},
    {"{a: 1}", false},
    {"[NaN, Infinity, -Infinity]", true},
    {"-NaN", false},
    {"nan", false},
    {"01", false},
    {"+1", false},
    {".5", false},
    {"1.", false},
    {"1e", false},
    {"0x1", false},
    {"\"\\x\"", false},
    {"\"\\u0000\"", false},
    {"\"\\ud800\"", false},
    {"\"\\udc00\"", false},
    {"\"a\nb\"", false},
    {"\"a", false},
    {"\"\xff\"", false},
    {"nullx", false},
    {"1 1", false},
};

START_TEST(json_is_read_or_refused)
{
    struct json_tree tree;
    struct fault fault;
    bool read = json_read(&tree, texts[_i].text, strlen(texts[_i].text), &fault);

    ck_assert_msg(read == texts[_i].read, "%s: %s", texts[_i].text, read ? "was read" : fault.text);
    if (read)
        json_free(&tree);
    else
        ck_assert_str_eq(strncmp(fault.text, "JSON: ", 6) == 0 ? "" : fault.text, "");
}
END_TEST

START_TEST(json_has_its_values)
{
    static const char text[] =
        "{\"n\": [3, 18446744073709551615, 18446744073709551616, -1, 1.0, 7e0], \"t\": "
        "\"\\u00b5\\ud83d\\ude00\\\"\", \"o\": {\"n\": null, \"n\": 5}, \"e\": {}}";
    const struct json_value *list, *item;
    struct json_tree tree;
    struct fault fault;
    uint64_t count;

    ck_assert(json_read(&tree, text, strlen(text), &fault));
    list = json_member(tree.values, "n");
    ck_assert_uint_eq(list->count, 6);
    item = json_first(list);
    ck_assert(json_count_of(item, &count) && count == 3);
    item = json_next(item);
    ck_assert(json_count_of(item, &count) && count == UINT64_MAX);
    while ((item = json_next(item)) != NULL)
        ck_assert(!json_count_of(item, &count));
    ck_assert(json_is_text(json_member(tree.values, "t"), "\302\265\360\237\230\200\""));
    ck_assert(json_count_of(json_member(json_member(tree.values, "o"), "n"), &count) && count == 5);
    ck_assert_ptr_null(json_first(json_member(tree.values, "e")));
    ck_assert_ptr_null(json_member(tree.values, "x"));
    ck_assert_ptr_null(json_member(list, "x"));
    json_free(&tree);
}
END_TEST

START_TEST(json_has_a_depth)
{
    char text[2 * JSON_MOST_DEPTH + 3];
    struct json_tree tree;
    struct fault fault;

    for (size_t depth = JSON_MOST_DEPTH; depth <= JSON_MOST_DEPTH + 1; depth++) {
        memset(text, '[', depth);
        memset(text + depth, ']', depth);
        ck_assert(json_read(&tree, text, 2 * depth, &fault) == (depth == JSON_MOST_DEPTH));
        if (depth == JSON_MOST_DEPTH)
            json_free(&tree);
    }
}
END_TEST

/* ---- metadata of arrays ---- */

#define V2(changed)                                                                                          \
    "{\"zarr_format\": 2, \"shape\": [4, 5, 6], \"chunks\": [3, 3, 3], \"dtype\": \"<f4\", \"order\": "      \
    "\"C\", \"compressor\": null, \"filters\": null, \"fill_value\": 0" changed "}"
#define V3(changed)                                                                                          \
    "{\"zarr_format\": 3, \"node_type\": \"array\", \"shape\": [4, 5, 6], \"data_type\": \"float32\", "      \
    "\"chunk_grid\": {\"name\": \"regular\", \"configuration\": {\"chunk_shape\": [6, 6, 6]}}, "             \
    "\"chunk_key_encoding\": {\"name\": \"default\"}, \"fill_value\": 0, \"codecs\": [{\"name\": "           \
    "\"bytes\", "                                                                                            \
    "\"configuration\": {\"endian\": \"little\"}}]" changed "}"
#define SHARDED(inside)                                                                                      \
    V3(", \"codecs\": [{\"name\": \"sharding_indexed\", \"configuration\": {\"chunk_shape\": [3, 3, 3], "    \
       "\"codecs\": [{\"name\": \"bytes\", \"configuration\": {\"endian\": \"little\"}}], "                  \
       "\"index_codecs\": [{\"name\": \"bytes\", \"configuration\": {\"endian\": \"little\"}}, {\"name\": "  \
       "\"crc32c\"}]" inside "}}]")

/* Of members with the same name the last one counts, so that each case adds the one that it changes. */
static const struct {
    const char *text, *reason; /* NULL: it is read */
} arrays[] = {
    {V2(""), NULL},
    {V3(""), NULL},
    {SHARDED(""), NULL},
    {SHARDED(", \"index_location\": \"start\""), NULL},
    {V2(", \"zarr_format\": 4"), "zarr_format: neither 2 nor 3"},
    {V2(", \"filters\": []"), NULL},
    {V2(", \"filters\": [{\"id\": \"delta\"}]"), "filters: delta, which is not supported"},
    {V2(", \"compressor\": {\"id\": \"lzma\"}"), "compressor: lzma, which is not supported"},
    {V2(", \"dtype\": \"<c8\""), "dtype: <c8, which is not supported"},
    {V2(", \"dtype\": \"|f4\""), "dtype: |f4, which is not supported"},
    {V2(", \"dtype\": [[\"a\", \"<f4\"]]"), "dtype: not what it should be"},
    {V2(", \"order\": \"A\""), "order: A, which is not supported"},
    {V2(", \"dimension_separator\": \"-\""), "dimension_separator: -, which is not supported"},
    {V2(", \"shape\": [4, 0, 6]"), "shape: an extent of 0, or more than can be addressed"},
    {V2(", \"shape\": []"), "shape: 0 axes, and 1 to 8 are supported"},
    {V2(", \"shape\": [4, 5, 6, 7, 1, 1, 1, 1, 1]"), "shape: 9 axes, and 1 to 8 are supported"},
    {V2(", \"shape\": [4294967296, 4294967296, 6]"), "shape: an extent of 0, or more than can be addressed"},
    {V2(", \"shape\": [4, 5.0, 6]"), "shape: not what it should be"},
    {V2(", \"shape\": [4, -5, 6]"), "shape: not what it should be"},
    {V2(", \"chunks\": [4, 5]"), "chunks: not 3 counts"},
    {V2(", \"chunks\": [4, 0, 6]"), "chunks: an extent of 0, or more than can be addressed"},
    {V2(", \"fill_value\": \"nan\""), "fill_value: not a sample of the type"},
    {V2(", \"dtype\": \"|u1\", \"fill_value\": 256"), "fill_value: not a sample of the type"},
    {V2(", \"dtype\": \"|u1\", \"fill_value\": 0.5"), "fill_value: not a sample of the type"},
    {V2(", \"dtype\": \"<i8\", \"fill_value\": 9223372036854775808"), "fill_value: not a sample of the type"},
    {V3(", \"data_type\": \"complex64\""), "data_type: complex64, which is not supported"},
    {V3(", \"data_type\": {\"name\": \"numpy.datetime64\", \"configuration\": {}}"),
     "data_type: numpy.datetime64, which is not supported"},
    {V3(", \"chunk_grid\": {\"name\": \"rectilinear\"}"), "chunk_grid: rectilinear, which is not supported"},
    {V3(", \"chunk_key_encoding\": {\"name\": \"suffix\"}"),
     "chunk_key_encoding: suffix, which is not supported"},
    {V3(", \"chunk_key_encoding\": \"v2\""), NULL},
    {V3(", \"storage_transformers\": []"), NULL},
    {V3(", \"storage_transformers\": [{\"name\": \"a\"}]"),
     "storage_transformers: a, which is not supported"},
    {V3(", \"new\": {\"must_understand\": false}"), NULL},
    {V3(", \"new\": {}"), "new: an unknown field"},
    {V3(", \"codecs\": []"), "codecs: without bytes"},
    {V3(", \"codecs\": [{\"name\": \"bytes\"}]"), "codecs: bytes: endian: missing"},
    {V3(", \"codecs\": [\"bytes\"], \"data_type\": \"uint8\""), NULL},
    {V3(", \"codecs\": [\"crc32c\"]"), "codecs: crc32c is in the wrong place"},
    {V3(", \"codecs\": [{\"name\": \"pcodec\"}]"), "codecs: pcodec, which is not supported"},
    {V3(", \"codecs\": [{\"name\": \"transpose\", \"configuration\": {\"order\": [0, 1, 1]}}]"),
     "codecs: transpose: order: not every axis once"},
    {V3(", \"codecs\": [{\"name\": \"transpose\", \"configuration\": {\"order\": \"C\"}}]"),
     "codecs: transpose: order: not 3 counts"},
    {V3(", \"fill_value\": \"0x7fc0000\""), "fill_value: not a sample of the type"},
    {SHARDED(", \"index_location\": \"middle\""), "index_location: middle, which is not supported"},
    {SHARDED(", \"chunk_shape\": [4, 3, 3]"), "chunk_shape: a shard is not whole chunks"},
    {SHARDED(", \"codecs\": [{\"name\": \"sharding_indexed\"}]"),
     "codecs: sharding_indexed, which is not supported"},
    {SHARDED(", \"index_codecs\": [{\"name\": \"bytes\", \"configuration\": {\"endian\": \"little\"}}, "
             "{\"name\": "
             "\"gzip\"}]"),
     "index_codecs: gzip, which is not supported"},
    {"[]", "zarr_format: neither 2 nor 3"},
};

static bool read_array(const char *text, struct array *array, struct fault *fault)
{
    struct json_tree tree;
    bool done;

    ck_assert_msg(json_read(&tree, text, strlen(text), fault), "%s: %s", text, fault->text);
    done = array_read(array, tree.values, fault);
    json_free(&tree);
    return done;
}

START_TEST(arrays_are_read_or_refused_by_name)
{
    const char *reason = arrays[_i].reason;
    struct array array;
    struct fault fault;
    bool read = read_array(arrays[_i].text, &array, &fault);

    ck_assert_msg(read == (reason == NULL), "%s: %s", arrays[_i].text, read ? "was read" : fault.text);
    if (!read) {
        ck_assert_str_eq(fault_reason(&fault), reason);
        ck_assert_int_eq(fault.status, STATUS_INPUT);
    }
}
END_TEST

/* Samples as they are written, and the bits that they have. */
static const struct {
    const char *type, *fill;
    uint64_t bits;
} fills[] = {
    {"uint8", "255", 255},
    {"int8", "-128", 0x80},
    {"bool", "true", 1},
    {"uint16", "65535.0", 65535},
    {"uint64", "18446744073709551615", UINT64_MAX},
    {"int64", "-9223372036854775808", (uint64_t)1 << 63},
    {"int32", "-1", UINT32_MAX},
    {"float16", "\"NaN\"", 0x7e00},
    {"float16", "\"0xfc01\"", 0xfc01},
    {"float16", "-1.5", 0xbe00},
    {"float32", "\"Infinity\"", 0x7f800000},
    {"float32", "\"-Infinity\"", 0xff800000},
    {"float32", "\"0x7fc00001\"", 0x7fc00001},
    {"float32", "0.1", 0x3dcccccd},
    {"float64", "\"NaN\"", 0x7ff8000000000000},
    {"float64", "null", 0},
};

START_TEST(fill_values_have_their_bits)
{
    char text[1024];
    struct array array;
    struct fault fault;
    uint64_t bits = 0;
    size_t size;

    snprintf(text, sizeof text, "%.*s, \"data_type\": \"%s\", \"fill_value\": %s}", (int)strlen(V3("")) - 1,
             V3(""), fills[_i].type, fills[_i].fill);
    ck_assert_msg(read_array(text, &array, &fault), "%s", fault.text);
    size = sample_size(array.chain.type);
    if (endian_native() == ENDIAN_BIG)
        sample_swap(array.chain.type, array.fill, 1);
    for (size_t i = size; i-- > 0;)
        bits = bits << 8 | array.fill[i];
    ck_assert_uint_eq(bits, fills[_i].bits);
}
END_TEST

/* ---- stores ---- */

static uint16_t sample_at(size_t x, size_t y, size_t z)
{
    return (uint16_t)(1 + x + 10 * y + 100 * z);
}

static const char image[] =
    "{\"zarr_format\": 3, \"node_type\": \"group\", \"attributes\": {\"ome\": {\"version\": \"0.5\", "
    "\"multiscales\": "
    "[{\"name\": \"n\", \"axes\": [{\"name\": \"z\", \"type\": \"space\", \"unit\": \"micrometer\"}, "
    "{\"name\": "
    "\"y\", \"type\": \"space\", \"unit\": \"micrometer\"}, {\"name\": \"x\", \"type\": \"space\", \"unit\": "
    "\"nanometer\"}], \"datasets\": [{\"path\": \"0\", \"coordinateTransformations\": [{\"type\": \"scale\", "
    "\"scale\": [2.0, 0.5, 500]}, {\"type\": \"translation\", \"translation\": [0, 1, 0]}]}]}]}}}";
static const char sharded[] =
    "{\"zarr_format\": 3, \"node_type\": \"array\", \"shape\": [4, 5, 6], \"data_type\": \"uint16\", "
    "\"chunk_grid\": "
    "{\"name\": \"regular\", \"configuration\": {\"chunk_shape\": [6, 6, 6]}}, \"chunk_key_encoding\": "
    "{\"name\": "
    "\"default\", \"configuration\": {\"separator\": \"/\"}}, \"fill_value\": 7, \"codecs\": [{\"name\": "
    "\"sharding_indexed\", \"configuration\": {\"chunk_shape\": [3, 3, 3], \"codecs\": [{\"name\": "
    "\"bytes\", "
    "\"configuration\": {\"endian\": \"little\"}}, {\"name\": \"crc32c\"}], \"index_codecs\": [{\"name\": "
    "\"bytes\", "
    "\"configuration\": {\"endian\": \"little\"}}, {\"name\": \"crc32c\"}]}}]}";

/* A shard of 2 x 2 x 2 chunks, of which the last is missing: samples from (3, 3, 3) on have the fill value.
 */
static size_t make_shard(unsigned char *shard)
{
    struct codec_chain chain = {.type = SAMPLE_U16,
                                .axes = 3,
                                .extents = {CHUNK, CHUNK, CHUNK},
                                .count = 2,
                                .codecs = {{.kind = CODEC_BYTES}, {.kind = CODEC_CRC32C}}};
    struct codec_place places[8];
    struct codec_worker *worker;
    uint16_t samples[CHUNK * CHUNK * CHUNK];
    struct fault fault;
    size_t used = 0, size;

    ck_assert(codec_worker_create(&worker, &chain, &fault));
    for (size_t i = 0; i < 8; i++) {
        for (size_t k = 0; k < CHUNK * CHUNK * CHUNK; k++)
            samples[k] = sample_at(i % 2 * CHUNK + k % CHUNK, i / 2 % 2 * CHUNK + k / CHUNK % CHUNK,
                                   i / 4 * CHUNK + k / (CHUNK * CHUNK));
        ck_assert(codec_encode(worker, samples, shard + used, &size, &fault));
        places[i] =
            i == 7 ? (struct codec_place){CODEC_ABSENT, CODEC_ABSENT} : (struct codec_place){used, size};
        used += i == 7 ? 0 : size;
    }
    codec_worker_free(worker);
    codec_index_encode(places, 8, true, shard + used);
    return used + codec_index_bytes(8, true);
}

static void make_store(void)
{
    unsigned char shard[FILE_MOST];

    make_folder();
    put_text("zarr.json", image);
    put_text("0/zarr.json", sharded);
    put("0/c/0/0/0", shard, make_shard(shard));
}

/* Open the store and read a box of it. What would take much memory is not read; a plan would refuse it. */
static bool read_store(const char *metadata, const struct region *box, void *samples, size_t most,
                       struct source *kept, struct fault *fault)
{
    const struct source_request request = {.grid = grid_make(3, 1, 1, 1), .threads = 2};
    char path[PATH_BYTES];
    struct region region;
    struct source source;
    struct file_in *file;
    bool done;

    snprintf(path, sizeof path, "%s", path_in(metadata));
    if (!file_in_open(&file, path, fault))
        return false;
    file_in_call(file, folder);
    done = source_open(&source, file, &format_zarr, &request, fault);
    if (done) {
        const struct grid *grid = &source.header.grid;
        region = box != NULL ? *box : (struct region){{0, 0, 0}, {grid->nx, grid->ny, grid->nz}};
        if (kept != NULL)
            *kept = source;
        if (source.beside_bytes < (size_t)64 << 20 && grid_samples(grid) <= most / sizeof(double))
            done = source_read_box(&source, samples, 0, &region, fault);
        source_close(&source);
    }
    file_in_close(file);
    return done;
}

START_TEST(boxes_are_read_with_what_is_missing)
{
    double room[256];
    uint16_t *samples = (uint16_t *)room;
    struct source source;
    struct fault fault;

    make_store();
    for (size_t i = 0; i < 200; i++) {
        struct region box = {{i % X, i / 2 % Y, i / 3 % Z}, {1, 1, 1}};
        const size_t extents[3] = {X, Y, Z};
        size_t at = 0;
        for (size_t axis = 0; axis < 3; axis++)
            box.count[axis] = 1 + i * (axis + 3) / 7 % extents[axis];
        ck_assert_msg(read_store("zarr.json", &box, samples, sizeof room, &source, &fault), "%s", fault.text);
        for (size_t z = box.first[2]; z < box.first[2] + box.count[2]; z++) {
            for (size_t y = box.first[1]; y < box.first[1] + box.count[1]; y++) {
                for (size_t x = box.first[0]; x < box.first[0] + box.count[0]; x++)
                    ck_assert_uint_eq(samples[at++], x % X >= CHUNK && y % Y >= CHUNK && z % Z >= CHUNK
                                                         ? 7
                                                         : sample_at(x % X, y % Y, z % Z));
            }
        }
    }
    /* All distances are in nanometres, the unit of x, and so is the place. */
    ck_assert(source.header.grid.spacing[0] == 500.0);
    ck_assert_double_eq_tol(source.header.grid.spacing[1], 500.0, 1e-9);
    ck_assert_double_eq_tol(source.header.grid.spacing[2], 2000.0, 1e-9);
    ck_assert(source.header.millimetres == 1e-6);
    ck_assert(source.header.geometry.known);
    ck_assert_double_eq_tol(source.header.geometry.origin[1], 1000.0, 1e-9);
    remove_folder();
}
END_TEST

/* Refuse it in these words behind the path. */
static void expect(const char *metadata, const char *key, const char *reason)
{
    double room[256];
    struct fault fault;

    ck_assert_msg(!read_store(metadata, NULL, room, sizeof room, NULL, &fault), "%s was read", key);
    ck_assert_str_eq(fault_reason(&fault), reason);
    ck_assert_msg(fault_is_about(&fault, path_in(key)), "%s", fault.text);
    ck_assert_int_eq(fault.status, STATUS_INPUT);
}

static void expect_image(const char *old, const char *new, const char *reason)
{
    char text[sizeof image + 256];
    const char *at = strstr(image, old);

    ck_assert_ptr_nonnull(at);
    snprintf(text, sizeof text, "%.*s%s%s", (int)(at - image), image, new, at + strlen(old));
    put_text("zarr.json", text);
    expect("zarr.json", "zarr.json", reason);
}

START_TEST(images_are_refused_by_name)
{
    make_store();
    expect_image("\"path\": \"0\"", "\"path\": \"../x\"",
                 "path: missing, or not that of an array in the folder");
    expect_image("\"path\": \"0\"", "\"path\": \"/x\"",
                 "path: missing, or not that of an array in the folder");
    expect_image("\"path\": \"0\"", "\"path\": \"a//b\"",
                 "path: missing, or not that of an array in the folder");
    expect_image(
        "\"0.5\"", "\"0.6\"",
        "version: 0.6 of OME-Zarr, which is not supported: name one of its arrays to read it without axes");
    expect_image("\"ome\"", "\"x\"", "multiscales: missing, and a group has no samples: name an array in it");
    expect_image("\"ome\": {", "\"ome\": {\"plate\": {}, ", "plate: several images: name the folder of one");
    expect_image("\"type\": \"scale\"", "\"type\": \"rotation\"",
                 "coordinateTransformations: neither a scale nor a translation, which is not supported");
    expect_image("[2.0,", "[0.0,", "coordinateTransformations: a scale that is not a distance");
    expect_image("[2.0,", "[", "coordinateTransformations: not a number for each axis");
    expect_image("\"name\": \"z\"", "\"name\": \"y\"",
                 "axes: y: a second axis of its kind, which is not supported");
    expect_image("\"name\": \"z\"", "\"name\": \"depth\"", "axes: depth: an axis of space is x, y or z");
    expect_image("\"name\": \"y\", \"type\": \"space\"", "\"name\": \"t\", \"type\": \"time\"",
                 "axes: without x, or z without y");
    put_text("zarr.json", "{\"zarr_format\": 3, NaN}");
    expect("zarr.json", "zarr.json", "JSON: a member without a name, at byte 19");
    remove_folder();
}
END_TEST

START_TEST(nothing_leads_out_of_the_folder)
{
    make_store();
    unlink(path_in("0/c/0/0/0"));
    ck_assert_int_eq(symlink("/etc/hostname", path_in("0/c/0/0/0")), 0);
    expect("zarr.json", "0/c/0/0/0", "a link, or behind one, or no file in a folder (--allow-outside)");
    unlink(path_in("0/c/0/0/0"));
    ck_assert_int_eq(mkfifo(path_in("0/c/0/0/0"), 0600), 0);
    expect("zarr.json", "0/c/0/0/0", "not a regular file");
    unlink(path_in("0/c/0/0/0"));
    rmdir(path_in("0/c/0/0"));
    ck_assert_int_eq(symlink("/tmp", path_in("0/c/0/0")), 0);
    expect("zarr.json", "0/c/0/0/0", "a link, or behind one, or no file in a folder (--allow-outside)");
    unlink(path_in("0/zarr.json"));
    ck_assert_int_eq(symlink("/etc/hostname", path_in("0/zarr.json")), 0);
    expect("zarr.json", "0/zarr.json", "a link, or behind one, or no file in a folder (--allow-outside)");
    remove_folder();
}
END_TEST

START_TEST(damaged_chunks_are_refused_with_their_key)
{
    unsigned char shard[FILE_MOST];
    size_t size;

    make_store();
    size = make_shard(shard);
    shard[2] ^= 1;
    put("0/c/0/0/0", shard, size);
    expect("zarr.json", "0/c/0/0/0", "crc32c: the checksum is not that of its bytes");
    shard[2] ^= 1;
    shard[size - 5] ^= 1;
    put("0/c/0/0/0", shard, size);
    expect("zarr.json", "0/c/0/0/0", "the index of the shard: crc32c: the checksum is not that of its bytes");
    put("0/c/0/0/0", shard, 131);
    expect("zarr.json", "0/c/0/0/0", "shorter than the index of a shard");
    unlink(path_in("0/zarr.json"));
    expect("zarr.json", "0/zarr.json", "missing, though it is an array of the image");
    remove_folder();
}
END_TEST

/* Its index told of a chunk, which is not to have the fill value then. */
START_TEST(a_shard_that_goes_is_refused)
{
    const struct source_request request = {.grid = grid_make(3, 1, 1, 1), .threads = 2};
    struct region box = {{0, 0, 0}, {1, 1, 1}};
    struct source source;
    struct file_in *file;
    struct fault fault;
    uint16_t sample;

    make_store();
    ck_assert(file_in_open(&file, path_in("zarr.json"), &fault));
    file_in_call(file, folder);
    ck_assert(source_open(&source, file, &format_zarr, &request, &fault));
    ck_assert(source_read_box(&source, &sample, 0, &box, &fault) && sample == sample_at(0, 0, 0));
    unlink(path_in("0/c/0/0/0"));
    box.first[0] = CHUNK;
    ck_assert(!source_read_box(&source, &sample, 0, &box, &fault));
    ck_assert_str_eq(fault_reason(&fault), "it has gone");
    source_close(&source);
    file_in_close(file);
    remove_folder();
}
END_TEST

/* ---- mutations ---- */

static uint32_t state;

static uint32_t draw(uint32_t below)
{
    state = state * 1664525 + 1013904223;
    return (uint32_t)((uint64_t)state * below >> 32);
}

/* What numbers and words may become. */
static const char *const tokens[] = {
    "0",          "1",         "-1",        "2",  "8",       "65536", "4294967296",    "18446744073709551615",
    "1e99",       "[]",        "null",      "{}", "\"NaN\"", "\"\"",  "true",          "\"bytes\"",
    "\"crc32c\"", "\"start\"", "\"uint8\"", "3",  "6",       "9",     "\"transpose\"", "["};

static size_t replace(unsigned char *bytes, size_t size, size_t at, size_t gone, const char *by)
{
    size_t length = strlen(by);

    gone = at + gone > size ? size - at : gone;
    if (size - gone + length > FILE_MOST)
        return size;
    memmove(bytes + at + length, bytes + at + gone, size - at - gone);
    memcpy(bytes + at, by, length);
    return size - gone + length;
}

/* Change a token, or some bytes. */
static size_t mutate(unsigned char *bytes, size_t size, bool text)
{
    for (uint32_t count = 1 + draw(2); count > 0; count--) {
        size_t at = draw((uint32_t)size);
        if (text && draw(4) > 0) {
            while (at > 0 && strchr(" [{", bytes[at - 1]) == NULL)
                at--;
            size = replace(bytes, size, at, strcspn((char *)bytes + at, ",]}: "),
                           tokens[draw(sizeof tokens / sizeof *tokens)]);
        } else if (draw(3) > 0) {
            bytes[at] = (unsigned char)(draw(2) == 0 ? draw(256) : bytes[at] ^ 1U << draw(8));
        } else {
            size = draw(2) == 0 ? at + 1 : replace(bytes, size, at, 1 + draw(8), "");
        }
        bytes[size] = '\0';
        if (size == 0)
            return 0;
    }
    return size;
}

/* A store in which a file was changed is read, or refused by the path of one of its files. */
START_TEST(changed_stores_are_read_or_refused)
{
    static const char *const keys[] = {"zarr.json", "0/zarr.json", "0/c/0/0/0"};
    const char *wanted = getenv("VOXFILT_MUTATIONS"), *thin = getenv("VOXFILT_THIN");
    size_t trials = (wanted != NULL ? strtoull(wanted, NULL, 10) : 3000) /
                    (thin != NULL && wanted == NULL ? strtoull(thin, NULL, 10) : 1);
    unsigned char shard[FILE_MOST], bytes[FILE_MOST + 1];
    size_t shard_size = make_shard(shard), refused = 0;
    static double room[4096];
    struct fault fault;

    make_store();
    for (size_t trial = 0; trial < trials; trial++) {
        size_t which = trial % 3, size = which == 0   ? strlen(image)
                                         : which == 1 ? strlen(sharded)
                                                      : shard_size;
        const void *own = which == 0 ? (const void *)image : which == 1 ? (const void *)sharded : shard;
        memcpy(bytes, own, size);
        bytes[size] = '\0';
        state = (uint32_t)trial * 2654435761U;
        put(keys[which], bytes, mutate(bytes, size, which < 2));
        if (!read_store("zarr.json", NULL, room, sizeof room, NULL, &fault)) {
            refused++;
            ck_assert_msg(strncmp(fault.text, folder, strlen(folder)) == 0 &&
                              fault_reason(&fault)[0] != '\0' &&
                              (fault.status == STATUS_INPUT || fault.status == STATUS_LIMIT ||
                               fault.status == STATUS_IO),
                          "change %zu: status %d: %s", trial, (int)fault.status, fault.text);
        }
        put(keys[which], own, size);
    }
    ck_assert_msg(refused > trials / 4 && refused < trials, "%zu of %zu were refused", refused, trials);
    remove_folder();
}
END_TEST

static Suite *zarr_suite(void)
{
    Suite *suite = suite_create("zarr");
    TCase *metadata = tcase_create("metadata"), *stores = tcase_create("stores");

    tcase_add_loop_test(metadata, json_is_read_or_refused, 0, sizeof texts / sizeof *texts);
    tcase_add_test(metadata, json_has_its_values);
    tcase_add_test(metadata, json_has_a_depth);
    tcase_add_loop_test(metadata, arrays_are_read_or_refused_by_name, 0, sizeof arrays / sizeof *arrays);
    tcase_add_loop_test(metadata, fill_values_have_their_bits, 0, sizeof fills / sizeof *fills);
    tcase_add_test(stores, boxes_are_read_with_what_is_missing);
    tcase_add_test(stores, images_are_refused_by_name);
    tcase_add_test(stores, nothing_leads_out_of_the_folder);
    tcase_add_test(stores, damaged_chunks_are_refused_with_their_key);
    tcase_add_test(stores, a_shard_that_goes_is_refused);
    tcase_add_test(stores, changed_stores_are_read_or_refused);
    tcase_set_timeout(stores, PATIENCE);
    suite_add_tcase(suite, metadata);
    suite_add_tcase(suite, stores);
    return suite;
}

int main(void)
{
    SRunner *runner = srunner_create(zarr_suite());
    int failed;

    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
