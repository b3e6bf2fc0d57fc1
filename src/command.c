/* The commands themselves: from argv to an exit status. */
#include "command.h"

#include "bench.h"
#include "file.h"
#include "format.h"
#include "job.h"
#include "mem.h"
#include "plan.h"
#include "report.h"
#include "run.h"
#include "thread.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The format that an input must have: pictures for imgheat, anything else for voxfilt. */
static const struct format *choose_format(const struct options *options, struct file_in *file,
                                          struct fault *fault)
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

/* One try at a job, on the device that the request asks for. */
struct attempt {
    struct plan_request request;
    bool repeated; /* another one came before */
    bool again;    /* it failed by a device that was chosen unasked, and nobody has seen any output */
};

static bool write_output(const struct options *options, const struct plan *plan, struct source *source,
                         struct file_out *file, struct fault *fault)
{
    const struct sink_request request = {
        .level = options->level, .threads = thread_count(options->plan.threads), .origin = source};
    const struct report_ends ends = {file_in_name(source->file), file_out_name(file)};
    const struct format *format = options->out_format != NULL ? options->out_format : source->format;
    struct run_summary summary;
    struct sink sink;
    bool done;

    if (!sink_open(&sink, file, format, &plan->job->out, &request, fault))
        return false;
    done = run_plan(plan, &options->run, source, &sink, &summary, fault);
    sink_close(&sink);
    done = done && file_out_commit(file, fault);
    if (done && summary.nans > 0)
        diag_note("%s: %llu NaN%s written as 0", ends.output, (unsigned long long)summary.nans,
                  summary.nans == 1 ? "" : "s");
    if (done && options->run.stats && options->report != REPORT_JSON)
        report_stats(stderr, plan->job, &summary);
    if (done)
        report_summary(stderr, options->report, plan, &ends, &summary);
    run_summary_free(&summary);
    return done;
}

static bool is_device_fault(const struct fault *fault)
{
    return fault->status == STATUS_DEVICE || fault->status == STATUS_LIMIT;
}

static bool carry_out(const struct options *options, const struct plan *plan, struct source *source,
                      const char *output, struct attempt *attempt, struct fault *fault)
{
    struct file_out *file;
    bool done;

    if (options->action == ACTION_EXPLAIN) {
        const struct report_ends ends = {file_in_name(source->file),
                                         output == NULL ? "standard output" : output};
        report_plan(stdout, plan, &ends);
        return true;
    }
    if (!file_open_output(&file, output, fault))
        return false;
    done = write_output(options, plan, source, file, fault);
    attempt->again = !done && plan->replaceable && is_device_fault(fault) && file_out_unseen(file);
    file_out_close(file);
    return done;
}

static bool filter_source(const struct options *options, struct source *source, const char *output,
                          struct attempt *attempt, struct fault *fault)
{
    struct job job;
    struct plan plan;
    bool done;

    if (!job_make(&options->job, source, &job, fault))
        return false;
    done = plan_make(&attempt->request, &job, source, &plan, fault);
    if (done && source->remark[0] != '\0' && !attempt->repeated)
        diag_note("%s", source->remark);
    if (done) {
        done = carry_out(options, &plan, source, output, attempt, fault);
        plan_free(&plan);
    }
    job_free(&job);
    return done;
}

static bool filter_once(const struct options *options, struct file_in *file, const char *output,
                        struct attempt *attempt, struct fault *fault)
{
    const struct format *format = choose_format(options, file, fault);
    struct source_request request = options->source;
    struct source source;
    bool done;

    request.threads = thread_count(options->plan.threads);
    if (format == NULL || !source_open(&source, file, format, &request, fault))
        return false;
    done = filter_source(options, &source, output, attempt, fault);
    source_close(&source);
    return done;
}

/* The CPU does what a device left undone, from the start of the input. */
static bool filter_again(const struct options *options, struct file_in *file, const char *output,
                         struct attempt *attempt, struct fault *fault)
{
    struct fault of_device = *fault;

