/* Fleets: passes by several devices, each of which has a share of the planes in its fields and is handed what
   its levels read beside it. */
#include "fleet.h"

#include "base/size.h"
#include "plan/exchange.h"
#include "outcomes.h"
#include "team.h"

/* Planes that go through the host's memory take as long as a level. They go while the inside is computed,
   unless shares have fewer halos than this: a level that is computed in three pieces computes more planes
   twice. Where devices reach each other, all at once is faster (on two H200 by 5 % at 512 planes each). */
#define LEAST_HALOS 8

static bool hides(const struct shares *shares, size_t reach)
{
    return !shares->direct && reach > 0 && shares->planes / shares->count >= LEAST_HALOS * reach;
}

/* Let one of the lanes make what passes are made of. */
static void choose_lane(struct passes *all, size_t index)
{
    all->lane = &all->lanes[index];
    all->sweep = &all->sweeps[index];
    all->share = index;
}

/* ---- planes in and out ---- */

/* Planes that all lanes move, and what each of them adds up meanwhile. */
struct move {
    const struct passes *all;
    const struct pass *pass;
    struct pass_seconds seconds[DEVICES_MOST];
    struct outcomes outcomes[DEVICES_MOST];
};

/* What a lane does of a pass that moves planes: its own, and no levels. */
static bool move_share(void *context, size_t index, struct crew *crew, struct fault *fault)
{
    struct move *move = context;
    const struct pass *pass = move->pass;
    struct passes own = *move->all;
    struct pass moving = {.begin = pass->from != NULL ? pass->begin : pass->end,
                          .overlap = shares_overlap(&own.plan->shares),
                          .from = pass->from,
                          .to = pass->to};
    bool done;

    moving.end = moving.begin;
    choose_lane(&own, index);
    own.crew = crew;
    own.fault = fault;
    own.seconds = (struct pass_seconds){.start = 0.0};
    own.outcomes = (struct outcomes){.strays = 0};
    done = pass_make(&own, &moving);
    move->seconds[index] = own.seconds;
    move->outcomes[index] = own.outcomes;
    return done;
}

/* What can be read or written anywhere, and is not looked at in its order, need not wait for other lanes. */
static bool goes_side_by_side(const struct passes *all, const struct pass *pass)
{
    const struct stop *end = pass->from != NULL ? pass->from : pass->to;

    return end->random && !passes_are_observed(all, end);
}

static double larger(double a, double b)
{
    return a > b ? a : b;
}

/* Lanes side by side take as long as the slowest of them; the threads that read and write for them are
   counted each. */
static void add_seconds(struct pass_seconds *all, const struct pass_seconds *lanes, size_t count)
{
    struct pass_seconds slowest = {.start = 0.0};

    for (size_t i = 0; i < count; i++) {
        all->read += lanes[i].read;
        all->write += lanes[i].write;
        slowest.start = larger(slowest.start, lanes[i].start);
        slowest.upload = larger(slowest.upload, lanes[i].upload);
        slowest.download = larger(slowest.download, lanes[i].download);
        slowest.reading = larger(slowest.reading, lanes[i].reading);
        slowest.writing = larger(slowest.writing, lanes[i].writing);
    }
    all->start += slowest.start;
    all->upload += slowest.upload;
    all->download += slowest.download;
    all->reading += slowest.reading;
    all->writing += slowest.writing;
}

/* Once nobody reads any more: to look at a file's end moves the place from which others read. */
static bool look_at_end(struct passes *all, const struct stop *from)
{
    return from == NULL || from->carrier.finish == NULL ||
           from->carrier.finish(from->carrier.file, all->fault);
}

static bool move_beside(struct passes *all, struct move *move)
{
    const size_t count = all->plan->shares.count;
    bool done = crew_share(count, move_share, move, all->fault) && look_at_end(all, move->pass->from);

    add_seconds(&all->seconds, move->seconds, count);
    return done;
}

static bool move_in_turn(struct passes *all, struct move *move)
{
    const size_t count = all->plan->shares.count;
    bool done = crew_queue(count, move_share, move, all->fault);

    for (size_t i = 0; i < count; i++)
        add_seconds(&all->seconds, &move->seconds[i], 1);
    return done;
}

