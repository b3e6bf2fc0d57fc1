/* Observers: whoever looks at the planes of a run as files hold them.

   --stats is one of them. Its sums have the same bits however planes come: each plane is tallied by itself,
   and the tallies are added up in the order of planes. Where several processes have planes, each keeps the
   tallies of its own until the end. Then rank 0 takes them rank by rank, which is the order of planes again.
 */
#include "observer.h"

#include "base/clock.h"
#include "base/mem.h"

#include <string.h>

size_t observers_bytes(const struct observers *observers, const struct job *job)
{
    size_t bytes = 0;

    for (size_t i = 0; i < observers->count; i++) {
        const struct observer *observer = &observers->list[i];
        bytes += observer->kind->bytes == NULL ? 0 : observer->kind->bytes(job);
    }
    return bytes;
}

bool observers_begin(const struct observers *observers, const struct plan *plan, struct fault *fault)
{
    for (size_t i = 0; i < observers->count; i++) {
        const struct observer *observer = &observers->list[i];
        if (!observer->kind->begin(observer->state, plan, fault))
            return false;
    }
    return true;
}

bool observers_see(const struct observers *observers, enum observer_end end, const void *samples,
                   struct range planes, struct fault *fault)
{
    for (size_t i = 0; i < observers->count; i++) {
        const struct observer *observer = &observers->list[i];
        if (!observer->kind->see(observer->state, end, samples, planes, fault))
            return false;
    }
    return true;
}

bool observers_finish(const struct observers *observers, struct peers *peers, struct fault *fault)
{
    for (size_t i = 0; i < observers->count; i++) {
        const struct observer *observer = &observers->list[i];
        if (!observer->kind->finish(observer->state, peers, fault))
            return false;
    }
    return true;
}

/* ---- --stats ---- */

/* Planes that are tallied at once: many rows of a picture, whose tallies still take little memory. */
#define PLANES_TOGETHER 4096

static struct tally *new_tallies(const struct plan *plan, size_t count, struct fault *fault)
{
    return mem_zeroed(count, plan->job->in.grid.channels * sizeof(struct tally), "the statistics", fault);
}

/* Planes are added up in their order: until those before them are known, each is kept by itself. */
size_t observer_stats_bytes(const struct job *job)
{
    size_t planes = job->members == 1 ? 0 : job->window.count;

    return 2 * (job->in.volumes - 1 + planes) * job->in.grid.channels * sizeof(struct tally);
}

void observer_stats_free(struct observer_stats *stats)
{
    mem_free(stats->planes);
    mem_free(stats->kept[0]);
    mem_free(stats->kept[1]);
    stats->planes = stats->kept[0] = stats->kept[1] = NULL;
}

/* Tallies for both ends, of all volumes if this is the first. */
static bool begin_stats(void *state, const struct plan *plan, struct fault *fault)
{
    struct observer_stats *stats = state;
    size_t planes = plan->shape.planes < PLANES_TOGETHER ? plan->shape.planes : PLANES_TOGETHER;
    size_t volumes = stats->of_series ? plan->job->in.volumes : 1;

    stats->plan = plan;
    stats->in = new_tallies(plan, volumes, fault);
    stats->out = stats->in == NULL ? NULL : new_tallies(plan, volumes, fault);
    stats->planes = stats->out == NULL ? NULL : new_tallies(plan, planes, fault);
    for (size_t end = 0; stats->planes != NULL && plan->job->members > 1 && end < 2; end++) {
        stats->kept[end] = new_tallies(plan, plan->job->window.count, fault);
        if (stats->kept[end] == NULL)
            return false;
    }
    return stats->planes != NULL;
}

/* Planes one after the other, whatever comes together. */
static void add_up(const struct observer_stats *stats, enum observer_end end, const struct tally *planes,
                   size_t count)
{
    struct tally *totals = end == OBSERVER_INPUT ? stats->in : stats->out;
    size_t channels = stats->plan->job->in.grid.channels;

    for (size_t i = 0; i < count * channels; i++)
        tally_add_plane(&totals[i % channels], &planes[i]);
}

/* Tally each plane by itself, and add it to the sums or keep it until those before it are known. */
static bool add_planes(const struct observer_stats *stats, enum observer_end end, const void *samples,
                       struct range planes, struct fault *fault)
{
    const struct plan *plan = stats->plan;
    const struct encoding *encoding = end == OBSERVER_INPUT ? &plan->job->decode : &plan->job->encode;
    size_t first = planes.first - plan->job->window.first;
    struct tally *kept = stats->kept[end] == NULL ? NULL : stats->kept[end] + first * encoding->channels;

    if (!plan->lanes[0].backend->tally(plan->lanes[0].device, encoding, &plan->shape, samples, planes.count,
                                       stats->planes, fault))
        return false;
    if (kept != NULL)
        memcpy(kept, stats->planes, planes.count * encoding->channels * sizeof *kept);
    else
        add_up(stats, end, stats->planes, planes.count);
    return true;
}

static bool see_stats(void *state, enum observer_end end, const void *samples, struct range planes,
                      struct fault *fault)
{
    struct observer_stats *stats = state;
    const struct job *job = stats->plan->job;
    const size_t plane_bytes = end == OBSERVER_INPUT ? job->in_plane_bytes : job->out_plane_bytes;
    const unsigned char *bytes = samples;
    double begun = clock_seconds();
    bool done = true;

    for (size_t i = 0, count; done && i < planes.count; i += count) {
        count = planes.count - i < PLANES_TOGETHER ? planes.count - i : PLANES_TOGETHER;
        done =
            add_planes(stats, end, bytes + i * plane_bytes, (struct range){planes.first + i, count}, fault);
    }
    stats->seconds += clock_seconds() - begun;
    return done;
}

/* The tallies of one end of the run that a rank has kept. */
struct gathering {
    const struct observer_stats *stats;
    enum observer_end end;
};

static bool take(void *data, const void *bytes, size_t size, struct fault *fault)
{
    const struct gathering *gathering = data;
    size_t each = gathering->stats->plan->job->in.grid.channels * sizeof(struct tally);

    (void)fault;
    add_up(gathering->stats, gathering->end, bytes, size / each);
    return true;
}

static bool gather(const struct observer_stats *stats, struct peers *peers, enum observer_end end,
                   struct fault *fault)
{
    const struct job *job = stats->plan->job;
    struct gathering gathering = {stats, end};

    return peers_gather(peers, stats->kept[end],
                        job->window.count * job->in.grid.channels * sizeof(struct tally), take, &gathering,
                        fault);
}

static bool finish_stats(void *state, struct peers *peers, struct fault *fault)
{
    const struct observer_stats *stats = state;

    return peers_count(peers) == 1 ||
           (gather(stats, peers, OBSERVER_INPUT, fault) && gather(stats, peers, OBSERVER_OUTPUT, fault));
}

const struct observer_kind observer_stats = {.begin = begin_stats, .see = see_stats, .finish = finish_stats};
