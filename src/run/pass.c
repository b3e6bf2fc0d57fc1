/* Passes: all planes moved once, from one stop to another, with levels on the way.

   Three parties work at the same time. Threads read batches of planes from a file into a ring of buffers
   (io.h). The thread that runs the plan uploads them into a field, lets the levels advance a slab at a time
   (sweep.h), and downloads the planes of the last level into a second ring, which other threads write into a
   file. Observers look at the samples in either ring, and tees take states between the levels. Whoever fails
   stops both rings, so that nobody waits for the others.

   Members that share the planes make such a pass each for their own planes and without levels: one that
   brings the planes, and one that takes them away. Between the two, all levels go over what the fields hold.
 */
#include "pass.h"

#include "base/clock.h"
#include "output.h"

#include <math.h>

/* Have the device look at the extremes of some planes of the result. */
static bool measure(const struct run *run, const struct sweep *sweep, struct range planes)
{
    const struct lane *lane = sweep->lane;

    return lane->backend->measure(lane->device, lane->fields[sweep->output], &run->encode, planes,
                                  run->fault);
}

bool pass_measure(struct run *run)
{
    const struct sweep_team *team = &run->team;
    bool done = true;

    for (size_t i = 0; done && i < team->shares.held; i++)
        done = measure(run, &team->members[i], shares_own(&team->shares, team->shares.first + i));
    return done;
}

static bool is_observed(const struct run *run, const struct stop *end)
{
    return end->of_run && run->observers.count > 0;
}

static bool is_shared(const struct run *run)
{
    return run->plan->shares.count > 1;
}

/* Planes that the job writes, as a pass counts them. */
static struct range wanted(const struct run *run, const struct pass *pass)
{
    struct range planes = run->job->window;

    planes.first += pass->overlap;
    return planes;
}

/* Show observers the wanted planes, each once. */
static bool observe(struct run *run, const struct pass *pass, const struct stop *end,
                    const struct io_slot *slot)
{
    struct range planes = shares_common(slot->planes, wanted(run, pass));
    const unsigned char *samples = slot->staging->samples;

    if (!is_observed(run, end) || planes.count == 0)
        return true;
    samples += (planes.first - slot->planes.first) * end->plane_bytes;
    planes.first -= pass->overlap;
    return observers_see(&run->observers, end->which, samples, planes, run->fault);
}

/* The next planes that the reader brings. */
static bool take_slot(struct run *run, struct pass *pass, struct io_slot **slot)
{
    if (!peers_go_on(run->peers, run->fault) || sink_lacks_room(run->team.sink, run->fault) ||
        !io_ring_take(run->lane->in, slot, run->fault))
        return false;
    pass->taken += (*slot)->planes.count;
    return true;
}

/* The first buffer that the pass needs; those before it are freed. */
static bool take_needed(struct run *run, struct pass *pass, struct io_slot **slot)
{
    while (take_slot(run, pass, slot)) {
        if ((*slot)->planes.first >= pass->load.part.first)
            return true;
        io_ring_pass_on(run->lane->in, *slot);
    }
    return false;
}

/* Free the buffers behind what the pass needs: the reader passes on the last planes only once the file has
 * ended as it should. */
static bool pass_over_rest(struct run *run, struct pass *pass)
{
    struct io_slot *slot;

    while (pass->taken < pass->load.planes.count) {
        if (!take_slot(run, pass, &slot))
            return false;
        io_ring_pass_on(run->lane->in, slot);
    }
    return true;
}

/* The next planes read, into the fields. */
static bool take_batch(struct run *run, struct pass *pass)
{
    const struct plan *plan = run->plan;
    struct sweep *sweep = run->team.members;
    struct range counted = {0, 0}; /* planes whose samples count in the outcomes */
    struct io_slot *slot;

    if (parallel_loop_has_failed(run->loop, run->fault) || !take_needed(run, pass, &slot) ||
        !observe(run, pass, pass->from, slot) || !sweep_make_room(sweep, slot->planes.count, run->fault))
        return false;
    if (pass->from->of_run)
        counted = shares_common(slot->planes, wanted(run, pass));
    if (!run->lane->backend->upload(run->lane->device, run->lane->fields[sweep->input], pass->from->encoding,
                                    slot->staging, slot->planes, counted, run->fault))
        return false;
    progress_add(run->progress, (double)slot->planes.count * plan->plane_samples);
    sweep_feed(sweep, slot->planes.count);
    io_ring_pass_on(run->lane->in, slot);
    return true;
}

