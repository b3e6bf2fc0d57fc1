/* Loops that compute in double whatever the work type is, built once for each instruction set. */
#include "cpu_doubles.h"

#include <string.h>

#include "cpu_samples.inl"

/* Add the sums of one leaf. NaNs, and the padding of a short leaf, count as zeros. */
static void add_leaf_sums(const double *values, size_t count, struct tally *tally)
{
    double sum[ARITH_LEAF], squares[ARITH_LEAF], energy[ARITH_LEAF];
    size_t rest = (ARITH_LEAF - count) * sizeof(double);
    double anchor = tally->anchor;

    for (size_t i = 0; i < count; i++) {
        double value = values[i] == values[i] ? values[i] : 0.0;
        double deviation = values[i] == values[i] ? values[i] - anchor : 0.0;
        sum[i] = deviation;
        squares[i] = deviation * deviation;
        energy[i] = value * value;
    }
    memset(sum + count, 0, rest);
    memset(squares + count, 0, rest);
    memset(energy + count, 0, rest);
    tally->sum += arith_fold_leaf(sum);
    tally->squares += arith_fold_leaf(squares);
    tally->energy += arith_fold_leaf(energy);
}

static void add_extremes(const double *values, size_t count, struct tally *tally)
{
    double min = tally->min, max = tally->max;
    uint64_t nans = 0;

    /* A NaN compares false, and so it never becomes an extreme. */
    for (size_t i = 0; i < count; i++) {
        min = values[i] < min ? values[i] : min;
        max = values[i] > max ? values[i] : max;
        nans += values[i] != values[i];
    }
    /* Adding zero makes −0 a 0, so that it does not matter which of the two came first. */
    tally->min = min + 0.0;
    tally->max = max + 0.0;
    tally->nans += nans;
    tally->count += count - nans;
}

/* A row of one channel, leaf by leaf. */
static void tally_row(const struct encoding *encoding, unsigned channel, const unsigned char *samples,
                      size_t count, struct tally *tally)
{
    size_t pixel = encoding->channels * sample_size(encoding->type);
    double values[ARITH_LEAF];

    for (size_t begin = 0; begin < count; begin += ARITH_LEAF) {
        size_t length = size_least(ARITH_LEAF, count - begin);
        get_values(encoding, samples + begin * pixel, length, values);
        find_missing(encoding, channel, length, values);
        add_leaf_sums(values, length, tally);
        add_extremes(values, length, tally);
    }
}

/* Planes of a file whose rows are tallied. */
struct tallying {
    const struct encoding *encoding;
    const struct shape *shape;
    const unsigned char *samples;
    struct tally *tallies; /* one a row */
};

static void tally_some(void *context, size_t first, size_t count, unsigned member)
{
    const struct tallying *tallying = context;
    const struct shape *shape = tallying->shape;
    unsigned channels = tallying->encoding->channels;
    size_t sample = sample_size(tallying->encoding->type), row_bytes = shape->nx * channels * sample;

    (void)member;
    for (size_t i = first; i < first + count; i++) {
        struct place place = place_of(i, channels, shape->rows);
        tally_row(tallying->encoding, place.channel,
                  tallying->samples + (place.plane * shape->rows + place.row) * row_bytes +
                      place.channel * sample,
                  shape->nx, &tallying->tallies[i]);
    }
}

void OF_ISA(cpu_tally_rows)(const struct encoding *encoding, const struct shape *shape, const void *samples,
                            size_t planes, struct tally *rows, const struct cpu_threads *threads)
{
    struct tallying tallying = {encoding, shape, samples, rows};

    cpu_threads_share_evenly(threads, planes * encoding->channels * shape->rows, tally_some, &tallying);
}

/* Values are counted and clamped here, before they are stored: storing clamps no floats. */
void OF_ISA(cpu_put_stretched)(const struct cpu_writing *writing, double *values, size_t count,
                               struct range counted, unsigned char *samples, struct outcomes *outcomes)
{
    const struct stretch *stretch = &writing->stretch;

    for (size_t i = 0; i < count; i++)
        values[i] = arith_stretch_f64(values[i], stretch->low, stretch->span, stretch->least, stretch->width);
    count_outcomes(values + counted.first, counted.count, &writing->stretched, outcomes);
    for (size_t i = 0; i < count; i++)
        values[i] = arith_clamp_f64(values[i], stretch->least, stretch->greatest);
    put_values(writing->encoding, values, count, samples);
}
