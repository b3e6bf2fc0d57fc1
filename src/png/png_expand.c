/* Pixels of a PNG as the rest knows them: gray or RGB of 8 or 16 bits, with alpha where anything is
 * transparent. */
#include "png_expand.h"

#include <stdbool.h>
#include <string.h>

enum { OPAQUE = 0xff, BYTE_BITS = 8 };

/* ---- what there is to do ---- */

/* Values beyond the end of the palette are black. */
static void look_up_palette(struct png_expand *expand, png_structp png, png_infop info)
{
    png_colorp palette = NULL;
    png_bytep alpha = NULL;
    int colours = 0, alphas = 0;

    (void)png_get_PLTE(png, info, &palette, &colours);
    bool transparent = png_get_tRNS(png, info, &alpha, &alphas, NULL) != 0;
    expand->way = PNG_EXPAND_LOOK_UP;
    expand->pixel = transparent ? 4 : 3;
    for (int i = 0; i < 256; i++) {
        unsigned char *pixel = expand->pixels[i];
        if (i < colours)
            memcpy(pixel, (unsigned char[]){palette[i].red, palette[i].green, palette[i].blue}, 3);
        pixel[3] = i < alphas ? alpha[i] : OPAQUE;
    }
}

static void look_up_gray(struct png_expand *expand, const png_color_16 *key)
{
    unsigned values = 1U << expand->depth;

    expand->way = PNG_EXPAND_LOOK_UP;
    expand->pixel = key != NULL ? 2 : 1;
    for (unsigned i = 0; i < values; i++) {
        expand->pixels[i][0] = (unsigned char)(i * (OPAQUE / (values - 1)));
        expand->pixels[i][1] = key != NULL && i == (key->gray & (values - 1)) ? 0 : OPAQUE;
    }
}

static void put_value(const struct png_expand *expand, unsigned char *to, png_uint_16 value)
{
    if (expand->depth == 16)
        png_save_uint_16(to, value);
    else
        *to = (unsigned char)value;
}

static void mark_key(struct png_expand *expand, const png_color_16 *key, bool gray)
{
    size_t value = expand->depth / BYTE_BITS;

    expand->way = PNG_EXPAND_KEY;
    expand->pixel = expand->file_pixel + value;
    put_value(expand, expand->key, gray ? key->gray : key->red);
    if (gray)
        return;
    put_value(expand, expand->key + value, key->green);
    put_value(expand, expand->key + 2 * value, key->blue);
}

void png_expand_init(struct png_expand *expand, png_structp png, png_infop info)
{
    int color_type = png_get_color_type(png, info);
    png_color_16p key = NULL;

    *expand = (struct png_expand){.depth = png_get_bit_depth(png, info)};
    expand->file_pixel = (size_t)png_get_channels(png, info) * expand->depth / BYTE_BITS;
    expand->pixel = expand->file_pixel;
    if (color_type == PNG_COLOR_TYPE_PALETTE) {
        look_up_palette(expand, png, info);
        return;
    }
    (void)png_get_tRNS(png, info, NULL, NULL, &key);
    if (expand->depth < BYTE_BITS)
        look_up_gray(expand, key);
    else if (key != NULL)
        mark_key(expand, key, color_type == PNG_COLOR_TYPE_GRAY);
}

/* ---- doing it ---- */

static void look_up(const struct png_expand *expand, const unsigned char *row, size_t pixels,
                    unsigned char *expanded)
{
    unsigned mask = (1U << expand->depth) - 1;

    for (size_t i = 0; i < pixels; i++) {
        size_t bit = i * expand->depth;
        unsigned value =
            (unsigned)row[bit / BYTE_BITS] >> (BYTE_BITS - expand->depth - bit % BYTE_BITS) & mask;
        memcpy(expanded + i * expand->pixel, expand->pixels[value], expand->pixel);
    }
}

static void append_alpha(const struct png_expand *expand, const unsigned char *row, size_t pixels,
                         unsigned char *expanded)
{
    for (size_t i = 0; i < pixels; i++) {
        const unsigned char *from = row + i * expand->file_pixel;
        unsigned char *to = expanded + i * expand->pixel;
        bool transparent = memcmp(from, expand->key, expand->file_pixel) == 0;
        memcpy(to, from, expand->file_pixel);
        memset(to + expand->file_pixel, transparent ? 0 : OPAQUE, expand->pixel - expand->file_pixel);
    }
}

void png_expand_row(const struct png_expand *expand, const unsigned char *row, size_t pixels,
                    unsigned char *expanded)
{
    switch (expand->way) {
    case PNG_EXPAND_LOOK_UP:
        look_up(expand, row, pixels, expanded);
        break;
    case PNG_EXPAND_KEY:
        append_alpha(expand, row, pixels, expanded);
        break;
    default:
        memcpy(expanded, row, pixels * expand->pixel);
    }
}
