/* What the commands tell: the plan, the summary of a run, statistics, and the lists. */
#include "report.h"

#include "json.h"
#include "number.h"

#include <math.h>
#include <string.h>

static const char *endian_name(enum endian endian)
{
    return endian == ENDIAN_LITTLE ? "little" : "big";
}

static const char *alpha_name(const struct encoding *encoding)
{
    return encoding->premultiply ? "premultiplied" : "separate";
}

static const char *transfer_name(const struct encoding *encoding)
{
    switch (encoding->transfer) {
    case TRANSFER_SRGB:
        return "linear light by the sRGB curve";
    case TRANSFER_GAMMA:
        return "linear light by the file's gAMA";
    case TRANSFER_NONE:
        break;
    }
    return NULL;
}

static void print_grid(FILE *stream, const struct grid *grid)
{
    fprintf(stream, "%zu × %zu", grid->nx, grid->ny);
    if (grid->axes == 3)
        fprintf(stream, " × %zu", grid->nz);
    fprintf(stream, ", %u channel%s", grid->channels, grid->channels == 1 ? "" : "s");
}

static void print_header(FILE *stream, const char *label, const char *name, const struct header *header)
{
    char line[DIAG_TEXT];

    fprintf(stream, "%s  %s: %s", label, diag_printable(name, line, sizeof line), sample_name(header->type));
    if (sample_size(header->type) > 1)
        fprintf(stream, " %s-endian", endian_name(header->endian));
    fprintf(stream, "\n");
}

static void print_heat(FILE *stream, const struct heat *heat)
{
    fprintf(stream, "; alpha %g, dt %g, %s flux", heat->alpha, heat->dt, heat_flux_name(heat->flux));
    if (heat->flux != FLUX_LINEAR)
        fprintf(stream, " of scale %g", heat->scale);
    if (heat->inner > 1)
        fprintf(stream, ", %llu inner relaxations", (unsigned long long)heat->inner);
    if (heat->reacts)
        fprintf(stream, ", reaction %g", heat->reaction);
}

static void print_edge(FILE *stream, const struct edge *edge)
{
    fprintf(stream, ", edge %s", edge_name(edge->rule));
    if (edge->rule == EDGE_CONSTANT)
        fprintf(stream, ":%g", edge->value);
}

static void print_stage(FILE *stream, const struct stage *stage, size_t index)
{
    fprintf(stream, "stage %-2zu  %s, %s%llu step%s", index + 1, stage->spec,
            stage->until > 0.0 ? "at most " : "", (unsigned long long)stage->steps,
            stage->steps == 1 ? "" : "s");
    print_edge(stream, &stage->edge);
    if (stage->filter->kind == FILTER_HEAT)
        print_heat(stream, &stage->heat);
    if (stage->until > 0.0)
        fprintf(stream, ", until the RMS change is below %g", stage->until);
    fprintf(stream, "\n");
}

static void print_reach(FILE *stream, const char *along, const struct reach *reach)
{
    if (reach->low != 0 || reach->high != 0)
        fprintf(stream, ", %d..%d along %s", reach->low, reach->high, along);
}

static void print_form(FILE *stream, const struct routine_facts *facts)
{
    if (facts->tile_x > 0)
        fprintf(stream, ", tile %u × %u", facts->tile_x, facts->tile_y);
    if (facts->tile_z > 1)
        fprintf(stream, " × %u", facts->tile_z);
    if (facts->coarsen > 0)
        fprintf(stream, ", coarsened %u", facts->coarsen);
    if (facts->stride > 1)
        fprintf(stream, " × %u apart", facts->stride);
    if (facts->steps > 1)
        fprintf(stream, ", up to %u steps a pass", facts->steps);
}

/* How a device with blocks and threads launches it. */
static void print_launch(FILE *stream, const struct routine_facts *facts)
{
    if (facts->block[0] == 0)
        return;
    fprintf(stream, ", grid %u × %u × %u of blocks %u × %u × %u", facts->grid[0], facts->grid[1],
            facts->grid[2], facts->block[0], facts->block[1], facts->block[2]);
    fprintf(stream, ", %u registers, %zu bytes shared a block, occupancy %.0f %%", facts->registers,
            facts->shared_bytes, 100.0 * facts->occupancy);
}

