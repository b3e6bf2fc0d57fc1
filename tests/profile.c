/* ICC profiles made for tests, of a recipe. */
#include "profile.h"

#include "assertions.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

enum { HEADER_BYTES = 128, ENTRY_BYTES = 12 };

static const double srgb_xyz[3][3] = {
    {0.43607, 0.22249, 0.01392}, {0.38515, 0.71687, 0.09708}, {0.14307, 0.06061, 0.71410}};
static const double adobe_xyz[3][3] = {
    {0.60974, 0.31111, 0.01947}, {0.20528, 0.62567, 0.06087}, {0.14919, 0.06322, 0.74457}};
static const double adaptation[9] = {1.04791,  0.02293,  -0.0502, 0.0296, 0.99046,
                                     -0.01707, -0.00925, 0.01506, 0.75179};

const struct profile_recipe profile_srgb_v2 = {
    .version = 2, .curve = PROFILE_TABLE, .entries = 1024, .white = {0.9505, 1.0, 1.0891}};
const struct profile_recipe profile_srgb_v4 = {.version = 4, .curve = PROFILE_PARAMETERS, .adapted = true};
const struct profile_recipe profile_gray = {
    .version = 2, .gray = true, .curve = PROFILE_TABLE, .entries = 256};
const struct profile_recipe profile_adobe = {.version = 2,
                                             .curve = PROFILE_GAMMA,
                                             .gamma = 2.19921875,
                                             .xyz = adobe_xyz,
                                             .white = {0.9505, 1.0, 1.0891}};

struct maker {
    unsigned char *bytes;
    size_t size, tags, tags_most;
};

static void put16(struct maker *maker, unsigned value)
{
    maker->bytes[maker->size++] = (unsigned char)(value >> 8);
    maker->bytes[maker->size++] = (unsigned char)value;
}

static void put32(struct maker *maker, uint32_t value)
{
    put16(maker, value >> 16);
    put16(maker, value & 0xffff);
}

static void put_fixed(struct maker *maker, const double *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        put32(maker, (uint32_t)(int32_t)lround(values[i] * 65536.0));
}

static void put_text(struct maker *maker, const char *text)
{
    memcpy(maker->bytes + maker->size, text, 4);
    maker->size += 4;
}

static void put32_at(struct maker *maker, size_t at, uint32_t value)
{
    struct maker there = {.bytes = maker->bytes, .size = at};
    put32(&there, value);
}

/* What follows, up to the next tag, is its data. */
static void begin_tag(struct maker *maker, const char *tag, const char *type)
{
    size_t entry = HEADER_BYTES + 4 + maker->tags++ * ENTRY_BYTES;
    ck_assert_uint_le(maker->tags, maker->tags_most);
    memcpy(maker->bytes + entry, tag, 4);
    put32_at(maker, entry + 4, (uint32_t)maker->size);
    put_text(maker, type);
    put32(maker, 0);
}

static void end_tag(struct maker *maker)
{
    size_t entry = HEADER_BYTES + 4 + (maker->tags - 1) * ENTRY_BYTES;
    size_t offset = (size_t)maker->bytes[entry + 6] << 8 | maker->bytes[entry + 7];
    put32_at(maker, entry + 8, (uint32_t)(maker->size - offset));
}

static double srgb(double code)
{
    return code <= 0.04045 ? code / 12.92 : pow((code + 0.055) / 1.055, 2.4);
}

static void put_curve(struct maker *maker, const char *tag, const struct profile_recipe *recipe)
{
    static const double parameters[] = {2.4, 1 / 1.055, 0.055 / 1.055, 1 / 12.92, 0.04045};
    begin_tag(maker, tag, recipe->curve == PROFILE_PARAMETERS ? "para" : "curv");
    switch (recipe->curve) {
    case PROFILE_PARAMETERS:
        put32(maker, 3 << 16);
        put_fixed(maker, parameters, 5);
        break;
    case PROFILE_TABLE:
        put32(maker, (uint32_t)recipe->entries);
        for (size_t i = 0; i < recipe->entries; i++)
            put16(maker, (unsigned)lround(65535.0 * srgb((double)i / (double)(recipe->entries - 1))));
        break;
    case PROFILE_GAMMA:
        put32(maker, 1);
        put16(maker, (unsigned)lround(recipe->gamma * 256));
        put16(maker, 0);
        break;
    case PROFILE_IDENTITY:
        put32(maker, 0);
    }
    end_tag(maker);
}

static void put_numbers(struct maker *maker, const char *tag, const char *type, const double *values,
                        size_t count)
{
    begin_tag(maker, tag, type);
    put_fixed(maker, values, count);
    end_tag(maker);
}

static void put_colours(struct maker *maker, const struct profile_recipe *recipe)
{
    static const char *const columns[] = {"rXYZ", "gXYZ", "bXYZ"}, *const curves[] = {"rTRC", "gTRC", "bTRC"};
    const double(*xyz)[3] = recipe->xyz != NULL ? recipe->xyz : srgb_xyz;
    if (recipe->gray) {
        put_curve(maker, "kTRC", recipe);
        return;
    }
    for (size_t i = 0; i < 3; i++) {
        put_numbers(maker, columns[i], "XYZ ", xyz[i], 3);
        put_curve(maker, curves[i], recipe);
    }
}

static void put_header(struct maker *maker, const struct profile_recipe *recipe, const double *d50)
{
    maker->bytes[8] = (unsigned char)recipe->version;
    maker->size = 12;
    put_text(maker, recipe->profile_class != NULL ? recipe->profile_class : "mntr");
    put_text(maker, recipe->gray ? "GRAY" : "RGB ");
    put_text(maker, recipe->connection != NULL ? recipe->connection : "XYZ ");
    maker->size = 36;
    put_text(maker, "acsp");
    maker->size = 68;
    put_fixed(maker, d50, 3);
    maker->size = HEADER_BYTES;
    put32(maker, (uint32_t)maker->tags_most);
}

size_t profile_make(const struct profile_recipe *recipe, unsigned char *bytes)
{
    static const double d50[] = {0.9642, 1.0, 0.8249};
    size_t tags =
        1 + (recipe->gray ? 1U : 6U) + (recipe->adapted ? 1U : 0U) + (recipe->other_tag != NULL ? 1U : 0U);
    struct maker maker = {.bytes = bytes, .tags_most = tags};
    memset(bytes, 0, PROFILE_ROOM);
    put_header(&maker, recipe, d50);
    maker.size += tags * ENTRY_BYTES;
    put_numbers(&maker, "wtpt", "XYZ ", recipe->white[1] > 0.0 ? recipe->white : d50, 3);
    put_colours(&maker, recipe);
    if (recipe->adapted)
        put_numbers(&maker, "chad", "sf32", adaptation, 9);
    if (recipe->other_tag != NULL)
        put_numbers(&maker, recipe->other_tag, "XYZ ", d50, 3);
    put32_at(&maker, 0, (uint32_t)maker.size);
    ck_assert_uint_le(maker.size, PROFILE_ROOM);
    return maker.size;
}
