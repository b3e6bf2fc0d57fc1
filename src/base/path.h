/* Paths: standard streams, what symlinks lead to, and names for temporaries. */
#ifndef PATH_H
#define PATH_H

#include "diag.h"

#include <stdbool.h>
#include <stddef.h>

/* Whether it is standard input or output: NULL or "-". */
bool path_is_standard(const char *path);

/* Whether it is /dev/stdout, /dev/fd/N or the like, which may lead to a regular file. */
bool path_is_descriptor(const char *path);

/* The path after following all symlinks, whether that exists or not: outputs replace the file, not the link.
   Release with free; NULL with errno on failure. */
char *path_target(const char *path);

/* How much of a path is its folder, with the slash, and the path without it. */
size_t path_folder_length(const char *path);
const char *path_base_name(const char *path);

/* How much of a path is before the slashes at its end; of "/" all. */
size_t path_length_before_slashes(const char *path);

/* Whether the paths of two files have the same folder. */
bool path_same_folder(const char *path, const char *other);

/* Whether a file, whose name has no links, is in a folder or in one below it. */
bool path_is_inside(const char *name, const char *folder);

/* A descriptor of the folder that a file is in; -1 with errno on failure. */
int path_open_folder(const char *path);

/* A random name in the target's folder, of fixed length. Release with mem_free. */
char *path_temporary(const char *target, struct fault *fault);

#endif
