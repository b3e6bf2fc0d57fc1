/* Pipelines: one input through the stages of a job to one output. */
#include "pipeline.h"

#include "base/thread.h"
#include "format/slice.h"

#include <string.h>

/* ---- the input ---- */

/* The device starts while the first of the input is being read, which may mean to wait for another program.
 */
static void *start_device(void *data)
{
    plan_warm_up(data);
    return NULL;
}

/* Among other pipelines it has been started, or soon is. */
static void begin_start(struct pipeline *pipeline)
{
    const struct pipeline_request *request = pipeline->request;

    pipeline->starts = request->budget == NULL && plan_names_device(&request->plan) &&
                       thread_start_roomy(&pipeline->starter, start_device, (void *)&request->plan);
}

static size_t codec_threads(const struct pipeline *pipeline)
{
    return thread_count(pipeline->request->plan.threads);
}

/* NULL where there is none, or one that is refused. */
static const struct format *find_format(const struct pipeline *pipeline, struct fault *fault)
{
    const struct pipeline_request *request = pipeline->request;
    const struct format *format =
        request->format != NULL ? request->format : format_of_input(pipeline->file, &request->source, fault);

    if (format == NULL || format != request->refused)
        return format;
    fault_raise(fault, STATUS_INPUT, "%s: %s", file_in_name(pipeline->file), request->refusal);
    return NULL;
}

static void close_source(struct pipeline *pipeline)
{
    job_free(&pipeline->job);
    if (pipeline->source.format != NULL)
        source_close(&pipeline->source);
    pipeline->source.format = NULL;
}

static bool open_source(struct pipeline *pipeline, struct fault *fault)
{
    const struct format *format = find_format(pipeline, fault);
    struct source_request request = pipeline->request->source;

    request.threads = codec_threads(pipeline);
    if (format == NULL || !source_open(&pipeline->source, pipeline->file, format, &request, fault)) {
        pipeline->source.format = NULL;
        return false;
    }
    return job_make(&pipeline->request->job, &pipeline->source, &pipeline->job, fault);
}

static bool open_input(struct pipeline *pipeline, struct fault *fault)
{
    if (!file_open_input(&pipeline->file, pipeline->request->input, fault))
        return false;
    begin_start(pipeline);
    return open_source(pipeline, fault);
}

bool pipeline_open(struct pipeline *pipeline, const struct pipeline_request *request, struct fault *fault)
{
    *pipeline = (struct pipeline){.request = request};
    if (open_input(pipeline, fault))
        return true;
    pipeline_close(pipeline);
    return false;
}

/* ---- the plan ---- */

/* Before a plan is made nobody knows whether it takes a device. */
static bool may_take_device(const struct pipeline *pipeline, const struct plan_request *request)
{
    return pipeline->request->budget != NULL && plan_backends[0] != &backend_cpu &&
           (plan_chooses_device(request) || plan_names_device(request));
}

static void take_device(struct pipeline *pipeline)
{
    budget_take_device(pipeline->request->budget);
    pipeline->holds_device = true;
}

static void return_device(struct pipeline *pipeline)
{
    if (pipeline->holds_device)
        budget_return_device(pipeline->request->budget);
    pipeline->holds_device = false;
}

static void close_plan(struct pipeline *pipeline)
{
    plan_free(&pipeline->plan);
    return_device(pipeline);
}

/* Within the share where that costs no pass over the data more, else within all the memory that there is. */
static bool make_plan(struct pipeline *pipeline, const struct plan_request *request, struct fault *fault)
{
    struct plan_request within_share = *request;
    struct plan *plan = &pipeline->plan;

    within_share.memory = pipeline->request->share;
    if (within_share.memory > 0 && plan_make(&within_share, &pipeline->job, &pipeline->source, plan, fault)) {
        pipeline->fits_share = !plan->schedule.spooled && !plan->schedule.holds_in_spool;
        if (pipeline->fits_share)
            return true;
        plan_free(plan);
    }
    return plan_make(request, &pipeline->job, &pipeline->source, plan, fault);
}

