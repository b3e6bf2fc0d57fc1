/* NIfTI-1 and NIfTI-2: one file, or a header and a file of samples. */
#include "base/file_in.h"
#include "base/file_out.h"
#include "base/mem.h"
#include "format.h"
#include "dropped_fields.h"
#include "units.h"
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
    EXTENSIONS_MOST = 16 << 20
};

/* What the coordinates of sform and qform refer to. */
enum { SCANNER = 1 };

/* Codes of intents that CIFTI has for itself. */
enum { CIFTI_FIRST = 3000, CIFTI_LAST = 3099 };

/* Fields of more than a byte, for changing their order. */
struct span {
    unsigned short at, width, count;
};

/* Where a version keeps what is needed here. Whole numbers of extents and offsets are as wide as `dim`. */
struct version {
    const char *name;
    unsigned size;
    unsigned dim, dim_width;
    unsigned datatype, bitpix;
    unsigned pixdim, real; /* real: bytes of a number with a fraction */
    unsigned vox_offset;
    bool whole_offset; /* vox_offset is a whole number */
    unsigned scl_slope, scl_inter;
    unsigned cal_max, cal_min;
    unsigned sform_code, sform_width, srow;
    unsigned qform_code, quatern, qoffset;
    unsigned intent_code, intent_width;
    unsigned slice_start, slice_end, slice_code, slice_code_width;
    unsigned toffset;
    unsigned xyzt_units, xyzt_units_width;
    unsigned magic, magic_size;
    const char *attached, *detached; /* magic of one file, and of a header alone */
    const struct span *spans;
    uint64_t extent_most;
};

static const struct span spans1[] = {
    {0, 4, 1},   {32, 4, 1},  {36, 2, 1},  {40, 2, 8},  {56, 4, 3},   {68, 2, 4},
    {76, 4, 11}, {120, 2, 1}, {124, 4, 6}, {252, 2, 2}, {256, 4, 18}, {0, 0, 0},
};

static const struct span spans2[] = {
    {0, 4, 1},   {12, 2, 2},  {16, 8, 8},   {80, 8, 3},  {104, 8, 8},
    {168, 8, 9}, {344, 4, 2}, {352, 8, 18}, {496, 4, 3}, {0, 0, 0},
};

static const struct version versions[] = {
    {.name = "NIfTI-1",
     .size = 348,
     .dim = 40,
     .dim_width = 2,
     .datatype = 70,
     .bitpix = 72,
     .pixdim = 76,
     .real = 4,
     .vox_offset = 108,
     .scl_slope = 112,
     .scl_inter = 116,
     .cal_max = 124,
     .cal_min = 128,
     .sform_code = 254,
     .sform_width = 2,
     .srow = 280,
     .qform_code = 252,
     .quatern = 256,
     .qoffset = 268,
     .intent_code = 68,
     .intent_width = 2,
     .slice_start = 74,
     .slice_end = 120,
     .slice_code = 122,
     .slice_code_width = 1,
     .toffset = 136,
     .xyzt_units = 123,
     .xyzt_units_width = 1,
     .magic = 344,
     .magic_size = 4,
     .attached = "n+1",
     .detached = "ni1",
     .spans = spans1,
     .extent_most = 32767},
    {.name = "NIfTI-2",
     .size = 540,
     .dim = 16,
     .dim_width = 8,
     .datatype = 12,
     .bitpix = 14,
     .pixdim = 104,
     .real = 8,
     .vox_offset = 168,
     .whole_offset = true,
     .scl_slope = 176,
     .scl_inter = 184,
     .cal_max = 192,
     .cal_min = 200,
     .sform_code = 348,
     .sform_width = 4,
     .srow = 400,
     .qform_code = 344,
     .quatern = 352,
     .qoffset = 376,
     .intent_code = 504,
     .intent_width = 4,
     .slice_start = 224,
     .slice_end = 232,
     .slice_code = 496,
     .slice_code_width = 4,
     .toffset = 216,
     .xyzt_units = 500,
     .xyzt_units_width = 4,
     .magic = 4,
     .magic_size = 8,
     .attached = "n+2\0\r\n\032\n",
     .detached = "ni2\0\r\n\032\n",
     .spans = spans2,
     .extent_most = INT64_MAX},
};
enum { VERSIONS = sizeof versions / sizeof *versions };

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

/* What a source keeps. */
struct raw_header {
    const struct version *version;
    enum endian endian;
    unsigned char header[HEADER_MOST];
    double spacing[3];     /* as the header has it */
    size_t extension_size; /* with the flag; 0: there is none */
    unsigned char extension[];
};

