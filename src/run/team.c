/* Teams: passes by several ranks, each of which has a share of the planes in its fields. */
#include "team.h"

#include "base/mem.h"
#include "base/pool.h"
#include "trade.h"

#include <string.h>

/* Levels between two agreements. Whoever fails in between goes on trading whatever its fields hold, so that
   nobody waits for planes that never come. */
#define LEVELS_BETWEEN 16

/* While another thread computes, each wait between two looks at messages is so much longer than the one
   before, up to a longest one. A look takes the processor from that thread. */
#define LONGER_MICROSECONDS  128
#define LONGEST_MICROSECONDS 1000

bool team_is_due(const struct run *run)
{
    return run->plan->shares.held < run->plan->shares.count;
}

/* ---- levels ---- */

/* A walk through the levels. */
struct walking {
    struct run *run;
    struct trade trade;
    struct levels_walk walk;
    double *each;       /* room for the changes of the rank's planes */
    double *changes;    /* of each step; or NULL */
    bool fine;          /* nothing has failed here */
    unsigned levels;    /* since all agreed */
    struct pool *aside; /* a thread that computes while this one looks after messages; or NULL */
};

/* The reach of the level after that which a walk has come to; 0 where it is the last. */
static size_t next_reach(struct levels_walk walk)
{
    return levels_walk_next(&walk) ? walk.level.reach : 0;
}

/* Before a level of such a reach, while nothing is computed. */
static bool trade_at_once(struct walking *walking, size_t reach, unsigned field)
{
    struct trade *trade = &walking->trade;

    return reach == 0 || (trade_begin(trade, reach, field, &walking->fine) &&
                          trade_send(trade, &walking->fine) && trade_end(trade, field, &walking->fine));
}

static struct range own_planes(const struct run *run)
{
    return shares_own(&run->plan->shares, run->plan->shares.first);
}

static void advance(struct walking *walking, struct range planes)
{
    walking->fine = walking->fine &&
                    sweep_advance(walking->run->sweep, &walking->walk.level, planes, walking->run->fault);
}

/* What another thread computes. */
struct inside {
    struct walking *walking;
    struct range planes;
};

static void advance_inside(void *data, size_t first, size_t count, unsigned member)
{
    const struct inside *inside = data;

    (void)first;
    (void)count;
    (void)member;
    advance(inside->walking, inside->planes);
}

static unsigned longer(unsigned wait)
{
    return wait + LONGER_MICROSECONDS < LONGEST_MICROSECONDS ? wait + LONGER_MICROSECONDS
                                                             : LONGEST_MICROSECONDS;
}

/* Another thread computes, while this one looks after messages. */
static void advance_and_look(struct walking *walking, struct range planes)
{
    struct inside inside = {.walking = walking, .planes = planes};
    bool over = false;

    if (pool_start(walking->aside, 1, advance_inside, &inside) == 0) {
        advance(walking, planes);
        return;
    }
    for (unsigned wait = 0; !over && !peers_test_messages(walking->run->peers); wait = longer(wait))
        over = pool_join_within(walking->aside, wait);
    pool_join(walking->aside);
}

/* A device that computes by itself computes the inside while the borders leave it. Otherwise, a thread
   computes it while the borders are on their way. */
static bool advance_inside_and_send(struct walking *walking, struct range planes)
{
    if (walking->aside == NULL) {
        advance(walking, planes);
        return trade_send(&walking->trade, &walking->fine);
    }
    if (!trade_send(&walking->trade, &walking->fine))
        return false;
    advance_and_look(walking, planes);
    return true;
}

/* The borders come first if they can be on their way while the inside is computed. */
static bool advance_and_trade(struct walking *walking)
{
    const struct range own = own_planes(walking->run);
    size_t reach = next_reach(walking->walk);
    unsigned to = walking->walk.level.to;

    if (reach == 0 || shares_pieces(own.count, reach) == 1) {
        advance(walking, own);
        return trade_at_once(walking, reach, to);
    }
    advance(walking, (struct range){own.first, reach});
    advance(walking, (struct range){own.first + own.count - reach, reach});
    return trade_begin(&walking->trade, reach, to, &walking->fine) &&
           advance_inside_and_send(walking, (struct range){own.first + reach, own.count - 2 * reach}) &&
           trade_end(&walking->trade, to, &walking->fine);
}

/* What a rank brings of its planes' changes is added to the sums in their order. */
static bool add_up(void *data, const void *bytes, size_t size, struct fault *fault)
{
    const struct walking *walking = data;
    size_t channels = walking->run->job->in.grid.channels;
    const double *each = bytes;

    (void)fault;
    for (size_t i = 0; i < size / sizeof *each; i++)
        walking->changes[i % channels] += each[i];
    return true;
}

