/* Reports of runs as JSON. */
#include "report_json.h"

#include "pipeline/loss.h"
#include "pipeline/record.h"
#include "phrase.h"
#include "plan_json.h"

#include <math.h>

/* Volumes are counted as those of the input. */
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
    json_number(json, "total", summary->total);
    for (size_t i = 0; i < RECORD_SPANS; i++)
        json_number(json, spans[i].name, spans[i].seconds);
    json_end_object(json);
    json_begin_object(json, "busy");
    for (size_t i = 0; i < RECORD_SPANS; i++)
        json_number(json, spans[i].name, spans[i].each / summary->total);
    json_end_object(json);
}

/* The latest, HISTORY_KEPT at most. */
static void print_looks(struct json *json, const struct history *looks)
{
    json_count(json, "check_count", looks->count);
    json_begin_array(json, "checks");
    for (size_t i = 0; i < history_kept(looks); i++) {
        struct history_look look = history_at(looks, i);
        json_begin_object(json, NULL);
        json_count(json, "step", look.step);
        json_number(json, "change", look.change);
        json_end_object(json);
    }
    json_end_array(json);
}

/* Between what and what, by whom, how it ended, and what had been asked for. */
static void begin_report(struct json *json, const struct options *options,
                         const struct pipeline_request *request, enum status status, const char *error)
{
    json_begin_object(json, NULL);
    plan_json_ends(json, request);
    json_count(json, "status", status);
    json_text(json, "error", error);
    plan_json_command(json, options);
}

static void end_report(struct json *json)
{
    json_end_object(json);
    fprintf(json->stream, "\n");
}

static void print_range(struct json *json, const struct loss *loss, const struct run_summary *summary)
{
    if (isnan(summary->low)) {
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

static void print_cut_off(struct json *json, const struct loss *loss)
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

/* Of a run that copies into anything else than integers, samples are not looked at. */
static void print_strays(struct json *json, const struct job *job, const struct loss *loss)
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

/* All counts; where none were made, null. */
static void print_losses(struct json *json, const struct pipeline *pipeline, const char *path,
                         const struct header *written, const struct run_summary *summary)
{
    const struct job *job = &pipeline->job;
    const struct record_left_out left_out = record_left_out(pipeline, path, written);
    const struct loss loss = loss_of(job, summary);

    print_range(json, &loss, summary);
    json_count(json, "nan_written_as_zero", loss.nans);
    print_cut_off(json, &loss);
    print_strays(json, job, &loss);
    json_text(json, "left_out", left_out.text);
}

static void print_tees(struct json *json, const struct pipeline *pipeline)
{
    const struct pipeline_request *request = pipeline->request;

    json_begin_array(json, "tees");
    for (size_t i = 0; i < request->tee_count; i++) {
        const struct run_summary summary = record_of_tee(pipeline, i);
        const struct header written = job_written_after(&pipeline->job, request->tees[i].step);
        json_begin_object(json, NULL);
        json_count(json, "step", request->tees[i].step);
        json_text(json, "output", phrase_output(request->tees[i].path));
        print_losses(json, pipeline, request->tees[i].path, &written, &summary);
        json_end_object(json);
    }
    json_end_array(json);
}

/* What each of several devices did. */
static void print_shares(struct json *json, const struct plan *plan, const struct run_summary *summary)
{
    if (plan->shares.held == 1)
        return;
    json_begin_array(json, "shares");
    for (size_t i = 0; i < plan->shares.held; i++) {
        const struct lane *lane = &plan->lanes[i];
        char device[64];
        snprintf(device, sizeof device, "%s:%d", lane->backend->name, lane->index);
        json_begin_object(json, NULL);
        json_text(json, "device", device);
        json_number(json, "compute", summary->shares[i].compute);
        json_count(json, "handed_bytes", summary->shares[i].handed_bytes);
        json_number(json, "handed_seconds", summary->shares[i].handing);
        json_end_object(json);
    }
    json_end_array(json);
}

void report_json_failure(FILE *stream, const struct options *options, const struct pipeline_request *request,
                         const struct fault *fault)
{
    struct json json = {.stream = stream};

    begin_report(&json, options, request, fault->status, fault->text);
    end_report(&json);
}

void report_json_run(FILE *stream, const struct options *options, const struct pipeline *pipeline)
{
    const struct plan *plan = &pipeline->plan;
    const struct job *job = &pipeline->job;
    const struct run_summary *summary = &pipeline->summary;
    struct json json = {.stream = stream};

    begin_report(&json, options, pipeline->request, pipeline->status, NULL);
    plan_json_members(&json, pipeline);
    print_shares(&json, plan, summary);
    json_count(&json, "steps", summary->steps);
    print_losses(&json, pipeline, pipeline->request->output, &job->written, summary);
    print_tees(&json, pipeline);
    json_number(&json, "last_change", summary->last_change);
    print_looks(&json, &summary->looks);
    print_seconds(&json, summary);
    json_number(&json, "samples_steps_per_second", record_rate(plan, summary));
    json_number(&json, "bytes_per_second", record_file_bytes(job) / summary->total);
    if (summary->tallies_in != NULL) {
        print_tallies(&json, "stats_in", summary->tallies_in, &job->in);
        print_tallies(&json, "stats_out", summary->tallies_out, &job->out);
    }
    end_report(&json);
}
