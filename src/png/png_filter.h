/* The filters of PNG, applied to rows before they are deflated, and undone after they are inflated. */
#ifndef PNG_FILTER_H
#define PNG_FILTER_H

#include <stdbool.h>
#include <stddef.h>

/* The five types by their numbers in a file, and for each row the one whose differences have the least sum.
 */
enum png_filter {
    PNG_FILTER_NONE_ROW,
    PNG_FILTER_SUB_ROW,
    PNG_FILTER_UP_ROW,
    PNG_FILTER_AVERAGE_ROW,
    PNG_FILTER_PAETH_ROW,
    PNG_FILTER_LEAST_SUM
};

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

/* Bytes after the last of a row that may be read and written, whatever they are. */
#define PNG_FILTER_SLACK 8

/* A row with PNG_FILTER_SLACK bytes after it. `above` and what comes out have the same length, and none of
   the three overlap. */
struct png_filtered_row {
    const unsigned char *filtered; /* without the byte that gives the filter's type */
    const unsigned char *above;    /* the row above as it came out; zeros above the first */
    size_t bytes;
    size_t pixel; /* bytes from a byte to the same one of the next pixel: 1 to 8 */
};

/* Write what the row was before it was filtered. False, and nothing is done, if there is no such type of
 * filter. */
bool png_filter_undo(unsigned type, const struct png_filtered_row *row, unsigned char *restrict plain);

#endif
