/* Sweeps: the levels of a pass advanced as far as the planes read allow, in fields that hold a window of the
 * grid. */
#include "sweep.h"

#include "base/mem.h"
#include "base/size.h"

#include <string.h>

/* What one call of a backend in this process's memory advances, so that progress is seen while a large field
   is computed. Other devices take all at once: they would compute the seams between pieces twice. */
#define PIECE_BYTES ((size_t)256 << 20)

/* Sample updates in one span of work: small, so that progress tells what is done or soon will be. */
#define SPAN_UPDATES 4e9

/* Planes whose changes are asked for at once: many rows of a picture, whose sums still take little memory. */
#define CHANGES_TOGETHER 8192

static bool create_fields(struct sweep *sweep, size_t planes, struct fault *fault)
{
    const struct plan *plan = sweep->plan;
    struct shape shape = plan->shape;

    shape.planes = sweep->field_planes = planes;
    sweep->window = (struct range){0, size_least(plan->schedule.window, planes)};
    return lane_create_fields(sweep->lane, plan->schedule.field_count, &shape, plan->job->work, sweep->window,
                              fault);
}

static bool create_plane_changes(struct sweep *sweep, struct fault *fault)
{
    const struct plan *plan = sweep->plan;
    size_t planes = size_least(plan->shape.planes, CHANGES_TOGETHER);

    if (!plan->schedule.on_trial)
        return true;
    sweep->plane_changes =
        mem_alloc(planes, plan->job->in.grid.channels * sizeof *sweep->plane_changes, "the sums", fault);
    return sweep->plane_changes != NULL;
}

bool sweep_create(struct sweep *sweep, const struct plan *plan, struct lane *lane, struct progress *progress,
                  struct fault *fault)
{
    *sweep = (struct sweep){.plan = plan, .lane = lane, .progress = progress};
    return create_plane_changes(sweep, fault) && create_fields(sweep, plan->shape.planes, fault);
}

void sweep_destroy(struct sweep *sweep)
{
    if (sweep->lane == NULL)
        return;
    lane_destroy_fields(sweep->lane);
    mem_free(sweep->plane_changes);
    sweep->plane_changes = NULL;
}

struct range sweep_overlap(struct range a, struct range b)
{
    size_t first = a.first > b.first ? a.first : b.first;
    size_t end = size_least(a.first + a.count, b.first + b.count);

    return (struct range){first, end > first ? end - first : 0};
}

/* The planes of a field that are still needed, or will be handed over: as far back as levels look, what is to
 * leave, and what has come.
 */
static struct range needed(const struct sweep *sweep, size_t field)
{
    size_t depth = sweep->plan->schedule.depth, end = field == sweep->input ? sweep->fed : sweep->swept;
    size_t begin = sweep->frame.span.begin, before = sweep->frame.before;
    size_t first = sweep->swept > begin + depth ? sweep->swept - depth : begin - before;
    struct range leaving = sweep_leaving(sweep);

    if (field == sweep->output && leaving.count > 0 && leaving.first < first)
        first = leaving.first;
    return (struct range){first, end > begin ? end - first : 0};
}

static bool slide(struct sweep *sweep, struct fault *fault)
{
    const struct plan *plan = sweep->plan;
    size_t first = needed(sweep, sweep->output).first;

    for (size_t i = 0; i < plan->schedule.field_count; i++) {
        if (!sweep->lane->backend->field_slide(sweep->lane->device, sweep->lane->fields[i], first,
                                               needed(sweep, i), fault))
            return false;
    }
    sweep->window.first = first;
    return true;
}

/* Fields of the pass before serve this one if their grid is the same. */
static bool fit_fields(struct sweep *sweep, struct fault *fault)
{
    if (sweep->levels.planes == sweep->field_planes)
        return slide(sweep, fault);
    lane_destroy_fields(sweep->lane);
    return create_fields(sweep, sweep->levels.planes, fault) && slide(sweep, fault);
}

