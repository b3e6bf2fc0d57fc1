/* Input and output beside computing: rings of buffers, and threads that read into them or write out of them.

   A ring is a work queue of two stations around a fixed number of buffers. Of the input's ring, threads claim
   a free buffer together with the next planes, read these into it, each at its own place in the file, and
   pass it on; the thread that runs the plan takes buffers in the order in which they were claimed, has the
   device copy from them, and frees them. In the output's ring both change sides. A device may still be
   copying when a buffer is passed on, so whoever touches its samples next awaits the device first.

   A thread that fails keeps the fault in both rings of its pass and stops them: whoever waits for a buffer
   then gets the fault instead. The end of a file is looked at before the last planes are passed on, so that
   what ends wrong never becomes a complete output. */
#include "io.h"

#include "base/work_queue.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/threads.h"
#include "base/size.h"

#include <pthread.h>

/* ---- rings ---- */

/* Phases of the queue. */
enum { FILLING, EMPTYING, PHASES };

struct io_ring {
    const struct backend *backend;
    struct device *device;
    struct work_queue *queue;
    struct io_slot *slots;
    struct io_slot end; /* no planes: taken after the last buffer, once the ring is finished */
    size_t count;
    pthread_mutex_t mutex; /* of what follows */
    bool stopped;
    double seconds; /* of the device */
    struct fault fault;
};

/* The buffers of a ring, which the device allocates. */
static bool create_slots(struct io_ring *ring, size_t count, size_t bytes, struct fault *fault)
{
    ring->slots = mem_zeroed(count, sizeof *ring->slots, "a ring", fault);
    if (ring->slots == NULL || !work_queue_create(&ring->queue, count, PHASES, fault))
        return false;
    for (; ring->count < count; ring->count++) {
        struct staging *staging = ring->backend->staging_create(ring->device, bytes, NULL, fault);
        if (staging == NULL)
            return false;
        ring->slots[ring->count].staging = staging;
    }
    return true;
}

bool io_ring_create(struct io_ring **result, const struct lane *lane, size_t count, size_t bytes,
                    struct fault *fault)
{
    struct io_ring *ring = mem_zeroed(1, sizeof *ring, "a ring", fault);

    if (ring == NULL)
        return false;
    ring->backend = lane->backend;
    ring->device = lane->device;
    pthread_mutex_init(&ring->mutex, NULL);
    if (!create_slots(ring, count, bytes, fault)) {
        io_ring_destroy(ring);
        return false;
    }
    *result = ring;
    return true;
}

void io_ring_destroy(struct io_ring *ring)
{
    if (ring == NULL)
        return;
    for (size_t i = 0; i < ring->count; i++)
        ring->backend->staging_destroy(ring->device, ring->slots[i].staging);
    work_queue_destroy(ring->queue);
    pthread_mutex_destroy(&ring->mutex);
    mem_free(ring->slots);
    mem_free(ring);
}

/* Hand out the fault of a ring that has stopped. */
static bool tell_fault(struct io_ring *ring, struct fault *fault)
{
    pthread_mutex_lock(&ring->mutex);
    *fault = ring->fault;
    pthread_mutex_unlock(&ring->mutex);
    return false;
}

/* The next buffer of a phase, or the fault of a ring that has stopped. */
static bool take_slot(struct io_ring *ring, unsigned phase, struct io_slot **slot, struct fault *fault)
{
    size_t place;

    switch (work_queue_take(ring->queue, phase, &place)) {
    case WORK_QUEUE_TAKEN:
        *slot = &ring->slots[place];
        return true;
    case WORK_QUEUE_FINISHED:
        *slot = &ring->end;
        return true;
    default:
        return tell_fault(ring, fault);
    }
}

void io_ring_pass_on(struct io_ring *ring, struct io_slot *slot)
{
    work_queue_pass_on(ring->queue, (size_t)(slot - ring->slots));
}

bool io_ring_claim(struct io_ring *ring, struct io_slot **slot, struct fault *fault)
{
    return take_slot(ring, FILLING, slot, fault);
}

bool io_ring_take(struct io_ring *ring, struct io_slot **slot, struct fault *fault)
{
    return take_slot(ring, EMPTYING, slot, fault);
}

bool io_ring_has_full(struct io_ring *ring)
{
    return work_queue_has(ring->queue, EMPTYING);
}