    if (!file_in_rewind(file))
        return fault_raise(fault, of_device.status, "%.4096s; %s cannot be read again for the CPU",
                           of_device.text, file_in_name(file));
    diag_note("%s; computing on the CPU", fault->text);
    attempt->request.device = backend_cpu.name;
    attempt->repeated = true;
    return filter_once(options, file, output, attempt, fault);
}

static bool filter_file(const struct options *options, const char *input, const char *output,
                        struct fault *fault)
{
    struct attempt attempt = {.request = options->plan};
    struct file_in *file;
    bool done;

    if (!file_open_input(&file, input, fault))
        return false;
    done = filter_once(options, file, output, &attempt, fault);
    if (!done && attempt.again)
        done = filter_again(options, file, output, &attempt, fault);
    file_in_close(file);
    return done;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash == NULL ? path : slash + 1;
}

/* Whether --output names a folder for outputs, there yet or not. */
static bool wants_directory(const struct options *options)
{
    const char *path = options->output;
    struct stat info;

    if (options->program != PROGRAM_IMGHEAT || path == NULL || *path == '\0')
        return false;
    return path[strlen(path) - 1] == '/' || (stat(path, &info) == 0 && S_ISDIR(info.st_mode));
}

static bool check_directory(const struct options *options, struct fault *fault)
{
    struct stat info;

    if (stat(options->output, &info) != 0)
        return fault_raise(fault, STATUS_IO, "%s: %s", options->output, strerror(errno));
    return true;
}

/* Filter one input into the output directory, under its own name. */
static bool filter_into_directory(const struct options *options, const char *input, struct fault *fault)
{
    const char *directory = options->output, *name = base_name(input);
    size_t size = strlen(directory) + strlen(name) + 2;
    char *path = mem_alloc(size, 1, "a file name", fault);
    bool done;

    if (path == NULL)
        return false;
    snprintf(path, size, "%s%s%s", directory, directory[strlen(directory) - 1] == '/' ? "" : "/", name);
    done = filter_file(options, input, path, fault);
    mem_free(path);
    return done;
}

/* Two inputs of one name would overwrite each other in the directory. */
static bool check_names(const struct options *options, struct fault *fault)
{
    const char *const *inputs = options->inputs;

    for (size_t i = 0; i < options->input_count; i++) {
        if (strcmp(inputs[i], "-") == 0)
            return fault_raise(fault, STATUS_USAGE, "standard input has no name to take in %s",
                               options->output);
        for (size_t k = 0; k < i; k++) {
            if (strcmp(base_name(inputs[i]), base_name(inputs[k])) == 0)
                return fault_raise(fault, STATUS_USAGE, "%s and %s would have the same name in %s", inputs[k],
                                   inputs[i], options->output);
        }
    }
    return true;
}

static bool check_inputs(const struct options *options, bool directory, struct fault *fault)
{
    if (directory && (!check_directory(options, fault) || !check_names(options, fault)))
        return false;
    if (!directory && options->input_count > 1 && options->action == ACTION_RUN)
        return fault_raise(fault, STATUS_USAGE, "%zu files need a directory: --output DIR/",
                           options->input_count);
    for (size_t i = 0; i < options->input_count; i++) {
        if (strcmp(options->inputs[i], "-") == 0 && isatty(STDIN_FILENO))
            return fault_raise(fault, STATUS_USAGE,
                               "standard input is a terminal: name a file, or pipe one in");
    }
    return true;
}

static enum status tell(const struct fault *fault)
{
    diag_error(fault);
    return fault->status;
}

/* One bad file is told and the others are done; the status is that of the first that failed. */
static enum status filter_inputs(const struct options *options)
{
    bool directory = wants_directory(options);
    enum status status = STATUS_DONE;
    struct fault fault;

    if (!check_inputs(options, directory, &fault))
        return tell(&fault);
    for (size_t i = 0; i < options->input_count; i++) {
        const char *input = options->inputs[i];
        bool done = directory ? filter_into_directory(options, input, &fault)
                              : filter_file(options, input, options->output, &fault);
        if (!done && status == STATUS_DONE)
            status = fault.status;
        if (!done)
            diag_error(&fault);
    }
    return status;
}

/* What was printed must have arrived: a full disk behind standard output is a failure. */
static enum status close_stdout(void)
{
    struct fault fault;

