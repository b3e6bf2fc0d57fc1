/* What is wrapped around a deflate stream: the heads and tails of gzip and zlib, which come byte by byte. */
#ifndef WRAPPING_H
#define WRAPPING_H

#include "base/inflate.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wrapping {
    enum inflate_wrapper wrapper; /* the caller's to set: of gzip or zlib */
    const char *damage;           /* once that has been found; else NULL */
    unsigned part;
    size_t taken;      /* bytes of the head or tail */
    size_t left;       /* bytes of the part */
    unsigned flags;    /* of a head */
    uint32_t checksum; /* of a head */
    uint64_t told;     /* the number that the bytes so far make */
};

void wrapping_begin_head(struct wrapping *wrapping);
void wrapping_begin_tail(struct wrapping *wrapping);

/* Take the next byte of the head; false where it was the last, or shows damage. */
bool wrapping_take_head(struct wrapping *wrapping, unsigned char byte);

/* The same of the tail, which is to fit so many bytes and their checksum. */
bool wrapping_take_tail(struct wrapping *wrapping, unsigned char byte, uint32_t checksum, uint64_t size);

#endif