/* Rank 0 adds them up, and tells. */
static bool add_changes(struct walking *walking)
{
    struct run *run = walking->run;
    const struct range own = own_planes(run);
    size_t channels = run->job->in.grid.channels, bytes = own.count * channels * sizeof(double);

    memset(walking->each, 0, bytes);
    walking->fine =
        walking->fine && sweep_list_changes(run->sweep, &walking->walk.level, own, walking->each, run->fault);
    return peers_gather(run->peers, walking->each, bytes, add_up, walking, run->fault) &&
           peers_broadcast(run->peers, walking->changes, channels * sizeof(double), run->fault);
}

static bool look_at_changes(struct walking *walking)
{
    const struct level *level = &walking->walk.level;
    bool done = true;

    if (walking->changes == NULL || !level->ends_step)
        return true;
    if (sweep_looks_at(walking->run->sweep, level))
        done = add_changes(walking);
    walking->changes += walking->run->job->in.grid.channels;
    return done;
}

/* A state that is also written; samples on their way to other ranks do not count in its outcomes. */
static void write_state(struct walking *walking, unsigned field)
{
    struct run *run = walking->run;

    walking->fine =
        walking->fine && pass_write_state(run, run->sweep, walking->walk.at, field, own_planes(run));
    run->tees.aside = (struct outcomes){.strays = 0};
}

static bool agree_from_time_to_time(struct walking *walking)
{
    if (++walking->levels < LEVELS_BETWEEN)
        return true;
    walking->levels = 0;
    walking->fine = walking->fine && !sink_lacks_room(walking->run->sink, walking->run->fault);
    return peers_agree(walking->run->peers, walking->fine, walking->run->fault);
}

static bool walk_levels(struct walking *walking)
{
    struct levels_walk *walk = &walking->walk;

    if (!trade_at_once(walking, next_reach(*walk), levels_walk_field(walk)))
        return false;
    while (levels_walk_next(walk)) {
        if (!advance_and_trade(walking))
            return false;
        if (walk->level.ends_step)
            write_state(walking, walk->level.to);
        if (!look_at_changes(walking) || !agree_from_time_to_time(walking))
            return false;
    }
    return true;
}

/* Planes on their way to other ranks come from no file and go into none, so what was seen of them does not
   count. */
static bool leave_out_outcomes(struct run *run)
{
    struct outcomes of_trade = {.strays = 0};

    return run->lane->backend->tell_outcomes(run->lane->device, &of_trade, run->fault);
}

static bool begin_levels(struct walking *walking)
{
    struct run *run = walking->run;
    size_t values = own_planes(run).count * run->job->in.grid.channels;

    if (walking->changes != NULL) {
        walking->each = mem_alloc(values, sizeof *walking->each, "the sums", run->fault);
        if (walking->each == NULL)
            return false;
    }
    /* Other devices compute by themselves while their caller does other things. */
    if (lane_is_in_own_memory(run->lane) && !pool_create(&walking->aside, 1, POOL_FULL_STACKS, run->fault))
        return false;
    return run->lane->backend->tell_outcomes(run->lane->device, &run->outcomes, run->fault) &&
           sweep_begin_span(run->sweep, run->fault);
}

static bool advance_levels(struct run *run, const struct pass *pass)
{
    struct walking walking = {.run = run, .trade = {.run = run}, .changes = pass->changes, .fine = true};
    struct sweep *sweep = run->sweep;
    bool done;

    levels_walk_start(&walking.walk, &sweep->levels, pass->begin, pass->end, sweep->output);
    done = peers_agree(run->peers, begin_levels(&walking), run->fault);
    if (done && pass->from != NULL)
        write_state(&walking, sweep->output);
    done = done && walk_levels(&walking);
    walking.fine = walking.fine && done &&
                   sweep_end_levels(sweep, levels_walk_field(&walking.walk), run->fault) &&
                   leave_out_outcomes(run);
    done = done && peers_agree(run->peers, walking.fine, run->fault);
    trade_close(&walking.trade);
    pool_destroy(walking.aside);
    mem_free(walking.each);
    return done;
}

/* ---- planes in and out ---- */

/* A rank's own planes, and no levels. */
static bool move(struct run *run, const struct stop *from, const struct stop *to, struct levels_mark mark)
{
    struct pass own = {
        .begin = mark, .end = mark, .overlap = shares_overlap(&run->plan->shares), .from = from, .to = to};

    return pass_make(run, &own);
}

bool team_make(struct run *run, const struct pass *pass)
{
    if (pass->from != NULL && !peers_agree(run->peers, move(run, pass->from, NULL, pass->begin), run->fault))
        return false;
    return advance_levels(run, pass) && (pass->to == NULL || move(run, NULL, pass->to, pass->end));
}

bool team_measure(struct run *run)
{
    return pass_measure(run, own_planes(run));
}
