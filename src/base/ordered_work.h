/* Ordered work: pieces of work at numbered slots. The caller puts pieces in and takes them out in order. In
   between, threads work on them in any order, and so does the caller when it would have to wait. */
#ifndef ORDERED_WORK_H
#define ORDERED_WORK_H

#include "diag.h"

#include <stdbool.h>
#include <stddef.h>

struct ordered_work;

/* Work on what was put at a slot; worker 0 is the caller, others are threads. */
typedef void ordered_work_body(void *context, size_t slot, unsigned worker);

/* The caller counts as one of the workers. Where threads cannot be had, it does their work. */
bool ordered_work_open(struct ordered_work **ordered, size_t slots, unsigned workers, ordered_work_body *work,
                       void *context, struct fault *fault);

/* The number of threads that could be started. */
unsigned ordered_work_threads(const struct ordered_work *ordered);

/* Claim the next free slot; false if there is none. */
bool ordered_work_claim(struct ordered_work *ordered, size_t *slot);

/* Let workers have a claimed slot. Places are put in the order in which they were claimed. */
void ordered_work_put(struct ordered_work *ordered, size_t slot);

/* Wait for the work on the oldest slot that was put and not taken, and take it. There must be one. */
size_t ordered_work_take(struct ordered_work *ordered);

/* Free a slot that was taken. Places are freed in the order in which they were taken. */
void ordered_work_vacate(struct ordered_work *ordered, size_t slot);

/* Release, once threads have ended the work that they had begun; NULL is fine. */
void ordered_work_close(struct ordered_work *ordered);

#endif
