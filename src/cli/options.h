/* Options: what a command line asks for, as plain requests, and which options exclude each other. */
#ifndef OPTIONS_H
#define OPTIONS_H

#include "base/diag.h"
#include "format/format.h"
#include "plan/job.h"
#include "plan/plan.h"
#include "pipeline/pipeline.h"
#include "run/run.h"

#include <stdbool.h>
#include <stddef.h>

/* The commands that one binary is; a row of the options says which of them have it. */
enum program { PROGRAM_VOXFILT = 1, PROGRAM_IMGHEAT = 2 };

/* The name of a command, and the one that it is installed under. */
const char *program_name(enum program program);
const char *program_installed_name(enum program program);

enum action {
    ACTION_RUN,
    ACTION_EXPLAIN,
    ACTION_BENCH,
    ACTION_LIST,
    ACTION_COMPLETIONS,
    ACTION_HELP,
    ACTION_VERSION
};

/* Choices of options that are about the command itself; other choices are defined with what they choose. */
enum notation { NOTATION_TEXT, NOTATION_JSON };
enum shell { SHELL_BASH, SHELL_ZSH };

enum report_mode { REPORT_NONE, REPORT_TEXT, REPORT_JSON };

/* The files of --frames, whose names differ in a number. */
struct frames {
    const char *pattern; /* NULL: there are none */
    uint64_t every;      /* steps of the last stage from one file to the next */
};

/* All that a command line asks for. Texts point into argv. */
struct options {
    enum program program;
    enum action action;
    const char *const *inputs; /* operands, or the one of --input; "-" is standard input */
    size_t input_count;
    const char *input;                        /* of --input */
    const char *output;                       /* NULL: standard output */
    const char *mask;                         /* of all inputs; NULL: there is none */
    struct stage_request *stages;             /* of job.stage_count */
    const struct format *format, *out_format; /* NULL where the command line names none */
    struct source_request source;
    struct job_request job;
    struct plan_request plan;
    struct run_request run;
    int level;   /* of compression; −1: the format's default */
    int quality; /* of a JPEG; 0: its default */
    bool sync;   /* outputs are on the disk before they get their names */
    enum report_mode report;
    const char *report_path; /* NULL: standard error */
    const char *preview;     /* the path of a picture, or NULL */
    const char *plot;        /* likewise, of --bench or --until */
    struct pipeline_tee *tees;
    size_t tee_count;
    struct frames frames;
    const char **words; /* of the command line, as it was given */
    size_t word_count;
    bool json;           /* what is printed on standard output is JSON */
    enum shell shell;    /* of ACTION_COMPLETIONS */
    bool tune;           /* keep what a bench has found */
    struct peers *peers; /* NULL in a single process */
};

/* Set the defaults, and make room for as many stages and tees as the command line has words. options_free
   releases it, also after a failure. */
bool options_make(struct options *options, enum program program, int argc, char **argv, struct fault *fault);
void options_free(struct options *options);

/* Check options that are all parsed, with their stages settled, and fill in what one leaves to another. */
bool options_check(struct options *options, struct fault *fault);

#endif
