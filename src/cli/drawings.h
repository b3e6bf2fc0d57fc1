/* Drawings: the pictures that a run leaves beside its output for people to look at. */
#ifndef DRAWINGS_H
#define DRAWINGS_H

#include "base/diag.h"
#include "pipeline/pipeline.h"
#include "bench/plot.h"
#include "options.h"
#include "preview.h"

#include <stdbool.h>

struct drawings {
    const struct options *options;
    struct preview preview;
    struct observer observer;
    struct plot plot;
};

/* The observers that the run needs for them; the drawings stay where they are from here on. */
struct observers drawings_observers(struct drawings *drawings, const struct options *options);

/* Before the run: files that cannot be written are refused. */
bool drawings_open(struct drawings *drawings, struct fault *fault);

/* After it, while the pipeline is still there: draw, and add the files to those that get their names
   together. */
bool drawings_finish(struct drawings *drawings, const struct pipeline *pipeline, struct file_set *set,
                     struct fault *fault);

/* Whatever has been done so far, or failed; what was not committed is removed. */
void drawings_close(struct drawings *drawings);

#endif
