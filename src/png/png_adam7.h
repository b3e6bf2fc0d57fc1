/* Interlaced pictures: their seven passes are decoded and kept, and rows of the picture are put together from
 * them. */
#ifndef PNG_ADAM7_H
#define PNG_ADAM7_H

#include "base/diag.h"
#include "base/spool.h"
#include "png_image_data.h"
#include "png_rows.h"

#include <png.h>
#include <stdbool.h>
#include <stddef.h>

struct png_adam7 {
    const struct spool *spool; /* where they are kept; NULL: in memory */
    size_t width, rows, pixel_bytes;
    unsigned char *held; /* in memory */
    unsigned char *row;  /* room for one of a pass */
};

/* Allocate, with spool and extents filled in; false without memory. To be closed in any case. */
bool png_adam7_open(struct png_adam7 *adam7, struct fault *fault);
/* The spool stays open: it is the caller's. */
void png_adam7_close(struct png_adam7 *adam7);

/* Decode all passes and keep them. What is wrong with them is told as libpng tells it. */
bool png_adam7_decode(const struct png_adam7 *adam7, struct png_rows *rows, png_structp png,
                      struct png_image_data *data, struct fault *fault);

/* Put a row of the picture together, once all passes are decoded. Rows may be asked for in any order. */
bool png_adam7_row(const struct png_adam7 *adam7, size_t row, unsigned char *samples, struct fault *fault);

#endif
