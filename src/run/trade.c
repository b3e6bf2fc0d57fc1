/* Trades: passes by several ranks, each of which has a share of the planes in its fields. */
#include "trade.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/pool.h"
#include "base/size.h"

#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

/* Levels between two agreements. Whoever fails in between goes on trading whatever its fields hold, so that
   nobody waits for planes that never come. */
#define LEVELS_BETWEEN 16

/* Places that a parcel has in memory that several ranks see. A rank that gets the sign for a turn knows that
   the other one has done with the turn before it. */
#define TURNS 2

/* While others compute, each wait between two looks at messages is so much longer than the one before. */
#define LONGER_MICROSECONDS 8

/* Planes that go from one rank to another, or from one end of the grid to the other in the same. If both
   ranks see the memory of the one that has them, the planes pass through it. Two places take turns, so that
   one may be filled while the other one is read. */
struct parcel {
    size_t from, to;
    struct range planes; /* as the one that owns them counts */
    size_t first;        /* what the other one calls the first of them */
    size_t offset;       /* in the memory of the one that has them */
    struct staging *staging[TURNS];
};

/* All that a rank sends and receives before a level. */
struct trade {
    struct passes *all;
    size_t reach; /* of the level */
    struct parcel *parcels;
    struct peers_parcel
        *messages; /* one a parcel between two ranks: its bytes, or a sign that they are there */
    size_t count, capacity, message_count;
    size_t *outgoing;     /* bytes that each rank sends, by rank */
    unsigned char **seen; /* the memory of each that this one sees; or NULL */
    void *memory;         /* to be given back; or NULL */
    unsigned turn;
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

/* Devices lock whole pages in memory. */
static size_t paged_bytes(size_t bytes)
{
    return size_rounded_up(bytes, (size_t)sysconf(_SC_PAGESIZE));
}

static size_t own_index(const struct trade *trade)
{
    return trade->all->plan->shares.first;
}

static bool add_parcel(struct trade *trade, const struct parcel *parcel)
{
    struct parcel *parcels = mem_grown(trade->parcels, trade->count, &trade->capacity, sizeof *parcels,
                                       "the trade", trade->all->fault);

    if (parcels == NULL)
        return false;
    trade->parcels = parcels;
    parcels[trade->count++] = *parcel;
    return true;
}

/* Planes on one side of a rank's own, from whoever has them. */
static bool add_side(struct trade *trade, size_t to, struct range planes)
{
    const struct shares *shares = &trade->all->plan->shares;
    bool done = true;

    while (done && planes.count > 0) {
        struct parcel parcel = {.to = to, .first = planes.first};
        parcel.planes = shares_owned(shares, planes, &parcel.from);
        parcel.offset = trade->outgoing[parcel.from];
        trade->outgoing[parcel.from] += paged_bytes(parcel_bytes(trade, &parcel));
        if (parcel.from == own_index(trade) || to == own_index(trade))
            done = add_parcel(trade, &parcel);
        planes.first += parcel.planes.count;
        planes.count -= parcel.planes.count;
    }
    return done;
}

/* All ranks list them in the same order, so each knows where those of another one are. */
static bool list_parcels(struct trade *trade)
{
    const struct shares *shares = &trade->all->plan->shares;
    struct fault *fault = trade->all->fault;
    bool done;

    trade->outgoing = mem_zeroed(shares->count, sizeof *trade->outgoing, "the trade", fault);
    trade->seen = mem_zeroed(shares->count, sizeof *trade->seen, "the trade", fault);
    done = trade->outgoing != NULL && trade->seen != NULL;
    for (size_t to = 0; done && to < shares->count; to++) {
        const struct range own = shares_own(shares, to), reached = shares_reached(shares, to, trade->reach);
        size_t end = own.first + own.count;
        done = add_side(trade, to, (struct range){reached.first, own.first - reached.first}) &&
               add_side(trade, to, (struct range){end, reached.first + reached.count - end});
    }
    return done;
}

/* Whether the planes pass through memory that both ranks see. */
static bool is_seen(const struct trade *trade, const struct parcel *parcel)
{
    return parcel->from != parcel->to && trade->seen[parcel->from] != NULL && trade->seen[parcel->to] != NULL;
}

static bool prepare_parcel(struct trade *trade, struct parcel *parcel)
{
    const struct lane *lane = trade->all->lane;
    bool seen = is_seen(trade, parcel), done = true;

    for (unsigned turn = 0; done && turn < (seen ? TURNS : 1); turn++) {
        unsigned char *place =
            seen ? trade->seen[parcel->from] + turn * trade->outgoing[parcel->from] + parcel->offset : NULL;
        parcel->staging[turn] = lane->backend->staging_create(lane->device, parcel_bytes(trade, parcel),
                                                              place, trade->all->fault);
        done = parcel->staging[turn] != NULL;
    }
    return done;
}

static struct peers_parcel message_of(const struct trade *trade, const struct parcel *parcel)
{
    bool incoming = parcel->to == own_index(trade);
    struct peers_parcel message = {.peer = incoming ? parcel->from : parcel->to, .incoming = incoming};

