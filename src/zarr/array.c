/* Arrays of Zarr: their metadata. Both versions tell about the same in other words, and become one struct:
   the order F of version 2 is a transposition, its compressor a codec behind the bytes, and a shard of
   version 3 two grids, of files and of chunks. */
#include "array.h"

#include "base/mem.h"
#include "base/number.h"
#include "model/arith.h"

#include <stdlib.h>
#include <string.h>

/* Extensions of version 3 are objects with a name and a configuration, or the name alone; those of version 2
   have an id. NULL: it is none. */
static const char *extension_name(const struct json_value *extension)
{
    const char *text = json_text_of(extension), *name = json_text_of(json_member(extension, "name"));

    return text != NULL ? text : name != NULL ? name : json_text_of(json_member(extension, "id"));
}

static bool is_extension(const struct json_value *extension, const char *name)
{
    return extension_name(extension) != NULL && strcmp(extension_name(extension), name) == 0;
}

/* What is there, but is not read: by its own name, where it has one. */
static bool refuse_value(const char *field, const struct json_value *value, struct fault *fault)
{
    if (value == NULL)
        return fault_raise(fault, STATUS_INPUT, "%s: missing", field);
    return extension_name(value) != NULL
               ? fault_raise(fault, STATUS_INPUT, "%s: %.100s, which is not supported", field,
                             extension_name(value))
               : fault_raise(fault, STATUS_INPUT, "%s: not what it should be", field);
}

/* ---- types and fill values ---- */

static const char *const types[SAMPLE_TYPES] = {
    [SAMPLE_U8] = "uint8",    [SAMPLE_I8] = "int8",     [SAMPLE_U16] = "uint16", [SAMPLE_I16] = "int16",
    [SAMPLE_U32] = "uint32",  [SAMPLE_I32] = "int32",   [SAMPLE_U64] = "uint64", [SAMPLE_I64] = "int64",
    [SAMPLE_F16] = "float16", [SAMPLE_F32] = "float32", [SAMPLE_F64] = "float64"};

const char *array_type_name(enum sample_type type)
{
    return types[type];
}

/* Version 2 has the first letter of a type and its bytes: "u2". Truth values are bytes of 0 or 1. */
static bool find_type(const char *name, int version, enum sample_type *type)
{
    char letter[2] = "";

    if (name == NULL)
        return false;
    if (strcmp(name, version == 2 ? "b1" : "bool") == 0)
        name = version == 2 ? "u1" : "uint8";
    for (*type = 0; *type < SAMPLE_TYPES; ++*type) {
        letter[0] = (char)('0' + sample_size(*type));
        if (version == 2 ? *name == *types[*type] && strcmp(name + 1, letter) == 0
                         : strcmp(name, types[*type]) == 0)
            return true;
    }
    return false;
}

/* Store a number as a sample of a type that is no integer, rounded as arithmetic rounds it. */
static void put_number(enum sample_type type, double number, unsigned char *sample)
{
    const arith_half half = arith_store_f16_f64(number);
    const float single = arith_store_f32_f64(number);

    memcpy(sample,
           type == SAMPLE_F64   ? (const void *)&number
           : type == SAMPLE_F32 ? (const void *)&single
                                : &half,
           sample_size(type));
}

/* Whole numbers of 64 bits are more than a double holds, so all are read by their digits. Some write a
   fraction of 0 behind these. */
static bool put_whole(enum sample_type type, const struct json_value *value, unsigned char *sample)
{
    const bool minus = value->text[0] == '-';
    const char *text = value->text + minus;
    uint64_t digits;
    double number;

    if (!number_read_count(&text, &digits) || (type == SAMPLE_I64 && digits > (uint64_t)INT64_MAX + minus))
        return false;
    number = minus ? -(double)digits : (double)digits;
    endian_put(endian_native(), sample, sample_size(type), minus ? -digits : digits);
    return number == value->number && number >= sample_min(type) && number <= sample_max(type);
}

/* The bits of a number: two hexadecimal digits a byte. */
static bool put_hexadecimal(enum sample_type type, const char *digits, unsigned char *sample)
{
    size_t size = sample_size(type);

    if (strlen(digits) != 2 * size || strspn(digits, "0123456789abcdefABCDEF") != 2 * size)
        return false;
    endian_put(endian_native(), sample, size, strtoull(digits, NULL, 16));
    return true;
}

