/* The command line of both commands: from argv to plain requests. */
#ifndef COMMAND_LINE_H
#define COMMAND_LINE_H

#include "base/diag.h"
#include "options.h"

#include <stdbool.h>

/* Parse and check all that can be checked without the input. Texts stay in argv. The options are to be freed
   in either case. */
bool command_line_parse(int argc, char **argv, enum program program, struct options *options,
                        struct fault *fault);

#endif
