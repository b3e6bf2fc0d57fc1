/* All inputs of a command: several run at the same time, and their messages come in order. */
#ifndef BATCH_H
#define BATCH_H

#include "base/diag.h"
#include "options.h"

/* Run, or explain, each input. If one fails, the others still run; the status is that of the first that
   failed, in the order of the command line. */
enum status batch_run(const struct options *options);

#endif
