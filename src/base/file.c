/* Files as byte streams: `-`, temporaries that are renamed when complete, and checked ends. */
#include "file.h"

#include "guard.h"
#include "mapped.h"
#include "mem.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define PEEK_CAPACITY 4096
#define WRITE_BUFFER  ((size_t)256 * 1024)
#define LINKS_MOST    40 /* as the kernel has it */

/* One system call moves at most this much on Linux; larger requests are cut, not refused. */
#define IO_CHUNK ((size_t)1 << 30)

struct file_in {
    int descriptor;
    const char *name;
    bool owned;  /* opened here, so closed here */
    off_t begin; /* where it stood when it was opened; −1: it cannot be set back */
    unsigned char ahead[PEEK_CAPACITY];
    size_t ahead_begin, ahead_end;
    bool stops;   /* a read waits for the alarm, too */
    int alarm[2]; /* a pipe: something to read there means stop */
};

struct file_out {
    int descriptor;
    char *name;             /* as messages give it */
    char *target;           /* what the temporary becomes; NULL when written in place */
    char *temporary;        /* NULL when written in place */
    struct guarded guarded; /* the temporary */
    bool owned;
    bool joined; /* the temporary is another process's */
    unsigned char *buffer;
    size_t used;
    bool flushed;  /* something has left the buffer */
    uint64_t room; /* bytes that have been taken for it; 0: none */
    bool mapped;   /* mappings fill the room faster */
};

/* A file that is opened must never become the place where messages go. */
static void fill_standard_descriptors(void)
{
    for (int descriptor = STDIN_FILENO; descriptor <= STDERR_FILENO; descriptor++) {
        if (fcntl(descriptor, F_GETFD) < 0 && errno == EBADF)
            open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY);
    }
}

void file_guard(void)
{
    fill_standard_descriptors();
    guard_open();
}

static bool is_standard(const char *path)
{
    return path == NULL || strcmp(path, "-") == 0;
}

bool file_open_input(struct file_in **result, const char *path, struct fault *fault)
{
    struct file_in *file = mem_zeroed(1, sizeof *file, "the input file", fault);
    struct stat info;

    if (file == NULL)
        return false;
    file->owned = !is_standard(path);
    file->name = file->owned ? path : "standard input";
    file->descriptor = file->owned ? open(path, O_RDONLY | O_CLOEXEC) : STDIN_FILENO;
    if (file->descriptor < 0)
        fault_raise_about(fault, STATUS_IO, file->name, "%s", strerror(errno));
    else if (fstat(file->descriptor, &info) == 0 && S_ISDIR(info.st_mode))
        fault_raise_about(fault, STATUS_IO, file->name, "%s", strerror(EISDIR));
    else {
        file->begin = lseek(file->descriptor, 0, SEEK_CUR);
        *result = file;
        return true;
    }
    file_in_close(file);
    return false;
}

bool file_in_rewind(struct file_in *file)
{
    struct stat info;

    if (file->begin < 0 || fstat(file->descriptor, &info) != 0 || !S_ISREG(info.st_mode) ||
        lseek(file->descriptor, file->begin, SEEK_SET) != file->begin)
        return false;
    file->ahead_begin = file->ahead_end = 0;
    return true;
}

const char *file_in_name(const struct file_in *file)
{
    return file->name;
}

bool file_in_is_standard(const struct file_in *file)
{
    return !file->owned;
}

bool file_in_remaining(const struct file_in *file, uint64_t *bytes)
{
    struct stat info;
    off_t position;

    if (fstat(file->descriptor, &info) != 0 || !S_ISREG(info.st_mode))
        return false;
    position = lseek(file->descriptor, 0, SEEK_CUR);
    if (position < 0)
        return false;
    *bytes = info.st_size > position ? (uint64_t)(info.st_size - position) : 0;
    *bytes += file->ahead_end - file->ahead_begin;
    return true;
}

