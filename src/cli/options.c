/* The command line of both commands: from argv to plain requests. */
#include "options.h"

#include "base/limits.h"
#include "base/mem.h"
#include "base/number.h"
#include "base/suggest.h"
#include "model/stages.h"
#include "format/pattern.h"

#include <limits.h>
#include <math.h>
#include <string.h>

struct parsing {
    struct options *options;
    struct stage_request defaults;
    struct stage_request *stage; /* that stage options belong to: the defaults before the first --filter */
    struct rung_wish *wish; /* that --tile and --coarsen belong to: the stages' before the first --rung */
    bool has_cube;
    const struct choice *choices; /* of the option that is being taken */
    struct fault *fault;
};

/* Takers raise the reason alone; the name of the option is put before it where they are called. */
static bool refuse(struct parsing *parsing, const char *value, const char *expected)
{
    return fault_raise_about(parsing->fault, STATUS_USAGE, value, "expected %s", expected);
}

/* The same, and what may have been meant; NULL: nobody knows. */
static bool refuse_for(struct parsing *parsing, const char *value, const char *expected, const char *meant)
{
    refuse(parsing, value, expected);
    return suggest_add(parsing->fault, meant, "");
}

/* One of the option's choices, by its place among them. */
static bool read_choice(struct parsing *parsing, const char *value, int *place)
{
    const char *argument;

    return choice_parse(parsing->choices, value, place, &argument, parsing->fault);
}

static bool refuse_twice(struct parsing *parsing)
{
    return fault_raise(parsing->fault, STATUS_USAGE, "given twice");
}

/* Of two files one would be left out in silence. */
static bool take_file(struct parsing *parsing, const char **file, const char *value)
{
    if (*file != NULL)
        return refuse_twice(parsing);
    *file = value;
    return true;
}

static bool take_input(struct parsing *parsing, const char *value)
{
    return take_file(parsing, &parsing->options->input, value);
}

static bool take_output(struct parsing *parsing, const char *value)
{
    return take_file(parsing, &parsing->options->output, value);
}

static bool read_extents(const char *value, size_t most, double *extents, size_t *count)
{
    if (!number_parse_list(value, ',', 2, most, extents, count))
        return false;
    for (size_t i = 0; i < *count; i++) {
        /* Beyond 2^53 a double no longer holds every whole number. */
        if (extents[i] < 1.0 || extents[i] > 0x1p53 || extents[i] != (double)(size_t)extents[i])
            return false;
    }
    return true;
}

static bool set_extents(struct parsing *parsing, unsigned axes, double x, double y, double z)
{
    struct source_request *source = &parsing->options->source;

    source->has_dims = true;
    source->grid.axes = axes;
    source->grid.nx = (size_t)x;
    source->grid.ny = (size_t)y;
    source->grid.nz = (size_t)z;
    return true;
}

/* "512x512x300" as -d takes it, with the option before it if that was another one; NULL where it is no list
   of extents, either. */
static const char *meant_dims(const char *option, const char *value, size_t most, char *meant, size_t size)
{
    char list[64];
    double extents[3];
    size_t count;

    if (!read_extents(suggest_separator(value, ',', list, sizeof list), most, extents, &count))
        return NULL;
    snprintf(meant, size, "%s%s", option, list);
    return meant;
}

static const char *meant_side(const char *value, char *meant, size_t size)
{
    uint64_t side;

    if (!number_parse_count(value, &side) || side == 0)
        return NULL;
    snprintf(meant, size, "-n %s", value);
    return meant;
}

static bool take_cube(struct parsing *parsing, const char *value)
{
    uint64_t side;
    char meant[72];

    if (!number_parse_count(value, &side) || side == 0 || side > (uint64_t)1 << 53)
        return refuse_for(parsing, value, "a whole number above 0",
                          meant_dims("-d ", value, 3, meant, sizeof meant));
    if (parsing->has_cube)
        return refuse_twice(parsing);
    if (parsing->options->source.has_dims)
        return fault_raise_about(parsing->fault, STATUS_USAGE, value, "-d already gives the extents");
    parsing->has_cube = true;
    return set_extents(parsing, 3, (double)side, (double)side, (double)side);
}

