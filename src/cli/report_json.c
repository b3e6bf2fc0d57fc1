/* Reports of runs as JSON. */
#include "report_json.h"

#include "base/json.h"
#include "pipeline/loss.h"
#include "pipeline/record.h"
#include "phrase.h"

#include <math.h>

static void print_tallies(FILE *stream, const char *name, const struct tally *tallies, unsigned channels)
{
    fprintf(stream, ", \"%s\": [", name);
    for (unsigned channel = 0; channel < channels; channel++) {
        const struct tally *tally = &tallies[channel];
        fprintf(stream, "%s{", channel > 0 ? ", " : "");
        json_number(stream, "min", tally->min);
        fprintf(stream, ", ");
        json_number(stream, "max", tally->max);
        fprintf(stream, ", ");
        json_number(stream, "mean", record_mean(tally));
        fprintf(stream, ", ");
        json_number(stream, "deviation", record_deviation(tally));
        fprintf(stream, ", ");
        json_number(stream, "l2", sqrt(tally->energy));
        fprintf(stream, ", \"count\": %llu, \"nan\": %llu}", (unsigned long long)tally->count,
                (unsigned long long)tally->nans);
    }
    fprintf(stream, "]");
}

static void print_rung(FILE *stream, const struct form *form)
{
    fprintf(stream, "\"rung\": ");
    json_text(stream, form->rung->name);
    fprintf(stream, ", \"tile\": [%u, %u, %u], \"coarsen\": %u, \"stride\": %u, \"steps\": %u, ",
            form->tile_x, form->tile_y, form->tile_z, form->coarsen, form->stride, form->steps);
    fprintf(stream, "\"block\": [%u, %u, %u]", form->block[0], form->block[1], form->block[2]);
}

static void print_kernels(FILE *stream, const struct plan *plan)
{
    const char *separator = "";

    fprintf(stream, ", \"kernels\": [");
    for (size_t i = 0; i < plan->step_count; i++) {
        for (size_t k = 0; k < plan->steps[i].step.count; k++) {
            const struct form *form = &plan->steps[i].forms[k];
            const struct op *op = &plan->steps[i].step.ops[k];
            fprintf(stream, "%s{\"stage\": %zu, \"op\": \"%s\", \"joint\": %s, ", separator, i + 1,
                    op_name(op->kind), op->joint > 0 ? "true" : "false");
            print_rung(stream, form);
            fprintf(stream, ", \"grid\": [%u, %u, %u], \"registers\": %u, \"shared_bytes\": %zu, ",
                    form->grid[0], form->grid[1], form->grid[2], form->registers, form->shared_bytes);
            json_number(stream, "occupancy", form->occupancy);
            fprintf(stream, "}");
            separator = ", ";
        }
    }
    fprintf(stream, "]");
    if (plan->adds && plan->lane.sums.rung != NULL) {
        fprintf(stream, ", \"sums\": {");
        print_rung(stream, &plan->lane.sums);
        fprintf(stream, "}");
    }
}

static void print_seconds(FILE *stream, const struct run_summary *summary)
{
    struct record_span spans[RECORD_SPANS];

    record_spans(summary, spans);
    fprintf(stream, "\"seconds\": {");
    json_number(stream, "total", summary->total);
    for (size_t i = 0; i < RECORD_SPANS; i++) {
        fprintf(stream, ", ");
        json_number(stream, spans[i].name, spans[i].seconds);
    }
    fprintf(stream, "}, \"busy\": {");
    for (size_t i = 0; i < RECORD_SPANS; i++) {
        fprintf(stream, "%s", i > 0 ? ", " : "");
        json_number(stream, spans[i].name, spans[i].each / summary->total);
    }
    fprintf(stream, "}");
}

/* The latest, HISTORY_KEPT at most. */
static void print_looks(FILE *stream, const struct history *looks)
{
    fprintf(stream, ", \"check_count\": %llu, \"checks\": [", (unsigned long long)looks->count);
    for (size_t i = 0; i < history_kept(looks); i++) {
        struct history_look look = history_at(looks, i);
        fprintf(stream, "%s{\"step\": %llu, ", i > 0 ? ", " : "", (unsigned long long)look.step);
        json_number(stream, "change", look.change);
        fprintf(stream, "}");
    }
    fprintf(stream, "]");
}

