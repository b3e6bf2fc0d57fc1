/* The command line of both commands: from argv to plain requests. */
#include "options.h"

#include "edge.h"
#include "heat.h"
#include "mem.h"
#include "number.h"
#include "sample.h"

#include <getopt.h>
#include <limits.h>
#include <string.h>

#define MOST_THREADS  4096
#define MOST_CHANNELS 65536
#define MOST_TILE     65536

/* Their squares, and the ratios of those, are doubles still. */
#define LEAST_SPACING 1e-100
#define MOST_SPACING  1e100

#define VOXFILT PROGRAM_VOXFILT
#define IMGHEAT PROGRAM_IMGHEAT
#define BOTH    (PROGRAM_VOXFILT | PROGRAM_IMGHEAT)

struct parsing {
    struct options *options;
    struct stage_request defaults;
    struct stage_request *stage; /* that stage options belong to: the defaults before the first --filter */
    struct rung_wish *wish; /* that --tile and --coarsen belong to: the stages' before the first --rung */
    bool has_cube;
    struct fault *fault;
};

struct option_entry {
    char letter;
    const char *name;
    const char *argument;
    unsigned programs;
    bool (*take)(struct parsing *parsing, const char *value);
    const char *help;
};

/* Takers raise the reason alone; the name of the option is put before it where they are called. */
static bool refuse(struct parsing *parsing, const char *value, const char *expected)
{
    return fault_raise(parsing->fault, STATUS_USAGE, "%s: expected %s", value, expected);
}

static bool take_input(struct parsing *parsing, const char *value)
{
    parsing->options->input = value;
    return true;
}

static bool take_output(struct parsing *parsing, const char *value)
{
    parsing->options->output = value;
    return true;
}

