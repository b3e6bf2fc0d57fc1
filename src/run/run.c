/* The run: planes from a source through a plan's levels into a sink, in one pass or in several. */
#include "run.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/spool.h"
#include "plan/route.h"
#include "carrier.h"
#include "outlet.h"
#include "ring.h"
#include "stats.h"
#include "sweep.h"

#include <math.h>

/* Steps that are taken before their changes are looked at, where looking at each would be a pass of its own.
 */
#define MOST_AT_A_VENTURE 4096

/* Planes in any order, packed. */
struct plane_spool {
    struct spool spool;
    size_t plane_bytes;
};

/* A run under way. */
struct running {
    struct plan *plan;
    struct lane *lane;
    const struct job *job;
    const struct run_request *request;
    struct source *source;
    struct sink *sink;
    struct outlet outlet; /* of the sink */
    struct run_summary *summary;
    struct fault *fault;
    struct progress progress;
    struct stats stats;
    struct tees tees;
    struct observer *all; /* the list of observers, the run's own first */
    struct observers observers;
    struct sweep sweep;
    struct encoding encode; /* of the output, with the range once it is known */
    bool unmapped;          /* no value has told of a range */
    struct plane_spool spools[2];
    struct encoding spooled; /* how planes stand in them */
    struct spool held;       /* what the source holds */
};

/* Where a pass has its planes from, or puts them. */
struct pass_end {
    struct carrier_end carrier;
    const struct encoding *encoding;
    size_t plane_bytes;
    unsigned threads;
    bool of_run;             /* it is one of the run's ends: observed, and counted in its outcomes */
    enum observer_end which; /* of them */
};

/* The planes of a file that are those of an unrolled grid. */
struct roll {
    const struct pass_end *end;
    struct range own; /* the file's planes among those of the grid */
};

/* One pass over the data. Without `from` the planes of the pass before it are still there; without `to` they
 * stay. */
struct pass {
    struct levels_mark begin, end;
    size_t overlap; /* planes beyond either end of the grid that it reads */
    const struct pass_end *from, *to;
    double *changes;
    bool measures; /* its planes are the result, whose extremes are asked for */
    struct sweep_frame frame;
    struct carrier_load load; /* that the reader brings */
    size_t taken;             /* planes of it */
    struct roll roll;
    struct carrier *reader, *writer;
};

/* ---- the ends of passes ---- */

static bool read_in_order(void *file, void *samples, struct range planes, struct fault *fault)
{
    return source_read(((struct running *)file)->source, samples, planes.count, fault);
}

/* In a series, the planes of the volumes before it come first. */
static bool read_anywhere(void *file, void *samples, struct range planes, struct fault *fault)
{
    const struct running *run = file;
    size_t before = run->request->volume * grid_planes(&run->job->in.grid);

    return source_read_at(run->source, samples, before + planes.first, planes.count, fault);
}

static bool is_last_volume(const struct running *run)
{
    return run->request->volume + 1 >= run->job->in.volumes;
}

static bool end_source(void *file, struct fault *fault)
{
    const struct running *run = file;

    return !is_last_volume(run) || source_end(run->source, fault);
}

static void stop_source(void *file)
{
    source_stop(((struct running *)file)->source);
}

static bool write_in_order(void *file, void *samples, struct range planes, struct fault *fault)
{
    return outlet_write(file, samples, planes.count, fault);
}

static bool read_spool(void *file, void *samples, struct range planes, struct fault *fault)
{
    const struct plane_spool *spool = file;

    return spool_read(&spool->spool, (uint64_t)planes.first * spool->plane_bytes, samples,
                      planes.count * spool->plane_bytes, fault);
}

static bool write_spool(void *file, void *samples, struct range planes, struct fault *fault)
{
    const struct plane_spool *spool = file;

    return spool_write(&spool->spool, (uint64_t)planes.first * spool->plane_bytes, samples,
                       planes.count * spool->plane_bytes, fault);
}

static bool reads_anywhere(const struct running *run)
{
    return run->source->random;
}

/* Whether the one pass of a run goes only over the planes that those of a part need. */
static bool streams_part(const struct running *run)
{
    return plan_window(run->plan).count < run->plan->shape.planes;
}

static size_t spool_plane_bytes(const struct running *run)
{
    return (size_t)plan_samples(run->plan, 1) * work_size(run->job->work);
}

