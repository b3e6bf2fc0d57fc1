/* One run: one input to one output, as a command line asks for it.

   Opening the pipeline shows how many steps the last stage takes; only then it is known which tees or frames
   there are, and whether a path of the command line would replace samples of the input. Then the run is
   planned, and notes are printed. A run opens its preview and plot, computes, and completes them as soon as
   all outputs are written, so that all files get their names together. If a device fails that nobody asked
   for, the CPU begins again. */
#include "run_one.h"

#include "base/mem.h"
#include "base/number.h"
#include "base/path.h"
#include "model/limits.h"
#include "format/pattern.h"
#include "bench/plot.h"
#include "explain.h"
#include "notes.h"
#include "outputs.h"
#include "preview.h"
#include "report_json.h"

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
                                       .mask = options->mask,
                                       .format = options->format,
                                       .source = options->source,
                                       .job = options->job,
                                       .plan = options->plan,
                                       .out_format = options->out_format,
                                       .pictures = options->program == PROGRAM_IMGHEAT,
                                       .level = options->level,
                                       .quality = options->quality,
                                       .sync = options->sync,
                                       .run = options->run,
                                       .peers = options->peers,
                                       .will_run = options->action != ACTION_EXPLAIN};

    /* Candidates are listed only if somebody will read them. */
    request.plan.explains =
        options->action == ACTION_EXPLAIN && !options->json && diag_level() == DIAG_VERBOSE;
    return request;
}

/* ---- tees ---- */

/* The tees of a run: those of --tee, or the frames. */
struct tee_list {
    struct pipeline_tee *tees;
    const char *pattern;              /* that names them; NULL: each has a name of its own */
    char (*names)[PATTERN_NAME_MOST]; /* of those that a pattern names */
    size_t count;
};

/* A tee is what a run with fewer steps would put out; refuse jobs that have no such states. */
static bool check_job(const struct job *job, struct fault *fault)
{
    const struct stage *last = job_last_stage(job);

    if (last->until > 0.0)
        return fault_raise(fault, STATUS_USAGE,
                           "not allowed with --until, which finds its last step by itself");
    if (job->measures)
        return fault_raise(fault, STATUS_USAGE,
                           "not allowed with --out-range=auto: each state has its own range");
    if (job->copies)
        return fault_raise(fault, STATUS_USAGE, "every state is the input: no stage changes a sample");
    if (last->converted)
        return fault_raise(fault, STATUS_USAGE, "%s as the last stage has no states of its own", last->spec);
    return true;
}

/* The first frame is the state before the stage. */
static bool list_frames(struct tee_list *list, const struct options *options, uint64_t steps,
                        struct fault *fault)
{
    uint64_t every = options->frames.every, count = steps / every + 1;

    if (count > MOST_FRAMES)
        return fault_raise(fault, STATUS_LIMIT,
                           "%llu frames, but at most " TEXT(MOST_FRAMES) "; --every %llu is enough",
                           (unsigned long long)count, (unsigned long long)(steps / (MOST_FRAMES - 1) + 1));
    list->pattern = options->frames.pattern;
    list->tees = mem_zeroed((size_t)count, sizeof *list->tees, "the frames", fault);
    list->names = mem_alloc((size_t)count, sizeof *list->names, "the frames", fault);
    if (list->tees == NULL || list->names == NULL)
        return false;
    for (; list->count < count; list->count++) {
        pattern_expand(list->pattern, list->count, list->names[list->count]);
        list->tees[list->count] = (struct pipeline_tee){every * list->count, list->names[list->count]};
    }
    return true;
}

