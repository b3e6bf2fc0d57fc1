/* Crews: independent turns side by side, each by a thread of its own where one can be had. */
#ifndef CREW_H
#define CREW_H

#include "diag.h"

#include <stdbool.h>
#include <stddef.h>

struct crew;

/* One turn; false with its fault filled in. `crew` is NULL where turns are taken one after the other. */
typedef bool crew_work(void *context, size_t turn, struct crew *crew, struct fault *fault);

/* Turns 0 to count − 1. It returns once all are over; the first that failed is the one that is told. Threads
   that cannot be had are not missed: whoever is there takes their turns. */
bool crew_share(size_t count, crew_work *work, void *context, struct fault *fault);

/* The same one after the other, up to the first that fails. */
bool crew_queue(size_t count, crew_work *work, void *context, struct fault *fault);

/* Whether a turn has failed, so that others need not go on; theirs is then the same fault. NULL is fine. */
bool crew_has_failed(struct crew *crew, struct fault *fault);

#endif
