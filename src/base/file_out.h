/* Output files as byte streams: temporaries that are renamed when complete, and checked ends. */
#ifndef FILE_OUT_H
#define FILE_OUT_H

#include "diag.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct file_out;
struct naming;

/* NULL or "-" is standard output, which must not be a terminal. A new or regular target is written under a
   temporary name in its directory; nothing stands under its own name before a set gives it that. */
bool file_out_open(struct file_out **file, const char *path, struct fault *fault);

/* Whether a path names a new or regular target. */
bool file_out_is_file(const char *path);

/* Open a target for text, which may go to a terminal. */
bool file_out_open_text(struct file_out **file, const char *path, struct fault *fault);

/* From now on, the file is on the disk when it is complete, and its name when it is committed: a power cut
   leaves what was there before or all of it. */
void file_out_sync(struct file_out *file);
bool file_out_is_synced(const struct file_out *file);

/* Open a target that belongs to another one, and is synced if that is. */
bool file_out_open_beside(struct file_out **file, const struct file_out *other, const char *path,
                          struct fault *fault);
const char *file_out_name(const struct file_out *file);

/* The same without symlinks at its end: what is really replaced. */
const char *file_out_target(const struct file_out *file);
bool file_out_write(struct file_out *file, const void *bytes, size_t size, struct fault *fault);

/* Write what is buffered, so that bytes written at an offset stay. */
bool file_out_flush(struct file_out *file, struct fault *fault);

/* Whether it is a file that gets its name only when it is complete, which can be written in any order; and
   its path until then, in the same folder; NULL where it is written in place. */
bool file_out_is_renamed(const struct file_out *file);
const char *file_out_temporary(const struct file_out *file);

/* Join such a file, which another process has opened and extended for the path, to write into it as well.
   Only that process gives it its name. Here it is removed only if a signal ends the program. */
bool file_out_join(struct file_out **file, const char *path, const char *temporary, bool synced,
                   struct fault *fault);

/* Take room for so many bytes in all, where the file system can, so that writing them does not fill the disk.
   The file may become that long at once, so it must not end before. */
bool file_out_reserve(struct file_out *file, uint64_t bytes, struct fault *fault);

/* Make it this long before others write into it. Then it may be written while room for it is being taken. */
bool file_out_extend(struct file_out *file, uint64_t bytes, struct fault *fault);

/* Tell how many threads will call file_out_write_at at once, those of all processes counted. Before that, one
   is assumed. */
void file_out_expect_writers(struct file_out *file, unsigned threads);

/* Write so many bytes after its beginning; what is written in turn goes on where it was. Threads may do so at
 * once. */
bool file_out_write_at(const struct file_out *file, uint64_t offset, const void *bytes, size_t size,
                       struct fault *fault);

/* Whether nobody can have seen a byte of it yet. */
bool file_out_is_untouched(const struct file_out *file);

/* The output is complete: flush and close with a check, and release its buffer; its name comes later. */
bool file_out_complete(struct file_out *file, struct fault *fault);

/* For sets, which give files their names (file_set.h): what they take it by, NULL of a file that is written
   in place; then remove the file that had it. */
struct naming *file_out_naming(struct file_out *file);
void file_out_forget_old(struct file_out *file);

/* Release; what has not got its name is removed. */
void file_out_close(struct file_out *file);

#endif
