/* An NVIDIA GPU as a device: its limits and speeds, its streams, its stopwatch, and the description of
 * launches.
 *
 * The stopwatch: begin_span and end_span record events in the stream of the kernels, two spans in turn.
 * Ending one waits for the one before it, so that at most one span of work is queued behind the host, which
 * meanwhile reads and writes files. */
#include "cuda_device.h"

#include "base/mem.h"

#include <algorithm>
#include <stdio.h>
#include <stdlib.h>

/* Forecasts, before wisdom has measurements: the start of a context, copies to the device and back, and
 * kernels. */
#define ASSUMED_START_SECONDS           0.25
#define ASSUMED_MOVING_BYTES_PER_SECOND 20e9
#define ASSUMED_MEMORY_BYTES_PER_SECOND 1e12
#define ASSUMED_TAPS_PER_SECOND         1e12

bool cuda_device_check(cudaError_t error, const struct device *device, const char *deed, struct fault *fault)
{
    if (error == cudaSuccess)
        return true;
    return fault_raise(fault, error == cudaErrorMemoryAllocation ? STATUS_LIMIT : STATUS_DEVICE,
                       "cuda:%d: %s: %s", device->index, deed, cudaGetErrorString(error));
}

bool cuda_device_choose(const struct device *device, struct fault *fault)
{
    return cuda_device_check(cudaSetDevice(device->index), device, "choosing it", fault);
}

unsigned cuda_device_count(void)
{
    int devices = 0;

    if (cudaGetDeviceCount(&devices) != cudaSuccess) {
        cudaGetLastError(); /* or the next launch would report it */
        return 0;
    }
    return static_cast<unsigned>(devices);
}

static int major_of(int version)
{
    return version / 1000;
}

static int minor_of(int version)
{
    return version % 1000 / 10;
}

/* Say why there is no GPU. CUDA reports a missing driver like an old one. */
static void explain_absence(cudaError_t error, char *text, size_t size)
{
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    int driver = 0, runtime = 0;
    bool known =
        cudaDriverGetVersion(&driver) == cudaSuccess && cudaRuntimeGetVersion(&runtime) == cudaSuccess;

    if (known && driver == 0)
        snprintf(text, size, "no NVIDIA driver is installed");
    else if (known && error == cudaErrorInsufficientDriver)
        snprintf(text, size,
                 "the NVIDIA driver is too old: it supports CUDA %d.%d, but this program was built with CUDA "
                 "%d.%d",
                 major_of(driver), minor_of(driver), major_of(runtime), minor_of(runtime));
    else if (error == cudaErrorNoDevice && visible != NULL)
        snprintf(text, size, "CUDA_VISIBLE_DEVICES is \"%s\", which leaves no GPU", visible);
    else if (error == cudaErrorNoDevice)
        snprintf(text, size, "the NVIDIA driver finds no GPU");
    else
        snprintf(text, size, "%s", cudaGetErrorString(error));
}

/* The toolkit's version is part of it: measurements with another toolkit say little. */
bool cuda_device_describe(int index, char *text, size_t size)
{
    cudaDeviceProp properties;
    int runtime = 0;
    cudaError_t error = cudaGetDeviceProperties(&properties, index);

    if (error == cudaSuccess)
        error = cudaRuntimeGetVersion(&runtime);
    if (error != cudaSuccess) {
        cudaGetLastError(); /* or the next launch would report it */
        explain_absence(error, text, size);
    } else {
        snprintf(text, size, "%s, compute capability %d.%d, %d multiprocessors, %.1f GiB, CUDA %d.%d",
                 properties.name, properties.major, properties.minor, properties.multiProcessorCount,
                 static_cast<double>(properties.totalGlobalMem) / (1024.0 * 1024.0 * 1024.0),
                 major_of(runtime), minor_of(runtime));
    }
    return error == cudaSuccess;
}

bool cuda_device_reaches(int index, int other)
{
    int can = 0;

    if (cudaDeviceCanAccessPeer(&can, index, other) != cudaSuccess)
        cudaGetLastError(); /* or the next launch would report it */
    return can != 0;
}

/* The first call that needs the device's context makes it, for all threads; before toolkit 12 choosing the
   device was not such a call. */
void cuda_device_warm_up(int index)
{
    if (cudaSetDevice(index) == cudaSuccess)
        cudaFree(NULL);
    cudaGetLastError();
}

