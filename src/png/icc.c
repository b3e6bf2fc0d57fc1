/* Colour profiles of the ICC: whether one says what sRGB says, by its curves and primaries, whatever its
 * name. */
#include "icc.h"

#include "base/mem.h"

#include <math.h>
#include <stdint.h>
#include <string.h>
#include <zlib.h>

/* Where things stand in the header, in the table of tags, and in the data of a tag. A profile is a header of
   128 bytes, a table of tags (a signature, an offset and a size each), and the data of the tags. Numbers have
   the high byte first. */
enum {
    HEADER_BYTES = 128,
    VERSION_AT = 8,
    CLASS_AT = 12,
    SPACE_AT = 16,
    CONNECTION_AT = 20,
    SIGNATURE_AT = 36,
    ILLUMINANT_AT = 68,
    COUNT_BYTES = 4,
    ENTRY_BYTES = 12,
    DATA_AT = 8,
    COUNT_AT = 8,
    TABLE_AT = 12,
    PARAMETERS_AT = 12
};

/* A profile of curves and primaries alone takes some kilobytes and a dozen tags. */
enum { SIZE_BYTES = 4, PROFILE_BYTES_MOST = 64 << 10, METHOD_DEFLATE = 0 };
enum { TAGS_MOST = 100, FIXED_BYTES = 4, AXES = 3, CODES = 256 };

/* Profiles round the published numbers in their own ways; other spaces in use differ by more than this. */
#define TOLERANCE  0.002
#define HALF_CODE  (0.5 / (CODES - 1))
/* An s15Fixed16Number, the gamma of a curve of one entry (u8Fixed8Number), and an entry of a longer table. */
#define FIXED_UNIT 65536.0
#define GAMMA_UNIT 256.0
#define TABLE_UNIT 65535.0

struct span {
    const unsigned char *bytes;
    size_t size;
};

static const double d50[] = {0.9642, 1.0, 0.8249}, d65[] = {0.9505, 1.0, 1.0891};

/* As seen under D50, adapted by Bradford's matrix. */
static const struct primary {
    const char *tag;
    double xyz[AXES];
} primaries[] = {
    {"rXYZ", {0.4361, 0.2225, 0.0139}},
    {"gXYZ", {0.3851, 0.7169, 0.0971}},
    {"bXYZ", {0.1431, 0.0606, 0.7141}},
};
/* The matrix that "chad" holds in such a profile, row by row: what adapted the white from D65 to D50. */
static const double from_d65_to_d50[] = {1.0479,  0.0229,  -0.0502, 0.0296, 0.9904,
                                         -0.0171, -0.0092, 0.0151,  0.7517};

/* ---- bytes ---- */

static uint32_t get16(const unsigned char *from)
{
    return (uint32_t)from[0] << 8 | from[1];
}

static uint32_t get32(const unsigned char *from)
{
    return get16(from) << 16 | get16(from + 2);
}

static double get_fixed(const unsigned char *from)
{
    return (double)(int32_t)get32(from) / FIXED_UNIT;
}

static bool says(const unsigned char *bytes, const char *signature)
{
    return memcmp(bytes, signature, 4) == 0;
}

static bool near_all(const unsigned char *fixed, const double *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (fabs(get_fixed(fixed + i * FIXED_BYTES) - values[i]) > TOLERANCE)
            return false;
    return true;
}

/* ---- tags ---- */

static const unsigned char *entry_of(const struct span *profile, size_t number)
{
    return profile->bytes + HEADER_BYTES + COUNT_BYTES + number * ENTRY_BYTES;
}

static size_t tag_count(const struct span *profile)
{
    return get32(profile->bytes + HEADER_BYTES);
}

/* Tags may share their data, but each signature stands once, and no data lies in the header or the table. */
static bool entry_is_sound(const struct span *profile, size_t number)
{
    const unsigned char *entry = entry_of(profile, number);
    size_t offset = get32(entry + 4), size = get32(entry + 8);
    size_t least = HEADER_BYTES + COUNT_BYTES + tag_count(profile) * ENTRY_BYTES;
    if (offset < least || offset > profile->size || size > profile->size - offset)
        return false;
    for (size_t other = 0; other < number; other++)
        if (memcmp(entry, entry_of(profile, other), 4) == 0)
            return false;
    return true;
}

static bool tags_are_sound(const struct span *profile)
{
    size_t count = tag_count(profile);
    if (count > TAGS_MOST || profile->size < HEADER_BYTES + COUNT_BYTES + count * ENTRY_BYTES)
        return false;
    for (size_t i = 0; i < count; i++)
        if (!entry_is_sound(profile, i))
            return false;
    return true;
}

