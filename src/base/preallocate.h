/* Reservations: the room that files will need, taken while others read and compute. */
#ifndef PREALLOCATE_H
#define PREALLOCATE_H

#include "diag.h"
#include "file_out.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct preallocation;

/* What a file needs. */
struct preallocate_file {
    struct file_out *file;
    uint64_t bytes;
};

/* Begin to take room for files, one after the other: beside the caller if a thread can be started, else at
   once. Until the caller has waited for it, what is written into a file that has not been extended must stay
   in the file's buffer. NULL without memory: then nothing has been done. */
struct preallocation *preallocate_begin(const struct preallocate_file *rooms, size_t count,
                                        struct fault *fault);

/* Whether it has failed so far, so that the caller need not compute what has no place. NULL has not. */
bool preallocate_has_failed(struct preallocation *preallocation, struct fault *fault);

/* Wait for it; false if it failed. It may be waited for again. NULL is done. */
bool preallocate_wait(struct preallocation *preallocation, struct fault *fault);

/* Take no more room, if it is still being taken, and release it. NULL is none. */
void preallocate_end(struct preallocation *preallocation);

#endif
