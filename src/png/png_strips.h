/* Image data of a PNG in the making: rows go in, strips filtered and deflated on several threads come out. */
#ifndef PNG_STRIPS_H
#define PNG_STRIPS_H

#include "base/diag.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where strips end depends on this but not on the threads. */
struct png_strips_picture {
    size_t row_bytes, rows;
    size_t pixel_bytes;
    bool swapped; /* 16-bit samples come with the low byte first */
    int level;    /* 0 to 9 */
};

/* A piece of the deflate stream. */
struct png_strip {
    const unsigned char *bytes;
    size_t size;
    size_t plain_size;
    uint32_t checksum; /* Adler-32 of what was deflated */
    bool last;
};

struct png_strips;

/* The calling thread counts as one of so many; where the others cannot be had, it does their work. */
bool png_strips_open(struct png_strips **strips, const struct png_strips_picture *picture, size_t threads,
                     struct fault *fault);

/* Put in rows and return how many: fewer than count where strips have to be taken out first. */
size_t png_strips_put(struct png_strips *strips, const unsigned char *rows, size_t count);

/* The next piece, if there must be room for more rows or if all rows are in; else NULL. It is valid until the
   next call. */
const struct png_strip *png_strips_take(struct png_strips *strips);

/* Release, done or not, once the other threads have ended; NULL is fine. */
void png_strips_close(struct png_strips *strips);

#endif
