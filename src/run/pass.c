#include "pass.h"

#include "base/clock.h"
#include "outcomes.h"

bool passes_measure(struct passes *all, struct range planes)
{
    return outrange_measure(&all->outrange, all->lane, all->lane->fields[all->sweep->output], planes,
                            all->fault);
}

bool passes_are_observed(const struct passes *all, const struct stop *end)
{
    return end->of_run && all->observers.count > 0;
}

/* Planes that the job writes, as a pass counts them. */
static struct range wanted(const struct passes *all, const struct pass *pass)
{
    struct range planes = job_window(all->job);

    planes.first += pass->overlap;
    return planes;
}

/* Those that are wanted, each once. */
static bool observe(struct passes *all, const struct pass *pass, const struct stop *end,
                    const struct ring_slot *slot)
{
    struct range planes = sweep_overlap(slot->planes, wanted(all, pass));
    const unsigned char *samples = slot->staging->samples;

    if (!passes_are_observed(all, end) || planes.count == 0)
        return true;
    samples += (planes.first - slot->planes.first) * end->plane_bytes;
    planes.first -= pass->overlap;
    return observers_see(&all->observers, end->which, samples, planes, all->fault);
}

/* Of those that are wanted, each once. */
static struct range counted(const struct passes *all, const struct pass *pass, const struct ring_slot *slot)
{
    return pass->from->of_run ? sweep_overlap(slot->planes, wanted(all, pass)) : (struct range){0, 0};
}

/* The next planes that the reader brings. */
static bool take_slot(struct passes *all, struct pass *pass, struct ring_slot **slot)
{
    if (!peers_go_on(all->peers, all->fault) || sink_lacks_room(all->sink, all->fault) ||
        !ring_take(all->lane->in, slot, all->fault))
        return false;
    pass->taken += (*slot)->planes.count;
    return true;
}

/* Past those that come before what the pass is over. */
static bool take_needed(struct passes *all, struct pass *pass, struct ring_slot **slot)
{
    while (take_slot(all, pass, slot)) {
        if ((*slot)->planes.first >= pass->load.part.first)
            return true;
        ring_free(all->lane->in, *slot);
    }
    return false;
}

/* Past those that come after it: only once the file has ended as it should, the last planes are passed on. */
static bool pass_over_rest(struct passes *all, struct pass *pass)
{
    struct ring_slot *slot;

    while (pass->taken < pass->load.planes.count) {
        if (!take_slot(all, pass, &slot))
            return false;
        ring_free(all->lane->in, slot);
    }
    return true;
}

/* The next planes read, into the fields. */
static bool take_batch(struct passes *all, struct pass *pass)
{
    const struct plan *plan = all->plan;
    struct sweep *sweep = all->sweep;
    struct ring_slot *slot;

    if (crew_has_failed(all->crew, all->fault) || !take_needed(all, pass, &slot) ||
        !observe(all, pass, pass->from, slot) || !sweep_make_room(sweep, slot->planes.count, all->fault) ||
        !all->lane->backend->upload(all->lane->device, all->lane->fields[sweep->input], pass->from->encoding,
                                    slot->staging, slot->planes, counted(all, pass, slot), all->fault))
        return false;
    progress_add(all->progress, plan_samples(plan, slot->planes.count));
    sweep_feed(sweep, slot->planes.count);
    ring_free(all->lane->in, slot);
    return true;
}

/* The next planes of the last level, out of the fields. */
static bool give_batch(struct passes *all, struct pass *pass)
{
    const struct plan *plan = all->plan;
    struct sweep *sweep = all->sweep;
    struct range leaving = sweep_leaving(sweep);
    struct ring_slot *slot;

    if (crew_has_failed(all->crew, all->fault) || !ring_claim(all->lane->out, &slot, all->fault))
        return false;
    slot->planes = leaving;
    if (leaving.count > plan->schedule.batch)
        slot->planes.count = plan->schedule.batch;
    if ((pass->measures && !passes_measure(all, slot->planes)) ||
        !all->lane->backend->download(all->lane->device, all->lane->fields[sweep->output], pass->to->encoding,
                                      slot->staging, slot->planes, all->fault) ||
        (passes_are_observed(all, pass->to) && !ring_await(all->lane->out, slot, all->fault)) ||
        !observe(all, pass, pass->to, slot))
        return false;
    progress_add(all->progress, plan_samples(plan, slot->planes.count));
    sweep_leave(sweep, slot->planes.count);
    slot->planes.first -= pass->overlap;
    ring_fill(all->lane->out, slot);
    return true;
}

static bool has_to_give(const struct passes *all, const struct pass *pass)
{
    return pass->to != NULL && sweep_leaving(all->sweep).count > 0;
}

static bool give(struct passes *all, struct pass *pass)
{
    while (has_to_give(all, pass)) {
        if (!give_batch(all, pass))
            return false;
    }
    return true;
}

