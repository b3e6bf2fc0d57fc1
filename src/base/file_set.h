/* Sets of output files, which get their names together: either all do, or none. */
#ifndef FILE_SET_H
#define FILE_SET_H

#include "diag.h"
#include "file_out.h"

#include <stdbool.h>
#include <stddef.h>

/* A file of a set. */
struct file_set_member {
    struct file_out *file;
    int folder; /* a descriptor of that which is to be synced after the names of this member and others have
                   changed; else -1 */
};

/* A set is empty where all is zero. The caller keeps its files and closes them after the commit, or without
 * one. */
struct file_set {
    struct file_set_member *members;
    size_t count, capacity;
};

/* Add a file, which is complete or will be completed by the commit. */
bool file_set_add(struct file_set *set, struct file_out *file, struct fault *fault);

/* Complete all files, then rename them in the order in which they were added, while fatal signals are held
   off. If one cannot be renamed, those before it are renamed back; the fault lists those that cannot be, and
   where their old files are. */
bool file_set_commit(struct file_set *set, struct fault *fault);
/* Release the set, not its files. */
void file_set_free(struct file_set *set);

/* Commit a single file. */
bool file_set_commit_one(struct file_out *file, struct fault *fault);

#endif
