/* The options: a row for each, from which parsing, help, completions and refusals follow, and the functions
   that rows call for values that take more work than to be stored. */
#include "option.h"

#include "base/deflate.h"
#include "base/number.h"
#include "base/progress.h"
#include "base/threads.h"
#include "model/limits.h"
#include "format/pattern.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define VOXFILT PROGRAM_VOXFILT
#define IMGHEAT PROGRAM_IMGHEAT
#define BOTH    (PROGRAM_VOXFILT | PROGRAM_IMGHEAT)

/* The words of options that take one of a few. Sample types, edge rules, fluxes and formats have lists of
   their own. The first word is the default, if there is one. */
static const struct keyword endian_keywords[] = {
    [ENDIAN_LITTLE] = {"little", "", "intel le lsb"},
    [ENDIAN_BIG] = {"big", "", "be msb network"},
    {NULL, NULL, NULL},
};

static const struct keyword flux_channels_keywords[] = {
    [FLUX_CHANNELS_JOINT] = {"joint", "", ""},
    [FLUX_CHANNELS_SEPARATE] = {"separate", "", ""},
    {NULL, NULL, NULL},
};

static const struct keyword alpha_mode_keywords[] = {
    [ALPHA_PREMULTIPLY] = {"premultiply", "", "associated"},
    [ALPHA_SEPARATE] = {"separate", "", "straight unassociated"},
    {NULL, NULL, NULL},
};

/* Names that a device may have; the plan knows which devices there are. */
static const struct keyword device_keywords[] = {
    {"auto", "", ""},
    {"cpu", "", ""},
    {"cuda", "[:N,...|:all]", ""},
    {NULL, NULL, NULL},
};

static const struct keyword report_keywords[] = {
    [NOTATION_TEXT] = {"text", "[:FILE]", ""},
    [NOTATION_JSON] = {"json", "[:FILE]", ""},
    {NULL, NULL, NULL},
};

static const struct keyword notation_keywords[] = {
    [NOTATION_TEXT] = {"text", "", ""},
    [NOTATION_JSON] = {"json", "", ""},
    {NULL, NULL, NULL},
};

static const struct keyword shell_keywords[] = {
    [SHELL_BASH] = {"bash", "", ""},
    [SHELL_ZSH] = {"zsh", "", ""},
    {NULL, NULL, NULL},
};

static const struct keyword progress_keywords[] = {
    [PROGRESS_AUTO] = {"auto", "", ""},
    [PROGRESS_ALWAYS] = {"always", "", "on yes"},
    [PROGRESS_NEVER] = {"never", "", "no none off"},
    {NULL, NULL, NULL},
};

static const struct keyword program_keywords[] = {
    {"voxfilt", "", ""},
    {"imgheat", "", ""},
    {NULL, NULL, NULL},
};

/* The value of an option in its row of options.def: its kind, and the limits or words that belong to the
   kind. */
#define ANY                   UINT64_MAX
#define FLAG                  .kind = OPTION_FLAG
#define COUNT(from, to)       .kind = OPTION_COUNT, .least = from, .most = to
#define BYTES(from)           .kind = OPTION_BYTES, .least = from
#define NUMBER                NUMBER_FROM(-INFINITY)
#define NUMBER_FROM(from)     .kind = OPTION_NUMBER, .bound = from
#define NUMBER_ABOVE(limit)   .kind = OPTION_NUMBER, .bound = limit, .beyond = true
#define WORD(words)           .kind = OPTION_WORD, .keywords = words
#define FORMAT(words)         .kind = OPTION_FORMAT, .keywords = words
#define NAME(words)           .kind = OPTION_NAME, .keywords = words
#define FILE_NAME             .kind = OPTION_NAME, .once = true
#define ACTION(what, words)   .kind = OPTION_ACTION, .action = what, .keywords = words
#define CALL(function, words) .kind = OPTION_CALL, .call = function, .keywords = words
#define CALL_ONCE(function)   .kind = OPTION_CALL, .call = function, .once = true
#define REGION(what)          CALL_ONCE(option_region), .region = what

/* The place of the value in such a row: a member of the options or of a stage, and perhaps a second one that
   says that it was given. */