/* The data of a tag, if it is there. */
static bool find(const struct span *profile, const char *tag, struct span *data)
{
    for (size_t i = 0; i < tag_count(profile); i++) {
        const unsigned char *entry = entry_of(profile, i);
        if (says(entry, tag)) {
            *data = (struct span){profile->bytes + get32(entry + 4), get32(entry + 8)};
            return true;
        }
    }
    return false;
}

/* A tag of numbers, of that type and at least this many of them. */
static bool find_fixed(const struct span *profile, const char *tag, const char *type, size_t count,
                       struct span *data)
{
    return find(profile, tag, data) && data->size >= DATA_AT + count * FIXED_BYTES && says(data->bytes, type);
}

/* ---- curves ---- */

/* The curve of IEC 61966-2-1. */
static double srgb(double code)
{
    return code <= 0.04045 ? code / 12.92 : pow((code + 0.055) / 1.055, 2.4);
}

/* Between two entries of the table the curve is a straight line. */
static double table_value(const unsigned char *table, size_t count, double code)
{
    double place = code * (double)(count - 1);
    size_t below = (size_t)place < count - 1 ? (size_t)place : count - 2;
    double low = get16(table + 2 * below), high = get16(table + 2 * (below + 1));
    return (low + (high - low) * (place - (double)below)) / TABLE_UNIT;
}

/* No entry means that codes are linear; a single one is an exponent; more are the curve itself. */
static double table_decode(const struct span *data, double code)
{
    size_t count = get32(data->bytes + COUNT_AT);
    const unsigned char *table = data->bytes + TABLE_AT;
    if (count == 0)
        return code;
    return count == 1 ? pow(code, get16(table) / GAMMA_UNIT) : table_value(table, count, code);
}

/* Y = (a X + b)^g + e from where it begins, c X + f below. */
struct parameters {
    double g, a, b, c, d, e, f;
};

/* Numbers that each type of parametric curve has in the file. All types but the last leave out some of the
   seven. In types 1 and 2 the curve begins where a X + b becomes 0. */
static const size_t parameter_counts[] = {1, 3, 4, 5, 7};
enum { PARAMETRIC_TYPES = sizeof parameter_counts / sizeof parameter_counts[0] };

static bool parameters_are_sound(const struct span *data)
{
    if (data->size < PARAMETERS_AT)
        return false;
    size_t type = get16(data->bytes + DATA_AT);
    return type < PARAMETRIC_TYPES && data->size >= PARAMETERS_AT + parameter_counts[type] * FIXED_BYTES;
}

static struct parameters read_parameters(const struct span *data)
{
    size_t type = get16(data->bytes + DATA_AT);
    double v[7] = {0};
    for (size_t i = 0; i < parameter_counts[type]; i++)
        v[i] = get_fixed(data->bytes + PARAMETERS_AT + i * FIXED_BYTES);
    switch (type) {
    case 0:
        return (struct parameters){.g = v[0], .a = 1.0};
    case 1:
        return (struct parameters){.g = v[0], .a = v[1], .b = v[2], .d = -v[2] / v[1]};
    case 2:
        return (struct parameters){.g = v[0], .a = v[1], .b = v[2], .d = -v[2] / v[1], .e = v[3], .f = v[3]};
    case 3:
        return (struct parameters){.g = v[0], .a = v[1], .b = v[2], .c = v[3], .d = v[4]};
    default:
        return (struct parameters){v[0], v[1], v[2], v[3], v[4], v[5], v[6]};
    }
}

static double parametric_decode(const struct span *data, double code)
{
    struct parameters p = read_parameters(data);
    return code >= p.d ? pow(p.a * code + p.b, p.g) + p.e : p.c * code + p.f;
}

/* A NaN is near nothing. */
static bool decodes_as_srgb(const struct span *data, double (*decode)(const struct span *data, double code))
{
    for (int i = 0; i < CODES; i++) {
        double code = (double)i / (CODES - 1), linear = decode(data, code);
        if (!(linear >= srgb(code - HALF_CODE) && linear <= srgb(code + HALF_CODE)))
            return false;
    }
    return true;
}

static bool curve_is_srgb(const struct span *profile, const char *tag)
{
    struct span data;
    if (!find(profile, tag, &data) || data.size < DATA_AT)
        return false;
    if (says(data.bytes, "curv"))
        return data.size >= TABLE_AT && get32(data.bytes + COUNT_AT) <= (data.size - TABLE_AT) / 2 &&
               decodes_as_srgb(&data, table_decode);
    return says(data.bytes, "para") && parameters_are_sound(&data) &&
           decodes_as_srgb(&data, parametric_decode);
}

/* ---- the whole ---- */

