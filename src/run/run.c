/* The run: planes from a source through a plan's levels into a sink, as the schedule says:

   - in one pass over the planes, behind which all levels lag (pass.c);
   - with all planes in the fields, if all must be there before any is written, or if several members share
   them;
   - in several passes, the passes of a route, between which the planes stand in spool files (stops.c);
   - column by column, if the job is cut: each in one of these ways, as if it were all.

   The stage with --until takes its steps on trial. In the fields, a step that is checked is a pass of its
   own, and its changes are added up. Over spool files, a pass takes many steps before anyone knows whether
   the run takes them; the planes before it stay where they are, and the last pass is repeated with fewer
   steps. */
#include "run.h"

#include "base/clock.h"
#include "base/mem.h"
#include "output.h"
#include "stops.h"

#include <math.h>
#include <string.h>

/* Steps that are taken on trial before their changes are looked at, where a pass goes over spool files. */
#define TRIAL_STEPS 4096

/* The stage with --until, as far as it has come. */
struct until {
    uint64_t steps; /* steps that the run has taken */
    struct convergence checks;
    double last_change; /* RMS of the last step looked at; NaN before the first */
    bool unreached;     /* all steps were taken in vain */
};

/* A run under way. */
struct running {
    struct run run;
    struct job job; /* the plan's, which goes from column to column */
    const struct run_request *request;
    struct stops stops;
    struct route route; /* over spool files */
    struct sweep sweeps[DEVICES_MOST];
    struct progress progress;
    struct until until;
    struct observer_stats stats;
    struct observer *observers; /* the list of all of them, the run's own first */
};

/* ---- the range of --out-range=auto ---- */

/* Extremes of both. */
static void widen(struct extremes *all, const struct extremes *more)
{
    if (!more->any)
        return;
    all->least = all->any && all->least < more->least ? all->least : more->least;
    all->greatest = all->any && all->greatest > more->greatest ? all->greatest : more->greatest;
    all->any = true;
}

static bool take_extremes(void *data, const void *bytes, size_t size, struct fault *fault)
{
    struct extremes more;

    (void)fault;
    memcpy(&more, bytes, size);
    widen(data, &more);
    return true;
}

/* The extremes of this process's planes, which its devices have measured. */
static bool find_extremes(const struct run *run, struct extremes *extremes)
{
    bool done = true;

    for (size_t i = 0; done && i < run->plan->shares.held; i++) {
        const struct lane *lane = &run->plan->lanes[i];
        struct extremes of_lane;
        done = lane->backend->tell_extremes(lane->device, &of_lane, run->fault);
        if (done)
            widen(extremes, &of_lane);
    }
    return done;
}

/* The extremes of all planes that were measured are the ends of the range. Where nothing is finite, zero is
   both. A range that f64 cannot hold is refused. */
static bool settle_range(struct run *run)
{
    struct extremes own = {.any = false}, extremes = own;

    if (!peers_agree(run->peers, find_extremes(run, &own), run->fault) ||
        !peers_gather(run->peers, &own, sizeof own, take_extremes, &extremes, run->fault) ||
        !peers_broadcast(run->peers, &extremes, sizeof extremes, run->fault))
        return false;
    if (extremes.any && !isfinite(extremes.greatest - extremes.least))
        return fault_set_for(run->fault, STATUS_LIMIT, "--out-range=auto", "%.9g and %.9g are too far apart",
                             extremes.least, extremes.greatest);
    run->unmapped = !extremes.any;
    /* The least value need not be the least sample. */
    if (run->job->intensity.slope < 0.0)
        extremes = (struct extremes){extremes.any, extremes.greatest, extremes.least};
    run->encode.low = extremes.any ? extremes.least : 0.0;
    run->encode.high = extremes.any ? extremes.greatest : 0.0;
    return true;
}

/* ---- checks of --until ---- */

/* The mark at which the steps begin that are taken on trial. */
static struct levels_mark trial_start(const struct running *running)
{
    return (struct levels_mark){running->run.job->stage_count - 1, 0};
}

/* Keep the change of a checked step: its RMS in values, from the sums of all its channels in samples. Returns
   whether it is small enough for the run to end. */