bool sweep_begin(struct sweep *sweep, struct levels_mark begin, struct levels_mark end,
                 const struct sweep_frame *frame, double *changes, struct fault *fault)
{
    sweep->levels = sweep->plan->levels;
    sweep->levels.unrolled = frame->overlap > 0;
    sweep->levels.planes += 2 * frame->overlap;
    sweep->frame = *frame;
    sweep->begin = begin;
    sweep->end = end;
    sweep->fed = sweep->swept = frame->span.begin;
    sweep->done = 0;
    sweep->gone = frame->leaving.first;
    sweep->input = sweep->output = 0;
    sweep->changes = changes;
    return fit_fields(sweep, fault);
}

void sweep_begin_again(struct sweep *sweep, struct levels_mark begin, struct levels_mark end,
                       struct range leaving, double *changes)
{
    sweep->begin = begin;
    sweep->end = end;
    sweep->swept = sweep->done = 0;
    sweep->frame.leaving = leaving;
    sweep->gone = leaving.first;
    sweep->input = sweep->output;
    sweep->frame.of_source = false;
    sweep->changes = changes;
}

/* Whether the fields have places for so many planes more as they stand. */
static bool stand_free(const struct sweep *sweep, size_t planes)
{
    return sweep->fed + planes <= sweep->window.first + sweep->window.count;
}

/* A device in this process's own memory slides without moving anything. Another moves what is needed, which
   is worth it once a slab: it has to make room for all that is still to come before the levels advance. */
bool sweep_has_room(const struct sweep *sweep)
{
    const struct plan *plan = sweep->plan;
    size_t to_come = sweep->frame.span.end - sweep->fed;
    size_t batch = size_least(plan->schedule.batch, to_come);
    size_t slab = size_least(sweep->swept + plan->schedule.slab - sweep->fed, to_come);
    size_t asked = lane_is_in_own_memory(sweep->lane) ? batch : slab;

    return stand_free(sweep, batch) ||
           sweep->fed + asked <= needed(sweep, sweep->output).first + sweep->window.count;
}

bool sweep_make_room(struct sweep *sweep, size_t planes, struct fault *fault)
{
    return stand_free(sweep, planes) || slide(sweep, fault);
}

void sweep_feed(struct sweep *sweep, size_t planes)
{
    sweep->fed += planes;
}

bool sweep_is_due(const struct sweep *sweep)
{
    return sweep->fed - sweep->swept >= sweep->plan->schedule.slab || sweep->fed == sweep->frame.span.end;
}

bool sweep_goes_on(const struct sweep *sweep)
{
    return sweep->swept < sweep->frame.span.end;
}

bool sweep_begin_span(struct sweep *sweep, struct fault *fault)
{
    sweep->span = 0.0;
    return sweep->lane->backend->begin_span(sweep->lane->device, fault);
}

static bool end_span(struct sweep *sweep, struct fault *fault)
{
    return sweep->lane->backend->end_span(sweep->lane->device, &sweep->seconds, fault);
}

static bool tell_updates(struct sweep *sweep, double updates, struct fault *fault)
{
    progress_add(sweep->progress, updates);
    sweep->span += updates;
    return sweep->span < SPAN_UPDATES || (end_span(sweep, fault) && sweep_begin_span(sweep, fault));
}

static size_t piece_planes(const struct sweep *sweep)
{
    const struct plan *plan = sweep->plan;
    size_t plane = sweep->lane->backend->field_bytes(&plan->shape, plan->job->work, 1);

    if (!lane_is_in_own_memory(sweep->lane))
        return plan->shape.planes;
    return plane >= PIECE_BYTES ? 1 : PIECE_BYTES / plane;
}

bool sweep_advance(struct sweep *sweep, const struct level *level, struct range planes, struct fault *fault)
{
    const struct plan *plan = sweep->plan;
    const struct levels_step *step = &plan->steps[level->stage];
    const struct field *kept =
        step->step.ops[level->op].kind == OP_UNSHARP ? sweep->lane->fields[level->kept] : NULL;
    size_t most = piece_planes(sweep);
    struct range piece = {planes.first, 0};

    for (size_t left = planes.count; left > 0; left -= piece.count) {
        piece.first += piece.count;
        piece.count = left < most ? left : most;
        if (!sweep->lane->backend->advance(
                sweep->lane->device, sweep->lane->routines[level->stage][level->op], level->steps,
                sweep->lane->fields[level->from], kept, sweep->lane->fields[level->to], piece, fault) ||
            !tell_updates(sweep, level->steps * (double)piece.count * plan->plane_samples, fault))
            return false;
    }
    return true;
}

