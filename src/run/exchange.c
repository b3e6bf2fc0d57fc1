/* Exchanges: the planes beside its own that each member of a team gets before a level. */
#include "exchange.h"

#include "base/mem.h"

#include <stdatomic.h>

/* If both ranks see each other's memory, the planes pass through that of the rank that has them. Two places
   take turns, so that one may be filled while the other one is read. */
struct exchange_parcel {
    struct shares_parcel way;
    size_t offset; /* in the memory of the one that has them */
    struct staging *staging[SHARES_TURNS];
};

/* ---- what ranks exchange ---- */

static size_t parcel_bytes(const struct exchange *exchange, const struct exchange_parcel *parcel)
{
    return parcel->way.planes.count * exchange->plan->packed_plane_bytes;
}

/* This rank among the members. */
static size_t own_index(const struct exchange *exchange)
{
    return exchange->plan->shares.first;
}

/* Whether the planes pass through memory that both ranks see. */
static bool is_seen(const struct exchange *exchange, const struct shares_parcel *way)
{
    return way->from != way->to && exchange->seen[way->from] != NULL && exchange->seen[way->to] != NULL;
}

/* Count the bytes that this rank sends to each of the others in memory that they see. */
static bool count_outgoing(struct exchange *exchange)
{
    const struct shares *shares = &exchange->plan->shares;
    struct fault *fault = exchange->fault;

    exchange->outgoing = mem_zeroed(shares->count, sizeof *exchange->outgoing, "the exchange", fault);
    exchange->seen = mem_zeroed(shares->count, sizeof *exchange->seen, "the exchange", fault);
    if (exchange->outgoing == NULL || exchange->seen == NULL)
        return false;
    for (size_t to = 0; to < shares->count; to++) {
        struct shares_walk walk = shares_walk_start(shares, to, 0, exchange->reach);
        while (to != own_index(exchange) && shares_walk_next(&walk)) {
            if (walk.parcel.from == own_index(exchange))
                exchange->outgoing[to] +=
                    SHARES_TURNS *
                    shares_parcel_bytes(exchange->plan->packed_plane_bytes, walk.parcel.planes.count);
        }
    }
    return true;
}

static bool add_parcel(struct exchange *exchange, const struct shares_parcel *way, size_t offset)
{
    struct exchange_parcel *parcels = mem_grow(exchange->parcels, exchange->count, &exchange->capacity,
                                               sizeof *parcels, "the exchange", exchange->fault);

    if (parcels == NULL)
        return false;
    exchange->parcels = parcels;
    parcels[exchange->count++] = (struct exchange_parcel){.way = *way, .offset = offset};
    return true;
}

/* All ranks walk over all parcels in the same order, so each knows where those of another one are in the
   memory that both see. */
static bool list_parcels(struct exchange *exchange)
{
    const struct shares *shares = &exchange->plan->shares;
    size_t *used = mem_zeroed(shares->count, sizeof *used, "the exchange", exchange->fault);
    bool done = used != NULL;

    for (size_t to = 0; done && to < shares->count; to++) {
        struct shares_walk walk = shares_walk_start(shares, to, 0, exchange->reach);
        while (done && shares_walk_next(&walk)) {
            const struct shares_parcel *way = &walk.parcel;
            /* This rank's own parcels are listed; those of others only show where theirs end. */
            if (way->from == own_index(exchange) || to == own_index(exchange))
                done = add_parcel(exchange, way, used[way->from]);
            if (is_seen(exchange, way))
                used[way->from] +=
                    SHARES_TURNS * shares_parcel_bytes(exchange->plan->packed_plane_bytes, way->planes.count);
        }
    }
    mem_free(used);
    return done;
}

/* Buffers for a parcel, which the device copies from or into: in memory that both ranks see, or of this rank
   alone. */
static bool prepare_parcel(struct exchange *exchange, struct exchange_parcel *parcel)
{
    const struct lane *lane = exchange->lanes;
    bool seen = is_seen(exchange, &parcel->way), done = true;
    size_t bytes = parcel_bytes(exchange, parcel);
    size_t apart = shares_parcel_bytes(exchange->plan->packed_plane_bytes, parcel->way.planes.count);

    for (unsigned turn = 0; done && turn < (seen ? SHARES_TURNS : 1); turn++) {
        unsigned char *place = seen ? exchange->seen[parcel->way.from] + parcel->offset + turn * apart : NULL;
        parcel->staging[turn] = lane->backend->staging_create(lane->device, bytes, place, exchange->fault);
        done = parcel->staging[turn] != NULL;
    }
    return done;
}

/* The message for a parcel; it is empty if the planes pass through memory that both see, and then only says
   that they are there. */
static struct peers_message message_of(const struct exchange *exchange, const struct exchange_parcel *parcel)
{
    bool incoming = parcel->way.to == own_index(exchange);
    struct peers_message message = {.peer = incoming ? parcel->way.from : parcel->way.to,
                                    .incoming = incoming};

    if (!is_seen(exchange, &parcel->way)) {
        message.bytes = parcel->staging[0]->samples;
        message.size = parcel_bytes(exchange, parcel);
    }
    return message;
}

/* List the parcels of this rank, with a buffer and a message for each. */
static bool prepare_parcels(struct exchange *exchange)
{
    if (!list_parcels(exchange))
        return false;
    exchange->messages =
        mem_alloc(exchange->count, sizeof *exchange->messages, "the exchange", exchange->fault);
    if (exchange->messages == NULL)
        return false;
    for (size_t i = 0; i < exchange->count; i++) {
        struct exchange_parcel *parcel = &exchange->parcels[i];
        if (!prepare_parcel(exchange, parcel))
            return false;
        if (parcel->way.from != parcel->way.to)
            exchange->messages[exchange->message_count++] = message_of(exchange, parcel);
    }
    return true;
}

