/* Entries: the inputs of a command, each with its task and with its messages, which are printed in its
   turn. */
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
    size_t threads; /* its part of those that the tasks share */
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

/* Run the task of an entry, and keep its messages. From any thread. */
void entries_run(const struct entries *entries, struct entry *entry);

/* An entry is over: print its messages once all before it are over, and then those of later ones that are
   over, too. From any thread. */
void entries_end(struct entries *entries, struct entry *entry);

/* The status of the first entry that failed, in the order of the command line. */
enum status entries_status(const struct entries *entries);

#endif
