/* An NVIDIA GPU as a device: its memory, its streams, and the ladder of kernels that it runs. */
#include "kernels/backend.h"

#include "base/mem.h"
#include "cuda_convert.h"
#include "cuda_field.h"
#include "cuda_ladder.h"
#include "cuda_platform.h"
#include "cuda_reduce.h"
#include "cuda_rung.h"
#include "cuda_sample.cuh"

#include <algorithm>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* From here on shared memory has to be asked for. */
#define FREE_SHARED_BYTES ((size_t)48 << 10)

/* Until wisdom knows better: a context start, copies to the card and back, and kernels at this share of its
   memory's speed. */
#define ASSUMED_START_SECONDS           0.35
#define ASSUMED_MOVING_BYTES_PER_SECOND 20e9
#define ASSUMED_MEMORY_BYTES_PER_SECOND 1e12
#define ASSUMED_TAPS_PER_SECOND         1e12

/* The share of its peak that a device reaches in chains of taps, and in what one filter serves for all: as
   measured, to weigh computing against moving. */
#define REACHED_BY_CHAINS 0.5
#define REACHED_BY_OTHERS 0.125

/* What a reduction may hold at once. */
#define SCRATCH_BYTES ((size_t)64 << 20)

/* Kernels between two events of the stream that they run in. */
struct span {
    cudaEvent_t begun, ended;
    bool under_way;
};

/* Device memory that is kept for the next time. */
struct store {
    void *samples;
    size_t bytes;
};

struct device {
    int index;
    cudaStream_t stream;             /* of all kernels that know fields */
    cudaStream_t incoming, outgoing; /* of planes on their way between the host's memory and the device's */
    cudaStream_t surveys;            /* of samples that are added up beside all that */
    struct span spans[2];            /* that take turns */
    unsigned turn;                   /* whose turn it is */
    struct cuda_limits limits;
    uint64_t memory;                       /* that fields may take */
    struct cuda_outcomes *outcomes, found; /* there, and here once they are told */
    struct cuda_peaks *peaks, found_peaks; /* likewise */
    struct cuda_reduction reduction;       /* how it adds */
    struct store surveyed, anchors;        /* planes of a file that are added up, and about what */
    struct store scratch, results;         /* of reductions */
    void *host_results;
    size_t host_result_bytes;
};

struct field {
    struct shape shape;
    enum work_type work;
    struct range planes;
    size_t pitch; /* samples */
    void *samples;
};

/* Page-locked samples, and the same on the device: copies go between the two while kernels run, which convert
   between the second and fields. */
struct cuda_staging : staging {
    void *packed;
    cudaEvent_t begun, done; /* of the copy */
    cudaEvent_t converted;   /* by the kernels that read or write `packed` */
    bool under_way;
};

/* What a form of the seam keeps for this backend. */
struct cuda_settled {
    const struct cuda_rung *rung;
    struct cuda_form form;
};

static_assert(sizeof(struct cuda_settled) <= sizeof(form::own), "a form has no room for a launch");
static_assert(sizeof(struct cuda_reduction) <= sizeof(form::own), "a form has no room for a reduction");

struct routine {
    struct cuda_settled settled;
    struct cuda_op on_device;
    void *taps, *outside;
};

static bool check(cudaError_t error, const struct device *device, const char *deed, struct fault *fault)
{
    if (error == cudaSuccess)
        return true;
    return fault_raise(fault, error == cudaErrorMemoryAllocation ? STATUS_LIMIT : STATUS_DEVICE,
                       "cuda:%d: %s: %s", device->index, deed, cudaGetErrorString(error));
}

/* Bytes that kernels are to find on the device. By the stream of those kernels, which a plain copy would not
   wait for, nor they for it; the caller may change the bytes afterwards. */
static bool put(const struct device *device, void **to, const void *from, size_t bytes, const char *what,
                struct fault *fault)
{
    return check(cudaMalloc(to, bytes), device, what, fault) &&
           check(cudaMemcpyAsync(*to, from, bytes, cudaMemcpyHostToDevice, device->stream), device, what,
                 fault) &&
           check(cudaStreamSynchronize(device->stream), device, what, fault);
}

/* ---- devices ---- */

static unsigned cuda_count(void)
{
    int devices = 0;

    return cudaGetDeviceCount(&devices) == cudaSuccess ? static_cast<unsigned>(devices) : 0;
}

static int major_of(int version)
{
    return version / 1000;
}

static int minor_of(int version)
{
    return version % 1000 / 10;
}

/* Why there is no GPU. CUDA tells of a missing driver as of an old one. */
static void explain_absence(cudaError_t error, char *text, size_t size)
{
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
    else if (error == cudaErrorNoDevice)
        snprintf(text, size, "the NVIDIA driver finds no GPU");
    else
        snprintf(text, size, "%s", cudaGetErrorString(error));
}

/* With the toolkit, since what was measured with another one says little. */
static void cuda_describe(int index, char *text, size_t size)
{
    cudaDeviceProp properties;
    int runtime = 0;
    cudaError_t error = cudaGetDeviceProperties(&properties, index);

    if (error == cudaSuccess)
        error = cudaRuntimeGetVersion(&runtime);
    if (error != cudaSuccess)
        explain_absence(error, text, size);
    else
        snprintf(text, size, "%s, compute capability %d.%d, %d multiprocessors, %.1f GiB, CUDA %d.%d",
                 properties.name, properties.major, properties.minor, properties.multiProcessorCount,
                 static_cast<double>(properties.totalGlobalMem) / (1024.0 * 1024.0 * 1024.0),
                 major_of(runtime), minor_of(runtime));
}

/* The first call that needs the device's context makes it, for all threads; before toolkit 12 choosing the
   device was not such a call. */
static void cuda_warm_up(int index)
{
    if (cudaSetDevice(index) == cudaSuccess)
        cudaFree(NULL);
}

static struct forecast cuda_predict(const struct device_request *request, const struct op *op,
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

    if (!check(cudaDeviceGetAttribute(&value, attribute, device->index), device, "its properties", fault))
        return false;
    *number = value;
    return true;
}

