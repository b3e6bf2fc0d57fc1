/* Shares: the planes that each device of a fleet computes, and those beside them that others hand over. */
#include "shares.h"

#include "base/size.h"

#define LEAST_REACHES 8

size_t shares_overlap(const struct shares *shares)
{
    return shares->around ? shares->halo : 0;
}

/* ⌊index · planes / count⌋, without a product that could overflow. */
static size_t first_of(const struct shares *shares, size_t index)
{
    size_t even = shares->planes / shares->count, rest = shares->planes % shares->count;

    return index * even + index * rest / shares->count;
}

struct range shares_own(const struct shares *shares, size_t index)
{
    size_t first = first_of(shares, index);

    return (struct range){first + shares_overlap(shares), first_of(shares, index + 1) - first};
}

size_t shares_most(const struct shares *shares)
{
    return size_divided_up(shares->planes, shares->count);
}

struct range shares_reached(const struct shares *shares, size_t index, size_t reach)
{
    const struct range own = shares_own(shares, index);
    size_t end = own.first + own.count, all = shares->planes + 2 * shares_overlap(shares);
    size_t first = own.first - size_least(own.first, reach);

    return (struct range){first, end + size_least(all - end, reach) - first};
}

unsigned shares_pieces(size_t planes, size_t reach)
{
    return planes / LEAST_REACHES >= reach ? 3 : 1;
}

struct range shares_owned(const struct shares *shares, struct range planes, size_t *owner)
{
    size_t overlap = shares_overlap(shares), index;
    size_t around = overlap % shares->planes == 0 ? 0 : shares->planes - overlap % shares->planes;
    size_t plane = (planes.first + around) % shares->planes;

    /* Rounded, the quotient may be that of a neighbour. */
    index = (size_t)((double)plane / (double)shares->planes * (double)shares->count);
    while (first_of(shares, index) > plane)
        index--;
    while (first_of(shares, index + 1) <= plane)
        index++;
    *owner = index;
    return (struct range){plane + overlap, size_least(planes.count, first_of(shares, index + 1) - plane)};
}

struct shares_walk shares_walk_start(const struct shares *shares, size_t to, size_t near, size_t far)
{
    const struct range inner = shares_reached(shares, to, near), outer = shares_reached(shares, to, far);
    size_t end = inner.first + inner.count;

    return (struct shares_walk){
        .shares = shares,
        .sides = {{outer.first, inner.first - outer.first}, {end, outer.first + outer.count - end}},
        .parcel = {.to = to}};
}

bool shares_walk_next(struct shares_walk *walk)
{
    struct range *side = &walk->sides[walk->sides[0].count > 0 ? 0 : 1];
    struct shares_parcel *parcel = &walk->parcel;

    if (side->count == 0)
        return false;
    parcel->planes = shares_owned(walk->shares, *side, &parcel->from);
    parcel->first = side->first;
    side->first += parcel->planes.count;
    side->count -= parcel->planes.count;
    return true;
}
