/* Trades: planes that ranks of a team exchange before a level, out of the field of one into that of another.
   All ranks make the same calls in the same order. `fine` says whether nothing has failed at this rank so
   far; if something has, the rank goes on trading whatever it holds, so that nobody waits for planes that
   never come. A call that returns false has failed for all ranks, and none goes on. */
#ifndef TRADE_H
#define TRADE_H

#include "peers/peers.h"
#include "plan/share.h"
#include "plan/transit.h"
#include "pass.h"

#include <stdbool.h>
#include <stddef.h>

/* All that a rank sends and receives before a level; before the first one, all members but `run` are zero. */
struct trade {
    struct run *run;
    bool apart;   /* ranks do without memory that several of them see */
    size_t reach; /* of the level */
    struct trade_parcel *parcels;
    struct peers_message
        *messages; /* one for each parcel between two ranks: its bytes, or a sign that they are there */
    size_t count, capacity, message_count;
    size_t *outgoing;     /* bytes of memory for what this one sends to each */
    unsigned char **seen; /* the memory of each that this one sees; or NULL */
    void *memory;         /* to be given back; or NULL */
    unsigned turn;
};

/* Start to copy what a level of such a reach needs out of a field. */
bool trade_begin(struct trade *trade, size_t reach, unsigned field, bool *fine);

/* Send what has left the field. */
bool trade_send(struct trade *trade, bool *fine);

/* Wait for what comes, and start to copy it into the field. */
bool trade_end(struct trade *trade, unsigned field, bool *fine);

/* Give back what it has; after this it may begin again. */
void trade_close(struct trade *trade);

#endif
