/* Rows of a PNG's image: inflated, their filters undone, and expanded to samples. */
#ifndef PNG_ROWS_H
#define PNG_ROWS_H

#include "base/diag.h"
#include "png_image_data.h"

#include <png.h>
#include <stdbool.h>
#include <stddef.h>

enum { PNG_ROWS_PIXEL_MOST = 8 };

enum png_rows_way {
    PNG_ROWS_NOT,     /* pixels stand in the file as they are wanted */
    PNG_ROWS_LOOK_UP, /* one value of 8 bits or fewer gives the pixel */
    PNG_ROWS_KEY      /* one colour is transparent, and alpha follows every other */
};

struct png_rows {
    enum png_rows_way way;
    unsigned depth;                                     /* bits of a value in the file */
    size_t pixel_bits;                                  /* of a pixel in the file */
    size_t file_pixel;                                  /* bytes, in the file, of one that has whole bytes */
    size_t pixel;                                       /* bytes, expanded */
    unsigned char key[PNG_ROWS_PIXEL_MOST];             /* the colour that is transparent */
    unsigned char pixels[256][PNG_ROWS_PIXEL_MOST / 2]; /* of a value */
    size_t width;                                       /* of rows to come */
    unsigned char *filtered, *plain, *above;
};

/* Allocate for rows as wide as the header says, or less. To be closed in any case. */
bool png_rows_open(struct png_rows *rows, png_structp png, png_infop info, struct fault *fault);
void png_rows_close(struct png_rows *rows);

/* Begin a picture, or a pass of an interlaced one, whose rows have `width` pixels. */
void png_rows_begin(struct png_rows *rows, size_t width);

/* Decode the next row to samples. Errors are raised as libpng raises them. */
void png_rows_next(struct png_rows *rows, png_structp png, struct png_image_data *data,
                   unsigned char *samples, struct fault *fault);

#endif
