/* Trades: planes that ranks of a team exchange before a level. */
#include "trade.h"

#include "base/mem.h"

#include <stdatomic.h>

/* If both ranks see each other's memory, the planes pass through that of the rank that has them. Two places
   take turns, so that one may be filled while the other one is read. */
struct trade_parcel {
    struct shares_parcel way;
    size_t offset; /* in the memory of the one that has them */
    struct staging *staging[TRANSIT_TURNS];
};

/* ---- what is traded ---- */

static size_t plane_bytes(const struct trade *trade)
{
    const struct plan *plan = trade->run->plan;

    return (size_t)plan_samples(plan, 1) * work_size(plan->job->work);
}

static size_t parcel_bytes(const struct trade *trade, const struct trade_parcel *parcel)
{
    return parcel->way.planes.count * plane_bytes(trade);
}

static size_t own_index(const struct trade *trade)
{
    return trade->run->plan->shares.first;
}

/* Whether the planes pass through memory that both ranks see. */
static bool is_seen(const struct trade *trade, const struct shares_parcel *way)
{
    return way->from != way->to && trade->seen[way->from] != NULL && trade->seen[way->to] != NULL;
}

static bool create_lists(struct trade *trade)
{
    size_t ranks = trade->run->plan->shares.count;
    struct fault *fault = trade->run->fault;

    trade->outgoing = mem_zeroed(ranks, sizeof *trade->outgoing, "the trade", fault);
    trade->seen = mem_zeroed(ranks, sizeof *trade->seen, "the trade", fault);
    return trade->outgoing != NULL && trade->seen != NULL;
}

/* What this rank sends to each of the others, in memory that they see. */
static bool count_outgoing(struct trade *trade)
{
    const struct shares *shares = &trade->run->plan->shares;

    if (!create_lists(trade))
        return false;
    for (size_t to = 0; to < shares->count; to++) {
        struct shares_walk walk = shares_walk_start(shares, to, 0, trade->reach);
        while (to != own_index(trade) && shares_walk_next(&walk)) {
            if (walk.parcel.from == own_index(trade))
                trade->outgoing[to] +=
                    TRANSIT_TURNS * transit_parcel_bytes(plane_bytes(trade), walk.parcel.planes.count);
        }
    }
    return true;
}

static bool add_parcel(struct trade *trade, const struct shares_parcel *way, size_t offset)
{
    struct trade_parcel *parcels = mem_grown(trade->parcels, trade->count, &trade->capacity, sizeof *parcels,
                                             "the trade", trade->run->fault);

    if (parcels == NULL)
        return false;
    trade->parcels = parcels;
    parcels[trade->count++] = (struct trade_parcel){.way = *way, .offset = offset};
    return true;
}

/* All ranks walk over all parcels in the same order, so each knows where those of another one are in the
   memory that both see. */
static bool list_parcels(struct trade *trade)
{
    const struct shares *shares = &trade->run->plan->shares;
    size_t *used = mem_zeroed(shares->count, sizeof *used, "the trade", trade->run->fault);
    bool done = used != NULL;

    for (size_t to = 0; done && to < shares->count; to++) {
        struct shares_walk walk = shares_walk_start(shares, to, 0, trade->reach);
        while (done && shares_walk_next(&walk)) {
            const struct shares_parcel *way = &walk.parcel;
            if (way->from == own_index(trade) || to == own_index(trade))
                done = add_parcel(trade, way, used[way->from]);
            if (is_seen(trade, way))
                used[way->from] +=
                    TRANSIT_TURNS * transit_parcel_bytes(plane_bytes(trade), way->planes.count);
        }
    }
    mem_free(used);
    return done;
}

static bool prepare_parcel(struct trade *trade, struct trade_parcel *parcel)
{
    const struct lane *lane = trade->run->lane;
    bool seen = is_seen(trade, &parcel->way), done = true;
    size_t bytes = parcel_bytes(trade, parcel);
    size_t apart = transit_parcel_bytes(plane_bytes(trade), parcel->way.planes.count);

    for (unsigned turn = 0; done && turn < (seen ? TRANSIT_TURNS : 1); turn++) {
        unsigned char *place = seen ? trade->seen[parcel->way.from] + parcel->offset + turn * apart : NULL;
        parcel->staging[turn] = lane->backend->staging_create(lane->device, bytes, place, trade->run->fault);
        done = parcel->staging[turn] != NULL;
    }
    return done;
}

static struct peers_message message_of(const struct trade *trade, const struct trade_parcel *parcel)
{
    bool incoming = parcel->way.to == own_index(trade);
    struct peers_message message = {.peer = incoming ? parcel->way.from : parcel->way.to,
                                    .incoming = incoming};

