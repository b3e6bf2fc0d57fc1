/* Planes in a GPU's memory: fields, and how planes of files come into them and leave. */
#include "cuda_planes.h"

#include "base/mem.h"
#include "kernels/cuda/shared/cuda_convert.h"

/* Page-locked samples, and the same on the device: copies go between the two while kernels run, which convert
   between the second and fields. */
struct cuda_staging : staging {
    void *packed;
    cudaEvent_t begun, done; /* of the copy */
    cudaEvent_t converted;   /* by the kernels that read or write `packed` */
    bool lent;               /* the samples are in the caller's memory, page-locked meanwhile */
    bool under_way;
};

static size_t pitch_of(const struct shape *shape, enum work_type work)
{
    size_t unit = CUDA_ROW_ALIGNMENT / work_size(work);

    return (shape->nx + unit - 1) / unit * unit;
}

size_t cuda_planes_bytes(const struct shape *shape, enum work_type work, size_t planes)
{
    return planes * shape->channels * shape->rows * pitch_of(shape, work) * work_size(work);
}

void cuda_planes_destroy(struct device *device, struct field *field)
{
    (void)device;
    if (field == NULL)
        return;
    cuda_device_destroy_event(field->arrived);
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

    return padding == 0 || cuda_device_check(cudaMemset2DAsync(first, field->pitch * word, 0, padding * word,
                                                               rows, device->stream),
                                             device, "a field", fault);
}

bool cuda_planes_create(struct device *device, struct field **result, const struct shape *shape,
                        enum work_type work, struct range planes, struct fault *fault)
{
    struct field *field = static_cast<struct field *>(mem_zeroed(1, sizeof *field, "a field", fault));

    if (field == NULL)
        return false;
    field->shape = *shape;
    field->work = work;
    field->planes = planes;
    field->pitch = pitch_of(shape, work);
    if (!cuda_device_check(cudaMalloc(&field->samples, cuda_planes_bytes(shape, work, planes.count)), device,
                           "a field", fault) ||
        !clear_padding(device, field, fault)) {
        cuda_planes_destroy(device, field);
        return false;
    }
    *result = field;
    return true;
}

/* What stays is copied in pieces as long as the way it goes, so that no piece overlaps itself. */
bool cuda_planes_slide(struct device *device, struct field *field, size_t first, struct range keep,
                       struct fault *fault)
{
    const size_t plane = cuda_planes_bytes(&field->shape, field->work, 1);
    const size_t gap = (first - field->planes.first) * plane, bytes = keep.count * plane;
    char *to = static_cast<char *>(field->samples) + (keep.first - first) * plane;

    for (size_t done = 0; done < bytes && gap > 0; done += gap) {
        const size_t piece = bytes - done < gap ? bytes - done : gap;
        if (!cuda_device_check(
                cudaMemcpyAsync(to + done, to + done + gap, piece, cudaMemcpyDeviceToDevice, device->stream),
                device, "a copy", fault))
            return false;
    }
    field->planes.first = first;
    return true;
}

void cuda_planes_renumber(struct field *field, size_t planes, ptrdiff_t shift)
{
    field->shape.planes = planes;
    field->planes.first += static_cast<size_t>(shift);
}

/* After a fault copies may still be under way. */
void cuda_planes_staging_destroy(struct device *device, struct staging *staging)
{
    struct cuda_staging *destroyed = static_cast<struct cuda_staging *>(staging);

    if (destroyed == NULL)
        return;
    cudaStreamSynchronize(device->incoming);
    cudaStreamSynchronize(device->outgoing);
    cudaStreamSynchronize(device->stream);
    if (destroyed->lent)
        cudaHostUnregister(destroyed->samples);
    else
        cudaFreeHost(destroyed->samples);
    cudaFree(destroyed->packed);
    cuda_device_destroy_event(destroyed->begun);
    cuda_device_destroy_event(destroyed->done);
    cuda_device_destroy_event(destroyed->converted);
    mem_free(destroyed);
}

/* Fast copies need page-locked memory. */
static bool give_samples(struct device *device, struct cuda_staging *staging, size_t bytes, void *memory,
                         struct fault *fault)
{
    if (memory == NULL)
        return cuda_device_check(cudaMallocHost(&staging->samples, bytes), device, "page-locked memory",
                                 fault);
    if (!cuda_device_check(cudaHostRegister(memory, bytes, cudaHostRegisterPortable), device,
                           "page-locked memory", fault))
        return false;
    staging->samples = memory;
    staging->lent = true;
    return true;
}

struct staging *cuda_planes_staging_create(struct device *device, size_t bytes, void *memory,
                                           struct fault *fault)
{
    struct cuda_staging *created =
        static_cast<struct cuda_staging *>(mem_zeroed(1, sizeof *created, "a batch", fault));

    if (created == NULL)
        return NULL;
    if (give_samples(device, created, bytes, memory, fault) &&
        cuda_device_check(cudaMalloc(&created->packed, bytes), device, "a batch", fault) &&
        cuda_device_create_event(device, &created->begun, fault) &&
        cuda_device_create_event(device, &created->done, fault) &&
        cuda_device_create_event(device, &created->converted, fault))
        return created;
    cuda_planes_staging_destroy(device, created);
    return NULL;
}

