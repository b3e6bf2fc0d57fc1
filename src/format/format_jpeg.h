/* What a JPEG does not keep of what a picture's file tells besides its samples. */
#ifndef FORMAT_JPEG_H
#define FORMAT_JPEG_H

#include "format.h"

#include <stddef.h>

/* list_dropped of pictures: where a JPEG is written, append the types of the source's chunks that have no
   marker there. */
void jpeg_list_dropped(const struct source *source, const struct receiver *to, struct dropped *dropped);

#endif
