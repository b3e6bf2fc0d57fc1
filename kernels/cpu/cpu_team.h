/* Teams: the threads that share the loops of a device. Between two loops they sleep, so that whoever reads
   and writes files meanwhile has the processors. (OpenMP's spin there, unless the environment forbids it
   before the program starts.) */
#ifndef CPU_TEAM_H
#define CPU_TEAM_H

#include "kernels/backend.h"

/* The threads of a device; the one that calls is always among them. */
struct cpu_team;

/* So many of a team. */
struct cpu_crew {
    struct cpu_team *team;
    unsigned members;
};

/* Turns of a loop, by one member of 0 … members − 1. */
typedef void cpu_team_work(void *context, struct range turns, unsigned member);

/* For up to `most` members, of which no more start than are called for. */
bool cpu_team_create(struct cpu_team **team, unsigned most, struct fault *fault);
void cpu_team_destroy(struct cpu_team *team);

/* All turns, so many at a time: who is free takes the next ones. Threads that cannot be had are not missed.
 */
void cpu_team_share(const struct cpu_crew *crew, size_t turns, size_t together, cpu_team_work *work,
                    void *context);

/* The same for many turns that are alike: a few shares for each member. */
void cpu_team_share_evenly(const struct cpu_crew *crew, size_t turns, cpu_team_work *work, void *context);

#endif
