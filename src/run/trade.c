/* Trades: planes that ranks of a team exchange before a level. */
#include "trade.h"

#include "base/mem.h"
#include "base/size.h"

#include <stdatomic.h>
#include <unistd.h>

/* Planes that go from one rank to another, or from one end of the grid to the other in the same. If both
   ranks see the memory of the one that has them, the planes pass through it. Two places take turns, so that
   one may be filled while the other one is read. */
struct trade_parcel {
    size_t from, to;
    struct range planes; /* as the one that owns them counts */
    size_t first;        /* what the other one calls the first of them */
    size_t offset;       /* in the memory of the one that has them */
    struct staging *staging[TRADE_TURNS];
};

/* ---- what is traded ---- */

static size_t parcel_bytes(const struct trade *trade, const struct trade_parcel *parcel)
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

static bool add_parcel(struct trade *trade, const struct trade_parcel *parcel)
{
    struct trade_parcel *parcels = mem_grown(trade->parcels, trade->count, &trade->capacity, sizeof *parcels,
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
        struct trade_parcel parcel = {.to = to, .first = planes.first};
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
static bool is_seen(const struct trade *trade, const struct trade_parcel *parcel)
{
    return parcel->from != parcel->to && trade->seen[parcel->from] != NULL && trade->seen[parcel->to] != NULL;
}

static bool prepare_parcel(struct trade *trade, struct trade_parcel *parcel)
{
    const struct lane *lane = trade->all->lane;
    bool seen = is_seen(trade, parcel), done = true;

    for (unsigned turn = 0; done && turn < (seen ? TRADE_TURNS : 1); turn++) {
        unsigned char *place =
            seen ? trade->seen[parcel->from] + turn * trade->outgoing[parcel->from] + parcel->offset : NULL;
        parcel->staging[turn] = lane->backend->staging_create(lane->device, parcel_bytes(trade, parcel),
                                                              place, trade->all->fault);
        done = parcel->staging[turn] != NULL;
    }
    return done;
}

static struct peers_parcel message_of(const struct trade *trade, const struct trade_parcel *parcel)
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
        struct trade_parcel *parcel = &trade->parcels[i];
        if (!prepare_parcel(trade, parcel))
            return false;
        if (parcel->from != parcel->to)
            trade->messages[trade->message_count++] = message_of(trade, parcel);
    }
    return true;
}

void trade_close(struct trade *trade)
{
    const struct lane *lane = trade->all->lane;

    for (size_t i = 0; i < trade->count; i++) {
        for (unsigned turn = 0; turn < TRADE_TURNS; turn++)
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
static bool open_for(struct trade *trade, size_t reach)
{
    struct peers *peers = trade->all->peers;
    struct fault *fault = trade->all->fault;

    trade_close(trade);
    trade->reach = reach;
    return peers_agree(peers, list_parcels(trade), fault) &&
           peers_share(peers, TRADE_TURNS * trade->outgoing[own_index(trade)], trade->seen, &trade->memory,
                       fault) &&
           peers_agree(peers, prepare_parcels(trade), fault);
}

/* ---- a trade ---- */

static struct encoding packed(const struct plan *plan)
{
    return (struct encoding){
        .type = work_sample(plan->job->work), .channels = plan->shape.channels, .gamma = 1.0};
}

static struct staging *staging_of(const struct trade *trade, const struct trade_parcel *parcel)
{
    return parcel->staging[parcel->staging[1] != NULL ? trade->turn : 0];
}

/* Waits for copies between stagings and fields, of both turns. */
static bool await_copies(const struct trade *trade)
{
    const struct lane *lane = trade->all->lane;
    double seconds = 0.0;
    bool done = true;

    for (size_t i = 0; done && i < trade->count; i++) {
        for (unsigned turn = 0; done && turn < TRADE_TURNS; turn++)
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
        const struct trade_parcel *parcel = &trade->parcels[i];
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
        const struct trade_parcel *parcel = &trade->parcels[i];
        const struct range planes = {parcel->first, parcel->planes.count};
        if (parcel->to == own_index(trade))
            done =
                lane->backend->upload(lane->device, lane->fields[field], &encoding, staging_of(trade, parcel),
                                      planes, (struct range){0, 0}, trade->all->fault);
    }
    return done;
}

bool trade_begin(struct trade *trade, size_t reach, unsigned field, bool *fine)
{
    if (reach != trade->reach && !open_for(trade, reach))
        return false;
    *fine = *fine && pick_up(trade, field);
    return true;
}

/* The fences here and below order the memory that several ranks see with the messages. */
bool trade_send(struct trade *trade, bool *fine)
{
    *fine = *fine && await_copies(trade);
    atomic_thread_fence(memory_order_seq_cst);
    return peers_begin_trade(trade->all->peers, trade->messages, trade->message_count, trade->all->fault);
}

bool trade_end(struct trade *trade, unsigned field, bool *fine)
{
    if (!peers_end_trade(trade->all->peers, trade->all->fault))
        return false;
    atomic_thread_fence(memory_order_seq_cst);
    *fine = *fine && drop_off(trade, field);
    trade->turn = (trade->turn + 1) % TRADE_TURNS;
    return true;
}
