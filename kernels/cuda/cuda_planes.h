/* Planes in a GPU's memory: fields, and how planes of files come into them and leave. */
#ifndef CUDA_PLANES_H
#define CUDA_PLANES_H

#include "kernels/backend.h"
#include "cuda_device.h"
#include "kernels/cuda/shared/cuda_field.h"

/* The most GPUs that read a field at the same time; one more waits for all. */
#define CUDA_FIELD_TAKERS 16

struct field {
    struct shape shape; /* of the whole grid */
    enum work_type work;
    struct range planes; /* that it holds */
    size_t pitch;        /* samples from one row to the next */
    void *samples;       /* in the device's memory */

    /* With several GPUs: the event after which all planes that others handed over are there, if it has to be
       awaited; and an event for each GPU that reads planes of this field, after which they may be
       overwritten. */
    cudaEvent_t arrived;
    bool awaited;
    cudaEvent_t takers[CUDA_FIELD_TAKERS];
    unsigned taker_count;
};

/* The field as kernels see it. */
template <typename T> static inline cuda_view<T> cuda_planes_view(const struct field *field)
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

/* Call act with the field as kernels see it. */
template <typename Act> static inline auto cuda_planes_with_view(const struct field *field, const Act &act)
{
    return field->work == WORK_F32 ? act(cuda_planes_view<float>(field))
                                   : act(cuda_planes_view<double>(field));
}

/* Bytes of a number of planes of a file. */
size_t cuda_planes_packed_bytes(const struct shape *shape, const struct encoding *encoding, size_t planes);

/* Let the device's next kernels wait for planes that were handed to a field which they read; or, before they
   write a field, for GPUs that still copy planes from it. The host does not wait. */
bool cuda_planes_await_arrivals(struct device *device, const struct field *field, struct fault *fault);
bool cuda_planes_await_takers(struct device *device, struct field *field, struct fault *fault);

#endif
