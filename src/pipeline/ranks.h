/* Ranks: what the processes of a pipeline settle between them before, between and after its steps. With one
   process every call succeeds and does nothing. */
#ifndef RANKS_H
#define RANKS_H

#include "base/diag.h"
#include "base/file_in.h"
#include "peers/peers.h"
#include "format/format.h"
#include "plan/split.h"
#include "plan/job.h"
#include "plan/plan.h"

#include <stdbool.h>

/* The processes of a pipeline, and what they have settled. */
struct ranks {
    struct peers *all;       /* NULL: the process is alone */
    struct peers team;       /* the first of them, who make the run, */
    bool idle;               /* and whether this one is none of them */
    struct split split;      /* how they do, once that is settled; else it has no members */
    bool unlike;             /* their plans differ */
    bool changed_apart;      /* the input has the same bytes for all, but not the same time of change */
    struct link link;        /* between them */
    const char *link_source; /* where that is known from */
};

/* Whether more than one process has the pipeline; and whether more than one makes the run. */
bool ranks_are_several(const struct ranks *ranks);
bool ranks_share_run(const struct ranks *ranks);

/* Whether one of several makes it alone because there is no way to divide it, or too little memory for any.
 */
bool ranks_cannot_divide(const struct ranks *ranks);

/* Refuse an input that not all of them see alike, in its size, its first or its last bytes. Of samples in
   several files, the first and the last one count. */
bool ranks_compare_files(struct ranks *ranks, const struct file_in *file, struct fault *fault);
bool ranks_compare_samples(struct ranks *ranks, const struct source *source, struct fault *fault);
bool ranks_compare_headers(struct ranks *ranks, const struct source *source, struct fault *fault);

/* Choose how the job is split, and who makes the run: what rank 0 chooses counts. It depends on how fast
   ranks exchange planes, which is known from an earlier run, or assumed; if the seconds at stake are worth
   it, all measure it together, and rank 0 keeps the result. Then divide the job among them. */
bool ranks_choose_team(struct ranks *ranks, const struct plan_request *request, const struct job *job,
                       struct fault *fault);
void ranks_divide(const struct ranks *ranks, struct job *job);

/* If they hold the grid together: whether all have planned the same levels, since each sends the others what
   their levels read. Ranks with different processors, memory or wisdom may not. */
bool ranks_agree_on_levels(struct ranks *ranks, const struct plan *plan, struct fault *fault);

/* Choose another split, if there is too little memory for this one, or ranks would compute different levels;
   false if there is none. */
bool ranks_step_down(struct ranks *ranks, struct fault *fault);

/* Make the outcome of the team known to all ranks, idle ones too: returns whether all of the team are done.
 */
bool ranks_conclude(struct ranks *ranks, bool done, struct fault *fault);

void ranks_close(struct ranks *ranks);

#endif
