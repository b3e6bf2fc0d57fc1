/* The options as words: what there are, which of them an argument is, and the help that lists them. */
#include "option_table.h"

#include "base/limits.h"
#include "base/progress.h"
#include "base/suggest.h"
#include "model/edge.h"
#include "model/flux.h"
#include "model/sample.h"
#include "format/format.h"
#include "plan/job.h"

#include <string.h>

#define VOXFILT PROGRAM_VOXFILT
#define IMGHEAT PROGRAM_IMGHEAT
#define BOTH    (PROGRAM_VOXFILT | PROGRAM_IMGHEAT)

#define CHOICES(table)                      static const struct choice table[] = {
#define CHOICE(value, word, syntax, others) [value] = {word, syntax, others},
#define CHOICES_END                                                                                          \
    {                                                                                                        \
        NULL, NULL, NULL                                                                                     \
    }                                                                                                        \
    }                                                                                                        \
    ;
#include "choices.def"

static const struct word {
    char letter;
    const char *name;
    const char *argument;
    const struct choice *choices;
    unsigned programs;
    const char *help;
} list[] = {
#define OPTION(letter, name, argument, choices, programs, set, help)                                         \
    {letter, name, argument, choices, programs, help},
#include "options.def"
};

const struct choice *words_choices(size_t option)
{
    return list[option].choices;
}

/* What other programs call them. */
static const struct alias aliases[] = {
    {"benchmark", "--bench"},   {"border", "--edge"},  {"boundary", "--edge"},      {"byteorder", "--endian"},
    {"compression", "--level"}, {"cube", "-n"},        {"dimensions", "-d"},        {"dims", "-d"},
    {"dry-run", "--explain"},   {"dtype", "--type"},   {"gpu", "--device cuda"},    {"header", "--skip"},
    {"iterations", "--steps"},  {"jobs", "--threads"}, {"kernel", "--rung"},        {"offset", "--skip"},
    {"padding", "--edge"},      {"plan", "--explain"}, {"quality", "--level"},      {"shape", "-d"},
    {"silent", "--quiet"},      {"size", "-d"},        {"voxel-size", "--spacing"}, {NULL, NULL},
};

/* What getopt_long returns for the long form of list[i] is LONG_CODE + i. */
#define LONG_CODE 256

static bool may_be_left_out(const struct word *word)
{
    return word->argument != NULL && word->argument[0] == '[';
}

/* The leading colon makes getopt tell a missing argument from an unknown option. */
void words_begin(struct words *words, enum program program, int argc, char **argv)
{
    char *letters = words->letters;
    struct option *longs = words->longs;

    *words = (struct words){.program = program, .argc = argc, .argv = argv};
    *letters++ = ':';
    for (size_t i = 0; i < WORDS; i++) {
        const struct word *word = &list[i];
        if ((word->programs & program) == 0)
            continue;
        if (word->letter != 0) {
            *letters++ = word->letter;
            if (word->argument != NULL)
                *letters++ = ':';
        }
        if (word->name != NULL)
            *longs++ = (struct option){word->name,
                                       word->argument == NULL  ? no_argument
                                       : may_be_left_out(word) ? optional_argument
                                                               : required_argument,
                                       NULL, LONG_CODE + (int)i};
    }
    optind = 0; /* glibc: begin anew, permuting */
    opterr = 0;
}

/* ---- what is no option ---- */

static const char *other_program(enum program program)
{
    return program_name(program == PROGRAM_VOXFILT ? PROGRAM_IMGHEAT : PROGRAM_VOXFILT);
}

static bool refuse_others(const struct words *words, const char *given, struct fault *fault)
{
    return fault_raise(fault, STATUS_USAGE, "%s: no such option (%s has it)", given,
                       other_program(words->program));
}

static bool refuse_letter(const struct words *words, char letter, struct fault *fault)
{
    const char given[] = {'-', letter, '\0'};

    for (size_t i = 0; i < WORDS; i++) {
        if (list[i].letter == letter)
            return refuse_others(words, given, fault);
    }
    return fault_raise(fault, STATUS_USAGE, "%s: no such option (--help lists them)", given);
}

/* The names that begin with so many letters of a word, as "--out-type, --output"; how many there are. */
static size_t list_beginnings(const struct words *words, const char *word, size_t length, char *text,
                              size_t size)
{
    size_t count = 0, used = 0;

    text[0] = '\0';
    for (const struct option *option = words->longs; option->name != NULL; option++) {
        if (strncmp(option->name, word, length) != 0)
            continue;
        if (used < size)
            used += (size_t)snprintf(text + used, size - used, "%s--%s", count > 0 ? ", " : "", option->name);
        count++;
    }
    return count;
}

/* As the user would write it. */
static const char *nearest_option(const struct words *words, const char *word, size_t length, char *text,
                                  size_t size)
{
    struct suggestion suggestion = suggest_for(word, length);

    for (const struct option *option = words->longs; option->name != NULL; option++)
        suggest_name(&suggestion, option->name);
    suggest_aliases(&suggestion, aliases);
    if (suggestion.meant == NULL)
        return NULL;
    snprintf(text, size, "%s%s", suggestion.meant[0] == '-' ? "" : "--", suggestion.meant);
    return text;
}

