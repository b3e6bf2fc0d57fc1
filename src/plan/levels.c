/* Levels: what planes go through on their way from the input to the output.

   A level is one call of a routine over all planes, for one step or for several at once. Planes come in
   order, and a level reads some on both sides of those it computes. So it lags behind the planes that were
   read, by the reach of all levels up to it, and all levels of a pass advance together: the planes between
   the first and the last reader are the depth, which fields must hold. Levels take turns with two to
   four fields. What one has written is overwritten only behind its last reader, and that is part of the lag,
   too. A walk goes through the levels one by one. Levels of many steps repeat themselves, some planes apart,
   so a stride leaves out the rounds that are alike: a survey of a million steps takes a few. Where an edge
   wraps, the first planes read the last, so all must be there first; or the grid is unrolled, with planes of
   the other end beside it. */
#include "levels.h"

#include "base/size.h"

struct levels_mark levels_begin(void)
{
    return (struct levels_mark){0, 0};
}

struct levels_mark levels_end(const struct levels *levels)
{
    return (struct levels_mark){levels->stage_count, 0};
}

bool levels_is_same_mark(struct levels_mark a, struct levels_mark b)
{
    return a.stage == b.stage && a.step == b.step;
}

struct levels_mark levels_settle(const struct levels *levels, struct levels_mark mark)
{
    while (mark.stage < levels->stage_count &&
           (levels->stages[mark.stage].converted || mark.step >= levels->stages[mark.stage].steps))
        mark = (struct levels_mark){mark.stage + 1, 0};
    return mark;
}

/* Whether a step's input is needed from an operation on. */
static bool needs_input(const struct levels_step *step, size_t index)
{
    return step->keeps || index <= step->step.last_reader;
}

/* The most fields that an operation of a step needs: to read and to write, and those that wait. */
static size_t fields_of_step(const struct levels_step *step)
{
    size_t most = 2, waiting = 0;

    for (size_t k = 1; k < step->step.count; k++) {
        bool begins = step->step.ops[k].begins;
        waiting = begins ? 1 : waiting;
        most = size_most(most, 2 + waiting + (!begins && needs_input(step, k)));
    }
    return most;
}

size_t levels_field_count(const struct levels *levels)
{
    size_t most = 1;

    for (size_t i = 0; i < levels->stage_count; i++) {
        if (!levels->stages[i].converted && levels->stages[i].steps > 0)
            most = size_most(most, fields_of_step(&levels->steps[i]));
    }
    return most;
}

/* The most steps of a stage that one level takes: more than one where a step is a single operation, and not
   every state is asked for. */
static unsigned most_together(const struct levels *levels, size_t stage)
{
    const struct levels_step *step = &levels->steps[stage];
    unsigned most = 1;

    if (levels->on_trial && levels->stages[stage].until > 0.0)
        return 1;
    if (step->step.count == 1)
        most = step->forms[0].steps;
    return levels->together > 0 && levels->together < most ? levels->together : most;
}

unsigned levels_most_together(const struct levels *levels)
{
    unsigned most = 1;

    for (size_t i = 0; i < levels->stage_count; i++) {
        unsigned together = most_together(levels, i);
        const struct stage *stage = &levels->stages[i];
        uint64_t in_a_row = stage->until > 0.0 ? checks_longest_gap(&stage->checks) : stage->steps;
        if (together > in_a_row)
            together = (unsigned)in_a_row;
        most = together > most ? together : most;
    }
    return most;
}

bool levels_stops_at(const struct levels *levels, struct levels_mark mark, uint64_t *step)
{
    if (mark.stage + 1 < levels->stage_count)
        return false;
    *step = mark.stage < levels->stage_count ? mark.step : levels->stages[levels->stage_count - 1].steps;
    for (size_t i = 0; i < levels->stop_count; i++) {
        if (levels->stops[i] == *step)
            return true;
    }
    return false;
}