/* A refusal as it is told where nobody gave the option. */
static const char *without_option(const char *refusal)
{
    static const char option[] = "--rung: ";

    return strncmp(refusal, option, strlen(option)) == 0 ? refusal + strlen(option) : refusal;
}

/* The rungs that were not taken: why they cannot be, or that they could. */
static void print_others(FILE *stream, const struct plan *plan, const struct op *op, bool single,
                         const struct rung *taken)
{
    char able[256] = "";
    size_t used = 0;

    for (const struct rung *rung = plan->backend->rungs; rung->name != NULL; rung++) {
        const struct rung_wish wish = {.rung = rung->name, .steps = single ? 1 : 0};
        struct routine *routine;
        struct fault refusal;
        if (strcmp(rung->name, taken->name) == 0)
            continue;
        if (plan->backend->prepare(plan->device, op, &plan->shape, &wish, &routine, &refusal)) {
            plan->backend->release(plan->device, routine);
            if (used < sizeof able)
                used += (size_t)snprintf(able + used, sizeof able - used, "%s%s", used > 0 ? ", " : "",
                                         rung->name);
            continue;
        }
        fprintf(stream, "          not %s\n", without_option(refusal.text));
    }
    if (used > 0)
        fprintf(stream, "          could be: %s\n", able);
}

static void print_op(FILE *stream, const struct plan *plan, size_t stage, size_t index)
{
    const struct chain_step *step = &plan->steps[stage];
    const struct op *op = &step->step.ops[index];
    const struct routine_facts *facts = plan->backend->facts(step->routines[index]);

    fprintf(stream, "          %s: %zu tap%s", op_name(op->kind), op->tap_count,
            op->tap_count == 1 ? "" : "s");
    print_reach(stream, "x", &op->x);
    print_reach(stream, "rows", &op->row);
    print_reach(stream, "planes", &op->plane);
    fprintf(stream, "; rung %s: %s", facts->rung->name, facts->reason);
    print_form(stream, facts);
    print_launch(stream, facts);
    fprintf(stream, "\n");
    print_others(stream, plan, op, plan_is_single(&plan->job->stages[stage], &step->step), facts->rung);
}

/* The launch is left out: it depends on what is added up. */
static void print_sums(FILE *stream, const struct plan *plan)
{
    if (!plan->adds || plan->sums.rung == NULL)
        return;
    fprintf(stream, "sums      rung %s: %s", plan->sums.rung->name, plan->sums.reason);
    print_form(stream, &plan->sums);
    fprintf(stream, ", blocks of %u threads\n", plan->sums.block[0]);
}

static void print_share(FILE *stream, size_t bytes, const char *purpose)
{
    char text[32];

    if (bytes > 0)
        fprintf(stream, ", %s for %s", number_format_bytes((double)bytes, text, sizeof text), purpose);
}

static void print_memory(FILE *stream, const struct plan *plan)
{
    const struct passes *passes = &plan->passes;
    char all[32], field[32], batch[32];

    fprintf(stream, "memory    %s", number_format_bytes((double)passes->memory_bytes, all, sizeof all));
    if (passes->field_count > 0)
        fprintf(stream, ": %zu fields of %s", passes->field_count,
                number_format_bytes((double)passes->field_bytes, field, sizeof field));
    fprintf(stream, "%s %zu buffers of %s", passes->field_count > 0 ? "," : ":",
            passes->in_buffers + passes->out_buffers,
            number_format_bytes((double)passes->batch_bytes, batch, sizeof batch));
    print_share(stream, passes->routine_bytes, "kernels");
    print_share(stream, passes->sum_bytes, "sums and a device's side of buffers");
    if (!passes->holds_in_spool)
        print_share(stream, plan->held_bytes, "an interlaced input");
    fprintf(stream, "\n");
}

static const char *plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}

