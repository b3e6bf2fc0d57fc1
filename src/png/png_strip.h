/* Strips of a PNG's image: filtered and deflated, in a way that depends on each strip's bytes. */
#ifndef PNG_STRIP_H
#define PNG_STRIP_H

#include "base/diag.h"
#include "png_filter.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct png_strip_coder;

/* Make a coder for one thread and strips of at most `rows` rows of `row_bytes` bytes; level is 0 to 9. To be
   freed in any case. */
bool png_strip_coder_create(struct png_strip_coder **coder, int level, size_t row_bytes, size_t rows,
                            struct fault *fault);
void png_strip_coder_free(struct png_strip_coder *coder);

/* Filter and deflate rows into room of deflate_bound bytes. Return how many were used, and the Adler-32 of
   the filtered rows; both depend on the rows, the row above them, the level and the codec library alone. */
size_t png_strip_code(struct png_strip_coder *coder, const struct png_filter_rows *rows, bool last,
                      unsigned char *deflated, uint32_t *checksum);

#endif
