/* Chains: the levels that planes pass through on their way from the input to the output, and how far each has to
   lag behind the planes that were read. */
#include "chain.h"

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

/* Past stages without steps, and from the end of a stage to the start of the next. */
static struct chain_place settle(const struct chain *chain, struct chain_place place)
{
    while (place.stage < chain->stage_count && place.step >= chain->stages[place.stage].steps)
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

/* The most steps of a stage that one level takes: more than one where a step is a single operation whose every state
   is not asked for. */
static unsigned most_together(const struct chain *chain, size_t stage)
{
    const struct chain_step *step = &chain->steps[stage];
    unsigned most = 1;

    if (step->step.count == 1 && !step->keeps)
        most = chain->backend->facts(step->routines[0])->steps;
    return chain->together > 0 && chain->together < most ? chain->together : most;
}

unsigned chain_most_together(const struct chain *chain)
{
    unsigned most = 1;

    for (size_t i = 0; i < chain->stage_count; i++) {
        unsigned together = most_together(chain, i);
        if (together > chain->stages[i].steps)
            together = (unsigned)chain->stages[i].steps;
        most = together > most ? together : most;
    }
    return most;
}

/* Steps that the next level takes, so that the levels up to the end are few and alike. */
static unsigned steps_together(const struct chain_walk *walk)
{
    size_t stage = walk->at.stage;
    uint64_t end = stage == walk->end.stage ? walk->end.step : walk->chain->stages[stage].steps;
    uint64_t left = end - walk->at.step, most = most_together(walk->chain, stage);
    uint64_t levels = left / most + (left % most > 0);

    return (unsigned)(left / levels + (left % levels > 0));
}

/* Planes on both sides that so many steps of an operation read. Edge rules turn the side that a tap reaches to
   around, so the longer one counts for both. */
static size_t reach_of(const struct chain *chain, const struct chain_step *step, size_t index, unsigned steps)
{
    const struct op *op = &step->step.ops[index];
    size_t low = (size_t)-(int64_t)op->plane.low, high = (size_t)op->plane.high;
    size_t reach = larger(larger(low, high), chain->backend->facts(step->routines[index])->reach);

    if (reach > 0 && op->edge == EDGE_WRAP)
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
    *walk = (struct chain_walk){
        .chain = chain, .at = settle(chain, begin), .end = settle(chain, end), .level = {.to = field}};
}

unsigned chain_walk_field(const struct chain_walk *walk)
{
    return walk->level.to;
}

/* The level reads its input to its reach. What is kept it reads at its own planes, which no later level is ahead of. */
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
    level->reach = reach_of(walk->chain, step, level->op, level->steps);
    level->ends_step = level->op + 1 == step->step.count;
    level->lag = limited(walk->chain, larger(level->lag + level->reach, walk->behind[level->to]));
    note_readers(walk);
    walk->next_op = level->ends_step ? 0 : level->op + 1;
    if (level->ends_step) {
        walk->at.step += level->steps;
        walk->at = settle(walk->chain, walk->at);
    }
    return true;
}

size_t chain_done(const struct chain *chain, size_t lag, size_t fed)
{
    if (fed == chain->planes)
        return fed;
    return fed > lag ? fed - lag : 0;
}

struct chain_walk chain_survey(const struct chain *chain, struct chain_place begin, struct chain_place end)
{
    struct chain_walk walk;

    chain_walk_start(&walk, chain, begin, end, 0);
    while (walk.depth < chain->planes && chain_walk_next(&walk))
        ;
    return walk;
}

struct chain_place chain_cut(const struct chain *chain, struct chain_place begin, size_t depth)
{
    struct chain_place cut = settle(chain, begin), end = chain_end(chain);
    struct chain_walk walk;

    chain_walk_start(&walk, chain, begin, end, 0);
    while (chain_walk_next(&walk)) {
        if (walk.depth > depth && !chain_is_same_place(cut, settle(chain, begin)))
            break;
        if (walk.level.ends_step)
            cut = walk.at;
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
