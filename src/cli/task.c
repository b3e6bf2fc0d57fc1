/* Tasks: one input to one output, opened, planned, run and told. */
#include "task.h"

#include "base/thread.h"
#include "format/kind.h"
#include "plan/effect.h"
#include "plan/job.h"
#include "plan/plan.h"
#include "run/run.h"
#include "explain.h"
#include "loss.h"
#include "record.h"
#include "report.h"

#include <math.h>
#include <pthread.h>
#include <string.h>

/* One try at a task, on the device that the request asks for. */
struct attempt {
    const struct task *task;
    struct plan_request request;
    bool measures; /* whether the share is enough is all that is asked for */
    bool fits;     /* it is */
    bool holds_device;
    bool repeated;      /* another one came before */
    enum status status; /* of what was carried out */
    bool again;         /* it failed by a device that was chosen unasked, and nobody has seen any output */
};

const struct format *task_format(const struct options *options, struct file_in *file, struct fault *fault)
{
    const struct format *format = options->format;

    if (options->program == PROGRAM_IMGHEAT)
        return &format_png;
    if (format == NULL)
        format = format_sniff(file, fault);
    if (format == &format_png) {
        fault_raise(fault, STATUS_INPUT, "%s: a PNG picture: imgheat filters pictures", file_in_name(file));
        return NULL;
    }
    return format;
}

static size_t codec_threads(const struct attempt *attempt)
{
    return thread_count(attempt->request.threads);
}

/* A run that nobody looks at before its end ends nowhere sooner. */
static void note_late_look(const char *input, const struct job *job)
{
    const struct stage *last = &job->stages[job->stage_count - 1];

    if (last->until > 0.0 && last->steps > 1 && looks_count(&last->looks) == 1)
        diag_note("%s: --until: only the last of %llu steps is checked; --check-every checks sooner", input,
                  (unsigned long long)last->steps);
}

static void note_options(FILE *stream, const struct job *job)
{
    FILE *messages = diag_stream();

    if (stream != NULL)
        diag_divert(stream);
    effect_note_stages(job);
    diag_divert(messages);
}

static void note_unreached(const struct plan *plan, const char *output, double last_change)
{
    const struct stage *last = &plan->job->stages[plan->job->stage_count - 1];
    char change[32];

    if (last->steps == 0) {
        diag_note("%s: --until %g was not reached: no steps were requested", output, last->until);
        return;
    }
    snprintf(change, sizeof change, "%g", last_change);
    diag_note("%s: --until %g was not reached: the RMS change of step %llu is %s", output, last->until,
              (unsigned long long)last->steps, isnan(last_change) ? "not a number" : change);
}

static void tell_outcome(const struct task *task, const struct record *record)
{
    const struct run_summary *summary = record->summary;
    const char *output = record->ends.output;

    loss_note(output, record->plan->job, summary);
    if (summary->unreached)
        note_unreached(record->plan, output, summary->last_change);
    report_run(task->report, task->budget != NULL, record);
}

static bool write_output(struct attempt *attempt, const struct plan *plan, struct source *source,
                         struct file_out *file, struct fault *fault)
{
    const struct task *task = attempt->task;
    const struct options *options = task->options;
    const struct sink_request request = {
        .level = options->level, .threads = codec_threads(attempt), .origin = source};
    const struct format *format = options->out_format != NULL ? options->out_format : source->format;
    struct run_summary summary;
    struct sink sink;
    bool done;

    if (!sink_open(&sink, file, format, &plan->job->out, &request, fault))
        return false;
    done = run_plan(plan, &task->run, source, &sink, &summary, fault);
    sink_close(&sink);
    done = done && file_out_commit(file, fault);
    if (done) {
        attempt->status = summary.unreached ? STATUS_UNREACHED : STATUS_DONE;
        tell_outcome(task, &(struct record){options, record_ends(task->input, task->output), attempt->status,
                                            plan, &summary});
    }
    run_summary_free(&summary);
    return done;
}

static bool is_device_fault(const struct fault *fault)
{
    return fault->status == STATUS_DEVICE || fault->status == STATUS_LIMIT;
}

static bool run(struct attempt *attempt, const struct plan *plan, struct source *source, struct fault *fault)
{
    struct file_out *file;
    bool done;

    if (!file_open_output(&file, attempt->task->output, fault))
        return false;
    done = write_output(attempt, plan, source, file, fault);
    attempt->again = !done && plan->replaceable && is_device_fault(fault) && file_out_unseen(file);
    file_out_close(file);
    return done;
}

static bool run_within_budget(struct attempt *attempt, const struct plan *plan, struct source *source,
                              struct fault *fault)
{
    struct budget *budget = attempt->task->budget;
    uint64_t bytes = budget_claim(budget, plan->passes.memory_bytes);
    bool done = run(attempt, plan, source, fault);

    budget_return(budget, bytes);
    return done;
}

/* What to know before the job is done: what was assumed, and what will not be what it looks like. */
static void tell_beforehand(const struct task *task, const struct source *source)
{
    const struct kind *kind = kind_of_name(task->output);

    if (source->remark[0] != '\0')
        diag_note("%s", source->remark);
    if (source->doubt[0] != '\0')
        diag_note("%s", source->doubt);
    if (kind != NULL && task->options->out_format == NULL && !(kind->is_png && source->format == &format_png))
        diag_note("%s: %s written, despite the name", task->output,
                  source->format == &format_png ? "a PNG picture is" : "raw samples are");
}

static bool carry_out(struct attempt *attempt, const struct plan *plan, struct source *source,
                      struct fault *fault)
{
    const struct task *task = attempt->task;

