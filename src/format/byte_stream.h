/* Byte streams: the bytes of a file in turn, decoded on their way where they are coded, once or several
 * times. */
#ifndef BYTE_STREAM_H
#define BYTE_STREAM_H

#include "base/diag.h"
#include "base/file_in.h"
#include "model/sample.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum coding {
    CODING_NONE,
    CODING_GZIP, /* any number of members */
    CODING_ZLIB,
    CODING_BZIP2, /* where the library was found */
    CODING_HEX,
    CODING_TEXT /* numbers with space between them, which become samples of this machine's byte order */
};

/* At most so many bytes can be looked at ahead. */
#define BYTE_STREAM_PEEK 4096

struct byte_stream;

/* The bytes of a file from where it stands; it stays the caller's. So many threads, with the caller's, may
   decode. */
bool byte_stream_open(struct byte_stream **stream, struct file_in *file, size_t threads, struct fault *fault);

/* What the bytes that *stream gives from here on are the code of; *stream becomes the new one, which owns the
   old. On failure *stream is as it was. The type is that of numbers. */
bool byte_stream_decode(struct byte_stream **stream, enum coding coding, enum sample_type type,
                        struct fault *fault);

/* Release, with what it decodes; NULL is fine. */
void byte_stream_close(struct byte_stream *stream);

/* As file_in_peek and file_in_read have it. */
bool byte_stream_peek(struct byte_stream *stream, void *bytes, size_t size, size_t *got, struct fault *fault);
bool byte_stream_read(struct byte_stream *stream, void *bytes, size_t size, size_t *got, struct fault *fault);

/* Take bytes unread; *skipped is less than so many only at the end. */
bool byte_stream_skip(struct byte_stream *stream, uint64_t bytes, uint64_t *skipped, struct fault *fault);

/* Whether the end has come, and with it whatever proves that nothing was damaged. */
bool byte_stream_ends(struct byte_stream *stream, bool *ends, struct fault *fault);

/* The most bytes that can still come; false where nobody can tell, as of a pipe. */
bool byte_stream_most(const struct byte_stream *stream, uint64_t *bytes);

/* Whether its bytes are those of a regular file as they are, which can be read from any place. */
bool byte_stream_is_plain(const struct byte_stream *stream);

/* What the start of a file decodes to if it is compressed by gzip, as far as `size` bytes tell; 0 if it is
 * not.
 */
size_t byte_stream_glimpse(const unsigned char *start, size_t size, unsigned char *plain, size_t plain_size);
bool byte_stream_is_gzip(const unsigned char *start, size_t size);

#endif