bool cuda_planes_staging_wait(struct device *device, struct staging *staging, double *seconds,
                              struct fault *fault)
{
    struct cuda_staging *moved = static_cast<struct cuda_staging *>(staging);

    if (!moved->under_way)
        return true;
    moved->under_way = false;
    return cuda_device_await_event(device, moved->begun, moved->done, "a copy", seconds, fault);
}

size_t cuda_planes_packed_bytes(const struct shape *shape, const struct encoding *encoding, size_t planes)
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

    staging->under_way =
        cuda_device_check(cudaStreamWaitEvent(stream, staging->converted, 0), device, "a copy", fault) &&
        cuda_device_check(cudaEventRecord(staging->begun, stream), device, "an event", fault) &&
        cuda_device_check(cudaMemcpyAsync(to, from, bytes, way, stream), device, "a copy", fault) &&
        cuda_device_check(cudaEventRecord(staging->done, stream), device, "an event", fault);
    return staging->under_way;
}

static bool note_converted(struct device *device, struct cuda_staging *staging, struct fault *fault)
{
    return cuda_device_check(cudaEventRecord(staging->converted, device->stream), device, "an event", fault);
}

static cudaError_t load_packed(struct device *device, struct field *field, const struct encoding *encoding,
                               const void *packed, struct range planes, struct range counted)
{
    if (field->work == WORK_F32)
        return cuda_load_planes(encoding, packed, cuda_planes_view<float>(field), planes, counted,
                                device->outcomes, device->stream);
    return cuda_load_planes(encoding, packed, cuda_planes_view<double>(field), planes, counted,
                            device->outcomes, device->stream);
}

static cudaError_t store_packed(struct device *device, const struct field *field,
                                const struct encoding *encoding, void *packed, struct range planes)
{
    if (field->work == WORK_F32)
        return cuda_store_planes(encoding, cuda_planes_view<float>(field), packed, planes, device->outcomes,
                                 device->stream);
    return cuda_store_planes(encoding, cuda_planes_view<double>(field), packed, planes, device->outcomes,
                             device->stream);
}

bool cuda_planes_upload(struct device *device, struct field *field, const struct encoding *encoding,
                        struct staging *staging, struct range planes, struct range counted,
                        struct fault *fault)
{
    struct cuda_staging *from = static_cast<struct cuda_staging *>(staging);

    return copy_staging(device, from, cuda_planes_packed_bytes(&field->shape, encoding, planes.count),
                        cudaMemcpyHostToDevice, fault) &&
           cuda_device_check(cudaStreamWaitEvent(device->stream, from->done, 0), device, "conversion",
                             fault) &&
           cuda_device_check(load_packed(device, field, encoding, from->packed, planes, counted), device,
                             "conversion", fault) &&
           note_converted(device, from, fault);
}

bool cuda_planes_download(struct device *device, const struct field *field, const struct encoding *encoding,
                          struct staging *staging, struct range planes, struct fault *fault)
{
    struct cuda_staging *to = static_cast<struct cuda_staging *>(staging);

    return cuda_device_check(store_packed(device, field, encoding, to->packed, planes), device, "conversion",
                             fault) &&
           note_converted(device, to, fault) &&
           copy_staging(device, to, cuda_planes_packed_bytes(&field->shape, encoding, planes.count),
                        cudaMemcpyDeviceToHost, fault);
}

/* And begin anew. */
static bool take_count(struct device *device, void *count, void *found, size_t bytes, struct fault *fault)
{
    return cuda_device_check(cudaMemcpyAsync(found, count, bytes, cudaMemcpyDeviceToHost, device->stream),
                             device, "a count", fault) &&
           cuda_device_check(cudaMemsetAsync(count, 0, bytes, device->stream), device, "a count", fault) &&
           cuda_device_check(cudaStreamSynchronize(device->stream), device, "a count", fault);
}

bool cuda_planes_tell_outcomes(struct device *device, struct outcomes *outcomes, struct fault *fault)
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
        return cuda_measure_planes(encoding, cuda_planes_view<float>(field), planes, device->peaks,
                                   device->stream);
    return cuda_measure_planes(encoding, cuda_planes_view<double>(field), planes, device->peaks,
                               device->stream);
}

bool cuda_planes_measure(struct device *device, const struct field *field, const struct encoding *encoding,
                         struct range planes, struct fault *fault)
{
    return cuda_device_check(measure_field(device, field, encoding, planes), device, "extremes", fault);
}

bool cuda_planes_tell_extremes(struct device *device, struct extremes *extremes, struct fault *fault)
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

bool cuda_planes_copy(struct device *device, const struct field *from, struct field *to, struct fault *fault)
{
    size_t bytes = cuda_planes_bytes(&from->shape, from->work, from->planes.count);

    return cuda_device_check(
        cudaMemcpyAsync(to->samples, from->samples, bytes, cudaMemcpyDeviceToDevice, device->stream), device,
        "a copy", fault);
}
