/* The table of options: a row for each, from which parsing, help, completions and refusals follow. */
#include "option_table.h"

#include "base/deflate.h"
#include "base/progress.h"
#include "base/thread.h"
#include "model/edge.h"
#include "model/flux.h"
#include "model/limits.h"
#include "model/sample.h"
#include "format/format.h"
#include "plan/job.h"
#include "options.h"

#include <math.h>
#include <string.h>

#define VOXFILT PROGRAM_VOXFILT
#define IMGHEAT PROGRAM_IMGHEAT
#define BOTH    (PROGRAM_VOXFILT | PROGRAM_IMGHEAT)

/* The words of options that take one of a few. Sample types, edge rules, fluxes and formats have lists of
   their own. The first word is the default, if there is one. */
static const struct choice endian_choices[] = {
    [ENDIAN_LITTLE] = {"little", "", "intel le lsb"},
    [ENDIAN_BIG] = {"big", "", "be msb network"},
    {NULL, NULL, NULL},
};

static const struct choice flux_channels_choices[] = {
    [FLUX_CHANNELS_JOINT] = {"joint", "", ""},
    [FLUX_CHANNELS_SEPARATE] = {"separate", "", ""},
    {NULL, NULL, NULL},
};

static const struct choice alpha_mode_choices[] = {
    [ALPHA_PREMULTIPLY] = {"premultiply", "", "associated"},
    [ALPHA_SEPARATE] = {"separate", "", "straight unassociated"},
    {NULL, NULL, NULL},
};

/* What there may be of a device; the plan knows what there is. */
static const struct choice device_choices[] = {
    {"auto", "", ""},
    {"cpu", "", ""},
    {"cuda", "[:N,...|:all]", ""},
    {NULL, NULL, NULL},
};

static const struct choice report_choices[] = {
    [NOTATION_TEXT] = {"text", "[:FILE]", ""},
    [NOTATION_JSON] = {"json", "[:FILE]", ""},
    {NULL, NULL, NULL},
};

static const struct choice notation_choices[] = {
    [NOTATION_TEXT] = {"text", "", ""},
    [NOTATION_JSON] = {"json", "", ""},
    {NULL, NULL, NULL},
};

static const struct choice shell_choices[] = {
    [SHELL_BASH] = {"bash", "", ""},
    [SHELL_ZSH] = {"zsh", "", ""},
    {NULL, NULL, NULL},
};

static const struct choice progress_choices[] = {
    [PROGRESS_AUTO] = {"auto", "", ""},
    [PROGRESS_ALWAYS] = {"always", "", "on yes"},
    [PROGRESS_NEVER] = {"never", "", "no none off"},
    {NULL, NULL, NULL},
};

static const struct choice program_choices[] = {
    {"voxfilt", "", ""},
    {"imgheat", "", ""},
    {NULL, NULL, NULL},
};

/* Kinds. */
#define ANY                   UINT64_MAX
#define FLAG                  .kind = OPTION_FLAG
#define COUNT(from, to)       .kind = OPTION_COUNT, .least = from, .most = to
#define BYTES(from)           .kind = OPTION_BYTES, .least = from
#define NUMBER                NUMBER_FROM(-INFINITY)
#define NUMBER_FROM(from)     .kind = OPTION_NUMBER, .bound = from
#define NUMBER_ABOVE(limit)   .kind = OPTION_NUMBER, .bound = limit, .beyond = true
#define WORD(words)           .kind = OPTION_WORD, .choices = words
#define FORMAT(words)         .kind = OPTION_FORMAT, .choices = words
#define NAME(words)           .kind = OPTION_NAME, .choices = words
#define FILE_NAME             .kind = OPTION_NAME, .once = true
#define ACTION(what, words)   .kind = OPTION_ACTION, .action = what, .choices = words
#define CALL(function, words) .kind = OPTION_CALL, .call = function, .choices = words
#define CALL_ONCE(function)   .kind = OPTION_CALL, .call = function, .once = true
#define REGION(parser)        CALL_ONCE(option_region), .parse_region = parser

/* Places. */
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
        choice_expected(row->choices, text, size);
    else if (row->most == ANY)
        snprintf(text, size, "a whole number%s", least > 0 ? " above 0" : "");
    else
        snprintf(text, size, "%s%llu to %llu", least > 0 ? "a whole number from " : "", least, most);
    return text;
}

/* ---- help ---- */

