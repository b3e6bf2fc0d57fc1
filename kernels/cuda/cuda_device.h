/* An NVIDIA GPU as a device: its limits, its streams, memory that its functions keep from one call to the
 * next; and the functions of this backend. cuda_planes.cu tells how streams and events order the work. */
#ifndef CUDA_DEVICE_H
#define CUDA_DEVICE_H

#include "kernels/backend.h"
#include "kernels/cuda/shared/cuda_convert.h"
#include "kernels/cuda/shared/cuda_platform.h"
#include "kernels/cuda/sums/cuda_reduce.h"
#include "kernels/cuda/shared/cuda_rung.h"

/* Work between two events of a stream, for the stopwatch. */
struct cuda_span {
    cudaEvent_t begun, ended;
    bool under_way; /* its time has not been read */
};

/* Copies from other GPUs whose time has not been read; one more waits for the oldest. */
#define CUDA_HANDINGS 64

/* Device memory that is kept for the next call. */
struct cuda_store {
    void *samples;
    size_t bytes;
};

struct device {
    int index;
    cudaStream_t stream;             /* all kernels that read or write fields */
    cudaStream_t incoming, outgoing; /* copies from the host's memory, and back to it */
    cudaStream_t tallies;            /* statistics of files' samples, independent of the others */
    cudaStream_t arriving;           /* copies from other GPUs; NULL before the first one */
    cudaEvent_t asked; /* the end of the work in `stream` that a copy to another GPU waits for */
    uint64_t met;      /* a bit for each GPU whose memory this one may read */
    struct cuda_span handings[CUDA_HANDINGS]; /* copies in `arriving`: a ring */
    unsigned handing;                         /* the number of the next copy */
    double handed_seconds;                    /* of copies whose time has been read */
    struct cuda_span spans[2];                /* for the seam's stopwatch, in turn */
    unsigned turn;                            /* the next of them */
    struct cuda_limits limits;
    uint64_t memory;                       /* bytes that fields may take */
    struct cuda_outcomes *outcomes, found; /* on the device; the last ones that were read */
    struct cuda_peaks *peaks, found_peaks; /* likewise */
    struct cuda_reduction reduction;       /* the form that adds */
    struct cuda_store tallied, anchors;    /* for statistics: planes of a file, and their anchors */
    struct cuda_store scratch, results;    /* of reductions */
    void *host_results;                    /* the results on the host, page-locked */
    size_t host_result_bytes;
};

/* Turn an error of CUDA into a fault: lack of memory is STATUS_LIMIT, any other error STATUS_DEVICE. */
bool cuda_device_check(cudaError_t error, const struct device *device, const char *deed, struct fault *fault);

/* Make the device's GPU the one that CUDA's calls of this thread mean. */
bool cuda_device_choose(const struct device *device, struct fault *fault);

/* A stream that does not wait for the default stream. */
bool cuda_device_create_stream(const struct device *device, cudaStream_t *stream, struct fault *fault);

/* An event; whoever waits for it sleeps instead of polling. */
bool cuda_device_create_event(const struct device *device, cudaEvent_t *event, struct fault *fault);
void cuda_device_destroy_event(cudaEvent_t event);

/* Let an event stand for all work that a stream has been asked for so far. */
bool cuda_device_record(const struct device *device, cudaEvent_t event, cudaStream_t stream,
                        struct fault *fault);

/* Wait for a span and add its seconds, if they have not been read. */
bool cuda_device_tell_span(const struct device *device, struct cuda_span *span, const char *deed,
                           double *seconds, struct fault *fault);
bool cuda_device_create_span(const struct device *device, struct cuda_span *span, struct fault *fault);
void cuda_device_destroy_span(const struct cuda_span *span);

/* Permit a form's shared memory on the device, which each device must be told. */
bool cuda_device_allow(const struct device *device, const struct cuda_form *launch, struct fault *fault);

/* Fill in what CUDA's runtime knows of a launch: registers, spills, occupancy. */
bool cuda_device_describe_launch(const struct device *device, const struct cuda_form *launch,
                                 struct form *form, struct fault *fault);

/* ---- the seam's functions, by file: kernels/backend.h says what each does ---- */

/* cuda_device.cu: a GPU, and its stopwatch. */
unsigned cuda_device_count(void);
bool cuda_device_describe(int index, char *text, size_t size);
bool cuda_device_reaches(int index, int other);
void cuda_device_warm_up(int index);
struct forecast cuda_device_predict(const struct device_request *request, const struct op *op,
                                    const struct shape *shape, bool single);
bool cuda_device_open(struct device **result, const struct device_request *request, struct fault *fault);
void cuda_device_close(struct device *device);
uint64_t cuda_device_memory(const struct device *device);
bool cuda_device_begin_span(struct device *device, struct fault *fault);
bool cuda_device_end_span(struct device *device, double *seconds, struct fault *fault);
bool cuda_device_sync(struct device *device, double *seconds, struct fault *fault);

/* cuda_planes.cu: fields; what moves between them and files; and planes that one GPU hands over to another.
 */
size_t cuda_planes_bytes(const struct shape *shape, enum work_type work, size_t planes);
bool cuda_planes_create(struct device *device, struct field **result, const struct shape *shape,
                        enum work_type work, struct range planes, struct fault *fault);
void cuda_planes_destroy(struct device *device, struct field *field);
bool cuda_planes_slide(struct device *device, struct field *field, size_t first, struct range keep,
                       struct fault *fault);
void cuda_planes_renumber(struct field *field, size_t planes, ptrdiff_t shift);
bool cuda_planes_copy(struct device *device, const struct field *from, struct field *to, struct fault *fault);
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
bool cuda_planes_hand_over(struct device *device, struct field *from, struct range planes,
                           struct device *other, struct field *to, size_t first, struct fault *fault);
bool cuda_planes_tell_handings(struct device *device, double *seconds, struct fault *fault);

/* cuda_routine.cu: ops by a rung of the ladder, settled, prepared and run. */
bool cuda_routine_settle(const struct device *device, const struct op *op, const struct shape *shape,
                         const struct rung_wish *wish, struct form *form, struct fault *fault);
bool cuda_routine_prepare(struct device *device, const struct form *form, struct routine **result,
                          struct fault *fault);
void cuda_routine_release(struct device *device, struct routine *routine);
bool cuda_routine_advance(struct device *device, struct routine *routine, unsigned steps,
                          const struct field *from, const struct field *kept, struct field *to,
                          struct range planes, struct fault *fault);

/* cuda_sums.cu: the changes of steps, and the statistics of samples; settle is settle_sums. */
bool cuda_sums_change(struct device *device, const struct field *a, const struct field *b, unsigned channels,
                      bool missing, struct range planes, double *sums, struct fault *fault);
bool cuda_sums_tally(struct device *device, const struct encoding *encoding, const struct shape *shape,
                     const void *samples, size_t planes, struct tally *tallies, struct fault *fault);
bool cuda_sums_settle(const struct device *device, const struct shape *shape, enum work_type work,
                      const struct rung_wish *wish, struct form *form, struct fault *fault);
void cuda_sums_add_by(struct device *device, const struct form *form);
size_t cuda_sums_tally_bytes(const struct shape *shape, size_t planes);
size_t cuda_sums_change_bytes(const struct shape *shape, size_t planes);

#endif
