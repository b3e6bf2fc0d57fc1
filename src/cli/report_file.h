/* The file of --report: the reports of all runs in their order, whole or not at all. */
#ifndef REPORT_FILE_H
#define REPORT_FILE_H

#include "base/diag.h"
#include "base/file_set.h"
#include "lines.h"

#include <stdbool.h>

struct report_file {
    struct file_out *file; /* NULL: reports are messages */
    bool joined;           /* it gets its name together with other files, and takes no part any more */
    bool lost;             /* a part of it: it will not be committed */
    struct fault fault;    /* why */
};

/* No path, no file. What cannot be written is refused here, before anything runs. */
bool report_file_open(struct report_file *report, const char *path, bool sync, struct fault *fault);

/* From any thread. Begin a part of the file: the report of one run, while other runs may be writing
   theirs. If the part has no stream, the report is a message, because no file is wanted or because memory
   is short. */
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
