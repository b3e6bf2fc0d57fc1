/* Reports of runs as JSON. */
#include "report_json.h"

#include "base/json.h"
#include "pipeline/loss.h"
#include "pipeline/record.h"
#include "phrase.h"
#include "plan_json.h"

#include <math.h>

/* Volumes are counted as those of the input. */
static void print_tallies(FILE *stream, const char *name, const struct tally *tallies,
                          const struct header *header)
{
    size_t channels = header->grid.channels;

    fprintf(stream, ", \"%s\": [", name);
    for (size_t i = 0; i < header->volumes * channels; i++) {
        const struct tally *tally = &tallies[i];
        fprintf(stream, "%s{", i > 0 ? ", " : "");
        json_number(stream, "min", tally->min);
        fprintf(stream, ", ");
        json_number(stream, "max", tally->max);
        fprintf(stream, ", ");
        json_number(stream, "mean", record_mean(tally));
        fprintf(stream, ", ");
        json_number(stream, "deviation", record_deviation(tally));
        fprintf(stream, ", ");
        json_number(stream, "l2", sqrt(tally->energy));
        fprintf(stream, ", \"count\": %llu, \"nan\": %llu, \"volume\": %zu}",
                (unsigned long long)tally->count, (unsigned long long)tally->nans,
                header->choice.volume + i / channels);
    }
    fprintf(stream, "]");
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
    plan_json_begin(stream, request);
    fprintf(stream, ", \"status\": %d, \"error\": ", (int)status);
    if (error == NULL)
        fprintf(stream, "null");
    else
        json_text(stream, error);
    plan_json_command(stream, options);
}

/* As --crop takes it. */
static void print_range(FILE *stream, const struct loss *loss, const struct run_summary *summary)
{
    if (isnan(summary->low))
        fprintf(stream, "\"out_range\": null, ");
    else
        fprintf(stream, "\"out_range\": {\"from\": [%.17g, %.17g], \"to\": [%.10g, %.10g]}, ", summary->low,
                summary->high, loss->least, loss->greatest);
}

/* All counts; where none were made, null. */
static void print_losses(FILE *stream, const struct pipeline *pipeline, const char *path,
                         const struct header *written, const struct run_summary *summary)
{
    const struct job *job = &pipeline->job;
    const struct record_left_out left_out = record_left_out(pipeline, path, written);
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
    fprintf(stream, ", \"left_out\": ");
    json_text(stream, left_out.text);
}

static void print_tees(FILE *stream, const struct pipeline *pipeline)
{
    const struct pipeline_request *request = pipeline->request;

    fprintf(stream, ", \"tees\": [");
    for (size_t i = 0; i < request->tee_count; i++) {
        const struct run_summary summary = record_of_tee(pipeline, i);
        const struct header written = job_written_after(&pipeline->job, request->tees[i].step);
        fprintf(stream, "%s{\"step\": %llu, \"output\": ", i > 0 ? ", " : "",
                (unsigned long long)request->tees[i].step);
        json_text(stream, phrase_output(request->tees[i].path));
        fprintf(stream, ", ");
        print_losses(stream, pipeline, request->tees[i].path, &written, &summary);
        fprintf(stream, "}");
    }
    fprintf(stream, "]");
}

/* What each of several devices did. */
static void print_shares(FILE *stream, const struct plan *plan, const struct run_summary *summary)
{
    if (plan->shares.held == 1)
        return;
    fprintf(stream, ", \"shares\": [");
    for (size_t i = 0; i < plan->shares.held; i++) {
        const struct lane *lane = &plan->lanes[i];
        fprintf(stream, "%s{\"device\": \"%s:%d\", ", i > 0 ? ", " : "", lane->backend->name, lane->index);
        json_number(stream, "compute", summary->shares[i].compute);
        fprintf(stream, ", \"handed_bytes\": %llu, ", (unsigned long long)summary->shares[i].handed_bytes);
        json_number(stream, "handed_seconds", summary->shares[i].handing);
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
    plan_json_members(stream, pipeline);
    print_shares(stream, plan, summary);
    fprintf(stream, ", \"steps\": %llu, ", (unsigned long long)summary->steps);
    print_losses(stream, pipeline, pipeline->request->output, &job->written, summary);
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
        print_tallies(stream, "stats_in", summary->tallies_in, &job->in);
        print_tallies(stream, "stats_out", summary->tallies_out, &job->out);
    }
    fprintf(stream, "}\n");
}
