/* Plans and reports of runs as JSON, each one object on a line.

   A plan and a report of the same run have most members in common: the ends, the command line, the data, the
   stages, the device and its kernels. A plan adds reasons, passes and memory; a report adds what was
   measured, lost and counted. A run that failed has the first few members alone. The manual, voxfilt(7), has
   the schema, and tests hold both to it. */
#include "report_json.h"

#include "base/json.h"
#include "phrase.h"
#include "record.h"

#include <math.h>

/* ---- what both have in common ---- */

static struct json begin(FILE *stream, const struct pipeline_request *request)
{
    struct json json = {.stream = stream};

    json_begin_object(&json, NULL);
    json_text(&json, "input", phrase_input(request->input));
    json_text(&json, "output", phrase_output(request->output));
    return json;
}

static void end(struct json *json)
{
    json_end_object(json);
    fprintf(json->stream, "\n");
}

static void print_command(struct json *json, const struct options *options)
{
    json_text(json, "program", program_name(options->program));
    json_text(json, "version", PACKAGE_VERSION);
    json_begin_array(json, "command");
    for (size_t i = 0; i < options->word_count; i++)
        json_text(json, NULL, options->words[i]);
    json_end_array(json);
}

/* The ends of a box along x, y and z. */
static void print_box(struct json *json, const char *name, const struct region *box)
{
    json_begin_array(json, name);
    for (unsigned axis = 0; axis < 3; axis++) {
        size_t first = box->first[axis];
        json_counts(json, NULL, (const uint64_t[]){first, first + box->count[axis]}, 2);
    }
    json_end_array(json);
}

/* Extents, type and region of the samples, and what of them is read for it. */
static void print_data(struct json *json, const struct plan *plan)
{
    const struct job *job = plan->job;
    const struct grid *grid = &job->in.grid;
    const unsigned along = grid->axes == 3 ? 2 : 1;
    struct region box = job->box;

    json_count(json, "axes", grid->axes);
    json_counts(json, "grid", (const uint64_t[]){grid->nx, grid->ny, grid->nz}, 3);
    json_count(json, "channels", grid->channels);
    json_count(json, "volumes", job->in.volumes);
    json_begin_array(json, "spacing");
    for (unsigned axis = 0; axis < 3; axis++)
        json_number(json, NULL, grid->spacing[axis]);
    json_end_array(json);
    print_box(json, "region", &job->region);
    box.first[along] = plan->read.first;
    box.count[along] = plan->read.count;
    print_box(json, "box", &box);
    json_count(json, "read_bytes", plan->read_bytes);
    json_text(json, "type", sample_name(job->in.type));
    json_text(json, "out_type", sample_name(job->out.type));
    json_text(json, "work", work_name(job->work));
}

static void print_heat(struct json *json, const struct heat *heat)
{
    json_number(json, "alpha", heat->alpha);
    json_number(json, "dt", heat->dt);
    json_count(json, "inner", heat->inner);
    json_text(json, "flux", flux_name(heat->flux));
    if (flux_conducts(heat->flux))
        json_text(json, "flux_channels", heat->joint ? "joint" : "separate");
    if (heat->flux != FLUX_LINEAR)
        json_number(json, "scale", heat->scale);
    if (heat->reacts)
        json_number(json, "reaction", heat->reaction);
}

/* Parameters that the stage has no use for are left out. */
static void print_stage(struct json *json, const struct stage *stage)
{
    char axes[4];

    json_begin_object(json, NULL);
    json_text(json, "filter", stage->filter->name);
    json_text(json, "spec", stage->spec);
    json_flag(json, "given", stage_is_from_user(stage));
    json_count(json, "steps", stage->steps);
    json_flag(json, "flip", (stage->given & STAGE_FLIP) != 0);
    if (stage->given & STAGE_FWHM)
        json_flag(json, "fwhm", true);
    if (stage->given & STAGE_AXES)
        json_text(json, "axes", stage_axes(stage, axes));
    json_text(json, "edge", edge_name(stage->edge.rule));
    if (edge_has(stage->edge.rule, EDGE_HAS_VALUE))
        json_number(json, "outside", stage->edge.value);
    if (stage->filter->kind == FILTER_HEAT)
        print_heat(json, &stage->heat);
    if (stage->until > 0.0) {
        json_number(json, "until", stage->until);
        json_count(json, "check_every", stage->checks.every);
    }
    json_end_object(json);
}

