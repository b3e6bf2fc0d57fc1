/* Reports of runs as text. */
#ifndef REPORT_TEXT_H
#define REPORT_TEXT_H

#include "base/diag.h"
#include "pipeline/pipeline.h"

#include <stdio.h>

void report_text_run(FILE *stream, const struct pipeline *pipeline);

/* A line. */
void report_text_failure(FILE *stream, const struct pipeline_request *request, const struct fault *fault);

/* Names the run to which the lines that follow belong. */
void report_text_heading(FILE *stream, const struct pipeline_request *request);
void report_text_stats(FILE *stream, const struct pipeline *pipeline);

#endif