static struct pass_end from_source(struct running *run)
{
    const struct carrier_end carrier = {run, reads_anywhere(run) ? read_anywhere : read_in_order, end_source,
                                        stop_source};

    return (struct pass_end){.carrier = carrier,
                             .encoding = &run->job->decode,
                             .plane_bytes = header_plane_bytes(&run->job->in),
                             .threads = run->plan->schedule.readers,
                             .of_run = true,
                             .which = OBSERVER_INPUT};
}

static struct pass_end to_sink(struct running *run)
{
    const struct carrier_end carrier = {&run->outlet, write_in_order, NULL, NULL};

    return (struct pass_end){.carrier = carrier,
                             .encoding = &run->encode,
                             .plane_bytes = header_plane_bytes(&run->job->out),
                             .threads = 1,
                             .of_run = true,
                             .which = OBSERVER_OUTPUT};
}

static struct pass_end from_spool(struct running *run, enum route_stop spool)
{
    const struct carrier_end carrier = {&run->spools[spool - ROUTE_FIRST_SPOOL], read_spool, NULL, NULL};

    return (struct pass_end){.carrier = carrier,
                             .encoding = &run->spooled,
                             .plane_bytes = spool_plane_bytes(run),
                             .threads = run->plan->schedule.readers};
}

static struct pass_end to_spool(struct running *run, enum route_stop spool)
{
    const struct carrier_end carrier = {&run->spools[spool - ROUTE_FIRST_SPOOL], write_spool, NULL, NULL};

    return (struct pass_end){
        .carrier = carrier, .encoding = &run->spooled, .plane_bytes = spool_plane_bytes(run), .threads = 1};
}

static struct pass_end from_stop(struct running *run, enum route_stop stop)
{
    return stop == ROUTE_SOURCE ? from_source(run) : from_spool(run, stop);
}

static struct pass_end to_stop(struct running *run, enum route_stop stop)
{
    return stop == ROUTE_SINK ? to_sink(run) : to_spool(run, stop);
}

/* Planes of an unrolled grid, which lie apart where it goes around. */
static bool read_around(void *file, void *samples, struct range planes, struct fault *fault)
{
    const struct roll *roll = file;
    const struct carrier_end *carrier = &roll->end->carrier;
    size_t count = roll->own.count, next = (planes.first + count - roll->own.first) % count;
    unsigned char *to = samples;

    while (planes.count > 0) {
        struct range piece = {next, planes.count < count - next ? planes.count : count - next};
        if (!carrier->move(carrier->file, to, piece, fault))
            return false;
        to += piece.count * roll->end->plane_bytes;
        planes.count -= piece.count;
        next = 0;
    }
    return true;
}

static bool end_around(void *file, struct fault *fault)
{
    const struct carrier_end *carrier = &((const struct roll *)file)->end->carrier;

    return carrier->finish == NULL || carrier->finish(carrier->file, fault);
}

static void stop_around(void *file)
{
    const struct carrier_end *carrier = &((const struct roll *)file)->end->carrier;

    if (carrier->interrupt != NULL)
        carrier->interrupt(carrier->file);
}

/* ---- one pass ---- */

static bool is_observed(const struct running *run, const struct pass_end *end)
{
    return end->of_run && run->observers.count > 0;
}

/* Planes that the job writes, as a pass counts them. */
static struct range wanted(const struct running *run, const struct pass *pass)
{
    struct range planes = job_window(run->job);

    planes.first += pass->overlap;
    return planes;
}

/* Those that are wanted, each once. */
static bool observe(struct running *run, const struct pass *pass, const struct pass_end *end,
                    const struct ring_slot *slot)
{
    struct range planes = sweep_overlap(slot->planes, wanted(run, pass));
    const unsigned char *samples = slot->staging->samples;

    if (!is_observed(run, end) || planes.count == 0)
        return true;
    samples += (planes.first - slot->planes.first) * end->plane_bytes;
    planes.first -= pass->overlap;
    return observers_see(&run->observers, end->which, samples, planes, run->fault);
}

/* Of those that are wanted, each once. */
static struct range counted(const struct running *run, const struct pass *pass, const struct ring_slot *slot)
{
    return pass->from->of_run ? sweep_overlap(slot->planes, wanted(run, pass)) : (struct range){0, 0};
}

