/* Sample types: what a file stores, and the work type that arithmetic uses. */
#include "sample.h"

#include "base/suggest.h"

#include <float.h>
#include <math.h>
#include <string.h>

static const struct {
    const char *name;
    size_t size;
    double max; /* 0: not an integer */
    enum work_type work;
} sample_table[SAMPLE_TYPES] = {
    [SAMPLE_U8] = {"u8", 1, 255.0, WORK_F32},          [SAMPLE_I8] = {"i8", 1, 127.0, WORK_F32},
    [SAMPLE_U16] = {"u16", 2, 65535.0, WORK_F32},      [SAMPLE_I16] = {"i16", 2, 32767.0, WORK_F32},
    [SAMPLE_U32] = {"u32", 4, 4294967295.0, WORK_F64}, [SAMPLE_I32] = {"i32", 4, 2147483647.0, WORK_F64},
    [SAMPLE_F32] = {"f32", 4, 0.0, WORK_F32},          [SAMPLE_F64] = {"f64", 8, 0.0, WORK_F64},
};

/* What languages and libraries call them. */
static const struct alias sample_aliases[] = {
    {"byte", "u8"},     {"char", "i8"},    {"double", "f64"}, {"float", "f32"},  {"float32", "f32"},
    {"float64", "f64"}, {"int", "i32"},    {"int16", "i16"},  {"int32", "i32"},  {"int8", "i8"},
    {"real", "f32"},    {"schar", "i8"},   {"short", "i16"},  {"single", "f32"}, {"uchar", "u8"},
    {"uint", "u32"},    {"uint16", "u16"}, {"uint32", "u32"}, {"uint8", "u8"},   {"ushort", "u16"},
    {"s8", "i8"},       {"s16", "i16"},    {"s32", "i32"},    {NULL, NULL},
};

size_t sample_size(enum sample_type type)
{
    return sample_table[type].size;
}

const char *sample_name(enum sample_type type)
{
    return sample_table[type].name;
}

bool sample_parse(const char *name, enum sample_type *type)
{
    for (int i = 0; i < SAMPLE_TYPES; i++) {
        if (strcmp(name, sample_table[i].name) == 0) {
            *type = (enum sample_type)i;
            return true;
        }
    }
    return false;
}

const char *sample_meant(const char *word)
{
    struct suggestion suggestion = suggest_for(word, strlen(word));

    for (int i = 0; i < SAMPLE_TYPES; i++)
        suggest_name(&suggestion, sample_table[i].name);
    suggest_aliases(&suggestion, sample_aliases);
    return suggestion.meant;
}

bool sample_is_integer(enum sample_type type)
{
    return sample_table[type].max > 0.0;
}

double sample_max(enum sample_type type)
{
    return sample_table[type].max;
}

double sample_min(enum sample_type type)
{
    switch (type) {
    case SAMPLE_I8:
    case SAMPLE_I16:
    case SAMPLE_I32:
        return -1.0 - sample_table[type].max;
    default:
        return 0.0;
    }
}

/* The value of the work type that is nearest to a double on the side of zero. */
static double work_truncate(enum work_type work, double value)
{
    float nearest = (float)value;

    if (work == WORK_F64)
        return value;
    return (double)(fabs((double)nearest) > fabs(value) ? nextafterf(nearest, 0.0f) : nearest);
}

/* The end of floats from which on a double is rounded to an infinite one. */
#define F32_END 0x1.ffffffp127

/* A greatest integer is odd, so that half a unit above it rounds up; the least is even. */
struct sample_limits sample_limits(enum sample_type type, enum work_type work)
{
    double high = type == SAMPLE_F64   ? DBL_MAX
                  : type == SAMPLE_F32 ? nextafter(F32_END, 0.0)
                                       : nextafter(sample_max(type) + 0.5, 0.0);
    double low = sample_is_integer(type) ? sample_min(type) - 0.5 : -high;

    return (struct sample_limits){work_truncate(work, low), work_truncate(work, high)};
}

enum work_type sample_work_type(enum sample_type type)
{
    return sample_table[type].work;
}

void sample_swap(enum sample_type type, void *samples, size_t count)
{
    unsigned char *bytes = samples;
    size_t size = sample_size(type);

    for (size_t i = 0; i < count; i++, bytes += size) {
        for (size_t k = 0; k < size / 2; k++) {
            unsigned char byte = bytes[k];
            bytes[k] = bytes[size - 1 - k];
            bytes[size - 1 - k] = byte;
        }
    }
}

size_t work_size(enum work_type work)
{
    return work == WORK_F32 ? sizeof(float) : sizeof(double);
}

const char *work_name(enum work_type work)
{
    return work == WORK_F32 ? "f32" : "f64";
}

bool work_parse(const char *name, enum work_type *work)
{
    if (strcmp(name, "f32") != 0 && strcmp(name, "f64") != 0)
        return false;
    *work = strcmp(name, "f32") == 0 ? WORK_F32 : WORK_F64;
    return true;
}

const char *work_meant(const char *word)
{
    const char *meant = sample_meant(word);
    enum work_type work;

    return meant != NULL && work_parse(meant, &work) ? meant : NULL;
}

double work_round(enum work_type work, double value)
{
    return work == WORK_F32 ? (double)(float)value : value;
}
