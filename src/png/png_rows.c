/* Rows of a PNG's image: inflated, unfiltered, and expanded to samples. */
#include "png_rows.h"

#include "base/mem.h"
#include "png_unfilter.h"

#include <string.h>

enum { TYPE_BYTES = 1, BYTE_BITS = 8 };

static size_t row_bytes(const struct png_rows *rows)
{
    return (rows->width * rows->depth + BYTE_BITS - 1) / BYTE_BITS;
}

static unsigned char *make_row(size_t bytes, struct fault *fault)
{
    return mem_zeroed(bytes + TYPE_BYTES + PNG_UNFILTER_SLACK, 1, "a row of the picture", fault);
}

bool png_rows_open(struct png_rows *rows, png_structp png, png_infop info, struct fault *fault)
{
    size_t bytes = png_get_rowbytes(png, info);

    png_expand_init(&rows->expand, png, info);
    rows->depth = (size_t)png_get_channels(png, info) * png_get_bit_depth(png, info);
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
    *rows = (struct png_rows){0};
}

void png_rows_begin(struct png_rows *rows, size_t width)
{
    rows->width = width;
    memset(rows->above, 0, row_bytes(rows));
}

static void swap(struct png_rows *rows)
{
    unsigned char *above = rows->above;
    rows->above = rows->plain;
    rows->plain = above;
}

void png_rows_next(struct png_rows *rows, png_structp png, struct png_image_data *data,
                   unsigned char *samples, struct fault *fault)
{
    const struct png_unfilter_rows of_two = {
        .filtered = rows->filtered + TYPE_BYTES,
        .above = rows->above,
        .bytes = row_bytes(rows),
        .pixel = rows->depth < BYTE_BITS ? 1 : rows->depth / BYTE_BITS,
    };

    png_image_data_inflate(data, png, rows->filtered, TYPE_BYTES + of_two.bytes, fault);
    if (!png_unfilter(rows->filtered[0], &of_two, rows->plain))
        png_error(png, "bad adaptive filter value");
    png_expand_row(&rows->expand, rows->plain, rows->width, samples);
    swap(rows);
}