static bool move_all(struct passes *all, const struct pass *pass)
{
    struct move move = {.all = all, .pass = pass};
    bool done = goes_side_by_side(all, pass) ? move_beside(all, &move) : move_in_turn(all, &move);

    for (size_t i = 0; i < all->plan->shares.count; i++)
        outcomes_add(&all->outcomes, &move.outcomes[i]);
    return done;
}

/* ---- levels ---- */

/* Planes are counted from the first of the unrolled grid on, or from that of the grid itself, where edges act
   at its ends. What stands before it then has numbers below 0. */
static void count_planes(struct passes *all, bool around)
{
    const struct shares *planned = &all->plan->shares;
    const ptrdiff_t overlap = (ptrdiff_t)shares_overlap(planned);

    if (around == all->shares.around || !planned->around)
        return;
    all->shares.around = around;
    for (size_t i = 0; i < planned->count; i++) {
        const struct lane *lane = &all->lanes[i];
        for (size_t k = 0; k < all->plan->schedule.field_count; k++)
            lane->backend->field_renumber(lane->fields[k], planned->planes + 2 * shares_overlap(&all->shares),
                                          around ? overlap : -overlap);
    }
}

/* As all passes do. */
static void count_as_planned(struct passes *all)
{
    count_planes(all, all->plan->shares.around);
}

static void count_for(struct passes *all, const struct level *level)
{
    const struct op *op = &all->plan->steps[level->stage].step.ops[level->op];

    count_planes(all, edge_has(op->edge, EDGE_PERIODIC));
}

/* What each lane reads of a level's field that others have computed. */
static bool gather_all(struct passes *all, unsigned field, size_t reach)
{
    uint64_t handed[DEVICES_MOST] = {0};
    bool done = exchange_planes(all->lanes, &all->shares, field, reach, handed, all->fault);

    for (size_t i = 0; i < all->shares.count; i++)
        all->sweeps[i].handed += handed[i];
    return done;
}

static bool advance_all(struct passes *all, const struct level *level)
{
    bool done = true;

    for (size_t i = 0; done && i < all->shares.count; i++)
        done = sweep_advance(&all->sweeps[i], level, shares_own(&all->shares, i), all->fault);
    return done;
}

static bool advance_borders(struct passes *all, const struct level *level, size_t depth)
{
    bool done = true;

    for (size_t i = 0; done && i < all->shares.count; i++) {
        const struct range own = shares_own(&all->shares, i);
        const struct range low = {own.first, depth}, high = {own.first + own.count - depth, depth};
        done = sweep_advance(&all->sweeps[i], level, low, all->fault) &&
               sweep_advance(&all->sweeps[i], level, high, all->fault);
    }
    return done;
}

static bool advance_insides(struct passes *all, const struct level *level, size_t depth)
{
    bool done = true;

    for (size_t i = 0; done && i < all->shares.count; i++) {
        const struct range own = shares_own(&all->shares, i);
        const struct range inside = {own.first + depth, own.count - 2 * depth};
        done = sweep_advance(&all->sweeps[i], level, inside, all->fault);
    }
    return done;
}

/* What the next level of a walk reads of its input beside the lanes' own planes; nothing where it was the
 * last.
 */
static bool gather_next(struct passes *all, struct levels_walk walk, unsigned field)
{
    if (!levels_walk_next(&walk))
        return true;
    count_for(all, &walk.level);
    return gather_all(all, field, walk.level.reach);
}

/* The reach of the level after that which a walk has come to; 0 where it is the last. */
static size_t next_reach(struct levels_walk walk)
{
    return levels_walk_next(&walk) ? walk.level.reach : 0;
}

/* Borders first where they are handed over while the inside is computed. */
static bool advance_and_gather(struct passes *all, const struct levels_walk *walk)
{
    const struct level *level = &walk->level;
    const size_t reach = next_reach(*walk);

    count_for(all, level);
    if (!hides(&all->shares, reach))
        return advance_all(all, level) && gather_next(all, *walk, level->to);
    if (!advance_borders(all, level, reach) || !gather_next(all, *walk, level->to))
        return false;
    count_for(all, level);
    return advance_insides(all, level, reach);
}

