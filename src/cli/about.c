/* The texts that a command prints about itself: its help, its lists of filters, rungs, formats and devices,
   and scripts by which shells complete its options. All of it follows from the tables of the program. */
#include "about.h"

#include "base/json.h"
#include "model/filter.h"
#include "format/format.h"
#include "plan/devices.h"
#include "option.h"

#include <string.h>

/* ---- --help ---- */

/* How options.def asks for a list of choices, and how that then looks. */
static const struct mark {
    const char *text;
    struct keyword_listing listing;
} marks[] = {
    {"{a b}", {" ", " ", .with_default = false}},
    {"{a, b}", {", ", ", ", .with_default = false}},
    {"{a (default), b}", {", ", ", ", .with_default = true}},
    {"{a or b}", {", ", " or ", .with_default = false}},
};

/* The help text with a mark in it replaced. */
static const char *put_in_place(const char *help, const char *mark, const char *what, char *text, size_t size)
{
    const char *place = strstr(help, mark);

    snprintf(text, size, "%.*s%s%s", (int)(place - help), help, what, place + strlen(mark));
    return text;
}

/* The help of an option, its marks replaced by limits or lists. What may follow a word is left out where the
   argument shows it. */
static const char *help_of(const struct option_row *row, char *text, size_t size)
{
    static const char limits[] = "{least to most}";
    char list[256];

    if (strstr(row->help, limits) != NULL)
        return put_in_place(row->help, limits, option_expected(row, list, sizeof list), text, size);
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        struct keyword_listing listing = marks[i].listing;
        listing.with_syntax = row->argument != NULL && strchr(row->argument, ':') == NULL;
        if (strstr(row->help, marks[i].text) != NULL)
            return put_in_place(row->help, marks[i].text,
                                keyword_list(row->keywords, &listing, list, sizeof list), text, size);
    }
    snprintf(text, size, "%s", row->help);
    return text;
}

/* A line of --help: the option as it is typed, and what it does. */
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
    fprintf(stream, "  %-26s %s\n", form, help_of(row, text, sizeof text));
}

/* The width that a terminal has if nobody changed it. */
#define HELP_COLUMNS 80

