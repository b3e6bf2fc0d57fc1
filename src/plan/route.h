/* Routes: the passes that take planes from the source through spool files into the sink, one after another.
 */
#ifndef ROUTE_H
#define ROUTE_H

#include "levels.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where planes stand between passes. */
enum route_stop { ROUTE_SOURCE, ROUTE_FIRST_SPOOL, ROUTE_SECOND_SPOOL, ROUTE_SINK };

/* A route, as far as it has been followed. */
struct route {
    const struct levels *levels;
    size_t depth;          /* of passes, in planes */
    bool random;           /* the source gives planes in any order */
    struct levels_mark at; /* steps that are behind */
    enum route_stop where; /* the planes stand */
};

/* One pass: the steps that it takes, and where it reads and writes planes. */
struct route_pass {
    struct levels_mark begin, end;
    enum route_stop from, to;
    size_t overlap; /* planes that are read once more, beyond either end of the grid */
};

/* A route that begins at the source, with passes of at most such a depth. */
struct route route_start(const struct levels *levels, size_t depth, bool random);

/* The next pass on the way to a mark; the last one puts planes into the sink, or like all others into a
 * spool file. */
struct route_pass route_next(const struct route *route, struct levels_mark end, bool into_sink);

/* Go on behind a pass that has been made. */
void route_take(struct route *route, const struct route_pass *pass);
bool route_is_at(const struct route *route, struct levels_mark end);

enum route_stop route_other_spool(enum route_stop spool);

/* The demands on a route besides getting to the end. */
struct route_way {
    bool on_trial; /* steps are taken before anyone knows how many are to be */
    bool stops;    /* the result stands in a spool file before it goes into the sink */
};

/* The number of passes from source to sink, and what they need. Where steps are taken on trial, these are the
   most. */
struct route_cost {
    uint64_t passes;
    double again; /* planes that are read once more, by all of them */
    size_t spools;
};

struct route_cost route_survey(const struct levels *levels, size_t depth, bool random, struct route_way way);

#endif
