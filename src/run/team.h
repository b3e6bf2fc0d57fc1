/* Teams: passes by several members, each of which has a share of the planes in its fields. The members are
   the GPUs of one process, or ranks with one device each. */
#ifndef TEAM_H
#define TEAM_H

#include "pass.h"

#include <stdbool.h>

/* A pass by all members of the run, in which planes come from the source, go to the sink, or stay; by one
   member alone it is pass_make. All ranks make it together. */
bool team_make(struct run *run, struct pass *pass);

/* Look at the extremes of the planes that the last pass left in this process. */
bool team_measure(struct run *run);

#endif
