/* Reading of gzip and zlib streams: compressed bytes come in, bytes go out. Several threads inflate streams
   that hold strips of gzip_writer.h; the bytes and the faults are those of one thread. */
#ifndef GZIP_READER_H
#define GZIP_READER_H

#include "base/diag.h"
#include "base/inflate.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gzip_reader;

/* Fetch the next compressed bytes, fewer than `size` only at the end. */
typedef bool gzip_reader_fetch(void *context, void *bytes, size_t size, size_t *got, struct fault *fault);

/* The calling thread counts as one of `threads`. `name` is the file's, for messages. The wrapper is that of
   gzip or zlib. */
bool gzip_reader_open(struct gzip_reader **reader, enum inflate_wrapper wrapper, size_t threads,
                      const char *name, gzip_reader_fetch *fetch, void *context, struct fault *fault);

/* Read the next bytes, fewer than `size` only at the end, when all checksums were right. Members of gzip may
   follow each other; nothing follows a stream of zlib. */
bool gzip_reader_read(struct gzip_reader *reader, void *bytes, size_t size, size_t *got, struct fault *fault);

/* Compressed bytes that were fetched and not used so far. */
uint64_t gzip_reader_held(const struct gzip_reader *reader);

/* Bytes so far that come from strips which were inflated ahead of their turn. */
uint64_t gzip_reader_made_ahead(const struct gzip_reader *reader);

/* Release, once the other threads have ended; NULL is fine. */
void gzip_reader_close(struct gzip_reader *reader);

#endif
