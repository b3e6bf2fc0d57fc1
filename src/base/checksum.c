/* The checksums of PNG, gzip, zlib and Zarr, by the fastest library that is linked. */
#include "checksum.h"

#include "size.h"
#include "vectors.h"

#ifdef HAVE_ISAL
#include <isa-l/crc.h>
#include <isa-l/igzip_lib.h>

uint32_t checksum_crc(uint32_t sum, const void *bytes, size_t size)
{
    uint32_t continued = crc32_gzip_refl(sum, bytes, size);
    vectors_clear();
    return continued;
}

uint32_t checksum_adler(uint32_t sum, const void *bytes, size_t size)
{
    uint32_t continued = isal_adler32(sum, bytes, size);
    vectors_clear();
    return continued;
}

uint32_t checksum_crc32c(uint32_t sum, const void *bytes, size_t size)
{
    const size_t most = (size_t)1 << 30; /* ISA-L counts in int */
    const unsigned char *from = bytes;

    sum = ~sum;
    for (size_t count; size > 0; from += count, size -= count) {
        count = size_least(size, most);
        sum = crc32_iscsi((unsigned char *)from, (int)count, sum);
    }
    vectors_clear();
    return ~sum;
}
#else
#include <zlib.h>

uint32_t checksum_crc(uint32_t sum, const void *bytes, size_t size)
{
    return (uint32_t)crc32_z(sum, bytes, size);
}

uint32_t checksum_adler(uint32_t sum, const void *bytes, size_t size)
{
    return (uint32_t)adler32_z(sum, bytes, size);
}

/* Four bits at a time; zlib does not have it. */
uint32_t checksum_crc32c(uint32_t sum, const void *bytes, size_t size)
{
    static const uint32_t table[16] = {0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1, 0x417b1dbc, 0x5125dad3,
                                       0x61c69362, 0x7198540d, 0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9,
                                       0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75};
    const unsigned char *from = bytes;

    sum = ~sum;
    for (size_t i = 0; i < size; i++) {
        sum ^= from[i];
        sum = sum >> 4 ^ table[sum & 15];
        sum = sum >> 4 ^ table[sum & 15];
    }
    return ~sum;
}
#endif
