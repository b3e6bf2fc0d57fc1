/* Invitations: what rank 0 tells the others of a file that all of them write. */
#ifndef INVITATION_H
#define INVITATION_H

#include "base/diag.h"
#include "base/file_out.h"
#include "run/peers.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

struct invitation {
    char temporary[PATH_MAX]; /* empty: there is no file to write together */
    uint64_t begin;           /* of the samples */
};

/* By rank 0: make room for so many bytes of samples from `begin` on, and invite the others. */
bool invitation_write(struct invitation *invitation, struct file_out *file, uint64_t begin, uint64_t bytes,
                      struct fault *fault);

/* All together, if rank 0 has done its part: all have the invitation, and the others have joined the file,
   which is that of a path; else it is NULL. */
bool invitation_send(struct invitation *invitation, struct peers *peers, bool done, const char *path,
                     struct file_out **joined, struct fault *fault);

#endif
