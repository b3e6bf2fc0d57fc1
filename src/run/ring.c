/* Rings: a few buffers that go round between the thread that fills them and the one that empties them. One of
 * the two is a device, which may not be done with a buffer yet when it hands it on. */
#include "ring.h"

#include "base/belt.h"
#include "base/mem.h"

#include <pthread.h>

/* Stations of the belt. */
enum { FILLING, EMPTYING, STATIONS };

struct ring {
    const struct backend *backend;
    struct device *device;
    struct belt *belt;
    struct ring_slot *slots;
    struct ring_slot end; /* what is taken after the last */
    size_t count;
    pthread_mutex_t mutex; /* of what follows */
    bool stopped;
    double seconds; /* of the device */
    struct fault fault;
};

static bool create_slots(struct ring *ring, size_t count, size_t bytes, struct fault *fault)
{
    ring->slots = mem_zeroed(count, sizeof *ring->slots, "a ring", fault);
    if (ring->slots == NULL || !belt_create(&ring->belt, count, STATIONS, fault))
        return false;
    for (; ring->count < count; ring->count++) {
        struct staging *staging = ring->backend->staging_create(ring->device, bytes, NULL, fault);
        if (staging == NULL)
            return false;
        ring->slots[ring->count].staging = staging;
    }
    return true;
}

bool ring_create(struct ring **result, const struct backend *backend, struct device *device, size_t count,
                 size_t bytes, struct fault *fault)
{
    struct ring *ring = mem_zeroed(1, sizeof *ring, "a ring", fault);

    if (ring == NULL)
        return false;
    ring->backend = backend;
    ring->device = device;
    pthread_mutex_init(&ring->mutex, NULL);
    if (!create_slots(ring, count, bytes, fault)) {
        ring_destroy(ring);
        return false;
    }
    *result = ring;
    return true;
}

void ring_destroy(struct ring *ring)
{
    if (ring == NULL)
        return;
    for (size_t i = 0; i < ring->count; i++)
        ring->backend->staging_destroy(ring->device, ring->slots[i].staging);
    belt_destroy(ring->belt);
    pthread_mutex_destroy(&ring->mutex);
    mem_free(ring->slots);
    mem_free(ring);
}

/* Of a ring that has stopped. */
static bool tell(struct ring *ring, struct fault *fault)
{
    pthread_mutex_lock(&ring->mutex);
    *fault = ring->fault;
    pthread_mutex_unlock(&ring->mutex);
    return false;
}

static bool take(struct ring *ring, unsigned station, struct ring_slot **slot, struct fault *fault)
{
    size_t place;

    switch (belt_take(ring->belt, station, &place)) {
    case BELT_TAKEN:
        *slot = &ring->slots[place];
        return true;
    case BELT_FINISHED:
        *slot = &ring->end;
        return true;
    default:
        return tell(ring, fault);
    }
}

static void hand_on(struct ring *ring, const struct ring_slot *slot)
{
    belt_hand_on(ring->belt, (size_t)(slot - ring->slots));
}

bool ring_claim(struct ring *ring, struct ring_slot **slot, struct fault *fault)
{
    return take(ring, FILLING, slot, fault);
}

void ring_fill(struct ring *ring, struct ring_slot *slot)
{
    hand_on(ring, slot);
}

bool ring_take(struct ring *ring, struct ring_slot **slot, struct fault *fault)
{
    return take(ring, EMPTYING, slot, fault);
}

bool ring_has_full(struct ring *ring)
{
    return belt_has(ring->belt, EMPTYING);
}

void ring_free(struct ring *ring, struct ring_slot *slot)
{
    hand_on(ring, slot);
}

bool ring_await(struct ring *ring, struct ring_slot *slot, struct fault *fault)
{
    double seconds = 0.0;
    bool done = ring->backend->staging_wait(ring->device, slot->staging, &seconds, fault);

    pthread_mutex_lock(&ring->mutex);
    ring->seconds += seconds;
    pthread_mutex_unlock(&ring->mutex);
    return done;
}

double ring_seconds(struct ring *ring)
{
    double seconds;

    pthread_mutex_lock(&ring->mutex);
    seconds = ring->seconds;
    pthread_mutex_unlock(&ring->mutex);
    return seconds;
}

void ring_finish(struct ring *ring)
{
    belt_finish(ring->belt);
}

bool ring_drain(struct ring *ring, struct fault *fault)
{
    bool drained = belt_drain(ring->belt) || tell(ring, fault);

    for (size_t i = 0; drained && i < ring->count; i++)
        drained = ring_await(ring, &ring->slots[i], fault);
    return drained;
}

void ring_stop(struct ring *ring, const struct fault *fault)
{
    pthread_mutex_lock(&ring->mutex);
    if (!ring->stopped && fault != NULL)
        ring->fault = *fault;
    ring->stopped = true;
    pthread_mutex_unlock(&ring->mutex);
    belt_stop(ring->belt);
}
