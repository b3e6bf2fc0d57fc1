/* The outputs of a command: what each is called, and whether inputs may have them. */
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

/* Refuse what cannot be written, before anything is: several inputs without a directory, and outputs in one
   that would replace each other, or another's input. */
bool outputs_check(const struct outputs *outputs, const struct options *options, struct fault *fault);

void outputs_free(struct outputs *outputs);

#endif
