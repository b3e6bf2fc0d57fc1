/* Joint files: temporary files of rank 0 that all ranks write or remove. */
#ifndef JOINT_H
#define JOINT_H

#include "base/diag.h"
#include "base/file_out.h"
#include "base/guard.h"
#include "base/reservation.h"
#include "peers/peers.h"
#include "format/format.h"
#include "plan/job.h"
#include "plan/split.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What rank 0 tells the others of a file that all of them write. */
struct joint_file {
    char temporary[PATH_MAX]; /* empty: there is no file to write together */
    uint64_t begin;           /* of the samples */
    bool synced;
};

/* By rank 0: make the file long enough for so many bytes of samples from `begin` on, and note where they are.
 */
bool joint_file_offer(struct joint_file *offer, struct file_out *file, uint64_t begin, uint64_t bytes,
                      struct fault *fault);

/* All ranks together; `done` is whether rank 0 has done its part. The others get the offer and join the
   file, which will have the name `path`. `joined` is NULL on rank 0, if there is no such file, and after a
   failure to join. */
bool joint_file_join(struct joint_file *offer, struct peers *peers, bool done, const char *path,
                     struct file_out **joined, struct fault *fault);

/* A file into which the ranks write the samples of outputs that take them in turn, and from which rank 0
   fills these outputs. */
struct joint_spool {
    const struct job *job;
    const struct split *split;
    size_t outputs;
    struct file_out *file;   /* rank 0's; NULL: it is not open, or another rank's */
    struct file_out *joined; /* of any other rank: rank 0's file */
};

/* By the ranks of a split, all together, for so many outputs of a job. It is beside the file of the first
   of them, which rank 0 alone has open and whose name will be `path`. It is to be closed, also after a
   failure. */
bool joint_spool_open(struct joint_spool *spool, const struct job *job, const struct split *split,
                      size_t outputs, const struct file_out *first, const char *path, struct peers *peers,
                      struct fault *fault);

/* The sink into which this rank writes its samples of an output. */
struct sink joint_spool_sink(const struct joint_spool *spool, size_t output);

/* By rank 0: the room that its file needs. */
struct reservation_room joint_spool_room(const struct joint_spool *spool);

/* Wait until all that this rank wrote is in the file. Then rank 0 takes all samples of an output into its
   sink, in their order. */
bool joint_spool_complete(struct joint_spool *spool, struct fault *fault);
bool joint_spool_pour(const struct joint_spool *spool, size_t output, struct sink *sink, struct fault *fault);
void joint_spool_close(struct joint_spool *spool);

/* Temporary files of rank 0 that the other ranks remove as well, if a signal ends them. */
struct joint_guards {
    char *paths;             /* one after the other, each with its end */
    struct guarded *guarded; /* by any rank but 0 */
    size_t count;
};

/* All ranks together: rank 0 tells what it guards so far, and the others guard it, too. They must
   be forgotten, also after a failure. That may be late, because a temporary has a random name, which no later
   file gets. */
bool joint_guards_tell(struct joint_guards *guards, struct peers *peers, struct fault *fault);

/* Forget them, if any were told. */
void joint_guards_forget(struct joint_guards *guards);

#endif
