/* Allocating room on the disk that output files will need, while others read and compute. */
#ifndef PREALLOCATE_H
#define PREALLOCATE_H

#include "diag.h"
#include "file_out.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct preallocation;

/* How many bytes a file needs. */
struct preallocate_file {
    struct file_out *file;
    uint64_t bytes;
};

/* Begin to allocate room for files, one after the other, in a thread if one can be started, else at once.
   Until the caller has waited for it, what is written into a file that has not been extended must stay in the
   file's buffer. NULL if there is no memory for it; then nothing has been done. */
struct preallocation *preallocate_begin(const struct preallocate_file *files, size_t count,
                                        struct fault *fault);

/* Whether it has failed so far, so that the caller need not compute what cannot be stored. NULL has not
 * failed. */
bool preallocate_has_failed(struct preallocation *preallocation, struct fault *fault);

/* Wait until it is done; false if it failed. It may be waited for again. NULL is done. */
bool preallocate_wait(struct preallocation *preallocation, struct fault *fault);

/* Stop it if it is not done, and release it; NULL is fine. */
void preallocate_end(struct preallocation *preallocation);

#endif