static bool refuse_dims(struct parsing *parsing, const char *value, size_t most)
{
    const char *expected = most == 2 ? "X,Y, whole numbers above 0" : "X,Y or X,Y,Z, whole numbers above 0";
    char list[72], side[72];
    const char *meant = meant_dims("", value, most, list, sizeof list);

    if (meant == NULL && most == 3)
        meant = meant_side(value, side, sizeof side);
    return refuse_for(parsing, value, expected, meant);
}

static bool take_dims(struct parsing *parsing, const char *value)
{
    size_t most = parsing->options->program == PROGRAM_IMGHEAT ? 2 : 3, count;
    double extents[3] = {1.0, 1.0, 1.0};

    if (!read_extents(value, most, extents, &count))
        return refuse_dims(parsing, value, most);
    if (parsing->has_cube)
        return fault_raise_about(parsing->fault, STATUS_USAGE, value, "-n already gives the extents");
    if (parsing->options->source.has_dims)
        return refuse_twice(parsing);
    return set_extents(parsing, (unsigned)count, extents[0], extents[1], extents[2]);
}

static bool take_channels(struct parsing *parsing, const char *value)
{
    uint64_t channels;

    if (!number_parse_count(value, &channels) || channels == 0 || channels > MOST_CHANNELS)
        return refuse(parsing, value, "a whole number from 1 to " TEXT(MOST_CHANNELS));
    parsing->options->source.grid.channels = (unsigned)channels;
    return true;
}

static bool read_type(struct parsing *parsing, const char *value, enum sample_type *type)
{
    int place;

    if (!read_choice(parsing, value, &place))
        return false;
    *type = (enum sample_type)place;
    return true;
}

static bool take_type(struct parsing *parsing, const char *value)
{
    parsing->options->source.has_type = true;
    return read_type(parsing, value, &parsing->options->source.type);
}

static bool take_out_type(struct parsing *parsing, const char *value)
{
    parsing->options->job.has_out_type = true;
    return read_type(parsing, value, &parsing->options->job.out_type);
}

static bool take_out_range(struct parsing *parsing, const char *value)
{
    struct job_request *job = &parsing->options->job;
    double ends[2] = {0.0, 0.0};
    size_t count;

    job->ranged = true;
    job->auto_range = strcmp(value, "auto") == 0;
    if (!job->auto_range && !number_parse_list(value, ',', 2, 2, ends, &count))
        return refuse(parsing, value, "LO,HI or auto");
    if (!job->auto_range && ends[0] == ends[1])
        return fault_raise_about(parsing->fault, STATUS_USAGE, value, "LO and HI are the same");
    if (!isfinite(ends[1] - ends[0]))
        return fault_raise_about(parsing->fault, STATUS_USAGE, value, "LO and HI are too far apart");
    job->low = ends[0];
    job->high = ends[1];
    return true;
}

typedef bool (*region_parser)(const char *value, struct region_request *region, struct fault *fault);

/* Of two regions one would be left out in silence. */
static bool take_region(struct parsing *parsing, const char *value, region_parser parse)
{
    struct region_request *region = &parsing->options->job.region, before = *region;

    if (!parse(value, region, parsing->fault))
        return false;
    if (before.kind == region->kind)
        return refuse_twice(parsing);
    return before.kind == REGION_WHOLE || fault_raise_about(parsing->fault, STATUS_USAGE, value,
                                                            "%s is given, too", region_option(before.kind));
}

static bool take_crop(struct parsing *parsing, const char *value)
{
    return take_region(parsing, value, region_parse_crop);
}

