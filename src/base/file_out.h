/* Output files as byte streams. A file is written under a temporary name in its folder and gets its own name
   only when it is complete (file_set.h); what cannot be renamed, such as a pipe, is written in place. */
#ifndef FILE_OUT_H
#define FILE_OUT_H

#include "diag.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A file that is open for writing, or complete and waiting for its name. */
struct file_out;
struct naming;

/* Open a target; NULL or "-" is standard output. Terminals and folders are refused, and nothing is created in
   their place. The path is copied. If it cannot be opened, *file stays as it was. */
bool file_out_open(struct file_out **file, const char *path, struct fault *fault);

/* Likewise for a target that is a folder: it is made under a temporary name for files of folder_out.h.
   Slashes at the end of the path are left out. A target that is there already is refused. */
bool file_out_open_folder(struct file_out **file, const char *path, struct fault *fault);

/* Refuse such a target that is there already, before anything is made. */
bool file_out_check_folder(const char *path, struct fault *fault);

/* Whether a path names a new or regular target. */
bool file_out_is_file(const char *path);

/* Open a target for text, which may go to a terminal. */
bool file_out_open_text(struct file_out **file, const char *path, struct fault *fault);

/* Have the file on the disk when it is complete, and its name when it is committed: a power cut leaves either
   what was there before or all of it. */
void file_out_sync(struct file_out *file);
bool file_out_is_synced(const struct file_out *file);

/* Open a second file of an output, synced if the first is. */
bool file_out_open_beside(struct file_out **file, const struct file_out *other, const char *path,
                          struct fault *fault);
/* The path as it was given, or "standard output", for messages. */
const char *file_out_name(const struct file_out *file);

/* The path of what is really replaced: links are followed. */
const char *file_out_target(const struct file_out *file);
/* Write behind what was written before, through a buffer. */
bool file_out_write(struct file_out *file, const void *bytes, size_t size, struct fault *fault);

/* Write what is buffered, so that it does not overwrite what is then written at an offset. */
bool file_out_flush(struct file_out *file, struct fault *fault);

/* Whether it has a temporary name, and so can be written in any order; and that name, NULL if written in
 * place. */
bool file_out_is_renamed(const struct file_out *file);
const char *file_out_temporary(const struct file_out *file);

/* Join such a file, which another process has opened and extended for the path, to write into it as well.
   Only that process gives it its name. Here it is removed only if a signal ends the program. */
bool file_out_join(struct file_out **file, const char *path, const char *temporary, bool synced,
                   struct fault *fault);

/* Allocate room for `bytes` bytes in all, if the file system can, so that writing them does not find the disk
   full. The file may become that long at once, so it must not end up shorter. */
bool file_out_reserve(struct file_out *file, uint64_t bytes, struct fault *fault);

/* Make it this long before others write into it. Then it may be written while room is being allocated. */
bool file_out_extend(struct file_out *file, uint64_t bytes, struct fault *fault);

/* Say how many threads, of all processes, will call file_out_write_at at once, so that the faster way for
   them is taken. The default is one. */
void file_out_expect_writers(struct file_out *file, unsigned threads);

/* Write at an offset; the position of file_out_write stays. Threads may do so at once. */
bool file_out_write_at(const struct file_out *file, uint64_t offset, const void *bytes, size_t size,
                       struct fault *fault);

/* Whether nobody can have seen a byte of it yet: it is temporary, or nothing was written. */
bool file_out_is_untouched(const struct file_out *file);

/* Flush and close the complete output, and check both. It gets its name later. */
bool file_out_complete(struct file_out *file, struct fault *fault);

/* For sets, which give files their names (file_set.h): the handle by which they do; NULL if it is written in
   place. Then, to remove the file that had the name before. */
struct naming *file_out_naming(struct file_out *file);
void file_out_forget_old(struct file_out *file);

/* Close and release; a file that has not got its name is removed. NULL is fine. */
void file_out_close(struct file_out *file);

#endif
