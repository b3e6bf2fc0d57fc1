/* Work queues, and ordered work, which adds threads to one.

   A queue is a ring of slots, each of which is at one phase: filled, worked on, emptied, say. A phase takes
   slots in their order, so it has one counter, whose remainder is the next slot; that is ready once it has
   come to this phase and nobody has it. Whoever took a slot passes it on to the next phase when done, so
   several threads may have slots of the same phase and finish them in any order; the next phase waits for the
   oldest. The mutex guards all of it, and every change wakes all who wait: there are few threads, and their
   pieces of work are large. */
#include "work_queue.h"

#include "mem.h"
#include "threads.h"

#include <pthread.h>
#include <stdint.h>

struct slot {
    unsigned phase;
    bool taken; /* somebody works on it; else it waits at its phase */
};

struct work_queue {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    struct slot *slots;
    uint64_t *taken; /* how many slots each phase has taken so far */
    size_t count;
    unsigned phases;
    uint64_t sent, returned; /* slots that have left phase 0, and that have come back to it */
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

/* Slots are never overtaken: a phase takes them in the order of the ring, whichever thread comes. */
static size_t next_slot(const struct work_queue *queue, unsigned phase)
{
    return (size_t)(queue->taken[phase] % queue->count);
}

static bool is_ready(const struct work_queue *queue, unsigned phase)
{
    const struct slot *slot = &queue->slots[next_slot(queue, phase)];

    /* A queue that is finished gives out no more empty slots, but lets those under way go through. */
    return slot->phase == phase && !slot->taken && (phase > 0 || !queue->finished);
}

/* Take the next slot of a phase if it is ready; else say whether one will come. */
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
    return queue->finished && queue->taken[phase] == queue->sent ? WORK_QUEUE_FINISHED : WORK_QUEUE_EMPTY;
}

/* ---- what threads call ---- */

enum work_queue_outcome work_queue_take_any(struct work_queue *queue, unsigned first, unsigned last,
                                            unsigned *phase, size_t *slot)
{
    enum work_queue_outcome outcome;

    pthread_mutex_lock(&queue->mutex);
    /* The last phase is tried first: what is nearly done makes room for the rest. */
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

/* ---- ordered work ---- */

/* Phases of the queue that slots go round on. */
enum { PUTTING, WORKING, TAKING, PHASES };

struct ordered_work {
    ordered_work_body *work;
    void *context;
    struct work_queue *queue;
    struct pool *pool;
    unsigned threads;
};

/* Do the piece of work in a slot, and hand the slot to the phase that takes it out. */
static void work_on(struct ordered_work *ordered, size_t slot, unsigned worker)
{
    ordered->work(ordered->context, slot, worker);
    work_queue_pass_on(ordered->queue, slot);
}

/* A thread of ordered work: do pieces until there will be no more. */
static void run_thread(void *context, size_t first, size_t count, unsigned member)
{
    struct ordered_work *ordered = context;
    size_t slot;

    (void)first;
    (void)count;
    while (work_queue_take(ordered->queue, WORKING, &slot) == WORK_QUEUE_TAKEN)
        work_on(ordered, slot, member);
}

bool ordered_work_open(struct ordered_work **result, size_t slots, unsigned workers, ordered_work_body *work,
                       void *context, struct fault *fault)
{
    struct ordered_work *ordered = mem_zeroed(1, sizeof *ordered, "threads", fault);

    if (ordered == NULL)
        return false;
    ordered->work = work;
    ordered->context = context;
    if (!work_queue_create(&ordered->queue, slots, PHASES, fault) ||
        !pool_create(&ordered->pool, workers - 1, THREAD_SMALL_STACK, fault)) {
        ordered_work_close(ordered);
        return false;
    }
    ordered->threads = pool_start(ordered->pool, workers - 1, run_thread, ordered);
    *result = ordered;
    return true;
}

unsigned ordered_work_threads(const struct ordered_work *ordered)
{
    return ordered->threads;
}

bool ordered_work_claim(struct ordered_work *ordered, size_t *slot)
{
    return work_queue_try(ordered->queue, PUTTING, slot) == WORK_QUEUE_TAKEN;
}

void ordered_work_put(struct ordered_work *ordered, size_t slot)
{
    work_queue_pass_on(ordered->queue, slot);
}

size_t ordered_work_take(struct ordered_work *ordered)
{
    unsigned phase;
    size_t slot = 0;

    /* While the oldest slot is not done, do other pieces. */
    while (work_queue_take_any(ordered->queue, WORKING, TAKING, &phase, &slot) == WORK_QUEUE_TAKEN &&
           phase == WORKING)
        work_on(ordered, slot, 0);
    return slot;
}

void ordered_work_vacate(struct ordered_work *ordered, size_t slot)
{
    work_queue_pass_on(ordered->queue, slot);
}

void ordered_work_close(struct ordered_work *ordered)
{
    if (ordered == NULL)
        return;
    if (ordered->pool != NULL) {
        work_queue_stop(ordered->queue);
        pool_join(ordered->pool);
    }
    pool_destroy(ordered->pool);
    work_queue_destroy(ordered->queue);
    mem_free(ordered);
}
