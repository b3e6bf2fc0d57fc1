/* Carriers: threads that bring batches of planes from a file into a ring, or from a ring into a file, while
   others compute. */
#ifndef CARRIER_H
#define CARRIER_H

#include "base/diag.h"
#include "kernels/backend.h"
#include "ring.h"

#include <stdbool.h>
#include <stddef.h>

/* The file that planes come from or go to. */
struct carrier_end {
    void *file;
    bool (*prepare)(void *file, struct fault *fault); /* before a thread moves planes there, one at a
                                                         time; may be NULL */
    bool (*move)(void *file, void *samples, struct range planes, struct fault *fault);
    bool (*finish)(void *file, struct fault *fault); /* before the last plane is passed on; may be NULL */
    void (*interrupt)(void *file);                   /* make a move that waits fail; may be NULL */
};

/* Seconds of all threads, and of each of them in the mean. */
struct carrier_work {
    double seconds, each;
};

struct carrier;

/* What is brought: all of the planes, in batches that lie within the part of them or outside it. */
struct carrier_load {
    struct range planes, part;
    size_t batch;
};

/* Fill the ring with the load. With more than one thread, moves run side by side and in any order. What fails
   stops the other ring, too, if there is one. */
bool carrier_fetch(struct carrier **carrier, struct ring *ring, struct ring *other,
                   const struct carrier_end *end, const struct carrier_load *load, unsigned threads,
                   struct fault *fault);

/* Empty the ring until it is finished. With more than one thread, moves run side by side and in any order. */
bool carrier_deliver(struct carrier **carrier, struct ring *ring, struct ring *other,
                     const struct carrier_end *end, unsigned threads, struct fault *fault);

/* Wait until its work is over: all of it, or what was under way if the ring has stopped. */
void carrier_join(struct carrier *carrier);

/* Stop the ring, whatever is under way, and wait. */
void carrier_abandon(struct carrier *carrier);

/* What its threads spent moving, once it has been joined; then release it. */
struct carrier_work carrier_close(struct carrier *carrier);

#endif