/* ---- numbers in either order ---- */

static uint64_t get_bits(const unsigned char *bytes, unsigned width, enum endian endian)
{
    uint64_t bits = 0;

    for (unsigned i = 0; i < width; i++)
        bits = bits << 8 | bytes[endian == ENDIAN_BIG ? i : width - 1 - i];
    return bits;
}

static void put_bits(unsigned char *bytes, unsigned width, enum endian endian, uint64_t bits)
{
    for (unsigned i = 0; i < width; i++)
        bytes[endian == ENDIAN_LITTLE ? i : width - 1 - i] = (unsigned char)(bits >> (8 * i));
}

static int64_t get_whole(const unsigned char *bytes, unsigned width, enum endian endian)
{
    uint64_t bits = get_bits(bytes, width, endian), sign = (uint64_t)1 << (8 * width - 1);

    return (int64_t)((bits ^ sign) - sign);
}

static double get_real(const unsigned char *bytes, unsigned width, enum endian endian)
{
    uint64_t bits = get_bits(bytes, width, endian);
    uint32_t half = (uint32_t)bits;
    double value;
    float single;

    memcpy(&value, &bits, sizeof value);
    memcpy(&single, &half, sizeof single);
    return width == sizeof single ? (double)single : value;
}

static void put_real(unsigned char *bytes, unsigned width, enum endian endian, double value)
{
    float single = (float)value;
    uint32_t half;
    uint64_t bits;

    memcpy(&half, &single, sizeof half);
    memcpy(&bits, &value, sizeof bits);
    put_bits(bytes, width, endian, width == sizeof single ? half : bits);
}

static void swap_bytes(unsigned char *bytes, unsigned width)
{
    put_bits(bytes, width, ENDIAN_LITTLE, get_bits(bytes, width, ENDIAN_BIG));
}

/* ---- reading ---- */

static bool refuse(const struct source *source, const char *field, const char *reason, struct fault *fault)
{
    return fault_raise_about(fault, STATUS_INPUT, file_in_name(source->file), "%s: %s", field, reason);
}

static bool find_version(const unsigned char *start, const struct version **version, enum endian *endian)
{
    for (size_t i = 0; i < VERSIONS; i++) {
        for (*endian = ENDIAN_LITTLE;; *endian = ENDIAN_BIG) {
            *version = &versions[i];
            if (get_bits(start, 4, *endian) == versions[i].size)
                return true;
            if (*endian == ENDIAN_BIG)
                break;
        }
    }
    return false;
}

static bool has_magic(const struct version *version, const unsigned char *header, const char *magic)
{
    return memcmp(header + version->magic, magic, version->magic_size) == 0;
}

static bool sniff(const unsigned char *start, size_t size)
{
    for (size_t i = 0; i < VERSIONS; i++) {
        const struct version *version = &versions[i];
        if (size >= version->magic + version->magic_size &&
            (has_magic(version, start, version->attached) || has_magic(version, start, version->detached)))
            return true;
    }
    return false;
}

static bool read_version(struct source *source, struct raw_header *raw, struct fault *fault)
{
    if (!volume_read_header(source, raw->header, 4, fault))
        return false;
    if (!find_version(raw->header, &raw->version, &raw->endian))
        return refuse(source, "sizeof_hdr", "neither 348 nor 540", fault);
    if (!volume_read_header(source, raw->header + 4, raw->version->size - 4, fault))
        return false;
    if (has_magic(raw->version, raw->header, raw->version->attached) ||
        has_magic(raw->version, raw->header, raw->version->detached))
        return true;
    if (source->format->data_suffix != NULL)
        return fault_raise_about(fault, STATUS_INPUT, file_in_name(source->file),
                                 "an Analyze 7.5 file, which is not read: nib-convert converts it to NIfTI");
    return refuse(source, "magic", "not that of a NIfTI file", fault);
}

static int64_t whole(const struct raw_header *raw, unsigned at, unsigned width)
{
    return get_whole(raw->header + at, width, raw->endian);
}

static double real(const struct raw_header *raw, unsigned at)
{
    return get_real(raw->header + at, raw->version->real, raw->endian);
}

static bool read_type(struct source *source, const struct raw_header *raw, unsigned *channels,
                      struct fault *fault)
{
    int64_t code = whole(raw, raw->version->datatype, 2), bits = whole(raw, raw->version->bitpix, 2);

