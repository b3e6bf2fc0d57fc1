/* Deals: the inputs of a command dealt to the ranks, each to one of them, which has it alone. */
#ifndef DEAL_H
#define DEAL_H

#include "base/diag.h"
#include "options.h"
#include "outputs.h"
#include "report_file.h"

#include <stdbool.h>

/* Run them all, of which there are as many as ranks or more: the largest first, and whichever rank is done
   with one gets the next. Rank 0 tells of each in its turn. One that fails is told and the others are done;
   the status is that of the first, in the order of the command line, that failed. All together; false at all
   of them where nothing has run. */
bool deal_run(const struct options *options, const struct outputs *outputs, struct report_file *report,
              enum status *status, struct fault *fault);

#endif