struct forecast cuda_device_predict(const struct device_request *request, const struct op *op,
                                    const struct shape *shape, bool single)
{
    double sample = static_cast<double>(work_size(op->work));
    double operands = static_cast<double>(op->tap_count) * static_cast<double>(op->inner) + 1.0;
    double by_memory = ASSUMED_MEMORY_BYTES_PER_SECOND / (2.0 * sample);
    double by_taps = ASSUMED_TAPS_PER_SECOND / operands;
    struct forecast forecast;

    (void)request, (void)shape, (void)single;
    forecast.start = ASSUMED_START_SECONDS;
    forecast.moving = 1.0 / ASSUMED_MOVING_BYTES_PER_SECOND;
    forecast.updates = by_memory < by_taps ? by_memory : by_taps;
    forecast.changes = by_memory;
    return forecast;
}

static bool read_attribute(const struct device *device, cudaDeviceAttr attribute, double *number,
                           struct fault *fault)
{
    int value;

    if (!cuda_device_check(cudaDeviceGetAttribute(&value, attribute, device->index), device, "its properties",
                           fault))
        return false;
    *number = value;
    return true;
}

/* The peaks of the device: of its memory, with two transfers a clock, and of its lanes, with a multiply-add a
 * clock. */
static bool read_speeds(struct device *device, const cudaDeviceProp *properties, struct fault *fault)
{
    const int code = 10 * properties->major + properties->minor;
    const double lanes = code < 86 && code != 61 ? 64.0 : 128.0; /* of a multiprocessor, for f32 */
    double clock, memory_clock, bus_bits, ratio;

    if (!read_attribute(device, cudaDevAttrClockRate, &clock, fault) ||
        !read_attribute(device, cudaDevAttrMemoryClockRate, &memory_clock, fault) ||
        !read_attribute(device, cudaDevAttrGlobalMemoryBusWidth, &bus_bits, fault) ||
        !read_attribute(device, cudaDevAttrSingleToDoublePrecisionPerfRatio, &ratio, fault))
        return false;
    device->limits.bytes_per_second = 2.0 * 1e3 * memory_clock * bus_bits / 8.0;
    device->limits.operations_per_second[WORK_F32] =
        2.0 * 1e3 * clock * lanes * properties->multiProcessorCount;
    device->limits.operations_per_second[WORK_F64] = device->limits.operations_per_second[WORK_F32] / ratio;
    return true;
}

/* The limits that decide what can be launched, and the speeds. */
static bool read_limits(struct device *device, struct fault *fault)
{
    cudaDeviceProp properties;

    if (!cuda_device_check(cudaGetDeviceProperties(&properties, device->index), device, "its properties",
                           fault))
        return false;
    device->limits.multiprocessors = properties.multiProcessorCount;
    device->limits.threads_per_multiprocessor = properties.maxThreadsPerMultiProcessor;
    device->limits.blocks_per_multiprocessor = properties.maxBlocksPerMultiProcessor;
    device->limits.registers_per_multiprocessor = properties.regsPerMultiprocessor;
    device->limits.shared_per_block = properties.sharedMemPerBlockOptin;
    device->limits.shared_per_multiprocessor = properties.sharedMemPerMultiprocessor;
    return read_speeds(device, &properties, fault);
}

/* The runtime takes the compiled code that suits the device best, the same for all kernels: ask for any
 * one's. */
static __global__ void any_kernel()
{
}

static bool read_code(struct device *device, struct fault *fault)
{
    cudaFuncAttributes attributes;

    if (!cuda_device_check(cudaFuncGetAttributes(&attributes, reinterpret_cast<const void *>(&any_kernel)),
                           device, "its code", fault))
        return false;
    device->limits.code = attributes.ptxVersion;
    return true;
}

/* The device's free memory, or as much of it as a user allows. */
static bool read_memory(struct device *device, uint64_t most, struct fault *fault)
{
    size_t room, total;

    if (!cuda_device_check(cudaMemGetInfo(&room, &total), device, "its memory", fault))
        return false;
    device->memory = most != 0 && most < room ? most : room;
    return true;
}

bool cuda_device_create_stream(const struct device *device, cudaStream_t *stream, struct fault *fault)
{
    return cuda_device_check(cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking), device, "a stream",
                             fault);
}

static void destroy_stream(cudaStream_t stream)
{
    if (stream != NULL)
        cudaStreamDestroy(stream);
}

bool cuda_device_create_event(const struct device *device, cudaEvent_t *event, struct fault *fault)
{
    return cuda_device_check(cudaEventCreateWithFlags(event, cudaEventBlockingSync), device, "an event",
                             fault);
}

void cuda_device_destroy_event(cudaEvent_t event)
{
    if (event != NULL)
        cudaEventDestroy(event);
}

bool cuda_device_record(const struct device *device, cudaEvent_t event, cudaStream_t stream,
                        struct fault *fault)
{
    return cuda_device_check(cudaEventRecord(event, stream), device, "an event", fault);
}

