/* Stages: the chain that a command line asks for, as a whole. */
#ifndef STAGES_H
#define STAGES_H

#include "base/diag.h"
#include "stage.h"

#include <stdbool.h>
#include <stddef.h>

/* Settle what each stage has been given and what it takes of the defaults, of one stage or more. What is
   asked of no stage, or of one that cannot do it, is refused; `force`: unstable heat is allowed. */
bool stages_settle(struct stage_request *stages, size_t count, const struct stage_request *defaults,
                   bool force, struct fault *fault);

/* The distances between samples matter to one of them. */
bool stages_use_spacing(const struct stage_request *stages, size_t count);

/* The last of them, settled, ends where its changes are small. */
bool stages_have_until(const struct stage_request *stages, size_t count);

#endif