static bool judge(struct running *running, uint64_t step, const double *sums)
{
    const struct grid *grid = &running->run.job->in.grid;
    const struct stage *last = job_last_stage(running->run.job);
    double total = 0.0;

    for (unsigned channel = 0; channel < grid->channels; channel++)
        total += sums[channel];
    running->until.last_change = sqrt(total / (double)grid_samples(grid)) * intensity_unit(&last->intensity);
    convergence_add(&running->until.checks, step, running->until.last_change);
    return running->until.last_change < last->until;
}

/* Judge the checked ones of `steps` steps in a row, whose changes are known. Returns how many of the steps
   the run takes: all, or those up to the first that is small enough. */
static size_t judge_all(struct running *running, uint64_t behind, const double *changes, size_t steps,
                        bool *enough)
{
    size_t taken = 0;

    *enough = false;
    while (taken < steps && !*enough) {
        const double *sums = changes + taken++ * running->run.job->in.grid.channels;
        if (checks_is_due(&job_last_stage(running->run.job)->checks, behind + taken))
            *enough = judge(running, behind + taken, sums);
    }
    running->until.steps += taken;
    return taken;
}

/* ---- in the fields ---- */

/* Take the steps of the last stage up to `step` in one pass over the fields. Their changes are added up if
   `changes` is not NULL. */
static bool take_steps(struct running *running, struct levels_mark *mark, uint64_t step, double *changes)
{
    struct pass pass = {.begin = *mark, .end = {mark->stage, step}, .changes = changes};
    bool done = mark->step == step || pass_make(&running->run, &pass);

    *mark = pass.end;
    return done;
}

/* --until with all planes in the fields: all steps up to the next one that is checked, then that step by
   itself, until one is small enough. */
static bool try_in_fields(struct running *running)
{
    struct run *run = &running->run;
    const struct stage *last = job_last_stage(run->job);
    struct levels_mark mark = trial_start(running);
    size_t channels = run->job->in.grid.channels;
    double *sums = mem_alloc(channels, sizeof *sums, "the sums", run->fault);
    bool enough = false, done = peers_agree(run->peers, sums != NULL, run->fault);

    while (done && !enough && mark.step < last->steps) {
        memset(sums, 0, channels * sizeof *sums);
        done = take_steps(running, &mark, checks_next(&last->checks, mark.step) - 1, NULL) &&
               take_steps(running, &mark, mark.step + 1, sums);
        enough = done && judge(running, mark.step, sums);
    }
    running->until.steps += mark.step;
    running->until.unreached = !enough;
    mem_free(sums);
    return done;
}

/* The sink takes its room while planes come in and are computed. */
static bool filter_in_fields(struct running *running)
{
    struct run *run = &running->run;
    bool on_trial = run->plan->schedule.on_trial;
    struct levels_mark end = on_trial ? trial_start(running) : levels_end(&run->plan->levels);
    const struct stop in = stops_from(&running->stops, ROUTE_SOURCE),
                      out = stops_to(&running->stops, ROUTE_SINK);

    stops_begin_to_reserve(&running->stops);
    return pass_make(run, &(struct pass){.end = end, .from = &in}) && (!on_trial || try_in_fields(running)) &&
           (!run->job->measures ||
            (peers_agree(run->peers, pass_measure(run), run->fault) && settle_range(run))) &&
           stops_reserve(&running->stops, run->fault) &&
           pass_make(run, &(struct pass){.begin = end, .end = end, .to = &out});
}

/* ---- over spool files ---- */

/* Make one pass. Changes of its steps are added up unless `changes` is NULL, and extremes of its planes are
   found if it `measures`. */
static bool make_pass(struct running *running, const struct route_pass *next, double *changes, bool measures)
{
    const struct stop from = stops_from(&running->stops, next->from),
                      to = stops_to(&running->stops, next->to);
    struct pass pass = {.begin = next->begin,
                        .end = next->end,
                        .overlap = next->overlap,
                        .from = &from,
                        .to = &to,
                        .changes = changes,
                        .measures = measures};

    return pass_make(&running->run, &pass);
}

