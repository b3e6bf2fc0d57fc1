/* Losses in words: samples that were not written as what they came to, and the range that they were put into.
 */
#ifndef LOSS_TEXT_H
#define LOSS_TEXT_H

#include "pipeline/loss.h"
#include "plan/job.h"
#include "run/run.h"

#include <stdio.h>

/* A note on a range that nobody gave. */
void loss_text_note_range(const char *output, const struct job *job, const struct run_summary *summary);

/* A note on each kind of loss, where something was lost. */
void loss_text_note(const char *output, const struct loss *loss);

/* The same as lines of a report. */
void loss_text_print(FILE *stream, const struct job *job, const struct run_summary *summary);

#endif
