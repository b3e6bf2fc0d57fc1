/* Belts: places that go round past stations, each in the hands of one thread at a time. */
#include "belt.h"

#include "mem.h"

#include <pthread.h>
#include <stdint.h>

struct place {
    unsigned station;
    bool taken; /* else it stands there */
};

struct belt {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    struct place *places;
    uint64_t *taken; /* places so far, a number for each station */
    size_t count;
    unsigned stations;
    uint64_t sent, returned; /* from the first station, and from the last */
    bool finished, stopped;
};

bool belt_create(struct belt **result, size_t places, unsigned stations, struct fault *fault)
{
    struct belt *belt = mem_zeroed(1, sizeof *belt, "a belt", fault);

    if (belt == NULL)
        return false;
    pthread_mutex_init(&belt->mutex, NULL);
    pthread_cond_init(&belt->changed, NULL);
    belt->count = places;
    belt->stations = stations;
    belt->places = mem_zeroed(places, sizeof *belt->places, "a belt", fault);
    belt->taken = mem_zeroed(stations, sizeof *belt->taken, "a belt", fault);
    if (belt->places == NULL || belt->taken == NULL) {
        belt_destroy(belt);
        return false;
    }
    *result = belt;
    return true;
}

void belt_destroy(struct belt *belt)
{
    if (belt == NULL)
        return;
    pthread_cond_destroy(&belt->changed);
    pthread_mutex_destroy(&belt->mutex);
    mem_free(belt->places);
    mem_free(belt->taken);
    mem_free(belt);
}

/* ---- under the mutex ---- */

static size_t next_place(const struct belt *belt, unsigned station)
{
    return (size_t)(belt->taken[station] % belt->count);
}

static bool is_ready(const struct belt *belt, unsigned station)
{
    const struct place *place = &belt->places[next_place(belt, station)];

    return place->station == station && !place->taken && (station > 0 || !belt->finished);
}

static bool is_over(const struct belt *belt, unsigned station)
{
    return belt->finished && belt->taken[station] == belt->sent;
}

static enum belt_outcome take(struct belt *belt, unsigned station, size_t *place)
{
    if (belt->stopped)
        return BELT_STOPPED;
    if (is_ready(belt, station)) {
        *place = next_place(belt, station);
        belt->places[*place].taken = true;
        belt->taken[station]++;
        return BELT_TAKEN;
    }
    return is_over(belt, station) ? BELT_FINISHED : BELT_EMPTY;
}

/* ---- */

enum belt_outcome belt_take_any(struct belt *belt, unsigned first, unsigned last, unsigned *station,
                                size_t *place)
{
    enum belt_outcome outcome;

    pthread_mutex_lock(&belt->mutex);
    for (*station = last; (outcome = take(belt, *station, place)) == BELT_EMPTY;) {
        if (*station > first) {
            --*station;
        } else {
            pthread_cond_wait(&belt->changed, &belt->mutex);
            *station = last;
        }
    }
    pthread_mutex_unlock(&belt->mutex);
    return outcome;
}

enum belt_outcome belt_take(struct belt *belt, unsigned station, size_t *place)
{
    unsigned taken_at;

    return belt_take_any(belt, station, station, &taken_at, place);
}

enum belt_outcome belt_try(struct belt *belt, unsigned station, size_t *place)
{
    enum belt_outcome outcome;

    pthread_mutex_lock(&belt->mutex);
    outcome = take(belt, station, place);
    pthread_mutex_unlock(&belt->mutex);
    return outcome;
}

bool belt_has(struct belt *belt, unsigned station)
{
    bool ready;

    pthread_mutex_lock(&belt->mutex);
    ready = is_ready(belt, station);
    pthread_mutex_unlock(&belt->mutex);
    return ready;
}

void belt_hand_on(struct belt *belt, size_t number)
{
    struct place *place = &belt->places[number];

    pthread_mutex_lock(&belt->mutex);
    place->taken = false;
    belt->sent += place->station == 0;
    if (++place->station == belt->stations) {
        place->station = 0;
        belt->returned++;
    }
    pthread_cond_broadcast(&belt->changed);
    pthread_mutex_unlock(&belt->mutex);
}

void belt_finish(struct belt *belt)
{
    pthread_mutex_lock(&belt->mutex);
    belt->finished = true;
    pthread_cond_broadcast(&belt->changed);
    pthread_mutex_unlock(&belt->mutex);
}

bool belt_drain(struct belt *belt)
{
    bool drained;

    pthread_mutex_lock(&belt->mutex);
    while (!belt->stopped && belt->returned < belt->sent)
        pthread_cond_wait(&belt->changed, &belt->mutex);
    drained = !belt->stopped;
    pthread_mutex_unlock(&belt->mutex);
    return drained;
}

void belt_stop(struct belt *belt)
{
    pthread_mutex_lock(&belt->mutex);
    belt->stopped = true;
    pthread_cond_broadcast(&belt->changed);
    pthread_mutex_unlock(&belt->mutex);
}
