/* Threads beside the one that computes: their stacks are small and signals go to others. */
#include "thread.h"

#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

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

#ifdef CPU_COUNT
/* Those that the process may run on; 0 where the machine has more than the set holds. */
static long allowed_processors(void)
{
    cpu_set_t set;

    return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 0;
}
#else
static long allowed_processors(void)
{
    return 0;
}
#endif

size_t thread_processors(void)
{
    long count = allowed_processors();

    if (count == 0)
        count = sysconf(_SC_NPROCESSORS_ONLN);
    return count > 0 ? (size_t)count : 1;
}

/* What the environment says for OpenMP programs, of which this is none, is meant for all: the first of a
   list, as nproc reads it. 0 where it says nothing. */
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

size_t thread_share(size_t processes)
{
    size_t wanted = count_of_environment(), share = thread_processors() / processes;

    if (wanted > 0)
        return wanted;
    return share > 0 ? share : 1;
}
