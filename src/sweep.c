/* Sweeps: the levels of a pass advanced as far as the planes read allow, in fields that hold a window of the grid. */
#include "sweep.h"

/* What one call of a backend in this process's memory advances, so that progress is seen while a large field is
   computed. Other devices take all at once: they would compute the seams between pieces twice. */
#define PIECE_BYTES ((size_t)256 << 20)

/* Sample updates that may be under way before the run waits for them, so that progress tells what is done. */
#define MOST_UNDER_WAY 4e9

bool sweep_create(struct sweep *sweep, const struct plan *plan, struct progress *progress, struct fault *fault)
{
    *sweep = (struct sweep){.plan = plan, .progress = progress, .window = {0, plan->passes.window}};
    for (size_t i = 0; i < plan->passes.field_count; i++) {
        if (!plan->backend->field_create(plan->device, &sweep->fields[i], &plan->shape, plan->job->work,
                                         sweep->window, fault))
            return false;
    }
    return true;
}

void sweep_destroy(struct sweep *sweep)
{
    for (size_t i = 0; i < CHAIN_FIELDS; i++)
        sweep->plan->backend->field_destroy(sweep->plan->device, sweep->fields[i]);
}

static bool slide(struct sweep *sweep, size_t first, struct range keep, struct fault *fault)
{
    const struct plan *plan = sweep->plan;

    for (size_t i = 0; i < plan->passes.field_count; i++) {
        if (!plan->backend->field_slide(plan->device, sweep->fields[i], first, keep, fault))
            return false;
    }
    sweep->window.first = first;
    return true;
}

bool sweep_begin(struct sweep *sweep, struct chain_place begin, struct chain_place end, double *changes,
                 struct fault *fault)
{
    sweep->begin = begin;
    sweep->end = end;
    sweep->fed = sweep->swept = sweep->done = 0;
    sweep->input = sweep->output = 0;
    sweep->changes = changes;
    return slide(sweep, 0, (struct range){0, 0}, fault);
}

void sweep_begin_again(struct sweep *sweep, struct chain_place begin, struct chain_place end, double *changes)
{
    sweep->begin = begin;
    sweep->end = end;
    sweep->swept = sweep->done = 0;
    sweep->input = sweep->output;
    sweep->changes = changes;
}

bool sweep_make_room(struct sweep *sweep, size_t planes, struct fault *fault)
{
    size_t depth = sweep->plan->passes.depth;
    size_t first = sweep->swept > depth ? sweep->swept - depth : 0;

    if (sweep->fed + planes <= sweep->window.first + sweep->window.count)
        return true;
    return slide(sweep, first, (struct range){first, sweep->fed - first}, fault);
}

void sweep_feed(struct sweep *sweep, size_t planes)
{
    sweep->fed += planes;
}

bool sweep_is_due(const struct sweep *sweep)
{
    return sweep->fed - sweep->swept >= sweep->plan->passes.slab || sweep->fed == sweep->plan->shape.planes;
}

static bool tell_updates(struct sweep *sweep, double updates, struct fault *fault)
{
    sweep->under_way += updates;
    if (sweep->under_way >= MOST_UNDER_WAY) {
        if (!sweep->plan->backend->sync(sweep->plan->device, fault))
            return false;
        sweep->under_way = 0.0;
    }
    progress_add(sweep->progress, updates);
    return true;
}

static size_t piece_planes(const struct plan *plan)
{
    size_t plane = plan->backend->field_bytes(&plan->shape, plan->job->work, 1);

    if (plan->backend->memory(plan->device) > 0)
        return plan->shape.planes;
    return plane >= PIECE_BYTES ? 1 : PIECE_BYTES / plane;
}

static bool advance(struct sweep *sweep, const struct level *level, struct range planes, struct fault *fault)
{
    const struct plan *plan = sweep->plan;
    const struct chain_step *step = &plan->steps[level->stage];
    const struct field *kept =
        step->step.ops[level->op].kind == OP_UNSHARP ? sweep->fields[level->kept] : NULL;
    size_t most = piece_planes(plan);
    struct range piece = {planes.first, 0};

    for (size_t left = planes.count; left > 0; left -= piece.count) {
        piece.first += piece.count;
        piece.count = left < most ? left : most;
        if (!plan->backend->advance(plan->device, step->routines[level->op], level->steps,
                                    sweep->fields[level->from], kept, sweep->fields[level->to], piece, fault) ||
            !tell_updates(sweep, level->steps * plan_samples(plan, piece.count), fault))
            return false;
    }
    return true;
}

/* Over the channels that the file has. */
static bool add_change(struct sweep *sweep, const struct level *level, struct range planes, double *sums,
                       struct fault *fault)
{
    const struct plan *plan = sweep->plan;

    return plan->backend->change(plan->device, sweep->fields[level->kept], sweep->fields[level->to],
                                 plan->job->in.grid.channels, planes, sums, fault);
}

bool sweep_run(struct sweep *sweep, struct fault *fault)
{
    const struct chain *chain = &sweep->plan->chain;
    double *changes = sweep->changes;
    size_t done = sweep->fed;
    struct chain_walk walk;

    chain_walk_start(&walk, chain, sweep->begin, sweep->end, sweep->input);
    while (done > 0 && chain_walk_next(&walk)) {
        const struct level *level = &walk.level;
        size_t before = chain_done(chain, level->lag, sweep->swept);
        struct range planes = {before, (done = chain_done(chain, level->lag, sweep->fed)) - before};
        if (!advance(sweep, level, planes, fault))
            return false;
        if (changes != NULL && level->ends_step) {
            if (!add_change(sweep, level, planes, changes, fault))
                return false;
            changes += sweep->plan->job->in.grid.channels;
        }
    }
    sweep->done = done;
    sweep->output = chain_walk_field(&walk);
    sweep->swept = sweep->fed;
    return sweep->plan->backend->sync(sweep->plan->device, fault);
}
