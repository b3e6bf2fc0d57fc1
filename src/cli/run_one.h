/* One run: one input to one output, as a command line asks for it, and the messages and reports on it. */
#ifndef RUN_ONE_H
#define RUN_ONE_H

#include "base/diag.h"
#include "pipeline/pipeline.h"
#include "options.h"
#include "report.h"

#include <stdbool.h>
#include <stdio.h>

/* One run of a command. */
struct run_one {
    const struct options *options;
    struct pipeline_request request;
    FILE *report;                    /* where the report goes; NULL: among the messages */
    struct report_file *report_file; /* that holds the report of this run alone, and gets its name together
                                        with the outputs; else NULL */
    FILE *on_options; /* where notes on options go that do not depend on the input, so that several inputs
                         need not repeat them; NULL: among the messages */
};

/* Whether an input is a regular file. Any other gives its bytes only once, so nobody looks at it
   beforehand. */
bool run_one_reads_file(const char *input);

/* The request for a run of one input, as if it were the only one. */
struct pipeline_request run_one_request(const struct options *options, const char *input, const char *output);

/* Run or, by the options, explain it, and tell what there is to tell; also of a failure, whose status it ends
   with then. */
enum status run_one(const struct run_one *one);

#endif
