/* Invitations: what rank 0 tells the others of a file that all of them write. */
#ifndef INVITATION_H
#define INVITATION_H

#include "base/diag.h"
#include "base/file_out.h"
#include "peers/peers.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

struct invitation {
    char temporary[PATH_MAX]; /* empty: there is no file to write together */
    uint64_t begin;           /* of the samples */
    bool synced;
};

/* By rank 0: make the file long enough for so many bytes of samples from `begin` on, and write where they
 * are. */
bool invitation_write(struct invitation *invitation, struct file_out *file, uint64_t begin, uint64_t bytes,
                      struct fault *fault);

/* All ranks together; `done` is whether rank 0 has done its part. The others get the invitation and join the
   file, which will have the name `path`. `joined` is NULL on rank 0, if there is no such file, and after a
   failure to join. */
bool invitation_send(struct invitation *invitation, struct peers *peers, bool done, const char *path,
                     struct file_out **joined, struct fault *fault);

#endif
