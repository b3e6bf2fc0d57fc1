/* Inflating a PNG's image data beside its reader: deflated bytes in, pieces of inflated ones out. */
#ifndef PNG_INFLATE_H
#define PNG_INFLATE_H

#include "base/diag.h"

#include <stdbool.h>
#include <stddef.h>

struct png_inflater;

/* With one thread alone, the caller's does the work. */
bool png_inflater_start(struct png_inflater **inflater, size_t threads, struct fault *fault);

/* Room for deflated bytes; NULL while there is none. */
unsigned char *png_inflater_room(struct png_inflater *inflater, size_t *size);

/* So many bytes, at least one, have been put there. */
void png_inflater_feed(struct png_inflater *inflater, size_t size);

/* There is no more. */
void png_inflater_end(struct png_inflater *inflater);

enum png_inflate_state {
    PNG_INFLATE_UNDER_WAY, /* pieces follow, as long as more is fed */
    PNG_INFLATE_ENDED,     /* the stream has ended as it should */
    PNG_INFLATE_EXCESS,    /* likewise, but more was fed */
    PNG_INFLATE_DAMAGED
};

struct png_inflate_piece {
    const unsigned char *bytes;
    size_t size;                  /* 0 where more has to be fed first, and perhaps at the end */
    enum png_inflate_state state; /* after these bytes; once over it stays so, and no bytes come */
    const char *damage;
};

/* The next piece, valid until the next call. */
struct png_inflate_piece png_inflater_take(struct png_inflater *inflater);

/* Release, once the thread has ended; NULL is fine. */
void png_inflater_stop(struct png_inflater *inflater);

#endif
