/* Descriptors: bytes that are moved whole, however the system cuts what is asked of it. Where something
   fails, errno says why. */
#ifndef FD_IO_H
#define FD_IO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Open those of standard input, output and error that are closed, so that no file that is opened later
   becomes the place where messages go; call once, first. */
void fd_fill_standard(void);

/* Whether a call that gave this count failed only because whoever gave us the descriptor has set it not to
   wait. */
bool fd_would_wait(ssize_t count);

/* Write where the descriptor stands, which moves on; wait where it was set not to. */
bool fd_write(int descriptor, const void *bytes, size_t size);

/* Read or write at an offset of a regular file; threads may do so at once. Less is got only at the end. */
bool fd_read_at(int descriptor, uint64_t offset, void *bytes, size_t size, size_t *got);
bool fd_write_at(int descriptor, uint64_t offset, const void *bytes, size_t size);

/* Have what was written, or the names in a folder, put on the disk. Pipes, terminals and the folders of some
   file systems have nothing to put there. */
bool fd_sync(int descriptor);

#endif
