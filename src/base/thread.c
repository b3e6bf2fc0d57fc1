/* Threads beside the one that computes: their stacks are small and signals go to others. */
#include "thread.h"

#include <omp.h>
#include <signal.h>

/* The default of 8 MiB would take from what ulimit -v leaves for data. */
#define STACK_BYTES ((size_t)512 << 10)

/* Without a number of bytes the stack is as large as the system makes it. */
static bool create(pthread_t *thread, size_t stack_bytes, void *(*run)(void *), void *argument)
{
    pthread_attr_t attributes;
    if (pthread_attr_init(&attributes) != 0)
        return false;
    bool created = (stack_bytes == 0 || pthread_attr_setstacksize(&attributes, stack_bytes) == 0) &&
                   pthread_create(thread, &attributes, run, argument) == 0;
    pthread_attr_destroy(&attributes);
    return created;
}

static bool start(pthread_t *thread, size_t stack_bytes, void *(*run)(void *), void *argument)
{
    sigset_t all, before;
    sigfillset(&all);
    /* It means whoever writes, and ends the program as in any other thread. */
    sigdelset(&all, SIGPIPE);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool created = create(thread, stack_bytes, run, argument);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return created;
}

bool thread_start(pthread_t *thread, void *(*run)(void *), void *argument)
{
    return start(thread, STACK_BYTES, run, argument);
}

bool thread_start_roomy(pthread_t *thread, void *(*run)(void *), void *argument)
{
    return start(thread, 0, run, argument);
}

size_t thread_count(size_t wanted)
{
    return wanted > 0 ? wanted : (size_t)omp_get_max_threads();
}