    if (!ferror(stdout) && fflush(stdout) == 0)
        return STATUS_DONE;
    fault_raise(&fault, STATUS_IO, "standard output: it could not be written");
    return tell(&fault);
}

/* Extents to measure on where nothing gives any: larger than any cache of the device. */
static bool default_case(const struct options *options, struct bench_request *request, struct fault *fault)
{
    const struct backend *backend;
    bool picture = options->program == PROGRAM_IMGHEAT;
    size_t side;
    int index;

    if (!plan_find_device(&options->plan, &backend, &index, fault))
        return false;
    side = backend == &backend_cpu ? (picture ? 4096 : 256) : (picture ? 16384 : 512);
    request->work = options->job.has_work      ? options->job.work
                    : options->source.has_type ? sample_work_type(options->source.type)
                                               : WORK_F32;
    request->grid = options->source.has_dims ? options->source.grid
                    : picture                ? grid_make(2, side, side, 1)
                                             : grid_make(3, side, side, side);
    request->grid.channels = options->source.grid.channels;
    return true;
}

/* The fields that a job for an input would have. */
static bool case_of_source(const struct options *options, const struct source *source,
                           struct bench_request *request, struct fault *fault)
{
    struct job job;

    if (!job_make(&options->job, source, &job, fault))
        return false;
    request->grid = job.in.grid;
    request->grid.channels = encoding_work_channels(&job.decode);
    request->work = job.work;
    job_free(&job);
    return true;
}

static bool case_of_input(const struct options *options, struct bench_request *request, struct fault *fault)
{
    const struct format *format;
    struct file_in *file;
    struct source source;
    bool done = false;

    if (!file_open_input(&file, options->inputs[0], fault))
        return false;
    format = choose_format(options, file, fault);
    if (format != NULL && source_open(&source, file, format, &options->source, fault)) {
        done = case_of_source(options, &source, request, fault);
        source_close(&source);
    }
    file_in_close(file);
    return done;
}

static bool bench(const struct options *options, struct fault *fault)
{
    struct bench_request request = {
        .stages = options->stages,
        .stage_count = options->job.stage_count,
        .force = options->job.force,
        .plan = options->plan,
        .pictures = options->program == PROGRAM_IMGHEAT,
        .json = options->bench_json,
        .keep = options->tune,
    };
    bool named = strcmp(options->inputs[0], "-") != 0;

    if (options->input_count > 1)
        return fault_raise(fault, STATUS_USAGE, "--bench: it measures for one input, not for %zu",
                           options->input_count);
    return (named ? case_of_input(options, &request, fault) : default_case(options, &request, fault)) &&
           bench_run(stdout, &request, fault);
}

static enum status run_with_wisdom(struct options *options)
{
    struct wisdom wisdom;
    enum status status;

    wisdom_load(&wisdom);
    options->plan.wisdom = &wisdom;
    status = filter_inputs(options);
    wisdom_free(&wisdom);
    return status;
}

static enum status act(struct options *options)
{
    struct fault fault;

    switch (options->action) {
    case ACTION_HELP:
        options_help(stdout, options->program);
        return STATUS_DONE;
    case ACTION_VERSION:
        printf("%s (%s) %s\n", options_program_name(options->program), PACKAGE_NAME, PACKAGE_VERSION);
        return STATUS_DONE;
    case ACTION_BENCH:
        return bench(options, &fault) ? STATUS_DONE : tell(&fault);
    case ACTION_LIST:
        report_list(stdout);
        return STATUS_DONE;
    case ACTION_RUN:
    case ACTION_EXPLAIN:
        return run_with_wisdom(options);
    }
    return STATUS_FAILURE;
}

int command_main(int argc, char **argv, enum program program)
{
    struct options options;
    struct fault fault;
    enum status status, printed;

    diag_open(options_program_name(program));
    file_guard();
    if (options_parse(argc, argv, program, &options, &fault))
        status = act(&options);
    else
        status = tell(&fault);
    options_free(&options);
    printed = close_stdout();
    return (int)(status == STATUS_DONE ? printed : status);
}