/* The next planes of the last level, out of the fields. */
static bool give_batch(struct run *run, struct pass *pass)
{
    const struct plan *plan = run->plan;
    struct sweep *sweep = run->team.members;
    struct range leaving = sweep_leaving(sweep);
    struct io_slot *slot;

    if (parallel_loop_has_failed(run->loop, run->fault) || !io_ring_claim(run->lane->out, &slot, run->fault))
        return false;
    slot->planes = leaving;
    if (leaving.count > plan->schedule.batch)
        slot->planes.count = plan->schedule.batch;
    if ((pass->measures && !measure(run, sweep, slot->planes)) ||
        !run->lane->backend->download(run->lane->device, run->lane->fields[sweep->output], pass->to->encoding,
                                      slot->staging, slot->planes, run->fault) ||
        (is_observed(run, pass->to) && !io_ring_await(run->lane->out, slot, run->fault)) ||
        !observe(run, pass, pass->to, slot))
        return false;
    /* The planes have left the fields; writers count them from the first of the grid. */
    progress_add(run->progress, (double)slot->planes.count * plan->plane_samples);
    sweep_leave(sweep, slot->planes.count);
    slot->planes.first -= pass->overlap;
    io_ring_pass_on(run->lane->out, slot);
    return true;
}

/* Whether planes of the last level wait to leave. */
static bool has_to_give(const struct run *run, const struct pass *pass)
{
    return pass->to != NULL && sweep_leaving(run->team.members).count > 0;
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
    while (!sweep_is_due(run->team.members)) {
        if (has_to_give(run, pass) && !give_batch(run, pass))
            return false;
        if ((!has_to_give(run, pass) ||
             (io_ring_has_full(run->lane->in) && sweep_has_room(run->team.members))) &&
            !take_batch(run, pass))
            return false;
    }
    return give(run, pass);
}

/* Slab by slab: planes in, levels forward, planes out. */
static bool filter(struct run *run, struct pass *pass)
{
    struct sweep *sweep = run->team.members;

    if (pass->from == NULL) {
        sweep_begin_again(sweep, pass->begin, pass->end, pass->frame.leaving, pass->changes);
        return sweep_run(&run->team) && give(run, pass);
    }
    if (!sweep_begin(sweep, pass->begin, pass->end, &pass->frame, pass->changes, run->fault))
        return false;
    while (sweep_goes_on(sweep)) {
        if (!take_and_give(run, pass) || !sweep_run(&run->team))
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
        /* The samples stay where they are: the buffers change places. */
        staging = empty->staging;
        *empty = *full;
        full->staging = staging;
        io_ring_pass_on(run->lane->in, full);
        if (swaps)
            sample_swap(in->type, empty->staging->samples,
                        empty->planes.count * grid_plane_samples(&run->job->computed));
        if (!observe(run, pass, pass->to, empty))
            return false;
        progress_add(run->progress, (double)empty->planes.count * run->plan->plane_samples);
        left -= empty->planes.count;
        if (left == 0 && !pass_over_rest(run, pass))
            return false;
        io_ring_pass_on(run->lane->out, empty);
    }
    return true;
}

/* Whether the pass reads the last planes of the source. */
static bool reads_end(const struct run *run, const struct pass *pass)
{
    const struct range *planes = &pass->load.planes;
    size_t count = run->plan->shape.planes;

    return is_shared(run) ? planes->first + planes->count == pass->overlap + count : planes->count >= count;
}

/* ---- planes of an unrolled grid ---- */

