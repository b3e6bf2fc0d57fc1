/* Planes in a GPU's memory: fields, how planes of files come into them and leave, and how one GPU hands them
 * to another.
 *
 * Copies and kernels overlap, in streams of their own, and events order them. To upload a batch, `incoming`
 * copies packed samples from page-locked memory to the device, and `stream`, where all kernels run, waits for
 * the copy and converts them into the field. To download one, `stream` converts, and `outgoing` waits for
 * that and copies back. A staging's events say when its copy is done, which is all that the host ever waits
 * for, and when its packed samples have been converted: before that the next copy does not overwrite them.
 * With two stagings in turn, one batch is copied while another is converted and filtered (double buffering).
 *
 * A GPU receives planes in its stream `arriving`, which first waits for all work that both GPUs have been
 * asked for so far. Behind the copy it records the field's event `arrived`: the receiver's kernels that read
 * the field wait for it, and so do the giver's kernels that would overwrite the planes, to whose field the
 * receiver is a taker. */
#include "cuda_planes.h"

#include "base/mem.h"
#include "kernels/cuda/shared/cuda_convert.h"

/* Page-locked samples on the host, and the same samples on the device. */
struct cuda_staging : staging {
    void *packed;          /* on the device */
    struct cuda_span copy; /* under way: the host has not waited for it */
    cudaEvent_t converted; /* the kernel that reads or writes `packed` has ended */
    bool lent;             /* the samples are in the caller's memory, page-locked meanwhile */
};

/* Samples from one row to the next: whole sectors. */
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

/* Clear the padding between rows: threads that move 16 bytes read it, too, though nothing depends on it. */
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

/* Planes that stay move down in pieces as long as the distance, so that no piece overlaps itself. */
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
    cuda_device_destroy_span(&destroyed->copy);
    cuda_device_destroy_event(destroyed->converted);
    mem_free(destroyed);
}

/* Provide the host's samples: only copies from page-locked memory are fast, and overlap with kernels. */
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
        cuda_device_create_span(device, &created->copy, fault) &&
        cuda_device_create_event(device, &created->converted, fault))
        return created;
    cuda_planes_staging_destroy(device, created);
    return NULL;
}

bool cuda_planes_staging_wait(struct device *device, struct staging *staging, double *seconds,
                              struct fault *fault)
{
    return cuda_device_tell_span(device, &static_cast<struct cuda_staging *>(staging)->copy, "a copy",
                                 seconds, fault);
}

size_t cuda_planes_packed_bytes(const struct shape *shape, const struct encoding *encoding, size_t planes)
{
    return planes * shape->rows * shape->nx * encoding->channels * sample_size(encoding->type);
}

/* Copy between the host and the device, after the kernel that used `packed` last. */
static bool copy_staging(struct device *device, struct cuda_staging *staging, size_t bytes,
                         cudaMemcpyKind way, struct fault *fault)
{
    const bool comes = way == cudaMemcpyHostToDevice;
    const cudaStream_t stream = comes ? device->incoming : device->outgoing;
    void *to = comes ? staging->packed : staging->samples;
    const void *from = comes ? staging->samples : staging->packed;

    staging->copy.under_way =
        cuda_device_check(cudaStreamWaitEvent(stream, staging->converted, 0), device, "a copy", fault) &&
        cuda_device_record(device, staging->copy.begun, stream, fault) &&
        cuda_device_check(cudaMemcpyAsync(to, from, bytes, way, stream), device, "a copy", fault) &&
        cuda_device_record(device, staging->copy.ended, stream, fault);
    return staging->copy.under_way;
}

bool cuda_planes_upload(struct device *device, struct field *field, const struct encoding *encoding,
                        struct staging *staging, struct range planes, struct range counted,
                        struct fault *fault)
{
    struct cuda_staging *from = static_cast<struct cuda_staging *>(staging);
    const auto load = [=](const auto &view) {
        return cuda_load_planes(encoding, from->packed, view, planes, counted, device->outcomes,
                                device->stream);
    };

    const size_t pixels = planes.count * field->shape.rows * field->shape.nx;
    const size_t bytes = encoding->masked ? encoding_mask_place(encoding, pixels) + pixels
                                          : cuda_planes_packed_bytes(&field->shape, encoding, planes.count);

    return copy_staging(device, from, bytes, cudaMemcpyHostToDevice, fault) &&
           cuda_device_check(cudaStreamWaitEvent(device->stream, from->copy.ended, 0), device, "conversion",
                             fault) &&
           cuda_device_check(cuda_planes_with_view(field, load), device, "conversion", fault) &&
           cuda_device_record(device, from->converted, device->stream, fault);
}

bool cuda_planes_download(struct device *device, const struct field *field, const struct encoding *encoding,
                          struct staging *staging, struct range planes, struct fault *fault)
{
    struct cuda_staging *to = static_cast<struct cuda_staging *>(staging);
    const auto store = [=](const auto &view) {
        return cuda_store_planes(encoding, view, to->packed, planes, device->outcomes, device->stream);
    };

    return cuda_device_check(cuda_planes_with_view(field, store), device, "conversion", fault) &&
           cuda_device_record(device, to->converted, device->stream, fault) &&
           copy_staging(device, to, cuda_planes_packed_bytes(&field->shape, encoding, planes.count),
                        cudaMemcpyDeviceToHost, fault);
}

/* Read a counter, and set it to zero. */
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
    outcomes->outside += device->found.outside;
    outcomes->missing += device->found.missing;
    outcomes->strays += device->found.strays;
    outcomes->nans += device->found.nans;
    outcomes->below += device->found.below;
    outcomes->above += device->found.above;
    return true;
}

