/* Writing of gzip and zlib streams by several threads. The stream depends on the bytes, the level and the
 * library alone. It consists of strips of a fixed size, none of which refers to another one, and all but the
 * last end in an empty stored block, so that they can also be inflated by several threads (gzip_reader.h). */
#ifndef GZIP_WRITER_H
#define GZIP_WRITER_H

#include "base/diag.h"
#include "base/file_out.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GZIP_STRIP_BYTES ((size_t)1 << 20)

/* The end of a strip: an empty stored block, from its second byte on. */
#define GZIP_MARK      "\0\0\377\377"
#define GZIP_MARK_SIZE ((size_t)4)

enum gzip_writer_wrapper { GZIP_WRITER_GZIP, GZIP_WRITER_ZLIB };

struct gzip_writer;

/* Begin a stream: its header is written at once. `level` is 0 to 9. The calling thread counts as one of
   `threads`; if others cannot be started, it does their work. The file stays the caller's. Then write plain
   bytes in any pieces. */
bool gzip_writer_open(struct gzip_writer **writer, struct file_out *file, enum gzip_writer_wrapper wrapper,
                      int level, size_t threads, struct fault *fault);
bool gzip_writer_write(struct gzip_writer *writer, const void *bytes, size_t size, struct fault *fault);

/* Compress and write what is left, and the checksum that ends the stream. */
bool gzip_writer_finish(struct gzip_writer *writer, struct fault *fault);

/* After gzip_writer_finish: begin another stream. */
bool gzip_writer_begin_again(struct gzip_writer *writer, struct fault *fault);

/* Compressed bytes written so far, of all streams. */
uint64_t gzip_writer_size(const struct gzip_writer *writer);

/* Release the writer, finished or not, after its threads have ended; NULL is fine. */
void gzip_writer_close(struct gzip_writer *writer);

#endif