/* Planes of samples or of a mask, which lie apart where the grid goes around. */
static bool read_pieces(const struct pass_roll *roll,
                        bool (*move)(void *file, void *samples, struct range planes, struct fault *fault),
                        size_t plane_bytes, unsigned char *to, struct range planes, struct fault *fault)
{
    size_t count = roll->own.count, next = (planes.first + count - roll->own.first) % count;

    while (planes.count > 0) {
        struct range piece = {next, planes.count < count - next ? planes.count : count - next};
        if (!move(roll->stop->end.file, to, piece, fault))
            return false;
        to += piece.count * plane_bytes;
        planes.count -= piece.count;
        next = 0;
    }
    return true;
}

/* Planes of an unrolled grid, and behind them their mask. */
static bool read_around(void *file, void *samples, struct range planes, struct fault *fault)
{
    const struct pass_roll *roll = file;
    const struct stop *stop = roll->stop;
    unsigned char *to = samples;

    return read_pieces(roll, stop->end.move, stop->plane_bytes, to, planes, fault) &&
           (stop->mask == NULL ||
            read_pieces(roll, stop->mask, roll->plane_pixels,
                        to + encoding_mask_place(stop->encoding, planes.count * roll->plane_pixels), planes,
                        fault));
}

static bool end_around(void *file, struct fault *fault)
{
    const struct io_end *end = &((const struct pass_roll *)file)->stop->end;

    return end->finish == NULL || end->finish(end->file, fault);
}

static void stop_around(void *file)
{
    const struct io_end *end = &((const struct pass_roll *)file)->stop->end;

    if (end->interrupt != NULL)
        end->interrupt(end->file);
}

/* ---- a pass ---- */

/* A file that can be read anywhere is read where the pass needs it, and the lanes of a process read their
   shares one after the other. Anything else, each process reads to its end, which tells that it is undamaged.
 */
static struct io_load load_of(const struct run *run, const struct pass *pass)
{
    const struct levels_span *span = &pass->frame.span;
    const struct range part = {span->begin, span->end - span->begin};
    const struct range whole = {is_shared(run) ? pass->overlap : 0, run->plan->shape.planes};
    bool takes_turns = run->plan->shares.held > 1;

    return (struct io_load){pass->from->random || takes_turns ? part : whole, part,
                            run->plan->schedule.batch};
}

/* Start the threads that read. The end of the file is checked by the lane that reads its last planes, unless
   lanes read side by side. */
static bool start_reader(struct run *run, struct pass *pass)
{
    /* A file whose planes are read as those of an unrolled grid. */
    struct io_end end = {
        .file = &pass->roll, .move = read_around, .finish = end_around, .interrupt = stop_around};

    pass->load = load_of(run, pass);
    if (pass->overlap == 0 && pass->from->mask == NULL)
        end = pass->from->end;
    if (run->loop != NULL || !reads_end(run, pass))
        end.finish = NULL;
    return io_threads_read(&pass->reader, run->lane->in, run->lane->out, &end, &pass->load,
                           pass->from->threads, run->fault);
}

/* Rings, and the threads at their ends. */
static bool open_pass(struct run *run, struct pass *pass)
{
    const struct schedule *schedule = &run->plan->schedule;
    struct lane *lane = run->lane;
    double begun = clock_seconds();
    bool opened = (pass->from == NULL || io_ring_create(&lane->in, lane, schedule->in_buffers,
                                                        schedule->batch_bytes, run->fault)) &&
                  (pass->to == NULL || io_ring_create(&lane->out, lane, schedule->out_buffers,
                                                      schedule->batch_bytes, run->fault));

    run->seconds.start += clock_seconds() - begun;
    return opened &&
           (is_shared(run) || tees_open_pass(&run->tees, lane, &pass->frame, lane->in, run->fault)) &&
           (pass->from == NULL || start_reader(run, pass)) &&
           (pass->to == NULL || io_threads_write(&pass->writer, lane->out, lane->in, &pass->to->end,
                                                 pass->to->threads, run->fault));
}