/* All the way to a mark: into the sink, or into a spool file; there the extremes may be asked for. */
static bool follow(struct running *running, struct levels_mark end, bool into_sink, bool measures)
{
    struct route *route = &running->route;
    struct levels_mark there = levels_settle(route->levels, end);

    do {
        struct route_pass next = route_next(route, end, into_sink);
        if (!make_pass(running, &next, NULL, measures && levels_is_same_mark(next.end, there)))
            return false;
        route_take(route, &next);
    } while (!route_is_at(route, end));
    return true;
}

/* A pass over steps on trial. */
static struct route_pass trial_pass(const struct running *running)
{
    const struct route *route = &running->route;
    struct levels_mark end = levels_end(route->levels), most = route->at;
    struct route_pass next;

    most.step += TRIAL_STEPS;
    if (most.step < job_last_stage(running->run.job)->steps)
        end = most;
    next = route_next(route, end, false);
    next.to = route_other_spool(next.from);
    return next;
}

/* The steps that a pass over steps on trial takes. */
static size_t steps_of(const struct running *running, const struct route_pass *next)
{
    uint64_t end =
        next->end.stage > next->begin.stage ? job_last_stage(running->run.job)->steps : next->end.step;

    return (size_t)(end - next->begin.step);
}

/* The route is left at a state that is not past the last step taken; `end` is the mark of that step, to which
   it has yet to go. */
static bool try_over_spools(struct running *running, struct levels_mark *end)
{
    struct route *route = &running->route;
    unsigned channels = running->run.job->in.grid.channels;
    bool enough = false;

    while (!enough && !route_is_at(route, levels_end(route->levels))) {
        struct route_pass next = trial_pass(running);
        size_t steps = steps_of(running, &next), taken = 0;
        /* A pass on trial into the other spool file: the state before it stays. */
        double *sums = mem_zeroed(steps, channels * sizeof *sums, "the sums", running->run.fault);
        bool done = sums != NULL && make_pass(running, &next, sums, false);
        if (done)
            taken = judge_all(running, next.begin.step, sums, steps, &enough);
        mem_free(sums);
        if (!done)
            return false;
        /* The run ends within the pass: it is made again with fewer steps. */
        if (taken < steps) {
            *end = route->at;
            end->step += taken;
            return true;
        }
        route_take(route, &next);
    }
    *end = route->at;
    running->until.unreached = !enough;
    return true;
}

/* All of the result stands in a spool file before any of it is written, if it is to be measured. */
static bool filter_over_spools(struct running *running)
{
    const struct plan *plan = running->run.plan;
    struct levels_mark end = levels_end(&plan->levels);

    running->route = route_start(&plan->levels, plan->schedule.depth, running->stops.source->random);
    if (plan->schedule.on_trial &&
        (!follow(running, trial_start(running), false, false) || !try_over_spools(running, &end)))
        return false;
    return (!plan->job->measures || (follow(running, end, false, true) && settle_range(&running->run))) &&
           follow(running, end, true, false);
}

/* ---- a run ---- */

static bool filter_column(struct running *running)
{
    const struct schedule *schedule = &running->run.plan->schedule;
    /* All levels in one pass from source to sink. */
    const struct route_pass all = {
        .from = ROUTE_SOURCE, .to = ROUTE_SINK, .end = levels_end(&running->run.plan->levels)};

    return schedule->spooled ? filter_over_spools(running)
           : schedule->whole ? filter_in_fields(running)
                             : make_pass(running, &all, NULL, false);
}

/* No stage of a job that is cut looks at all of the result. */
static bool filter_all(struct running *running)
{
    const size_t columns = job_columns(&running->job);
    bool done = true;

    for (size_t i = 0; done && i < columns; i++) {
        if (columns > 1) {
            job_go_to_column(&running->job, i);
            running->run.encode = running->job.encode;
        }
        done = filter_column(running);
    }
    return done;
}

/* The observer of --stats comes first, then those of the request. */
static bool begin_observers(struct running *running)
{
    const struct observers *others = &running->request->observers;
    struct run *run = &running->run;
    struct observers *all = &run->observers;

    running->observers =
        mem_alloc(others->count + 1, sizeof *running->observers, "the observers", run->fault);
    if (running->observers == NULL)
        return false;
    all->list = running->observers;
    if (running->request->stats)
        running->observers[all->count++] = (struct observer){&observer_stats, &running->stats};
    for (size_t i = 0; i < others->count; i++)
        running->observers[all->count++] = others->list[i];
    return observers_begin(all, run->plan, run->fault);
}

