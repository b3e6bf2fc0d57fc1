/* Planes in a GPU's memory: fields, and how planes of files come into them and leave. */
#ifndef CUDA_PLANES_H
#define CUDA_PLANES_H

#include "kernels/backend.h"
#include "cuda_device.h"
#include "kernels/cuda/shared/cuda_field.h"

/* Whose copies are kept apart, at most. */
#define CUDA_FIELD_TAKERS 16

struct field {
    struct shape shape;
    enum work_type work;
    struct range planes;
    size_t pitch; /* samples */
    void *samples;

    /* Where GPUs hand over planes: behind `arrived`, if it is awaited, are those that came; behind each of
       the takers is one who reads planes of this field. */
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

/* Bytes of so many planes of a file. */
size_t cuda_planes_packed_bytes(const struct shape *shape, const struct encoding *encoding, size_t planes);

/* Let what is asked of the device from here on find the planes that were handed to the field; or, before it
   writes the field, leave those that others still take from it. */
bool cuda_planes_await_arrivals(struct device *device, const struct field *field, struct fault *fault);
bool cuda_planes_await_takers(struct device *device, struct field *field, struct fault *fault);

#endif