/* How options.def asks for a list of choices, and how that then looks. */
static const struct mark {
    const char *text;
    struct choice_listing listing;
} marks[] = {
    {"{a b}", {" ", " ", .with_default = false}},
    {"{a, b}", {", ", ", ", .with_default = false}},
    {"{a (default), b}", {", ", ", ", .with_default = true}},
    {"{a or b}", {", ", " or ", .with_default = false}},
};

static const char *put_in_place(const char *help, const char *mark, const char *what, char *text, size_t size)
{
    const char *place = strstr(help, mark);

    snprintf(text, size, "%.*s%s%s", (int)(place - help), help, what, place + strlen(mark));
    return text;
}

/* What may follow a word is left out where the argument shows it. */
const char *option_help(const struct option_row *row, char *text, size_t size)
{
    static const char limits[] = "{least to most}";
    char list[256];

    if (strstr(row->help, limits) != NULL)
        return put_in_place(row->help, limits, option_expected(row, list, sizeof list), text, size);
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        struct choice_listing listing = marks[i].listing;
        listing.with_syntax = row->argument != NULL && strchr(row->argument, ':') == NULL;
        if (strstr(row->help, marks[i].text) != NULL)
            return put_in_place(row->help, marks[i].text,
                                choice_list(row->choices, &listing, list, sizeof list), text, size);
    }
    snprintf(text, size, "%s", row->help);
    return text;
}

static void print_row(FILE *stream, const struct option_row *row)
{
    char form[64], text[512];
    const char *argument = row->argument == NULL ? "" : row->argument;

    if (row->name == NULL)
        snprintf(form, sizeof form, "-%c %s", row->letter, argument);
    else if (option_argument_is_optional(row))
        snprintf(form, sizeof form, "    --%s[=%s", row->name, argument + 1);
    else
        snprintf(form, sizeof form, "%c%c%c --%s%s%s", row->letter ? '-' : ' ',
                 row->letter ? row->letter : ' ', row->letter ? ',' : ' ', row->name, *argument ? "=" : "",
                 argument);
    fprintf(stream, "  %-26s %s\n", form, option_help(row, text, sizeof text));
}

#define HELP_COLUMNS 80

static void print_statuses(FILE *stream)
{
    static const char *const statuses[] = {
#define STATUS(name, number, words) #number " " words,
#include "base/statuses.def"
#undef STATUS
    };
    const size_t count = sizeof statuses / sizeof *statuses;
    size_t column = (size_t)fprintf(stream, "Exit status:");

    for (size_t i = 0; i < count; i++) {
        size_t length = strlen(statuses[i]) + 2;
        bool fits = column + length < HELP_COLUMNS;
        fprintf(stream, "%s%s%s", fits ? " " : "\n", statuses[i], i + 1 < count ? "," : ".\n");
        column = fits ? column + length : length - 1;
    }
}

static void print_usage(FILE *stream, enum program program)
{
    if (program == PROGRAM_VOXFILT)
        fprintf(stream, "Usage: voxfilt [OPTION]... [FILE] > OUTPUT\n"
                        "       voxfilt [OPTION]... -o DIR/ FILE...\n"
                        "Filter 3D volumes: convolutions and heat steps.\n\n"
                        "  voxfilt -i vol.raw -n 256 -o out.raw\n\n");
    else
        fprintf(stream, "Usage: imgheat [OPTION]... [FILE] > OUTPUT\n"
                        "       imgheat [OPTION]... -o DIR/ FILE...\n"
                        "Filter PNG pictures: convolutions and heat steps.\n\n"
                        "  cat in.png | imgheat > out.png\n\n");
}

static void print_usage_of_ranks(FILE *stream)
{
    fprintf(stream, "Usage: mpirun -n RANKS voxfilt-mpi [OPTION]... -o OUTPUT FILE\n"
                    "       mpirun -n RANKS voxfilt-mpi [OPTION]... -o DIR/ FILE...\n"
                    "Filter 3D volumes with several MPI processes: convolutions and heat steps.\n"
                    "Input and output must be named; standard input and output are refused.\n\n"
                    "  mpirun -n 4 voxfilt-mpi -i vol.raw -n 256 -o out.raw\n\n");
}

void option_print_help(FILE *stream, enum program program, bool together)
{
    if (together)
        print_usage_of_ranks(stream);
    else
        print_usage(stream, program);
    for (size_t i = 0; i < OPTIONS; i++) {
        if (option_table[i].programs & program)
            print_row(stream, &option_table[i]);
    }
    fprintf(stream,
            "\nStage options before the first --filter are defaults for every stage; after one, they are "
            "its own.\n");
    print_statuses(stream);
    fprintf(stream, "The manual: man %s\n", program_name(program));
}
