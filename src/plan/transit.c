/* Transits: the memory in which planes that ranks hand over to each other stand on their way. */
#include "transit.h"

#include "base/mem.h"
#include "base/size.h"

#include <unistd.h>

static size_t paged(size_t bytes)
{
    return size_rounded_up(bytes, (size_t)sysconf(_SC_PAGESIZE));
}

size_t transit_parcel_bytes(size_t plane_bytes, size_t planes)
{
    return paged(plane_bytes * planes);
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
static struct transit count_parcel(const struct shares *shares, const struct shares_parcel *parcel,
                                   size_t plane_bytes)
{
    size_t own = transit_parcel_bytes(plane_bytes, parcel->planes.count), each;

    if (parcel->from == parcel->to)
        return (struct transit){own, own};
    each = transit_parcel_bytes(plane_bytes, planes_either_way(shares, parcel));
    return (struct transit){TRANSIT_TURNS * each, 2 * TRANSIT_TURNS * each};
}

static struct transit count_rank(const struct shares *shares, size_t rank, size_t reach, size_t plane_bytes)
{
    struct shares_walk walk = shares_walk_start(shares, rank, 0, reach);
    struct transit sum = {0, 0};

    while (shares_walk_next(&walk)) {
        const struct transit one = count_parcel(shares, &walk.parcel, plane_bytes);
        sum.host_bytes += one.host_bytes;
        sum.device_bytes += one.device_bytes;
    }
    return sum;
}

/* A rank has at most one parcel for each plane beside its own, and counts at most two planes for each. */
static bool is_countable(size_t reach, size_t plane_bytes)
{
    size_t bound;

    return mem_product(&bound, paged(plane_bytes), 2 * TRANSIT_TURNS * 2 * 2 * reach);
}

bool transit_count(const struct shares *shares, size_t reach, size_t plane_bytes, struct transit *most)
{
    *most = (struct transit){0, 0};
    if (!is_countable(reach, plane_bytes))
        return false;
    for (size_t rank = 0; rank < shares->count; rank++) {
        const struct transit one = count_rank(shares, rank, reach, plane_bytes);
        most->host_bytes = size_most(most->host_bytes, one.host_bytes);
        most->device_bytes = size_most(most->device_bytes, one.device_bytes);
    }
    return true;
}
