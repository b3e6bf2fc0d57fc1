/* Work queues: slots that go round past phases, each in the hands of one thread at a time. */
#include "work_queue.h"

#include "mem.h"

#include <pthread.h>
#include <stdint.h>

struct slot {
    unsigned phase;
    bool taken; /* else it stands there */
};

struct work_queue {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    struct slot *slots;
    uint64_t *taken; /* slots so far, a number for each phase */
    size_t count;
    unsigned phases;
    uint64_t sent, returned; /* from the first phase, and from the last */
    bool finished, stopped;
};

bool work_queue_create(struct work_queue **result, size_t slots, unsigned phases, struct fault *fault)
{
    struct work_queue *queue = mem_zeroed(1, sizeof *queue, "a queue", fault);

    if (queue == NULL)
        return false;
    pthread_mutex_init(&queue->mutex, NULL);
    pthread_cond_init(&queue->changed, NULL);
    queue->count = slots;
    queue->phases = phases;
    queue->slots = mem_zeroed(slots, sizeof *queue->slots, "a queue", fault);
    queue->taken = mem_zeroed(phases, sizeof *queue->taken, "a queue", fault);
    if (queue->slots == NULL || queue->taken == NULL) {
        work_queue_destroy(queue);
        return false;
    }
    *result = queue;
    return true;
}

void work_queue_destroy(struct work_queue *queue)
{
    if (queue == NULL)
        return;
    pthread_cond_destroy(&queue->changed);
    pthread_mutex_destroy(&queue->mutex);
    mem_free(queue->slots);
    mem_free(queue->taken);
    mem_free(queue);
}

/* ---- under the mutex ---- */

static size_t next_slot(const struct work_queue *queue, unsigned phase)
{
    return (size_t)(queue->taken[phase] % queue->count);
}

static bool is_ready(const struct work_queue *queue, unsigned phase)
{
    const struct slot *slot = &queue->slots[next_slot(queue, phase)];

    return slot->phase == phase && !slot->taken && (phase > 0 || !queue->finished);
}

static bool is_over(const struct work_queue *queue, unsigned phase)
{
    return queue->finished && queue->taken[phase] == queue->sent;
}

static enum work_queue_outcome take(struct work_queue *queue, unsigned phase, size_t *slot)
{
    if (queue->stopped)
        return WORK_QUEUE_STOPPED;
    if (is_ready(queue, phase)) {
        *slot = next_slot(queue, phase);
        queue->slots[*slot].taken = true;
        queue->taken[phase]++;
        return WORK_QUEUE_TAKEN;
    }
    return is_over(queue, phase) ? WORK_QUEUE_FINISHED : WORK_QUEUE_EMPTY;
}

/* ---- */

enum work_queue_outcome work_queue_take_any(struct work_queue *queue, unsigned first, unsigned last,
                                            unsigned *phase, size_t *slot)
{
    enum work_queue_outcome outcome;

    pthread_mutex_lock(&queue->mutex);
    for (*phase = last; (outcome = take(queue, *phase, slot)) == WORK_QUEUE_EMPTY;) {
        if (*phase > first) {
            --*phase;
        } else {
            pthread_cond_wait(&queue->changed, &queue->mutex);
            *phase = last;
        }
    }
    pthread_mutex_unlock(&queue->mutex);
    return outcome;
}

enum work_queue_outcome work_queue_take(struct work_queue *queue, unsigned phase, size_t *slot)
{
    unsigned taken_at;

    return work_queue_take_any(queue, phase, phase, &taken_at, slot);
}

enum work_queue_outcome work_queue_try(struct work_queue *queue, unsigned phase, size_t *slot)
{
    enum work_queue_outcome outcome;

    pthread_mutex_lock(&queue->mutex);
    outcome = take(queue, phase, slot);
    pthread_mutex_unlock(&queue->mutex);
    return outcome;
}

bool work_queue_has(struct work_queue *queue, unsigned phase)
{
    bool ready;

    pthread_mutex_lock(&queue->mutex);
    ready = is_ready(queue, phase);
    pthread_mutex_unlock(&queue->mutex);
    return ready;
}

void work_queue_pass_on(struct work_queue *queue, size_t number)
{
    struct slot *slot = &queue->slots[number];

    pthread_mutex_lock(&queue->mutex);
    slot->taken = false;
    queue->sent += slot->phase == 0;
    if (++slot->phase == queue->phases) {
        slot->phase = 0;
        queue->returned++;
    }
    pthread_cond_broadcast(&queue->changed);
    pthread_mutex_unlock(&queue->mutex);
}

void work_queue_finish(struct work_queue *queue)
{
    pthread_mutex_lock(&queue->mutex);
    queue->finished = true;
    pthread_cond_broadcast(&queue->changed);
    pthread_mutex_unlock(&queue->mutex);
}

bool work_queue_drain(struct work_queue *queue)
{
    bool drained;

    pthread_mutex_lock(&queue->mutex);
    while (!queue->stopped && queue->returned < queue->sent)
        pthread_cond_wait(&queue->changed, &queue->mutex);
    drained = !queue->stopped;
    pthread_mutex_unlock(&queue->mutex);
    return drained;
}

void work_queue_stop(struct work_queue *queue)
{
    pthread_mutex_lock(&queue->mutex);
    queue->stopped = true;
    pthread_cond_broadcast(&queue->changed);
    pthread_mutex_unlock(&queue->mutex);
}
