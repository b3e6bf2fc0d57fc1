/* Stage requests: what a command line asks of the stages of a chain, before there is a grid. */
#ifndef STAGE_REQUEST_H
#define STAGE_REQUEST_H

#include "base/diag.h"
#include "edge.h"
#include "filter.h"
#include "flux.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The value of --sigma. */
struct heat_sigma {
    double value;
    bool in_spacing; /* in units of spacing, not samples */
};

enum {
#define STAGE_OPTION(constant, letter, name, argument, kind, type, member, standard, help)                   \
    STAGE_PLACE_##constant,
#include "stage_options.def"
    STAGE_OPTIONS /* how many there are */
};

/* A bit for each option of a stage: set if the command line gave it. */
enum stage_option {
#define STAGE_OPTION(constant, letter, name, argument, kind, type, member, standard, help)                   \
    STAGE_##constant = 1 << STAGE_PLACE_##constant,
#include "stage_options.def"
    STAGE_NO_OPTION = 0
};

/* The options of one stage. Each option has a member (stage_options.def). */
struct stage_request {
    struct filter_call call;
    unsigned given; /* bits of enum stage_option: what the command line gave, or the defaults did */
    unsigned own;   /* those of `given` that are not inherited; stage_inherit sets it */
#define STAGE_OPTION(constant, letter, name, argument, kind, type, member, standard, help) type member;
#include "stage_options.def"
};

/* The name of a single option, without dashes. */
const char *stage_option_name(enum stage_option option);

/* Take from the defaults what the stage was not given and what applies to it. */
void stage_inherit(struct stage_request *request, const struct stage_request *defaults);

/* Refuse options that contradict each other, or the filter. */
bool stage_request_check(const struct stage_request *request, struct fault *fault);

/* Settle what each of one or more stages has been given, and what it takes of the defaults. What is asked of
   no stage, or of one that cannot do it, is refused; `force`: unstable heat is allowed. */
bool stages_settle(struct stage_request *stages, size_t count, const struct stage_request *defaults,
                   bool force, struct fault *fault);

/* Whether the distances between samples matter to one of them. */
bool stages_use_spacing(const struct stage_request *stages, size_t count);

/* Whether the last of them, settled, ends where its changes are small. */
bool stages_have_until(const struct stage_request *stages, size_t count);

#endif
