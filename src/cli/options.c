/* Options: what a command line asks for, as plain requests, and which options exclude each other.

   Values are checked one by one as they are parsed (command_line.c). Here they are checked together, before
   any file is opened: an option that could do nothing beside the others is refused. Where that depends on the
   input, notes.c says so later. */
#include "options.h"

#include "base/mem.h"
#include "base/number.h"
#include "base/path.h"
#include "format/stack.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char *program_name(enum program program)
{
    return program == PROGRAM_VOXFILT ? "voxfilt" : "imgheat";
}

const char *program_installed_name(enum program program)
{
    return program == PROGRAM_VOXFILT ? VOXFILT_COMMAND : IMGHEAT_COMMAND;
}

/* Keep the words in their order: getopt moves operands to the end of argv. */
static bool keep_words(struct options *options, int argc, char **argv, struct fault *fault)
{
    options->words = mem_alloc((size_t)argc, sizeof *options->words, "the command line", fault);
    if (options->words == NULL)
        return false;
    for (int i = 0; i < argc; i++)
        options->words[options->word_count++] = argv[i];
    return true;
}

bool options_make(struct options *options, enum program program, int argc, char **argv, struct fault *fault)
{
    *options = (struct options){.program = program, .level = -1};
    options->source.grid = grid_make(3, 0, 0, 0);
    options->stages = mem_zeroed((size_t)argc + 1, sizeof *options->stages, "the stages", fault);
    options->tees = mem_zeroed((size_t)argc, sizeof *options->tees, "the tees", fault);
    return options->stages != NULL && options->tees != NULL && keep_words(options, argc, argv, fault);
}

void options_free(struct options *options)
{
    for (size_t i = 0; i < options->job.stage_count; i++)
        filter_call_free(&options->stages[i].call);
    mem_free(options->stages);
    mem_free(options->words);
    mem_free(options->tees);
}

/* ---- options together ---- */

/* Sums have a rung only where something is added up. */
static bool check_sums(const struct options *options, struct fault *fault)
{
    bool adds = options->action == ACTION_BENCH || options->run.stats ||
                stages_have_until(options->stages, options->job.stage_count);

    return adds || options->plan.sums.rung == NULL ||
           fault_raise(fault, STATUS_USAGE, "--rung: %s: no samples are summed without --stats or --until",
                       options->plan.sums.rung);
}

/* A picture brings its extents; those for measuring without one are given. */
static bool check_extents(const struct options *options, struct fault *fault)
{
    bool given = options->program == PROGRAM_IMGHEAT && options->source.has_dims;
    bool measures = options->action == ACTION_BENCH && strcmp(options->inputs[0], "-") == 0;

    return !given || measures ||
           fault_raise(fault, STATUS_USAGE,
                       "-d: pictures have their own extents; it is for --bench and --tune without a file");
}

/* A bench writes no samples and makes no run: refuse options that are about either. */
static bool check_measuring(const struct options *options, struct fault *fault)
{
    const struct {
        bool given;
        const char *name;
    } idle[] = {
        {options->output != NULL, "--output"},
        {options->out_format != NULL, "--out-format"},
        {options->job.has_out_type, "--out-type"},
        {options->job.has_out_endian, "--out-endian"},
        {options->job.ranged, "--out-range"},
        {options->mask != NULL, "--mask"},
        {options->level >= 0, "--level"},
        {options->quality > 0, "--quality"},
        {options->sync, "--sync"},
        {options->plan.memory > 0, "--memory"},
        {options->report != REPORT_NONE, "--report"},
        {options->preview != NULL, "--preview"},
        {options->tee_count > 0, "--tee"},
        {options->frames.pattern != NULL, "--frames"},
        {options->run.stats, "--stats"},
        {options->job.region.kind != REGION_WHOLE, region_option(options->job.region.kind)},
        {options->run.progress == PROGRESS_ALWAYS, "--progress"},
    };

    for (size_t i = 0; options->action == ACTION_BENCH && i < sizeof idle / sizeof *idle; i++) {
        if (idle[i].given)
            return fault_set_for(fault, STATUS_USAGE, idle[i].name,
                                 "not allowed with --bench and --tune, which filter nothing");
    }
    return true;
}

/* Refuse options that name one file where several inputs would each need one. */
static bool check_lone(const struct options *options, struct fault *fault)
{
    const char *option = options->preview != NULL          ? "--preview"
                         : options->plot != NULL           ? "--plot"
                         : options->tee_count > 0          ? "--tee"
                         : options->frames.pattern != NULL ? "--frames"
                                                           : NULL;

    return options->input_count == 1 || option == NULL ||
           fault_set_for(fault, STATUS_USAGE, option, "only one input is allowed, not %zu",
                         options->input_count);
}

