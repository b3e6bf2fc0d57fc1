/* Loans: planes that ranks lend each other out of their spool files between passes. Each rank has a portion
   of the planes in every pass; what the levels of a pass read beside it, others have computed in the one
   before.
 */
#ifndef LOAN_H
#define LOAN_H

#include "plan/route.h"
#include "pass.h"
#include "stops.h"

#include <stdbool.h>
#include <stddef.h>

/* Whether the planes are divided so. */
bool loan_is_due(const struct passes *all);

/* All ranks together, before a leg: what it reads of a spool file stands in it. */
bool loan_planes(struct passes *all, struct stops *stops, const struct route_leg *leg);

/* Changes of so many steps: room for those that a pass keeps of each of the rank's planes; and, all ranks
   together, their sums in the order of planes. */
double *loan_changes(const struct passes *all, size_t steps);
bool loan_add_up(const struct passes *all, const double *changes, size_t steps, double *sums);

#endif