/* Lanes of a multiprocessor that compute in f32. */
static double lanes_of(const cudaDeviceProp *properties)
{
    const int code = 10 * properties->major + properties->minor;

    return code < 86 && code != 61 ? 64.0 : 128.0;
}

/* Its peaks: what it moves, with two transfers a clock, and what it computes, with a multiply-add a clock. */
static bool read_speeds(struct device *device, const cudaDeviceProp *properties, struct fault *fault)
{
    double clock, memory_clock, bus_bits, ratio;

    if (!read_attribute(device, cudaDevAttrClockRate, &clock, fault) ||
        !read_attribute(device, cudaDevAttrMemoryClockRate, &memory_clock, fault) ||
        !read_attribute(device, cudaDevAttrGlobalMemoryBusWidth, &bus_bits, fault) ||
        !read_attribute(device, cudaDevAttrSingleToDoublePrecisionPerfRatio, &ratio, fault))
        return false;
    device->limits.bytes_per_second = 2.0 * 1e3 * memory_clock * bus_bits / 8.0;
    device->limits.operations_per_second[WORK_F32] =
        2.0 * 1e3 * clock * lanes_of(properties) * properties->multiProcessorCount;
    device->limits.operations_per_second[WORK_F64] = device->limits.operations_per_second[WORK_F32] / ratio;
    return true;
}

static bool read_limits(struct device *device, struct fault *fault)
{
    cudaDeviceProp properties;

    if (!check(cudaGetDeviceProperties(&properties, device->index), device, "its properties", fault))
        return false;
    device->limits.multiprocessors = properties.multiProcessorCount;
    device->limits.threads_per_block = properties.maxThreadsPerBlock;
    device->limits.threads_per_multiprocessor = properties.maxThreadsPerMultiProcessor;
    device->limits.blocks_per_multiprocessor = properties.maxBlocksPerMultiProcessor;
    device->limits.registers_per_multiprocessor = properties.regsPerMultiprocessor;
    device->limits.shared_per_block = properties.sharedMemPerBlockOptin;
    device->limits.shared_per_multiprocessor = properties.sharedMemPerMultiprocessor;
    device->limits.l2_bytes = properties.l2CacheSize;
    return read_speeds(device, &properties, fault);
}

/* All kernels are compiled for the same; of what there is, the runtime takes what suits the device best. */
static __global__ void any_kernel()
{
}

static bool read_code(struct device *device, struct fault *fault)
{
    cudaFuncAttributes attributes;

    if (!check(cudaFuncGetAttributes(&attributes, reinterpret_cast<const void *>(&any_kernel)), device,
               "its code", fault))
        return false;
    device->limits.code = attributes.ptxVersion;
    return true;
}

static bool read_memory(struct device *device, uint64_t most, struct fault *fault)
{
    size_t room, total;

    if (!check(cudaMemGetInfo(&room, &total), device, "its memory", fault))
        return false;
    device->memory = most != 0 && most < room ? most : room;
    return true;
}

/* Of their own, since whatever else is asked of the device must not wait for it. */
static bool create_stream(const struct device *device, cudaStream_t *stream, struct fault *fault)
{
    return check(cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking), device, "a stream", fault);
}

static void destroy_stream(cudaStream_t stream)
{
    if (stream != NULL)
        cudaStreamDestroy(stream);
}

/* Whoever waits for it sleeps. */
static bool create_event(const struct device *device, cudaEvent_t *event, struct fault *fault)
{
    return check(cudaEventCreateWithFlags(event, cudaEventBlockingSync), device, "an event", fault);
}

static void destroy_event(cudaEvent_t event)
{
    if (event != NULL)
        cudaEventDestroy(event);
}

/* Wait for what ends with an event, and add the seconds since another one. */
static bool await_event(const struct device *device, cudaEvent_t begun, cudaEvent_t ended, const char *deed,
                        double *seconds, struct fault *fault)
{
    float milliseconds = 0.0f;

    if (!check(cudaEventSynchronize(ended), device, deed, fault) ||
        !check(cudaEventElapsedTime(&milliseconds, begun, ended), device, "an event", fault))
        return false;
    *seconds += 1e-3 * static_cast<double>(milliseconds);
    return true;
}

static bool create_spans(struct device *device, struct fault *fault)
{
    for (struct span &span : device->spans) {
        if (!create_event(device, &span.begun, fault) || !create_event(device, &span.ended, fault))
            return false;
    }
    return true;
}

static void cuda_close(struct device *device)
{
    if (device == NULL)
        return;
    cudaFree(device->surveyed.samples);
    cudaFree(device->anchors.samples);
    cudaFree(device->outcomes);
    cudaFree(device->peaks);
    cudaFree(device->scratch.samples);
    cudaFree(device->results.samples);
    cudaFreeHost(device->host_results);
    for (const struct span &span : device->spans) {
        destroy_event(span.begun);
        destroy_event(span.ended);
    }
    destroy_stream(device->stream);
    destroy_stream(device->incoming);
    destroy_stream(device->outgoing);
    destroy_stream(device->surveys);
    mem_free(device);
}

/* A wish as rungs read it. */
static struct cuda_wish wish_for_rungs(const struct rung_wish *wish)
{
    return {wish->rung,
            static_cast<int>(wish->tile_x),
            static_cast<int>(wish->tile_y),
            static_cast<int>(wish->coarsen),
            static_cast<int>(wish->stride),
            static_cast<int>(wish->steps)};
}

/* How the device adds unless it is told. */
static void add_by_default(struct device *device)
{
    const struct cuda_wish any = {};
    char refusal[160];

    cuda_reduction_settle(&any, &device->reduction, refusal, sizeof refusal);
}

/* What kernels count, from nothing. */
static bool create_count(struct device *device, void **count, size_t bytes, struct fault *fault)
{
    return check(cudaMalloc(count, bytes), device, "memory", fault) &&
           check(cudaMemsetAsync(*count, 0, bytes, device->stream), device, "a count", fault);
}

