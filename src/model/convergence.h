/* Convergence: by how much a stage with --until changed the samples, check by check. */
#ifndef CONVERGENCE_H
#define CONVERGENCE_H

#include "base/diag.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CONVERGENCE_KEPT 4096 /* the latest checks; earlier ones are only counted */

struct convergence_check {
    uint64_t step;
    double change; /* RMS, of this step alone */
};

/* Begins as {0}. */
struct convergence {
    struct convergence_check *checks; /* in a ring */
    size_t room;
    uint64_t count; /* of all checks so far */
};

/* Allocate room for `most` checks, or for the latest of them. */
bool convergence_open(struct convergence *convergence, uint64_t most, struct fault *fault);
void convergence_add(struct convergence *convergence, uint64_t step, double change);

/* How many checks are kept; and one of them, the earliest first. */
size_t convergence_kept(const struct convergence *convergence);
struct convergence_check convergence_at(const struct convergence *convergence, size_t index);

void convergence_close(struct convergence *convergence);

#endif
