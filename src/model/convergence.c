/* Convergence: by how much a stage with --until changed the samples, check by check. */
#include "convergence.h"

#include "base/mem.h"

bool convergence_open(struct convergence *convergence, uint64_t most, struct fault *fault)
{
    *convergence = (struct convergence){.room = most < CONVERGENCE_KEPT ? (size_t)most : CONVERGENCE_KEPT};
    convergence->checks = mem_alloc(convergence->room, sizeof *convergence->checks, "the convergence", fault);
    return convergence->checks != NULL;
}

void convergence_add(struct convergence *convergence, uint64_t step, double change)
{
    convergence->checks[convergence->count % convergence->room] = (struct convergence_check){step, change};
    convergence->count++;
}

size_t convergence_kept(const struct convergence *convergence)
{
    return convergence->count < convergence->room ? (size_t)convergence->count : convergence->room;
}

struct convergence_check convergence_at(const struct convergence *convergence, size_t index)
{
    uint64_t first = convergence->count - convergence_kept(convergence);

    return convergence->checks[(first + index) % convergence->room];
}

void convergence_close(struct convergence *convergence)
{
    mem_free(convergence->checks);
    *convergence = (struct convergence){0};
}