bool cuda_device_create_span(const struct device *device, struct cuda_span *span, struct fault *fault)
{
    return cuda_device_create_event(device, &span->begun, fault) &&
           cuda_device_create_event(device, &span->ended, fault);
}

static bool create_spans(struct device *device, struct fault *fault)
{
    for (struct cuda_span &span : device->spans) {
        if (!cuda_device_create_span(device, &span, fault))
            return false;
    }
    return true;
}

void cuda_device_destroy_span(const struct cuda_span *span)
{
    cuda_device_destroy_event(span->begun);
    cuda_device_destroy_event(span->ended);
}

void cuda_device_close(struct device *device)
{
    if (device == NULL)
        return;
    /* CUDA takes NULL for memory, but not for events and streams. */
    cudaFree(device->tallied.samples);
    cudaFree(device->anchors.samples);
    cudaFree(device->outcomes);
    cudaFree(device->peaks);
    cudaFree(device->scratch.samples);
    cudaFree(device->results.samples);
    cudaFreeHost(device->host_results);
    for (const struct cuda_span &span : device->spans)
        cuda_device_destroy_span(&span);
    for (const struct cuda_span &span : device->handings)
        cuda_device_destroy_span(&span);
    destroy_stream(device->stream);
    destroy_stream(device->incoming);
    destroy_stream(device->outgoing);
    destroy_stream(device->tallies);
    destroy_stream(device->arriving);
    cuda_device_destroy_event(device->asked);
    mem_free(device);
}

/* The form that adds unless another one is chosen. */
static void add_by_default(struct device *device)
{
    const struct cuda_wish any = {};
    struct cuda_refusal refusal;

    cuda_reduction_settle(&any, &device->reduction, &refusal);
}

/* Counters that kernels add to, from zero. */
static bool create_count(struct device *device, void **count, size_t bytes, struct fault *fault)
{
    return cuda_device_check(cudaMalloc(count, bytes), device, "memory", fault) &&
           cuda_device_check(cudaMemsetAsync(*count, 0, bytes, device->stream), device, "a count", fault);
}

bool cuda_device_open(struct device **result, const struct device_request *request, struct fault *fault)
{
    struct device *device = static_cast<struct device *>(mem_zeroed(1, sizeof *device, "the device", fault));

    if (device == NULL)
        return false;
    device->index = request->index;
    add_by_default(device);
    /* Memory comes last: what is free then is free for fields. */
    if (cuda_device_check(cudaSetDevice(device->index), device, "starting it", fault) &&
        read_limits(device, fault) && read_code(device, fault) &&
        cuda_device_create_stream(device, &device->stream, fault) &&
        cuda_device_create_stream(device, &device->incoming, fault) &&
        cuda_device_create_stream(device, &device->outgoing, fault) &&
        cuda_device_create_stream(device, &device->tallies, fault) && create_spans(device, fault) &&
        create_count(device, reinterpret_cast<void **>(&device->outcomes), sizeof *device->outcomes, fault) &&
        create_count(device, reinterpret_cast<void **>(&device->peaks), sizeof *device->peaks, fault) &&
        read_memory(device, request->memory, fault)) {
        *result = device;
        return true;
    }
    cuda_device_close(device);
    return false;
}

uint64_t cuda_device_memory(const struct device *device)
{
    return device->memory;
}

bool cuda_device_tell_span(const struct device *device, struct cuda_span *span, const char *deed,
                           double *seconds, struct fault *fault)
{
    float milliseconds = 0.0f;

    if (!span->under_way)
        return true;
    span->under_way = false;
    if (!cuda_device_check(cudaEventSynchronize(span->ended), device, deed, fault) ||
        !cuda_device_check(cudaEventElapsedTime(&milliseconds, span->begun, span->ended), device, "an event",
                           fault))
        return false;
    *seconds += 1e-3 * static_cast<double>(milliseconds);
    return true;
}

static bool tell_span(struct device *device, unsigned turn, double *seconds, struct fault *fault)
{
    return cuda_device_tell_span(device, &device->spans[turn], "a kernel", seconds, fault);
}

bool cuda_device_begin_span(struct device *device, struct fault *fault)
{
    return cuda_device_record(device, device->spans[device->turn].begun, device->stream, fault);
}

bool cuda_device_end_span(struct device *device, double *seconds, struct fault *fault)
{
    struct cuda_span *span = &device->spans[device->turn];

    if (!cuda_device_record(device, span->ended, device->stream, fault))
        return false;
    span->under_way = true;
    device->turn ^= 1;
    return tell_span(device, device->turn, seconds, fault);
}

bool cuda_device_sync(struct device *device, double *seconds, struct fault *fault)
{
    return (device->arriving == NULL ||
            cuda_device_check(cudaStreamSynchronize(device->arriving), device, "a copy", fault)) &&
           cuda_device_check(cudaStreamSynchronize(device->stream), device, "a kernel", fault) &&
           tell_span(device, 0, seconds, fault) && tell_span(device, 1, seconds, fault);
}

