/* Runs of samples of a file as values of the unit's work type, and back. There is a function for each sample
   type (model/samples.def); all take every `stride`-th sample, since files interleave channels, and in either
   byte order. */

static uint8_t swap_bits_8(uint8_t bits)
{
    return bits;
}

static uint16_t swap_bits_16(uint16_t bits)
{
    return __builtin_bswap16(bits);
}

static uint32_t swap_bits_32(uint32_t bits)
{
    return __builtin_bswap32(bits);
}

static uint64_t swap_bits_64(uint64_t bits)
{
    return __builtin_bswap64(bits);
}

#define HALF_SAMPLE(...)
#define SAMPLE(constant, type, stored, bits, ...)                                                            \
    static stored swap_##type(stored value)                                                                  \
    {                                                                                                        \
        uint##bits##_t pattern;                                                                              \
        memcpy(&pattern, &value, sizeof pattern);                                                            \
        pattern = swap_bits_##bits(pattern);                                                                 \
        memcpy(&value, &pattern, sizeof value);                                                              \
        return value;                                                                                        \
    }
#include "model/samples.def"

#define HALF_SAMPLE(...)
#define SAMPLE(constant, type, stored, ...)                                                                  \
    static void load_##type(const void *samples, size_t stride, size_t count, bool swapped, real *row)       \
    {                                                                                                        \
        const stored *from = samples;                                                                        \
        if (swapped) {                                                                                       \
            for (size_t i = 0; i < count; i++)                                                               \
                row[i] = OF_WORK(arith_load_##type)(swap_##type(from[i * stride]));                          \
        } else {                                                                                             \
            for (size_t i = 0; i < count; i++)                                                               \
                row[i] = OF_WORK(arith_load_##type)(from[i * stride]);                                       \
        }                                                                                                    \
    }
#include "model/samples.def"

#define HALF_SAMPLE(...)
#define SAMPLE(constant, type, stored, ...)                                                                  \
    static void store_##type(const real *row, size_t stride, size_t count, bool swapped, void *samples)      \
    {                                                                                                        \
        stored *to = samples;                                                                                \
        for (size_t i = 0; i < count; i++)                                                                   \
            to[i * stride] = OF_WORK(arith_store_##type)(row[i]);                                            \
        if (swapped) {                                                                                       \
            for (size_t i = 0; i < count; i++)                                                               \
                to[i * stride] = swap_##type(to[i * stride]);                                                \
        }                                                                                                    \
    }
#include "model/samples.def"

/* Converting f16 takes many instructions: the loops that do it have no strides and no byte orders, which
   others take care of, a block of HALVES samples at a time. */
enum { HALVES = 512 };

static void load_f16(const void *samples, size_t stride, size_t count, bool swapped, real *row)
{
    const uint16_t *from = samples;
    uint16_t bits[HALVES];

    for (size_t begin = 0; begin < count; begin += HALVES, from += HALVES * stride, row += HALVES) {
        size_t length = size_least(HALVES, count - begin);
        for (size_t i = 0; i < length; i++)
            bits[i] = swapped ? swap_bits_16(from[i * stride]) : from[i * stride];
        for (size_t i = 0; i < length; i++)
            row[i] = OF_WORK(arith_load_f16)((arith_half){bits[i]});
    }
}

static void store_f16(const real *row, size_t stride, size_t count, bool swapped, void *samples)
{
    uint16_t *to = samples;
    uint16_t bits[HALVES];

    for (size_t begin = 0; begin < count; begin += HALVES, to += HALVES * stride, row += HALVES) {
        size_t length = size_least(HALVES, count - begin);
        for (size_t i = 0; i < length; i++)
            bits[i] = OF_WORK(arith_store_f16)(row[i]).bits;
        for (size_t i = 0; i < length; i++)
            to[i * stride] = swapped ? swap_bits_16(bits[i]) : bits[i];
    }
}

/* Samples of a channel, by their type; `samples` is where the channel's first one is. */
static void get_values(const struct encoding *encoding, const unsigned char *samples, size_t count,
                       real *values)
{
    static void (*const load[SAMPLE_TYPES])(const void *, size_t, size_t, bool, real *) = {
#define SAMPLE(constant, type, ...) [SAMPLE_##constant] = load_##type,
#include "model/samples.def"
    };

    load[encoding->type](samples, encoding->channels, count, encoding->swapped, values);
}

/* Samples that are marked as missing become NaN; alpha is never missing. */
static void find_missing(const struct encoding *encoding, unsigned channel, size_t count, real *values)
{
    real mark = (real)encoding->mark;

    if (!encoding->marked || channel >= encoding_colours(encoding))
        return;
    for (size_t i = 0; i < count; i++)
        values[i] = islessgreater(values[i], mark) ? values[i] : (real)NAN;
}

/* Values into a file. */
static void put_values(const struct encoding *encoding, const real *values, size_t count,
                       unsigned char *samples)
{
    static void (*const store[SAMPLE_TYPES])(const real *, size_t, size_t, bool, void *) = {
#define SAMPLE(constant, type, ...) [SAMPLE_##constant] = store_##type,
#include "model/samples.def"
    };

    store[encoding->type](values, encoding->channels, count, encoding->swapped, samples);
}

/* Count what storing does to values: NaNs, and those cut off at either limit. */
static void count_outcomes(const real *row, size_t count, const struct sample_limits *limits,
                           struct outcomes *outcomes)
{
    counter nans = 0, below = 0, above = 0;
    real low = (real)limits->low, high = (real)limits->high;

    for (size_t i = 0; i < count; i++) {
        nans += row[i] != row[i];
        below += row[i] < low;
        above += row[i] > high;
    }
    outcomes->nans += nans;
    outcomes->below += below;
    outcomes->above += above;
}
