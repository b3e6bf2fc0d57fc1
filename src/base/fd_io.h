/* Input and output by descriptor: bytes are moved whole, however the system cuts what is asked of it. If a
   function fails, errno says why. */
#ifndef FD_IO_H
#define FD_IO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Open those of standard input, output and error that are closed, so that no file that is opened later
   receives messages; call once, first. */
void fd_fill_standard(void);

/* Whether a call that returned this count failed only because the descriptor was given to us non-blocking. */
bool fd_would_wait(ssize_t count);

/* Write at the current position. A non-blocking descriptor is waited for. */
bool fd_write(int descriptor, const void *bytes, size_t size);

/* Read or write at an offset of a regular file; threads may do so at once. *got is less than size only at the
 * end. */
bool fd_read_at(int descriptor, uint64_t offset, void *bytes, size_t size, size_t *got);
bool fd_write_at(int descriptor, uint64_t offset, const void *bytes, size_t size);

/* Whether that many threads fill a file faster through mappings than by writes: in tmpfs, many do. */
bool fd_prefers_mapping(int descriptor, unsigned threads);

/* Store bytes through a mapping into a file that is open for reading and writing and long enough. Returns how
   many, from the first on; fewer than size if the system does not allow it, or if the file has become
   shorter. */
size_t fd_store_mapped(int descriptor, uint64_t offset, const void *bytes, size_t size);

/* Have what was written, or the names in a folder, put on the disk. True for pipes, terminals and folders of
   file systems that have nothing to put there. */
bool fd_sync(int descriptor);

#endif