static bool take_planes(struct parsing *parsing, const char *value)
{
    return take_region(parsing, value, region_parse_planes);
}

static bool take_part(struct parsing *parsing, const char *value)
{
    return take_region(parsing, value, region_parse_part);
}

static bool take_slice(struct parsing *parsing, const char *value)
{
    return take_region(parsing, value, region_parse_slice);
}

static bool read_endian(struct parsing *parsing, const char *value, enum endian *endian)
{
    int order;

    if (!read_choice(parsing, value, &order))
        return false;
    *endian = (enum endian)order;
    return true;
}

static bool take_endian(struct parsing *parsing, const char *value)
{
    parsing->options->source.has_endian = true;
    return read_endian(parsing, value, &parsing->options->source.endian);
}

static bool take_out_endian(struct parsing *parsing, const char *value)
{
    parsing->options->job.has_out_endian = true;
    return read_endian(parsing, value, &parsing->options->job.out_endian);
}

static bool take_skip(struct parsing *parsing, const char *value)
{
    return number_parse_bytes(value, &parsing->options->source.skip) ||
           refuse(parsing, value, "a count of bytes");
}

static bool take_spacing(struct parsing *parsing, const char *value)
{
    struct source_request *source = &parsing->options->source;
    double spacing[3] = {1.0, 1.0, 1.0};
    size_t count;

    if (!number_parse_list(value, ',', 2, 3, spacing, &count))
        return refuse(parsing, value, "X,Y or X,Y,Z");
    for (size_t i = 0; i < 3; i++) {
        if (spacing[i] < LEAST_SPACING || spacing[i] > MOST_SPACING)
            return refuse(parsing, value, "distances from " TEXT(LEAST_SPACING) " to " TEXT(MOST_SPACING));
        source->grid.spacing[i] = spacing[i];
    }
    source->spacing_count = count;
    return true;
}

static bool read_format(struct parsing *parsing, const char *value, const struct format **format)
{
    int place;

    if (!read_choice(parsing, value, &place))
        return false;
    *format = format_chosen(place);
    return true;
}

static bool take_format(struct parsing *parsing, const char *value)
{
    return read_format(parsing, value, &parsing->options->format);
}

static bool take_out_format(struct parsing *parsing, const char *value)
{
    return read_format(parsing, value, &parsing->options->out_format);
}

static bool take_allow_outside(struct parsing *parsing, const char *value)
{
    (void)value;
    parsing->options->source.allow_outside = true;
    return true;
}

static bool take_filter(struct parsing *parsing, const char *value)
{
    struct stage_request *stage = &parsing->options->stages[parsing->options->job.stage_count++];

    *stage = (struct stage_request){.given = 0};
    parsing->stage = stage;
    return filter_parse(value, &stage->call, parsing->fault);
}

static bool take_steps(struct parsing *parsing, const char *value)
{
    parsing->stage->given |= STAGE_STEPS;
    return number_parse_count(value, &parsing->stage->steps) || refuse(parsing, value, "a whole number");
}

static bool take_edge(struct parsing *parsing, const char *value)
{
    parsing->stage->given |= STAGE_EDGE;
    return edge_parse(value, &parsing->stage->edge, parsing->fault);
}

static bool read_least(struct parsing *parsing, const char *value, double least, bool itself, double *number)
{
    if (!number_parse_double(value, number))
        return refuse(parsing, value, "a number");
    if (*number < least || (*number == least && !itself))
        return refuse(parsing, value, itself ? "0 or more" : "a number above 0");
    return true;
}

static bool take_alpha(struct parsing *parsing, const char *value)
{
    parsing->stage->given |= STAGE_ALPHA;
    return read_least(parsing, value, 0.0, true, &parsing->stage->alpha);
}

static bool take_dt(struct parsing *parsing, const char *value)
{
    parsing->stage->given |= STAGE_DT;
    return read_least(parsing, value, 0.0, true, &parsing->stage->dt);
}

