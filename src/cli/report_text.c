/* Reports of runs as text. */
#include "report_text.h"

#include "base/glyph.h"
#include "base/number.h"
#include "pipeline/record.h"
#include "loss_text.h"
#include "phrase.h"

#include <math.h>
#include <string.h>

static void print_tally(FILE *stream, const struct tally *tally)
{
    if (tally->count == 0)
        fprintf(stream, "  no sample is a number");
    else
        fprintf(stream, "  min %.9g  max %.9g  mean %.9g  deviation %.9g  L2 %.9g", tally->min, tally->max,
                record_mean(tally), record_deviation(tally), sqrt(tally->energy));
    if (tally->nans > 0)
        fprintf(stream, "  NaN %llu", (unsigned long long)tally->nans);
    fprintf(stream, "\n");
}

/* A line for each channel of each volume. */
static void print_tallies(FILE *stream, const char *end, const struct header *header,
                          const struct tally *tallies)
{
    size_t channels = header->grid.channels;

    for (size_t i = 0; i < header->volumes * channels; i++) {
        fprintf(stream, "%-6s ", end);
        if (header->volumes > 1)
            fprintf(stream, "volume %zu, ", i / channels);
        fprintf(stream, "channel %zu", i % channels);
        print_tally(stream, &tallies[i]);
    }
}

void report_text_failure(FILE *stream, const struct pipeline_request *request, const struct fault *fault)
{
    char line[DIAG_TEXT];

    phrase_ends(stream, request->input, request->output);
    fprintf(stream, ": failed with status %d: %s\n", (int)fault->status,
            diag_printable(fault->text, line, sizeof line));
}

void report_text_heading(FILE *stream, const struct pipeline_request *request)
{
    phrase_ends(stream, request->input, request->output);
    fprintf(stream, "\n");
}

void report_text_stats(FILE *stream, const struct pipeline *pipeline)
{
    const struct job *job = &pipeline->job;
    const struct run_summary *summary = &pipeline->summary;

    print_tallies(stream, "input", &job->in, summary->tallies_in);
    print_tallies(stream, "output", &job->out, summary->tallies_out);
}

static void print_routines(FILE *stream, const struct plan *plan)
{
    for (size_t i = 0; i < plan->step_count; i++) {
        for (size_t k = 0; k < plan->steps[i].step.count; k++) {
            const struct form *form = &plan->steps[i].forms[k];
            const struct op *op = &plan->steps[i].step.ops[k];
            fprintf(stream, "kernel    stage %zu %s", i + 1, op_name(op->kind));
            phrase_joint(stream, op);
            fprintf(stream, ": rung %s", form->rung->name);
            phrase_form(stream, form);
            phrase_launch(stream, form);
            fprintf(stream, "\n");
        }
    }
    phrase_sums(stream, plan);
}

static void print_seconds(FILE *stream, const struct run_summary *summary)
{
    struct record_span spans[RECORD_SPANS];

    record_spans(summary, spans);
    fprintf(stream, "seconds   %.4f", summary->total);
    for (size_t i = 0; i < RECORD_SPANS; i++) {
        if (strcmp(spans[i].name, "stats") != 0 || summary->tallies_in != NULL)
            fprintf(stream, "%s %s %.4f (%.0f %%)", i == 0 ? ", side by side:" : ",", spans[i].name,
                    spans[i].seconds, 100.0 * spans[i].each / summary->total);
    }
    fprintf(stream, "\n");
}

#define LATEST_LOOKS 4

static void print_looks(FILE *stream, const struct history *looks)
{
    size_t kept = history_kept(looks), first = kept > LATEST_LOOKS ? kept - LATEST_LOOKS : 0;

    if (kept == 0)
        return;
    fprintf(stream, "checks    %llu, RMS change", (unsigned long long)looks->count);
    for (size_t i = first; i < kept; i++) {
        struct history_look look = history_at(looks, i);
        fprintf(stream, "%s %.9g at step %llu", i > first ? "," : "", look.change,
                (unsigned long long)look.step);
    }
    fprintf(stream, "\n");
}

/* What each of several devices did. */
static void print_lanes(FILE *stream, const struct plan *plan, const struct run_summary *summary)
{
    for (size_t i = 0; i < plan->shares.held && plan->shares.held > 1; i++) {
        const struct lane *lane = &plan->lanes[i];
        const struct run_share *share = &summary->shares[i];
        char bytes[32];
        fprintf(stream, "          %s:%d: computed %.4f s, was handed %s in %.4f s\n", lane->backend->name,
                lane->index, share->compute,
                number_format_bytes((double)share->handed_bytes, bytes, sizeof bytes), share->handing);
    }
}

void report_text_run(FILE *stream, const struct pipeline *pipeline)
{
    const struct plan *plan = &pipeline->plan;
    const struct job *job = &pipeline->job;
    const struct run_summary *summary = &pipeline->summary;
    double rate = record_rate(plan, summary);
    char memory[32];

    phrase_ends(stream, pipeline->request->input, pipeline->request->output);
    fprintf(stream, ": ");
    phrase_grid(stream, &job->in);
    fprintf(stream, ", %s %s %s, work %s\n", sample_name(job->in.type), glyph(GLYPH_ARROW),
            sample_name(job->out.type), work_name(job->work));
    phrase_region(stream, job);
    phrase_ranks(stream, pipeline);
    phrase_device(stream, plan);
    phrase_shares(stream, plan);
    print_lanes(stream, plan, summary);
    fprintf(stream, "memory    %s planned\n",
            number_format_bytes((double)plan->schedule.memory_bytes, memory, sizeof memory));
    print_routines(stream, plan);
    fprintf(stream, "steps     %llu", (unsigned long long)summary->steps);
    if (!isnan(summary->last_change))
        fprintf(stream, ", RMS change of the last %.9g", summary->last_change);
    fprintf(stream, "\n");
    print_looks(stream, &summary->looks);
    print_seconds(stream, summary);
    fprintf(stream, "rate      ");
    if (!isnan(rate))
        fprintf(stream, "%.1f Msample-steps/s of computing, ", rate / 1e6);
    fprintf(stream, "%.1f MB/s from input to output\n", record_file_bytes(job) / summary->total / 1e6);
    loss_text_print(stream, job, summary);
}
