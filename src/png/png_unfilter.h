/* The filters of PNG, taken back from rows that were inflated. */
#ifndef PNG_UNFILTER_H
#define PNG_UNFILTER_H

#include <stdbool.h>
#include <stddef.h>

/* Bytes after the last of a row that may be read and written, whatever they are. */
#define PNG_UNFILTER_SLACK 8

/* Rows with PNG_UNFILTER_SLACK bytes after them, none of which overlap. */
struct png_unfilter_rows {
    const unsigned char *filtered; /* without the byte that gives the filter's type */
    const unsigned char *above;    /* the row above as it came out; zeros above the first */
    size_t bytes;
    size_t pixel; /* bytes from a byte to the same one of the next pixel: 1 to 8 */
};

/* False, and nothing is done, if there is no such type of filter. */
bool png_unfilter(unsigned type, const struct png_unfilter_rows *rows, unsigned char *restrict plain);

#endif
