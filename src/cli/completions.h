/* Completions: scripts by which shells complete the options of a command, printed from the table of options.
 */
#ifndef COMPLETIONS_H
#define COMPLETIONS_H

#include "options.h"
#include "program.h"

#include <stdio.h>

/* For the name that the program is installed under. */
void completions_print(FILE *stream, enum program program, enum shell shell);

#endif