static bool create_sweep(void *context, size_t index, struct parallel_loop *loop, struct fault *fault)
{
    const struct run *run = context;

    (void)loop;
    return sweep_create(&run->team.members[index], run->plan, &run->lane[index], run->progress, fault);
}

static void release(struct running *running)
{
    struct run *run = &running->run;
    struct sweep *sweeps = run->team.members;
    const size_t held = run->plan->shares.held;
    struct fault again;

    /* After a fault lanes may still be about to read each other's fields. */
    for (size_t i = 0; i < held && held > 1; i++) {
        if (sweeps[i].lane != NULL)
            (void)sweep_finish(&sweeps[i], &again);
    }
    for (size_t i = 0; i < held; i++)
        sweep_destroy(&sweeps[i]);
    stops_close(&running->stops);
    tees_end(&run->tees);
    observer_stats_free(&running->stats);
    mem_free(running->observers);
}

/* The device has started once. */
static double start_seconds(const struct running *running)
{
    return running->request->volume == 0 ? running->run.plan->start : 0.0;
}

/* With several ranks, rank 0 takes room for all samples beside the run. Those that write one file in memory
   are all on one node, so the threads of all of them count. */
static bool open_outputs(struct running *running)
{
    struct run *run = &running->run;
    struct file_out *file = running->stops.output.sink->samples.file;

    if (file != NULL)
        file_out_expect_writers(file, run->plan->schedule.writers * (unsigned)peers_count(run->peers));
    running->stops.reserved = running->stops.reserved || peers_count(run->peers) > 1;
    return output_open(&running->stops.output, running->request->volume, run->peers, run->fault) &&
           tees_begin(&run->tees, run->peers, run->fault);
}

/* Make ready all that passes need: observers, spool files, outputs, and the fields of each device. */
static bool prepare(struct running *running)
{
    struct run *run = &running->run;
    double begun = clock_seconds();
    bool done = begin_observers(running) && stops_open(&running->stops, run->fault) &&
                open_outputs(running) &&
                parallel_for(run->plan->shares.held, create_sweep, run, run->fault) &&
                (!run->plan->schedule.on_trial ||
                 convergence_open(&running->until.checks, checks_count(&job_last_stage(run->job)->checks),
                                  run->fault));

    if (run->tees.count > 0)
        run->team.tap = (struct sweep_tap){&run->tees, tees_take};
    run->seconds.start = start_seconds(running) + clock_seconds() - begun;
    return done;
}

/* Sample updates of the whole run: each plane is read and written by every pass, and advanced by every
   operation of every step. */
static double work_ahead(const struct plan *plan)
{
    const struct schedule *schedule = &plan->schedule;
    const struct shares *shares = &plan->shares;
    /* The planes that this process computes. */
    const size_t planes =
        shares->held < shares->count ? shares_own(shares, shares->first).count : plan->window.count;
    double sweeps = plan->job->copies ? 1.0 : 2.0 * (double)schedule->passes;

    for (size_t i = 0; i < plan->step_count; i++)
        sweeps += (double)plan->job->stages[i].steps * (double)plan->steps[i].step.count;
    sweeps *= 1.0 + schedule->again / (double)schedule->passes / (double)plan->shape.planes;
    return sweeps * (double)planes * plan->plane_samples * (double)job_columns(plan->job);
}

/* Rank 0 reports figures of all ranks, so it gathers them once each has made its part. */
static bool gather(struct running *running)
{
    struct run *run = &running->run;

    return output_gather_outcomes(&run->outcomes, run->peers, run->fault) &&
           output_gather(&running->stops.output, run->peers, run->fault) &&
           tees_gather(&run->tees, run->peers, run->fault);
}