static bool take_sigma(struct parsing *parsing, const char *value)
{
    char number[64];
    size_t length = strlen(value);
    bool in_spacing = length > 0 && value[length - 1] == 'u';

    if (length >= sizeof number)
        return refuse(parsing, value, "a number");
    memcpy(number, value, length + 1);
    if (in_spacing)
        number[length - 1] = '\0';
    parsing->stage->given |= STAGE_SIGMA;
    parsing->stage->sigma.in_spacing = in_spacing;
    if (!number_parse_double(number, &parsing->stage->sigma.value) || parsing->stage->sigma.value < 0.0)
        return refuse(parsing, value, "a number, 0 or more, with or without u");
    return true;
}

static bool take_flux(struct parsing *parsing, const char *value)
{
    int flux;

    if (!read_choice(parsing, value, &flux))
        return false;
    parsing->stage->given |= STAGE_FLUX;
    parsing->stage->flux = (enum flux)flux;
    return true;
}

static bool take_flux_channels(struct parsing *parsing, const char *value)
{
    int sharing;

    if (!read_choice(parsing, value, &sharing))
        return false;
    parsing->stage->given |= STAGE_FLUX_CHANNELS;
    parsing->stage->joint_flux = sharing == SHARING_JOINT;
    return true;
}

static bool take_scale(struct parsing *parsing, const char *value)
{
    parsing->stage->given |= STAGE_SCALE;
    return read_least(parsing, value, 0.0, false, &parsing->stage->scale);
}

static bool take_inner(struct parsing *parsing, const char *value)
{
    parsing->stage->given |= STAGE_INNER;
    if (!number_parse_count(value, &parsing->stage->inner) || parsing->stage->inner == 0)
        return refuse(parsing, value, "a whole number above 0");
    return true;
}

static bool take_reaction(struct parsing *parsing, const char *value)
{
    parsing->stage->given |= STAGE_REACTION;
    return number_parse_double(value, &parsing->stage->reaction) || refuse(parsing, value, "a number");
}

static bool take_until(struct parsing *parsing, const char *value)
{
    parsing->stage->given |= STAGE_UNTIL;
    return read_least(parsing, value, 0.0, false, &parsing->stage->until);
}

static bool take_check_every(struct parsing *parsing, const char *value)
{
    parsing->stage->given |= STAGE_CHECK_EVERY;
    if (!number_parse_count(value, &parsing->stage->check_every) || parsing->stage->check_every == 0)
        return refuse(parsing, value, "a whole number above 0");
    return true;
}

static bool take_flip(struct parsing *parsing, const char *value)
{
    (void)value;
    parsing->stage->given |= STAGE_FLIP;
    parsing->stage->flipped = true;
    return true;
}

static bool take_force(struct parsing *parsing, const char *value)
{
    (void)value;
    parsing->options->job.force = true;
    return true;
}

static bool take_linear(struct parsing *parsing, const char *value)
{
    (void)value;
    parsing->options->job.linear_light = true;
    return true;
}

static bool take_alpha_mode(struct parsing *parsing, const char *value)
{
    int mode;

    if (!read_choice(parsing, value, &mode))
        return false;
    parsing->options->job.has_alpha_mode = true;
    parsing->options->job.alpha_mode = (enum alpha_mode)mode;
    return true;
}

static bool take_level(struct parsing *parsing, const char *value)
{
    uint64_t level;

    if (!number_parse_count(value, &level) || level > MOST_LEVEL)
        return refuse(parsing, value, "0 to " TEXT(MOST_LEVEL));
    parsing->options->level = (int)level;
    return true;
}

static bool take_work(struct parsing *parsing, const char *value)
{
    int work;

    if (!read_choice(parsing, value, &work))
        return false;
    parsing->options->job.has_work = true;
    parsing->options->job.work = (enum work_type)work;
    return true;
}

