/* Outcomes of samples on their way between files and fields, added up. */
#include "outcomes.h"

#include <string.h>

void outcomes_add(struct outcomes *all, const struct outcomes *more)
{
    all->strays += more->strays;
    all->nans += more->nans;
    all->below += more->below;
    all->above += more->above;
}

static bool take(void *data, const void *bytes, size_t size, struct fault *fault)
{
    struct outcomes more;

    (void)fault;
    memcpy(&more, bytes, size);
    outcomes_add(data, &more);
    return true;
}

bool outcomes_gather(struct outcomes *outcomes, struct peers *peers, struct fault *fault)
{
    const struct outcomes own = *outcomes;

    *outcomes = (struct outcomes){.strays = 0};
    return peers_gather(peers, &own, sizeof own, take, outcomes, fault);
}
