/* Forms: by which rung, and how, each operation of the levels runs.

   It is settled in up to three turns. First each operation gets the form that is preferred: the one that the
   user wishes, or that wisdom has measured to be the fastest here, or the backend's own. Then, if some edges
   wrap and others do not, a form that would read planes at the other end for nothing gives way to one that
   does not. Last, once the schedule knows how many steps there is memory for, forms of more steps give way to
   those of as many, or to the leanest; but never to a form that reads more planes, because the schedule has
   counted these. */
#include "forms.h"

#include <math.h>

bool forms_is_single(const struct stage *stage, const struct step *step)
{
    bool seen = stage->until > 0.0 && checks_longest_gap(&stage->checks) <= 1;

    return stage->steps == 1 || seen || step->count > 1;
}

/* Nobody has wishes for what stands between the stages asked for. */
static struct rung_wish wish_for_stage(const struct forms_request *request, const struct stage *stage)
{
    return stage_is_from_user(stage) ? request->wish : (struct rung_wish){.rung = NULL};
}

/* Wisdom stands in for a wish that the user does not have; where it no longer fits the device, nothing is
   lost. It is not measured in narrow fields. */
static bool settle_by_wisdom(const struct forms_request *request, const struct op *op, bool single,
                             struct form *form)
{
    const struct wisdom_entry *known;
    struct wisdom_entry key;
    struct fault refusal;
    struct rung_wish wish;

    if (request->backend->narrows && request->shape->narrow)
        return false;
    wisdom_name_device(&key, request->backend, request->index, request->threads, 1);
    wisdom_name_problem(&key, op, request->shape, single);
    known = wisdom_find(request->wisdom, &key);
    if (known == NULL)
        return false;
    wish = (struct rung_wish){.rung = known->rung,
                              .reason = "measured to be the fastest here: wisdom",
                              .tile_x = known->tile_x,
                              .tile_y = known->tile_y,
                              .coarsen = known->coarsen,
                              .stride = known->stride,
                              .steps = known->steps};
    return request->backend->settle(request->device, op, request->shape, &wish, form, &refusal);
}

/* The form of one operation: by wisdom if the user has no wish, else by the wish. */
static bool settle_op(const struct forms_request *request, const struct stage *stage,
                      struct levels_step *step, size_t index, struct fault *fault)
{
    const struct op *op = &step->step.ops[index];
    bool single = forms_is_single(stage, &step->step);
    struct rung_wish wish = wish_for_stage(request, stage);

    if (wish.rung == NULL && wish.tile_x == 0 && wish.coarsen == 0 &&
        settle_by_wisdom(request, op, single, &step->forms[index]))
        return true;
    wish.steps = single ? 1 : 0;
    return request->backend->settle(request->device, op, request->shape, &wish, &step->forms[index], fault);
}

/* Join as many passes of a chain, from the first on, as the device has a form for. */
static void join_passes(const struct forms_request *request, const struct stage *stage, struct step *step,
                        size_t index)
{
    struct rung_wish wish = wish_for_stage(request, stage);
    struct fault refusal;
    struct form form;
    size_t count;

    wish.steps = 1;
    for (size_t most = LOWER_OPS; (count = lower_join(step, index, most)) > 0; most = count - 1) {
        if (request->backend->settle(request->device, &step->ops[index], request->shape, &wish, &form,
                                     &refusal))
            return;
        lower_part(step, index);
    }
}

bool forms_settle(const struct forms_request *request, const struct levels *levels, struct levels_step *steps,
                  struct fault *fault)
{
    for (size_t i = 0; i < levels->stage_count; i++) {
        for (size_t k = 0; k < steps[i].step.count; k++) {
            join_passes(request, &levels->stages[i], &steps[i].step, k);
            if (!settle_op(request, &levels->stages[i], &steps[i], k, fault))
                return false;
        }
    }
    return true;
}

/* Whether planes at the other end of the grid are read although no tap lies in them. */
static bool goes_round_in_vain(const struct op *op, const struct form *form)
{
    return edge_has(op->edge, EDGE_PERIODIC) && op->plane.low == 0 && op->plane.high == 0 && form->reach > 0;
}

