/* Entries: the inputs of a command, each with its task, and with what is told of it in its turn. */
#ifndef ENTRIES_H
#define ENTRIES_H

#include "base/diag.h"
#include "base/progress.h"
#include "pipeline/budget.h"
#include "lines.h"
#include "options.h"
#include "outputs.h"
#include "report_file.h"
#include "task.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

struct entry {
    struct task task;
    size_t threads; /* of those that the tasks share */
    bool over;
    enum status status;
    struct lines on_options, messages;
    struct lines report; /* for the file of --report */
};

struct entries {
    struct entry *list;
    size_t count;
    struct report_file *report;
    struct lines told_on_options;

    /* Guarded by the mutex. */
    pthread_mutex_t mutex;
    size_t told;
    struct progress progress;
};

/* An entry for each input, none begun. */
bool entries_open(struct entries *entries, const struct options *options, const struct outputs *outputs,
                  struct budget *budget, struct report_file *report, struct fault *fault);
void entries_close(struct entries *entries);

/* Run the task of one; what it says is kept. From any thread. */
void entries_run(const struct entries *entries, struct entry *entry);

/* One is over: tell of it once all before it are over, and then of those behind it that are. From any thread.
 */
void entries_end(struct entries *entries, struct entry *entry);

/* That of the first, in the order of the command line, that failed. */
enum status entries_status(const struct entries *entries);

#endif
