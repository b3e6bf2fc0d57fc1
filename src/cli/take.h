/* Takers: what the options of words.def do, each with its value (NULL without one). They stand in a file for
   each subject, take_*.c. */
#ifndef TAKE_H
#define TAKE_H

#include <stdbool.h>

struct parsing;

/* An option that the programs list apart has one taker, which this declares twice. */
#define OPTION(letter, name, argument, choices, programs, take, help)                                        \
    bool take(struct parsing *parsing, const char *value);
#include "words.def"

#endif
