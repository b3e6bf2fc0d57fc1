/* Unpacking: the code of gzip or zlib comes in, bytes go out. Where the stream holds strips that stand alone,
   as those of gzip_writer.h do, several threads inflate them; every guess about that is confirmed, so that
   what comes out is what one thread makes of the stream from its beginning. */
#ifndef UNPACK_H
#define UNPACK_H

#include "base/diag.h"
#include "base/inflate.h"
#include "strips.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct unpack;

/* The calling thread counts as one of so many. The name is that of the file, for messages. */
bool unpack_open(struct unpack **unpack, enum inflate_wrapper wrapper, size_t threads, const char *name,
                 strips_fetch *fetch, void *context, struct fault *fault);

/* The next bytes, less than so many only at the end, when all checksums were right. Members of gzip may
   follow each other; nothing follows a stream of zlib. */
bool unpack_read(struct unpack *unpack, void *bytes, size_t size, size_t *got, struct fault *fault);

/* Bytes of code that were fetched and may still become some. */
uint64_t unpack_held(const struct unpack *unpack);

/* Release; NULL is fine. */
void unpack_close(struct unpack *unpack);

#endif
