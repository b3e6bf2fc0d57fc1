/* Means: the threads, memory and devices that the tasks of a process share. */
#ifndef MEANS_H
#define MEANS_H

#include "base/diag.h"
#include "base/pool.h"
#include "pipeline/budget.h"
#include "entries.h"
#include "options.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

struct means {
    struct budget budget;
    struct pool *pool; /* that tasks run on */
    size_t at_once;    /* the most that run at the same time */

    /* Guarded by the mutex. */
    pthread_mutex_t mutex;
    size_t waiting, coming; /* tasks that wait, and tasks that may still come */
    size_t running, idle_threads;
};

/* Open the means that the options allow. */
bool means_open(struct means *means, const struct options *options, struct fault *fault);
void means_close(struct means *means);

/* How many of count tasks, all like the first, run at a time: as many as threads and memory allow, or one
   on each device that is named. */
size_t means_count(const struct means *means, const struct options *options, const struct entry *first,
                   size_t count);

/* Divide the memory among this many tasks at a time. Before any task begins. */
void means_divide(struct means *means, struct entries *entries, size_t at_once);

/* More tasks wait, and so many may still come; a task begins, with its share of the threads; it is over.
   From any thread. */
void means_expect(struct means *means, size_t count, size_t coming);
void means_begin(struct means *means, struct entry *entry);
void means_end(struct means *means, const struct entry *entry);

#endif
