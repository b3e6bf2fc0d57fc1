/* The reference: the arithmetic of voxfilt(7) once more, scalar and slow, to hold the product against. */
#include "reference.h"

#include "model/arith.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define CHANNELS 32 /* the most that a pixel may have, in a file or in a field */
#define LEAF     1024

static void *allocate(size_t count, size_t size)
{
    void *memory = calloc(count + 1, size);

    if (memory == NULL)
        abort();
    return memory;
}

/* ---- the arithmetic of the work type ---- */

static double rounded(enum work_type work, double value)
{
    return work == WORK_F32 ? (double)(float)value : value;
}

static double plus(enum work_type work, double a, double b)
{
    return work == WORK_F32 ? (double)((float)a + (float)b) : a + b;
}

static double minus(enum work_type work, double a, double b)
{
    return work == WORK_F32 ? (double)((float)a - (float)b) : a - b;
}

static double times(enum work_type work, double a, double b)
{
    return work == WORK_F32 ? (double)((float)a * (float)b) : a * b;
}

static double over(enum work_type work, double a, double b)
{
    return work == WORK_F32 ? (double)((float)a / (float)b) : a / b;
}

/* a·b + c, rounded once. */
static double fused(enum work_type work, double a, double b, double c)
{
    return work == WORK_F32 ? (double)fmaf((float)a, (float)b, (float)c) : fma(a, b, c);
}

static double root(enum work_type work, double value)
{
    return work == WORK_F32 ? (double)sqrtf((float)value) : sqrt(value);
}

static double exponential(enum work_type work, double value)
{
    return work == WORK_F32 ? (double)arith_exp_f32((float)value) : arith_exp_f64(value);
}

/* exp(−s), and 0 where it would be denormal or nearly so. */
static double decayed(enum work_type work, double s)
{
    return s > (work == WORK_F32 ? 80.0 : 700.0) ? 0.0 : exponential(work, -s);
}

static double tangent(enum work_type work, double value)
{
    return work == WORK_F32 ? (double)arith_tanh_f32((float)value) : arith_tanh_f64(value);
}

static double sine(enum work_type work, double value)
{
    return work == WORK_F32 ? (double)arith_sin_f32((float)value) : arith_sin_f64(value);
}

static double srgb_decoded(enum work_type work, double value)
{
    return work == WORK_F32 ? (double)arith_srgb_decode_f32((float)value) : arith_srgb_decode_f64(value);
}

static double srgb_encoded(enum work_type work, double value)
{
    return work == WORK_F32 ? (double)arith_srgb_encode_f32((float)value) : arith_srgb_encode_f64(value);
}

static double powered(enum work_type work, double value, double exponent)
{
    return work == WORK_F32 ? (double)arith_gamma_f32((float)value, (float)exponent)
                            : arith_gamma_f64(value, exponent);
}

/* ---- samples of a file ---- */

static const struct kind {
    unsigned bits;
    bool is_signed, is_float;
} kinds[SAMPLE_TYPES] = {
    [SAMPLE_U8] = {8, false, false},   [SAMPLE_I8] = {8, true, false},    [SAMPLE_U16] = {16, false, false},
    [SAMPLE_I16] = {16, true, false},  [SAMPLE_U32] = {32, false, false}, [SAMPLE_I32] = {32, true, false},
    [SAMPLE_U64] = {64, false, false}, [SAMPLE_I64] = {64, true, false},  [SAMPLE_F16] = {16, true, true},
    [SAMPLE_F32] = {32, true, true},   [SAMPLE_F64] = {64, true, true},
};

static double highest(const struct kind *kind)
{
    return ldexp(1.0, (int)kind->bits - (kind->is_signed ? 1 : 0)) - 1.0;
}

static double lowest(const struct kind *kind)
{
    return kind->is_signed ? -highest(kind) - 1.0 : 0.0;
}

/* Where the byte of weight 256^i stands in a sample. */
static size_t byte_place(const struct encoding *encoding, size_t i)
{
    const uint16_t one = 1;
    bool machine_is_little = *(const unsigned char *)&one == 1;

    return machine_is_little != encoding->swapped ? i : kinds[encoding->type].bits / 8 - 1 - i;
}

static uint64_t get_bits(const struct encoding *encoding, const unsigned char *bytes)
{
    uint64_t bits = 0;

    for (size_t i = 0; i < kinds[encoding->type].bits / 8; i++)
        bits |= (uint64_t)bytes[byte_place(encoding, i)] << 8 * i;
    return bits;
}

static void put_bits(const struct encoding *encoding, uint64_t bits, unsigned char *bytes)
{
    for (size_t i = 0; i < kinds[encoding->type].bits / 8; i++)
        bytes[byte_place(encoding, i)] = (unsigned char)(bits >> 8 * i);
}

/* An integer of 64 bits in the work type, rounded once. */
static double wide_integer(enum work_type work, const struct kind *kind, uint64_t bits)
{
    if (work == WORK_F32)
        return kind->is_signed ? (double)(float)(int64_t)bits : (double)(float)bits;
    return kind->is_signed ? (double)(int64_t)bits : (double)bits;
}

/* The value of 16 bits by the words of IEEE 754. */
static double half_value(unsigned bits)
{
    int exponent = (int)(bits >> 10 & 31), fraction = (int)(bits & 1023);
    double size = exponent == 0   ? ldexp(fraction, -24)
                  : exponent < 31 ? ldexp(1024 + fraction, exponent - 25)
                  : fraction == 0 ? (double)INFINITY
                                  : (double)NAN;

    return bits >> 15 != 0 ? -size : size;
}

/* The value of a sample: exactly, but for integers of 64 bits, which a double may not hold. */
static double get_sample(enum work_type work, const struct encoding *encoding, const unsigned char *bytes)
{
    const struct kind *kind = &kinds[encoding->type];
    uint64_t bits = get_bits(encoding, bytes);

    if (kind->is_float && kind->bits == 16)
        return half_value((unsigned)bits);
    if (kind->is_float && kind->bits == 32) {
        uint32_t half = (uint32_t)bits;
        float value;
        memcpy(&value, &half, sizeof value);
        return (double)value;
    }
    if (kind->is_float) {
        double value;
        memcpy(&value, &bits, sizeof value);
        return value;
    }
    if (kind->bits == 64)
        return wide_integer(work, kind, bits);
    if (kind->is_signed && bits >> (kind->bits - 1) != 0)
        return (double)bits - ldexp(1.0, (int)kind->bits);
    return (double)bits;
}

static double nearest_even(double value)
{
    double below = floor(value), rest = value - below;

    if (rest > 0.5 || (rest == 0.5 && fmod(below, 2.0) != 0.0))
        return below + 1.0;
    return below;
}

static uint64_t integer_bits(const struct kind *kind, double value)
{
    if (isnan(value))
        return 0;
    if (kind->bits == 64 && value >= highest(kind))
        return kind->is_signed ? INT64_MAX : UINT64_MAX;
    if (value >= highest(kind))
        value = highest(kind);
    else if (value <= lowest(kind))
        value = lowest(kind);
    else
        value = nearest_even(value);
    return value < 0.0 ? (uint64_t)(int64_t)value : (uint64_t)value;
}

/* The whole number of units in the last place of a binade, 2^10 of them at its start; what is rounded up to
   2^11 has the bits of the next binade, and past the last one those of ∞. */
static uint64_t half_bits(double value)
{
    double size = fabs(value);
    int binade = size >= 0x1p-14 && isfinite(size) ? ilogb(size) : -14;
    double units = nearest_even(ldexp(size, 10 - binade));
    uint64_t bits = (uint64_t)(binade + 14) << 10;

    bits = isfinite(size) && binade < 16 ? bits + (uint64_t)units : 0x7c00;
    return (bits < 0x7c00 ? bits : 0x7c00) | (signbit(value) ? 0x8000 : 0);
}

