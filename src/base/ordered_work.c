/* Ordered work: pieces of work at numbered slots, which threads and their caller share. */
#include "ordered_work.h"

#include "work_queue.h"
#include "mem.h"
#include "pool.h"

/* Phases of the queue that slots go round on. */
enum { PUTTING, WORKING, TAKING, PHASES };

struct ordered_work {
    ordered_work_body *work;
    void *context;
    struct work_queue *queue;
    struct pool *pool;
    unsigned threads;
};

static void work_on(struct ordered_work *ordered, size_t slot, unsigned worker)
{
    ordered->work(ordered->context, slot, worker);
    work_queue_pass_on(ordered->queue, slot);
}

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
        !pool_create(&ordered->pool, workers - 1, POOL_SMALL_STACKS, fault)) {
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
