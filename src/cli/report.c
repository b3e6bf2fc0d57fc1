/* Reports: what a command prints of a run once it is over, in text or JSON, and the file of --report.

   Several runs may go on at the same time. The messages and the report of each are kept as lines until those
   of all earlier inputs are printed. Messages go to standard error. Reports go into the file, which is there
   whole or not at all: with one input it gets its name together with the outputs, otherwise once all runs are
   over. */
#include "report.h"

#include "base/number.h"
#include "notes.h"
#include "phrase.h"
#include "record.h"
#include "report_json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- as text ---- */

/* A line for each channel of each volume. */
static void print_tallies(FILE *stream, const char *end, const struct header *header,
                          const struct tally *tallies)
{
    size_t channels = header->grid.channels;

    for (size_t i = 0; i < header->volumes * channels; i++) {
        const struct tally *tally = &tallies[i];
        fprintf(stream, "%-6s ", end);
        if (header->volumes > 1)
            fprintf(stream, "volume %zu, ", i / channels);
        fprintf(stream, "channel %zu", i % channels);
        if (tally->count == 0)
            fprintf(stream, "  no sample is a number");
        else
            fprintf(stream, "  min %.9g  max %.9g  mean %.9g  deviation %.9g  L2 %.9g", tally->min,
                    tally->max, record_mean(tally), record_deviation(tally), sqrt(tally->energy));
        if (tally->nans > 0)
            fprintf(stream, "  NaN %llu", (unsigned long long)tally->nans);
        fprintf(stream, "\n");
    }
}

/* The kernel of each operation, as it was launched. */
static void print_routines(FILE *stream, const struct plan *plan)
{
    for (size_t i = 0; i < plan->step_count; i++) {
        for (size_t k = 0; k < plan->steps[i].step.count; k++) {
            const struct form *form = &plan->steps[i].forms[k];
            const struct op *op = &plan->steps[i].step.ops[k];
            fprintf(stream, "kernel    stage %zu %s", i + 1, op_name(op));
            phrase_joint(stream, op);
            fprintf(stream, ": rung %s", form->rung->name);
            phrase_form(stream, form);
            phrase_launch(stream, form);
            fprintf(stream, "\n");
        }
    }
    phrase_sums(stream, plan);
}

/* The time of the run, and of its parts, which overlap. */
static void print_seconds(FILE *stream, const struct run_summary *summary)
{
    struct record_span spans[RECORD_SPANS];

    record_spans(summary, spans);
    fprintf(stream, "seconds   %.4f", summary->seconds.total);
    for (size_t i = 0; i < RECORD_SPANS; i++) {
        /* A share of the total is that of one thread: several that do the same work at once are not added
           up. */
        if (strcmp(spans[i].name, "stats") != 0 || summary->tallies_in != NULL)
            fprintf(stream, "%s %s %.4f (%.0f %%)", i == 0 ? ", side by side:" : ",", spans[i].name,
                    spans[i].seconds, 100.0 * spans[i].each / summary->seconds.total);
    }
    fprintf(stream, "\n");
}

/* As many as fit into a line; JSON has them all. */
#define LATEST_CHECKS 4

/* The latest checks of --until. */
static void print_checks(FILE *stream, const struct convergence *checks)
{
    size_t kept = convergence_kept(checks), first = kept > LATEST_CHECKS ? kept - LATEST_CHECKS : 0;

    if (kept == 0)
        return;
    fprintf(stream, "checks    %llu, RMS change", (unsigned long long)checks->count);
    for (size_t i = first; i < kept; i++) {
        struct convergence_check check = convergence_at(checks, i);
        fprintf(stream, "%s %.9g at step %llu", i > first ? "," : "", check.change,
                (unsigned long long)check.step);
    }
    fprintf(stream, "\n");
}

/* A line for each of several devices. */
static void print_lanes(FILE *stream, const struct plan *plan, const struct run_summary *summary)
{
    for (size_t i = 0; i < plan->shares.held && plan->shares.held > 1; i++) {
        const struct lane *lane = &plan->lanes[i];
        const struct run_share *share = &summary->shares[i];
        fprintf(stream, "          %s:%d: computed %.4f s, was handed %s in %.4f s\n", lane->backend->name,
                lane->index, share->compute, number_format_bytes((double)share->handed_bytes).text,
                share->handing);
    }
}

/* The report in lines: what was run on what, in which memory, by which kernels, and how long it took. */
static void print_run(FILE *stream, const struct pipeline *pipeline)
{
    const struct plan *plan = &pipeline->plan;
    const struct job *job = &pipeline->job;
    const struct run_summary *summary = &pipeline->summary;
    double rate = record_rate(plan, summary);

    phrase_ends(stream, pipeline->request->input, pipeline->request->output);
    fprintf(stream, ": ");
    phrase_grid(stream, &job->in);
    fprintf(stream, ", %s -> %s, work %s\n", sample_name(job->in.type), sample_name(job->out.type),
            work_name(job->work));
    phrase_region(stream, job);
    phrase_columns(stream, job);
    if (job->mask_plane_bytes > 0)
        fprintf(stream, "mask      %s: %llu of %llu samples of a channel are outside\n",
                file_in_name(pipeline->mask.file), (unsigned long long)summary->outcomes.outside,
                (unsigned long long)job_pixels(job));
    if (job->decode.missing && !job->copies)
        fprintf(stream, "missing   %llu sample%s\n", (unsigned long long)summary->outcomes.missing,
                number_plural(summary->outcomes.missing));
    phrase_ranks(stream, pipeline);
    phrase_device(stream, plan);
    phrase_shares(stream, plan);
    print_lanes(stream, plan, summary);
    fprintf(stream, "memory    %s planned\n", number_format_bytes((double)plan->schedule.memory_bytes).text);
    print_routines(stream, plan);
    fprintf(stream, "steps     %llu", (unsigned long long)summary->steps);
    if (!isnan(summary->last_change))
        fprintf(stream, ", RMS change of the last %.9g", summary->last_change);
    fprintf(stream, "\n");
    print_checks(stream, &summary->checks);
    print_seconds(stream, summary);
    fprintf(stream, "rate      ");
    if (!isnan(rate))
        fprintf(stream, "%.1f Msample-steps/s of computing, ", rate / 1e6);
    fprintf(stream, "%.1f MB/s from input to output\n",
            record_file_bytes(job) / summary->seconds.total / 1e6);
    notes_print_losses(stream, job, summary);
}

