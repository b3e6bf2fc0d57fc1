/* The filters of PNG, applied to rows before they are deflated. */
#ifndef PNG_FILTER_H
#define PNG_FILTER_H

#include <stddef.h>

enum png_filter { PNG_FILTER_NONE_ROW, PNG_FILTER_LEAST_SUM };

/* The largest distance between a byte and the byte of the pixel before. */
#define PNG_FILTER_REACH 8

/* Rows as they stand in memory: `stride` apart, each with PNG_FILTER_REACH zeros before its first byte. */
struct png_filter_rows {
    const unsigned char *first; /* the row above it, at first − stride, is read too */
    size_t stride, bytes, count;
    size_t pixel; /* bytes from a byte to the same one of the next pixel */
};

/* Write each row's filter type and its filtered bytes. */
void png_filter_apply(const struct png_filter_rows *rows, enum png_filter filter, unsigned char *filtered);

#endif
