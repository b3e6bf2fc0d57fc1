/* Reports of runs as text. */
#ifndef REPORT_TEXT_H
#define REPORT_TEXT_H

#include "base/diag.h"
#include "plan/job.h"
#include "run/run.h"
#include "record.h"

#include <stdio.h>

void report_text_run(FILE *stream, const struct record *record);

/* A line. */
void report_text_failure(FILE *stream, const struct record_ends *ends, const struct fault *fault);

/* Names the run to which the lines that follow belong. */
void report_text_heading(FILE *stream, const struct record_ends *ends);
void report_text_stats(FILE *stream, const struct job *job, const struct run_summary *summary);

#endif
