/* Threads beside the one that computes: their stacks are small and signals go to others. */
#ifndef THREAD_H
#define THREAD_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#define MOST_THREADS 4096 /* that may be asked for */

/* False where no thread is to be had; the caller does the work itself then. */
bool thread_start(pthread_t *thread, void *(*run)(void *), void *argument);

/* The same with a stack as large as that of the program: for work that any other thread may do, too. */
bool thread_start_roomy(pthread_t *thread, void *(*run)(void *), void *argument);

/* How many processors this process may run on. */
size_t thread_processors(void);

/* As many as were asked for; without a wish (0) what OMP_NUM_THREADS says, and else a thread for each
 * processor. */
size_t thread_count(size_t wanted);

/* Likewise without a wish, but for one of so many processes that may run on the same processors. */
size_t thread_share(size_t processes);

#endif
