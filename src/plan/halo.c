/* Halos: how much beside a region has to be read and computed so that the region is as in the whole grid.

   A box of the grid is computed as a grid of its own. What the edge rules invent where it is cut moves
   inwards with each step, by the reach of the step, and so ends in a halo of the reach of all steps. Where
   the grid itself ends, the box ends as well, and the rules do what they do in the whole grid: whatever they
   read is no farther away than the halo on the other side. An edge that wraps is none: the box goes on at the
   other end. Only where an axis has both kinds, and the box would reach an end of it, all of the axis is
   taken.

   Planes are read and computed as they are needed anyway (levels.h), so a box has all of them. */
#include "halo.h"

#include "base/size.h"
#include "lower.h"

#include <string.h>

/* How far a step reaches: as far as the widest of its chains, and what follows these. */
static size_t reach_of_step(const struct step *step, unsigned axis)
{
    size_t widest = 0, chain = 0;

    for (size_t k = 0; k < step->count; k++) {
        const struct op *op = &step->ops[k];
        const struct reach *taps = axis == 0 ? &op->x : &op->row;
        if (op->begins)
            chain = 0;
        else if (op_reads_kept(op))
            chain = widest;
        /* An edge rule may turn a tap to the other side. */
        chain += size_most((size_t)-taps->low, (size_t)taps->high);
        widest = size_most(widest, chain);
    }
    return widest;
}

/* Add the reach of all steps of a stage; what is beyond any axis does not count. */
static void add_stage(const struct stage *stage, const struct step *step, struct halo halos[HALO_AXES])
{
    const bool wraps = edge_has(stage->edge.rule, EDGE_PERIODIC);
    const size_t most = SIZE_MAX / 4;

    for (unsigned axis = 0; axis < HALO_AXES; axis++) {
        struct halo *halo = &halos[axis];
        size_t reach = reach_of_step(step, axis);
        if (reach == 0)
            continue;
        halo->reach = stage->steps > (most - size_least(most, halo->reach)) / reach
                          ? most
                          : halo->reach + (size_t)stage->steps * reach;
        halo->wraps |= wraps;
        halo->ends |= !wraps;
    }
}

bool halo_find(const struct halo_request *request, struct halo halos[HALO_AXES], struct fault *fault)
{
    memset(halos, 0, HALO_AXES * sizeof *halos);
    for (size_t i = 0; i < request->stage_count; i++) {
        const struct stage *stage = &request->stages[i];
        struct step step;
        if (stage->converted || stage->steps == 0)
            continue;
        if (!lower_stage(stage, request->grid, request->field, request->work, &step, fault))
            return false;
        add_stage(stage, &step, halos);
        lower_free(&step);
    }
    return true;
}

struct range halo_widen(const struct halo *halo, struct range range, size_t extent)
{
    size_t first = range.first, end = first + range.count;
    bool leaves = first < halo->reach || extent - end < halo->reach;

    if (leaves && halo->wraps && (halo->ends || range.count + 2 * halo->reach >= extent))
        return (struct range){0, extent};
    if (leaves && halo->wraps)
        return (struct range){(first + extent - halo->reach) % extent, range.count + 2 * halo->reach};
    first -= size_least(first, halo->reach);
    return (struct range){first, end + size_least(extent - end, halo->reach) - first};
}
