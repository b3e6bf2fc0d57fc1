/* Shares: the planes that each member of a team computes, and those beside them that it gets from other
   members.

   The planes are cut into ranges of about the same length, one for each member in order. Before a level, a
   member gets the planes that the level reads beside its range. If ranges are short, these are several
   members' planes, and what one of them sends is a parcel. Where an edge wraps, the grid is unrolled by the
   halo, and planes come from its other end, which may be the member's own. Ranks need memory for parcels on
   their way, which a schedule counts before there is any. */
#include "shares.h"

#include "base/mem.h"
#include "base/size.h"

#include <unistd.h>

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

struct range shares_common(struct range a, struct range b)
{
    size_t first = size_most(a.first, b.first), end = size_least(a.first + a.count, b.first + b.count);

    return (struct range){first, end > first ? end - first : 0};
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

/* ---- the memory of planes on their way between ranks ---- */

size_t shares_parcel_bytes(size_t plane_bytes, size_t planes)
{
    return size_rounded_up(plane_bytes * planes, (size_t)sysconf(_SC_PAGESIZE));
}

/* The planes of a parcel, or of the one that goes the other way, if these are more: where one has all planes
   of a share, the other one may have one more. */
static size_t planes_either_way(const struct shares *shares, const struct shares_parcel *parcel)
{
    bool all = parcel->planes.count == shares_own(shares, parcel->from).count;

    return all ? shares_most(shares) : parcel->planes.count;
}

/* Between two ranks, planes go both ways. If each sees the other's memory, it has two places for what it
   sends and, on its device, two for what it gets; if not, one for either. */
static struct shares_transit count_parcel(const struct shares *shares, const struct shares_parcel *parcel,
                                          size_t plane_bytes)
{
    size_t own = shares_parcel_bytes(plane_bytes, parcel->planes.count), each;

    if (parcel->from == parcel->to)
        return (struct shares_transit){own, own};
    each = shares_parcel_bytes(plane_bytes, planes_either_way(shares, parcel));
    return (struct shares_transit){SHARES_TURNS * each, 2 * SHARES_TURNS * each};
}

static struct shares_transit count_rank(const struct shares *shares, size_t rank, size_t reach,
                                        size_t plane_bytes)
{
    struct shares_walk walk = shares_walk_start(shares, rank, 0, reach);
    struct shares_transit sum = {0, 0};

    while (shares_walk_next(&walk)) {
        const struct shares_transit one = count_parcel(shares, &walk.parcel, plane_bytes);
        sum.host_bytes += one.host_bytes;
        sum.device_bytes += one.device_bytes;
    }
    return sum;
}

bool shares_count_transit(const struct shares *shares, size_t reach, size_t plane_bytes,
                          struct shares_transit *most)
{
    size_t bound;

    *most = (struct shares_transit){0, 0};
    /* A rank has at most one parcel for each plane beside its own, and counts at most two planes for each. */
    if (!mem_product(&bound, shares_parcel_bytes(plane_bytes, 1), 2 * SHARES_TURNS * 2 * 2 * reach))
        return false;
    for (size_t rank = 0; rank < shares->count; rank++) {
        const struct shares_transit one = count_rank(shares, rank, reach, plane_bytes);
        most->host_bytes = size_most(most->host_bytes, one.host_bytes);
        most->device_bytes = size_most(most->device_bytes, one.device_bytes);
    }
    return true;
}