/* Between what and what, by whom, how it ended, and what had been asked for. */
static void print_head(FILE *stream, const struct options *options, const struct pipeline_request *request,
                       enum status status, const char *error)
{
    fprintf(stream, "{\"input\": ");
    json_text(stream, phrase_input(request->input));
    fprintf(stream, ", \"output\": ");
    json_text(stream, phrase_output(request->output));
    fprintf(stream, ", \"status\": %d, \"error\": ", (int)status);
    if (error == NULL)
        fprintf(stream, "null");
    else
        json_text(stream, error);
    fprintf(stream, ", \"program\": \"%s\", \"version\": \"%s\", \"command\": [",
            program_name(options->program), PACKAGE_VERSION);
    for (size_t i = 0; i < options->word_count; i++) {
        fprintf(stream, "%s", i > 0 ? ", " : "");
        json_text(stream, options->words[i]);
    }
    fprintf(stream, "]");
}

/* As --crop takes it. */
static void print_region(FILE *stream, const struct region *region)
{
    fprintf(stream, ", \"region\": [");
    for (unsigned axis = 0; axis < 3; axis++)
        fprintf(stream, "%s[%zu, %zu]", axis > 0 ? ", " : "", region->first[axis],
                region->first[axis] + region->count[axis]);
    fprintf(stream, "]");
}

static void print_data(FILE *stream, const struct job *job)
{
    const struct grid *grid = &job->in.grid;

    fprintf(stream, ", \"axes\": %u, \"grid\": [%zu, %zu, %zu], \"channels\": %u", grid->axes, grid->nx,
            grid->ny, grid->nz, grid->channels);
    fprintf(stream, ", \"spacing\": [%.17g, %.17g, %.17g]", grid->spacing[0], grid->spacing[1],
            grid->spacing[2]);
    print_region(stream, &job->region);
    fprintf(stream, ", \"type\": \"%s\", \"out_type\": \"%s\", \"work\": \"%s\"", sample_name(job->in.type),
            sample_name(job->out.type), work_name(job->work));
}

static void print_heat(FILE *stream, const struct heat *heat)
{
    fprintf(stream, ", ");
    json_number(stream, "alpha", heat->alpha);
    fprintf(stream, ", ");
    json_number(stream, "dt", heat->dt);
    fprintf(stream, ", \"inner\": %llu, \"flux\": \"%s\"", (unsigned long long)heat->inner,
            flux_name(heat->flux));
    if (flux_conducts(heat->flux))
        fprintf(stream, ", \"flux_channels\": \"%s\"", heat->joint ? "joint" : "separate");
    if (heat->flux != FLUX_LINEAR) {
        fprintf(stream, ", ");
        json_number(stream, "scale", heat->scale);
    }
    if (heat->reacts) {
        fprintf(stream, ", ");
        json_number(stream, "reaction", heat->reaction);
    }
}

/* Parameters that the stage has no use for are left out. */
static void print_stage(FILE *stream, const struct stage *stage)
{
    fprintf(stream, "{\"filter\": \"%s\", \"spec\": ", stage->filter->name);
    json_text(stream, stage->spec);
    fprintf(stream, ", \"given\": %s, \"steps\": %llu, \"flip\": %s, \"edge\": \"%s\"",
            stage_is_given(stage) ? "true" : "false", (unsigned long long)stage->steps,
            stage->given & STAGE_FLIP ? "true" : "false", edge_name(stage->edge.rule));
    if (edge_has(stage->edge.rule, EDGE_SUPPLIES)) {
        fprintf(stream, ", ");
        json_number(stream, "outside", stage->edge.value);
    }
    if (stage->filter->kind == FILTER_HEAT)
        print_heat(stream, &stage->heat);
    if (stage->until > 0.0) {
        fprintf(stream, ", ");
        json_number(stream, "until", stage->until);
        fprintf(stream, ", \"check_every\": %llu", (unsigned long long)stage->looks.every);
    }
    fprintf(stream, "}");
}