/* The exit statuses, in lines that fit the terminal. */
static void print_statuses(FILE *stream)
{
    static const char *const statuses[] = {
#define STATUS(name, number, words) #number " " words,
#include "base/statuses.def"
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

/* How a command is called, by itself or as several processes together, and what it does. */
static const char *usage_of(enum program program, bool together)
{
    if (together)
        return "Usage: mpirun -n RANKS voxfilt-mpi [OPTION]... -o OUTPUT FILE\n"
               "       mpirun -n RANKS voxfilt-mpi [OPTION]... -o DIR/ FILE...\n"
               "Filter 3D volumes with several MPI processes: convolutions and heat steps.\n"
               "Input and output must be named; standard input and output are refused.\n\n"
               "  mpirun -n 4 voxfilt-mpi -i vol.raw -n 256 -o out.raw\n\n";
    if (program == PROGRAM_VOXFILT)
        return "Usage: voxfilt [OPTION]... [FILE] > OUTPUT\n"
               "       voxfilt [OPTION]... -o DIR/ FILE...\n"
               "Filter 3D volumes: convolutions and heat steps.\n\n"
               "  voxfilt -i vol.raw -n 256 -o out.raw\n\n";
    return "Usage: imgheat [OPTION]... [FILE] > OUTPUT\n"
           "       imgheat [OPTION]... -o DIR/ FILE...\n"
           "Filter PNG and JPEG pictures: convolutions and heat steps.\n\n"
           "  cat in.png | imgheat > out.png\n\n";
}

void about_help(FILE *stream, enum program program, bool together)
{
    fputs(usage_of(program, together), stream);
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

/* ---- --list ---- */

/* Lists as text or, all of them in one line, as JSON. */
struct lists {
    struct json json;
    bool as_json;
};

static void begin_list(struct lists *lists, const char *name)
{
    if (lists->as_json)
        json_begin_array(&lists->json, name);
    else
        fprintf(lists->json.stream, "%s:\n", name);
}

static void end_list(struct lists *lists)
{
    if (lists->as_json)
        json_end_array(&lists->json);
}

/* A line of two columns, or an object. `members` are names and texts in turn, up to NULL; a line has no use
   for them. */
static void list(struct lists *lists, const char *left, const char *right, const char *const *members)
{
    if (!lists->as_json) {
        fprintf(lists->json.stream, "  %-30s %s\n", left, right);
        return;
    }
    json_begin_object(&lists->json, NULL);
    for (; members[0] != NULL; members += 2)
        json_text(&lists->json, members[0], members[1]);
    json_end_object(&lists->json);
}

static void list_filters(struct lists *lists)
{
    begin_list(lists, "filters");
    for (const struct filter *filter = filter_list; filter->name != NULL; filter++) {
        char form[64];
        snprintf(form, sizeof form, "%s%s", filter->name, filter->syntax);
        list(lists, form, filter->summary,
             (const char *[]){"name", filter->name, "arguments", filter->syntax, "summary", filter->summary,
                              NULL});
    }
    end_list(lists);
}

/* The ladders of each device: rungs for stages, and those for sums. */
static void list_rungs(struct lists *lists)
{
    begin_list(lists, "rungs");
    for (size_t i = 0; devices_backends[i] != NULL; i++) {
        const struct backend *backend = devices_backends[i];
        const struct {
            const char *use;
            const struct rung *rungs;
        } ladders[] = {{"stages", backend->rungs}, {"sums", backend->sum_rungs}};
        for (size_t k = 0; k < 2; k++) {
            for (const struct rung *rung = ladders[k].rungs; rung->name != NULL; rung++) {
                char form[64];
                snprintf(form, sizeof form, "%s %s", backend->name, rung->name);
                list(lists, form, rung->summary,
                     (const char *[]){"device", backend->name, "name", rung->name, "for", ladders[k].use,
                                      "summary", rung->summary, NULL});
            }
        }
    }
    end_list(lists);
}

static void list_formats(struct lists *lists)
{
    begin_list(lists, "formats");
    for (size_t i = 0; format_list[i] != NULL; i++) {
        const struct format *format = format_list[i];
        list(lists, format->name, format->summary,
             (const char *[]){"name", format->name, "summary", format->summary, NULL});
    }
    end_list(lists);
}

/* The devices of each backend, as each describes itself. */
static void list_devices(struct lists *lists)
{
    begin_list(lists, "devices");
    for (size_t i = 0; devices_backends[i] != NULL; i++) {
        for (unsigned index = 0; index < devices_backends[i]->count(); index++) {
            char name[64], text[256];
            snprintf(name, sizeof name, "%s:%u", devices_backends[i]->name, index);
            devices_backends[i]->describe((int)index, text, sizeof text);
            list(lists, name, text, (const char *[]){"name", name, "text", text, NULL});
        }
    }
    end_list(lists);
}

/* Whether two devices read each other's memory. */
static void list_link(struct lists *lists, const struct backend *backend, unsigned first, unsigned second)
{
    bool reach = backend->reaches((int)first, (int)second) && backend->reaches((int)second, (int)first);
    char form[132];

    if (!lists->as_json) {
        snprintf(form, sizeof form, "%s:%u %s:%u", backend->name, first, backend->name, second);
        list(lists, form, reach ? "each reads the other's memory" : "through the host's memory", NULL);
        return;
    }
    json_begin_object(&lists->json, NULL);
    json_begin_array(&lists->json, "devices");
    json_format(&lists->json, NULL, "\"%s:%u\"", backend->name, first);
    json_format(&lists->json, NULL, "\"%s:%u\"", backend->name, second);
    json_end_array(&lists->json);
    json_flag(&lists->json, "peer_access", reach);
    json_end_object(&lists->json);
}

/* Pairs of devices of one kind. Text has no list where there is none. */
static void list_links(struct lists *lists)
{
    bool begun = lists->as_json;

    if (begun)
        begin_list(lists, "links");
    for (size_t i = 0; devices_backends[i] != NULL; i++) {
        const struct backend *backend = devices_backends[i];
        unsigned count = backend->reaches == NULL ? 0 : backend->count();
        for (unsigned first = 0; first < count; first++) {
            for (unsigned second = first + 1; second < count; second++, begun = true) {
                if (!begun)
                    begin_list(lists, "links");
                list_link(lists, backend, first, second);
            }
        }
    }
    end_list(lists);
}

void about_lists(FILE *stream, bool as_json)
{
    /* The same walk serves both notations: each list begins, has its lines, and ends. */
    struct lists lists = {{.stream = stream}, as_json};

    if (as_json)
        json_begin_object(&lists.json, NULL);
    list_filters(&lists);
    list_rungs(&lists);
    list_formats(&lists);
    list_devices(&lists);
    list_links(&lists);
    if (as_json) {
        json_end_object(&lists.json);
        fprintf(stream, "\n");
    }
}

/* ---- --completions ---- */

#define MOST_COUNTED 9 /* limits of a count whose values are all offered */

/* Filters, as far as they are the same for everybody; an axis is written out. */
static void complete_filters(char *text, size_t size)
{
    for (const struct filter *filter = filter_list; filter->name != NULL; filter++) {
        const char *name = filter->name, *blank = filter > filter_list ? " " : "";
        if (filter->arguments == ARGUMENTS_AXIS)
            diag_append(text, size, "%s%s:x %s:y %s:z", blank, name, name, name);
        else
            diag_append(text, size, "%s%s%s", blank, name, filter->arguments == ARGUMENTS_NONE ? "" : ":");
    }
}

static bool is_filter(const struct option_row *row)
{
    return row->name != NULL && strcmp(row->name, "filter") == 0;
}

static bool is_file(const struct option_row *row)
{
    return strcmp(row->argument, "FILE") == 0;
}

/* The words that complete the value of an option, with a blank between; none if it takes anything else. */
static void complete(const struct option_row *row, char *text, size_t size)
{
    text[0] = '\0';
    if (is_filter(row))
        complete_filters(text, size);
    for (uint64_t i = row->least; row->kind == OPTION_COUNT && row->most <= MOST_COUNTED && i <= row->most;
         i++)
        diag_append(text, size, "%s%llu", i > row->least ? " " : "", (unsigned long long)i);
    if (row->keywords != NULL)
        keyword_list(row->keywords, &(struct keyword_listing){" ", " ", .with_default = false}, text, size);
}

/* ---- bash ---- */

/* An option whose argument may be left out takes it behind "=" or not at all. */
static void print_bash_case(FILE *stream, const struct option_row *row)
{
    char words[512], before_files[64] = "";
    bool optional = option_argument_is_optional(row);

    fprintf(stream, "    ");
    if (row->letter != 0)
        fprintf(stream, "-%c%s", row->letter, row->name != NULL ? " | " : "");
    if (row->name != NULL && !optional)
        fprintf(stream, "--%s | ", row->name);
    if (row->name != NULL)
        fprintf(stream, "--%s=", row->name);
    if (is_file(row)) {
        fprintf(stream, ") kind='file' ;;\n");
        return;
    }
    complete(row, words, sizeof words);
    if (is_filter(row))
        snprintf(before_files, sizeof before_files, "taps");
    else if (strstr(row->argument, ":FILE") != NULL)
        complete(row, before_files, sizeof before_files);
    fprintf(stream, ") kind='word' words='%s' before_files='%s' ;;\n", words, before_files);
}

/* All options as words, with "=" behind those that take a value. */
static void print_bash_options(FILE *stream, enum program program)
{
    const char *blank = "";

    for (const struct option_row *row = option_table; row < option_table + OPTIONS; row++) {
        if ((row->programs & program) == 0)
            continue;
        if (row->name == NULL)
            fprintf(stream, "%s-%c", blank, row->letter);
        else
            fprintf(stream, "%s--%s%s", blank, row->name,
                    row->argument == NULL || option_argument_is_optional(row) ? "" : "=");
        blank = " ";
    }
}

/* A function for bash: a case for each option that takes a value says what completes it, and code around them
   cuts the line at the cursor into words. */
static void print_bash(FILE *stream, enum program program)
{
    const char *name = program_name(program), *command = program_installed_name(program);

    fprintf(stream,
            "# Completions of %s for bash.\n"
            "\n"
            "_%s()\n"
            "{\n"
            "    local line=${COMP_LINE:0:COMP_POINT} typed option lead='' breaks='' kept='' word "
            "before_files='' kind='file'\n"
            "    local words='",
            command, name);
    print_bash_options(stream, program);
    fprintf(stream, "'\n"
                    "\n"
                    "    # Words as blanks divide them, whatever else divides them for the shell.\n"
                    "    typed=${line##*[[:space:]]}\n"
                    "    line=${line%%\"$typed\"}\n"
                    "    line=${line%%\"${line##*[![:space:]]}\"}\n"
                    "    option=${line##*[[:space:]]}\n"
                    "    case $typed in\n"
                    "    --*=*) option=${typed%%%%=*}= lead=${typed%%%%=*}= ;;\n"
                    "    -*) kind='option' ;;\n"
                    "    esac\n"
                    "    case $option in\n");
    for (const struct option_row *row = option_table; row < option_table + OPTIONS; row++) {
        if ((row->programs & program) != 0 && row->argument != NULL)
            print_bash_case(stream, row);
    }
    fprintf(stream,
            "    esac\n"
            "    for word in $before_files; do\n"
            "        if [[ $typed == \"$lead$word\":* ]]; then\n"
            "            lead=$lead$word: kind='file'\n"
            "            break\n"
            "        fi\n"
            "    done\n"
            "    if [ $kind = file ]; then\n"
            "        compopt -o filenames 2> /dev/null\n"
            "        mapfile -t COMPREPLY < <(compgen -P \"$lead\" -f -- \"${typed#\"$lead\"}\")\n"
            "    else\n"
            "        mapfile -t COMPREPLY < <(compgen -P \"$lead\" -W \"$words\" -- \"${typed#\"$lead\"}\")\n"
            "        [[ ${COMPREPLY[0]-} == *[=:] ]] && compopt -o nospace 2> /dev/null\n"
            "    fi\n"
            "\n"
            "    # The shell puts in what comes behind the last of its own dividers.\n"
            "    [[ $COMP_WORDBREAKS == *=* ]] && breaks+='='\n"
            "    [[ $COMP_WORDBREAKS == *:* ]] && breaks+=':'\n"
            "    [ -n \"$breaks\" ] && kept=${typed%%\"${typed##*[\"$breaks\"]}\"}\n"
            "    COMPREPLY=(\"${COMPREPLY[@]#\"$kept\"}\")\n"
            "}\n");
    fprintf(stream, "complete -F _%s %s\n", name, command);
}

/* ---- zsh ---- */

/* Text within a specification: what would end it or mean something there is escaped. */
static void print_plain(FILE *stream, const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text == '\'')
            fputs("'\\''", stream);
        else
            fprintf(stream, "%s%c", strchr("[]:\\", *text) != NULL ? "\\" : "", *text);
    }
}

/* A value in zsh's specification: its name, and what completes it: files, words, or nothing. */
static void print_zsh_value(FILE *stream, const struct option_row *row)
{
    char words[512];

    fputs(option_argument_is_optional(row) ? "::" : ":", stream);
    print_plain(stream, row->argument);
    complete(row, words, sizeof words);
    if (is_file(row)) {
        fputs(":_files", stream);
    } else if (words[0] != '\0') {
        fputs(":(", stream);
        for (const char *word = words; *word != '\0'; word++)
            fprintf(stream, "%s%c", *word == ':' ? "\\" : "", *word);
        fputs(")", stream);
    } else {
        fputs(": ", stream);
    }
}

/* An option in zsh's specification: its names, its help, and its value. */
static void print_zsh_option(FILE *stream, const struct option_row *row)
{
    const char *assigns = row->argument == NULL ? "" : "=", *takes = row->argument == NULL ? "" : "+";
    char help[512];

    if (row->letter == 0)
        fprintf(stream, "    '*--%s%s%s", row->name, assigns, option_argument_is_optional(row) ? "-" : "");
    else if (row->name == NULL)
        fprintf(stream, "    '*-%c%s", row->letter, takes);
    else
        fprintf(stream, "    '*'{-%c%s,--%s%s}'", row->letter, takes, row->name, assigns);
    fputs("[", stream);
    print_plain(stream, help_of(row, help, sizeof help));
    fputs("]", stream);
    if (row->argument != NULL)
        print_zsh_value(stream, row);
    fputs("' \\\n", stream);
}

static void print_zsh(FILE *stream, enum program program)
{
    const char *command = program_installed_name(program);

    fprintf(stream, "#compdef %s\n# Completions of %s for zsh.\n\n_arguments -s -S \\\n", command, command);
    for (const struct option_row *row = option_table; row < option_table + OPTIONS; row++) {
        if (row->programs & program)
            print_zsh_option(stream, row);
    }
    fprintf(stream, "    '*:%s:_files'\n", program == PROGRAM_IMGHEAT ? "picture" : "volume");
}

void about_completions(FILE *stream, enum program program, enum shell shell)
{
    (shell == SHELL_BASH ? print_bash : print_zsh)(stream, program);
}
