/* Explaining: the plan of a run, in words, for --explain.

   It goes the way of the samples: the input, the grid and the output; ranks and devices, and why these; the
   stages, each with its operations, the rung that computes each, and why not another; the passes over the
   data, and the memory that they take; what else was tried to fit into the memory; and at last the predicted
   time. report_json.c prints the same plan for programs. */
#include "explain.h"

#include "base/number.h"
#include "base/size.h"
#include "phrase.h"

#include <string.h>

/* Up to this many tees are all named. */
#define FEW_TEES 4

/* How samples become light; nothing if they are filtered as they are. */
static const char *const transfers[] = {
    [TRANSFER_NONE] = "",
    [TRANSFER_SRGB] = ", linear light by the sRGB curve",
    [TRANSFER_GAMMA] = ", linear light by the file's gAMA",
};

static void print_header(FILE *stream, const char *label, const char *name, const struct header *header)
{
    char line[DIAG_TEXT];

    fprintf(stream, "%s  %s: %s", label, diag_printable(name, line, sizeof line), sample_name(header->type));
    if (sample_size(header->type) > 1)
        fprintf(stream, " %s-endian", header->endian == ENDIAN_LITTLE ? "little" : "big");
    fprintf(stream, "\n");
}

static void print_heat(FILE *stream, const struct heat *heat)
{
    fprintf(stream, "; alpha %g, dt %g, %s flux", heat->alpha, heat->dt, flux_name(heat->flux));
    if (heat->flux != FLUX_LINEAR)
        fprintf(stream, " of scale %g", heat->scale);
    if (heat->inner > 1)
        fprintf(stream, ", %llu inner relaxations", (unsigned long long)heat->inner);
    if (heat->reacts)
        fprintf(stream, ", reaction %g", heat->reaction);
}

static void print_until(FILE *stream, const struct stage *stage)
{
    fprintf(stream, ", until the RMS change is below %g; checked: ", stage->until);
    if (stage->checks.every == 1)
        fprintf(stream, "every step");
    else if (stage->checks.every >= stage->checks.last)
        fprintf(stream, "the last step");
    else
        fprintf(stream, "one step in %llu, and the last", (unsigned long long)stage->checks.every);
}

/* A stage: its filter and steps, its edge, and what heat or --until adds. */
static void print_stage(FILE *stream, const struct stage *stage, size_t index)
{
    char axes[4];

    fprintf(stream, "stage %-2zu  %s, %s%llu step%s", index + 1, stage->spec,
            stage->until > 0.0 ? "at most " : "", (unsigned long long)stage->steps,
            number_plural(stage->steps));
    if (stage_reads_neighbours(stage)) {
        fprintf(stream, ", edge %s", edge_name(stage->edge.rule));
        if (edge_has(stage->edge.rule, EDGE_HAS_VALUE))
            fprintf(stream, ":%g", stage->edge.value);
    }
    if (stage->given & STAGE_AXES)
        fprintf(stream, ", axes %s", stage_axes(stage, axes));
    if (stage->converted)
        fprintf(stream, ", while samples are converted: no pass of its own");
    if (stage->filter->kind == FILTER_HEAT)
        print_heat(stream, &stage->heat);
    if (stage->until > 0.0)
        print_until(stream, stage);
    if (stage->leaves_alpha)
        fprintf(stream, "; alpha stays as it is");
    fprintf(stream, "\n");
}

/* A stage that the job inserts. */
static void print_between(FILE *stream, const struct stage *stage, size_t index)
{
    const char *what = stage->filter == &filter_cover     ? "colour is multiplied by alpha"
                       : stage->filter == &filter_uncover ? "colour is not multiplied by alpha"
                       : stage->filter == &filter_values  ? "samples are values"
                                                          : "samples are proportional to their values";

    fprintf(stream, "stage %-2zu  %s: from here on %s\n", index + 1, stage->spec, what);
}

static void print_reach(FILE *stream, const char *along, const struct reach *reach)
{
    if (reach->low != 0 || reach->high != 0)
        fprintf(stream, ", %d..%d along %s", reach->low, reach->high, along);
}

/* The rungs that were not taken: why they cannot be, or that they could. */
static void print_others(FILE *stream, const struct plan *plan, const struct op *op, bool single,
                         const struct rung *taken)
{
    char able[256] = "";

    for (const struct rung *rung = plan->lanes[0].backend->rungs; rung->name != NULL; rung++) {
        const struct rung_wish wish = {.rung = rung->name, .steps = single ? 1 : 0};
        struct fault refusal;
        struct form form;
        /* The rung that is taken has told its reason. Each other one is asked for as --rung would. */
        if (strcmp(rung->name, taken->name) == 0)
            continue;
        if (!plan->lanes[0].backend->settle(plan->lanes[0].device, op, &plan->shape, &wish, &form, &refusal))
            fprintf(stream, "          not %s\n", fault_reason(&refusal)); /* nobody gave --rung */
        else
            diag_append(able, sizeof able, "%s%s", diag_comma(able), rung->name);
    }
    if (able[0] != '\0')
        fprintf(stream, "          could be: %s\n", able);
}

