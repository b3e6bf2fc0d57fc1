/* Queues: all inputs of a command, several at the same time, each told in its turn. */
#ifndef QUEUE_H
#define QUEUE_H

#include "base/diag.h"
#include "options.h"

/* Run, or explain, each input. One that fails is told and the others are done; the status is that of the
   first, in the order of the command line, that failed. */
enum status queue_run(const struct options *options);

#endif
