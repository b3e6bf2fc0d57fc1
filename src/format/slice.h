/* Slices: pictures of samples that no PNG holds as they are. */
#ifndef SLICE_H
#define SLICE_H

#include "format.h"

/* A PNG of samples of any type, from black for the least finite one to white for the greatest: 8 bits of
   samples of one byte, 16 of others. It holds them until the last has come, and its remark gives both. */
extern const struct format format_slice;

/* Whether a PNG has samples of this type as they are; and the type that takes the others' place. */
bool slice_is_plain(enum sample_type type);
enum sample_type slice_type(enum sample_type type);

/* What is held of such a picture. */
size_t slice_bytes(const struct header *header);

#endif
