/* Notes: one line on standard error for each thing that a user may not expect of a run that goes well.

   Before a run these are assumptions about the input, options that change nothing, names that promise another
   format, ranks that stay idle. After it they are samples that were cut off or became NaN, steps of --until
   that were not enough, and fields of the input that the output does not hold. Notes begin with the file that
   they are about; --quiet drops them all. */
#include "notes.h"

#include "plan/lower.h"
#include "base/file_in.h"
#include "base/number.h"
#include "format/foreign_type.h"
#include "format/pattern.h"
#include "model/stage_request.h"
#include "phrase.h"
#include "record.h"

#include <limits.h>
#include <math.h>
#include <string.h>
#include <strings.h>

/* Distances of a mask that differ by less are those of its input, written with fewer digits. */
#define SPACING_TOLERANCE 1e-3

/* ---- before a run ---- */

/* A name in .gz that does not say what is compressed: "scan.gz", not "scan.nrrd.gz". */
static bool is_bare_gzip(const char *path)
{
    static const char ending[] = ".gz";
    size_t length = strlen(path), before = length > strlen(ending) ? length - strlen(ending) : 0;
    char stem[PATH_MAX];

    return before > 0 && strcasecmp(path + before, ending) == 0 &&
           (size_t)snprintf(stem, sizeof stem, "%.*s", (int)before, path) < sizeof stem &&
           format_of_name(stem) == NULL && foreign_type_of_name(stem) == NULL;
}

/* The name promises something else than what is written, or compression where there is none. */
static void note_promise(const char *output, const struct format *written)
{
    const struct foreign_type *foreign = foreign_type_of_name(output);
    bool promises_compression =
        foreign != NULL && foreign->compressed && !written->compressed && !written->compresses;
    const char *name = written->picture != NULL ? written->picture : written->title;
    char hint[64] = "";

    if (promises_compression && written->compressed_as != NULL)
        snprintf(hint, sizeof hint, " (--out-format %s)", written->compressed_as->name);
    diag_note("%s: %s %s written%s, despite the name%s", output, name == NULL ? "raw samples" : name,
              name == NULL ? "are" : "is", promises_compression ? ", not compressed" : "", hint);
}

/* A note if the output's name promises another format than is written. */
static void note_name(const struct pipeline *pipeline, const char *output)
{
    const struct format *written = pipeline_output_format(pipeline, output), *promised;

    /* Whoever gives --out-format means the name as it is. That of a slice is not given, but follows from
       --slice. */
    if (output == NULL ||
        (pipeline->request->out_format != NULL && pipeline->job.region_kind != REGION_SLICE))
        return;
    promised = format_of_name(output);
    if (written->slice == NULL && output != pipeline->request->tee_pattern && pattern_seems(output))
        diag_note(
            "%s: one file: the name of a stack has one %%d or %%04d, and ends in .png, .tif, .tiff or .raw",
            output);
    if (written->slice != NULL || (written->compressed && is_bare_gzip(output)))
        return;
    if (promised == NULL ? foreign_type_of_name(output) != NULL : promised != written)
        note_promise(output, written);
}

/* ---- options that change nothing ---- */

/* An option of a stage, and what makes it of no use: to one stage, whose name comes first, and to all. */
static const struct {
    enum stage_option option;
    bool (*heeds)(const struct stage *stage);
    const char *on_one, *on_all;
} uses[] = {
    {STAGE_EDGE, stage_reads_neighbours, "reads no neighbours", "no stage reads neighbours"},
    {STAGE_AXES, stage_leaves_axes, "acts along these axes anyway",
     "every stage acts along these axes anyway"},
    {STAGE_FLIP, stage_is_asymmetric, "is the same when flipped", "every stage is the same when flipped"},
};

/* Given to a stage alone; or to all stages, if none that takes it heeds it. */
static void note_vain_stage_options(const struct job *job)
{
    for (size_t i = 0; i < sizeof uses / sizeof *uses; i++) {
        const char *option = stage_option_name(uses[i].option);
        bool inherited = false, heeded = false;
        for (size_t k = 0; k < job->stage_count; k++) {
            const struct stage *stage = &job->stages[k];
            bool heeds = uses[i].heeds(stage), own = (stage->own & uses[i].option) != 0;
            if (own && !heeds)
                diag_note("--%s has no effect: %s %s", option, stage->spec, uses[i].on_one);
            if (!own && (stage->given & uses[i].option)) {
                inherited = true;
                heeded |= heeds;
            }
        }
        if (inherited && !heeded)
            diag_note("--%s has no effect: %s", option, uses[i].on_all);
    }
}

