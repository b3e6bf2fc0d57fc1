/* NPY, the files of NumPy: versions 1 to 3 are read, and version 1 is written, in C order.

   The header is a dictionary of Python with three keys, which a cursor reads that knows no more of Python
   than such dictionaries. NumPy names the slowest axis first: the last three are z, y and x, and those before
   them count the volumes of a series. An array in Fortran's order has x slowest in the file: volume.c then
   transposes it, for which all samples are held (transpose.h). Axes before the last three are kept as they
   were in an output that is an NPY file. */
#include "base/file_out.h"
#include "base/mem.h"
#include "base/number.h"
#include "base/size.h"
#include "format.h"
#include "volume_sink.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAGIC_SIZE = 8,
    DICTIONARY_MOST = 64 << 10,
    AXES_MOST = 32,
    ALIGNMENT = 64,
    LINE_MOST = 256,
    SHAPE_MOST = 24 * AXES_MOST
};

static const char magic[] = "\x93NUMPY";

/* Types as they are written behind the byte order. Truth values are bytes of 0 or 1. They come last, so that
   bytes are never written as such. */
static const struct word descrs[] = {
    {SAMPLE_U8, "u1"},  {SAMPLE_I8, "i1"},  {SAMPLE_U16, "u2"}, {SAMPLE_I16, "i2"},
    {SAMPLE_U32, "u4"}, {SAMPLE_I32, "i4"}, {SAMPLE_U64, "u8"}, {SAMPLE_I64, "i8"},
    {SAMPLE_F16, "f2"}, {SAMPLE_F32, "f4"}, {SAMPLE_F64, "f8"}, {SAMPLE_U8, "b1"},
};
enum { DESCRS = sizeof descrs / sizeof *descrs };

/* ---- reading ---- */

static bool sniff(const unsigned char *start, size_t size)
{
    return size >= sizeof magic - 1 && memcmp(start, magic, sizeof magic - 1) == 0;
}

/* The size of the dictionary, which follows. */
static bool read_length(struct source *source, size_t *size, struct fault *fault)
{
    unsigned char start[MAGIC_SIZE], length[4] = {0};

    if (!volume_read_header(source, start, sizeof start, fault))
        return false;
    if (memcmp(start, magic, sizeof magic - 1) != 0)
        return source_refuse(source, fault, "magic: not that of a NumPy file");
    if (start[6] < 1 || start[6] > 3 || start[7] != 0)
        return source_refuse(source, fault, "version: not 1.0, 2.0 or 3.0");
    if (!volume_read_header(source, length, start[6] == 1 ? 2 : 4, fault))
        return false;
    *size = (size_t)endian_get(ENDIAN_LITTLE, length, sizeof length);
    return (*size > 0 && *size <= DICTIONARY_MOST) ||
           source_refuse(source, fault, "header length: 0, or over 64 KiB");
}

/* A cursor in "{'descr': '<f4', 'fortran_order': False, 'shape': (4, 3, 5), }". */
struct cursor {
    const char *at;
};

static void skip_space(struct cursor *cursor)
{
    cursor->at += strspn(cursor->at, " \t\r\n");
}

static bool take(struct cursor *cursor, const char *text)
{
    skip_space(cursor);
    if (strncmp(cursor->at, text, strlen(text)) != 0)
        return false;
    cursor->at += strlen(text);
    return true;
}

/* Read a text in either kind of quotation marks. */
static bool read_quoted(struct cursor *cursor, char *text, size_t size)
{
    char quote;
    size_t length;

    skip_space(cursor);
    quote = *cursor->at;
    if (quote != '\'' && quote != '"')
        return false;
    length = strcspn(++cursor->at, "'\"");
    if (length >= size || cursor->at[length] != quote)
        return false;
    memcpy(text, cursor->at, length);
    text[length] = '\0';
    cursor->at += length + 1;
    return true;
}

/* The header's values. Each key must be there once. */
struct dictionary {
    bool has_type, has_order, has_shape;
    enum sample_type type;
    enum endian endian;
    bool fortran;
    uint64_t shape[AXES_MOST]; /* slowest axis first, unless it is in Fortran's order */
    size_t axes;
};

