/* Workshops: pieces of work at numbered places. The caller puts pieces in and takes them out in order. In
   between, threads work on them in any order, and so does the caller when it would have to wait. */
#ifndef WORKSHOP_H
#define WORKSHOP_H

#include "diag.h"

#include <stdbool.h>
#include <stddef.h>

struct workshop;

/* Work on what was put at a place; worker 0 is the caller, others are threads. */
typedef void workshop_work(void *context, size_t place, unsigned worker);

/* The caller counts as one of the workers. Where threads cannot be had, it does their work. */
bool workshop_open(struct workshop **workshop, size_t places, unsigned workers, workshop_work *work,
                   void *context, struct fault *fault);

/* The number of threads that could be started. */
unsigned workshop_threads(const struct workshop *workshop);

/* Claim the next free place; false if there is none. */
bool workshop_claim(struct workshop *workshop, size_t *place);

/* Let workers have a claimed place. Places are put in the order in which they were claimed. */
void workshop_put(struct workshop *workshop, size_t place);

/* Wait for the work on the oldest place that was put and not taken, and take it. There must be one. */
size_t workshop_take(struct workshop *workshop);

/* Free a place that was taken. Places are freed in the order in which they were taken. */
void workshop_vacate(struct workshop *workshop, size_t place);

/* Release, once threads have ended the work that they had begun; NULL is fine. */
void workshop_close(struct workshop *workshop);

#endif
