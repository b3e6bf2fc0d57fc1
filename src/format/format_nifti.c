/* NIfTI-1 and NIfTI-2: one file, or a header and a file of samples.

   The header is kept as it stands in the file, in its byte order (struct raw_header). NIFTI_FIELDS says where
   each field is in either version; whole and real read a number there, put_whole and put_real write one. So
   the header of an output from a NIfTI file is a copy, in which only that is written which has changed, and
   what nobody here knows stays.

   A header places the grid in space twice: by sform, a matrix, and by qform, a rotation. sform counts if its
   vectors have the lengths that pixdim gives, else qform (read_place). A region moves both. Another format
   gets one of them, and what the other one says beyond that is told as left out (list_transforms).

   Extensions lie between the header and the samples, or follow a header alone. They are passed on as they
   are, but for the numbers of their lengths and kinds if the byte order becomes another one. */
#include "base/file_in.h"
#include "base/file_out.h"
#include "base/mem.h"
#include "base/path.h"
#include "format.h"
#include "volume_sink.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum {
    DIMS_MOST = 7,
    HEADER_MOST = 540,
    IMAGE_NAME = 300,   /* room for the name of a file of samples */
    EXTENSION_FLAG = 4, /* bytes after the header, of which the first says whether extensions follow */
    EXTENSION_UNIT = 16,
    EXTENSIONS_FIRST = 4096, /* room for extensions whose size is not known */
    EXTENSIONS_MOST = 16 << 20
};

/* The code of the space that sform and qform refer to. */
enum { SCANNER = 1 };

/* Codes of intents that CIFTI has for itself. */
enum { CIFTI_FIRST = 3000, CIFTI_LAST = 3099 };

/* All fields that are used here, or whose byte order counts: name, count of numbers or letters, and place and
   width in NIfTI-1 and in NIfTI-2; of width 0: not there. First come those that are 0 where they say nothing,
   in the order in which they are named if an output drops them. */
#define NIFTI_FIELDS                                                                                         \
    FIELD(DIM_INFO, "dim_info", 1, 39, 1, 524, 1)                                                            \
    FIELD(INTENT_CODE, "intent_code", 1, 68, 2, 504, 4)                                                      \
    FIELD(INTENT_NAME, "intent_name", 16, 328, 1, 508, 1)                                                    \
    FIELD(SLICE_CODE, "slice_code", 1, 122, 1, 496, 4)                                                       \
    FIELD(SLICE_DURATION, "slice_duration", 1, 132, 4, 208, 8)                                               \
    FIELD(TOFFSET, "toffset", 1, 136, 4, 216, 8)                                                             \
    FIELD(CAL_MAX, "cal_max", 1, 124, 4, 192, 8)                                                             \
    FIELD(CAL_MIN, "cal_min", 1, 128, 4, 200, 8)                                                             \
    FIELD(DESCRIP, "descrip", 80, 148, 1, 240, 1)                                                            \
    FIELD(AUX_FILE, "aux_file", 24, 228, 1, 320, 1)                                                          \
    FIELD(SIZEOF_HDR, "sizeof_hdr", 1, 0, 4, 0, 4)                                                           \
    FIELD(EXTENTS, "extents", 1, 32, 4, 0, 0)                                                                \
    FIELD(SESSION_ERROR, "session_error", 1, 36, 2, 0, 0)                                                    \
    FIELD(DIM, "dim", 8, 40, 2, 16, 8)                                                                       \
    FIELD(INTENT_P, "intent_p", 3, 56, 4, 80, 8)                                                             \
    FIELD(DATATYPE, "datatype", 1, 70, 2, 12, 2)                                                             \
    FIELD(BITPIX, "bitpix", 1, 72, 2, 14, 2)                                                                 \
    FIELD(SLICE_START, "slice_start", 1, 74, 2, 224, 8)                                                      \
    FIELD(SLICE_END, "slice_end", 1, 120, 2, 232, 8)                                                         \
    FIELD(PIXDIM, "pixdim", 8, 76, 4, 104, 8)                                                                \
    FIELD(VOX_OFFSET, "vox_offset", 1, 108, 4, 168, 8)                                                       \
    FIELD(SCL_SLOPE, "scl_slope", 1, 112, 4, 176, 8)                                                         \
    FIELD(SCL_INTER, "scl_inter", 1, 116, 4, 184, 8)                                                         \
    FIELD(XYZT_UNITS, "xyzt_units", 1, 123, 1, 500, 4)                                                       \
    FIELD(GLMAX, "glmax", 1, 140, 4, 0, 0)                                                                   \
    FIELD(GLMIN, "glmin", 1, 144, 4, 0, 0)                                                                   \
    FIELD(QFORM_CODE, "qform_code", 1, 252, 2, 344, 4)                                                       \
    FIELD(SFORM_CODE, "sform_code", 1, 254, 2, 348, 4)                                                       \
    FIELD(QUATERN, "quatern", 3, 256, 4, 352, 8)                                                             \
    FIELD(QOFFSET, "qoffset", 3, 268, 4, 376, 8)                                                             \
    FIELD(SROW, "srow", 12, 280, 4, 400, 8)                                                                  \
    FIELD(MAGIC, "magic", 4, 344, 1, 4, 1)

enum nifti_field {
#define FIELD(field, name, count, at1, width1, at2, width2) field,
    NIFTI_FIELDS
#undef FIELD
        FIELDS
};
enum { OWN_FIELDS = AUX_FILE + 1 };

