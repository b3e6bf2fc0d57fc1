/* Lanes: one device with all that belongs to it. */
#include "lane.h"

#include "base/mem.h"

bool lane_open(struct lane *lane, const struct backend *backend, const struct device_request *request,
               struct fault *fault)
{
    *lane = (struct lane){.backend = backend, .index = request->index};
    return backend->open(&lane->device, request, fault);
}

bool lane_prepare(struct lane *lane, const struct levels_step *steps, size_t step_count, struct fault *fault)
{
    if (step_count == 0)
        return true;
    lane->routines = mem_zeroed(step_count, sizeof *lane->routines, "the plan", fault);
    if (lane->routines == NULL)
        return false;
    for (size_t i = 0; i < step_count; i++) {
        /* Counted before anything is prepared, so that lane_close finds what there is after a failure. */
        struct routine **routines = lane->routines[lane->step_count++];
        for (size_t k = 0; k < steps[i].step.count; k++) {
            if (!lane->backend->prepare(lane->device, &steps[i].forms[k], &routines[k], fault))
                return false;
        }
    }
    return true;
}

bool lane_create_fields(struct lane *lane, size_t count, const struct shape *shape, enum work_type work,
                        struct range planes, struct fault *fault)
{
    for (size_t i = 0; i < count; i++) {
        if (!lane->backend->field_create(lane->device, &lane->fields[i], shape, work, planes, fault))
            return false;
    }
    return true;
}

void lane_destroy_fields(struct lane *lane)
{
    /* A backend takes NULL for a field that was never made. */
    for (size_t i = 0; i < LEVELS_FIELDS; i++) {
        lane->backend->field_destroy(lane->device, lane->fields[i]);
        lane->fields[i] = NULL;
    }
}

/* A backend whose memory is 0 computes in that of the process, as the CPU does. */
bool lane_is_in_own_memory(const struct lane *lane)
{
    return lane->backend->memory(lane->device) == 0;
}

static bool hand_over(const struct lane *lanes, const struct shares_parcel *parcel, unsigned field,
                      struct fault *fault)
{
    const struct lane *from = &lanes[parcel->from], *to = &lanes[parcel->to];

    return from->backend->hand_over(from->device, from->fields[field], parcel->planes, to->device,
                                    to->fields[field], parcel->first, fault);
}

bool lane_exchange(const struct lane *lanes, const struct shares *shares, unsigned field, size_t reach,
                   uint64_t *handed, struct fault *fault)
{
    for (size_t to = 0; to < shares->count; to++) {
        /* Receivers take turns, and each gets the planes before its own and then those behind. A copy waits
           by itself for the pass that computes its planes (hand_over in kernels/backend.h), so nothing is
           waited for here. */
        struct shares_walk walk = shares_walk_start(shares, to, 0, reach);
        while (shares_walk_next(&walk)) {
            if (!hand_over(lanes, &walk.parcel, field, fault))
                return false;
            handed[to] += walk.parcel.planes.count;
        }
    }
    return true;
}

void lane_close(struct lane *lane)
{
    if (lane->device == NULL)
        return;
    for (size_t i = 0; i < lane->step_count; i++) {
        for (size_t k = 0; k < LOWER_OPS; k++) {
            if (lane->routines[i][k] != NULL)
                lane->backend->release(lane->device, lane->routines[i][k]);
        }
    }
    mem_free(lane->routines);
    lane->backend->close(lane->device);
    /* Reports still ask which device it was. */
    *lane = (struct lane){.backend = lane->backend, .index = lane->index};
}