bool io_ring_await(struct io_ring *ring, struct io_slot *slot, struct fault *fault)
{
    double seconds = 0.0;
    bool done = ring->backend->staging_wait(ring->device, slot->staging, &seconds, fault);

    pthread_mutex_lock(&ring->mutex);
    ring->seconds += seconds;
    pthread_mutex_unlock(&ring->mutex);
    return done;
}

double io_ring_seconds(struct io_ring *ring)
{
    double seconds;

    pthread_mutex_lock(&ring->mutex);
    seconds = ring->seconds;
    pthread_mutex_unlock(&ring->mutex);
    return seconds;
}

void io_ring_finish(struct io_ring *ring)
{
    work_queue_finish(ring->queue);
}

bool io_ring_drain(struct io_ring *ring, struct fault *fault)
{
    bool drained = work_queue_drain(ring->queue) || tell_fault(ring, fault);

    for (size_t i = 0; drained && i < ring->count; i++)
        drained = io_ring_await(ring, &ring->slots[i], fault);
    return drained;
}

/* End all waiting; the first fault is the one that is told. */
static void stop_ring(struct io_ring *ring, const struct fault *fault)
{
    pthread_mutex_lock(&ring->mutex);
    /* The first fault counts: those that come later follow from it. */
    if (!ring->stopped && fault != NULL)
        ring->fault = *fault;
    ring->stopped = true;
    pthread_mutex_unlock(&ring->mutex);
    work_queue_stop(ring->queue);
}

/* ---- threads ---- */

#define IO_THREADS_MOST 64

struct io_threads {
    void (*carry)(struct io_threads *threads); /* what each thread does */
    struct io_ring *ring, *other;
    struct io_end end;
    struct io_load load;
    FILE *messages;        /* where those of the thread that started it go */
    pthread_mutex_t order; /* guards preparing and claims: whoever holds it may wait for the ring */
    size_t claimed;        /* planes */
    pthread_mutex_t count; /* guards what has been done */
    size_t moved;          /* planes */
    double seconds;
    struct pool *pool;
    unsigned threads;
};

/* Read into a buffer, or write it, once the device is done with it; the time is counted. */
static bool move_slot(struct io_threads *threads, struct io_slot *slot, struct fault *fault)
{
    double begun;
    bool done;

    if (!io_ring_await(threads->ring, slot, fault))
        return false;
    begun = clock_seconds();
    done = threads->end.move(threads->end.file, slot->staging->samples, slot->planes, fault);
    pthread_mutex_lock(&threads->count);
    threads->seconds += clock_seconds() - begun;
    pthread_mutex_unlock(&threads->count);
    return done;
}

/* The next batch of the load; it ends where the part begins or ends. */
static struct range next_batch(const struct io_threads *threads)
{
    const struct io_load *load = &threads->load;
    size_t first = load->planes.first + threads->claimed, end = load->planes.first + load->planes.count;

    /* A batch lies wholly in the part or wholly outside it. */
    if (first < load->part.first)
        end = size_least(end, load->part.first);
    else if (first < load->part.first + load->part.count)
        end = size_least(end, load->part.first + load->part.count);
    return (struct range){first, size_least(end - first, load->batch)};
}

/* The next buffer together with the next planes, so that the order of both is the same. */
static bool claim(struct io_threads *threads, struct io_slot **slot, struct fault *fault)
{
    bool claimed = true;

    *slot = NULL;
    pthread_mutex_lock(&threads->order);
    if (threads->claimed < threads->load.planes.count) {
        claimed = io_ring_claim(threads->ring, slot, fault);
        if (claimed) {
            (*slot)->planes = next_batch(threads);
            threads->claimed += (*slot)->planes.count;
        }
    }
    pthread_mutex_unlock(&threads->order);
    return claimed;
}

/* A file that ends wrong is not passed on as a whole: the thread that moves the last planes looks at the end
 * first. */
static bool finish(struct io_threads *threads, const struct io_slot *slot, struct fault *fault)
{
    bool last;

    pthread_mutex_lock(&threads->count);
    threads->moved += slot->planes.count;
    last = threads->moved == threads->load.planes.count;
    pthread_mutex_unlock(&threads->count);
    return !last || threads->end.finish == NULL || threads->end.finish(threads->end.file, fault);
}

