/* Input and output beside computing: threads that read batches of planes from a file into a ring of buffers,
   or write them from a ring into a file, while others compute.

   A ring's buffers go round between the thread that fills them and the one that empties them. One of the two
   is a device, which may not be done with a buffer yet when it hands it on. */
#ifndef IO_H
#define IO_H

#include "base/diag.h"
#include "kernels/backend.h"
#include "plan/lane.h"

#include <stdbool.h>
#include <stddef.h>

struct io_ring;

/* A buffer, and the planes that it holds or is to hold. */
struct io_slot {
    struct staging *staging;
    struct range planes;
};

/* Create a ring of `count` buffers, which the device can copy from and into quickly. */
bool io_ring_create(struct io_ring **ring, const struct lane *lane, size_t count, size_t bytes,
                    struct fault *fault);
void io_ring_destroy(struct io_ring *ring);

/* Pass a buffer on to the other side: as full, or as free. */
void io_ring_pass_on(struct io_ring *ring, struct io_slot *slot);

/* For the side that fills: get the next free buffer. Buffers are emptied in the order in which they were
   claimed, whatever the order in which they become full. False with the ring's fault once it has stopped. */
bool io_ring_claim(struct io_ring *ring, struct io_slot **slot, struct fault *fault);

/* For the side that empties: wait for the oldest full buffer; and whether taking would not wait. */
bool io_ring_take(struct io_ring *ring, struct io_slot **slot, struct fault *fault);
bool io_ring_has_full(struct io_ring *ring);

/* Wait until the device is done with the buffer. Who claims or takes one that the device had does so before
   touching its samples. */
bool io_ring_await(struct io_ring *ring, struct io_slot *slot, struct fault *fault);

/* Seconds that the device spent on the buffers that were awaited. */
double io_ring_seconds(struct io_ring *ring);

/* Nothing more will be filled: after the last full buffer, taking gives a slot of no planes. */
void io_ring_finish(struct io_ring *ring);

/* Wait until all that was filled has been emptied, and the device is done with all of it. */
bool io_ring_drain(struct io_ring *ring, struct fault *fault);

/* ---- threads ---- */

/* The file that planes come from or go to. */
struct io_end {
    void *file;
    bool (*prepare)(void *file, struct fault *fault); /* before a thread moves planes there, one at a
                                                         time; may be NULL */
    bool (*move)(void *file, void *samples, struct range planes, struct fault *fault);
    bool (*finish)(void *file, struct fault *fault); /* before the last plane is passed on; may be NULL */
    void (*interrupt)(void *file);                   /* make a move that waits fail; may be NULL */
};

/* Seconds of all threads, and of each of them in the mean. */
struct io_work {
    double seconds, each;
};

struct io_threads;

/* The planes that a reader brings, in batches that lie either within the part of them or outside it. */
struct io_load {
    struct range planes, part;
    size_t batch;
};

/* Fill the ring with the load. With more than one thread, moves run side by side and in any order. What fails
   stops the other ring, too, if there is one. */
bool io_threads_read(struct io_threads **threads, struct io_ring *ring, struct io_ring *other,
                     const struct io_end *end, const struct io_load *load, unsigned count,
                     struct fault *fault);

/* Empty the ring until it is finished. With more than one thread, moves run side by side and in any order. */
bool io_threads_write(struct io_threads **threads, struct io_ring *ring, struct io_ring *other,
                      const struct io_end *end, unsigned count, struct fault *fault);

/* Wait until their work is over: all of it, or what was under way if the ring has stopped. If it is not done,
   stop the ring first. Then release them; what they spent moving planes is nothing where there are none
   (NULL). */
struct io_work io_threads_end(struct io_threads *threads, bool done);

#endif
