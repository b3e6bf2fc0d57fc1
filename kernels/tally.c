/* Tallies: the statistics of a file's channel. Rows of a plane share an anchor and are simply added; planes
   have anchors of their own, and their second moments are moved to the total's. */
#include "backend.h"

#include <math.h>

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
        double value = sample_number(encoding->type, encoding->swapped, sample);
        if (isfinite(value) && !encoding_is_marked(encoding, channel, value))
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

/* The same sums about another anchor: with d = old − new, Σ(v − new) = Σ(v − old) + n·d, and Σ(v − new)²
 * follows likewise. */
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
