/* Slices of volumes as gray pictures, where PNG has no such samples. */
#ifndef GRAY_SLICE_H
#define GRAY_SLICE_H

#include "format.h"

/* A PNG of samples of any type, from black for the least finite one to white for the greatest: 8 bits of
   samples of one byte, 16 of others. It holds them until the last has come, and its note gives both. */
extern const struct format format_gray_slice;

/* Whether PNG has samples of this type, and the type that stands for it in the picture. */
bool gray_slice_is_plain(enum sample_type type);
enum sample_type gray_slice_type(enum sample_type type);

/* Bytes of memory that writing such a picture holds. */
size_t gray_slice_bytes(const struct header *header);

#endif
