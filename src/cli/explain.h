/* Explaining: the plan of a run, in words. */
#ifndef EXPLAIN_H
#define EXPLAIN_H

#include "plan/plan.h"
#include "record.h"

#include <stdio.h>

void explain_plan(FILE *stream, const struct plan *plan, const struct record_ends *ends);

#endif
