/* Runs as the commands make them, from the file named in to the file named out, on the program's device. */
#include "running.h"

#include "base/file.h"
#include "format/format.h"
#include "plan/job.h"
#include "plan/plan.h"
#include "harness.h"

#include <check.h>
#include <stdio.h>
#include <unistd.h>

#define FORMAT_THREADS 2

static bool run_into_sink(struct outcome *outcome, const struct plan *plan, struct source *source,
                          struct file_out *file)
{
    const struct sink_request request = {.level = -1, .threads = FORMAT_THREADS, .origin = source};
    struct sink sink;
    bool done;

    if (!sink_open(&sink, file, source->format, &plan->job->out, &request, &outcome->fault))
        return false;
    done = run_plan(plan, &outcome->command.options.run, source, &sink, &outcome->summary, &outcome->fault);
    sink_close(&sink);
    return done && file_out_commit(file, &outcome->fault);
}

static bool run_job(struct outcome *outcome, const struct job *job, struct source *source)
{
    struct plan plan;
    struct file_out *file;
    bool done;

    if (!plan_make(&outcome->command.options.plan, job, source, &plan, &outcome->fault))
        return false;
    done = file_open_output(&file, outcome->command.options.output, &outcome->fault);
    if (done) {
        done = run_into_sink(outcome, &plan, source, file);
        file_out_close(file);
    }
    plan_free(&plan);
    return done;
}

static bool run_source(struct outcome *outcome, struct source *source)
{
    struct job job;
    bool done;

    if (!job_make(&outcome->command.options.job, source, &job, &outcome->fault))
        return false;
    done = run_job(outcome, &job, source);
    job_free(&job);
    return done;
}

void running_command(struct outcome *outcome, enum program program, const char *options)
{
    const struct format *format = program == PROGRAM_IMGHEAT ? &format_png : &format_raw;
    char text[480];
    struct source_request request;
    struct file_in *file;
    struct source source;
    static unsigned long runs;

    running_vary(runs++);
    *outcome = (struct outcome){.done = false};
    snprintf(text, sizeof text, "-i in -o out -q -j 2 -D %s %s", running_device, options);
    unlink("out");
    command_parse(&outcome->command, program, text);
    ck_assert_msg(outcome->command.parsed, "%s: %s", options, outcome->command.fault.text);
    request = outcome->command.options.source;
    request.threads = FORMAT_THREADS;
    ck_assert(file_open_input(&file, outcome->command.options.input, &outcome->fault));
    if (source_open(&source, file, format, &request, &outcome->fault)) {
        outcome->done = run_source(outcome, &source);
        source_close(&source);
    }
    file_in_close(file);
}

void outcome_free(struct outcome *outcome)
{
    run_summary_free(&outcome->summary);
    command_free(&outcome->command);
}

void outcome_done(const struct outcome *outcome)
{
    ck_assert_msg(outcome->done, "%s", outcome->fault.text);
}

unsigned char *running_bytes(const char *options, const void *in, size_t in_size, size_t out_size,
                             struct outcome *outcome)
{
    unsigned char *out;
    size_t got;

    file_fill("in", in, in_size);
    running_command(outcome, PROGRAM_VOXFILT, options);
    outcome_done(outcome);
    out = file_content("out", &got);
    ck_assert_uint_eq(got, out_size);
    return out;
}

/* ---- the program ---- */

static bool device_is_there(void)
{
    const struct plan_request request = {.device = running_device};
    const struct backend *backend;
    struct fault fault;
    int index;

    return plan_find_device(&request, &backend, &index, &fault);
}

int running_suite(const char *name, TCase *tests)
{
    return device_is_there() ? harness_run(name, &tests, 1, RUNNING_PATIENCE) : harness_without_device();
}