/* And begin anew. */
static bool take_count(struct device *device, void *count, void *found, size_t bytes, struct fault *fault)
{
    return check(cudaMemcpyAsync(found, count, bytes, cudaMemcpyDeviceToHost, device->stream), device,
                 "a count", fault) &&
           check(cudaMemsetAsync(count, 0, bytes, device->stream), device, "a count", fault) &&
           check(cudaStreamSynchronize(device->stream), device, "a count", fault);
}

static bool create_counts(struct device *device, struct fault *fault)
{
    return create_count(device, reinterpret_cast<void **>(&device->outcomes), sizeof *device->outcomes,
                        fault) &&
           create_count(device, reinterpret_cast<void **>(&device->peaks), sizeof *device->peaks, fault);
}

static bool cuda_open(struct device **result, const struct device_request *request, struct fault *fault)
{
    struct device *device = static_cast<struct device *>(mem_zeroed(1, sizeof *device, "the device", fault));

    if (device == NULL)
        return false;
    device->index = request->index;
    add_by_default(device);
    if (check(cudaSetDevice(device->index), device, "starting it", fault) && read_limits(device, fault) &&
        read_code(device, fault) && create_stream(device, &device->stream, fault) &&
        create_stream(device, &device->incoming, fault) && create_stream(device, &device->outgoing, fault) &&
        create_stream(device, &device->surveys, fault) && create_spans(device, fault) &&
        create_counts(device, fault) && read_memory(device, request->memory, fault)) {
        *result = device;
        return true;
    }
    cuda_close(device);
    return false;
}

static uint64_t cuda_memory(const struct device *device)
{
    return device->memory;
}

/* ---- fields ---- */

static size_t pitch_of(const struct shape *shape, enum work_type work)
{
    size_t unit = CUDA_ROW_ALIGNMENT / work_size(work);

    return (shape->nx + unit - 1) / unit * unit;
}

static size_t cuda_field_bytes(const struct shape *shape, enum work_type work, size_t planes)
{
    return planes * shape->channels * shape->rows * pitch_of(shape, work) * work_size(work);
}

static void cuda_field_destroy(struct device *device, struct field *field)
{
    (void)device;
    if (field == NULL)
        return;
    cudaFree(field->samples);
    mem_free(field);
}

/* Threads that move 16 bytes read what stands between a row's end and the next row, too, and use it for
 * nothing. */
static bool clear_padding(struct device *device, const struct field *field, struct fault *fault)
{
    const size_t word = work_size(field->work), padding = field->pitch - field->shape.nx;
    const size_t rows = field->planes.count * field->shape.channels * field->shape.rows;
    char *first = static_cast<char *>(field->samples) + field->shape.nx * word;

    return padding == 0 ||
           check(cudaMemset2DAsync(first, field->pitch * word, 0, padding * word, rows, device->stream),
                 device, "a field", fault);
}

static bool cuda_field_create(struct device *device, struct field **result, const struct shape *shape,
                              enum work_type work, struct range planes, struct fault *fault)
{
    struct field *field = static_cast<struct field *>(mem_zeroed(1, sizeof *field, "a field", fault));

    if (field == NULL)
        return false;
    field->shape = *shape;
    field->work = work;
    field->planes = planes;
    field->pitch = pitch_of(shape, work);
    if (!check(cudaMalloc(&field->samples, cuda_field_bytes(shape, work, planes.count)), device, "a field",
               fault) ||
        !clear_padding(device, field, fault)) {
        cuda_field_destroy(device, field);
        return false;
    }
    *result = field;
    return true;
}

/* What stays is copied in pieces as long as the way it goes, so that no piece overlaps itself. */
static bool cuda_field_slide(struct device *device, struct field *field, size_t first, struct range keep,
                             struct fault *fault)
{
    const size_t plane = cuda_field_bytes(&field->shape, field->work, 1);
    const size_t gap = (first - field->planes.first) * plane, bytes = keep.count * plane;
    char *to = static_cast<char *>(field->samples) + (keep.first - first) * plane;

    for (size_t done = 0; done < bytes && gap > 0; done += gap) {
        const size_t piece = bytes - done < gap ? bytes - done : gap;
        if (!check(
                cudaMemcpyAsync(to + done, to + done + gap, piece, cudaMemcpyDeviceToDevice, device->stream),
                device, "a copy", fault))
            return false;
    }
    field->planes.first = first;
    return true;
}

template <typename T> static cuda_view<T> view_of(const struct field *field)
{
    cuda_view<T> view;

    view.samples = static_cast<T *>(field->samples);
    view.pitch = static_cast<long long>(field->pitch);
    view.nx = static_cast<int>(field->shape.nx);
    view.rows = static_cast<int>(field->shape.rows);
    view.channels = static_cast<int>(field->shape.channels);
    view.planes = static_cast<long long>(field->shape.planes);
    view.first = static_cast<long long>(field->planes.first);
    view.count = static_cast<long long>(field->planes.count);
    return view;
}

/* After a fault copies may still be under way. */
static void cuda_staging_destroy(struct device *device, struct staging *staging)
{
    struct cuda_staging *destroyed = static_cast<struct cuda_staging *>(staging);

    if (destroyed == NULL)
        return;
    cudaStreamSynchronize(device->incoming);
    cudaStreamSynchronize(device->outgoing);
    cudaStreamSynchronize(device->stream);
    cudaFreeHost(destroyed->samples);
    cudaFree(destroyed->packed);
    destroy_event(destroyed->begun);
    destroy_event(destroyed->done);
    destroy_event(destroyed->converted);
    mem_free(destroyed);
}

static struct staging *cuda_staging_create(struct device *device, size_t bytes, struct fault *fault)
{
    struct cuda_staging *created =
        static_cast<struct cuda_staging *>(mem_zeroed(1, sizeof *created, "a batch", fault));

    if (created == NULL)
        return NULL;
    if (check(cudaMallocHost(&created->samples, bytes), device, "page-locked memory", fault) &&
        check(cudaMalloc(&created->packed, bytes), device, "a batch", fault) &&
        create_event(device, &created->begun, fault) && create_event(device, &created->done, fault) &&
        create_event(device, &created->converted, fault))
        return created;
    cuda_staging_destroy(device, created);
    return NULL;
}