/* An operation of a stage: its taps, its reach, the rung that computes it, and what the other rungs could. */
static void print_op(FILE *stream, const struct plan *plan, size_t stage, size_t index)
{
    const struct levels_step *step = &plan->steps[stage];
    const struct op *op = &step->step.ops[index];
    const struct form *form = &step->forms[index];

    fprintf(stream, "          %s: %zu tap%s", op_name(op), op->tap_count, number_plural(op->tap_count));
    print_reach(stream, "x", &op->x);
    print_reach(stream, "rows", &op->row);
    print_reach(stream, plan->job->in.grid.axes == 3 ? "planes" : "rows", &op->plane);
    phrase_joint(stream, op);
    fprintf(stream, "; rung %s: %s", form->rung->name, form->reason);
    phrase_form(stream, form);
    phrase_launch(stream, form);
    fprintf(stream, "\n");
    print_others(stream, plan, op, forms_is_single(&plan->job->stages[stage], &step->step), form->rung);
}

static void print_share(FILE *stream, size_t bytes, const char *purpose)
{
    if (bytes > 0)
        fprintf(stream, ", %s for %s", number_format_bytes((double)bytes).text, purpose);
}

/* Statistics take much memory only if several ranks keep those of each plane. */
static const char *observers_name(const struct pipeline *pipeline)
{
    bool preview = pipeline->request->run.observers.count > 0;

    if (pipeline->plan.job->members == 1 || !pipeline->request->run.stats)
        return "the preview";
    return preview ? "statistics and the preview" : "statistics";
}

/* The planned memory, and what it is for. */
static void print_memory(FILE *stream, const struct pipeline *pipeline)
{
    const struct plan *plan = &pipeline->plan;
    const struct schedule *schedule = &plan->schedule;

    /* The sum of all, then the parts of one device: fields and buffers, and whatever else takes any. */
    fprintf(stream, "memory    %s", number_format_bytes((double)schedule->memory_bytes).text);
    if (schedule->lanes > 1)
        fprintf(stream, ": on each of %zu devices", schedule->lanes);
    if (schedule->field_count > 0)
        fprintf(stream, "%s %zu field%s of %s,", schedule->lanes > 1 ? "" : ":", schedule->field_count,
                number_plural(schedule->field_count),
                number_format_bytes((double)schedule->field_bytes).text);
    fprintf(stream, "%s %zu buffers of %s", schedule->field_count > 0 || schedule->lanes > 1 ? "" : ":",
            schedule->in_buffers + schedule->out_buffers + schedule->tee_buffers,
            number_format_bytes((double)schedule->batch_bytes).text);
    print_share(stream, schedule->routine_bytes, "kernels");
    print_share(stream, schedule->sum_bytes, "sums and a device's side of buffers");
    if (!schedule->holds_in_spool)
        print_share(stream, plan->held_bytes, "an input that is held");
    print_share(stream, plan->beside_bytes, "reading the input");
    print_share(stream, plan->observer_bytes, observers_name(pipeline));
    print_share(stream, schedule->exchange_bytes, "planes in transit");
    print_share(stream, plan->output_bytes, "writing the output");
    print_share(stream, plan->slice_bytes, "a slice that is held");
    fprintf(stream, "\n");
}

/* A user calls the planes of a picture rows. */
static const char *plane_name(const struct grid *grid)
{
    return grid->axes == 3 ? "plane" : "row";
}

/* Passes that follow a route, and what lies between them. */
static void print_route(FILE *stream, const struct plan *plan)
{
    const struct schedule *schedule = &plan->schedule;
    const char *name = plane_name(&plan->job->in.grid);

    if (schedule->on_trial)
        fprintf(stream, "steps are taken on trial, in at most ");
    fprintf(stream, "%llu pass%s", (unsigned long long)schedule->passes, schedule->passes == 1 ? "" : "es");
    if (schedule->spools > 0)
        fprintf(stream, " over %s spool file%s of %s", schedule->spools == 1 ? "a" : "two",
                number_plural(schedule->spools), number_format_bytes((double)schedule->spool_bytes).text);
    if (schedule->whole && !schedule->on_trial)
        fprintf(stream, ", the last of which maps the result into its range");
    if (schedule->again > 0)
        fprintf(stream, ", which read%s %.0f %ss once more beyond the ends of a grid that wraps",
                schedule->passes == 1 ? "s" : "", schedule->again, name);
    fprintf(stream, ": in slabs of %zu %s%s, ", schedule->slab, name, number_plural(schedule->slab));
}

