/* Input files as byte streams. They are read in turn; regular files at any offset, too. The next bytes can be
   looked at before they are taken, and a read that waits for a pipe can be cancelled. */
#ifndef FILE_IN_H
#define FILE_IN_H

#include "diag.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A file that is open for reading. */
struct file_in;

/* Open a file, or standard input if the path is NULL or "-". The path must outlive the file. Folders are
   refused; on failure nothing is left open. */
bool file_in_open(struct file_in **file, const char *path, struct fault *fault);

/* The name for messages: the path, or "standard input". A file that stands for a folder can be called by the
   name of that; the text stays with the caller. */
const char *file_in_name(const struct file_in *file);
void file_in_call(struct file_in *file, const char *name);

/* Whether it is standard input, which has no folder and no name of its own. */
bool file_in_is_standard(const struct file_in *file);

/* The bytes of a regular file from here to its end; false for pipes and the like. */
bool file_in_remaining(const struct file_in *file, uint64_t *bytes);

/* Signs by which a change of a regular file shows: its size, and the time of its last change in nanoseconds.
   Both are 0 for pipes and the like, and where the system does not know. */
struct file_in_state {
    uint64_t bytes, changed;
};

/* The state of an open file, and of the file that a path names now. */
struct file_in_state file_in_state(const struct file_in *file);
struct file_in_state file_in_state_at(const char *path);

/* Copy the next bytes without taking them, at most 4096. *got is less than size only where the file ends
 * sooner. */
bool file_in_peek(struct file_in *file, void *bytes, size_t size, size_t *got, struct fault *fault);

/* Copy what is there without waiting for the writer of a pipe. */
bool file_in_peek_nonblocking(struct file_in *file, void *bytes, size_t size, size_t *got,
                              struct fault *fault);

/* Take the next bytes; fewer than size only at the end of the file. */
bool file_in_read(struct file_in *file, void *bytes, size_t size, size_t *got, struct fault *fault);

/* Go back to where the file was opened; false for pipes and the like. */
bool file_in_rewind(struct file_in *file);

/* Whether it is a regular file, which can be read at any offset. */
bool file_in_is_regular(const struct file_in *file);

/* Whether the path leads to this file, if that is a regular one. */
bool file_in_is_at(const struct file_in *file, const char *path);

/* Read `size` bytes at `offset` past the current position, without moving it. Threads may do so at once. */
bool file_in_read_at(const struct file_in *file, uint64_t offset, void *bytes, size_t size, size_t *got,
                     struct fault *fault);

/* Skip `bytes` bytes of a regular file, which may end before that. */
bool file_in_skip(struct file_in *file, uint64_t bytes, struct fault *fault);

/* Once it has been made cancellable, any thread may cancel it: a read that waits for a pipe, and every later
 * one, fails. */
bool file_in_make_cancellable(struct file_in *file, struct fault *fault);
void file_in_cancel(struct file_in *file);

/* Close it, unless it is standard input, and release it; NULL is fine. */
void file_in_close(struct file_in *file);

#endif