/* Wait until something can be read, or the end has come; false if what comes is a stop. */
static bool wait_to_read(const struct file_in *file, struct fault *fault)
{
    struct pollfd watched[] = {{.fd = file->descriptor, .events = POLLIN},
                               {.fd = file->stops ? file->alarm[0] : -1, .events = POLLIN}};

    do {
        if (poll(watched, 2, -1) < 0 && errno != EINTR)
            return fault_raise_about(fault, STATUS_IO, file->name, "%s", strerror(errno));
        if (watched[1].revents != 0)
            return fault_raise_about(fault, STATUS_IO, file->name, "reading was stopped");
    } while (watched[0].revents == 0);
    return true;
}

/* Whether a call failed only because whoever gave us the descriptor has set it not to wait. */
static bool would_wait(ssize_t count)
{
    return count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
}

#define IN_TURN ((off_t)-1)

/* As much of size bytes as there is, from an offset or IN_TURN: from where the file stands, which moves on.
 */
static bool read_fully(const struct file_in *file, off_t from, unsigned char *bytes, size_t size, size_t *got,
                       struct fault *fault)
{
    bool waits = file->stops;

    *got = 0;
    while (*got < size) {
        size_t wish = size - *got < IO_CHUNK ? size - *got : IO_CHUNK;
        ssize_t count;
        if (waits && !wait_to_read(file, fault))
            return false;
        count = from == IN_TURN ? read(file->descriptor, bytes + *got, wish)
                                : pread(file->descriptor, bytes + *got, wish, from + (off_t)*got);
        if (count < 0 && errno == EINTR)
            continue;
        waits = file->stops || would_wait(count);
        if (would_wait(count))
            continue;
        if (count < 0)
            return fault_raise_about(fault, STATUS_IO, file->name, "%s", strerror(errno));
        if (count == 0)
            break;
        *got += (size_t)count;
    }
    return true;
}

/* Let so many bytes, or all that there is room for, be held ahead. */
static bool hold_ahead(struct file_in *file, size_t size, struct fault *fault)
{
    size_t held = file->ahead_end - file->ahead_begin;
    size_t more;

    if (held >= size)
        return true;
    memmove(file->ahead, file->ahead + file->ahead_begin, held);
    file->ahead_begin = 0;
    file->ahead_end = held;
    if (!read_fully(file, IN_TURN, file->ahead + held, size - held, &more, fault))
        return false;
    file->ahead_end += more;
    return true;
}

static size_t show_ahead(const struct file_in *file, void *bytes, size_t size)
{
    size_t held = file->ahead_end - file->ahead_begin;
    size_t shown = held < size ? held : size;

    memcpy(bytes, file->ahead + file->ahead_begin, shown);
    return shown;
}

bool file_in_peek(struct file_in *file, void *bytes, size_t size, size_t *got, struct fault *fault)
{
    if (!hold_ahead(file, size < PEEK_CAPACITY ? size : PEEK_CAPACITY, fault))
        return false;
    *got = show_ahead(file, bytes, size);
    return true;
}

/* Bytes that reading would give at once; 0 where nobody can tell. */
static size_t waiting_bytes(const struct file_in *file)
{
    int waiting = 0;

    if (file_in_is_regular(file))
        return PEEK_CAPACITY;
    return ioctl(file->descriptor, FIONREAD, &waiting) == 0 && waiting > 0 ? (size_t)waiting : 0;
}

bool file_in_glance(struct file_in *file, void *bytes, size_t size, size_t *got, struct fault *fault)
{
    size_t there = file->ahead_end - file->ahead_begin + waiting_bytes(file);

    return file_in_peek(file, bytes, there < size ? there : size, got, fault);
}

bool file_in_read(struct file_in *file, void *bytes, size_t size, size_t *got, struct fault *fault)
{
    size_t held = file->ahead_end - file->ahead_begin;
    size_t taken = held < size ? held : size;
    size_t more;

    memcpy(bytes, file->ahead + file->ahead_begin, taken);
    file->ahead_begin += taken;
    if (!read_fully(file, IN_TURN, (unsigned char *)bytes + taken, size - taken, &more, fault))
        return false;
    *got = taken + more;
    return true;
}

