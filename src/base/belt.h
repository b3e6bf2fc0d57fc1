/* Belts: places that go round past stations, each in the hands of one thread at a time. What is handed on
   from station to station may be finished out of order; every station takes it in order. */
#ifndef BELT_H
#define BELT_H

#include "diag.h"

#include <stdbool.h>
#include <stddef.h>

/* Places are numbered from 0 and all stand at the first station to begin with. */
struct belt;

bool belt_create(struct belt **belt, size_t places, unsigned stations, struct fault *fault);

/* Nobody uses it any more; NULL is fine. */
void belt_destroy(struct belt *belt);

enum belt_outcome {
    BELT_TAKEN,
    BELT_EMPTY,    /* nothing has come, and the caller does not want to wait */
    BELT_FINISHED, /* nothing will come */
    BELT_STOPPED
};

/* Take the next place at a station, and wait for it. */
enum belt_outcome belt_take(struct belt *belt, unsigned station, size_t *place);

/* The same without waiting. */
enum belt_outcome belt_try(struct belt *belt, unsigned station, size_t *place);

/* Take the next place at whichever station of `first` to `last` has one, the later before the earlier. */
enum belt_outcome belt_take_any(struct belt *belt, unsigned first, unsigned last, unsigned *station,
                                size_t *place);

/* Whether taking would not wait. */
bool belt_has(struct belt *belt, unsigned station);

/* A place that was taken is ready for the next station; after the last station, for the first. */
void belt_hand_on(struct belt *belt, size_t place);

/* Nothing more will be handed on from the first station. */
void belt_finish(struct belt *belt);

/* Wait until every place that was handed on from the first station has come back; false once stopped. */
bool belt_drain(struct belt *belt);

/* Nobody waits any longer. */
void belt_stop(struct belt *belt);

#endif
