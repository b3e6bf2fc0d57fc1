/* The CPU backend: which function serves what the seam asks. */
#include "kernels/backend.h"

#include "cpu_device.h"
#include "cpu_planes.h"
#include "cpu_routine.h"
#include "cpu_sums.h"

const struct backend backend_cpu = {
    .name = "cpu",
    .rungs = cpu_routine_rungs,
    .count = cpu_device_count,
    .describe = cpu_device_describe,
    .warm_up = cpu_device_warm_up,
    .predict = cpu_device_predict,
    .open = cpu_device_open,
    .close = cpu_device_close,
    .memory = cpu_device_memory,
    .field_bytes = cpu_planes_bytes,
    .settle = cpu_routine_settle,
    .prepare = cpu_routine_prepare,
    .release = cpu_routine_release,
    .field_create = cpu_planes_create,
    .field_destroy = cpu_planes_destroy,
    .field_slide = cpu_planes_slide,
    .staging_create = cpu_planes_staging_create,
    .staging_destroy = cpu_planes_staging_destroy,
    .upload = cpu_planes_upload,
    .download = cpu_planes_download,
    .staging_wait = cpu_planes_staging_wait,
    .tell_outcomes = cpu_planes_tell_outcomes,
    .measure = cpu_planes_measure,
    .tell_extremes = cpu_planes_tell_extremes,
    .advance = cpu_routine_advance,
    .begin_span = cpu_device_begin_span,
    .end_span = cpu_device_end_span,
    .sync = cpu_device_sync,
    .copy = cpu_planes_copy,
    .multiply_adds = cpu_device_multiply_adds,
    .change = cpu_sums_change,
    .tally = cpu_sums_tally,
    .sum_rungs = cpu_sums_rungs,
    .settle_sums = cpu_sums_settle,
    .add_by = cpu_sums_add_by,
    .tally_bytes = cpu_sums_tally_bytes,
    .change_bytes = cpu_sums_change_bytes,
};
