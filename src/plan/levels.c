/* Chains: the levels that planes pass through on their way from the input to the output, and how far each has
   to lag behind the planes that were read. */
#include "levels.h"

struct chain_place chain_begin(void)
{
    return (struct chain_place){0, 0};
}

struct chain_place chain_end(const struct chain *chain)
{
    return (struct chain_place){chain->stage_count, 0};
}

bool chain_is_same_place(struct chain_place a, struct chain_place b)
{
    return a.stage == b.stage && a.step == b.step;
}

struct chain_place chain_settle(const struct chain *chain, struct chain_place place)
{
    while (place.stage < chain->stage_count &&
           (chain->stages[place.stage].converted || place.step >= chain->stages[place.stage].steps))
        place = (struct chain_place){place.stage + 1, 0};
    return place;
}

size_t chain_field_count(const struct chain *chain)
{
    for (size_t i = 0; i < chain->stage_count; i++) {
        if (chain->steps[i].keeps && chain->steps[i].step.count > 1)
            return 3;
    }
    return 2;
}

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* Beyond all planes there is nothing to wait for. */
static size_t limited(const struct chain *chain, size_t planes)
{
    return planes < chain->planes ? planes : chain->planes;
}

/* The most steps of a stage that one level takes: more than one where a step is a single operation, and not
   every state is asked for. */
static unsigned most_together(const struct chain *chain, size_t stage)
{
    const struct chain_step *step = &chain->steps[stage];
    unsigned most = 1;

    if (chain->on_trial && chain->stages[stage].until > 0.0)
        return 1;
    if (step->step.count == 1)
        most = step->forms[0].steps;
    return chain->together > 0 && chain->together < most ? chain->together : most;
}

static uint64_t steps_in_a_row(const struct stage *stage)
{
    return stage->until > 0.0 ? looks_stretch(&stage->looks) : stage->steps;
}

unsigned chain_most_together(const struct chain *chain)
{
    unsigned most = 1;

    for (size_t i = 0; i < chain->stage_count; i++) {
        unsigned together = most_together(chain, i);
        uint64_t in_a_row = steps_in_a_row(&chain->stages[i]);
        if (together > in_a_row)
            together = (unsigned)in_a_row;
        most = together > most ? together : most;
    }
    return most;
}

/* Steps of a place's stage that are still to come on the way to an end. */
static uint64_t steps_left(const struct chain *chain, struct chain_place at, struct chain_place end)
{
    return (at.stage == end.stage ? end.step : chain->stages[at.stage].steps) - at.step;
}

/* Steps that the next level takes, so that the levels up to the end are few and alike. */
static unsigned steps_together(const struct chain_walk *walk)
{
    uint64_t left = steps_left(walk->chain, walk->at, walk->end);
    uint64_t most = most_together(walk->chain, walk->at.stage);
    uint64_t levels = left / most + (left % most > 0);

    return (unsigned)(left / levels + (left % levels > 0));
}

/* While more than the square of the most that a level takes are left, each takes the most. */
uint64_t chain_steps_alike(const struct chain *chain, struct chain_place at, struct chain_place end)
{
    uint64_t most, left;

    if (at.stage == chain->stage_count)
        return 0;
    most = most_together(chain, at.stage);
    left = steps_left(chain, at, end);
    return left > most * most ? left - most * most : 0;
}

/* Planes on both sides that an operation reads. Edge rules turn the side that a tap reaches to around, so the
   longer one counts for both. */
static size_t single_reach(const struct chain_step *step, size_t index)
{
    const struct op *op = &step->step.ops[index];
    size_t low = (size_t) - (int64_t)op->plane.low, high = (size_t)op->plane.high;

    return larger(larger(low, high), step->forms[index].reach);
}

/* The same of so many steps at once. */
static size_t reach_of(const struct chain *chain, const struct chain_step *step, size_t index, unsigned steps)
{
    size_t reach = single_reach(step, index);

    if (reach > 0 && edge_has(step->step.ops[index].edge, EDGE_GOES_ROUND) && !chain->unrolled)
        return chain->planes;
    return reach > chain->planes / steps ? chain->planes : limited(chain, reach * steps);
}

/* A field that neither holds the level before nor what must be kept. */
static unsigned free_field(const struct chain_walk *walk, bool keeps)
{
    unsigned field = 0;

    while (field == walk->level.from || (keeps && field == walk->level.kept))
        field++;
    return field;
}