/* Threads other than the one that opened the device have not chosen it yet. */
static bool cuda_staging_wait(struct device *device, struct staging *staging, double *seconds,
                              struct fault *fault)
{
    struct cuda_staging *moved = static_cast<struct cuda_staging *>(staging);

    if (!moved->under_way)
        return true;
    moved->under_way = false;
    return check(cudaSetDevice(device->index), device, "a thread", fault) &&
           await_event(device, moved->begun, moved->done, "a copy", seconds, fault);
}

static size_t packed_bytes(const struct shape *shape, const struct encoding *encoding, size_t planes)
{
    return planes * shape->rows * shape->nx * encoding->channels * sample_size(encoding->type);
}

/* One way or the other, between its two sides. */
static bool copy_staging(struct device *device, struct cuda_staging *staging, size_t bytes,
                         cudaMemcpyKind way, struct fault *fault)
{
    const bool comes = way == cudaMemcpyHostToDevice;
    const cudaStream_t stream = comes ? device->incoming : device->outgoing;
    void *to = comes ? staging->packed : staging->samples;
    const void *from = comes ? staging->samples : staging->packed;

    staging->under_way = check(cudaStreamWaitEvent(stream, staging->converted, 0), device, "a copy", fault) &&
                         check(cudaEventRecord(staging->begun, stream), device, "an event", fault) &&
                         check(cudaMemcpyAsync(to, from, bytes, way, stream), device, "a copy", fault) &&
                         check(cudaEventRecord(staging->done, stream), device, "an event", fault);
    return staging->under_way;
}

static bool note_converted(struct device *device, struct cuda_staging *staging, struct fault *fault)
{
    return check(cudaEventRecord(staging->converted, device->stream), device, "an event", fault);
}

static cudaError_t load_packed(struct device *device, struct field *field, const struct encoding *encoding,
                               const void *packed, struct range planes, struct range counted)
{
    if (field->work == WORK_F32)
        return cuda_load_planes(encoding, packed, view_of<float>(field), planes, counted, device->outcomes,
                                device->stream);
    return cuda_load_planes(encoding, packed, view_of<double>(field), planes, counted, device->outcomes,
                            device->stream);
}

static cudaError_t store_packed(struct device *device, const struct field *field,
                                const struct encoding *encoding, void *packed, struct range planes)
{
    if (field->work == WORK_F32)
        return cuda_store_planes(encoding, view_of<float>(field), packed, planes, device->outcomes,
                                 device->stream);
    return cuda_store_planes(encoding, view_of<double>(field), packed, planes, device->outcomes,
                             device->stream);
}

static bool cuda_upload(struct device *device, struct field *field, const struct encoding *encoding,
                        struct staging *staging, struct range planes, struct range counted,
                        struct fault *fault)
{
    struct cuda_staging *from = static_cast<struct cuda_staging *>(staging);

    return copy_staging(device, from, packed_bytes(&field->shape, encoding, planes.count),
                        cudaMemcpyHostToDevice, fault) &&
           check(cudaStreamWaitEvent(device->stream, from->done, 0), device, "conversion", fault) &&
           check(load_packed(device, field, encoding, from->packed, planes, counted), device, "conversion",
                 fault) &&
           note_converted(device, from, fault);
}

static bool cuda_download(struct device *device, const struct field *field, const struct encoding *encoding,
                          struct staging *staging, struct range planes, struct fault *fault)
{
    struct cuda_staging *to = static_cast<struct cuda_staging *>(staging);

    return check(store_packed(device, field, encoding, to->packed, planes), device, "conversion", fault) &&
           note_converted(device, to, fault) &&
           copy_staging(device, to, packed_bytes(&field->shape, encoding, planes.count),
                        cudaMemcpyDeviceToHost, fault);
}

static bool cuda_tell_outcomes(struct device *device, struct outcomes *outcomes, struct fault *fault)
{
    if (!take_count(device, device->outcomes, &device->found, sizeof device->found, fault))
        return false;
    outcomes->strays += device->found.strays;
    outcomes->nans += device->found.nans;
    outcomes->below += device->found.below;
    outcomes->above += device->found.above;
    return true;
}

static cudaError_t measure_field(struct device *device, const struct field *field,
                                 const struct encoding *encoding, struct range planes)
{
    if (field->work == WORK_F32)
        return cuda_measure_planes(encoding, view_of<float>(field), planes, device->peaks, device->stream);
    return cuda_measure_planes(encoding, view_of<double>(field), planes, device->peaks, device->stream);
}

static bool cuda_measure(struct device *device, const struct field *field, const struct encoding *encoding,
                         struct range planes, struct fault *fault)
{
    return check(measure_field(device, field, encoding, planes), device, "extremes", fault);
}

static bool cuda_tell_extremes(struct device *device, struct extremes *extremes, struct fault *fault)
{
    const struct cuda_peaks *found = &device->found_peaks;

    if (!take_count(device, device->peaks, &device->found_peaks, sizeof device->found_peaks, fault))
        return false;
    *extremes = {};
    extremes->any = found->greatest != 0;
    if (extremes->any) {
        extremes->least = arith_ranked_f64(~found->least);
        extremes->greatest = arith_ranked_f64(found->greatest);
    }
    return true;
}

/* ---- routines ---- */

template <typename T>
static bool put_taps(const struct device *device, struct routine *routine, struct fault *fault)
{
    const struct op *op = routine->on_device.op;
    size_t bytes = (op->tap_count + 1) * sizeof(cuda_tap<T>);
    cuda_tap<T> *taps = static_cast<cuda_tap<T> *>(mem_zeroed(bytes, 1, "the taps", fault));
    bool done;

    if (taps == NULL)
        return false;
    for (size_t i = 0; i < op->tap_count; i++) {
        taps[i].dx = op->taps[i].dx;
        taps[i].drow = op->taps[i].drow;
        taps[i].dplane = op->taps[i].dplane;
        taps[i].weight = static_cast<T>(op->taps[i].weight);
    }
    done = put(device, &routine->taps, taps, bytes, "the taps", fault);
    mem_free(taps);
    return done;
}

