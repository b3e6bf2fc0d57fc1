#include "trial.h"

#include "base/mem.h"
#include "base/size.h"
#include "team.h"

#include <math.h>

/* Steps that are taken before their changes are looked at, where looking at each would be a pass of its own.
 */
#define MOST_AT_A_VENTURE 4096

struct trial trial_of(struct run *run)
{
    return (struct trial){.run = run, .last_change = NAN};
}

static const struct stage *last_stage(const struct trial *trial)
{
    const struct job *job = trial->run->job;

    return &job->stages[job->stage_count - 1];
}

/* The RMS of a step in values, from the sums of all its channels in samples. */
static double change_of(const struct trial *trial, const double *sums)
{
    double total = 0.0;

    for (unsigned channel = 0; channel < trial->run->job->in.grid.channels; channel++)
        total += sums[channel];
    return sqrt(total / (double)grid_samples(&trial->run->job->in.grid)) *
           intensity_unit(&last_stage(trial)->intensity);
}

/* Look at a step; whether the run ends with it. */
static bool judge(struct trial *trial, uint64_t step, const double *sums)
{
    trial->last_change = change_of(trial, sums);
    history_add(&trial->looks, step, trial->last_change);
    return trial->last_change < last_stage(trial)->until;
}

/* Look at those of some steps in a row that are looked at; how many of them the run takes. */
static size_t judge_all(struct trial *trial, uint64_t behind, const double *changes, size_t steps,
                        bool *enough)
{
    size_t taken = 0;

    *enough = false;
    while (taken < steps && !*enough) {
        const double *sums = changes + taken++ * trial->run->job->in.grid.channels;
        if (checks_is_due(&last_stage(trial)->checks, behind + taken))
            *enough = judge(trial, behind + taken, sums);
    }
    trial->steps += taken;
    return taken;
}

struct levels_mark trial_start(const struct trial *trial)
{
    return (struct levels_mark){trial->run->job->stage_count - 1, 0};
}

/* All planes are in the fields: steps that nobody looks at, as many at once as there are. */
static bool step_unseen(struct trial *trial, struct levels_mark *mark, uint64_t step)
{
    struct levels_mark end = {mark->stage, step};
    bool done = mark->step == step ||
                team_make(trial->run, &(struct pass){.begin = *mark, .end = end, .changes = NULL});

    *mark = end;
    return done;
}

/* A step whose change is added to sums. */
static bool step_seen(struct trial *trial, struct levels_mark *mark, double *sums)
{
    struct levels_mark end = {mark->stage, mark->step + 1};
    bool done;

    for (unsigned channel = 0; channel < trial->run->job->in.grid.channels; channel++)
        sums[channel] = 0.0;
    done = team_make(trial->run, &(struct pass){.begin = *mark, .end = end, .changes = sums});
    *mark = end;
    return done;
}

bool trial_open(struct trial *trial)
{
    return history_open(&trial->looks, checks_count(&last_stage(trial)->checks), trial->run->fault);
}

bool trial_in_fields(struct trial *trial)
{
    const struct stage *last = last_stage(trial);
    struct levels_mark mark = trial_start(trial);
    double *sums = mem_zeroed(trial->run->job->in.grid.channels, sizeof *sums, "the sums", trial->run->fault);
    bool enough = false, done = peers_agree(trial->run->peers, sums != NULL, trial->run->fault);

    while (done && !enough && mark.step < last->steps) {
        done = step_unseen(trial, &mark, checks_next(&last->checks, mark.step) - 1) &&
               step_seen(trial, &mark, sums);
        enough = done && judge(trial, mark.step, sums);
    }
    trial->steps += mark.step;
    trial->unreached = !enough;
    mem_free(sums);
    return done;
}

/* Steps that a pass takes before anyone knows whether the run takes them. */
static struct route_pass venture(const struct trial *trial, const struct route *route)
{
    struct levels_mark end = levels_end(route->levels), most = route->at;
    struct route_pass next;

    most.step += MOST_AT_A_VENTURE;
    if (most.step < last_stage(trial)->steps)
        end = most;
    next = route_next(route, end, false);
    next.to = route_other_spool(next.from);
    return next;
}

static size_t steps_of(const struct trial *trial, const struct route_pass *next)
{
    uint64_t end = next->end.stage > next->begin.stage ? last_stage(trial)->steps : next->end.step;

    return (size_t)(end - next->begin.step);
}

bool trial_over_spools(struct trial *trial, struct journey *journey, struct levels_mark *end)
{
    struct route *route = &journey->route;
    unsigned channels = trial->run->job->in.grid.channels;
    bool enough = false;

    while (!enough && !route_is_at(route, levels_end(route->levels))) {
        struct route_pass next = venture(trial, route);
        size_t steps = steps_of(trial, &next), taken = 0;
        double *sums = mem_zeroed(steps, channels * sizeof *sums, "the sums", trial->run->fault);
        bool done = sums != NULL && journey_make(journey, &next, sums, false);
        if (done)
            taken = judge_all(trial, next.begin.step, sums, steps, &enough);
        mem_free(sums);
        if (!done)
            return false;
        if (taken < steps) {
            *end = route->at;
            end->step += taken;
            return true;
        }
        route_take(route, &next);
    }
    *end = route->at;
    trial->unreached = !enough;
    return true;
}