/* After the last volume the files are complete. */
static bool finish_files(struct running *running)
{
    struct run *run = &running->run;
    double begun = clock_seconds(), seconds;
    bool done = !stops_is_last(&running->stops) ||
                (sink_finish(running->stops.output.sink, run->fault) && tees_finish(&run->tees, run->fault));

    seconds = clock_seconds() - begun;
    run->seconds.write += seconds;
    run->seconds.writing += seconds;
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

static struct run_share share_of(const struct run *run, size_t index)
{
    const struct sweep *sweep = &run->team.members[index];
    const struct plan *plan = run->plan;
    size_t plane = run->plan->lanes[index].backend->field_bytes(&plan->shape, plan->job->work, 1);

    return (struct run_share){sweep->seconds, sweep->handed * plane, sweep->handing};
}

/* The figures of the run, as far as they are known without its ranks. */
static struct run_summary summarise(const struct running *running)
{
    const struct run *run = &running->run;
    struct run_summary summary = {.seconds = run->seconds,
                                  .steps = certain_steps(run->plan) + running->until.steps,
                                  .checks = running->until.checks,
                                  .last_change = running->until.last_change,
                                  .unreached = running->until.unreached,
                                  .outcomes = run->outcomes,
                                  .low = NAN,
                                  .high = NAN,
                                  .tallies_in = running->stats.in,
                                  .tallies_out = running->stats.out};

    summary.seconds.stats = running->stats.seconds;
    summary.seconds.write += run->tees.seconds;
    summary.seconds.writing += run->tees.seconds;
    /* Computing takes as long as the lane that computed the longest. */
    for (size_t i = 0; i < run->plan->shares.held; i++) {
        summary.shares[i] = share_of(run, i);
        summary.seconds.compute = fmax(summary.seconds.compute, summary.shares[i].compute);
    }
    return summary;
}

bool run_plan(struct plan *plan, const struct run_request *request, struct source *source, struct sink *sink,
              struct run_summary *summary, struct fault *fault)
{
    struct running running = {
        .request = request,
        .job = *plan->job,
        .stops =
            stops_of(plan, &running.job, request->volume, source, request->mask, sink, &running.run.encode),
        .run = {.plan = plan,
                .team = {.plan = plan,
                         .members = running.sweeps,
                         .shares = plan->shares,
                         .peers = request->peers,
                         .sink = sink,
                         .fault = fault},
                .lane = &plan->lanes[0],
                .job = &running.job,
                .fault = fault,
                .peers = request->peers,
                .tees = {.list = request->tees, .count = request->tee_count, .plan = plan},
                .share = plan->shares.first,
                .encode = plan->job->encode,
                .progress = &running.progress},
        .until.last_change = NAN,
        .stats.of_series = request->volume == 0};
    struct run *run = &running.run;
    double begun = clock_seconds();
    bool done;

    /* After each part that may fail in one process, all agree whether to go on. */
    progress_begin(&running.progress, request->progress, work_ahead(plan), "Msamples", 1e6);
    done = peers_agree(request->peers, prepare(&running), fault) &&
           peers_agree(request->peers, filter_all(&running), fault) &&
           observers_finish(&run->observers, request->peers, fault) && gather(&running) &&
           finish_files(&running);
    progress_end(&running.progress);
    /* The summary is filled in whether the run succeeded or not. */
    *summary = summarise(&running);
    if (done && run->encode.ranged && !run->unmapped) {
        summary->low = intensity_value(&plan->job->intensity, run->encode.low);
        summary->high = intensity_value(&plan->job->intensity, run->encode.high);
    }
    release(&running);
    summary->seconds.total = start_seconds(&running) + clock_seconds() - begun;
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
    all->seconds.start += volume->seconds.start;
    all->seconds.stats += volume->seconds.stats;
    all->seconds.read += volume->seconds.read;
    all->seconds.reading += volume->seconds.reading;
    all->seconds.upload += volume->seconds.upload;
    all->seconds.compute += volume->seconds.compute;
    all->seconds.download += volume->seconds.download;
    all->seconds.write += volume->seconds.write;
    all->seconds.writing += volume->seconds.writing;
    all->seconds.total += volume->seconds.total;
    output_add_outcomes(&all->outcomes, &volume->outcomes);
}

void run_summary_free(struct run_summary *summary)
{
    mem_free(summary->tallies_in);
    mem_free(summary->tallies_out);
    summary->tallies_in = summary->tallies_out = NULL;
    convergence_close(&summary->checks);
}