/* Whether both are one pipe, which cannot give the samples of two. */
static bool share_pipe(const char *input, const struct stat *mask)
{
    struct stat info;

    return S_ISFIFO(mask->st_mode) &&
           (path_is_standard(input) ? fstat(STDIN_FILENO, &info) : stat(input, &info)) == 0 &&
           info.st_dev == mask->st_dev && info.st_ino == mask->st_ino;
}

/* The input may be standard input; its mask is a file or a store, which several inputs read one after
   another. */
static bool check_mask(const struct options *options, struct fault *fault)
{
    const char *mask = options->mask;
    struct stat info;

    if (mask == NULL)
        return true;
    if (path_is_standard(mask))
        return fault_raise(fault, STATUS_USAGE, "--mask: it needs a file, not standard input");
    if (stat(mask, &info) != 0) /* opening it says why */
        return true;
    if (options->input_count == 1 && share_pipe(options->inputs[0], &info))
        return fault_raise(fault, STATUS_USAGE, "--mask: %s: it is the input, too, and a pipe", mask);
    return options->input_count == 1 || S_ISREG(info.st_mode) || S_ISDIR(info.st_mode) ||
           fault_raise(fault, STATUS_USAGE, "--mask: %s: for %zu inputs it must be a regular file", mask,
                       options->input_count);
}

/* A plot shows the rates of a bench, or the changes of --until. */
static bool check_plot(const struct options *options, struct fault *fault)
{
    bool any =
        options->action == ACTION_BENCH || stages_have_until(options->stages, options->job.stage_count);

    return any || options->plot == NULL ||
           fault_raise(fault, STATUS_USAGE, "--plot: it needs --bench, --tune or --until");
}

/* Frames are tees that are numbered. */
static bool settle_frames(struct options *options, struct fault *fault)
{
    struct frames *frames = &options->frames;

    if (frames->pattern == NULL)
        return frames->every == 0 || fault_raise(fault, STATUS_USAGE, "--every: it needs --frames");
    if (options->tee_count > 0)
        return fault_raise(fault, STATUS_USAGE, "--frames: not allowed with --tee");
    if (frames->every == 0)
        frames->every = 1;
    return true;
}

/* Some options need all samples, or a volume's file, and exclude a region. A slice becomes a picture. */
static bool settle_region(struct options *options, struct fault *fault)
{
    enum region_kind kind = options->job.region.kind;
    bool slice = kind == REGION_SLICE;
    const struct {
        bool given;
        const char *name, *reason;
    } others[] = {
        {options->run.stats && kind != REGION_WHOLE, "--stats", "it adds up whole volumes"},
        {options->preview != NULL && kind != REGION_WHOLE, "--preview", "it shows whole volumes"},
        {options->out_format != NULL && slice, "--out-format", "a slice is a PNG"},
        {options->job.has_out_endian && slice, "--out-endian", "a slice is a PNG"},
    };

    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        if (others[i].given)
            return fault_set_for(fault, STATUS_USAGE, others[i].name, "not allowed with %s: %s",
                                 region_option(kind), others[i].reason);
    }
    if (slice)
        options->out_format = &format_png;
    return true;
}

/* Whether the output keeps distances: its format is known by its name or by --out-format. Even a slice shows
   how they compare. */
static bool keeps_spacing(const struct options *options)
{
    const struct format *named = options->output == NULL ? NULL : format_of_name(options->output);
    const struct format *format = options->out_format != NULL ? options->out_format : named;

    return options->action != ACTION_BENCH &&
           (options->job.region.kind == REGION_SLICE || (format != NULL && format->holds_spacing));
}

/* A file may bring spacing that no stage heeds; whoever gives it on the command line means
   something by it. */
static bool check_spacing(const struct options *options, struct fault *fault)
{
    const struct source_request *source = &options->source;
    unsigned axes = source->grid.axes;

    if (source->spacing_count == 0)
        return true;
    /* Files of a stack count along one axis more. */
    if (options->format == NULL && options->input_count > 0 && stack_of_name(options->inputs[0]) != NULL)
        axes++;
    if (source->has_dims && source->spacing_count != axes)
        return fault_raise(fault, STATUS_USAGE, "--spacing: %zu distance%s for %u ax%ss",
                           source->spacing_count, number_plural(source->spacing_count), axes,
                           axes == 1 ? "i" : "e");
    return options->preview != NULL || keeps_spacing(options) ||
           stages_use_spacing(options->stages, options->job.stage_count) ||
           fault_raise(fault, STATUS_USAGE,
                       "--spacing: no stage of this chain uses it, and the output does not keep it");
}

bool options_check(struct options *options, struct fault *fault)
{
    options->plan.stats = options->run.stats;
    return check_extents(options, fault) && check_spacing(options, fault) && check_sums(options, fault) &&
           check_measuring(options, fault) && check_lone(options, fault) && check_mask(options, fault) &&
           check_plot(options, fault) && settle_frames(options, fault) && settle_region(options, fault);
}
