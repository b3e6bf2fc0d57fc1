/* Byte streams: the bytes of a file in order, decoded on the way, once or several times. */
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

/* The most bytes that byte_stream_peek returns. */
#define BYTE_STREAM_PEEK 4096

struct byte_stream;

/* Open the bytes of a file from its current position; the file stays the caller's. `threads` may decode, the
 * caller's among them. */
bool byte_stream_open(struct byte_stream **stream, struct file_in *file, size_t threads, struct fault *fault);

/* Decode what *stream gives from here on: *stream becomes a new stream, which owns the old one. On failure
 * *stream does not change. `type` is that of the numbers in CODING_TEXT. */
bool byte_stream_decode(struct byte_stream **stream, enum coding coding, enum sample_type type,
                        struct fault *fault);

/* Close the stream and those under it; NULL is fine. */
void byte_stream_close(struct byte_stream *stream);

/* Copy the next bytes without taking them, or take them; *got is less than size only at the end of the
   stream. */
bool byte_stream_peek(struct byte_stream *stream, void *bytes, size_t size, size_t *got, struct fault *fault);
bool byte_stream_read(struct byte_stream *stream, void *bytes, size_t size, size_t *got, struct fault *fault);

/* Read bytes up to the end of a line, or fewer: *complete tells whether the line ends with them. */
bool byte_stream_read_line(struct byte_stream *stream, char piece[BYTE_STREAM_PEEK], size_t *size,
                           bool *complete, struct fault *fault);

/* Skip bytes; *skipped is less than `bytes` only at the end. */
bool byte_stream_skip(struct byte_stream *stream, uint64_t bytes, uint64_t *skipped, struct fault *fault);

/* An upper bound for the bytes to come; false if there is none, as with a pipe. */
bool byte_stream_most(const struct byte_stream *stream, uint64_t *bytes);

/* Whether it gives the bytes of a regular file undecoded, so that they can be read at any offset. */
bool byte_stream_is_plain(const struct byte_stream *stream);

/* Decode the first bytes of a gzip file, as far as `size` bytes go. Returns how many bytes that gives, 0 if
 * it is no gzip file. */
size_t byte_stream_glimpse(const unsigned char *start, size_t size, unsigned char *plain, size_t plain_size);
bool byte_stream_is_gzip(const unsigned char *start, size_t size);

#endif
