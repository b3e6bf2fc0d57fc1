/* Files in a folder that gets its name when all of them are complete.

   Each file and each folder is on temp_cleanup's list from the moment that it is made, those in a folder
   after the folder itself, so that a signal removes all. Once the folder has its name, nothing is at these
   paths any more: its temporary name is random, and nobody gets it again. */
#include "folder_out.h"

#include "fd_io.h"
#include "mem.h"
#include "temp_cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct entry {
    struct entry *before;
    struct temp_file cleanup;
    char path[];
};

struct folder_out {
    struct file_out *file;
    struct entry *last; /* made last */
};

bool folder_out_open(struct folder_out **folder, struct file_out *file, struct fault *fault)
{
    *folder = mem_zeroed(1, sizeof **folder, "the output folder", fault);
    if (*folder != NULL)
        (*folder)->file = file;
    return *folder != NULL;
}

static bool refuse(const struct folder_out *folder, const char *key, struct fault *fault)
{
    return fault_set_for(fault, STATUS_IO, file_out_name(folder->file), "%s: %s", key, strerror(errno));
}

/* The path of a key, or of the first `length` bytes of it, as an entry that is not on the list yet. */
static struct entry *name_entry(const struct folder_out *folder, const char *key, size_t length,
                                struct fault *fault)
{
    const char *root = file_out_temporary(folder->file);
    size_t size = strlen(root) + length + 2;
    struct entry *entry = mem_alloc(sizeof *entry + size, 1, "the files of a folder", fault);

    if (entry != NULL) {
        snprintf(entry->path, size, "%s/%.*s", root, (int)length, key);
        entry->cleanup.path = entry->path;
    }
    return entry;
}

/* Make a file, whose descriptor is returned, or a folder; it is listed for removal at once. -1 with errno. */
static int make(struct folder_out *folder, struct entry *entry, bool is_folder)
{
    sigset_t before;
    int made, reason;

    temp_cleanup_hold_signals(&before);
    made = is_folder ? mkdir(entry->path, 0777)
                     : open(entry->path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    reason = errno;
    if (made >= 0) {
        temp_cleanup_add(&entry->cleanup);
        entry->before = folder->last;
        folder->last = entry;
    }
    temp_cleanup_release_signals(&before);
    errno = reason;
    return made;
}

/* Make those folders of a key's path that are not there. */
static bool make_folders(struct folder_out *folder, const char *key, struct fault *fault)
{
    for (const char *slash = strchr(key, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        struct entry *entry = name_entry(folder, key, (size_t)(slash - key), fault);
        int made = entry == NULL ? -1 : make(folder, entry, true);
        if (made >= 0)
            continue;
        if (entry == NULL)
            return false;
        mem_free(entry);
        if (errno != EEXIST)
            return refuse(folder, key, fault);
    }
    return true;
}

/* The descriptor of a new file, or of one that is there already; -1 with a fault. */
static int open_key(struct folder_out *folder, const char *key, bool begins, struct fault *fault)
{
    struct entry *entry = name_entry(folder, key, strlen(key), fault);
    int descriptor;

    if (entry == NULL)
        return -1;
    descriptor = begins ? make(folder, entry, false) : open(entry->path, O_WRONLY | O_APPEND | O_CLOEXEC);
    if (descriptor < 0 && begins && errno == ENOENT && make_folders(folder, key, fault))
        descriptor = make(folder, entry, false);
    if (descriptor < 0)
        refuse(folder, key, fault);
    if (descriptor < 0 || !begins)
        mem_free(entry);
    return descriptor;
}

bool folder_out_append(struct folder_out *folder, const char *key, bool begins, const void *bytes,
                       size_t size, struct fault *fault)
{
    int descriptor = open_key(folder, key, begins, fault);
    bool written;

    if (descriptor < 0)
        return false;
    written = fd_write(descriptor, bytes, size) || refuse(folder, key, fault);
    return (close(descriptor) == 0 || refuse(folder, key, fault)) && written;
}

static bool sync_path(const struct folder_out *folder, const char *path, struct fault *fault)
{
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    bool done = descriptor >= 0 && fd_sync(descriptor);

    if (!done)
        refuse(folder, path, fault);
    if (descriptor >= 0)
        close(descriptor);
    return done;
}

bool folder_out_complete(struct folder_out *folder, struct fault *fault)
{
    if (!file_out_is_synced(folder->file))
        return true;
    for (const struct entry *entry = folder->last; entry != NULL; entry = entry->before) {
        if (!sync_path(folder, entry->path, fault))
            return false;
    }
    return sync_path(folder, file_out_temporary(folder->file), fault);
}

void folder_out_close(struct folder_out *folder)
{
    sigset_t before;

    if (folder == NULL)
        return;
    for (struct entry *entry = folder->last, *next; entry != NULL; entry = next) {
        next = entry->before;
        temp_cleanup_hold_signals(&before);
        temp_cleanup_remove(entry->path);
        temp_cleanup_forget(&entry->cleanup);
        temp_cleanup_release_signals(&before);
        mem_free(entry);
    }
    mem_free(folder);
}
