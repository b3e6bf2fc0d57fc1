/* Completions: scripts by which shells complete the options of a command, printed from the table of options.
 */
#include "completions.h"

#include "model/filter.h"
#include "option_table.h"

#include <ctype.h>
#include <string.h>

#define MOST_COUNTED 9 /* limits of a count whose values are all offered */

/* The words that an option takes, each followed by the next with a blank between; nothing if it takes
 * anything else. */
static void list_words(const struct option_row *row, char *text, size_t size)
{
    size_t used = 0;

    text[0] = '\0';
    for (uint64_t i = row->least; row->kind == OPTION_COUNT && row->most <= MOST_COUNTED && i <= row->most;
         i++)
        used +=
            (size_t)snprintf(text + used, size - used, "%s%llu", used > 0 ? " " : "", (unsigned long long)i);
    if (row->choices != NULL)
        choice_list(row->choices, &(struct choice_listing){" ", " ", .with_default = false}, text, size);
}

/* Filters, as far as they are the same for everybody; an axis is written out. */
static void list_filters(char *text, size_t size)
{
    size_t used = 0;

    for (const struct filter *filter = filter_list; filter->name != NULL; filter++) {
        const char *name = filter->name, *blank = used > 0 ? " " : "";
        if (filter->arguments == ARGUMENTS_AXIS)
            used += (size_t)snprintf(text + used, size - used, "%s%s:x %s:y %s:z", blank, name, name, name);
        else
            used += (size_t)snprintf(text + used, size - used, "%s%s%s", blank, name,
                                     filter->arguments == ARGUMENTS_NONE ? "" : ":");
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

static void list_completions(const struct option_row *row, char *text, size_t size)
{
    if (is_filter(row))
        list_filters(text, size);
    else
        list_words(row, text, size);
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
    list_completions(row, words, sizeof words);
    if (is_filter(row))
        snprintf(before_files, sizeof before_files, "taps");
    else if (strstr(row->argument, ":FILE") != NULL)
        list_words(row, before_files, sizeof before_files);
    fprintf(stream, ") kind='word' words='%s' before_files='%s' ;;\n", words, before_files);
}

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

static void print_zsh_value(FILE *stream, const struct option_row *row)
{
    char words[512];

    fputs(option_argument_is_optional(row) ? "::" : ":", stream);
    print_plain(stream, row->argument);
    list_completions(row, words, sizeof words);
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
    print_plain(stream, option_help(row, help, sizeof help));
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

void completions_print(FILE *stream, enum program program, enum shell shell)
{
    (shell == SHELL_BASH ? print_bash : print_zsh)(stream, program);
}