bool levels_stops_within(const struct levels *levels, size_t stage, uint64_t behind, uint64_t last)
{
    for (size_t i = 0; stage + 1 == levels->stage_count && i < levels->stop_count; i++) {
        if (levels->stops[i] > behind && levels->stops[i] <= last)
            return true;
    }
    return false;
}

/* Steps of a mark's stage that are still to come on the way to an end or to the next stop. */
static uint64_t steps_left(const struct levels *levels, struct levels_mark at, struct levels_mark end)
{
    uint64_t last = at.stage == end.stage ? end.step : levels->stages[at.stage].steps;

    for (size_t i = 0; at.stage + 1 == levels->stage_count && i < levels->stop_count; i++) {
        if (levels->stops[i] > at.step && levels->stops[i] < last)
            last = levels->stops[i];
    }
    return last - at.step;
}

/* Steps that the next level takes, so that the levels up to the end are few and alike; or few, and as many of
   them as may be of the most steps. */
static unsigned steps_together(const struct levels_walk *walk)
{
    uint64_t left = steps_left(walk->levels, walk->at, walk->end);
    uint64_t most = most_together(walk->levels, walk->at.stage);
    uint64_t count = left / most + (left % most > 0);

    if (walk->levels->steps[walk->at.stage].forms[0].most_first)
        return (unsigned)(left < most ? left : most);
    return (unsigned)(left / count + (left % count > 0));
}

/* While more than the square of the most that a level takes are left, each takes the most. */
uint64_t levels_steps_alike(const struct levels *levels, struct levels_mark at, struct levels_mark end)
{
    uint64_t most, left;

    if (at.stage == levels->stage_count)
        return 0;
    most = most_together(levels, at.stage);
    left = steps_left(levels, at, end);
    return left > most * most ? left - most * most : 0;
}

/* Planes on both sides that an operation has taps in, or that it reads in its form. An edge rule may turn a
   tap to the other side, so the longer one counts for both. */
static size_t single_reach(const struct levels_step *step, size_t index)
{
    const struct reach *taps = &step->step.ops[index].plane;

    return size_most(size_most((size_t) - (int64_t)taps->low, (size_t)taps->high), step->forms[index].reach);
}

size_t levels_widest_reach(const struct levels *levels)
{
    size_t widest = 0;

    for (size_t i = 0; i < levels->stage_count; i++) {
        for (size_t k = 0; k < levels->steps[i].step.count; k++)
            widest = size_most(widest, single_reach(&levels->steps[i], k) * most_together(levels, i));
    }
    return widest;
}

/* The reach of an operation that takes several steps at once. */
static size_t reach_of(const struct levels *levels, const struct levels_step *step, size_t index,
                       unsigned steps)
{
    size_t reach = single_reach(step, index);

    if (reach > 0 && edge_has(step->step.ops[index].edge, EDGE_PERIODIC) && !levels->unrolled)
        return levels->planes;
    return reach > levels->planes / steps ? levels->planes : size_least(levels->planes, reach * steps);
}

/* A field that holds neither what the level reads nor what must be kept. */
static unsigned free_field(const struct levels_walk *walk, const struct levels_step *step)
{
    const struct level *level = &walk->level;
    bool needs = needs_input(step, level->op), waits = level->kept != level->input;
    unsigned field = 0;

    while (field == level->from || (needs && field == level->input) || (waits && field == level->kept))
        field++;
    return field;
}

void levels_walk_start(struct levels_walk *walk, const struct levels *levels, struct levels_mark begin,
                       struct levels_mark end, unsigned field)
{
    *walk = (struct levels_walk){.levels = levels,
                                 .at = levels_settle(levels, begin),
                                 .end = levels_settle(levels, end),
                                 .level = {.to = field}};
}

