/* Paths: standard streams, what symlinks lead to, and names for temporaries. */
#ifndef PATH_H
#define PATH_H

#include "diag.h"

#include <stdbool.h>

/* Whether it means standard input or output: NULL or "-". */
bool path_is_standard(const char *path);

/* Whether it is /dev/stdout or its kin, which may lead to a regular file, too. */
bool path_is_descriptor(const char *path);

/* The file that a path names once all symlinks are followed, whether it exists or not: the file is
   replaced, not a link. To be freed; NULL with errno on failure. */
char *path_target(const char *path);

/* The path without its folder. */
const char *path_base_name(const char *path);

/* Whether two files are in one folder, as far as their paths tell. */
bool path_same_folder(const char *path, const char *other);

/* A descriptor of the folder that a file is in; -1 with errno on failure. */
int path_open_folder(const char *path);

/* A name beside the target that nobody can guess and have taken; as short for a long name as for any. To be
   freed with mem_free. */
char *path_temporary(const char *target, struct fault *fault);

#endif