bool sweep_list_changes(struct sweep *sweep, const struct level *level, struct range planes, double *changes,
                        struct fault *fault)
{
    return sweep->lane->backend->change(sweep->lane->device, sweep->lane->fields[level->kept],
                                        sweep->lane->fields[level->to], sweep->plan->job->in.grid.channels,
                                        planes, changes, fault);
}

/* Over the channels that the file has, and its planes, one after the other. */
bool sweep_add_change(struct sweep *sweep, const struct level *level, struct range planes, double *sums,
                      struct fault *fault)
{
    struct range own = sweep_overlap(planes, sweep->frame.own), part = {own.first, 0};
    size_t channels = sweep->plan->job->in.grid.channels;

    for (size_t left = own.count; left > 0; left -= part.count) {
        part.first += part.count;
        part.count = size_least(left, CHANGES_TOGETHER);
        if (!sweep_list_changes(sweep, level, part, sweep->plane_changes, fault))
            return false;
        for (size_t i = 0; i < part.count * channels; i++)
            sums[i % channels] += sweep->plane_changes[i];
    }
    return true;
}

static bool show(const struct sweep *sweep, struct levels_mark mark, unsigned field, struct range planes,
                 struct fault *fault)
{
    const struct sweep_tap *tap = &sweep->tap;
    uint64_t step;

    return tap->take == NULL || !levels_stops_at(&sweep->levels, mark, &step) ||
           tap->take(tap->taker, step, sweep->lane->fields[field], planes, fault);
}

/* The planes that the levels have not seen. */
static bool show_input(const struct sweep *sweep, const struct levels_walk *walk, struct fault *fault)
{
    struct range planes = {sweep->swept, sweep->fed - sweep->swept};

    return !sweep->frame.of_source || show(sweep, walk->at, sweep->input, planes, fault);
}

bool sweep_looks_at(const struct sweep *sweep, const struct level *level)
{
    return checks_is_due(&sweep->levels.stages[level->stage].checks, level->behind);
}

bool sweep_end_levels(struct sweep *sweep, unsigned field, struct fault *fault)
{
    sweep->output = field;
    return end_span(sweep, fault);
}

bool sweep_run(struct sweep *sweep, struct fault *fault)
{
    double *changes = sweep->changes;
    size_t done = sweep->fed;
    struct levels_walk walk;

    levels_walk_start(&walk, &sweep->levels, sweep->begin, sweep->end, sweep->input);
    if (!sweep_begin_span(sweep, fault) || !show_input(sweep, &walk, fault))
        return false;
    while (done > 0 && levels_walk_next(&walk)) {
        const struct level *level = &walk.level;
        struct range planes = levels_ready(&sweep->frame.span, level->lag, sweep->swept, sweep->fed);
        done = planes.first + planes.count;
        if (!sweep_advance(sweep, level, planes, fault) ||
            (level->ends_step && !show(sweep, walk.at, level->to, planes, fault)))
            return false;
        if (changes != NULL && level->ends_step) {
            if (sweep_looks_at(sweep, level) && !sweep_add_change(sweep, level, planes, changes, fault))
                return false;
            changes += sweep->plan->job->in.grid.channels;
        }
    }
    sweep->done = done;
    sweep->output = levels_walk_field(&walk);
    sweep->swept = sweep->fed;
    return end_span(sweep, fault);
}

struct range sweep_leaving(const struct sweep *sweep)
{
    const struct range *leaving = &sweep->frame.leaving;
    size_t end = size_least(sweep->done, leaving->first + leaving->count);

    return (struct range){sweep->gone, end > sweep->gone ? end - sweep->gone : 0};
}

void sweep_leave(struct sweep *sweep, size_t planes)
{
    sweep->gone += planes;
}

bool sweep_finish(struct sweep *sweep, struct fault *fault)
{
    return sweep->lane->backend->sync(sweep->lane->device, &sweep->seconds, fault);
}
