/* The passes of an interlaced picture, kept in a file, and the rows that they make up together. */
#ifndef PNG_PASSES_H
#define PNG_PASSES_H

#include "diag.h"

#include <png.h>
#include <stdbool.h>
#include <stddef.h>

struct png_passes {
    int descriptor;   /* −1: there is no file */
    const char *name; /* of the picture, for messages */
    size_t width, rows, pixel_bytes;
    unsigned char *row; /* room for one of a pass */
};

/* The file becomes this one's own, to be closed with it. */
bool png_passes_open(struct png_passes *passes, int descriptor, struct fault *fault);
void png_passes_close(struct png_passes *passes);

/* Decode all passes into the file; interlace handling must be off. What libpng finds it tells by its own
 * jump. */
bool png_passes_decode(const struct png_passes *passes, png_structp png, struct fault *fault);

/* A row of the picture. */
bool png_passes_row(const struct png_passes *passes, size_t row, unsigned char *samples, struct fault *fault);

#endif
