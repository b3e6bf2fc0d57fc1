/* One run: one input to one output, as a command line asks for it. */
#include "run_one.h"

#include "base/path.h"
#include "drawings.h"
#include "explain.h"
#include "notes.h"
#include "outputs.h"
#include "plan_json.h"
#include "report.h"
#include "tee_list.h"

#include <sys/stat.h>
#include <unistd.h>

bool run_one_reads_file(const char *input)
{
    struct stat info;
    int result = path_is_standard(input) ? fstat(STDIN_FILENO, &info) : stat(input, &info);

    return result == 0 && S_ISREG(info.st_mode);
}

struct pipeline_request run_one_request(const struct options *options, const char *input, const char *output)
{
    struct pipeline_request request = {.input = input,
                                       .output = output,
                                       .format = options->format,
                                       .source = options->source,
                                       .job = options->job,
                                       .plan = options->plan,
                                       .out_format = options->out_format,
                                       .level = options->level,
                                       .sync = options->sync,
                                       .run = options->run,
                                       .peers = options->peers,
                                       .will_run = options->action != ACTION_EXPLAIN};

    request.plan.explains =
        options->action == ACTION_EXPLAIN && !options->json && diag_level() == DIAG_VERBOSE;
    if (options->program == PROGRAM_IMGHEAT) {
        request.format = &format_png;
    } else {
        request.refused = &format_png;
        request.refusal = "a PNG picture: imgheat filters pictures";
    }
    return request;
}

/* The CPU does what a device left undone. */
static bool run_again(struct pipeline *pipeline, struct fault *fault)
{
    const struct fault setback = *fault;

    if (!pipeline_retreat(pipeline, fault))
        return false;
    notes_setback(&setback);
    return pipeline_plan(pipeline, fault) && pipeline_run(pipeline, fault);
}

static void explain(const struct run_one *one, const struct pipeline *pipeline)
{
    if (one->options->json)
        plan_json_print(stdout, one->options, pipeline);
    else
        explain_plan(stdout, pipeline);
}

static void tell(const struct run_one *one, const struct pipeline *pipeline)
{
    notes_outcome(pipeline);
    report_figures(one->options, pipeline);
    if (one->report_file == NULL)
        report_run(one->report, one->options, pipeline);
}

/* What comes with the outputs of a run. */
struct company {
    const struct run_one *one;
    struct drawings drawings;
};

static bool add_report(const struct run_one *one, const struct pipeline *pipeline, struct file_set *set,
                       struct fault *fault)
{
    struct report_file *file = one->report_file;
    struct lines part;

    if (file == NULL)
        return true;
    report_file_begin_part(file, &part);
    if (part.stream != NULL)
        report_run(part.stream, one->options, pipeline);
    report_file_add(file, &part);
    return report_file_join(file, set, fault);
}

static bool add_files(void *listener, const struct pipeline *pipeline, struct file_set *set,
                      struct fault *fault)
{
    struct company *company = listener;

    return drawings_finish(&company->drawings, pipeline, set, fault) &&
           add_report(company->one, pipeline, set, fault);
}

static bool carry_out(const struct run_one *one, struct pipeline *pipeline, struct drawings *drawings,
                      struct fault *fault)
{
    struct peers *peers = one->request.peers;

    if (one->options->action == ACTION_EXPLAIN) {
        if (peers_lead(peers))
            explain(one, pipeline);
        return true;
    }
    if (!peers_follow(peers, !peers_lead(peers) || drawings_open(drawings, fault), fault))
        return false;
    if (!pipeline_run(pipeline, fault) && !(pipeline->may_retreat && run_again(pipeline, fault)))
        return false;
    if (peers_lead(peers))
        tell(one, pipeline);
    return true;
}

static bool plan(struct pipeline *pipeline, struct fault *fault)
{
    bool done = pipeline_plan(pipeline, fault);

    notes_setback(&pipeline->plan.setback);
    return done;
}

static bool run(const struct run_one *one, struct pipeline *pipeline, struct drawings *drawings,
                struct fault *fault)
{
    if (!plan(pipeline, fault))
        return false;
    notes_options(one->on_options, pipeline);
    notes_beforehand(pipeline);
    if (!carry_out(one, pipeline, drawings, fault))
        return false;
    notes_left_out(pipeline);
    return true;
}

/* Once the steps are known. */
static bool take_tees(const struct options *options, const struct pipeline *pipeline, struct tee_list *tees,
                      struct pipeline_request *request, struct fault *fault)
{
    if (!tee_list_make(tees, options, pipeline, fault))
        return false;
    request->tees = tees->tees;
    request->tee_count = tees->count;
    request->tee_pattern = tees->pattern;
    return true;
}

/* A line that is about neither file does not say which of several inputs it is of. */
static enum status tell_failure(const struct run_one *one, struct fault *fault)
{
    const struct pipeline_request *request = &one->request;

    if (request->budget != NULL && !fault_is_about(fault, request->input) &&
        !fault_is_about(fault, request->output))
        fault_prefix(fault, request->input);
    if (one->report_file != NULL && one->report_file->joined)
        report_file_restart(one->report_file, one->options->report_path, one->options->sync);
    report_failure(one->report, one->options, request, fault);
    return diag_error(fault);
}

/* Of several ranks, the first looks at files that do not belong to the others. */
static bool settle_files(const struct run_one *one, const struct pipeline *pipeline, struct tee_list *tees,
                         struct pipeline_request *request, struct fault *fault)
{
    const struct options *options = one->options;
    struct peers *peers = one->request.peers;

    return peers_agree(peers, take_tees(options, pipeline, tees, request, fault), fault) &&
           peers_follow(peers, !peers_lead(peers) || outputs_spare_samples(options, pipeline, fault), fault);
}

enum status run_one(const struct run_one *one)
{
    struct company company = {.one = one};
    struct pipeline_request request = one->request;
    struct tee_list tees = {.count = 0};
    struct pipeline pipeline;
    struct fault fault;
    enum status status;
    bool done;

    request.run.observers = drawings_observers(&company.drawings, one->options);
    request.add_files = add_files;
    request.listener = &company;
    done = pipeline_open(&pipeline, &request, &fault) &&
           settle_files(one, &pipeline, &tees, &request, &fault) &&
           run(one, &pipeline, &company.drawings, &fault);
    status = pipeline.status;
    drawings_close(&company.drawings);
    pipeline_close(&pipeline);
    tee_list_free(&tees);
    return done ? status : tell_failure(one, &fault);
}