/* What JSON has no number for, in Zarr's words. */
static bool put_word(enum sample_type type, const char *word, unsigned char *sample)
{
    if (strcmp(word, "NaN") == 0 || strcmp(word + (*word == '-'), "Infinity") == 0) {
        put_number(type, strtod(word, NULL), sample);
        return true;
    }
    return strncmp(word, "0x", 2) == 0 && put_hexadecimal(type, word + 2, sample);
}

/* Without a fill value, chunks that are not there are 0. */
static bool read_fill(struct array *array, const struct json_value *value, struct fault *fault)
{
    enum sample_type type = array->chain.type;
    bool whole = sample_is_integer(type), done;

    if (value == NULL || value->kind == JSON_NULL)
        return true;
    switch (value->kind) {
    case JSON_NUMBER:
        done = !whole || put_whole(type, value, array->fill);
        if (!whole)
            put_number(type, value->number, array->fill);
        break;
    case JSON_TRUE:
    case JSON_FALSE:
        array->fill[0] = value->kind == JSON_TRUE;
        done = type == SAMPLE_U8;
        break;
    default:
        done = !whole && json_text_of(value) != NULL && put_word(type, value->text, array->fill);
    }
    return done || fault_raise(fault, STATUS_INPUT, "fill_value: not a sample of the type");
}

/* ---- extents ---- */

/* Whether so many samples of some bytes can be addressed. */
static bool check_product(const char *field, const uint64_t *counts, size_t axes, size_t bytes,
                          struct fault *fault)
{
    for (size_t i = 0; i < axes; i++) {
        if (counts[i] == 0 || counts[i] > SIZE_MAX || !mem_product(&bytes, bytes, (size_t)counts[i]))
            return fault_raise(fault, STATUS_INPUT, "%s: an extent of 0, or more than can be addressed",
                               field);
    }
    return true;
}

/* Extents of chunks, none of which is 0. */
static bool read_extents(struct array *array, const char *field, const struct json_value *value,
                         size_t extents[ARRAY_MOST_AXES], struct fault *fault)
{
    uint64_t counts[ARRAY_MOST_AXES];
    size_t axes;

    if (!json_counts_of(value, counts, ARRAY_MOST_AXES, &axes) || axes != array->axes)
        return fault_raise(fault, STATUS_INPUT, "%s: not %zu counts", field, array->axes);
    for (size_t i = 0; i < axes; i++)
        extents[i] = (size_t)counts[i];
    /* Some room is left for what codecs add. */
    return check_product(field, counts, axes, 64, fault);
}

/* The axes of the array, which all other lists are held against. */
static bool read_shape(struct array *array, const struct json_value *value, struct fault *fault)
{
    if (value != NULL && value->kind == JSON_ARRAY && (value->count == 0 || value->count > ARRAY_MOST_AXES))
        return fault_raise(fault, STATUS_INPUT, "shape: %u axes, and 1 to %d are supported", value->count,
                           ARRAY_MOST_AXES);
    if (!json_counts_of(value, array->shape, ARRAY_MOST_AXES, &array->axes))
        return refuse_value("shape", value, fault);
    array->chain.axes = array->axes;
    return check_product("shape", array->shape, array->axes, sample_size(array->chain.type), fault);
}

/* ---- version 2 ---- */

/* "<f4": the byte order, which "|" leaves open for types of one byte, and the type. */
static bool read_dtype(struct array *array, const struct json_value *value, bool *big, struct fault *fault)
{
    const char *text = json_text_of(value);
    enum sample_type type;

    if (text == NULL || strchr("<>|", *text) == NULL || !find_type(text + 1, 2, &type) ||
        (*text == '|' && sample_size(type) > 1))
        return refuse_value("dtype", value, fault);
    array->chain.type = type;
    *big = *text == '>';
    return true;
}

/* Chains have room for it: version 2 has three codecs at most, and lists of version 3 are counted before. */
static struct codec *add_codec(struct codec_chain *chain, enum codec_kind kind)
{
    chain->codecs[chain->count] = (struct codec){.kind = kind};
    return &chain->codecs[chain->count++];
}

