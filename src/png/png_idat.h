/* The image data of a PNG file on its way to libpng: inflated elsewhere, and given to libpng stored. */
#ifndef PNG_IDAT_H
#define PNG_IDAT_H

#include "png_inflate.h"

#include <png.h>
#include <stdbool.h>
#include <stddef.h>

#define PNG_IDAT_HEAD_BYTES 8 /* of a chunk: length and type */

/* Take the file's next bytes, all of them, or leave for libpng's error handler. */
typedef void png_idat_read(png_structp png, png_bytep bytes, size_t size);

struct png_idat {
    png_idat_read *read;
    size_t threads; /* at least 1 */

    /* All zero until the image data begins. */
    bool gives;        /* libpng is to be given its bytes from here, not from the file */
    bool file_is_past; /* the file has been read up to and including `head` */
    struct png_inflater *inflater;
    size_t left;                             /* bytes of the file's chunk under way */
    png_uint_32 checksum;                    /* of those of its bytes that were read */
    unsigned char head[PNG_IDAT_HEAD_BYTES]; /* of the chunk after the image data */
    const unsigned char *next;               /* what libpng gets next */
    size_t available;
};

/* libpng is about to see the head of the first IDAT chunk: put another in its place. */
void png_idat_begin(struct png_idat *idat, png_structp png, png_bytep head);

/* What libpng is to read while `gives` is set. */
void png_idat_give(struct png_idat *idat, png_structp png, png_bytep bytes, size_t size, struct fault *fault);

void png_idat_release(struct png_idat *idat);

#endif
