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

/* Bytes of so many planes of a file. */
size_t cuda_planes_packed_bytes(const struct shape *shape, const struct encoding *encoding, size_t planes);

/* The seam's functions of fields. */
size_t cuda_planes_bytes(const struct shape *shape, enum work_type work, size_t planes);
bool cuda_planes_create(struct device *device, struct field **result, const struct shape *shape,
                        enum work_type work, struct range planes, struct fault *fault);
void cuda_planes_destroy(struct device *device, struct field *field);
bool cuda_planes_slide(struct device *device, struct field *field, size_t first, struct range keep,
                       struct fault *fault);
void cuda_planes_renumber(struct field *field, size_t planes, ptrdiff_t shift);
bool cuda_planes_copy(struct device *device, const struct field *from, struct field *to, struct fault *fault);

/* And of what moves between them and files. */
struct staging *cuda_planes_staging_create(struct device *device, size_t bytes, void *memory,
                                           struct fault *fault);
void cuda_planes_staging_destroy(struct device *device, struct staging *staging);
bool cuda_planes_staging_wait(struct device *device, struct staging *staging, double *seconds,
                              struct fault *fault);
bool cuda_planes_upload(struct device *device, struct field *field, const struct encoding *encoding,
                        struct staging *staging, struct range planes, struct range counted,
                        struct fault *fault);
bool cuda_planes_download(struct device *device, const struct field *field, const struct encoding *encoding,
                          struct staging *staging, struct range planes, struct fault *fault);
bool cuda_planes_tell_outcomes(struct device *device, struct outcomes *outcomes, struct fault *fault);
bool cuda_planes_measure(struct device *device, const struct field *field, const struct encoding *encoding,
                         struct range planes, struct fault *fault);
bool cuda_planes_tell_extremes(struct device *device, struct extremes *extremes, struct fault *fault);

#endif
