/* Conflicts of paths: no file that a command writes may be another one that it reads or writes.

   Files are the same whatever they are called: through links, through a name in another folder, as a picture
   of a stack, or as the samples that go beside a header. A file that is not there yet is known by its folder
   and its name. An output may replace its own input, which is read before. */
#ifndef PATH_CONFLICTS_H
#define PATH_CONFLICTS_H

#include "base/diag.h"
#include "pipeline/pipeline.h"
#include "options.h"

#include <stdbool.h>
#include <stddef.h>

/* Refuse outputs in a directory, one an input, that conflict with each other or with another input. */
bool path_conflicts_check_outputs(const struct options *options, char *const *outputs, struct fault *fault);

/* Refuse a report, a preview and a plot that conflict with outputs, inputs, taps files or each other; and an
   output that conflicts with a taps file. */
bool path_conflicts_check_extras(const struct options *options, char *const *outputs, struct fault *fault);

/* Refuse tees of an open pipeline that conflict with any of these, or with each other unless a pattern
   numbers them. */
bool path_conflicts_check_tees(const struct options *options, const struct pipeline_request *request,
                               struct fault *fault);

/* Refuse a file that holds samples of an open input beside their header. No path is none. */
bool path_conflicts_check_samples(const struct source *source, const char *option, const char *path,
                                  struct fault *fault);

#endif
