/* Runs as the commands make them, from the file named in to the file named out, on the program's device. */
#include "running.h"

#include "plan/devices.h"
#include "assertions.h"
#include "harness.h"

#include <stdio.h>
#include <unistd.h>

/* The summary outlives the pipeline. */
static void run_pipeline(struct outcome *outcome, const struct pipeline_request *request)
{
    struct pipeline pipeline;

    outcome->done = pipeline_open(&pipeline, request, &outcome->fault) &&
                    pipeline_plan(&pipeline, &outcome->fault) && pipeline_run(&pipeline, &outcome->fault);
    outcome->summary = pipeline.summary;
    outcome->devices = pipeline.plan.shares.count;
    pipeline.summary = (struct run_summary){0};
    pipeline_close(&pipeline);
}

void running_command(struct outcome *outcome, enum program program, const char *options)
{
    const struct options *parsed = &outcome->command.options;
    char text[480];
    struct pipeline_request request;
    static unsigned long runs;

    running_vary(runs++);
    *outcome = (struct outcome){.done = false};
    snprintf(text, sizeof text, "-i in -o out -q -j 2 -D %s %s", running_device, options);
    unlink("out");
    command_parse(&outcome->command, program, text);
    ck_assert_msg(outcome->command.parsed, "%s: %s", options, outcome->command.fault.text);
    request = run_one_request(parsed, parsed->input, parsed->output);
    run_pipeline(outcome, &request);
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

static bool is_there(const char *device)
{
    struct devices devices;
    struct fault fault;

    return devices_find(device, &devices, &fault);
}

/* A machine of one GPU need not have two. */
int running_suite(const char *name, TCase *tests)
{
    running_vary(0);
    if (is_there(running_device))
        return harness_run(name, &tests, 1, RUNNING_PATIENCE);
    return is_there("cuda") ? HARNESS_SKIPPED : harness_without_device();
}
