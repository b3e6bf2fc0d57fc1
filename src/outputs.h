/* The outputs of a command: what each is called, and that none gets into another's way. */
#ifndef OUTPUTS_H
#define OUTPUTS_H

#include "diag.h"
#include "options.h"

#include <stdbool.h>
#include <stddef.h>

struct outputs {
    char **paths; /* one an input, as file_open_output takes them */
    size_t count;
};

/* Nothing is written; what cannot be is refused here, before anything is. */
bool outputs_name(struct outputs *outputs, const struct options *options, struct fault *fault);
void outputs_free(struct outputs *outputs);

#endif