/* The next planes that the reader brings. */
static bool take_slot(struct running *run, struct pass *pass, struct ring_slot **slot)
{
    if (!ring_take(run->lane->in, slot, run->fault))
        return false;
    pass->taken += (*slot)->planes.count;
    return true;
}

/* Past those that come before what the pass is over. */
static bool take_needed(struct running *run, struct pass *pass, struct ring_slot **slot)
{
    while (take_slot(run, pass, slot)) {
        if ((*slot)->planes.first >= pass->load.part.first)
            return true;
        ring_free(run->lane->in, *slot);
    }
    return false;
}

/* Past those that come after it: only once the file has ended as it should, the last planes are passed on. */
static bool pass_over_rest(struct running *run, struct pass *pass)
{
    struct ring_slot *slot;

    while (pass->taken < pass->load.planes.count) {
        if (!take_slot(run, pass, &slot))
            return false;
        ring_free(run->lane->in, slot);
    }
    return true;
}

/* The next planes read, into the fields. */
static bool take_batch(struct running *run, struct pass *pass)
{
    const struct plan *plan = run->plan;
    struct sweep *sweep = &run->sweep;
    struct ring_slot *slot;

    if (!take_needed(run, pass, &slot) || !observe(run, pass, pass->from, slot) ||
        !sweep_make_room(sweep, slot->planes.count, run->fault) ||
        !run->lane->backend->upload(run->lane->device, run->lane->fields[sweep->input], pass->from->encoding,
                                    slot->staging, slot->planes, counted(run, pass, slot), run->fault))
        return false;
    progress_add(&run->progress, plan_samples(plan, slot->planes.count));
    sweep_feed(sweep, slot->planes.count);
    ring_free(run->lane->in, slot);
    return true;
}

static bool measure(struct running *run, struct range planes)
{
    return run->lane->backend->measure(run->lane->device, run->lane->fields[run->sweep.output], &run->encode,
                                       planes, run->fault);
}

/* The next planes of the last level, out of the fields. */
static bool give_batch(struct running *run, struct pass *pass)
{
    const struct plan *plan = run->plan;
    struct sweep *sweep = &run->sweep;
    struct range leaving = sweep_leaving(sweep);
    struct ring_slot *slot;

    if (!ring_claim(run->lane->out, &slot, run->fault))
        return false;
    slot->planes = leaving;
    if (leaving.count > plan->schedule.batch)
        slot->planes.count = plan->schedule.batch;
    if ((pass->measures && !measure(run, slot->planes)) ||
        !run->lane->backend->download(run->lane->device, run->lane->fields[sweep->output], pass->to->encoding,
                                      slot->staging, slot->planes, run->fault) ||
        (is_observed(run, pass->to) && !ring_await(run->lane->out, slot, run->fault)) ||
        !observe(run, pass, pass->to, slot))
        return false;
    progress_add(&run->progress, plan_samples(plan, slot->planes.count));
    sweep_leave(sweep, slot->planes.count);
    slot->planes.first -= pass->overlap;
    ring_fill(run->lane->out, slot);
    return true;
}

static bool has_to_give(const struct running *run, const struct pass *pass)
{
    return pass->to != NULL && sweep_leaving(&run->sweep).count > 0;
}

static bool give(struct running *run, struct pass *pass)
{
    while (has_to_give(run, pass)) {
        if (!give_batch(run, pass))
            return false;
    }
    return true;
}

/* Planes for the next slab as they come, and in between those of the slab before, so that whoever reads and
   whoever writes have work at the same time. Nobody waits for the reader while there is something to give. */
static bool take_and_give(struct running *run, struct pass *pass)
{
    while (!sweep_is_due(&run->sweep)) {
        if (has_to_give(run, pass) && !give_batch(run, pass))
            return false;
        if ((!has_to_give(run, pass) || (ring_has_full(run->lane->in) && sweep_has_room(&run->sweep))) &&
            !take_batch(run, pass))
            return false;
    }
    return give(run, pass);
}

