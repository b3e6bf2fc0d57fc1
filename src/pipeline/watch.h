/* Watches: whether the files of an input are at the end of a run what they were at its start. */
#ifndef WATCH_H
#define WATCH_H

#include "base/diag.h"
#include "base/file_in.h"
#include "format/format.h"

#include <stddef.h>

/* The files of an input as they were at the start. Empty if all is zero. */
struct watch {
    const struct file_in *file;
    struct file_in_state state;
    struct watched *beside; /* the input's other files */
    size_t count;
};

/* Remember the state of all files of an open source: its own, which stays open, and those beside it. */
bool watch_begin(struct watch *watch, const struct source *source, struct fault *fault);

/* The name of a regular file whose size or time of change is another one now, or which has gone; NULL: there
   is none. To be asked once all samples have been read, and before an output can replace an input. It may be
   asked more than once. */
const char *watch_changed(const struct watch *watch);

void watch_end(struct watch *watch);

#endif