static uint64_t float_bits(const struct kind *kind, double value)
{
    float narrow = (float)value;
    uint32_t narrow_bits;
    uint64_t bits;

    if (isnan(value))
        return kind->bits == 16   ? UINT64_C(0x7e00)
               : kind->bits == 32 ? UINT64_C(0x7fc00000)
                                  : UINT64_C(0x7ff8000000000000);
    if (kind->bits == 16)
        return half_bits(value);
    memcpy(&narrow_bits, &narrow, sizeof narrow_bits);
    memcpy(&bits, &value, sizeof bits);
    return kind->bits == 32 ? narrow_bits : bits;
}

static void put_sample(const struct encoding *encoding, double value, unsigned char *bytes)
{
    const struct kind *kind = &kinds[encoding->type];

    put_bits(encoding, kind->is_float ? float_bits(kind, value) : integer_bits(kind, value), bytes);
}

/* ---- pixels ---- */

static unsigned colours_of(const struct encoding *encoding)
{
    return encoding->channels - (encoding->alpha ? 1 : 0);
}

static bool premultiplies(const struct encoding *encoding)
{
    return encoding->alpha && encoding->premultiply;
}

unsigned reference_work_channels(const struct encoding *encoding)
{
    return encoding->channels + (premultiplies(encoding) ? colours_of(encoding) : 0);
}

static double opaque_of(enum sample_type type)
{
    return kinds[type].is_float ? 1.0 : highest(&kinds[type]);
}

/* Alpha as a fraction of its range. */
static double cover(const struct encoding *encoding, enum work_type work, double alpha)
{
    double max = rounded(work, encoding->opaque);

    if (!(alpha > 0.0))
        return 0.0;
    return over(work, alpha < max ? alpha : max, max);
}

static double linear_light(const struct encoding *encoding, enum work_type work, double stored)
{
    double max = rounded(work, highest(&kinds[encoding->type]));

    switch (encoding->transfer) {
    case TRANSFER_SRGB:
        return times(work, srgb_decoded(work, over(work, stored, max)), max);
    case TRANSFER_GAMMA:
        return times(work, powered(work, over(work, stored, max), rounded(work, encoding->gamma)), max);
    case TRANSFER_NONE:
        break;
    }
    return stored;
}

static double stored_light(const struct encoding *encoding, enum work_type work, double linear)
{
    double max = rounded(work, highest(&kinds[encoding->type]));

    switch (encoding->transfer) {
    case TRANSFER_SRGB:
        return times(work, srgb_encoded(work, over(work, linear, max)), max);
    case TRANSFER_GAMMA:
        return times(work, powered(work, over(work, linear, max), rounded(work, 1.0 / encoding->gamma)), max);
    case TRANSFER_NONE:
        break;
    }
    return linear;
}

/* Of any number: a power of its size, with its sign where the exponent is odd. */
static double signed_power(enum work_type work, double v, double exponent)
{
    double power = work == WORK_F32 ? (double)arith_pow_f32(fabsf((float)v), (float)exponent)
                                    : arith_pow_f64(fabs(v), exponent);

    if (v < 0.0 && floor(exponent) != exponent)
        return (double)NAN;
    return signbit(v) && fabs(fmod(exponent, 2.0)) == 1.0 ? -power : power;
}

static double logarithm(enum work_type work, double v)
{
    return work == WORK_F32 ? (double)arith_ln_f32((float)v) : arith_ln_f64(v);
}

static double point_of(enum work_type work, const struct point *point, double v)
{
    double a = rounded(work, point->numbers[0]), b = rounded(work, point->numbers[1]);
    double c = rounded(work, point->numbers[2]);

    if (point->missing && isnan(v))
        return v;
    switch (point->kind) {
    case POINT_SCALE:
        return fused(work, a, v, b);
    case POINT_ABS:
        return fabs(v);
    case POINT_CLAMP:
        return v < a ? a : v > b ? b : v;
    case POINT_THRESHOLD:
        return v > a ? c : b;
    case POINT_POWER:
        return signed_power(work, v, a);
    case POINT_LN:
        return logarithm(work, v);
    case POINT_EXP:
        return exponential(work, v);
    default:
        abort();
    }
}

static double pointed(const struct encoding *encoding, enum work_type work, double value)
{
    for (unsigned i = 0; i < encoding->point_count; i++) {
        for (uint64_t n = 0; n < encoding->points[i].times; n++)
            value = point_of(work, &encoding->points[i], value);
    }
    return value;
}

/* One pixel as it stands in a file, rounded to the work type, into the channels of a field: colour, times
   alpha where that is asked; alpha; and then colour once more, as it is without alpha. */
static void decode_pixel(const struct encoding *encoding, enum work_type work, const double *stored,
                         double *pixel)
{
    unsigned colours = colours_of(encoding);

    for (unsigned c = 0; c < colours; c++) {
        bool missing = encoding->marked && stored[c] == rounded(work, encoding->mark);
        pixel[c] = pointed(encoding, work, missing ? (double)NAN : linear_light(encoding, work, stored[c]));
    }
    if (encoding->alpha)
        pixel[colours] = stored[colours];
    if (!premultiplies(encoding))
        return;
    for (unsigned c = 0; c < colours; c++) {
        pixel[colours + 1 + c] = pixel[c];
        pixel[c] = times(work, pixel[c], cover(encoding, work, stored[colours]));
    }
}

/* A sample and NaN change places where the sample is the mark, zeros by their signs. */
static double unmarked(double v, double mark)
{
    if (isnan(v))
        return mark;
    return v == mark && !signbit(v) == !signbit(mark) ? (double)NAN : v;
}

/* A pixel and what is to be written of it outside the mask, where it is missing in all channels. */
static void leave_outside(const struct encoding *encoding, enum work_type work, const double *stored,
                          double *pixel)
{
    const double scale = rounded(work, encoding->original.scale),
                 shift = rounded(work, encoding->original.shift);
    double *originals = pixel + reference_work_channels(encoding);

    for (unsigned c = 0; c < encoding->channels; c++) {
        bool colour = c < colours_of(encoding), same = !colour || (scale == 1.0 && shift == 0.0);
        double value = same ? stored[c] : fused(work, scale, stored[c], shift);
        originals[c] =
            encoding->marked && colour ? unmarked(value, rounded(work, encoding->original.mark)) : value;
    }
    for (unsigned c = 0; c < reference_work_channels(encoding); c++)
        pixel[c] = (double)NAN;
}

/* What stands in a field of a sample outside, as it is written; else what is computed. */
static double restored(const struct encoding *encoding, enum work_type work, const double *pixel, unsigned c,
                       double computed)
{
    double original = encoding->masked ? pixel[reference_work_channels(encoding) + c] : (double)NAN;

    if (isnan(original))
        return computed;
    return encoding->marked && c < colours_of(encoding) ? unmarked(original, rounded(work, encoding->mark))
                                                        : original;
}

static void encode_pixel(const struct encoding *encoding, enum work_type work, const double *pixel,
                         double *stored)
{
    unsigned colours = colours_of(encoding);

    for (unsigned c = 0; c < colours; c++) {
        double linear = pixel[c];
        if (premultiplies(encoding)) {
            double covered = cover(encoding, work, pixel[colours]);
            linear = covered == 0.0 ? pixel[colours + 1 + c] : over(work, pixel[c], covered);
        }
        stored[c] = stored_light(encoding, work, pointed(encoding, work, linear));
        if (encoding->alpha && encoding->associated)
            stored[c] = times(work, stored[c], cover(encoding, work, pixel[colours]));
        if (encoding->marked && isnan(stored[c]))
            stored[c] = rounded(work, encoding->mark);
        stored[c] = restored(encoding, work, pixel, c, stored[c]);
    }
    if (encoding->alpha)
        stored[colours] = times(work, restored(encoding, work, pixel, colours, pixel[colours]),
                                rounded(work, opaque_of(encoding->type) / encoding->opaque));
}

