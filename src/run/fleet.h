/* Fleets: passes by several devices, each of which has a share of the planes in its fields and is handed what
   its levels read beside it. */
#ifndef FLEET_H
#define FLEET_H

#include "pass.h"

#include <stdbool.h>

/* A pass by all lanes of the run, in which planes come from the source, go to the sink, or stay; by one lane
   alone it is pass_make. Planes come and leave in their order, lane by lane. */
bool fleet_make(struct run *run, struct pass *pass);

/* Look at the extremes of all planes that the last pass left. */
bool fleet_measure(struct run *run);

#endif