void chain_walk_start(struct chain_walk *walk, const struct chain *chain, struct chain_place begin,
                      struct chain_place end, unsigned field)
{
    *walk = (struct chain_walk){.chain = chain,
                                .at = chain_settle(chain, begin),
                                .end = chain_settle(chain, end),
                                .level = {.to = field}};
}

unsigned chain_walk_field(const struct chain_walk *walk)
{
    return walk->level.to;
}

/* The level reads its input to its reach. What is kept it reads at its own planes, which no later level is
 * ahead of. */
static void note_readers(struct chain_walk *walk)
{
    const struct level *level = &walk->level;
    size_t behind = limited(walk->chain, level->lag + level->reach);

    walk->behind[level->from] = larger(walk->behind[level->from], behind);
    walk->behind[level->to] = level->lag;
    walk->depth = larger(walk->depth, behind);
    walk->seam = larger(walk->seam, level->reach - level->reach / level->steps);
    walk->levels++;
}

bool chain_walk_next(struct chain_walk *walk)
{
    struct level *level = &walk->level;
    const struct chain_step *step;

    if (chain_is_same_place(walk->at, walk->end))
        return false;
    step = &walk->chain->steps[walk->at.stage];
    level->stage = walk->at.stage;
    level->op = walk->next_op;
    level->from = level->to;
    if (level->op == 0)
        level->kept = level->from;
    level->to = free_field(walk, step->keeps);
    level->steps = steps_together(walk);
    level->behind = walk->at.step + level->steps;
    level->reach = reach_of(walk->chain, step, level->op, level->steps);
    level->ends_step = level->op + 1 == step->step.count;
    level->lag = limited(walk->chain, larger(level->lag + level->reach, walk->behind[level->to]));
    note_readers(walk);
    walk->next_op = level->ends_step ? 0 : level->op + 1;
    if (level->ends_step) {
        walk->at.step += level->steps;
        walk->at = chain_settle(walk->chain, walk->at);
    }
    return true;
}

/* How far the last reader of a field is behind the level, which is all that later levels see of it. */
static size_t waiting(const struct chain_walk *walk, unsigned field)
{
    return walk->behind[field] > walk->level.lag ? walk->behind[field] - walk->level.lag : 0;
}

/* Whether the levels behind two steps of a stage go on in the same way, some planes apart. */
static bool go_on_alike(const struct chain_walk *walk, const struct chain_walk *before)
{
    if (before->chain == NULL || before->at.stage != walk->at.stage || before->level.to != walk->level.to)
        return false;
    for (unsigned field = 0; field < CHAIN_FIELDS; field++) {
        if (waiting(before, field) != waiting(walk, field))
            return false;
    }
    return true;
}

/* Rounds of levels as the one since `before`, within a depth: all that are left but for the last steps. */
static uint64_t rounds_alike(const struct chain_walk *walk, const struct chain_walk *before, size_t depth)
{
    uint64_t rounds = chain_steps_alike(walk->chain, walk->at, walk->end) / (walk->at.step - before->at.step);
    size_t rise = walk->level.lag - before->level.lag, room = depth > walk->depth ? depth - walk->depth : 0;

    return rise > 0 && room / rise < rounds ? room / rise : rounds;
}

/* Past rounds of levels that only repeat what is known; the last one is walked, since it is the deepest. */
static void leave_out_rounds(struct chain_walk *walk, const struct chain_walk *before, size_t depth)
{
    uint64_t rounds = rounds_alike(walk, before, depth), out = rounds > 0 ? rounds - 1 : 0;
    size_t rise = (size_t)out * (walk->level.lag - before->level.lag);

    for (unsigned field = 0; field < CHAIN_FIELDS; field++)
        walk->behind[field] += waiting(walk, field) > 0 ? rise : 0;
    walk->level.lag += rise;
    walk->at.step += out * (walk->at.step - before->at.step);
    walk->levels += out * (walk->levels - before->levels);
}

/* Steps after which a stage's levels have the fields that they had, whatever their number. */
#define STEPS_OF_A_ROUND 6

/* A walk that does not stop at every level, for whoever wants to know how deep it gets. */
struct stride {
    struct chain_walk walk;
    struct chain_walk before; /* where the walk stood some steps ago */
    uint64_t steps;           /* so many */
};

static void start_stride(struct stride *stride, const struct chain *chain, struct chain_place begin,
                         struct chain_place end)
{
    *stride = (struct stride){.steps = 0};
    chain_walk_start(&stride->walk, chain, begin, end, 0);
}

/* The next level, or one far behind it with levels alike in between, none of them deeper than `depth` unless
   the next one is. */