/* How many planes are held, and why. */
static void print_passes(FILE *stream, const struct plan *plan)
{
    const struct schedule *schedule = &plan->schedule;
    const char *name = plane_name(&plan->job->in.grid);

    fprintf(stream, "run       ");
    if (schedule->spooled)
        print_route(stream, plan);
    else if (schedule->on_trial)
        fprintf(stream, "the whole grid is held, since --until may end the run at any checked step; each of "
                        "these takes a "
                        "pass of its own, and another to sum its change; ");
    else if (schedule->devices > 1)
        fprintf(stream, "the whole grid is held, ");
    else if (schedule->whole)
        fprintf(stream, "the whole grid is held, since --out-range=auto needs the whole result before any "
                        "of it is written; ");
    else if (schedule->window == plan->shape.planes)
        fprintf(stream, "the whole %s is held: ", job_columns(plan->job) > 1 ? "column" : "grid");
    else
        fprintf(stream, "streamed in slabs of %zu %s%s: ", schedule->slab, name,
                number_plural(schedule->slab));
    if (schedule->devices > 1) {
        fprintf(stream, "by all %s together: each holds up to %zu %s%s\n",
                schedule->lanes > 1 ? "devices" : "ranks", schedule->window, name,
                number_plural(schedule->window));
        return;
    }
    fprintf(stream, "output lags %zu ", schedule->depth);
    /* Each of several ranks has only some of the planes. */
    if (plan->job->members == 1)
        fprintf(stream, "of %zu ", plan->shape.planes);
    fprintf(stream, "%s%s behind input, fields hold %zu", name,
            number_plural(plan->job->members == 1 ? plan->shape.planes : schedule->depth), schedule->window);
    if (schedule->holds_in_spool)
        fprintf(stream, "; the input goes through a spool file of %s",
                number_format_bytes((double)plan->held_bytes).text);
    fprintf(stream, "\n");
}

/* One way that was considered to run within the memory, and what became of it. */
static void print_candidate(FILE *stream, const struct plan *plan, const struct schedule_candidate *candidate)
{
    static const char *const fates[] = {
        [SCHEDULE_TAKEN] = "taken",
        [SCHEDULE_BEATEN] = "not taken: a later one has fewer passes, more steps at once or larger slabs",
        [SCHEDULE_NEEDLESS] = "not needed",
        [SCHEDULE_TOO_LARGE] = "at least: too much",
        [SCHEDULE_TOO_NARROW] = "at least: slabs so narrow would compute too much twice",
        [SCHEDULE_TOO_DEEP] = "at least: it needs all planes together",
    };

    /* The kind of run, then the memory that it needs, then its fate. */
    fprintf(stream, "          %s",
            candidate->unrolled         ? "one pass around the grid"
            : candidate->spooled        ? "passes over spool files"
            : candidate->holds_in_spool ? "one pass, the input in a spool file"
                                        : "one pass");
    if (!plan->job->copies)
        fprintf(stream, ", %u step%s at once", candidate->together, number_plural(candidate->together));
    fprintf(stream, "%s: ", candidate->lean ? ", kernels of the least memory" : "");
    if (candidate->memory_bytes < SIZE_MAX)
        fprintf(stream, "%s", number_format_bytes((double)candidate->memory_bytes).text);
    else
        fprintf(stream, "more than can be addressed");
    fprintf(stream, "%s%s", candidate->fate < SCHEDULE_TOO_LARGE ? ", " : " ", fates[candidate->fate]);
    if (candidate->spooled && !candidate->unrolled && candidate->fate < SCHEDULE_TOO_LARGE)
        fprintf(stream, " (%llu pass%s)", (unsigned long long)candidate->passes,
                candidate->passes == 1 ? "" : "es");
    fprintf(stream, "\n");
}

/* How the run might go, in order of preference. */
static void print_candidates(FILE *stream, const struct plan *plan)
{
    const struct schedule_candidates *candidates = &plan->candidates;

    if (candidates->count == 0)
        return;
    fprintf(stream, "tried     within %s, in order of preference:\n",
            candidates->memory > 0 ? number_format_bytes((double)candidates->memory).text : "any memory");
    for (size_t i = 0; i < candidates->count; i++)
        print_candidate(stream, plan, &candidates->list[i]);
}

