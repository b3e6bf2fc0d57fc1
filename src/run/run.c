/* The run: planes from a source through a plan's levels into a sink, in one pass or in several. */
#include "run.h"

#include "base/clock.h"
#include "base/mem.h"
#include "journey.h"
#include "outcomes.h"
#include "pass.h"
#include "stats.h"
#include "stops.h"
#include "team.h"
#include "trial.h"

#include <math.h>
#include <string.h>

/* A run under way. */
struct running {
    struct plan *plan;
    const struct run_request *request;
    struct fault *fault;
    struct stops stops;
    struct run run;
    struct sweep sweeps[DEVICES_MOST];
    struct progress progress;
    struct trial trial;
    struct stats stats;
    struct observer *observers; /* the list of all of them, the run's own first */
};

/* All planes are in the fields. */
static bool measure_fields(struct running *running)
{
    struct run *run = &running->run;

    return peers_agree(run->peers, team_measure(run), running->fault) &&
           outrange_settle(&run->outrange, run->peers, running->fault);
}

/* All planes come in, and what is computed stays there. */
static bool fill_fields(struct running *running, struct levels_mark end)
{
    const struct stop in = stops_from(&running->stops, ROUTE_SOURCE);

    return team_make(&running->run, &(struct pass){.end = end, .from = &in}) &&
           (!running->plan->schedule.on_trial || trial_in_fields(&running->trial)) &&
           (!running->plan->job->measures || measure_fields(running));
}

/* The sink takes its room while planes come in and are computed. */
static bool filter_in_fields(struct running *running)
{
    bool on_trial = running->plan->schedule.on_trial;
    struct levels_mark end = on_trial ? trial_start(&running->trial) : levels_end(&running->plan->levels);
    const struct stop out = stops_to(&running->stops, ROUTE_SINK);

    stops_begin_to_reserve(&running->stops);
    return fill_fields(running, end) && stops_reserve(&running->stops, running->fault) &&
           team_make(&running->run, &(struct pass){.begin = end, .end = end, .to = &out});
}

static bool filter_until_over_spools(struct running *running)
{
    struct journey journey = journey_start(&running->run, &running->stops);
    struct levels_mark end;

    return journey_to_spool(&journey, trial_start(&running->trial)) &&
           trial_over_spools(&running->trial, &journey, &end) && journey_to_sink(&journey, end);
}

static bool filter_over_spools(struct running *running)
{
    struct journey journey = journey_start(&running->run, &running->stops);

    return journey_to_sink(&journey, levels_end(&running->plan->levels));
}

static bool filter_at_once(struct running *running)
{
    const struct stop in = stops_from(&running->stops, ROUTE_SOURCE),
                      out = stops_to(&running->stops, ROUTE_SINK);
    struct pass pass = {.end = levels_end(&running->plan->levels), .from = &in, .to = &out};

    return pass_make(&running->run, &pass);
}

static bool filter_all(struct running *running)
{
    const struct schedule *schedule = &running->plan->schedule;

    if (schedule->spooled)
        return schedule->on_trial ? filter_until_over_spools(running) : filter_over_spools(running);
    return schedule->whole ? filter_in_fields(running) : filter_at_once(running);
}

static bool begin_observers(struct running *running)
{
    const struct observers *others = &running->request->observers;
    struct observers *all = &running->run.observers;

    running->observers =
        mem_alloc(others->count + 1, sizeof *running->observers, "the observers", running->fault);
    if (running->observers == NULL)
        return false;
    all->list = running->observers;
    if (running->request->stats)
        running->observers[all->count++] = (struct observer){&stats_kind, &running->stats};
    for (size_t i = 0; i < others->count; i++)
        running->observers[all->count++] = others->list[i];
    return observers_begin(all, running->plan, running->fault);
}

static bool create_sweep(void *context, size_t index, struct crew *crew, struct fault *fault)
{
    struct running *running = context;
    struct run *run = &running->run;

    (void)crew;
    return sweep_create(&run->sweeps[index], running->plan, &run->lanes[index], run->progress, fault);
}

/* After a fault lanes may still be about to read each other's fields. */
static void destroy_sweeps(struct running *running)
{
    struct sweep *sweeps = running->run.sweeps;
    struct fault again;

    for (size_t i = 0; i < running->plan->shares.held && running->plan->shares.held > 1; i++) {
        if (sweeps[i].lane != NULL)
            (void)sweep_finish(&sweeps[i], &again);
    }
    for (size_t i = 0; i < running->plan->shares.held; i++)
        sweep_destroy(&sweeps[i]);
}