/* ---- as asked for ---- */

void report_figures(const struct options *options, const struct pipeline *pipeline)
{
    if (!options->run.stats || options->report == REPORT_JSON)
        return;
    if (options->input_count > 1) {
        phrase_ends(diag_stream(), pipeline->request->input, pipeline->request->output);
        fprintf(diag_stream(), "\n");
    }
    print_tallies(diag_stream(), "input", &pipeline->job.in, pipeline->summary.tallies_in);
    print_tallies(diag_stream(), "output", &pipeline->job.out, pipeline->summary.tallies_out);
}

void report_run(FILE *stream, const struct options *options, const struct pipeline *pipeline)
{
    if (stream == NULL)
        stream = diag_stream();
    if (options->report == REPORT_TEXT)
        print_run(stream, pipeline);
    else if (options->report == REPORT_JSON)
        report_json_run(stream, options, pipeline);
}

void report_failure(FILE *stream, const struct options *options, const struct pipeline_request *request,
                    const struct fault *fault)
{
    char line[DIAG_TEXT];

    if (stream == NULL)
        return;
    if (options->report == REPORT_JSON) {
        report_json_failure(stream, options, request, fault);
        return;
    }
    phrase_ends(stream, request->input, request->output);
    fprintf(stream, ": failed with status %d: %s\n", (int)fault->status,
            diag_printable(fault->text, line, sizeof line));
}

/* ---- lines that are kept ---- */

void lines_begin(struct lines *lines)
{
    *lines = (struct lines){.text = NULL};
    lines->stream = open_memstream(&lines->text, &lines->size);
    /* Without a stream, lines are printed at once, out of their order: that is better than none. */
    lines->torn = lines->stream == NULL;
}

void lines_end(struct lines *lines)
{
    if (lines->stream != NULL)
        lines->torn = fclose(lines->stream) != 0;
    lines->stream = NULL;
}

void lines_free(struct lines *lines)
{
    free(lines->text);
    *lines = (struct lines){.stream = NULL};
}

void lines_tell(struct lines *lines)
{
    if (lines->size > 0)
        fwrite(lines->text, 1, lines->size, diag_stream());
    lines_free(lines);
}

void lines_tell_new(struct lines *lines, struct lines *told)
{
    if (lines->size > 0 && (told->size != lines->size || memcmp(told->text, lines->text, lines->size) != 0)) {
        fwrite(lines->text, 1, lines->size, diag_stream());
        lines_free(told);
        *told = *lines;
        *lines = (struct lines){.stream = NULL};
    } else {
        lines_free(lines);
    }
}

/* ---- the file ---- */

bool report_file_open(struct report_file *report, const char *path, bool sync, struct fault *fault)
{
    *report = (struct report_file){.file = NULL};
    if (path == NULL)
        return true;
    if (!file_out_open_text(&report->file, path, fault))
        return fault_prefix(fault, "--report");
    if (sync)
        file_out_sync(report->file);
    return true;
}

void report_file_begin_part(const struct report_file *report, struct lines *part)
{
    if (report->file != NULL)
        lines_begin(part);
    else
        *part = (struct lines){.stream = NULL};
}

void report_file_add(struct report_file *report, struct lines *part)
{
    lines_end(part);
    if (report->file != NULL && !report->lost && !report->joined)
        report->lost = part->torn ? !fault_raise(&report->fault, STATUS_LIMIT, "there is no memory for it")
                                  : !file_out_write(report->file, part->text, part->size, &report->fault);
    lines_free(part);
}

static void complete(struct report_file *report)
{
    /* What fails here is told when the file is committed, so that it does not hide the status of a run. */
    if (!report->lost)
        report->lost = !file_out_complete(report->file, &report->fault);
}

bool report_file_join(struct report_file *report, struct file_set *set, struct fault *fault)
{
    complete(report);
    report->joined = !report->lost;
    return report->lost || file_set_add(set, report->file, fault);
}

void report_file_restart(struct report_file *report, const char *path, bool sync)
{
    struct fault unheard; /* after that of the run */

    file_out_close(report->file);
    if (!report_file_open(report, path, sync, &unheard))
        report->file = NULL;
}

bool report_file_commit(struct report_file *report, struct fault *fault)
{
    bool done;

    if (report->file == NULL)
        return true;
    complete(report);
    if (report->lost)
        *fault = report->fault;
    done = !report->lost && file_set_commit_one(report->file, fault);
    file_out_close(report->file);
    return done || fault_prefix(fault, "--report");
}
