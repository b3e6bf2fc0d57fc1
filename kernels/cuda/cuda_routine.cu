/* Routines: ops by a rung of the ladder, settled, prepared and run.
 *
 * To settle an op, the entries of the ladder are asked in turn, and the first one whose rung serves it as
 * wished gives the form. If that takes several steps in a pass, but computing takes longer than moving, the
 * first rung behind it that takes a single step replaces it. To prepare a form, the op's arrays go to the
 * device: taps, and values outside the grid. To advance, the rung launches its kernels in the device's
 * stream, behind planes that other GPUs hand over. */
#include "base/mem.h"
#include "kernels/cuda/shared/cuda_chain.cuh"
#include "cuda_planes.h"

#include <algorithm>
#include <stdio.h>
#include <string.h>

/* The share of its peaks that a device reaches, as measured on an H100: of its memory's speed; and of what it
   computes, in chains of taps and in the filter that serves any op. */
#define REACHED_BY_MOVING 0.8
#define REACHED_BY_CHAINS 0.5
#define REACHED_BY_OTHERS 0.125

/* A launch over some planes takes so much longer than its samples: until all multiprocessors are busy, and
   while the last blocks end. */
#define LAUNCH_SECONDS 12e-6

/* This backend's part of the seam's form. */
struct cuda_settled {
    const struct cuda_ladder_entry *entry;
    struct cuda_form form;
};

static_assert(sizeof(struct cuda_settled) <= sizeof(form::own), "a form has no room for a launch");

struct routine {
    struct cuda_settled settled;
    struct cuda_op on_device;
    void *taps, *outside, *scratch; /* device memory that it owns */
};

/* Put bytes into new device memory, in the stream of the kernels that will read them: a plain copy would be
   in the default stream, which that one does not wait for. The caller may change the bytes afterwards. */
static bool put(const struct device *device, void **to, const void *from, size_t bytes, const char *what,
                struct fault *fault)
{
    return cuda_device_check(cudaMalloc(to, bytes), device, what, fault) &&
           cuda_device_check(cudaMemcpyAsync(*to, from, bytes, cudaMemcpyHostToDevice, device->stream),
                             device, what, fault) &&
           cuda_device_check(cudaStreamSynchronize(device->stream), device, what, fault);
}

/* The taps in the work type, at least one, so that the memory is never empty. */
template <typename T>
static bool put_taps(const struct device *device, struct routine *routine, struct fault *fault)
{
    const struct op *op = routine->on_device.op;
    size_t bytes = (op->tap_count + 1) * sizeof(cuda_tap<T>);
    cuda_tap<T> *taps = static_cast<cuda_tap<T> *>(mem_zeroed(bytes, 1, "the taps", fault));
    bool done;

    if (taps == NULL)
        return false;
    for (size_t i = 0; op->taps != NULL && i < op->tap_count; i++) {
        taps[i].dx = op->taps[i].dx;
        taps[i].drow = op->taps[i].drow;
        taps[i].dplane = op->taps[i].dplane;
        taps[i].weight = static_cast<T>(op->taps[i].weight);
    }
    done = put(device, &routine->taps, taps, bytes, "the taps", fault);
    mem_free(taps);
    return done;
}

/* The values outside the grid, if the edge rule has any. */
template <typename T>
static bool put_outside(const struct device *device, struct routine *routine, unsigned channels,
                        struct fault *fault)
{
    size_t bytes = channels * sizeof(T);
    T *outside;
    bool done;

    const double *values = routine->on_device.op->outside;

    if (values == NULL)
        return true;
    outside = static_cast<T *>(mem_alloc(bytes, 1, "the edge", fault));
    if (outside == NULL)
        return false;
    for (unsigned channel = 0; channel < channels; channel++)
        outside[channel] = static_cast<T>(values[channel]);
    done = put(device, &routine->outside, outside, bytes, "the edge", fault);
    mem_free(outside);
    return done;
}

