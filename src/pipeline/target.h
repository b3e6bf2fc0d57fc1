/* Targets: files that a pipeline writes, and what stands in them. */
#ifndef TARGET_H
#define TARGET_H

#include "base/diag.h"
#include "base/file_out.h"
#include "format/format.h"
#include "run/peers.h"

#include <stdbool.h>
#include <stddef.h>

struct target_request {
    const struct format *format;
    const struct header *header;
    struct sink_request sink; /* its pattern is the path of the file */
};

struct target {
    struct file_out *file; /* NULL: it is not open, or another rank's */
    struct sink sink;      /* of the file */

    /* Of several ranks. */
    struct file_out *pool;   /* rank 0's: samples of all of them on their way into a sink that takes them in
                                turn;   NULL: they go into its file */
    struct file_out *joined; /* of any other: rank 0's file or pool */
    struct sink joint;       /* what they write; without a format where there is one */
};

/* On failure it is to be closed as well. */
bool target_open(struct target *target, const struct target_request *request, struct fault *fault);

/* The same by several ranks, all together: the first opens it, and all write the samples. */
bool target_open_joint(struct target *target, const struct target_request *request, struct peers *peers,
                       struct fault *fault);

/* What a run writes into. */
struct sink *target_sink(struct target *target);

/* After the run, by several ranks all together: what each of them wrote is in the file. Then all files have
 * their names.
 */
bool target_finish(struct target *target, struct peers *peers, struct fault *fault);
bool target_commit(struct target *target, struct fault *fault);

/* Whether nobody can have seen a byte of it. */
bool target_unseen(const struct target *target);
void target_close(struct target *target);

#endif
