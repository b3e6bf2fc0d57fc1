/* Input files as byte streams. Bytes that were looked at but not taken are held in `ahead`, so the descriptor
   is up to 4096 bytes past the position that callers see. A cancellable read polls the file together with a
   pipe of its own, into which file_in_cancel writes a byte that nobody ever takes out: every later read finds
   it, too. */
#include "file_in.h"

#include "fd_io.h"
#include "mem.h"
#include "path.h"
#include "size.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define PEEK_CAPACITY 4096

struct file_in {
    int descriptor;
    const char *name;
    bool owned;  /* opened here, so closed here */
    off_t begin; /* the position when it was opened; −1: it cannot be set */
    unsigned char ahead[PEEK_CAPACITY];
    size_t ahead_begin, ahead_end;
    bool cancellable;
    int cancel_pipe[2]; /* something to read there means that it is cancelled */
};

static bool refuse(const struct file_in *file, struct fault *fault)
{
    return fault_set_for(fault, STATUS_IO, file->name, "%s", strerror(errno));
}

bool file_in_open(struct file_in **result, const char *path, struct fault *fault)
{
    struct file_in *file = mem_zeroed(1, sizeof *file, "the input file", fault);
    struct stat info;

    if (file == NULL)
        return false;
    file->owned = !path_is_standard(path);
    file->name = file->owned ? path : "standard input";
    file->descriptor = file->owned ? open(path, O_RDONLY | O_CLOEXEC) : STDIN_FILENO;
    if (file->descriptor < 0)
        refuse(file, fault);
    else if (fstat(file->descriptor, &info) == 0 && S_ISDIR(info.st_mode))
        fault_set_for(fault, STATUS_IO, file->name, "%s", strerror(EISDIR));
    else {
        /* Standard input may be a file that somebody has read a part of: it begins where it stands. */
        file->begin = lseek(file->descriptor, 0, SEEK_CUR);
        *result = file;
        return true;
    }
    file_in_close(file);
    return false;
}

bool file_in_rewind(struct file_in *file)
{
    if (file->begin < 0 || !file_in_is_regular(file) ||
        lseek(file->descriptor, file->begin, SEEK_SET) != file->begin)
        return false;
    file->ahead_begin = file->ahead_end = 0;
    return true;
}

const char *file_in_name(const struct file_in *file)
{
    return file->name;
}

void file_in_call(struct file_in *file, const char *name)
{
    file->name = name;
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
    /* Bytes held ahead have left the descriptor, but not reached the caller. */
    *bytes += file->ahead_end - file->ahead_begin;
    return true;
}

/* The state of what fstat or stat has found. */
static struct file_in_state state_of(const struct stat *info)
{
    if (!S_ISREG(info->st_mode))
        return (struct file_in_state){.bytes = 0};
    return (struct file_in_state){(uint64_t)info->st_size, (uint64_t)info->st_mtim.tv_sec * 1000000000 +
                                                               (uint64_t)info->st_mtim.tv_nsec};
}

struct file_in_state file_in_state(const struct file_in *file)
{
    struct stat info;

    return fstat(file->descriptor, &info) == 0 ? state_of(&info) : (struct file_in_state){.bytes = 0};
}

struct file_in_state file_in_state_at(const char *path)
{
    struct stat info;

    return stat(path, &info) == 0 ? state_of(&info) : (struct file_in_state){.bytes = 0};
}

/* Wait until something can be read, or the end has come; false if it is cancelled. */
static bool wait_to_read(const struct file_in *file, struct fault *fault)
{
    struct pollfd watched[] = {{.fd = file->descriptor, .events = POLLIN},
                               {.fd = file->cancellable ? file->cancel_pipe[0] : -1, .events = POLLIN}};

    /* A signal may interrupt the wait; then both are asked again. */
    do {
        if (poll(watched, 2, -1) < 0 && errno != EINTR)
            return refuse(file, fault);
        if (watched[1].revents != 0)
            return fault_set_for(fault, STATUS_IO, file->name, "reading was stopped");
    } while (watched[0].revents == 0);
    return true;
}

/* Read at the descriptor's position until `size` bytes or the end have come. A read of a pipe gives what is
   there, so it is repeated until all has come. */
static bool read_in_turn(const struct file_in *file, unsigned char *bytes, size_t size, size_t *got,
                         struct fault *fault)
{
    bool waits = file->cancellable;

