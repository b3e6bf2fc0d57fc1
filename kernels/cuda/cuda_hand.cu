/* Planes handed over from GPU to GPU, while both compute. */
#include "cuda_hand.h"

#include "cuda_planes.h"

/* Direct copies, where the two reach each other; else the driver takes them through the host's memory. */
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

/* Planes that come to another GPU from here on come behind what has been asked of the device so far. */
static bool follow(const struct device *device, const struct device *other, struct fault *fault)
{
    return cuda_device_check(cudaEventRecord(device->asked, device->stream), device, "an event", fault) &&
           cuda_device_check(cudaStreamWaitEvent(other->arriving, device->asked, 0), other, "a copy", fault);
}

static void *plane_of(const struct field *field, size_t plane)
{
    return static_cast<char *>(field->samples) +
           (plane - field->planes.first) * cuda_planes_bytes(&field->shape, field->work, 1);
}

static bool mark(const struct device *device, cudaEvent_t event, struct fault *fault)
{
    return cuda_device_check(cudaEventRecord(event, device->arriving), device, "an event", fault);
}

static bool tell_handing(struct device *device, struct cuda_span *span, struct fault *fault)
{
    return cuda_device_tell_span(device, span, "a copy from another GPU", &device->handed_seconds, fault);
}

/* The stopwatch of the next copy, which may still run for an earlier one. */
static bool begin_handing(struct device *device, struct cuda_span **span, struct fault *fault)
{
    *span = &device->handings[device->handing++ % CUDA_HANDINGS];
    return ((*span)->ended != NULL || cuda_device_create_span(device, *span, fault)) &&
           tell_handing(device, *span, fault) && mark(device, (*span)->begun, fault);
}

static bool end_handing(const struct device *device, struct cuda_span *span, struct fault *fault)
{
    span->under_way = mark(device, span->ended, fault);
    return span->under_way;
}

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
           end_handing(other, span, fault) && mark(other, to->arrived, fault);
}

/* Another GPU reads planes of the field until the event. */
static bool note_taker(struct device *device, struct field *from, cudaEvent_t arrived, struct fault *fault)
{
    for (unsigned i = 0; i < from->taker_count; i++) {
        if (from->takers[i] == arrived)
            return true;
    }
    if (from->taker_count == CUDA_FIELD_TAKERS && !cuda_hand_await_takers(device, from, fault))
        return false;
    from->takers[from->taker_count++] = arrived;
    return true;
}

/* What a GPU needs to hand planes over, and what another one needs to be handed them. */
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

bool cuda_hand_over(struct device *device, struct field *from, struct range planes, struct device *other,
                    struct field *to, size_t first, struct fault *fault)
{
    if (!be_ready_for(other, to, fault) || !be_ready(device, fault) || !follow(device, other, fault) ||
        !cuda_device_choose(other, fault) || !open_to(other, device, fault) || !follow(other, other, fault) ||
        !copy_planes(device, from, planes, other, to, first, fault))
        return false;
    to->awaited = true;
    return note_taker(device, from, to->arrived, fault);
}

bool cuda_hand_await_arrivals(struct device *device, const struct field *field, struct fault *fault)
{
    return !field->awaited || cuda_device_check(cudaStreamWaitEvent(device->stream, field->arrived, 0),
                                                device, "planes of another GPU", fault);
}

bool cuda_hand_await_takers(struct device *device, struct field *field, struct fault *fault)
{
    while (field->taker_count > 0) {
        if (!cuda_device_check(cudaStreamWaitEvent(device->stream, field->takers[--field->taker_count], 0),
                               device, "a copy to another GPU", fault))
            return false;
    }
    return true;
}

bool cuda_hand_tell(struct device *device, double *seconds, struct fault *fault)
{
    for (struct cuda_span &span : device->handings) {
        if (!tell_handing(device, &span, fault))
            return false;
    }
    *seconds += device->handed_seconds;
    device->handed_seconds = 0.0;
    return true;
}
