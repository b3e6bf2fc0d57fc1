/* Sample types: the types of samples in files, the work type that arithmetic uses, and the values that
   headers give to stored samples. Sizes, limits and names all come from samples.def. */
#include "sample.h"

#include "arith.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* The rows of samples.def, by the place of the type; those of floats also have the layout of their bits. */
static const struct {
    size_t size;
    double min, max; /* 0: not an integer */
    enum work_type work;
    int fraction, bias; /* of the layout; 0: an integer */
} sample_table[SAMPLE_TYPES] = {
#define SAMPLE(constant, name, stored, bits, least, greatest, work, others)                                  \
    [SAMPLE_##constant] = {bits / 8, least, greatest, work, 0, 0},
#define FLOAT_SAMPLE(constant, name, stored, bits, least, greatest, work, others)                            \
    [SAMPLE_##constant] = {bits / 8, least, greatest, work, ARITH_FRACTION_##constant, ARITH_BIAS_##constant},
#include "samples.def"
};

const struct keyword sample_keywords[] = {
#define SAMPLE(constant, name, stored, bits, least, greatest, work, others) {#name, "", others},
#include "samples.def"
    {NULL, NULL, NULL},
};

const struct keyword work_keywords[] = {
#define SAMPLE(constant, name, stored, bits, least, greatest, work, others)
#define WORK_SAMPLE(constant, name, stored, bits, least, greatest, work, others) {#name, "", others},
#include "samples.def"
    {NULL, NULL, NULL},
};

static const enum sample_type work_samples[WORK_TYPES] = {
#define SAMPLE(constant, name, stored, bits, least, greatest, work, others)
#define WORK_SAMPLE(constant, name, stored, bits, least, greatest, work, others) SAMPLE_##constant,
#include "samples.def"
};

size_t sample_size(enum sample_type type)
{
    return sample_table[type].size;
}

const char *sample_name(enum sample_type type)
{
    return sample_keywords[type].word;
}

bool sample_parse(const char *name, enum sample_type *type)
{
    const char *argument;
    int place;

    if (!keyword_find(sample_keywords, name, &place, &argument))
        return false;
    *type = (enum sample_type)place;
    return true;
}

bool sample_is_integer(enum sample_type type)
{
    return sample_table[type].max > 0.0;
}

double sample_max(enum sample_type type)
{
    return sample_table[type].max;
}

double sample_opaque(enum sample_type type)
{
    return sample_is_integer(type) ? sample_max(type) : 1.0;
}

double sample_min(enum sample_type type)
{
    return sample_table[type].min;
}

/* The value of the work type that is nearest to a double on the side of zero. */
static double work_truncate(enum work_type work, double value)
{
    float nearest = (float)value;

    if (work == WORK_F64)
        return value;
    return (double)(fabs((double)nearest) > fabs(value) ? nextafterf(nearest, 0.0f) : nearest);
}

/* The last double that is stored as the greatest integer. One below 2^53 is odd, so that half a unit above it
   rounds up; beyond, doubles are whole, and the one next to the greatest integer is it but for rounding. */
static double highest_stored(double greatest)
{
    return greatest + 0.5 > greatest ? nextafter(greatest + 0.5, 0.0) : greatest;
}

/* The last double that is not rounded to an infinite float, which is half a unit past the greatest. */
static double highest_rounded(int fraction, int bias)
{
    return nextafter(ldexp(2.0 - ldexp(1.0, -1 - fraction), bias), 0.0);
}

struct sample_limits sample_limits(enum sample_type type, enum work_type work)
{
    /* Half a unit beyond an end still rounds to it. */
    double high = sample_is_integer(type)
                      ? highest_stored(sample_max(type))
                      : highest_rounded(sample_table[type].fraction, sample_table[type].bias);
    double low = sample_is_integer(type) ? sample_min(type) - 0.5 : -high;

    return (struct sample_limits){work_truncate(work, low), work_truncate(work, high)};
}

enum work_type sample_work_type(enum sample_type type)
{
    return sample_table[type].work;
}

enum endian endian_native(void)
{
    const uint16_t one = 1;
    unsigned char first;

    memcpy(&first, &one, 1);
    return first == 1 ? ENDIAN_LITTLE : ENDIAN_BIG;
}

uint64_t endian_get(enum endian endian, const unsigned char *bytes, size_t size)
{
    uint64_t number = 0;

    for (size_t i = 0; i < size; i++)
        number = number << 8 | bytes[endian == ENDIAN_BIG ? i : size - 1 - i];
    return number;
}

void endian_put(enum endian endian, unsigned char *bytes, size_t size, uint64_t number)
{
    for (size_t i = 0; i < size; i++)
        bytes[endian == ENDIAN_LITTLE ? i : size - 1 - i] = (unsigned char)(number >> (8 * i));
}

void sample_swap(enum sample_type type, void *samples, size_t count)
{
    unsigned char *bytes = samples;

    switch (sample_size(type)) {
#define SWAP(bits)                                                                                           \
    case (bits) / 8:                                                                                         \
        for (size_t i = 0; i < count; i++, bytes += (bits) / 8) {                                            \
            uint##bits##_t word;                                                                             \
            memcpy(&word, bytes, sizeof word);                                                               \
            word = __builtin_bswap##bits(word);                                                              \
            memcpy(bytes, &word, sizeof word);                                                               \
        }                                                                                                    \
        break;
        SWAP(16)
        SWAP(32)
        SWAP(64)
#undef SWAP
    }
}

/* Each loop has its size as a constant, so that no sample takes a call. */
void sample_move(size_t size, void *to, size_t to_stride, const void *from, size_t from_stride, size_t count)
{
    const unsigned char *source = from;
    unsigned char *target = to;

    switch (to_stride == 1 && from_stride == 1 ? 0 : size) {
    case 0:
        memcpy(to, from, count * size);
        break;
#define MOVE(bytes)                                                                                          \
    case bytes:                                                                                              \
        for (size_t i = 0; i < count; i++)                                                                   \
            memcpy(target + i * to_stride * (bytes), source + i * from_stride * (bytes), bytes);             \
        break;
        MOVE(1)
        MOVE(2)
        MOVE(4)
        MOVE(8)
#undef MOVE
    }
}

/* A case for each row of samples.def, which loads the stored type and widens it. */
double sample_number(enum sample_type type, bool swapped, const void *sample)
{
    switch (type) {
#define SAMPLE(constant, name, stored, bits, least, greatest, work, others)                                  \
    case SAMPLE_##constant: {                                                                                \
        stored value;                                                                                        \
        memcpy(&value, sample, sizeof value);                                                                \
        if (swapped)                                                                                         \
            sample_swap(type, &value, 1);                                                                    \
        return arith_load_##name##_f64(value);                                                               \
    }
#include "samples.def"
    case SAMPLE_TYPES:
        break;
    }
    return NAN;
}

size_t work_size(enum work_type work)
{
    return sample_size(work_samples[work]);
}

const char *work_name(enum work_type work)
{
    return work_keywords[work].word;
}

enum sample_type work_sample(enum work_type work)
{
    return work_samples[work];
}

void sample_tell_range(char *text, size_t size, double low, double high, double least, double greatest,
                       bool integers)
{
    if (isnan(low))
        snprintf(text, size, "no value is finite; -inf became %.10g, inf %.10g, and NaN %s", least, greatest,
                 integers ? "0" : "stayed NaN");
    else if (low == high)
        snprintf(text, size, "%.9g, the only value, became %.10g", low, least);
    else
        snprintf(text, size, "%.9g to %.9g became %.10g to %.10g", low, high, least, greatest);
}

double work_round(enum work_type work, double value)
{
    return work == WORK_F32 ? (double)(float)value : value;
}

bool intensity_is_plain(const struct intensity *intensity)
{
    return intensity->slope == 0.0 || (intensity->slope == 1.0 && intensity->intercept == 0.0);
}

bool intensity_is_same(const struct intensity *intensity, const struct intensity *other)
{
    return intensity->slope == other->slope && intensity->intercept == other->intercept;
}

double intensity_value(const struct intensity *intensity, double sample)
{
    return intensity_is_plain(intensity) ? sample : intensity->slope * sample + intensity->intercept;
}

double intensity_sample(const struct intensity *intensity, double value)
{
    return intensity_is_plain(intensity) ? value : (value - intensity->intercept) / intensity->slope;
}

double intensity_unit(const struct intensity *intensity)
{
    return intensity_is_plain(intensity) ? 1.0 : fabs(intensity->slope);
}