/* Slab by slab: planes in, levels forward, planes out. */
static bool filter(struct running *run, struct pass *pass)
{
    struct sweep *sweep = &run->sweep;

    if (pass->from == NULL) {
        sweep_begin_again(sweep, pass->begin, pass->end, pass->frame.leaving, pass->changes);
        return sweep_run(sweep, run->fault) && give(run, pass);
    }
    if (!sweep_begin(sweep, pass->begin, pass->end, &pass->frame, pass->changes, run->fault))
        return false;
    while (sweep_goes_on(sweep)) {
        if (!take_and_give(run, pass) || !sweep_run(sweep, run->fault))
            return false;
    }
    return pass_over_rest(run, pass) && give(run, pass);
}

/* Bits pass untouched but for the order of bytes: full buffers change places with empty ones. */
static bool copy(struct running *run, struct pass *pass)
{
    const struct header *in = &run->job->in;
    bool swaps = in->endian != run->job->out.endian;
    size_t left = pass->frame.own.count;
    struct ring_slot *full, *empty;

    while (left > 0) {
        struct staging *staging;
        if (!take_needed(run, pass, &full) || !observe(run, pass, pass->from, full) ||
            !ring_claim(run->lane->out, &empty, run->fault))
            return false;
        staging = empty->staging;
        *empty = *full;
        full->staging = staging;
        ring_free(run->lane->in, full);
        if (swaps)
            sample_swap(in->type, empty->staging->samples,
                        empty->planes.count * grid_plane_samples(&in->grid));
        if (!observe(run, pass, pass->to, empty))
            return false;
        progress_add(&run->progress, plan_samples(run->plan, empty->planes.count));
        left -= empty->planes.count;
        if (left == 0 && !pass_over_rest(run, pass))
            return false;
        ring_fill(run->lane->out, empty);
    }
    return true;
}

static bool create_ring(struct running *run, struct ring **ring, size_t buffers)
{
    const struct plan *plan = run->plan;

    return ring_create(ring, run->lane->backend, run->lane->device, buffers, plan->schedule.batch_bytes,
                       run->fault);
}

/* What can be read anywhere is read where the pass needs it. Anything else is read to its end, which tells
   that it is undamaged. */
static struct carrier_load load_of(const struct running *run, const struct pass *pass)
{
    const struct levels_span *span = &pass->frame.span;
    const struct range part = {span->begin, span->end - span->begin}, all = {0, run->plan->shape.planes};
    bool anywhere = !pass->from->of_run || reads_anywhere(run);

    return (struct carrier_load){anywhere ? part : all, part, run->plan->schedule.batch};
}

static bool start_reader(struct running *run, struct pass *pass)
{
    struct carrier_end end = {&pass->roll, read_around, end_around, stop_around};

    pass->load = load_of(run, pass);
    if (pass->overlap == 0)
        end = pass->from->carrier;
    if (pass->load.planes.count < run->plan->shape.planes)
        end.finish = NULL;
    return carrier_fetch(&pass->reader, run->lane->in, run->lane->out, &end, &pass->load, pass->from->threads,
                         run->fault);
}

static bool open_pass(struct running *run, struct pass *pass)
{
    const struct schedule *schedule = &run->plan->schedule;
    double begun = clock_seconds();
    bool opened = (pass->from == NULL || create_ring(run, &run->lane->in, schedule->in_buffers)) &&
                  (pass->to == NULL || create_ring(run, &run->lane->out, schedule->out_buffers));

    run->summary->start += clock_seconds() - begun;
    return opened && tees_open_pass(&run->tees, &pass->frame, run->lane->in, run->fault) &&
           (pass->from == NULL || start_reader(run, pass)) &&
           (pass->to == NULL ||
            carrier_deliver(&pass->writer, run->lane->out, run->lane->in, &pass->to->carrier, run->fault));
}

/* What went into a spool file is to come back. */
static bool add_outcomes(struct running *run, const struct pass *pass)
{
    struct outcomes *all = &run->summary->outcomes, of_pass = run->tees.aside;

    run->tees.aside = (struct outcomes){0};
    if (!run->lane->backend->tell_outcomes(run->lane->device, &of_pass, run->fault))
        return false;
    all->strays += of_pass.strays;
    if (pass->to->of_run) {
        all->nans += of_pass.nans;
        all->below += of_pass.below;
        all->above += of_pass.above;
    }
    return true;
}

