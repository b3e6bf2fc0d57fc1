/* Descriptors: bytes that are moved whole, however the system cuts what is asked of it. Where something
   fails, errno says why. */
#ifndef DESCRIPTOR_H
#define DESCRIPTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Open those of standard input, output and error that are closed, so that no file that is opened later
   becomes the place where messages go; call once, first. */
void descriptor_fill_standard(void);

/* Whether a call that gave this count failed only because whoever gave us the descriptor has set it not to
   wait. */
bool descriptor_would_wait(ssize_t count);

/* Write where the descriptor stands, which moves on; wait where it was set not to. */
bool descriptor_write(int descriptor, const void *bytes, size_t size);

/* Read or write at an offset of a regular file; threads may do so at once. Less is got only at the end. */
bool descriptor_read_at(int descriptor, uint64_t offset, void *bytes, size_t size, size_t *got);
bool descriptor_write_at(int descriptor, uint64_t offset, const void *bytes, size_t size);

/* Have what was written, or the names in a folder, put on the disk. Pipes, terminals and the folders of some
   file systems have nothing to put there. */
bool descriptor_sync(int descriptor);

#endif