unsigned reference_field_channels(const struct encoding *encoding)
{
    unsigned of_each = !encoding->masked ? 0 : encoding->original.rests ? 2 : 1;

    return reference_work_channels(encoding) + of_each * encoding->channels;
}

/* Where a field has what is to be added to the sample of a channel as it is stored. */
static unsigned rest_of(const struct encoding *encoding, unsigned channel)
{
    return reference_work_channels(encoding) + encoding->channels + channel;
}

static double taken_by_rounding(const struct encoding *encoding, double stored, const unsigned char *bytes)
{
    return (double)(int64_t)(get_bits(encoding, bytes) - integer_bits(&kinds[encoding->type], stored));
}

uint64_t reference_decode(const struct encoding *encoding, enum work_type work, const void *samples,
                          const unsigned char *mask, size_t pixels, double *field)
{
    uint64_t missing = 0;
    const unsigned char *bytes = samples;
    size_t size = kinds[encoding->type].bits / 8;
    double stored[CHANNELS], pixel[CHANNELS];

    for (size_t i = 0; i < pixels; i++) {
        for (unsigned c = 0; c < encoding->channels; c++, bytes += size)
            stored[c] = rounded(work, get_sample(work, encoding, bytes));
        for (unsigned c = 0; encoding->missing && c < colours_of(encoding); c++)
            missing += (!encoding->masked || mask[i] != 0) &&
                       (isnan(stored[c]) || (encoding->marked && stored[c] == rounded(work, encoding->mark)));
        decode_pixel(encoding, work, stored, pixel);
        for (unsigned c = reference_work_channels(encoding); c < reference_field_channels(encoding); c++)
            pixel[c] = (double)NAN;
        if (encoding->masked && mask[i] == 0)
            leave_outside(encoding, work, stored, pixel);
        for (unsigned c = 0; encoding->original.rests && c < encoding->channels; c++)
            pixel[rest_of(encoding, c)] =
                mask[i] == 0 ? taken_by_rounding(encoding, stored[c], bytes - (encoding->channels - c) * size)
                             : 0.0;
        for (unsigned c = 0; c < reference_field_channels(encoding); c++)
            field[c * pixels + i] = pixel[c];
    }
    return missing;
}

static bool is_infinite_in(const struct kind *kind, double value)
{
    return kind->bits == 16   ? half_bits(fabs(value)) == 0x7c00
           : kind->bits == 32 ? isinf((float)value)
                              : isinf(value);
}

static void note_outcome(const struct kind *kind, double value, struct outcomes *outcomes)
{
    if (isnan(value))
        outcomes->nans++;
    else if (kind->is_float ? is_infinite_in(kind, value) : isinf(value))
        *(value < 0.0 ? &outcomes->below : &outcomes->above) += 1;
    else if (!kind->is_float && nearest_even(value) < lowest(kind))
        outcomes->below++;
    else if (!kind->is_float && nearest_even(value) > highest(kind))
        outcomes->above++;
}

uint64_t reference_strays(const struct encoding *encoding, const void *samples, size_t count)
{
    const unsigned char *bytes = samples;
    size_t size = kinds[encoding->type].bits / 8;
    uint64_t strays = 0;

    for (size_t i = 0; i < count; i++)
        strays += isfinite(get_sample(WORK_F64, encoding, bytes + i * size)) ? 0 : 1;
    return strays;
}

void reference_extremes(const struct encoding *encoding, enum work_type work, const double *field,
                        size_t pixels, double *low, double *high)
{
    double stored[CHANNELS], pixel[CHANNELS];
    bool any = false;

    *low = *high = 0.0;
    for (size_t i = 0; i < pixels; i++) {
        for (unsigned c = 0; c < reference_field_channels(encoding); c++)
            pixel[c] = field[c * pixels + i];
        encode_pixel(encoding, work, pixel, stored);
        for (unsigned c = 0; c < colours_of(encoding); c++) {
            if (!isfinite(stored[c]))
                continue;
            *low = any && *low < stored[c] ? *low : stored[c];
            *high = any && *high > stored[c] ? *high : stored[c];
            any = true;
        }
    }
}

/* Into the range of the type, in double; what is beyond it is counted, and cut off. */
static double into_range(const struct encoding *encoding, double value, struct outcomes *outcomes)
{
    const struct kind *kind = &kinds[encoding->type];
    double least = kind->is_float ? 0.0 : lowest(kind), greatest = kind->is_float ? 1.0 : highest(kind);
    double span = encoding->high - encoding->low;
    double put = fma((value - encoding->low) / (span == 0.0 ? 1.0 : span), greatest - least, least);
    double written = kind->is_float ? put : nearest_even(put);

    outcomes->nans += isnan(put) ? 1 : 0;
    outcomes->below += written < least ? 1 : 0;
    outcomes->above += written > greatest ? 1 : 0;
    if (put < least)
        return least;
    return put > greatest ? greatest : put;
}

struct outcomes reference_encode(const struct encoding *encoding, enum work_type work, const double *field,
                                 size_t pixels, void *samples)
{
    unsigned char *bytes = samples;
    size_t size = kinds[encoding->type].bits / 8;
    double stored[CHANNELS], pixel[CHANNELS];
    struct outcomes outcomes = {0};

    for (size_t i = 0; i < pixels; i++) {
        for (unsigned c = 0; c < reference_field_channels(encoding); c++)
            pixel[c] = field[c * pixels + i];
        encode_pixel(encoding, work, pixel, stored);
        for (unsigned c = 0; c < encoding->channels; c++, bytes += size) {
            if (encoding->ranged && c < colours_of(encoding)) {
                put_sample(encoding, into_range(encoding, stored[c], &outcomes), bytes);
            } else {
                put_sample(encoding, stored[c], bytes);
                if (encoding->original.rests)
                    put_bits(encoding,
                             get_bits(encoding, bytes) + (uint64_t)(int64_t)pixel[rest_of(encoding, c)],
                             bytes);
                note_outcome(&kinds[encoding->type], stored[c], &outcomes);
            }
        }
    }
    return outcomes;
}

void reference_outside(const struct encoding *encoding, enum work_type work, double value, double *pixel)
{
    double stored[CHANNELS];

    for (unsigned c = 0; c < encoding->channels; c++)
        stored[c] = rounded(work, value);
    decode_pixel(encoding, work, stored, pixel);
}

/* ---- one channel on its grid ---- */

struct lattice {
    enum work_type work;
    bool missing; /* samples that are NaN are missing */
    enum edge_rule rule;
    double outside; /* of a constant edge */
    long extent[3]; /* x, y, z */
    const double *samples;
};

static size_t count_samples(const struct lattice *lattice)
{
    return (size_t)(lattice->extent[0] * lattice->extent[1] * lattice->extent[2]);
}

static void locate(const struct lattice *lattice, size_t index, long at[3])
{
    at[0] = (long)index % lattice->extent[0];
    at[1] = (long)index / lattice->extent[0] % lattice->extent[1];
    at[2] = (long)index / lattice->extent[0] / lattice->extent[1];
}

