/* Reports of runs as JSON. */
#ifndef REPORT_JSON_H
#define REPORT_JSON_H

#include "base/diag.h"
#include "options.h"
#include "record.h"

#include <stdio.h>

/* A line, of a run and of one that failed: the same members first. */
void report_json_run(FILE *stream, const struct record *record);
void report_json_failure(FILE *stream, const struct options *options, const struct record_ends *ends,
                         const struct fault *fault);

#endif