    *got = 0;
    while (*got < size) {
        ssize_t count;
        if (waits && !wait_to_read(file, fault))
            return false;
        count = read(file->descriptor, bytes + *got, size - *got);
        if (count < 0 && errno == EINTR)
            continue;
        /* A descriptor that was given to us non-blocking is polled as well, once it has nothing. */
        waits = file->cancellable || fd_would_wait(count);
        if (fd_would_wait(count))
            continue;
        if (count < 0)
            return refuse(file, fault);
        if (count == 0)
            break;
        *got += (size_t)count;
    }
    return true;
}

/* Hold at least `size` bytes ahead, if the file has them. */
static bool hold_ahead(struct file_in *file, size_t size, struct fault *fault)
{
    size_t held = file->ahead_end - file->ahead_begin;
    size_t more;

    if (held >= size)
        return true;
    memmove(file->ahead, file->ahead + file->ahead_begin, held);
    file->ahead_begin = 0;
    file->ahead_end = held;
    if (!read_in_turn(file, file->ahead + held, size - held, &more, fault))
        return false;
    file->ahead_end += more;
    return true;
}

bool file_in_peek(struct file_in *file, void *bytes, size_t size, size_t *got, struct fault *fault)
{
    size_t held;

    if (!hold_ahead(file, size_least(size, PEEK_CAPACITY), fault))
        return false;
    held = file->ahead_end - file->ahead_begin;
    *got = size_least(held, size);
    memcpy(bytes, file->ahead + file->ahead_begin, *got);
    return true;
}

/* Bytes that a read would get without waiting; 0 if the system cannot tell. */
static size_t waiting_bytes(const struct file_in *file)
{
    int waiting = 0;

    if (file_in_is_regular(file))
        return PEEK_CAPACITY;
    return ioctl(file->descriptor, FIONREAD, &waiting) == 0 && waiting > 0 ? (size_t)waiting : 0;
}

bool file_in_peek_nonblocking(struct file_in *file, void *bytes, size_t size, size_t *got,
                              struct fault *fault)
{
    size_t there = file->ahead_end - file->ahead_begin + waiting_bytes(file);

    return file_in_peek(file, bytes, size_least(there, size), got, fault);
}

bool file_in_read(struct file_in *file, void *bytes, size_t size, size_t *got, struct fault *fault)
{
    size_t held = file->ahead_end - file->ahead_begin;
    size_t taken = size_least(held, size), more;

    memcpy(bytes, file->ahead + file->ahead_begin, taken);
    file->ahead_begin += taken;
    if (!read_in_turn(file, (unsigned char *)bytes + taken, size - taken, &more, fault))
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
    /* Offsets count from the position that the caller sees, which is behind the descriptor's by what is held
       ahead. */
    off_t begin = position - (off_t)(file->ahead_end - file->ahead_begin) + (off_t)offset;

    if (position < 0)
        return refuse(file, fault);
    return fd_read_at(file->descriptor, (uint64_t)begin, bytes, size, got) || refuse(file, fault);
}

bool file_in_skip(struct file_in *file, uint64_t bytes, struct fault *fault)
{
    size_t held = file->ahead_end - file->ahead_begin;
    size_t taken = held < bytes ? held : (size_t)bytes;

    file->ahead_begin += taken;
    if (lseek(file->descriptor, (off_t)(bytes - taken), SEEK_CUR) < 0)
        return refuse(file, fault);
    return true;
}

bool file_in_make_cancellable(struct file_in *file, struct fault *fault)
{
    if (file->cancellable || file_in_is_regular(file))
        return true;
    if (pipe(file->cancel_pipe) != 0)
        return refuse(file, fault);
    /* A program that is started meanwhile must not hold the pipe open. */
    fcntl(file->cancel_pipe[0], F_SETFD, FD_CLOEXEC);
    fcntl(file->cancel_pipe[1], F_SETFD, FD_CLOEXEC);
    file->cancellable = true;
    return true;
}

void file_in_cancel(struct file_in *file)
{
    ssize_t written = file->cancellable ? write(file->cancel_pipe[1], "", 1) : 0;

    (void)written; /* one byte always fits into a pipe of our own */
}

void file_in_close(struct file_in *file)
{
    if (file == NULL)
        return;
    if (file->cancellable) {
        close(file->cancel_pipe[0]);
        close(file->cancel_pipe[1]);
    }
    if (file->owned && file->descriptor >= 0)
        close(file->descriptor);
    mem_free(file);
}