enum { NIFTI_1, NIFTI_2, VERSIONS };

static const struct layout {
    const char *name;
    unsigned count;
    struct {
        unsigned at, width;
    } in[VERSIONS];
} layouts[FIELDS] = {
#define FIELD(field, name, count, at1, width1, at2, width2) {name, count, {{at1, width1}, {at2, width2}}},
    NIFTI_FIELDS
#undef FIELD
};

/* NIfTI-1 has extents of 16 bits with a sign. The magic of NIfTI-2 ends in bytes that a transfer as text
   would change, like that of PNG. */
static const struct version {
    size_t size, magic_size;
    const char *attached, *detached; /* magic of one file, and of a header alone */
    uint64_t extent_most;
} versions[VERSIONS] = {
    [NIFTI_1] = {348, 4, "n+1", "ni1", 32767},
    [NIFTI_2] = {540, 8, "n+2\0\r\n\032\n", "ni2\0\r\n\032\n", INT64_MAX},
};

/* Codes of the standard. Colours are types of their own, with the channels of a sample together. */
static const struct datatype {
    int code;
    enum sample_type type;
    unsigned channels;
} datatypes[] = {
    {2, SAMPLE_U8, 1},     {256, SAMPLE_I8, 1},   {512, SAMPLE_U16, 1}, {4, SAMPLE_I16, 1},
    {768, SAMPLE_U32, 1},  {8, SAMPLE_I32, 1},    {16, SAMPLE_F32, 1},  {64, SAMPLE_F64, 1},
    {1280, SAMPLE_U64, 1}, {1024, SAMPLE_I64, 1}, {128, SAMPLE_U8, 3},  {2304, SAMPLE_U8, 4},
};
enum { DATATYPES = sizeof datatypes / sizeof *datatypes };

/* The header of a source, or of a sink that is being written, as its bytes are in the file. */
struct raw_header {
    unsigned version;
    enum endian endian;
    unsigned char header[HEADER_MOST];
    double spacing[3];     /* as the header has it, before --spacing */
    size_t extension_size; /* with the flag; 0: there is none */
    unsigned char extension[];
};

/* ---- numbers in either order ---- */

static const struct version *version_of(const struct raw_header *raw)
{
    return &versions[raw->version];
}

static unsigned width_of(const struct raw_header *raw, enum nifti_field field)
{
    return layouts[field].in[raw->version].width;
}

static size_t place_of(const struct raw_header *raw, enum nifti_field field, unsigned index)
{
    return layouts[field].in[raw->version].at + index * width_of(raw, field);
}

/* A whole number of the header, with its sign. */
static int64_t whole(const struct raw_header *raw, enum nifti_field field, unsigned index)
{
    unsigned width = width_of(raw, field);
    uint64_t bits = endian_get(raw->endian, raw->header + place_of(raw, field, index), width),
             sign = (uint64_t)1 << (8 * width - 1);

    /* This extends the sign of a number of fewer than 64 bits. */
    return (int64_t)((bits ^ sign) - sign);
}

/* A floating-point number of the header: single in NIfTI-1, double in NIfTI-2. */
static double real(const struct raw_header *raw, enum nifti_field field, unsigned index)
{
    uint64_t bits = endian_get(raw->endian, raw->header + place_of(raw, field, index), width_of(raw, field));
    uint32_t half = (uint32_t)bits;
    double value;
    float single;

    memcpy(&value, &bits, sizeof value);
    memcpy(&single, &half, sizeof single);
    return width_of(raw, field) == sizeof single ? (double)single : value;
}

static void put_whole(struct raw_header *raw, enum nifti_field field, unsigned index, uint64_t value)
{
    endian_put(raw->endian, raw->header + place_of(raw, field, index), width_of(raw, field), value);
}

static void put_real(struct raw_header *raw, enum nifti_field field, unsigned index, double value)
{
    float single = (float)value;
    uint32_t half;
    uint64_t bits;

    memcpy(&half, &single, sizeof half);
    memcpy(&bits, &value, sizeof bits);
    put_whole(raw, field, index, width_of(raw, field) == sizeof single ? half : bits);
}

static void swap_bytes(unsigned char *bytes, unsigned width)
{
    endian_put(ENDIAN_LITTLE, bytes, width, endian_get(ENDIAN_BIG, bytes, width));
}

/* ---- reading ---- */

/* The first number is the size of the header; it tells the version and the byte order. */
static bool find_version(struct raw_header *raw)
{
    for (raw->version = 0; raw->version < VERSIONS; raw->version++) {
        for (int big = 0; big < 2; big++) {
            raw->endian = big ? ENDIAN_BIG : ENDIAN_LITTLE;
            if (endian_get(raw->endian, raw->header, 4) == version_of(raw)->size)
                return true;
        }
    }
    return false;
}

static bool has_magic(unsigned version, const unsigned char *header, const char *magic)
{
    return memcmp(header + layouts[MAGIC].in[version].at, magic, versions[version].magic_size) == 0;
}

static bool has_any_magic(unsigned version, const unsigned char *header)
{
    return has_magic(version, header, versions[version].attached) ||
           has_magic(version, header, versions[version].detached);
}

static bool sniff(const unsigned char *start, size_t size)
{
    for (unsigned i = 0; i < VERSIONS; i++) {
        if (size >= layouts[MAGIC].in[i].at + versions[i].magic_size && has_any_magic(i, start))
            return true;
    }
    return false;
}