/* The tees of --tee; one after more steps than the last stage takes is refused. */
static bool list_tees(struct tee_list *list, const struct options *options, uint64_t steps,
                      struct fault *fault)
{
    list->tees = mem_alloc(options->tee_count, sizeof *list->tees, "the tees", fault);
    if (list->tees == NULL)
        return false;
    for (; list->count < options->tee_count; list->count++) {
        const struct pipeline_tee *tee = &options->tees[list->count];
        if (tee->step > steps)
            return fault_raise(fault, STATUS_USAGE, "%llu:%s: the last stage takes %llu step%s",
                               (unsigned long long)tee->step, tee->path, (unsigned long long)steps,
                               number_plural(steps));
        list->tees[list->count] = *tee;
    }
    return true;
}

/* List the tees, now that the number of steps is known. */
static bool take_tees(const struct options *options, const struct pipeline *pipeline, struct tee_list *list,
                      struct pipeline_request *request, struct fault *fault)
{
    const char *option = options->tee_count > 0            ? "--tee"
                         : options->frames.pattern != NULL ? "--frames"
                                                           : NULL;
    const struct job *job = &pipeline->job;
    uint64_t steps = job_last_stage(job)->steps;
    bool listed;

    if (option == NULL)
        return true;
    listed = check_job(job, fault) && (options->tee_count > 0 ? list_tees(list, options, steps, fault)
                                                              : list_frames(list, options, steps, fault));
    request->tees = list->tees;
    request->tee_count = list->count;
    request->tee_pattern = list->pattern;
    return (listed && outputs_check_tees(options, request, fault)) || fault_prefix(fault, option);
}

/* ---- files beside the output ---- */

/* Files that are written beside the output of a run, and get their names together with it. */
struct company {
    const struct run_one *one;
    struct preview preview;
    struct observer observer; /* that sees what the preview shows */
    struct plot plot;
};

/* Open preview and plot before anything runs, so that what cannot be written is refused at once. */
static bool open_drawings(struct company *company, struct fault *fault)
{
    const struct options *options = company->one->options;

    if ((options->preview != NULL && !preview_open(&company->preview, options->preview, fault)) ||
        (options->plot != NULL && !plot_open(&company->plot, options->plot, fault)))
        return false;
    if (options->sync && options->preview != NULL)
        file_out_sync(company->preview.file);
    if (options->sync && options->plot != NULL)
        file_out_sync(company->plot.file);
    return true;
}

/* Draw how the change of a step went down. */
static void draw_checks(struct plot *plot, const struct pipeline *pipeline)
{
    const struct stage *last = job_last_stage(&pipeline->job);
    const struct convergence *convergence = &pipeline->summary.checks;
    size_t kept = convergence_kept(convergence);
    char title[160];
    const struct plot_checks checks = {.title = title,
                                       .convergence = convergence,
                                       .until = last->until,
                                       .steps = kept > 0 ? convergence_at(convergence, kept - 1).step : 0,
                                       .unreached = pipeline->summary.unreached};

    snprintf(title, sizeof title, "RMS change of a step: %.120s", last->spec);
    plot_draw_checks(plot, &checks);
}

/* With a single input, the report is complete now, and gets its name together with the outputs. */
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

/* The pipeline calls this when all outputs are written: complete the other files, and add them to the set. */
static bool add_files(void *listener, const struct pipeline *pipeline, struct file_set *set,
                      struct fault *fault)
{
    struct company *company = listener;
    const struct options *options = company->one->options;

    if (options->preview != NULL &&
        (!preview_finish(&company->preview, fault) || !file_set_add(set, company->preview.file, fault)))
        return false;
    if (options->plot != NULL) {
        draw_checks(&company->plot, pipeline);
        if (!plot_finish(&company->plot, fault) || !file_set_add(set, company->plot.file, fault))
            return false;
    }
    return add_report(company->one, pipeline, set, fault);
}

/* ---- the run ---- */