static bool put_operands(const struct device *device, struct routine *routine, const struct form *form,
                         struct fault *fault)
{
    routine->on_device.op = form->op;
    const bool done = cuda_with_work(form->op->work, [=](auto sample) {
        using T = decltype(sample);
        return put_taps<T>(device, routine, fault) &&
               put_outside<T>(device, routine, form->shape.channels, fault);
    });
    routine->on_device.taps = routine->taps;
    routine->on_device.outside = routine->outside;
    return done;
}

static bool create_scratch(const struct device *device, struct routine *routine, struct fault *fault)
{
    const size_t bytes = routine->settled.form.scratch_bytes;

    return bytes == 0 ||
           cuda_device_check(cudaMalloc(&routine->scratch, bytes), device, "the scratch memory", fault);
}

void cuda_routine_release(struct device *device, struct routine *routine)
{
    (void)device;
    if (routine == NULL)
        return;
    cudaFree(routine->taps);
    cudaFree(routine->outside);
    cudaFree(routine->scratch);
    mem_free(routine);
}

/* Whether the rung serves the op as wished; fills in the form, or the reason why not. */
static bool serves(const struct cuda_rung *rung, const struct cuda_question *asked, struct cuda_form *form)
{
    if (asked->wish->tile_x > 0 && !rung->tiles)
        return cuda_refuse(asked->refusal, "it has no tile to choose");
    if (asked->wish->coarsen > 0 && !rung->coarsens)
        return cuda_refuse(asked->refusal, "it is not coarsened");
    if (op_mixes_channels(asked->op) && !rung->mixes)
        return cuda_refuse(asked->refusal,
                           "a thread holds one channel of a pixel, but this step needs several");
    /* The rung itself has the last word, but on the stride, which it does not read. */
    *form = cuda_form();
    if (!rung->shape[asked->op->work](asked, form))
        return false;
    if (asked->wish->stride > 0 && form->stride != asked->wish->stride)
        return cuda_refuse(asked->refusal, "what a thread computes lies %d apart", form->stride);
    return true;
}

/* The class of an op, by which entries of the ladder are chosen. */
static enum cuda_ops ops_of(const struct op *op)
{
    if (op->kind == OP_PASSES)
        return CUDA_PASSES;
    if (op->missing)
        return CUDA_MISSING;
    if (!cuda_is_chain(op))
        return CUDA_OTHERS;
    return op->tap_count > CUDA_SHORT_CHAIN ? CUDA_LONG_CHAINS : CUDA_SHORT_CHAINS;
}

static enum cuda_grids grid_of(const struct shape *shape)
{
    return shape->rows == 1 ? CUDA_PICTURES : CUDA_VOLUMES;
}

/* Whether an entry of the ladder is tried for an op, a shape and a wish. */
static bool is_candidate(const struct cuda_ladder_entry *entry, const struct op *op,
                         const struct shape *shape, const struct rung_wish *wish)
{
    const enum cuda_grids grid = grid_of(shape);
    const enum cuda_ops ops = ops_of(op);

    if ((entry->grids & grid) == 0 || (entry->ops & ops) == 0 ||
        (entry->steps == CUDA_ONE_STEP && wish->steps != 1))
        return false;
    return wish->rung == NULL || strcmp(wish->rung, entry->name->name) == 0;
}

static bool is_on_ladder(const char *name)
{
    for (const struct rung *rung = cuda_rungs; rung->name != NULL; rung++) {
        if (strcmp(rung->name, name) == 0)
            return true;
    }
    return false;
}

/* Say why no rung serves a wish. */
static bool refuse_wish(const struct rung_wish *wish, const char *refusal, struct fault *fault)
{
    if (wish->rung == NULL)
        return fault_set_for(fault, STATUS_USAGE, "--rung", "none applies: %s", refusal);
    if (!is_on_ladder(wish->rung))
        return fault_set_for(fault, STATUS_USAGE, "--rung",
                             "%s: the GPU has no such rung (--list names them)", wish->rung);
    return fault_set_for(fault, STATUS_USAGE, "--rung", "%s: %s", wish->rung, refusal);
}

