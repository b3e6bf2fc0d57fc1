/* Halos: how much beside a region has to be read and computed so that the region is as in the whole grid. */
#ifndef HALO_H
#define HALO_H

#include "base/diag.h"
#include "model/grid.h"
#include "model/region.h"
#include "model/stage.h"
#include "kernels/backend.h"

#include <stdbool.h>
#include <stddef.h>

/* Stages in a field of such an encoding. */
struct halo_request {
    const struct stage *stages;
    size_t stage_count;
    const struct grid *grid;
    const struct encoding *field;
    enum work_type work;
};

/* Widen a box, which is the region, along x and, in a volume, along y by what the stages reach; along the
   planes it becomes all of the grid. Where an edge wraps, it may go past the end of an axis. */
bool halo_widen(const struct halo_request *request, struct region *box, struct fault *fault);

#endif
