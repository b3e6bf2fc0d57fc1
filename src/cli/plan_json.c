/* Plans as JSON: the members that the report of a run and the plan of one have in common. */
#include "plan_json.h"

#include "phrase.h"

void plan_json_ends(struct json *json, const struct pipeline_request *request)
{
    json_text(json, "input", phrase_input(request->input));
    json_text(json, "output", phrase_output(request->output));
}

void plan_json_command(struct json *json, const struct options *options)
{
    json_text(json, "program", program_name(options->program));
    json_text(json, "version", PACKAGE_VERSION);
    json_begin_array(json, "command");
    for (size_t i = 0; i < options->word_count; i++)
        json_text(json, NULL, options->words[i]);
    json_end_array(json);
}

static void print_data(struct json *json, const struct job *job)
{
    const struct grid *grid = &job->in.grid;
    const struct region *region = &job->region;

    json_count(json, "axes", grid->axes);
    json_counts(json, "grid", (const uint64_t[]){grid->nx, grid->ny, grid->nz}, 3);
    json_count(json, "channels", grid->channels);
    json_count(json, "volumes", job->in.volumes);
    json_begin_array(json, "spacing");
    for (unsigned axis = 0; axis < 3; axis++)
        json_number(json, NULL, grid->spacing[axis]);
    json_end_array(json);
    json_begin_array(json, "region");
    for (unsigned axis = 0; axis < 3; axis++) {
        size_t first = region->first[axis];
        json_counts(json, NULL, (const uint64_t[]){first, first + region->count[axis]}, 2);
    }
    json_end_array(json);
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
    json_begin_object(json, NULL);
    json_text(json, "filter", stage->filter->name);
    json_text(json, "spec", stage->spec);
    json_flag(json, "given", stage_is_from_user(stage));
    json_count(json, "steps", stage->steps);
    json_flag(json, "flip", (stage->given & STAGE_FLIP) != 0);
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
    json_text(json, "op", op_name(op->kind));
    json_flag(json, "joint", op->joint > 0);
    print_rung(json, form);
    json_counts(json, "grid", (const uint64_t[]){form->grid[0], form->grid[1], form->grid[2]}, 3);
    json_count(json, "registers", form->registers);
    json_count(json, "shared_bytes", form->shared_bytes);
    json_number(json, "occupancy", form->occupancy);
    json_end_object(json);
}

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

void plan_json_members(struct json *json, const struct pipeline *pipeline)
{
    const struct plan *plan = &pipeline->plan;

    print_data(json, plan->job);
    json_begin_array(json, "stages");
    for (size_t i = 0; i < plan->job->stage_count; i++)
        print_stage(json, &plan->job->stages[i]);
    json_end_array(json);
    json_count(json, "ranks", pipeline->ranks.division.members);
    json_text(json, "device", plan->device_name);
    json_text(json, "device_text", plan->device_text);
    json_text(json, "device_reason", plan->selection.reason);
    print_kernels(json, plan);
    json_count(json, "planned_bytes", plan->schedule.memory_bytes);
}

static void print_reasons(struct json *json, const struct plan *plan)
{
    json_begin_array(json, "reasons");
    for (size_t i = 0; i < plan->step_count; i++) {
        for (size_t k = 0; k < plan->steps[i].step.count; k++)
            json_text(json, NULL, plan->steps[i].forms[k].reason);
    }
    json_end_array(json);
}

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
               plan->beside_bytes + plan->observer_bytes + plan->outlet_bytes + plan->slice_bytes +
                   schedule->trade_bytes);
    json_end_object(json);
}

static void print_tees(struct json *json, const struct pipeline_request *request)
{
    json_begin_array(json, "tees");
    for (size_t i = 0; i < request->tee_count; i++) {
        json_begin_object(json, NULL);
        json_count(json, "step", request->tees[i].step);
        json_text(json, "output", phrase_output(request->tees[i].path));
        json_end_object(json);
    }
    json_end_array(json);
}

void plan_json_print(FILE *stream, const struct options *options, const struct pipeline *pipeline)
{
    const struct plan *plan = &pipeline->plan;
    struct json json = {.stream = stream};

    json_begin_object(&json, NULL);
    plan_json_ends(&json, pipeline->request);
    plan_json_command(&json, options);
    plan_json_members(&json, pipeline);
    print_reasons(&json, plan);
    print_schedule(&json, plan);
    print_memory(&json, plan);
    print_tees(&json, pipeline->request);
    json_number(&json, "moved_bytes", plan->moved_bytes);
    json_number(&json, "seconds", plan->seconds);
    json_end_object(&json);
    fprintf(stream, "\n");
}
