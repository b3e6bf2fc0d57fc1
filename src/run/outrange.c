#include "outrange.h"

#include <math.h>

bool outrange_measure(struct outrange *outrange, const struct field *field, struct range planes,
                      struct fault *fault)
{
    return outrange->lane->backend->measure(outrange->lane->device, field, &outrange->encode, planes, fault);
}

bool outrange_settle(struct outrange *outrange, struct fault *fault)
{
    struct extremes extremes;

    if (!outrange->lane->backend->tell_extremes(outrange->lane->device, &extremes, fault))
        return false;
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
