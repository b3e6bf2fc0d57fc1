/* Effects: options that were given and change nothing. */
#ifndef EFFECT_H
#define EFFECT_H

#include "model/stage.h"
#include "plan/job.h"

#include <stdbool.h>
#include <stddef.h>

/* Why an option changes nothing. */
enum effect_reason {
    EFFECT_NO_NEIGHBOURS,   /* a stage reads none */
    EFFECT_SYMMETRIC,       /* a stage is the same when flipped */
    EFFECT_LONE_CHANNEL,    /* the input has but one */
    EFFECT_NO_ALPHA,        /* the input has none */
    EFFECT_ALPHA_UNFILTERED /* no stage filters it */
};

struct effect {
    const char *option; /* without dashes */
    enum effect_reason reason;
    const struct stage *stage; /* that it was given to; NULL: it is of no use to all that it is for */
};

/* The next of them, in the order in which they are told; false after the last. `next` is 0 before the first.
 */
bool effect_next(const struct job_request *request, const struct job *job, size_t *next,
                 struct effect *effect);

#endif
