/* The command line of both commands: from argv to plain requests. getopt reads it by the table of options;
   each value goes where its row says; at the end the stages take their defaults, and the options are checked
   together. */
#include "command_line.h"

#include "base/number.h"
#include "base/keyword.h"
#include "option.h"

#include <getopt.h>
#include <string.h>

/* getopt_long returns LONG_CODE plus the row's index for the long form of a row. */
#define LONG_CODE 256

/* The options of one program as getopt wants them. */
struct words {
    enum program program;
    char **argv;
    char letters[3 * OPTIONS + 2];
    struct option longs[OPTIONS + 1];
};

/* Names of options in other programs, and ours. */
static const struct alias aliases[] = {
    {"benchmark", "--bench"},   {"border", "--edge"},  {"boundary", "--edge"},      {"byteorder", "--endian"},
    {"compression", "--level"}, {"cube", "-n"},        {"dimensions", "-d"},        {"dims", "-d"},
    {"dry-run", "--explain"},   {"dtype", "--type"},   {"gpu", "--device cuda"},    {"header", "--skip"},
    {"iterations", "--steps"},  {"jobs", "--threads"}, {"kernel", "--rung"},        {"offset", "--skip"},
    {"padding", "--edge"},      {"plan", "--explain"}, {"quality", "--level"},      {"shape", "-d"},
    {"silent", "--quiet"},      {"size", "-d"},        {"voxel-size", "--spacing"}, {NULL, NULL},
};

/* The leading colon makes getopt tell a missing argument from an unknown option. */
static void begin_words(struct words *words, enum program program, char **argv)
{
    char *letters = words->letters;
    struct option *longs = words->longs;

    *words = (struct words){.program = program, .argv = argv};
    *letters++ = ':';
    for (size_t i = 0; i < OPTIONS; i++) {
        const struct option_row *row = &option_table[i];
        if ((row->programs & program) == 0)
            continue;
        if (row->letter != 0) {
            *letters++ = row->letter;
            if (row->argument != NULL)
                *letters++ = ':';
        }
        if (row->name != NULL)
            *longs++ = (struct option){row->name,
                                       row->argument == NULL              ? no_argument
                                       : option_argument_is_optional(row) ? optional_argument
                                                                          : required_argument,
                                       NULL, LONG_CODE + (int)i};
    }
    optind = 0; /* glibc: begin anew, permuting */
    opterr = 0;
}

/* ---- what is no option ---- */

/* Refuse an option that the other program has. */
static bool refuse_others(const struct words *words, const char *given, struct fault *fault)
{
    enum program other = words->program == PROGRAM_VOXFILT ? PROGRAM_IMGHEAT : PROGRAM_VOXFILT;

    return fault_raise(fault, STATUS_USAGE, "%s: no such option (%s has it)", given, program_name(other));
}

static bool refuse_letter(const struct words *words, char letter, struct fault *fault)
{
    const char given[] = {'-', letter, '\0'};

    for (size_t i = 0; i < OPTIONS; i++) {
        if (option_table[i].letter == letter)
            return refuse_others(words, given, fault);
    }
    return fault_raise(fault, STATUS_USAGE, "%s: no such option (--help lists them)", given);
}

/* List the names that begin with the first `length` letters of a word, as "--out-type, --output". Returns
   their number. */
static size_t list_beginnings(const struct words *words, const char *word, size_t length, char *text,
                              size_t size)
{
    size_t count = 0;

    text[0] = '\0';
    for (const struct option *option = words->longs; option->name != NULL; option++) {
        if (strncmp(option->name, word, length) == 0)
            diag_append(text, size, "%s--%s", count++ > 0 ? ", " : "", option->name);
    }
    return count;
}

/* The option that was probably meant, with its dashes; NULL if none is near. */
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

/* Refuse a long option: it begins several options, belongs to the other program, or is near one that was
   meant. */
