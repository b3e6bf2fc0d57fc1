/* Reports of runs as JSON. */
#ifndef REPORT_JSON_H
#define REPORT_JSON_H

#include "base/diag.h"
#include "pipeline/pipeline.h"
#include "options.h"

#include <stdio.h>

/* A line, of a run and of one that failed: the same members first. */
void report_json_run(FILE *stream, const struct options *options, const struct pipeline *pipeline);
void report_json_failure(FILE *stream, const struct options *options, const struct pipeline_request *request,
                         const struct fault *fault);

#endif
