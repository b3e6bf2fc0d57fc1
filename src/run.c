/* The run: planes from a source through a plan's steps into a sink. */
#include "run.h"

#include "clock.h"
#include "mem.h"

#include <math.h>

#define MOST_FIELDS 3

/* Sample updates that may be under way before the run waits for them, so that progress tells what is done. */
#define MOST_UNDER_WAY 4e9

/* A run under way. */
struct running {
    const struct plan *plan;
    const struct job *job;
    const struct run_request *request;
    struct source *source;
    struct sink *sink;
    struct run_summary *summary;
    struct fault *fault;
    struct progress progress;
    void *batch;
    struct field *fields[MOST_FIELDS];
    struct field *current; /* which holds what has been computed so far */
    double under_way;      /* sample updates that were asked for and not waited for */
};

static struct range all_planes(const struct running *run)
{
    return (struct range){0, run->plan->shape.planes};
}

static double samples_of(const struct running *run, size_t planes)
{
    const struct shape *shape = &run->plan->shape;

    return (double)planes * (double)shape->nx * (double)shape->rows * shape->channels;
}

/* The next of the ranges of `size` planes that cut up the grid; false after the last. */
static bool next_range(const struct running *run, size_t size, struct range *range)
{
    size_t planes = run->plan->shape.planes;

    range->first += range->count;
    range->count = planes - range->first < size ? planes - range->first : size;
    return range->count > 0;
}

static bool survey(struct running *run, const struct encoding *encoding, size_t planes, struct tally *tallies)
{
    const struct plan *plan = run->plan;
    double begun = clock_seconds();
    bool done;

    if (!run->request->stats)
        return true;
    done =
        plan->backend->survey(plan->device, encoding, &plan->shape, run->batch, planes, tallies, run->fault);
    run->summary->stats += clock_seconds() - begun;
    return done;
}

static bool read_batch(struct running *run, size_t planes)
{
    double begun = clock_seconds();
    bool done = source_read(run->source, run->batch, planes, run->fault);

    run->summary->read += clock_seconds() - begun;
    return done && survey(run, &run->job->decode, planes, run->summary->tallies_in);
}

static bool write_batch(struct running *run, size_t planes)
{
    double begun;
    bool done;

    if (!survey(run, &run->job->encode, planes, run->summary->tallies_out))
        return false;
    begun = clock_seconds();
    done = sink_write(run->sink, run->batch, planes, run->fault);
    run->summary->write += clock_seconds() - begun;
    return done;
}

static bool load(struct running *run)
{
    const struct plan *plan = run->plan;
    struct range planes = {0, 0};

    while (next_range(run, plan->batch, &planes)) {
        double begun;
        if (!read_batch(run, planes.count))
            return false;
        begun = clock_seconds();
        if (!plan->backend->upload(plan->device, run->current, &run->job->decode, run->batch, planes,
                                   run->fault))
            return false;
        run->summary->upload += clock_seconds() - begun;
        progress_add(&run->progress, samples_of(run, planes.count));
    }
    return source_end(run->source, run->fault);
}

static bool save(struct running *run)
{
    const struct plan *plan = run->plan;
    struct range planes = {0, 0};

    while (next_range(run, plan->batch, &planes)) {
        double begun = clock_seconds();
        if (!plan->backend->download(plan->device, run->current, &run->job->encode, run->batch, planes,
                                     &run->summary->nans, run->fault))
            return false;
        run->summary->download += clock_seconds() - begun;
        if (!write_batch(run, planes.count))
            return false;
        progress_add(&run->progress, samples_of(run, planes.count));
    }
    return true;
}

/* A field that neither holds the present state nor what must be kept. */
static struct field *free_field(const struct running *run, const struct field *kept)
{
    size_t i = 0;

    while (run->fields[i] == run->current || run->fields[i] == kept)
        i++;
    return run->fields[i];
}

static bool tell_updates(struct running *run, double updates)
{
    run->under_way += updates;
    if (run->under_way >= MOST_UNDER_WAY) {
        if (!run->plan->backend->sync(run->plan->device, run->fault))
            return false;
        run->under_way = 0.0;
    }
    progress_add(&run->progress, updates);
    return true;
}

/* One pass over the field: so many steps of a routine. */
static bool advance(struct running *run, const struct plan_step *step, size_t index, unsigned steps,
                    const struct field *input)
{
    const struct plan *plan = run->plan;
    const struct field *kept = step->step.ops[index].kind == OP_UNSHARP ? input : NULL;
    struct field *to = free_field(run, step->keeps ? input : NULL);
    struct range planes = {0, 0};

    while (next_range(run, plan->slab, &planes)) {
        if (!plan->backend->advance(plan->device, step->routines[index], steps, run->current, kept, to,
                                    planes, run->fault) ||
            !tell_updates(run, steps * samples_of(run, planes.count)))
            return false;
    }
    run->current = to;
    return true;
}

/* The RMS difference between two fields, over the channels that the file has. */
static bool measure_change(struct running *run, const struct field *before, double *change)
{
    const struct plan *plan = run->plan;
    unsigned channels = run->job->in.grid.channels;
    double *sums = mem_zeroed(channels, sizeof *sums, "the sums", run->fault);
    double total = 0.0;
    bool done;

    if (sums == NULL)
        return false;
    done = plan->backend->change(plan->device, before, run->current, channels, all_planes(run), sums,
                                 run->fault);
    for (unsigned channel = 0; channel < channels; channel++)
        total += sums[channel];
    *change = sqrt(total / (double)grid_samples(&run->job->in.grid));
    mem_free(sums);
    return done;
}

