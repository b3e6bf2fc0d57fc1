/* What an encoder is told of a picture that has such a header. */
#include "png_picture.h"

struct png_encoder_picture png_picture_of(const struct header *header, const struct sink_request *request)
{
    return (struct png_encoder_picture){
        .width = header->grid.nx,
        .height = header->grid.ny,
        .channels = header->grid.channels,
        .depth = header->type == SAMPLE_U16 ? 16 : 8,
        .distance = {header->grid.spacing[0], header->grid.spacing[1]},
        .millimetres = header->millimetres,
        .little_endian = header->type == SAMPLE_U16 && header->endian == ENDIAN_LITTLE,
        .level = request->level,
        .threads = request->threads,
    };
}