/* Passes that follow a route, and what lies between them. */
static void print_route(FILE *stream, const struct passes *passes)
{
    char spool[32];

    if (passes->whole)
        fprintf(stream, "steps are taken on trial, in at most ");
    fprintf(stream, "%llu pass%s", (unsigned long long)passes->count, passes->count == 1 ? "" : "es");
    if (passes->spools > 0)
        fprintf(stream, " over %s spool file%s of %s", passes->spools == 1 ? "a" : "two",
                plural(passes->spools),
                number_format_bytes((double)passes->spool_bytes, spool, sizeof spool));
    if (passes->again > 0)
        fprintf(stream, ", which read %llu planes once more beyond the ends of a grid that wraps",
                (unsigned long long)passes->again);
    fprintf(stream, ": in slabs of %zu plane%s, ", passes->slab, plural(passes->slab));
}

/* What the planes are held for, or that they are not. */
static void print_passes(FILE *stream, const struct plan *plan)
{
    const struct passes *passes = &plan->passes;
    char held[32];

    fprintf(stream, "run       ");
    if (passes->spooled)
        print_route(stream, passes);
    else if (passes->whole)
        fprintf(stream,
                "the whole grid is held, since --until takes steps one by one, each of which goes through "
                "memory twice, once to add up its change; ");
    else if (passes->window == plan->shape.planes)
        fprintf(stream, "the whole grid is held: ");
    else
        fprintf(stream, "streamed in slabs of %zu plane%s: ", passes->slab, plural(passes->slab));
    fprintf(stream, "output lags %zu of %zu planes behind input, fields hold %zu", passes->depth,
            plan->shape.planes, passes->window);
    if (passes->holds_in_spool)
        fprintf(stream, "; the interlaced input goes through a spool file of %s",
                number_format_bytes((double)plan->held_bytes, held, sizeof held));
    fprintf(stream, "\n");
}

static void print_device(FILE *stream, const struct plan *plan)
{
    fprintf(stream, "device    %s: %s", plan->device_name, plan->device_text);
    if (plan->device_reason[0] != '\0')
        fprintf(stream, " (%s)", plan->device_reason);
    fprintf(stream, "\n");
}

void report_plan(FILE *stream, const struct plan *plan, const struct report_ends *ends)
{
    const struct job *job = plan->job;
    char moved[32];

    print_header(stream, "input   ", ends->input, &job->in);
    fprintf(stream, "grid      ");
    print_grid(stream, &job->in.grid);
    fprintf(stream, ", spacing %g %g", job->in.grid.spacing[0], job->in.grid.spacing[1]);
    if (job->in.grid.axes == 3)
        fprintf(stream, " %g", job->in.grid.spacing[2]);
    fprintf(stream, "\n");
    print_header(stream, "output  ", ends->output, &job->out);
    print_device(stream, plan);
    if (job->copies) {
        fprintf(stream, "stages    identity alone: bits are copied, plane by plane\n");
    } else {
        fprintf(stream, "work      %s", work_name(job->work));
        if (job->decode.alpha)
            fprintf(stream, ", alpha %s", alpha_name(&job->decode));
        if (transfer_name(&job->decode) != NULL)
            fprintf(stream, ", %s", transfer_name(&job->decode));
        fprintf(stream, "\n");
        for (size_t i = 0; i < job->stage_count; i++) {
            print_stage(stream, &job->stages[i], i);
            for (size_t k = 0; k < plan->steps[i].step.count; k++)
                print_op(stream, plan, i, k);
        }
        print_passes(stream, plan);
    }
    print_sums(stream, plan);
    print_memory(stream, plan);
    fprintf(stream, "forecast  %s through memory, %.3g s\n",
            number_format_bytes(plan->moved_bytes, moved, sizeof moved), plan->seconds);
}

static double deviation(const struct tally *tally)
{
    double mean = tally->sum / (double)tally->count;
    double variance = tally->squares / (double)tally->count - mean * mean;

    /* Rounding may leave a little below 0; what is no number stays none. */
    return variance < 0.0 ? 0.0 : sqrt(variance);
}

static double mean(const struct tally *tally)
{
    return tally->anchor + tally->sum / (double)tally->count;
}

