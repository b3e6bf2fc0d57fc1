/* Crews: the threads that share a loop over samples. */
#ifndef CPU_CREW_H
#define CPU_CREW_H

#include "base/pool.h"
#include "kernels/backend.h"

/* So many of a device's threads; the one that calls is always among them. */
struct cpu_crew {
    struct pool *pool; /* may be NULL for one member */
    unsigned members;
};

/* Turns of a loop, by one member of 0 … members − 1. */
typedef void cpu_crew_work(void *context, struct range turns, unsigned member);

/* All turns, so many at a time: who is free takes the next ones. */
void cpu_crew_share(const struct cpu_crew *crew, size_t turns, size_t together, cpu_crew_work *work,
                    void *context);

/* The same for many turns that are alike: a few shares for each member. */
void cpu_crew_share_evenly(const struct cpu_crew *crew, size_t turns, cpu_crew_work *work, void *context);

#endif