static const char *reason_for(const struct rung_wish *wish)
{
    return wish->reason != NULL ? wish->reason
           : wish->rung != NULL ? "asked for"
                                : "the first of the ladder that applies";
}

/* The next entry, from a given one on, whose rung serves the op as wished; the end of the ladder if none
 * does. */
static const struct cuda_ladder_entry *find_entry(const struct device *device,
                                                  const struct cuda_ladder_entry *entry, const struct op *op,
                                                  const struct shape *shape, const struct rung_wish *wish,
                                                  struct cuda_form *form, struct cuda_refusal *refusal)
{
    const struct cuda_wish wished = cuda_wish_of(wish);
    const struct cuda_question asked = {&device->limits, op, shape, &wished, refusal};

    while (entry->rung != NULL &&
           (!is_candidate(entry, op, shape, wish) || !serves(entry->rung, &asked, form)))
        entry++;
    return entry;
}

/* Seconds of the whole device for a sample: of moving or of computing, whichever takes longer (roofline). */
static double seconds_of(const struct cuda_limits *limits, const struct op *op, const struct cuda_form *form,
                         double bytes, double operations)
{
    const double reached = form->reached > 0   ? form->reached
                           : cuda_is_chain(op) ? REACHED_BY_CHAINS
                                               : REACHED_BY_OTHERS;
    const double moving = bytes / (REACHED_BY_MOVING * limits->bytes_per_second);
    const double computing = operations / (reached * limits->operations_per_second[op->work]);

    return std::max(moving, computing);
}

static double seconds_per_update(const struct cuda_limits *limits, const struct op *op,
                                 const struct cuda_form *form)
{
    return seconds_of(limits, op, form, form->bytes_per_update, form->operations_per_update);
}

/* What a run is expected to take. A pass of one step by a form of several reads and writes each sample once.
 */
static void expect(const struct cuda_limits *limits, const struct cuda_form *settled, struct form *form)
{
    const double bytes = 2.0 * static_cast<double>(work_size(form->op->work));
    const double update = seconds_per_update(limits, form->op, settled);

    form->pass_seconds = settled->steps * update;
    form->step_seconds =
        settled->steps > 1 ? seconds_of(limits, form->op, settled, bytes, cuda_operations(form->op)) : update;
    form->advance_seconds = LAUNCH_SECONDS;
}

/* A pass of several steps computes some samples more than once. If computing takes longer than moving, the
   first rung that takes a single step is faster. */
static void prefer_single(const struct device *device, const struct cuda_ladder_entry *entry,
                          const struct op *op, const struct shape *shape, const struct rung_wish *wish,
                          struct cuda_settled *settled, char *reason, size_t size)
{
    const double fused = seconds_per_update(&device->limits, op, &settled->form);
    struct rung_wish single_wish = *wish;
    struct cuda_form form;
    struct cuda_refusal refusal;

    single_wish.steps = 1;
    entry = find_entry(device, entry, op, shape, &single_wish, &form, &refusal);
    if (entry->rung == NULL || seconds_per_update(&device->limits, op, &form) >= fused)
        return;
    snprintf(reason, size, "computing takes longer than moving: %d steps a pass would compute more",
             settled->form.steps);
    *settled = {entry, form};
}

/* Why a rung is not even tried. */
static bool refuse_untried(const char *name, const struct op *op, const struct shape *shape,
                           struct cuda_refusal *refusal)
{
    int grids = 0;

