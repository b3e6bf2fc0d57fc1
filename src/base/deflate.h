/* Deflating strips of data, each by itself; the pieces joined are one deflate stream. */
#ifndef DEFLATE_H
#define DEFLATE_H

#include "diag.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Size of deflate's window. */
#define DEFLATE_WINDOW ((size_t)32 << 10)

#define MOST_LEVEL 9 /* of compression; 0: none */

struct deflater;

/* Bytes to deflate, and where they are in their stream. */
struct deflate_strip {
    const unsigned char *bytes;
    size_t size;   /* at least 1 */
    size_t before; /* bytes before these in the stream and in memory, to which matches may point */
    bool last;     /* of the stream */
};

/* Bytes of zlib's header, which comes before the first strip. */
#define DEFLATE_HEADER 2
void deflate_header(int level, unsigned char header[DEFLATE_HEADER]);

/* The Adler-32 of a strip, and of two parts joined. */
uint32_t deflate_checksum(const struct deflate_strip *strip);
uint32_t deflate_join(uint32_t first, uint32_t second, size_t second_size);

/* Runs are matches with the bytes just before. */
enum deflate_coding { DEFLATE_RUNS, DEFLATE_MATCHES };

/* One way to code a strip: quick is ISA-L's igzip, at a level of 1 to 3, or zlib where ISA-L is missing. */
struct deflate_way {
    enum deflate_coding coding;
    bool quick;
    int level;
};

/* Make a deflater for one thread and strips of at most `strip_bytes`; level is 0 to 9. */
bool deflater_create(struct deflater **deflater, int level, size_t strip_bytes, struct fault *fault);
void deflater_free(struct deflater *deflater);

/* The most bytes that deflating `size` bytes can give. */
size_t deflate_bound(size_t size);

/* Deflate into room of deflate_bound bytes; return how many were used, which depends on the strip and level
 * alone. */
size_t deflater_run(struct deflater *deflater, const struct deflate_strip *strip, unsigned char *deflated);

/* The same by one way, at level 1 or more; what does not shrink is stored. */
size_t deflater_code(struct deflater *deflater, const struct deflate_way *way,
                     const struct deflate_strip *strip, unsigned char *deflated);
size_t deflater_store(const struct deflate_strip *strip, unsigned char *deflated);

/* How many bytes deflater_code would use. At levels below 7 the strip has at most DEFLATE_SAMPLE bytes. */
#define DEFLATE_SAMPLE ((size_t)32 << 10)
size_t deflater_measure(struct deflater *deflater, const struct deflate_way *way,
                        const struct deflate_strip *strip);

#endif
