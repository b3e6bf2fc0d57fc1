/* Trades: passes by several ranks, each of which has a share of the planes in its fields. */
#include "trade.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/pool.h"

#include <stdatomic.h>
#include <string.h>

/* Levels between two agreements. Whoever fails in between goes on trading whatever its fields hold, so that
   nobody waits for planes that never come. */
#define LEVELS_BETWEEN 16

/* While others compute, each wait between two looks at messages is so much longer than the one before. */
#define LONGER_MICROSECONDS 8

/* Planes that go from one rank to another, or from one end of the grid to the other in the same. */
struct parcel {
    size_t from, to;
    struct range planes; /* as the one that owns them counts */
    size_t first;        /* what the other one calls the first of them */
    struct staging *staging;
};

/* All that a rank sends and receives before a level. */
struct trade {
    struct passes *all;
    size_t reach; /* of the level */
    struct parcel *parcels;
    struct peers_parcel *messages; /* one a parcel between two ranks */
    size_t count, capacity, message_count;
};

bool trade_is_due(const struct passes *all)
{
    return all->plan->shares.held < all->plan->shares.count;
}

/* ---- what is traded ---- */

static size_t parcel_bytes(const struct trade *trade, const struct parcel *parcel)
{
    const struct plan *plan = trade->all->plan;

    return parcel->planes.count * (size_t)plan_samples(plan, 1) * work_size(plan->job->work);
}

static bool add_parcel(struct trade *trade, const struct parcel *parcel)
{
    struct fault *fault = trade->all->fault;
    const struct lane *lane = trade->all->lane;
    struct parcel *parcels =
        mem_grown(trade->parcels, trade->count, &trade->capacity, sizeof *parcels, "the trade", fault);

    if (parcels == NULL)
        return false;
    trade->parcels = parcels;
    parcels[trade->count] = *parcel;
    parcels[trade->count].staging =
        lane->backend->staging_create(lane->device, parcel_bytes(trade, parcel), fault);
    return parcels[trade->count++].staging != NULL;
}

/* Planes on one side of a rank's own, from whoever has them. */
static bool add_side(struct trade *trade, size_t to, struct range planes)
{
    const struct shares *shares = &trade->all->plan->shares;
    size_t own = shares->first;
    bool done = true;

    while (done && planes.count > 0) {
        struct parcel parcel = {.to = to, .first = planes.first};
        parcel.planes = shares_owned(shares, planes, &parcel.from);
        if (parcel.from == own || to == own)
            done = add_parcel(trade, &parcel);
        planes.first += parcel.planes.count;
        planes.count -= parcel.planes.count;
    }
    return done;
}

static bool add_messages(struct trade *trade)
{
    size_t own = trade->all->plan->shares.first;

    trade->messages = mem_alloc(trade->count, sizeof *trade->messages, "the trade", trade->all->fault);
    for (size_t i = 0; trade->messages != NULL && i < trade->count; i++) {
        const struct parcel *parcel = &trade->parcels[i];
        if (parcel->from != parcel->to)
            trade->messages[trade->message_count++] =
                (struct peers_parcel){.peer = parcel->from == own ? parcel->to : parcel->from,
                                      .incoming = parcel->to == own,
                                      .bytes = parcel->staging->samples,
                                      .size = parcel_bytes(trade, parcel)};
    }
    return trade->messages != NULL;
}

static void close_trade(struct trade *trade)
{
    const struct lane *lane = trade->all->lane;

    for (size_t i = 0; i < trade->count; i++) {
        if (trade->parcels[i].staging != NULL)
            lane->backend->staging_destroy(lane->device, trade->parcels[i].staging);
    }
    mem_free(trade->parcels);
    mem_free(trade->messages);
    *trade = (struct trade){.all = trade->all};
}

/* In the same order at all ranks. */
static bool open_trade(struct trade *trade, size_t reach)
{
    const struct shares *shares = &trade->all->plan->shares;
    bool done = true;

    close_trade(trade);
    trade->reach = reach;
    for (size_t to = 0; done && to < shares->count; to++) {
        const struct range own = shares_own(shares, to), reached = shares_reached(shares, to, reach);
        size_t end = own.first + own.count;
        done = add_side(trade, to, (struct range){reached.first, own.first - reached.first}) &&
               add_side(trade, to, (struct range){end, reached.first + reached.count - end});
    }
    return done && add_messages(trade);
}

/* ---- a trade ---- */

static struct encoding packed(const struct plan *plan)
{
    return (struct encoding){
        .type = work_sample(plan->job->work), .channels = plan->shape.channels, .gamma = 1.0};
}