/* Samples that went into a spool file come back, so only what they were when they were read counts. */
static bool add_outcomes(struct run *run, const struct pass *pass)
{
    struct outcomes of_pass = run->tees.aside;

    run->tees.aside = (struct outcomes){0};
    if (!run->lane->backend->tell_outcomes(run->lane->device, &of_pass, run->fault))
        return false;
    if (!pass->to->of_run)
        of_pass = (struct outcomes){
            .outside = of_pass.outside, .missing = of_pass.missing, .strays = of_pass.strays};
    output_add_outcomes(&run->outcomes, &of_pass);
    return true;
}

/* Wait until the last plane has been written, and nothing is under way on the device. */
static bool finish_pass(struct run *run, struct pass *pass)
{
    if (!sweep_finish(run->team.members, run->fault) || !tees_finish_pass(&run->tees, run->fault) ||
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

/* End the threads and rings of a pass, and add up what they took. */
static void close_pass(struct run *run, struct pass *pass, bool done)
{
    struct io_work reading = io_threads_end(pass->reader, done);
    struct io_work writing = io_threads_end(pass->writer, done);

    tees_close_pass(&run->tees, done);
    run->seconds.read += reading.seconds;
    run->seconds.reading += reading.each;
    run->seconds.write += writing.seconds;
    run->seconds.writing += writing.each;
    run->seconds.upload += close_ring(&run->lane->in);
    run->seconds.download += close_ring(&run->lane->out);
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
                                .leaving = shares_common(own, wanted(run, pass))};
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

/* Which planes the pass reads, computes and puts out. */
static struct sweep_frame planes_of(const struct run *run, const struct pass *pass)
{
    size_t planes = run->plan->shape.planes, overlap = pass->overlap;
    struct range own = {overlap, planes}, part = wanted(run, pass);
    bool leaves = pass->to != NULL && pass->to->of_run;

    if (is_shared(run))
        return share_of(run, pass);
    /* The one pass of a run over a part goes only over the planes that those of the part need. */
    if (run->plan->window.count < planes)
        return some_of(run, pass, part);
    return (struct sweep_frame){.overlap = overlap,
                                .span = {0, planes + 2 * overlap, overlap > 0, overlap > 0},
                                .own = own,
                                .leaving = leaves ? part : own};
}

/* Make a pass by the lane that the run is at: open it, move the planes, wait for the last of them, and close
   it. */
static bool make_alone(struct run *run, struct pass *pass)
{
    bool done;

    pass->frame = planes_of(run, pass);
    if (pass->from != NULL) {
        pass->frame.of_source = pass->from->of_run;
        pass->roll = (struct pass_roll){pass->from,
                                        run->plan->shape.rows * run->plan->shape.nx,
                                        {pass->overlap, run->plan->shape.planes}};
    }
    done = open_pass(run, pass) && (run->job->copies ? copy(run, pass) : filter(run, pass)) &&
           finish_pass(run, pass);
    close_pass(run, pass, done);
    return done;
}

/* ---- by members that share the planes ---- */

/* Planes that all members move, and what each of them adds up meanwhile. */
struct move {
    const struct run *run;
    const struct pass *pass;
    struct run_seconds seconds[DEVICES_MOST];
    struct outcomes outcomes[DEVICES_MOST];
};

/* The run of a member by itself: a team of one, whose planes are those of its share. */
static struct run run_of_member(const struct run *all, size_t member, struct parallel_loop *loop,
                                struct fault *fault)
{
    struct run run = *all;

    run.team = (struct sweep_team){.plan = all->plan,
                                   .members = &all->team.members[member],
                                   .shares = {.planes = all->plan->shape.planes, .count = 1, .held = 1},
                                   .sink = all->team.sink,
                                   .fault = fault};
    run.lane = run.team.members->lane;
    run.share = all->plan->shares.first + member;
    run.loop = loop;
    run.fault = fault;
    run.seconds = (struct run_seconds){.start = 0.0};
    run.outcomes = (struct outcomes){.strays = 0};
    return run;
}

/* One member's turn of moving planes: a pass over its own, without levels. */
static bool move_share(void *context, size_t index, struct parallel_loop *loop, struct fault *fault)
{
    struct move *move = context;
    const struct levels_mark mark = move->pass->from != NULL ? move->pass->begin : move->pass->end;
    struct pass pass = {.begin = mark,
                        .end = mark,
                        .overlap = shares_overlap(&move->run->plan->shares),
                        .from = move->pass->from,
                        .to = move->pass->to};
    struct run own = run_of_member(move->run, index, loop, fault);
    bool done = make_alone(&own, &pass) &&
                (pass.to != NULL || own.lane->backend->tell_outcomes(own.lane->device, &own.outcomes, fault));

    move->seconds[index] = own.seconds;
    move->outcomes[index] = own.outcomes;
    return done;
}

/* Members side by side take as long as the slowest of them; the threads that read and write for them are
   counted each. */
static void add_seconds(struct run_seconds *all, const struct run_seconds *members, size_t count)
{
    struct run_seconds slowest = {.start = 0.0};

    for (size_t i = 0; i < count; i++) {
        all->read += members[i].read;
        all->write += members[i].write;
        slowest.start = fmax(slowest.start, members[i].start);
        slowest.upload = fmax(slowest.upload, members[i].upload);
        slowest.download = fmax(slowest.download, members[i].download);
        slowest.reading = fmax(slowest.reading, members[i].reading);
        slowest.writing = fmax(slowest.writing, members[i].writing);
    }
    all->start += slowest.start;
    all->upload += slowest.upload;
    all->download += slowest.download;
    all->reading += slowest.reading;
    all->writing += slowest.writing;
}

/* Move the planes of all members, side by side or in turn. */
static bool move_planes(struct run *run, const struct pass *pass)
{
    const size_t count = run->team.shares.held;
    const struct stop *end = pass->from != NULL ? pass->from : pass->to;
    /* Members need not wait for each other where planes can be read or written anywhere, and nobody observes
       them in order. */
    const bool beside = count > 1 && end->random && !end->one_reader && !is_observed(run, end);
    struct move move = {.run = run, .pass = pass};
    bool done = (beside ? parallel_for : serial_for)(count, move_share, &move, run->fault);

    /* Once nobody reads any more: to look at a file's end moves the place from which others read. */
    if (done && beside && pass->from != NULL && pass->from->end.finish != NULL)
        done = pass->from->end.finish(pass->from->end.file, run->fault);

    if (beside)
        add_seconds(&run->seconds, move.seconds, count);
    for (size_t i = 0; i < count; i++) {
        if (!beside)
            add_seconds(&run->seconds, &move.seconds[i], 1);
        output_add_outcomes(&run->outcomes, &move.outcomes[i]);
    }
    return done;
}

/* All levels, over planes that have just come or that the pass before left. */
static bool advance_levels(struct run *run, const struct pass *pass)
{
    for (size_t i = 0; i < run->team.shares.held; i++) {
        struct sweep *sweep = &run->team.members[i];
        if (pass->from != NULL)
            sweep_begin_levels(sweep, pass->begin, pass->end, pass->changes);
        else
            sweep_begin_again(sweep, pass->begin, pass->end, sweep->frame.leaving, pass->changes);
    }
    return sweep_run(&run->team);
}

/* How long it took GPUs of this process to get planes from each other. */
static bool tell_handings(struct run *run)
{
    const struct shares *shares = &run->team.shares;
    bool done = true;

    for (size_t i = 0; done && shares->held == shares->count && i < shares->held; i++) {
        struct sweep *sweep = &run->team.members[i];
        done = sweep->lane->backend->tell_handings(sweep->lane->device, &sweep->handing, run->fault);
    }
    return done;
}

bool pass_make(struct run *run, struct pass *pass)
{
    const struct pass come = {.begin = pass->begin, .from = pass->from};
    const struct pass leave = {.end = pass->end, .to = pass->to};

    if (!is_shared(run))
        return make_alone(run, pass);
    return (pass->from == NULL || peers_agree(run->peers, move_planes(run, &come), run->fault)) &&
           advance_levels(run, pass) &&
           (pass->to == NULL || (move_planes(run, &leave) && tell_handings(run)));
}