/* ---- launches ---- */

/* More shared memory than this must be permitted. */
#define FREE_SHARED_BYTES ((size_t)48 << 10)

/* The resource that limits occupancy: the one that one more block would lack. Registers are allotted to warps
   in units of 256, and each block's shared memory has 1 KiB for the system. */
static const char *bound_of(const struct cuda_limits *limits, unsigned registers, unsigned threads,
                            size_t shared_bytes)
{
    const unsigned long long warps = (threads + 31) / 32, portions = (registers * 32 + 255) / 256;
    const unsigned long long by_registers = static_cast<unsigned>(limits->registers_per_multiprocessor) /
                                            256 / (portions * warps + (portions == 0 ? 1 : 0));
    const unsigned long long by_threads =
        static_cast<unsigned>(limits->threads_per_multiprocessor) / (32 * warps);
    const unsigned long long by_shared =
        shared_bytes == 0 ? ~0ull : limits->shared_per_multiprocessor / (shared_bytes + 1024);
    const unsigned long long by_blocks = static_cast<unsigned>(limits->blocks_per_multiprocessor);
    const unsigned long long least =
        std::min(std::min(by_registers, by_threads), std::min(by_shared, by_blocks));

    return least == by_threads     ? "threads"
           : least == by_shared    ? "shared memory"
           : least == by_registers ? "registers"
                                   : "blocks";
}

/* The side of the largest square of as many samples as the threads that the occupancy calculator suggests. */
static unsigned suggested_side(int threads)
{
    unsigned side = 1;

    while ((side + 1) * (side + 1) <= static_cast<unsigned>(threads))
        side++;
    return side;
}

bool cuda_device_allow(const struct device *device, const struct cuda_form *launch, struct fault *fault)
{
    return launch->shared_bytes <= FREE_SHARED_BYTES ||
           cuda_device_check(cudaFuncSetAttribute(launch->kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                                  static_cast<int>(launch->shared_bytes)),
                             device, "shared memory", fault);
}

bool cuda_device_describe_launch(const struct device *device, const struct cuda_form *launch,
                                 struct form *form, struct fault *fault)
{
    const int threads = static_cast<int>(launch->block.x * launch->block.y * launch->block.z);
    int blocks = 0, least_grid = 0, suggested = 0;
    cudaFuncAttributes attributes;

    if (!cuda_device_check(cudaFuncGetAttributes(&attributes, launch->kernel), device, "a kernel", fault))
        return false;
    if (!cuda_device_allow(device, launch, fault))
        return false;
    if (!cuda_device_check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, launch->kernel, threads,
                                                                         launch->shared_bytes),
                           device, "a kernel", fault) ||
        !cuda_device_check(
            cudaOccupancyMaxPotentialBlockSize(&least_grid, &suggested, launch->kernel, launch->shared_bytes),
            device, "a kernel", fault))
        return false;
    /* The launch, then what the compiler made of the kernel, then how it fills the device. */
    form->steps = static_cast<unsigned>(launch->steps);
    form->reach = static_cast<unsigned>(launch->reach);
    form->tile_x = static_cast<unsigned>(launch->tile_x);
    form->tile_y = static_cast<unsigned>(launch->tile_y);
    form->tile_z = static_cast<unsigned>(launch->tile_z);
    form->coarsen = static_cast<unsigned>(launch->coarsen);
    form->stride = static_cast<unsigned>(launch->stride);
    form->suggested_tile = suggested_side(suggested);
    form->grid[0] = launch->grid.x;
    form->grid[1] = launch->grid.y;
    form->grid[2] = launch->grid.z;
    form->block[0] = launch->block.x;
    form->block[1] = launch->block.y;
    form->block[2] = launch->block.z;
    form->registers = static_cast<unsigned>(attributes.numRegs);
    form->local_bytes = attributes.localSizeBytes;
    form->shared_bytes = launch->shared_bytes;
    form->blocks_per_multiprocessor = static_cast<unsigned>(blocks);
    form->bound =
        bound_of(&device->limits, form->registers, static_cast<unsigned>(threads), launch->shared_bytes);
    form->occupancy = static_cast<double>(blocks * threads) / device->limits.threads_per_multiprocessor;
    if (blocks > 0)
        form->waves = static_cast<double>(launch->grid.x) * launch->grid.y * launch->grid.z /
                      (static_cast<double>(blocks) * device->limits.multiprocessors);
    form->bytes_per_update = launch->bytes_per_update;
    form->operations_per_update = launch->operations_per_update;
    return true;
}
