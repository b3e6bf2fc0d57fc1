/* Losses: samples that were not written as what they came to, in words; and the range that they were put
 * into. */
#ifndef LOSS_H
#define LOSS_H

#include "plan/job.h"
#include "run/run.h"

#include <stdio.h>

/* A note on each kind of loss, where something was lost, and on a range that nobody gave. */
void loss_note(const char *output, const struct job *job, const struct run_summary *summary);

/* The same as lines of a report. */
void loss_print(FILE *stream, const struct job *job, const struct run_summary *summary);

/* All counts, as members of an object; where none were made, null. */
void loss_print_json(FILE *stream, const struct job *job, const struct run_summary *summary);

#endif