/* Read the header: its first four bytes tell how long it is. A pair of files without magic is of the format
   before NIfTI. */
static bool read_version(struct source *source, struct raw_header *raw, struct fault *fault)
{
    if (!volume_read_header(source, raw->header, 4, fault))
        return false;
    if (!find_version(raw))
        return source_refuse(source, fault, "sizeof_hdr: neither 348 nor 540");
    if (!volume_read_header(source, raw->header + 4, version_of(raw)->size - 4, fault))
        return false;
    if (has_any_magic(raw->version, raw->header))
        return true;
    if (source->format->data_suffix != NULL)
        return source_refuse(source, fault,
                             "an Analyze 7.5 file, which is not read: nib-convert converts it to NIfTI");
    return source_refuse(source, fault, "magic: not that of a NIfTI file");
}

/* The datatype gives type and channels; bitpix must agree. */
static bool read_type(struct source *source, const struct raw_header *raw, unsigned *channels,
                      struct fault *fault)
{
    int64_t code = whole(raw, DATATYPE, 0), bits = whole(raw, BITPIX, 0);

    for (size_t i = 0; i < DATATYPES; i++) {
        const struct datatype *datatype = &datatypes[i];
        if (datatype->code != code)
            continue;
        source->header.type = datatype->type;
        source->header.alpha = datatype->channels == 4;
        *channels = datatype->channels;
        return bits == (int64_t)(8 * sample_size(datatype->type) * datatype->channels) ||
               source_refuse(source, fault, "bitpix: %lld for datatype %lld", (long long)bits,
                             (long long)code);
    }
    return source_refuse(source, fault, "datatype: %lld is not supported", (long long)code);
}

/* The code of the unit of lengths; the unit of times has other bits of the field. */
static unsigned units_code(const struct raw_header *raw)
{
    enum { SPACE_UNITS = 7 };

    return (unsigned)(whole(raw, XYZT_UNITS, 0) & SPACE_UNITS);
}

/* Extents and distances, of up to seven axes. */
static bool read_extents(struct source *source, const struct raw_header *raw, unsigned channels,
                         struct fault *fault)
{
    int64_t axes = whole(raw, DIM, 0);
    uint64_t extents[DIMS_MOST];
    double spacing[3];

    if (axes < 1 || axes > DIMS_MOST)
        return source_refuse(source, fault, "dim: %lld axes", (long long)axes);
    for (unsigned i = 0; i < axes; i++) {
        int64_t extent = whole(raw, DIM, i + 1);
        if (extent < 1)
            return source_refuse(source, fault, "dim: axis %u has an extent of %lld", i + 1,
                                 (long long)extent);
        extents[i] = (uint64_t)extent;
    }
    for (unsigned i = 0; i < 3; i++)
        spacing[i] = real(raw, PIXDIM, i + 1);
    volume_set_spacing(source, spacing, 3);
    source->header.millimetres = unit_millimetres(unit_of_code(UNIT_NIFTI, units_code(raw)));
    return volume_set_extents(source, "dim", extents, (size_t)axes, channels, fault);
}

/* If the first part is 0, rounding leaves a small rest, whose root is much larger. So the standard's own
   library takes any rest below this for 0. */
#define LEAST_REST 1e-7

struct quaternion {
    double a, b, c, d;
};

/* The quaternion of qform. The header lacks its first part, which makes the length 1. */
static struct quaternion read_quaternion(const struct raw_header *raw)
{
    struct quaternion q = {
        .b = real(raw, QUATERN, 0), .c = real(raw, QUATERN, 1), .d = real(raw, QUATERN, 2)};
    double squares = q.b * q.b + q.c * q.c + q.d * q.d, rest = 1.0 - squares, length = sqrt(squares);

    if (rest < LEAST_REST)
        return (struct quaternion){0.0, q.b / length, q.c / length, q.d / length};
    q.a = sqrt(rest);
    return q;
}

/* Its rotation, by the formula of the standard. */
static void read_rotation(const struct raw_header *raw, double rotation[3][3])
{
    const struct quaternion q = read_quaternion(raw);
    const double a = q.a, b = q.b, c = q.c, d = q.d;
    double handed = real(raw, PIXDIM, 0) < 0.0 ? -1.0 : 1.0;
    const double turned[3][3] = {
        {a * a + b * b - c * c - d * d, 2.0 * (b * c - a * d), 2.0 * (b * d + a * c)},
        {2.0 * (b * c + a * d), a * a + c * c - b * b - d * d, 2.0 * (c * d - a * b)},
        {2.0 * (b * d - a * c), 2.0 * (c * d + a * b), a * a + d * d - c * c - b * b},
    };

    for (unsigned row = 0; row < 3; row++) {
        for (unsigned i = 0; i < 3; i++)
            rotation[row][i] = turned[row][i] * (i == 2 ? handed : 1.0);
    }
}

/* Where the grid is in space, by sform or by qform: the first sample, and the vectors along the axes. */
struct place {
    int64_t code; /* above 0: it is known */
    double origin[3], vectors[3][3];
};

/* The transform by a matrix. */
static struct place read_sform(const struct raw_header *raw)
{
    struct place place = {.code = whole(raw, SFORM_CODE, 0)};

    for (unsigned row = 0; row < 3; row++) {
        place.origin[row] = real(raw, SROW, 4 * row + 3);
        for (unsigned i = 0; i < 3; i++)
            place.vectors[i][row] = real(raw, SROW, 4 * row + i);
    }
    return place;
}