static bool await_parcels(const struct trade *trade)
{
    const struct lane *lane = trade->all->lane;
    double seconds = 0.0;
    bool done = true;

    for (size_t i = 0; done && i < trade->count; i++)
        done =
            lane->backend->staging_wait(lane->device, trade->parcels[i].staging, &seconds, trade->all->fault);
    return done;
}

/* Out of a field. */
static bool pick_up(const struct trade *trade, unsigned field)
{
    const struct plan *plan = trade->all->plan;
    const struct lane *lane = trade->all->lane;
    const struct encoding encoding = packed(plan);
    bool done = true;

    for (size_t i = 0; done && i < trade->count; i++) {
        const struct parcel *parcel = &trade->parcels[i];
        if (parcel->from == plan->shares.first)
            done = lane->backend->download(lane->device, lane->fields[field], &encoding, parcel->staging,
                                           parcel->planes, trade->all->fault);
    }
    return done && await_parcels(trade);
}

/* Into it. */
static bool drop_off(const struct trade *trade, unsigned field)
{
    const struct plan *plan = trade->all->plan;
    const struct lane *lane = trade->all->lane;
    const struct encoding encoding = packed(plan);
    bool done = true;

    for (size_t i = 0; done && i < trade->count; i++) {
        const struct parcel *parcel = &trade->parcels[i];
        const struct range planes = {parcel->first, parcel->planes.count};
        if (parcel->to == plan->shares.first)
            done = lane->backend->upload(lane->device, lane->fields[field], &encoding, parcel->staging,
                                         planes, (struct range){0, 0}, trade->all->fault);
    }
    return done && await_parcels(trade);
}

/* ---- levels ---- */