/* The CPU does what a device left undone. */
static bool run_again(struct pipeline *pipeline, struct fault *fault)
{
    const struct fault setback = *fault;

    if (!pipeline->may_retreat || !pipeline_retreat(pipeline, fault))
        return false;
    notes_setback(&setback);
    return pipeline_plan(pipeline, fault) && pipeline_run(pipeline, fault);
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

/* Refuse outputs that would replace files of samples of the input or its mask, which are known only now. */
static bool spare_samples(const struct options *options, const struct pipeline *pipeline, struct fault *fault)
{
    const struct pipeline_request *request = pipeline->request;
    const struct source *sources[] = {&pipeline->input.source, &pipeline->mask.source};
    const size_t count = pipeline->mask.file != NULL ? 2 : 1;
    bool spared = true;

    for (size_t k = 0; spared && k < count; k++) {
        const struct source *source = sources[k];
        for (size_t i = 0; spared && i < request->tee_count; i++)
            spared = outputs_spare_samples(source, "--tee", request->tees[i].path, fault);
        spared = spared && outputs_spare_samples(source, "--output", request->output, fault) &&
                 outputs_spare_samples(source, "--preview", options->preview, fault) &&
                 outputs_spare_samples(source, "--plot", options->plot, fault);
    }
    return spared;
}

/* Only rank 0 looks at files beside the output. */
static bool settle_files(const struct run_one *one, const struct pipeline *pipeline, struct tee_list *tees,
                         struct pipeline_request *request, struct fault *fault)
{
    const struct options *options = one->options;
    struct peers *peers = one->request.peers;

    return peers_agree(peers, take_tees(options, pipeline, tees, request, fault), fault) &&
           peers_follow(peers, !peers_lead(peers) || spare_samples(options, pipeline, fault), fault);
}

/* Plan the run, and print the notes that are known before it. */
static bool plan(const struct run_one *one, struct pipeline *pipeline, struct fault *fault)
{
    bool done = pipeline_plan(pipeline, fault);

    notes_setback(&pipeline->plan.setback);
    if (!done)
        return false;
    notes_options(one->on_options, pipeline);
    notes_beforehand(pipeline);
    return true;
}

/* Print notes and the report of a run, or the plan. Only rank 0 does. */
static void tell(const struct run_one *one, const struct pipeline *pipeline)
{
    const struct options *options = one->options;

    if (!peers_lead(one->request.peers))
        return;
    if (options->action == ACTION_RUN) {
        notes_outcome(pipeline);
        report_figures(options, pipeline);
        if (one->report_file == NULL)
            report_run(one->report, options, pipeline);
    } else if (options->json) {
        report_json_plan(stdout, options, pipeline);
    } else {
        explain_plan(stdout, pipeline);
    }
    notes_left_out(pipeline);
}

enum status run_one(const struct run_one *one)
{
    struct company company = {.one = one};
    struct pipeline_request request = one->request;
    struct peers *peers = request.peers;
    struct tee_list tees = {.count = 0};
    struct pipeline pipeline;
    struct fault fault;
    enum status status;
    bool done;

    /* A preview observes the run; files beside the output are completed by a call of the pipeline. */
    company.observer = preview_observer(&company.preview);
    request.run.observers = (struct observers){&company.observer, one->options->preview != NULL};
    request.add_files = add_files;
    request.listener = &company;
    /* Open and plan; only a run goes on from there. */
    done = pipeline_open(&pipeline, &request, &fault) &&
           settle_files(one, &pipeline, &tees, &request, &fault) && plan(one, &pipeline, &fault);
    if (done && one->options->action == ACTION_RUN)
        done = peers_follow(peers, !peers_lead(peers) || open_drawings(&company, &fault), &fault) &&
               (pipeline_run(&pipeline, &fault) || run_again(&pipeline, &fault));
    if (done)
        tell(one, &pipeline);
    /* Whatever was opened is closed, whether it was completed or not. */
    status = pipeline.status;
    preview_close(&company.preview);
    plot_close(&company.plot);
    pipeline_close(&pipeline);
    mem_free(tees.tees);
    mem_free(tees.names);
    return done ? status : tell_failure(one, &fault);
}