/* The transform by a rotation and the distances of pixdim. */
static struct place read_qform(const struct raw_header *raw)
{
    struct place place = {.code = whole(raw, QFORM_CODE, 0)};
    double rotation[3][3];

    read_rotation(raw, rotation);
    for (unsigned row = 0; row < 3; row++) {
        place.origin[row] = real(raw, QOFFSET, row);
        for (unsigned i = 0; i < 3; i++)
            place.vectors[i][row] = rotation[row][i] * fabs(real(raw, PIXDIM, i + 1));
    }
    return place;
}

/* The spacing is that of pixdim. Other formats have no transforms whose vectors have other lengths. */
static bool has_spacing(const struct place *place, const double spacing[3], unsigned axes)
{
    for (unsigned i = 0; i < axes; i++) {
        if (!(fabs(geometry_length(place->vectors[i]) - spacing[i]) <= 1e-5 * spacing[i]))
            return false;
    }
    return true;
}

/* The transform that counts: sform if it fits the spacing, else qform. */
static struct place read_place(const struct raw_header *raw, const double spacing[3])
{
    struct place mapped = read_sform(raw);

    return mapped.code > 0 && has_spacing(&mapped, spacing, 3) ? mapped : read_qform(raw);
}

/* Tell the rest of the program where the grid is, if any transform is known. The orientation is known even
   where vectors do not have the lengths of the spacing. */
static void set_position(struct source *source, const struct raw_header *raw)
{
    struct header *header = &source->header;
    struct place place = read_place(raw, header->grid.spacing);

    if (place.code <= 0)
        place = read_sform(raw);
    if (header->grid.axes < 3 || place.code <= 0)
        return;
    header->geometry = geometry_make(place.origin, place.vectors, geometry_ras);
    if (header->geometry.known)
        geometry_orientation(&header->geometry, header->orientation);
    header->geometry.known = header->geometry.known && has_spacing(&place, header->grid.spacing, 3);
}

/* Slope and intercept; by the standard, colours have none, and a slope of 0 means that there are none. */
static struct intensity read_intensity(const struct raw_header *raw, unsigned channels)
{
    const struct intensity intensity = {real(raw, SCL_SLOPE, 0), real(raw, SCL_INTER, 0)};
    bool told = channels == 1 && isfinite(intensity.slope) && isfinite(intensity.intercept);

    return told && intensity.slope != 0.0 ? intensity : (struct intensity){0.0, 0.0};
}

/* Where the samples of one file begin; older programs left it at 0. */
static bool read_offset(const struct source *source, const struct raw_header *raw, uint64_t least,
                        uint64_t *offset, struct fault *fault)
{
    double value = raw->version == NIFTI_2 ? (double)whole(raw, VOX_OFFSET, 0) : real(raw, VOX_OFFSET, 0);

    if (!(value >= 0.0) || value > 0x1p62 || value != floor(value) || (value > 0.0 && value < (double)least))
        return source_refuse(source, fault, "vox_offset: %g", value);
    *offset = value == 0.0 ? least : (uint64_t)value;
    return true;
}

/* Extensions name their lengths, which fill the room before the samples. */
static bool check_extensions(const struct source *source, struct raw_header *raw, bool swapped,
                             struct fault *fault)
{
    size_t at = EXTENSION_FLAG;
    uint64_t size;

    if (raw->extension_size <= EXTENSION_FLAG || raw->extension[0] == 0)
        return true;
    for (; raw->extension_size - at >= EXTENSION_UNIT; at += (size_t)size) {
        size = endian_get(raw->endian, raw->extension + at, 4);
        if (size < EXTENSION_UNIT / 2 || size > raw->extension_size - at)
            return source_refuse(source, fault, "extension: esize %llu, but %zu bytes are left for it",
                                 (unsigned long long)size, raw->extension_size - at);
        if (swapped) {
            swap_bytes(raw->extension + at, 4);
            swap_bytes(raw->extension + at + 4, 4);
        }
    }
    return true;
}

/* Keep the header with its extensions behind it: `size` bytes of them, or, if that is UINT64_MAX, all that
   the stream has, since nobody knows beforehand how long a compressed header is. */
static bool keep(struct source *source, const struct raw_header *raw, uint64_t size, struct fault *fault)
{
    struct volume *volume = source->state;
    const bool is_known = size < UINT64_MAX;
    size_t capacity, got;
    struct raw_header *copy;
    uint64_t most;

    if (is_known && (size > EXTENSIONS_MOST || (byte_stream_most(volume->stream, &most) && size > most)))
        return source_refuse(source, fault,
                             "vox_offset: the file ends before it, or it is more than 16 MiB away");
    /* A known size is read at once, and the header is allocated for it. Else the block grows as bytes
       come. */
    capacity = sizeof *copy + (is_known ? (size_t)size : EXTENSIONS_FIRST);
    copy = volume->parsed = mem_alloc(capacity, 1, "a header", fault);
    if (copy == NULL)
        return false;
    *copy = *raw;
    for (copy->extension_size = 0; copy->extension_size < size; copy->extension_size += got) {
        size_t used = sizeof *copy + copy->extension_size;
        copy = mem_grow(volume->parsed, used, &capacity, 1, "a header", fault);
        if (copy == NULL)
            return false;
        volume->parsed = copy;
        if (!byte_stream_read(volume->stream, copy->extension + copy->extension_size, capacity - used, &got,
                              fault))
            return false;
        if (got == 0 && is_known)
            return source_refuse(source, fault, "header: the file ends within it");
        if (got == 0)
            break;
        if (copy->extension_size + got > EXTENSIONS_MOST)
            return source_refuse(source, fault, "extension: more than 16 MiB");
    }
    return check_extensions(source, copy, false, fault);
}