    for (size_t i = 0; i < DATATYPES; i++) {
        const struct datatype *datatype = &datatypes[i];
        if (datatype->code != code)
            continue;
        source->header.type = datatype->type;
        source->header.alpha = datatype->channels == 4;
        *channels = datatype->channels;
        return bits == (int64_t)(8 * sample_size(datatype->type) * datatype->channels) ||
               fault_raise_about(fault, STATUS_INPUT, file_in_name(source->file),
                                 "bitpix: %lld for datatype %lld", (long long)bits, (long long)code);
    }
    return fault_raise_about(fault, STATUS_INPUT, file_in_name(source->file),
                             "datatype: %lld is not supported", (long long)code);
}

/* Of lengths; times have other bits. */
static unsigned units_code(const struct raw_header *raw)
{
    enum { SPACE_UNITS = 7 };

    return (unsigned)(whole(raw, raw->version->xyzt_units, raw->version->xyzt_units_width) & SPACE_UNITS);
}

static bool read_extents(struct source *source, const struct raw_header *raw, unsigned channels,
                         struct fault *fault)
{
    const struct version *version = raw->version;
    int64_t axes = whole(raw, version->dim, version->dim_width);
    uint64_t extents[DIMS_MOST];
    double spacing[3];

    if (axes < 1 || axes > DIMS_MOST)
        return fault_raise_about(fault, STATUS_INPUT, file_in_name(source->file), "dim: %lld axes",
                                 (long long)axes);
    for (unsigned i = 0; i < axes; i++) {
        int64_t extent = whole(raw, version->dim + (i + 1) * version->dim_width, version->dim_width);
        if (extent < 1)
            return fault_raise_about(fault, STATUS_INPUT, file_in_name(source->file),
                                     "dim: axis %u has an extent of %lld", i + 1, (long long)extent);
        extents[i] = (uint64_t)extent;
    }
    for (unsigned i = 0; i < 3; i++)
        spacing[i] = real(raw, version->pixdim + (i + 1) * version->real);
    volume_set_spacing(source, spacing, 3);
    source->header.millimetres = unit_millimetres(unit_of_nifti(units_code(raw)));
    return volume_set_extents(source, "dim", extents, (size_t)axes, channels, fault);
}

static double real_at(const struct raw_header *raw, unsigned at, unsigned index)
{
    return get_real(raw->header + at + index * raw->version->real, raw->version->real, raw->endian);
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
    struct quaternion q = {.b = real_at(raw, raw->version->quatern, 0),
                           .c = real_at(raw, raw->version->quatern, 1),
                           .d = real_at(raw, raw->version->quatern, 2)};
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
    double handed = real_at(raw, raw->version->pixdim, 0) < 0.0 ? -1.0 : 1.0;
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

static struct place read_sform(const struct raw_header *raw)
{
    const struct version *version = raw->version;
    struct place place = {.code = whole(raw, version->sform_code, version->sform_width)};

    for (unsigned row = 0; row < 3; row++) {
        place.origin[row] = real_at(raw, version->srow, 4 * row + 3);
        for (unsigned i = 0; i < 3; i++)
            place.vectors[i][row] = real_at(raw, version->srow, 4 * row + i);
    }
    return place;
}

static struct place read_qform(const struct raw_header *raw)
{
    const struct version *version = raw->version;
    struct place place = {.code = whole(raw, version->qform_code, version->sform_width)};
    double rotation[3][3];

    read_rotation(raw, rotation);
    for (unsigned row = 0; row < 3; row++) {
        place.origin[row] = real_at(raw, version->qoffset, row);
        for (unsigned i = 0; i < 3; i++)
            place.vectors[i][row] = rotation[row][i] * fabs(real_at(raw, version->pixdim, i + 1));
    }
    return place;
}

static double length_of(const double vector[3])
{
    return sqrt(vector[0] * vector[0] + vector[1] * vector[1] + vector[2] * vector[2]);
}

/* The spacing is that of pixdim. Other formats have no transforms whose vectors have other lengths. */
static bool has_spacing(const struct place *place, const double spacing[3], unsigned axes)
{
    for (unsigned i = 0; i < axes; i++) {
        if (!(fabs(length_of(place->vectors[i]) - spacing[i]) <= 1e-5 * spacing[i]))
            return false;
    }
    return true;
}

/* That of sform, or else of qform. */
static struct place read_place(const struct raw_header *raw, const double spacing[3])
{
    struct place mapped = read_sform(raw);

    return mapped.code > 0 && has_spacing(&mapped, spacing, 3) ? mapped : read_qform(raw);
}

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

/* By the standard, colours have none. */
static struct intensity read_intensity(const struct raw_header *raw, unsigned channels)
{
    const struct intensity intensity = {real(raw, raw->version->scl_slope),
                                        real(raw, raw->version->scl_inter)};
    bool told = channels == 1 && isfinite(intensity.slope) && isfinite(intensity.intercept);

    return told && intensity.slope != 0.0 ? intensity : (struct intensity){0.0, 0.0};
}

/* Where the samples of one file begin; older programs left it at 0. */
static bool read_offset(const struct source *source, const struct raw_header *raw, uint64_t least,
                        uint64_t *offset, struct fault *fault)
{
    const struct version *version = raw->version;
    double value =
        version->whole_offset ? (double)whole(raw, version->vox_offset, 8) : real(raw, version->vox_offset);

    if (!(value >= 0.0) || value > 0x1p62 || value != floor(value) || (value > 0.0 && value < (double)least))
        return fault_raise_about(fault, STATUS_INPUT, file_in_name(source->file), "vox_offset: %g", value);
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
        size = get_bits(raw->extension + at, 4, raw->endian);
        if (size < EXTENSION_UNIT / 2 || size > raw->extension_size - at)
            return fault_raise_about(fault, STATUS_INPUT, file_in_name(source->file),
                                     "extension: esize %llu, but %zu bytes are left for it",
                                     (unsigned long long)size, raw->extension_size - at);
        if (swapped) {
            swap_bytes(raw->extension + at, 4);
            swap_bytes(raw->extension + at + 4, 4);
        }
    }
    return true;
}

