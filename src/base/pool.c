/* Pools: threads that share a loop with their caller, or work beside it, and sleep in between. */
#include "pool.h"

#include "clock.h"
#include "mem.h"
#include "thread.h"

#include <stdatomic.h>
#include <stdint.h>

struct loop {
    pool_work *work;
    void *context;
    size_t turns, together;
};

struct member {
    struct pool *pool;
    pthread_t thread;
    unsigned number;
};

struct pool {
    pthread_mutex_t mutex;
    pthread_cond_t called, left;
    enum pool_stacks stacks;
    struct member *members; /* of number 1 and up */
    unsigned started, most;
    uint64_t calls;
    unsigned invited; /* members below may join the loop; 0: it is over */
    unsigned busy;    /* in the loop beside the caller */
    bool ends;
    struct loop loop;
    atomic_size_t next; /* turn that nobody has taken */
};

/* ---- a member ---- */

static void take_turns(struct pool *pool, const struct loop *loop, unsigned member)
{
    size_t first;

    while ((first = atomic_fetch_add(&pool->next, loop->together)) < loop->turns) {
        size_t left = loop->turns - first;
        loop->work(loop->context, first, left < loop->together ? left : loop->together, member);
    }
}

/* Under the mutex: until there is a loop that the member has not seen; false at the end. */
static bool wait_for_call(const struct member *member, uint64_t *seen)
{
    struct pool *pool = member->pool;

    while (!pool->ends && (pool->calls == *seen || member->number >= pool->invited))
        pthread_cond_wait(&pool->called, &pool->mutex);
    *seen = pool->calls;
    return !pool->ends;
}

static void *serve(void *argument)
{
    const struct member *member = argument;
    struct pool *pool = member->pool;
    uint64_t seen = 0;

    pthread_mutex_lock(&pool->mutex);
    while (wait_for_call(member, &seen)) {
        struct loop loop = pool->loop;
        pool->busy++;
        pthread_mutex_unlock(&pool->mutex);
        take_turns(pool, &loop, member->number);
        pthread_mutex_lock(&pool->mutex);
        if (--pool->busy == 0)
            pthread_cond_signal(&pool->left);
    }
    pthread_mutex_unlock(&pool->mutex);
    return NULL;
}

/* ---- beginning and end ---- */

/* Waits for it go by the clock of clock_after. */
static void init_left(pthread_cond_t *left)
{
    pthread_condattr_t attributes;

    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(left, &attributes);
    pthread_condattr_destroy(&attributes);
}

bool pool_create(struct pool **result, unsigned threads, enum pool_stacks stacks, struct fault *fault)
{
    struct pool *pool = mem_zeroed(1, sizeof *pool, "threads", fault);

    if (pool == NULL)
        return false;
    pool->members = mem_zeroed(threads, sizeof *pool->members, "threads", fault);
    if (pool->members == NULL) {
        mem_free(pool);
        return false;
    }
    pthread_mutex_init(&pool->mutex, NULL);
    pthread_cond_init(&pool->called, NULL);
    init_left(&pool->left);
    pool->stacks = stacks;
    pool->most = threads;
    *result = pool;
    return true;
}

void pool_destroy(struct pool *pool)
{
    if (pool == NULL)
        return;
    pthread_mutex_lock(&pool->mutex);
    pool->ends = true;
    pthread_cond_broadcast(&pool->called);
    pthread_mutex_unlock(&pool->mutex);
    for (unsigned i = 0; i < pool->started; i++)
        pthread_join(pool->members[i].thread, NULL);
    pthread_cond_destroy(&pool->left);
    pthread_cond_destroy(&pool->called);
    pthread_mutex_destroy(&pool->mutex);
    mem_free(pool->members);
    mem_free(pool);
}

static bool start_member(const struct pool *pool, struct member *member)
{
    return pool->stacks == POOL_FULL_STACKS ? thread_start_roomy(&member->thread, serve, member)
                                            : thread_start(&member->thread, serve, member);
}

static void start_members(struct pool *pool, unsigned wanted)
{
    while (pool->started < wanted && pool->started < pool->most) {
        struct member *member = &pool->members[pool->started];
        *member = (struct member){.pool = pool, .number = pool->started + 1};
        if (!start_member(pool, member))
            return;
        pool->started++;
    }
}

/* ---- the caller ---- */

static void invite(struct pool *pool, const struct loop *loop, unsigned members)
{
    pthread_mutex_lock(&pool->mutex);
    pool->loop = *loop;
    atomic_store(&pool->next, 0);
    pool->calls++;
    pool->invited = members;
    pthread_cond_broadcast(&pool->called);
    pthread_mutex_unlock(&pool->mutex);
}

/* Under the mutex: whether every turn is over. A member that has not come when all turns are taken need not
   come. */
static bool is_over(struct pool *pool)
{
    if (atomic_load(&pool->next) < pool->loop.turns)
        return false;
    pool->invited = 0;
    return pool->busy == 0;
}

static void wait_for_members(struct pool *pool)
{
    pthread_mutex_lock(&pool->mutex);
    while (!is_over(pool))
        pthread_cond_wait(&pool->left, &pool->mutex);
    pthread_mutex_unlock(&pool->mutex);
}

void pool_share(struct pool *pool, unsigned members, size_t turns, size_t together, pool_work *work,
                void *context)
{
    const struct loop loop = {work, context, turns, together};

    if (members == 1 || turns <= together) {
        work(context, 0, turns, 0);
        return;
    }
    start_members(pool, members - 1);
    invite(pool, &loop, members);
    take_turns(pool, &loop, 0);
    wait_for_members(pool);
}

unsigned pool_start(struct pool *pool, unsigned threads, pool_work *work, void *context)
{
    struct loop loop = {work, context, 0, 1};

    start_members(pool, threads);
    loop.turns = pool->started < threads ? pool->started : threads;
    invite(pool, &loop, threads + 1);
    return (unsigned)loop.turns;
}

void pool_join(struct pool *pool)
{
    wait_for_members(pool);
}

bool pool_join_within(struct pool *pool, unsigned microseconds)
{
    const struct timespec end = clock_after(microseconds);
    bool over, late = false;

    pthread_mutex_lock(&pool->mutex);
    while (!(over = is_over(pool)) && !late)
        late = pthread_cond_timedwait(&pool->left, &pool->mutex, &end) != 0;
    pthread_mutex_unlock(&pool->mutex);
    return over;
}
