/* The passes of an interlaced picture, kept in a file, and the rows that they make up together. */
#include "png_passes.h"

#include "mem.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

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

/* Passes stand in the file one after the other, row by row. */
static off_t offset_of(const struct png_passes *passes, int pass, size_t row)
{
    off_t offset = (off_t)row * (off_t)pass_row_bytes(passes, pass);

    for (int before = 0; before < pass; before++)
        offset += (off_t)pass_rows(passes, before) * (off_t)pass_row_bytes(passes, before);
    return offset;
}

static bool refuse(const struct png_passes *passes, const char *reason, struct fault *fault)
{
    return fault_raise(fault, STATUS_IO, "%s: the file of its passes: %s", passes->name, reason);
}

static bool put_row(const struct png_passes *passes, int pass, size_t row, struct fault *fault)
{
    size_t size = pass_row_bytes(passes, pass);
    off_t offset = offset_of(passes, pass, row);

    for (size_t done = 0; done < size;) {
        ssize_t count = pwrite(passes->descriptor, passes->row + done, size - done, offset + (off_t)done);
        if (count < 0 && errno != EINTR)
            return refuse(passes, strerror(errno), fault);
        done += count > 0 ? (size_t)count : 0;
    }
    return true;
}

static bool find_row(const struct png_passes *passes, int pass, size_t row, struct fault *fault)
{
    size_t size = pass_row_bytes(passes, pass);
    off_t offset = offset_of(passes, pass, row);

    for (size_t done = 0; done < size;) {
        ssize_t count = pread(passes->descriptor, passes->row + done, size - done, offset + (off_t)done);
        if (count == 0)
            return refuse(passes, "it has become shorter", fault);
        if (count < 0 && errno != EINTR)
            return refuse(passes, strerror(errno), fault);
        done += count > 0 ? (size_t)count : 0;
    }
    return true;
}

bool png_passes_open(struct png_passes *passes, int descriptor, struct fault *fault)
{
    passes->descriptor = descriptor;
    passes->row = mem_alloc(passes->width, passes->pixel_bytes, "a row of an interlaced picture", fault);
    return passes->row != NULL;
}

void png_passes_close(struct png_passes *passes)
{
    if (passes->descriptor >= 0)
        close(passes->descriptor);
    passes->descriptor = -1;
    mem_free(passes->row);
    passes->row = NULL;
}

bool png_passes_decode(const struct png_passes *passes, png_structp png, struct fault *fault)
{
    for (int pass = 0; pass < PNG_INTERLACE_ADAM7_PASSES; pass++) {
        for (size_t row = 0; row < pass_rows(passes, pass); row++) {
            png_read_row(png, passes->row, NULL);
            if (!put_row(passes, pass, row, fault))
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
        if (!find_row(passes, pass, row >> PNG_PASS_ROW_SHIFT(pass), fault))
            return false;
        spread(passes, pass, samples);
    }
    return true;
}