/* The state so far, with room for extensions behind it. */
static struct raw_header *copy_raw_header(struct source *source, const struct raw_header *raw,
                                          uint64_t extension_size, struct fault *fault)
{
    struct volume *volume = source->state;
    struct raw_header *copy = mem_alloc(sizeof *copy + (size_t)extension_size, 1, "a header", fault);

    if (copy == NULL)
        return NULL;
    *copy = *raw;
    copy->extension_size = (size_t)extension_size;
    volume->parsed = copy;
    return copy;
}

static bool keep(struct source *source, const struct raw_header *raw, uint64_t extension_size,
                 struct fault *fault)
{
    struct raw_header *copy;
    uint64_t most;

    if (extension_size > EXTENSIONS_MOST ||
        (byte_stream_most(((struct volume *)source->state)->stream, &most) && extension_size > most))
        return refuse(source, "vox_offset", "the file ends before it, or it is more than 16 MiB away", fault);
    copy = copy_raw_header(source, raw, extension_size, fault);
    return copy != NULL && volume_read_header(source, copy->extension, copy->extension_size, fault) &&
           check_extensions(source, copy, false, fault);
}

/* Nobody knows beforehand how long a compressed header is. */
static bool read_rest(struct source *source, unsigned char **bytes, size_t *count, struct fault *fault)
{
    struct byte_stream *stream = ((struct volume *)source->state)->stream;
    size_t capacity = 0, got;

    do {
        unsigned char *larger = mem_grown(*bytes, *count, &capacity, 1, "a header", fault);
        if (larger == NULL)
            return false;
        *bytes = larger;
        if (!byte_stream_read(stream, larger + *count, capacity - *count, &got, fault))
            return false;
        *count += got;
        if (*count > EXTENSIONS_MOST)
            return refuse(source, "extension", "more than 16 MiB", fault);
    } while (got > 0);
    return true;
}

static bool keep_rest(struct source *source, const struct raw_header *raw, struct fault *fault)
{
    unsigned char *bytes = NULL;
    size_t count = 0;
    struct raw_header *copy =
        read_rest(source, &bytes, &count, fault) ? copy_raw_header(source, raw, count, fault) : NULL;

    if (copy != NULL)
        memcpy(copy->extension, bytes, count);
    mem_free(bytes);
    return copy != NULL && check_extensions(source, copy, false, fault);
}

static bool open_attached(struct source *source, const struct raw_header *raw, struct fault *fault)
{
    uint64_t offset;

    return read_offset(source, raw, raw->version->size + EXTENSION_FLAG, &offset, fault) &&
           keep(source, raw, offset - raw->version->size, fault);
}

static bool ends_with(const char *name, const char *ending)
{
    size_t length = strlen(name), own = strlen(ending);

    return length > own && strcasecmp(name + length - own, ending) == 0;
}

/* What of a header's name that of its samples begins with: all of it if it has another ending, which the file
   has that a link leads to. */
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
    const char *path = volume_header_path(source);

    return path + volume_folder_length(path);
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
        return refuse(source, "magic", "a header alone, whose name must end in .hdr to find its .img", fault);
    is_image(source, name, ends_with(name, ".gz"), image, size); /* the one that is missed */
    return true;
}

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

