/* Packing: bytes go in, a stream of gzip or zlib goes into a file. Strips of a fixed size are deflated by
   several threads; what comes out depends on the bytes, the level and the library alone. No strip refers to
   another one, and all but the last end in an empty stored block, so that they can be inflated side by side.
 */
#ifndef GZIP_WRITER_H
#define GZIP_WRITER_H

#include "base/diag.h"
#include "base/file_out.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GZIP_STRIP_BYTES ((size_t)1 << 20)

/* An empty stored block, from its second byte on: what ends a strip. */
#define GZIP_MARK      "\0\0\377\377"
#define GZIP_MARK_SIZE ((size_t)4)

enum gzip_writer_wrapper { GZIP_WRITER_GZIP, GZIP_WRITER_ZLIB };

struct gzip_writer;

/* Level is 0 to 9. The calling thread counts as one of so many; where the others cannot be had, it does their
   work. The file stays the caller's. */
bool gzip_writer_open(struct gzip_writer **writer, struct file_out *file, enum gzip_writer_wrapper wrapper,
                      int level, size_t threads, struct fault *fault);
bool gzip_writer_write(struct gzip_writer *writer, const void *bytes, size_t size, struct fault *fault);

/* There is no more: write what ends the stream. */
bool gzip_writer_finish(struct gzip_writer *writer, struct fault *fault);

/* Once finished: another stream follows. */
bool gzip_writer_begin_again(struct gzip_writer *writer, struct fault *fault);

/* What has been written, of all streams. */
uint64_t gzip_writer_size(const struct gzip_writer *writer);

/* Release, finished or not, once the other threads have ended; NULL is fine. */
void gzip_writer_close(struct gzip_writer *writer);

#endif
