/* Spool files: temporary files without a name, for bytes that do not fit into memory. */
#include "spool.h"

#include "fd_io.h"
#include "path.h"
#include "temp_cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The folder of the output, or where temporary files go if it is in none. The folder is the first *length
   bytes of what is returned. */
static const char *find_folder(const struct file_out *beside, size_t *length)
{
    const char *path = file_out_temporary(beside), *folder = path == NULL ? getenv("TMPDIR") : ".";

    if (path != NULL && path_folder_length(path) > 0) {
        *length = path_folder_length(path) - 1;
        return path;
    }
    if (folder == NULL || *folder == '\0')
        folder = "/tmp";
    *length = strlen(folder);
    return folder;
}

/* Make a file and remove its name at once: the system deletes it when it is closed, however the program
   ends. */
static int make_nameless(const char *folder, size_t length)
{
    char path[PATH_MAX];
    int descriptor;

    if ((size_t)snprintf(path, sizeof path, "%.*s/.voxfilt-XXXXXX", (int)length, folder) >= sizeof path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    descriptor = mkstemp(path);
    if (descriptor >= 0) {
        unlink(path);
        fcntl(descriptor, F_SETFD, FD_CLOEXEC);
    }
    return descriptor;
}

bool spool_create(struct spool *spool, const struct file_out *beside, struct fault *fault)
{
    size_t length;
    const char *folder = find_folder(beside, &length);
    sigset_t before;
    int reason;

    spool->output = file_out_name(beside);
    /* The program may not end between its name and the loss of it. */
    temp_cleanup_hold_signals(&before);
    spool->descriptor = make_nameless(folder, length);
    reason = errno;
    temp_cleanup_release_signals(&before);
    return spool->descriptor >= 0 ||
           fault_set_for(fault, STATUS_IO, spool->output, "a spool file: %s", strerror(reason));
}

void spool_close(struct spool *spool)
{
    if (spool->descriptor >= 0)
        close(spool->descriptor);
    spool->descriptor = -1;
}

static bool refuse(const struct spool *spool, const char *reason, struct fault *fault)
{
    return fault_set_for(fault, STATUS_IO, spool->output, "its spool file: %s", reason);
}

bool spool_write(const struct spool *spool, uint64_t offset, const void *bytes, size_t size,
                 struct fault *fault)
{
    return fd_write_at(spool->descriptor, offset, bytes, size) || refuse(spool, strerror(errno), fault);
}

bool spool_read(const struct spool *spool, uint64_t offset, void *bytes, size_t size, struct fault *fault)
{
    size_t got;

    if (!fd_read_at(spool->descriptor, offset, bytes, size, &got))
        return refuse(spool, strerror(errno), fault);
    return got == size || refuse(spool, "it became shorter", fault);
}
