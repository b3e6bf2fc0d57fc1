/* Slices: pictures of samples that no PNG holds as they are. */
#ifndef GRAY_SLICE_H
#define GRAY_SLICE_H

#include "format.h"

/* A PNG of samples of any type, from black for the least finite one to white for the greatest: 8 bits of
   samples of one byte, 16 of others. It holds them until the last has come, and its note gives both. */
extern const struct format format_gray_slice;

/* Whether a PNG has samples of this type as they are; and the type that takes the others' place. */
bool gray_slice_is_plain(enum sample_type type);
enum sample_type gray_slice_type(enum sample_type type);

/* What is held of such a picture. */
size_t gray_slice_bytes(const struct header *header);

#endif
