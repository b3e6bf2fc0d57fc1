/* Paths: standard streams, what symlinks lead to, and names for temporaries. */
#include "path.h"

#include "mem.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LINKS_MOST 40 /* as the kernel has it */

bool path_is_standard(const char *path)
{
    return path == NULL || strcmp(path, "-") == 0;
}

bool path_is_descriptor(const char *path)
{
    return strcmp(path, "/dev/stdout") == 0 || strcmp(path, "/dev/stderr") == 0 ||
           strncmp(path, "/dev/fd/", 8) == 0 || strncmp(path, "/proc/self/fd/", 14) == 0;
}

size_t path_folder_length(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash == NULL ? 0 : (size_t)(slash - path) + 1;
}

/* The target of a symlink, seen from the folder that the link is in; NULL with errno for anything else. */
static char *link_target(const char *path)
{
    char link[PATH_MAX];
    ssize_t length = readlink(path, link, sizeof link - 1);
    size_t folder;
    char *target;

    if (length < 0)
        return NULL;
    folder = link[0] == '/' ? 0 : path_folder_length(path);
    target = malloc(folder + (size_t)length + 1);
    if (target != NULL) {
        memcpy(target, path, folder);
        memcpy(target + folder, link, (size_t)length);
        target[folder + (size_t)length] = '\0';
    }
    return target;
}

char *path_target(const char *path)
{
    char *target = strdup(path);

    for (int links = 0; target != NULL; links++) {
        char *next = link_target(target);
        /* EINVAL says that it is no link, ENOENT that nothing is there yet: either way it is the file to
           write. */
        if (next == NULL && (errno == EINVAL || errno == ENOENT))
            return target;
        free(target);
        target = next;
        if (links == LINKS_MOST) {
            free(target);
            errno = ELOOP;
            return NULL;
        }
    }
    return NULL;
}

const char *path_base_name(const char *path)
{
    return path + path_folder_length(path);
}

size_t path_length_before_slashes(const char *path)
{
    size_t length = strlen(path);

    while (length > 1 && path[length - 1] == '/')
        length--;
    return length;
}

bool path_same_folder(const char *path, const char *other)
{
    size_t length = path_folder_length(path);

    return path_folder_length(other) == length && memcmp(path, other, length) == 0;
}

bool path_is_inside(const char *name, const char *folder)
{
    char *outer = realpath(folder, NULL);
    size_t length = outer == NULL ? 0 : strlen(outer);
    bool inside = outer != NULL && strncmp(outer, name, length) == 0 &&
                  (name[length] == '/' || outer[length - 1] == '/');

    free(outer);
    return inside;
}

int path_open_folder(const char *path)
{
    size_t length = path_folder_length(path);
    char *folder = length == 0 ? strdup(".") : strndup(path, length);
    int descriptor = folder == NULL ? -1 : open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    free(folder);
    return descriptor;
}

char *path_temporary(const char *target, struct fault *fault)
{
    /* Room for the digits and the words around them. The name's length does not depend on the target's, which
       may itself be as long as the file system allows. */
    size_t folder = path_folder_length(target), size = folder + 48;
    char *name = mem_alloc(size, 1, "a file name", fault);
    uint64_t chance;

    if (name == NULL)
        return NULL;
    /* Two runs may have the same output, on machines that share its folder; a process id would not tell them
       apart. */
    if (getentropy(&chance, sizeof chance) != 0) {
        fault_set_for(fault, STATUS_IO, target, "a temporary name: %s", strerror(errno));
        mem_free(name);
        return NULL;
    }
    snprintf(name, size, "%.*svoxfilt-%016llx.part", (int)folder, target, (unsigned long long)chance);
    return name;
}
