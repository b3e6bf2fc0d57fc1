/* Schedules: how often a run goes over the data, in what slabs, and how much memory that takes. */
#include "schedule.h"

#include "base/mem.h"
#include "base/size.h"

/* Planes of the longest grid that a pass has, which may have to be unrolled. */
static size_t most_planes(const struct schedule *schedule, const struct levels *levels)
{
    return schedule->spooled && levels_wraps(levels) ? levels->planes + 2 * schedule->depth : levels->planes;
}

static size_t count_buffers(const struct schedule *schedule)
{
    return schedule->in_buffers + schedule->out_buffers + schedule->tee_buffers;
}

/* The other side of each buffer, and of planes in transit, in a device's own memory; and what adding up
   takes. */
static size_t scratch_bytes(const struct schedule_request *request, const struct schedule *schedule)
{
    const struct backend *backend = request->forms->backend;
    const struct shape *shape = request->forms->shape;
    size_t sides = count_buffers(schedule) + (request->tallies ? 1 : 0);
    size_t bytes =
        request->device_memory > 0 ? sides * schedule->batch_bytes + schedule->trade_device_bytes : 0;

    if (request->tallies)
        bytes += backend->tally_bytes(shape, schedule->batch);
    if (request->changes)
        bytes += backend->change_bytes(shape, schedule->window);
    return bytes;
}

/* False where addresses end. */
static bool add_up(size_t *sum, size_t count, const size_t *bytes)
{
    *sum = 0;
    for (size_t i = 0; i < count; i++) {
        if (bytes[i] > SIZE_MAX - *sum)
            return false;
        *sum += bytes[i];
    }
    return true;
}

bool schedule_count(struct schedule *schedule, const struct schedule_request *request,
                    const struct levels *levels, const struct schedule_size *size)
{
    size_t held_bytes = schedule->holds_in_spool ? 0 : request->held_bytes, fields, buffers;
    size_t plane_bytes =
        size_most(request->file_plane_bytes, schedule->spooled ? request->work_plane_bytes : 0);

    schedule->batch = size->batch;
    schedule->slab = size->slab / size->batch * size->batch;
    schedule->readers = size->readers;
    schedule->writers = size->writers;
    schedule->in_buffers = size->buffers + size->readers - 1;
    schedule->out_buffers = size->buffers + size->writers - 1;
    schedule->tee_buffers = request->tees ? size->buffers : 0;
    schedule->field_count = levels->stage_count == 0 ? 0 : levels_field_count(levels);
    schedule->window = size_least(most_planes(schedule, levels), size->slab + schedule->depth + size->slack);
    if (schedule->devices > 1)
        schedule->window = size->slab + schedule->depth;
    if (!mem_product(&schedule->field_bytes, request->field_plane_bytes, schedule->window) ||
        !mem_product(&fields, schedule->field_bytes, schedule->field_count * schedule->lanes) ||
        !mem_product(&schedule->batch_bytes, plane_bytes, schedule->batch) ||
        !mem_product(&buffers, schedule->batch_bytes, count_buffers(schedule) * schedule->lanes) ||
        !mem_product(&schedule->spool_bytes, request->work_plane_bytes,
                     schedule->spooled ? levels->planes : 0))
        return false;
    schedule->sum_bytes = scratch_bytes(request, schedule);
    return add_up(&schedule->memory_bytes, 7,
                  (const size_t[]){fields, buffers, held_bytes, request->beside_bytes,
                                   schedule->routine_bytes * schedule->lanes,
                                   schedule->sum_bytes * schedule->lanes, schedule->trade_bytes});
}

/* Of one device. */
static size_t device_bytes(const struct schedule_request *request, const struct schedule *schedule)
{
    return request->device_memory == 0 ? 0
                                       : schedule->field_bytes * schedule->field_count + schedule->sum_bytes +
                                             schedule->routine_bytes;
}

/* What is held against a ceiling: one that was asked for is for host and device together, that of the machine
   for its own memory. */
static size_t counted_bytes(const struct schedule_request *request, const struct schedule *schedule)
{
    bool asked = request->memory > 0 || request->limits.memory > 0;

    return asked ? schedule->memory_bytes
                 : schedule->memory_bytes - device_bytes(request, schedule) * schedule->lanes;
}

bool schedule_fits(const struct schedule *schedule, const struct schedule_request *request, uint64_t memory)
{
    return (memory == 0 || counted_bytes(request, schedule) <= memory) &&
           (request->device_memory == 0 || device_bytes(request, schedule) <= request->device_memory);
}
