/* Packing: bytes go in, a stream of gzip or zlib goes into a file. Strips of a fixed size are deflated by
   several threads; what comes out depends on the bytes, the level and the library alone. No strip refers to
   another one, and all but the last end in an empty stored block, so that they can be inflated side by side.
 */
#ifndef PACK_H
#define PACK_H

#include "base/diag.h"
#include "base/file_out.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PACK_STRIP_BYTES ((size_t)1 << 20)

/* An empty stored block, from its second byte on: what ends a strip. */
#define PACK_MARK      "\0\0\377\377"
#define PACK_MARK_SIZE ((size_t)4)

enum pack_wrapper { PACK_GZIP, PACK_ZLIB };

struct pack;

/* Level is 0 to 9. The calling thread counts as one of so many; where the others cannot be had, it does their
   work. The file stays the caller's. */
bool pack_open(struct pack **pack, struct file_out *file, enum pack_wrapper wrapper, int level,
               size_t threads, struct fault *fault);
bool pack_write(struct pack *pack, const void *bytes, size_t size, struct fault *fault);

/* There is no more: write what ends the stream. */
bool pack_finish(struct pack *pack, struct fault *fault);

/* Once finished: another stream follows. */
bool pack_begin_again(struct pack *pack, struct fault *fault);

/* What has been written, of all streams. */
uint64_t pack_size(const struct pack *pack);

/* Release, finished or not, once the other threads have ended; NULL is fine. */
void pack_close(struct pack *pack);

#endif
