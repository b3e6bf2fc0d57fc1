/* Targets of a run: its output, and the states on the way that are written as well. Several ranks open them
   together, and all of them write each. */
#ifndef TARGETS_H
#define TARGETS_H

#include "base/diag.h"
#include "base/file_out.h"
#include "base/temp_cleanup.h"
#include "base/preallocate.h"
#include "peers/peers.h"
#include "format/format.h"
#include "plan/split.h"
#include "plan/job.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A file that all ranks write, as rank 0 describes it to the others. */
struct joint_file {
    char temporary[PATH_MAX]; /* empty: there is no file to write together */
    uint64_t begin;           /* of the samples */
    bool synced;
};

/* A file into which the ranks of a split write the samples of outputs that take them in turn, and from which
   rank 0 fills these outputs. */
struct joint_spool {
    const struct job *job;
    const struct split *split;
    size_t outputs;
    struct file_out *file;   /* rank 0's; NULL: it is not open, or another rank's */
    struct file_out *joined; /* of any other rank: rank 0's file */
};

/* The sink into which this rank writes its samples of an output. */
struct sink joint_spool_sink(const struct joint_spool *spool, size_t output);

/* How a target is to be opened. */
struct target_request {
    const struct format *format;
    const struct header *header;
    struct sink_request sink; /* its pattern is the path of the file */
    bool sync;
};

/* One file that a run writes. */
struct target {
    const char *path;
    struct file_out *file; /* NULL: it is not open, or another rank's */
    struct sink sink;      /* of the file */

    /* If there are several ranks: */
    struct file_out *joined; /* of any other: rank 0's file, or the first of its files */
    char *temporaries;       /* of a stack: the names of rank 0's files; else NULL */
    struct sink joint; /* what they write into; without a format for one rank, or until it has a place */
};

/* All files that a run writes. */
struct targets {
    struct peers *peers; /* those that make the run; one alone, too */
    struct target *list; /* the output is the first */
    size_t count;
    struct joint_spool spool;            /* of several ranks, for those that take samples in turn */
    struct preallocation *preallocation; /* of several ranks, by rank 0: of room for all of them; or NULL */

    /* Temporary files of rank 0, as any other rank guards them. */
    char *guarded_paths; /* one after the other, each with its end */
    struct temp_file *guarded;
    size_t guarded_count;
};

/* Begin with no target, and room for `most`. They are to be closed, also after a failure. */
bool targets_make(struct targets *targets, size_t most, struct peers *peers, struct fault *fault);

/* Open them one by one, the output first. Then several ranks settle where samples go that sinks take in turn;
   from then on rank 0 takes room for what they write, while they run. */
bool targets_add(struct targets *targets, const struct target_request *request, struct fault *fault);
bool targets_settle(struct targets *targets, const struct job *job, const struct split *split,
                    struct fault *fault);

/* By all processes of the pipeline, idle ones too: if a signal ends one of them, it removes the temporary
   files that rank 0 guards so far. Closing ends that. It may come late: a temporary has a random name, which
   no later file gets. */
bool targets_guard(struct targets *targets, struct peers *all, struct fault *fault);

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

/* Close the files. Those that have no names yet are removed. */
void targets_close(struct targets *targets);

#endif
