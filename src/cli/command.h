/* The commands themselves: from argv to an exit status. */
#ifndef COMMAND_H
#define COMMAND_H

#include "peers/peers.h"

/* Run the command that argv asks for, and return its exit status. */
int command_main(int argc, char **argv);

/* Run it together with other processes, which call this as well. `open` finds them. */
int command_main_together(int argc, char **argv, peers_opener *open);

#endif
