/* Workshops: pieces of work at numbered places. The caller puts them in and takes them out in turn; in
   between, whoever is free works on them: threads, and the caller rather than wait. */
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

/* Threads that were to be had. */
unsigned workshop_threads(const struct workshop *workshop);

/* The next place that is free; false where none is. */
bool workshop_claim(struct workshop *workshop, size_t *place);

/* What is at a place that was claimed waits for a worker. Places are put in the order in which they were
 * claimed. */
void workshop_put(struct workshop *workshop, size_t place);

/* The place that was put first of those that were not taken, of which there is one, once it has been worked
 * on. */
size_t workshop_take(struct workshop *workshop);

/* A place that was taken is free. Places are freed in the order in which they were taken. */
void workshop_vacate(struct workshop *workshop, size_t place);

/* Release, once threads have ended the work that they had begun; NULL is fine. */
void workshop_close(struct workshop *workshop);

#endif
