/* The command voxfilt. */
#include "command.h"

int main(int argc, char **argv)
{
    return command_main(argc, argv, PROGRAM_VOXFILT);
}
