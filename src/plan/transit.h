/* Transits: the memory in which planes that ranks hand over to each other stand on their way. */
#ifndef TRANSIT_H
#define TRANSIT_H

#include "shares.h"

#include <stdbool.h>
#include <stddef.h>

/* Places that a parcel has in memory that both ranks see. A rank that gets the sign for a turn knows that the
   other one is done with the turn before. */
#define TRANSIT_TURNS 2

/* Of the rank that has the most. */
struct transit {
    size_t host_bytes;
    size_t device_bytes; /* on a device that has memory of its own */
};

/* Bytes of so many planes in transit: whole pages, since devices lock whole pages. */
size_t transit_parcel_bytes(size_t plane_bytes, size_t planes);

/* The most that a rank needs before a level of such a reach, whichever ranks see each other's memory; false
   if that is too much to be counted. */
bool transit_count(const struct shares *shares, size_t reach, size_t plane_bytes, struct transit *most);

#endif
