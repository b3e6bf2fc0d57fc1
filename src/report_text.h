/* Reports of runs as text. */
#ifndef REPORT_TEXT_H
#define REPORT_TEXT_H

#include "job.h"
#include "plan.h"
#include "record.h"
#include "run.h"

#include <stdio.h>

void report_text_summary(FILE *stream, const struct plan *plan, const struct record_ends *ends,
                         const struct run_summary *summary);

/* Names the run to which the lines that follow belong. */
void report_text_heading(FILE *stream, const struct record_ends *ends);
void report_text_stats(FILE *stream, const struct job *job, const struct run_summary *summary);

#endif
