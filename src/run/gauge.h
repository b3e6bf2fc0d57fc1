/* Gauges: how fast ranks exchange planes with those beside them. */
#ifndef GAUGE_H
#define GAUGE_H

#include "base/diag.h"
#include "peers/peers.h"
#include "plan/link.h"

#include <stdbool.h>

/* What measuring takes, about: seconds, and bytes of memory. */
#define GAUGE_SECONDS 0.05
#define GAUGE_BYTES   ((size_t)1 << 20)

/* All ranks together: the slowest counts, and all get the same result. */
bool gauge_link(struct peers *peers, struct link *link, struct fault *fault);

#endif
