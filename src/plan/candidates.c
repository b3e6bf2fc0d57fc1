/* Candidates: the ways to run, in order of preference. */
#include "candidates.h"

bool candidates_look_at_all(const struct levels *levels)
{
    return levels->stage_count > 0 && levels->stages[levels->stage_count - 1].until > 0.0;
}

unsigned candidates_fewer(unsigned together)
{
    return together - (together + 2) / 3;
}

/* Levels of fewer steps lag less behind, and get along with narrower slabs. */
static void add_candidates(struct candidates *candidates, struct candidate kind, unsigned most)
{
    for (kind.together = most; kind.together > 0; kind.together = candidates_fewer(kind.together))
        candidates->list[candidates->count++] = kind;
    kind.together = 1;
    kind.lean = true;
    candidates->list[candidates->count++] = kind;
}

bool candidates_go_round(const struct schedule_request *request)
{
    return request->part && request->random && levels_wraps(request->levels) &&
           !levels_mix_ends(request->levels) && !candidates_look_at_all(request->levels) &&
           !request->measures;
}

/* One pass, since each costs reading and writing all planes once more. What the source holds stands in
   memory, too, or else in a spool file. */
void candidates_list(const struct schedule_request *request, struct candidates *candidates)
{
    const struct candidate streamed = {.spooled = false}, relieved = {.source_in_spool = true};
    const struct candidate unrolled = {.spooled = true, .unrolled = true};
    const struct candidate spooled = {.spooled = true, .source_in_spool = request->held_bytes > 0};
    struct levels on_trial = *request->levels;

    on_trial.on_trial = true;
    candidates->count = 0;
    if (candidates_go_round(request))
        add_candidates(candidates, unrolled, levels_most_together(request->levels));
    add_candidates(candidates, streamed, levels_most_together(request->levels));
    if (request->at_once)
        return;
    if (request->held_bytes > 0)
        add_candidates(candidates, relieved, levels_most_together(request->levels));
    add_candidates(candidates, spooled, levels_most_together(&on_trial));
}
