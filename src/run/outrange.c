#include "outrange.h"

#include <math.h>

bool outrange_measure(struct outrange *outrange, const struct lane *lane, const struct field *field,
                      struct range planes, struct fault *fault)
{
    return lane->backend->measure(lane->device, field, &outrange->encode, planes, fault);
}

static void widen(struct extremes *all, const struct extremes *more)
{
    if (!more->any)
        return;
    all->least = all->any && all->least < more->least ? all->least : more->least;
    all->greatest = all->any && all->greatest > more->greatest ? all->greatest : more->greatest;
    all->any = true;
}

bool outrange_settle(struct outrange *outrange, struct fault *fault)
{
    struct extremes extremes = {.any = false};

    for (size_t i = 0; i < outrange->plan->shares.count; i++) {
        const struct lane *lane = &outrange->plan->lanes[i];
        struct extremes of_lane;
        if (!lane->backend->tell_extremes(lane->device, &of_lane, fault))
            return false;
        widen(&extremes, &of_lane);
    }
    if (extremes.any && !isfinite(extremes.greatest - extremes.least))
        return fault_raise_about(fault, STATUS_LIMIT, "--out-range=auto", "%.9g and %.9g are too far apart",
                                 extremes.least, extremes.greatest);
    outrange->unmapped = !extremes.any;
    outrange->encode.low = extremes.any ? extremes.least : 0.0;
    outrange->encode.high = extremes.any ? extremes.greatest : 0.0;
    return true;
}

bool outrange_maps(const struct outrange *outrange)
{
    return outrange->encode.ranged && !outrange->unmapped;
}
