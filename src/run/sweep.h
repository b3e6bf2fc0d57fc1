/* Sweeps: the levels of a pass advanced over the planes, by one device or by several that share them. */
#ifndef SWEEP_H
#define SWEEP_H

#include "base/diag.h"
#include "base/threads.h"
#include "base/progress.h"
#include "peers/peers.h"
#include "kernels/backend.h"
#include "format/format.h"
#include "plan/levels.h"
#include "plan/plan.h"
#include "plan/shares.h"
#include "exchange.h"

#include <stdbool.h>
#include <stddef.h>

/* The planes of a pass. Those of an unrolled grid are counted from the first that stands before the grid's
 * own. */
struct sweep_frame {
    size_t overlap;          /* planes that stand on either side of an unrolled grid */
    struct levels_span span; /* that are read */
    struct range own;        /* that are the grid's, or those of a part: each is done once */
    struct range leaving;    /* of them, that are put out */
    size_t before;           /* planes before the span that are handed over by other lanes */
    bool of_source;          /* they are read as they came */
};

/* The levels of a pass as they advance over the planes of one device. */
struct sweep {
    const struct plan *plan;
    struct lane *lane; /* the device, and its fields */
    struct progress *progress;
    struct levels levels; /* of the pass: the plan's, or that of the unrolled grid */
    struct sweep_frame frame;
    size_t field_planes;           /* of the grid that the fields are for */
    struct levels_mark begin, end; /* of the pass */
    struct range window;           /* planes that the fields hold */
    size_t fed, swept;             /* planes read, and how many of them the levels have seen */
    size_t done;                   /* planes of the last level, up to this one */
    size_t gone;                   /* those of them that have left the fields, up to this one */
    unsigned input, output;        /* fields of the planes read, and of the last level */
    double *plane_changes;         /* room for those of some planes, where steps are looked at */
    double *changes; /* of each step of the pass, and each channel: Σ (after − before)² where it is looked at;
                        or NULL */
    double span;     /* sample updates asked for in the device's span of work */
    double seconds;  /* of the spans that are done */
    uint64_t handed; /* planes that other devices have copied into the fields */
    double handing;  /* seconds that this took */
};

/* Who is shown the planes of each stop of the levels, when they are ready: of an input that comes from the
   source, and of the levels that end there. What the field holds of them is gone afterwards. */
struct sweep_tap {
    void *taker;
    bool (*take)(void *taker, const struct sweep *sweep, uint64_t step, unsigned field, struct range planes,
                 struct fault *fault);
};

/* A team: the members of this process that go through the levels of a pass together. All ranks make the
   same calls. */
struct sweep_team {
    const struct plan *plan;
    struct sweep *members;
    struct shares shares; /* of the planes, as they are counted at the moment; `held` are of this process */
    struct peers *peers;
    struct sweep_tap tap;    /* nobody where take is NULL */
    const struct sink *sink; /* which may turn out to lack room */
    struct fault *fault;

    /* While levels are under way. */
    struct levels_walk walk;
    struct exchange exchange;
    double *each;       /* the changes of this process's planes, where others have some; else NULL */
    double *changes;    /* of each step; or NULL */
    bool fine;          /* nothing has failed in this process */
    unsigned levels;    /* since all agreed */
    struct pool *aside; /* a thread that computes while this one looks after messages; or NULL */
};

/* Create a device's fields for a run; sweep_destroy releases them, also after a failure, and does nothing for
   a sweep of zeros. */
bool sweep_create(struct sweep *sweep, const struct plan *plan, struct lane *lane, struct progress *progress,
                  struct fault *fault);
void sweep_destroy(struct sweep *sweep);

/* A pass from one mark to another: over planes that are to come, or over those that the pass before it left,
   if it left all; of the frame, only those that leave are then new. `changes` may be NULL. Or over those that
   have just come in a pass without levels, as the members of a team each take their own. */
bool sweep_begin(struct sweep *sweep, struct levels_mark begin, struct levels_mark end,
                 const struct sweep_frame *frame, double *changes, struct fault *fault);
void sweep_begin_again(struct sweep *sweep, struct levels_mark begin, struct levels_mark end,
                       struct range leaving, double *changes);

void sweep_begin_levels(struct sweep *sweep, struct levels_mark begin, struct levels_mark end,
                        double *changes);

/* While no level is due: whether the next batch is better taken now than once all planes that are to leave
   have left. There is room for it, or it is made without moving what the fields hold more than once a slab.
 */
bool sweep_has_room(const struct sweep *sweep);

/* Whether planes are still to come, or to be seen by the levels. */
bool sweep_goes_on(const struct sweep *sweep);

/* Make room for `planes` more planes in the input's field. Then say that they are there. */
bool sweep_make_room(struct sweep *sweep, size_t planes, struct fault *fault);
void sweep_feed(struct sweep *sweep, size_t planes);

/* Whether enough planes have come for the levels to advance. */
bool sweep_is_due(const struct sweep *sweep);

/* Advance them, once nothing is to leave any more: what leaves later does so from fields that hold all
   planes. That may still be under way on return: the device does in order what it is asked. */
bool sweep_run(struct sweep_team *team);

/* The planes of the last level that may leave now. Then say that the first `planes` of them have left. */
struct range sweep_leaving(const struct sweep *sweep);
void sweep_leave(struct sweep *sweep, size_t planes);

/* Wait until no level is under way. */
bool sweep_finish(struct sweep *sweep, struct fault *fault);

#endif
