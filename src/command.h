/* The commands themselves: from argv to an exit status. */
#ifndef COMMAND_H
#define COMMAND_H

#include "options.h"

int command_main(int argc, char **argv, enum program program);

#endif