static bool refuse_name(const struct words *words, const char *word, struct fault *fault)
{
    size_t length = strcspn(word, "=");
    char given[64], text[256];

    snprintf(given, sizeof given, "--%.*s", (int)length, word);
    if (list_beginnings(words, word, length, text, sizeof text) > 1)
        return fault_raise(fault, STATUS_USAGE, "%s: ambiguous option; possibilities: %s", given, text);
    for (size_t i = 0; i < OPTIONS; i++) {
        if (option_table[i].name != NULL && strlen(option_table[i].name) == length &&
            strncmp(option_table[i].name, word, length) == 0)
            return refuse_others(words, given, fault);
    }
    fault_raise(fault, STATUS_USAGE, "%s: no such option", given);
    return suggest_add(fault, nearest_option(words, word, length, text, sizeof text), " (--help lists them)");
}

/* Refuse what getopt could not make sense of: ':' stands for a missing argument, '?' for all else. */
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

/* After a value was refused: name the option before the reason. */
static bool refuse_value(const struct words *words, const struct option_row *row, struct fault *fault)
{
    char name[64];

    snprintf(name, sizeof name, row->name != NULL ? "--%s" : "-%s",
             row->name != NULL ? row->name : (char[]){row->letter, '\0'});
    fault_prefix(fault, name);
    return suggest_add(fault, missed_dash(words, name, sizeof name), "");
}

/* ---- values ---- */

/* Write a whole number to a member, which is a uint64_t, an unsigned, an enumeration of that size, or a
   bool. */
static void put_integer(const struct option_row *row, void *place, uint64_t value)
{
    const unsigned small = (unsigned)value;
    const bool flag = value != 0;

    if (row->size == sizeof value)
        memcpy(place, &value, sizeof value);
    else if (row->size == sizeof small)
        memcpy(place, &small, sizeof small);
    else if (row->size == sizeof flag)
        memcpy(place, &flag, sizeof flag);
}

static bool store_count(struct parsing *parsing, const char *value, void *place)
{
    const struct option_row *row = parsing->row;
    bool in_bytes = row->kind == OPTION_BYTES;
    char expected[96];
    uint64_t count;

    if (!(in_bytes ? number_parse_bytes : number_parse_count)(value, &count) || count < row->least ||
        (!in_bytes && count > row->most))
        return option_refuse(parsing, value, option_expected(row, expected, sizeof expected));
    put_integer(row, place, count);
    return true;
}

static bool store_number(struct parsing *parsing, const char *value, void *place)
{
    const struct option_row *row = parsing->row;
    char expected[96];
    double number;

    if (!number_parse_double(value, &number))
        return option_refuse(parsing, value, "a number");
    if (number < row->bound || (number == row->bound && row->beyond))
        return option_refuse(parsing, value, option_expected(row, expected, sizeof expected));
    memcpy(place, &number, sizeof number);
    return true;
}

/* Store the index of a word, or the format that it names. */
static bool store_word(struct parsing *parsing, const char *value, void *place)
{
    const struct option_row *row = parsing->row;
    const struct format *format;
    const char *argument;
    int word;

    if (!keyword_parse(row->keywords, value, &word, &argument, parsing->fault))
        return false;
    if (row->kind == OPTION_FORMAT) {
        format = format_chosen(word);
        memcpy(place, &format, sizeof format);
    } else {
        put_integer(row, place, (uint64_t)word);
    }
    return true;
}

/* An action that may have a word stores which one, or 0 where it is left out; any other stores that it was
   asked for, if its row has a member. */
static bool store_action(struct parsing *parsing, const char *value, void *place)
{
    const struct option_row *row = parsing->row;

    parsing->options->action = (enum action)row->action;
    if (value != NULL)
        return store_word(parsing, value, place);
    put_integer(row, place, row->keywords == NULL);
    return true;
}

/* Store a value where its row says, or call the function of the row. */
static bool store(struct parsing *parsing, const char *value)
{
    const struct option_row *row = parsing->row;
    char *place = (row->stage != 0 ? (char *)parsing->stage : (char *)parsing->options) + row->at;

    switch (row->kind) {
    case OPTION_FLAG:
        put_integer(row, place, true);
        return true;
    case OPTION_COUNT:
    case OPTION_BYTES:
        return store_count(parsing, value, place);
    case OPTION_NUMBER:
        return store_number(parsing, value, place);
    case OPTION_WORD:
    case OPTION_FORMAT:
        return store_word(parsing, value, place);
    case OPTION_NAME:
        /* As of a variable of the shell that is not set. */
        if (*value == '\0')
            return fault_raise(parsing->fault, STATUS_USAGE, "the name is empty");
        memcpy(place, &value, sizeof value);
        return true;
    case OPTION_ACTION:
        return store_action(parsing, value, place);
    case OPTION_CALL:
        return row->call(parsing, value);
    }
    return false;
}