bool cuda_planes_measure(struct device *device, const struct field *field, const struct encoding *encoding,
                         struct range planes, struct fault *fault)
{
    const auto measure = [=](const auto &view) {
        return cuda_measure_planes(encoding, view, planes, device->peaks, device->stream);
    };

    return cuda_device_check(cuda_planes_with_view(field, measure), device, "extremes", fault);
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

/* ---- planes of other GPUs ---- */

/* Open another GPU's memory for direct copies, if the two reach each other; else the driver copies through
   the host's memory. */
static bool open_to(struct device *device, const struct device *other, struct fault *fault)
{
    const uint64_t bit = (uint64_t)1 << (other->index & 63);
    cudaError_t error;

    if ((device->met & bit) != 0 || !cuda_device_reaches(device->index, other->index))
        return true;
    error = cudaDeviceEnablePeerAccess(other->index, 0);
    if (error == cudaErrorPeerAccessAlreadyEnabled) {
        cudaGetLastError();
        error = cudaSuccess;
    }
    device->met |= bit;
    return cuda_device_check(error, device, "access to another GPU", fault);
}

/* Let copies to another GPU wait for all work that this device has been asked for so far. */
static bool follow(const struct device *device, const struct device *other, struct fault *fault)
{
    return cuda_device_record(device, device->asked, device->stream, fault) &&
           cuda_device_check(cudaStreamWaitEvent(other->arriving, device->asked, 0), other, "a copy", fault);
}

static void *plane_of(const struct field *field, size_t plane)
{
    return static_cast<char *>(field->samples) +
           (plane - field->planes.first) * cuda_planes_bytes(&field->shape, field->work, 1);
}

static bool tell_handing(struct device *device, struct cuda_span *span, struct fault *fault)
{
    return cuda_device_tell_span(device, span, "a copy from another GPU", &device->handed_seconds, fault);
}

/* Start the stopwatch of the next copy; if an earlier copy still has it, read that one's time first. */
static bool begin_handing(struct device *device, struct cuda_span **span, struct fault *fault)
{
    *span = &device->handings[device->handing++ % CUDA_HANDINGS];
    return ((*span)->ended != NULL || cuda_device_create_span(device, *span, fault)) &&
           tell_handing(device, *span, fault) &&
           cuda_device_record(device, (*span)->begun, device->arriving, fault);
}

static bool end_handing(const struct device *device, struct cuda_span *span, struct fault *fault)
{
    span->under_way = cuda_device_record(device, span->ended, device->arriving, fault);
    return span->under_way;
}

/* The copy itself, in the receiver's stream, between the events of its stopwatch and before that of the
 * field. */
static bool copy_planes(const struct device *device, const struct field *from, struct range planes,
                        struct device *other, const struct field *to, size_t first, struct fault *fault)
{
    const size_t bytes = cuda_planes_bytes(&from->shape, from->work, planes.count);
    struct cuda_span *span;

    return begin_handing(other, &span, fault) &&
           cuda_device_check(cudaMemcpyPeerAsync(plane_of(to, first), other->index,
                                                 plane_of(from, planes.first), device->index, bytes,
                                                 other->arriving),
                             other, "a copy from another GPU", fault) &&
           end_handing(other, span, fault) && cuda_device_record(other, to->arrived, other->arriving, fault);
}

/* Note that another GPU reads planes of the field until the event. */
static bool note_taker(struct device *device, struct field *from, cudaEvent_t arrived, struct fault *fault)
{
    for (unsigned i = 0; i < from->taker_count; i++) {
        if (from->takers[i] == arrived)
            return true;
    }
    if (from->taker_count == CUDA_FIELD_TAKERS && !cuda_planes_await_takers(device, from, fault))
        return false;
    from->takers[from->taker_count++] = arrived;
    return true;
}

/* Create what a GPU needs to hand planes over, and what another one needs to receive them. */
static bool be_ready(struct device *device, struct fault *fault)
{
    return cuda_device_choose(device, fault) &&
           (device->asked != NULL || cuda_device_create_event(device, &device->asked, fault));
}

static bool be_ready_for(struct device *device, struct field *to, struct fault *fault)
{
    return be_ready(device, fault) &&
           (device->arriving != NULL || cuda_device_create_stream(device, &device->arriving, fault)) &&
           (to->arrived != NULL || cuda_device_create_event(device, &to->arrived, fault));
}

/* Neither device's kernels are waited for by the host: all order is by events. */
bool cuda_planes_hand_over(struct device *device, struct field *from, struct range planes,
                           struct device *other, struct field *to, size_t first, struct fault *fault)
{
    if (!be_ready_for(other, to, fault) || !be_ready(device, fault) || !follow(device, other, fault) ||
        !cuda_device_choose(other, fault) || !open_to(other, device, fault) || !follow(other, other, fault) ||
        !copy_planes(device, from, planes, other, to, first, fault))
        return false;
    to->awaited = true;
    return note_taker(device, from, to->arrived, fault);
}

bool cuda_planes_await_arrivals(struct device *device, const struct field *field, struct fault *fault)
{
    return !field->awaited || cuda_device_check(cudaStreamWaitEvent(device->stream, field->arrived, 0),
                                                device, "planes of another GPU", fault);
}

bool cuda_planes_await_takers(struct device *device, struct field *field, struct fault *fault)
{
    while (field->taker_count > 0) {
        if (!cuda_device_check(cudaStreamWaitEvent(device->stream, field->takers[--field->taker_count], 0),
                               device, "a copy to another GPU", fault))
            return false;
    }
    return true;
}

bool cuda_planes_tell_handings(struct device *device, double *seconds, struct fault *fault)
{
    for (struct cuda_span &span : device->handings) {
        if (!tell_handing(device, &span, fault))
            return false;
    }
    *seconds += device->handed_seconds;
    device->handed_seconds = 0.0;
    return true;
}