static bool read_extents(const char *value, double *extents, size_t *count)
{
    if (!number_parse_list(value, ',', 2, 3, extents, count))
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

static bool take_cube(struct parsing *parsing, const char *value)
{
    uint64_t side;

    if (!number_parse_count(value, &side) || side == 0 || side > (uint64_t)1 << 53)
        return refuse(parsing, value, "a whole number above 0");
    if (parsing->options->source.has_dims && !parsing->has_cube)
        return fault_raise(parsing->fault, STATUS_USAGE, "%s: -d gives the extents already", value);
    parsing->has_cube = true;
    return set_extents(parsing, 3, (double)side, (double)side, (double)side);
}

static bool take_dims(struct parsing *parsing, const char *value)
{
    double extents[3] = {1.0, 1.0, 1.0};
    bool picture = parsing->options->program == PROGRAM_IMGHEAT;
    size_t count;

    if (!read_extents(value, extents, &count) || (picture && count == 3))
        return refuse(parsing, value,
                      picture ? "X,Y, whole numbers above 0" : "X,Y or X,Y,Z, whole numbers above 0");
    if (parsing->has_cube)
        return fault_raise(parsing->fault, STATUS_USAGE, "%s: -n gives the extents already", value);
    return set_extents(parsing, (unsigned)count, extents[0], extents[1], extents[2]);
}

static bool take_channels(struct parsing *parsing, const char *value)
{
    uint64_t channels;

    if (!number_parse_count(value, &channels) || channels == 0 || channels > MOST_CHANNELS)
        return refuse(parsing, value, "a whole number from 1 to 65536");
    parsing->options->source.grid.channels = (unsigned)channels;
    return true;
}

static bool read_type(struct parsing *parsing, const char *value, enum sample_type *type)
{
    return sample_parse(value, type) || refuse(parsing, value, "u8, i8, u16, i16, u32, i32, f32 or f64");
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

static bool read_endian(struct parsing *parsing, const char *value, enum endian *endian)
{
    if (strcmp(value, "little") != 0 && strcmp(value, "big") != 0)
        return refuse(parsing, value, "little or big");
    *endian = strcmp(value, "little") == 0 ? ENDIAN_LITTLE : ENDIAN_BIG;
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
            return refuse(parsing, value, "distances from 1e-100 to 1e100");
        source->grid.spacing[i] = spacing[i];
    }
    source->spacing_count = count;
    return true;
}

static bool read_format(struct parsing *parsing, const char *value, const struct format **format)
{
    if (strcmp(value, format_raw.name) != 0)
        return refuse(parsing, value, "raw");
    *format = &format_raw;
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
    parsing->stage->sigma_in_spacing = in_spacing;
    if (!number_parse_double(number, &parsing->stage->sigma) || parsing->stage->sigma < 0.0)
        return refuse(parsing, value, "a number, 0 or more, with or without u");
    return true;
}

static bool take_flux(struct parsing *parsing, const char *value)
{
    parsing->stage->given |= STAGE_FLUX;
    return heat_parse_flux(value, &parsing->stage->flux) ||
           refuse(parsing, value, "linear, tanh, pm1 or pm2");
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

static bool take_flip(struct parsing *parsing, const char *value)
{
    (void)value;
    parsing->stage->given |= STAGE_FLIP;
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
    if (strcmp(value, "premultiply") != 0 && strcmp(value, "separate") != 0)
        return refuse(parsing, value, "premultiply or separate");
    parsing->options->job.alpha_mode = strcmp(value, "premultiply") == 0 ? ALPHA_PREMULTIPLY : ALPHA_SEPARATE;
    return true;
}

static bool take_level(struct parsing *parsing, const char *value)
{
    uint64_t level;

    if (!number_parse_count(value, &level) || level > 9)
        return refuse(parsing, value, "0 to 9");
    parsing->options->level = (int)level;
    return true;
}

static bool take_work(struct parsing *parsing, const char *value)
{
    parsing->options->job.has_work = true;
    return work_parse(value, &parsing->options->job.work) || refuse(parsing, value, "f32 or f64");
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
        return fault_raise(parsing->fault, STATUS_USAGE, "%s: %s is asked for already", value,
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

static bool take_tile(struct parsing *parsing, const char *value)
{
    uint64_t width, height;

    if (!read_pair(value, &width, &height))
        return refuse(parsing, value, "W or WxH, whole numbers from 1 to 65536");
    parsing->wish->tile_x = (unsigned)width;
    parsing->wish->tile_y = (unsigned)(height == 0 ? width : height);
    return true;
}

static bool take_coarsen(struct parsing *parsing, const char *value)
{
    uint64_t factor, stride;

    if (!read_pair(value, &factor, &stride))
        return refuse(parsing, value, "N or NxS, whole numbers from 1 to 65536");
    parsing->wish->coarsen = (unsigned)factor;
    parsing->wish->stride = (unsigned)stride;
    return true;
}

static bool take_threads(struct parsing *parsing, const char *value)
{
    uint64_t threads;

    if (!number_parse_count(value, &threads) || threads == 0 || threads > MOST_THREADS)
        return refuse(parsing, value, "a whole number from 1 to 4096");
    parsing->options->plan.threads = (unsigned)threads;
    return true;
}

static bool take_memory(struct parsing *parsing, const char *value)
{
    if (!number_parse_bytes(value, &parsing->options->plan.memory) || parsing->options->plan.memory == 0)
        return refuse(parsing, value, "a count of bytes above 0, with K, M, G or T");
    return true;
}

static bool take_explain(struct parsing *parsing, const char *value)
{
    (void)value;
    parsing->options->action = ACTION_EXPLAIN;
    return true;
}

static bool take_report(struct parsing *parsing, const char *value)
{
    if (value != NULL && strcmp(value, "text") != 0 && strcmp(value, "json") != 0)
        return refuse(parsing, value, "text or json");
    parsing->options->report = value != NULL && strcmp(value, "json") == 0 ? REPORT_JSON : REPORT_TEXT;
    return true;
}

static bool take_stats(struct parsing *parsing, const char *value)
{
    (void)value;
    parsing->options->run.stats = parsing->options->plan.stats = true;
    return true;
}

static bool take_bench(struct parsing *parsing, const char *value)
{
    if (value != NULL && strcmp(value, "text") != 0 && strcmp(value, "json") != 0)
        return refuse(parsing, value, "text or json");
    parsing->options->action = ACTION_BENCH;
    parsing->options->bench_json = value != NULL && strcmp(value, "json") == 0;
    return true;
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
    (void)value;
    parsing->options->action = ACTION_LIST;
    return true;
}

static bool take_progress(struct parsing *parsing, const char *value)
{
    static const char *const modes[] = {
        [PROGRESS_AUTO] = "auto", [PROGRESS_ALWAYS] = "always", [PROGRESS_NEVER] = "never"};

    for (int i = 0; i < (int)(sizeof modes / sizeof *modes); i++) {
        if (strcmp(value, modes[i]) == 0) {
            parsing->options->run.progress = (enum progress_mode)i;
            return true;
        }
    }
    return refuse(parsing, value, "auto, always or never");
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

static const struct option_entry entries[] = {
#define OPTION(letter, name, argument, programs, take, help) {letter, name, argument, programs, take, help},
#include "options.def"
#undef OPTION
};
#define ENTRIES (sizeof entries / sizeof *entries)

/* What getopt_long returns for the long form of entries[i] is LONG_CODE + i. */
#define LONG_CODE 256

static bool may_be_left_out(const struct option_entry *entry)
{
    return entry->argument != NULL && entry->argument[0] == '[';
}

/* The leading colon makes getopt tell a missing argument from an unknown option. */
static void fill_getopt(enum program program, char *letters, struct option *longs)
{
    *letters++ = ':';
    for (size_t i = 0; i < ENTRIES; i++) {
        const struct option_entry *entry = &entries[i];
        if ((entry->programs & program) == 0)
            continue;
        if (entry->letter != 0) {
            *letters++ = entry->letter;
            if (entry->argument != NULL)
                *letters++ = ':';
        }
        if (entry->name != NULL)
            *longs++ = (struct option){entry->name,
                                       entry->argument == NULL  ? no_argument
                                       : may_be_left_out(entry) ? optional_argument
                                                                : required_argument,
                                       NULL, LONG_CODE + (int)i};
    }
    *letters = '\0';
    *longs = (struct option){NULL, 0, NULL, 0};
}

static const struct option_entry *entry_of(enum program program, int code)
{
    if (code >= LONG_CODE)
        return &entries[code - LONG_CODE];
    for (size_t i = 0; i < ENTRIES; i++) {
        if (entries[i].letter == code && (entries[i].programs & program) != 0)
            return &entries[i];
    }
    return NULL;
}

static bool refuse_code(int code, char **argv, struct fault *fault)
{
    const char *word = argv[optind - 1];
    char letter[3] = {'-', (char)optopt, '\0'};

    if (optopt > 0 && optopt < LONG_CODE)
        word = letter;
    if (code == ':')
        return fault_raise(fault, STATUS_USAGE, "%s: it needs an argument", word);
    if (optopt >= LONG_CODE)
        return fault_raise(fault, STATUS_USAGE, "%s: it takes no argument", word);
    return fault_raise(fault, STATUS_USAGE, "%s: no such option, or not clear which (--help lists them)",
                       word);
}

static bool take_entry(struct parsing *parsing, const struct option_entry *entry, const char *value)
{
    char prefix[64];

    if (entry->take(parsing, value))
        return true;
    /* Some reasons come from deeper rooms that name their option already. */
    if (strncmp(parsing->fault->text, "--", 2) == 0)
        return false;
    snprintf(prefix, sizeof prefix, entry->name != NULL ? "--%s" : "-%s",
             entry->name != NULL ? entry->name : (char[]){entry->letter, '\0'});
    return fault_prefix(parsing->fault, prefix);
}

static bool settle_inputs(struct parsing *parsing, const char *const *operands, size_t count)
{
    struct options *options = parsing->options;

    if (options->program == PROGRAM_VOXFILT && count > 0)
        return fault_raise(parsing->fault, STATUS_USAGE,
                           "%s: no operands are taken; the input is --input FILE", operands[0]);
    if (options->input != NULL && count > 0)
        return fault_raise(parsing->fault, STATUS_USAGE, "%s: --input gives the input already", operands[0]);
    if (options->input == NULL)
        options->input = "-";
    options->inputs = count > 0 ? operands : &options->input;
    options->input_count = count > 0 ? count : 1;
    return true;
}

static bool take_all(struct parsing *parsing, int argc, char **argv)
{
    char letters[3 * ENTRIES + 2];
    struct option longs[ENTRIES + 1];
    int code;

    fill_getopt(parsing->options->program, letters, longs);
    optind = 0; /* glibc: begin anew, permuting */
    opterr = 0;
    while ((code = getopt_long(argc, argv, letters, longs, NULL)) != -1) {
        if (code == '?' || code == ':')
            return refuse_code(code, argv, parsing->fault);
        if (!take_entry(parsing, entry_of(parsing->options->program, code), optarg))
            return false;
    }
    return settle_inputs(parsing, (const char *const *)argv + optind, (size_t)(argc - optind));
}

static bool any_stage_is_heat(const struct options *options)
{
    for (size_t i = 0; i < options->job.stage_count; i++) {
        if (options->stages[i].call.filter->kind == FILTER_HEAT)
            return true;
    }
    return false;
}

/* An option that no stage of the chain can use would be parsed and ignored; it is refused. */
static bool check_defaults(const struct parsing *parsing)
{
    const struct options *options = parsing->options;

    if (options->job.force && !any_stage_is_heat(options))
        return fault_raise(parsing->fault, STATUS_USAGE, "--force: no stage of this chain is heat");
    for (unsigned option = 1; option <= STAGE_FLIP; option <<= 1) {
        bool used = false;
        for (size_t i = 0; i < options->job.stage_count; i++)
            used = used || stage_option_applies((enum stage_option)option, options->stages[i].call.filter);
        if ((parsing->defaults.given & option) && !used)
            return fault_raise(parsing->fault, STATUS_USAGE, "--%s: no stage of this chain is heat",
                               stage_option_name((enum stage_option)option));
    }
    return true;
}

/* Stages with a linear flux leave a default scale alone; some stage must have taken it. */
static bool check_default_scale(const struct parsing *parsing)
{
    const struct options *options = parsing->options;

    if (!(parsing->defaults.given & STAGE_SCALE))
        return true;
    for (size_t i = 0; i < options->job.stage_count; i++) {
        if (options->stages[i].given & STAGE_SCALE)
            return true;
    }
    return fault_raise(parsing->fault, STATUS_USAGE, "--scale: no stage of this chain has a nonlinear flux");
}

static bool settle_stages(struct parsing *parsing)
{
    struct options *options = parsing->options;
    size_t last;

    if (options->job.stage_count == 0 && !take_filter(parsing, "heat"))
        return false;
    last = options->job.stage_count - 1;
    if (!check_defaults(parsing))
        return false;
    for (size_t i = 0; i <= last; i++) {
        struct stage_request defaults = parsing->defaults;
        if (i < last)
            defaults.given &= ~(unsigned)STAGE_UNTIL;
        if (i < last && (options->stages[i].given & STAGE_UNTIL))
            return fault_raise(parsing->fault, STATUS_USAGE,
                               "--until: %s: only the last stage can wait for it",
                               options->stages[i].call.spec);
        stage_inherit(&options->stages[i], &defaults);
    }
    options->job.stages = options->stages;
    return check_default_scale(parsing);
}

/* Sums have a rung only where something is added up. */
static bool check_sums(const struct parsing *parsing)
{
    const struct options *options = parsing->options;
    bool adds = options->action == ACTION_BENCH || options->run.stats;

    for (size_t i = 0; i < options->job.stage_count; i++)
        adds = adds || (options->stages[i].given & STAGE_UNTIL);
    return adds || options->plan.sums.rung == NULL ||
           fault_raise(parsing->fault, STATUS_USAGE,
                       "--rung: %s: nothing is added up without --stats or --until", options->plan.sums.rung);
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

static bool any_stage_heeds_spacing(const struct options *options)
{
    for (size_t i = 0; i < options->job.stage_count; i++) {
        if (filter_heeds_spacing(&options->stages[i].call))
            return true;
    }
    return false;
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
    return any_stage_heeds_spacing(options) ||
           fault_raise(parsing->fault, STATUS_USAGE, "--spacing: no stage of this chain heeds it");
}

bool options_parse(int argc, char **argv, enum program program, struct options *options, struct fault *fault)
{
    struct parsing parsing = {.options = options, .fault = fault};

    *options = (struct options){.program = program, .level = -1};
    options->source.grid = grid_make(3, 0, 0, 0);
    options->stages = mem_zeroed((size_t)argc + 1, sizeof *options->stages, "the stages", fault);
    if (options->stages == NULL)
        return false;
    parsing.stage = &parsing.defaults;
    parsing.wish = &options->plan.wish;
    if (!take_all(&parsing, argc, argv))
        return false;
    if (options->action == ACTION_HELP || options->action == ACTION_VERSION || options->action == ACTION_LIST)
        return true;
    return settle_stages(&parsing) && check_extents(&parsing) && check_spacing(&parsing) &&
           check_sums(&parsing);
}

void options_free(struct options *options)
{
    for (size_t i = 0; i < options->job.stage_count; i++)
        filter_call_free(&options->stages[i].call);
    mem_free(options->stages);
    options->stages = NULL;
}

const char *options_program_name(enum program program)
{
    return program == PROGRAM_VOXFILT ? "voxfilt" : "imgheat";
}

static void print_entry(FILE *stream, const struct option_entry *entry)
{
    char form[64];
    const char *argument = entry->argument == NULL ? "" : entry->argument;

    if (entry->name == NULL)
        snprintf(form, sizeof form, "-%c %s", entry->letter, argument);
    else if (may_be_left_out(entry))
        snprintf(form, sizeof form, "    --%s[=%s", entry->name, argument + 1);
    else
        snprintf(form, sizeof form, "%c%c%c --%s%s%s", entry->letter ? '-' : ' ',
                 entry->letter ? entry->letter : ' ', entry->letter ? ',' : ' ', entry->name,
                 *argument ? "=" : "", argument);
    fprintf(stream, "  %-26s %s\n", form, entry->help);
}

void options_help(FILE *stream, enum program program)
{
    if (program == PROGRAM_VOXFILT)
        fprintf(stream, "Usage: voxfilt [OPTION]... < INPUT > OUTPUT\n"
                        "Filter a raw 3D volume: convolutions and heat steps.\n\n"
                        "  voxfilt -i vol.raw -n 256 -o out.raw\n\n");
    else
        fprintf(stream, "Usage: imgheat [OPTION]... [FILE] > OUTPUT\n"
                        "       imgheat [OPTION]... -o DIR/ FILE...\n"
                        "Filter PNG pictures: convolutions and heat steps.\n\n"
                        "  cat in.png | imgheat > out.png\n\n");
    for (size_t i = 0; i < ENTRIES; i++) {
        if (entries[i].programs & program)
            print_entry(stream, &entries[i]);
    }
    fprintf(stream,
            "\nStage options before the first --filter are defaults for every stage; after one, they are its "
            "own.\n"
            "Exit status: 0 done, 2 usage, 3 input refused, 4 reading or writing failed,\n"
            "5 device failed, 6 over a limit, 7 --until not reached (the output is complete), 1 else.\n"
            "The manual: man %s\n",
            options_program_name(program));
}