/* The level reads `from` to its reach, and what is kept at its own planes. */
static void note_readers(struct levels_walk *walk, const struct levels_step *step)
{
    const struct level *level = &walk->level;
    size_t behind = size_least(walk->levels->planes, level->lag + level->reach);
    const unsigned besides[] = {level->kept, level->input};
    const bool reads[] = {op_reads_kept(&step->step.ops[level->op]), step->keeps && level->ends_step};

    walk->behind[level->from] = size_most(walk->behind[level->from], behind);
    for (size_t i = 0; i < 2; i++) {
        if (reads[i])
            walk->behind[besides[i]] = size_most(walk->behind[besides[i]], level->lag);
    }
    walk->behind[level->to] = level->lag;
    walk->depth = size_most(walk->depth, behind);
    walk->seam = size_most(walk->seam, level->reach - level->reach / level->steps);
    walk->count++;
}

/* The fields that the walk's next level reads: what the one before wrote; or the step's input, if it begins a
   chain. Returns how far what is there lags behind the planes that were read. */
static size_t choose_sources(struct levels_walk *walk, const struct op *op)
{
    struct level *level = &walk->level;
    size_t lag = level->lag;

    level->from = level->to;
    if (level->op == 0) {
        level->input = level->kept = level->to;
        walk->input_lag = walk->kept_lag = lag;
    } else if (op->begins) {
        level->kept = level->to;
        walk->kept_lag = lag;
        level->from = level->input;
        lag = walk->input_lag;
    }
    return lag;
}

/* A level writes a field that nobody needs any more. It lags behind those that wrote what it reads, by its
   reach, and behind the last reader of the field that it overwrites. Chains that begin with the same planes
   go side by side, so a level may lag less than the one before it. */
bool levels_walk_next(struct levels_walk *walk)
{
    struct level *level = &walk->level;
    const struct levels_step *step;
    const struct op *op;
    size_t lag;

    if (levels_is_same_mark(walk->at, walk->end))
        return false;
    /* The operation and its fields: it reads what the last level wrote; a step's input is kept if the step
       needs it. */
    step = &walk->levels->steps[walk->at.stage];
    level->stage = walk->at.stage;
    level->op = walk->next_op;
    op = &step->step.ops[level->op];
    lag = choose_sources(walk, op);
    level->to = free_field(walk, step);
    /* How many steps it takes, and how far behind the planes that were read that puts it. */
    level->steps = steps_together(walk);
    level->behind = walk->at.step + level->steps;
    level->reach = reach_of(walk->levels, step, level->op, level->steps);
    level->ends_step = level->op + 1 == step->step.count;
    lag = size_most(lag + level->reach, op_reads_kept(op) ? walk->kept_lag : 0);
    level->lag = size_least(walk->levels->planes, size_most(lag, walk->behind[level->to]));
    note_readers(walk, step);
    walk->next_op = level->ends_step ? 0 : level->op + 1;
    if (level->ends_step) {
        walk->at.step += level->steps;
        walk->at = levels_settle(walk->levels, walk->at);
    }
    return true;
}

/* How far the last reader of a field is behind the level, which is all that later levels see of it. */
static size_t waiting(const struct levels_walk *walk, unsigned field)
{
    return walk->behind[field] > walk->level.lag ? walk->behind[field] - walk->level.lag : 0;
}

/* Whether the levels behind two steps of a stage go on in the same way, some planes apart. */
static bool go_on_alike(const struct levels_walk *walk, const struct levels_walk *before)
{
    if (before->levels == NULL || before->at.stage != walk->at.stage || before->level.to != walk->level.to)
        return false;
    for (unsigned field = 0; field < LEVELS_FIELDS; field++) {
        if (waiting(before, field) != waiting(walk, field))
            return false;
    }
    return true;
}

/* Leave out rounds of levels that only repeat the one since `before`: all that are left within a depth, but
   for the last steps. The last round is walked, since it is the deepest. */
