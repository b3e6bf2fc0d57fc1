/* Parsing: where a command line has been taken up to, and what options share. */
#include "parsing.h"

#include "base/suggest.h"

#include <stddef.h>

bool parsing_refuse(struct parsing *parsing, const char *value, const char *expected)
{
    return fault_raise_about(parsing->fault, STATUS_USAGE, value, "expected %s", expected);
}

bool parsing_refuse_for(struct parsing *parsing, const char *value, const char *expected, const char *meant)
{
    parsing_refuse(parsing, value, expected);
    return suggest_add(parsing->fault, meant, "");
}

bool parsing_refuse_twice(struct parsing *parsing)
{
    return fault_raise(parsing->fault, STATUS_USAGE, "given twice");
}

bool parsing_read_choice(struct parsing *parsing, const char *value, int *place)
{
    const char *argument;

    return choice_parse(parsing->choices, value, place, &argument, parsing->fault);
}

bool parsing_keep_file(struct parsing *parsing, const char **file, const char *value)
{
    if (*file != NULL)
        return parsing_refuse_twice(parsing);
    *file = value;
    return true;
}
