/* Tees: states that the last stage passes through on its way to the result, each written into a sink of its
   own.

   A sweep shows the planes of a state when the level that ends there has computed them, because the next
   levels overwrite them. All tees of a pass share one ring and one thread: planes of the K-th tee are counted
   from K times the planes of the grid on, so that the thread knows whose they are. Members that share the
   planes show them one after the other between two levels; each time, the ring is opened and emptied at once.
   The device counts what became of samples for the result and the tees together. So its counts are set aside
   before planes of a tee are encoded, and what it counts then is the tee's. */
#include "tees.h"

#include "base/size.h"

bool tees_begin(struct tees *tees, const struct peers *peers, struct fault *fault)
{
    for (size_t i = 0; i < tees->count; i++) {
        struct tee *tee = &tees->list[i];
        tee->output = (struct output){.job = tees->plan->job, .sink = tee->sink};
        if (!output_open(&tee->output, 0, peers, fault))
            return false;
    }
    return true;
}

/* All tees share a ring: planes in there are counted through those of all tees, one after the other. */
static bool write_planes(void *file, void *samples, struct range planes, struct fault *fault)
{
    struct tees *tees = file;
    size_t all = tees->plan->shape.planes;
    const struct output *output = &tees->list[planes.first / all].output;

    return output_write(output, samples, (struct range){planes.first % all, planes.count}, fault);
}

bool tees_open_pass(struct tees *tees, const struct lane *lane, const struct sweep_frame *frame,
                    struct io_ring *other, struct fault *fault)
{
    const struct schedule *schedule = &tees->plan->schedule;
    const struct io_end end = {.file = tees, .move = write_planes};

    tees->lane = lane;
    tees->frame = *frame;
    return tees->count == 0 ||
           (io_ring_create(&tees->ring, lane, schedule->tee_buffers, schedule->batch_bytes, fault) &&
            io_threads_write(&tees->writer, tees->ring, other, &end, 1, fault));
}

bool tees_finish_pass(struct tees *tees, struct fault *fault)
{
    if (tees->ring == NULL)
        return true;
    io_ring_finish(tees->ring);
    return io_ring_drain(tees->ring, fault);
}

void tees_close_pass(struct tees *tees, bool done)
{
    tees->seconds += io_threads_end(tees->writer, done).seconds;
    io_ring_destroy(tees->ring);
    tees->ring = NULL;
    tees->writer = NULL;
}

/* The next planes of a state, as many as a buffer holds. */
static bool take_batch(struct tees *tees, size_t index, const struct field *field, struct range planes,
                       struct fault *fault)
{
    const struct plan *plan = tees->plan;
    struct io_slot *slot;

    if (!io_ring_claim(tees->ring, &slot, fault) ||
        !tees->lane->backend->download(tees->lane->device, field, &plan->job->encode, slot->staging, planes,
                                       fault))
        return false;
    slot->planes =
        (struct range){index * plan->shape.planes + planes.first - tees->frame.overlap, planes.count};
    io_ring_pass_on(tees->ring, slot);
    return true;
}

/* All planes that are shown of a state, batch by batch. */
static bool take_all(struct tees *tees, size_t index, const struct field *field, struct range planes,
                     struct fault *fault)
{
    const struct lane *lane = tees->lane;
    struct range batch = {planes.first, 0};

    if (!lane->backend->tell_outcomes(lane->device, &tees->aside, fault))
        return false;
    for (size_t left = planes.count; left > 0; left -= batch.count) {
        batch.first += batch.count;
        batch.count = size_least(left, tees->plan->schedule.batch);
        if (!take_batch(tees, index, field, batch, fault))
            return false;
    }
    return lane->backend->tell_outcomes(lane->device, &tees->list[index].outcomes, fault);
}

/* Take those planes that the job writes, for each tee at this step. */
static bool take_wanted(struct tees *tees, uint64_t step, const struct field *field, struct range planes,
                        struct fault *fault)
{
    struct range wanted = tees->plan->job->window, own;

    wanted.first += tees->frame.overlap;
    own = shares_common(planes, wanted);
    for (size_t i = 0; i < tees->count; i++) {
        if (tees->list[i].step == step && own.count > 0 && !take_all(tees, i, field, own, fault))
            return false;
    }
    return true;
}

/* Between levels of members that share the planes. Samples on their way between members do not count in the
   outcomes, so what was set aside is left out. */
static bool write_at_once(struct tees *tees, const struct sweep *sweep, uint64_t step, unsigned field,
                          struct range planes, struct fault *fault)
{
    bool done = tees_open_pass(tees, sweep->lane, &sweep->frame, NULL, fault) &&
                take_wanted(tees, step, sweep->lane->fields[field], planes, fault) &&
                tees_finish_pass(tees, fault);

    tees_close_pass(tees, done);
    tees->aside = (struct outcomes){.strays = 0};
    return done;
}

bool tees_take(void *data, const struct sweep *sweep, uint64_t step, unsigned field, struct range planes,
               struct fault *fault)
{
    struct tees *tees = data;

    return tees->ring == NULL ? write_at_once(tees, sweep, step, field, planes, fault)
                              : take_wanted(tees, step, sweep->lane->fields[field], planes, fault);
}

bool tees_gather(struct tees *tees, struct peers *peers, struct fault *fault)
{
    for (size_t i = 0; i < tees->count; i++) {
        struct tee *tee = &tees->list[i];
        if (!output_gather_outcomes(&tee->outcomes, peers, fault) ||
            !output_gather(&tee->output, peers, fault))
            return false;
    }
    return true;
}

bool tees_finish(struct tees *tees, struct fault *fault)
{
    for (size_t i = 0; i < tees->count; i++) {
        if (!sink_finish(tees->list[i].sink, fault))
            return false;
    }
    return true;
}

void tees_end(struct tees *tees)
{
    for (size_t i = 0; i < tees->count; i++)
        output_close(&tees->list[i].output);
}