/* Read "<f4": byte order, kind and size; "|" is for types of one byte. */
static bool read_descr(struct cursor *cursor, struct dictionary *dictionary)
{
    char text[16];

    if (dictionary->has_type || !read_quoted(cursor, text, sizeof text) || strchr("<>|=", text[0]) == NULL)
        return false;
    for (size_t i = 0; i < DESCRS && !dictionary->has_type; i++) {
        dictionary->has_type = strcmp(text + 1, descrs[i].names) == 0;
        dictionary->type = (enum sample_type)descrs[i].meaning;
    }
    dictionary->endian = text[0] == '>' ? ENDIAN_BIG : text[0] == '<' ? ENDIAN_LITTLE : endian_native();
    /* "=" is the order of the machine that reads. */
    return dictionary->has_type && (text[0] != '|' || sample_size(dictionary->type) == 1);
}

static bool read_order(struct cursor *cursor, struct dictionary *dictionary)
{
    if (dictionary->has_order)
        return false;
    dictionary->fortran = take(cursor, "True");
    return dictionary->has_order = dictionary->fortran || take(cursor, "False");
}

static bool read_count(struct cursor *cursor, uint64_t *count)
{
    skip_space(cursor);
    return number_read_count(&cursor->at, count);
}

/* "(4, 3, 5)" or "(4,)". */
static bool read_shape(struct cursor *cursor, struct dictionary *dictionary)
{
    if (dictionary->has_shape || !take(cursor, "("))
        return false;
    while (dictionary->axes < AXES_MOST && read_count(cursor, &dictionary->shape[dictionary->axes])) {
        dictionary->axes++;
        if (!take(cursor, ","))
            break;
    }
    return dictionary->has_shape = dictionary->axes > 0 && take(cursor, ")");
}

/* The keys that a header may have, and how their values are read. */
static const struct entry {
    const char *key;
    bool (*read)(struct cursor *cursor, struct dictionary *dictionary);
} entries[] = {{"descr", read_descr}, {"fortran_order", read_order}, {"shape", read_shape}};

/* The characters of a value: a tuple, a list, or what stands before the next comma. */
static int value_length(const char *value)
{
    size_t length = *value == '('   ? strcspn(value, ")") + 1
                    : *value == '[' ? strcspn(value, "]") + 1
                                    : strcspn(value, ",}");

    return (int)size_least(length, strlen(value));
}

/* Read a key and its value. */
static bool read_entry(const struct source *source, struct cursor *cursor, struct dictionary *dictionary,
                       struct fault *fault)
{
    char key[32];
    const char *value;

    if (!read_quoted(cursor, key, sizeof key) || !take(cursor, ":"))
        return source_refuse(source, fault, "header: not a dictionary");
    skip_space(cursor);
    value = cursor->at;
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++) {
        if (strcmp(key, entries[i].key) == 0)
            return entries[i].read(cursor, dictionary) ||
                   source_refuse(source, fault, "%s: %.*s: not supported", key, value_length(value), value);
    }
    return source_refuse(source, fault, "%s: an unknown key", key);
}

/* Read all entries. A comma may follow the last one. */
static bool read_dictionary(const struct source *source, const char *text, struct dictionary *dictionary,
                            struct fault *fault)
{
    struct cursor cursor = {text};
    bool more = take(&cursor, "{") && !take(&cursor, "}");

    while (more) {
        if (!read_entry(source, &cursor, dictionary, fault))
            return false;
        more = take(&cursor, ",") && !take(&cursor, "}");
        if (!more && cursor.at[-1] != '}' && !take(&cursor, "}"))
            return source_refuse(source, fault, "header: not a dictionary");
    }
    skip_space(&cursor);
    if (*cursor.at != '\0')
        return source_refuse(source, fault, "header: not a dictionary alone");
    return (dictionary->has_type || source_refuse(source, fault, "descr: missing")) &&
           (dictionary->has_order || source_refuse(source, fault, "fortran_order: missing")) &&
           (dictionary->has_shape || source_refuse(source, fault, "shape: missing"));
}

/* The extents before the last three, and the number of all axes, for an output that is a NumPy file, too. */
struct file_shape {
    size_t axes;
    uint64_t leading[AXES_MOST];
};

/* Keep the axes that another NPY file gets back. */
static bool keep(struct source *source, const struct dictionary *dictionary, struct fault *fault)
{
    struct volume *volume = source->state;
    struct file_shape *kept = mem_zeroed(1, sizeof *kept, "a header", fault);

    if (kept == NULL)
        return false;
    kept->axes = dictionary->axes;
    for (size_t i = 0; i + 3 < dictionary->axes; i++)
        kept->leading[i] = dictionary->shape[i];
    volume->parsed = kept;
    return true;
}

