/* Statistics: the observer that adds up the samples of both ends of a run. */
#ifndef STATS_H
#define STATS_H

#include "kernels/backend.h"
#include "observer.h"

struct stats {
    const struct plan *plan;
    bool of_series;         /* there is room for those of all volumes, of which these are the first */
    struct tally *in, *out; /* one a channel of the file, which whoever keeps the state releases; or NULL */
    struct tally *planes;   /* room for those of some planes */
    struct tally
        *kept[2]; /* by the end of the run: those of each plane, where they are of several processes */
    double seconds;
};

/* What keeping them takes. */
size_t stats_bytes(const struct job *job);

/* Release what is nobody else's. */
void stats_free(struct stats *stats);

/* The state of such an observer is a struct stats, of zeros before the run. */
extern const struct observer_kind stats_kind;

#endif