    if (!is_seen(trade, &parcel->way)) {
        message.bytes = parcel->staging[0]->samples;
        message.size = parcel_bytes(trade, parcel);
    }
    return message;
}

static bool prepare_parcels(struct trade *trade)
{
    if (!list_parcels(trade))
        return false;
    trade->messages = mem_alloc(trade->count, sizeof *trade->messages, "the trade", trade->run->fault);
    if (trade->messages == NULL)
        return false;
    for (size_t i = 0; i < trade->count; i++) {
        struct trade_parcel *parcel = &trade->parcels[i];
        if (!prepare_parcel(trade, parcel))
            return false;
        if (parcel->way.from != parcel->way.to)
            trade->messages[trade->message_count++] = message_of(trade, parcel);
    }
    return true;
}

void trade_close(struct trade *trade)
{
    const struct lane *lane = trade->run->lane;

    for (size_t i = 0; i < trade->count; i++) {
        for (unsigned turn = 0; turn < TRANSIT_TURNS; turn++)
            lane->backend->staging_destroy(lane->device, trade->parcels[i].staging[turn]);
    }
    peers_unshare(trade->run->peers, trade->memory);
    mem_free(trade->parcels);
    mem_free(trade->messages);
    mem_free(trade->outgoing);
    mem_free(trade->seen);
    *trade = (struct trade){.run = trade->run, .apart = trade->apart};
}

/* All together: whether this rank is prepared, and whether all are. */
static bool try_to_open(struct trade *trade, size_t reach, bool *own, bool *all)
{
    struct peers *peers = trade->run->peers;
    struct fault *fault = trade->run->fault;
    uint64_t least;

    trade_close(trade);
    trade->reach = reach;
    if (!peers_agree(peers, count_outgoing(trade), fault) ||
        (!trade->apart && !peers_share(peers, trade->outgoing, trade->seen, &trade->memory, fault)))
        return false;
    least = *own = prepare_parcels(trade);
    if (!peers_min(peers, &least, fault))
        return false;
    *all = least != 0;
    return true;
}

/* One of the ranks may be unable to use memory that several see, for example because its device cannot lock
   it. Then all send messages from now on. */
static bool open_for(struct trade *trade, size_t reach)
{
    bool own, all;

    if (!try_to_open(trade, reach, &own, &all))
        return false;
    if (!all && !trade->apart) {
        trade->apart = true;
        if (!try_to_open(trade, reach, &own, &all))
            return false;
    }
    return all || peers_agree(trade->run->peers, own, trade->run->fault);
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
    const struct lane *lane = trade->run->lane;
    double seconds = 0.0;
    bool done = true;

    for (size_t i = 0; done && i < trade->count; i++) {
        for (unsigned turn = 0; done && turn < TRANSIT_TURNS; turn++)
            done = trade->parcels[i].staging[turn] == NULL ||
                   lane->backend->staging_wait(lane->device, trade->parcels[i].staging[turn], &seconds,
                                               trade->run->fault);
    }
    return done;
}

/* Out of a field. A device may still copy from it afterwards. */
static bool pick_up(const struct trade *trade, unsigned field)
{
    const struct plan *plan = trade->run->plan;
    const struct lane *lane = trade->run->lane;
    const struct encoding encoding = packed(plan);
    bool done = true;

    for (size_t i = 0; done && i < trade->count; i++) {
        const struct trade_parcel *parcel = &trade->parcels[i];
        if (parcel->way.from == own_index(trade))
            done = lane->backend->download(lane->device, lane->fields[field], &encoding,
                                           staging_of(trade, parcel), parcel->way.planes, trade->run->fault);
    }
    return done;
}

/* Into a field. A device may still copy to it afterwards. */
static bool drop_off(const struct trade *trade, unsigned field)
{
    const struct plan *plan = trade->run->plan;
    const struct lane *lane = trade->run->lane;
    const struct encoding encoding = packed(plan);
    bool done = true;

    for (size_t i = 0; done && i < trade->count; i++) {
        const struct trade_parcel *parcel = &trade->parcels[i];
        const struct range planes = {parcel->way.first, parcel->way.planes.count};
        if (parcel->way.to == own_index(trade))
            done =
                lane->backend->upload(lane->device, lane->fields[field], &encoding, staging_of(trade, parcel),
                                      planes, (struct range){0, 0}, trade->run->fault);
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
    return peers_start_messages(trade->run->peers, trade->messages, trade->message_count, trade->run->fault);
}

bool trade_end(struct trade *trade, unsigned field, bool *fine)
{
    if (!peers_wait_for_messages(trade->run->peers, trade->run->fault))
        return false;
    atomic_thread_fence(memory_order_seq_cst);
    *fine = *fine && drop_off(trade, field);
    trade->turn = (trade->turn + 1) % TRANSIT_TURNS;
    return true;
}