template <typename T>
static bool put_outside(const struct device *device, struct routine *routine, unsigned channels,
                        struct fault *fault)
{
    size_t bytes = channels * sizeof(T);
    T *outside;
    bool done;

    const double *values = routine->on_device.op->outside;

    if (values == NULL)
        return true;
    outside = static_cast<T *>(mem_alloc(bytes, 1, "the edge", fault));
    if (outside == NULL)
        return false;
    for (unsigned channel = 0; channel < channels; channel++)
        outside[channel] = static_cast<T>(values[channel]);
    done = put(device, &routine->outside, outside, bytes, "the edge", fault);
    mem_free(outside);
    return done;
}

static bool put_operands(const struct device *device, struct routine *routine, const struct form *form,
                         struct fault *fault)
{
    bool done;

    routine->on_device.op = form->op;
    done = form->op->work == WORK_F32 ? put_taps<float>(device, routine, fault) &&
                                            put_outside<float>(device, routine, form->shape.channels, fault)
                                      : put_taps<double>(device, routine, fault) &&
                                            put_outside<double>(device, routine, form->shape.channels, fault);
    routine->on_device.taps = routine->taps;
    routine->on_device.outside = routine->outside;
    return done;
}

/* Whether the rung serves the op in the form that is wished for, which is filled in then. */
static bool serves(const struct device *device, const struct cuda_rung *rung, const struct op *op,
                   const struct shape *shape, const struct cuda_wish *wish, struct cuda_form *form,
                   char *reason, size_t size)
{
    if (wish->tile_x > 0 && !rung->tiles)
        return cuda_refuse(reason, size, "it has no tile to choose");
    if (wish->coarsen > 0 && !rung->coarsens)
        return cuda_refuse(reason, size, "it is not coarsened");
    if (op_mixes_channels(op) && !rung->mixes)
        return cuda_refuse(reason, size,
                           "a thread holds one channel of a pixel, but this step needs several");
    *form = cuda_form();
    if (!rung->shape(&device->limits, op, shape, wish, form, reason, size))
        return false;
    if (wish->stride > 0 && form->stride != wish->stride)
        return cuda_refuse(reason, size, "what a thread computes lies %d apart", form->stride);
    return true;
}

/* Whether a place of the ladder is to be tried for such an op, shape and wish. */
static bool is_candidate(const struct cuda_ladder_place *place, const struct op *op,
                         const struct shape *shape, const struct rung_wish *wish)
{
    const enum cuda_grids grid = shape->rows == 1 ? CUDA_PICTURES : CUDA_VOLUMES;
    const enum cuda_ops ops = cuda_is_chain(op) ? CUDA_CHAINS : CUDA_OTHERS;

    if ((place->grids & grid) == 0 || (place->ops & ops) == 0 || (place->single && wish->steps != 1))
        return false;
    return wish->rung == NULL || strcmp(wish->rung, place->rung->rung.name) == 0;
}

static bool is_on_ladder(const char *name)
{
    for (const struct rung *rung = cuda_rungs; rung->name != NULL; rung++) {
        if (strcmp(rung->name, name) == 0)
            return true;
    }
    return false;
}

static bool refuse_wish(const struct rung_wish *wish, const char *refusal, struct fault *fault)
{
    if (wish->rung == NULL)
        return fault_raise(fault, STATUS_USAGE, "--rung: none applies: %s", refusal);
    if (!is_on_ladder(wish->rung))
        return fault_raise(fault, STATUS_USAGE, "--rung: %s: the GPU has no such rung (--list names them)",
                           wish->rung);
    return fault_raise(fault, STATUS_USAGE, "--rung: %s: %s", wish->rung, refusal);
}

static const char *reason_for(const struct rung_wish *wish)
{
    return wish->reason != NULL ? wish->reason
           : wish->rung != NULL ? "asked for"
                                : "the first of the ladder that applies";
}

/* The next place, from one on, whose rung serves the op as it is wished for; the end of the ladder where none
   does. */
static const struct cuda_ladder_place *find_place(const struct device *device,
                                                  const struct cuda_ladder_place *place, const struct op *op,
                                                  const struct shape *shape, const struct rung_wish *wish,
                                                  struct cuda_form *form, char *refusal, size_t size)
{
    const struct cuda_wish wished = wish_for_rungs(wish);

    while (place->rung != NULL && (!is_candidate(place, op, shape, wish) ||
                                   !serves(device, place->rung, op, shape, &wished, form, refusal, size)))
        place++;
    return place;
}

/* Seconds that the whole device spends on an update: those of moving or those of computing. */
static double seconds_per_update(const struct cuda_limits *limits, const struct op *op,
                                 const struct cuda_form *form)
{
    const double reached = cuda_is_chain(op) ? REACHED_BY_CHAINS : REACHED_BY_OTHERS;
    const double moving = form->bytes_per_update / limits->bytes_per_second;
    const double computing =
        form->operations_per_update / (reached * limits->operations_per_second[op->work]);

    return std::max(moving, computing);
}

/* Several steps a pass compute some samples more than once. Where computing takes longer than moving, the
   first rung that takes a single step is faster. */
static void prefer_single(const struct device *device, const struct cuda_ladder_place *place,
                          const struct op *op, const struct shape *shape, const struct rung_wish *wish,
                          struct cuda_settled *settled, char *reason, size_t size)
{
    const double fused = seconds_per_update(&device->limits, op, &settled->form);
    struct rung_wish single_wish = *wish;
    struct cuda_form form;
    char refusal[160];

    single_wish.steps = 1;
    place = find_place(device, place, op, shape, &single_wish, &form, refusal, sizeof refusal);
    if (place->rung == NULL || seconds_per_update(&device->limits, op, &form) >= fused)
        return;
    snprintf(reason, size, "computing takes longer than moving: %d steps a pass would compute more",
             settled->form.steps);
    *settled = {place->rung, form};
}

