/* Reports: what a command tells of a run once it is over. */
#ifndef REPORT_H
#define REPORT_H

#include "options.h"
#include "plan.h"
#include "record.h"
#include "run.h"

#include <stdio.h>

/* Figures of the samples, where they were asked for, and the report. `among_others`: the figures have to name
   their run. */
void report_run(FILE *stream, const struct options *options, bool among_others, const struct plan *plan,
                const struct record_ends *ends, const struct run_summary *summary);

#endif
