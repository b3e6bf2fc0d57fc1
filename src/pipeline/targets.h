/* Targets of a run: its output, and the states on the way that are written as well. Several ranks open them
   together, and all of them write each. */
#ifndef TARGETS_H
#define TARGETS_H

#include "base/diag.h"
#include "base/file_out.h"
#include "base/reservation.h"
#include "peers/peers.h"
#include "format/format.h"
#include "plan/split.h"
#include "plan/job.h"
#include "joint.h"

#include <stdbool.h>
#include <stddef.h>

struct target_request {
    const struct format *format;
    const struct header *header;
    struct sink_request sink; /* its pattern is the path of the file */
    bool sync;
};

struct target {
    const char *path;
    struct file_out *file; /* NULL: it is not open, or another rank's */
    struct sink sink;      /* of the file */

    /* Of several ranks. */
    struct file_out *joined; /* of any other: rank 0's file */
    struct sink joint; /* what they write into; without a format for one rank, or until it has a place */
};

struct targets {
    struct peers *peers; /* those that make the run; one alone, too */
    struct target *list; /* the output is the first */
    size_t count;
    struct joint_spool spool;        /* of several ranks, for those that take samples in turn */
    struct reservation *reservation; /* of several ranks, by rank 0: of room for all of them; or NULL */
};

/* Room for so many. They are to be closed, also after a failure. */
bool targets_make(struct targets *targets, size_t most, struct peers *peers, struct fault *fault);

/* Open them one by one, the output first. Then settle where samples go that sinks take in turn, if ranks
   divide the job so; room for what several ranks write is taken from then on, while they run. */
bool targets_add(struct targets *targets, const struct target_request *request, struct fault *fault);
bool targets_settle(struct targets *targets, const struct job *job, const struct split *split,
                    struct fault *fault);

/* The sink that a run writes into. */
struct sink *target_sink(struct target *target);

/* After the run, whether it succeeded or not: whether there is room for what several ranks write. If there is
   too little, the fault is that of rank 0, whichever rank met it first. */
bool targets_have_room(struct targets *targets, bool made, struct fault *fault);

/* Then wait until all samples are in the files. */
bool targets_finish(struct targets *targets, struct fault *fault);

/* Then add all files to those that get their names together, the output last. */
bool targets_add_files(const struct targets *targets, struct file_set *set, struct fault *fault);

/* Whether nobody can have seen a byte of any of them. */
bool targets_unseen(const struct targets *targets);
void targets_close(struct targets *targets);

#endif
