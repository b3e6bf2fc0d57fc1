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
static void choose_lane(struct run *run, size_t index)
{
    run->lane = &run->lanes[index];
    run->sweep = &run->sweeps[index];
    run->share = index;
}

/* ---- planes in and out ---- */

/* Planes that all lanes move, and what each of them adds up meanwhile. */
struct move {
    const struct run *run;
    const struct pass *pass;
    struct pass_seconds seconds[DEVICES_MOST];
    struct outcomes outcomes[DEVICES_MOST];
};

/* What a lane does of a pass that moves planes: its own, and no levels. */
static bool move_share(void *context, size_t index, struct crew *crew, struct fault *fault)
{
    struct move *move = context;
    const struct pass *pass = move->pass;
    struct run own = *move->run;
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
static bool goes_side_by_side(const struct run *run, const struct pass *pass)
{
    const struct stop *end = pass->from != NULL ? pass->from : pass->to;

    return end->random && !pass_is_observed(run, end);
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
static bool look_at_end(struct run *run, const struct stop *from)
{
    return from == NULL || from->carrier.finish == NULL ||
           from->carrier.finish(from->carrier.file, run->fault);
}

static bool move_beside(struct run *run, struct move *move)
{
    const size_t count = run->plan->shares.count;
    bool done = crew_share(count, move_share, move, run->fault) && look_at_end(run, move->pass->from);

    add_seconds(&run->seconds, move->seconds, count);
    return done;
}

static bool move_in_turn(struct run *run, struct move *move)
{
    const size_t count = run->plan->shares.count;
    bool done = crew_queue(count, move_share, move, run->fault);

    for (size_t i = 0; i < count; i++)
        add_seconds(&run->seconds, &move->seconds[i], 1);
    return done;
}

static bool move_all(struct run *run, const struct pass *pass)
{
    struct move move = {.run = run, .pass = pass};
    bool done = goes_side_by_side(run, pass) ? move_beside(run, &move) : move_in_turn(run, &move);

    for (size_t i = 0; i < run->plan->shares.count; i++)
        outcomes_add(&run->outcomes, &move.outcomes[i]);
    return done;
}

/* ---- levels ---- */

/* Planes are counted from the first of the unrolled grid on, or from that of the grid itself, where edges act
   at its ends. What stands before it then has numbers below 0. */
static void count_planes(struct run *run, bool around)
{
    const struct shares *planned = &run->plan->shares;
    const ptrdiff_t overlap = (ptrdiff_t)shares_overlap(planned);

    if (around == run->shares.around || !planned->around)
        return;
    run->shares.around = around;
    for (size_t i = 0; i < planned->count; i++) {
        const struct lane *lane = &run->lanes[i];
        for (size_t k = 0; k < run->plan->schedule.field_count; k++)
            lane->backend->field_renumber(lane->fields[k], planned->planes + 2 * shares_overlap(&run->shares),
                                          around ? overlap : -overlap);
    }
}

/* As all passes do. */
static void count_as_planned(struct run *run)
{
    count_planes(run, run->plan->shares.around);
}

static void count_for(struct run *run, const struct level *level)
{
    const struct op *op = &run->plan->steps[level->stage].step.ops[level->op];

    count_planes(run, edge_has(op->edge, EDGE_PERIODIC));
}

/* What each lane reads of a level's field that others have computed. */
static bool gather_all(struct run *run, unsigned field, size_t reach)
{
    uint64_t handed[DEVICES_MOST] = {0};
    bool done = exchange_planes(run->lanes, &run->shares, field, reach, handed, run->fault);

    for (size_t i = 0; i < run->shares.count; i++)
        run->sweeps[i].handed += handed[i];
    return done;
}

static bool advance_all(struct run *run, const struct level *level)
{
    bool done = true;

    for (size_t i = 0; done && i < run->shares.count; i++)
        done = sweep_advance(&run->sweeps[i], level, shares_own(&run->shares, i), run->fault);
    return done;
}

static bool advance_borders(struct run *run, const struct level *level, size_t depth)
{
    bool done = true;

    for (size_t i = 0; done && i < run->shares.count; i++) {
        const struct range own = shares_own(&run->shares, i);
        const struct range low = {own.first, depth}, high = {own.first + own.count - depth, depth};
        done = sweep_advance(&run->sweeps[i], level, low, run->fault) &&
               sweep_advance(&run->sweeps[i], level, high, run->fault);
    }
    return done;
}

static bool advance_insides(struct run *run, const struct level *level, size_t depth)
{
    bool done = true;

    for (size_t i = 0; done && i < run->shares.count; i++) {
        const struct range own = shares_own(&run->shares, i);
        const struct range inside = {own.first + depth, own.count - 2 * depth};
        done = sweep_advance(&run->sweeps[i], level, inside, run->fault);
    }
    return done;
}

/* What the next level of a walk reads of its input beside the lanes' own planes; nothing where it was the
 * last.
 */
static bool gather_next(struct run *run, struct levels_walk walk, unsigned field)
{
    if (!levels_walk_next(&walk))
        return true;
    count_for(run, &walk.level);
    return gather_all(run, field, walk.level.reach);
}

/* The reach of the level after that which a walk has come to; 0 where it is the last. */
static size_t next_reach(struct levels_walk walk)
{
    return levels_walk_next(&walk) ? walk.level.reach : 0;
}

/* Borders first where they are handed over while the inside is computed. */
static bool advance_and_gather(struct run *run, const struct levels_walk *walk)
{
    const struct level *level = &walk->level;
    const size_t reach = next_reach(*walk);

    count_for(run, level);
    if (!hides(&run->shares, reach))
        return advance_all(run, level) && gather_next(run, *walk, level->to);
    if (!advance_borders(run, level, reach) || !gather_next(run, *walk, level->to))
        return false;
    count_for(run, level);
    return advance_insides(run, level, reach);
}

/* In the order of planes, as a lane alone would add them. */
static bool add_changes(struct run *run, const struct level *level, double *changes)
{
    bool done = true;

    for (size_t i = 0; done && i < run->shares.count; i++)
        done = sweep_add_change(&run->sweeps[i], level, shares_own(&run->shares, i), changes, run->fault);
    return done;
}

/* ---- states on the way ---- */

/* If the state at a mark is asked for, its planes are written in their order. */
static bool write_state(struct run *run, struct levels_mark mark, unsigned field)
{
    bool done = true;

    for (size_t i = 0; done && i < run->plan->shares.count; i++)
        done = pass_write_state(run, &run->sweeps[i], mark, field, shares_own(&run->plan->shares, i));
    outcomes_add(&run->outcomes, &run->tees.aside);
    run->tees.aside = (struct outcomes){.strays = 0};
    return done;
}

/* ---- a pass ---- */

static bool walk_levels(struct run *run, struct levels_walk *walk, double *changes)
{
    if (!gather_next(run, *walk, levels_walk_field(walk)))
        return false;
    while (levels_walk_next(walk)) {
        const struct level *level = &walk->level;
        if (!advance_and_gather(run, walk))
            return false;
        count_as_planned(run);
        if (level->ends_step && !write_state(run, walk->at, level->to))
            return false;
        if (changes != NULL && level->ends_step) {
            if (sweep_looks_at(&run->sweeps[0], level) && !add_changes(run, level, changes))
                return false;
            changes += run->job->in.grid.channels;
        }
    }
    return true;
}

static bool begin_spans(struct run *run)
{
    bool done = true;

    for (size_t i = 0; done && i < run->plan->shares.count; i++)
        done = sweep_begin_span(&run->sweeps[i], run->fault);
    return done;
}

static bool end_spans(struct run *run, unsigned field)
{
    bool done = true;

    for (size_t i = 0; done && i < run->plan->shares.count; i++)
        done = sweep_end_levels(&run->sweeps[i], field, run->fault);
    return done;
}

static bool advance_levels(struct run *run, const struct pass *pass)
{
    const struct sweep *first = &run->sweeps[0];
    struct levels_walk walk;

    levels_walk_start(&walk, &first->levels, pass->begin, pass->end, first->output);
    if (pass->from != NULL && !write_state(run, walk.at, first->output))
        return false;
    return begin_spans(run) && walk_levels(run, &walk, pass->changes) &&
           end_spans(run, levels_walk_field(&walk));
}

/* What came to each of them, and how long it took. */
static bool tell_handings(struct run *run)
{
    bool done = true;

    for (size_t i = 0; done && i < run->plan->shares.count; i++) {
        const struct lane *lane = &run->lanes[i];
        done = lane->backend->tell_handings(lane->device, &run->sweeps[i].handing, run->fault);
    }
    return done;
}

static bool make_together(struct run *run, const struct pass *pass)
{
    const struct pass come = {.begin = pass->begin, .from = pass->from};
    const struct pass leave = {.end = pass->end, .to = pass->to};

    return (pass->from == NULL || move_all(run, &come)) && !sink_lacks_room(run->sink, run->fault) &&
           advance_levels(run, pass) && (pass->to == NULL || (move_all(run, &leave) && tell_handings(run)));
}

bool fleet_make(struct run *run, struct pass *pass)
{
    if (team_is_due(run))
        return team_make(run, pass);
    return run->plan->shares.count > 1 ? make_together(run, pass) : pass_make(run, pass);
}

bool fleet_measure(struct run *run)
{
    const struct shares *shares = &run->plan->shares;
    bool done = true;

    if (team_is_due(run))
        return team_measure(run);
    for (size_t i = 0; done && i < shares->count; i++) {
        choose_lane(run, i);
        done = pass_measure(run, shares_own(shares, i));
    }
    choose_lane(run, 0);
    return done;
}
