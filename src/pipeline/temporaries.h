/* Temporaries of rank 0 that the other ranks remove as well: if a signal ends another rank, a launcher may
   kill rank 0 by SIGKILL. */
#ifndef TEMPORARIES_H
#define TEMPORARIES_H

#include "base/diag.h"
#include "base/guard.h"
#include "peers/peers.h"

#include <stdbool.h>
#include <stddef.h>

struct temporaries {
    char *paths;             /* one after the other, each with its end */
    struct guarded *guarded; /* by any rank but 0 */
    size_t count;
};

/* All ranks together: rank 0 tells what it guards so far, and the others guard it, too. They must
   be forgotten, also after a failure. That may be late, because a temporary has a random name, which no later
   file gets. */
bool temporaries_tell(struct temporaries *temporaries, struct peers *peers, struct fault *fault);

/* Nothing told is nothing to forget. */
void temporaries_forget(struct temporaries *temporaries);

#endif