static bool take_device(struct parsing *parsing, const char *value)
{
    parsing->options->plan.device = value;
    return true;
}

static bool is_of_sums(const char *name)
{
    for (size_t i = 0; plan_backends[i] != NULL; i++) {
        for (const struct rung *rung = plan_backends[i]->sum_rungs; rung->name != NULL; rung++) {
            if (strcmp(rung->name, name) == 0)
                return true;
        }
    }
    return false;
}

static bool take_rung(struct parsing *parsing, const char *value)
{
    struct plan_request *plan = &parsing->options->plan;

    parsing->wish = is_of_sums(value) ? &plan->sums : &plan->wish;
    if (parsing->wish->rung != NULL && strcmp(parsing->wish->rung, value) != 0)
        return fault_raise_about(parsing->fault, STATUS_USAGE, value, "%s is already requested",
                                 parsing->wish->rung);
    parsing->wish->rung = value;
    return true;
}

static bool read_pair(const char *value, uint64_t *first, uint64_t *second)
{
    char number[32];
    const char *cross = strchr(value, 'x');
    size_t length = cross == NULL ? strlen(value) : (size_t)(cross - value);

    if (length >= sizeof number)
        return false;
    memcpy(number, value, length);
    number[length] = '\0';
    *second = 0;
    return number_parse_count(number, first) && *first > 0 && *first <= MOST_TILE &&
           (cross == NULL || (number_parse_count(cross + 1, second) && *second > 0 && *second <= MOST_TILE));
}

/* "32,8" as read_pair takes it. */
static const char *meant_pair(const char *value, char *meant, size_t size)
{
    uint64_t first, second;

    return read_pair(suggest_separator(value, 'x', meant, size), &first, &second) ? meant : NULL;
}

static bool take_tile(struct parsing *parsing, const char *value)
{
    uint64_t width, height;
    char meant[64];

    if (!read_pair(value, &width, &height))
        return refuse_for(parsing, value, "W or WxH, whole numbers from 1 to " TEXT(MOST_TILE),
                          meant_pair(value, meant, sizeof meant));
    parsing->wish->tile_x = (unsigned)width;
    parsing->wish->tile_y = (unsigned)(height == 0 ? width : height);
    return true;
}

static bool take_coarsen(struct parsing *parsing, const char *value)
{
    uint64_t factor, stride;
    char meant[64];

    if (!read_pair(value, &factor, &stride))
        return refuse_for(parsing, value, "N or NxS, whole numbers from 1 to " TEXT(MOST_TILE),
                          meant_pair(value, meant, sizeof meant));
    parsing->wish->coarsen = (unsigned)factor;
    parsing->wish->stride = (unsigned)stride;
    return true;
}

static bool take_threads(struct parsing *parsing, const char *value)
{
    uint64_t threads;

    if (!number_parse_count(value, &threads) || threads == 0 || threads > MOST_THREADS)
        return refuse(parsing, value, "a whole number from 1 to " TEXT(MOST_THREADS));
    parsing->options->plan.threads = (unsigned)threads;
    return true;
}

static bool take_memory(struct parsing *parsing, const char *value)
{
    if (!number_parse_bytes(value, &parsing->options->plan.memory) || parsing->options->plan.memory == 0)
        return refuse(parsing, value, "a count of bytes above 0, with K, M, G or T");
    return true;
}

/* What is printed in place of a run. */
static bool take_printing(struct parsing *parsing, const char *value, enum action action)
{
    int notation = NOTATION_TEXT;

    if (value != NULL && !read_choice(parsing, value, &notation))
        return false;
    parsing->options->action = action;
    parsing->options->json = notation == NOTATION_JSON;
    return true;
}

static bool take_explain(struct parsing *parsing, const char *value)
{
    return take_printing(parsing, value, ACTION_EXPLAIN);
}

