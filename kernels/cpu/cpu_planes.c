/* Planes in the memory of the process. */
#include "cpu_seam.h"

#include "base/clock.h"
#include "base/mem.h"
#include "cpu_device.h"
#include "cpu_field.h"

#include <string.h>

/* Bytes after which a first-level cache has the same places again, and what keeps large planes, and rows that
   are planes, from such distances. */
#define CACHE_PERIOD ((size_t)4 << 10)
#define LEAST_APART  ((size_t)64 << 10)
#define PLANE_GAP    ((size_t)33 << 6)
#define ROW_GAP      ((size_t)1 << 6)

/* Bytes that one thread copies at a time. */
#define COPY_CHUNK ((size_t)256 << 10)

/* What is moved is there on return; its time is told to who waits for it. */
struct cpu_staging {
    struct staging staging;
    void *own; /* memory; or NULL */
    double seconds;
};

/* Samples one above the other must not all compete for the same few places of a cache. */
static size_t gap_behind(size_t plane_bytes, size_t rows)
{
    if (plane_bytes % CACHE_PERIOD != 0 || plane_bytes < LEAST_APART)
        return 0;
    return rows > 1 ? PLANE_GAP : ROW_GAP;
}

size_t cpu_planes_bytes(const struct shape *shape, enum work_type work, size_t planes)
{
    size_t plane = shape->channels * shape->rows * shape->nx * work_size(work);

    return planes * (plane + gap_behind(plane, shape->rows));
}

void cpu_planes_staging_destroy(struct device *device, struct staging *staging)
{
    (void)device;
    if (staging == NULL)
        return;
    mem_free(((struct cpu_staging *)staging)->own);
    mem_free((struct cpu_staging *)staging);
}

struct staging *cpu_planes_staging_create(struct device *device, size_t bytes, void *memory,
                                          struct fault *fault)
{
    struct cpu_staging *created = mem_zeroed(1, sizeof *created, "the batch", fault);

    if (created == NULL)
        return NULL;
    if (memory == NULL)
        memory = created->own = mem_alloc(bytes, 1, "the batch", fault);
    created->staging.samples = memory;
    if (memory != NULL)
        return &created->staging;
    cpu_planes_staging_destroy(device, &created->staging);
    return NULL;
}

bool cpu_planes_staging_wait(struct device *device, struct staging *staging, double *seconds,
                             struct fault *fault)
{
    struct cpu_staging *moved = (struct cpu_staging *)staging;

    (void)device, (void)fault;
    *seconds += moved->seconds;
    moved->seconds = 0.0;
    return true;
}

void cpu_planes_destroy(struct device *device, struct field *field)
{
    (void)device;
    if (field == NULL)
        return;
    mem_free(field->samples);
    mem_free(field);
}

bool cpu_planes_create(struct device *device, struct field **result, const struct shape *shape,
                       enum work_type work, struct range planes, struct fault *fault)
{
    struct field *field = mem_zeroed(1, sizeof *field, "a field", fault);

    if (field == NULL)
        return false;
    field->shape = *shape;
    field->work = work;
    field->planes = planes;
    field->pitch = cpu_planes_bytes(shape, work, 1) / work_size(work);
    field->samples = mem_alloc(planes.count, field->pitch * work_size(work), "the planes", fault);
    if (field->samples == NULL) {
        cpu_planes_destroy(device, field);
        return false;
    }
    cpu_device_advise_large_pages(field->samples, cpu_planes_bytes(shape, work, planes.count));
    *result = field;
    return true;
}

bool cpu_planes_slide(struct device *device, struct field *field, size_t first, struct range keep,
                      struct fault *fault)
{
    (void)device, (void)fault;
    field->start = keep.count == 0 ? 0 : (field->start + first - field->planes.first) % field->planes.count;
    field->planes.first = first;
    return true;
}

bool cpu_planes_upload(struct device *device, struct field *field, const struct encoding *encoding,
                       struct staging *staging, struct range planes, struct range counted,
                       struct fault *fault)
{
    const struct cpu_threads threads = cpu_device_threads(device, samples_of(&field->shape, planes.count));
    double begun = clock_seconds();

    (void)fault;
    device->build->kernels[field->work]->load(field, encoding, staging->samples, planes, counted, &threads,
                                              &device->outcomes);
    ((struct cpu_staging *)staging)->seconds += clock_seconds() - begun;
    return true;
}

bool cpu_planes_download(struct device *device, const struct field *field, const struct encoding *encoding,
                         struct staging *staging, struct range planes, struct fault *fault)
{
    const struct cpu_threads threads = cpu_device_threads(device, samples_of(&field->shape, planes.count));
    double begun = clock_seconds();

    (void)fault;
    device->build->kernels[field->work]->store(field, encoding, staging->samples, planes, &threads,
                                               &device->outcomes);
    ((struct cpu_staging *)staging)->seconds += clock_seconds() - begun;
    return true;
}

bool cpu_planes_tell_outcomes(struct device *device, struct outcomes *outcomes, struct fault *fault)
{
    (void)fault;
    outcomes->strays += device->outcomes.strays;
    outcomes->nans += device->outcomes.nans;
    outcomes->below += device->outcomes.below;
    outcomes->above += device->outcomes.above;
    device->outcomes = (struct outcomes){0};
    return true;
}

bool cpu_planes_measure(struct device *device, const struct field *field, const struct encoding *encoding,
                        struct range planes, struct fault *fault)
{
    const struct cpu_threads threads = cpu_device_threads(device, samples_of(&field->shape, planes.count));

    (void)fault;
    device->build->kernels[field->work]->measure(field, encoding, planes, &threads, &device->extremes);
    return true;
}

bool cpu_planes_tell_extremes(struct device *device, struct extremes *extremes, struct fault *fault)
{
    (void)fault;
    *extremes = device->extremes;
    device->extremes = (struct extremes){0};
    return true;
}

struct copying {
    char *to;
    const char *from;
};

static void copy_some(void *context, struct range bytes, unsigned member)
{
    const struct copying *copying = context;

    (void)member;
    memcpy(copying->to + bytes.first, copying->from + bytes.first, bytes.count);
}

bool cpu_planes_copy(struct device *device, const struct field *from, struct field *to, struct fault *fault)
{
    const struct cpu_threads threads = {device->pool, (unsigned)device->threads};
    struct copying copying = {to->samples, from->samples};

    (void)fault;
    cpu_threads_share(&threads, cpu_planes_bytes(&from->shape, from->work, from->planes.count), COPY_CHUNK,
                      copy_some, &copying);
    to->start = from->start;
    return true;
}
