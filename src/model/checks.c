/* Checks: the steps of a stage with --until whose change is measured. */
#include "checks.h"

#include <math.h>

/* Multiply-adds that a sample could have had in the time that a check costs: a step on its own, which goes
   through memory where it would have been one of several, and two fields read for their difference. Measured
   on a CPU with AVX-512; an H200 loses 50. */
#define CHECK_TAPS 70.0

/* One over the share of the steps' time that checks may take. */
#define CHECK_SHARE 10.0

uint64_t checks_interval(double taps, unsigned axes)
{
    double moving = axes > 1 ? CHECK_TAPS * axes : 1.0;

    return (uint64_t)ceil(CHECK_SHARE * CHECK_TAPS / fmax(taps, moving));
}

bool checks_is_due(const struct checks *checks, uint64_t step)
{
    return checks->every > 0 && (step % checks->every == 0 || step == checks->last);
}

uint64_t checks_next(const struct checks *checks, uint64_t step)
{
    uint64_t ahead = checks->every - step % checks->every;

    return checks->last - step <= ahead ? checks->last : step + ahead;
}

uint64_t checks_count(const struct checks *checks)
{
    return checks->every == 0 ? 0 : checks->last / checks->every + (checks->last % checks->every > 0);
}

uint64_t checks_longest_gap(const struct checks *checks)
{
    uint64_t longest = checks->every < checks->last ? checks->every : checks->last;

    return longest > 0 ? longest - 1 : 0;
}
