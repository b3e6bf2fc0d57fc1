/* The file of --report: the reports of all runs in their order, whole or not at all. */
#ifndef REPORT_FILE_H
#define REPORT_FILE_H

#include "base/diag.h"
#include "base/file_out.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct report_file {
    struct file_out *file; /* NULL: reports are messages */
    bool lost;             /* a part of it: it will not be committed */
    struct fault fault;    /* why */
};

/* The report of a run, while others may be writing theirs. */
struct report_part {
    FILE *stream; /* NULL: the report is a message, since it is to be one or since memory is short */
    char *text;
    size_t size;
};

/* No path, no file. What cannot be written is refused here, before anything runs. */
bool report_file_open(struct report_file *report, const char *path, struct fault *fault);

/* From any thread. Begin a part of the file, and put it behind those that have been added. */
void report_part_begin(const struct report_file *report, struct report_part *part);

/* From one thread at a time. */
void report_file_add(struct report_file *report, struct report_part *part);

/* All parts have been added: the file gets its name, and is released. */
bool report_file_commit(struct report_file *report, struct fault *fault);

#endif
