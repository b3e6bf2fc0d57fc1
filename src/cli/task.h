/* Tasks: one input to one output, opened, planned, run and told. */
#ifndef TASK_H
#define TASK_H

#include "base/diag.h"
#include "base/file.h"
#include "format/format.h"
#include "budget.h"
#include "options.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct task {
    const struct options *options;
    const char *input, *output; /* as file_open_input and file_open_output take them */
    struct plan_request plan;
    struct run_request run;
    FILE *report;          /* where the report goes; NULL: to the messages */
    FILE *on_options;      /* likewise notes on options whatever the input is */
    struct budget *budget; /* NULL: it runs alone */
    uint64_t share; /* of the budget's memory: more is taken where less means more passes over the data */
};

/* A task that runs alone, by the options as they are. */
struct task task_alone(const struct options *options, const char *input, const char *output);

/* What was carried out ends with STATUS_DONE or, its output complete, with STATUS_UNREACHED;
   the status of what failed is the fault's. */
bool task_run(const struct task *task, enum status *status, struct fault *fault);

/* Whether the task's share is enough for it on the CPU, as far as the input's header tells; nothing else is
 * read. */
bool task_fits_share(const struct task *task);

/* The format that an input must have: pictures for imgheat, anything else for voxfilt. */
const struct format *task_format(const struct options *options, struct file_in *file, struct fault *fault);

#endif
