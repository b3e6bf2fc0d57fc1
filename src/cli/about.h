/* The texts that a command prints about itself. */
#ifndef ABOUT_H
#define ABOUT_H

#include "options.h"

#include <stdbool.h>
#include <stdio.h>

/* --help of one process, or of several together. */
void about_help(FILE *stream, enum program program, bool together);

/* --list: filters, rungs, formats and devices; as JSON they are one line. */
void about_lists(FILE *stream, bool as_json);

/* --completions, for the name that the program is installed under. */
void about_completions(FILE *stream, enum program program, enum shell shell);

#endif
