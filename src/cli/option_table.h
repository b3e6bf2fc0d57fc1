/* The options as words: what there are, which of them an argument is, and the help that lists them. */
#ifndef WORDS_H
#define WORDS_H

#include "base/choice.h"
#include "base/diag.h"
#include "base/program.h"

#include <getopt.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* How many options there are, of both programs. */
enum {
    WORDS = 0
#define OPTION(letter, name, argument, choices, programs, set, help) +1
#include "options.def"
};

/* What the choices of some options stand for; those of others are in the headers of what they are about. */
enum notation { NOTATION_TEXT, NOTATION_JSON };
enum sharing { SHARING_JOINT, SHARING_SEPARATE };

/* The options of one program as getopt wants them, and where it stands in a command line. */
struct words {
    enum program program;
    int argc;
    char **argv;
    char letters[3 * WORDS + 2];
    struct option longs[WORDS + 1];
};

void words_begin(struct words *words, enum program program, int argc, char **argv);

/* The next option, by its place in options.def, and its value (NULL without one). Ends with true and WORDS:
   the operands then stand at the end of argv, from optind on. */
bool words_next(struct words *words, size_t *option, const char **value, struct fault *fault);

/* The words that the option takes; NULL where it takes anything else. */
const struct choice *words_choices(size_t option);

/* After the value of an option was refused: name the option before the reason. */
bool words_refuse(const struct words *words, size_t option, struct fault *fault);

/* For one process, or for several together. */
void words_help(FILE *stream, enum program program, bool together);

#endif