/* Without a file, or to -, a report goes to standard error. */
static bool take_report(struct parsing *parsing, const char *value)
{
    struct options *options = parsing->options;
    const char *path = NULL;
    char expected[64];
    int notation = NOTATION_TEXT;

    if (value != NULL && !choice_parse(parsing->choices, value, &notation, &path, parsing->fault))
        return false;
    if (path != NULL && *path == '\0')
        return refuse(parsing, value, choice_expected(parsing->choices, expected, sizeof expected));
    options->report = notation == NOTATION_JSON ? REPORT_JSON : REPORT_TEXT;
    options->report_path = path != NULL && strcmp(path, "-") == 0 ? NULL : path;
    return true;
}

static bool take_tee(struct parsing *parsing, const char *value)
{
    struct options *options = parsing->options;
    struct pipeline_tee *tee = &options->tees[options->tee_count];
    const char *colon = strchr(value, ':');
    char number[32];

    if (colon == NULL || colon[1] == '\0' || (size_t)(colon - value) >= sizeof number)
        return refuse(parsing, value, "N:FILE, where N is a number of steps");
    memcpy(number, value, (size_t)(colon - value));
    number[colon - value] = '\0';
    if (!number_parse_count(number, &tee->step))
        return refuse(parsing, value, "N:FILE, where N is a number of steps");
    tee->path = colon + 1;
    options->tee_count++;
    return true;
}

static bool take_frames(struct parsing *parsing, const char *value)
{
    return take_file(parsing, &parsing->options->frames.pattern, value) &&
           (pattern_is(value) || refuse(parsing, value, "a name with %d or %04d in it, once"));
}

static bool take_every(struct parsing *parsing, const char *value)
{
    uint64_t *every = &parsing->options->frames.every;

    return (number_parse_count(value, every) && *every > 0) ||
           refuse(parsing, value, "a whole number above 0");
}

static bool take_preview(struct parsing *parsing, const char *value)
{
    return take_file(parsing, &parsing->options->preview, value);
}

static bool take_plot(struct parsing *parsing, const char *value)
{
    return take_file(parsing, &parsing->options->plot, value);
}

static bool take_stats(struct parsing *parsing, const char *value)
{
    (void)value;
    parsing->options->run.stats = parsing->options->plan.stats = true;
    return true;
}

static bool take_bench(struct parsing *parsing, const char *value)
{
    return take_printing(parsing, value, ACTION_BENCH);
}

static bool take_tune(struct parsing *parsing, const char *value)
{
    (void)value;
    parsing->options->action = ACTION_BENCH;
    parsing->options->tune = true;
    return true;
}

static bool take_list(struct parsing *parsing, const char *value)
{
    return take_printing(parsing, value, ACTION_LIST);
}

static bool take_progress(struct parsing *parsing, const char *value)
{
    int mode;

    if (!read_choice(parsing, value, &mode))
        return false;
    parsing->options->run.progress = (enum progress_mode)mode;
    return true;
}

static bool take_quiet(struct parsing *parsing, const char *value)
{
    (void)parsing, (void)value;
    diag_set_level(DIAG_QUIET);
    return true;
}

static bool take_verbose(struct parsing *parsing, const char *value)
{
    (void)parsing, (void)value;
    diag_set_level(DIAG_VERBOSE);
    return true;
}

/* Which program this is was settled before its options were known. */
static bool take_program(struct parsing *parsing, const char *value)
{
    int place;

    if (!read_choice(parsing, value, &place))
        return false;
    return strcmp(value, program_name(parsing->options->program)) == 0 ||
           fault_raise_about(parsing->fault, STATUS_USAGE, value, "it must be the first argument");
}

static bool take_help(struct parsing *parsing, const char *value)
{
    (void)value;
    parsing->options->action = ACTION_HELP;
    return true;
}

static bool take_version(struct parsing *parsing, const char *value)
{
    (void)value;
    parsing->options->action = ACTION_VERSION;
    return true;
}

