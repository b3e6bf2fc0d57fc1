/* Observers: whoever looks at the planes of a run as files hold them, those that come and those that go. */
#ifndef OBSERVER_H
#define OBSERVER_H

#include "base/diag.h"
#include "peers/peers.h"
#include "kernels/backend.h"
#include "plan/plan.h"

#include <stdbool.h>
#include <stddef.h>

/* The ends of a run. */
enum observer_end { OBSERVER_INPUT, OBSERVER_OUTPUT };

/* One kind of observer. All are called by the thread that runs the plan. */
struct observer_kind {
    /* The bytes that it allocates for a job; NULL: they are planned for otherwise, or next to nothing. */
    size_t (*bytes)(const struct job *job);

    /* Before the first plane. */
    bool (*begin)(void *state, const struct plan *plan, struct fault *fault);

    /* Planes of an end, by their numbers in the grid: packed samples, as the plan's job says of that end.
       Each plane of the run comes once, and those of one end come in order; with several processes, each sees
       those of its own window. The samples must stay as they are, and are gone afterwards. */
    bool (*see)(void *state, enum observer_end end, const void *samples, struct range planes,
                struct fault *fault);

    /* After the last plane of both ends, while the output is not complete yet. All processes call it
       together, and rank 0 gets what all of them saw. */
    bool (*finish)(void *state, struct peers *peers, struct fault *fault);
};

struct observer {
    const struct observer_kind *kind;
    void *state;
};

/* Some of them, in the order in which they are called; the first that fails ends the run. */
struct observers {
    const struct observer *list;
    size_t count;
};

/* The bytes that all of them allocate for a job. */
size_t observers_bytes(const struct observers *observers, const struct job *job);

/* Call all of them, in order; false from the first that fails. */
bool observers_begin(const struct observers *observers, const struct plan *plan, struct fault *fault);
bool observers_see(const struct observers *observers, enum observer_end end, const void *samples,
                   struct range planes, struct fault *fault);
bool observers_finish(const struct observers *observers, struct peers *peers, struct fault *fault);

/* ---- --stats ---- */

/* An observer that adds up the samples of both ends. */
struct observer_stats {
    const struct plan *plan;
    bool of_series;         /* there is room for those of all volumes, of which these are the first */
    struct tally *in, *out; /* one a channel of the file, which whoever keeps the state releases; or NULL */
    struct tally *planes;   /* scratch room for the tallies of some planes */
    /* By the end of the run: those of each plane, where they are of several processes. */
    struct tally *kept[2];
    double seconds;
};

/* The bytes that keeping tallies of planes and volumes takes. */
size_t observer_stats_bytes(const struct job *job);

/* Release what is nobody else's. */
void observer_stats_free(struct observer_stats *stats);

/* The state of such an observer is a struct observer_stats, of zeros before the run. */
extern const struct observer_kind observer_stats;

#endif
