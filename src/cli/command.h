/* The commands themselves: from argv to an exit status. */
#ifndef COMMAND_H
#define COMMAND_H

int command_main(int argc, char **argv);

#endif