static void print_stages(FILE *stream, const struct job *job)
{
    fprintf(stream, ", \"stages\": [");
    for (size_t i = 0; i < job->stage_count; i++) {
        fprintf(stream, "%s", i > 0 ? ", " : "");
        print_stage(stream, &job->stages[i]);
    }
    fprintf(stream, "]");
}

static void print_device(FILE *stream, const struct plan *plan)
{
    fprintf(stream, ", \"device\": ");
    json_text(stream, plan->device_name);
    fprintf(stream, ", \"device_text\": ");
    json_text(stream, plan->device_text);
    fprintf(stream, ", \"device_reason\": ");
    json_text(stream, plan->device_reason);
}

static void print_range(FILE *stream, const struct loss *loss, const struct run_summary *summary)
{
    if (isnan(summary->low))
        fprintf(stream, "\"out_range\": null, ");
    else
        fprintf(stream, "\"out_range\": {\"from\": [%.17g, %.17g], \"to\": [%.10g, %.10g]}, ", summary->low,
                summary->high, loss->least, loss->greatest);
}

/* All counts; where none were made, null. */
static void print_losses(FILE *stream, const struct job *job, const struct run_summary *summary)
{
    struct loss loss = loss_of(job, summary);

    print_range(stream, &loss, summary);
    fprintf(stream, "\"nan_written_as_zero\": %llu, \"cut_off\": ", (unsigned long long)loss.nans);
    if (loss.cuts)
        fprintf(stream, "{\"least\": %.10g, \"below\": %llu, \"greatest\": %.10g, \"above\": %llu}",
                loss.least, (unsigned long long)loss.below, loss.greatest, (unsigned long long)loss.above);
    else
        fprintf(stream, "null");
    fprintf(stream, ", \"nan_or_infinite\": ");
    if (job->copies && !loss.integers)
        fprintf(stream, "null");
    else
        fprintf(stream, "{\"input\": %llu, \"output\": %llu}", (unsigned long long)loss.strays_in,
                (unsigned long long)loss.strays_out);
}

static void print_tees(FILE *stream, const struct pipeline *pipeline)
{
    const struct pipeline_request *request = pipeline->request;

    fprintf(stream, ", \"tees\": [");
    for (size_t i = 0; i < request->tee_count; i++) {
        const struct run_summary summary = record_of_tee(pipeline, i);
        fprintf(stream, "%s{\"step\": %llu, \"output\": ", i > 0 ? ", " : "",
                (unsigned long long)request->tees[i].step);
        json_text(stream, phrase_output(request->tees[i].path));
        fprintf(stream, ", ");
        print_losses(stream, &pipeline->job, &summary);
        fprintf(stream, "}");
    }
    fprintf(stream, "]");
}

void report_json_failure(FILE *stream, const struct options *options, const struct pipeline_request *request,
                         const struct fault *fault)
{
    print_head(stream, options, request, fault->status, fault->text);
    fprintf(stream, "}\n");
}

void report_json_run(FILE *stream, const struct options *options, const struct pipeline *pipeline)
{
    const struct plan *plan = &pipeline->plan;
    const struct job *job = &pipeline->job;
    const struct run_summary *summary = &pipeline->summary;

    print_head(stream, options, pipeline->request, pipeline->status, NULL);
    print_data(stream, job);
    print_stages(stream, job);
    print_device(stream, plan);
    print_kernels(stream, plan);
    fprintf(stream, ", \"planned_bytes\": %zu, \"steps\": %llu, ", plan->schedule.memory_bytes,
            (unsigned long long)summary->steps);
    print_losses(stream, job, summary);
    print_tees(stream, pipeline);
    fprintf(stream, ", ");
    json_number(stream, "last_change", summary->last_change);
    print_looks(stream, &summary->looks);
    fprintf(stream, ", ");
    print_seconds(stream, summary);
    fprintf(stream, ", ");
    json_number(stream, "samples_steps_per_second", record_rate(plan, summary));
    fprintf(stream, ", ");
    json_number(stream, "bytes_per_second", record_file_bytes(job) / summary->total);
    if (summary->tallies_in != NULL) {
        print_tallies(stream, "stats_in", summary->tallies_in, job->in.grid.channels);
        print_tallies(stream, "stats_out", summary->tallies_out, job->out.grid.channels);
    }
    fprintf(stream, "}\n");
}