static bool is_inside(const struct lattice *lattice, const long at[3])
{
    for (int axis = 0; axis < 3; axis++) {
        if (at[axis] < 0 || at[axis] >= lattice->extent[axis])
            return false;
    }
    return true;
}

/* The index in [0, n) that stands for i: reflected, or moved by periods, until it is inside. */
static long bring_inside(enum edge_rule rule, long i, long n)
{
    while (i < 0 || i >= n) {
        if (rule == EDGE_NEAREST || (rule == EDGE_MIRROR && n == 1))
            i = i < 0 ? 0 : n - 1;
        else if (rule == EDGE_REFLECT)
            i = i < 0 ? -1 - i : 2 * n - 1 - i;
        else if (rule == EDGE_MIRROR)
            i = i < 0 ? -i : 2 * (n - 1) - i;
        else
            i = i < 0 ? i + n : i - n;
    }
    return i;
}

static double read_sample(const struct lattice *lattice, const long at[3])
{
    long inside[3];

    if (!is_inside(lattice, at) && (lattice->rule == EDGE_CONSTANT || lattice->rule == EDGE_HOLD))
        return lattice->outside;
    for (int axis = 0; axis < 3; axis++)
        inside[axis] = bring_inside(lattice->rule, at[axis], lattice->extent[axis]);
    return lattice->samples[(inside[2] * lattice->extent[1] + inside[1]) * lattice->extent[0] + inside[0]];
}

/* ---- chains ---- */

struct link {
    long offset[3];
    double weight;
};

struct chain {
    size_t count;
    struct link *links;
};

static int raster_order(const void *a, const void *b)
{
    const struct link *first = a, *second = b;

    for (int axis = 2; axis >= 0; axis--) {
        if (first->offset[axis] != second->offset[axis])
            return first->offset[axis] < second->offset[axis] ? -1 : 1;
    }
    return 0;
}

/* Weights are rounded to the work type; those that are zero then do not exist. */
static void add_link(struct chain *chain, enum work_type work, long dx, long dy, long dz, double weight)
{
    struct link link = {{dx, dy, dz}, rounded(work, weight)};

    if (link.weight != 0.0)
        chain->links[chain->count++] = link;
}

static struct chain chain_of(const struct stencil *stencil, enum work_type work)
{
    struct chain chain = {0, allocate(stencil->count, sizeof *chain.links)};

    for (size_t i = 0; i < stencil->count; i++) {
        const struct tap *tap = &stencil->taps[i];
        add_link(&chain, work, tap->dx, tap->dy, tap->dz, tap->weight);
    }
    qsort(chain.links, chain.count, sizeof *chain.links, raster_order);
    return chain;
}

/* The sample and its neighbours along the axes of the grid. */
static struct chain star_of(enum work_type work, unsigned axes, double centre, const double face[3])
{
    struct chain chain = {0, allocate(7, sizeof *chain.links)};

    add_link(&chain, work, 0, 0, 0, centre);
    for (unsigned axis = 0; axis < axes; axis++) {
        add_link(&chain, work, -(axis == 0), -(axis == 1), -(axis == 2), face[axis]);
        add_link(&chain, work, axis == 0, axis == 1, axis == 2, face[axis]);
    }
    qsort(chain.links, chain.count, sizeof *chain.links, raster_order);
    return chain;
}

static bool is_centre(const struct link *link)
{
    return link->offset[0] == 0 && link->offset[1] == 0 && link->offset[2] == 0;
}

/* What a tap reads; in place of a neighbour that is missing, the sample itself. */
static double read_link(const struct lattice *lattice, const long at[3], const struct link *link, double u)
{
    const long place[3] = {at[0] + link->offset[0], at[1] + link->offset[1], at[2] + link->offset[2]};
    double value = read_sample(lattice, place);

    return lattice->missing && isnan(value) ? u : value;
}

/* A sample that is missing stays so. */
static bool is_missing(const struct lattice *lattice, size_t index)
{
    return lattice->missing && isnan(lattice->samples[index]);
}

/* Whether the hold rule keeps the sample: a tap of the chain lies outside. */
static bool is_held(const struct lattice *lattice, const long at[3], const struct chain *chain)
{
    for (size_t i = 0; i < chain->count && lattice->rule == EDGE_HOLD; i++) {
        const long *offset = chain->links[i].offset;
        const long place[3] = {at[0] + offset[0], at[1] + offset[1], at[2] + offset[2]};
        if (!is_inside(lattice, place))
            return true;
    }
    return false;
}

/* One more link of a sum: the first is a product. */
static double extend(enum work_type work, size_t place, double weight, double value, double sum)
{
    return place == 0 ? times(work, weight, value) : fused(work, weight, value, sum);
}

static double chain_sum(const struct lattice *lattice, const long at[3], const struct chain *chain, double u)
{
    double sum = 0.0;

    for (size_t i = 0; i < chain->count; i++) {
        const struct link *link = &chain->links[i];
        double value = is_centre(link) ? u : read_link(lattice, at, link, u);
        sum = extend(lattice->work, i, link->weight, value, sum);
    }
    return sum;
}

static void correlate(const struct lattice *from, const struct chain *chain, double *to)
{
    for (size_t i = 0; i < count_samples(from); i++) {
        long at[3];
        locate(from, i, at);
        to[i] = is_held(from, at, chain) || is_missing(from, i)
                    ? from->samples[i]
                    : chain_sum(from, at, chain, from->samples[i]);
    }
}

/* ---- heat ---- */

/* What one relaxation needs, in the work type. */
struct relaxation {
    enum flux flux;
    struct chain chain;
    double inverse_scale, rate;
    bool reacts;
    double reaction, remainder;
};

static double face_sum(const struct lattice *lattice, const long at[3], const struct relaxation *relaxation,
                       double u)
{
    enum work_type work = lattice->work;
    double sum = 0.0;

    for (size_t i = 0; i < relaxation->chain.count; i++) {
        const struct link *link = &relaxation->chain.links[i];
        double difference = minus(work, read_link(lattice, at, link, u), u);
        double q = times(work, difference, relaxation->inverse_scale);
        double g = relaxation->flux == FLUX_PM1 ? decayed(work, times(work, q, q))
                                                : over(work, 1.0, fused(work, q, q, 1.0));
        sum = extend(work, i, times(work, link->weight, g), difference, sum);
    }
    return sum;
}

/* A reaction after a relaxation, where there is one. */
static double react(enum work_type work, const struct relaxation *relaxation, double u)
{
    if (!relaxation->reacts)
        return u;
    return fused(work, relaxation->reaction, sine(work, u), times(work, relaxation->remainder, u));
}

static double relax(const struct lattice *lattice, const long at[3], const struct relaxation *relaxation,
                    double u)
{
    enum work_type work = lattice->work;

    if (relaxation->flux == FLUX_LINEAR) {
        u = chain_sum(lattice, at, &relaxation->chain, u);
    } else if (relaxation->flux == FLUX_TANH) {
        double curvature = chain_sum(lattice, at, &relaxation->chain, u);
        u = fused(work, relaxation->rate, tangent(work, times(work, curvature, relaxation->inverse_scale)),
                  u);
    } else {
        u = plus(work, u, face_sum(lattice, at, relaxation, u));
    }
    return react(work, relaxation, u);
}

/* What a tap reads less the sample; nothing where either is missing. */
static double jump_of(const struct lattice *lattice, double value, double u)
{
    double difference = minus(lattice->work, value, u);

    return lattice->missing && isnan(difference) ? 0.0 : difference;
}