/* One file: extensions fill the bytes between the header and vox_offset. */
static bool open_attached(struct source *source, const struct raw_header *raw, struct fault *fault)
{
    uint64_t offset;

    return read_offset(source, raw, version_of(raw)->size + EXTENSION_FLAG, &offset, fault) &&
           keep(source, raw, offset - version_of(raw)->size, fault);
}

static bool ends_with(const char *name, const char *ending)
{
    size_t length = strlen(name), own = strlen(ending);

    return length > own && strcasecmp(name + length - own, ending) == 0;
}

/* How much of a header's name the name of its samples begins with: all but .hdr, or all of it if it has
   another ending, as the target of a link may. */
static size_t stem_length(const char *name)
{
    size_t length = strlen(name);

    return ends_with(name, ".hdr")      ? length - strlen(".hdr")
           : ends_with(name, ".hdr.gz") ? length - strlen(".hdr.gz")
                                        : length;
}

/* "scan.img", or the same compressed. */
static bool is_image(const struct source *source, const char *name, bool compressed, char *image, size_t size)
{
    int length = snprintf(image, size, "%.*s.img%s", (int)stem_length(name), name, compressed ? ".gz" : "");

    return (size_t)length < size && volume_file_exists(source, image);
}

static const char *header_name(const struct source *source)
{
    return path_base_name(volume_header_path(source));
}

static bool find_beside(const struct source *source, char *image, size_t size)
{
    const char *name = header_name(source);
    bool compressed = ends_with(name, ".gz");

    return *name != '\0' && (is_image(source, name, compressed, image, size) ||
                             is_image(source, name, !compressed, image, size));
}

/* The file of samples beside a header. If none has the name of a link, that of the header to which it leads
   counts. */
static bool find_image(struct source *source, char *image, size_t size, struct fault *fault)
{
    const char *name;

    if (find_beside(source, image, size) ||
        (volume_follow_link(source, true) && find_beside(source, image, size)))
        return true;
    volume_follow_link(source, false);
    name = header_name(source);
    if (name[stem_length(name)] == '\0')
        return source_refuse(source, fault,
                             "magic: a header alone, whose name must end in .hdr to find its .img");
    is_image(source, name, ends_with(name, ".gz"), image, size); /* the one that is missed */
    return true;
}

/* Name the file of samples that belongs to a header of its own. */
static bool add_image(struct source *source, struct fault *fault)
{
    struct volume *volume = source->state;
    char image[IMAGE_NAME];

    volume->files.field = "image file";
    if (!find_image(source, image, sizeof image, fault))
        return false;
    if (ends_with(image, ".gz"))
        volume->coding.coding = CODING_GZIP;
    return volume_add_file(source, image, fault);
}

/* Header and samples in two files: the rest of the header's file is extensions, if there are any. */
static bool open_detached(struct source *source, const struct raw_header *raw, struct fault *fault)
{
    struct volume *volume = source->state;
    uint64_t extension_size = 0;
    bool is_known = byte_stream_most(volume->stream, &extension_size) && byte_stream_is_plain(volume->stream);

    volume->coding.skipped_by = "vox_offset";
    return read_offset(source, raw, 0, &volume->coding.byte_skip, fault) &&
           keep(source, raw, is_known ? extension_size : UINT64_MAX, fault) && add_image(source, fault);
}

/* CIFTI puts matrices behind its axes of space, which all are 1. */
static bool check_intent(const struct source *source, const struct raw_header *raw, struct fault *fault)
{
    int64_t code = whole(raw, INTENT_CODE, 0);

    return code < CIFTI_FIRST || code > CIFTI_LAST ||
           source_refuse(source, fault,
                         "a CIFTI file, which is not read: wb_command -cifti-convert -to-nifti converts it");
}

static bool read_header(struct source *source, const struct source_request *request, struct fault *fault)
{
    struct raw_header raw = {.version = 0};
    unsigned channels = 1;

    (void)request;
    if (!read_version(source, &raw, fault) || !check_intent(source, &raw, fault))
        return false;
    source->header.endian = raw.endian;
    if (!read_type(source, &raw, &channels, fault) || !read_extents(source, &raw, channels, fault))
        return false;
    memcpy(raw.spacing, source->header.grid.spacing, sizeof raw.spacing);
    source->header.intensity = read_intensity(&raw, channels);
    set_position(source, &raw);
    return has_magic(raw.version, raw.header, versions[raw.version].attached)
               ? open_attached(source, &raw, fault)
               : open_detached(source, &raw, fault);
}

/* ---- what other formats do not keep ---- */

/* Fields from one to before another that say something. */
static void list_fields(const struct raw_header *raw, unsigned from, unsigned end, struct dropped *dropped)
{
    for (unsigned i = from; i < end; i++) {
        if (!mem_is_zero(raw->header + place_of(raw, i, 0), layouts[i].count * width_of(raw, i)))
            format_drop(dropped, "%s", layouts[i].name);
    }
}