/* Planes for the next slab as they come, and in between those of the slab before, so that whoever reads and
   whoever writes have work at the same time. Nobody waits for the reader while there is something to give. */
static bool take_and_give(struct passes *all, struct pass *pass)
{
    while (!sweep_is_due(all->sweep)) {
        if (has_to_give(all, pass) && !give_batch(all, pass))
            return false;
        if ((!has_to_give(all, pass) || (ring_has_full(all->lane->in) && sweep_has_room(all->sweep))) &&
            !take_batch(all, pass))
            return false;
    }
    return give(all, pass);
}

/* Slab by slab: planes in, levels forward, planes out. */
static bool filter(struct passes *all, struct pass *pass)
{
    struct sweep *sweep = all->sweep;

    if (pass->from == NULL) {
        sweep_begin_again(sweep, pass->begin, pass->end, pass->frame.leaving, pass->changes);
        return sweep_run(sweep, all->fault) && give(all, pass);
    }
    if (!sweep_begin(sweep, pass->begin, pass->end, &pass->frame, pass->changes, all->fault))
        return false;
    while (sweep_goes_on(sweep)) {
        if (!take_and_give(all, pass) || !sweep_run(sweep, all->fault))
            return false;
    }
    return pass_over_rest(all, pass) && give(all, pass);
}

/* Bits pass untouched but for the order of bytes: full buffers change places with empty ones. */
static bool copy(struct passes *all, struct pass *pass)
{
    const struct header *in = &all->job->in;
    bool swaps = in->endian != all->job->out.endian;
    size_t left = pass->frame.own.count;
    struct ring_slot *full, *empty;

    while (left > 0) {
        struct staging *staging;
        if (!take_needed(all, pass, &full) || !observe(all, pass, pass->from, full) ||
            !ring_claim(all->lane->out, &empty, all->fault))
            return false;
        staging = empty->staging;
        *empty = *full;
        full->staging = staging;
        ring_free(all->lane->in, full);
        if (swaps)
            sample_swap(in->type, empty->staging->samples,
                        empty->planes.count * grid_plane_samples(&in->grid));
        if (!observe(all, pass, pass->to, empty))
            return false;
        progress_add(all->progress, plan_samples(all->plan, empty->planes.count));
        left -= empty->planes.count;
        if (left == 0 && !pass_over_rest(all, pass))
            return false;
        ring_fill(all->lane->out, empty);
    }
    return true;
}

static bool is_shared(const struct passes *all)
{
    return all->plan->shares.count > 1;
}

bool passes_write_state(struct passes *all, const struct sweep *sweep, struct levels_mark mark,
                        unsigned field, struct range planes)
{
    double seconds = 0.0;
    uint64_t step;
    bool done = !levels_stops_at(&sweep->levels, mark, &step) ||
                tees_write(&all->tees, step, sweep, field, planes, &seconds, all->fault);

    all->seconds.write += seconds;
    all->seconds.writing += seconds;
    return done;
}

/* Whether the pass reads the last planes of the source. */
static bool reads_end(const struct passes *all, const struct pass *pass)
{
    const struct range *planes = &pass->load.planes;
    size_t count = all->plan->shape.planes;

    return is_shared(all) ? planes->first + planes->count == pass->overlap + count : planes->count >= count;
}

static bool create_ring(struct passes *all, struct ring **ring, size_t buffers)
{
    const struct plan *plan = all->plan;

    return ring_create(ring, all->lane->backend, all->lane->device, buffers, plan->schedule.batch_bytes,
                       all->fault);
}

/* What can be read anywhere is read where the pass needs it, and shares are read one after the other.
   Anything else is read to its end, which tells that it is undamaged. */
static struct carrier_load load_of(const struct passes *all, const struct pass *pass)
{
    const struct levels_span *span = &pass->frame.span;
    const struct range part = {span->begin, span->end - span->begin};
    const struct range whole = {0, all->plan->shape.planes};

    return (struct carrier_load){pass->from->random || is_shared(all) ? part : whole, part,
                                 all->plan->schedule.batch};
}

static bool start_reader(struct passes *all, struct pass *pass)
{
    struct carrier_end end = roll_end(&pass->roll);

    pass->load = load_of(all, pass);
    if (pass->overlap == 0)
        end = pass->from->carrier;
    if (all->crew != NULL || !reads_end(all, pass))
        end.finish = NULL;
    return carrier_fetch(&pass->reader, all->lane->in, all->lane->out, &end, &pass->load, pass->from->threads,
                         all->fault);
}

static bool open_pass(struct passes *all, struct pass *pass)
{
    const struct schedule *schedule = &all->plan->schedule;
    double begun = clock_seconds();
    bool opened = (pass->from == NULL || create_ring(all, &all->lane->in, schedule->in_buffers)) &&
                  (pass->to == NULL || create_ring(all, &all->lane->out, schedule->out_buffers));

    all->seconds.start += clock_seconds() - begun;
    return opened &&
           (is_shared(all) ||
            tees_open_pass(&all->tees, all->lane, &pass->frame, all->lane->in, all->fault)) &&
           (pass->from == NULL || start_reader(all, pass)) &&
           (pass->to == NULL || carrier_deliver(&pass->writer, all->lane->out, all->lane->in,
                                                &pass->to->carrier, pass->to->threads, all->fault));
}

