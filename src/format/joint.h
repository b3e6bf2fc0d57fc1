/* Joint sinks: places for samples in a file that several processes write, of which another sink wrote the
 * header. */
#ifndef JOINT_H
#define JOINT_H

#include "format.h"

/* Planes go to their places in the file. Whoever opened the file completes and closes it; the sink has
   nothing of its own. */
struct sink joint_sink(const struct header *header, struct sink_place place);

#endif
