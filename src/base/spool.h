/* Spool files: temporary files without a name, for bytes that do not fit into memory. */
#ifndef SPOOL_H
#define SPOOL_H

#include "diag.h"
#include "file_out.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct spool {
    int descriptor;     /* −1: there is none */
    const char *output; /* the file beside which it lies, for messages */
};

/* Make one in the folder of the output, or where temporary files go ($TMPDIR) if the output has none. */
bool spool_create(struct spool *spool, const struct file_out *beside, struct fault *fault);
/* Close it, with which the file is gone; a closed one is fine. */
void spool_close(struct spool *spool);

/* Write and read at any offset. Threads may do so at once. */
bool spool_write(const struct spool *spool, uint64_t offset, const void *bytes, size_t size,
                 struct fault *fault);
bool spool_read(const struct spool *spool, uint64_t offset, void *bytes, size_t size, struct fault *fault);

#endif
