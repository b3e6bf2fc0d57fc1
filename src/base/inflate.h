/* Inflating a stream of deflate, zlib or gzip, portion by portion, by the fastest library that is linked. */
#ifndef INFLATE_H
#define INFLATE_H

#include "diag.h"

#include <stdbool.h>
#include <stddef.h>

/* What is around the stream of deflate; nothing with INFLATE_BARE. */
enum inflate_wrapper { INFLATE_ZLIB, INFLATE_GZIP, INFLATE_BARE };

/* How far back a stream refers at most. */
#define INFLATE_WINDOW ((size_t)32 << 10)

enum inflate_progress { INFLATE_UNDER_WAY, INFLATE_ENDED, INFLATE_DAMAGED };

/* What one call is to do, and what it has done. Where the room is filled, there may be more of what was used
   already: a call without bytes brings it. */
struct inflate_portion {
    const unsigned char *from;
    size_t size, used;
    unsigned char *to;
    size_t room, made;
};

struct inflater;

bool inflater_create(struct inflater **inflater, enum inflate_wrapper wrapper, struct fault *fault);

/* The checksum at the end of the stream, if it has one, is compared before INFLATE_ENDED comes; what follows
   it is left. */
enum inflate_progress inflater_run(struct inflater *inflater, struct inflate_portion *portion);

/* How a stream is damaged. */
const char *inflater_damage(const struct inflater *inflater);

/* Another stream follows. */
void inflater_restart(struct inflater *inflater);

/* Of a bare stream: go on where a block begins, after so many bytes, at most INFLATE_WINDOW of them. */
void inflater_resume(struct inflater *inflater, const void *before, size_t size);

/* Of a bare stream: whether it stands between two blocks and two bytes, and has put out everything. */
bool inflater_at_boundary(const struct inflater *inflater);

/* Of a bare stream that has ended: bytes that were used, and follow its end. Returns how many. */
#define INFLATE_UNUSED_MOST 8
size_t inflater_unused_input(const struct inflater *inflater, unsigned char bytes[INFLATE_UNUSED_MOST]);

/* NULL is fine. */
void inflater_free(struct inflater *inflater);

#endif
