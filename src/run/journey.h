/* Journeys: the legs of a route made one after another, from the source by way of spool files into the sink.
 */
#ifndef JOURNEY_H
#define JOURNEY_H

#include "plan/levels.h"
#include "plan/route.h"
#include "pass.h"
#include "stops.h"

#include <stdbool.h>

struct journey {
    struct run *run;
    struct stops *stops;
    struct route route;
};

struct journey journey_start(struct run *run, struct stops *stops);

/* All the way to a mark, whose planes then stand in a spool file. */
bool journey_to_spool(struct journey *journey, struct levels_mark end);

/* To the end, and into the sink: by way of a spool file where all of the result must be seen first. */
bool journey_to_sink(struct journey *journey, struct levels_mark end);

/* One pass, which the route has yet to take; of its steps, changes are added up if they are not NULL, and of
   its planes the extremes may be asked for. */
bool journey_make(struct journey *journey, const struct route_pass *next, double *changes, bool measures);

#endif
