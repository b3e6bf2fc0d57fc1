/* The program of both commands: which of them it is its name says. */
#include "command.h"

int main(int argc, char **argv)
{
    return command_main(argc, argv);
}
