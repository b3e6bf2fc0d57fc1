/* The outputs of a command: what each is called, and that no file which a command writes is another one that
   it reads or writes.

   Files are the same whatever they are called: through links, through a name in another folder, as a picture
   of a stack, or as the samples that go beside a header. An output may replace its own input, which is read
   before. */
#ifndef OUTPUTS_H
#define OUTPUTS_H

#include "base/diag.h"
#include "pipeline/pipeline.h"
#include "options.h"

#include <stdbool.h>
#include <stddef.h>

struct outputs {
    char **paths; /* one an input, as file_out_open takes them */
    size_t count;
};

/* Name the outputs. Nothing is checked yet. If there are several ranks, rank 0 decides whether --output is a
   directory. */
bool outputs_name(struct outputs *outputs, const struct options *options, struct fault *fault);
void outputs_free(struct outputs *outputs);

/* Refuse several inputs without a directory, and outputs in one that would replace each other or another's
 * input. */
bool outputs_check(const struct outputs *outputs, const struct options *options, struct fault *fault);

/* Refuse a report, a preview or a plot that would replace an output, an input, a taps file or each other; and
   an output that would replace a taps file. */
bool outputs_check_extras(const struct options *options, char *const *outputs, struct fault *fault);

/* Refuse tees of an open pipeline that would replace any of these, or each other unless a pattern numbers
 * them. */
bool outputs_check_tees(const struct options *options, const struct pipeline_request *request,
                        struct fault *fault);

/* Refuse to write to `path` if that holds samples of an open input beside their header. A path of NULL is
 * fine. */
bool outputs_spare_samples(const struct source *source, const char *option, const char *path,
                           struct fault *fault);

#endif
