/* What the options of options.def do, each with its value (NULL without one). They stand in a file for
   each subject, option_*.c. */
#ifndef OPTION_VALUES_H
#define OPTION_VALUES_H

#include <stdbool.h>

struct parsing;

/* An option that the programs list apart has one function, which this declares twice. */
#define OPTION(letter, name, argument, choices, programs, set, help)                                         \
    bool set(struct parsing *parsing, const char *value);
#include "options.def"

#endif
