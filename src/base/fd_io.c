/* Descriptors: bytes that are moved whole, however the system cuts what is asked of it. */
#include "fd_io.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

void fd_fill_standard(void)
{
    for (int descriptor = STDIN_FILENO; descriptor <= STDERR_FILENO; descriptor++) {
        if (fcntl(descriptor, F_GETFD) < 0 && errno == EBADF)
            open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY);
    }
}

bool fd_would_wait(ssize_t count)
{
    return count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
}

/* Whether a call that gave this count is worth another: it moved something, or failed for the moment only. */
static bool goes_on(ssize_t count)
{
    return count > 0 || (count < 0 && errno == EINTR);
}

static bool wait_to_write(int descriptor)
{
    struct pollfd watched = {.fd = descriptor, .events = POLLOUT};

    return poll(&watched, 1, -1) >= 0 || errno == EINTR;
}

/* A device that takes nothing more may say so with 0, which asks for no other try. */
static bool fail_to_write(ssize_t count)
{
    if (count == 0)
        errno = ENOSPC;
    return false;
}

bool fd_write(int descriptor, const void *bytes, size_t size)
{
    for (size_t done = 0; done < size;) {
        ssize_t count = write(descriptor, (const char *)bytes + done, size - done);
        if (!goes_on(count) && !(fd_would_wait(count) && wait_to_write(descriptor)))
            return fail_to_write(count);
        done += count > 0 ? (size_t)count : 0;
    }
    return true;
}

bool fd_write_at(int descriptor, uint64_t offset, const void *bytes, size_t size)
{
    for (size_t done = 0; done < size;) {
        ssize_t count = pwrite(descriptor, (const char *)bytes + done, size - done, (off_t)(offset + done));
        if (!goes_on(count))
            return fail_to_write(count);
        done += count > 0 ? (size_t)count : 0;
    }
    return true;
}

bool fd_read_at(int descriptor, uint64_t offset, void *bytes, size_t size, size_t *got)
{
    *got = 0;
    while (*got < size) {
        ssize_t count = pread(descriptor, (char *)bytes + *got, size - *got, (off_t)(offset + *got));
        if (!goes_on(count))
            return count == 0;
        *got += count > 0 ? (size_t)count : 0;
    }
    return true;
}

bool fd_sync(int descriptor)
{
    int failed;

    do {
        failed = fsync(descriptor);
    } while (failed != 0 && errno == EINTR);
    return failed == 0 || errno == EINVAL || errno == EROFS || errno == ENOTSUP;
}
