/* The run: planes from a source through a plan's levels into a sink, in one pass or in several. */
#include "run.h"

#include "base/clock.h"
#include "base/mem.h"
#include "fleet.h"
#include "journey.h"
#include "outcomes.h"
#include "pass.h"
#include "stats.h"
#include "stops.h"
#include "trial.h"

#include <math.h>
#include <string.h>

/* A run under way. */
struct running {
    struct plan *plan;
    const struct run_request *request;
    struct fault *fault;
    struct stops stops;
    struct passes passes;
    struct sweep sweeps[DEVICES_MOST];
    struct progress progress;
    struct trial trial;
    struct stats stats;
    struct observer *observers; /* the list of all of them, the run's own first */
};

/* All planes are in the fields. */
static bool measure_fields(struct running *run)
{
    struct passes *passes = &run->passes;

    return peers_agree(passes->peers, fleet_measure(passes), run->fault) &&
           outrange_settle(&passes->outrange, passes->peers, run->fault);
}

/* All planes come in, and what is computed stays there. */
static bool fill_fields(struct running *run, struct levels_mark end)
{
    const struct stop in = stops_from(&run->stops, ROUTE_SOURCE);

    return fleet_make(&run->passes, &(struct pass){.end = end, .from = &in}) &&
           (!run->plan->schedule.on_trial || trial_in_fields(&run->trial)) &&
           (!run->plan->job->measures || measure_fields(run));
}

/* The sink takes its room while planes come in and are computed. */
static bool filter_in_fields(struct running *run)
{
    bool on_trial = run->plan->schedule.on_trial;
    struct levels_mark end = on_trial ? trial_start(&run->trial) : levels_end(&run->plan->levels);
    const struct stop out = stops_to(&run->stops, ROUTE_SINK);

    stops_begin_to_reserve(&run->stops);
    return fill_fields(run, end) && stops_reserve(&run->stops, run->fault) &&
           fleet_make(&run->passes, &(struct pass){.begin = end, .end = end, .to = &out});
}

static bool filter_until_over_spools(struct running *run)
{
    struct journey journey = journey_start(&run->passes, &run->stops);
    struct levels_mark end;

    return journey_to_spool(&journey, trial_start(&run->trial)) &&
           trial_over_spools(&run->trial, &journey, &end) && journey_to_sink(&journey, end);
}

static bool filter_over_spools(struct running *run)
{
    struct journey journey = journey_start(&run->passes, &run->stops);

    return journey_to_sink(&journey, levels_end(&run->plan->levels));
}

static bool filter_at_once(struct running *run)
{
    const struct stop in = stops_from(&run->stops, ROUTE_SOURCE), out = stops_to(&run->stops, ROUTE_SINK);
    struct pass pass = {.end = levels_end(&run->plan->levels), .from = &in, .to = &out};

    return pass_make(&run->passes, &pass);
}

static bool filter_all(struct running *run)
{
    const struct schedule *schedule = &run->plan->schedule;

    if (schedule->spooled)
        return schedule->on_trial ? filter_until_over_spools(run) : filter_over_spools(run);
    return schedule->whole ? filter_in_fields(run) : filter_at_once(run);
}

static bool begin_observers(struct running *run)
{
    const struct observers *others = &run->request->observers;
    struct observers *all = &run->passes.observers;

    run->observers = mem_alloc(others->count + 1, sizeof *run->observers, "the observers", run->fault);
    if (run->observers == NULL)
        return false;
    all->list = run->observers;
    if (run->request->stats)
        run->observers[all->count++] = (struct observer){&stats_kind, &run->stats};
    for (size_t i = 0; i < others->count; i++)
        run->observers[all->count++] = others->list[i];
    return observers_begin(all, run->plan, run->fault);
}

static bool create_sweep(void *context, size_t index, struct crew *crew, struct fault *fault)
{
    struct running *run = context;
    struct passes *passes = &run->passes;

    (void)crew;
    return sweep_create(&passes->sweeps[index], run->plan, &passes->lanes[index], passes->progress, fault);
}

/* After a fault lanes may still be about to read each other's fields. */
static void destroy_sweeps(struct running *run)
{
    struct sweep *sweeps = run->passes.sweeps;
    struct fault again;

    for (size_t i = 0; i < run->plan->shares.held && run->plan->shares.held > 1; i++) {
        if (sweeps[i].lane != NULL)
            (void)sweep_finish(&sweeps[i], &again);
    }
    for (size_t i = 0; i < run->plan->shares.held; i++)
        sweep_destroy(&sweeps[i]);
}

static void release(struct running *run)
{
    destroy_sweeps(run);
    stops_close(&run->stops);
    tees_end(&run->passes.tees);
    stats_free(&run->stats);
    mem_free(run->observers);
}

/* The device has started once. */
static double start_seconds(const struct running *run)
{
    return run->request->volume == 0 ? run->plan->start : 0.0;
}

/* Ranks that write one file in memory are all on one node, so the threads of all of them count. */
static void expect_writers(const struct running *run)
{
    struct file_out *file = run->stops.outlet.sink->samples.file;

    if (file != NULL)
        file_out_expect_writers(file,
                                run->plan->schedule.writers * (unsigned)peers_count(run->request->peers));
}

/* Of several ranks, rank 0 takes room for all samples beside the run. */
static bool open_outlets(struct running *run)
{
    const struct peers *peers = run->request->peers;

    expect_writers(run);
    run->stops.reserved = run->stops.reserved || peers_count(peers) > 1;
    return outlet_open(&run->stops.outlet, run->request->volume, peers, run->fault) &&
           tees_begin(&run->passes.tees, peers, run->fault);
}