#define AT(type, member)           .at = offsetof(type, member), .size = sizeof(((type *)NULL)->member)
#define IN(member)                 AT(struct options, member)
#define IN_AND(member, has)        IN(member), .has_at = offsetof(struct options, has)
#define OF_STAGE(constant, member) .stage = STAGE_##constant, AT(struct stage_request, member)

const struct option_row option_table[OPTIONS] = {
#define OPTION(letter_, name_, argument_, programs_, help_, ...)                                             \
    {.letter = letter_,                                                                                      \
     .name = name_,                                                                                          \
     .argument = argument_,                                                                                  \
     .programs = programs_,                                                                                  \
     .help = help_,                                                                                          \
     __VA_ARGS__},
#include "options.def"
};

bool option_argument_is_optional(const struct option_row *row)
{
    return row->argument != NULL && row->argument[0] == '[';
}

const char *option_expected(const struct option_row *row, char *text, size_t size)
{
    unsigned long long least = row->least, most = row->most;

    if (row->kind == OPTION_BYTES)
        snprintf(text, size, "a count of bytes%s", least > 0 ? " above 0, with K, M, G or T" : "");
    else if (row->kind == OPTION_NUMBER)
        snprintf(text, size, row->beyond ? "a number above %g" : "%g or more", row->bound);
    else if (row->kind != OPTION_COUNT)
        keyword_expected(row->keywords, text, size);
    else if (row->most == ANY)
        snprintf(text, size, "a whole number%s", least > 0 ? " above 0" : "");
    else
        snprintf(text, size, "%s%llu to %llu", least > 0 ? "a whole number from " : "", least, most);
    return text;
}

/* ---- values ---- */

bool option_refuse(struct parsing *parsing, const char *value, const char *expected)
{
    return fault_set_for(parsing->fault, STATUS_USAGE, value, "expected %s", expected);
}

/* `meant`: what may have been meant, or NULL. */
static bool refuse_for(struct parsing *parsing, const char *value, const char *expected, const char *meant)
{
    option_refuse(parsing, value, expected);
    return suggest_add(parsing->fault, meant, "");
}

/* ---- where samples are ---- */

/* Read extents, which are whole numbers above 0. */
static bool read_extents(const char *value, size_t least, size_t most, double *extents, size_t *count)
{
    if (!number_parse_list(value, ',', least, most, extents, count))
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

    /* -n and -d come here alike; whichever comes second has been refused before. */
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

    if (!read_extents(suggest_separator(value, ',', list, sizeof list), 2, most, extents, &count))
        return NULL;
    snprintf(meant, size, "%s%s", option, list);
    return meant;
}

bool option_cube(struct parsing *parsing, const char *value)
{
    uint64_t side;
    char meant[72];

    if (!number_parse_count(value, &side) || side == 0 || side > (uint64_t)1 << 53)
        return refuse_for(parsing, value, "a whole number above 0",
                          meant_dims("-d ", value, 3, meant, sizeof meant));
    if (parsing->options->source.has_dims && !parsing->has_cube)
        return fault_set_for(parsing->fault, STATUS_USAGE, value, "-d already gives the extents");
    parsing->has_cube = true;
    return set_extents(parsing, 3, (double)side, (double)side, (double)side);
}

bool option_dims(struct parsing *parsing, const char *value)
{
    bool picture = parsing->options->program == PROGRAM_IMGHEAT;
    size_t most = picture ? 2 : 3, count;
    const char *expected = picture ? "X,Y, whole numbers above 0" : "X[,Y[,Z]], whole numbers above 0";
    double extents[3] = {1.0, 1.0, 1.0};
    char list[72];

    if (!read_extents(value, picture ? 2 : 1, most, extents, &count))
        return refuse_for(parsing, value, expected, meant_dims("", value, most, list, sizeof list));
    if (parsing->has_cube)
        return fault_set_for(parsing->fault, STATUS_USAGE, value, "-n already gives the extents");
    return set_extents(parsing, (unsigned)count, extents[0], extents[1], extents[2]);
}