static void print_tally(FILE *stream, const char *end, unsigned channel, const struct tally *tally)
{
    fprintf(stream, "%-6s channel %u", end, channel);
    if (tally->count == 0)
        fprintf(stream, "  no sample is a number");
    else
        fprintf(stream, "  min %.9g  max %.9g  mean %.9g  deviation %.9g  L2 %.9g", tally->min, tally->max,
                mean(tally), deviation(tally), sqrt(tally->energy));
    if (tally->nans > 0)
        fprintf(stream, "  NaN %llu", (unsigned long long)tally->nans);
    fprintf(stream, "\n");
}

static void print_ends(FILE *stream, const struct report_ends *ends)
{
    char line[DIAG_TEXT];

    fprintf(stream, "%s → ", diag_printable(ends->input, line, sizeof line));
    fprintf(stream, "%s", diag_printable(ends->output, line, sizeof line));
}

void report_heading(FILE *stream, const struct report_ends *ends)
{
    print_ends(stream, ends);
    fprintf(stream, "\n");
}

void report_stats(FILE *stream, const struct job *job, const struct run_summary *summary)
{
    for (unsigned channel = 0; channel < job->in.grid.channels; channel++)
        print_tally(stream, "input", channel, &summary->tallies_in[channel]);
    for (unsigned channel = 0; channel < job->out.grid.channels; channel++)
        print_tally(stream, "output", channel, &summary->tallies_out[channel]);
}

static double updates(const struct plan *plan, const struct run_summary *summary)
{
    return (double)grid_samples(&plan->job->in.grid) * (double)summary->steps;
}

/* Samples in and out, as files hold them. */
static double file_bytes(const struct job *job)
{
    return (double)grid_samples(&job->in.grid) *
           (double)(sample_size(job->in.type) + sample_size(job->out.type));
}

static void print_routines(FILE *stream, const struct plan *plan)
{
    for (size_t i = 0; i < plan->step_count; i++) {
        for (size_t k = 0; k < plan->steps[i].step.count; k++) {
            const struct routine_facts *facts = plan->backend->facts(plan->steps[i].routines[k]);
            fprintf(stream, "kernel    stage %zu %s: rung %s", i + 1,
                    op_name(plan->steps[i].step.ops[k].kind), facts->rung->name);
            print_form(stream, facts);
            print_launch(stream, facts);
            fprintf(stream, "\n");
        }
    }
    print_sums(stream, plan);
}

/* What a run spends its time on, some of it at the same time. */
struct span {
    const char *name;
    double seconds; /* of all threads */
    double each;    /* of one of those that do it at once, in the mean */
};

enum { SPANS = 7 };

static void measure_spans(const struct run_summary *summary, struct span *spans)
{
    const struct span all[SPANS] = {
        {"start", summary->start, summary->start},       {"read", summary->read, summary->reading},
        {"stats", summary->stats, summary->stats},       {"upload", summary->upload, summary->upload},
        {"compute", summary->compute, summary->compute}, {"download", summary->download, summary->download},
        {"write", summary->write, summary->write},
    };

    memcpy(spans, all, sizeof all);
}

static void print_seconds(FILE *stream, const struct run_summary *summary)
{
    struct span spans[SPANS];

    measure_spans(summary, spans);
    fprintf(stream, "seconds   %.4f", summary->total);
    for (size_t i = 0; i < SPANS; i++) {
        if (strcmp(spans[i].name, "stats") != 0 || summary->tallies_in != NULL)
            fprintf(stream, "%s %s %.4f (%.0f %%)", i == 0 ? ", side by side:" : ",", spans[i].name,
                    spans[i].seconds, 100.0 * spans[i].each / summary->total);
    }
    fprintf(stream, "\n");
}

