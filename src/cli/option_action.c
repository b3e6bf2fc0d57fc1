/* Options of what the program does: which of the two it is, and what it prints in place of a run. */
#include "option_values.h"

#include "parsing.h"
#include "option_table.h"

#include <string.h>

/* What is printed in place of a run. */
static bool option_printing(struct parsing *parsing, const char *value, enum action action)
{
    int notation = NOTATION_TEXT;

    if (value != NULL && !parsing_read_choice(parsing, value, &notation))
        return false;
    parsing->options->action = action;
    parsing->options->json = notation == NOTATION_JSON;
    return true;
}

bool option_explain(struct parsing *parsing, const char *value)
{
    return option_printing(parsing, value, ACTION_EXPLAIN);
}

bool option_bench(struct parsing *parsing, const char *value)
{
    return option_printing(parsing, value, ACTION_BENCH);
}

bool option_tune(struct parsing *parsing, const char *value)
{
    (void)value;
    parsing->options->action = ACTION_BENCH;
    parsing->options->tune = true;
    return true;
}

bool option_list(struct parsing *parsing, const char *value)
{
    return option_printing(parsing, value, ACTION_LIST);
}

/* Which program this is was settled before its options were known. */
bool option_program(struct parsing *parsing, const char *value)
{
    int place;

    if (!parsing_read_choice(parsing, value, &place))
        return false;
    return strcmp(value, program_name(parsing->options->program)) == 0 ||
           fault_raise_about(parsing->fault, STATUS_USAGE, value, "it must be the first argument");
}

bool option_help(struct parsing *parsing, const char *value)
{
    (void)value;
    parsing->options->action = ACTION_HELP;
    return true;
}

bool option_version(struct parsing *parsing, const char *value)
{
    (void)value;
    parsing->options->action = ACTION_VERSION;
    return true;
}