bool option_spacing(struct parsing *parsing, const char *value)
{
    struct source_request *source = &parsing->options->source;
    double spacing[3] = {1.0, 1.0, 1.0};
    size_t count;

    if (!number_parse_list(value, ',', 1, 3, spacing, &count))
        return option_refuse(parsing, value, "X[,Y[,Z]]");
    for (size_t i = 0; i < 3; i++) {
        if (spacing[i] < LEAST_SPACING || spacing[i] > MOST_SPACING)
            return option_refuse(parsing, value,
                                 "distances from " TEXT(LEAST_SPACING) " to " TEXT(MOST_SPACING));
        source->grid.spacing[i] = spacing[i];
    }
    source->spacing_count = count;
    return true;
}

/* A second region would be left out in silence. */
bool option_region(struct parsing *parsing, const char *value)
{
    struct region_request *region = &parsing->options->job.region, before = *region;

    return region_parse(parsing->row->region, value, region, parsing->fault) &&
           (before.kind == REGION_WHOLE || before.kind == region->kind ||
            fault_set_for(parsing->fault, STATUS_USAGE, value, "%s is given, too",
                          region_option(before.kind)));
}

/* ---- stages, and how they are computed ---- */

bool option_filter(struct parsing *parsing, const char *value)
{
    /* There is room: the array has a place for each word of the command line. */
    struct stage_request *stage = &parsing->options->stages[parsing->options->job.stage_count++];

    *stage = (struct stage_request){.given = 0};
    parsing->stage = stage;
    return filter_parse(value, &stage->call, parsing->fault);
}

bool option_edge(struct parsing *parsing, const char *value)
{
    return edge_parse(value, &parsing->stage->edge, parsing->fault);
}

bool option_axes(struct parsing *parsing, const char *value)
{
    const char *axis = value;
    unsigned axes = 0;

    for (; *axis >= 'x' && *axis <= 'z' && !(axes & 1U << (*axis - 'x')); axis++)
        axes |= 1U << (*axis - 'x');
    parsing->stage->axes = axes;
    return (axes != 0 && *axis == '\0') ||
           option_refuse(parsing, value, "some of x, y and z, each once, such as xy");
}

bool option_sigma(struct parsing *parsing, const char *value)
{
    char number[64];
    size_t length = strlen(value);
    bool in_spacing = length > 0 && value[length - 1] == 'u';

    if (length >= sizeof number)
        return option_refuse(parsing, value, "a number");
    memcpy(number, value, length + 1);
    if (in_spacing)
        number[length - 1] = '\0';
    parsing->stage->sigma.in_spacing = in_spacing;
    if (!number_parse_double(number, &parsing->stage->sigma.value) || parsing->stage->sigma.value < 0.0)
        return option_refuse(parsing, value, "a number, 0 or more, with or without u");
    return true;
}

/* Whether some device has a rung of this name for sums. */
static bool is_of_sums(const char *name)
{
    for (size_t i = 0; devices_backends[i] != NULL; i++) {
        if (devices_has_rung(devices_backends[i]->sum_rungs, name))
            return true;
    }
    return false;
}

bool option_rung(struct parsing *parsing, const char *value)
{
    struct plan_request *plan = &parsing->options->plan;

    /* --tile and --coarsen belong to the --rung before them, so what kind of rung it is decides where they
       go. */
    parsing->wish = is_of_sums(value) ? &plan->sums : &plan->wish;
    if (parsing->wish->rung != NULL && strcmp(parsing->wish->rung, value) != 0)
        return fault_set_for(parsing->fault, STATUS_USAGE, value, "%s is already requested",
                             parsing->wish->rung);
    parsing->wish->rung = value;
    return true;
}

static bool read_pair(const char *value, uint64_t *first, uint64_t *second)
{
    *second = 0;
    if (!number_read_count(&value, first) || *first == 0 || *first > MOST_TILE)
        return false;
    return *value == '\0' ||
           (*value == 'x' && number_parse_count(value + 1, second) && *second > 0 && *second <= MOST_TILE);
}

/* Take two counts, or one; then the second is 0. The form is what a refusal names as expected. */
static bool option_pair(struct parsing *parsing, const char *value, const char *form, unsigned *first,
                        unsigned *second)
{
    uint64_t counts[2];
    char meant[64], expected[96];

    if (!read_pair(value, &counts[0], &counts[1])) {
        snprintf(expected, sizeof expected, "%s, whole numbers from 1 to " TEXT(MOST_TILE), form);
        suggest_separator(value, 'x', meant, sizeof meant); /* "32,8" is meant as 32x8 */
        return refuse_for(parsing, value, expected, read_pair(meant, &counts[0], &counts[1]) ? meant : NULL);
    }
    *first = (unsigned)counts[0];
    *second = (unsigned)counts[1];
    return true;
}

