/* Spools: bytes that are kept for a while, in a file without a name. */
#include "spool.h"

#include <errno.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

bool spool_create(struct spool *spool, const struct file_out *beside, struct fault *fault)
{
    spool->descriptor = file_out_nameless(beside, fault);
    spool->output = file_out_name(beside);
    return spool->descriptor >= 0;
}

void spool_close(struct spool *spool)
{
    if (spool->descriptor >= 0)
        close(spool->descriptor);
    spool->descriptor = -1;
}

static bool refuse(const struct spool *spool, const char *reason, struct fault *fault)
{
    return fault_raise_about(fault, STATUS_IO, spool->output, "its spool file: %s", reason);
}

bool spool_write(const struct spool *spool, uint64_t offset, const void *bytes, size_t size,
                 struct fault *fault)
{
    for (size_t done = 0; done < size;) {
        ssize_t count =
            pwrite(spool->descriptor, (const char *)bytes + done, size - done, (off_t)(offset + done));
        if (count < 0 && errno != EINTR)
            return refuse(spool, strerror(errno), fault);
        done += count > 0 ? (size_t)count : 0;
    }
    return true;
}

bool spool_read(const struct spool *spool, uint64_t offset, void *bytes, size_t size, struct fault *fault)
{
    for (size_t done = 0; done < size;) {
        ssize_t count = pread(spool->descriptor, (char *)bytes + done, size - done, (off_t)(offset + done));
        if (count == 0)
            return refuse(spool, "it became shorter", fault);
        if (count < 0 && errno != EINTR)
            return refuse(spool, strerror(errno), fault);
        done += count > 0 ? (size_t)count : 0;
    }
    return true;
}
