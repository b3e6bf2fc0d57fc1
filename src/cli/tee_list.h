/* Tees as a command line asks for them: states of the last stage, each into a file. */
#ifndef TEE_LIST_H
#define TEE_LIST_H

#include "base/diag.h"
#include "pipeline/pipeline.h"
#include "options.h"

#include <stdbool.h>
#include <stddef.h>

struct tee_list {
    struct pipeline_tee *tees;
    const char *pattern; /* that names them; NULL: each has a name of its own */
    char **names;        /* of those that a pattern names */
    size_t count;
};

/* For an open pipeline: those of --tee, and those of --frames as far as the steps go. What cannot be had is
 * refused. */
bool tee_list_make(struct tee_list *list, const struct options *options, const struct pipeline *pipeline,
                   struct fault *fault);
void tee_list_free(struct tee_list *list);

/* The option that asks for the one or the other; NULL: neither. */
const char *tee_list_option(const struct options *options);

#endif
