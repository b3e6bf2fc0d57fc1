/* Ranges of the output: which values of the result the ends of --out-range stand for. */
#ifndef OUTRANGE_H
#define OUTRANGE_H

#include "base/diag.h"
#include "peers/peers.h"
#include "kernels/backend.h"
#include "plan/plan.h"

#include <stdbool.h>

struct outrange {
    const struct plan *plan;
    struct encoding encode; /* of the output, with the range once it is known */
    bool unmapped;          /* no value has told of a range */
};

/* Have a lane look at the extremes of planes of the result. */
bool outrange_measure(struct outrange *outrange, const struct lane *lane, const struct field *field,
                      struct range planes, struct fault *fault);

/* Those of all planes that lanes of all ranks looked at are the ends of the range. Where nothing is finite,
   zero is both. A range that f64 cannot hold is refused. */
bool outrange_settle(struct outrange *outrange, struct peers *peers, struct fault *fault);

/* Whether there is a range, and it is known. */
bool outrange_maps(const struct outrange *outrange);

#endif
