/* Interlaced pictures. The last of their seven passes has every second row, so all passes are decoded before
   the first row is known. They are kept one after the other, row by row, in memory or in a spool file; a row
   of the picture is then spread from the passes that have samples of it. */
#include "png_adam7.h"

#include "base/mem.h"

#include <stdint.h>
#include <string.h>

static size_t pass_columns(const struct png_adam7 *adam7, int pass)
{
    return (size_t)PNG_PASS_COLS((int64_t)adam7->width, pass);
}

/* A pass without columns has no rows in the file either, not even the bytes that give their filters. */
static size_t pass_rows(const struct png_adam7 *adam7, int pass)
{
    return pass_columns(adam7, pass) == 0 ? 0 : (size_t)PNG_PASS_ROWS((int64_t)adam7->rows, pass);
}

static size_t pass_row_bytes(const struct png_adam7 *adam7, int pass)
{
    return pass_columns(adam7, pass) * adam7->pixel_bytes;
}

/* Passes stand there one after the other, row by row. */
static uint64_t offset_of(const struct png_adam7 *adam7, int pass, size_t row)
{
    uint64_t offset = (uint64_t)row * pass_row_bytes(adam7, pass);

    for (int before = 0; before < pass; before++)
        offset += (uint64_t)pass_rows(adam7, before) * pass_row_bytes(adam7, before);
    return offset;
}

bool png_adam7_open(struct png_adam7 *adam7, struct fault *fault)
{
    size_t row_bytes = adam7->width * adam7->pixel_bytes;

    /* The passes of a picture have as many pixels as the picture, so that its bytes are room for all of
       them. */
    adam7->row = mem_alloc(row_bytes, 1, "a row of an interlaced picture", fault);
    if (adam7->row == NULL || adam7->spool != NULL)
        return adam7->row != NULL;
    adam7->held = mem_alloc(adam7->rows, row_bytes, "interlaced picture", fault);
    return adam7->held != NULL;
}

void png_adam7_close(struct png_adam7 *adam7)
{
    mem_free(adam7->row);
    mem_free(adam7->held);
}

static bool keep(const struct png_adam7 *adam7, uint64_t offset, size_t size, struct fault *fault)
{
    if (adam7->spool != NULL)
        return spool_write(adam7->spool, offset, adam7->row, size, fault);
    memcpy(adam7->held + offset, adam7->row, size);
    return true;
}

static bool recall(const struct png_adam7 *adam7, uint64_t offset, size_t size, struct fault *fault)
{
    if (adam7->spool != NULL)
        return spool_read(adam7->spool, offset, adam7->row, size, fault);
    memcpy(adam7->row, adam7->held + offset, size);
    return true;
}

bool png_adam7_decode(const struct png_adam7 *adam7, struct png_rows *rows, png_structp png,
                      struct png_image_data *data, struct fault *fault)
{
    for (int pass = 0; pass < PNG_INTERLACE_ADAM7_PASSES; pass++) {
        /* Each pass is filtered like a picture of its own: its first row has black above it. */
        png_rows_begin(rows, pass_columns(adam7, pass));
        for (size_t row = 0; row < pass_rows(adam7, pass); row++) {
            png_rows_next(rows, png, data, adam7->row, fault);
            if (!keep(adam7, offset_of(adam7, pass, row), pass_row_bytes(adam7, pass), fault))
                return false;
        }
    }
    return true;
}

bool png_adam7_row(const struct png_adam7 *adam7, size_t row, unsigned char *samples, struct fault *fault)
{
    const size_t size = adam7->pixel_bytes;

    for (int pass = 0; pass < PNG_INTERLACE_ADAM7_PASSES; pass++) {
        const size_t columns = pass_columns(adam7, pass);
        if (!PNG_ROW_IN_INTERLACE_PASS(row, pass) || columns == 0)
            continue;
        if (!recall(adam7, offset_of(adam7, pass, row >> PNG_PASS_ROW_SHIFT(pass)),
                    pass_row_bytes(adam7, pass), fault))
            return false;
        for (size_t column = 0; column < columns; column++)
            memcpy(samples + PNG_COL_FROM_PASS_COL(column, pass) * size, adam7->row + column * size, size);
    }
    return true;
}