/* Channels of a pixel under one conductivity: that of the sum of their q². */
static void relax_jointly(const struct lattice *channels, unsigned count, const long at[3],
                          const struct relaxation *relaxation, double *u)
{
    enum work_type work = channels->work;
    double sums[CHANNELS] = {0.0}, differences[CHANNELS];

    for (size_t i = 0; i < relaxation->chain.count; i++) {
        const struct link *link = &relaxation->chain.links[i];
        double s = 0.0, g;
        for (unsigned c = 0; c < count; c++) {
            double q;
            differences[c] = jump_of(&channels[c], read_link(&channels[c], at, link, u[c]), u[c]);
            q = times(work, differences[c], relaxation->inverse_scale);
            s = extend(work, c, q, q, s);
        }
        g = relaxation->flux == FLUX_PM1 ? decayed(work, s) : over(work, 1.0, plus(work, s, 1.0));
        for (unsigned c = 0; c < count; c++)
            sums[c] = extend(work, i, times(work, link->weight, g), differences[c], sums[c]);
    }
    for (unsigned c = 0; c < count; c++)
        u[c] = react(work, relaxation, plus(work, u[c], sums[c]));
}

static struct relaxation relaxation_of(const struct heat *heat, const struct grid *grid, enum work_type work)
{
    struct relaxation relaxation = {
        .flux = heat->flux,
        .inverse_scale = rounded(work, 1.0 / heat->scale),
        .rate = rounded(work, heat->alpha * heat->dt * heat->scale),
        .reacts = heat->reacts,
        .reaction = rounded(work, heat->reaction),
        .remainder = rounded(work, 1.0 - heat->reaction),
    };
    double face[3] = {0.0, 0.0, 0.0}, centre = 0.0;

    for (unsigned axis = 0; axis < grid->axes; axis++) {
        double h = grid->spacing[axis];
        face[axis] = heat->flux == FLUX_TANH ? 1.0 / (h * h) : heat->alpha * heat->dt / (h * h);
    }
    if (heat->flux == FLUX_LINEAR)
        centre = 1.0 - 2.0 * ((face[0] + face[1]) + face[2]);
    else if (heat->flux == FLUX_TANH)
        centre = -2.0 * ((face[0] + face[1]) + face[2]);
    relaxation.chain = star_of(work, grid->axes, centre, face);
    return relaxation;
}

/* The grid with the distances that the stage takes. */
static struct grid acting_grid(const struct stage *stage, const struct grid *grid)
{
    struct grid acting = *grid;

    memcpy(acting.spacing, stage->spacing, sizeof acting.spacing);
    return acting;
}

static void diffuse(const struct stage *stage, const struct grid *grid, const struct lattice *from,
                    double *to)
{
    struct relaxation relaxation = relaxation_of(&stage->heat, grid, from->work);

    for (size_t i = 0; i < count_samples(from); i++) {
        long at[3];
        locate(from, i, at);
        to[i] = from->samples[i];
        for (uint64_t n = 0;
             n < stage->heat.inner && !is_held(from, at, &relaxation.chain) && !is_missing(from, i); n++)
            to[i] = relax(from, at, &relaxation, to[i]);
    }
    free(relaxation.chain.links);
}

static void diffuse_jointly(const struct stage *stage, const struct grid *whole,
                            const struct lattice *channels, unsigned count, double *to)
{
    const struct grid acting = acting_grid(stage, whole), *grid = &acting;
    struct relaxation relaxation = relaxation_of(&stage->heat, grid, channels->work);
    size_t samples = count_samples(channels);
    double u[CHANNELS];

    for (size_t i = 0; i < samples; i++) {
        long at[3];
        locate(channels, i, at);
        for (unsigned c = 0; c < count; c++)
            u[c] = channels[c].samples[i];
        for (uint64_t n = 0; n < stage->heat.inner && !is_held(channels, at, &relaxation.chain); n++)
            relax_jointly(channels, count, at, &relaxation, u);
        for (unsigned c = 0; c < count; c++)
            to[c * samples + i] = u[c];
    }
    free(relaxation.chain.links);
}

/* ---- bilateral ---- */

/* Channels of a pixel that share their weights. What is missing in a channel has no weight in it. */
static void bilateral(const struct stage *stage, const struct lattice *channels, unsigned count, double *to)
{
    enum work_type work = channels->work;
    double inverse = rounded(work, sqrt(0.5) / stage->body.amount);
    struct chain chain = chain_of(&stage->body.taps, work);
    size_t samples = count_samples(channels);

    for (size_t i = 0; i < samples; i++) {
        double sums[CHANNELS] = {0.0}, totals[CHANNELS] = {0.0};
        bool held;
        long at[3];
        locate(channels, i, at);
        held = is_held(channels, at, &chain);
        for (size_t k = 0; k < chain.count && !held; k++) {
            const struct link *link = &chain.links[k];
            const long place[3] = {at[0] + link->offset[0], at[1] + link->offset[1], at[2] + link->offset[2]};
            double s = 0.0, weight;
            for (unsigned c = 0; c < count; c++) {
                double value = read_sample(&channels[c], place);
                double q = times(work, jump_of(&channels[c], value, channels[c].samples[i]), inverse);
                s = extend(work, c, q, q, s);
            }
            weight = times(work, link->weight, decayed(work, s));
            for (unsigned c = 0; c < count; c++) {
                double value = read_sample(&channels[c], place);
                bool there = !channels->missing || !isnan(value);
                sums[c] = extend(work, k, there ? weight : 0.0, there ? value : 0.0, sums[c]);
                totals[c] = k == 0 ? (there ? weight : 0.0) : plus(work, totals[c], there ? weight : 0.0);
            }
        }
        for (unsigned c = 0; c < count; c++)
            to[c * samples + i] =
                held || is_missing(&channels[c], i) ? channels[c].samples[i] : over(work, sums[c], totals[c]);
    }
    free(chain.links);
}

/* ---- what combines ---- */

static double slope(const struct lattice *lattice, const long at[3], unsigned axis, double weight)
{
    const struct link ahead = {{axis == 0, axis == 1, axis == 2}, weight};
    const struct link behind = {{-(axis == 0), -(axis == 1), -(axis == 2)}, weight};
    double u = read_sample(lattice, at);

    return times(lattice->work,
                 minus(lattice->work, read_link(lattice, at, &ahead, u), read_link(lattice, at, &behind, u)),
                 weight);
}

/* An axis whose weight is zero does not count. */
static double gradient_length(const struct lattice *lattice, const long at[3], const double weight[3])
{
    double sum = 0.0;
    unsigned counted = 0;

    for (unsigned axis = 0; axis < 3; axis++) {
        double component = weight[axis] == 0.0 ? 0.0 : slope(lattice, at, axis, weight[axis]);
        if (weight[axis] != 0.0)
            sum = extend(lattice->work, counted++, component, component, sum);
    }
    return root(lattice->work, sum);
}

static void gradient(const struct grid *grid, const struct lattice *from, double *to)
{
    double weight[3] = {0.0, 0.0, 0.0};
    struct chain reach;

    for (unsigned axis = 0; axis < grid->axes; axis++)
        weight[axis] = rounded(from->work, 0.5 / grid->spacing[axis]);
    reach = star_of(from->work, grid->axes, 0.0, weight);
    for (size_t i = 0; i < count_samples(from); i++) {
        long at[3];
        locate(from, i, at);
        to[i] = is_held(from, at, &reach) || is_missing(from, i) ? from->samples[i]
                                                                 : gradient_length(from, at, weight);
    }
    free(reach.links);
}

/* A pass over samples that are there in whole or in part, in place. */
static void pass_over(const struct stencil *stencil, const struct lattice *lattice, double outside,
                      double *samples)
{
    struct chain chain = chain_of(stencil, lattice->work);
    double *before = allocate(count_samples(lattice), sizeof *before);
    struct lattice source = *lattice;

    memcpy(before, samples, count_samples(lattice) * sizeof *before);
    source.missing = false;
    source.outside = outside;
    source.samples = before;
    correlate(&source, &chain, samples);
    free(before);
    free(chain.links);
}

