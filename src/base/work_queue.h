/* Work queues: slots that go round past phases, each in the hands of one thread at a time. What is handed on
   from phase to phase may be finished out of order; every phase takes it in order. */
#ifndef WORK_QUEUE_H
#define WORK_QUEUE_H

#include "diag.h"

#include <stdbool.h>
#include <stddef.h>

/* Places are numbered from 0 and all stand at the first phase to begin with. */
struct work_queue;

bool work_queue_create(struct work_queue **queue, size_t slots, unsigned phases, struct fault *fault);

/* Nobody uses it any more; NULL is fine. */
void work_queue_destroy(struct work_queue *queue);

enum work_queue_outcome {
    WORK_QUEUE_TAKEN,
    WORK_QUEUE_EMPTY,    /* nothing has come, and the caller does not want to wait */
    WORK_QUEUE_FINISHED, /* nothing will come */
    WORK_QUEUE_STOPPED
};

/* Take the next slot at a phase, and wait for it. */
enum work_queue_outcome work_queue_take(struct work_queue *queue, unsigned phase, size_t *slot);

/* The same without waiting. */
enum work_queue_outcome work_queue_try(struct work_queue *queue, unsigned phase, size_t *slot);

/* Take the next slot at whichever phase of `first` to `last` has one, the later before the earlier. */
enum work_queue_outcome work_queue_take_any(struct work_queue *queue, unsigned first, unsigned last,
                                            unsigned *phase, size_t *slot);

/* Whether taking would not wait. */
bool work_queue_has(struct work_queue *queue, unsigned phase);

/* A slot that was taken is ready for the next phase; after the last phase, for the first. */
void work_queue_pass_on(struct work_queue *queue, size_t slot);

/* Nothing more will be handed on from the first phase. */
void work_queue_finish(struct work_queue *queue);

/* Wait until every slot that was handed on from the first phase has come back; false once stopped. */
bool work_queue_drain(struct work_queue *queue);

/* Nobody waits any longer. */
void work_queue_stop(struct work_queue *queue);

#endif
