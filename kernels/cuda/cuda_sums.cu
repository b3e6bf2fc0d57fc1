/* Sums: the changes of steps, and the statistics of samples, by the reductions of cuda_reduce.cu. Changes are
 * added in the stream of the kernels, statistics in a stream of their own, so that they overlap with
 * filtering. The host waits for the results, which come back in page-locked memory. All memory is kept for
 * the next call. */
#include "base/mem.h"
#include "kernels/cuda/shared/cuda_chain.cuh"
#include "cuda_planes.h"
#include "kernels/cuda/sums/cuda_reduce.h"

#include <stdio.h>
#include <string.h>

/* The most scratch memory of a reduction; more planes are added in several. */
#define SCRATCH_BYTES ((size_t)64 << 20)

static_assert(sizeof(struct cuda_reduction) <= sizeof(form::own), "a form has no room for a reduction");

/* Make room for a number of bytes; if it grows, its contents are lost. */
static bool reserve(const struct device *device, struct cuda_store *store, size_t bytes, const char *what,
                    struct fault *fault)
{
    if (bytes <= store->bytes)
        return true;
    cudaFree(store->samples);
    *store = {NULL, 0};
    if (!cuda_device_check(cudaMalloc(&store->samples, bytes), device, what, fault))
        return false;
    store->bytes = bytes;
    return true;
}

/* Make room for a reduction's results on the device and on the host. It is cleared, since kernels do not
   write the gaps between members of structs, which are copied, too. */