/* The first rung of the ladder that serves the op as it is wished for, and why. */
static bool choose_rung(const struct device *device, const struct op *op, const struct shape *shape,
                        const struct rung_wish *wish, struct cuda_settled *settled, char *reason, size_t size,
                        struct fault *fault)
{
    const struct cuda_ladder_place *place;
    char refusal[160];

    snprintf(refusal, sizeof refusal, "it is for %s", shape->rows == 1 ? "volumes" : "pictures");
    place = find_place(device, cuda_ladder, op, shape, wish, &settled->form, refusal, sizeof refusal);
    if (place->rung == NULL)
        return refuse_wish(wish, refusal, fault);
    settled->rung = place->rung;
    snprintf(reason, size, "%s", reason_for(wish));
    if (settled->form.steps > 1 && wish->rung == NULL)
        prefer_single(device, place + 1, op, shape, wish, settled, reason, size);
    return true;
}

/* Whether the rung heeds a wish for a stride. */
static bool takes_stride(const struct device *device, const struct cuda_rung *rung, const struct op *op,
                         const struct shape *shape)
{
    struct cuda_wish wish = {};
    struct cuda_form form;
    char refusal[160];

    wish.coarsen = wish.stride = 2;
    return serves(device, rung, op, shape, &wish, &form, refusal, sizeof refusal);
}

/* The resource that a block more would lack; registers are given out to warps in portions of 256. */
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

/* What is settled, and what the runtime knows of its kernel. */
static bool describe_launch(const struct device *device, const struct cuda_form *launch, struct form *form,
                            struct fault *fault)
{
    const int threads = static_cast<int>(launch->block.x * launch->block.y * launch->block.z);
    int blocks = 0, least_grid = 0, suggested = 0;
    cudaFuncAttributes attributes;

    if (!check(cudaFuncGetAttributes(&attributes, launch->kernel), device, "a kernel", fault))
        return false;
    if (launch->shared_bytes > FREE_SHARED_BYTES &&
        !check(cudaFuncSetAttribute(launch->kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                    static_cast<int>(launch->shared_bytes)),
               device, "shared memory", fault))
        return false;
    if (!check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, launch->kernel, threads,
                                                             launch->shared_bytes),
               device, "a kernel", fault) ||
        !check(
            cudaOccupancyMaxPotentialBlockSize(&least_grid, &suggested, launch->kernel, launch->shared_bytes),
            device, "a kernel", fault))
        return false;
    form->steps = static_cast<unsigned>(launch->steps > 0 ? launch->steps : 1);
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

static void cuda_release(struct device *device, struct routine *routine)
{
    (void)device;
    if (routine == NULL)
        return;
    cudaFree(routine->taps);
    cudaFree(routine->outside);
    mem_free(routine);
}

/* Squares of all sizes that a block may have. */
static void offer_tiles(struct form *form)
{
    static const unsigned sides[ROUTINE_TILES] = {8, 12, 14, 16, 25, 32};

    for (size_t i = 0; i < ROUTINE_TILES; i++)
        form->offers[i] = {sides[i], sides[i]};
}

/* What put_operands puts there. */
static size_t operand_bytes(const struct op *op, const struct shape *shape)
{
    const size_t taps =
        (op->tap_count + 1) * (op->work == WORK_F32 ? sizeof(cuda_tap<float>) : sizeof(cuda_tap<double>));

    return taps + (op->edge == EDGE_CONSTANT ? shape->channels * work_size(op->work) : 0);
}

static bool cuda_settle(const struct device *device, const struct op *op, const struct shape *shape,
                        const struct rung_wish *wish, struct form *form, struct fault *fault)
{
    struct cuda_settled settled;

    *form = {};
    form->op = op;
    form->shape = *shape;
    if (!choose_rung(device, op, shape, wish, &settled, form->reason, sizeof form->reason, fault) ||
        !describe_launch(device, &settled.form, form, fault))
        return false;
    form->rung = &settled.rung->rung;
    form->tiles = settled.rung->tiles;
    if (form->tiles)
        offer_tiles(form);
    form->coarsens = settled.rung->coarsens;
    form->strides = form->coarsens && takes_stride(device, settled.rung, op, shape);
    form->memory_bytes = operand_bytes(op, shape);
    memcpy(form->own, &settled, sizeof settled);
    return true;
}

static bool cuda_prepare(struct device *device, const struct form *form, struct routine **result,
                         struct fault *fault)
{
    struct routine *routine =
        static_cast<struct routine *>(mem_zeroed(1, sizeof *routine, "a routine", fault));

    if (routine == NULL)
        return false;
    memcpy(&routine->settled, form->own, sizeof routine->settled);
    if (!put_operands(device, routine, form, fault)) {
        cuda_release(device, routine);
        return false;
    }
    *result = routine;
    return true;
}

template <typename T>
static cudaError_t launch(struct device *device, const struct routine *routine, unsigned steps,
                          const struct field *from, const struct field *kept, const struct field *to,
                          struct range planes)
{
    cuda_view<T> source = view_of<T>(from), target = view_of<T>(to),
                 input = view_of<T>(kept != NULL ? kept : from);
    struct cuda_job job = {&device->limits, &routine->on_device,          &routine->settled.form,
                           &source,         kept != NULL ? &input : NULL, &target,
                           planes,          static_cast<int>(steps),      device->stream};

    return routine->settled.rung->launch(&job);
}

/* Channels that the op leaves alone, over whatever the kernel made of them. */
static bool keep_channels(struct device *device, const struct op *op, const struct field *from,
                          struct field *to, struct range planes, struct fault *fault)
{
    const size_t channel = from->shape.rows * from->pitch * work_size(from->work);
    const size_t plane = from->shape.channels * channel;
    const size_t kept = (from->shape.channels - op->channels) * channel, before = op->channels * channel;
    const char *source =
        static_cast<const char *>(from->samples) + (planes.first - from->planes.first) * plane + before;
    char *target = static_cast<char *>(to->samples) + (planes.first - to->planes.first) * plane + before;

    return kept == 0 || check(cudaMemcpy2DAsync(target, plane, source, plane, kept, planes.count,
                                                cudaMemcpyDeviceToDevice, device->stream),
                              device, "a copy", fault);
}

