/* Statistics: the observer that adds up the samples of both ends of a run. */
#ifndef STATS_H
#define STATS_H

#include "kernels/backend.h"
#include "observer.h"

struct stats {
    const struct plan *plan;
    struct tally *in, *out; /* one a channel of the file, which whoever keeps the state releases; or NULL */
    struct tally *planes;   /* room for those of some planes */
    double seconds;
};

/* The state of such an observer is a struct stats, of zeros before the run. */
extern const struct observer_kind stats_kind;

#endif
