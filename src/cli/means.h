/* Means: what a process has for several tasks at a time: threads, memory and devices. */
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
    size_t waiting, coming; /* tasks, and those that may yet come */
    size_t running, idle_threads;
};

/* Those that the options leave a process. */
bool means_open(struct means *means, const struct options *options, struct fault *fault);
void means_close(struct means *means);

/* How many of so many tasks, each like the first, to run at a time: as many as there are threads, and as
   memory has room for, or else devices, each of which serves one. */
size_t means_count(const struct means *means, const struct options *options, const struct entry *first,
                   size_t count);

/* For so many at a time; before any begins. */
void means_divide(struct means *means, struct entries *entries, size_t at_once);

/* So many more tasks wait, and so many may yet come; one of them begins, with its share of the threads; it is
   over. From any thread. */
void means_expect(struct means *means, size_t count, size_t coming);
void means_begin(struct means *means, struct entry *entry);
void means_end(struct means *means, const struct entry *entry);

#endif
