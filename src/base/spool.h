/* Spools: bytes that are kept for a while, in a file without a name. */
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

/* In the folder that the output is in, or where temporary files go if it is in none. */
bool spool_create(struct spool *spool, const struct file_out *beside, struct fault *fault);
void spool_close(struct spool *spool);

/* Bytes in any order, by several threads. */
bool spool_write(const struct spool *spool, uint64_t offset, const void *bytes, size_t size,
                 struct fault *fault);
bool spool_read(const struct spool *spool, uint64_t offset, void *bytes, size_t size, struct fault *fault);

#endif
