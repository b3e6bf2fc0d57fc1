/* Inflating a stream of zlib or gzip, portion by portion, by the fastest library that is linked. */
#ifndef INFLATE_H
#define INFLATE_H

#include "diag.h"

#include <stdbool.h>
#include <stddef.h>

enum inflate_wrapper { INFLATE_ZLIB, INFLATE_GZIP };

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

/* The checksum at the end of the stream is compared before INFLATE_ENDED comes; what follows it is left. */
enum inflate_progress inflater_run(struct inflater *inflater, struct inflate_portion *portion);

/* How a stream is damaged. */
const char *inflater_damage(const struct inflater *inflater);

/* Another stream follows. */
void inflater_restart(struct inflater *inflater);

/* NULL is fine. */
void inflater_free(struct inflater *inflater);

#endif