/* Whether --flux-channels was given to a stage that filters a single channel. */
static bool is_for_lone_channel(const struct job *job)
{
    for (size_t i = 0; i < job->stage_count; i++) {
        if ((job->stages[i].given & STAGE_FLUX_CHANNELS) &&
            lower_joint_channels(&job->stages[i], &job->field) < 2)
            return true;
    }
    return false;
}

/* Colour is weighted by alpha only where alpha is filtered with it. */
static bool filters_alpha(const struct job *job)
{
    for (size_t i = 0; i < job->stage_count; i++) {
        if (!job->stages[i].leaves_alpha && !stage_is_identity(&job->stages[i]))
            return true;
    }
    return false;
}

/* Options that change nothing, depending on the channels of the input. */
static void note_vain_channel_options(const char *input, const struct pipeline *pipeline)
{
    const struct job *job = &pipeline->job;

    if (is_for_lone_channel(job))
        diag_note("%s: --%s has no effect: there is only one channel", input,
                  stage_option_name(STAGE_FLUX_CHANNELS));
    if (pipeline->request->job.has_missing && job->copies)
        diag_note("%s: --missing has no effect: identity alone copies samples as they are", input);
    if (job->masked && job->copies)
        diag_note("%s: --mask has no effect: identity alone copies samples as they are", input);
    if (pipeline->request->job.has_alpha_mode && (!job->in.alpha || !filters_alpha(job)))
        diag_note("%s: --alpha-mode has no effect: %s", input,
                  job->in.alpha ? "no stage filters alpha" : "there is no alpha");
}

void notes_options(FILE *stream, const struct pipeline *pipeline)
{
    FILE *messages = diag_stream();

    if (stream != NULL)
        diag_redirect(stream);
    note_vain_stage_options(&pipeline->job);
    diag_redirect(messages);
}

/* Ranks that stay idle, and why. */
static void note_ranks(const char *input, const struct ranks *ranks)
{
    const struct split *split = &ranks->split;
    size_t count = peers_count(ranks->all), idle = count - split->members;

    if (split->why != NULL)
        diag_note("%s: computing on rank 0 alone: %s", input, split->why);
    else if (idle > 0)
        diag_note("%s: %zu of %zu ranks stay%s idle: more than %zu would not be faster", input, idle, count,
                  idle == 1 ? "s" : "", split->members);
    if (ranks->changed_apart)
        diag_note("%s: ranks see different times of its last change", input);
    if (split->setback != NULL)
        diag_note("%s: %s", input, split->setback);
}

/* A note if distances in the file are for printing, and a filter would have used them. */
static void note_print(const char *input, const struct pipeline *pipeline)
{
    const struct job_request *request = &pipeline->request->job;
    const double *h = pipeline->job.out.grid.spacing;

    if (pipeline->input.source.header.for_print && (h[0] != 1.0 || h[1] != 1.0) &&
        stages_use_spacing(request->stages, request->stage_count))
        diag_note("%s: filters take spacing 1 instead of the resolution, which is for printing (--spacing)",
                  input);
}

/* Whether both say how far apart samples are, or how axes lie, but not the same. */
static bool lie_apart(const struct header *mask, const struct header *of)
{
    const struct grid *grid = &mask->grid, *other = &of->grid;
    bool apart = mask->orientation[0] != '\0' && of->orientation[0] != '\0' &&
                 strcmp(mask->orientation, of->orientation) != 0;

    for (unsigned axis = 0; axis < grid->axes && mask->millimetres > 0.0 && of->millimetres > 0.0; axis++) {
        double own = grid->spacing[axis] * mask->millimetres;
        double wanted = other->spacing[axis] * of->millimetres;
        apart |= fabs(own - wanted) > SPACING_TOLERANCE * wanted;
    }
    return apart;
}

/* What the mask was taken for, and whether it may be that of something else. */
static void note_mask(const char *input, const struct pipeline *pipeline)
{
    const struct source *mask = &pipeline->mask.source;

    if (!pipeline->job.masked)
        return;
    if (mask->note[0] != '\0')
        diag_note("%s", mask->note);
    if (mask->warning[0] != '\0')
        diag_note("%s", mask->warning);
    if (lie_apart(&mask->header, &pipeline->input.source.header))
        diag_note("%s: its spacing or its orientation is not that of %s; samples are taken by their indices",
                  file_in_name(pipeline->mask.file), input);
}

