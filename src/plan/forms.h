/* Forms: by which rung, and how, each operation of the levels runs. */
#ifndef FORMS_H
#define FORMS_H

#include "base/diag.h"
#include "model/stage.h"
#include "kernels/backend.h"
#include "levels.h"
#include "lower.h"
#include "wisdom.h"

#include <stdbool.h>
#include <stddef.h>

/* Who settles forms, and for what. */
struct forms_request {
    const struct backend *backend;
    const struct device *device;
    int index;        /* of the device, among the backend's */
    unsigned threads; /* that were asked for; 0: all */
    const struct shape *shape;
    struct rung_wish wish;       /* for the stages that were given */
    const struct wisdom *wisdom; /* for those that nothing is wished for; NULL: none */
};

/* Whether a pass takes one step of the stage and never more. */
bool forms_is_single(const struct stage *stage, const struct step *step);

/* Whether a wish leaves the rung and its form to the backend. */
bool forms_is_free(const struct rung_wish *wish);

/* The forms of all operations of the levels, which steps belong to, as they are preferred. */
bool forms_settle(const struct forms_request *request, const struct levels *levels, struct levels_step *steps,
                  struct fault *fault);

/* Where some edges wrap and others do not, change the forms that would wrap for nothing, because no tap
   of theirs is in another plane. A rung that was wished for stays. */
void forms_narrow(const struct forms_request *request, const struct levels *levels,
                  struct levels_step *steps);

/* Where memory is short, forms change: those of levels that take so many steps at once, or, of none, those
   that take the least, one step at a time. The bytes that their routines would take; and the change itself,
   after which nothing is preferred any more. */
size_t forms_fitting_bytes(const struct forms_request *request, const struct levels *levels,
                           unsigned together);
void forms_fit(const struct forms_request *request, const struct levels *levels, struct levels_step *steps,
               unsigned together);

/* Whether there is less to take than the forms that are preferred do. */
bool forms_are_fewer(const struct levels *levels, unsigned together);

#endif