static void print_rung(struct json *json, const struct form *form)
{
    json_text(json, "rung", form->rung->name);
    json_counts(json, "tile", (const uint64_t[]){form->tile_x, form->tile_y, form->tile_z}, 3);
    json_count(json, "coarsen", form->coarsen);
    json_count(json, "stride", form->stride);
    json_count(json, "steps", form->steps);
    json_counts(json, "block", (const uint64_t[]){form->block[0], form->block[1], form->block[2]}, 3);
}

static void print_kernel(struct json *json, size_t stage, const struct op *op, const struct form *form)
{
    json_begin_object(json, NULL);
    json_count(json, "stage", stage);
    json_text(json, "op", op_name(op));
    json_flag(json, "joint", op->joint > 0);
    print_rung(json, form);
    json_counts(json, "grid", (const uint64_t[]){form->grid[0], form->grid[1], form->grid[2]}, 3);
    json_count(json, "registers", form->registers);
    json_count(json, "shared_bytes", form->shared_bytes);
    json_number(json, "occupancy", form->occupancy);
    json_end_object(json);
}

/* The kernel of each operation, and of what adds. */
static void print_kernels(struct json *json, const struct plan *plan)
{
    json_begin_array(json, "kernels");
    for (size_t i = 0; i < plan->step_count; i++) {
        for (size_t k = 0; k < plan->steps[i].step.count; k++)
            print_kernel(json, i + 1, &plan->steps[i].step.ops[k], &plan->steps[i].forms[k]);
    }
    json_end_array(json);
    if (plan->adds && plan->lanes[0].sums.rung != NULL) {
        json_begin_object(json, "sums");
        print_rung(json, &plan->lanes[0].sums);
        json_end_object(json);
    }
}

/* The members that a plan and a report have in common. */
static void print_members(struct json *json, const struct pipeline *pipeline)
{
    const struct plan *plan = &pipeline->plan;

    print_data(json, plan);
    if (plan->job->masked)
        json_text(json, "mask", pipeline->request->mask);
    json_begin_array(json, "stages");
    for (size_t i = 0; i < plan->job->stage_count; i++)
        print_stage(json, &plan->job->stages[i]);
    json_end_array(json);
    json_count(json, "ranks", pipeline->ranks.split.members);
    json_text(json, "device", plan->device_name);
    json_text(json, "device_text", plan->device_text);
    json_text(json, "device_reason", plan->selection.reason);
    print_kernels(json, plan);
    json_count(json, "planned_bytes", plan->schedule.memory_bytes);
}

/* ---- plans ---- */

static void print_reasons(struct json *json, const struct plan *plan)
{
    json_begin_array(json, "reasons");
    for (size_t i = 0; i < plan->step_count; i++) {
        for (size_t k = 0; k < plan->steps[i].step.count; k++)
            json_text(json, NULL, plan->steps[i].forms[k].reason);
    }
    json_end_array(json);
}

/* How often the run goes over the data, and how many planes it holds. */
static void print_schedule(struct json *json, const struct plan *plan)
{
    const struct schedule *schedule = &plan->schedule;
    size_t spooled = schedule->spools * schedule->spool_bytes;

    json_count(json, "passes", schedule->passes);
    json_flag(json, "at_most", schedule->on_trial);
    json_count(json, "spool_files", schedule->spools + schedule->holds_in_spool);
    json_count(json, "spool_bytes", spooled + (schedule->holds_in_spool ? plan->held_bytes : 0));
    json_count(json, "planes", plan->shape.planes);
    json_count(json, "slab", schedule->slab);
    json_count(json, "lag", schedule->depth);
    json_count(json, "held", schedule->window);
}

/* With columns and without, where that was compared; or why there are none. */
static void print_ways(struct json *json, const struct pipeline *pipeline)
{
    const bool cut = job_columns(&pipeline->job) > 1;

    json_text(json, "obstacle", pipeline->obstacle);
    json_begin_array(json, "ways");
    for (size_t i = 0; i < pipeline->way_count; i++) {
        const struct pipeline_way *way = &pipeline->ways[i];
        const struct columns *columns = &way->columns;
        json_begin_object(json, NULL);
        json_counts(json, "columns", (const uint64_t[]){columns->count[0], columns->count[1]}, 2);
        json_counts(json, "extent", (const uint64_t[]){columns->extent[0], columns->extent[1]}, 2);
        json_count(json, "passes", way->passes);
        json_count(json, "steps", way->together);
        json_count(json, "read_bytes", way->read_bytes);
        json_count(json, "written_bytes", way->written_bytes);
        json_count(json, "planned_bytes", way->memory_bytes);
        json_number(json, "seconds", way->seconds);
        json_flag(json, "taken", (columns->count[0] * columns->count[1] > 1) == cut);
        json_end_object(json);
    }
    json_end_array(json);
}