/* What went into a spool file is to come back. */
static bool add_outcomes(struct passes *all, const struct pass *pass)
{
    struct outcomes of_pass = all->tees.aside;

    all->tees.aside = (struct outcomes){0};
    if (!all->lane->backend->tell_outcomes(all->lane->device, &of_pass, all->fault))
        return false;
    if (!pass->to->of_run)
        of_pass = (struct outcomes){.strays = of_pass.strays};
    outcomes_add(&all->outcomes, &of_pass);
    return true;
}

/* Wait until the last plane has been written, and nothing is under way on the device. */
static bool finish_pass(struct passes *all, struct pass *pass)
{
    if (!sweep_finish(all->sweep, all->fault) || !tees_finish_pass(&all->tees, all->fault) ||
        (all->lane->in != NULL && !ring_drain(all->lane->in, all->fault)))
        return false;
    if (all->lane->out == NULL)
        return true;
    if (!add_outcomes(all, pass))
        return false;
    ring_finish(all->lane->out);
    return ring_drain(all->lane->out, all->fault);
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

static void close_pass(struct passes *all, struct pass *pass, bool done)
{
    struct carrier_work reading = close_carrier(pass->reader, done);
    struct carrier_work writing = close_carrier(pass->writer, done);
    double of_tees = tees_close_pass(&all->tees, done);

    all->seconds.read += reading.seconds;
    all->seconds.reading += reading.each;
    all->seconds.write += writing.seconds + of_tees;
    all->seconds.writing += writing.each + of_tees;
    all->seconds.upload += close_ring(&all->lane->in);
    all->seconds.download += close_ring(&all->lane->out);
}

/* Whether the one pass of a run goes only over the planes that those of a part need. */
static bool streams_part(const struct passes *all)
{
    return plan_window(all->plan).count < all->plan->shape.planes;
}

/* A lane reads its own planes; there is room before them for those that others hand over. */
static struct sweep_frame share_of(const struct passes *all, const struct pass *pass)
{
    const struct shares *shares = &all->plan->shares;
    const struct range own = shares_own(shares, all->share);
    const struct range reached = shares_reached(shares, all->share, shares->halo);

    return (struct sweep_frame){.overlap = pass->overlap,
                                .span = {own.first, own.first + own.count, false, false},
                                .before = own.first - reached.first,
                                .own = own,
                                .leaving = sweep_overlap(own, wanted(all, pass))};
}

/* Some planes, with those beside them that they need. Both ends of an unrolled grid are open, where its last
   planes come before the first and the first after the last. Else an end is open wherever the grid goes on
   beyond what is needed. */
static struct sweep_frame some_of(const struct passes *all, const struct pass *pass, struct range own)
{
    size_t overlap = pass->overlap;
    struct sweep_frame frame = {.overlap = overlap, .own = own, .leaving = own};

    if (overlap > 0)
        frame.span = (struct levels_span){own.first - overlap, own.first + own.count + overlap, true, true};
    else
        frame.span = levels_span(&all->plan->levels, pass->begin, pass->end, own);
    return frame;
}

/* The same ones in every pass; in the last one those of them that are written. */
static struct sweep_frame portion_of(const struct passes *all, const struct pass *pass)
{
    const struct shares *portions = &all->plan->portions;
    struct range own = shares_own(portions, portions->first);

    own.first += pass->overlap;
    return some_of(all, pass, pass->to->of_run ? wanted(all, pass) : own);
}

static struct sweep_frame planes_of(const struct passes *all, const struct pass *pass)
{
    size_t planes = all->plan->shape.planes, overlap = pass->overlap;
    struct range own = {overlap, planes}, part = wanted(all, pass);
    bool leaves = pass->to != NULL && pass->to->of_run;

    if (is_shared(all))
        return share_of(all, pass);
    if (all->plan->portions.count > 1)
        return portion_of(all, pass);
    if (streams_part(all))
        return some_of(all, pass, part);
    return (struct sweep_frame){.overlap = overlap,
                                .span = {0, planes + 2 * overlap, overlap > 0, overlap > 0},
                                .own = own,
                                .leaving = leaves ? part : own};
}

bool pass_make(struct passes *all, struct pass *pass)
{
    bool done;

    pass->frame = planes_of(all, pass);
    if (pass->from != NULL) {
        pass->frame.of_source = pass->from->of_run;
        pass->roll = (struct roll){
            pass->from->carrier, pass->from->plane_bytes, {pass->overlap, all->plan->shape.planes}};
    }
    done = open_pass(all, pass) && (all->job->copies ? copy(all, pass) : filter(all, pass)) &&
           finish_pass(all, pass);
    close_pass(all, pass, done);
    return done;
}
