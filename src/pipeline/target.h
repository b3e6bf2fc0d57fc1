/* Targets: files that a pipeline writes, and what stands in them. */
#ifndef TARGET_H
#define TARGET_H

#include "base/diag.h"
#include "base/file_out.h"
#include "peers/peers.h"
#include "format/format.h"
#include "reservoir.h"

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

/* On failure it is to be closed as well. */
bool target_open(struct target *target, const struct target_request *request, struct fault *fault);

/* The same by several ranks, all together: rank 0 opens it, and all write the samples. If its sink takes them
   in turn, they need a place elsewhere. */
bool target_open_joint(struct target *target, const struct target_request *request, struct peers *peers,
                       struct fault *fault);

/* Whether the samples still need such a place. */
bool target_needs_place(const struct target *target);

/* What a run writes into. */
struct sink *target_sink(struct target *target);

/* What this rank wrote into the file that it joined is there. */
bool target_complete(struct target *target, struct fault *fault);

/* Once it is finished: add its files to those that get their names together. */
bool target_add_files(const struct target *target, struct file_set *set, struct fault *fault);

/* Whether nobody can have seen a byte of it. */
bool target_unseen(const struct target *target);
void target_close(struct target *target);

#endif