static void leave_out_rounds(struct levels_walk *walk, const struct levels_walk *before, size_t depth)
{
    const uint64_t steps = walk->at.step - before->at.step;
    const size_t each = walk->level.lag - before->level.lag;
    const size_t room = depth > walk->depth ? depth - walk->depth : 0;
    uint64_t rounds = levels_steps_alike(walk->levels, walk->at, walk->end) / steps, out;
    size_t rise;

    if (each > 0 && room / each < rounds)
        rounds = room / each;
    out = rounds > 0 ? rounds - 1 : 0;
    rise = (size_t)out * each;
    for (unsigned field = 0; field < LEVELS_FIELDS; field++)
        walk->behind[field] += waiting(walk, field) > 0 ? rise : 0;
    walk->level.lag += rise;
    walk->at.step += out * steps;
    walk->count += out * (walk->count - before->count);
}

/* Steps after which a stage's levels have the fields that they had, whatever their number. */
#define STEPS_OF_A_ROUND 6

/* A walk that does not stop at every level, for whoever wants to know how deep it gets. */
struct stride {
    struct levels_walk walk;
    struct levels_walk before; /* where the walk stood some steps ago */
    uint64_t steps;            /* so many */
};

static void start_stride(struct stride *stride, const struct levels *levels, struct levels_mark begin,
                         struct levels_mark end)
{
    *stride = (struct stride){.steps = 0};
    levels_walk_start(&stride->walk, levels, begin, end, 0);
}

/* The next level, or one far behind it with levels alike in between, none of them deeper than `depth` unless
   the next one is. */
static bool stride_next(struct stride *stride, size_t depth)
{
    struct levels_walk *walk = &stride->walk;
    uint64_t stop;

    if (!levels_walk_next(walk))
        return false;
    if (!walk->level.ends_step)
        return true;
    /* Behind a stop the levels may be others. */
    if (levels_stops_at(walk->levels, walk->at, &stop)) {
        stride->before = (struct levels_walk){.levels = NULL};
        stride->steps = 0;
        return true;
    }
    /* A level that reaches all planes lags no farther than that. */
    if (go_on_alike(walk, &stride->before))
        leave_out_rounds(walk, &stride->before,
                         depth < walk->levels->planes ? depth : walk->levels->planes - 1);
    if (stride->steps++ % STEPS_OF_A_ROUND == 0)
        stride->before = *walk;
    return true;
}

/* How the ends of the grid matter to the steps of a stage. */
enum ends { NO_MATTER, WRAPPED, BOUNDED };

/* Planes that a form reads beside the taps do not count, but it has to be there: an edge that wraps asks for
   planes at the other end. */
static enum ends ends_of_op(const struct levels_step *step, size_t index)
{
    const struct op *op = &step->step.ops[index];

    if (edge_has(op->edge, EDGE_PERIODIC))
        return single_reach(step, index) > 0 ? WRAPPED : NO_MATTER;
    return op->plane.low < 0 || op->plane.high > 0 ? BOUNDED : NO_MATTER;
}

/* All operations of a stage have its edge. */
static enum ends ends_of(const struct levels *levels, size_t stage)
{
    const struct levels_step *step = &levels->steps[stage];
    enum ends ends = NO_MATTER;

    for (size_t i = 0; i < step->step.count && ends == NO_MATTER; i++)
        ends = ends_of_op(step, i);
    return ends;
}

static bool have_ends(const struct levels *levels, enum ends ends)
{
    for (size_t i = 0; i < levels->stage_count; i++) {
        if (levels->stages[i].steps > 0 && ends_of(levels, i) == ends)
            return true;
    }
    return false;
}

bool levels_wraps(const struct levels *levels)
{
    return have_ends(levels, WRAPPED);
}

bool levels_mix_ends(const struct levels *levels)
{
    return have_ends(levels, WRAPPED) && have_ends(levels, BOUNDED);
}

/* All planes are done when all have been read, but for those at an open end: what they would read beyond it
   is not there. */
static size_t done(const struct levels_span *span, size_t lag, size_t fed)
{
    if (fed == span->end && !span->open_end)
        return fed;
    return fed > lag ? fed - lag : 0;
}

struct range levels_ready(const struct levels_span *span, size_t lag, size_t before, size_t fed)
{
    size_t first = done(span, lag, before), end = done(span, lag, fed);