/* Samples that may be missing go through all passes with their weights, and so does what these would be if
   none were. */
static void average(const struct stencil *passes, size_t count, const struct lattice *from, double *to)
{
    size_t samples = count_samples(from);
    double *weights = allocate(2 * samples, sizeof *weights), *whole = weights + samples;
    bool there = !isnan(from->outside);

    for (size_t i = 0; i < samples; i++) {
        to[i] = isnan(from->samples[i]) ? 0.0 : from->samples[i];
        weights[i] = isnan(from->samples[i]) ? 0.0 : 1.0;
        whole[i] = 1.0;
    }
    for (size_t i = 0; i < count; i++) {
        double outside = whole[0]; /* of a constant edge: it weighs what samples inside do */
        if (passes[i].count == 0)
            continue;
        pass_over(&passes[i], from, there ? from->outside : 0.0, to);
        pass_over(&passes[i], from, there ? outside : 0.0, weights);
        pass_over(&passes[i], from, outside, whole);
    }
    for (size_t i = 0; i < samples; i++)
        to[i] = isnan(from->samples[i]) || weights[i] == 0.0
                    ? (double)NAN
                    : times(from->work, to[i], over(from->work, whole[i], weights[i]));
    free(weights);
}

/* Whether samples that are missing are left out of an average: no weight is negative, and one is off the
   centre. */
static bool averages(const struct stage *stage)
{
    const struct filter_body *body = &stage->body;
    const struct stencil *stencils[] = {&body->taps, &body->along[0], &body->along[1], &body->along[2]};
    enum filter_kind kind = stage->filter->kind;
    bool moves = false;

    if (kind != FILTER_TAPS && kind != FILTER_AXES && kind != FILTER_UNSHARP)
        return false;
    for (size_t i = 0; i < 4; i++) {
        for (size_t k = 0; k < stencils[i]->count; k++) {
            const struct tap *tap = &stencils[i]->taps[k];
            moves = moves || tap->dx != 0 || tap->dy != 0 || tap->dz != 0;
            if (tap->weight < 0.0)
                return false;
        }
    }
    return moves;
}

/* The passes of a chain. */
static void along_axes(const struct stage *stage, size_t chain_index, const struct grid *grid,
                       const struct lattice *from, double *to)
{
    size_t count = count_samples(from);
    double *between = allocate(count, sizeof *between);
    struct lattice source = *from;

    if (from->missing && averages(stage)) {
        average(stage->body.along, grid->axes, from, to);
        free(between);
        return;
    }
    memcpy(between, from->samples, count * sizeof *between);
    source.samples = between;
    for (unsigned axis = 0; axis < grid->axes; axis++) {
        struct chain chain = chain_of(&stage->body.along[3 * chain_index + axis], from->work);
        if (stage->body.along[3 * chain_index + axis].count == 0) {
            free(chain.links);
            continue;
        }
        correlate(&source, &chain, to);
        memcpy(between, to, count * sizeof *between);
        free(chain.links);
    }
    free(between);
}

static void unsharp(const struct stage *stage, const struct grid *grid, const struct lattice *from,
                    double *to)
{
    double amount = rounded(from->work, stage->body.amount);

    along_axes(stage, 0, grid, from, to);
    for (size_t i = 0; i < count_samples(from); i++)
        to[i] = fused(from->work, amount, minus(from->work, from->samples[i], to[i]), from->samples[i]);
}

/* Chains after the first are added to what there is. */
static void sum_of_chains(const struct stage *stage, const struct grid *grid, const struct lattice *from,
                          double *to)
{
    double amount = rounded(from->work, stage->body.amount);
    double *chain = allocate(count_samples(from), sizeof *chain);

    for (size_t k = 0; k < stage->body.chains; k++) {
        along_axes(stage, k, grid, from, chain);
        for (size_t i = 0; i < count_samples(from); i++)
            to[i] = k == 0 ? chain[i] : fused(from->work, amount, chain[i], to[i]);
    }
    free(chain);
}

static void length_of_chains(const struct stage *stage, const struct grid *grid, const struct lattice *from,
                             double *to)
{
    double *chain = allocate(count_samples(from), sizeof *chain);

    for (size_t k = 0; k < stage->body.chains; k++) {
        along_axes(stage, k, grid, from, chain);
        for (size_t i = 0; i < count_samples(from); i++)
            to[i] = extend(from->work, k, chain[i], chain[i], to[i]);
    }
    for (size_t i = 0; i < count_samples(from); i++)
        to[i] = root(from->work, to[i]);
    free(chain);
}

/* −∞ … −0 < +0 … ∞ < NaN. */
static int by_order(const void *a, const void *b)
{
    double first = *(const double *)a, second = *(const double *)b;

    if (isnan(first) || isnan(second))
        return (isnan(first) ? 1 : 0) - (isnan(second) ? 1 : 0);
    if (first == second)
        return (signbit(second) ? 1 : 0) - (signbit(first) ? 1 : 0);
    return first < second ? -1 : 1;
}

/* The window: as it is, or the box that the sides make. */
static struct chain window_of(const struct filter_body *body, enum work_type work)
{
    const struct stencil *side = body->along;
    struct chain chain;

    if (side[0].count == 0)
        return chain_of(&body->taps, work);
    chain = (struct chain){0, allocate(side[0].count * side[1].count * side[2].count, sizeof *chain.links)};
    for (size_t z = 0; z < side[2].count; z++) {
        for (size_t y = 0; y < side[1].count; y++) {
            for (size_t x = 0; x < side[0].count; x++)
                add_link(&chain, work, side[0].taps[x].dx, side[1].taps[y].dy, side[2].taps[z].dz, 1.0);
        }
    }
    return chain;
}

/* Of so many samples, those that come before the one that is taken. */
static size_t rank_among(const struct filter_body *body, size_t rank, size_t count)
{
    if (rank != FILTER_GREATEST && body->percent > 0.0)
        rank = (size_t)floor((double)count * body->percent / 100.0);
    return rank < count ? rank : count - 1;
}

/* Samples whose slope is negative have their values in the other order. Those that are missing have no place
   in it. */
static void take_rank(const struct stage *stage, size_t rank, const struct lattice *from, double *to)
{
    struct chain window = window_of(&stage->body, from->work);
    double sign = stage->intensity.slope < 0.0 ? -1.0 : 1.0;
    double *samples = allocate(window.count, sizeof *samples);

    for (size_t i = 0; i < count_samples(from); i++) {
        size_t count = 0;
        long at[3];
        locate(from, i, at);
        for (size_t k = 0; k < window.count; k++) {
            const long *offset = window.links[k].offset;
            const long place[3] = {at[0] + offset[0], at[1] + offset[1], at[2] + offset[2]};
            double value = read_sample(from, place);
            if (!from->missing || !isnan(value))
                samples[count++] = sign * value;
        }
        qsort(samples, count, sizeof *samples, by_order);
        to[i] = is_held(from, at, &window) || is_missing(from, i)
                    ? from->samples[i]
                    : sign * samples[rank_among(&stage->body, rank, count)];
    }
    free(samples);
    free(window.links);
}

