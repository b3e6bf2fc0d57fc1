/* Input files as byte streams: read in turn or at any place, looked into ahead, and stopped. */
#ifndef FILE_IN_H
#define FILE_IN_H

#include "diag.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct file_in;

/* NULL or "-" is standard input. */
bool file_in_open(struct file_in **file, const char *path, struct fault *fault);

/* As messages name it: the path, or "standard input". */
const char *file_in_name(const struct file_in *file);

/* Whether it is standard input. */
bool file_in_is_standard(const struct file_in *file);

/* The size of a regular file from here to its end; false for pipes and the like. */
bool file_in_remaining(const struct file_in *file, uint64_t *bytes);

/* What differs once the bytes of a regular file have changed: its size, and the time of its last change in
   nanoseconds. All is 0 of pipes and the like, and where nobody knows. */
struct file_in_state {
    uint64_t bytes, changed;
};

/* Of an open file; of the file that a path names now. */
struct file_in_state file_in_state(const struct file_in *file);
struct file_in_state file_in_state_at(const char *path);

/* Look at the next bytes without taking them: up to size of them, less only before the end of the file. */
bool file_in_peek(struct file_in *file, void *bytes, size_t size, size_t *got, struct fault *fault);

/* The same without waiting: less, too, where whoever writes into a pipe has not written more yet. */
bool file_in_peek_nonblocking(struct file_in *file, void *bytes, size_t size, size_t *got,
                              struct fault *fault);

/* Take up to size bytes, less only at the end of the file. */
bool file_in_read(struct file_in *file, void *bytes, size_t size, size_t *got, struct fault *fault);

/* Begin anew where the file began; false for pipes and the like, which give each byte once. */
bool file_in_rewind(struct file_in *file);

/* Whether bytes can be read from any place: those of regular files. */
bool file_in_is_regular(const struct file_in *file);

/* Whether it is the regular file of that path, whatever both are called. */
bool file_in_is_at(const struct file_in *file, const char *path);

/* Read size bytes, so many after those that have been taken, and take none. Threads may do so at once. */
bool file_in_read_at(const struct file_in *file, uint64_t offset, void *bytes, size_t size, size_t *got,
                     struct fault *fault);

/* Take so many bytes unread. */
bool file_in_skip(struct file_in *file, uint64_t bytes, struct fault *fault);

/* From any thread: a read that waits for a pipe, and every later one, fails. The file must have been made
   ready for it. */
bool file_in_make_cancellable(struct file_in *file, struct fault *fault);
void file_in_cancel(struct file_in *file);

void file_in_close(struct file_in *file);

#endif
