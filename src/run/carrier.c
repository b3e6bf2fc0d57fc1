/* Carriers: threads that bring batches of planes from a file into a ring, or from a ring into a file, while
   others compute. */
#include "carrier.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/pool.h"
#include "base/size.h"

#include <pthread.h>

#define MOST_THREADS 64

struct carrier {
    void (*carry)(struct carrier *carrier); /* what each thread does */
    struct ring *ring, *other;
    struct carrier_end end;
    struct carrier_load load;
    FILE *messages;        /* where those of the thread that started it go */
    pthread_mutex_t order; /* guards preparing and claims: whoever holds it may wait for the ring */
    size_t claimed;        /* planes */
    pthread_mutex_t count; /* guards what has been done */
    size_t moved;          /* planes */
    double seconds;
    struct pool *pool;
    unsigned threads;
};

static bool move(struct carrier *carrier, struct ring_slot *slot, struct fault *fault)
{
    double begun;
    bool done;

    if (!ring_await(carrier->ring, slot, fault))
        return false;
    begun = clock_seconds();
    done = carrier->end.move(carrier->end.file, slot->staging->samples, slot->planes, fault);
    pthread_mutex_lock(&carrier->count);
    carrier->seconds += clock_seconds() - begun;
    pthread_mutex_unlock(&carrier->count);
    return done;
}

/* Of the load, what comes next. */
static struct range next_batch(const struct carrier *carrier)
{
    const struct carrier_load *load = &carrier->load;
    size_t first = load->planes.first + carrier->claimed, end = load->planes.first + load->planes.count;

    if (first < load->part.first)
        end = size_least(end, load->part.first);
    else if (first < load->part.first + load->part.count)
        end = size_least(end, load->part.first + load->part.count);
    return (struct range){first, size_least(end - first, load->batch)};
}

/* The next buffer together with the next planes, so that the order of both is the same. */
static bool claim(struct carrier *carrier, struct ring_slot **slot, struct fault *fault)
{
    bool claimed = true;

    *slot = NULL;
    pthread_mutex_lock(&carrier->order);
    if (carrier->claimed < carrier->load.planes.count) {
        claimed = ring_claim(carrier->ring, slot, fault);
        if (claimed) {
            (*slot)->planes = next_batch(carrier);
            carrier->claimed += (*slot)->planes.count;
        }
    }
    pthread_mutex_unlock(&carrier->order);
    return claimed;
}

/* What ends wrong is not passed on as a whole: the thread that moves the last planes looks at the end first.
 */
static bool finish(struct carrier *carrier, const struct ring_slot *slot, struct fault *fault)
{
    bool last;

    pthread_mutex_lock(&carrier->count);
    carrier->moved += slot->planes.count;
    last = carrier->moved == carrier->load.planes.count;
    pthread_mutex_unlock(&carrier->count);
    return !last || carrier->end.finish == NULL || carrier->end.finish(carrier->end.file, fault);
}

/* Whoever computes may be waiting for either ring. */
static void stop(struct carrier *carrier, const struct fault *fault)
{
    ring_stop(carrier->ring, fault);
    if (carrier->other != NULL)
        ring_stop(carrier->other, fault);
}

static void fetch(struct carrier *carrier)
{
    struct ring_slot *slot;
    struct fault fault;

    while (claim(carrier, &slot, &fault) && slot != NULL) {
        if (!move(carrier, slot, &fault) || !finish(carrier, slot, &fault)) {
            stop(carrier, &fault);
            break;
        }
        ring_fill(carrier->ring, slot);
    }
}

static bool prepare(struct carrier *carrier, struct fault *fault)
{
    bool prepared;

    pthread_mutex_lock(&carrier->order);
    prepared = carrier->end.prepare == NULL || carrier->end.prepare(carrier->end.file, fault);
    pthread_mutex_unlock(&carrier->order);
    return prepared;
}

static void deliver(struct carrier *carrier)
{
    struct ring_slot *slot;
    struct fault fault;

    if (!prepare(carrier, &fault)) {
        stop(carrier, &fault);
        return;
    }
    while (ring_take(carrier->ring, &slot, &fault) && slot->planes.count > 0) {
        if (!move(carrier, slot, &fault)) {
            stop(carrier, &fault);
            break;
        }
        ring_free(carrier->ring, slot);
    }
}

static void run_thread(void *data, size_t first, size_t count, unsigned member)
{
    struct carrier *carrier = data;

    (void)first;
    (void)count;
    (void)member;
    diag_divert(carrier->messages);
    carrier->carry(carrier);
}

static bool engage(struct carrier *carrier, unsigned threads, struct fault *fault)
{
    unsigned wanted = threads < MOST_THREADS ? threads : MOST_THREADS;

    if (!pool_create(&carrier->pool, wanted, POOL_SMALL_STACKS, fault))
        return false;
    carrier->threads = pool_start(carrier->pool, wanted, run_thread, carrier);
    return carrier->threads > 0 ||
           fault_raise(fault, STATUS_LIMIT, "cannot create a thread for reading or writing");
}

static bool start(struct carrier **result, const struct carrier *form, unsigned threads, struct fault *fault)
{
    struct carrier *carrier = mem_alloc(1, sizeof *carrier, "a carrier", fault);

    if (carrier == NULL)
        return false;
    *carrier = *form;
    carrier->messages = diag_stream();
    pthread_mutex_init(&carrier->order, NULL);
    pthread_mutex_init(&carrier->count, NULL);
    if (!engage(carrier, threads, fault)) {
        (void)carrier_close(carrier);
        return false;
    }
    *result = carrier;
    return true;
}

bool carrier_fetch(struct carrier **carrier, struct ring *ring, struct ring *other,
                   const struct carrier_end *end, const struct carrier_load *load, unsigned threads,
                   struct fault *fault)
{
    const struct carrier form = {.carry = fetch, .ring = ring, .other = other, .end = *end, .load = *load};

    return start(carrier, &form, threads, fault);
}

bool carrier_deliver(struct carrier **carrier, struct ring *ring, struct ring *other,
                     const struct carrier_end *end, unsigned threads, struct fault *fault)
{
    const struct carrier form = {.carry = deliver, .ring = ring, .other = other, .end = *end};

    return start(carrier, &form, threads, fault);
}

void carrier_join(struct carrier *carrier)
{
    pool_join(carrier->pool);
}

void carrier_abandon(struct carrier *carrier)
{
    ring_stop(carrier->ring, NULL);
    if (carrier->end.interrupt != NULL)
        carrier->end.interrupt(carrier->end.file);
    carrier_join(carrier);
}

struct carrier_work carrier_close(struct carrier *carrier)
{
    unsigned threads = carrier->threads == 0 ? 1 : carrier->threads;
    struct carrier_work work = {carrier->seconds, carrier->seconds / threads};

    pool_destroy(carrier->pool);
    pthread_mutex_destroy(&carrier->order);
    pthread_mutex_destroy(&carrier->count);
    mem_free(carrier);
    return work;
}
