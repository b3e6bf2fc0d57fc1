/* Outcomes of samples on their way between files and fields, added up. */
#ifndef OUTCOMES_H
#define OUTCOMES_H

#include "base/diag.h"
#include "peers/peers.h"
#include "kernels/backend.h"

#include <stdbool.h>

/* What became of samples in one, as a part of what did in several. */
void outcomes_add(struct outcomes *all, const struct outcomes *more);

/* All ranks together: rank 0 gets the sums of all of them. */
bool outcomes_gather(struct outcomes *outcomes, struct peers *peers, struct fault *fault);

#endif
