/* Threads: starting them, pools of them, and parallel loops.

   A pool's threads sleep until they are called. A call publishes a loop under the mutex and wakes them; each
   member then takes turns from one atomic counter until there are none left. The caller of pool_share takes
   turns, too, and waits until no member is busy; a member that wakes up too late finds itself no longer
   invited. pool_start gives each thread one turn instead, and the caller goes on. parallel_for makes a pool
   for one loop and collects the first fault. */
#include "threads.h"

#include "clock.h"
#include "mem.h"

#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- threads ---- */

/* The default of 8 MiB would take from what ulimit -v leaves for data. */
#define SMALL_STACK_BYTES ((size_t)512 << 10)

bool thread_start(pthread_t *thread, enum thread_stack stack, void *(*run)(void *), void *argument)
{
    pthread_attr_t attributes;
    sigset_t all, before;
    bool started;

    if (pthread_attr_init(&attributes) != 0)
        return false;
    sigfillset(&all);
    /* SIGPIPE goes to the thread that writes, and is to end the program whichever that is. */
    sigdelset(&all, SIGPIPE);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    started =
        (stack == THREAD_FULL_STACK || pthread_attr_setstacksize(&attributes, SMALL_STACK_BYTES) == 0) &&
        pthread_create(thread, &attributes, run, argument) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return started;
}

size_t thread_processors(void)
{
    long count = 0;

#ifdef CPU_COUNT
    cpu_set_t set;

    /* Those that the process may run on, unless the machine has more than the set holds. */
    if (sched_getaffinity(0, sizeof set, &set) == 0)
        count = CPU_COUNT(&set);
#endif
    if (count == 0)
        count = sysconf(_SC_NPROCESSORS_ONLN);
    return count > 0 ? (size_t)count : 1;
}

/* OpenMP's variable in the environment is meant for all programs that compute with threads, though this one
   does not use OpenMP: the first number of its list, as nproc reads it. 0: there is none. */
static size_t count_of_environment(void)
{
    const char *text = getenv("OMP_NUM_THREADS");
    long count = text != NULL ? strtol(text, NULL, 10) : 0;

    return count > 0 && count <= MOST_THREADS ? (size_t)count : 0;
}

size_t thread_count(size_t wanted)
{
    if (wanted == 0)
        wanted = count_of_environment();
    return wanted > 0 ? wanted : thread_processors();
}

size_t thread_share(size_t processors, size_t processes)
{
    size_t wanted = count_of_environment(), share = processors / processes;

    if (wanted > 0)
        return wanted;
    return share > 0 ? share : 1;
}

#define MOST_CARRIERS 4

/* Two processors are busy with reading, computing and writing as it is. */
unsigned thread_carriers(size_t threads)
{
    size_t half = threads / 2;

    return half < 2 ? 1 : half < MOST_CARRIERS ? (unsigned)half : MOST_CARRIERS;
}

/* ---- pools ---- */

/* A loop that members of a pool share: `together` turns are taken at a time. */
struct loop {
    pool_work *work;
    void *context;
    size_t turns, together;
};

/* A thread of a pool. */
struct member {
    struct pool *pool;
    pthread_t thread;
    unsigned number;
};

struct pool {
    pthread_mutex_t mutex;
    pthread_cond_t called, left;
    enum thread_stack stack;
    struct member *members; /* the threads; the caller is number 0 */
    unsigned started, most;
    uint64_t calls;   /* loops so far, by which a member sees whether there is a new one */
    unsigned invited; /* members below may join the loop; 0: it is over */
    unsigned busy;    /* members that are in the loop, the caller not counted */
    bool ends;
    struct loop loop;
    atomic_size_t next; /* the first turn that nobody has taken */
};

/* ---- a member ---- */

/* Take turns until there are none left. */
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

/* The life of a thread of a pool. */
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

bool pool_create(struct pool **result, unsigned threads, enum thread_stack stack, struct fault *fault)
{
    struct pool *pool = mem_zeroed(1, sizeof *pool, "threads", fault);
    pthread_condattr_t attributes;

    if (pool == NULL)
        return false;
    pool->members = mem_zeroed(threads, sizeof *pool->members, "threads", fault);
    if (pool->members == NULL) {
        mem_free(pool);
        return false;
    }
    pthread_mutex_init(&pool->mutex, NULL);
    pthread_cond_init(&pool->called, NULL);
    /* Waits for `left` go by the clock of clock_after. */
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&pool->left, &attributes);
    pthread_condattr_destroy(&attributes);
    pool->stack = stack;
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

static void start_members(struct pool *pool, unsigned wanted)
{
    while (pool->started < wanted && pool->started < pool->most) {
        struct member *member = &pool->members[pool->started];
        *member = (struct member){.pool = pool, .number = pool->started + 1};
        if (!thread_start(&member->thread, pool->stack, serve, member))
            return;
        pool->started++;
    }
}

/* ---- the caller ---- */

/* Publish a loop, and wake those that may join it. */
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

void pool_join(struct pool *pool)
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
    pool_join(pool);
}

unsigned pool_start(struct pool *pool, unsigned threads, pool_work *work, void *context)
{
    struct loop loop = {work, context, 0, 1};

    start_members(pool, threads);
    loop.turns = pool->started < threads ? pool->started : threads;
    invite(pool, &loop, threads + 1);
    return (unsigned)loop.turns;
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

/* ---- parallel loops ---- */

struct parallel_loop {
    parallel_for_body *work;
    void *context;
    FILE *messages;        /* where messages of the calling thread go, and so those of all turns */
    pthread_mutex_t mutex; /* of what follows */
    bool failed;
    struct fault fault;
};

static void run_turns(void *context, size_t first, size_t count, unsigned member)
{
    struct parallel_loop *loop = context;
    struct fault fault;

    if (member > 0)
        diag_redirect(loop->messages);
    for (size_t turn = first; turn < first + count; turn++) {
        if (loop->work(loop->context, turn, loop, &fault))
            continue;
        pthread_mutex_lock(&loop->mutex);
        if (!loop->failed)
            loop->fault = fault;
        loop->failed = true;
        pthread_mutex_unlock(&loop->mutex);
    }
}

bool parallel_loop_has_failed(struct parallel_loop *loop, struct fault *fault)
{
    bool failed;

    if (loop == NULL)
        return false;
    pthread_mutex_lock(&loop->mutex);
    failed = loop->failed;
    if (failed)
        *fault = loop->fault;
    pthread_mutex_unlock(&loop->mutex);
    return failed;
}

bool parallel_for(size_t count, parallel_for_body *work, void *context, struct fault *fault)
{
    struct parallel_loop loop = {.work = work, .context = context, .messages = diag_stream()};
    struct pool *pool;

    if (count <= 1)
        return serial_for(count, work, context, fault);
    if (!pool_create(&pool, (unsigned)count - 1, THREAD_FULL_STACK, fault))
        return false;
    pthread_mutex_init(&loop.mutex, NULL);
    pool_share(pool, (unsigned)count, count, 1, run_turns, &loop);
    pool_destroy(pool);
    if (loop.failed)
        *fault = loop.fault;
    pthread_mutex_destroy(&loop.mutex);
    return !loop.failed;
}

bool serial_for(size_t count, parallel_for_body *work, void *context, struct fault *fault)
{
    bool done = true;

    for (size_t turn = 0; done && turn < count; turn++)
        done = work(context, turn, NULL, fault);
    return done;
}