/* In the order of planes, as a lane alone would add them. */
static bool add_changes(struct passes *all, const struct level *level, double *changes)
{
    bool done = true;

    for (size_t i = 0; done && i < all->shares.count; i++)
        done = sweep_add_change(&all->sweeps[i], level, shares_own(&all->shares, i), changes, all->fault);
    return done;
}

/* ---- states on the way ---- */

/* If the state at a mark is asked for, its planes are written in their order. */
static bool write_state(struct passes *all, struct levels_mark mark, unsigned field)
{
    bool done = true;

    for (size_t i = 0; done && i < all->plan->shares.count; i++)
        done = passes_write_state(all, &all->sweeps[i], mark, field, shares_own(&all->plan->shares, i));
    outcomes_add(&all->outcomes, &all->tees.aside);
    all->tees.aside = (struct outcomes){.strays = 0};
    return done;
}

/* ---- a pass ---- */

static bool walk_levels(struct passes *all, struct levels_walk *walk, double *changes)
{
    if (!gather_next(all, *walk, levels_walk_field(walk)))
        return false;
    while (levels_walk_next(walk)) {
        const struct level *level = &walk->level;
        if (!advance_and_gather(all, walk))
            return false;
        count_as_planned(all);
        if (level->ends_step && !write_state(all, walk->at, level->to))
            return false;
        if (changes != NULL && level->ends_step) {
            if (sweep_looks_at(&all->sweeps[0], level) && !add_changes(all, level, changes))
                return false;
            changes += all->job->in.grid.channels;
        }
    }
    return true;
}

static bool begin_spans(struct passes *all)
{
    bool done = true;

    for (size_t i = 0; done && i < all->plan->shares.count; i++)
        done = sweep_begin_span(&all->sweeps[i], all->fault);
    return done;
}

static bool end_spans(struct passes *all, unsigned field)
{
    bool done = true;

    for (size_t i = 0; done && i < all->plan->shares.count; i++)
        done = sweep_end_levels(&all->sweeps[i], field, all->fault);
    return done;
}

static bool advance_levels(struct passes *all, const struct pass *pass)
{
    const struct sweep *first = &all->sweeps[0];
    struct levels_walk walk;

    levels_walk_start(&walk, &first->levels, pass->begin, pass->end, first->output);
    if (pass->from != NULL && !write_state(all, walk.at, first->output))
        return false;
    return begin_spans(all) && walk_levels(all, &walk, pass->changes) &&
           end_spans(all, levels_walk_field(&walk));
}

/* What came to each of them, and how long it took. */
static bool tell_handings(struct passes *all)
{
    bool done = true;

    for (size_t i = 0; done && i < all->plan->shares.count; i++) {
        const struct lane *lane = &all->lanes[i];
        done = lane->backend->tell_handings(lane->device, &all->sweeps[i].handing, all->fault);
    }
    return done;
}

static bool make_together(struct passes *all, const struct pass *pass)
{
    const struct pass come = {.begin = pass->begin, .from = pass->from};
    const struct pass leave = {.end = pass->end, .to = pass->to};

    return (pass->from == NULL || move_all(all, &come)) && !sink_lacks_room(all->sink, all->fault) &&
           advance_levels(all, pass) && (pass->to == NULL || (move_all(all, &leave) && tell_handings(all)));
}

bool fleet_make(struct passes *all, struct pass *pass)
{
    if (team_is_due(all))
        return team_make(all, pass);
    return all->plan->shares.count > 1 ? make_together(all, pass) : pass_make(all, pass);
}

bool fleet_measure(struct passes *all)
{
    const struct shares *shares = &all->plan->shares;
    bool done = true;

    if (team_is_due(all))
        return team_measure(all);
    for (size_t i = 0; done && i < shares->count; i++) {
        choose_lane(all, i);
        done = passes_measure(all, shares_own(shares, i));
    }
    choose_lane(all, 0);
    return done;
}
