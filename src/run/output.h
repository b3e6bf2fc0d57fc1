/* Outputs: the way from whole planes of a run into a file that may hold a part of each, and that several
   ranks may write.

   Clients of a network's file system write whole pages, so that two of them may tear a page that both write.
   So each block of the file has one writer. The blocks at the ends of a rank's bytes may be others' as well:
   what the rank has of these blocks, the fringe, it keeps in memory, and rank 0 writes it at the end. */
#ifndef OUTPUT_H
#define OUTPUT_H

#include "base/diag.h"
#include "base/file_out.h"
#include "peers/peers.h"
#include "kernels/backend.h"
#include "format/format.h"
#include "plan/job.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Larger than any page or stripe of a lock that file systems have by default. */
#define OUTPUT_BLOCK ((uint64_t)1 << 20)

/* The ends of the bytes that a rank writes. */
struct output_fringe {
    struct file_out *file;
    bool direct;                     /* rank 0 writes all of its bytes itself */
    uint64_t begin, end;             /* of the blocks that are the rank's alone */
    struct output_fringe_ends *ends; /* what is kept of the bytes before and after them */
};

/* Begin a fringe for the bytes from `begin` to before `end`, which the rank is about to write; if `direct`,
   it writes all of them itself. To be closed, also after a failure. */
bool output_fringe_open(struct output_fringe *fringe, struct file_out *file, uint64_t begin, uint64_t end,
                        bool direct, struct fault *fault);

/* The most that a rank keeps of a file of these bytes: both ends. */
size_t output_fringe_most(uint64_t bytes);

/* Write some of these bytes: into the file, or into what is kept. Threads may do so at once. */
bool output_fringe_write(const struct output_fringe *fringe, uint64_t offset, const void *bytes, size_t size,
                         struct fault *fault);
void output_fringe_close(struct output_fringe *fringe);

/* The way of a run's planes into one sink. */
struct output {
    const struct job *job;
    struct sink *sink;
    bool anywhere; /* planes may come in any order; if several ranks write, they do */

    /* Once it is open. */
    size_t volume;               /* of a series */
    size_t plane_bytes;          /* of a plane of the file */
    struct output_fringe fringe; /* if others write the same blocks */
};

/* Open it for one volume of a series. The sink of several ranks has a place for its samples, or takes planes
   in any order. It is to be closed, also after a failure. */
bool output_open(struct output *output, size_t volume, const struct peers *peers, struct fault *fault);

/* Write some planes of the result, packed: in order, in any order, or those of the job's column. What of them
   is not written is gone afterwards. */
bool output_write(const struct output *output, void *samples, struct range planes, struct fault *fault);

/* Once all ranks have written, all together: rank 0 gets what others kept, and writes it. */
bool output_gather(const struct output *output, struct peers *peers, struct fault *fault);
void output_close(struct output *output);

/* Add the outcomes of some samples to those of others. And all ranks together: rank 0 gets the
   sums of all of them. */
void output_add_outcomes(struct outcomes *all, const struct outcomes *more);
bool output_gather_outcomes(struct outcomes *outcomes, struct peers *peers, struct fault *fault);

#endif
