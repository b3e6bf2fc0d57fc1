/* Trials: the steps of the last stage taken until they change little. */
#ifndef TRIAL_H
#define TRIAL_H

#include "base/history.h"
#include "plan/levels.h"
#include "journey.h"
#include "pass.h"

#include <stdbool.h>
#include <stdint.h>

struct trial {
    struct run *run;
    uint64_t steps;       /* taken */
    struct history looks; /* which whoever keeps the trial closes */
    double last_change;   /* RMS of the last step looked at; NaN before the first */
    bool unreached;       /* all steps were taken in vain */
};

/* Nothing has been tried yet; then, where there is such a stage, room for its looks. */
struct trial trial_of(struct run *run);
bool trial_open(struct trial *trial);

/* The mark at which it begins. */
struct levels_mark trial_start(const struct trial *trial);

/* From there on, all planes being in the fields, where they stay. */
bool trial_in_fields(struct trial *trial);

/* From there on, the planes being in a spool file, from spool to spool. The journey is left at a state that
   is not past the last step taken; `end` is the mark of that step, to which it has yet to go. */
bool trial_over_spools(struct trial *trial, struct journey *journey, struct levels_mark *end);

#endif
