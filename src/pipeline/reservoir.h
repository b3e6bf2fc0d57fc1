/* Reservoirs: a file into which several ranks write the samples of outputs that take them in turn, and from
   which rank 0 fills these outputs. Each rank has blocks of its own there, in which its planes of one output
   follow those of another. So no block has two writers, however many outputs there are. */
#ifndef RESERVOIR_H
#define RESERVOIR_H

#include "base/diag.h"
#include "base/file_out.h"
#include "base/reservation.h"
#include "peers/peers.h"
#include "format/format.h"
#include "plan/split.h"
#include "plan/job.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct reservoir {
    const struct job *job;
    const struct split *split;
    size_t outputs;
    struct file_out *file;   /* rank 0's; NULL: it is not open, or another rank's */
    struct file_out *joined; /* of any other rank: rank 0's file */
};

/* By the ranks of a split, all together, for so many outputs of a job. It is beside the file of the first
   of them, which rank 0 alone has open and whose name will be `path`. It is to be closed, also after a
   failure. */
bool reservoir_open(struct reservoir *reservoir, const struct job *job, const struct split *split,
                    size_t outputs, const struct file_out *first, const char *path, struct peers *peers,
                    struct fault *fault);

/* Where this rank's samples of an output go. */
struct sink reservoir_sink(const struct reservoir *reservoir, size_t output);

/* By rank 0: the room that its file needs. */
struct reservation_room reservoir_room(const struct reservoir *reservoir);

/* What this rank wrote is in the file. Then rank 0 takes all samples of an output into its sink, in their
   order. */
bool reservoir_complete(struct reservoir *reservoir, struct fault *fault);
bool reservoir_pour(const struct reservoir *reservoir, size_t output, struct sink *sink, struct fault *fault);
void reservoir_close(struct reservoir *reservoir);

#endif