/* What a run takes in columns and without, where memory is short. */
static void print_ways(FILE *stream, const struct pipeline *pipeline)
{
    const bool cut = job_columns(&pipeline->job) > 1;

    if (pipeline->obstacle != NULL)
        fprintf(stream, "ways      over whole planes, not in columns, because of %s\n", pipeline->obstacle);
    for (size_t i = 0; i < pipeline->way_count; i++) {
        const struct pipeline_way *way = &pipeline->ways[i];
        const size_t columns = way->columns.count[0] * way->columns.count[1];
        fprintf(stream, i == 0 ? "ways      " : "          ");
        if (columns > 1)
            fprintf(stream, "%zu columns", columns);
        else
            fprintf(stream, "whole planes in %llu pass%s", (unsigned long long)way->passes,
                    way->passes == 1 ? "" : "es");
        if (!pipeline->job.copies)
            fprintf(stream, ", %u step%s at once", way->together, number_plural(way->together));
        fprintf(stream, ": %llu bytes read, %llu written, %s, %s%s\n", (unsigned long long)way->read_bytes,
                (unsigned long long)way->written_bytes, number_format_seconds(way->seconds).text,
                number_format_bytes((double)way->memory_bytes).text, (columns > 1) == cut ? ", taken" : "");
    }
}

/* If there are many, only the first few and the last are named. */
static void print_tees(FILE *stream, const struct pipeline *pipeline)
{
    const struct pipeline_request *request = pipeline->request;
    const struct header *written = &pipeline->job.written;
    char line[DIAG_TEXT];

    for (size_t i = 0; i < request->tee_count; i++) {
        const struct pipeline_tee *tee = &request->tees[i];
        if (i < FEW_TEES || i + 1 == request->tee_count)
            fprintf(stream, "tee       after %llu step%s: %s\n", (unsigned long long)tee->step,
                    number_plural(tee->step), diag_printable(phrase_output(tee->path), line, sizeof line));
        else if (i == FEW_TEES)
            fprintf(stream, "          and so on\n");
    }
    if (request->tee_count > 0)
        fprintf(stream, "          %zu state%s: %s more to write; fused steps end at each\n",
                request->tee_count, number_plural(request->tee_count),
                number_format_bytes((double)request->tee_count * (double)grid_samples(&written->grid) *
                                    (double)sample_size(written->type))
                    .text);
}

/* The range that --out-range maps, and what it becomes. */
static void print_range(FILE *stream, const struct job *job)
{
    const struct stretch ends = encoding_stretch(&job->encode);

    if (!job->encode.ranged)
        return;
    if (job->measures)
        fprintf(stream, "range     the least and the greatest sample of the result");
    else
        fprintf(stream, "range     %.9g to %.9g", intensity_value(&job->intensity, job->encode.low),
                intensity_value(&job->intensity, job->encode.high));
    fprintf(stream, " become %.10g to %.10g\n", ends.least, ends.greatest);
}

/* The predicted time of each way to divide the planes, and the link that it assumes. */
static void print_options(FILE *stream, const struct ranks *ranks)
{
    static const char *const kinds[] = {[SPLIT_ALONE] = "rank 0 alone",
                                        [SPLIT_PARTS] = "one pass",
                                        [SPLIT_SHARES] = "the grid held together"};
    static const char *const fates[] = {[SPLIT_CAN] = "",
                                        [SPLIT_TOO_LARGE] = " (too little memory)",
                                        [SPLIT_UNLIKE] = " (plans that differ)"};
    const char *separator = "          predicted: ";

    /* Each way that the job allows, with the number of ranks that would compute. */
    for (enum split_kind kind = SPLIT_ALONE; kind < SPLIT_KINDS; kind++) {
        const struct split_option *option = &ranks->split.options[kind];
        if (option->fate == SPLIT_CANNOT)
            continue;
        fprintf(stream, "%s%s %s", separator, kinds[kind], number_format_seconds(option->seconds).text);
        if (option->members > 1)
            fprintf(stream, " by %zu", option->members);
        fprintf(stream, "%s", fates[option->fate]);
        separator = ", ";
    }
    fprintf(stream, "\n          for %s/s between ranks, and ",
            number_format_bytes(ranks->link.bytes_per_second).text);
    fprintf(stream, "%s a message (%s)\n", number_format_seconds(ranks->link.seconds).text,
            ranks->link_source);
}

/* The planes that a rank computes beside its own, on average of the levels of a pass: as many as the pass
   is deep, half of them on either side. If a level takes several steps at once, the same holds within the
   level, for each piece in which it is computed. */
