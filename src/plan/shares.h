/* Shares: the planes that each member of a team computes (a GPU of several, or a rank), and those beside them
   that it gets from other members. */
#ifndef SHARES_H
#define SHARES_H

#include "kernels/backend.h"

#include <stdbool.h>
#include <stddef.h>

/* Planes are counted from the first of the grid on; where the grid is unrolled, from the first of those that
   stand before it on, as in a pass over it. */
struct shares {
    size_t planes; /* of the grid */
    size_t count;  /* of devices; no more than planes */
    size_t first;  /* of those that are this process's, */
    size_t held;   /* how many these are: all, unless others are other ranks' */
    size_t halo;   /* the most planes beside its own that a device reads, on either side */
    bool direct;   /* devices read each other's memory without the host's */
    bool around;   /* an edge wraps along the planes: the grid is unrolled by the halo */
};

/* Planes that stand on either side of the grid where it is unrolled; else 0. */
size_t shares_overlap(const struct shares *shares);

/* The planes that are in both. */
struct range shares_common(struct range a, struct range b);

/* The planes that a device owns, and the most that any of them does. */
struct range shares_own(const struct shares *shares, size_t index);
size_t shares_most(const struct shares *shares);

/* The planes of a device and `reach` planes on either side, as far as there are any. */
struct range shares_reached(const struct shares *shares, size_t index, size_t reach);

/* The number of pieces in which a level computes its planes. If the inside is large enough, the borders are
   computed first, and exchanged while the inside is computed. If the level takes several steps at once, each
   piece computes planes beside it again. */
unsigned shares_pieces(size_t planes, size_t reach);

/* The first of some planes, as many as a single device owns: which device, and how it numbers them. */
struct range shares_owned(const struct shares *shares, struct range planes, size_t *owner);

/* Planes that go from the device that owns them to another one; or, in the same device, from one end of the
   grid to the other. */
struct shares_parcel {
    size_t from, to;
    struct range planes; /* by the numbers of their owner */
    size_t first;        /* the number of the first of them for the receiver */
};

/* A walk over all planes that a device gets: those before its own, and then those behind. */
struct shares_walk {
    const struct shares *shares;
    struct range sides[2];       /* that are still ahead */
    struct shares_parcel parcel; /* that it has come to */
};

/* Over the planes that are farther than `near` from the device's own, and no farther than `far`. */
struct shares_walk shares_walk_start(const struct shares *shares, size_t to, size_t near, size_t far);

/* Go on to the next parcel; false if there is none. */
bool shares_walk_next(struct shares_walk *walk);

/* Places that a parcel has in memory that both ranks see. A rank that gets the sign for a turn knows that the
   other one is done with the turn before. */
#define SHARES_TURNS 2

/* Bytes of the rank that needs the most. */
struct shares_transit {
    size_t host_bytes;
    size_t device_bytes; /* on a device that has memory of its own */
};

/* Bytes that planes in transit take: whole pages, since devices lock whole pages. */
size_t shares_parcel_bytes(size_t plane_bytes, size_t planes);

/* The most memory that a rank needs for planes in transit before a level of this reach, whichever ranks see
   each other's memory; false if that is too much to be counted. */
bool shares_count_transit(const struct shares *shares, size_t reach, size_t plane_bytes,
                          struct shares_transit *most);

#endif