    if (!attempt->repeated) {
        const char *input = file_in_name(source->file);
        note_options(task->on_options, plan->job);
        tell_beforehand(task, source);
        note_late_look(input, plan->job);
        effect_note_input(input, &task->options->job, plan->job);
    }
    if (task->options->action == ACTION_EXPLAIN) {
        const struct record_ends ends = record_ends(task->input, task->output);
        explain_plan(stdout, plan, &ends);
        return true;
    }
    return task->budget != NULL ? run_within_budget(attempt, plan, source, fault)
                                : run(attempt, plan, source, fault);
}

static void take_device(struct attempt *attempt)
{
    budget_take_device(attempt->task->budget);
    attempt->holds_device = true;
}

static void return_device(struct attempt *attempt)
{
    budget_return_device(attempt->task->budget);
    attempt->holds_device = false;
}

/* Before a plan is made nobody knows whether it takes a device. */
static bool may_take_device(const struct attempt *attempt)
{
    const struct plan_request *request = &attempt->request;

    return attempt->task->budget != NULL && plan_backends[0] != &backend_cpu &&
           (plan_chooses_device(request) || plan_names_device(request));
}

/* Within the share where that costs no pass over the data more, else within all the memory that there is. */
static bool make_plan(struct attempt *attempt, const struct job *job, const struct source *source,
                      struct plan *plan, struct fault *fault)
{
    struct plan_request within_share = attempt->request;

    within_share.memory = attempt->task->share;
    if (within_share.memory > 0 && plan_make(&within_share, job, source, plan, fault)) {
        attempt->fits = !plan->passes.spooled && !plan->passes.holds_in_spool;
        if (attempt->fits)
            return true;
        plan_free(plan);
    }
    return plan_make(&attempt->request, job, source, plan, fault);
}

static bool filter_on_device(struct attempt *attempt, const struct job *job, struct source *source,
                             struct fault *fault)
{
    struct plan plan;
    bool done = make_plan(attempt, job, source, &plan, fault);

    if (attempt->holds_device && (!done || plan.backend == &backend_cpu))
        return_device(attempt);
    if (!done)
        return false;
    if (!attempt->measures)
        done = carry_out(attempt, &plan, source, fault);
    plan_free(&plan);
    return done;
}

static bool filter_planned(struct attempt *attempt, const struct job *job, struct source *source,
                           struct fault *fault)
{
    bool done;

    if (may_take_device(attempt))
        take_device(attempt);
    done = filter_on_device(attempt, job, source, fault);
    if (attempt->holds_device)
        return_device(attempt);
    return done;
}

static bool filter_source(struct attempt *attempt, struct source *source, struct fault *fault)
{
    const struct task *task = attempt->task;
    struct job job;
    bool done;

    if (!job_make(&task->options->job, source, &job, fault))
        return false;
    done = filter_planned(attempt, &job, source, fault);
    job_free(&job);
    if (done && source->losses[0] != '\0')
        diag_note("%s: left out: %s", file_in_name(source->file), source->losses);
    return done;
}

static bool filter_once(struct attempt *attempt, struct file_in *file, struct fault *fault)
{
    const struct options *options = attempt->task->options;
    const struct format *format = task_format(options, file, fault);
    struct source_request request = options->source;
    struct source source;
    bool done;

    request.threads = codec_threads(attempt);
    if (format == NULL || !source_open(&source, file, format, &request, fault))
        return false;
    done = filter_source(attempt, &source, fault);
    source_close(&source);
    return done;
}

/* The CPU does what a device left undone, from the start of the input. */
static bool filter_again(struct attempt *attempt, struct file_in *file, struct fault *fault)
{
    struct fault of_device = *fault;

    if (!file_in_rewind(file))
        return fault_raise(fault, of_device.status, "%.4096s; %s cannot be read again for the CPU",
                           of_device.text, file_in_name(file));
    diag_note("%s; computing on the CPU", fault->text);
    attempt->request.device = backend_cpu.name;
    attempt->repeated = true;
    return filter_once(attempt, file, fault);
}

static bool filter_file(struct attempt *attempt, struct file_in *file, struct fault *fault)
{
    return filter_once(attempt, file, fault) || (attempt->again && filter_again(attempt, file, fault));
}

static void *warm_up(void *data)
{
    plan_warm_up(&((const struct task *)data)->plan);
    return NULL;
}

/* A device starts while the first of the input is being read, which may mean to wait for another program.
   Among other tasks it has been started, or soon is. */
static bool filter_and_warm_up(struct attempt *attempt, struct file_in *file, struct fault *fault)
{
    struct task task = *attempt->task;
    pthread_t thread;
    bool started =
        task.budget == NULL && plan_names_device(&task.plan) && thread_start_roomy(&thread, warm_up, &task);
    bool done = filter_file(attempt, file, fault);

    if (started)
        pthread_join(thread, NULL);
    return done;
}

static bool attempt_file(struct attempt *attempt, struct fault *fault)
{
    struct file_in *file;
    bool done;

    if (!file_open_input(&file, attempt->task->input, fault))
        return false;
    done = filter_and_warm_up(attempt, file, fault);
    file_in_close(file);
    return done;
}

struct task task_alone(const struct options *options, const char *input, const char *output)
{
    return (struct task){
        .options = options, .input = input, .output = output, .plan = options->plan, .run = options->run};
}

bool task_run(const struct task *task, enum status *status, struct fault *fault)
{
    struct attempt attempt = {.task = task, .request = task->plan};
    bool done = attempt_file(&attempt, fault);

    *status = done ? attempt.status : fault->status;
    return done;
}

bool task_fits_share(const struct task *task)
{
    struct attempt attempt = {.task = task, .request = task->plan, .measures = true};
    struct fault fault;

    attempt.request.device = backend_cpu.name;
    if (attempt_file(&attempt, &fault))
        return attempt.fits;
    return fault.status != STATUS_LIMIT;
}