static bool reserve_results(struct device *device, size_t bytes, cudaStream_t stream, struct fault *fault)
{
    if (bytes <= device->host_result_bytes)
        return true;
    cudaFreeHost(device->host_results);
    device->host_results = NULL;
    device->host_result_bytes = 0;
    if (!reserve(device, &device->results, bytes, "sums", fault) ||
        !cuda_device_check(cudaMemsetAsync(device->results.samples, 0, bytes, stream), device, "sums",
                           fault) ||
        !cuda_device_check(cudaMallocHost(&device->host_results, bytes), device, "sums", fault))
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

/* Copy the results to the host, and wait for them. */
static bool fetch_results(struct device *device, size_t bytes, cudaStream_t stream, struct fault *fault)
{
    return cuda_device_check(cudaMemcpyAsync(device->host_results, device->results.samples, bytes,
                                             cudaMemcpyDeviceToHost, stream),
                             device, "sums", fault) &&
           cuda_device_check(cudaStreamSynchronize(stream), device, "sums", fault);
}

/* Planes whose changes one reduction adds, so that its memory stays small. */
static size_t changes_together(const struct shape *shape, size_t planes)
{
    const size_t plane = cuda_reduction_scratch(shape, 1, sizeof(double));
    const size_t together = plane >= SCRATCH_BYTES ? 1 : SCRATCH_BYTES / plane;

    return together < planes ? together : planes;
}

/* The changes of planes that fit in one reduction. */
static bool add_changes(struct device *device, const struct field *a, const struct field *b,
                        unsigned channels, bool missing, struct range planes, double *sums,
                        struct fault *fault)
{
    size_t results = planes.count * channels;
    double *changes;
    cudaError_t error;

    if (!reserve_scratch(device, cuda_reduction_scratch(&a->shape, planes.count, sizeof *changes),
                         results * sizeof *changes, device->stream, fault))
        return false;
    changes = static_cast<double *>(device->results.samples);
    error = cuda_with_work(a->work, [=](auto sample) {
        using T = decltype(sample);
        return cuda_change(&device->reduction, cuda_planes_view<T>(a), cuda_planes_view<T>(b), channels,
                           missing, planes, device->scratch.samples, changes, device->stream);
    });
    if (!cuda_device_check(error, device, "sums", fault) ||
        !fetch_results(device, results * sizeof *changes, device->stream, fault))
        return false;
    memcpy(sums, device->host_results, results * sizeof *sums);
    return true;
}

bool cuda_sums_change(struct device *device, const struct field *a, const struct field *b, unsigned channels,
                      bool missing, struct range planes, double *sums, struct fault *fault)
{
    size_t together = changes_together(&a->shape, planes.count);

    for (size_t done = 0; done < planes.count; done += together) {
        struct range part = {planes.first + done,
                             planes.count - done < together ? planes.count - done : together};
        if (!add_changes(device, a, b, channels, missing, part, sums + done * channels, fault))
            return false;
    }
    return true;
}

/* Copy what statistics need to the device. */
static bool send(struct device *device, struct cuda_store *store, const void *from, size_t bytes,
                 const char *what, struct fault *fault)
{
    return reserve(device, store, bytes, what, fault) &&
           cuda_device_check(
               cudaMemcpyAsync(store->samples, from, bytes, cudaMemcpyHostToDevice, device->tallies), device,
               what, fault);
}

/* Find the anchors on the host, one for each channel of each plane, and send them to the device. */
static bool set_anchors(struct device *device, const struct encoding *encoding, const struct shape *shape,
                        const void *samples, size_t planes, struct fault *fault)
{
    const size_t count = planes * encoding->channels,
                 plane_bytes = cuda_planes_packed_bytes(shape, encoding, 1);
    double *anchors = static_cast<double *>(mem_alloc(count, sizeof *anchors, "anchors", fault));
    bool done;

    if (anchors == NULL)
        return false;
    for (size_t i = 0; i < count; i++)
        anchors[i] =
            tally_anchor(encoding, static_cast<unsigned>(i % encoding->channels),
                         static_cast<const unsigned char *>(samples) + i / encoding->channels * plane_bytes,
                         shape->nx * shape->rows);
    done = send(device, &device->anchors, anchors, count * sizeof *anchors, "anchors", fault) &&
           cuda_device_check(cudaStreamSynchronize(device->tallies), device, "anchors", fault);
    mem_free(anchors);
    return done;
}

bool cuda_sums_tally(struct device *device, const struct encoding *encoding, const struct shape *shape,
                     const void *samples, size_t planes, struct tally *tallies, struct fault *fault)
{
    const size_t bytes = planes * encoding->channels * sizeof *tallies;

    if (!set_anchors(device, encoding, shape, samples, planes, fault) ||
        !reserve_scratch(device, cuda_reduction_scratch(shape, planes, sizeof *tallies), bytes,
                         device->tallies, fault) ||
        !send(device, &device->tallied, samples, cuda_planes_packed_bytes(shape, encoding, planes),
              "statistics", fault) ||
        !cuda_device_check(cuda_tally(&device->reduction, encoding, shape, device->tallied.samples, planes,
                                      static_cast<const double *>(device->anchors.samples),
                                      device->scratch.samples,
                                      static_cast<struct tally *>(device->results.samples), device->tallies),
                           device, "statistics", fault) ||
        !fetch_results(device, bytes, device->tallies, fault))
        return false;
    memcpy(tallies, device->host_results, bytes);
    return true;
}

static bool settle_reduction(const struct rung_wish *wish, struct cuda_reduction *reduction,
                             struct fault *fault)
{
    const struct cuda_wish wished = cuda_wish_of(wish);
    struct cuda_refusal refusal;

    return cuda_reduction_settle(&wished, reduction, &refusal) ||
           fault_set_for(fault, STATUS_USAGE, "--rung", "%s: %s",
                         wish->rung != NULL ? wish->rung : cuda_sum_rungs[0].name, refusal.text);
}

bool cuda_sums_settle(const struct device *device, const struct shape *shape, enum work_type work,
                      const struct rung_wish *wish, struct form *form, struct fault *fault)
{
    const size_t planes = changes_together(shape, shape->planes);
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
    return cuda_device_describe_launch(device, &launch, form, fault);
}

void cuda_sums_add_by(struct device *device, const struct form *form)
{
    memcpy(&device->reduction, form->own, sizeof device->reduction);
}

/* Scratch, and results on the device and on the host. */
size_t cuda_sums_tally_bytes(const struct shape *shape, size_t planes)
{
    return cuda_reduction_scratch(shape, planes, sizeof(struct tally)) +
           2 * planes * shape->channels * sizeof(struct tally);
}

size_t cuda_sums_change_bytes(const struct shape *shape, size_t planes)
{
    const size_t together = changes_together(shape, planes);

    return cuda_reduction_scratch(shape, together, sizeof(double)) +
           2 * together * shape->channels * sizeof(double);
}