    for (const struct cuda_ladder_entry *entry = cuda_ladder; entry->rung != NULL; entry++)
        grids |= name != NULL && strcmp(name, entry->name->name) == 0 ? entry->grids : 0;
    if (op->kind == OP_PASSES)
        return cuda_refuse(refusal, "it takes passes one by one");
    if (op->missing)
        return cuda_refuse(refusal, "this step leaves out neighbours that are missing");
    if ((grids & grid_of(shape)) == 0)
        return cuda_refuse(refusal, "it is for %s", shape->rows == 1 ? "volumes" : "pictures");
    return cuda_refuse(refusal, "only chains of taps");
}

/* The first rung of the ladder that serves the op as wished, or a faster one of single steps, and the reason.
 */
static bool choose_rung(const struct device *device, const struct op *op, const struct shape *shape,
                        const struct rung_wish *wish, struct cuda_settled *settled, char *reason, size_t size,
                        struct fault *fault)
{
    const struct cuda_ladder_entry *entry;
    struct cuda_refusal refusal;

    /* Rungs that are asked write their refusals over this one. */
    refuse_untried(wish->rung, op, shape, &refusal);
    entry = find_entry(device, cuda_ladder, op, shape, wish, &settled->form, &refusal);
    if (entry->rung == NULL)
        return refuse_wish(wish, refusal.text, fault);
    settled->entry = entry;
    snprintf(reason, size, "%s", reason_for(wish));
    if (settled->form.steps > 1 && wish->rung == NULL && entry->steps != CUDA_SEVERAL_STEPS)
        prefer_single(device, entry + 1, op, shape, wish, settled, reason, size);
    return true;
}

/* Whether the rung heeds a wish for a stride. */
static bool takes_stride(const struct device *device, const struct cuda_rung *rung, const struct op *op,
                         const struct shape *shape)
{
    struct cuda_refusal refusal;
    struct cuda_wish wish = {};
    const struct cuda_question asked = {&device->limits, op, shape, &wish, &refusal};
    struct cuda_form form;

    wish.coarsen = wish.stride = 2;
    return serves(rung, &asked, &form);
}

/* Offer square tiles of various sizes, for measuring. */
static void offer_tiles(struct form *form)
{
    static const unsigned sides[ROUTINE_TILES] = {8, 12, 14, 16, 25, 32};

    for (size_t i = 0; i < ROUTINE_TILES; i++)
        form->offers[i] = {sides[i], sides[i]};
}

/* Bytes that put_operands takes. */
static size_t operand_bytes(const struct op *op, const struct shape *shape)
{
    const size_t taps = (op->tap_count + 1) * cuda_with_work(op->work, [](auto sample) {
                            return sizeof(cuda_tap<decltype(sample)>);
                        });

    return taps + (op->edge == EDGE_CONSTANT ? shape->channels * work_size(op->work) : 0);
}

bool cuda_routine_settle(const struct device *device, const struct op *op, const struct shape *shape,
                         const struct rung_wish *wish, struct form *form, struct fault *fault)
{
    struct cuda_settled settled;

    *form = {};
    form->op = op;
    form->shape = *shape;
    if (!choose_rung(device, op, shape, wish, &settled, form->reason, sizeof form->reason, fault) ||
        !cuda_device_describe_launch(device, &settled.form, form, fault))
        return false;
    /* The launch has been described; the rest is what wishes may choose, and what it costs. */
    form->rung = settled.entry->name;
    form->most_first = settled.form.most_first;
    form->tiles = settled.entry->rung->tiles;
    if (form->tiles)
        offer_tiles(form);
    form->coarsens = settled.entry->rung->coarsens && settled.form.coarsen > 0;
    form->strides = form->coarsens && takes_stride(device, settled.entry->rung, op, shape);
    expect(&device->limits, &settled.form, form);
    form->memory_bytes = operand_bytes(op, shape) + settled.form.scratch_bytes;
    memcpy(form->own, &settled, sizeof settled);
    return true;
}

bool cuda_routine_prepare(struct device *device, const struct form *form, struct routine **result,
                          struct fault *fault)
{
    struct routine *routine =
        static_cast<struct routine *>(mem_zeroed(1, sizeof *routine, "a routine", fault));

