/* Records: the figures that follow from what is known of a run once it is over. */
#include "record.h"

#include "format/format.h"

#include <math.h>
#include <string.h>

/* A NaN that was computed has a sign, which means nothing and would be printed. */
static double without_sign(double number)
{
    return isnan(number) ? NAN : number;
}

double record_deviation(const struct tally *tally)
{
    /* Sums are of differences from an anchor near the samples, so that little is lost where the mean is large
       beside the deviation. */
    double mean = tally->sum / (double)tally->count;
    double variance = tally->squares / (double)tally->count - mean * mean;

    /* Rounding may leave a little below 0; what is no number stays none. */
    return variance < 0.0 ? 0.0 : sqrt(without_sign(variance));
}

double record_mean(const struct tally *tally)
{
    return without_sign(tally->anchor + tally->sum / (double)tally->count);
}

double record_rate(const struct plan *plan, const struct run_summary *summary)
{
    const struct job *job = plan->job;
    bool divided = job->members > 1 && !plan->schedule.whole;
    size_t planes = divided ? job->planes.count : plan->window.count; /* of all processes that make the run */
    double steps = (double)summary->steps;

    for (size_t i = 0; i < job->stage_count; i++)
        steps -= job->stages[i].converted && stage_is_from_user(&job->stages[i])
                     ? (double)job->stages[i].steps
                     : 0.0;
    return steps > 0.0 && summary->seconds.compute > 0.0
               ? (double)(job->in.volumes * job_columns(job) * planes * grid_plane_samples(&job->computed)) *
                     steps / summary->seconds.compute
               : NAN;
}

struct run_summary record_of_tee(const struct pipeline *pipeline, size_t index)
{
    /* What was counted of the input holds for every output. */
    struct run_summary summary = pipeline->summary;

    summary.outcomes = pipeline->tee_ends[index].outcomes;
    summary.outcomes.outside = pipeline->summary.outcomes.outside;
    summary.outcomes.missing = pipeline->summary.outcomes.missing;
    summary.outcomes.strays = pipeline->summary.outcomes.strays;
    return summary;
}

double record_file_bytes(const struct job *job)
{
    return (double)job->in.volumes *
           ((double)job->planes.count * (double)job->in_plane_bytes +
            (double)grid_samples(&job->written.grid) * (double)sample_size(job->out.type));
}

void record_spans(const struct run_summary *summary, struct record_span *spans)
{
    const struct run_seconds *spent = &summary->seconds;
    const struct record_span all[RECORD_SPANS] = {
        {"start", spent->start, spent->start},       {"read", spent->read, spent->reading},
        {"stats", spent->stats, spent->stats},       {"upload", spent->upload, spent->upload},
        {"compute", spent->compute, spent->compute}, {"download", spent->download, spent->download},
        {"write", spent->write, spent->writing},
    };

    memcpy(spans, all, sizeof all);
}

static bool has_unit_spacing(const struct grid *grid)
{
    for (unsigned i = 0; i < grid->axes; i++) {
        if (grid->spacing[i] != 1.0)
            return false;
    }
    return true;
}

struct dropped record_left_out(const struct pipeline *pipeline, const char *path,
                               const struct header *written)
{
    const struct source *source = &pipeline->input.source;
    struct header described = *written;
    const struct receiver to = {pipeline_output_format(pipeline, path), path, &described};
    struct dropped left_out = source->dropped;

    if (pipeline->job.region_kind == REGION_PIECE) /* the first one has the header of the file of all */
        described.grid = pipeline->job.out.grid;
    if (source->format->holds_spacing && !to.format->holds_spacing && !has_unit_spacing(&source->header.grid))
        format_drop(&left_out, "spacing");
    if (source->format->list_dropped != NULL)
        source->format->list_dropped(source, &to, &left_out);
    return left_out;
}

struct record_loss record_loss(const struct job *job, const struct run_summary *summary)
{
    const struct outcomes *outcomes = &summary->outcomes;
    const struct stretch ends = encoding_stretch(&job->encode);
    struct record_loss loss = {.samples = job->in.volumes * region_samples(&job->region, &job->out.grid),
                               .integers = sample_is_integer(job->out.type),
                               .least = ends.least,
                               .greatest = ends.greatest,
                               .strays_in = outcomes->strays};

    /* Integers end where their type does; any type ends where --out-range says. */
    loss.cuts = loss.integers || job->encode.ranged;
    /* Where nothing is cut off, a value beyond the limits has become infinite. */
    if (loss.cuts) {
        loss.below = outcomes->below;
        loss.above = outcomes->above;
    } else {
        loss.strays_out = outcomes->below + outcomes->above;
    }
    if (loss.integers)
        loss.nans = outcomes->nans;
    else
        loss.strays_out += outcomes->nans;
    return loss;
}

void record_add_loss(struct record_loss *all, const struct record_loss *other)
{
    const struct record_loss sum = *all;

    /* Whatever is no count is alike in all outputs of a job. */
    *all = *other;
    all->samples += sum.samples;
    all->nans += sum.nans;
    all->below += sum.below;
    all->above += sum.above;
    all->strays_in += sum.strays_in;
    all->strays_out += sum.strays_out;
}