static bool (*const takers[])(struct parsing *parsing, const char *value) = {
#define OPTION(letter, name, argument, choices, programs, take, help) take,
#include "words.def"
};

static bool settle_inputs(struct parsing *parsing, const char *const *operands, size_t count)
{
    struct options *options = parsing->options;

    if (options->input != NULL && count > 0)
        return fault_raise_about(parsing->fault, STATUS_USAGE, operands[0],
                                 "--input already gives the input");
    if (options->input == NULL)
        options->input = "-";
    options->inputs = count > 0 ? operands : &options->input;
    options->input_count = count > 0 ? count : 1;
    return true;
}

static bool take_all(struct parsing *parsing, int argc, char **argv)
{
    struct words words;
    const char *value;
    size_t option;

    words_begin(&words, parsing->options->program, argc, argv);
    for (;;) {
        if (!words_next(&words, &option, &value, parsing->fault))
            return false;
        if (option == WORDS)
            return settle_inputs(parsing, (const char *const *)argv + optind, (size_t)(argc - optind));
        parsing->choices = words_choices(option);
        if (!takers[option](parsing, value))
            return words_refuse(&words, option, parsing->fault);
    }
}

static bool settle_stages(struct parsing *parsing)
{
    struct job_request *job = &parsing->options->job;

    if (job->stage_count == 0 && !take_filter(parsing, "heat"))
        return false;
    job->stages = parsing->options->stages;
    return stages_settle(parsing->options->stages, job->stage_count, &parsing->defaults, job->force,
                         parsing->fault);
}

/* Sums have a rung only where something is added up. */
static bool check_sums(const struct parsing *parsing)
{
    const struct options *options = parsing->options;
    bool adds = options->action == ACTION_BENCH || options->run.stats ||
                stages_wait(options->stages, options->job.stage_count);

    return adds || options->plan.sums.rung == NULL ||
           fault_raise(parsing->fault, STATUS_USAGE,
                       "--rung: %s: no samples are summed without --stats or --until",
                       options->plan.sums.rung);
}

/* A picture brings its extents; those for measuring without one are given. */
static bool check_extents(const struct parsing *parsing)
{
    const struct options *options = parsing->options;
    bool given = options->program == PROGRAM_IMGHEAT && options->source.has_dims;
    bool measures = options->action == ACTION_BENCH && strcmp(options->inputs[0], "-") == 0;

    return !given || measures ||
           fault_raise(parsing->fault, STATUS_USAGE,
                       "-d: pictures have their own extents; it is for --bench and --tune without a file");
}

/* What says how to write, how much to hold or what to tell of a run. */
static bool check_measuring(const struct parsing *parsing)
{
    const struct options *options = parsing->options;
    const struct {
        bool given;
        const char *name;
    } idle[] = {
        {options->output != NULL, "--output"},
        {options->out_format != NULL, "--out-format"},
        {options->job.has_out_type, "--out-type"},
        {options->job.has_out_endian, "--out-endian"},
        {options->job.ranged, "--out-range"},
        {options->level >= 0, "--level"},
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
            return fault_raise_about(parsing->fault, STATUS_USAGE, idle[i].name,
                                     "not allowed with --bench and --tune, which filter nothing");
    }
    return true;
}

/* Of several inputs each would want a file of its own. */
static bool check_lone(const struct parsing *parsing)
{
    const struct options *options = parsing->options;
    const char *option = options->preview != NULL          ? "--preview"
                         : options->plot != NULL           ? "--plot"
                         : options->tee_count > 0          ? "--tee"
                         : options->frames.pattern != NULL ? "--frames"
                                                           : NULL;

    return options->input_count == 1 || option == NULL ||
           fault_raise_about(parsing->fault, STATUS_USAGE, option, "it is for one input, not for %zu",
                             options->input_count);
}

