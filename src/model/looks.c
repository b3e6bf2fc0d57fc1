/* Looks: the steps of a stage with --until whose change is looked at. */
#include "looks.h"

#include <math.h>

/* Multiply-adds that a sample could have had in the time that a look costs: a step on its own, which goes
   through memory where it would have been one of several, and two fields read for their difference. Measured
   on a CPU with AVX-512; an H200 loses 50. */
#define LOOK_TAPS 70.0

/* One over the share of the steps' time that looking may take. */
#define LOOK_SHARE 10.0

uint64_t looks_spacing(double taps, unsigned axes)
{
    double moving = axes > 1 ? LOOK_TAPS * axes : 1.0;

    return (uint64_t)ceil(LOOK_SHARE * LOOK_TAPS / fmax(taps, moving));
}

bool looks_at(const struct looks *looks, uint64_t step)
{
    return looks->every > 0 && (step % looks->every == 0 || step == looks->last);
}

uint64_t looks_next(const struct looks *looks, uint64_t step)
{
    uint64_t ahead = looks->every - step % looks->every;

    return looks->last - step <= ahead ? looks->last : step + ahead;
}

uint64_t looks_count(const struct looks *looks)
{
    return looks->every == 0 ? 0 : looks->last / looks->every + (looks->last % looks->every > 0);
}

uint64_t looks_stretch(const struct looks *looks)
{
    uint64_t longest = looks->every < looks->last ? looks->every : looks->last;

    return longest > 0 ? longest - 1 : 0;
}
