/* Reports of runs as JSON. */
#include "report_json.h"

#include "json.h"
#include "loss.h"

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

static void print_rung(FILE *stream, const struct routine_facts *facts)
{
    fprintf(stream, "\"rung\": ");
    json_text(stream, facts->rung->name);
    fprintf(stream, ", \"tile\": [%u, %u, %u], \"coarsen\": %u, \"stride\": %u, \"steps\": %u, ",
            facts->tile_x, facts->tile_y, facts->tile_z, facts->coarsen, facts->stride, facts->steps);
    fprintf(stream, "\"block\": [%u, %u, %u]", facts->block[0], facts->block[1], facts->block[2]);
}

static void print_kernels(FILE *stream, const struct plan *plan)
{
    const char *separator = "";

    fprintf(stream, ", \"kernels\": [");
    for (size_t i = 0; i < plan->step_count; i++) {
        for (size_t k = 0; k < plan->steps[i].step.count; k++) {
            const struct routine_facts *facts = plan->backend->facts(plan->steps[i].routines[k]);
            const struct op *op = &plan->steps[i].step.ops[k];
            fprintf(stream, "%s{\"stage\": %zu, \"op\": \"%s\", \"joint\": %s, ", separator, i + 1,
                    op_name(op->kind), op->joint > 0 ? "true" : "false");
            print_rung(stream, facts);
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
        print_rung(stream, &plan->sums);
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
    fprintf(stream, ", \"look_count\": %llu, \"looks\": [", (unsigned long long)looks->count);
    for (size_t i = 0; i < history_kept(looks); i++) {
        struct history_look look = history_at(looks, i);
        fprintf(stream, "%s{\"step\": %llu, ", i > 0 ? ", " : "", (unsigned long long)look.step);
        json_number(stream, "change", look.change);
        fprintf(stream, "}");
    }
    fprintf(stream, "]");
}

void report_json_summary(FILE *stream, const struct plan *plan, const struct record_ends *ends,
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
    print_kernels(stream, plan);
    fprintf(stream, ", \"planned_bytes\": %zu, \"steps\": %llu, ", plan->passes.memory_bytes,
            (unsigned long long)summary->steps);
    loss_print_json(stream, job, summary);
    fprintf(stream, ", ");
    json_number(stream, "last_change", summary->last_change);
    print_looks(stream, &summary->looks);
    fprintf(stream, ", ");
    print_seconds(stream, summary);
    fprintf(stream, ", ");
    json_number(stream, "samples_steps_per_second", record_updates(plan, summary) / summary->compute);
    fprintf(stream, ", ");
    json_number(stream, "bytes_per_second", record_file_bytes(job) / summary->total);
    if (summary->tallies_in != NULL) {
        print_tallies(stream, "stats_in", summary->tallies_in, job->in.grid.channels);
        print_tallies(stream, "stats_out", summary->tallies_out, job->out.grid.channels);
    }
    fprintf(stream, "}\n");
}
