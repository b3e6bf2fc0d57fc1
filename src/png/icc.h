/* Colour profiles of the ICC: whether one says what sRGB says, by its curves and primaries, whatever its
 * name. */
#ifndef ICC_H
#define ICC_H

#include "png_chunks.h"

#include <stdbool.h>
#include <stddef.h>

/* The samples that a profile describes. */
enum icc_space { ICC_GRAY, ICC_RGB };

/* Profiles of version 2 or 4 for displays, of curves and, for RGB, primaries alone. They are sRGB where each
   of the 256 codes of 8 bits decodes to what the sRGB curve makes of it or of its neighbours up to half a
   code away, and primaries, white and adaptation are within 0.002. Anything else, and anything that is not as
   the ICC says, is not. */
bool icc_is_srgb(const unsigned char *profile, size_t size, enum icc_space space);

/* Inflate the profile in a chunk iCCP, of at most `most` bytes. What comes out is released with mem_free;
   NULL if the chunk is damaged, holds more, or memory is short. */
unsigned char *icc_chunk_inflate(const struct png_chunk *chunk, size_t most, size_t *size);

/* The same of the profile in a chunk iCCP. One over 64 KiB, which holds tables, is not. */
bool icc_chunk_is_srgb(const struct png_chunk *chunk, enum icc_space space);

#endif
