/* The commands themselves: from argv to an exit status.

   Both commands are one binary, which tells by its name, or by --program, which of them it is. Then it parses
   the command line and does one thing: it runs or explains all inputs (batch.c), or measures kernels
   (src/bench), or prints something of itself (about.c). Whatever fails ends in one line and a status. With
   MPI every rank does the same, in step: after each part that may fail on one of them all agree, and only
   rank 0 prints. */
#include "command.h"

#include "base/fd_io.h"
#include "base/file_set.h"
#include "base/temp_cleanup.h"
#include "base/path.h"
#include "plan/plan.h"
#include "pipeline/pipeline.h"
#include "bench/bench.h"
#include "bench/plot.h"
#include "about.h"
#include "batch.h"
#include "command_line.h"
#include "mpi_options.h"
#include "options.h"
#include "outputs.h"
#include "run_one.h"

#include <stdio.h>
#include <string.h>

/* If all ranks are sent a signal, MPICH's launcher kills the rest by SIGKILL as soon as one has ended. */
#define LINGERING_MS 300

/* Make sure that standard output has arrived: a full disk behind it makes the command fail. */
static enum status close_stdout(void)
{
    struct fault fault;

    if (!ferror(stdout) && fflush(stdout) == 0)
        return STATUS_DONE;
    fault_raise(&fault, STATUS_IO, "standard output: it could not be written");
    return diag_error(&fault);
}

/* Without an input, kernels are measured on the extents that are given, or on a grid that is larger than any
   cache of the device. */
static bool default_case(const struct options *options, struct bench_request *request, struct fault *fault)
{
    struct devices devices;
    bool picture = options->program == PROGRAM_IMGHEAT;
    size_t side;

    if (!selection_find_devices(&options->plan, &devices, fault))
        return false;
    side = devices.backend == &backend_cpu ? (picture ? 4096 : 256) : (picture ? 16384 : 512);
    request->work = options->job.has_work      ? options->job.work
                    : options->source.has_type ? sample_work_type(options->source.type)
                                               : WORK_F32;
    request->grid = options->source.has_dims ? options->source.grid
                    : picture                ? grid_make(2, side, side, 1)
                                             : grid_make(3, side, side, side);
    request->grid.channels = options->source.grid.channels;
    request->encoding = (struct encoding){
        .channels = request->grid.channels, .gamma = 1.0, .missing = options->job.has_missing};
    return true;
}

/* With an input, kernels are measured on fields as a job for that input would have them. */
static bool case_of_input(const struct options *options, struct bench_request *request, struct fault *fault)
{
    const struct pipeline_request first = run_one_request(options, options->inputs[0], "-");
    struct pipeline pipeline;

    if (!pipeline_open(&pipeline, &first, fault))
        return false;
    request->grid = pipeline.job.in.grid;
    request->grid.channels = encoding_work_channels(&pipeline.job.field);
    request->encoding = pipeline.job.field;
    request->work = pipeline.job.work;
    pipeline_close(&pipeline);
    return true;
}

/* Measure, and draw the results if --plot asks for it. The picture gets its name once it is complete. */
static bool bench_and_plot(const struct options *options, struct bench_request *request, struct fault *fault)
{
    char nowhere[] = "/dev/null", *output = nowhere; /* a bench has no other output */
    struct plot plot = {.file = NULL};
    bool done;

    if (options->plot == NULL)
        return bench_run(stdout, request, fault);
    request->plot = &plot;
    done = outputs_check_extras(options, &output, fault) && plot_open(&plot, options->plot, fault) &&
           bench_run(stdout, request, fault) && plot_finish(&plot, fault) &&
           file_set_commit_one(plot.file, fault);
    plot_close(&plot);
    return done;
}

/* --bench and --tune: measure the stages on one input, or on extents. */
static bool bench(const struct options *options, struct fault *fault)
{
    struct bench_request request = {
        .stages = options->stages,
        .stage_count = options->job.stage_count,
        .force = options->job.force,
        .plan = options->plan,
        .pictures = options->program == PROGRAM_IMGHEAT,
        .json = options->json,
        .keep = options->tune,
    };
    bool named = strcmp(options->inputs[0], "-") != 0;

    if (options->input_count > 1)
        return fault_raise(fault, STATUS_USAGE, "--bench: only one input is allowed, not %zu",
                           options->input_count);
    return (named ? case_of_input(options, &request, fault) : default_case(options, &request, fault)) &&
           bench_and_plot(options, &request, fault);
}

/* The name that messages begin with. */
static const char *command_name(enum program program, const struct peers *peers)
{
    return peers == NULL ? program_name(program) : "voxfilt-mpi";
}

/* Do what needs no input: measure kernels, or print something. */
static enum status answer(const struct options *options)
{
    struct fault fault;

