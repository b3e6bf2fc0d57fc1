/* The CUDA backend: which function serves what the seam asks. */
#include "kernels/backend.h"

#include "cuda_device.h"
#include "cuda_ladder.h"
#include "cuda_planes.h"
#include "cuda_reduce.h"
#include "cuda_routine.h"
#include "cuda_sums.h"

/* By name, as C++17 has no designated initialisers; the compiler does it. There is no multiply_adds. */
static constexpr struct backend named_functions()
{
    struct backend backend = {};

    backend.name = "cuda";
    backend.rungs = cuda_rungs;
    backend.count = cuda_device_count;
    backend.describe = cuda_device_describe;
    backend.warm_up = cuda_device_warm_up;
    backend.predict = cuda_device_predict;
    backend.open = cuda_device_open;
    backend.close = cuda_device_close;
    backend.memory = cuda_device_memory;
    backend.field_bytes = cuda_planes_bytes;
    backend.settle = cuda_routine_settle;
    backend.prepare = cuda_routine_prepare;
    backend.release = cuda_routine_release;
    backend.field_create = cuda_planes_create;
    backend.field_destroy = cuda_planes_destroy;
    backend.field_slide = cuda_planes_slide;
    backend.staging_create = cuda_planes_staging_create;
    backend.staging_destroy = cuda_planes_staging_destroy;
    backend.upload = cuda_planes_upload;
    backend.download = cuda_planes_download;
    backend.staging_wait = cuda_planes_staging_wait;
    backend.tell_outcomes = cuda_planes_tell_outcomes;
    backend.measure = cuda_planes_measure;
    backend.tell_extremes = cuda_planes_tell_extremes;
    backend.advance = cuda_routine_advance;
    backend.begin_span = cuda_device_begin_span;
    backend.end_span = cuda_device_end_span;
    backend.sync = cuda_device_sync;
    backend.copy = cuda_planes_copy;
    backend.change = cuda_sums_change;
    backend.tally = cuda_sums_tally;
    backend.sum_rungs = cuda_sum_rungs;
    backend.settle_sums = cuda_sums_settle;
    backend.add_by = cuda_sums_add_by;
    backend.tally_bytes = cuda_sums_tally_bytes;
    backend.change_bytes = cuda_sums_change_bytes;
    return backend;
}

extern "C" const struct backend backend_cuda = named_functions();