static bool stride_next(struct stride *stride, size_t depth)
{
    struct chain_walk *walk = &stride->walk;

    if (!chain_walk_next(walk))
        return false;
    if (!walk->level.ends_step)
        return true;
    /* What reaches all planes lags no farther than that. */
    if (go_on_alike(walk, &stride->before))
        leave_out_rounds(walk, &stride->before,
                         depth < walk->chain->planes ? depth : walk->chain->planes - 1);
    if (stride->steps++ % STEPS_OF_A_ROUND == 0)
        stride->before = *walk;
    return true;
}

/* What an edge rule is to the steps of a stage. */
enum ends { NO_MATTER, WRAPPED, BOUNDED };

/* All operations of a stage have its edge. */
static enum ends ends_of(const struct chain *chain, size_t stage)
{
    const struct chain_step *step = &chain->steps[stage];

    for (size_t i = 0; i < step->step.count; i++) {
        if (single_reach(step, i) > 0)
            return edge_has(step->step.ops[i].edge, EDGE_GOES_ROUND) ? WRAPPED : BOUNDED;
    }
    return NO_MATTER;
}

bool chain_wraps(const struct chain *chain)
{
    for (size_t i = 0; i < chain->stage_count; i++) {
        if (chain->stages[i].steps > 0 && ends_of(chain, i) == WRAPPED)
            return true;
    }
    return false;
}

/* All planes are done when all have been read, but for those at an open end: what they would read beyond it
   is not there. */
static size_t done(const struct chain_span *span, size_t lag, size_t fed)
{
    if (fed == span->end && !span->open_end)
        return fed;
    return fed > lag ? fed - lag : 0;
}

struct range chain_ready(const struct chain_span *span, size_t lag, size_t before, size_t fed)
{
    size_t first = done(span, lag, before), end = done(span, lag, fed);

    if (span->open_begin)
        first = larger(first, span->begin + lag);
    return (struct range){first, end > first ? end - first : 0};
}

struct chain_walk chain_survey(const struct chain *chain, struct chain_place begin, struct chain_place end)
{
    struct stride stride;

    start_stride(&stride, chain, begin, end);
    while (stride.walk.depth < chain->planes && stride_next(&stride, chain->planes))
        ;
    return stride.walk;
}

struct chain_span chain_span(const struct chain *chain, struct chain_place begin, struct chain_place end,
                             struct range planes)
{
    const struct chain_walk survey = chain_survey(chain, begin, end);
    size_t lag = survey.depth < chain->planes ? survey.level.lag : chain->planes;
    size_t last = planes.first + planes.count;
    struct chain_span span = {.begin = planes.first > lag ? planes.first - lag : 0,
                              .end = chain->planes - last > lag ? last + lag : chain->planes};

    span.open_begin = span.begin > 0;
    span.open_end = span.end < chain->planes;
    return span;
}

/* Whether a pass may go on into a stage with such ends. */
static bool goes_along(const struct chain *chain, enum ends pass, enum ends stage)
{
    return !chain->unrolled || pass == NO_MATTER || stage == NO_MATTER || pass == stage;
}

struct chain_cut chain_cut(const struct chain *chain, struct chain_place begin, struct chain_place end,
                           size_t depth)
{
    struct chain_place start = chain_settle(chain, begin);
    struct chain_cut cut = {start, 0};
    enum ends ends = NO_MATTER;
    const struct chain_walk *walk;
    struct stride stride;

    start_stride(&stride, chain, begin, end);
    walk = &stride.walk;
    while (stride_next(&stride, depth)) {
        enum ends level = ends_of(chain, walk->level.stage);
        if (!goes_along(chain, ends, level) || (walk->depth > depth && !chain_is_same_place(cut.end, start)))
            break;
        ends = level == NO_MATTER ? ends : level;
        if (walk->level.ends_step)
            cut = (struct chain_cut){walk->at, ends == WRAPPED ? walk->level.lag : 0};
    }
    return cut;
}

struct chain_walk chain_survey_levels(const struct chain *chain)
{
    struct chain_walk survey = {.levels = 1};

    for (size_t i = 0; i < chain->stage_count; i++) {
        struct chain_walk walk;
        struct chain_place begin = {i, 0}, end = {i + 1, 0};
        chain_walk_start(&walk, chain, begin, end, 0);
        while (chain_walk_next(&walk) && !walk.level.ends_step)
            ;
        survey.depth = larger(survey.depth, walk.depth);
        survey.seam = larger(survey.seam, walk.seam);
    }
    return survey;
}