static bool refuse_name(const struct words *words, const char *word, struct fault *fault)
{
    size_t length = strcspn(word, "=");
    char given[64], text[256];

    snprintf(given, sizeof given, "--%.*s", (int)length, word);
    if (list_beginnings(words, word, length, text, sizeof text) > 1)
        return fault_raise(fault, STATUS_USAGE, "%s: ambiguous option; possibilities: %s", given, text);
    for (size_t i = 0; i < WORDS; i++) {
        if (list[i].name != NULL && strlen(list[i].name) == length &&
            strncmp(list[i].name, word, length) == 0)
            return refuse_others(words, given, fault);
    }
    fault_raise(fault, STATUS_USAGE, "%s: no such option", given);
    return suggest_add(fault, nearest_option(words, word, length, text, sizeof text), " (--help lists them)");
}

static bool refuse_code(const struct words *words, int code, struct fault *fault)
{
    const char *given = words->argv[optind - 1];
    const char letter[] = {'-', (char)optopt, '\0'};
    bool is_letter = optopt > 0 && optopt < LONG_CODE;

    if (code == ':')
        return fault_raise(fault, STATUS_USAGE, "%s: option requires an argument",
                           is_letter ? letter : given);
    if (optopt >= LONG_CODE)
        return fault_raise(fault, STATUS_USAGE, "%s: option takes no argument", given);
    return is_letter ? refuse_letter(words, (char)optopt, fault) : refuse_name(words, given + 2, fault);
}

/* ---- what is one ---- */

static size_t place_of(const struct words *words, int code)
{
    size_t place = 0;

    if (code >= LONG_CODE)
        return (size_t)code - LONG_CODE;
    while (list[place].letter != code || (list[place].programs & words->program) == 0)
        place++;
    return place;
}

bool words_next(struct words *words, size_t *option, const char **value, struct fault *fault)
{
    int code = getopt_long(words->argc, words->argv, words->letters, words->longs, NULL);

    *option = WORDS;
    *value = optarg;
    if (code == '?' || code == ':')
        return refuse_code(words, code, fault);
    if (code != -1)
        *option = place_of(words, code);
    return true;
}

/* "-steps" is the letter s with the value "teps", which nobody means. */
static const char *missed_dash(const struct words *words, char *text, size_t size)
{
    const char *given = words->argv[optind - 1];

    if (given[0] != '-' || given[1] == '-')
        return NULL;
    for (const struct option *option = words->longs; option->name != NULL; option++) {
        if (strcmp(option->name, given + 1) == 0) {
            snprintf(text, size, "--%s", option->name);
            return text;
        }
    }
    return NULL;
}

bool words_refuse(const struct words *words, size_t option, struct fault *fault)
{
    const struct word *word = &list[option];
    char prefix[64];

    snprintf(prefix, sizeof prefix, word->name != NULL ? "--%s" : "-%s",
             word->name != NULL ? word->name : (char[]){word->letter, '\0'});
    fault_prefix(fault, prefix);
    return suggest_add(fault, missed_dash(words, prefix, sizeof prefix), "");
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

/* What may follow a word is left out where the argument shows it. */
static void print_help(FILE *stream, const struct word *word)
{
    const struct mark *mark = marks, *end = marks + sizeof marks / sizeof *marks;
    struct choice_listing listing;
    const char *place = NULL;
    char text[256];

    while (mark < end && (place = strstr(word->help, mark->text)) == NULL)
        mark++;
    if (place == NULL) {
        fprintf(stream, "%s\n", word->help);
        return;
    }
    listing = mark->listing;
    listing.with_syntax = strchr(word->argument, ':') == NULL;
    fprintf(stream, "%.*s%s%s\n", (int)(place - word->help), word->help,
            choice_list(word->choices, &listing, text, sizeof text), place + strlen(mark->text));
}

static void print_word(FILE *stream, const struct word *word)
{
    char form[64];
    const char *argument = word->argument == NULL ? "" : word->argument;

    if (word->name == NULL)
        snprintf(form, sizeof form, "-%c %s", word->letter, argument);
    else if (may_be_left_out(word))
        snprintf(form, sizeof form, "    --%s[=%s", word->name, argument + 1);
    else
        snprintf(form, sizeof form, "%c%c%c --%s%s%s", word->letter ? '-' : ' ',
                 word->letter ? word->letter : ' ', word->letter ? ',' : ' ', word->name,
                 *argument ? "=" : "", argument);
    fprintf(stream, "  %-26s ", form);
    print_help(stream, word);
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

void words_help(FILE *stream, enum program program, bool together)
{
    if (together)
        print_usage_of_ranks(stream);
    else
        print_usage(stream, program);
    for (size_t i = 0; i < WORDS; i++) {
        if (list[i].programs & program)
            print_word(stream, &list[i]);
    }
    fprintf(stream,
            "\nStage options before the first --filter are defaults for every stage; after one, they are "
            "its own.\n");
    print_statuses(stream);
    fprintf(stream, "The manual: man %s\n", program_name(program));
}