static void print_text_summary(FILE *stream, const struct plan *plan, const struct report_ends *ends,
                               const struct run_summary *summary)
{
    const struct job *job = plan->job;
    char memory[32];

    print_ends(stream, ends);
    fprintf(stream, ": ");
    print_grid(stream, &job->in.grid);
    fprintf(stream, ", %s → %s, work %s\n", sample_name(job->in.type), sample_name(job->out.type),
            work_name(job->work));
    print_device(stream, plan);
    fprintf(stream, "memory    %s planned\n",
            number_format_bytes((double)plan->passes.memory_bytes, memory, sizeof memory));
    print_routines(stream, plan);
    fprintf(stream, "steps     %llu", (unsigned long long)summary->steps);
    if (!isnan(summary->last_change))
        fprintf(stream, ", RMS change of the last %.9g", summary->last_change);
    fprintf(stream, "\n");
    print_seconds(stream, summary);
    fprintf(stream, "rate      ");
    if (summary->compute > 0.0)
        fprintf(stream, "%.1f Msamples·steps/s of computing, ",
                updates(plan, summary) / summary->compute / 1e6);
    fprintf(stream, "%.1f MB/s from input to output\n", file_bytes(job) / summary->total / 1e6);
    if (summary->nans > 0)
        fprintf(stream, "NaN       %llu samples were written as 0\n", (unsigned long long)summary->nans);
}

static void print_json_tallies(FILE *stream, const char *name, const struct tally *tallies, unsigned channels)
{
    fprintf(stream, ", \"%s\": [", name);
    for (unsigned channel = 0; channel < channels; channel++) {
        const struct tally *tally = &tallies[channel];
        fprintf(stream, "%s{", channel > 0 ? ", " : "");
        json_number(stream, "min", tally->min);
        fprintf(stream, ", ");
        json_number(stream, "max", tally->max);
        fprintf(stream, ", ");
        json_number(stream, "mean", mean(tally));
        fprintf(stream, ", ");
        json_number(stream, "deviation", deviation(tally));
        fprintf(stream, ", ");
        json_number(stream, "l2", sqrt(tally->energy));
        fprintf(stream, ", \"count\": %llu, \"nan\": %llu}", (unsigned long long)tally->count,
                (unsigned long long)tally->nans);
    }
    fprintf(stream, "]");
}

static void print_json_rung(FILE *stream, const struct routine_facts *facts)
{
    fprintf(stream, "\"rung\": ");
    json_text(stream, facts->rung->name);
    fprintf(stream, ", \"tile\": [%u, %u, %u], \"coarsen\": %u, \"stride\": %u, \"steps\": %u, ",
            facts->tile_x, facts->tile_y, facts->tile_z, facts->coarsen, facts->stride, facts->steps);
    fprintf(stream, "\"block\": [%u, %u, %u]", facts->block[0], facts->block[1], facts->block[2]);
}

static void print_json_kernels(FILE *stream, const struct plan *plan)
{
    const char *separator = "";

    fprintf(stream, ", \"kernels\": [");
    for (size_t i = 0; i < plan->step_count; i++) {
        for (size_t k = 0; k < plan->steps[i].step.count; k++) {
            const struct routine_facts *facts = plan->backend->facts(plan->steps[i].routines[k]);
            fprintf(stream, "%s{\"stage\": %zu, \"op\": \"%s\", ", separator, i + 1,
                    op_name(plan->steps[i].step.ops[k].kind));
            print_json_rung(stream, facts);
            fprintf(stream, ", \"grid\": [%u, %u, %u], \"registers\": %u, \"shared_bytes\": %zu, ",
                    facts->grid[0], facts->grid[1], facts->grid[2], facts->registers, facts->shared_bytes);
            json_number(stream, "occupancy", facts->occupancy);
            fprintf(stream, "}");
            separator = ", ";
        }
    }
    fprintf(stream, "]");
    if (plan->adds && plan->sums.rung != NULL) {
        fprintf(stream, ", \"sums\": {");
        print_json_rung(stream, &plan->sums);
        fprintf(stream, "}");
    }
}

static void print_json_seconds(FILE *stream, const struct run_summary *summary)
{
    struct span spans[SPANS];

    measure_spans(summary, spans);
    fprintf(stream, "\"seconds\": {");
    json_number(stream, "total", summary->total);
    for (size_t i = 0; i < SPANS; i++) {
        fprintf(stream, ", ");
        json_number(stream, spans[i].name, spans[i].seconds);
    }
    fprintf(stream, "}, \"busy\": {");
    for (size_t i = 0; i < SPANS; i++) {
        fprintf(stream, "%s", i > 0 ? ", " : "");
        json_number(stream, spans[i].name, spans[i].each / summary->total);
    }
    fprintf(stream, "}");
}

