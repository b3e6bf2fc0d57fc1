/* Reports of runs as JSON. */
#ifndef REPORT_JSON_H
#define REPORT_JSON_H

#include "plan.h"
#include "record.h"
#include "run.h"

#include <stdio.h>

/* A line. */
void report_json_summary(FILE *stream, const struct plan *plan, const struct record_ends *ends,
                         const struct run_summary *summary);

#endif
