/* Inflating a PNG's image data beside its reader: deflated bytes in, IDAT chunks of stored blocks out. */
#ifndef PNG_INFLATE_H
#define PNG_INFLATE_H

#include "base/diag.h"

#include <stdbool.h>
#include <stddef.h>

struct png_inflater;

/* With one thread alone, the caller's does the work. */
bool png_inflater_start(struct png_inflater **inflater, size_t threads, struct fault *fault);

/* The first chunk that comes out, of the zlib header alone, is the same for every picture. */
#define PNG_INFLATE_FIRST_BYTES 14
extern const unsigned char png_inflate_first[PNG_INFLATE_FIRST_BYTES];

/* Room for deflated bytes; NULL while there is none. */
unsigned char *png_inflater_room(struct png_inflater *inflater, size_t *size);

/* So many bytes, at least one, have been put there. */
void png_inflater_feed(struct png_inflater *inflater, size_t size);

/* There is no more. */
void png_inflater_end(struct png_inflater *inflater);

enum png_inflate_outcome {
    PNG_INFLATE_CHUNK,   /* the next chunk, valid until the next call of png_inflater_take */
    PNG_INFLATE_HUNGRY,  /* none before more is fed */
    PNG_INFLATE_ALL,     /* the stream has ended as it should */
    PNG_INFLATE_EXCESS,  /* likewise, but more was fed */
    PNG_INFLATE_DAMAGED, /* a text tells how */
};

struct png_inflate_chunk {
    const unsigned char *bytes;
    size_t size;
    const char *damage;
};

enum png_inflate_outcome png_inflater_take(struct png_inflater *inflater, struct png_inflate_chunk *chunk);

/* Release, once the thread has ended; NULL is fine. */
void png_inflater_stop(struct png_inflater *inflater);

#endif