void exchange_close(struct exchange *exchange)
{
    const struct lane *lane = exchange->lanes;
    const bool apart = exchange->apart;

    for (size_t i = 0; i < exchange->count; i++) {
        for (unsigned turn = 0; turn < SHARES_TURNS; turn++)
            lane->backend->staging_destroy(lane->device, exchange->parcels[i].staging[turn]);
    }
    peers_unshare(exchange->peers, exchange->memory);
    mem_free(exchange->parcels);
    mem_free(exchange->messages);
    mem_free(exchange->outgoing);
    mem_free(exchange->seen);
    *exchange = exchange_of(exchange->plan, lane, exchange->shares, exchange->peers, exchange->fault);
    exchange->apart = apart;
}

/* All ranks together: prepare for levels of such a reach. *own says whether this rank is prepared, *all
   whether every rank is. */
static bool try_to_open(struct exchange *exchange, size_t reach, bool *own, bool *all)
{
    struct peers *peers = exchange->peers;
    struct fault *fault = exchange->fault;
    uint64_t least;

    exchange_close(exchange);
    exchange->reach = reach;
    if (!peers_agree(peers, count_outgoing(exchange), fault) ||
        (!exchange->apart &&
         !peers_share(peers, exchange->outgoing, exchange->seen, &exchange->memory, fault)))
        return false;
    least = *own = prepare_parcels(exchange);
    if (!peers_min(peers, &least, fault))
        return false;
    *all = least != 0;
    return true;
}

/* One of the ranks may be unable to use memory that several see, for example because its device cannot lock
   it. Then all send messages from now on. */
static bool open_for(struct exchange *exchange, size_t reach)
{
    bool own, all;

    if (!try_to_open(exchange, reach, &own, &all))
        return false;
    if (!all && !exchange->apart) {
        exchange->apart = true;
        if (!try_to_open(exchange, reach, &own, &all))
            return false;
    }
    return all || peers_agree(exchange->peers, own, exchange->fault);
}

/* ---- messages ---- */

/* Wait for all copies between buffers and fields, of both turns. */
static bool await_copies(const struct exchange *exchange)
{
    const struct lane *lane = exchange->lanes;
    double seconds = 0.0;
    bool done = true;

    for (size_t i = 0; done && i < exchange->count; i++) {
        for (unsigned turn = 0; done && turn < SHARES_TURNS; turn++)
            done = exchange->parcels[i].staging[turn] == NULL ||
                   lane->backend->staging_wait(lane->device, exchange->parcels[i].staging[turn], &seconds,
                                               exchange->fault);
    }
    return done;
}

/* Copy the planes that this rank sends out of a field, or those that it has got into the field. A device may
   still be copying afterwards. */
static bool copy_parcels(const struct exchange *exchange, unsigned field, bool out)
{
    const struct lane *lane = exchange->lanes;
    const struct plan *plan = exchange->plan;
    /* Planes on their way are packed. */
    const struct encoding encoding = {
        .type = shape_sample(&plan->shape, plan->job->work), .channels = plan->shape.channels, .gamma = 1.0};
    bool done = true;

    for (size_t i = 0; done && i < exchange->count; i++) {
        const struct exchange_parcel *parcel = &exchange->parcels[i];
        const struct shares_parcel *way = &parcel->way;
        struct staging *staging = parcel->staging[parcel->staging[1] != NULL ? exchange->turn : 0];
        if (out && way->from == own_index(exchange))
            done = lane->backend->download(lane->device, lane->fields[field], &encoding, staging, way->planes,
                                           exchange->fault);
        else if (!out && way->to == own_index(exchange))
            done = lane->backend->upload(lane->device, lane->fields[field], &encoding, staging,
                                         (struct range){way->first, way->planes.count}, (struct range){0, 0},
                                         exchange->fault);
    }
    return done;
}

/* ---- an exchange ---- */

struct exchange exchange_of(const struct plan *plan, const struct lane *lanes, const struct shares *shares,
                            struct peers *peers, struct fault *fault)
{
    return (struct exchange){.between_ranks = shares->held < shares->count,
                             .plan = plan,
                             .lanes = lanes,
                             .shares = shares,
                             .peers = peers,
                             .fault = fault};
}

bool exchange_begin(struct exchange *exchange, size_t reach, unsigned field, bool *fine)
{
    /* Each GPU does in order what it is asked, so that nothing is left to do once its copies have begun. */
    if (!exchange->between_ranks) {
        *fine = *fine && lane_exchange(exchange->lanes, exchange->shares, field, reach, exchange->handed,
                                       exchange->fault);
        return true;
    }
    if (reach != exchange->reach && !open_for(exchange, reach))
        return false;
    *fine = *fine && copy_parcels(exchange, field, true);
    return true;
}

/* The fences here and below order the memory that several ranks see with the messages. */
bool exchange_send(struct exchange *exchange, bool *fine)
{
    if (!exchange->between_ranks)
        return true;
    *fine = *fine && await_copies(exchange);
    atomic_thread_fence(memory_order_seq_cst);
    return peers_start_messages(exchange->peers, exchange->messages, exchange->message_count,
                                exchange->fault);
}

bool exchange_end(struct exchange *exchange, unsigned field, bool *fine)
{
    if (!exchange->between_ranks)
        return true;
    if (!peers_wait_for_messages(exchange->peers, exchange->fault))
        return false;
    atomic_thread_fence(memory_order_seq_cst);
    *fine = *fine && copy_parcels(exchange, field, false);
    exchange->turn = (exchange->turn + 1) % SHARES_TURNS;
    return true;
}
