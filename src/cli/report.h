/* Reports: what a command tells of a run once it is over. */
#ifndef REPORT_H
#define REPORT_H

#include "base/diag.h"
#include "pipeline/pipeline.h"
#include "options.h"

#include <stdio.h>

/* Figures of the samples, to the messages, where they were asked for and are no part of the report. Of a run
   among others they name it. */
void report_figures(const struct options *options, const struct pipeline *pipeline);

/* The report, to a stream, or to the messages where that is NULL. */
void report_run(FILE *stream, const struct options *options, const struct pipeline *pipeline);

/* To messages the fault itself says it: where the stream is NULL, this does nothing. */
void report_failure(FILE *stream, const struct options *options, const struct pipeline_request *request,
                    const struct fault *fault);

#endif
