/* Statistics: the observer that adds up the samples of both ends of a run. */
#include "stats.h"

#include "base/clock.h"
#include "base/mem.h"

/* Planes that are tallied at once: many rows of a picture, whose tallies still take little memory. */
#define PLANES_TOGETHER 4096

static struct tally *new_tallies(const struct plan *plan, size_t planes, struct fault *fault)
{
    return mem_zeroed(planes, plan->job->in.grid.channels * sizeof(struct tally), "the statistics", fault);
}

static bool begin(void *state, const struct plan *plan, struct fault *fault)
{
    struct stats *stats = state;
    size_t planes = plan->shape.planes < PLANES_TOGETHER ? plan->shape.planes : PLANES_TOGETHER;

    stats->plan = plan;
    stats->in = new_tallies(plan, 1, fault);
    stats->out = stats->in == NULL ? NULL : new_tallies(plan, 1, fault);
    stats->planes = stats->out == NULL ? NULL : new_tallies(plan, planes, fault);
    return stats->planes != NULL;
}

/* Planes one after the other, whatever comes together. */
static bool add_planes(const struct stats *stats, enum observer_end end, const void *samples, size_t planes,
                       struct fault *fault)
{
    const struct plan *plan = stats->plan;
    const struct encoding *encoding = end == OBSERVER_INPUT ? &plan->job->decode : &plan->job->encode;
    struct tally *totals = end == OBSERVER_INPUT ? stats->in : stats->out;

    if (!plan->lanes[0].backend->tally(plan->lanes[0].device, encoding, &plan->shape, samples, planes,
                                       stats->planes, fault))
        return false;
    for (size_t i = 0; i < planes * encoding->channels; i++)
        tally_add_plane(&totals[i % encoding->channels], &stats->planes[i]);
    return true;
}

static size_t plane_bytes(const struct stats *stats, enum observer_end end)
{
    const struct job *job = stats->plan->job;

    return header_plane_bytes(end == OBSERVER_INPUT ? &job->in : &job->out);
}

static bool see(void *state, enum observer_end end, const void *samples, struct range planes,
                struct fault *fault)
{
    struct stats *stats = state;
    const unsigned char *bytes = samples;
    double begun = clock_seconds();
    bool done = true;

    for (size_t i = 0, count; done && i < planes.count; i += count) {
        count = planes.count - i < PLANES_TOGETHER ? planes.count - i : PLANES_TOGETHER;
        done = add_planes(stats, end, bytes + i * plane_bytes(stats, end), count, fault);
    }
    stats->seconds += clock_seconds() - begun;
    return done;
}

static bool finish(void *state, struct fault *fault)
{
    (void)state, (void)fault;
    return true;
}

const struct observer_kind stats_kind = {.name = "statistics", .begin = begin, .see = see, .finish = finish};