/* Whether the transforms are the same, but for rounding and a thousandth of a sample. */
static bool is_same_place(const struct place *place, const struct place *other, double rounding)
{
    for (unsigned i = 0; i < 3; i++) {
        double length = geometry_length(place->vectors[i]);
        for (unsigned k = 0; k < 3; k++) {
            if (!(fabs(place->vectors[i][k] - other->vectors[i][k]) <= rounding * length) ||
                !(fabs(place->origin[k] - other->origin[k]) <= 1e-3 * length))
                return false;
        }
    }
    return true;
}

/* Whether it tells more than the spacing does. */
static bool tells_place(const struct raw_header *raw, struct place place, unsigned axes)
{
    return !geometry_is_plain(place.origin, place.vectors) || !has_spacing(&place, raw->spacing, axes);
}

/* If the output keeps a transform, its code is lost, which says what the coordinates refer to. Other formats
   have those of a scanner. */
static void list_transform(const struct place *place, bool keeps, const char *name, struct dropped *dropped)
{
    if (place->code > 0 && !keeps)
        format_drop(dropped, "%s", name);
    else if (place->code > 0 && place->code != SCANNER)
        format_drop(dropped, "%s_code", name);
}

static void list_transforms(const struct source *source, const struct format *sink,
                            const struct raw_header *raw, struct dropped *dropped)
{
    unsigned axes = source->header.grid.axes;
    bool keeps_place = sink->holds_geometry && source->header.geometry.known;
    struct place mapped = read_sform(raw), turned = read_qform(raw);
    struct place place = read_place(raw, raw->spacing);
    /* How far a part of a rotation may be off because its numbers are rounded. That is most near half a turn,
       where a small rest was rounded, or taken for 0. */
    double rounding = read_quaternion(raw).a < 0.01 ? 2e-3 : 5e-5;

    list_transform(&mapped,
                   keeps_place ? is_same_place(&place, &mapped, rounding) : !tells_place(raw, mapped, axes),
                   "sform", dropped);
    list_transform(&turned,
                   keeps_place ? is_same_place(&place, &turned, rounding) : !tells_place(raw, turned, axes),
                   "qform", dropped);
}

/* The distances between volumes. */
static void list_steps(const struct raw_header *raw, struct dropped *dropped)
{
    int64_t axes = whole(raw, DIM, 0);
    double steps[DIMS_MOST + 1] = {0.0};

    for (unsigned i = 4; i <= axes; i++) {
        if (whole(raw, DIM, i) > 1)
            steps[i] = real(raw, PIXDIM, i);
    }
    format_drop_distances(dropped, "pixdim", steps, 4, DIMS_MOST + 1);
}

static void list_dropped(const struct source *source, const struct receiver *to, struct dropped *dropped)
{
    const struct raw_header *raw = ((const struct volume *)source->state)->parsed;

    if (!intensity_is_plain(&source->header.intensity) &&
        (!to->format->holds_intensity || to->header->values == VALUES_MAPPED)) {
        format_drop(dropped, "scl_slope");
        format_drop(dropped, "scl_inter");
    }
    /* Another NIfTI file gets all but the range to show, if values are others. */
    if (to->format->family == source->format->family) {
        if (to->header->values >= VALUES_DERIVED)
            list_fields(raw, CAL_MAX, CAL_MIN + 1, dropped);
        return;
    }
    if (source->header.alpha && to->format->title != NULL && !format_tells_alpha(to->format, &source->header))
        format_drop(dropped, "datatype");
    list_transforms(source, to->format, raw, dropped);
    if (units_code(raw) != 0 && source->header.millimetres == 0.0)
        format_drop(dropped, "xyzt_units");
    if (source->header.volumes > 1)
        list_steps(raw, dropped);
    list_fields(raw, 0, OWN_FIELDS, dropped);
    if (raw->extension_size > EXTENSION_FLAG && raw->extension[0] != 0)
        format_drop(dropped, "extensions");
}

/* ---- writing ---- */

/* The datatype of the sink's samples and channels; NULL: there is none. */
static const struct datatype *datatype_of(const struct header *header)
{
    for (size_t i = 0; i < DATATYPES; i++) {
        if (datatypes[i].type == header->type && datatypes[i].channels == header->grid.channels)
            return &datatypes[i];
    }
    return NULL;
}

/* A new header: NIfTI-1, or NIfTI-2 if an extent needs it. */
static bool make_header(const struct sink *sink, struct raw_header *raw, struct fault *fault)
{
    const struct grid *grid = &sink->header.grid;
    const size_t volumes = sink->header.volumes;
    const uint64_t dims[DIMS_MOST + 1] = {
        volumes > 1 ? 4 : grid->axes, grid->nx, grid->ny, grid->nz, volumes, 1, 1, 1};
    uint64_t most = 0;

    for (unsigned i = 1; i <= 4; i++)
        most = dims[i] > most ? dims[i] : most;
    if (most > versions[NIFTI_2].extent_most)
        return fault_set_for(fault, STATUS_LIMIT, file_out_name(sink->file), "an extent of %llu",
                             (unsigned long long)most);
    raw->version = most > versions[NIFTI_1].extent_most ? NIFTI_2 : NIFTI_1;
    put_whole(raw, SIZEOF_HDR, 0, version_of(raw)->size);
    for (unsigned i = 0; i <= DIMS_MOST; i++) {
        put_whole(raw, DIM, i, dims[i]);
        put_real(raw, PIXDIM, i, 1.0);
    }
    return true;
}

