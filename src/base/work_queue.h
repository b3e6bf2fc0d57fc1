/* Work queues: rings of slots that pass through phases, each slot in the hands of one thread at a time. Slots
   may be passed on in any order, but every phase takes them in order. Ordered work is a queue with threads.
 */
#ifndef WORK_QUEUE_H
#define WORK_QUEUE_H

#include "diag.h"

#include <stdbool.h>
#include <stddef.h>

/* Slots are numbered from 0, and all begin at phase 0. */
struct work_queue;

/* Make a queue whose slots are all free: at phase 0, and taken by nobody. */
bool work_queue_create(struct work_queue **queue, size_t slots, unsigned phases, struct fault *fault);

/* Release the queue, once nobody uses it any more; NULL is fine. */
void work_queue_destroy(struct work_queue *queue);

enum work_queue_outcome {
    WORK_QUEUE_TAKEN,
    WORK_QUEUE_EMPTY,    /* nothing has come so far; only where the caller does not wait */
    WORK_QUEUE_FINISHED, /* nothing will come */
    WORK_QUEUE_STOPPED
};

/* Wait for the next slot of a phase, and take it. */
enum work_queue_outcome work_queue_take(struct work_queue *queue, unsigned phase, size_t *slot);

/* Take the next slot of a phase if it is there already. */
enum work_queue_outcome work_queue_try(struct work_queue *queue, unsigned phase, size_t *slot);

/* Wait for the next slot of any of the phases `first` to `last`, and take it, at the latest phase that has
 * one. */
enum work_queue_outcome work_queue_take_any(struct work_queue *queue, unsigned first, unsigned last,
                                            unsigned *phase, size_t *slot);

/* Whether taking would not wait. */
bool work_queue_has(struct work_queue *queue, unsigned phase);

/* Pass a slot that was taken on to the next phase; from the last, back to phase 0. */
void work_queue_pass_on(struct work_queue *queue, size_t slot);

/* Announce that no more slots will leave phase 0. */
void work_queue_finish(struct work_queue *queue);

/* Wait until every slot that has left phase 0 is back there; false if the queue is stopped. */
bool work_queue_drain(struct work_queue *queue);

/* Make every call that waits, and every later one, return WORK_QUEUE_STOPPED. */
void work_queue_stop(struct work_queue *queue);

/* ---- ordered work: the caller puts pieces in and takes them out in order; threads do them in any order ----
 */

struct ordered_work;

/* Do the piece of work in a slot. Worker 0 is the caller, others are threads. */
typedef void ordered_work_body(void *context, size_t slot, unsigned worker);

/* The caller counts as one of the workers: it works when it would have to wait. If no threads start, it does
 * all. */
bool ordered_work_open(struct ordered_work **ordered, size_t slots, unsigned workers, ordered_work_body *work,
                       void *context, struct fault *fault);

/* The number of threads that have started. */
unsigned ordered_work_threads(const struct ordered_work *ordered);

/* Claim the next free slot, to fill it; false if there is none. */
bool ordered_work_claim(struct ordered_work *ordered, size_t *slot);

/* Give a filled slot to the workers, in the order of claims. */
void ordered_work_put(struct ordered_work *ordered, size_t slot);

/* Wait until the oldest slot that was put is done, and take it. There must be one. */
size_t ordered_work_take(struct ordered_work *ordered);

/* Free a slot that was taken, in the order of taking. */
void ordered_work_vacate(struct ordered_work *ordered, size_t slot);

/* Stop after the pieces that threads have begun, and release; NULL is fine. */
void ordered_work_close(struct ordered_work *ordered);

#endif
