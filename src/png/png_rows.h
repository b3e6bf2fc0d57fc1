/* Rows of a PNG's image: inflated, unfiltered, and expanded to samples. */
#ifndef PNG_ROWS_H
#define PNG_ROWS_H

#include "base/diag.h"
#include "png_expand.h"
#include "png_image_data.h"

#include <png.h>
#include <stdbool.h>
#include <stddef.h>

struct png_rows {
    struct png_expand expand;
    size_t depth; /* bits of a pixel in the file */
    size_t width; /* of rows to come */
    unsigned char *filtered, *plain, *above;
};

/* For rows as wide as the header says, or less. To be closed in any case. */
bool png_rows_open(struct png_rows *rows, png_structp png, png_infop info, struct fault *fault);
void png_rows_close(struct png_rows *rows);

/* What comes next is the first of rows so many pixels wide: those of the picture, or of a pass. */
void png_rows_begin(struct png_rows *rows, size_t width);

/* The samples of the next row. What is wrong is told as libpng tells it. */
void png_rows_next(struct png_rows *rows, png_structp png, struct png_image_data *data,
                   unsigned char *samples, struct fault *fault);

#endif
