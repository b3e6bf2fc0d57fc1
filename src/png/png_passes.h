/* The passes of an interlaced picture, kept in a spool, and the rows that they make up together. */
#ifndef PNG_PASSES_H
#define PNG_PASSES_H

#include "base/diag.h"
#include "base/spool.h"

#include <png.h>
#include <stdbool.h>
#include <stddef.h>

struct png_passes {
    const struct spool *spool; /* NULL: the picture is not kept so */
    size_t width, rows, pixel_bytes;
    unsigned char *row; /* room for one of a pass */
};

/* With spool and extents filled in; false without memory. To be closed in any case. */
bool png_passes_open(struct png_passes *passes, struct fault *fault);
void png_passes_close(struct png_passes *passes);

/* Decode all passes into the spool; interlace handling must be off. What libpng finds it tells by its own
 * jump. */
bool png_passes_decode(const struct png_passes *passes, png_structp png, struct fault *fault);

/* A row of the picture. */
bool png_passes_row(const struct png_passes *passes, size_t row, unsigned char *samples, struct fault *fault);

#endif
