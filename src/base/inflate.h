/* Inflating a stream of deflate, zlib or gzip piece by piece, by the fastest library that is linked. */
#ifndef INFLATE_H
#define INFLATE_H

#include "diag.h"

#include <stdbool.h>
#include <stddef.h>

/* The wrapper around the deflate stream; INFLATE_BARE has none. */
enum inflate_wrapper { INFLATE_ZLIB, INFLATE_GZIP, INFLATE_BARE };

/* Size of deflate's window. */
#define INFLATE_WINDOW ((size_t)32 << 10)

enum inflate_progress { INFLATE_UNDER_WAY, INFLATE_ENDED, INFLATE_DAMAGED };

/* Input and output of one call, and how many bytes it used and made. If it filled the room, a further call
   may make more even without input. */
struct inflate_portion {
    const unsigned char *from;
    size_t size, used;
    unsigned char *to;
    size_t room, made;
};

struct inflater;

/* Make an inflater for streams with this wrapper; one stream at a time. */
bool inflater_create(struct inflater **inflater, enum inflate_wrapper wrapper, struct fault *fault);

/* Inflate what the portion has room for. INFLATE_ENDED comes only after the checksum at the end, if there is
   one, was right; bytes behind the end are not used. */
enum inflate_progress inflater_run(struct inflater *inflater, struct inflate_portion *portion);

/* Why decoding failed. */
const char *inflater_damage(const struct inflater *inflater);

/* Begin a new stream. */
void inflater_restart(struct inflater *inflater);

/* Begin a bare stream where a block begins; `before` are the bytes before it, at most INFLATE_WINDOW. */
void inflater_resume(struct inflater *inflater, const void *before, size_t size);

/* For a bare stream: true at a byte-aligned block boundary with no pending output. */
bool inflater_at_boundary(const struct inflater *inflater);

/* For a bare stream that has ended: copy the bytes after its end that were used already; return how many. */
#define INFLATE_UNUSED_MOST 8
size_t inflater_unused_input(const struct inflater *inflater, unsigned char bytes[INFLATE_UNUSED_MOST]);

/* NULL is fine. */
void inflater_free(struct inflater *inflater);

#endif