/* Wait until the last plane has been written, and nothing is under way on the device. */
static bool finish_pass(struct running *run, struct pass *pass)
{
    if (!sweep_finish(&run->sweep, run->fault) || !tees_finish_pass(&run->tees, run->fault) ||
        (run->lane->in != NULL && !ring_drain(run->lane->in, run->fault)))
        return false;
    if (run->lane->out == NULL)
        return true;
    if (!add_outcomes(run, pass))
        return false;
    ring_finish(run->lane->out);
    return ring_drain(run->lane->out, run->fault);
}

static struct carrier_work close_carrier(struct carrier *carrier, bool done)
{
    if (carrier == NULL)
        return (struct carrier_work){0.0, 0.0};
    if (done)
        carrier_join(carrier);
    else
        carrier_abandon(carrier);
    return carrier_close(carrier);
}

/* The seconds that the device spent on its buffers. */
static double close_ring(struct ring **ring)
{
    double seconds = *ring == NULL ? 0.0 : ring_seconds(*ring);

    ring_destroy(*ring);
    *ring = NULL;
    return seconds;
}

static void close_pass(struct running *run, struct pass *pass, bool done)
{
    struct carrier_work reading = close_carrier(pass->reader, done);

    run->summary->read += reading.seconds;
    run->summary->reading += reading.each;
    run->summary->write += close_carrier(pass->writer, done).seconds;
    run->summary->write += tees_close_pass(&run->tees, done);
    run->summary->upload += close_ring(&run->lane->in);
    run->summary->download += close_ring(&run->lane->out);
}

/* Both ends of an unrolled grid are open, where its last planes come before the first and the first after the
   last. A part has an open end wherever the grid goes on beyond what the part needs. */
static struct sweep_frame planes_of(const struct running *run, const struct pass *pass)
{
    size_t planes = run->plan->shape.planes, overlap = pass->overlap;
    struct range all = {overlap, planes}, part = wanted(run, pass);
    bool leaves = pass->to != NULL && pass->to->of_run;

    if (streams_part(run) && overlap > 0)
        return (struct sweep_frame){
            .overlap = overlap,
            .span = {part.first - overlap, part.first + part.count + overlap, true, true},
            .own = part,
            .leaving = part};
    if (streams_part(run))
        return (struct sweep_frame){.span = levels_span(&run->plan->levels, pass->begin, pass->end, part),
                                    .own = part,
                                    .leaving = part};
    return (struct sweep_frame){.overlap = overlap,
                                .span = {0, planes + 2 * overlap, overlap > 0, overlap > 0},
                                .own = all,
                                .leaving = leaves ? part : all};
}

static bool make_pass(struct running *run, struct pass *pass)
{
    bool done;

    pass->frame = planes_of(run, pass);
    pass->frame.of_source = pass->from != NULL && pass->from->of_run;
    pass->roll = (struct roll){pass->from, {pass->overlap, run->plan->shape.planes}};
    done = open_pass(run, pass) && (run->job->copies ? copy(run, pass) : filter(run, pass)) &&
           finish_pass(run, pass);
    close_pass(run, pass, done);
    return done;
}

static bool make_leg(struct running *run, const struct route_leg *leg, double *changes, bool measures)
{
    const struct pass_end from = from_stop(run, leg->from), to = to_stop(run, leg->to);
    struct pass pass = {.begin = leg->begin,
                        .end = leg->end,
                        .overlap = leg->overlap,
                        .from = &from,
                        .to = &to,
                        .changes = changes,
                        .measures = measures};

    return make_pass(run, &pass);
}

/* All the way to a mark: into the sink, or into a spool file; there the extremes may be asked for. */
static bool follow(struct running *run, struct route *route, struct levels_mark end, bool into_sink,
                   bool measures)
{
    struct levels_mark there = levels_settle(route->levels, end);

    do {
        struct route_leg leg = route_next(route, end, into_sink);
        if (!make_leg(run, &leg, NULL, measures && levels_is_same_mark(leg.end, there)))
            return false;
        route_take(route, &leg);
    } while (!route_is_at(route, end));
    return true;
}

/* The extremes of the result are the ends of its range. Where nothing is finite, zero is both. */
static bool settle_range(struct running *run)
{
    struct extremes extremes;

    if (!run->lane->backend->tell_extremes(run->lane->device, &extremes, run->fault))
        return false;
    if (extremes.any && !isfinite(extremes.greatest - extremes.least))
        return fault_raise_about(run->fault, STATUS_LIMIT, "--out-range=auto",
                                 "%.9g and %.9g are too far apart", extremes.least, extremes.greatest);
    run->unmapped = !extremes.any;
    run->encode.low = extremes.any ? extremes.least : 0.0;
    run->encode.high = extremes.any ? extremes.greatest : 0.0;
    return true;
}