static size_t computed_beside(const struct plan *plan, enum split_kind kind, size_t own)
{
    size_t halo = plan->schedule.halo;

    return kind == SPLIT_SHARES ? shares_pieces(own, halo) * (halo - halo / plan->schedule.together)
                                : plan->beside;
}

/* Planes that are computed twice, and bytes that ranks exchange. */
static void print_cost(FILE *stream, const struct split *split, const struct plan *plan)
{
    size_t own = split_most_planes(split, plan->job);
    const struct split_option *option = &split->options[split->kind];
    size_t beside = size_least(computed_beside(plan, split->kind, own), plan->shape.planes - own);
    double percent = 100.0 * (double)beside / (double)own;

    if (percent >= 0.5)
        fprintf(stream, "          each computes some %.0f %% more than its own\n", percent);
    if (option->step_bytes > 0.0)
        fprintf(stream, "          each gets some %s a step from others\n",
                number_format_bytes(option->step_bytes).text);
}

/* The costs and the predicted times that led to the split of planes among ranks. */
static void print_split(FILE *stream, const struct ranks *ranks, const struct plan *plan)
{
    if (!ranks_are_several(ranks))
        return;
    if (ranks_share_run(ranks))
        print_cost(stream, &ranks->split, plan);
    else if (plan->job->planes.count > 1 && ranks_cannot_divide(ranks))
        fprintf(stream,
                "          rank 0 has the memory of one rank; one process with that of all may be faster\n");
    print_options(stream, ranks);
}

/* The plan, a line or a few for each part, in the order of the samples (see the head of this file). */
void explain_plan(FILE *stream, const struct pipeline *pipeline)
{
    const struct plan *plan = &pipeline->plan;
    const struct job *job = &pipeline->job;

    print_header(stream, "input   ", phrase_input(pipeline->request->input), &job->in);
    if (job->masked)
        print_header(stream, "mask    ", pipeline->request->mask, &pipeline->mask.source.header);
    fprintf(stream, "grid      ");
    phrase_grid(stream, &job->in);
    fprintf(stream, ", spacing");
    for (unsigned axis = 0; axis < job->in.grid.axes; axis++)
        fprintf(stream, " %g", job->in.grid.spacing[axis]);
    fprintf(stream, "\n");
    /* The output, who computes it, and on what device. */
    print_header(stream, "output  ", phrase_output(pipeline->request->output), &job->written);
    phrase_region(stream, job);
    phrase_box(stream, plan);
    phrase_columns(stream, job);
    print_range(stream, job);
    phrase_ranks(stream, pipeline);
    print_split(stream, &pipeline->ranks, plan);
    phrase_device(stream, plan);
    phrase_shares(stream, plan);
    /* The stages, and how their operations run. */
    if (job->copies) {
        fprintf(stream, "stages    identity alone: bits are copied, %s by %s\n", plane_name(&job->in.grid),
                plane_name(&job->in.grid));
    } else {
        fprintf(stream, "work      %s", work_name(job->work));
        if (plan->shape.narrow && plan->lanes[0].backend->narrows)
            fprintf(stream, ", fields of %s", sample_name(plan->shape.type));
        if (job->field.alpha)
            fprintf(stream, ", alpha %s", job->field.premultiply ? "premultiplied" : "separate");
        if (job->decode.marked)
            fprintf(stream, ", %.9g is missing", intensity_value(&job->in.intensity, job->decode.mark));
        else if (job->decode.missing)
            fprintf(stream, ", NaN is missing");
        if (job->masked)
            fprintf(stream, ", and so is what is outside the mask");
        fprintf(stream, "%s\n", transfers[job->decode.transfer]);
        for (size_t i = 0; i < job->stage_count; i++) {
            if (stage_is_from_user(&job->stages[i]))
                print_stage(stream, &job->stages[i], i);
            else
                print_between(stream, &job->stages[i], i);
            for (size_t k = 0; k < plan->steps[i].step.count; k++)
                print_op(stream, plan, i, k);
        }
        print_passes(stream, plan);
        print_tees(stream, pipeline);
    }
    /* The costs. */
    phrase_sums(stream, plan);
    print_memory(stream, pipeline);
    print_candidates(stream, plan);
    print_ways(stream, pipeline);
    fprintf(stream, "forecast  %s%s through memory, %s of computing, %s in all",
            plan->schedule.on_trial ? "at most " : "", number_format_bytes(plan->moved_bytes).text,
            number_format_seconds(plan->compute_seconds).text, number_format_seconds(plan->seconds).text);
    if (job->in.volumes > 1)
        fprintf(stream, ", for all %zu volumes", job->in.volumes);
    fprintf(stream, "\n");
}
