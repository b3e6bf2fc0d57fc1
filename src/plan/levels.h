/* Chains: the levels that planes pass through on their way from the input to the output, and how far each has
   to lag behind the planes that were read. */
#ifndef CHAIN_H
#define CHAIN_H

#include "model/stage.h"
#include "kernels/backend.h"
#include "lower.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CHAIN_FIELDS 3 /* the most that a chain takes turns with */

/* A stage's step, with the form in which each of its operations runs. */
struct chain_step {
    struct step step;
    struct form forms[LOWER_OPS];
    bool keeps; /* the step's input is needed until its end */
};

struct chain {
    const struct stage *stages;
    const struct chain_step *steps; /* one a stage */
    size_t stage_count;
    size_t planes;     /* of the grid; of an unrolled one with those that stand beside it */
    unsigned together; /* the most steps that a level takes at once; 0: as many as its form takes */
    bool on_trial;     /* steps of a stage with --until may be taken in vain: each is a level of its own */
    bool unrolled; /* the last planes come before the first and the first after the last, so that no level has
                      to go around where an edge wraps */
};

/* The planes of a chain that a pass reads. At an open end there are more that it does not read: levels do
   fewer and fewer planes there, as far as those are that they need. At a closed one the grid ends, and edge
   rules act. */
struct chain_span {
    size_t begin, end;
    bool open_begin, open_end;
};

/* Between two steps: so many of a stage are behind. */
struct chain_place {
    size_t stage;
    uint64_t step;
};

/* One call of a routine over all planes. When `fed` planes have been read, the level has done all but the
   last `lag` of them, or all planes when all have been read. */
struct level {
    size_t stage, op;
    unsigned steps;          /* that it takes at once */
    uint64_t behind;         /* of its stage, with these */
    size_t reach, lag;       /* in planes; `planes` where all of them have to be there first */
    unsigned from, to, kept; /* fields; kept is the step's input */
    bool ends_step;
};

/* Levels in order. */
struct chain_walk {
    const struct chain *chain;
    struct chain_place at, end;
    size_t next_op;
    struct level level;          /* the one that the walk has come to */
    size_t behind[CHAIN_FIELDS]; /* how far behind the planes read the last reader of what a field holds is */
    size_t depth; /* how far behind any reader of any level so far is: planes to be remembered */
    size_t seam;  /* the most planes that a level of several steps computes again where slabs meet, on
                     average of its steps */
    uint64_t levels;
};

struct chain_place chain_begin(void);
struct chain_place chain_end(const struct chain *chain);
bool chain_is_same_place(struct chain_place a, struct chain_place b);

/* Past stages without steps of their own, and from the end of a stage to the start of the next. */
struct chain_place chain_settle(const struct chain *chain, struct chain_place place);

/* The most steps that a level of the chain takes at once. */
unsigned chain_most_together(const struct chain *chain);

/* Of the steps of a stage from a place on, on the way to an end, those that levels take as many at once as
   they can: all but some last ones. */
uint64_t chain_steps_alike(const struct chain *chain, struct chain_place at, struct chain_place end);

/* One field to read and one to write; a third where a step of several operations needs its input until its
 * end. */
size_t chain_field_count(const struct chain *chain);

/* Walk from one place to another; the input stands in a field. */
void chain_walk_start(struct chain_walk *walk, const struct chain *chain, struct chain_place begin,
                      struct chain_place end, unsigned field);
bool chain_walk_next(struct chain_walk *walk);

/* The field of the last level, or of the input. */
unsigned chain_walk_field(const struct chain_walk *walk);

/* Whether an edge wraps along the planes anywhere. */
bool chain_wraps(const struct chain *chain);

/* What has to be read for some planes of the last level between two places. */
struct chain_span chain_span(const struct chain *chain, struct chain_place begin, struct chain_place end,
                             struct range planes);

/* Planes that a level with such a lag can do once those up to `fed` have been read, beyond those that it
   could do before. */
struct range chain_ready(const struct chain_span *span, size_t lag, size_t before, size_t fed);

/* What a walk between two places needs; it ends early where it has seen that all planes are needed at once.
 */
struct chain_walk chain_survey(const struct chain *chain, struct chain_place begin, struct chain_place end);

/* How far a pass gets. */
struct chain_cut {
    struct chain_place end;
    size_t
        overlap; /* planes beyond both ends of the grid that its steps need, where they go around; else 0 */
};

/* The farthest place up to `end` that a pass gets to from `begin` within such a depth; one step at least.
   Steps that go around the grid and steps that end at its edges are in one pass only where nothing is
   unrolled. */
struct chain_cut chain_cut(const struct chain *chain, struct chain_place begin, struct chain_place end,
                           size_t depth);

/* What gets through every stage: the depth of the deepest of its steps, or of those that are taken at once,
   and the widest seam. */
struct chain_walk chain_survey_levels(const struct chain *chain);

#endif
