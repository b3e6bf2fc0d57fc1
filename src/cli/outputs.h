/* The outputs of a command: what each is called, and that none gets into another's way. */
#ifndef OUTPUTS_H
#define OUTPUTS_H

#include "base/diag.h"
#include "options.h"

#include <stdbool.h>
#include <stddef.h>

struct outputs {
    char **paths; /* one an input, as file_out_open takes them */
    size_t count;
};

/* Whether the paths can be written is checked elsewhere. If there are several ranks, rank 0 decides
   whether the output is a directory. */
bool outputs_name(struct outputs *outputs, const struct options *options, struct fault *fault);

/* Nothing is written; what cannot be is refused here, before anything is. */
bool outputs_check(const struct outputs *outputs, const struct options *options, struct fault *fault);

/* Refuse a file that an option asks for beside them, if it is one of them, one that the runs read, or that of
   another such option. */
bool outputs_leave_room(const struct outputs *outputs, const struct options *options, struct fault *fault);
/* Refuse the file of a tee that is one of them, one that the runs read, or that of such an option; and a tee
   whose file is that of another one. With a header go the samples beside it. */
bool outputs_admit(const struct outputs *outputs, const struct options *options, const char *path,
                   struct fault *fault);
bool outputs_differ(const struct options *options, const char *path, const char *other, struct fault *fault);
/* Refuse a file of a run that holds samples of its input beside their header; and the file of the report,
   which comes after all runs, if it does. */
bool outputs_spare_samples(const struct options *options, const struct pipeline *pipeline,
                           struct fault *fault);
bool outputs_spare_from_report(const struct options *options, const struct pipeline *pipeline,
                               struct fault *fault);

void outputs_free(struct outputs *outputs);

#endif
