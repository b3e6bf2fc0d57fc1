/* Programs: the commands that one binary is, and which of them it is this time. */
#ifndef PROGRAM_H
#define PROGRAM_H

#include "base/diag.h"

#include <stdbool.h>

enum program { PROGRAM_VOXFILT = 1, PROGRAM_IMGHEAT = 2 };

const char *program_name(enum program program);

/* The name that the command is installed under. */
const char *program_installed_name(enum program program);

/* What a first argument --program asks for, or else the name that the binary was called by: imgheat if that
   is a part of it, voxfilt if that is, or what they were renamed to when the build was configured. No other
   name will do. */
bool program_find(int argc, char **argv, enum program *program, struct fault *fault);

#endif
