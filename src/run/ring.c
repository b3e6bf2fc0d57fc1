/* Rings: a few buffers that go round between the thread that fills them and the one that empties them. One of
 * the two is a device, which may not be done with a buffer yet when it passes it on. */
#include "ring.h"

#include "base/mem.h"

#include <pthread.h>
#include <stdint.h>

enum state { FREE, CLAIMED, FULL, TAKEN };

struct place {
    struct ring_slot slot;
    enum state state;
};

struct ring {
    const struct backend *backend;
    struct device *device;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    struct place *places;
    struct ring_slot end; /* what is taken after the last */
    size_t count;
    uint64_t claimed, taken, emptied; /* buffers so far */
    bool finished, stopped;
    double seconds; /* of the device */
    struct fault fault;
};

static bool create_places(struct ring *ring, size_t count, size_t bytes, struct fault *fault)
{
    ring->places = mem_zeroed(count, sizeof *ring->places, "a ring", fault);
    if (ring->places == NULL)
        return false;
    for (; ring->count < count; ring->count++) {
        struct staging *staging = ring->backend->staging_create(ring->device, bytes, fault);
        if (staging == NULL)
            return false;
        ring->places[ring->count].slot.staging = staging;
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
    pthread_cond_init(&ring->changed, NULL);
    if (!create_places(ring, count, bytes, fault)) {
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
        ring->backend->staging_destroy(ring->device, ring->places[i].slot.staging);
    pthread_cond_destroy(&ring->changed);
    pthread_mutex_destroy(&ring->mutex);
    mem_free(ring->places);
    mem_free(ring);
}

static struct place *place_of(struct ring *ring, uint64_t number)
{
    return &ring->places[number % ring->count];
}

static void change(struct ring *ring, struct ring_slot *slot, enum state state)
{
    struct place *place = (struct place *)slot;

    pthread_mutex_lock(&ring->mutex);
    place->state = state;
    ring->emptied += state == FREE;
    pthread_cond_broadcast(&ring->changed);
    pthread_mutex_unlock(&ring->mutex);
}

/* Under the mutex: false once the ring has stopped. */
static bool wait_for(struct ring *ring, const struct place *place, enum state state)
{
    while (!ring->stopped && place->state != state)
        pthread_cond_wait(&ring->changed, &ring->mutex);
    return !ring->stopped;
}

/* Under the mutex. */
static bool tell(const struct ring *ring, bool done, struct fault *fault)
{
    if (!done)
        *fault = ring->fault;
    return done;
}

bool ring_claim(struct ring *ring, struct ring_slot **slot, struct fault *fault)
{
    struct place *place;
    bool claimed;

    pthread_mutex_lock(&ring->mutex);
    place = place_of(ring, ring->claimed);
    claimed = tell(ring, wait_for(ring, place, FREE), fault);
    if (claimed) {
        place->state = CLAIMED;
        ring->claimed++;
        *slot = &place->slot;
    }
    pthread_mutex_unlock(&ring->mutex);
    return claimed;
}

void ring_fill(struct ring *ring, struct ring_slot *slot)
{
    change(ring, slot, FULL);
}

bool ring_take(struct ring *ring, struct ring_slot **slot, struct fault *fault)
{
    struct place *place;
    bool taken;

    pthread_mutex_lock(&ring->mutex);
    place = place_of(ring, ring->taken);
    while (!ring->stopped && place->state != FULL && !(ring->finished && ring->taken == ring->claimed))
        pthread_cond_wait(&ring->changed, &ring->mutex);
    taken = tell(ring, !ring->stopped, fault);
    if (taken && place->state == FULL) {
        place->state = TAKEN;
        ring->taken++;
        *slot = &place->slot;
    } else if (taken) {
        *slot = &ring->end;
    }
    pthread_mutex_unlock(&ring->mutex);
    return taken;
}

bool ring_has_full(struct ring *ring)
{
    bool full;

    pthread_mutex_lock(&ring->mutex);
    full = place_of(ring, ring->taken)->state == FULL;
    pthread_mutex_unlock(&ring->mutex);
    return full;
}

void ring_free(struct ring *ring, struct ring_slot *slot)
{
    change(ring, slot, FREE);
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
    pthread_mutex_lock(&ring->mutex);
    ring->finished = true;
    pthread_cond_broadcast(&ring->changed);
    pthread_mutex_unlock(&ring->mutex);
}

bool ring_drain(struct ring *ring, struct fault *fault)
{
    bool drained;

    pthread_mutex_lock(&ring->mutex);
    while (!ring->stopped && ring->emptied < ring->claimed)
        pthread_cond_wait(&ring->changed, &ring->mutex);
    drained = tell(ring, !ring->stopped, fault);
    pthread_mutex_unlock(&ring->mutex);
    for (size_t i = 0; drained && i < ring->count; i++)
        drained = ring_await(ring, &ring->places[i].slot, fault);
    return drained;
}

void ring_stop(struct ring *ring, const struct fault *fault)
{
    pthread_mutex_lock(&ring->mutex);
    if (!ring->stopped && fault != NULL)
        ring->fault = *fault;
    ring->stopped = true;
    pthread_cond_broadcast(&ring->changed);
    pthread_mutex_unlock(&ring->mutex);
}