/* The kinds of codecs that turn bytes into bytes. */
static bool find_packer(const char *name, int version, enum codec_kind *kind)
{
    static const struct {
        const char *name;
        enum codec_kind kind;
        int least, most; /* versions that have it */
    } packers[] = {{"gzip", CODEC_GZIP, 2, 3},
                   {"zlib", CODEC_ZLIB, 2, 2},
                   {"zstd", CODEC_ZSTD, 2, 3},
                   {"blosc", CODEC_BLOSC, 2, 3},
                   {"crc32c", CODEC_CRC32C, 3, 3}};

    for (size_t i = 0; i < sizeof packers / sizeof *packers; i++) {
        if (strcmp(packers[i].name, name) == 0 && version >= packers[i].least && version <= packers[i].most) {
            *kind = packers[i].kind;
            return true;
        }
    }
    return false;
}

/* Order F has the first axis fastest, which is all axes transposed. */
static bool read_order(struct array *array, const struct json_value *value, struct fault *fault)
{
    struct codec *transpose;

    if (json_is_text(value, "C"))
        return true;
    if (!json_is_text(value, "F"))
        return refuse_value("order", value, fault);
    transpose = add_codec(&array->chain, CODEC_TRANSPOSE);
    for (size_t i = 0; i < array->axes; i++)
        transpose->order[i] = (unsigned char)(array->axes - 1 - i);
    return true;
}

static bool read_compressor(struct array *array, const struct json_value *value, struct fault *fault)
{
    const char *id = json_text_of(json_member(value, "id"));
    enum codec_kind kind;

    if (value != NULL && value->kind == JSON_NULL)
        return true;
    if (id == NULL || !find_packer(id, 2, &kind))
        return refuse_value("compressor", value, fault);
    add_codec(&array->chain, kind);
    return true;
}

/* The separator is one character; version 2 may leave it out. */
static bool read_separator(struct array *array, const char *field, const struct json_value *value,
                           char preset, struct fault *fault)
{
    const char *text = json_text_of(value);

    if (value != NULL && !json_is_text(value, ".") && !json_is_text(value, "/"))
        return refuse_value(field, value, fault);
    array->separator = text != NULL ? *text : preset;
    return true;
}

static bool read_version_2(struct array *array, const struct json_value *metadata, struct fault *fault)
{
    const struct json_value *filters = json_member(metadata, "filters");
    bool big = false;

    if (!read_dtype(array, json_member(metadata, "dtype"), &big, fault) ||
        !read_shape(array, json_member(metadata, "shape"), fault) ||
        !read_extents(array, "chunks", json_member(metadata, "chunks"), array->chain.extents, fault) ||
        !read_order(array, json_member(metadata, "order"), fault))
        return false;
    add_codec(&array->chain, CODEC_BYTES)->big = big;
    if (filters != NULL && filters->kind != JSON_NULL && (filters->kind != JSON_ARRAY || filters->count > 0))
        return refuse_value("filters", json_first(filters), fault);
    return read_compressor(array, json_member(metadata, "compressor"), fault) &&
           read_separator(array, "dimension_separator", json_member(metadata, "dimension_separator"), '.',
                          fault) &&
           read_fill(array, json_member(metadata, "fill_value"), fault);
}

/* ---- version 3 ---- */

static const struct json_value *configured(const struct json_value *extension, const char *name)
{
    return json_member(json_member(extension, "configuration"), name);
}

/* Each axis once. */
static bool read_transpose(struct array *array, const struct json_value *codec, struct fault *fault)
{
    struct codec *transpose = add_codec(&array->chain, CODEC_TRANSPOSE);
    uint64_t order[ARRAY_MOST_AXES];
    unsigned seen = 0;
    size_t count;

    if (!json_counts_of(configured(codec, "order"), order, ARRAY_MOST_AXES, &count) || count != array->axes)
        return fault_raise(fault, STATUS_INPUT, "codecs: transpose: order: not %zu counts", array->axes);
    for (size_t i = 0; i < count; i++) {
        if (order[i] >= count || (seen >> order[i] & 1) != 0)
            return fault_raise(fault, STATUS_INPUT, "codecs: transpose: order: not every axis once");
        seen |= 1U << order[i];
        transpose->order[i] = (unsigned char)order[i];
    }
    return true;
}

