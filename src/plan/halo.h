/* Halos: how much beside a region has to be read and computed so that the region is as in the whole grid. */
#ifndef HALO_H
#define HALO_H

#include "base/diag.h"
#include "model/grid.h"
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

/* How far stages reach along an axis, and what their edges are there. */
struct halo {
    size_t reach;
    bool wraps, ends;
};

/* The halos along x and, in a volume, along y: axes along which planes are cut. */
#define HALO_AXES 2
bool halo_find(const struct halo_request *request, struct halo halos[HALO_AXES], struct fault *fault);

/* Widen a range of indices along an axis of such an extent by its halo. Where an edge wraps, it may go past
   the end of the axis. */
struct range halo_widen(const struct halo *halo, struct range range, size_t extent);

#endif
