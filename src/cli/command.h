/* The commands themselves: from argv to an exit status. */
#ifndef COMMAND_H
#define COMMAND_H

#include "peers/peers.h"

int command_main(int argc, char **argv);

/* The same in each of several processes, which `open` brings together. */
int command_main_together(int argc, char **argv, peers_opener *open);

#endif
