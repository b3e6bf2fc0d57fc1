#include "pass.h"

#include "base/clock.h"
#include "output.h"

bool pass_measure(struct run *run, struct range planes)
{
    const struct lane *lane = run->lane;

    return lane->backend->measure(lane->device, lane->fields[run->sweep->output], &run->encode, planes,
                                  run->fault);
}

bool pass_is_observed(const struct run *run, const struct stop *end)
{
    return end->of_run && run->observers.count > 0;
}

/* Planes that the job writes, as a pass counts them. */
static struct range wanted(const struct run *run, const struct pass *pass)
{
    struct range planes = run->job->window;

    planes.first += pass->overlap;
    return planes;
}

/* Those that are wanted, each once. */
static bool observe(struct run *run, const struct pass *pass, const struct stop *end,
                    const struct io_slot *slot)
{
    struct range planes = sweep_overlap(slot->planes, wanted(run, pass));
    const unsigned char *samples = slot->staging->samples;

    if (!pass_is_observed(run, end) || planes.count == 0)
        return true;
    samples += (planes.first - slot->planes.first) * end->plane_bytes;
    planes.first -= pass->overlap;
    return observers_see(&run->observers, end->which, samples, planes, run->fault);
}

/* Of those that are wanted, each once. */
static struct range counted(const struct run *run, const struct pass *pass, const struct io_slot *slot)
{
    return pass->from->of_run ? sweep_overlap(slot->planes, wanted(run, pass)) : (struct range){0, 0};
}

/* The next planes that the reader brings. */
static bool take_slot(struct run *run, struct pass *pass, struct io_slot **slot)
{
    if (!peers_go_on(run->peers, run->fault) || sink_lacks_room(run->sink, run->fault) ||
        !io_ring_take(run->lane->in, slot, run->fault))
        return false;
    pass->taken += (*slot)->planes.count;
    return true;
}

/* Past those that come before what the pass is over. */
static bool take_needed(struct run *run, struct pass *pass, struct io_slot **slot)
{
    while (take_slot(run, pass, slot)) {
        if ((*slot)->planes.first >= pass->load.part.first)
            return true;
        io_ring_free(run->lane->in, *slot);
    }
    return false;
}

/* Past those that come after it: only once the file has ended as it should, the last planes are passed on. */
static bool pass_over_rest(struct run *run, struct pass *pass)
{
    struct io_slot *slot;

    while (pass->taken < pass->load.planes.count) {
        if (!take_slot(run, pass, &slot))
            return false;
        io_ring_free(run->lane->in, slot);
    }
    return true;
}

/* The next planes read, into the fields. */
static bool take_batch(struct run *run, struct pass *pass)
{
    const struct plan *plan = run->plan;
    struct sweep *sweep = run->sweep;
    struct io_slot *slot;

    if (parallel_loop_has_failed(run->loop, run->fault) || !take_needed(run, pass, &slot) ||
        !observe(run, pass, pass->from, slot) || !sweep_make_room(sweep, slot->planes.count, run->fault) ||
        !run->lane->backend->upload(run->lane->device, run->lane->fields[sweep->input], pass->from->encoding,
                                    slot->staging, slot->planes, counted(run, pass, slot), run->fault))
        return false;
    progress_add(run->progress, (double)slot->planes.count * plan->plane_samples);
    sweep_feed(sweep, slot->planes.count);
    io_ring_free(run->lane->in, slot);
    return true;
}