/* The header of the origin, in the sink's byte order. */
static void copy_header(const struct raw_header *origin, struct raw_header *raw)
{
    memcpy(raw->header, origin->header, sizeof raw->header);
    raw->version = origin->version;
    if (origin->endian == raw->endian)
        return;
    for (unsigned field = 0; field < FIELDS; field++) {
        for (unsigned i = 0; width_of(raw, field) > 1 && i < layouts[field].count; i++)
            swap_bytes(raw->header + place_of(raw, field, i), width_of(raw, field));
    }
}

/* Where --spacing has another distance than the header, its transform is scaled with it. */
static void put_spacing(const struct sink *sink, struct raw_header *raw)
{
    for (unsigned i = 0; i < sink->header.grid.axes; i++) {
        double before = fabs(real(raw, PIXDIM, i + 1)), now = sink->header.grid.spacing[i];
        if (before == now || (now == 1.0 && !(before > 0.0)))
            continue;
        put_real(raw, PIXDIM, i + 1, now);
        if (whole(raw, SFORM_CODE, 0) == 0 || !(before > 0.0 && before < INFINITY))
            continue;
        for (unsigned row = 0; row < 3; row++)
            put_real(raw, SROW, 4 * row + i, real(raw, SROW, 4 * row + i) * (now / before));
    }
}

/* Add to a number of the header, which is rounded once. */
static void move_real(struct raw_header *raw, enum nifti_field field, unsigned index, double distance)
{
    put_real(raw, field, index, real(raw, field, index) + distance);
}

/* Both transforms keep where samples are in space. */
static void move_transforms(const struct sink *sink, struct raw_header *raw)
{
    bool turns = whole(raw, QFORM_CODE, 0) > 0, maps = whole(raw, SFORM_CODE, 0) > 0;
    double rotation[3][3];

    read_rotation(raw, rotation);
    for (unsigned row = 0; row < 3; row++) {
        double turned = 0.0, mapped = 0.0;
        for (unsigned i = 0; i < 3; i++) {
            double first = (double)sink->header.first[i];
            turned += rotation[row][i] * fabs(real(raw, PIXDIM, i + 1)) * first;
            mapped += real(raw, SROW, 4 * row + i) * first;
        }
        if (turns)
            move_real(raw, QOFFSET, row, turned);
        if (maps)
            move_real(raw, SROW, 4 * row + 3, mapped);
    }
}

/* One volume has three axes; the first axis of a series is time. */
static void put_choice(const struct header_choice *choice, struct raw_header *raw)
{
    size_t times = (size_t)whole(raw, DIM, 4);

    move_real(raw, TOFFSET, 0, (double)(choice->volume % times) * real(raw, PIXDIM, 4));
    put_whole(raw, DIM, 0, 3);
    for (unsigned i = 4; i <= DIMS_MOST; i++)
        put_whole(raw, DIM, i, 1);
}

static void put_region(const struct sink *sink, struct raw_header *raw)
{
    const size_t extents[3] = {sink->header.grid.nx, sink->header.grid.ny, sink->header.grid.nz};
    bool cut = false;

    for (unsigned i = 0; i < 3; i++) {
        if (extents[i] == 1 && whole(raw, DIM, 0) <= (int64_t)i)
            continue;
        cut = cut || whole(raw, DIM, i + 1) != (int64_t)extents[i];
        put_whole(raw, DIM, i + 1, extents[i]);
    }
    move_transforms(sink, raw);
    /* The times at which slices were taken are told by their numbers, which are others now. */
    if (cut) {
        put_whole(raw, SLICE_START, 0, 0);
        put_whole(raw, SLICE_END, 0, 0);
        put_whole(raw, SLICE_CODE, 0, 0);
    }
    if (sink->header.choice.count > 0)
        put_choice(&sink->header.choice, raw);
}

/* In the coordinates of a scanner, which grow to the right, the front and the top. */
static void put_geometry(const struct sink *sink, const struct geometry *geometry, struct raw_header *raw)
{
    const double *signs = geometry_ras;

    put_whole(raw, SFORM_CODE, 0, SCANNER);
    for (unsigned row = 0; row < 3; row++) {
        for (unsigned i = 0; i < 3; i++)
            put_real(raw, SROW, 4 * row + i,
                     signs[row] * geometry->direction[i][row] * sink->header.grid.spacing[i]);
        put_real(raw, SROW, 4 * row + 3, signs[row] * geometry->origin[row]);
    }
}

/* Slope and intercept, and the range of values to show. */
static void put_values(const struct header *header, struct raw_header *raw)
{
    const struct intensity *now = &header->intensity, before = read_intensity(raw, header->grid.channels);

    if (!intensity_is_same(now, &before)) {
        put_real(raw, SCL_SLOPE, 0, now->slope);
        put_real(raw, SCL_INTER, 0, now->intercept);
    }
    if (header->values >= VALUES_DERIVED) {
        put_real(raw, CAL_MAX, 0, 0.0);
        put_real(raw, CAL_MIN, 0, 0.0);
    }
}

/* Set what describes the samples of this output. */
static void put_fields(const struct sink *sink, struct raw_header *raw, const struct datatype *datatype,
                       uint64_t offset)
{
    const struct version *version = version_of(raw);

    put_whole(raw, DATATYPE, 0, (uint64_t)datatype->code);
    put_whole(raw, BITPIX, 0, 8 * sample_size(datatype->type) * datatype->channels);
    put_spacing(sink, raw);
    if (raw->version == NIFTI_2)
        put_whole(raw, VOX_OFFSET, 0, offset);
    else
        put_real(raw, VOX_OFFSET, 0, (double)offset);
    put_values(&sink->header, raw);
    memcpy(raw->header + place_of(raw, MAGIC, 0),
           sink->format->data_suffix != NULL ? version->detached : version->attached, version->magic_size);
}