void notes_beforehand(const struct pipeline *pipeline)
{
    const struct pipeline_request *request = pipeline->request;
    const struct source *source = &pipeline->input.source;
    const struct stage *last = job_last_stage(&pipeline->job);
    const char *input = phrase_input(request->input);

    /* Who computes, what the input was taken for, then what the outputs' names promise. */
    note_ranks(input, &pipeline->ranks);
    if (pipeline->plan.selection.alone[0] != '\0')
        diag_note("%s: computing on %s alone: %s", input, pipeline->plan.device_name,
                  pipeline->plan.selection.alone);
    if (source->note[0] != '\0')
        diag_note("%s", source->note);
    note_print(input, pipeline);
    if (source->warning[0] != '\0')
        diag_note("%s", source->warning);
    note_mask(input, pipeline);
    note_name(pipeline, request->output);
    if (request->tee_pattern != NULL)
        note_name(pipeline, request->tee_pattern);
    for (size_t i = 0; request->tee_pattern == NULL && i < request->tee_count; i++)
        note_name(pipeline, request->tees[i].path);
    if (last->until > 0.0 && last->steps > 1 && checks_count(&last->checks) == 1)
        diag_note("%s: --until: only the last of %llu steps is checked; --check-every checks sooner", input,
                  (unsigned long long)last->steps);
    note_vain_channel_options(input, pipeline);
}

void notes_setback(const struct fault *setback)
{
    if (setback->status != STATUS_DONE)
        diag_note("%s; computing on the CPU", setback->text);
}

/* ---- what was lost ---- */

#define SENTENCE 200

/* "1 sample (0.3 %)" */
static const char *count(const struct record_loss *loss, uint64_t samples, char *text, size_t size)
{
    snprintf(text, size, "%llu sample%s (%s)", (unsigned long long)samples, number_plural(samples),
             number_format_share(samples, loss->samples).text);
    return text;
}

static const char *were(uint64_t samples)
{
    return samples == 1 ? "was" : "were";
}

/* Samples that were cut off at the limits; false if none were. */
static bool tell_cut_off(const struct record_loss *loss, char *text, size_t size)
{
    char below[64], above[64];

    count(loss, loss->below, below, sizeof below);
    count(loss, loss->above, above, sizeof above);
    if (loss->below > 0 && loss->above > 0)
        snprintf(text, size, "%s %s cut off at %.10g, and %s at %.10g", below, were(loss->below), loss->least,
                 above, loss->greatest);
    else if (loss->below > 0)
        snprintf(text, size, "%s %s cut off at %.10g", below, were(loss->below), loss->least);
    else if (loss->above > 0)
        snprintf(text, size, "%s %s cut off at %.10g", above, were(loss->above), loss->greatest);
    return loss->below > 0 || loss->above > 0;
}

/* NaNs and infinities of a float output; false if the input had as many. */
static bool tell_strays(const struct record_loss *loss, char *text, size_t size)
{
    char samples[64];

    count(loss, loss->strays_out, samples, sizeof samples);
    snprintf(text, size, "%s %s NaN or infinite, ", samples, loss->strays_out == 1 ? "is" : "are");
    if (loss->strays_in == 0)
        diag_append(text, size, "but none of the input");
    else
        diag_append(text, size, "and %llu of the input", (unsigned long long)loss->strays_in);
    return loss->strays_out > loss->strays_in;
}

/* NaNs of an integer output; false if there are none. */
static bool tell_nans(const struct record_loss *loss, char *text, size_t size)
{
    snprintf(text, size, "%llu NaN%s written as 0", (unsigned long long)loss->nans,
             number_plural(loss->nans));
    return loss->nans > 0;
}

/* The range of --out-range; false if there is none. */
static bool tell_range(const struct record_loss *loss, const struct job *job,
                       const struct run_summary *summary, char *text, size_t size)
{
    sample_tell_range(text, size, summary->low, summary->high, loss->least, loss->greatest, loss->integers);
    return job->encode.ranged;
}

/* Kinds of losses, with the words for each, and how a report calls it. */
static const struct {
    const char *label;
    bool (*tell)(const struct record_loss *loss, char *text, size_t size);
} losses[] = {{"NaN", tell_nans}, {"cut off", tell_cut_off}, {"strays", tell_strays}};

static void note_loss(const char *output, const struct record_loss *loss)
{
    char text[SENTENCE];

    for (size_t i = 0; i < sizeof losses / sizeof *losses; i++) {
        if (losses[i].tell(loss, text, sizeof text))
            diag_note("%s: %s", output, text);
    }
}

void notes_print_losses(FILE *stream, const struct job *job, const struct run_summary *summary)
{
    struct record_loss loss = record_loss(job, summary);
    char text[SENTENCE];

    if (tell_range(&loss, job, summary, text, sizeof text))
        fprintf(stream, "range     %s\n", text);
    for (size_t i = 0; i < sizeof losses / sizeof *losses; i++) {
        if (losses[i].tell(&loss, text, sizeof text))
            fprintf(stream, "%-9s %s\n", losses[i].label, text);
    }
}

