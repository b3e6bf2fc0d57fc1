/* Reports: what a command prints of a run once it is over, and the file of --report. */
#ifndef REPORT_H
#define REPORT_H

#include "base/diag.h"
#include "base/file_set.h"
#include "pipeline/pipeline.h"
#include "options.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Print the figures of --stats among the messages, unless the report has them. If there are several inputs,
   the run is named before them. */
void report_figures(const struct options *options, const struct pipeline *pipeline);

/* Print the report of a run, to a stream or, if that is NULL, among the messages. */
void report_run(FILE *stream, const struct options *options, const struct pipeline *pipeline);

/* Print the report of a run that failed. If the stream is NULL this does nothing: the fault itself is among
   the messages. */
void report_failure(FILE *stream, const struct options *options, const struct pipeline_request *request,
                    const struct fault *fault);

/* Text that is kept until its turn comes. */
struct lines {
    FILE *stream; /* while they are written; NULL if memory is short, and then they are printed at once */
    char *text;
    size_t size;
    bool torn; /* memory did not suffice for all of it */
};

/* Begin, end and release them. Lines that never began may be ended and released, too. */
void lines_begin(struct lines *lines);
void lines_end(struct lines *lines);
void lines_free(struct lines *lines);

/* Print them. */
void lines_tell(struct lines *lines);

/* Print them unless they equal those printed last: what many inputs would repeat is printed once. */
void lines_tell_new(struct lines *lines, struct lines *told);

/* The file of --report: the reports of all runs in their order, whole or not at all. */
struct report_file {
    struct file_out *file; /* NULL: reports are messages */
    bool joined;           /* it gets its name together with other files, and takes no part any more */
    bool lost;             /* a part of it: it will not be committed */
    struct fault fault;    /* why */
};

/* No path, no file. What cannot be written is refused here, before anything runs. */
bool report_file_open(struct report_file *report, const char *path, bool sync, struct fault *fault);

/* Begin a part of the file: the report of one run. Several threads may write parts at the same time. If the
   part has no stream, the report is a message, because no file is wanted or because memory is short. */
void report_file_begin_part(const struct report_file *report, struct lines *part);

/* End the part, and append it to those that have been added. From one thread at a time. */
void report_file_add(struct report_file *report, struct lines *part);

/* All parts have been added: add the file to those that get their names together, unless it cannot be
   written, which is told when it is committed. If they do not get them, begin it again. */
bool report_file_join(struct report_file *report, struct file_set *set, struct fault *fault);
void report_file_restart(struct report_file *report, const char *path, bool sync);

/* All parts have been added: the file gets its name, unless it has it, and is released. */
bool report_file_commit(struct report_file *report, struct fault *fault);

#endif
