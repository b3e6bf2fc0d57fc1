/* Teams: passes by several ranks, each of which has a share of the planes in its fields; what a level reads
   beside them comes from the ranks that have computed it. */
#ifndef TEAM_H
#define TEAM_H

#include "pass.h"

#include <stdbool.h>

/* Whether the planes are shared so. */
bool team_is_due(const struct run *run);

/* A pass by all ranks together, in which planes come from the source, go to the sink, or stay. */
bool team_make(struct run *run, const struct pass *pass);

/* Look at the extremes of the planes that the last pass left here. */
bool team_measure(struct run *run);

#endif