bool file_in_is_regular(const struct file_in *file)
{
    uint64_t remaining;

    return file_in_remaining(file, &remaining);
}

bool file_in_is_at(const struct file_in *file, const char *path)
{
    struct stat own, other;

    return fstat(file->descriptor, &own) == 0 && S_ISREG(own.st_mode) && stat(path, &other) == 0 &&
           own.st_dev == other.st_dev && own.st_ino == other.st_ino;
}

bool file_in_read_at(const struct file_in *file, uint64_t offset, void *bytes, size_t size, size_t *got,
                     struct fault *fault)
{
    off_t position = lseek(file->descriptor, 0, SEEK_CUR);
    off_t begin = position - (off_t)(file->ahead_end - file->ahead_begin) + (off_t)offset;

    if (position < 0)
        return fault_raise_about(fault, STATUS_IO, file->name, "%s", strerror(errno));
    return read_fully(file, begin, bytes, size, got, fault);
}

bool file_in_skip(struct file_in *file, uint64_t bytes, struct fault *fault)
{
    size_t held = file->ahead_end - file->ahead_begin;
    size_t taken = held < bytes ? held : (size_t)bytes;

    file->ahead_begin += taken;
    if (lseek(file->descriptor, (off_t)(bytes - taken), SEEK_CUR) < 0)
        return fault_raise_about(fault, STATUS_IO, file->name, "%s", strerror(errno));
    return true;
}

bool file_in_allow_stop(struct file_in *file, struct fault *fault)
{
    if (file->stops || file_in_is_regular(file))
        return true;
    if (pipe(file->alarm) != 0)
        return fault_raise_about(fault, STATUS_IO, file->name, "%s", strerror(errno));
    fcntl(file->alarm[0], F_SETFD, FD_CLOEXEC);
    fcntl(file->alarm[1], F_SETFD, FD_CLOEXEC);
    file->stops = true;
    return true;
}

void file_in_stop(struct file_in *file)
{
    ssize_t told = file->stops ? write(file->alarm[1], "", 1) : 0;

    (void)told; /* one byte always fits into a pipe of our own */
}

void file_in_close(struct file_in *file)
{
    if (file == NULL)
        return;
    if (file->stops) {
        close(file->alarm[0]);
        close(file->alarm[1]);
    }
    if (file->owned && file->descriptor >= 0)
        close(file->descriptor);
    mem_free(file);
}

/* What a symlink names, seen from the folder that the link is in; NULL with errno for anything else. */
static char *link_target(const char *path)
{
    char link[PATH_MAX];
    ssize_t length = readlink(path, link, sizeof link - 1);
    const char *slash = strrchr(path, '/');
    size_t folder;
    char *target;

    if (length < 0)
        return NULL;
    folder = slash == NULL || link[0] == '/' ? 0 : (size_t)(slash - path) + 1;
    target = malloc(folder + (size_t)length + 1);
    if (target != NULL) {
        memcpy(target, path, folder);
        memcpy(target + folder, link, (size_t)length);
        target[folder + (size_t)length] = '\0';
    }
    return target;
}

