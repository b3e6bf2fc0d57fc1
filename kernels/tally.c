/* Tallies: the samples of a file's channel added up. */
#include "backend.h"

#include <math.h>
#include <string.h>

/* A sample in this machine's order of bytes, as a number. */
static double number_of(enum sample_type type, const void *sample)
{
    union {
#define SAMPLE(constant, name, stored, bits, least, greatest, work, others) stored name;
#include "model/samples.def"
    } value;

    memcpy(&value, sample, sample_size(type));
    switch (type) {
#define SAMPLE(constant, name, stored, bits, least, greatest, work, others)                                  \
    case SAMPLE_##constant:                                                                                  \
        return (double)value.name;
#include "model/samples.def"
    case SAMPLE_TYPES:
        break;
    }
    return NAN;
}

struct tally tally_empty(double anchor)
{
    const struct tally tally = {.anchored = true, .anchor = anchor, .min = INFINITY, .max = -INFINITY};

    return tally;
}

double tally_anchor(const struct encoding *encoding, unsigned channel, const void *samples, size_t pixels)
{
    size_t size = sample_size(encoding->type);
    const unsigned char *sample = (const unsigned char *)samples + channel * size;

    for (size_t i = 0; i < pixels; i++, sample += encoding->channels * size) {
        unsigned char own[sizeof(double)];
        double value;
        memcpy(own, sample, size);
        if (encoding->swapped)
            sample_swap(encoding->type, own, 1);
        value = number_of(encoding->type, own);
        if (isfinite(value))
            return value;
    }
    return 0.0;
}

void tally_add(struct tally *total, const struct tally *part)
{
    total->count += part->count;
    total->nans += part->nans;
    total->min = part->min < total->min ? part->min : total->min;
    total->max = part->max > total->max ? part->max : total->max;
    total->sum += part->sum;
    total->squares += part->squares;
    total->energy += part->energy;
}

/* The same sums about another anchor. */
static void move_anchor(struct tally *tally, double anchor)
{
    double distance = tally->anchor - anchor, whole = (double)tally->count * distance;

    if (distance == 0.0)
        return;
    tally->squares += distance * (2.0 * tally->sum + whole);
    tally->sum += whole;
    tally->anchor = anchor;
}

void tally_add_plane(struct tally *total, const struct tally *plane)
{
    struct tally moved = *plane;

    if (!total->anchored)
        *total = tally_empty(plane->anchor);
    move_anchor(&moved, total->anchor);
    tally_add(total, &moved);
}