static bool prepare(struct running *run)
{
    struct passes *passes = &run->passes;
    double begun = clock_seconds();
    bool done = begin_observers(run) && stops_open(&run->stops, run->fault) && open_outlets(run) &&
                crew_share(run->plan->shares.held, create_sweep, run, run->fault) &&
                (!run->plan->schedule.on_trial || trial_open(&run->trial));

    if (passes->tees.count > 0 && run->plan->shares.count == 1)
        passes->sweep->tap = (struct sweep_tap){&passes->tees, tees_take};
    passes->seconds.start = start_seconds(run) + clock_seconds() - begun;
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
static double work_ahead(const struct running *run)
{
    const struct schedule *schedule = &run->plan->schedule;
    double sweeps = run->plan->job->copies ? 1.0 : 2.0 * (double)schedule->passes;

    for (size_t i = 0; i < run->plan->step_count; i++)
        sweeps += (double)run->plan->job->stages[i].steps * (double)run->plan->steps[i].step.count;
    sweeps *= 1.0 + schedule->again / (double)schedule->passes / (double)run->plan->shape.planes;
    return sweeps * plan_samples(run->plan, computed_planes(run->plan));
}

/* What rank 0 tells of the run is of all ranks, once each has made its part. */
static bool gather(struct running *run)
{
    struct peers *peers = run->request->peers;

    return outcomes_gather(&run->passes.outcomes, peers, run->fault) &&
           outlet_gather(&run->stops.outlet, peers, run->fault) &&
           tees_gather(&run->passes.tees, peers, run->fault);
}

/* After the last volume the files are complete. */
static bool finish_files(struct running *run)
{
    double begun = clock_seconds();
    bool done = !stops_is_last_volume(&run->stops) || (sink_finish(run->stops.outlet.sink, run->fault) &&
                                                       tees_finish(&run->passes.tees, run->fault));
    double seconds = clock_seconds() - begun;

    run->passes.seconds.write += seconds;
    run->passes.seconds.writing += seconds;
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
static double compute_seconds(const struct passes *passes)
{
    double most = 0.0;

    for (size_t i = 0; i < passes->plan->shares.held; i++) {
        if (passes->sweeps[i].seconds > most)
            most = passes->sweeps[i].seconds;
    }
    return most;
}

static struct run_share share_of(const struct passes *passes, size_t index)
{
    const struct sweep *sweep = &passes->sweeps[index];
    const struct plan *plan = passes->plan;
    size_t plane = passes->lanes[index].backend->field_bytes(&plan->shape, plan->job->work, 1);

    return (struct run_share){sweep->seconds, sweep->handed * plane, sweep->handing};
}

static struct run_summary summarise(const struct running *run)
{
    const struct passes *passes = &run->passes;
    const struct pass_seconds *seconds = &passes->seconds;

    struct run_summary summary = {.start = seconds->start,
                                  .read = seconds->read,
                                  .reading = seconds->reading,
                                  .stats = run->stats.seconds,
                                  .upload = seconds->upload,
                                  .compute = compute_seconds(passes),
                                  .download = seconds->download,
                                  .write = seconds->write,
                                  .writing = seconds->writing,
                                  .steps = certain_steps(run->plan) + run->trial.steps,
                                  .looks = run->trial.looks,
                                  .last_change = run->trial.last_change,
                                  .unreached = run->trial.unreached,
                                  .outcomes = passes->outcomes,
                                  .low = NAN,
                                  .high = NAN,
                                  .tallies_in = run->stats.in,
                                  .tallies_out = run->stats.out};

    for (size_t i = 0; i < run->plan->shares.held; i++)
        summary.shares[i] = share_of(passes, i);
    return summary;
}

bool run_plan(struct plan *plan, const struct run_request *request, struct source *source, struct sink *sink,
              struct run_summary *summary, struct fault *fault)
{
    struct running run = {
        .plan = plan,
        .request = request,
        .fault = fault,
        .stops = stops_of(plan, request->volume, source, sink, &run.passes.outrange.encode),
        .passes = {.plan = plan,
                   .lanes = plan->lanes,
                   .lane = &plan->lanes[0],
                   .job = plan->job,
                   .fault = fault,
                   .peers = request->peers,
                   .sink = sink,
                   .tees = {.list = request->tees, .count = request->tee_count, .plan = plan},
                   .shares = plan->shares,
                   .share = plan->shares.first,
                   .sweeps = run.sweeps,
                   .sweep = run.sweeps,
                   .outrange = {.plan = plan, .encode = plan->job->encode},
                   .progress = &run.progress},
        .trial = trial_of(&run.passes),
        .stats.of_series = request->volume == 0};
    struct passes *passes = &run.passes;
    double begun = clock_seconds();
    bool done;

    progress_begin(&run.progress, request->progress, work_ahead(&run));
    done = peers_agree(request->peers, prepare(&run), fault) &&
           peers_agree(request->peers, filter_all(&run), fault) &&
           observers_finish(&passes->observers, request->peers, fault) && gather(&run) && finish_files(&run);
    progress_end(&run.progress);
    *summary = summarise(&run);
    if (done && outrange_maps(&passes->outrange)) {
        summary->low = intensity_value(&plan->job->intensity, passes->outrange.encode.low);
        summary->high = intensity_value(&plan->job->intensity, passes->outrange.encode.high);
    }
    release(&run);
    summary->total = start_seconds(&run) + clock_seconds() - begun;
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
