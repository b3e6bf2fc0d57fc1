#include "outrange.h"

#include <math.h>
#include <string.h>

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

static bool take_extremes(void *data, const void *bytes, size_t size, struct fault *fault)
{
    struct extremes more;

    (void)fault;
    memcpy(&more, bytes, size);
    widen(data, &more);
    return true;
}

static bool find_extremes(const struct outrange *outrange, struct extremes *extremes, struct fault *fault)
{
    bool done = true;

    for (size_t i = 0; done && i < outrange->plan->shares.held; i++) {
        const struct lane *lane = &outrange->plan->lanes[i];
        struct extremes of_lane;
        done = lane->backend->tell_extremes(lane->device, &of_lane, fault);
        if (done)
            widen(extremes, &of_lane);
    }
    return done;
}

bool outrange_settle(struct outrange *outrange, struct peers *peers, struct fault *fault)
{
    struct extremes own = {.any = false}, extremes = own;

    if (!peers_agree(peers, find_extremes(outrange, &own, fault), fault) ||
        !peers_gather(peers, &own, sizeof own, take_extremes, &extremes, fault) ||
        !peers_broadcast(peers, &extremes, sizeof extremes, fault))
        return false;
    if (extremes.any && !isfinite(extremes.greatest - extremes.least))
        return fault_raise_about(fault, STATUS_LIMIT, "--out-range=auto", "%.9g and %.9g are too far apart",
                                 extremes.least, extremes.greatest);
    outrange->unmapped = !extremes.any;
    /* The least value need not be the least sample. */
    if (outrange->plan->job->intensity.slope < 0.0)
        extremes = (struct extremes){extremes.any, extremes.greatest, extremes.least};
    outrange->encode.low = extremes.any ? extremes.least : 0.0;
    outrange->encode.high = extremes.any ? extremes.greatest : 0.0;
    return true;
}

bool outrange_maps(const struct outrange *outrange)
{
    return outrange->encode.ranged && !outrange->unmapped;
}