/* ---- after a run ---- */

static void note_unreached(const char *output, const struct stage *last, double last_change)
{
    char change[32];

    if (last->steps == 0) {
        diag_note("%s: --until %g was not reached: no steps were requested", output, last->until);
        return;
    }
    snprintf(change, sizeof change, "%g", last_change);
    diag_note("%s: --until %g was not reached: the RMS change of step %llu is %s", output, last->until,
              (unsigned long long)last->steps, isnan(last_change) ? "not a number" : change);
}

/* A tee is an output, and has the notes of one. Frames may be hundreds: one note has the losses of all. */
static void note_tees(const struct pipeline *pipeline)
{
    const struct pipeline_request *request = pipeline->request;
    struct record_loss all = {.samples = 0};

    for (size_t i = 0; i < request->tee_count; i++) {
        const struct run_summary summary = record_of_tee(pipeline, i);
        const struct record_loss loss = record_loss(&pipeline->job, &summary);
        const char *path = phrase_output(request->tees[i].path), *note = pipeline->tee_ends[i].note;
        if (request->tee_pattern != NULL) {
            record_add_loss(&all, &loss);
            continue;
        }
        note_loss(path, &loss);
        if (note[0] != '\0')
            diag_note("%s: %s", path, note);
    }
    if (request->tee_pattern != NULL)
        note_loss(request->tee_pattern, &all);
}

/* A mask that has one side alone may not be the one that was meant. */
static void note_vain_mask(const struct pipeline *pipeline)
{
    const struct job *job = &pipeline->job;
    uint64_t outside = pipeline->summary.outcomes.outside;

    if (job->mask_plane_bytes == 0)
        return;
    if (outside == 0 && job->region_kind != REGION_WHOLE)
        diag_note("%s: no sample of the region is outside", file_in_name(pipeline->mask.file));
    else if (outside == 0)
        diag_note("%s: no sample is outside, and --mask has no effect", file_in_name(pipeline->mask.file));
    else if (outside == job_pixels(job))
        diag_note("%s: no sample is inside, and none changes", file_in_name(pipeline->mask.file));
}

/* A value that no sample has may not be the one that was meant. */
static void note_vain_mark(const struct pipeline *pipeline)
{
    const struct job *job = &pipeline->job;
    const struct job_request *request = &pipeline->request->job;
    char value[32] = "NaN";

    if (!request->has_missing || job->copies || pipeline->summary.outcomes.missing > 0)
        return;
    if (job->decode.marked)
        snprintf(value, sizeof value, "%.9g%s", request->missing,
                 sample_is_integer(job->in.type) ? "" : " or NaN");
    diag_note("%s: --missing: no sample%s%s is %s", phrase_input(pipeline->request->input),
              job->region_kind == REGION_WHOLE ? "" : " of the region", job->masked ? " inside the mask" : "",
              value);
}

void notes_outcome(const struct pipeline *pipeline)
{
    const char *output = phrase_output(pipeline->request->output);
    const struct run_summary *summary = &pipeline->summary;
    const struct record_loss loss = record_loss(&pipeline->job, summary);
    char text[SENTENCE];

    note_vain_mark(pipeline);
    note_vain_mask(pipeline);
    if (pipeline->changed != NULL)
        diag_note("%s: it changed during the run; the output may mix samples from before and after",
                  pipeline->changed);
    if (pipeline->note[0] != '\0')
        diag_note("%s: %s", output, pipeline->note);
    if (pipeline->job.measures && tell_range(&loss, &pipeline->job, summary, text, sizeof text))
        diag_note("%s: %s", output, text);
    note_loss(output, &loss);
    note_tees(pipeline);
    if (summary->unreached)
        note_unreached(output, job_last_stage(&pipeline->job), summary->last_change);
}

void notes_left_out(const struct pipeline *pipeline)
{
    const struct pipeline_request *request = pipeline->request;
    const struct dropped left_out = record_left_out(pipeline, request->output, &pipeline->job.written);

    if (left_out.names[0] != '\0')
        diag_note("%s: left out: %s", file_in_name(pipeline->input.source.file), left_out.names);
    for (size_t i = 0; i < request->tee_count; i++) {
        const struct pipeline_tee *tee = &request->tees[i];
        const struct header written = job_written_after(&pipeline->job, tee->step);
        const struct dropped of_tee = record_left_out(pipeline, tee->path, &written);
        /* The note on the output says the same already. */
        if (of_tee.names[0] != '\0' && strcmp(of_tee.names, left_out.names) != 0)
            diag_note("%s: left out: %s", phrase_output(tee->path), of_tee.names);
    }
}
