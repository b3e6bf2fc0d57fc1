/* Files as byte streams: `-`, temporaries that are renamed when complete, and checked ends. */
#ifndef FILE_H
#define FILE_H

#include "diag.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct file_in;
struct file_out;

/* NULL or "-" is standard input. */
bool file_open_input(struct file_in **file, const char *path, struct fault *fault);

/* As messages name it: the path, or "standard input". */
const char *file_in_name(const struct file_in *file);

/* Whether it is standard input. */
bool file_in_is_standard(const struct file_in *file);

/* The size of a regular file from here to its end; false for pipes and the like. */
bool file_in_remaining(const struct file_in *file, uint64_t *bytes);

/* Look at the next bytes without taking them: up to size of them, less only before the end of the file. */
bool file_in_peek(struct file_in *file, void *bytes, size_t size, size_t *got, struct fault *fault);

/* The same without waiting: less, too, where whoever writes into a pipe has not written more yet. */
bool file_in_glance(struct file_in *file, void *bytes, size_t size, size_t *got, struct fault *fault);

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
bool file_in_allow_stop(struct file_in *file, struct fault *fault);
void file_in_stop(struct file_in *file);

void file_in_close(struct file_in *file);

/* NULL or "-" is standard output, which must not be a terminal. A new or regular target is written under a
   temporary name in its directory; nothing stands under its own name before file_out_commit. */
bool file_open_output(struct file_out **file, const char *path, struct fault *fault);

/* The same for text, which may go to a terminal. */
bool file_open_text_output(struct file_out **file, const char *path, struct fault *fault);
const char *file_out_name(const struct file_out *file);
bool file_out_write(struct file_out *file, const void *bytes, size_t size, struct fault *fault);

/* Write what is buffered, so that bytes written at an offset stay. */
bool file_out_flush(struct file_out *file, struct fault *fault);

/* Whether it is a file that gets its name only when it is complete, which can be written in any order; and
   what it is called until then. */
bool file_out_is_renamed(const struct file_out *file);
const char *file_out_temporary(const struct file_out *file);

/* Write into such a file, too, that another process has opened for the path, and which alone gives it its
   name or removes it. Here it is removed if the program is ended. */
bool file_join_output(struct file_out **file, const char *path, const char *temporary, struct fault *fault);

/* Take so much room for it that writing does not fill the disk, where the file system can; its length may
   become that, and must not become less. */
bool file_out_reserve(struct file_out *file, uint64_t bytes, struct fault *fault);

/* Make it so long, before others write into it. */
bool file_out_extend(const struct file_out *file, uint64_t bytes, struct fault *fault);

/* Write so many bytes after its beginning; what is written in turn goes on where it was. Threads may do so at
 * once. */
bool file_out_write_at(const struct file_out *file, uint64_t offset, const void *bytes, size_t size,
                       struct fault *fault);

/* Whether nobody can have seen a byte of it yet. */
bool file_out_unseen(const struct file_out *file);

/* Symlinks are followed to the file that they name in the end, there yet or not: the file is replaced, not a
   link. To be freed; NULL with errno on failure. */
char *file_out_target(const char *path);

/* The output is complete: flush and close with a check, and release its buffer; its name comes later. */
bool file_out_complete(struct file_out *file, struct fault *fault);

/* The output is complete: flush, close with a check, give it its name. */
bool file_out_commit(struct file_out *file, struct fault *fault);

/* A new file without a name in the folder that the output is in, or where temporary files go if it is in
   none; −1 where there can be none. */
int file_out_nameless(const struct file_out *file, struct fault *fault);

/* Release; what was not committed is removed. */
void file_out_close(struct file_out *file);

/* Keep descriptors 0 to 2 from becoming files, and remove temporaries however the program ends; call once,
 * first. */
void file_guard(void);

#endif
