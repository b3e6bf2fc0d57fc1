/* Reports: what a command tells of a run once it is over. */
#ifndef REPORT_H
#define REPORT_H

#include "base/diag.h"
#include "options.h"
#include "record.h"

#include <stdbool.h>
#include <stdio.h>

/* Figures of the samples go to the messages, where they were asked for and are no part of the report, and the
   report to a stream, or to the messages where that is NULL. `among_others`: the figures have to name their
   run. */
void report_run(FILE *stream, bool among_others, const struct record *record);

/* To messages the fault itself says it: where the stream is NULL, this does nothing. */
void report_failure(FILE *stream, const struct options *options, const struct record_ends *ends,
                    const struct fault *fault);

#endif
