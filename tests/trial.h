/* Trials: one stage on one grid, in the ways whose turn it is, held against the reference. */
#ifndef TRIAL_H
#define TRIAL_H

#include "model/grid.h"
#include "model/sample.h"
#include "kernels/backend.h"
#include "fixture.h"
#include "ways.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct trial {
    const char *options; /* as on a command line of voxfilt */
    struct grid grid;
    enum work_type work;
    enum fill fill;
    bool narrow; /* samples are of this type, and fields may be */
    enum sample_type type;
    bool missing;     /* NaNs are samples that are missing, and there are many */
    bool seldom;      /* with missing: most parts of the grid have no NaN */
    bool alpha;       /* the last channel is alpha, apart from the others */
    bool large;       /* tiles of a GPU lie side by side */
    const char *rung; /* in ways of this kernel alone; NULL: of any */
    bool few;         /* such trials are few for what is compiled: a way takes all of them */
};

/* A number for the trial that is as good as random, and the same in every run. */
uint64_t trial_number(const struct trial *trial);

/* In the ways whose turn it is, or in all of them, of which those of the trial's kernel may take a part of
   its trials. The cut changes from trial to trial. */
void trial_check(const struct trial *trial, bool all_ways);

/* Trials that a way has served so far: in a work type under an edge rule, or under any. */
size_t trial_served(const struct way *way, enum work_type work, enum edge_rule edge);
size_t trial_served_in(const struct way *way, enum work_type work);

#endif