char *file_out_target(const char *path)
{
    char *target = strdup(path);

    for (int links = 0; target != NULL; links++) {
        char *next = link_target(target);
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

/* A name beside the target that nobody can guess and have taken; as short for a long name as for any. */
static char *temporary_name(const char *target, struct fault *fault)
{
    const char *slash = strrchr(target, '/');
    size_t folder = slash == NULL ? 0 : (size_t)(slash - target) + 1, size = folder + 48;
    char *name = mem_alloc(size, 1, "a file name", fault);
    uint64_t chance;

    if (name == NULL)
        return NULL;
    if (getentropy(&chance, sizeof chance) != 0) {
        fault_raise_about(fault, STATUS_IO, target, "a temporary name: %s", strerror(errno));
        mem_free(name);
        return NULL;
    }
    snprintf(name, size, "%.*svoxfilt-%016llx.part", (int)folder, target, (unsigned long long)chance);
    return name;
}

/* The permissions of a file that is replaced stay; a new file gets what the umask leaves. */
static bool open_temporary(struct file_out *file, const struct stat *existing, struct fault *fault)
{
    mode_t mode = existing == NULL ? 0666 : existing->st_mode & 0777;
    sigset_t before;
    int reason;

    file->temporary = temporary_name(file->target, fault);
    if (file->temporary == NULL)
        return false;
    guard_enter(&before);
    file->descriptor = open(file->temporary, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                            existing == NULL ? mode : 0600);
    reason = errno;
    file->guarded.path = file->temporary;
    if (file->descriptor >= 0)
        guard_add(&file->guarded);
    guard_leave(&before);
    if (file->descriptor < 0) {
        mem_free(file->temporary);
        file->temporary = NULL;
        return fault_raise_about(fault, STATUS_IO, file->name, "%s", strerror(reason));
    }
    if (existing != NULL && fchmod(file->descriptor, mode) != 0)
        return fault_raise_about(fault, STATUS_IO, file->name, "%s", strerror(errno));
    return true;
}

static bool open_target(struct file_out *file, const char *path, struct fault *fault)
{
    struct stat info;
    bool exists = stat(path, &info) == 0;

    if (exists && S_ISDIR(info.st_mode))
        return fault_raise_about(fault, STATUS_IO, path, "%s", strerror(EISDIR));
    if (exists && !S_ISREG(info.st_mode)) {
        file->descriptor = open(path, O_WRONLY | O_CLOEXEC);
        if (file->descriptor < 0)
            return fault_raise_about(fault, STATUS_IO, path, "%s", strerror(errno));
        return true;
    }
    if (exists && access(path, W_OK) != 0)
        return fault_raise_about(fault, STATUS_IO, path, "%s", strerror(errno));
    file->target = file_out_target(path);
    if (file->target == NULL)
        return fault_raise_about(fault, STATUS_IO, path, "%s", strerror(errno));
    return open_temporary(file, exists ? &info : NULL, fault);
}

/* /dev/stdout and its kin are written in place even where they lead to a regular file: a shell that
   redirected there expects its own file to grow. */
static bool names_descriptor(const char *path)
{
    return strcmp(path, "/dev/stdout") == 0 || strcmp(path, "/dev/stderr") == 0 ||
           strncmp(path, "/dev/fd/", 8) == 0 || strncmp(path, "/proc/self/fd/", 14) == 0;
}

static bool open_in_place(struct file_out *file, const char *path, struct fault *fault)
{
    file->descriptor = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    if (file->descriptor < 0)
        return fault_raise_about(fault, STATUS_IO, path, "%s", strerror(errno));
    return true;
}

static bool open_output(struct file_out **result, const char *path, bool is_text, struct fault *fault)
{
    struct file_out *file = mem_zeroed(1, sizeof *file, "the output file", fault);
    bool opened;

    if (file == NULL)
        return false;
    file->descriptor = -1;
    file->owned = !is_standard(path);
    file->name = mem_text(file->owned ? path : "standard output", fault);
    file->buffer = mem_alloc(WRITE_BUFFER, 1, "the output buffer", fault);
    opened = file->name != NULL && file->buffer != NULL;
    if (opened && !file->owned)
        file->descriptor = STDOUT_FILENO;
    else if (opened && names_descriptor(path))
        opened = open_in_place(file, path, fault);
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

bool file_open_output(struct file_out **file, const char *path, struct fault *fault)
{
    return open_output(file, path, false, fault);
}

bool file_open_text_output(struct file_out **file, const char *path, struct fault *fault)
{
    return open_output(file, path, true, fault);
}

const char *file_out_name(const struct file_out *file)
{
    return file->name;
}

static bool wait_to_write(const struct file_out *file, struct fault *fault)
{
    struct pollfd watched = {.fd = file->descriptor, .events = POLLOUT};

    return poll(&watched, 1, -1) >= 0 || errno == EINTR ||
           fault_raise_about(fault, STATUS_IO, file->name, "%s", strerror(errno));
}

static bool write_fully(struct file_out *file, const unsigned char *bytes, size_t size, struct fault *fault)
{
    file->flushed = file->flushed || size > 0;
    while (size > 0) {
        ssize_t count = write(file->descriptor, bytes, size < IO_CHUNK ? size : IO_CHUNK);
        if (count < 0 && errno == EINTR)
            continue;
        if (would_wait(count)) {
            if (!wait_to_write(file, fault))
                return false;
            continue;
        }
        if (count < 0)
            return fault_raise_about(fault, STATUS_IO, file->name, "%s", strerror(errno));
        bytes += count;
        size -= (size_t)count;
    }
    return true;
}

static bool flush(struct file_out *file, struct fault *fault)
{
    size_t used = file->used;

    file->used = 0;
    return write_fully(file, file->buffer, used, fault);
}

bool file_out_write(struct file_out *file, const void *bytes, size_t size, struct fault *fault)
{
    if (size > WRITE_BUFFER - file->used && !flush(file, fault))
        return false;
    if (size >= WRITE_BUFFER)
        return write_fully(file, bytes, size, fault);
    memcpy(file->buffer + file->used, bytes, size);
    file->used += size;
    return true;
}

bool file_out_flush(struct file_out *file, struct fault *fault)
{
    return flush(file, fault);
}

bool file_out_is_renamed(const struct file_out *file)
{
    return file->temporary != NULL;
}

const char *file_out_temporary(const struct file_out *file)
{
    return file->temporary;
}

static bool open_joined(struct file_out *file, struct fault *fault)
{
    sigset_t before;

    file->descriptor = open(file->temporary, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
    if (file->descriptor < 0)
        return fault_raise_about(fault, STATUS_IO, file->name, "%s", strerror(errno));
    file->guarded.path = file->temporary;
    guard_enter(&before);
    guard_add(&file->guarded);
    guard_leave(&before);
    file->joined = true;
    return true;
}

bool file_join_output(struct file_out **result, const char *path, const char *temporary, struct fault *fault)
{
    struct file_out *file = mem_zeroed(1, sizeof *file, "the output file", fault);

    if (file == NULL)
        return false;
    file->owned = true;
    file->name = mem_text(path, fault);
    file->temporary = file->name == NULL ? NULL : mem_text(temporary, fault);
    if (file->temporary != NULL && open_joined(file, fault)) {
        *result = file;
        return true;
    }
    mem_free(file->temporary);
    file->temporary = NULL;
    file_out_close(file);
    return false;
}

/* Only a lack of room is worth telling: whatever else speaks against it, writing finds out. */
static bool is_full(int reason)
{
    return reason == ENOSPC || reason == EDQUOT || reason == EFBIG;
}

bool file_out_reserve(struct file_out *file, uint64_t bytes, struct fault *fault)
{
    int failed;

    do {
        failed = fallocate(file->descriptor, 0, 0, (off_t)bytes);
    } while (failed != 0 && errno == EINTR);
    file->room = failed == 0 ? bytes : 0;
    file->mapped = failed == 0 && mapped_is_faster(file->descriptor);
    return failed == 0 || !is_full(errno) ||
           fault_raise_about(fault, STATUS_IO, file->name, "%s", strerror(errno));
}

bool file_out_extend(const struct file_out *file, uint64_t bytes, struct fault *fault)
{
    struct stat info;
    bool done = fstat(file->descriptor, &info) == 0 &&
                ((uint64_t)info.st_size >= bytes || ftruncate(file->descriptor, (off_t)bytes) == 0);

    return done || fault_raise_about(fault, STATUS_IO, file->name, "%s", strerror(errno));
}

/* Nobody else should know the temporary; whoever cuts it short takes what has been written. */
static bool has_its_room(const struct file_out *file, struct fault *fault)
{
    struct stat now;

    return file->room == 0 || fstat(file->descriptor, &now) != 0 || (uint64_t)now.st_size >= file->room ||
           fault_raise_about(fault, STATUS_IO, file->name, "the temporary file has been truncated");
}

/* How many bytes, from the first on, need not be written any more. */
static bool store(const struct file_out *file, uint64_t offset, const void *bytes, size_t size,
                  size_t *stored, struct fault *fault)
{
    *stored = 0;
    if (!file->mapped || offset > file->room || size > file->room - offset)
        return true;
    *stored = mapped_store(file->descriptor, offset, bytes, size);
    return *stored == size || has_its_room(file, fault);
}

bool file_out_write_at(const struct file_out *file, uint64_t offset, const void *bytes, size_t size,
                       struct fault *fault)
{
    size_t done;

    if (!store(file, offset, bytes, size, &done, fault))
        return false;
    while (done < size) {
        size_t wanted = size - done < IO_CHUNK ? size - done : IO_CHUNK;
        ssize_t count =
            pwrite(file->descriptor, (const unsigned char *)bytes + done, wanted, (off_t)(offset + done));
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            return fault_raise_about(fault, STATUS_IO, file->name, "%s", strerror(errno));
        done += (size_t)count;
    }
    return true;
}

bool file_out_unseen(const struct file_out *file)
{
    return file->temporary != NULL || !file->flushed;
}

static bool give_name(struct file_out *file, struct fault *fault)
{
    sigset_t before;
    bool named;
    int reason;

    guard_enter(&before);
    named = rename(file->temporary, file->target) == 0;
    reason = errno;
    if (named)
        guard_drop(&file->guarded);
    guard_leave(&before);
    if (!named)
        return fault_raise_about(fault, STATUS_IO, file->name, "%s", strerror(reason));
    mem_free(file->temporary);
    file->temporary = NULL;
    return true;
}

bool file_out_complete(struct file_out *file, struct fault *fault)
{
    int descriptor = file->descriptor;

    if (descriptor < 0)
        return true;
    if (!flush(file, fault) || !has_its_room(file, fault))
        return false;
    mem_free(file->buffer);
    file->buffer = NULL;
    file->descriptor = -1;
    return close(descriptor) == 0 || fault_raise_about(fault, STATUS_IO, file->name, "%s", strerror(errno));
}

bool file_out_commit(struct file_out *file, struct fault *fault)
{
    return file_out_complete(file, fault) && (file->temporary == NULL || give_name(file, fault));
}

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

int file_out_nameless(const struct file_out *file, struct fault *fault)
{
    const char *folder = getenv("TMPDIR"), *slash = NULL;
    sigset_t before;
    int descriptor, reason;

    if (file->target != NULL) {
        slash = strrchr(file->target, '/');
        folder = slash == NULL ? "." : file->target;
    } else if (folder == NULL || *folder == '\0') {
        folder = "/tmp";
    }
    /* The program may not end between its name and the loss of it. */
    guard_enter(&before);
    descriptor = make_nameless(folder, slash == NULL ? strlen(folder) : (size_t)(slash - folder));
    reason = errno;
    guard_leave(&before);
    if (descriptor < 0)
        fault_raise_about(fault, STATUS_IO, file->name, "a spool file: %s", strerror(reason));
    return descriptor;
}

static void remove_temporary(struct file_out *file)
{
    sigset_t before;

    guard_enter(&before);
    if (!file->joined)
        unlink(file->temporary);
    guard_drop(&file->guarded);
    guard_leave(&before);
    mem_free(file->temporary);
}

void file_out_close(struct file_out *file)
{
    if (file == NULL)
        return;
    if (file->owned && file->descriptor >= 0)
        close(file->descriptor);
    if (file->temporary != NULL)
        remove_temporary(file);
    free(file->target);
    mem_free(file->buffer);
    mem_free(file->name);
    mem_free(file);
}