static void print_json_summary(FILE *stream, const struct plan *plan, const struct report_ends *ends,
                               const struct run_summary *summary)
{
    const struct job *job = plan->job;
    fprintf(stream, "{\"input\": ");
    json_text(stream, ends->input);
    fprintf(stream, ", \"output\": ");
    json_text(stream, ends->output);
    fprintf(stream, ", \"axes\": %u, \"grid\": [%zu, %zu, %zu], \"channels\": %u", job->in.grid.axes,
            job->in.grid.nx, job->in.grid.ny, job->in.grid.nz, job->in.grid.channels);
    fprintf(stream, ", \"type\": \"%s\", \"out_type\": \"%s\", \"work\": \"%s\", \"device\": ",
            sample_name(job->in.type), sample_name(job->out.type), work_name(job->work));
    json_text(stream, plan->device_name);
    fprintf(stream, ", \"device_text\": ");
    json_text(stream, plan->device_text);
    print_json_kernels(stream, plan);
    fprintf(stream, ", \"planned_bytes\": %zu, \"steps\": %llu, \"nan_written_as_zero\": %llu, ",
            plan->passes.memory_bytes, (unsigned long long)summary->steps, (unsigned long long)summary->nans);
    json_number(stream, "last_change", summary->last_change);
    fprintf(stream, ", ");
    print_json_seconds(stream, summary);
    fprintf(stream, ", ");
    json_number(stream, "samples_steps_per_second", updates(plan, summary) / summary->compute);
    fprintf(stream, ", ");
    json_number(stream, "bytes_per_second", file_bytes(job) / summary->total);
    if (summary->tallies_in != NULL) {
        print_json_tallies(stream, "stats_in", summary->tallies_in, job->in.grid.channels);
        print_json_tallies(stream, "stats_out", summary->tallies_out, job->out.grid.channels);
    }
    fprintf(stream, "}\n");
}

void report_summary(FILE *stream, enum report_mode mode, const struct plan *plan,
                    const struct report_ends *ends, const struct run_summary *summary)
{
    if (mode == REPORT_TEXT)
        print_text_summary(stream, plan, ends, summary);
    else if (mode == REPORT_JSON)
        print_json_summary(stream, plan, ends, summary);
}

static void list_filters(FILE *stream)
{
    fprintf(stream, "filters:\n");
    for (const struct filter *filter = filter_list; filter->name != NULL; filter++) {
        char form[64];
        snprintf(form, sizeof form, "%s%s", filter->name, filter->syntax);
        fprintf(stream, "  %-24s %s\n", form, filter->summary);
    }
}

static void list_rungs_of(FILE *stream, const char *backend, const struct rung *rungs)
{
    for (const struct rung *rung = rungs; rung->name != NULL; rung++) {
        char form[64];
        snprintf(form, sizeof form, "%s %s", backend, rung->name);
        fprintf(stream, "  %-24s %s\n", form, rung->summary);
    }
}

static void list_rungs(FILE *stream)
{
    fprintf(stream, "rungs:\n");
    for (size_t i = 0; plan_backends[i] != NULL; i++) {
        list_rungs_of(stream, plan_backends[i]->name, plan_backends[i]->rungs);
        list_rungs_of(stream, plan_backends[i]->name, plan_backends[i]->sum_rungs);
    }
}

static void list_formats(FILE *stream)
{
    fprintf(stream, "formats:\n");
    for (size_t i = 0; format_list[i] != NULL; i++)
        fprintf(stream, "  %-24s %s\n", format_list[i]->name, format_list[i]->summary);
}

static void list_devices(FILE *stream)
{
    fprintf(stream, "devices:\n");
    for (size_t i = 0; plan_backends[i] != NULL; i++) {
        for (unsigned index = 0; index < plan_backends[i]->count(); index++) {
            char form[64], text[256];
            snprintf(form, sizeof form, "%s:%u", plan_backends[i]->name, index);
            plan_backends[i]->describe((int)index, text, sizeof text);
            fprintf(stream, "  %-24s %s\n", form, text);
        }
    }
}

void report_list(FILE *stream)
{
    list_filters(stream);
    list_rungs(stream);
    list_formats(stream);
    list_devices(stream);
}
