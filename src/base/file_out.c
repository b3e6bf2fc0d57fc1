/* Output files as byte streams. A new or regular target is written under a temporary name, which
   temp_cleanup.c removes if a signal ends the program, and gets its name in a set (file_set.h, naming.h).
   Whatever else is written in place. Writes in turn go through a buffer; writes at an offset go past it, into
   tmpfs through mappings (fd_io.h). Ranks join a file that rank 0 has opened. Since nobody else should know a
   temporary, one that has become shorter is an error. */
#include "file_out.h"

#include "fd_io.h"
#include "mem.h"
#include "naming.h"
#include "path.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define WRITE_BUFFER ((size_t)256 * 1024)

struct file_out {
    int descriptor;
    char *name;           /* for messages: the path that was given */
    struct naming naming; /* of the temporary; no temporary where the file is written in place */
    bool owned;
    bool synced; /* --sync: bytes are on the disk before the file is complete */
    unsigned char *buffer;
    size_t used;
    bool flushed;    /* something has left the buffer */
    uint64_t room;   /* bytes that have been allocated on the disk */
    uint64_t length; /* its length, as far as it was set here; 0: unknown. A shorter file has been truncated
                        by somebody */
    bool mapped;     /* writes at offsets go through mappings, which are faster */
};

static bool refuse(const struct file_out *file, struct fault *fault)
{
    return fault_set_for(fault, STATUS_IO, file->name, "%s", strerror(errno));
}

/* Make the temporary, and open it if it is a file. */
static bool make_temporary(struct file_out *file, mode_t mode)
{
    const int flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;

    if (file->naming.folder)
        return mkdir(file->naming.temporary, mode) == 0;
    file->descriptor = open(file->naming.temporary, flags, mode);
    return file->descriptor >= 0;
}

/* The permissions of a file that is replaced stay; a new file gets what the umask leaves. */
static bool open_temporary(struct file_out *file, const struct stat *existing, struct fault *fault)
{
    mode_t mode = existing != NULL ? existing->st_mode & 0777 : file->naming.folder ? 0777 : 0666;
    sigset_t before;
    bool made;
    int reason;

    file->naming.temporary = path_temporary(file->naming.target, fault);
    if (file->naming.temporary == NULL)
        return false;
    /* No signal may come between making the file and listing it for removal. A file that replaces another is
       private until it has the permissions of that. */
    temp_cleanup_hold_signals(&before);
    made = make_temporary(file, existing == NULL ? mode : 0600);
    reason = errno;
    file->naming.cleanup.path = file->naming.temporary;
    if (made)
        temp_cleanup_add(&file->naming.cleanup);
    temp_cleanup_release_signals(&before);
    if (!made) {
        mem_free(file->naming.temporary);
        file->naming.temporary = NULL;
        return fault_set_for(fault, STATUS_IO, file->name, "%s", strerror(reason));
    }
    if (existing != NULL && fchmod(file->descriptor, mode) != 0)
        return refuse(file, fault);
    return true;
}

static bool open_in_place(struct file_out *file, const char *path, int flags, struct fault *fault)
{
    file->descriptor = open(path, O_WRONLY | O_CLOEXEC | flags);
    return file->descriptor >= 0 || refuse(file, fault);
}

/* A regular file or a new one is written under a temporary name, beside what links lead to; anything else in
   place. */
static bool open_target(struct file_out *file, const char *path, struct fault *fault)
{
    struct stat info;
    bool exists = stat(path, &info) == 0;

    if (exists && S_ISDIR(info.st_mode))
        return fault_set_for(fault, STATUS_IO, file->name, "%s", strerror(EISDIR));
    if (exists && !S_ISREG(info.st_mode))
        return open_in_place(file, path, 0, fault);
    /* Renaming would replace even a file that may not be written, and that is not what its owner asked
       for. */
    if (exists && access(path, W_OK) != 0)
        return refuse(file, fault);
    file->naming.target = path_target(path);
    if (file->naming.target == NULL)
        return refuse(file, fault);
    return open_temporary(file, exists ? &info : NULL, fault);
}

static bool open_output(struct file_out **result, const char *path, bool is_text, struct fault *fault)
{
    struct file_out *file = mem_zeroed(1, sizeof *file, "the output file", fault);
    bool opened;

    if (file == NULL)
        return false;
    file->descriptor = -1;
    file->owned = !path_is_standard(path);
    file->name = mem_text(file->owned ? path : "standard output", fault);
    file->buffer = mem_alloc(WRITE_BUFFER, 1, "the output buffer", fault);
    opened = file->name != NULL && file->buffer != NULL;
    if (opened && !file->owned)
        file->descriptor = STDOUT_FILENO;
    else if (opened && path_is_descriptor(path)) /* a shell that redirected there expects its file to grow */
        opened = open_in_place(file, path, O_APPEND, fault);
    else if (opened)
        opened = open_target(file, path, fault);
    if (opened && !is_text && isatty(file->descriptor))
        opened = fault_raise(fault, STATUS_USAGE, "%s is a terminal: binary data is not written there",
                             file->name);
    if (!opened) {
        file_out_close(file);
        return false;
    }
    *result = file;
    return true;
}

