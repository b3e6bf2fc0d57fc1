/* Rows of a PNG's image: inflated, their filters undone, and their pixels expanded to what the rest of the
   program knows: gray or RGB of 8 or 16 bits, with alpha where anything is transparent. */
#include "png_rows.h"

#include "base/mem.h"
#include "png_filter.h"

#include <string.h>

enum { TYPE_BYTES = 1, BYTE_BITS = 8, OPAQUE = 0xff };

/* ---- what the header, PLTE and tRNS say of pixels ---- */

/* Values beyond the end of the palette are black. */
static void look_up_palette(struct png_rows *rows, png_structp png, png_infop info)
{
    png_colorp palette = NULL;
    png_bytep alpha = NULL;
    int colours = 0, alphas = 0;

    (void)png_get_PLTE(png, info, &palette, &colours);
    bool transparent = png_get_tRNS(png, info, &alpha, &alphas, NULL) != 0;
    rows->way = PNG_ROWS_LOOK_UP;
    rows->pixel = transparent ? 4 : 3;
    for (int i = 0; i < 256; i++) {
        unsigned char *pixel = rows->pixels[i];
        if (i < colours)
            memcpy(pixel, (unsigned char[]){palette[i].red, palette[i].green, palette[i].blue}, 3);
        pixel[3] = i < alphas ? alpha[i] : OPAQUE;
    }
}

/* 255 is a multiple of 1, 3 and 15, so that 1, 2 and 4 bits expand to whole numbers. The standard has readers
   ignore the higher bits of the gray that is transparent. */
static void look_up_gray(struct png_rows *rows, const png_color_16 *key)
{
    unsigned values = 1U << rows->depth;

    rows->way = PNG_ROWS_LOOK_UP;
    rows->pixel = key != NULL ? 2 : 1;
    for (unsigned i = 0; i < values; i++) {
        rows->pixels[i][0] = (unsigned char)(i * (OPAQUE / (values - 1)));
        rows->pixels[i][1] = key != NULL && i == (key->gray & (values - 1)) ? 0 : OPAQUE;
    }
}

static void put_value(const struct png_rows *rows, unsigned char *to, png_uint_16 value)
{
    if (rows->depth == 16)
        png_save_uint_16(to, value);
    else
        *to = (unsigned char)value;
}

/* Alpha has as many bytes as a value, in the order of the file: the high byte first. */
static void mark_key(struct png_rows *rows, const png_color_16 *key, bool gray)
{
    size_t value = rows->depth / BYTE_BITS;

    rows->way = PNG_ROWS_KEY;
    rows->pixel = rows->file_pixel + value;
    put_value(rows, rows->key, gray ? key->gray : key->red);
    if (gray)
        return;
    put_value(rows, rows->key + value, key->green);
    put_value(rows, rows->key + 2 * value, key->blue);
}

static void look_at_header(struct png_rows *rows, png_structp png, png_infop info)
{
    int color_type = png_get_color_type(png, info);
    png_color_16p key = NULL;

    *rows = (struct png_rows){.depth = png_get_bit_depth(png, info)};
    rows->file_pixel = (size_t)png_get_channels(png, info) * rows->depth / BYTE_BITS;
    rows->pixel = rows->file_pixel;
    if (color_type == PNG_COLOR_TYPE_PALETTE) {
        look_up_palette(rows, png, info);
        return;
    }
    (void)png_get_tRNS(png, info, NULL, NULL, &key);
    if (rows->depth < BYTE_BITS)
        look_up_gray(rows, key);
    else if (key != NULL)
        mark_key(rows, key, color_type == PNG_COLOR_TYPE_GRAY);
}

/* ---- expanding ---- */

static void look_up(const struct png_rows *rows, unsigned char *expanded)
{
    unsigned mask = (1U << rows->depth) - 1;

    for (size_t i = 0; i < rows->width; i++) {
        /* Pixels of fewer bits than a byte stand in it from the high bits down. */
        size_t bit = i * rows->depth;
        unsigned value =
            (unsigned)rows->plain[bit / BYTE_BITS] >> (BYTE_BITS - rows->depth - bit % BYTE_BITS) & mask;
        memcpy(expanded + i * rows->pixel, rows->pixels[value], rows->pixel);
    }
}

static void append_alpha(const struct png_rows *rows, unsigned char *expanded)
{
    for (size_t i = 0; i < rows->width; i++) {
        const unsigned char *from = rows->plain + i * rows->file_pixel;
        unsigned char *to = expanded + i * rows->pixel;
        bool transparent = memcmp(from, rows->key, rows->file_pixel) == 0;
        memcpy(to, from, rows->file_pixel);
        memset(to + rows->file_pixel, transparent ? 0 : OPAQUE, rows->pixel - rows->file_pixel);
    }
}

static void expand(const struct png_rows *rows, unsigned char *expanded)
{
    if (rows->way == PNG_ROWS_LOOK_UP)
        look_up(rows, expanded);
    else if (rows->way == PNG_ROWS_KEY)
        append_alpha(rows, expanded);
    else
        memcpy(expanded, rows->plain, rows->width * rows->pixel);
}

/* ---- rows ---- */

static size_t row_bytes(const struct png_rows *rows)
{
    return (rows->width * rows->pixel_bits + BYTE_BITS - 1) / BYTE_BITS;
}

static unsigned char *make_row(size_t bytes, struct fault *fault)
{
    /* Undoing a filter writes whole vectors, beyond the last byte of a row. */
    return mem_zeroed(bytes + TYPE_BYTES + PNG_FILTER_SLACK, 1, "a row of the picture", fault);
}

bool png_rows_open(struct png_rows *rows, png_structp png, png_infop info, struct fault *fault)
{
    /* The header's width is the widest that a pass can have, too. */
    size_t bytes = png_get_rowbytes(png, info);

    look_at_header(rows, png, info);
    rows->pixel_bits = (size_t)png_get_channels(png, info) * png_get_bit_depth(png, info);
    rows->filtered = make_row(bytes, fault);
    rows->plain = make_row(bytes, fault);
    rows->above = make_row(bytes, fault);
    return rows->filtered != NULL && rows->plain != NULL && rows->above != NULL;
}

void png_rows_close(struct png_rows *rows)
{
    mem_free(rows->filtered);
    mem_free(rows->plain);
    mem_free(rows->above);
}

void png_rows_begin(struct png_rows *rows, size_t width)
{
    rows->width = width;
    memset(rows->above, 0, row_bytes(rows));
}

void png_rows_next(struct png_rows *rows, png_structp png, struct png_image_data *data,
                   unsigned char *samples, struct fault *fault)
{
    unsigned char *above = rows->above;
    const struct png_filtered_row row = {
        .filtered = rows->filtered + TYPE_BYTES,
        .above = above,
        .bytes = row_bytes(rows),
        .pixel = rows->pixel_bits < BYTE_BITS ? 1 : rows->pixel_bits / BYTE_BITS,
    };

    png_image_data_inflate(data, png, rows->filtered, TYPE_BYTES + row.bytes, fault);
    if (!png_filter_undo(rows->filtered[0], &row, rows->plain))
        png_error(png, "bad adaptive filter value");
    expand(rows, samples);
    /* The row that has come out is the one above the next; its place is taken by the one above it. */
    rows->above = rows->plain;
    rows->plain = above;
}
