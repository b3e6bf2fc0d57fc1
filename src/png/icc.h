/* Colour profiles of the ICC: whether one says what sRGB says, by its curves and primaries, whatever its
 * name. */
#ifndef ICC_H
#define ICC_H

#include <stdbool.h>
#include <stddef.h>

/* What the samples are that a profile describes. */
enum icc_space { ICC_GRAY, ICC_RGB };

/* The bytes before the table of tags; the first ICC_SIZE_BYTES tell the size of the whole. */
enum { ICC_HEADER_BYTES = 128, ICC_SIZE_BYTES = 4 };
size_t icc_size(const unsigned char head[ICC_SIZE_BYTES]);

/* Profiles of version 2 or 4 for displays, of curves and, for RGB, primaries alone. They are sRGB where each
   of the 256 codes of 8 bits decodes to what the sRGB curve makes of it or of its neighbours up to half a
   code away, and primaries, white and adaptation are within 0.002. Anything else, and anything that is not as
   the ICC says, is not. */
bool icc_is_srgb(const unsigned char *profile, size_t size, enum icc_space space);

#endif