bool option_tile(struct parsing *parsing, const char *value)
{
    struct rung_wish *wish = parsing->wish;
    bool taken = option_pair(parsing, value, "W or WxH", &wish->tile_x, &wish->tile_y);

    if (taken && wish->tile_y == 0)
        wish->tile_y = wish->tile_x;
    return taken;
}

bool option_coarsen(struct parsing *parsing, const char *value)
{
    return option_pair(parsing, value, "N or NxS", &parsing->wish->coarsen, &parsing->wish->stride);
}

/* ---- what is written and shown ---- */

bool option_out_range(struct parsing *parsing, const char *value)
{
    struct job_request *job = &parsing->options->job;
    double ends[2] = {0.0, 0.0};
    size_t count;

    job->ranged = true;
    job->auto_range = strcmp(value, "auto") == 0;
    if (!job->auto_range && !number_parse_list(value, ',', 2, 2, ends, &count))
        return option_refuse(parsing, value, "LO,HI or auto");
    if (!job->auto_range && ends[0] == ends[1])
        return fault_set_for(parsing->fault, STATUS_USAGE, value, "LO and HI are the same");
    /* The mapping divides by the width of the range. */
    if (!isfinite(ends[1] - ends[0]))
        return fault_set_for(parsing->fault, STATUS_USAGE, value, "LO and HI are too far apart");
    job->low = ends[0];
    job->high = ends[1];
    return true;
}

bool option_missing(struct parsing *parsing, const char *value)
{
    struct job_request *job = &parsing->options->job;

    job->has_missing = true;
    job->missing = (double)NAN;
    return strcmp(value, "nan") == 0 ||
           (number_parse_double(value, &job->missing) && isfinite(job->missing)) ||
           option_refuse(parsing, value, "nan or a value");
}

/* Without a file, or to -, a report goes to standard error. */
bool option_report(struct parsing *parsing, const char *value)
{
    struct options *options = parsing->options;
    const char *path = NULL;
    char expected[64];
    int notation = NOTATION_TEXT;

    if (value != NULL && !keyword_parse(parsing->row->keywords, value, &notation, &path, parsing->fault))
        return false;
    if (path != NULL && *path == '\0')
        return option_refuse(parsing, value,
                             keyword_expected(parsing->row->keywords, expected, sizeof expected));
    options->report = notation == NOTATION_JSON ? REPORT_JSON : REPORT_TEXT;
    options->report_path = path != NULL && strcmp(path, "-") == 0 ? NULL : path;
    return true;
}

bool option_tee(struct parsing *parsing, const char *value)
{
    struct options *options = parsing->options;
    struct pipeline_tee *tee = &options->tees[options->tee_count];
    const char *rest = value;

    if (!number_read_count(&rest, &tee->step) || rest[0] != ':' || rest[1] == '\0')
        return option_refuse(parsing, value, "N:FILE, where N is a number of steps");
    tee->path = rest + 1;
    options->tee_count++;
    return true;
}

bool option_frames(struct parsing *parsing, const char *value)
{
    parsing->options->frames.pattern = value;
    return pattern_is(value) || option_refuse(parsing, value, "a name with %d or %04d in it, once");
}

/* -q and -v hold at once, for what else the command line says. */
bool option_messages(struct parsing *parsing, const char *value)
{
    (void)value;
    diag_set_level(parsing->row->letter == 'q' ? DIAG_QUIET : DIAG_VERBOSE);
    return true;
}

/* Which program this is was settled before its options were known. */
bool option_program(struct parsing *parsing, const char *value)
{
    const char *argument;
    int place;

    if (!keyword_parse(parsing->row->keywords, value, &place, &argument, parsing->fault))
        return false;
    return strcmp(value, program_name(parsing->options->program)) == 0 ||
           fault_set_for(parsing->fault, STATUS_USAGE, value, "it must be the first argument");
}