/* To the end, and into the sink: by way of a spool file where all of the result must be seen first. */
static bool follow_into_sink(struct running *run, struct route *route, struct levels_mark end)
{
    if (run->job->measures && (!follow(run, route, end, false, true) || !settle_range(run)))
        return false;
    return follow(run, route, end, true, false);
}

static struct route start_route(const struct running *run)
{
    return route_start(&run->plan->levels, run->plan->schedule.depth, reads_anywhere(run));
}

/* ---- steps until they change little ---- */

static const struct stage *last_stage(const struct running *run)
{
    return &run->job->stages[run->job->stage_count - 1];
}

/* The RMS of a step, from the sums of all its channels. */
static double change_of(const struct running *run, const double *sums)
{
    double total = 0.0;

    for (unsigned channel = 0; channel < run->job->in.grid.channels; channel++)
        total += sums[channel];
    return sqrt(total / (double)grid_samples(&run->job->in.grid));
}

/* Look at a step; whether the run ends with it. */
static bool judge(struct running *run, uint64_t step, const double *sums)
{
    struct run_summary *summary = run->summary;

    summary->last_change = change_of(run, sums);
    history_add(&summary->looks, step, summary->last_change);
    return summary->last_change < last_stage(run)->until;
}

/* Look at those of some steps in a row that are looked at; how many of them the run takes. */
static size_t judge_all(struct running *run, uint64_t behind, const double *changes, size_t steps,
                        bool *enough)
{
    size_t taken = 0;

    *enough = false;
    while (taken < steps && !*enough) {
        const double *sums = changes + taken++ * run->job->in.grid.channels;
        if (looks_at(&last_stage(run)->looks, behind + taken))
            *enough = judge(run, behind + taken, sums);
    }
    run->summary->steps += taken;
    return taken;
}

static struct levels_mark start_of_last(const struct running *run)
{
    return (struct levels_mark){run->job->stage_count - 1, 0};
}

/* All planes are in the fields: steps that nobody looks at, as many at once as there are. */
static bool step_unseen(struct running *run, struct levels_mark *mark, uint64_t step)
{
    struct levels_mark end = {mark->stage, step};
    bool done =
        mark->step == step || make_pass(run, &(struct pass){.begin = *mark, .end = end, .changes = NULL});

    *mark = end;
    return done;
}

/* A step whose change is added to sums. */
static bool step_seen(struct running *run, struct levels_mark *mark, double *sums)
{
    struct levels_mark end = {mark->stage, mark->step + 1};
    bool done;

    for (unsigned channel = 0; channel < run->job->in.grid.channels; channel++)
        sums[channel] = 0.0;
    done = make_pass(run, &(struct pass){.begin = *mark, .end = end, .changes = sums});
    *mark = end;
    return done;
}

static bool step_in_fields(struct running *run)
{
    const struct stage *last = last_stage(run);
    struct levels_mark mark = start_of_last(run);
    double *sums = mem_zeroed(run->job->in.grid.channels, sizeof *sums, "the sums", run->fault);
    bool enough = false, done = sums != NULL;

    while (done && !enough && mark.step < last->steps) {
        done =
            step_unseen(run, &mark, looks_next(&last->looks, mark.step) - 1) && step_seen(run, &mark, sums);
        enough = done && judge(run, mark.step, sums);
    }
    run->summary->steps += mark.step;
    run->summary->unreached = !enough;
    mem_free(sums);
    return done;
}

/* All planes are in the fields. */
static bool measure_fields(struct running *run)
{
    const struct range planes = {0, run->plan->shape.planes};

    return measure(run, planes) && settle_range(run);
}

static bool filter_in_fields(struct running *run)
{
    const struct pass_end in = from_source(run), out = to_sink(run);
    bool on_trial = run->plan->schedule.on_trial;
    struct levels_mark end = on_trial ? start_of_last(run) : levels_end(&run->plan->levels);
    struct pass first = {.end = end, .from = &in}, leave = {.begin = end, .end = end, .to = &out};

    return make_pass(run, &first) && (!on_trial || step_in_fields(run)) &&
           (!run->job->measures || measure_fields(run)) && make_pass(run, &leave);
}