/* For displays, from the right space to XYZ under D50: other classes mean other things by the same tags. */
static bool header_fits(const struct span *profile, enum icc_space space)
{
    const unsigned char *header = profile->bytes;
    return get32(header) == profile->size && (header[VERSION_AT] == 2 || header[VERSION_AT] == 4) &&
           says(header + CLASS_AT, "mntr") && says(header + SPACE_AT, space == ICC_GRAY ? "GRAY" : "RGB ") &&
           says(header + CONNECTION_AT, "XYZ ") && says(header + SIGNATURE_AT, "acsp") &&
           near_all(header + ILLUMINANT_AT, d50, AXES);
}

/* Tables that would stand for curves and primaries. */
static bool has_tables(const struct span *profile)
{
    static const char *const tags[] = {"A2B0", "A2B1", "A2B2", "D2B0", "D2B1", "D2B2", "D2B3"};
    struct span data;
    for (size_t i = 0; i < sizeof tags / sizeof tags[0]; i++)
        if (find(profile, tags[i], &data))
            return true;
    return false;
}

/* The white is D65, in words of version 2, or D50, to which that has been adapted. */
static bool white_is_srgb(const struct span *profile)
{
    struct span white, adaptation;
    if (!find_fixed(profile, "wtpt", "XYZ ", AXES, &white))
        return false;
    if (!near_all(white.bytes + DATA_AT, d50, AXES) && !near_all(white.bytes + DATA_AT, d65, AXES))
        return false;
    if (!find(profile, "chad", &adaptation))
        return true;
    return find_fixed(profile, "chad", "sf32", AXES * AXES, &adaptation) &&
           near_all(adaptation.bytes + DATA_AT, from_d65_to_d50, AXES * AXES);
}

static bool colours_are_srgb(const struct span *profile)
{
    struct span data;
    for (size_t i = 0; i < AXES; i++)
        if (!find_fixed(profile, primaries[i].tag, "XYZ ", AXES, &data) ||
            !near_all(data.bytes + DATA_AT, primaries[i].xyz, AXES))
            return false;
    return curve_is_srgb(profile, "rTRC") && curve_is_srgb(profile, "gTRC") && curve_is_srgb(profile, "bTRC");
}

bool icc_is_srgb(const unsigned char *bytes, size_t size, enum icc_space space)
{
    const struct span profile = {bytes, size};
    if (size < HEADER_BYTES + COUNT_BYTES || !header_fits(&profile, space) || !tags_are_sound(&profile))
        return false;
    if (has_tables(&profile) || !white_is_srgb(&profile))
        return false;
    return space == ICC_GRAY ? curve_is_srgb(&profile, "kTRC") : colours_are_srgb(&profile);
}

/* ---- the chunk iCCP: a name, then the profile, deflated ---- */

/* Inflate `size` bytes; true if there are as many, and if the stream ends with the last part and not before.
 */
static bool inflate_part(z_stream *zlib, unsigned char *to, size_t size, bool last)
{
    zlib->next_out = to;
    zlib->avail_out = (uInt)size;
    int outcome = inflate(zlib, last ? Z_FINISH : Z_SYNC_FLUSH);
    return zlib->avail_out == 0 && (last ? outcome == Z_STREAM_END && zlib->avail_in == 0 : outcome == Z_OK);
}

/* The first field of a profile is its size, by which room for it is taken. The fault is not passed on: for
   want of memory, a profile counts as none. */
static unsigned char *inflate_profile(z_stream *zlib, size_t most, size_t *size)
{
    unsigned char head[SIZE_BYTES], *profile;
    struct fault fault;

    if (!inflate_part(zlib, head, sizeof head, false))
        return NULL;
    *size = get32(head);
    if (*size <= sizeof head || *size > most)
        return NULL;
    profile = mem_alloc(*size, 1, "a colour profile", &fault);
    if (profile == NULL)
        return NULL;
    memcpy(profile, head, sizeof head);
    if (inflate_part(zlib, profile + sizeof head, *size - sizeof head, true))
        return profile;
    mem_free(profile);
    return NULL;
}

unsigned char *icc_chunk_inflate(const struct png_chunk *chunk, size_t most, size_t *size)
{
    const unsigned char *name_end = memchr(chunk->bytes, 0, chunk->size), *end = chunk->bytes + chunk->size;
    unsigned char *profile;

    if (name_end == NULL || end - name_end < 2 || name_end[1] != METHOD_DEFLATE)
        return NULL;
    z_stream zlib = {.next_in = (z_const Bytef *)name_end + 2, .avail_in = (uInt)(end - name_end - 2)};
    if (inflateInit(&zlib) != Z_OK)
        return NULL;
    profile = inflate_profile(&zlib, most, size);
    inflateEnd(&zlib);
    return profile;
}

bool icc_chunk_is_srgb(const struct png_chunk *chunk, enum icc_space space)
{
    size_t size;
    unsigned char *profile = icc_chunk_inflate(chunk, PROFILE_BYTES_MOST, &size);
    bool is = profile != NULL && icc_is_srgb(profile, size, space);

    mem_free(profile);
    return is;
}
