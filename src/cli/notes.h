/* Notes: one line on standard error for each thing that a user may not expect of a run that goes well. */
#ifndef NOTES_H
#define NOTES_H

#include "base/diag.h"
#include "pipeline/pipeline.h"

#include <stdio.h>

/* Options that change nothing, whatever the input is; to a stream, or to the messages where that is NULL. */
void notes_options(FILE *stream, const struct pipeline *pipeline);

/* Before a run: assumptions about the input, and names that promise something else than is written. */
void notes_beforehand(const struct pipeline *pipeline);

/* The device failed, and the CPU takes its place. Prints nothing for STATUS_DONE. */
void notes_setback(const struct fault *setback);

/* After a run: samples that were lost, a change that was not reached. */
void notes_outcome(const struct pipeline *pipeline);

/* The losses of samples, and the range that they were put into, as lines of a report. */
void notes_print_losses(FILE *stream, const struct job *job, const struct run_summary *summary);

/* Fields of the input that the output does not have. */
void notes_left_out(const struct pipeline *pipeline);

#endif
