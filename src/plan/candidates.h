/* Candidates: the ways to run, in order of preference. */
#ifndef CANDIDATES_H
#define CANDIDATES_H

#include "schedule.h"

#include <stdbool.h>
#include <stddef.h>

/* A way to run: where planes stand meanwhile, and how much the levels take on at once. */
struct candidate {
    bool spooled;         /* passes follow a route over spool files; else there is one */
    bool unrolled;        /* but it has a single pass, from the source, which goes around the grid */
    bool source_in_spool; /* so is what the source holds */
    unsigned together;    /* the most steps that a level takes */
    bool lean;            /* by the routines that take the least memory */
};

/* In order of preference, but for what the scheduler knows of two that both fit. */
struct candidates {
    struct candidate list[SCHEDULE_TRIALS];
    size_t count;
};

void candidates_list(const struct schedule_request *request, struct candidates *candidates);

/* A third fewer steps at once; after a single one, none. */
unsigned candidates_fewer(unsigned together);

/* Whether steps are looked at, over all planes. */
bool candidates_look_at_all(const struct levels *levels);

/* Whether a single pass around the grid is a candidate: where an edge wraps, a part needs planes from both
   ends of the grid, but not all. */
bool candidates_go_round(const struct schedule_request *request);

#endif
