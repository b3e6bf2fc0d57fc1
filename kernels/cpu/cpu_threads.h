/* The threads that share a loop over samples. */
#ifndef CPU_THREADS_H
#define CPU_THREADS_H

#include "base/threads.h"
#include "kernels/backend.h"

/* So many of a device's threads; the one that calls is always among them. */
struct cpu_threads {
    struct pool *pool; /* may be NULL for one member */
    unsigned members;
};

/* Turns of a loop, by one member of 0 … members − 1. */
typedef void cpu_threads_work(void *context, struct range turns, unsigned member);

struct cpu_threads_loop {
    cpu_threads_work *work;
    void *context;
};

static inline void cpu_threads_turns(void *context, size_t first, size_t count, unsigned member)
{
    const struct cpu_threads_loop *loop = context;

    loop->work(loop->context, (struct range){first, count}, member);
}

/* All turns, so many at a time: who is free takes the next ones. */
static inline void cpu_threads_share(const struct cpu_threads *threads, size_t turns, size_t together,
                                     cpu_threads_work *work, void *context)
{
    struct cpu_threads_loop loop = {work, context};

    pool_share(threads->pool, threads->members, turns, together, cpu_threads_turns, &loop);
}

/* The same for many turns that are alike: four shares for each member, so that others take what is left to
   one that is held up. */
static inline void cpu_threads_share_evenly(const struct cpu_threads *threads, size_t turns,
                                            cpu_threads_work *work, void *context)
{
    size_t shares = (size_t)threads->members * 4;

    cpu_threads_share(threads, turns, turns / shares + 1, work, context);
}

#endif