/* The thread that computes may be waiting for either ring. */
static void stop(struct io_threads *threads, const struct fault *fault)
{
    stop_ring(threads->ring, fault);
    if (threads->other != NULL)
        stop_ring(threads->other, fault);
}

/* The work of a thread that reads: claim, read, pass on, until the load is in or something fails. */
static void read_planes(struct io_threads *threads)
{
    struct io_slot *slot;
    struct fault fault;

    while (claim(threads, &slot, &fault) && slot != NULL) {
        if (!move_slot(threads, slot, &fault) || !finish(threads, slot, &fault)) {
            stop(threads, &fault);
            break;
        }
        io_ring_pass_on(threads->ring, slot);
    }
}

static bool prepare(struct io_threads *threads, struct fault *fault)
{
    bool prepared;

    pthread_mutex_lock(&threads->order);
    prepared = threads->end.prepare == NULL || threads->end.prepare(threads->end.file, fault);
    pthread_mutex_unlock(&threads->order);
    return prepared;
}

/* The work of a thread that writes: take, write, free, until the ring is finished or something fails. */
static void write_planes(struct io_threads *threads)
{
    struct io_slot *slot;
    struct fault fault;

    if (!prepare(threads, &fault)) {
        stop(threads, &fault);
        return;
    }
    while (io_ring_take(threads->ring, &slot, &fault) && slot->planes.count > 0) {
        if (!move_slot(threads, slot, &fault)) {
            stop(threads, &fault);
            break;
        }
        io_ring_pass_on(threads->ring, slot);
    }
}

static void run_thread(void *data, size_t first, size_t count, unsigned member)
{
    struct io_threads *threads = data;

    (void)first;
    (void)count;
    (void)member;
    diag_redirect(threads->messages);
    threads->carry(threads);
}

static bool engage(struct io_threads *threads, unsigned count, struct fault *fault)
{
    unsigned wanted = count < IO_THREADS_MOST ? count : IO_THREADS_MOST;

    if (!pool_create(&threads->pool, wanted, THREAD_SMALL_STACK, fault))
        return false;
    /* Fewer threads than are wanted do the same work, only slower. */
    threads->threads = pool_start(threads->pool, wanted, run_thread, threads);
    return threads->threads > 0 ||
           fault_raise(fault, STATUS_LIMIT, "cannot create a thread for reading or writing");
}

static struct io_work close_threads(struct io_threads *threads)
{
    unsigned count = threads->threads == 0 ? 1 : threads->threads;
    struct io_work work = {threads->seconds, threads->seconds / count};

    pool_destroy(threads->pool);
    pthread_mutex_destroy(&threads->order);
    pthread_mutex_destroy(&threads->count);
    mem_free(threads);
    return work;
}

static bool start(struct io_threads **result, const struct io_threads *form, unsigned count,
                  struct fault *fault)
{
    struct io_threads *threads = mem_alloc(1, sizeof *threads, "reading and writing", fault);

    if (threads == NULL)
        return false;
    *threads = *form;
    threads->messages = diag_stream();
    pthread_mutex_init(&threads->order, NULL);
    pthread_mutex_init(&threads->count, NULL);
    if (!engage(threads, count, fault)) {
        (void)close_threads(threads);
        return false;
    }
    *result = threads;
    return true;
}

bool io_threads_read(struct io_threads **threads, struct io_ring *ring, struct io_ring *other,
                     const struct io_end *end, const struct io_load *load, unsigned count,
                     struct fault *fault)
{
    const struct io_threads form = {
        .carry = read_planes, .ring = ring, .other = other, .end = *end, .load = *load};

    return start(threads, &form, count, fault);
}

bool io_threads_write(struct io_threads **threads, struct io_ring *ring, struct io_ring *other,
                      const struct io_end *end, unsigned count, struct fault *fault)
{
    const struct io_threads form = {.carry = write_planes, .ring = ring, .other = other, .end = *end};

    return start(threads, &form, count, fault);
}

struct io_work io_threads_end(struct io_threads *threads, bool done)
{
    if (threads == NULL)
        return (struct io_work){0.0, 0.0};
    if (!done) {
        /* Threads that wait for a buffer leave now, and `interrupt` ends a wait for bytes of a pipe. */
        stop_ring(threads->ring, NULL);
        if (threads->end.interrupt != NULL)
            threads->end.interrupt(threads->end.file);
    }
    pool_join(threads->pool);
    return close_threads(threads);
}