/* What there is to plot. */
static bool check_plot(const struct parsing *parsing)
{
    const struct options *options = parsing->options;
    bool any = options->action == ACTION_BENCH || stages_wait(options->stages, options->job.stage_count);

    return any || options->plot == NULL ||
           fault_raise(parsing->fault, STATUS_USAGE,
                       "--plot: it draws what --bench or --until finds; neither is given");
}

/* Frames are tees that are numbered. */
static bool settle_frames(const struct parsing *parsing)
{
    struct frames *frames = &parsing->options->frames;

    if (frames->pattern == NULL)
        return frames->every == 0 ||
               fault_raise(parsing->fault, STATUS_USAGE, "--every: there are no --frames");
    if (parsing->options->tee_count > 0)
        return fault_raise(parsing->fault, STATUS_USAGE, "--frames: not allowed with --tee");
    if (frames->every == 0)
        frames->every = 1;
    return true;
}

/* What is of all samples, or of a volume's file, is not of a region. A slice becomes a picture. */
static bool settle_region(const struct parsing *parsing)
{
    struct options *options = parsing->options;
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
            return fault_raise_about(parsing->fault, STATUS_USAGE, others[i].name, "not allowed with %s: %s",
                                     region_option(kind), others[i].reason);
    }
    if (slice)
        options->out_format = &format_png;
    return true;
}

/* A file may bring spacing that no stage heeds; whoever gives it on the command line means something by it.
 */
static bool check_spacing(const struct parsing *parsing)
{
    const struct options *options = parsing->options;
    const struct source_request *source = &options->source;

    if (source->spacing_count == 0)
        return true;
    if (source->has_dims && source->spacing_count != source->grid.axes)
        return fault_raise(parsing->fault, STATUS_USAGE, "--spacing: %zu distances for %u axes",
                           source->spacing_count, source->grid.axes);
    return options->preview != NULL || stages_heed_spacing(options->stages, options->job.stage_count) ||
           fault_raise(parsing->fault, STATUS_USAGE, "--spacing: no stage of this chain uses it");
}

/* getopt puts operands last. */
static bool keep_words(struct options *options, int argc, char **argv, struct fault *fault)
{
    options->words = mem_alloc((size_t)argc, sizeof *options->words, "the command line", fault);
    if (options->words == NULL)
        return false;
    for (int i = 0; i < argc; i++)
        options->words[options->word_count++] = argv[i];
    return true;
}

bool options_parse(int argc, char **argv, enum program program, struct options *options, struct fault *fault)
{
    struct parsing parsing = {.options = options, .fault = fault};

    *options = (struct options){.program = program, .level = -1};
    options->source.grid = grid_make(3, 0, 0, 0);
    options->stages = mem_zeroed((size_t)argc + 1, sizeof *options->stages, "the stages", fault);
    options->tees = mem_zeroed((size_t)argc, sizeof *options->tees, "the tees", fault);
    if (options->stages == NULL || options->tees == NULL || !keep_words(options, argc, argv, fault))
        return false;
    parsing.stage = &parsing.defaults;
    parsing.defaults.joint_flux = program == PROGRAM_IMGHEAT;
    parsing.wish = &options->plan.wish;
    if (!take_all(&parsing, argc, argv))
        return false;
    if (options->action == ACTION_HELP || options->action == ACTION_VERSION || options->action == ACTION_LIST)
        return true;
    return settle_stages(&parsing) && check_extents(&parsing) && check_spacing(&parsing) &&
           check_sums(&parsing) && check_measuring(&parsing) && check_lone(&parsing) &&
           check_plot(&parsing) && settle_frames(&parsing) && settle_region(&parsing);
}

void options_free(struct options *options)
{
    for (size_t i = 0; i < options->job.stage_count; i++)
        filter_call_free(&options->stages[i].call);
    mem_free(options->stages);
    mem_free(options->words);
    mem_free(options->tees);
    options->stages = NULL;
    options->words = NULL;
}