/* The next planes of the last level, out of the fields. */
static bool give_batch(struct run *run, struct pass *pass)
{
    const struct plan *plan = run->plan;
    struct sweep *sweep = run->sweep;
    struct range leaving = sweep_leaving(sweep);
    struct io_slot *slot;

    if (parallel_loop_has_failed(run->loop, run->fault) || !io_ring_claim(run->lane->out, &slot, run->fault))
        return false;
    slot->planes = leaving;
    if (leaving.count > plan->schedule.batch)
        slot->planes.count = plan->schedule.batch;
    if ((pass->measures && !pass_measure(run, slot->planes)) ||
        !run->lane->backend->download(run->lane->device, run->lane->fields[sweep->output], pass->to->encoding,
                                      slot->staging, slot->planes, run->fault) ||
        (pass_is_observed(run, pass->to) && !io_ring_await(run->lane->out, slot, run->fault)) ||
        !observe(run, pass, pass->to, slot))
        return false;
    progress_add(run->progress, (double)slot->planes.count * plan->plane_samples);
    sweep_leave(sweep, slot->planes.count);
    slot->planes.first -= pass->overlap;
    io_ring_fill(run->lane->out, slot);
    return true;
}

static bool has_to_give(const struct run *run, const struct pass *pass)
{
    return pass->to != NULL && sweep_leaving(run->sweep).count > 0;
}

static bool give(struct run *run, struct pass *pass)
{
    while (has_to_give(run, pass)) {
        if (!give_batch(run, pass))
            return false;
    }
    return true;
}

/* Planes for the next slab as they come, and in between those of the slab before, so that whoever reads and
   whoever writes have work at the same time. Nobody waits for the reader while there is something to give. */
static bool take_and_give(struct run *run, struct pass *pass)
{
    while (!sweep_is_due(run->sweep)) {
        if (has_to_give(run, pass) && !give_batch(run, pass))
            return false;
        if ((!has_to_give(run, pass) || (io_ring_has_full(run->lane->in) && sweep_has_room(run->sweep))) &&
            !take_batch(run, pass))
            return false;
    }
    return give(run, pass);
}

