/* The checksums of PNG, gzip, zlib and Zarr, by the fastest library that is linked. */
#ifndef CHECKSUM_H
#define CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

/* Checksums of an empty buffer. */
#define CHECKSUM_CRC    0
#define CHECKSUM_ADLER  1
#define CHECKSUM_CRC32C 0

/* Continue `sum` over `size` more bytes. */
uint32_t checksum_crc(uint32_t sum, const void *bytes, size_t size);
uint32_t checksum_adler(uint32_t sum, const void *bytes, size_t size);
uint32_t checksum_crc32c(uint32_t sum, const void *bytes, size_t size); /* Castagnoli's polynomial */

#endif
