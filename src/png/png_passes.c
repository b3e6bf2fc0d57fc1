/* The passes of an interlaced picture, kept in a spool, and the rows that they make up together. */
#include "png_passes.h"

#include "base/mem.h"

#include <stdint.h>
#include <string.h>

static size_t pass_columns(const struct png_passes *passes, int pass)
{
    return (size_t)PNG_PASS_COLS((int64_t)passes->width, pass);
}

static size_t pass_rows(const struct png_passes *passes, int pass)
{
    return pass_columns(passes, pass) == 0 ? 0 : (size_t)PNG_PASS_ROWS((int64_t)passes->rows, pass);
}

static size_t pass_row_bytes(const struct png_passes *passes, int pass)
{
    return pass_columns(passes, pass) * passes->pixel_bytes;
}

/* Passes stand there one after the other, row by row. */
static uint64_t offset_of(const struct png_passes *passes, int pass, size_t row)
{
    uint64_t offset = (uint64_t)row * pass_row_bytes(passes, pass);

    for (int before = 0; before < pass; before++)
        offset += (uint64_t)pass_rows(passes, before) * pass_row_bytes(passes, before);
    return offset;
}

bool png_passes_open(struct png_passes *passes, struct fault *fault)
{
    passes->row = mem_alloc(passes->width, passes->pixel_bytes, "a row of an interlaced picture", fault);
    return passes->row != NULL;
}

void png_passes_close(struct png_passes *passes)
{
    mem_free(passes->row);
    passes->row = NULL;
}

bool png_passes_decode(const struct png_passes *passes, png_structp png, struct fault *fault)
{
    for (int pass = 0; pass < PNG_INTERLACE_ADAM7_PASSES; pass++) {
        for (size_t row = 0; row < pass_rows(passes, pass); row++) {
            png_read_row(png, passes->row, NULL);
            if (!spool_write(passes->spool, offset_of(passes, pass, row), passes->row,
                             pass_row_bytes(passes, pass), fault))
                return false;
        }
    }
    return true;
}

static void spread(const struct png_passes *passes, int pass, unsigned char *samples)
{
    const size_t size = passes->pixel_bytes, columns = pass_columns(passes, pass);

    for (size_t column = 0; column < columns; column++)
        memcpy(samples + PNG_COL_FROM_PASS_COL(column, pass) * size, passes->row + column * size, size);
}

bool png_passes_row(const struct png_passes *passes, size_t row, unsigned char *samples, struct fault *fault)
{
    for (int pass = 0; pass < PNG_INTERLACE_ADAM7_PASSES; pass++) {
        if (!PNG_ROW_IN_INTERLACE_PASS(row, pass) || pass_columns(passes, pass) == 0)
            continue;
        if (!spool_read(passes->spool, offset_of(passes, pass, row >> PNG_PASS_ROW_SHIFT(pass)), passes->row,
                        pass_row_bytes(passes, pass), fault))
            return false;
        spread(passes, pass, samples);
    }
    return true;
}