/* What follows the header is its extensions, if there are any. */
static bool open_detached(struct source *source, const struct raw_header *raw, struct fault *fault)
{
    struct volume *volume = source->state;
    uint64_t extension_size = 0;
    bool known = byte_stream_most(volume->stream, &extension_size) && byte_stream_is_plain(volume->stream);

    volume->coding.skipped_by = "vox_offset";
    return read_offset(source, raw, 0, &volume->coding.byte_skip, fault) &&
           (known ? keep(source, raw, extension_size, fault) : keep_rest(source, raw, fault)) &&
           add_image(source, fault);
}

/* CIFTI puts matrices behind its axes of space, which all are 1. */
static bool check_intent(const struct source *source, const struct raw_header *raw, struct fault *fault)
{
    int64_t code = whole(raw, raw->version->intent_code, raw->version->intent_width);

    return code < CIFTI_FIRST || code > CIFTI_LAST ||
           fault_raise_about(
               fault, STATUS_INPUT, file_in_name(source->file),
               "a CIFTI file, which is not read: wb_command -cifti-convert -to-nifti converts it");
}

static bool read_header(struct source *source, const struct source_request *request, struct fault *fault)
{
    struct raw_header raw = {.version = NULL};
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
    return has_magic(raw.version, raw.header, raw.version->attached) ? open_attached(source, &raw, fault)
                                                                     : open_detached(source, &raw, fault);
}

/* ---- what other formats do not keep ---- */

/* Fields that are 0 if they say nothing: in NIfTI-1 and in NIfTI-2. */
static const struct own_field {
    const char *name;
    struct own_place {
        unsigned at, size;
    } places[VERSIONS];
} own_fields[] = {
    {"dim_info", {{39, 1}, {524, 1}}},        {"intent_code", {{68, 2}, {504, 4}}},
    {"intent_name", {{328, 16}, {508, 16}}},  {"slice_code", {{122, 1}, {496, 4}}},
    {"slice_duration", {{132, 4}, {208, 8}}}, {"toffset", {{136, 4}, {216, 8}}},
    {"cal_max", {{124, 4}, {192, 8}}},        {"cal_min", {{128, 4}, {200, 8}}},
    {"descrip", {{148, 80}, {240, 80}}},      {"aux_file", {{228, 24}, {320, 24}}},
};
enum { OWN_FIELDS = sizeof own_fields / sizeof *own_fields };

static bool is_zero(const unsigned char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (bytes[i] != 0)
            return false;
    }
    return true;
}

static void tell_own_fields(const struct raw_header *raw, char *dropped, size_t size)
{
    for (size_t i = 0; i < OWN_FIELDS; i++) {
        const struct own_place *place = &own_fields[i].places[raw->version - versions];
        if (!is_zero(raw->header + place->at, place->size))
            dropped_fields_add(dropped, size, own_fields[i].name);
    }
    if (raw->extension_size > EXTENSION_FLAG && raw->extension[0] != 0)
        dropped_fields_add(dropped, size, "extensions");
}

/* The least and the greatest value to show. */
static void tell_shown_range(const struct raw_header *raw, char *dropped, size_t size)
{
    if (real(raw, raw->version->cal_max) != 0.0)
        dropped_fields_add(dropped, size, "cal_max");
    if (real(raw, raw->version->cal_min) != 0.0)
        dropped_fields_add(dropped, size, "cal_min");
}

/* How far a part of a rotation may be off because its numbers are rounded. That is most near half a turn,
   where a small rest was rounded, or taken for 0. */
static double rounding_of_turn(const struct raw_header *raw)
{
    return read_quaternion(raw).a < 0.01 ? 2e-3 : 5e-5;
}

