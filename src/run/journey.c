#include "journey.h"

struct journey journey_start(struct run *run, struct stops *stops)
{
    const struct plan *plan = run->plan;

    return (struct journey){run, stops,
                            route_start(&plan->levels, plan->schedule.depth, stops->source->random)};
}

bool journey_make(struct journey *journey, const struct route_pass *next, double *changes, bool measures)
{
    const struct stop from = stops_from(journey->stops, next->from), to = stops_to(journey->stops, next->to);
    struct pass pass = {.begin = next->begin,
                        .end = next->end,
                        .overlap = next->overlap,
                        .from = &from,
                        .to = &to,
                        .changes = changes,
                        .measures = measures};

    return pass_make(journey->run, &pass);
}

/* All the way to a mark: into the sink, or into a spool file; there the extremes may be asked for. */
static bool follow(struct journey *journey, struct levels_mark end, bool into_sink, bool measures)
{
    struct route *route = &journey->route;
    struct levels_mark there = levels_settle(route->levels, end);

    do {
        struct route_pass next = route_next(route, end, into_sink);
        if (!journey_make(journey, &next, NULL, measures && levels_is_same_mark(next.end, there)))
            return false;
        route_take(route, &next);
    } while (!route_is_at(route, end));
    return true;
}

bool journey_to_spool(struct journey *journey, struct levels_mark end)
{
    return follow(journey, end, false, false);
}

bool journey_to_sink(struct journey *journey, struct levels_mark end)
{
    struct run *run = journey->run;

    if (run->job->measures &&
        (!follow(journey, end, false, true) || !outrange_settle(&run->outrange, run->peers, run->fault)))
        return false;
    return follow(journey, end, true, false);
}
