/* Levels: what planes go through on their way from the input to the output, and how far each level has to lag
   behind the planes that were read. */
#ifndef LEVELS_H
#define LEVELS_H

#include "model/stage.h"
#include "kernels/backend.h"
#include "lower.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LEVELS_FIELDS 4 /* the most that levels take turns with */

/* A stage's step, with the form in which each of its operations runs. */
struct levels_step {
    struct step step;
    struct form forms[LOWER_OPS];
    bool keeps; /* the step's input is needed until its end, whichever operation is the last that reads it */
};

/* The steps of all stages, as levels are made of them. */
struct levels {
    const struct stage *stages;
    const struct levels_step *steps; /* one a stage */
    size_t stage_count;
    size_t planes;     /* of the grid; of an unrolled one with those that stand beside it */
    unsigned together; /* the most steps that a level takes at once; 0: as many as its form takes */
    bool on_trial;     /* steps of a stage with --until may be taken in vain: each is a level of its own */
    bool unrolled; /* the last planes come before the first and the first after the last, so that no level has
                      to go around where an edge wraps */
    const uint64_t *stops; /* steps of the last stage at which a level ends, in any order */
    size_t stop_count;
};

/* The planes of the grid that a pass reads. At an open end there are more that it does not read: levels do
   fewer and fewer planes there, as far as those are that they need. At a closed one the grid ends, and edge
   rules act. */
struct levels_span {
    size_t begin, end;
    bool open_begin, open_end;
};

/* A mark between two steps: `step` steps of the stage are done. */
struct levels_mark {
    size_t stage;
    uint64_t step;
};

/* One call of a routine over all planes. When `fed` planes have been read, the level has done all but the
   last `lag` of them, or all planes when all have been read. */
struct level {
    size_t stage, op;
    unsigned steps;    /* that it takes at once */
    uint64_t behind;   /* of its stage, with these */
    size_t reach, lag; /* in planes; `planes` where all of them have to be there first */
    unsigned from, to; /* fields */
    unsigned input;    /* the step's */
    unsigned kept; /* what OP_COMBINE reads beside `from`; until a second chain begins, the step's input */
    bool ends_step;
};

/* Levels in order. */
struct levels_walk {
    const struct levels *levels;
    struct levels_mark at, end;
    size_t next_op;
    struct level level;           /* the one that the walk has come to */
    size_t input_lag, kept_lag;   /* of the level that wrote these fields */
    size_t behind[LEVELS_FIELDS]; /* how far the last reader of each field lags behind the planes that were
                                     read */
    size_t depth;                 /* the greatest of these so far: planes to be remembered */
    size_t seam;    /* the most planes that a level of several steps computes again where slabs meet, on
                       average of its steps */
    uint64_t count; /* of levels so far */
};

/* The marks before the first step and behind the last one. */
struct levels_mark levels_begin(void);
struct levels_mark levels_end(const struct levels *levels);
bool levels_is_same_mark(struct levels_mark a, struct levels_mark b);

/* The next mark at which a level can begin: past stages without steps of their own, and from the end of a
   stage to the start of the next. */
struct levels_mark levels_settle(const struct levels *levels, struct levels_mark mark);

/* Whether a mark, which is settled, is one of the stops, and its step of the last stage if it is. */
bool levels_stops_at(const struct levels *levels, struct levels_mark mark, uint64_t *step);

/* Whether there is a stop behind one step of a stage, and up to another. */
bool levels_stops_within(const struct levels *levels, size_t stage, uint64_t behind, uint64_t last);

/* The most steps that any level takes at once. */
unsigned levels_most_together(const struct levels *levels);

/* The number of steps from a mark on for which each level takes as many at once as it can: all on the way to
   the end of the stage, but for some last ones. */
uint64_t levels_steps_alike(const struct levels *levels, struct levels_mark at, struct levels_mark end);

/* The most planes on either side that any level reads beside those it computes, wherever the grid ends. */
size_t levels_widest_reach(const struct levels *levels);

/* A hash of how many steps levels take at once, and which planes they read. */
uint64_t levels_digest(const struct levels *levels);

/* The number of fields: one into which the file is read and from which it is written; one to compute into, if
   there are levels; one for a step's input, if later operations need it; and one for the result of a chain,
   if another chain follows in the step. */
size_t levels_field_count(const struct levels *levels);

/* Begin a walk from one mark to another; level.to is `field`, which holds the input. levels_walk_next goes on
   to the next level, and returns false if there is none. */
void levels_walk_start(struct levels_walk *walk, const struct levels *levels, struct levels_mark begin,
                       struct levels_mark end, unsigned field);
bool levels_walk_next(struct levels_walk *walk);

/* Whether an edge wraps along the planes anywhere; and, where one does, whether there are others, too. */
bool levels_wraps(const struct levels *levels);
bool levels_mix_ends(const struct levels *levels);

/* The planes that must be read so that the last level between two marks can compute some planes. */
struct levels_span levels_span(const struct levels *levels, struct levels_mark begin, struct levels_mark end,
                               struct range planes);

/* Planes that a level with such a lag can do once those up to `fed` have been read, beyond those that it
   could do before. */
struct range levels_ready(const struct levels_span *span, size_t lag, size_t before, size_t fed);

/* The walk at its end, with its depth, seam and count, found without going through all levels. If all planes
   are needed at once, it ends early. */
struct levels_walk levels_survey(const struct levels *levels, struct levels_mark begin,
                                 struct levels_mark end);

/* The end of a pass. */
struct levels_cut {
    struct levels_mark end;
    /* Planes beyond both ends of the grid that its steps need, where they go around; else 0. */
    size_t overlap;
};

/* The farthest mark up to `end` that a pass gets to from `begin` within such a depth; one step at least.
   Steps that go around the grid and steps that end at its edges are in one pass only where nothing is
   unrolled. */
struct levels_cut levels_cut(const struct levels *levels, struct levels_mark begin, struct levels_mark end,
                             size_t depth);

/* The least depth with which passes get through every stage, and the widest seam. */
struct levels_walk levels_survey_stages(const struct levels *levels);

#endif
