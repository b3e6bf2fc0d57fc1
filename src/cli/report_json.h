/* Plans and reports of runs as JSON, each on a line. */
#ifndef REPORT_JSON_H
#define REPORT_JSON_H

#include "base/diag.h"
#include "pipeline/pipeline.h"
#include "options.h"

#include <stdio.h>

void report_json_plan(FILE *stream, const struct options *options, const struct pipeline *pipeline);

/* A run, and one that failed: the same members first. */
void report_json_run(FILE *stream, const struct options *options, const struct pipeline *pipeline);
void report_json_failure(FILE *stream, const struct options *options, const struct pipeline_request *request,
                         const struct fault *fault);

#endif
