/* Spools: planes that are kept between two passes, in a file without a name. */
#include "spool.h"

#include <errno.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

bool spool_create(struct spool *spool, const struct file_out *beside, size_t plane_bytes, struct fault *fault)
{
    spool->descriptor = file_out_nameless(beside, fault);
    spool->plane_bytes = plane_bytes;
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
    return fault_raise(fault, STATUS_IO, "%s: its spool file: %s", spool->output, reason);
}

static off_t offset_of(const struct spool *spool, size_t plane)
{
    return (off_t)plane * (off_t)spool->plane_bytes;
}

bool spool_write(struct spool *spool, const void *samples, struct range planes, struct fault *fault)
{
    size_t size = planes.count * spool->plane_bytes, done = 0;
    off_t offset = offset_of(spool, planes.first);

    while (done < size) {
        ssize_t count =
            pwrite(spool->descriptor, (const char *)samples + done, size - done, offset + (off_t)done);
        if (count < 0 && errno != EINTR)
            return refuse(spool, strerror(errno), fault);
        done += count > 0 ? (size_t)count : 0;
    }
    return true;
}

bool spool_read(struct spool *spool, void *samples, struct range planes, struct fault *fault)
{
    size_t size = planes.count * spool->plane_bytes, done = 0;
    off_t offset = offset_of(spool, planes.first);

    while (done < size) {
        ssize_t count = pread(spool->descriptor, (char *)samples + done, size - done, offset + (off_t)done);
        if (count == 0)
            return refuse(spool, "it has become shorter", fault);
        if (count < 0 && errno != EINTR)
            return refuse(spool, strerror(errno), fault);
        done += count > 0 ? (size_t)count : 0;
    }
    return true;
}
