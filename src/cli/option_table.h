/* The table of options: a row for each, from which parsing, help, completions and refusals follow. */
#ifndef OPTION_TABLE_H
#define OPTION_TABLE_H

#include "option.h"
#include "program.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

extern const struct option_row option_table[OPTIONS];

/* Whether the argument may be left out; else it stands behind "=". */
bool option_argument_is_optional(const struct option_row *row);

/* The help of an option, with its choices and limits in it. Returns text. */
const char *option_help(const struct option_row *row, char *text, size_t size);

/* What a value must be, as a refusal says it. Returns text. */
const char *option_expected(const struct option_row *row, char *text, size_t size);

/* --help of one process, or of several together. */
void option_print_help(FILE *stream, enum program program, bool together);

#endif