/* Steps that a pass takes before anyone knows whether the run takes them. */
static struct route_leg venture(const struct running *run, const struct route *route)
{
    struct levels_mark end = levels_end(route->levels), most = route->at;
    struct route_leg leg;

    most.step += MOST_AT_A_VENTURE;
    if (most.step < last_stage(run)->steps)
        end = most;
    leg = route_next(route, end, false);
    leg.to = route_other_spool(leg.from);
    return leg;
}

static size_t steps_of(const struct running *run, const struct route_leg *leg)
{
    uint64_t end = leg->end.stage > leg->begin.stage ? last_stage(run)->steps : leg->end.step;

    return (size_t)(end - leg->begin.step);
}

/* From spool to spool, until the planes stand where the last state does whose steps are all taken; *rest says
   how many more are. */
static bool step_over_spools(struct running *run, struct route *route, uint64_t *rest)
{
    unsigned channels = run->job->in.grid.channels;
    bool enough = false;

    *rest = 0;
    while (!enough && !route_is_at(route, levels_end(route->levels))) {
        struct route_leg leg = venture(run, route);
        size_t steps = steps_of(run, &leg), taken = 0;
        double *sums = mem_zeroed(steps, channels * sizeof *sums, "the sums", run->fault);
        bool done = sums != NULL && make_leg(run, &leg, sums, false);
        if (done)
            taken = judge_all(run, leg.begin.step, sums, steps, &enough);
        mem_free(sums);
        if (!done)
            return false;
        if (taken < steps) {
            *rest = taken;
            return true;
        }
        route_take(route, &leg);
    }
    run->summary->unreached = !enough;
    return true;
}

static bool filter_until_over_spools(struct running *run)
{
    struct route route = start_route(run);
    struct levels_mark end;
    uint64_t rest;

    if (!follow(run, &route, start_of_last(run), false, false) || !step_over_spools(run, &route, &rest))
        return false;
    end = route.at;
    end.step += rest;
    return follow_into_sink(run, &route, end);
}

/* ---- all passes ---- */

static bool filter_over_spools(struct running *run)
{
    struct route route = start_route(run);

    return follow_into_sink(run, &route, levels_end(route.levels));
}

static bool filter_at_once(struct running *run)
{
    const struct pass_end in = from_source(run), out = to_sink(run);
    struct pass pass = {.end = levels_end(&run->plan->levels), .from = &in, .to = &out};

    return make_pass(run, &pass);
}

static void count_steps(struct running *run)
{
    for (size_t i = 0; i < run->plan->step_count; i++) {
        if (run->job->stages[i].until == 0.0 && stage_is_given(&run->job->stages[i]))
            run->summary->steps += run->job->stages[i].steps;
    }
}

static bool filter_all(struct running *run)
{
    const struct schedule *schedule = &run->plan->schedule;

    count_steps(run);
    if (schedule->on_trial &&
        !history_open(&run->summary->looks, looks_count(&last_stage(run)->looks), run->fault))
        return false;
    if (schedule->spooled)
        return schedule->on_trial ? filter_until_over_spools(run) : filter_over_spools(run);
    return schedule->whole ? filter_in_fields(run) : filter_at_once(run);
}

static bool create_spools(struct running *run)
{
    const struct plan *plan = run->plan;
    run->spooled = (struct encoding){
        .type = work_sample(run->job->work), .channels = plan->shape.channels, .gamma = 1.0};
    for (size_t i = 0; i < plan->schedule.spools; i++) {
        run->spools[i].plane_bytes = spool_plane_bytes(run);
        if (!spool_create(&run->spools[i].spool, run->sink->file, run->fault))
            return false;
    }
    return true;
}

static bool hold_source(struct running *run)
{
    return !run->plan->schedule.holds_in_spool || (spool_create(&run->held, run->sink->file, run->fault) &&
                                                   source_hold_in_spool(run->source, &run->held, run->fault));
}

static bool begin_observers(struct running *run)
{
    const struct observers *others = &run->request->observers;

    run->all = mem_alloc(others->count + 1, sizeof *run->all, "the observers", run->fault);
    if (run->all == NULL)
        return false;
    run->observers.list = run->all;
    if (run->request->stats)
        run->all[run->observers.count++] = (struct observer){&stats_kind, &run->stats};
    for (size_t i = 0; i < others->count; i++)
        run->all[run->observers.count++] = others->list[i];
    return observers_begin(&run->observers, run->plan, run->fault);
}