    if (span->open_begin)
        first = size_most(first, span->begin + lag);
    return (struct range){first, end > first ? end - first : 0};
}

struct levels_walk levels_survey(const struct levels *levels, struct levels_mark begin,
                                 struct levels_mark end)
{
    struct stride stride;

    start_stride(&stride, levels, begin, end);
    while (stride.walk.depth < levels->planes && stride_next(&stride, levels->planes))
        ;
    return stride.walk;
}

struct levels_span levels_span(const struct levels *levels, struct levels_mark begin, struct levels_mark end,
                               struct range planes)
{
    const struct levels_walk survey = levels_survey(levels, begin, end);
    size_t lag = survey.depth < levels->planes ? survey.level.lag : levels->planes;
    size_t last = planes.first + planes.count;
    struct levels_span span = {.begin = planes.first > lag ? planes.first - lag : 0,
                               .end = levels->planes - last > lag ? last + lag : levels->planes};

    span.open_begin = span.begin > 0;
    span.open_end = span.end < levels->planes;
    return span;
}

/* Whether a pass may go on into a stage with such ends. */
static bool goes_along(const struct levels *levels, enum ends pass, enum ends stage)
{
    return !levels->unrolled || pass == NO_MATTER || stage == NO_MATTER || pass == stage;
}

struct levels_cut levels_cut(const struct levels *levels, struct levels_mark begin, struct levels_mark end,
                             size_t depth)
{
    struct levels_mark start = levels_settle(levels, begin);
    struct levels_cut cut = {start, 0};
    enum ends ends = NO_MATTER;
    const struct levels_walk *walk;
    struct stride stride;

    start_stride(&stride, levels, begin, end);
    walk = &stride.walk;
    while (stride_next(&stride, depth)) {
        enum ends level = ends_of(levels, walk->level.stage);
        /* A pass ends before a stage with other ends, or before it gets too deep; but it takes one step at
           least. */
        if (!goes_along(levels, ends, level) || (walk->depth > depth && !levels_is_same_mark(cut.end, start)))
            break;
        ends = level == NO_MATTER ? ends : level;
        if (walk->level.ends_step)
            cut = (struct levels_cut){walk->at, ends == WRAPPED ? walk->level.lag : 0};
    }
    return cut;
}

/* Widen a survey by what comes first behind a mark: no level on the way to the next stop takes more steps. */
static void survey_first(const struct levels *levels, struct levels_mark begin, struct levels_walk *survey)
{
    struct levels_mark end = {begin.stage + 1, 0};
    struct levels_walk walk;

    levels_walk_start(&walk, levels, begin, end, 0);
    while (levels_walk_next(&walk) && !walk.level.ends_step)
        ;
    survey->depth = size_most(survey->depth, walk.depth);
    survey->seam = size_most(survey->seam, walk.seam);
}

struct levels_walk levels_survey_stages(const struct levels *levels)
{
    struct levels_walk survey = {.count = 1};

    for (size_t i = 0; i < levels->stage_count; i++)
        survey_first(levels, (struct levels_mark){i, 0}, &survey);
    for (size_t i = 0; levels->stage_count > 0 && i < levels->stop_count; i++)
        survey_first(levels, (struct levels_mark){levels->stage_count - 1, levels->stops[i]}, &survey);
    return survey;
}

/* FNV-1a, of whole words. */
static uint64_t digest(uint64_t before, uint64_t word)
{
    return (before ^ word) * 0x100000001b3;
}

uint64_t levels_digest(const struct levels *levels)
{
    uint64_t all = digest(0xcbf29ce484222325, levels->planes * 2 + levels->unrolled);

    for (size_t i = 0; i < levels->stage_count; i++) {
        const struct levels_step *step = &levels->steps[i];
        all = digest(digest(all, step->step.count), most_together(levels, i));
        all = digest(all, step->forms[0].most_first);
        for (size_t k = 0; k < step->step.count; k++)
            all = digest(digest(all, single_reach(step, k)), step->forms[k].reach);
    }
    return all;
}
