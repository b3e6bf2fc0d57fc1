/* Options of a command that several MPI ranks run together. With one process every call succeeds and does
   nothing. */
#ifndef MPI_OPTIONS_H
#define MPI_OPTIONS_H

#include "base/diag.h"
#include "peers/peers.h"
#include "options.h"

#include <stdbool.h>

/* From here on only rank 0 writes to standard output, and messages. */
bool mpi_options_silence_others(const struct peers *peers, struct fault *fault);

/* Refuse a build other than that of rank 0. */
bool mpi_options_check_build(struct peers *peers, struct fault *fault);

/* Refuse words of the command line that are not those of rank 0. */
bool mpi_options_check_words(struct peers *peers, int argc, char **argv, struct fault *fault);

/* Refuse what ranks cannot do together; and take a rank's share of its node. Of several tasks of a launcher
   that are not ranks, the first notes that each does everything. */
bool mpi_options_take(struct peers *peers, struct options *options, struct fault *fault);

#endif