bool pipeline_plan(struct pipeline *pipeline, struct fault *fault)
{
    struct plan_request request = pipeline->request->plan;
    bool done;

    if (pipeline->device != NULL)
        request.device = pipeline->device;
    request.observer_bytes = observers_bytes(&pipeline->request->run.observers, &pipeline->job);
    if (may_take_device(pipeline, &request))
        take_device(pipeline);
    done = make_plan(pipeline, &request, fault);
    if (!done || pipeline->plan.lane.backend == &backend_cpu)
        return_device(pipeline);
    return done;
}

bool pipeline_would_fit(const struct pipeline_request *request)
{
    struct pipeline_request on_cpu = *request;
    struct pipeline pipeline;
    struct fault fault;
    bool done, fits;

    on_cpu.plan.device = backend_cpu.name;
    done = pipeline_open(&pipeline, &on_cpu, &fault) && pipeline_plan(&pipeline, &fault);
    fits = done ? pipeline.fits_share : fault.status != STATUS_LIMIT;
    pipeline_close(&pipeline);
    return fits;
}

/* ---- the run ---- */

const struct format *pipeline_output_format(const struct pipeline *pipeline)
{
    const struct pipeline_request *request = pipeline->request;
    const struct format *origin = pipeline->source.format;
    const struct format *named = request->output == NULL ? NULL : format_of_name(request->output);

    if (request->out_format != NULL)
        return request->out_format;
    return named == NULL || origin == &format_png || named == &format_png ? origin : named;
}

/* What is to be a picture may need more than its format. */
static const struct format *sink_format(const struct pipeline *pipeline)
{
    const struct job *job = &pipeline->job;

    return job->region_kind == REGION_SLICE && !slice_is_plain(job->written.type)
               ? &format_slice
               : pipeline_output_format(pipeline);
}

static bool run_into_sink(struct pipeline *pipeline, struct file_out *file, struct fault *fault)
{
    const struct pipeline_request *request = pipeline->request;
    const struct sink_request sink_request = {
        .level = request->level, .threads = codec_threads(pipeline), .origin = &pipeline->source};
    struct sink sink;
    bool done;

    if (!sink_open(&sink, file, sink_format(pipeline), &pipeline->job.written, &sink_request, fault))
        return false;
    done = run_plan(&pipeline->plan, &request->run, &pipeline->source, &sink, &pipeline->summary, fault);
    memcpy(pipeline->remark, sink.remark, sizeof pipeline->remark);
    sink_close(&sink);
    return done && file_out_commit(file, fault);
}

static bool is_device_fault(const struct fault *fault)
{
    return fault->status == STATUS_DEVICE || fault->status == STATUS_LIMIT;
}

static bool run_into_file(struct pipeline *pipeline, struct fault *fault)
{
    struct file_out *file;
    bool done;

    pipeline->may_retreat = false;
    if (!file_open_output(&file, pipeline->request->output, fault))
        return false;
    done = run_into_sink(pipeline, file, fault);
    if (done)
        pipeline->status = pipeline->summary.unreached ? STATUS_UNREACHED : STATUS_DONE;
    pipeline->may_retreat =
        !done && pipeline->plan.replaceable && is_device_fault(fault) && file_out_unseen(file);
    file_out_close(file);
    return done;
}

bool pipeline_run(struct pipeline *pipeline, struct fault *fault)
{
    struct budget *budget = pipeline->request->budget;
    uint64_t bytes = budget_claim(budget, pipeline->plan.schedule.memory_bytes);
    bool done = run_into_file(pipeline, fault);

    budget_return(budget, bytes);
    return done;
}

bool pipeline_retreat(struct pipeline *pipeline, struct fault *fault)
{
    const struct fault of_device = *fault;

    if (!file_in_rewind(pipeline->file))
        return fault_raise(fault, of_device.status, "%.4096s; %s cannot be read again for the CPU",
                           of_device.text, file_in_name(pipeline->file));
    run_summary_free(&pipeline->summary);
    close_plan(pipeline);
    close_source(pipeline);
    pipeline->device = backend_cpu.name;
    return open_source(pipeline, fault);
}

void pipeline_close(struct pipeline *pipeline)
{
    if (pipeline == NULL)
        return;
    run_summary_free(&pipeline->summary);
    close_plan(pipeline);
    close_source(pipeline);
    if (pipeline->starts)
        pthread_join(pipeline->starter, NULL);
    file_in_close(pipeline->file);
    *pipeline = (struct pipeline){.request = pipeline->request};
}
