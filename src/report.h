/* What the commands tell: the plan, the summary of a run, statistics, and the lists. */
#ifndef REPORT_H
#define REPORT_H

#include "options.h"
#include "plan.h"
#include "run.h"

#include <stdio.h>

/* The ends of a run as messages name them. */
struct report_ends {
    const char *input, *output;
};

void report_plan(FILE *stream, const struct plan *plan, const struct report_ends *ends);
void report_summary(FILE *stream, enum report_mode mode, const struct plan *plan,
                    const struct report_ends *ends, const struct run_summary *summary);

/* Names the run to which the lines that follow belong. */
void report_heading(FILE *stream, const struct report_ends *ends);
void report_stats(FILE *stream, const struct job *job, const struct run_summary *summary);

/* What --list prints: filters, rungs, formats, devices. */
void report_list(FILE *stream);

#endif