static void take_ranks(const struct stage *stage, const struct lattice *from, double *to)
{
    const struct filter_body *body = &stage->body;
    struct lattice between = *from;
    double *first = allocate(count_samples(from), sizeof *first);
    bool turned = stage->intensity.slope < 0.0;

    take_rank(stage, body->ranks[0], from, first);
    memcpy(to, first, count_samples(from) * sizeof *to);
    if (!body->apart)
        between.samples = first;
    if (body->rank_count == 2)
        take_rank(stage, body->ranks[1], &between, to);
    for (size_t i = 0; i < count_samples(from) && stage->filter->kind == FILTER_DIFFERENCE; i++) {
        double other = body->apart ? first[i] : from->samples[i];
        bool rises = strcmp(stage->filter->name, "blackhat") == 0;
        to[i] = rises != turned ? minus(from->work, to[i], other) : minus(from->work, other, to[i]);
    }
    free(first);
}

/* One step of a stage on one channel. */
static void step(const struct stage *stage, const struct grid *whole, const struct lattice *from, double *to)
{
    const struct grid acting = acting_grid(stage, whole), *grid = &acting;
    struct chain chain;

    switch (stage->filter->kind) {
    case FILTER_TAPS:
        if (from->missing && averages(stage)) {
            average(&stage->body.taps, 1, from, to);
            break;
        }
        chain = chain_of(&stage->body.taps, from->work);
        correlate(from, &chain, to);
        free(chain.links);
        break;
    case FILTER_AXES:
        along_axes(stage, 0, grid, from, to);
        break;
    case FILTER_SUM:
        sum_of_chains(stage, grid, from, to);
        break;
    case FILTER_LENGTH:
        length_of_chains(stage, grid, from, to);
        break;
    case FILTER_HEAT:
        diffuse(stage, grid, from, to);
        break;
    case FILTER_UNSHARP:
        unsharp(stage, grid, from, to);
        break;
    case FILTER_BILATERAL:
        bilateral(stage, from, 1, to);
        break;
    case FILTER_GRADIENT:
        gradient(grid, from, to);
        break;
    case FILTER_RANK:
    case FILTER_DIFFERENCE:
        take_ranks(stage, from, to);
        break;
    case FILTER_POINT:
        for (size_t i = 0; i < count_samples(from); i++)
            to[i] = is_missing(from, i) ? from->samples[i]
                                        : point_of(from->work, &stage->body.point, from->samples[i]);
        break;
    default: /* what a job puts between stages is no stage of the reference */
        abort();
    }
}

/* ---- sums ---- */

/* Lower half plus upper half, until one number is left. */
static double fold(double *leaf)
{
    for (size_t half = LEAF / 2; half >= 1; half /= 2) {
        for (size_t i = 0; i < half; i++)
            leaf[i] = leaf[i] + leaf[half + i];
    }
    return leaf[0];
}

static double row_sum(const double *terms, size_t count)
{
    double sum = 0.0;

    for (size_t begin = 0; begin < count; begin += LEAF) {
        double leaf[LEAF] = {0.0};
        for (size_t i = 0; i < LEAF && begin + i < count; i++)
            leaf[i] = terms[begin + i];
        sum += fold(leaf);
    }
    return sum;
}

double reference_sum(const struct grid *grid, const double *terms)
{
    size_t planes = grid->axes == 3 ? grid->nz : grid->ny;
    size_t rows = grid->axes == 3 ? grid->ny : 1;
    double sum = 0.0;

    for (size_t plane = 0; plane < planes; plane++) {
        double plane_sum = 0.0;
        for (size_t row = 0; row < rows; row++)
            plane_sum += row_sum(terms + (plane * rows + row) * grid->nx, grid->nx);
        sum += plane_sum;
    }
    return sum;
}

double reference_change(const struct grid *grid, bool missing, const double *before, const double *after)
{
    size_t count = grid->nx * grid->ny * grid->nz;
    double *terms = allocate(count, sizeof *terms);
    double sum;

    for (size_t i = 0; i < count; i++)
        terms[i] = missing && isnan(after[i]) ? 0.0 : (before[i] - after[i]) * (before[i] - after[i]);
    sum = reference_sum(grid, terms);
    free(terms);
    return sum;
}

static size_t plane_count(const struct grid *grid)
{
    return grid->axes == 3 ? grid->nz : grid->ny;
}

static struct grid grid_of_plane(const struct grid *grid)
{
    struct grid plane = *grid;

    plane.nz = 1;
    if (grid->axes == 2)
        plane.ny = 1;
    return plane;
}

static double first_finite(const double *values, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (isfinite(values[i]))
            return values[i];
    }
    return 0.0;
}

struct tally reference_plane_tally(const struct grid *grid, const struct encoding *encoding, unsigned channel,
                                   const void *samples)
{
    const struct grid plane = grid_of_plane(grid);
    size_t count = plane.nx * plane.ny, size = kinds[encoding->type].bits / 8;
    const unsigned char *bytes = (const unsigned char *)samples + channel * size;
    double *values = allocate(4 * count, sizeof *values), *terms = values + count;
    struct tally tally = {.anchored = true, .min = INFINITY, .max = -INFINITY};

    for (size_t i = 0; i < count; i++)
        values[i] = get_sample(WORK_F64, encoding, bytes + i * encoding->channels * size);
    for (size_t i = 0; i < count && encoding->marked && channel < colours_of(encoding); i++)
        values[i] = values[i] == encoding->mark ? (double)NAN : values[i];
    tally.anchor = first_finite(values, count);
    for (size_t i = 0; i < count; i++) {
        double value = values[i];
        if (isnan(value)) {
            tally.nans++;
            continue;
        }
        tally.count++;
        tally.min = value < tally.min ? value : tally.min;
        tally.max = value > tally.max ? value : tally.max;
        terms[i] = value - tally.anchor;
        terms[count + i] = (value - tally.anchor) * (value - tally.anchor);
        terms[2 * count + i] = value * value;
    }
    tally.sum = reference_sum(&plane, terms);
    tally.squares = reference_sum(&plane, terms + count);
    tally.energy = reference_sum(&plane, terms + 2 * count);
    free(values);
    return tally;
}

/* Σ (v − a)² = Σ (v − b)² + (b − a)·(2·Σ (v − b) + n·(b − a)), where the planes' anchors differ. */
struct tally reference_tally(const struct grid *grid, const struct encoding *encoding, unsigned channel,
                             const void *samples)
{
    const struct grid plane = grid_of_plane(grid);
    size_t bytes = plane.nx * plane.ny * encoding->channels * (kinds[encoding->type].bits / 8);
    struct tally total = reference_plane_tally(grid, encoding, channel, samples);

    for (size_t i = 1; i < plane_count(grid); i++) {
        const struct tally next =
            reference_plane_tally(grid, encoding, channel, (const unsigned char *)samples + i * bytes);
        double away = next.anchor - total.anchor, moved = (double)next.count * away;
        total.sum += away == 0.0 ? next.sum : next.sum + moved;
        total.squares += away == 0.0 ? next.squares : next.squares + away * (2.0 * next.sum + moved);
        total.energy += next.energy;
        total.count += next.count;
        total.nans += next.nans;
        total.min = next.min < total.min ? next.min : total.min;
        total.max = next.max > total.max ? next.max : total.max;
    }
    return total;
}

/* ---- jobs ---- */

/* A job's samples in the work type, before and after a step. */
struct fields {
    unsigned channels;
    size_t count;
    bool covered; /* colour is multiplied by alpha, and stands behind alpha as it is without */
    double *before, *after;
};

/* What the passes of a stage make of a constant of 1. */
static double product_of_sums(const struct stage *stage)
{
    double product = 1.0;

    for (int axis = 0; axis < 3; axis++) {
        const struct stencil *along = &stage->body.along[axis];
        double sum = along->count == 0 ? 1.0 : 0.0;
        for (size_t i = 0; i < along->count; i++)
            sum += along->taps[i].weight;
        product *= sum;
    }
    return product;
}

