/* Joint sinks: places for samples in a file that several processes write, of which another sink wrote the
 * header. */
#ifndef JOINT_H
#define JOINT_H

#include "base/file_out.h"
#include "format.h"

/* Planes go to their places in the file, from so many bytes after its beginning on. Whoever opened the file
   completes and closes it; the sink has nothing of its own. */
struct sink joint_sink(struct file_out *file, const struct header *header, uint64_t begin);

#endif
