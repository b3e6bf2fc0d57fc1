/* Plans and reports of runs as JSON, each one object on a line. */
#ifndef REPORT_JSON_H
#define REPORT_JSON_H

#include "base/diag.h"
#include "pipeline/pipeline.h"
#include "options.h"

#include <stdio.h>

/* The plan, for --explain=json. */
void report_json_plan(FILE *stream, const struct options *options, const struct pipeline *pipeline);

/* A run that is done, and one that failed, which has the first members of it alone. */
void report_json_run(FILE *stream, const struct options *options, const struct pipeline *pipeline);
void report_json_failure(FILE *stream, const struct options *options, const struct pipeline_request *request,
                         const struct fault *fault);

#endif
