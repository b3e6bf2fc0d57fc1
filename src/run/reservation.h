/* Reservations: the room that a sink takes for what a run will write, while others read and compute. */
#ifndef RESERVATION_H
#define RESERVATION_H

#include "base/diag.h"
#include "carrier.h"

#include <pthread.h>
#include <stdbool.h>

struct reservation {
    struct carrier_end end;
    FILE *messages; /* where those of the thread that began it go */
    pthread_t thread;
    bool runs;             /* the thread does */
    pthread_mutex_t mutex; /* of what follows */
    bool failed;
    struct fault fault;
};

/* Prepare a carrier's end, which has nothing to prepare then; beside the caller where a thread is to be had.
   An end that had nothing to prepare stays as it is. */
void reservation_begin(struct reservation *reservation, struct carrier_end *end);

/* Whether it has failed so far: no need to compute what has no place. */
bool reservation_has_failed(struct reservation *reservation, struct fault *fault);

/* Wait for it; false where it failed. */
bool reservation_end(struct reservation *reservation, struct fault *fault);

#endif
