/* The CUDA backend: the table by which the seam reaches its functions. */
#include "kernels/backend.h"

#include "cuda_device.h"

#include <tuple>

/* Most calls of CUDA mean the GPU that the calling thread has chosen. These templates wrap the backend's
   functions, so that each chooses its device's GPU first. */
template <auto Function> struct chosen;

template <typename Result, typename Device, typename... Rest, Result (*Function)(Device *, Rest...)>
struct chosen<Function> {
    static Result call(Device *device, Rest... rest)
    {
        if (!cuda_device_choose(device, std::get<sizeof...(Rest) - 1>(std::tie(rest...))))
            return Result();
        return Function(device, rest...);
    }
};

/* The same for functions that release something, which have no fault to fill in. Their errors are dropped, or
   the next launch, perhaps on another GPU, would report them. */
template <auto Function> struct released;

template <typename Device, typename... Rest, void (*Function)(Device *, Rest...)> struct released<Function> {
    static void call(Device *device, Rest... rest)
    {
        if (device == NULL)
            return;
        cudaSetDevice(device->index);
        Function(device, rest...);
        cudaGetLastError();
    }
};

/* By assignments, which the compiler evaluates, since C++17 has no designated initialisers. There is no
 * multiply_adds. */
static constexpr struct backend named_functions()
{
    struct backend backend = {};

    backend.name = "cuda";
    backend.rungs = cuda_rungs;
    backend.count = cuda_device_count;
    backend.describe = cuda_device_describe;
    backend.reaches = cuda_device_reaches;
    backend.warm_up = cuda_device_warm_up;
    backend.predict = cuda_device_predict;
    backend.open = cuda_device_open;
    backend.close = released<cuda_device_close>::call;
    backend.memory = cuda_device_memory;
    backend.field_bytes = cuda_planes_bytes;
    backend.settle = chosen<cuda_routine_settle>::call;
    backend.prepare = chosen<cuda_routine_prepare>::call;
    backend.release = released<cuda_routine_release>::call;
    backend.field_create = chosen<cuda_planes_create>::call;
    backend.field_destroy = released<cuda_planes_destroy>::call;
    backend.field_slide = chosen<cuda_planes_slide>::call;
    backend.field_renumber = cuda_planes_renumber;
    backend.hand_over = cuda_planes_hand_over;
    backend.tell_handings = chosen<cuda_planes_tell_handings>::call;
    backend.staging_create = chosen<cuda_planes_staging_create>::call;
    backend.staging_destroy = released<cuda_planes_staging_destroy>::call;
    backend.upload = chosen<cuda_planes_upload>::call;
    backend.download = chosen<cuda_planes_download>::call;
    backend.staging_wait = chosen<cuda_planes_staging_wait>::call;
    backend.tell_outcomes = chosen<cuda_planes_tell_outcomes>::call;
    backend.measure = chosen<cuda_planes_measure>::call;
    backend.tell_extremes = chosen<cuda_planes_tell_extremes>::call;
    backend.advance = chosen<cuda_routine_advance>::call;
    backend.begin_span = chosen<cuda_device_begin_span>::call;
    backend.end_span = chosen<cuda_device_end_span>::call;
    backend.sync = chosen<cuda_device_sync>::call;
    backend.copy = chosen<cuda_planes_copy>::call;
    backend.change = chosen<cuda_sums_change>::call;
    backend.tally = chosen<cuda_sums_tally>::call;
    backend.sum_rungs = cuda_sum_rungs;
    backend.settle_sums = chosen<cuda_sums_settle>::call;
    backend.add_by = cuda_sums_add_by;
    backend.tally_bytes = cuda_sums_tally_bytes;
    backend.change_bytes = cuda_sums_change_bytes;
    return backend;
}

extern "C" const struct backend backend_cuda = named_functions();
