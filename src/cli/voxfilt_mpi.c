/* The program of both commands where ranks are to be brought together by MPI. */
#include "peers/peers.h"
#include "command.h"

int main(int argc, char **argv)
{
    return command_main_together(argc, argv, peers_mpi_open);
}
