/* Deflating strips of data, each by itself; the pieces joined are one deflate stream. */
#ifndef DEFLATE_H
#define DEFLATE_H

#include "diag.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What deflate can look back on. */
#define DEFLATE_WINDOW ((size_t)32 << 10)

#define MOST_LEVEL 9 /* of compression; 0: none */

struct deflater;

struct deflate_strip {
    const unsigned char *bytes;
    size_t size;   /* at least 1 */
    size_t before; /* bytes that stand before these, in the stream as in memory; 0 to know none of them */
    bool last;     /* of the stream */
};

/* The two bytes before the first strip. */
#define DEFLATE_HEADER 2
void deflate_header(int level, unsigned char header[DEFLATE_HEADER]);

/* The Adler-32 of a strip; of two strips, the second of which has so many bytes. */
uint32_t deflate_checksum(const struct deflate_strip *strip);
uint32_t deflate_join(uint32_t first, uint32_t second, size_t second_size);

/* A thread's own, for strips of at most so many bytes; level is 0 to 9. */
bool deflater_create(struct deflater **deflater, int level, size_t strip_bytes, struct fault *fault);
void deflater_free(struct deflater *deflater);

/* What deflating so many bytes can lead to at most. */
size_t deflate_bound(size_t size);

/* Deflate into deflate_bound bytes; return how many were used, a function of the strip and level alone.
 */
size_t deflater_run(struct deflater *deflater, const struct deflate_strip *strip, unsigned char *deflated);

#endif