    if (!is_seen(trade, parcel)) {
        message.bytes = parcel->staging[0]->samples;
        message.size = parcel_bytes(trade, parcel);
    }
    return message;
}

static bool prepare_parcels(struct trade *trade)
{
    trade->messages = mem_alloc(trade->count, sizeof *trade->messages, "the trade", trade->all->fault);
    if (trade->messages == NULL)
        return false;
    for (size_t i = 0; i < trade->count; i++) {
        struct parcel *parcel = &trade->parcels[i];
        if (!prepare_parcel(trade, parcel))
            return false;
        if (parcel->from != parcel->to)
            trade->messages[trade->message_count++] = message_of(trade, parcel);
    }
    return true;
}

/* All together. */
static void close_trade(struct trade *trade)
{
    const struct lane *lane = trade->all->lane;

    for (size_t i = 0; i < trade->count; i++) {
        for (unsigned turn = 0; turn < TURNS; turn++)
            lane->backend->staging_destroy(lane->device, trade->parcels[i].staging[turn]);
    }
    peers_unshare(trade->all->peers, trade->memory);
    mem_free(trade->parcels);
    mem_free(trade->messages);
    mem_free(trade->outgoing);
    mem_free(trade->seen);
    *trade = (struct trade){.all = trade->all};
}

/* All together; if it fails at one rank, it is false at every rank. */
static bool open_trade(struct trade *trade, size_t reach)
{
    struct peers *peers = trade->all->peers;
    struct fault *fault = trade->all->fault;

    close_trade(trade);
    trade->reach = reach;
    return peers_agree(peers, list_parcels(trade), fault) &&
           peers_share(peers, TURNS * trade->outgoing[own_index(trade)], trade->seen, &trade->memory,
                       fault) &&
           peers_agree(peers, prepare_parcels(trade), fault);
}

/* ---- a trade ---- */

static struct encoding packed(const struct plan *plan)
{
    return (struct encoding){
        .type = work_sample(plan->job->work), .channels = plan->shape.channels, .gamma = 1.0};
}

static struct staging *staging_of(const struct trade *trade, const struct parcel *parcel)
{
    return parcel->staging[parcel->staging[1] != NULL ? trade->turn : 0];
}

/* Waits for copies between stagings and fields, of both turns. */
static bool await_parcels(const struct trade *trade)
{
    const struct lane *lane = trade->all->lane;
    double seconds = 0.0;
    bool done = true;

    for (size_t i = 0; done && i < trade->count; i++) {
        for (unsigned turn = 0; done && turn < TURNS; turn++)
            done = trade->parcels[i].staging[turn] == NULL ||
                   lane->backend->staging_wait(lane->device, trade->parcels[i].staging[turn], &seconds,
                                               trade->all->fault);
    }
    return done;
}

/* Out of a field. A device may still copy from it afterwards. */
static bool pick_up(const struct trade *trade, unsigned field)
{
    const struct plan *plan = trade->all->plan;
    const struct lane *lane = trade->all->lane;
    const struct encoding encoding = packed(plan);
    bool done = true;

    for (size_t i = 0; done && i < trade->count; i++) {
        const struct parcel *parcel = &trade->parcels[i];
        if (parcel->from == own_index(trade))
            done = lane->backend->download(lane->device, lane->fields[field], &encoding,
                                           staging_of(trade, parcel), parcel->planes, trade->all->fault);
    }
    return done;
}

/* Into a field. A device may still copy to it afterwards. */
static bool drop_off(const struct trade *trade, unsigned field)
{
    const struct plan *plan = trade->all->plan;
    const struct lane *lane = trade->all->lane;
    const struct encoding encoding = packed(plan);
    bool done = true;

    for (size_t i = 0; done && i < trade->count; i++) {
        const struct parcel *parcel = &trade->parcels[i];
        const struct range planes = {parcel->first, parcel->planes.count};
        if (parcel->to == own_index(trade))
            done =
                lane->backend->upload(lane->device, lane->fields[field], &encoding, staging_of(trade, parcel),
                                      planes, (struct range){0, 0}, trade->all->fault);
    }
    return done;
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

/* Starts to copy what a level needs out of a field; false if nobody can be reached any more. */
static bool begin_trade(struct walking *walking, size_t reach, unsigned field)
{
    struct trade *trade = &walking->trade;

    if (reach == 0)
        return true;
    if (reach != trade->reach && !open_trade(trade, reach))
        return false;
    walking->fine = walking->fine && pick_up(trade, field);
    return true;
}

/* Sends what has left the field. The fences order the memory that several ranks see with the messages. */
static bool send_parcels(struct walking *walking, size_t reach)
{
    struct trade *trade = &walking->trade;

    if (reach == 0)
        return true;
    walking->fine = walking->fine && await_parcels(trade);
    atomic_thread_fence(memory_order_seq_cst);
    return peers_begin_trade(walking->all->peers, trade->messages, trade->message_count, walking->all->fault);
}

static bool end_trade(struct walking *walking, size_t reach, unsigned field)
{
    struct trade *trade = &walking->trade;

    if (reach == 0)
        return true;
    if (!peers_end_trade(walking->all->peers, walking->all->fault))
        return false;
    atomic_thread_fence(memory_order_seq_cst);
    walking->fine = walking->fine && drop_off(trade, field);
    trade->turn = (trade->turn + 1) % TURNS;
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

/* What another thread computes. It sets `over` when it is done. */
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

/* Another thread computes, while this one looks after messages. */
static void advance_and_look(struct walking *walking, struct range planes)
{
    struct inside inside = {.walking = walking, .planes = planes};

    if (pool_start(walking->aside, 1, advance_inside, &inside) == 0) {
        advance(walking, planes);
        return;
    }
    for (unsigned looks = 0; !peers_look_at_trade(walking->all->peers) && !atomic_load(&inside.over); looks++)
        clock_rest(LONGER_MICROSECONDS * looks);
    pool_join(walking->aside);
}

/* A device that computes by itself computes the inside while the borders leave it. Otherwise, a thread
   computes it while the borders are on their way. */
static bool advance_inside_and_send(struct walking *walking, struct range planes, size_t reach)
{
    if (walking->aside == NULL) {
        advance(walking, planes);
        return send_parcels(walking, reach);
    }
    if (!send_parcels(walking, reach))
        return false;
    advance_and_look(walking, planes);
    return true;
}

/* The borders come first if they can be on their way while the inside is computed. */
static bool advance_and_trade(struct walking *walking)
{
    const struct range own = own_planes(walking->all);
    size_t reach = next_reach(walking->walk);
    unsigned to = walking->walk.level.to;

    if (reach == 0 || shares_pieces(own.count, reach) == 1) {
        advance(walking, own);
        return begin_trade(walking, reach, to) && send_parcels(walking, reach) &&
               end_trade(walking, reach, to);
    }
    advance(walking, (struct range){own.first, reach});
    advance(walking, (struct range){own.first + own.count - reach, reach});
    return begin_trade(walking, reach, to) &&
           advance_inside_and_send(walking, (struct range){own.first + reach, own.count - 2 * reach},
                                   reach) &&
           end_trade(walking, reach, to);
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

    if (!begin_trade(walking, reach, field) || !send_parcels(walking, reach) ||
        !end_trade(walking, reach, field))
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
    /* Other devices compute by themselves while their caller does other things. */
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