bool file_out_open(struct file_out **file, const char *path, struct fault *fault)
{
    return open_output(file, path, false, fault);
}

bool file_out_open_text(struct file_out **file, const char *path, struct fault *fault)
{
    return open_output(file, path, true, fault);
}

bool file_out_check_folder(const char *path, struct fault *fault)
{
    struct stat info;

    return path_is_standard(path) || lstat(path, &info) != 0 ||
           fault_raise(fault, STATUS_USAGE, "%.*s: it exists, and a folder replaces nothing",
                       (int)path_length_before_slashes(path), path);
}

static bool open_folder(struct file_out *file, const char *path, struct fault *fault)
{
    if (path_is_standard(path) || path_is_descriptor(path))
        return fault_set_for(fault, STATUS_USAGE, file->name, "a folder needs a name (-o)");
    file->name[path_length_before_slashes(file->name)] = '\0';
    if (!file_out_check_folder(file->name, fault))
        return false;
    file->naming.folder = true;
    file->naming.target = strdup(file->name);
    return file->naming.target == NULL ? refuse(file, fault) : open_temporary(file, NULL, fault);
}

bool file_out_open_folder(struct file_out **result, const char *path, struct fault *fault)
{
    struct file_out *file = mem_zeroed(1, sizeof *file, "the output folder", fault);

    if (file == NULL)
        return false;
    file->descriptor = -1;
    file->name = mem_text(path_is_standard(path) ? "standard output" : path, fault);
    if (file->name != NULL && open_folder(file, path, fault)) {
        *result = file;
        return true;
    }
    file_out_close(file);
    return false;
}

bool file_out_is_file(const char *path)
{
    struct stat info;

    return !path_is_standard(path) && !path_is_descriptor(path) &&
           (stat(path, &info) != 0 || S_ISREG(info.st_mode));
}

bool file_out_open_beside(struct file_out **file, const struct file_out *other, const char *path,
                          struct fault *fault)
{
    if (!file_out_open(file, path, fault))
        return false;
    (*file)->synced = other->synced;
    return true;
}

void file_out_sync(struct file_out *file)
{
    file->synced = true;
}

bool file_out_is_synced(const struct file_out *file)
{
    return file->synced;
}

const char *file_out_name(const struct file_out *file)
{
    return file->name;
}

const char *file_out_target(const struct file_out *file)
{
    return file->naming.target != NULL ? file->naming.target : file->name;
}

/* Write past the buffer. */
static bool write_in_turn(struct file_out *file, const void *bytes, size_t size, struct fault *fault)
{
    file->flushed = file->flushed || size > 0;
    return fd_write(file->descriptor, bytes, size) || refuse(file, fault);
}

bool file_out_flush(struct file_out *file, struct fault *fault)
{
    size_t used = file->used;

    file->used = 0;
    return write_in_turn(file, file->buffer, used, fault);
}

bool file_out_write(struct file_out *file, const void *bytes, size_t size, struct fault *fault)
{
    if (size > WRITE_BUFFER - file->used && !file_out_flush(file, fault))
        return false;
    /* Large pieces gain nothing by a copy. */
    if (size >= WRITE_BUFFER)
        return write_in_turn(file, bytes, size, fault);
    memcpy(file->buffer + file->used, bytes, size);
    file->used += size;
    return true;
}

bool file_out_is_renamed(const struct file_out *file)
{
    return file->naming.temporary != NULL;
}

const char *file_out_temporary(const struct file_out *file)
{
    return file->naming.temporary;
}

/* Mappings need the permission to read, which the file may not give. */
static int open_shared(const char *path)
{
    int descriptor = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);

    return descriptor >= 0 || errno != EACCES ? descriptor : open(path, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
}

/* Open the temporary that another process has made, and list it for removal if a signal ends this one. */
static bool open_joined(struct file_out *file, struct fault *fault)
{
    struct stat info;
    sigset_t before;

    file->descriptor = open_shared(file->naming.temporary);
    if (file->descriptor < 0 || fstat(file->descriptor, &info) != 0)
        return refuse(file, fault);
    file->length = (uint64_t)info.st_size;
    file->naming.cleanup.path = file->naming.temporary;
    temp_cleanup_hold_signals(&before);
    temp_cleanup_add(&file->naming.cleanup);
    temp_cleanup_release_signals(&before);
    file->naming.foreign = true;
    return true;
}

