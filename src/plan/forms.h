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

/* The device that settles forms, the extents, and what the user wishes. */
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

/* The forms of all operations of the levels, which steps belong to, as they are preferred. */
bool forms_settle(const struct forms_request *request, const struct levels *levels, struct levels_step *steps,
                  struct fault *fault);

/* If some edges wrap and others do not: change those forms that read planes at the other end of the grid
   although no tap of theirs is in another plane. A rung that was wished for stays. */
void forms_go_straight(const struct forms_request *request, const struct levels *levels,
                       struct levels_step *steps);

/* If memory is short, forms are chosen that take at most `together` steps at once; or, if that is 0, those
   that take the least memory, one step at a time. First, the bytes that the routines of such forms take; then
   the change itself, after which the preferred forms are forgotten. */
size_t forms_fitting_bytes(const struct forms_request *request, const struct levels *levels,
                           unsigned together);
void forms_fit(const struct forms_request *request, const struct levels *levels, struct levels_step *steps,
               unsigned together);

/* What a form takes, of anything, for all steps of a stage, at most `together` of them at once (0: as many as
   it takes), if a pass of one step takes `single` and a pass of all its steps takes `full`. And the number of
   these passes: a step that is looked at is a pass by itself. */
double forms_total(const struct stage *stage, const struct form *form, unsigned together, double single,
                   double full);
double forms_passes(const struct stage *stage, const struct form *form, unsigned together);

/* Whether the preferred forms take more steps at once. */
bool forms_are_fewer(const struct levels *levels, unsigned together);

#endif
