/* Rings: a few buffers that go round between the thread that fills them and the one that empties them. One of
 * the two is a device, which may not be done with a buffer yet when it hands it on. */
#ifndef RING_H
#define RING_H

#include "base/diag.h"
#include "kernels/backend.h"

#include <stdbool.h>
#include <stddef.h>

struct ring;

/* A buffer, and the planes that it holds or is to hold. */
struct ring_slot {
    struct staging *staging;
    struct range planes;
};

/* `count` buffers of the device's staging memory. */
bool ring_create(struct ring **ring, const struct backend *backend, struct device *device, size_t count,
                 size_t bytes, struct fault *fault);
void ring_destroy(struct ring *ring);

/* Whoever fills: the next free buffer, and then that it is full. Buffers are emptied in the order in which
   they were claimed, whatever the order in which they become full. False with the ring's fault once it has
   stopped. */
bool ring_claim(struct ring *ring, struct ring_slot **slot, struct fault *fault);
void ring_fill(struct ring *ring, struct ring_slot *slot);

/* Whoever empties: the oldest full buffer, once there is one, and then that it is free. */
bool ring_take(struct ring *ring, struct ring_slot **slot, struct fault *fault);

/* Whether taking would not wait. */
bool ring_has_full(struct ring *ring);
void ring_free(struct ring *ring, struct ring_slot *slot);

/* Wait until the device is done with the buffer. Who claims or takes one that the device had does so before
   touching its samples. */
bool ring_await(struct ring *ring, struct ring_slot *slot, struct fault *fault);

/* Seconds that the device spent on the buffers that were awaited. */
double ring_seconds(struct ring *ring);

/* Nothing more will be filled: after the last full buffer, taking gives a slot of no planes. */
void ring_finish(struct ring *ring);

/* Wait until all that was filled has been emptied, and the device is done with all of it. */
bool ring_drain(struct ring *ring, struct fault *fault);

/* Nobody waits any longer; the first fault is the one that is told. */
void ring_stop(struct ring *ring, const struct fault *fault);

#endif
