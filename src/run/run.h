/* The run: planes from a source through a plan's steps into a sink. */
#ifndef RUN_H
#define RUN_H

#include "base/diag.h"
#include "base/progress.h"
#include "model/stage.h"
#include "peers/peers.h"
#include "kernels/backend.h"
#include "format/format.h"
#include "plan/plan.h"
#include "observer.h"
#include "pass.h"
#include "tees.h"

#include <stdbool.h>
#include <stdint.h>

/* A request for a run, besides its plan. */
struct run_request {
    size_t volume; /* of the source's series, from 0 on: each is a run of its own, and the last ends source
                      and sink */
    struct source *mask; /* of the job, open; NULL: it has none */
    bool stats;          /* add up the samples of input and output (--stats) */
    enum progress_mode progress;
    struct observers observers; /* others */
    struct peers *peers;        /* the ranks that make the run together; NULL: this process alone */

    /* States on the way, at the stops of the plan's levels. */
    struct tee *tees;
    size_t tee_count;
};

/* The work of one of several devices. */
struct run_share {
    double compute;        /* seconds */
    uint64_t handed_bytes; /* bytes of planes that other devices handed to it */
    double handing;        /* seconds that this took, partly while it computed */
};

/* The figures of a run. */
struct run_summary {
    struct run_seconds seconds;
    uint64_t steps;            /* steps that all stages have taken */
    struct convergence checks; /* what was found at the steps that --until checked */
    double last_change;        /* RMS change of the last step that was checked; NaN: none was */
    bool unreached;            /* the stage with until took all its steps in vain */
    struct outcomes outcomes;  /* samples that were not finite, or were cut off; nothing is counted where bits
                                  are copied */
    double low, high;          /* what --out-range put at the ends of the range; NaN: nothing was */
    struct run_share shares[DEVICES_MOST];  /* one a device */
    struct tally *tallies_in, *tallies_out; /* one a channel of the file, where stats are asked; of the first
                                               volume of a series, with room for those of the others */
};

/* Run a plan, for one volume of the source. The sink stays open; after the last volume it is finished, and
   only its name is missing. The summary is to be freed with run_summary_free, also after a failure. */
bool run_plan(struct plan *plan, const struct run_request *request, struct source *source, struct sink *sink,
              struct run_summary *summary, struct fault *fault);

/* Another volume of the series of a job: times and outcomes are those of both, tallies those of each; its
   other figures are not kept. */
void run_summary_add(struct run_summary *all, const struct job *job, size_t index,
                     const struct run_summary *volume);
void run_summary_free(struct run_summary *summary);

#endif
