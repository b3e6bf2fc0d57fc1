/* The checksums of PNG, gzip and zlib, by the fastest library that is linked. */
#ifndef CHECKSUM_H
#define CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

/* Of no bytes. */
#define CHECKSUM_CRC   0
#define CHECKSUM_ADLER 1

/* Of the bytes that `sum` is the checksum of, and of these after them. */
uint32_t checksum_crc(uint32_t sum, const void *bytes, size_t size);
uint32_t checksum_adler(uint32_t sum, const void *bytes, size_t size);

#endif
