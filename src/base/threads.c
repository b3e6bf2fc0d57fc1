/* Threads: starting them, pools of them, and parallel loops.

   A pool's threads wait until they are called. A call publishes a loop; each member then joins it, and takes
   turns from one atomic counter until there are none left. The caller of pool_share takes turns, too, and
   waits until no member is in the loop; a member that comes too late finds it closed. pool_start gives each
   thread one turn instead, and the caller goes on. Loops of a run follow one another so closely that to sleep
   in between and be woken would take longer than many of them. So a thread that waits looks for work for a
   while before it sleeps, where there is a processor for each. parallel_for makes a pool for one loop and
   collects the first fault. */
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
    /* The number of the loop in multiples of CALL; OPEN while members may join it; and how many are in it,
       the caller not counted. While one is, or may come, the loop stays as it is. */
    atomic_uint_fast64_t state;
    struct loop loop;
    atomic_size_t next;   /* the first turn that nobody has taken */
    atomic_uint invited;  /* members below may join the loop */
    atomic_uint sleeping; /* members */
    atomic_bool awaited;  /* the caller sleeps until the last member leaves */
    atomic_bool ends;
    bool patient;          /* whoever waits looks for something to do for a while before it sleeps */
    pthread_mutex_t mutex; /* of those that sleep */
    pthread_cond_t called, left;
    enum thread_stack stack;
    struct member *members; /* the threads; the caller is number 0 */
    unsigned started, most;
};

#define OPEN ((uint_fast64_t)1 << 31)
#define CALL ((uint_fast64_t)1 << 32)

/* How long a thread looks for work before it sleeps. */
#define PATIENCE_SECONDS 50e-6

/* When that is over: at once, if it is not patient. */
static double end_of_patience(const struct pool *pool)
{
    return pool->patient ? clock_seconds() + PATIENCE_SECONDS : 0.0;
}

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

/* Whether a state is of a loop that the member may join and has not seen. */
static bool may_join(const struct member *member, uint_fast64_t state, uint_fast64_t seen)
{
    return (state & OPEN) != 0 && state / CALL != seen &&
           member->number < atomic_load(&member->pool->invited);
}

/* False: there is none, or it has just ended. */
static bool join_loop(const struct member *member, uint_fast64_t *seen)
{
    uint_fast64_t state = atomic_load(&member->pool->state);

    while (may_join(member, state, *seen)) {
        if (atomic_compare_exchange_weak(&member->pool->state, &state, state + 1)) {
            *seen = state / CALL;
            return true;
        }
    }
    return false;
}

/* Whether the member need not wait any longer. */
static bool is_called(const struct member *member, uint_fast64_t seen)
{
    return atomic_load(&member->pool->ends) || may_join(member, atomic_load(&member->pool->state), seen);
}

/* Until the member is called, or the pool ends. */
static void await_call(const struct member *member, uint_fast64_t seen)
{
    struct pool *pool = member->pool;
    const double end = end_of_patience(pool);

    while (clock_seconds() < end) {
        if (is_called(member, seen))
            return;
        sched_yield();
    }
    pthread_mutex_lock(&pool->mutex);
    atomic_fetch_add(&pool->sleeping, 1);
    while (!is_called(member, seen))
        pthread_cond_wait(&pool->called, &pool->mutex);
    atomic_fetch_sub(&pool->sleeping, 1);
    pthread_mutex_unlock(&pool->mutex);
}

/* The life of a thread of a pool. */
static void *serve(void *argument)
{
    const struct member *member = argument;
    struct pool *pool = member->pool;
    uint_fast64_t seen = 0;

    while (!atomic_load(&pool->ends)) {
        if (!join_loop(member, &seen)) {
            await_call(member, seen);
            continue;
        }
        take_turns(pool, &pool->loop, member->number);
        if ((atomic_fetch_sub(&pool->state, 1) - 1) % OPEN == 0 && atomic_load(&pool->awaited)) {
            pthread_mutex_lock(&pool->mutex);
            pthread_cond_signal(&pool->left);
            pthread_mutex_unlock(&pool->mutex);
        }
    }
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
    pool->patient = threads < thread_processors();
    pool->stack = stack;
    pool->most = threads;
    *result = pool;
    return true;
}

static void wake_members(struct pool *pool)
{
    pthread_mutex_lock(&pool->mutex);
    pthread_cond_broadcast(&pool->called);
    pthread_mutex_unlock(&pool->mutex);
}

void pool_destroy(struct pool *pool)
{
    if (pool == NULL)
        return;
    atomic_store(&pool->ends, true);
    wake_members(pool);
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

/* Publish a loop, and wake those that sleep. One that falls asleep now sees the loop, or is seen. */
static void invite(struct pool *pool, const struct loop *loop, unsigned members)
{
    pool->loop = *loop;
    atomic_store(&pool->next, 0);
    atomic_store(&pool->invited, members);
    atomic_store(&pool->state, (atomic_load(&pool->state) / CALL + 1) * CALL + OPEN);
    if (atomic_load(&pool->sleeping) > 0)
        wake_members(pool);
}

/* Whether every turn is over; then nobody joins any longer. A member that has not come when all turns are
   taken need not come. */
static bool is_over(struct pool *pool)
{
    uint_fast64_t state = atomic_load(&pool->state);

    if ((state & OPEN) == 0)
        return true;
    return atomic_load(&pool->next) >= pool->loop.turns && state % OPEN == 0 &&
           atomic_compare_exchange_strong(&pool->state, &state, state - OPEN);
}

/* Sleep until every turn is over, or until an end if there is one. */
static bool sleep_until_over(struct pool *pool, const struct timespec *end)
{
    bool over, late = false;

    pthread_mutex_lock(&pool->mutex);
    atomic_store(&pool->awaited, true);
    while (!(over = is_over(pool)) && !late) {
        if (end == NULL)
            pthread_cond_wait(&pool->left, &pool->mutex);
        else
            late = pthread_cond_timedwait(&pool->left, &pool->mutex, end) != 0;
    }
    atomic_store(&pool->awaited, false);
    pthread_mutex_unlock(&pool->mutex);
    return over;
}

void pool_join(struct pool *pool)
{
    const double end = end_of_patience(pool);

    while (!is_over(pool)) {
        if (clock_seconds() >= end) {
            (void)sleep_until_over(pool, NULL);
            return;
        }
        sched_yield();
    }
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

    return sleep_until_over(pool, &end);
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