    if (routine == NULL)
        return false;
    memcpy(&routine->settled, form->own, sizeof routine->settled);
    if (!cuda_device_allow(device, &routine->settled.form, fault) ||
        !put_operands(device, routine, form, fault) || !create_scratch(device, routine, fault)) {
        cuda_routine_release(device, routine);
        return false;
    }
    *result = routine;
    return true;
}

/* Launch the rung's kernels with views of the fields. */
template <typename T>
static cudaError_t launch(struct device *device, const struct routine *routine, unsigned steps,
                          const struct field *from, const struct field *kept, const struct field *to,
                          struct range planes)
{
    cuda_view<T> source = cuda_planes_view<T>(from), target = cuda_planes_view<T>(to),
                 input = cuda_planes_view<T>(kept != NULL ? kept : from);
    struct cuda_job job = {&device->limits, &routine->on_device,          &routine->settled.form,
                           &source,         kept != NULL ? &input : NULL, &target,
                           planes,          static_cast<int>(steps),      device->stream,
                           routine->scratch};

    return routine->settled.entry->rung->launch[from->work](&job);
}

#define KEEP_THREADS 256

/* Channels of many planes, in words of 16 bytes; those of a plane lie together. A two-dimensional copy of
   CUDA takes twice as long. */
__global__ void __launch_bounds__(KEEP_THREADS)
    keep_kernel(const float4 *from, float4 *to, long long plane, long long kept, long long planes)
{
    const long long i = static_cast<long long>(blockIdx.x) * KEEP_THREADS + threadIdx.x;

#pragma unroll 1
    for (long long p = blockIdx.y; i < kept && p < planes; p += gridDim.y)
        to[p * plane + i] = from[p * plane + i];
}

/* Copy channels that the op leaves alone over whatever the kernel computed for them. A joined average
   computes fewer than OP_AVERAGE, whose channels are all; those that it has freed hold nothing. */
static bool keep_channels(struct device *device, const struct op *op, const struct field *from,
                          struct field *to, struct range planes, struct fault *fault)
{
    const size_t channel = from->shape.rows * from->pitch * work_size(from->work) / sizeof(float4);
    const size_t plane = from->shape.channels * channel;
    const size_t before = (op->channels + (op->kind == OP_PASSES ? op->freed : 0)) * channel;
    const size_t kept = plane - before, most_planes = 65535;
    const dim3 grid(static_cast<unsigned>((kept + KEEP_THREADS - 1) / KEEP_THREADS),
                    static_cast<unsigned>(std::min(planes.count, most_planes)));
    const float4 *const source = static_cast<const float4 *>(from->samples) + before;
    float4 *const target = static_cast<float4 *>(to->samples) + before;

    return kept == 0 || planes.count == 0 ||
           cuda_device_check(CUDA_LAUNCH(device->stream, grid, dim3(KEEP_THREADS), 0, keep_kernel,
                                         source + (planes.first - from->planes.first) * plane,
                                         target + (planes.first - to->planes.first) * plane,
                                         static_cast<long long>(plane), static_cast<long long>(kept),
                                         static_cast<long long>(planes.count)),
                             device, "a copy", fault);
}

bool cuda_routine_advance(struct device *device, struct routine *routine, unsigned steps,
                          const struct field *from, const struct field *kept, struct field *to,
                          struct range planes, struct fault *fault)
{
    if (!cuda_planes_await_arrivals(device, from, fault) || !cuda_planes_await_takers(device, to, fault))
        return false;
    const cudaError_t error = cuda_with_work(from->work, [=](auto sample) {
        return launch<decltype(sample)>(device, routine, steps, from, kept, to, planes);
    });

    return cuda_device_check(error, device, routine->settled.entry->name->name, fault) &&
           keep_channels(device, routine->on_device.op, from, to, planes, fault);
}