/* Whether alpha, and colour times alpha, would be less than they were where all is the same. */
static bool leaves_alpha(const struct reference_job *job, const struct stage *stage)
{
    double sum = 0.0;

    for (size_t i = 0; i < stage->body.taps.count; i++)
        sum += stage->body.taps.taps[i].weight;
    switch (stage->filter->kind) {
    case FILTER_TAPS:
        return job->in.alpha && fabs(sum - 1.0) > 1.0 / 512.0;
    case FILTER_HEAT:
        return job->in.alpha && stage->heat.reacts && stage->heat.reaction != 0.0;
    case FILTER_AXES:
        return job->in.alpha && fabs(product_of_sums(stage) - 1.0) > 1.0 / 512.0;
    case FILTER_SUM:
    case FILTER_LENGTH:
    case FILTER_DIFFERENCE:
    case FILTER_GRADIENT:
    case FILTER_POINT:
        return job->in.alpha;
    default:
        return false;
    }
}

static void cover_fields(const struct reference_job *job, struct fields *fields)
{
    unsigned colours = colours_of(&job->in);

    for (unsigned c = 0; c < colours; c++) {
        for (size_t i = 0; i < fields->count; i++) {
            double *colour = &fields->after[c * fields->count + i];
            double alpha = fields->after[colours * fields->count + i];
            fields->after[(colours + 1 + c) * fields->count + i] = *colour;
            *colour = times(job->work, *colour, cover(&job->in, job->work, alpha));
        }
    }
    fields->covered = true;
}

static void uncover_fields(const struct reference_job *job, struct fields *fields)
{
    unsigned colours = colours_of(&job->in);

    for (unsigned c = 0; c < colours; c++) {
        for (size_t i = 0; i < fields->count; i++) {
            double *colour = &fields->after[c * fields->count + i];
            double covered = cover(&job->in, job->work, fields->after[colours * fields->count + i]);
            *colour = covered == 0.0 ? fields->after[(colours + 1 + c) * fields->count + i]
                                     : over(job->work, *colour, covered);
        }
    }
    fields->covered = false;
}

/* Colour as the stage takes it: of the first, as it is decoded. */
static void take_colour(const struct reference_job *job, const struct stage *stage, struct fields *fields)
{
    bool wanted = premultiplies(&job->in) && !leaves_alpha(job, stage);

    if (wanted && !fields->covered)
        cover_fields(job, fields);
    if (!wanted && fields->covered)
        uncover_fields(job, fields);
}

/* Channels whose conductivity or weights are one, from the first on: colours, and alpha if it weighs them. */
static unsigned count_joint(const struct reference_job *job, const struct stage *stage,
                            const struct fields *fields)
{
    if (stage->filter->kind != FILTER_BILATERAL && (stage->filter->kind != FILTER_HEAT || !stage->heat.joint))
        return 1;
    return colours_of(&job->in) + (fields->covered ? 1 : 0);
}

/* One step of a stage on channels that go together. */
static void step_jointly(const struct stage *stage, const struct grid *grid, const struct lattice *channels,
                         unsigned count, double *to)
{
    if (stage->filter->kind == FILTER_BILATERAL)
        bilateral(stage, channels, count, to);
    else
        diffuse_jointly(stage, grid, channels, count, to);
}

static unsigned smaller(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

static void step_all(const struct reference_job *job, const struct stage *stage, struct fields *fields)
{
    unsigned joint = count_joint(job, stage, fields), count = colours_of(&job->in);
    struct lattice from[CHANNELS];
    double outside[CHANNELS] = {0.0};
    struct encoding encoding = job->in;
    double *before = fields->after;

    fields->after = fields->before;
    fields->before = before;
    memcpy(fields->after, fields->before, fields->channels * fields->count * sizeof *before);
    encoding.premultiply = fields->covered;
    if (!leaves_alpha(job, stage))
        count = reference_work_channels(&encoding);
    reference_outside(&encoding, job->work, stage->edge.value, outside);
    for (unsigned c = 0; c < count; c++)
        from[c] = (struct lattice){
            .work = job->work,
            .missing = job->in.missing,
            .rule = stage->edge.rule,
            .outside = outside[c],
            .extent = {(long)job->grid.nx, (long)job->grid.ny, (long)job->grid.nz},
            .samples = fields->before + c * fields->count,
        };
    for (unsigned c = 0; c < count && joint < 2; c++)
        step(stage, &job->grid, &from[c], fields->after + c * fields->count);
    if (joint < 2)
        return;
    step_jointly(stage, &job->grid, from, smaller(joint, count), fields->after);
    if (count > joint)
        step_jointly(stage, &job->grid, from + joint, count - joint, fields->after + joint * fields->count);
}

static double rms_change(const struct reference_job *job, const struct fields *fields)
{
    double total = 0.0;

    for (unsigned c = 0; c < job->in.channels; c++)
        total += reference_change(&job->grid, job->in.missing, fields->before + c * fields->count,
                                  fields->after + c * fields->count);
    return sqrt(total / (double)(fields->count * job->in.channels));
}

static bool filters(const struct reference_job *job)
{
    for (size_t i = 0; i < job->stage_count; i++) {
        if (strcmp(job->stages[i].filter->name, "identity") != 0)
            return true;
    }
    return false;
}

/* How colour stands at first: as the first stage that takes a step takes it, where any does something. */
static bool begins_covered(const struct reference_job *job)
{
    if (!filters(job))
        return false;
    for (size_t i = 0; i < job->stage_count; i++) {
        if (job->stages[i].steps > 0)
            return premultiplies(&job->in) && !leaves_alpha(job, &job->stages[i]);
    }
    return premultiplies(&job->in);
}

struct reference_outcome reference_run(const struct reference_job *job, const void *in, void *out)
{
    struct reference_outcome outcome = {.last_change = NAN};
    struct encoding decoded = job->in, encoded = job->out;
    uint64_t missing;
    struct fields fields = {.channels = reference_field_channels(&job->in),
                            .count = job->grid.nx * job->grid.ny * job->grid.nz};

    fields.before = allocate(fields.channels * fields.count, sizeof *fields.before);
    fields.after = allocate(fields.channels * fields.count, sizeof *fields.after);
    decoded.premultiply = fields.covered = begins_covered(job);
    missing = reference_decode(&decoded, job->work, in, job->mask, fields.count, fields.after);
    for (size_t i = 0; i < job->stage_count; i++) {
        const struct stage *stage = &job->stages[i];
        if (stage->steps > 0 && filters(job))
            take_colour(job, stage, &fields);
        for (uint64_t taken = 0; taken < stage->steps; taken++) {
            step_all(job, stage, &fields);
            outcome.steps++;
            if (stage->until == 0.0 || ((taken + 1) % stage->checks.every != 0 && taken + 1 < stage->steps))
                continue;
            outcome.checks++;
            outcome.last_change = rms_change(job, &fields);
            if (outcome.last_change < stage->until)
                break;
        }
    }
    encoded.premultiply = fields.covered;
    if (job->measures)
        reference_extremes(&encoded, job->work, fields.after, fields.count, &encoded.low, &encoded.high);
    outcome.outcomes = reference_encode(&encoded, job->work, fields.after, fields.count, out);
    outcome.outcomes.missing = missing;
    outcome.outcomes.strays = reference_strays(&job->in, in, fields.count * job->in.channels);
    for (size_t i = 0; job->in.masked && i < fields.count; i++)
        outcome.outcomes.outside += job->mask[i] == 0;
    free(fields.before);
    free(fields.after);
    return outcome;
}