/* Whether the transforms are the same, but for rounding and a thousandth of a sample. */
static bool is_same_place(const struct place *place, const struct place *other, double rounding)
{
    for (unsigned i = 0; i < 3; i++) {
        double length = length_of(place->vectors[i]);
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
static void tell_transform(const struct place *place, bool keeps, const char *name, char *dropped,
                           size_t size)
{
    char code[16];

    snprintf(code, sizeof code, "%s_code", name);
    if (place->code > 0 && !keeps)
        dropped_fields_add(dropped, size, name);
    else if (place->code > 0 && place->code != SCANNER)
        dropped_fields_add(dropped, size, code);
}

static void tell_transforms(const struct source *source, const struct format *sink,
                            const struct raw_header *raw, char *dropped, size_t size)
{
    unsigned axes = source->header.grid.axes;
    bool keeps_place = sink->holds_geometry && source->header.geometry.known;
    struct place mapped = read_sform(raw), turned = read_qform(raw);
    struct place place = read_place(raw, raw->spacing);
    double rounding = rounding_of_turn(raw);

    tell_transform(&mapped,
                   keeps_place ? is_same_place(&place, &mapped, rounding) : !tells_place(raw, mapped, axes),
                   "sform", dropped, size);
    tell_transform(&turned,
                   keeps_place ? is_same_place(&place, &turned, rounding) : !tells_place(raw, turned, axes),
                   "qform", dropped, size);
}

/* The distances between volumes. */
static void tell_steps(const struct raw_header *raw, char *dropped, size_t size)
{
    const struct version *version = raw->version;
    int64_t axes = whole(raw, version->dim, version->dim_width);
    double steps[DIMS_MOST + 1] = {0.0};

    for (unsigned i = 4; i <= axes; i++) {
        if (whole(raw, version->dim + i * version->dim_width, version->dim_width) > 1)
            steps[i] = real_at(raw, version->pixdim, i);
    }
    dropped_fields_add_distances(dropped, size, "pixdim", steps, 4, DIMS_MOST + 1);
}

static void list_dropped(const struct source *source, const struct format *sink, const struct header *written,
                         char *dropped, size_t size)
{
    const struct raw_header *raw = ((const struct volume *)source->state)->parsed;

    if (!intensity_is_plain(&source->header.intensity) &&
        (!sink->holds_intensity || written->values == VALUES_MAPPED)) {
        dropped_fields_add(dropped, size, "scl_slope");
        dropped_fields_add(dropped, size, "scl_inter");
    }
    if (sink->family == source->format->family) {
        if (written->values >= VALUES_DERIVED)
            tell_shown_range(raw, dropped, size);
        return;
    }
    if (source->header.alpha && sink->title != NULL && !format_tells_alpha(sink, &source->header))
        dropped_fields_add(dropped, size, "datatype");
    tell_transforms(source, sink, raw, dropped, size);
    if (units_code(raw) != 0 && source->header.millimetres == 0.0)
        dropped_fields_add(dropped, size, "xyzt_units");
    if (source->header.volumes > 1)
        tell_steps(raw, dropped, size);
    tell_own_fields(raw, dropped, size);
}

/* ---- writing ---- */

/* Of samples and channels as the sink has them, or NULL. */
static const struct datatype *datatype_of(const struct header *header)
{
    for (size_t i = 0; i < DATATYPES; i++) {
        if (datatypes[i].type == header->type && datatypes[i].channels == header->grid.channels)
            return &datatypes[i];
    }
    return NULL;
}

static void put_whole(struct raw_header *raw, unsigned at, unsigned width, uint64_t value)
{
    put_bits(raw->header + at, width, raw->endian, value);
}

static bool make_header(const struct sink *sink, struct raw_header *raw, struct fault *fault)
{
    const struct grid *grid = &sink->header.grid;
    const size_t volumes = sink->header.volumes;
    const uint64_t dims[DIMS_MOST + 1] = {
        volumes > 1 ? 4 : grid->axes, grid->nx, grid->ny, grid->nz, volumes, 1, 1, 1};
    const struct version *version = &versions[0];

    for (unsigned i = 1; i <= 4; i++) {
        if (dims[i] > version->extent_most)
            version = &versions[1];
    }
    for (unsigned i = 1; i <= 4; i++) {
        if (dims[i] > version->extent_most)
            return fault_raise_about(fault, STATUS_LIMIT, file_out_name(sink->file), "an extent of %llu",
                                     (unsigned long long)dims[i]);
    }
    raw->version = version;
    put_whole(raw, 0, 4, version->size);
    for (unsigned i = 0; i <= DIMS_MOST; i++) {
        put_whole(raw, version->dim + i * version->dim_width, version->dim_width, dims[i]);
        put_real(raw->header + version->pixdim + i * version->real, version->real, raw->endian, 1.0);
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
    for (const struct span *span = origin->version->spans; span->width > 0; span++) {
        for (unsigned i = 0; i < span->count; i++)
            swap_bytes(raw->header + span->at + i * span->width, span->width);
    }
}

/* Where --spacing has another distance than the header, its transform is scaled with it. */
static void put_spacing(const struct sink *sink, struct raw_header *raw)
{
    const struct version *version = raw->version;

    for (unsigned i = 0; i < sink->header.grid.axes; i++) {
        unsigned char *pixdim = raw->header + version->pixdim + (i + 1) * version->real;
        double before = fabs(get_real(pixdim, version->real, raw->endian)),
               now = sink->header.grid.spacing[i];
        if (before == now || (now == 1.0 && !(before > 0.0)))
            continue;
        put_real(pixdim, version->real, raw->endian, now);
        if (whole(raw, version->sform_code, version->sform_width) == 0 ||
            !(before > 0.0 && before < INFINITY))
            continue;
        for (unsigned row = 0; row < 3; row++) {
            unsigned char *entry = raw->header + version->srow + (4 * row + i) * version->real;
            put_real(entry, version->real, raw->endian,
                     get_real(entry, version->real, raw->endian) * (now / before));
        }
    }
}

/* Add to a number of the header, which is rounded once. */
static void move_real(struct raw_header *raw, unsigned at, unsigned index, double distance)
{
    put_real(raw->header + at + index * raw->version->real, raw->version->real, raw->endian,
             real_at(raw, at, index) + distance);
}

/* Both transforms keep where samples are in space. */
static void move_transforms(const struct sink *sink, struct raw_header *raw)
{
    const struct version *version = raw->version;
    bool turns = whole(raw, version->qform_code, version->sform_width) > 0,
         maps = whole(raw, version->sform_code, version->sform_width) > 0;
    double rotation[3][3];

    read_rotation(raw, rotation);
    for (unsigned row = 0; row < 3; row++) {
        double turned = 0.0, mapped = 0.0;
        for (unsigned i = 0; i < 3; i++) {
            double first = (double)sink->header.first[i];
            turned += rotation[row][i] * fabs(real_at(raw, version->pixdim, i + 1)) * first;
            mapped += real_at(raw, version->srow, 4 * row + i) * first;
        }
        if (turns)
            move_real(raw, version->qoffset, row, turned);
        if (maps)
            move_real(raw, version->srow, 4 * row + 3, mapped);
    }
}

/* The times at which slices were taken are told by their numbers, which are others now. */
static void forget_slices(struct raw_header *raw)
{
    const struct version *version = raw->version;

    put_whole(raw, version->slice_start, version->dim_width, 0);
    put_whole(raw, version->slice_end, version->dim_width, 0);
    put_whole(raw, version->slice_code, version->slice_code_width, 0);
}

/* One volume has three axes; the first axis of a series is time. */
static void put_choice(const struct header_choice *choice, struct raw_header *raw)
{
    const struct version *version = raw->version;
    unsigned first = 4;
    size_t times = (size_t)whole(raw, version->dim + first * version->dim_width, version->dim_width);

    move_real(raw, version->toffset, 0,
              (double)(choice->volume % times) * real_at(raw, version->pixdim, first));
    put_whole(raw, version->dim, version->dim_width, first - 1);
    for (unsigned i = first; i <= DIMS_MOST; i++)
        put_whole(raw, version->dim + i * version->dim_width, version->dim_width, 1);
}

static void put_region(const struct sink *sink, struct raw_header *raw)
{
    const struct version *version = raw->version;
    const size_t extents[3] = {sink->header.grid.nx, sink->header.grid.ny, sink->header.grid.nz};

    bool cut = false;

    for (unsigned i = 0; i < 3; i++) {
        unsigned at = version->dim + (i + 1) * version->dim_width;
        if (extents[i] == 1 && whole(raw, version->dim, version->dim_width) <= (int64_t)i)
            continue;
        cut = cut || whole(raw, at, version->dim_width) != (int64_t)extents[i];
        put_whole(raw, at, version->dim_width, extents[i]);
    }
    move_transforms(sink, raw);
    if (cut)
        forget_slices(raw);
    if (sink->header.choice.count > 0)
        put_choice(&sink->header.choice, raw);
}

/* In the coordinates of a scanner, which grow to the right, the front and the top. */
static void put_geometry(const struct sink *sink, const struct geometry *geometry, struct raw_header *raw)
{
    const struct version *version = raw->version;
    const double *signs = geometry_ras;

    put_whole(raw, version->sform_code, version->sform_width, SCANNER);
    for (unsigned row = 0; row < 3; row++) {
        unsigned char *entries = raw->header + version->srow + 4 * row * version->real;
        for (unsigned i = 0; i < 3; i++)
            put_real(entries + i * version->real, version->real, raw->endian,
                     signs[row] * geometry->direction[i][row] * sink->header.grid.spacing[i]);
        put_real(entries + 3 * version->real, version->real, raw->endian, signs[row] * geometry->origin[row]);
    }
}

static void put_pair(struct raw_header *raw, unsigned at, double first, unsigned beside, double second)
{
    put_real(raw->header + at, raw->version->real, raw->endian, first);
    put_real(raw->header + beside, raw->version->real, raw->endian, second);
}

/* What samples stand for, and which values to show. */
static void put_values(const struct header *header, struct raw_header *raw)
{
    const struct version *version = raw->version;
    const struct intensity *now = &header->intensity, before = read_intensity(raw, header->grid.channels);

    if (!intensity_is_same(now, &before))
        put_pair(raw, version->scl_slope, now->slope, version->scl_inter, now->intercept);
    if (header->values >= VALUES_DERIVED)
        put_pair(raw, version->cal_max, 0.0, version->cal_min, 0.0);
}

static void put_fields(const struct sink *sink, struct raw_header *raw, const struct datatype *datatype,
                       uint64_t offset)
{
    const struct version *version = raw->version;

    put_whole(raw, version->datatype, 2, (uint64_t)datatype->code);
    put_whole(raw, version->bitpix, 2, 8 * sample_size(datatype->type) * datatype->channels);
    put_spacing(sink, raw);
    if (version->whole_offset)
        put_whole(raw, version->vox_offset, 8, offset);
    else
        put_real(raw->header + version->vox_offset, version->real, raw->endian, (double)offset);
    put_values(&sink->header, raw);
    memcpy(raw->header + version->magic,
           sink->format->data_suffix != NULL ? version->detached : version->attached, version->magic_size);
}

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

static bool put_header(struct sink *sink, const struct sink_request *request, const struct raw_header *origin,
                       struct raw_header *raw, const struct datatype *datatype, struct fault *fault)
{
    size_t extension =
        origin == NULL || origin->extension_size < EXTENSION_FLAG ? EXTENSION_FLAG : origin->extension_size;
    struct geometry place;
    const struct geometry *geometry = volume_sink_geometry(sink, request, &place);
    uint64_t offset;

    if (origin != NULL)
        copy_header(origin, raw);
    else if (!make_header(sink, raw, fault))
        return false;
    if (origin == NULL && sink->header.millimetres > 0.0)
        put_whole(raw, raw->version->xyzt_units, raw->version->xyzt_units_width, unit_millimetre()->nifti);
    offset = sink->format->data_suffix != NULL ? 0 : raw->version->size + extension;
    put_fields(sink, raw, datatype, offset);
    if (origin != NULL && volume_sink_is_cropped(sink, request))
        put_region(sink, raw);
    if (geometry != NULL)
        put_geometry(sink, geometry, raw);
    return volume_sink_put(sink, raw->header, raw->version->size, fault) &&
           write_extensions(sink, origin, raw, fault);
}

/* A link leads readers to samples of its own name first, compressed or not. */
static bool check_link(const struct sink *sink, const char *samples, struct fault *fault)
{
    const char *path = file_out_name(sink->file);
    char image[IMAGE_NAME], compressed[IMAGE_NAME + sizeof ".gz"];

    if (!format_name_data(sink->format, path + volume_folder_length(path), false, image, sizeof image))
        return true;
    snprintf(compressed, sizeof compressed, "%s.gz", image);
    return volume_sink_check_link(sink, image, samples, fault) &&
           volume_sink_check_link(sink, compressed, samples, fault);
}

static bool begin_image(struct sink *sink, const struct sink_request *request, struct fault *fault)
{
    char name[IMAGE_NAME];

    return sink->format->data_suffix == NULL ||
           (volume_sink_name_data(sink, false, name, sizeof name, fault) && check_link(sink, name, fault) &&
            volume_sink_detach(sink, request, name, fault));
}

static bool write_header(struct sink *sink, const struct sink_request *request, struct fault *fault)
{
    const struct volume *origin = volume_sink_origin(sink, request);
    const struct datatype *datatype = datatype_of(&sink->header);
    struct raw_header raw = {.endian = sink->header.endian};

    if (datatype == NULL && sink->header.grid.channels > 1)
        return fault_raise_about(fault, STATUS_USAGE, file_out_name(sink->file),
                                 "NIfTI has no %u channels of %s, only 3 or 4 of u8",
                                 sink->header.grid.channels, sample_name(sink->header.type));
    if (datatype == NULL)
        return volume_sink_refuse_type(sink, fault);
    return (!sink->format->compressed || volume_sink_pack(sink, GZIP_WRITER_GZIP, fault)) &&
           put_header(sink, request, origin == NULL ? NULL : origin->parsed, &raw, datatype, fault) &&
           begin_image(sink, request, fault);
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
