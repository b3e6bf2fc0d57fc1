/* Plans as JSON: the members that the report of a run and the plan of one have in common. */
#include "plan_json.h"

#include "base/json.h"
#include "phrase.h"

void plan_json_begin(FILE *stream, const struct pipeline_request *request)
{
    fprintf(stream, "{\"input\": ");
    json_text(stream, phrase_input(request->input));
    fprintf(stream, ", \"output\": ");
    json_text(stream, phrase_output(request->output));
}

void plan_json_command(FILE *stream, const struct options *options)
{
    fprintf(stream, ", \"program\": \"%s\", \"version\": \"%s\", \"command\": [",
            program_name(options->program), PACKAGE_VERSION);
    for (size_t i = 0; i < options->word_count; i++) {
        fprintf(stream, "%s", i > 0 ? ", " : "");
        json_text(stream, options->words[i]);
    }
    fprintf(stream, "]");
}

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

    fprintf(stream, ", \"axes\": %u, \"grid\": [%zu, %zu, %zu], \"channels\": %u, \"volumes\": %zu",
            grid->axes, grid->nx, grid->ny, grid->nz, grid->channels, job->in.volumes);
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
            stage_is_from_user(stage) ? "true" : "false", (unsigned long long)stage->steps,
            stage->given & STAGE_FLIP ? "true" : "false", edge_name(stage->edge.rule));
    if (edge_has(stage->edge.rule, EDGE_HAS_VALUE)) {
        fprintf(stream, ", ");
        json_number(stream, "outside", stage->edge.value);
    }
    if (stage->filter->kind == FILTER_HEAT)
        print_heat(stream, &stage->heat);
    if (stage->until > 0.0) {
        fprintf(stream, ", ");
        json_number(stream, "until", stage->until);
        fprintf(stream, ", \"check_every\": %llu", (unsigned long long)stage->checks.every);
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
    json_text(stream, plan->selection.reason);
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
    if (plan->adds && plan->lanes[0].sums.rung != NULL) {
        fprintf(stream, ", \"sums\": {");
        print_rung(stream, &plan->lanes[0].sums);
        fprintf(stream, "}");
    }
}

void plan_json_members(FILE *stream, const struct pipeline *pipeline)
{
    const struct plan *plan = &pipeline->plan;

    print_data(stream, plan->job);
    print_stages(stream, plan->job);
    fprintf(stream, ", \"ranks\": %zu", pipeline->ranks.division.members);
    print_device(stream, plan);
    print_kernels(stream, plan);
    fprintf(stream, ", \"planned_bytes\": %zu", plan->schedule.memory_bytes);
}

static void print_reasons(FILE *stream, const struct plan *plan)
{
    const char *separator = "";

    fprintf(stream, ", \"reasons\": [");
    for (size_t i = 0; i < plan->step_count; i++) {
        for (size_t k = 0; k < plan->steps[i].step.count; k++) {
            fprintf(stream, "%s", separator);
            json_text(stream, plan->steps[i].forms[k].reason);
            separator = ", ";
        }
    }
    fprintf(stream, "]");
}

static void print_schedule(FILE *stream, const struct plan *plan)
{
    const struct schedule *schedule = &plan->schedule;

    fprintf(stream, ", \"passes\": %llu, \"at_most\": %s, \"spool_files\": %zu, \"spool_bytes\": %zu, ",
            (unsigned long long)schedule->passes, schedule->on_trial ? "true" : "false",
            schedule->spools + schedule->holds_in_spool,
            schedule->spools * schedule->spool_bytes + (schedule->holds_in_spool ? plan->held_bytes : 0));
    fprintf(stream, "\"planes\": %zu, \"slab\": %zu, \"lag\": %zu, \"held\": %zu", plan->shape.planes,
            schedule->slab, schedule->depth, schedule->window);
}

/* Parts of planned_bytes. */
static void print_memory(FILE *stream, const struct plan *plan)
{
    const struct schedule *schedule = &plan->schedule;
    size_t buffers = schedule->in_buffers + schedule->out_buffers + schedule->tee_buffers;
    size_t lanes = schedule->lanes;

    fprintf(stream, ", \"memory\": {\"fields\": %zu, \"buffers\": %zu, \"kernels\": %zu, \"sums\": %zu, ",
            lanes * schedule->field_count * schedule->field_bytes, lanes * buffers * schedule->batch_bytes,
            lanes * schedule->routine_bytes, lanes * schedule->sum_bytes);
    fprintf(stream, "\"input\": %zu, \"other\": %zu}", schedule->holds_in_spool ? 0 : plan->held_bytes,
            plan->beside_bytes + plan->observer_bytes + plan->outlet_bytes + plan->slice_bytes +
                schedule->trade_bytes);
}

static void print_tees(FILE *stream, const struct pipeline_request *request)
{
    fprintf(stream, ", \"tees\": [");
    for (size_t i = 0; i < request->tee_count; i++) {
        fprintf(stream, "%s{\"step\": %llu, \"output\": ", i > 0 ? ", " : "",
                (unsigned long long)request->tees[i].step);
        json_text(stream, phrase_output(request->tees[i].path));
        fprintf(stream, "}");
    }
    fprintf(stream, "], ");
}

void plan_json_print(FILE *stream, const struct options *options, const struct pipeline *pipeline)
{
    const struct plan *plan = &pipeline->plan;

    plan_json_begin(stream, pipeline->request);
    plan_json_command(stream, options);
    plan_json_members(stream, pipeline);
    print_reasons(stream, plan);
    print_schedule(stream, plan);
    print_memory(stream, plan);
    print_tees(stream, pipeline->request);
    json_number(stream, "moved_bytes", plan->moved_bytes);
    fprintf(stream, ", ");
    json_number(stream, "seconds", plan->seconds);
    fprintf(stream, "}\n");
}
