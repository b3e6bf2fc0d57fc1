/* What a JPEG does not keep of what a PNG tells besides its samples. */
#ifndef FORMAT_JPEG_H
#define FORMAT_JPEG_H

#include "png/png_chunks.h"

#include <stddef.h>

/* Append the types of these chunks that have no marker in a JPEG (format_drop). */
void jpeg_list_dropped(const struct png_chunks *chunks, char *dropped, size_t size);

#endif
