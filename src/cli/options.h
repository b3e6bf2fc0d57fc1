/* The command line of both commands: from argv to plain requests. */
#ifndef OPTIONS_H
#define OPTIONS_H

#include "base/diag.h"
#include "base/program.h"
#include "model/stage.h"
#include "format/format.h"
#include "plan/job.h"
#include "plan/plan.h"
#include "run/run.h"
#include "words.h"

#include <stdbool.h>
#include <stddef.h>

enum action { ACTION_RUN, ACTION_EXPLAIN, ACTION_BENCH, ACTION_LIST, ACTION_HELP, ACTION_VERSION };

enum report_mode { REPORT_NONE, REPORT_TEXT, REPORT_JSON };

struct options {
    enum program program;
    enum action action;
    const char *const *inputs; /* operands, or the one of --input; "-" is standard input */
    size_t input_count;
    const char *input;  /* of --input */
    const char *output; /* NULL: standard output */
    struct stage_request *stages;
    const struct format *format, *out_format; /* NULL where the command line names none */
    struct source_request source;
    struct job_request job;
    struct plan_request plan;
    struct run_request run;
    int level;
    enum report_mode report;
    const char *report_path; /* NULL: standard error */
    const char *preview;     /* the path of a picture, or NULL */
    const char **words;      /* of the command line, as it was given */
    size_t word_count;
    bool bench_json, tune;
};

/* Parse and check all that can be checked without the input. Texts stay in argv. */
bool options_parse(int argc, char **argv, enum program program, struct options *options, struct fault *fault);
void options_free(struct options *options);

#endif
