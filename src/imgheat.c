/* The command imgheat. */
#include "command.h"

int main(int argc, char **argv)
{
    return command_main(argc, argv, PROGRAM_IMGHEAT);
}
