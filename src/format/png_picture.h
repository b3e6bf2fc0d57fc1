/* What an encoder is told of a picture that has such a header. */
#ifndef PNG_PICTURE_H
#define PNG_PICTURE_H

#include "format.h"
#include "png/png_encoder.h"

struct png_encoder_picture png_picture_of(const struct header *header, const struct sink_request *request);

#endif