static bool cuda_advance(struct device *device, struct routine *routine, unsigned steps,
                         const struct field *from, const struct field *kept, struct field *to,
                         struct range planes, struct fault *fault)
{
    cudaError_t error = from->work == WORK_F32
                            ? launch<float>(device, routine, steps, from, kept, to, planes)
                            : launch<double>(device, routine, steps, from, kept, to, planes);

    return check(error, device, routine->settled.rung->rung.name, fault) &&
           keep_channels(device, routine->on_device.op, from, to, planes, fault);
}

/* ---- measures ---- */

static bool tell_span(struct device *device, struct span *span, double *seconds, struct fault *fault)
{
    if (!span->under_way)
        return true;
    span->under_way = false;
    return await_event(device, span->begun, span->ended, "a kernel", seconds, fault);
}

static bool cuda_begin_span(struct device *device, struct fault *fault)
{
    return check(cudaEventRecord(device->spans[device->turn].begun, device->stream), device, "an event",
                 fault);
}

static bool cuda_end_span(struct device *device, double *seconds, struct fault *fault)
{
    struct span *span = &device->spans[device->turn];

    if (!check(cudaEventRecord(span->ended, device->stream), device, "an event", fault))
        return false;
    span->under_way = true;
    device->turn ^= 1;
    return tell_span(device, &device->spans[device->turn], seconds, fault);
}

static bool cuda_sync(struct device *device, double *seconds, struct fault *fault)
{
    return check(cudaStreamSynchronize(device->stream), device, "a kernel", fault) &&
           tell_span(device, &device->spans[0], seconds, fault) &&
           tell_span(device, &device->spans[1], seconds, fault);
}

static bool cuda_copy(struct device *device, const struct field *from, struct field *to, struct fault *fault)
{
    size_t bytes = cuda_field_bytes(&from->shape, from->work, from->planes.count);

    return check(cudaMemcpyAsync(to->samples, from->samples, bytes, cudaMemcpyDeviceToDevice, device->stream),
                 device, "a copy", fault);
}

/* ---- sums ---- */

/* Room for so many bytes. What was there is lost where it has to grow. */
static bool reserve(const struct device *device, struct store *store, size_t bytes, const char *what,
                    struct fault *fault)
{
    if (bytes <= store->bytes)
        return true;
    cudaFree(store->samples);
    *store = {NULL, 0};
    if (!check(cudaMalloc(&store->samples, bytes), device, what, fault))
        return false;
    store->bytes = bytes;
    return true;
}

/* For what a reduction gives of each plane, there and here. It is cleared since kernels do not write the gaps
   between members, which are copied, too. */
static bool reserve_results(struct device *device, size_t bytes, cudaStream_t stream, struct fault *fault)
{
    if (bytes <= device->host_result_bytes)
        return true;
    cudaFreeHost(device->host_results);
    device->host_results = NULL;
    device->host_result_bytes = 0;
    if (!reserve(device, &device->results, bytes, "sums", fault) ||
        !check(cudaMemsetAsync(device->results.samples, 0, bytes, stream), device, "sums", fault) ||
        !check(cudaMallocHost(&device->host_results, bytes), device, "sums", fault))
        return false;
    device->host_result_bytes = bytes;
    return true;
}

static bool reserve_scratch(struct device *device, size_t bytes, size_t result_bytes, cudaStream_t stream,
                            struct fault *fault)
{
    return reserve(device, &device->scratch, bytes, "sums", fault) &&
           reserve_results(device, result_bytes, stream, fault);
}

static bool fetch_results(struct device *device, size_t bytes, cudaStream_t stream, struct fault *fault)
{
    return check(cudaMemcpyAsync(device->host_results, device->results.samples, bytes, cudaMemcpyDeviceToHost,
                                 stream),
                 device, "sums", fault) &&
           check(cudaStreamSynchronize(stream), device, "sums", fault);
}

/* Planes that one reduction takes, so that its memory stays small. */
static size_t planes_together(size_t bytes_a_plane, size_t planes)
{
    size_t together = bytes_a_plane >= SCRATCH_BYTES ? 1 : SCRATCH_BYTES / bytes_a_plane;

    return together < planes ? together : planes;
}

static bool add_changes(struct device *device, const struct field *a, const struct field *b,
                        unsigned channels, struct range planes, double *sums, struct fault *fault)
{
    size_t results = planes.count * channels;
    int count = static_cast<int>(channels);
    double *changes;
    cudaError_t error;

    if (!reserve_scratch(device, cuda_change_scratch(&a->shape, planes.count), results * sizeof *changes,
                         device->stream, fault))
        return false;
    changes = static_cast<double *>(device->results.samples);
    error = a->work == WORK_F32
                ? cuda_change(&device->reduction, view_of<float>(a), view_of<float>(b), count, planes,
                              device->scratch.samples, changes, device->stream)
                : cuda_change(&device->reduction, view_of<double>(a), view_of<double>(b), count, planes,
                              device->scratch.samples, changes, device->stream);
    if (!check(error, device, "sums", fault) ||
        !fetch_results(device, results * sizeof *changes, device->stream, fault))
        return false;
    memcpy(sums, device->host_results, results * sizeof *sums);
    return true;
}

static bool cuda_change_of(struct device *device, const struct field *a, const struct field *b,
                           unsigned channels, struct range planes, double *sums, struct fault *fault)
{
    size_t together = planes_together(cuda_change_scratch(&a->shape, 1), planes.count);

    for (size_t done = 0; done < planes.count; done += together) {
        struct range part = {planes.first + done,
                             planes.count - done < together ? planes.count - done : together};
        if (!add_changes(device, a, b, channels, part, sums + done * channels, fault))
            return false;
    }
    return true;
}

static bool put_anchors(struct device *device, const double *anchors, size_t bytes, struct fault *fault)
{
    return reserve(device, &device->anchors, bytes, "anchors", fault) &&
           check(cudaMemcpyAsync(device->anchors.samples, anchors, bytes, cudaMemcpyHostToDevice,
                                 device->surveys),
                 device, "anchors", fault) &&
           check(cudaStreamSynchronize(device->surveys), device, "anchors", fault);
}