static void release(struct running *running)
{
    destroy_sweeps(running);
    stops_close(&running->stops);
    tees_end(&running->run.tees);
    stats_free(&running->stats);
    mem_free(running->observers);
}

/* The device has started once. */
static double start_seconds(const struct running *running)
{
    return running->request->volume == 0 ? running->plan->start : 0.0;
}

/* Ranks that write one file in memory are all on one node, so the threads of all of them count. */
static void expect_writers(const struct running *running)
{
    struct file_out *file = running->stops.outlet.sink->samples.file;

    if (file != NULL)
        file_out_expect_writers(file, running->plan->schedule.writers *
                                          (unsigned)peers_count(running->request->peers));
}

/* Of several ranks, rank 0 takes room for all samples beside the run. */
static bool open_outlets(struct running *running)
{
    const struct peers *peers = running->request->peers;

    expect_writers(running);
    running->stops.reserved = running->stops.reserved || peers_count(peers) > 1;
    return outlet_open(&running->stops.outlet, running->request->volume, peers, running->fault) &&
           tees_begin(&running->run.tees, peers, running->fault);
}

static bool prepare(struct running *running)
{
    struct run *run = &running->run;
    double begun = clock_seconds();
    bool done = begin_observers(running) && stops_open(&running->stops, running->fault) &&
                open_outlets(running) &&
                crew_share(running->plan->shares.held, create_sweep, running, running->fault) &&
                (!running->plan->schedule.on_trial || trial_open(&running->trial));

    if (run->tees.count > 0 && running->plan->shares.count == 1)
        run->sweep->tap = (struct sweep_tap){&run->tees, tees_take};
    run->seconds.start = start_seconds(running) + clock_seconds() - begun;
    return done;
}

/* By this process. */
static size_t computed_planes(const struct plan *plan)
{
    const struct shares *shares = &plan->shares;

    return shares->held < shares->count ? shares_own(shares, shares->first).count : plan_window(plan).count;
}

/* Sample updates of the whole run: each plane is read and written by every pass, and advanced by every
   operation of every step. */
static double work_ahead(const struct running *running)
{
    const struct schedule *schedule = &running->plan->schedule;
    double sweeps = running->plan->job->copies ? 1.0 : 2.0 * (double)schedule->passes;

    for (size_t i = 0; i < running->plan->step_count; i++)
        sweeps += (double)running->plan->job->stages[i].steps * (double)running->plan->steps[i].step.count;
    sweeps *= 1.0 + schedule->again / (double)schedule->passes / (double)running->plan->shape.planes;
    return sweeps * plan_samples(running->plan, computed_planes(running->plan));
}

/* What rank 0 tells of the run is of all ranks, once each has made its part. */
static bool gather(struct running *running)
{
    struct peers *peers = running->request->peers;

    return outcomes_gather(&running->run.outcomes, peers, running->fault) &&
           outlet_gather(&running->stops.outlet, peers, running->fault) &&
           tees_gather(&running->run.tees, peers, running->fault);
}

/* After the last volume the files are complete. */
static bool finish_files(struct running *running)
{
    double begun = clock_seconds();
    bool done =
        !stops_is_last_volume(&running->stops) || (sink_finish(running->stops.outlet.sink, running->fault) &&
                                                   tees_finish(&running->run.tees, running->fault));
    double seconds = clock_seconds() - begun;

    running->run.seconds.write += seconds;
    running->run.seconds.writing += seconds;
    return done;
}

/* Steps of the stages that take all of theirs. */
static uint64_t certain_steps(const struct plan *plan)
{
    const struct stage *stages = plan->job->stages;
    uint64_t steps = 0;

    for (size_t i = 0; i < plan->step_count; i++) {
        if (stages[i].until == 0.0 && stage_is_from_user(&stages[i]))
            steps += stages[i].steps;
    }
    return steps;
}

/* Of the lane that computed the longest. */
static double compute_seconds(const struct run *run)
{
    double most = 0.0;

    for (size_t i = 0; i < run->plan->shares.held; i++) {
        if (run->sweeps[i].seconds > most)
            most = run->sweeps[i].seconds;
    }
    return most;
}