/* Take the first rung that serves. */
static void go_straight(const struct forms_request *request, struct rung_wish wish, const struct op *op,
                        struct form *form)
{
    struct fault refusal;

    wish.steps = 1;
    wish.reason = "the first that reads no plane at the other end of the grid";
    for (const struct rung *rung = request->backend->rungs; rung->name != NULL; rung++) {
        struct form straight;
        wish.rung = rung->name;
        if (request->backend->settle(request->device, op, request->shape, &wish, &straight, &refusal) &&
            !goes_round_in_vain(op, &straight)) {
            *form = straight;
            return;
        }
    }
}

void forms_go_straight(const struct forms_request *request, const struct levels *levels,
                       struct levels_step *steps)
{
    for (size_t i = 0; i < levels->stage_count; i++) {
        const struct rung_wish wish = wish_for_stage(request, &levels->stages[i]);
        for (size_t k = 0; wish.rung == NULL && k < steps[i].step.count; k++) {
            const struct op *op = &steps[i].step.ops[k];
            if (goes_round_in_vain(op, &steps[i].forms[k]))
                go_straight(request, wish, op, &steps[i].forms[k]);
        }
    }
}

bool forms_are_fewer(const struct levels *levels, unsigned together)
{
    return together < levels_most_together(levels);
}

/* The form for levels that take `together` steps at once, unless none reads as few planes: then the preferred
   one does fewer steps, too. */
static struct form fitting_form(const struct forms_request *request, const struct levels *levels,
                                size_t stage, size_t index, unsigned together)
{
    const struct levels_step *step = &levels->steps[stage];
    struct rung_wish wish = wish_for_stage(request, &levels->stages[stage]);
    const bool too_many =
        !forms_is_single(&levels->stages[stage], &step->step) && step->forms[index].steps > together;
    struct fault refusal;
    struct form form;

    wish.steps = together > 0 ? together : 1;
    wish.lean = together == 0;
    if (wish.lean && wish.rung == NULL)
        wish.reason = "there is no memory for more";
    if ((together == 0 || too_many) &&
        request->backend->settle(request->device, &step->step.ops[index], request->shape, &wish, &form,
                                 &refusal) &&
        form.reach <= step->forms[index].reach)
        return form;
    return step->forms[index];
}

size_t forms_fitting_bytes(const struct forms_request *request, const struct levels *levels,
                           unsigned together)
{
    bool fewer = forms_are_fewer(levels, together);
    size_t bytes = 0;

    for (size_t i = 0; i < levels->stage_count; i++) {
        for (size_t k = 0; k < levels->steps[i].step.count; k++) {
            const struct form *preferred = &levels->steps[i].forms[k];
            bytes +=
                fewer ? fitting_form(request, levels, i, k, together).memory_bytes : preferred->memory_bytes;
        }
    }
    return bytes;
}

void forms_fit(const struct forms_request *request, const struct levels *levels, struct levels_step *steps,
               unsigned together)
{
    if (!forms_are_fewer(levels, together))
        return;
    for (size_t i = 0; i < levels->stage_count; i++) {
        for (size_t k = 0; k < steps[i].step.count; k++)
            steps[i].forms[k] = fitting_form(request, levels, i, k, together);
    }
}

double forms_passes(const struct stage *stage, const struct form *form, unsigned together)
{
    double checks = (double)checks_count(&stage->checks), others = (double)stage->steps - checks;
    double runs = fmin(fmax(checks, 1.0), others);
    double most = together > 0 ? fmin(together, form->steps) : form->steps;

    return others > 0.0 ? checks + runs * ceil(others / runs / most) : checks;
}

double forms_total(const struct stage *stage, const struct form *form, unsigned together, double single,
                   double full)
{
    double passes = forms_passes(stage, form, together);
    double further = form->steps > 1 ? (full - single) / (form->steps - 1.0) : 0.0;

    return passes * single + ((double)stage->steps - passes) * further;
}
