/* Routes: the passes that take planes from the source through spool files into the sink, one after another.

   A pass takes as many steps as its depth allows, and puts the planes into a spool file. The next pass may
   overwrite that file while it reads it, since a plane is written only after it has been read. A pass that
   goes around the grid reads the first planes once more at the end: it writes a second spool file, and a
   source that cannot be read at any place is copied into the first one before. A survey counts the passes
   without making them. Those in the middle of a stage are alike, and an even number of them is left out at
   once. */
#include "route.h"

static bool is_spool(enum route_stop stop)
{
    return stop == ROUTE_FIRST_SPOOL || stop == ROUTE_SECOND_SPOOL;
}

enum route_stop route_other_spool(enum route_stop spool)
{
    return spool == ROUTE_FIRST_SPOOL ? ROUTE_SECOND_SPOOL : ROUTE_FIRST_SPOOL;
}

/* A plane is written only after it has been read, so that one spool is enough; but the first planes of a grid
   that is gone around are read once more at the end. */
static enum route_stop spool_behind(const struct route_pass *pass)
{
    if (!is_spool(pass->from))
        return ROUTE_FIRST_SPOOL;
    return pass->overlap > 0 ? route_other_spool(pass->from) : pass->from;
}

struct route route_start(const struct levels *levels, size_t depth, bool random)
{
    return (struct route){levels, depth, random, levels_begin(), ROUTE_SOURCE};
}

/* A source that cannot be read from any place is spooled first. */
struct route_pass route_next(const struct route *route, struct levels_mark end, bool into_sink)
{
    struct levels_mark begin = levels_settle(route->levels, route->at);
    struct levels_cut cut = levels_cut(route->levels, begin, end, route->depth);
    struct route_pass pass = {.begin = begin, .end = cut.end, .from = route->where, .overlap = cut.overlap};

    if (pass.overlap > 0 && pass.from == ROUTE_SOURCE && !route->random) {
        pass.end = pass.begin;
        pass.overlap = 0;
    }
    pass.to = into_sink && levels_is_same_mark(pass.end, levels_settle(route->levels, end))
                  ? ROUTE_SINK
                  : spool_behind(&pass);
    return pass;
}

void route_take(struct route *route, const struct route_pass *pass)
{
    route->at = pass->end;
    route->where = pass->to;
}

bool route_is_at(const struct route *route, struct levels_mark end)
{
    return route->where != ROUTE_SOURCE && levels_is_same_mark(route->at, levels_settle(route->levels, end));
}

static uint64_t steps_of(const struct route_pass *pass)
{
    return pass->end.step - pass->begin.step;
}

/* Whether two passes, one after the other, are within a stage, and take as much of it; around a stop that may
   be by chance. */
static bool are_alike(const struct levels *levels, const struct route_pass *first,
                      const struct route_pass *second)
{
    return is_spool(first->from) && first->begin.stage == second->end.stage &&
           steps_of(first) == steps_of(second) && first->overlap == second->overlap &&
           !levels_stops_within(levels, first->begin.stage, first->begin.step, second->end.step);
}

static void count(struct route_cost *cost, const struct route_pass *pass, uint64_t passes)
{
    cost->passes += passes;
    cost->again += 2.0 * (double)pass->overlap * (double)passes;
}

/* Count the passes to a mark, those alike many at a time. */
static void survey_to(struct route *route, struct levels_mark end, bool into_sink, struct route_cost *cost)
{
    struct route_pass before = {.from = ROUTE_SOURCE};

    do {
        struct route_pass pass = route_next(route, end, into_sink);
        route_take(route, &pass);
        count(cost, &pass, 1);
        if (are_alike(route->levels, &before, &pass)) {
            /* Passes of steps that levels take alike are left out; an even number, so that the planes stand
               where they do. */
            uint64_t passes = levels_steps_alike(route->levels, route->at, end) / steps_of(&pass) / 2 * 2;
            route->at.step += passes * steps_of(&pass);
            count(cost, &pass, passes);
        }
        before = pass;
        if (pass.to == ROUTE_FIRST_SPOOL && cost->spools < 1)
            cost->spools = 1;
        if (pass.to == ROUTE_SECOND_SPOOL)
            cost->spools = 2;
    } while (!route_is_at(route, end));
}

struct route_cost route_survey(const struct levels *levels, size_t depth, bool random, struct route_way way)
{
    struct levels_mark last = {levels->stage_count - 1, 0}, end = levels_end(levels);
    struct route route = route_start(levels, depth, random);
    struct route_cost cost = {0};

    if (way.on_trial) {
        survey_to(&route, last, false, &cost);
        if (!route_is_at(&route, end))
            survey_to(&route, end, false, &cost);
        cost.spools = 2;
    }
    if (way.stops)
        survey_to(&route, end, false, &cost);
    survey_to(&route, end, true, &cost);
    return cost;
}
