/* Parts: results that are computed by several runs, each on its own. */
#ifndef PART_H
#define PART_H

#include "base/diag.h"
#include "format/format.h"
#include "job.h"
#include "levels.h"

#include <stdbool.h>

/* Where a part is asked for: whether it can be had without the rest. */
bool part_check(const struct job *job, const struct source *source, const struct levels *levels,
                struct fault *fault);

#endif
