/* Previews: a picture of the middle sections of a volume before and after a run, and of what changed. */
#ifndef PREVIEW_H
#define PREVIEW_H

#include "base/diag.h"
#include "base/file_out.h"
#include "run/sections.h"

#include <stdbool.h>

/* A preview whose picture is drawn after the run. */
struct preview {
    struct sections sections;
    struct file_out *file;
};

/* A file that cannot be written is refused here, before anything runs. */
bool preview_open(struct preview *preview, const char *path, struct fault *fault);

/* The observer that the run has to be given. */
struct observer preview_observer(struct preview *preview);

/* After the run, whose plan is still there: draw the picture. */
bool preview_finish(struct preview *preview, struct fault *fault);

/* Whatever has been done so far, or failed; what was not committed is removed. */
void preview_close(struct preview *preview);

#endif