/* Parts of planned_bytes. */
static void print_memory(struct json *json, const struct plan *plan)
{
    const struct schedule *schedule = &plan->schedule;
    size_t buffers = schedule->in_buffers + schedule->out_buffers + schedule->tee_buffers;
    size_t lanes = schedule->lanes;

    json_begin_object(json, "memory");
    json_count(json, "fields", lanes * schedule->field_count * schedule->field_bytes);
    json_count(json, "buffers", lanes * buffers * schedule->batch_bytes);
    json_count(json, "kernels", lanes * schedule->routine_bytes);
    json_count(json, "sums", lanes * schedule->sum_bytes);
    json_count(json, "input", schedule->holds_in_spool ? 0 : plan->held_bytes);
    json_count(json, "other",
               plan->beside_bytes + plan->observer_bytes + plan->output_bytes + plan->slice_bytes +
                   schedule->exchange_bytes);
    json_end_object(json);
}

/* ---- reports ---- */

/* The figures of each channel of each volume; volumes are numbered as in the input. */
static void print_tallies(struct json *json, const char *name, const struct tally *tallies,
                          const struct header *header)
{
    size_t channels = header->grid.channels;

    json_begin_array(json, name);
    for (size_t i = 0; i < header->volumes * channels; i++) {
        const struct tally *tally = &tallies[i];
        json_begin_object(json, NULL);
        json_number(json, "min", tally->min);
        json_number(json, "max", tally->max);
        json_number(json, "mean", record_mean(tally));
        json_number(json, "deviation", record_deviation(tally));
        json_number(json, "l2", sqrt(tally->energy));
        json_count(json, "count", tally->count);
        json_count(json, "nan", tally->nans);
        json_count(json, "volume", header->choice.volume + i / channels);
        json_end_object(json);
    }
    json_end_array(json);
}

static void print_seconds(struct json *json, const struct run_summary *summary)
{
    struct record_span spans[RECORD_SPANS];

    record_spans(summary, spans);
    json_begin_object(json, "seconds");
    json_number(json, "total", summary->seconds.total);
    for (size_t i = 0; i < RECORD_SPANS; i++)
        json_number(json, spans[i].name, spans[i].seconds);
    json_end_object(json);
    json_begin_object(json, "busy");
    for (size_t i = 0; i < RECORD_SPANS; i++)
        json_number(json, spans[i].name, spans[i].each / summary->seconds.total);
    json_end_object(json);
}

/* The latest, CONVERGENCE_KEPT at most. */
static void print_checks(struct json *json, const struct convergence *checks)
{
    json_count(json, "check_count", checks->count);
    json_begin_array(json, "checks");
    for (size_t i = 0; i < convergence_kept(checks); i++) {
        struct convergence_check check = convergence_at(checks, i);
        json_begin_object(json, NULL);
        json_count(json, "step", check.step);
        json_number(json, "change", check.change);
        json_end_object(json);
    }
    json_end_array(json);
}

/* The members of every report, of a failure as well: the ends, how it ended, and the command line. */
static struct json begin_report(FILE *stream, const struct options *options,
                                const struct pipeline_request *request, enum status status, const char *error)
{
    struct json json = begin(stream, request);

    json_count(&json, "status", status);
    json_text(&json, "error", error);
    print_command(&json, options);
    return json;
}

static void print_range(struct json *json, const struct record_loss *loss, const struct run_summary *summary)
{
    if (isnan(summary->low)) {
        /* A member that does not apply is null and not left out, so that readers find the same names in every
           report. */
        json_null(json, "out_range");
        return;
    }
    json_begin_object(json, "out_range");
    json_begin_array(json, "from");
    json_number(json, NULL, summary->low);
    json_number(json, NULL, summary->high);
    json_end_array(json);
    json_begin_array(json, "to");
    json_short_number(json, NULL, loss->least);
    json_short_number(json, NULL, loss->greatest);
    json_end_array(json);
    json_end_object(json);
}

static void print_cut_off(struct json *json, const struct record_loss *loss)
{
    if (!loss->cuts) {
        json_null(json, "cut_off");
        return;
    }
    json_begin_object(json, "cut_off");
    json_short_number(json, "least", loss->least);
    json_count(json, "below", loss->below);
    json_short_number(json, "greatest", loss->greatest);
    json_count(json, "above", loss->above);
    json_end_object(json);
}

