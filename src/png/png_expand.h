/* Pixels of a PNG as the rest knows them: gray or RGB of 8 or 16 bits, with alpha where anything is
 * transparent. */
#ifndef PNG_EXPAND_H
#define PNG_EXPAND_H

#include <png.h>
#include <stddef.h>

enum { PNG_EXPAND_PIXEL_MOST = 8 };

enum png_expand_way {
    PNG_EXPAND_NOT,     /* they stand in the file as they are wanted */
    PNG_EXPAND_LOOK_UP, /* one value of 8 bits or fewer tells the pixel */
    PNG_EXPAND_KEY      /* one colour is transparent, and alpha follows every other */
};

struct png_expand {
    enum png_expand_way way;
    unsigned depth;                           /* bits of a value in the file */
    size_t file_pixel;                        /* bytes, in the file, of one that has whole bytes */
    size_t pixel;                             /* bytes, expanded */
    unsigned char key[PNG_EXPAND_PIXEL_MOST]; /* the colour that is transparent */
    unsigned char pixels[256][PNG_EXPAND_PIXEL_MOST / 2]; /* of a value */
};

/* What the header, PLTE and tRNS say. */
void png_expand_init(struct png_expand *expand, png_structp png, png_infop info);

/* The first so many pixels of a row. */
void png_expand_row(const struct png_expand *expand, const unsigned char *row, size_t pixels,
                    unsigned char *expanded);

#endif
