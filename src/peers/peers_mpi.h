/* Peers that reach each other through MPI. */
#ifndef PEERS_MPI_H
#define PEERS_MPI_H

#include "peers.h"

/* Start MPI, which may take words out of the command line, unless the only task of a launcher asks. Tasks
   that a launcher has started and MPI does not bring together are refused; of these, all but the first are
   silent. */
peers_opener peers_mpi_open;

#endif
