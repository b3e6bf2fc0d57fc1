/* Exchanges: planes that lanes hand over to each other, for what reads beside their own. */
#ifndef EXCHANGE_H
#define EXCHANGE_H

#include "base/diag.h"
#include "lane.h"
#include "share.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Let each lane have, in a field, the planes beside its own that a level of such a reach reads. The planes
   that come to each are added to its number in `handed`. */
bool exchange_planes(const struct lane *lanes, const struct shares *shares, unsigned field, size_t reach,
                     uint64_t *handed, struct fault *fault);

#endif