/* A walk through the levels. */
struct walking {
    struct passes *all;
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

/* Let what a level needs of a field be on its way; false where nobody can be reached any more. */
static bool begin_trade(struct walking *walking, size_t reach, unsigned field)
{
    struct trade *trade = &walking->trade;

    if (reach == 0)
        return true;
    if (reach != trade->reach &&
        !peers_agree(walking->all->peers, open_trade(trade, reach), walking->all->fault))
        return false;
    walking->fine = walking->fine && pick_up(trade, field);
    return peers_begin_trade(walking->all->peers, trade->messages, trade->message_count, walking->all->fault);
}

static bool end_trade(struct walking *walking, size_t reach, unsigned field)
{
    if (reach == 0)
        return true;
    if (!peers_end_trade(walking->all->peers, walking->all->fault))
        return false;
    walking->fine = walking->fine && drop_off(&walking->trade, field);
    return true;
}

static struct range own_planes(const struct passes *all)
{
    return shares_own(&all->plan->shares, all->plan->shares.first);
}

static void advance(struct walking *walking, struct range planes)
{
    walking->fine = walking->fine &&
                    sweep_advance(walking->all->sweep, &walking->walk.level, planes, walking->all->fault);
}

/* What another thread computes, until it says so. */
struct inside {
    struct walking *walking;
    struct range planes;
    atomic_bool over;
};

static void advance_inside(void *data, size_t first, size_t count, unsigned member)
{
    struct inside *inside = data;

    (void)first;
    (void)count;
    (void)member;
    advance(inside->walking, inside->planes);
    atomic_store(&inside->over, true);
}

/* While messages move. */
static void advance_and_look(struct walking *walking, struct range planes)
{
    struct inside inside = {.walking = walking, .planes = planes};

    if (walking->aside == NULL || pool_start(walking->aside, 1, advance_inside, &inside) == 0) {
        advance(walking, planes);
        return;
    }
    for (unsigned looks = 0; !peers_look_at_trade(walking->all->peers) && !atomic_load(&inside.over); looks++)
        clock_rest(LONGER_MICROSECONDS * looks);
    pool_join(walking->aside);
}

/* Borders first where they are on their way while the inside is computed. */
static bool advance_and_trade(struct walking *walking)
{
    const struct range own = own_planes(walking->all);
    size_t reach = next_reach(walking->walk);
    unsigned to = walking->walk.level.to;

    if (reach == 0 || shares_pieces(own.count, reach) == 1) {
        advance(walking, own);
        return begin_trade(walking, reach, to) && end_trade(walking, reach, to);
    }
    advance(walking, (struct range){own.first, reach});
    advance(walking, (struct range){own.first + own.count - reach, reach});
    if (!begin_trade(walking, reach, to))
        return false;
    advance_and_look(walking, (struct range){own.first + reach, own.count - 2 * reach});
    return end_trade(walking, reach, to);
}

/* What a rank brings of its planes' changes is added to the sums in their order. */
static bool add_up(void *data, const void *bytes, size_t size, struct fault *fault)
{
    const struct walking *walking = data;
    size_t channels = walking->all->job->in.grid.channels;
    const double *each = bytes;

    (void)fault;
    for (size_t i = 0; i < size / sizeof *each; i++)
        walking->changes[i % channels] += each[i];
    return true;
}

/* Rank 0 adds them up, and tells. */
static bool add_changes(struct walking *walking)
{
    struct passes *all = walking->all;
    const struct range own = own_planes(all);
    size_t channels = all->job->in.grid.channels, bytes = own.count * channels * sizeof(double);

    memset(walking->each, 0, bytes);
    walking->fine =
        walking->fine && sweep_list_changes(all->sweep, &walking->walk.level, own, walking->each, all->fault);
    return peers_gather(all->peers, walking->each, bytes, add_up, walking, all->fault) &&
           peers_tell(all->peers, walking->changes, channels * sizeof(double), all->fault);
}

static bool look_at_changes(struct walking *walking)
{
    const struct level *level = &walking->walk.level;
    bool done = true;

    if (walking->changes == NULL || !level->ends_step)
        return true;
    if (sweep_looks_at(walking->all->sweep, level))
        done = add_changes(walking);
    walking->changes += walking->all->job->in.grid.channels;
    return done;
}

static bool agree_from_time_to_time(struct walking *walking)
{
    if (++walking->levels < LEVELS_BETWEEN)
        return true;
    walking->levels = 0;
    return peers_agree(walking->all->peers, walking->fine, walking->all->fault);
}

static bool walk_levels(struct walking *walking)
{
    struct levels_walk *walk = &walking->walk;
    size_t reach = next_reach(*walk);
    unsigned field = levels_walk_field(walk);

    if (!begin_trade(walking, reach, field) || !end_trade(walking, reach, field))
        return false;
    while (levels_walk_next(walk)) {
        if (!advance_and_trade(walking) || !look_at_changes(walking) || !agree_from_time_to_time(walking))
            return false;
    }
    return true;
}

/* What was seen of planes on their way to other ranks is nothing that came of a file, or goes into one. */
static bool leave_out_outcomes(struct passes *all)
{
    struct outcomes of_trade = {.strays = 0};

    return all->lane->backend->tell_outcomes(all->lane->device, &of_trade, all->fault);
}

static bool begin_levels(struct walking *walking)
{
    struct passes *all = walking->all;
    size_t values = own_planes(all).count * all->job->in.grid.channels;

    if (walking->changes != NULL) {
        walking->each = mem_alloc(values, sizeof *walking->each, "the sums", all->fault);
        if (walking->each == NULL)
            return false;
    }
    /* Other devices compute while whoever has called them does other things. */
    if (lane_is_in_own_memory(all->lane) && !pool_create(&walking->aside, 1, POOL_FULL_STACKS, all->fault))
        return false;
    return all->lane->backend->tell_outcomes(all->lane->device, &all->outcomes, all->fault) &&
           sweep_begin_span(all->sweep, all->fault);
}

static bool advance_levels(struct passes *all, const struct pass *pass)
{
    struct walking walking = {.all = all, .trade = {.all = all}, .changes = pass->changes, .fine = true};
    struct sweep *sweep = all->sweep;
    bool done;

    levels_walk_start(&walking.walk, &sweep->levels, pass->begin, pass->end, sweep->output);
    done = peers_agree(all->peers, begin_levels(&walking), all->fault) && walk_levels(&walking);
    walking.fine = walking.fine && done &&
                   sweep_end_levels(sweep, levels_walk_field(&walking.walk), all->fault) &&
                   leave_out_outcomes(all);
    done = done && peers_agree(all->peers, walking.fine, all->fault);
    close_trade(&walking.trade);
    pool_destroy(walking.aside);
    mem_free(walking.each);
    return done;
}

/* ---- planes in and out ---- */

/* A rank's own planes, and no levels. */
static bool move(struct passes *all, const struct stop *from, const struct stop *to, struct levels_mark mark)
{
    struct pass own = {
        .begin = mark, .end = mark, .overlap = shares_overlap(&all->plan->shares), .from = from, .to = to};

    return pass_make(all, &own);
}

bool trade_make(struct passes *all, const struct pass *pass)
{
    if (pass->from != NULL && !peers_agree(all->peers, move(all, pass->from, NULL, pass->begin), all->fault))
        return false;
    return advance_levels(all, pass) && (pass->to == NULL || move(all, NULL, pass->to, pass->end));
}

bool trade_measure(struct passes *all)
{
    return passes_measure(all, own_planes(all));
}
