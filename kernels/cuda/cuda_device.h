/* An NVIDIA GPU as a device: what it is, its streams and its stopwatch. */
#ifndef CUDA_DEVICE_H
#define CUDA_DEVICE_H

#include "kernels/backend.h"
#include "kernels/cuda/shared/cuda_convert.h"
#include "kernels/cuda/shared/cuda_platform.h"
#include "kernels/cuda/sums/cuda_reduce.h"
#include "kernels/cuda/shared/cuda_rung.h"

/* Work between two events of the stream that it runs in. */
struct cuda_span {
    cudaEvent_t begun, ended;
    bool under_way;
};

/* Copies from other GPUs whose time is asked for later; more of them wait for the first. */
#define CUDA_HANDINGS 64

/* Device memory that is kept for the next time. */
struct cuda_store {
    void *samples;
    size_t bytes;
};

struct device {
    int index;
    cudaStream_t stream;             /* of all kernels that know fields */
    cudaStream_t incoming, outgoing; /* of planes on their way between the host's memory and the device's */
    cudaStream_t tallies;            /* of samples that are added up beside all that */
    cudaStream_t arriving;           /* of planes that other GPUs hand over; NULL before the first */
    cudaEvent_t asked;               /* what the stream was asked for when they were */
    uint64_t met;                    /* GPUs whose memory is open to this one, a bit each */
    struct cuda_span handings[CUDA_HANDINGS]; /* of that stream, taking turns */
    unsigned handing;                         /* whose turn it is */
    double handed_seconds;                    /* of those that came before */
    struct cuda_span spans[2];                /* that take turns */
    unsigned turn;                            /* whose turn it is */
    struct cuda_limits limits;
    uint64_t memory;                       /* that fields may take */
    struct cuda_outcomes *outcomes, found; /* there, and here once they are told */
    struct cuda_peaks *peaks, found_peaks; /* likewise */
    struct cuda_reduction reduction;       /* how it adds */
    struct cuda_store tallied, anchors;    /* planes of a file that are added up, and about what */
    struct cuda_store scratch, results;    /* of reductions */
    void *host_results;
    size_t host_result_bytes;
};

/* Memory that is not to be had is STATUS_LIMIT, any other error STATUS_DEVICE. */
bool cuda_device_check(cudaError_t error, const struct device *device, const char *deed, struct fault *fault);

/* Let what the thread asks from here on be asked of the device's GPU. */
bool cuda_device_choose(const struct device *device, struct fault *fault);

/* A stream that waits for no other. */
bool cuda_device_create_stream(const struct device *device, cudaStream_t *stream, struct fault *fault);

/* Whoever waits for such an event sleeps. */
bool cuda_device_create_event(const struct device *device, cudaEvent_t *event, struct fault *fault);
void cuda_device_destroy_event(cudaEvent_t event);

/* Wait for what ends with an event, and add the seconds since another one. */
bool cuda_device_await_event(const struct device *device, cudaEvent_t begun, cudaEvent_t ended,
                             const char *deed, double *seconds, struct fault *fault);

/* Wait for a span that is under way, if it is, and add its seconds. */
bool cuda_device_tell_span(const struct device *device, struct cuda_span *span, const char *deed,
                           double *seconds, struct fault *fault);
bool cuda_device_create_span(const struct device *device, struct cuda_span *span, struct fault *fault);

/* Let the device launch a form with the shared memory that it takes: each device has to be told. */
bool cuda_device_allow(const struct device *device, const struct cuda_form *launch, struct fault *fault);

/* Fill in what the runtime knows of such a launch, occupancy included. */
bool cuda_device_describe_launch(const struct device *device, const struct cuda_form *launch,
                                 struct form *form, struct fault *fault);

#endif
