/* The checksums of PNG, gzip and zlib, by the fastest library that is linked. */
#include "checksum.h"

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
#endif
