/* Lanes: one device with all that belongs to it. A plan has one for each of its devices. */
#ifndef LANE_H
#define LANE_H

#include "base/diag.h"
#include "kernels/backend.h"
#include "levels.h"
#include "lower.h"
#include "shares.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct io_ring;

/* A device that is open, and what it has been given. */
struct lane {
    const struct backend *backend;
    struct device *device; /* NULL: it is not open */
    int index;             /* among the backend's */

    struct routine *(*routines)[LOWER_OPS]; /* of each step */
    size_t step_count;
    struct form sums; /* how it adds up; sums.rung is NULL where there is but one way */

    /* While a run is under way. */
    struct field *fields[LEVELS_FIELDS];
    struct io_ring *in, *out; /* of the pass; NULL where it reads or writes nothing */
};

/* Open a device; on failure it counts as closed. */
bool lane_open(struct lane *lane, const struct backend *backend, const struct device_request *request,
               struct fault *fault);

/* Prepare a routine for each operation of the steps, in the form that it has there. */
bool lane_prepare(struct lane *lane, const struct levels_step *steps, size_t step_count, struct fault *fault);

/* Create `count` fields that have room for a range of planes each. lane_destroy_fields releases those that
   there are. */
bool lane_create_fields(struct lane *lane, size_t count, const struct shape *shape, enum work_type work,
                        struct range planes, struct fault *fault);
void lane_destroy_fields(struct lane *lane);

/* Whether its fields are in this process's own memory. */
bool lane_is_in_own_memory(const struct lane *lane);

/* Let each of some GPUs have, in a field, the planes beside its own share that a level of such a reach reads.
   The planes that come to each are added to its number in `handed`. */
bool lane_exchange(const struct lane *lanes, const struct shares *shares, unsigned field, size_t reach,
                   uint64_t *handed, struct fault *fault);

/* Release the routines and the device, if it is open. */
void lane_close(struct lane *lane);

#endif