static struct run_share share_of(const struct run *run, size_t index)
{
    const struct sweep *sweep = &run->sweeps[index];
    const struct plan *plan = run->plan;
    size_t plane = run->lanes[index].backend->field_bytes(&plan->shape, plan->job->work, 1);

    return (struct run_share){sweep->seconds, sweep->handed * plane, sweep->handing};
}

static struct run_summary summarise(const struct running *running)
{
    const struct run *run = &running->run;
    const struct pass_seconds *seconds = &run->seconds;

    struct run_summary summary = {.start = seconds->start,
                                  .read = seconds->read,
                                  .reading = seconds->reading,
                                  .stats = running->stats.seconds,
                                  .upload = seconds->upload,
                                  .compute = compute_seconds(run),
                                  .download = seconds->download,
                                  .write = seconds->write,
                                  .writing = seconds->writing,
                                  .steps = certain_steps(running->plan) + running->trial.steps,
                                  .looks = running->trial.looks,
                                  .last_change = running->trial.last_change,
                                  .unreached = running->trial.unreached,
                                  .outcomes = run->outcomes,
                                  .low = NAN,
                                  .high = NAN,
                                  .tallies_in = running->stats.in,
                                  .tallies_out = running->stats.out};

    for (size_t i = 0; i < running->plan->shares.held; i++)
        summary.shares[i] = share_of(run, i);
    return summary;
}

bool run_plan(struct plan *plan, const struct run_request *request, struct source *source, struct sink *sink,
              struct run_summary *summary, struct fault *fault)
{
    struct running running = {
        .plan = plan,
        .request = request,
        .fault = fault,
        .stops = stops_of(plan, request->volume, source, sink, &running.run.outrange.encode),
        .run = {.plan = plan,
                .lanes = plan->lanes,
                .lane = &plan->lanes[0],
                .job = plan->job,
                .fault = fault,
                .peers = request->peers,
                .sink = sink,
                .tees = {.list = request->tees, .count = request->tee_count, .plan = plan},
                .shares = plan->shares,
                .share = plan->shares.first,
                .sweeps = running.sweeps,
                .sweep = running.sweeps,
                .outrange = {.plan = plan, .encode = plan->job->encode},
                .progress = &running.progress},
        .trial = trial_of(&running.run),
        .stats.of_series = request->volume == 0};
    struct run *run = &running.run;
    double begun = clock_seconds();
    bool done;

    progress_begin(&running.progress, request->progress, work_ahead(&running));
    done = peers_agree(request->peers, prepare(&running), fault) &&
           peers_agree(request->peers, filter_all(&running), fault) &&
           observers_finish(&run->observers, request->peers, fault) && gather(&running) &&
           finish_files(&running);
    progress_end(&running.progress);
    *summary = summarise(&running);
    if (done && outrange_maps(&run->outrange)) {
        summary->low = intensity_value(&plan->job->intensity, run->outrange.encode.low);
        summary->high = intensity_value(&plan->job->intensity, run->outrange.encode.high);
    }
    release(&running);
    summary->total = start_seconds(&running) + clock_seconds() - begun;
    return done;
}

static void keep_tallies(struct tally *all, const struct job *job, size_t index, const struct tally *volume)
{
    size_t channels = job->in.grid.channels;

    if (all != NULL && volume != NULL)
        memcpy(all + index * channels, volume, channels * sizeof *all);
}

void run_summary_add(struct run_summary *all, const struct job *job, size_t index,
                     const struct run_summary *volume)
{
    keep_tallies(all->tallies_in, job, index, volume->tallies_in);
    keep_tallies(all->tallies_out, job, index, volume->tallies_out);
    for (size_t i = 0; i < DEVICES_MOST; i++) {
        all->shares[i].compute += volume->shares[i].compute;
        all->shares[i].handed_bytes += volume->shares[i].handed_bytes;
        all->shares[i].handing += volume->shares[i].handing;
    }
    all->start += volume->start;
    all->stats += volume->stats;
    all->read += volume->read;
    all->reading += volume->reading;
    all->upload += volume->upload;
    all->compute += volume->compute;
    all->download += volume->download;
    all->write += volume->write;
    all->writing += volume->writing;
    all->total += volume->total;
    outcomes_add(&all->outcomes, &volume->outcomes);
}

void run_summary_free(struct run_summary *summary)
{
    mem_free(summary->tallies_in);
    mem_free(summary->tallies_out);
    summary->tallies_in = summary->tallies_out = NULL;
    history_close(&summary->looks);
}
