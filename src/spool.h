/* Spools: planes that are kept between two passes, in a file without a name. */
#ifndef SPOOL_H
#define SPOOL_H

#include "backend.h"
#include "diag.h"
#include "file.h"

#include <stdbool.h>
#include <stddef.h>

struct spool {
    int descriptor;
    size_t plane_bytes;
    const char *output; /* the file beside which it lies, for messages */
};

bool spool_create(struct spool *spool, const struct file_out *beside, size_t plane_bytes,
                  struct fault *fault);
void spool_close(struct spool *spool);

/* Planes in any order, packed. */
bool spool_write(struct spool *spool, const void *samples, struct range planes, struct fault *fault);
bool spool_read(struct spool *spool, void *samples, struct range planes, struct fault *fault);

#endif