static void release(struct running *run)
{
    sweep_destroy(&run->sweep);
    for (size_t i = 0; i < 2; i++)
        spool_close(&run->spools[i].spool);
    spool_close(&run->held);
    mem_free(run->stats.planes);
    mem_free(run->all);
}

/* The device has started once. */
static double start_seconds(const struct running *run)
{
    return run->request->volume == 0 ? run->plan->start : 0.0;
}

static bool prepare(struct running *run)
{
    double begun = clock_seconds();
    bool done = begin_observers(run) && source_allow_stop(run->source, run->fault) && create_spools(run) &&
                hold_source(run) && sweep_create(&run->sweep, run->plan, &run->progress, run->fault);

    if (run->tees.count > 0)
        run->sweep.tap = (struct sweep_tap){&run->tees, tees_take};
    run->summary->start = start_seconds(run) + clock_seconds() - begun;
    return done;
}

/* Sample updates of the whole run: each plane is read and written by every pass, and advanced by every
   operation of every step. */
static double work_ahead(const struct running *run)
{
    const struct schedule *schedule = &run->plan->schedule;
    double sweeps = run->job->copies ? 1.0 : 2.0 * (double)schedule->passes;

    for (size_t i = 0; i < run->plan->step_count; i++)
        sweeps += (double)run->job->stages[i].steps * (double)run->plan->steps[i].step.count;
    sweeps *= 1.0 + schedule->again / (double)schedule->passes / (double)run->plan->shape.planes;
    return sweeps * plan_samples(run->plan, plan_window(run->plan).count);
}

bool run_plan(struct plan *plan, const struct run_request *request, struct source *source, struct sink *sink,
              struct run_summary *summary, struct fault *fault)
{
    struct running run = {.plan = plan,
                          .lane = &plan->lane,
                          .job = plan->job,
                          .request = request,
                          .source = source,
                          .sink = sink,
                          .outlet = {plan->job, sink},
                          .summary = summary,
                          .fault = fault,
                          .encode = plan->job->encode,
                          .tees = {.list = request->tees, .count = request->tee_count, .plan = plan},
                          .sweep = {.plan = plan, .lane = &plan->lane},
                          .spools = {{.spool.descriptor = -1}, {.spool.descriptor = -1}},
                          .held.descriptor = -1};
    double begun = clock_seconds();
    bool done;

    *summary = (struct run_summary){.last_change = NAN, .low = NAN, .high = NAN};
    progress_begin(&run.progress, request->progress, work_ahead(&run));
    done = prepare(&run) && filter_all(&run) && observers_finish(&run.observers, fault);
    if (done) {
        double finishing = clock_seconds();
        done = !is_last_volume(&run) || (sink_finish(sink, fault) && tees_finish(&run.tees, fault));
        summary->write += clock_seconds() - finishing;
    }
    progress_end(&run.progress);
    if (done && run.encode.ranged && !run.unmapped) {
        summary->low = run.encode.low;
        summary->high = run.encode.high;
    }
    summary->compute = run.sweep.seconds;
    summary->stats = run.stats.seconds;
    summary->tallies_in = run.stats.in;
    summary->tallies_out = run.stats.out;
    release(&run);
    summary->total = start_seconds(&run) + clock_seconds() - begun;
    return done;
}

void run_summary_add(struct run_summary *all, const struct run_summary *volume)
{
    all->start += volume->start;
    all->read += volume->read;
    all->reading += volume->reading;
    all->upload += volume->upload;
    all->compute += volume->compute;
    all->download += volume->download;
    all->write += volume->write;
    all->total += volume->total;
    all->outcomes.strays += volume->outcomes.strays;
    all->outcomes.nans += volume->outcomes.nans;
    all->outcomes.below += volume->outcomes.below;
    all->outcomes.above += volume->outcomes.above;
}

void run_summary_free(struct run_summary *summary)
{
    mem_free(summary->tallies_in);
    mem_free(summary->tallies_out);
    summary->tallies_in = summary->tallies_out = NULL;
    history_close(&summary->looks);
}