/* A run that copies samples counts them only if it writes integers. */
static void print_strays(struct json *json, const struct job *job, const struct record_loss *loss)
{
    if (job->copies && !loss->integers) {
        json_null(json, "nan_or_infinite");
        return;
    }
    json_begin_object(json, "nan_or_infinite");
    json_count(json, "input", loss->strays_in);
    json_count(json, "output", loss->strays_out);
    json_end_object(json);
}

/* Counts that were not made are null. */
static void print_losses(struct json *json, const struct pipeline *pipeline, const char *path,
                         const struct header *written, const struct run_summary *summary)
{
    const struct job *job = &pipeline->job;
    const struct dropped left_out = record_left_out(pipeline, path, written);
    const struct record_loss loss = record_loss(job, summary);

    print_range(json, &loss, summary);
    json_count(json, "nan_written_as_zero", loss.nans);
    print_cut_off(json, &loss);
    print_strays(json, job, &loss);
    json_text(json, "left_out", left_out.names);
}

/* Of a plan, where tees go; of a report also what they have lost. */
static void print_tees(struct json *json, const struct pipeline *pipeline, bool written)
{
    const struct pipeline_request *request = pipeline->request;

    json_begin_array(json, "tees");
    for (size_t i = 0; i < request->tee_count; i++) {
        const struct pipeline_tee *tee = &request->tees[i];
        json_begin_object(json, NULL);
        json_count(json, "step", tee->step);
        json_text(json, "output", phrase_output(tee->path));
        if (written) {
            const struct run_summary summary = record_of_tee(pipeline, i);
            const struct header header = job_written_after(&pipeline->job, tee->step);
            print_losses(json, pipeline, tee->path, &header, &summary);
        }
        json_end_object(json);
    }
    json_end_array(json);
}

/* The time of each of several devices, and what it got from its neighbours. A rank that holds one device has
   no such member. */
static void print_shares(struct json *json, const struct plan *plan, const struct run_summary *summary)
{
    if (plan->shares.held == 1)
        return;
    json_begin_array(json, "shares");
    for (size_t i = 0; i < plan->shares.held; i++) {
        const struct lane *lane = &plan->lanes[i];
        json_begin_object(json, NULL);
        json_format(json, "device", "\"%s:%d\"", lane->backend->name, lane->index);
        json_number(json, "compute", summary->shares[i].compute);
        json_count(json, "handed_bytes", summary->shares[i].handed_bytes);
        json_number(json, "handed_seconds", summary->shares[i].handing);
        json_end_object(json);
    }
    json_end_array(json);
}

/* ---- each as one object ---- */

void report_json_plan(FILE *stream, const struct options *options, const struct pipeline *pipeline)
{
    const struct plan *plan = &pipeline->plan;
    struct json json = begin(stream, pipeline->request);

    print_command(&json, options);
    print_members(&json, pipeline);
    print_reasons(&json, plan);
    print_schedule(&json, plan);
    print_ways(&json, pipeline);
    print_memory(&json, plan);
    print_tees(&json, pipeline, false);
    json_number(&json, "moved_bytes", plan->moved_bytes);
    json_number(&json, "compute_seconds", plan->compute_seconds);
    json_number(&json, "seconds", plan->seconds);
    end(&json);
}

void report_json_failure(FILE *stream, const struct options *options, const struct pipeline_request *request,
                         const struct fault *fault)
{
    struct json json = begin_report(stream, options, request, fault->status, fault->text);

    end(&json);
}

void report_json_run(FILE *stream, const struct options *options, const struct pipeline *pipeline)
{
    const struct plan *plan = &pipeline->plan;
    const struct job *job = &pipeline->job;
    const struct run_summary *summary = &pipeline->summary;
    struct json json = begin_report(stream, options, pipeline->request, pipeline->status, NULL);

    print_members(&json, pipeline);
    print_shares(&json, plan, summary);
    json_count(&json, "steps", summary->steps);
    if (job->mask_plane_bytes > 0)
        json_count(&json, "outside", summary->outcomes.outside);
    if (job->decode.missing && !job->copies)
        json_count(&json, "missing", summary->outcomes.missing);
    print_losses(&json, pipeline, pipeline->request->output, &job->written, summary);
    print_tees(&json, pipeline, true);
    json_number(&json, "last_change", summary->last_change);
    print_checks(&json, &summary->checks);
    print_seconds(&json, summary);
    json_number(&json, "samples_steps_per_second", record_rate(plan, summary));
    json_number(&json, "bytes_per_second", record_file_bytes(job) / summary->seconds.total);
    if (summary->tallies_in != NULL) {
        print_tallies(&json, "stats_in", summary->tallies_in, &job->in);
        print_tallies(&json, "stats_out", summary->tallies_out, &job->out);
    }
    end(&json);
}
