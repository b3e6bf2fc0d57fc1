/* Exchanges: before a level, each member of a team gets the planes beside its own that the level reads from
   the members that have computed them. GPUs of one process copy them into each other's memory. Ranks send
   them in messages, or, on one node, pass them through memory that both see.

   All ranks make the same calls in the same order. `fine` says whether nothing has failed in this process so
   far; if something has, it goes on exchanging whatever it holds, so that nobody waits for planes that never
   come. A call that returns false has failed for all ranks, and none goes on. */
#ifndef EXCHANGE_H
#define EXCHANGE_H

#include "peers/peers.h"
#include "plan/lane.h"
#include "plan/plan.h"
#include "plan/shares.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All that this process's members need to exchange planes during one walk over the levels. */
struct exchange {
    bool between_ranks; /* by messages; else by copies between GPUs of this process */
    const struct plan *plan;
    const struct lane *lanes;    /* of this process's members */
    const struct shares *shares; /* of the planes, as they are counted at the moment */
    struct peers *peers;
    struct fault *fault;
    uint64_t handed[DEVICES_MOST]; /* planes that have been copied to each of this process's members */

    /* All that a rank sends and receives before a level; before the first one, all is zero. */
    bool apart;                      /* ranks do without memory that several of them see */
    size_t reach;                    /* of the level */
    struct exchange_parcel *parcels; /* runs of planes that this rank sends or gets */
    /* One for each parcel between two ranks: its bytes, or a sign that they are there. */
    struct peers_message *messages;
    size_t count, capacity, message_count;
    size_t *outgoing;     /* bytes of memory for what this one sends to each */
    unsigned char **seen; /* the memory of each that this one sees; or NULL */
    void *memory;         /* of this rank, which others see, to be given back; or NULL */
    unsigned turn;        /* which of the two places of a parcel is used */
};

/* An exchange for some levels, which has nothing open yet. */
struct exchange exchange_of(const struct plan *plan, const struct lane *lanes, const struct shares *shares,
                            struct peers *peers, struct fault *fault);

/* Start to copy what a level of such a reach needs out of a field. */
bool exchange_begin(struct exchange *exchange, size_t reach, unsigned field, bool *fine);

/* Send what has left the field. */
bool exchange_send(struct exchange *exchange, bool *fine);

/* Wait for what comes, and start to copy it into the field. */
bool exchange_end(struct exchange *exchange, unsigned field, bool *fine);

/* Give back what it has. */
void exchange_close(struct exchange *exchange);

#endif