/* Given twice, a file, extents or a region would be left out in silence. */
static bool take_value(struct parsing *parsing, const char *value)
{
    const struct option_row *row = parsing->row;
    bool *given = &parsing->given[row - option_table];

    if (!store(parsing, value))
        return false;
    if (row->once && *given)
        return fault_raise(parsing->fault, STATUS_USAGE, "given twice");
    *given = true;
    if (row->has_at != 0)
        *(bool *)((char *)parsing->options + row->has_at) = true;
    if (row->stage != 0)
        parsing->stage->given |= row->stage;
    return true;
}

/* ---- the whole line ---- */

/* The row of a code that getopt_long has returned. */
static const struct option_row *row_of(const struct words *words, int code)
{
    const struct option_row *row = option_table;

    if (code >= LONG_CODE)
        return row + (code - LONG_CODE);
    /* A letter may have two rows, one for each program. */
    while (row->letter != code || (row->programs & words->program) == 0)
        row++;
    return row;
}

/* Operands are inputs; without any, that of --input is, or standard input. */
static bool settle_inputs(struct parsing *parsing, const char *const *operands, size_t count)
{
    struct options *options = parsing->options;

    if (options->input != NULL && count > 0)
        return fault_set_for(parsing->fault, STATUS_USAGE, operands[0], "--input already gives the input");
    for (size_t i = 0; i < count; i++) {
        if (*operands[i] == '\0')
            return fault_raise(parsing->fault, STATUS_USAGE, "an operand is empty: it should name a file");
    }
    if (options->input == NULL)
        options->input = "-";
    options->inputs = count > 0 ? operands : &options->input;
    options->input_count = count > 0 ? count : 1;
    return true;
}

/* Let getopt cut the line into options; what is left are operands. */
static bool take_words(struct parsing *parsing, int argc, char **argv)
{
    struct words words;
    int code;

    begin_words(&words, parsing->options->program, argv);
    while ((code = getopt_long(argc, argv, words.letters, words.longs, NULL)) != -1) {
        if (code == '?' || code == ':')
            return refuse_code(&words, code, parsing->fault);
        parsing->row = row_of(&words, code);
        if (!take_value(parsing, optarg))
            return refuse_value(&words, parsing->row, parsing->fault);
    }
    return settle_inputs(parsing, (const char *const *)argv + optind, (size_t)(argc - optind));
}

/* A command line without a filter means heat. Then each stage takes the defaults that it was not given
   itself. */
static bool settle_stages(struct parsing *parsing)
{
    struct job_request *job = &parsing->options->job;

    if (job->stage_count == 0 && !option_filter(parsing, "heat"))
        return false;
    job->stages = parsing->options->stages;
    return stages_settle(parsing->options->stages, job->stage_count, &parsing->defaults, job->force,
                         parsing->fault);
}

bool command_line_parse(int argc, char **argv, enum program program, struct options *options,
                        struct fault *fault)
{
    struct parsing parsing = {.options = options, .stage = &parsing.defaults, .fault = fault};

    if (!options_make(options, program, argc, argv, fault))
        return false;
    parsing.defaults.flux_channels =
        program == PROGRAM_IMGHEAT ? FLUX_CHANNELS_JOINT : FLUX_CHANNELS_SEPARATE;
    parsing.wish = &options->plan.wish;
    if (!take_words(&parsing, argc, argv))
        return false;
    /* Help, version, lists and completions ask for nothing that could be wrong together. */
    return (options->action != ACTION_RUN && options->action != ACTION_EXPLAIN &&
            options->action != ACTION_BENCH) ||
           (settle_stages(&parsing) && options_check(options, fault));
}