/* Steps that one pass may take: more than one where the step is a single operation whose every state is not
   asked for. */
static unsigned steps_together(const struct running *run, size_t index, uint64_t left)
{
    const struct plan_step *step = &run->plan->steps[index];
    unsigned most = 1;

    if (step->step.count == 1 && !step->keeps)
        most = run->plan->backend->facts(step->routines[0])->steps;
    return left < most ? (unsigned)left : most;
}

static bool run_stage(struct running *run, size_t index)
{
    const struct stage *stage = &run->job->stages[index];
    const struct plan_step *step = &run->plan->steps[index];
    unsigned together;

    for (uint64_t taken = 0; taken < stage->steps; taken += together) {
        const struct field *input = run->current;
        together = steps_together(run, index, stage->steps - taken);
        for (size_t i = 0; i < step->step.count; i++) {
            if (!advance(run, step, i, together, input))
                return false;
        }
        run->summary->steps += together;
        if (stage->until > 0.0) {
            if (!measure_change(run, input, &run->summary->last_change))
                return false;
            if (run->summary->last_change < stage->until)
                break;
        }
    }
    return true;
}

static bool compute(struct running *run)
{
    double begun = clock_seconds();

    for (size_t i = 0; i < run->job->stage_count; i++) {
        if (!run_stage(run, i))
            return false;
    }
    if (!run->plan->backend->sync(run->plan->device, run->fault))
        return false;
    run->summary->compute = clock_seconds() - begun;
    return true;
}

static bool copy(struct running *run)
{
    const struct header *in = &run->job->in;
    bool swaps = in->endian != run->job->out.endian;
    struct range planes = {0, 0};

    while (next_range(run, run->plan->batch, &planes)) {
        if (!read_batch(run, planes.count))
            return false;
        if (swaps)
            sample_swap(in->type, run->batch, planes.count * grid_plane_samples(&in->grid));
        if (!write_batch(run, planes.count))
            return false;
        progress_add(&run->progress, samples_of(run, planes.count));
    }
    return source_end(run->source, run->fault);
}

static bool create_fields(struct running *run)
{
    const struct plan *plan = run->plan;

    for (size_t i = 0; i < plan->field_count; i++) {
        if (!plan->backend->field_create(plan->device, &run->fields[i], &plan->shape, run->job->work,
                                         all_planes(run), run->fault))
            return false;
    }
    run->current = run->fields[0];
    return true;
}

static void release(struct running *run)
{
    run->plan->backend->staging_destroy(run->plan->device, run->batch);
    for (size_t i = 0; i < MOST_FIELDS; i++)
        run->plan->backend->field_destroy(run->plan->device, run->fields[i]);
}

static bool prepare(struct running *run)
{
    struct run_summary *summary = run->summary;
    unsigned channels = run->job->in.grid.channels;
    double begun = clock_seconds();

    run->batch = run->plan->backend->staging_create(run->plan->device, run->plan->batch_bytes, run->fault);
    if (run->batch == NULL)
        return false;
    if (run->request->stats) {
        summary->tallies_in = mem_zeroed(channels, sizeof *summary->tallies_in, "the statistics", run->fault);
        summary->tallies_out =
            mem_zeroed(channels, sizeof *summary->tallies_out, "the statistics", run->fault);
        if (summary->tallies_in == NULL || summary->tallies_out == NULL)
            return false;
    }
    if (!create_fields(run))
        return false;
    summary->start = run->plan->start + clock_seconds() - begun;
    return true;
}

/* Sample updates of the whole run: each plane is read, advanced by every operation of every step, and
 * written. */
static double work_ahead(const struct running *run)
{
    double sweeps = run->job->copies ? 1.0 : 2.0;

    for (size_t i = 0; i < run->plan->step_count; i++)
        sweeps += (double)run->job->stages[i].steps * (double)run->plan->steps[i].step.count;
    return sweeps * samples_of(run, run->plan->shape.planes);
}

bool run_plan(const struct plan *plan, const struct run_request *request, struct source *source,
              struct sink *sink, struct run_summary *summary, struct fault *fault)
{
    struct running run = {.plan = plan,
                          .job = plan->job,
                          .request = request,
                          .source = source,
                          .sink = sink,
                          .summary = summary,
                          .fault = fault};
    double begun = clock_seconds();
    bool done;

    *summary = (struct run_summary){.last_change = NAN};
    progress_begin(&run.progress, request->progress, work_ahead(&run));
    done = prepare(&run);
    if (done)
        done = plan->job->copies ? copy(&run) : load(&run) && compute(&run) && save(&run);
    if (done) {
        double finishing = clock_seconds();
        done = sink_finish(sink, fault);
        summary->write += clock_seconds() - finishing;
    }
    progress_end(&run.progress);
    release(&run);
    summary->total = plan->start + clock_seconds() - begun;
    return done;
}

void run_summary_free(struct run_summary *summary)
{
    mem_free(summary->tallies_in);
    mem_free(summary->tallies_out);
    summary->tallies_in = summary->tallies_out = NULL;
}
