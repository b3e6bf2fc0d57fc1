/* Links: how fast ranks exchange messages with those beside them, as it is measured or assumed. */
#ifndef LINK_H
#define LINK_H

#include "base/diag.h"
#include "peers.h"

#include <stdbool.h>

struct link {
    double bytes_per_second; /* what a rank gets from its neighbours while it sends them as much */
    double seconds;          /* the time that a message takes, however short */
};

/* The link that is assumed if none has been measured. */
struct link link_assumed(void);

/* Measuring takes about this many seconds, and bytes of memory. */
#define LINK_SECONDS 0.05
#define LINK_BYTES   ((size_t)1 << 20)

/* All ranks together: measure the link. The slowest rank counts, and all get the same result. */
bool link_measure(struct peers *peers, struct link *link, struct fault *fault);

#endif
