/* Exchanges: planes that lanes hand over to each other, for what reads beside their own. */
#include "exchange.h"

/* Planes on one side of a lane's own, each by the lane that has computed it. */
static bool gather(const struct lane *lanes, const struct shares *shares, size_t taker, unsigned field,
                   struct range planes, uint64_t *handed, struct fault *fault)
{
    const struct lane *to = &lanes[taker];

    while (planes.count > 0) {
        size_t owner;
        const struct range owned = shares_owned(shares, planes, &owner);
        const struct lane *from = &lanes[owner];
        if (!from->backend->hand_over(from->device, from->fields[field], owned, to->device, to->fields[field],
                                      planes.first, fault))
            return false;
        handed[taker] += owned.count;
        planes.first += owned.count;
        planes.count -= owned.count;
    }
    return true;
}

bool exchange_planes(const struct lane *lanes, const struct shares *shares, unsigned field, size_t reach,
                     uint64_t *handed, struct fault *fault)
{
    bool done = true;

    for (size_t i = 0; done && reach > 0 && i < shares->count; i++) {
        const struct range own = shares_own(shares, i), reached = shares_reached(shares, i, reach);
        const size_t end = own.first + own.count, end_reached = reached.first + reached.count;
        const struct range before = {reached.first, own.first - reached.first};
        const struct range behind = {end, end_reached - end};
        done = gather(lanes, shares, i, field, before, handed, fault) &&
               gather(lanes, shares, i, field, behind, handed, fault);
    }
    return done;
}
