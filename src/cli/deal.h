/* Deals: the inputs of a command dealt to the ranks; each input goes to one rank, which has it alone. */
#ifndef DEAL_H
#define DEAL_H

#include "base/diag.h"
#include "options.h"
#include "outputs.h"
#include "report_file.h"

#include <stdbool.h>

/* Run all inputs, of which there are at least as many as ranks. The largest are dealt first, and a rank
   that is done with one gets the next. Rank 0 prints the messages of each in its turn. If an input fails,
   the others still run; the status is that of the first failure in the order of the command line. All
   ranks together; false at all of them if nothing has run. */
bool deal_run(const struct options *options, const struct outputs *outputs, struct report_file *report,
              enum status *status, struct fault *fault);

#endif
