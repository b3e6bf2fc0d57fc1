/* Loans: planes that ranks lend each other from their spool files between passes. Each rank has the same
   portion of the planes in every pass; the planes that a pass reads beside it were computed by others in
   the pass before. */
#ifndef LOAN_H
#define LOAN_H

#include "plan/route.h"
#include "pass.h"
#include "stops.h"

#include <stdbool.h>
#include <stddef.h>

/* Whether the ranks have portions of the planes, and so must lend. */
bool loan_is_due(const struct run *run);

/* All ranks together, before a leg: bring the planes that it reads into the spool file. */
bool loan_planes(struct run *run, struct stops *stops, const struct route_leg *leg);

/* Changes of so many steps: room for those that a pass keeps of each of the rank's planes; and, all ranks
   together, their sums in the order of planes. */
double *loan_changes(const struct run *run, size_t steps);
bool loan_add_up(const struct run *run, const double *changes, size_t steps, double *sums);

#endif