    if (options->action == ACTION_BENCH)
        return bench(options, &fault) ? STATUS_DONE : diag_error(&fault);
    if (options->action == ACTION_HELP)
        about_help(stdout, options->program, options->peers != NULL);
    if (options->action == ACTION_COMPLETIONS)
        about_completions(stdout, options->program, options->shell);
    if (options->action == ACTION_VERSION)
        printf("%s (%s) %s\n", command_name(options->program, options->peers), PACKAGE_NAME, PACKAGE_VERSION);
    if (options->action == ACTION_LIST)
        about_lists(stdout, options->json);
    return STATUS_DONE;
}

/* ---- which of the commands it is ---- */

/* The value of a first argument --program=NAME or --program NAME; NULL without one. */
static const char *asked_for(int argc, char **argv)
{
    static const char option[] = "--program";
    size_t length = sizeof option - 1;

    if (argc < 2 || strncmp(argv[1], option, length) != 0)
        return NULL;
    if (argv[1][length] == '=')
        return argv[1] + length + 1;
    return argv[1][length] == '\0' && argc > 2 ? argv[2] : NULL;
}

/* The binary for several processes has "-mpi" behind its name. */
static bool is_installed_name(const char *name, enum program program)
{
    const char *installed = program_installed_name(program);
    size_t length = strlen(installed);

    return strncmp(name, installed, length) == 0 &&
           (name[length] == '\0' || strcmp(name + length, "-mpi") == 0);
}

/* Find the program that --program asks for, or else that of the name by which the binary was called: a name
   that it is installed under, or any with imgheat or voxfilt in it. */
static bool find_program(int argc, char **argv, enum program *program, struct fault *fault)
{
    static const enum program programs[] = {PROGRAM_IMGHEAT, PROGRAM_VOXFILT};
    const char *asked = asked_for(argc, argv), *name = path_base_name(argc > 0 ? argv[0] : "");

    for (size_t i = 0; i < 2; i++) {
        *program = programs[i];
        if (asked != NULL ? strcmp(asked, program_name(*program)) == 0 : is_installed_name(name, *program))
            return true;
    }
    for (size_t i = 0; asked == NULL && i < 2; i++) {
        *program = programs[i];
        if (strstr(name, program_name(*program)) != NULL)
            return true;
    }
    if (asked != NULL)
        return fault_raise(fault, STATUS_USAGE, "--program: %s: expected voxfilt or imgheat", asked);
    return fault_set_for(fault, STATUS_USAGE, name,
                         "this name selects neither voxfilt nor imgheat "
                         "(give --program=voxfilt or --program=imgheat as the first argument)");
}

/* Ranks are refused for pictures: one process is as fast. */
static bool settle_program(int argc, char **argv, const struct peers *peers, enum program *program,
                           struct fault *fault)
{
    return find_program(argc, argv, program, fault) &&
           (peers == NULL || *program == PROGRAM_VOXFILT ||
            fault_raise(fault, STATUS_USAGE, "imgheat: ranks filter volumes; run imgheat for each picture"));
}

/* ---- the command ---- */

/* Ranks take each step together, or end together. */
static enum status run_command(int argc, char **argv, struct peers *peers)
{
    enum program program = PROGRAM_VOXFILT;
    struct options options;
    struct wisdom wisdom;
    struct fault fault;
    enum status status;
    bool found = peers_agree(peers, mpi_options_silence_others(peers, &fault), &fault) &&
                 mpi_options_check_build(peers, &fault) &&
                 peers_agree(peers, settle_program(argc, argv, peers, &program, &fault), &fault);

    /* Messages have the program's name from here on; the refusal of a name has it, too. */
    diag_open(command_name(program, peers));
    if (!found || !mpi_options_check_words(peers, argc, argv, &fault))
        return diag_error(&fault);
    if (!peers_agree(peers, command_line_parse(argc, argv, program, &options, &fault), &fault) ||
        !peers_agree(peers, mpi_options_take(peers, &options, &fault), &fault)) {
        status = diag_error(&fault);
        /* Only plans of runs use what was measured. */
    } else if (options.action == ACTION_RUN || options.action == ACTION_EXPLAIN) {
        wisdom_load(&wisdom);
        options.plan.wisdom = &wisdom;
        status = batch_run(&options);
        wisdom_free(&wisdom);
    } else {
        status = answer(&options);
    }
    options_free(&options);
    return status;
}

static void begin(void)
{
    fd_fill_standard();
    temp_cleanup_open();
}

int command_main(int argc, char **argv)
{
    enum status status;

    begin();
    status = run_command(argc, argv, NULL);
    return (int)status_of_both(status, close_stdout());
}

int command_main_together(int argc, char **argv, peers_opener *open)
{
    struct peers peers;
    struct fault fault;
    enum status status;
    bool silent;

    begin();
    temp_cleanup_linger(LINGERING_MS);
    diag_open(command_name(PROGRAM_VOXFILT, &peers));
    if (open(&peers, &silent, &fault)) {
        status = run_command(argc, argv, &peers);
        status = status_of_both(status, close_stdout());
    } else {
        status = silent ? fault.status : diag_error(&fault);
    }
    peers_close(&peers);
    return (int)status;
}
