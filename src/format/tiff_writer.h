/* Writing of TIFF files: pages of one kind, one behind the other, as they are or deflated. */
#ifndef TIFF_WRITER_H
#define TIFF_WRITER_H

#include "base/diag.h"
#include "base/file_out.h"
#include "model/sample.h"
#include "format.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tiff_writer;

struct tiff_writer_stack {
    uint64_t pages, width, height;
    unsigned channels;
    bool rgb;       /* the first three channels are red, green and blue */
    unsigned extra; /* what the last channel is beyond the colours, as ExtraSamples has it */
    enum sample_type type;
    enum endian endian;
    double distance[2];      /* between samples, along x and y */
    unsigned unit;           /* of that, as ResolutionUnit has it */
    const char *description; /* of the first page; NULL: none */
    int level;               /* of compression, 1 to 9; 0: samples stand as they are */
    size_t threads;          /* at least 1; the file is the same for any */
};

/* Write what comes before the first sample. The file is a BigTIFF if it may become too long for another. */
bool tiff_writer_begin(struct tiff_writer **writer, struct file_out *file,
                       const struct tiff_writer_stack *stack, struct fault *fault);

/* The next samples: whole rows, of this page or the ones after it. */
bool tiff_writer_put(struct tiff_writer *writer, const void *samples, size_t bytes, struct fault *fault);

/* Where the first sample stands in the file, and all others behind it, if they stand as they are. */
uint64_t tiff_writer_place(const struct tiff_writer *writer);

/* After the last sample, or once all of them stand where they should: write what comes after them. */
bool tiff_writer_end(struct tiff_writer *writer, struct fault *fault);
void tiff_writer_free(struct tiff_writer *writer);

#endif
