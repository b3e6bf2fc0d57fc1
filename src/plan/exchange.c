/* Exchanges: planes that lanes hand over to each other, for what reads beside their own. */
#include "exchange.h"

static bool hand_over(const struct lane *lanes, const struct shares_parcel *parcel, unsigned field,
                      struct fault *fault)
{
    const struct lane *from = &lanes[parcel->from], *to = &lanes[parcel->to];

    return from->backend->hand_over(from->device, from->fields[field], parcel->planes, to->device,
                                    to->fields[field], parcel->first, fault);
}

bool exchange_planes(const struct lane *lanes, const struct shares *shares, unsigned field, size_t reach,
                     uint64_t *handed, struct fault *fault)
{
    for (size_t to = 0; to < shares->count; to++) {
        struct shares_walk walk = shares_walk_start(shares, to, 0, reach);
        while (shares_walk_next(&walk)) {
            if (!hand_over(lanes, &walk.parcel, field, fault))
                return false;
            handed[to] += walk.parcel.planes.count;
        }
    }
    return true;
}