/* Each channel of each plane has its own. */
static bool set_anchors(struct device *device, const struct encoding *encoding, const struct shape *shape,
                        const void *samples, size_t planes, struct fault *fault)
{
    const size_t count = planes * encoding->channels, plane_bytes = packed_bytes(shape, encoding, 1);
    double *anchors = static_cast<double *>(mem_alloc(count, sizeof *anchors, "anchors", fault));
    bool done;

    if (anchors == NULL)
        return false;
    for (size_t i = 0; i < count; i++)
        anchors[i] =
            tally_anchor(encoding, static_cast<unsigned>(i % encoding->channels),
                         static_cast<const unsigned char *>(samples) + i / encoding->channels * plane_bytes,
                         shape->nx * shape->rows);
    done = put_anchors(device, anchors, count * sizeof *anchors, fault);
    mem_free(anchors);
    return done;
}

static bool send_surveyed(struct device *device, const void *samples, size_t bytes, struct fault *fault)
{
    return reserve(device, &device->surveyed, bytes, "statistics", fault) &&
           check(cudaMemcpyAsync(device->surveyed.samples, samples, bytes, cudaMemcpyHostToDevice,
                                 device->surveys),
                 device, "statistics", fault);
}

static bool cuda_survey_of(struct device *device, const struct encoding *encoding, const struct shape *shape,
                           const void *samples, size_t planes, struct tally *tallies, struct fault *fault)
{
    const size_t bytes = planes * encoding->channels * sizeof *tallies;

    if (!set_anchors(device, encoding, shape, samples, planes, fault) ||
        !reserve_scratch(device, cuda_survey_scratch(shape, planes), bytes, device->surveys, fault) ||
        !send_surveyed(device, samples, packed_bytes(shape, encoding, planes), fault) ||
        !check(cuda_survey(&device->reduction, encoding, shape, device->surveyed.samples, planes,
                           static_cast<const double *>(device->anchors.samples), device->scratch.samples,
                           static_cast<struct tally *>(device->results.samples), device->surveys),
               device, "statistics", fault) ||
        !fetch_results(device, bytes, device->surveys, fault))
        return false;
    memcpy(tallies, device->host_results, bytes);
    return true;
}

static bool settle_reduction(const struct rung_wish *wish, struct cuda_reduction *reduction,
                             struct fault *fault)
{
    const struct cuda_wish wished = wish_for_rungs(wish);
    char refusal[160];

    return cuda_reduction_settle(&wished, reduction, refusal, sizeof refusal) ||
           fault_raise(fault, STATUS_USAGE, "--rung: %s: %s",
                       wish->rung != NULL ? wish->rung : cuda_sum_rungs[0].name, refusal);
}

static bool cuda_settle_sums(const struct device *device, const struct shape *shape, enum work_type work,
                             const struct rung_wish *wish, struct form *form, struct fault *fault)
{
    const size_t planes = planes_together(cuda_change_scratch(shape, 1), shape->planes);
    struct cuda_reduction reduction;
    struct cuda_form launch;

    if (!settle_reduction(wish, &reduction, fault))
        return false;
    *form = {};
    form->shape = *shape;
    form->rung = cuda_reduction_rung(&reduction);
    form->coarsens = true;
    form->strides = reduction.by_blocks;
    snprintf(form->reason, sizeof form->reason, "%s", wish->rung != NULL ? "asked for" : "the default");
    memcpy(form->own, &reduction, sizeof reduction);
    launch = cuda_change_form(&reduction, shape, work, planes);
    return describe_launch(device, &launch, form, fault);
}

static void cuda_add_by(struct device *device, const struct form *form)
{
    memcpy(&device->reduction, form->own, sizeof device->reduction);
}

/* Scratch, and results here and on the host. */
static size_t cuda_survey_bytes(const struct shape *shape, size_t planes)
{
    return cuda_survey_scratch(shape, planes) + 2 * planes * shape->channels * sizeof(struct tally);
}

static size_t cuda_change_bytes(const struct shape *shape, size_t planes)
{
    const size_t together = planes_together(cuda_change_scratch(shape, 1), planes);

    return cuda_change_scratch(shape, together) + 2 * together * shape->channels * sizeof(double);
}

/* By name, as C++17 has no designated initialisers; the compiler does it. There is no multiply_adds. */
static constexpr struct backend named_functions()
{
    struct backend backend = {};

    backend.name = "cuda";
    backend.rungs = cuda_rungs;
    backend.count = cuda_count;
    backend.describe = cuda_describe;
    backend.warm_up = cuda_warm_up;
    backend.predict = cuda_predict;
    backend.open = cuda_open;
    backend.close = cuda_close;
    backend.memory = cuda_memory;
    backend.field_bytes = cuda_field_bytes;
    backend.settle = cuda_settle;
    backend.prepare = cuda_prepare;
    backend.release = cuda_release;
    backend.field_create = cuda_field_create;
    backend.field_destroy = cuda_field_destroy;
    backend.field_slide = cuda_field_slide;
    backend.staging_create = cuda_staging_create;
    backend.staging_destroy = cuda_staging_destroy;
    backend.upload = cuda_upload;
    backend.download = cuda_download;
    backend.staging_wait = cuda_staging_wait;
    backend.tell_outcomes = cuda_tell_outcomes;
    backend.measure = cuda_measure;
    backend.tell_extremes = cuda_tell_extremes;
    backend.advance = cuda_advance;
    backend.begin_span = cuda_begin_span;
    backend.end_span = cuda_end_span;
    backend.sync = cuda_sync;
    backend.copy = cuda_copy;
    backend.change = cuda_change_of;
    backend.survey = cuda_survey_of;
    backend.sum_rungs = cuda_sum_rungs;
    backend.settle_sums = cuda_settle_sums;
    backend.add_by = cuda_add_by;
    backend.survey_bytes = cuda_survey_bytes;
    backend.change_bytes = cuda_change_bytes;
    return backend;
}

extern "C" const struct backend backend_cuda = named_functions();
