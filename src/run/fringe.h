/* Fringes: the ends of the bytes that a rank writes into a file, where blocks begin that are others' as well.
   Clients of a network's file system write whole pages, so that two of them may tear a page that both write:
   each block has one writer, and what others have of it goes through rank 0. */
#ifndef FRINGE_H
#define FRINGE_H

#include "base/diag.h"
#include "base/file_out.h"
#include "peers/peers.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Larger than any page or stripe of a lock that file systems have by default. */
#define FRINGE_BLOCK ((uint64_t)1 << 20)

struct fringe {
    struct file_out *file;
    bool direct;              /* rank 0 writes all of its bytes itself */
    uint64_t begin, end;      /* of the blocks that are the rank's alone */
    struct fringe_ends *ends; /* what is kept of the bytes before and after them */
};

/* For bytes from `begin` to before `end`, which the rank is about to write; to be closed, also after a
 * failure. */
bool fringe_open(struct fringe *fringe, struct file_out *file, uint64_t begin, uint64_t end,
                 const struct peers *peers, struct fault *fault);

/* The most bytes that a rank keeps of so many. */
size_t fringe_most(uint64_t bytes);

/* Some of them; threads may do so at once. */
bool fringe_write(const struct fringe *fringe, uint64_t offset, const void *bytes, size_t size,
                  struct fault *fault);

/* All ranks together, once all have written: rank 0 writes what the others kept. */
bool fringe_gather(const struct fringe *fringe, struct peers *peers, struct fault *fault);
void fringe_close(struct fringe *fringe);

#endif