static bool parse(struct source *source, char *text, size_t size, struct fault *fault)
{
    struct dictionary dictionary = {0};
    uint64_t extents[AXES_MOST];

    if (!volume_read_header(source, text, size, fault))
        return false;
    if (memchr(text, '\0', size) != NULL)
        return source_refuse(source, fault, "header: a byte 0 in it");
    if (!read_dictionary(source, text, &dictionary, fault))
        return false;
    source->header.type = dictionary.type;
    source->header.endian = dictionary.endian;
    /* In Fortran's order the first axis is fastest, which here is that of planes: the volume is held and
       turned. */
    ((struct volume *)source->state)->reversed = dictionary.fortran && dictionary.axes > 1;
    /* NumPy gives the slowest axis first; axes of 1 before the last three are none. */
    for (size_t i = 0; i < dictionary.axes; i++)
        extents[i] = dictionary.shape[dictionary.axes - 1 - i];
    return volume_set_extents(source, "shape", extents, dictionary.axes, 1, fault) &&
           keep(source, &dictionary, fault);
}

static bool read_header(struct source *source, const struct source_request *request, struct fault *fault)
{
    char *text;
    size_t size = 0;
    bool done;

    (void)request;
    if (!read_length(source, &size, fault))
        return false;
    text = mem_zeroed(size + 1, 1, "a header", fault);
    done = text != NULL && parse(source, text, size, fault);
    mem_free(text);
    return done;
}

/* ---- writing ---- */

/* The leading axes are those of the origin, or one for all volumes. */
static void write_shape(const struct header *header, const struct file_shape *origin, char *text, size_t size)
{
    const struct grid *grid = &header->grid;

    text[0] = '\0';
    if (origin != NULL && header->choice.count == 0) {
        for (size_t i = 0; i + 3 < origin->axes; i++)
            diag_append(text, size, "%llu, ", (unsigned long long)origin->leading[i]);
    } else if (header->volumes > 1) {
        diag_append(text, size, "%zu, ", header->volumes);
    }
    if (grid->axes == 3 || header->volumes > 1)
        diag_append(text, size, "%zu, ", grid->nz);
    if (grid->axes > 1)
        diag_append(text, size, "%zu, ", grid->ny);
    diag_append(text, size, text[0] != '\0' ? "%zu" : "%zu,", grid->nx);
}

static bool write_header(struct sink *sink, const struct sink_request *request, struct fault *fault)
{
    const struct header *header = &sink->header;
    const char *descr = volume_sink_type(sink, descrs, DESCRS, fault);
    const struct volume *origin = volume_sink_origin(sink, request);
    char shape[SHAPE_MOST], text[SHAPE_MOST + LINE_MOST];
    size_t used, whole;

    if (descr == NULL)
        return false;
    if (header->grid.channels > 1)
        return fault_set_for(fault, STATUS_USAGE, file_out_name(sink->file),
                             "a NumPy file does not say which axis holds channels, and there are %u",
                             header->grid.channels);
    write_shape(header, origin == NULL ? NULL : origin->parsed, shape, sizeof shape);
    /* The header is filled up with spaces, so that samples begin at a multiple of 64 bytes; its length goes
       into two bytes after the magic and the version. */
    used = MAGIC_SIZE + 2;
    memcpy(text, "\x93NUMPY\x01\x00", MAGIC_SIZE);
    used += (size_t)snprintf(text + used, sizeof text - used,
                             "{'descr': '%c%s', 'fortran_order': False, 'shape': (%s), }",
                             sample_size(header->type) == 1 ? '|'
                             : header->endian == ENDIAN_BIG ? '>'
                                                            : '<',
                             descr, shape);
    whole = (used + 1 + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    memset(text + used, ' ', whole - used);
    text[whole - 1] = '\n';
    text[MAGIC_SIZE] = (char)(whole - MAGIC_SIZE - 2);
    text[MAGIC_SIZE + 1] = (char)((whole - MAGIC_SIZE - 2) >> 8);
    return volume_sink_put(sink, text, whole, fault);
}

const struct format format_npy = {.name = "npy",
                                  .family = FAMILY_NPY,
                                  .summary = "NumPy's files",
                                  .title = "a NumPy file",
                                  .joins = true,
                                  .sniff = sniff,
                                  .read_header = read_header,
                                  .write_header = write_header,
                                  VOLUME_OPERATIONS};
