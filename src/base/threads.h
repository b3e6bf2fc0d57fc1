/* Threads: how many there may be, starting one, pools of them, and parallel loops. All of them have signals
   blocked but SIGPIPE, so signals go to the main thread. */
#ifndef THREADS_H
#define THREADS_H

#include "diag.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#define MOST_THREADS 4096 /* that may be asked for */

/* The number of processors that this process may run on. */
size_t thread_processors(void);

/* The number of threads to compute with: `wanted`; if that is 0, what OMP_NUM_THREADS says, else one for each
   processor. */
size_t thread_count(size_t wanted);

/* Likewise, if no number is wanted, for one of `processes` processes that run on the same processors. */
size_t thread_share(size_t processors, size_t processes);

/* How many of so many threads read an input at once, and write an output, where planes can be had in any
   order: these move more than a device computes. */
unsigned thread_carriers(size_t threads);

/* A stack as large as that of the program, for work that any other thread may do, too; or a small one, which
   takes less from what ulimit -v leaves for data. */
enum thread_stack { THREAD_FULL_STACK, THREAD_SMALL_STACK };

/* False if the system has no thread left; the caller does the work itself then. */
bool thread_start(pthread_t *thread, enum thread_stack stack, void *(*run)(void *), void *argument);

/* ---- pools: threads that share a loop with their caller, or work beside it, and wait in between ---- */

/* Threads that wait for loops of their caller. */
struct pool;

/* A pool of at most `threads` threads beside the caller. They start when they are first needed. */
bool pool_create(struct pool **pool, unsigned threads, enum thread_stack stack, struct fault *fault);

/* Only when no loop is under way; NULL is fine. */
void pool_destroy(struct pool *pool);

/* Do turns first to first + count − 1. Member 0 is the caller, 1 and up are threads. */
typedef void pool_work(void *context, size_t first, size_t count, unsigned member);

/* Do all turns of a loop by the caller and members − 1 threads. Whoever is free takes the next `together`
   turns. If fewer threads start, the others do all. */
void pool_share(struct pool *pool, unsigned members, size_t turns, size_t together, pool_work *work,
                void *context);

/* Give one turn to each of at most `threads` threads, and return how many threads that are. The caller goes
   on, and joins them later. */
unsigned pool_start(struct pool *pool, unsigned threads, pool_work *work, void *context);

/* Wait until every turn is over; without one under way it returns at once. */
void pool_join(struct pool *pool);

/* Wait for at most that long; return whether every turn is over. */
bool pool_join_within(struct pool *pool, unsigned microseconds);

/* ---- parallel loops: independent turns, each by a thread of its own where one can be had ---- */

struct parallel_loop;

/* One turn; false with its fault filled in. `loop` is NULL in a serial loop. */
typedef bool parallel_for_body(void *context, size_t turn, struct parallel_loop *loop, struct fault *fault);

/* Do turns 0 to count − 1 and wait for all; if some fail, the first fault is the result. If fewer threads
   start, the others do the remaining turns. */
bool parallel_for(size_t count, parallel_for_body *work, void *context, struct fault *fault);

/* Do the turns one after the other, up to the first that fails. */
bool serial_for(size_t count, parallel_for_body *work, void *context, struct fault *fault);

/* Whether a turn has failed, so that others need not go on; `fault` is then that turn's. NULL has not. */
bool parallel_loop_has_failed(struct parallel_loop *loop, struct fault *fault);

#endif
