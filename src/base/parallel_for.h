/* Parallel loops: independent turns side by side, each by a thread of its own where one can be had. */
#ifndef PARALLEL_FOR_H
#define PARALLEL_FOR_H

#include "diag.h"

#include <stdbool.h>
#include <stddef.h>

struct parallel_loop;

/* One turn; false with its fault filled in. `loop` is NULL where turns are taken one after the other. */
typedef bool parallel_for_body(void *context, size_t turn, struct parallel_loop *loop, struct fault *fault);

/* Turns 0 to count − 1. It returns once all are over; the first that failed is the one that is told. Threads
   that cannot be had are not missed: whoever is there takes their turns. */
bool parallel_for(size_t count, parallel_for_body *work, void *context, struct fault *fault);

/* The same one after the other, up to the first that fails. */
bool serial_for(size_t count, parallel_for_body *work, void *context, struct fault *fault);

/* Whether a turn has failed, so that others need not go on; theirs is then the same fault. NULL is fine. */
bool parallel_loop_has_failed(struct parallel_loop *loop, struct fault *fault);

#endif
