/* The image data of a PNG file: its IDAT chunks are read and inflated here, and libpng sees an empty one.
   With two threads or more, one inflates ahead of the caller. */
#ifndef PNG_IMAGE_DATA_H
#define PNG_IMAGE_DATA_H

#include "base/diag.h"

#include <png.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PNG_IMAGE_DATA_HEAD_BYTES 8 /* of a chunk: length and type */

/* How far inflating has come. */
enum png_inflate_state {
    PNG_INFLATE_UNDER_WAY, /* pieces follow, as long as there is data */
    PNG_INFLATE_ENDED,     /* the stream has ended as it should */
    PNG_INFLATE_EXCESS,    /* likewise, but more data follows */
    PNG_INFLATE_DAMAGED
};

struct png_inflate_piece {
    const unsigned char *bytes;
    size_t size;                  /* 0 where more data is needed first, and perhaps at the end */
    enum png_inflate_state state; /* after these bytes; once over it stays so, and no bytes come */
    const char *damage;
};

/* Read the file's next bytes, all of them, or leave for libpng's error handler. */
typedef void png_image_data_read(png_structp png, png_bytep bytes, size_t size);

struct png_inflater;

struct png_image_data {
    png_image_data_read *read;
    size_t threads; /* at least 1 */

    /* All zero until the image data begins. */
    bool begun;
    bool file_is_past; /* the file has been read up to and including `head` */
    struct png_inflater *inflater;
    size_t left;                                   /* bytes of the file's chunk under way */
    uint32_t checksum;                             /* of those of its bytes that were read */
    unsigned char head[PNG_IMAGE_DATA_HEAD_BYTES]; /* of the chunk after the image data */
    const unsigned char *next;                     /* what libpng gets next, in place of the file */
    size_t available;
    struct png_inflate_piece piece;
    size_t piece_used;
};

/* Whether this is the head of a chunk of image data. Of the calls below, those that take `png` may leave by
   libpng's jump. */
bool png_image_data_is_head(png_const_bytep head);

/* libpng is about to see the head of the first such chunk: make it that of an empty one. */
void png_image_data_begin(struct png_image_data *data, png_structp png, png_bytep head);

/* Give libpng bytes in place of the file while `available` is not 0. */
void png_image_data_give(struct png_image_data *data, png_bytep bytes, size_t size);

/* Copy the next inflated bytes. Errors are raised as libpng raises them. */
void png_image_data_inflate(struct png_image_data *data, png_structp png, unsigned char *bytes, size_t size,
                            struct fault *fault);

/* Check that no bytes are left once the picture has all. */
void png_image_data_end(struct png_image_data *data, png_structp png);

/* Let libpng read on: nothing may follow the deflated stream. */
void png_image_data_leave(struct png_image_data *data, png_structp png);

void png_image_data_release(struct png_image_data *data);

#endif
