/* Statistics: the observer that adds up the samples of both ends of a run. */
#include "stats.h"

#include "base/clock.h"
#include "base/mem.h"

static struct tally *new_tallies(const struct header *header, struct fault *fault)
{
    return mem_zeroed(header->grid.channels, sizeof(struct tally), "the statistics", fault);
}

static bool begin(void *state, const struct plan *plan, struct fault *fault)
{
    struct stats *stats = state;

    stats->plan = plan;
    stats->in = new_tallies(&plan->job->in, fault);
    stats->out = stats->in == NULL ? NULL : new_tallies(&plan->job->out, fault);
    return stats->out != NULL;
}

static bool see(void *state, enum observer_end end, const void *samples, struct range planes,
                struct fault *fault)
{
    struct stats *stats = state;
    const struct plan *plan = stats->plan;
    bool is_input = end == OBSERVER_INPUT;
    double begun = clock_seconds();
    bool done =
        plan->backend->survey(plan->device, is_input ? &plan->job->decode : &plan->job->encode, &plan->shape,
                              samples, planes.count, is_input ? stats->in : stats->out, fault);

    stats->seconds += clock_seconds() - begun;
    return done;
}

static bool finish(void *state, struct fault *fault)
{
    (void)state, (void)fault;
    return true;
}

const struct observer_kind stats_kind = {.name = "statistics", .begin = begin, .see = see, .finish = finish};
