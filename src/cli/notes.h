/* Notes: what people are told of a pipeline besides its outcome. */
#ifndef NOTES_H
#define NOTES_H

#include "base/diag.h"
#include "pipeline/pipeline.h"

#include <stdio.h>

/* Options that change nothing, whatever the input is; to a stream, or to the messages where that is NULL. */
void notes_options(FILE *stream, const struct pipeline *pipeline);

/* What to know of this input before the job is done: what was assumed, and what will not be what it looks
 * like. */
void notes_beforehand(const struct pipeline *pipeline);

/* That the CPU stands in for a device that failed; of STATUS_DONE nothing. */
void notes_setback(const struct fault *setback);

/* Of a run that was carried out: samples that were lost, a change that was not reached. */
void notes_outcome(const struct pipeline *pipeline);

/* The losses of samples, and the range that they were put into, as lines of a report. */
void notes_print_losses(FILE *stream, const struct job *job, const struct run_summary *summary);

/* What of the input is not in the output. */
void notes_left_out(const struct pipeline *pipeline);

#endif