/* Write the origin's extensions, their numbers in the sink's byte order; or the flag that there are none. */
static bool write_extensions(struct sink *sink, const struct raw_header *origin, const struct raw_header *raw,
                             struct fault *fault)
{
    static const unsigned char none[EXTENSION_FLAG];
    struct raw_header *copy;
    bool done;

    if (origin == NULL || origin->extension_size < EXTENSION_FLAG)
        return volume_sink_put(sink, none, sizeof none, fault);
    if (origin->endian == raw->endian)
        return volume_sink_put(sink, origin->extension, origin->extension_size, fault);
    copy = mem_alloc(sizeof *copy + origin->extension_size, 1, "a header", fault);
    if (copy == NULL)
        return false;
    memcpy(copy, origin, sizeof *copy + origin->extension_size);
    check_extensions(NULL, copy, true, fault);
    done = volume_sink_put(sink, copy->extension, copy->extension_size, fault);
    mem_free(copy);
    return done;
}

/* Write the header: a copy of the origin's or a new one, in which the fields are set that describe this
   output. */
static bool put_header(struct sink *sink, const struct sink_request *request, const struct raw_header *origin,
                       struct raw_header *raw, const struct datatype *datatype, struct fault *fault)
{
    size_t extension =
        origin == NULL || origin->extension_size < EXTENSION_FLAG ? EXTENSION_FLAG : origin->extension_size;
    struct geometry place;
    const struct geometry *geometry = volume_sink_geometry(sink, request, &place);
    uint64_t offset;

    /* Fields that nothing here changes come from the origin's header. */
    if (origin != NULL)
        copy_header(origin, raw);
    else if (!make_header(sink, raw, fault))
        return false;
    if (origin == NULL && sink->header.millimetres > 0.0)
        put_whole(raw, XYZT_UNITS, 0, unit_millimetre()->codes[UNIT_NIFTI]);
    offset = sink->format->data_suffix != NULL ? 0 : version_of(raw)->size + extension;
    put_fields(sink, raw, datatype, offset);
    if (origin != NULL && volume_sink_is_cropped(sink, request))
        put_region(sink, raw);
    if (geometry != NULL)
        put_geometry(sink, geometry, raw);
    return volume_sink_put(sink, raw->header, version_of(raw)->size, fault) &&
           write_extensions(sink, origin, raw, fault);
}

/* A link leads readers to samples of its own name first, compressed or not. */
static bool check_link(const struct sink *sink, const char *samples, struct fault *fault)
{
    const char *name = path_base_name(file_out_name(sink->file));
    char image[IMAGE_NAME], compressed[IMAGE_NAME + sizeof ".gz"];

    if (!format_name_data(sink->format, name, false, image, sizeof image))
        return true;
    snprintf(compressed, sizeof compressed, "%s.gz", image);
    return volume_sink_check_link(sink, image, samples, fault) &&
           volume_sink_check_link(sink, compressed, samples, fault);
}

static bool write_header(struct sink *sink, const struct sink_request *request, struct fault *fault)
{
    const struct volume *origin = volume_sink_origin(sink, request);
    const struct datatype *datatype = datatype_of(&sink->header);
    struct raw_header raw = {.endian = sink->header.endian};
    char name[IMAGE_NAME]; /* of the file of samples */

    if (datatype == NULL && sink->header.grid.channels > 1)
        return fault_set_for(fault, STATUS_USAGE, file_out_name(sink->file),
                             "NIfTI has no %u channels of %s, only 3 or 4 of u8", sink->header.grid.channels,
                             sample_name(sink->header.type));
    if (datatype == NULL)
        return volume_sink_refuse_type(sink, fault);
    return (!sink->format->compressed || volume_sink_pack(sink, GZIP_WRITER_GZIP, fault)) &&
           put_header(sink, request, origin == NULL ? NULL : origin->parsed, &raw, datatype, fault) &&
           (sink->format->data_suffix == NULL ||
            (volume_sink_name_data(sink, false, name, sizeof name, fault) && check_link(sink, name, fault) &&
             volume_sink_detach(sink, request, name, fault)));
}

#define NIFTI                                                                                                \
    .family = FAMILY_NIFTI, .title = "a NIfTI file", .holds_spacing = true, .holds_geometry = true,          \
    .holds_intensity = true, .holds_colours = true, .alpha = FORMAT_RGBA, .list_dropped = list_dropped,      \
    .read_header = read_header, .write_header = write_header, VOLUME_OPERATIONS

const struct format format_nii = {.name = "nii",
                                  .summary = "NIfTI-1 and NIfTI-2",
                                  .joins = true,
                                  .compressed_as = &format_nii_gz,
                                  .sniff = sniff,
                                  NIFTI};

const struct format format_nii_gz = {.name = "nii.gz",
                                     .summary = "the same, compressed by gzip",
                                     .joins = true,
                                     .compressed = true,
                                     .in_turn = true,
                                     .compresses = true,
                                     NIFTI};

const struct format format_hdr = {.name = "hdr",
                                  .summary = "the same, with the samples in a file .img beside it",
                                  .data_suffix = ".img",
                                  NIFTI};