static bool read_bytes(struct array *array, const struct json_value *codec, struct fault *fault)
{
    const struct json_value *endian = configured(codec, "endian");
    struct codec_chain *chain = &array->chain;
    bool big = json_is_text(endian, "big");

    add_codec(chain, CODEC_BYTES)->big = big;
    return big || json_is_text(endian, "little") || (endian == NULL && sample_size(chain->type) == 1) ||
           refuse_value("codecs: bytes: endian", endian, fault);
}

/* A codec behind those of the chain: transpositions, then bytes, then what packs these. */
static bool read_codec(struct array *array, const struct json_value *codec, bool *has_bytes,
                       struct fault *fault)
{
    const bool transposes = is_extension(codec, "transpose"), bytes = is_extension(codec, "bytes");
    enum codec_kind kind;

    if (!transposes && !bytes &&
        (extension_name(codec) == NULL || !find_packer(extension_name(codec), 3, &kind)))
        return refuse_value("codecs", codec, fault);
    if ((transposes || bytes) == *has_bytes)
        return fault_raise(fault, STATUS_INPUT, "codecs: %s is in the wrong place", extension_name(codec));
    if (transposes)
        return read_transpose(array, codec, fault);
    *has_bytes = true;
    if (bytes)
        return read_bytes(array, codec, fault);
    add_codec(&array->chain, kind);
    return true;
}

static bool read_codecs(struct array *array, const struct json_value *codecs, struct fault *fault)
{
    bool has_bytes = false;

    if (codecs == NULL || codecs->kind != JSON_ARRAY || codecs->count > CODEC_MOST)
        return fault_raise(fault, STATUS_INPUT, "codecs: not a list of up to %d", CODEC_MOST);
    for (const struct json_value *codec = json_first(codecs); codec != NULL; codec = json_next(codec)) {
        if (!read_codec(array, codec, &has_bytes, fault))
            return false;
    }
    return has_bytes || fault_raise(fault, STATUS_INPUT, "codecs: without bytes");
}

/* The index of a shard is numbers of 64 bits, least byte first, and perhaps a checksum. */
static bool read_index_codecs(struct array *array, const struct json_value *codecs, struct fault *fault)
{
    const struct json_value *bytes = json_first(codecs), *checksum = bytes == NULL ? NULL : json_next(bytes);

    array->index_checksum = checksum != NULL;
    if (!is_extension(bytes, "bytes") || !json_is_text(configured(bytes, "endian"), "little"))
        return refuse_value("index_codecs", bytes, fault);
    if (checksum != NULL && (!is_extension(checksum, "crc32c") || json_next(checksum) != NULL))
        return refuse_value("index_codecs", checksum, fault);
    return true;
}

/* Files are shards of whole chunks. */
static bool read_sharding(struct array *array, const struct json_value *codec, struct fault *fault)
{
    const struct json_value *location = configured(codec, "index_location");

    array->sharded = true;
    array->index_first = json_is_text(location, "start");
    if (location != NULL && !array->index_first && !json_is_text(location, "end"))
        return refuse_value("index_location", location, fault);
    if (!read_extents(array, "chunk_shape of a shard", configured(codec, "chunk_shape"), array->chain.extents,
                      fault))
        return false;
    for (size_t i = 0; i < array->axes; i++) {
        if (array->file[i] % array->chain.extents[i] != 0)
            return fault_raise(fault, STATUS_INPUT, "chunk_shape: a shard is not whole chunks");
    }
    return read_codecs(array, configured(codec, "codecs"), fault) &&
           read_index_codecs(array, configured(codec, "index_codecs"), fault);
}

/* A chunk is what its codecs give, or a file of chunks is a shard by its only codec. */
static bool read_chain(struct array *array, const struct json_value *codecs, struct fault *fault)
{
    const struct json_value *first = json_first(codecs);

    for (const struct json_value *codec = first; codec != NULL; codec = json_next(codec)) {
        if (is_extension(codec, "sharding_indexed"))
            return codecs->count == 1
                       ? read_sharding(array, codec, fault)
                       : fault_raise(fault, STATUS_INPUT,
                                     "codecs: others beside sharding_indexed, which is not supported");
    }
    memcpy(array->chain.extents, array->file, sizeof array->file);
    return read_codecs(array, codecs, fault);
}

