/* Input and output by descriptor, until all bytes are moved: calls that were interrupted, or moved a part,
   are repeated. Into tmpfs, whose pages are the file, many threads store through mappings, since writes would
   wait for each other at the file's lock. The kernel makes those stores: if somebody cuts the file short,
   they count fewer bytes, while a store by the program would raise SIGBUS. */
#include "fd_io.h"

#include "size.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/vfs.h>
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

/* ---- stores through a mapping ---- */

/* Bytes that are mapped at a time: what is mapped counts as the program's memory. */
#define WINDOW ((size_t)2 << 20)

/* One thread was measured to take three to five times as long to store through a mapping as to write. */
#define FEWEST_THREADS 4

bool fd_prefers_mapping(int descriptor, unsigned threads)
{
    struct statfs system;

    return threads >= FEWEST_THREADS && fstatfs(descriptor, &system) == 0 && system.f_type == TMPFS_MAGIC;
}

/* Have the kernel copy into the mapping. Returns how many bytes it could. */
static size_t store(unsigned char *to, const unsigned char *from, size_t size)
{
    size_t stored = 0;

    while (stored < size) {
        const struct iovec target = {to + stored, size - stored};
        const struct iovec source = {(void *)(uintptr_t)(from + stored), size - stored};
        ssize_t count = process_vm_readv(getpid(), &target, 1, &source, 1, 0);
        if (count <= 0)
            break;
        stored += (size_t)count;
    }
    return stored;
}

/* Map the part of the file from `begin` on, and store behind the first `skipped` bytes of it. */
static size_t store_window(int descriptor, uint64_t begin, size_t skipped, const unsigned char *from,
                           size_t size)
{
    unsigned char *window =
        mmap(NULL, skipped + size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, (off_t)begin);
    size_t stored;

    if (window == MAP_FAILED)
        return 0;
    stored = store(window + skipped, from, size);
    munmap(window, skipped + size);
    return stored;
}

size_t fd_store_mapped(int descriptor, uint64_t offset, const void *bytes, size_t size)
{
    const unsigned char *from = bytes;
    size_t done = 0;

    while (done < size) {
        uint64_t at = offset + done;
        size_t skipped = (size_t)(at % WINDOW), wanted = size_least(size - done, WINDOW - skipped);
        size_t stored = store_window(descriptor, at - skipped, skipped, from + done, wanted);
        done += stored;
        if (stored < wanted)
            break;
    }
    return done;
}