/* Slab by slab: planes in, levels forward, planes out. */
static bool filter(struct run *run, struct pass *pass)
{
    struct sweep *sweep = run->sweep;

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
static bool copy(struct run *run, struct pass *pass)
{
    const struct header *in = &run->job->in;
    bool swaps = in->endian != run->job->out.endian;
    size_t left = pass->frame.own.count;
    struct io_slot *full, *empty;

    while (left > 0) {
        struct staging *staging;
        if (!take_needed(run, pass, &full) || !observe(run, pass, pass->from, full) ||
            !io_ring_claim(run->lane->out, &empty, run->fault))
            return false;
        staging = empty->staging;
        *empty = *full;
        full->staging = staging;
        io_ring_free(run->lane->in, full);
        if (swaps)
            sample_swap(in->type, empty->staging->samples,
                        empty->planes.count * grid_plane_samples(&in->grid));
        if (!observe(run, pass, pass->to, empty))
            return false;
        progress_add(run->progress, (double)empty->planes.count * run->plan->plane_samples);
        left -= empty->planes.count;
        if (left == 0 && !pass_over_rest(run, pass))
            return false;
        io_ring_fill(run->lane->out, empty);
    }
    return true;
}

static bool is_shared(const struct run *run)
{
    return run->plan->shares.count > 1;
}

bool pass_write_state(struct run *run, const struct sweep *sweep, struct levels_mark mark, unsigned field,
                      struct range planes)
{
    double seconds = 0.0;
    uint64_t step;
    bool done = !levels_stops_at(&sweep->levels, mark, &step) ||
                tees_write(&run->tees, step, sweep, field, planes, &seconds, run->fault);

    run->seconds.write += seconds;
    run->seconds.writing += seconds;
    return done;
}

/* Whether the pass reads the last planes of the source. */
static bool reads_end(const struct run *run, const struct pass *pass)
{
    const struct range *planes = &pass->load.planes;
    size_t count = run->plan->shape.planes;

    return is_shared(run) ? planes->first + planes->count == pass->overlap + count : planes->count >= count;
}

static bool create_ring(struct run *run, struct io_ring **ring, size_t buffers)
{
    const struct plan *plan = run->plan;

    return io_ring_create(ring, run->lane->backend, run->lane->device, buffers, plan->schedule.batch_bytes,
                          run->fault);
}

/* ---- planes of an unrolled grid ---- */

/* Planes of an unrolled grid, which lie apart where it goes around. */
static bool read_around(void *file, void *samples, struct range planes, struct fault *fault)
{
    const struct pass_roll *roll = file;
    const struct io_end *end = &roll->end;
    size_t count = roll->own.count, next = (planes.first + count - roll->own.first) % count;
    unsigned char *to = samples;

    while (planes.count > 0) {
        struct range piece = {next, planes.count < count - next ? planes.count : count - next};
        if (!end->move(end->file, to, piece, fault))
            return false;
        to += piece.count * roll->plane_bytes;
        planes.count -= piece.count;
        next = 0;
    }
    return true;
}

static bool end_around(void *file, struct fault *fault)
{
    const struct io_end *end = &((const struct pass_roll *)file)->end;

    return end->finish == NULL || end->finish(end->file, fault);
}

static void stop_around(void *file)
{
    const struct io_end *end = &((const struct pass_roll *)file)->end;

    if (end->interrupt != NULL)
        end->interrupt(end->file);
}

static struct io_end roll_end(struct pass_roll *roll)
{
    return (struct io_end){.file = roll, .move = read_around, .finish = end_around, .interrupt = stop_around};
}

/* ---- a pass ---- */

/* What can be read anywhere is read where the pass needs it, and the lanes of a process read their shares one
   after the other. Anything else, each process reads to its end, which tells that it is undamaged. */
static struct io_load load_of(const struct run *run, const struct pass *pass)
{
    const struct levels_span *span = &pass->frame.span;
    const struct range part = {span->begin, span->end - span->begin};
    const struct range whole = {is_shared(run) ? pass->overlap : 0, run->plan->shape.planes};
    bool takes_turns = run->plan->shares.held > 1;

    return (struct io_load){pass->from->random || takes_turns ? part : whole, part,
                            run->plan->schedule.batch};
}

static bool start_reader(struct run *run, struct pass *pass)
{
    struct io_end end = roll_end(&pass->roll);

    pass->load = load_of(run, pass);
    if (pass->overlap == 0)
        end = pass->from->end;
    if (run->loop != NULL || !reads_end(run, pass))
        end.finish = NULL;
    return io_threads_read(&pass->reader, run->lane->in, run->lane->out, &end, &pass->load,
                           pass->from->threads, run->fault);
}

static bool open_pass(struct run *run, struct pass *pass)
{
    const struct schedule *schedule = &run->plan->schedule;
    double begun = clock_seconds();
    bool opened = (pass->from == NULL || create_ring(run, &run->lane->in, schedule->in_buffers)) &&
                  (pass->to == NULL || create_ring(run, &run->lane->out, schedule->out_buffers));

    run->seconds.start += clock_seconds() - begun;
    return opened &&
           (is_shared(run) ||
            tees_open_pass(&run->tees, run->lane, &pass->frame, run->lane->in, run->fault)) &&
           (pass->from == NULL || start_reader(run, pass)) &&
           (pass->to == NULL || io_threads_write(&pass->writer, run->lane->out, run->lane->in, &pass->to->end,
                                                 pass->to->threads, run->fault));
}

/* What went into a spool file is to come back. */
static bool add_outcomes(struct run *run, const struct pass *pass)
{
    struct outcomes of_pass = run->tees.aside;

    run->tees.aside = (struct outcomes){0};
    if (!run->lane->backend->tell_outcomes(run->lane->device, &of_pass, run->fault))
        return false;
    if (!pass->to->of_run)
        of_pass = (struct outcomes){.strays = of_pass.strays};
    output_add_outcomes(&run->outcomes, &of_pass);
    return true;
}

/* Wait until the last plane has been written, and nothing is under way on the device. */
static bool finish_pass(struct run *run, struct pass *pass)
{
    if (!sweep_finish(run->sweep, run->fault) || !tees_finish_pass(&run->tees, run->fault) ||
        (run->lane->in != NULL && !io_ring_drain(run->lane->in, run->fault)))
        return false;
    if (run->lane->out == NULL)
        return true;
    if (!add_outcomes(run, pass))
        return false;
    io_ring_finish(run->lane->out);
    return io_ring_drain(run->lane->out, run->fault);
}

/* The seconds that the device spent on its buffers. */
static double close_ring(struct io_ring **ring)
{
    double seconds = *ring == NULL ? 0.0 : io_ring_seconds(*ring);

    io_ring_destroy(*ring);
    *ring = NULL;
    return seconds;
}

static void close_pass(struct run *run, struct pass *pass, bool done)
{
    struct io_work reading = io_threads_end(pass->reader, done);
    struct io_work writing = io_threads_end(pass->writer, done);
    double of_tees = tees_close_pass(&run->tees, done);

    run->seconds.read += reading.seconds;
    run->seconds.reading += reading.each;
    run->seconds.write += writing.seconds + of_tees;
    run->seconds.writing += writing.each + of_tees;
    run->seconds.upload += close_ring(&run->lane->in);
    run->seconds.download += close_ring(&run->lane->out);
}

/* Whether the one pass of a run goes only over the planes that those of a part need. */
static bool streams_part(const struct run *run)
{
    return run->plan->window.count < run->plan->shape.planes;
}

/* A lane reads its own planes; there is room before them for those that others hand over. */
static struct sweep_frame share_of(const struct run *run, const struct pass *pass)
{
    const struct shares *shares = &run->plan->shares;
    const struct range own = shares_own(shares, run->share);
    const struct range reached = shares_reached(shares, run->share, shares->halo);

    return (struct sweep_frame){.overlap = pass->overlap,
                                .span = {own.first, own.first + own.count, false, false},
                                .before = own.first - reached.first,
                                .own = own,
                                .leaving = sweep_overlap(own, wanted(run, pass))};
}

/* Some planes, with those beside them that they need. Both ends of an unrolled grid are open, where its last
   planes come before the first and the first after the last. Else an end is open wherever the grid goes on
   beyond what is needed. */
static struct sweep_frame some_of(const struct run *run, const struct pass *pass, struct range own)
{
    size_t overlap = pass->overlap;
    struct sweep_frame frame = {.overlap = overlap, .own = own, .leaving = own};

    if (overlap > 0)
        frame.span = (struct levels_span){own.first - overlap, own.first + own.count + overlap, true, true};
    else
        frame.span = levels_span(&run->plan->levels, pass->begin, pass->end, own);
    return frame;
}

static struct sweep_frame planes_of(const struct run *run, const struct pass *pass)
{
    size_t planes = run->plan->shape.planes, overlap = pass->overlap;
    struct range own = {overlap, planes}, part = wanted(run, pass);
    bool leaves = pass->to != NULL && pass->to->of_run;

    if (is_shared(run))
        return share_of(run, pass);
    if (streams_part(run))
        return some_of(run, pass, part);
    return (struct sweep_frame){.overlap = overlap,
                                .span = {0, planes + 2 * overlap, overlap > 0, overlap > 0},
                                .own = own,
                                .leaving = leaves ? part : own};
}

bool pass_make(struct run *run, struct pass *pass)
{
    bool done;

    pass->frame = planes_of(run, pass);
    if (pass->from != NULL) {
        pass->frame.of_source = pass->from->of_run;
        pass->roll = (struct pass_roll){
            pass->from->end, pass->from->plane_bytes, {pass->overlap, run->plan->shape.planes}};
    }
    done = open_pass(run, pass) && (run->job->copies ? copy(run, pass) : filter(run, pass)) &&
           finish_pass(run, pass);
    close_pass(run, pass, done);
    return done;
}