/* How files of chunks are called: as "c/0/1/2" by default, or as version 2 has it. */
static bool read_keys(struct array *array, const struct json_value *encoding, struct fault *fault)
{
    bool plain = is_extension(encoding, "v2");

    array->has_letter = !plain;
    if (!plain && !is_extension(encoding, "default"))
        return refuse_value("chunk_key_encoding", encoding, fault);
    return read_separator(array, "chunk_key_encoding: separator", configured(encoding, "separator"),
                          plain ? '.' : '/', fault);
}

/* What else a reader has to understand, unless it says that it need not. */
static bool check_members(const struct json_value *metadata, struct fault *fault)
{
    static const char *const known[] = {"zarr_format",     "node_type",
                                        "shape",           "data_type",
                                        "chunk_grid",      "chunk_key_encoding",
                                        "fill_value",      "codecs",
                                        "attributes",      "storage_transformers",
                                        "dimension_names", "consolidated_metadata"};
    const struct json_value *transformers = json_member(metadata, "storage_transformers");

    for (const struct json_value *member = json_first(metadata); member != NULL; member = json_next(member)) {
        const struct json_value *must = json_member(member, "must_understand");
        bool is_known = must != NULL && must->kind == JSON_FALSE;
        for (size_t i = 0; i < sizeof known / sizeof *known; i++)
            is_known = is_known || strcmp(member->name, known[i]) == 0;
        if (!is_known)
            return fault_raise(fault, STATUS_INPUT, "%.100s: an unknown field", member->name);
    }
    if (transformers != NULL && transformers->count > 0)
        return refuse_value("storage_transformers", json_first(transformers), fault);
    return true;
}

static bool read_version_3(struct array *array, const struct json_value *metadata, struct fault *fault)
{
    const struct json_value *type = json_member(metadata, "data_type"),
                            *grid = json_member(metadata, "chunk_grid"),
                            *names = json_member(metadata, "dimension_names");

    if (!check_members(metadata, fault))
        return false;
    if (!find_type(json_text_of(type), 3, &array->chain.type))
        return refuse_value("data_type", type, fault);
    if (!is_extension(grid, "regular"))
        return refuse_value("chunk_grid", grid, fault);
    array->has_names = names != NULL && names->kind == JSON_ARRAY;
    return read_shape(array, json_member(metadata, "shape"), fault) &&
           read_extents(array, "chunk_shape", configured(grid, "chunk_shape"), array->file, fault) &&
           read_keys(array, json_member(metadata, "chunk_key_encoding"), fault) &&
           read_chain(array, json_member(metadata, "codecs"), fault) &&
           read_fill(array, json_member(metadata, "fill_value"), fault);
}

/* ---- both ---- */

/* Chunks in a shard, and the memory for their places. */
static bool count_chunks(struct array *array, struct fault *fault)
{
    array->shard_chunks = 1;
    for (size_t i = 0; i < array->axes; i++)
        array->shard_chunks *= array->file[i] / array->chain.extents[i];
    return array->shard_chunks <= SIZE_MAX / 64 ||
           fault_raise(fault, STATUS_INPUT, "chunk_shape: too many chunks in a shard");
}

bool array_read(struct array *array, const struct json_value *metadata, struct fault *fault)
{
    uint64_t version = 0;
    bool done;

    *array = (struct array){.axes = 0};
    if (!json_count_of(json_member(metadata, "zarr_format"), &version) || version < 2 || version > 3)
        return fault_raise(fault, STATUS_INPUT, "zarr_format: neither 2 nor 3");
    done = version == 2 ? read_version_2(array, metadata, fault) : read_version_3(array, metadata, fault);
    if (version == 2)
        memcpy(array->file, array->chain.extents, sizeof array->file);
    return done && count_chunks(array, fault) && codec_load(&array->chain, STATUS_INPUT, fault);
}

void array_key(const struct array *array, const char *folder, const uint64_t *numbers,
               char key[STORE_KEY_MOST])
{
    diag_append(strcpy(key, folder), STORE_KEY_MOST, "%s", array->has_letter ? "c" : "");
    for (size_t i = 0; i < array->axes; i++) {
        const char separator[2] = {array->separator, '\0'};
        diag_append(key, STORE_KEY_MOST, "%s%llu", i > 0 || array->has_letter ? separator : "",
                    (unsigned long long)numbers[i]);
    }
}