bool file_out_join(struct file_out **result, const char *path, const char *temporary, bool synced,
                   struct fault *fault)
{
    struct file_out *file = mem_zeroed(1, sizeof *file, "the output file", fault);

    if (file == NULL)
        return false;
    file->descriptor = -1;
    file->synced = synced;
    file->owned = true;
    file->name = mem_text(path, fault);
    file->buffer = mem_alloc(WRITE_BUFFER, 1, "the output buffer", fault);
    file->naming.temporary = file->name == NULL || file->buffer == NULL ? NULL : mem_text(temporary, fault);
    if (file->naming.temporary != NULL && open_joined(file, fault)) {
        *result = file;
        return true;
    }
    /* The file is another process's, and closing must not remove it. */
    mem_free(file->naming.temporary);
    file->naming.temporary = NULL;
    file_out_close(file);
    return false;
}

bool file_out_reserve(struct file_out *file, uint64_t bytes, struct fault *fault)
{
    int failed;

    if (bytes <= file->room)
        return true;
    do {
        /* Only the room that is not there yet: what has been written before it stays. */
        failed = fallocate(file->descriptor, 0, (off_t)file->room, (off_t)(bytes - file->room));
    } while (failed != 0 && errno == EINTR);
    /* Only a lack of room is worth telling: whatever else speaks against it, writing finds out. */
    if (failed != 0)
        return (errno != ENOSPC && errno != EDQUOT && errno != EFBIG) || refuse(file, fault);
    file->room = bytes;
    if (file->length < bytes)
        file->length = bytes;
    return true;
}

bool file_out_extend(struct file_out *file, uint64_t bytes, struct fault *fault)
{
    struct stat info;
    bool done = fstat(file->descriptor, &info) == 0 &&
                ((uint64_t)info.st_size >= bytes || ftruncate(file->descriptor, (off_t)bytes) == 0);

    if (!done)
        return refuse(file, fault);
    file->length = bytes;
    return true;
}

void file_out_expect_writers(struct file_out *file, unsigned threads)
{
    file->mapped = fd_prefers_mapping(file->descriptor, threads);
}

/* Nobody else should know the temporary; whoever cuts it short takes what has been written. */
static bool has_its_length(const struct file_out *file, struct fault *fault)
{
    struct stat now;

    return file->length == 0 || fstat(file->descriptor, &now) != 0 || (uint64_t)now.st_size >= file->length ||
           fault_set_for(fault, STATUS_IO, file->name, "the temporary file has been truncated");
}

/* Store bytes through a mapping if that is faster; *stored says how many, from the first on. */
static bool store(const struct file_out *file, uint64_t offset, const void *bytes, size_t size,
                  size_t *stored, struct fault *fault)
{
    *stored = 0;
    if (!file->mapped || offset > file->length || size > file->length - offset)
        return true;
    *stored = fd_store_mapped(file->descriptor, offset, bytes, size);
    return *stored == size || has_its_length(file, fault);
}

bool file_out_write_at(const struct file_out *file, uint64_t offset, const void *bytes, size_t size,
                       struct fault *fault)
{
    size_t done;

    return store(file, offset, bytes, size, &done, fault) &&
           (fd_write_at(file->descriptor, offset + done, (const char *)bytes + done, size - done) ||
            refuse(file, fault));
}

bool file_out_is_untouched(const struct file_out *file)
{
    return file->naming.temporary != NULL || !file->flushed;
}

bool file_out_complete(struct file_out *file, struct fault *fault)
{
    int descriptor = file->descriptor;

    if (descriptor < 0)
        return true;
    /* Buffered bytes go first; a file that somebody cut short is no output. */
    if (!file_out_flush(file, fault) || !has_its_length(file, fault))
        return false;
    /* The disk has the bytes before the name leads to them. */
    if (file->synced && !fd_sync(descriptor))
        return refuse(file, fault);
    mem_free(file->buffer);
    file->buffer = NULL;
    file->descriptor = -1;
    return close(descriptor) == 0 || refuse(file, fault);
}

struct naming *file_out_naming(struct file_out *file)
{
    return file->naming.temporary != NULL ? &file->naming : NULL;
}

void file_out_forget_old(struct file_out *file)
{
    if (file->naming.temporary != NULL)
        naming_end(&file->naming);
}

void file_out_close(struct file_out *file)
{
    if (file == NULL)
        return;
    if (file->owned && file->descriptor >= 0)
        close(file->descriptor);
    file_out_forget_old(file);
    free(file->naming.target);
    mem_free(file->buffer);
    mem_free(file->name);
    mem_free(file);
}
