/* The CPU as a device: memory of the process, loops chosen for its instruction set, threads by OpenMP. */
#include "arith.h"
#include "backend.h"
#include "cpu_kernels.h"
#include "mem.h"

#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Forecasts assume a plain machine; --bench is for the real one. */
#define ASSUMED_BYTES_PER_SECOND 8e9
#define ASSUMED_TAPS_PER_SECOND  1.5e9 /* a thread */

struct device {
    const struct cpu_kernels *kernels;
    int threads;
};

static const struct rung cpu_rungs[] = {
    {"naive", "one step a pass, row by row; edge rules only where a row meets the edge"},
    {NULL, NULL},
};

static const struct cpu_kernels *fastest_kernels(void)
{
#ifdef HAVE_CPU_V3
    /* What x86-64-v3 adds and the kernels use; no compiler names the level itself in this call everywhere. */
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2"))
        return &cpu_kernels_v3;
#endif
    return &cpu_kernels_baseline;
}

/* VOXFILT_ISA lets tests compare the builds on one machine. */
static bool choose_kernels(struct device *device, struct fault *fault)
{
    const char *wanted = getenv("VOXFILT_ISA");

    device->kernels = fastest_kernels();
    if (wanted == NULL || strcmp(wanted, device->kernels->name) == 0)
        return true;
    if (strcmp(wanted, cpu_kernels_baseline.name) != 0)
        return fault_raise(fault, STATUS_DEVICE, "VOXFILT_ISA: %s: this build on this machine has %s%s%s",
                           wanted, cpu_kernels_baseline.name,
                           device->kernels == &cpu_kernels_baseline ? "" : " and ",
                           device->kernels == &cpu_kernels_baseline ? "" : device->kernels->name);
    device->kernels = &cpu_kernels_baseline;
    return true;
}

static void cpu_close(struct device *device)
{
    mem_free(device);
}

static bool cpu_open(struct device **result, const struct device_request *request, struct fault *fault)
{
    struct device *device = mem_zeroed(1, sizeof *device, "the device", fault);

    if (device == NULL)
        return false;
    device->threads = request->threads == 0 ? omp_get_max_threads() : (int)request->threads;
    if (!choose_kernels(device, fault)) {
        cpu_close(device);
        return false;
    }
    *result = device;
    return true;
}

static void cpu_describe(const struct device *device, char *text, size_t size)
{
    snprintf(text, size, "cpu, %d thread%s, %s instructions", device->threads,
             device->threads == 1 ? "" : "s", device->kernels->name);
}

static const struct rung *cpu_choose(const struct device *device, const struct op *op,
                                     const struct shape *shape, char *reason, size_t size)
{
    (void)device, (void)op, (void)shape;
    snprintf(reason, size, "the only rung of this device");
    return &cpu_rungs[0];
}

static unsigned cpu_fusable_steps(const struct device *device, const struct op *op, const struct shape *shape)
{
    (void)device, (void)op, (void)shape;
    return 1;
}

static struct forecast cpu_predict(const struct device *device, const struct op *op,
                                   const struct shape *shape)
{
    double samples = (double)shape->nx * (double)shape->rows * (double)shape->planes * shape->channels;
    double operands = (double)op->tap_count * (op->kind == OP_HEAT ? (double)op->inner : 1.0) + 1.0;
    double fields = op->kind == OP_UNSHARP ? 3.0 : 2.0;
    struct forecast forecast = {.bytes = fields * samples * (double)work_size(op->work)};

    forecast.seconds = fmax(forecast.bytes / ASSUMED_BYTES_PER_SECOND,
                            samples * operands / (ASSUMED_TAPS_PER_SECOND * device->threads));
    return forecast;
}

static void cpu_field_destroy(struct device *device, struct field *field)
{
    (void)device;
    if (field == NULL)
        return;
    mem_free(field->samples);
    mem_free(field);
}

static bool cpu_field_create(struct device *device, struct field **result, const struct shape *shape,
                             enum work_type work, struct range planes, struct fault *fault)
{
    struct field *field = mem_zeroed(1, sizeof *field, "a field", fault);

    if (field == NULL)
        return false;
    field->shape = *shape;
    field->work = work;
    field->planes = planes;
    field->samples = mem_alloc(planes.count, shape->channels * shape->rows * shape->nx * work_size(work),
                               "the planes", fault);
    if (field->samples == NULL) {
        cpu_field_destroy(device, field);
        return false;
    }
    *result = field;
    return true;
}

static bool cpu_upload(struct device *device, struct field *field, const struct encoding *encoding,
                       const void *samples, struct range planes, struct fault *fault)
{
    (void)fault;
    device->kernels->load(field, encoding, samples, planes, device->threads);
    return true;
}

static bool cpu_download(struct device *device, const struct field *field, const struct encoding *encoding,
                         void *samples, struct range planes, uint64_t *nans, struct fault *fault)
{
    (void)fault;
    *nans += device->kernels->store(field, encoding, samples, planes, device->threads);
    return true;
}

static bool cpu_advance(struct device *device, const struct op *op, unsigned steps, const struct field *from,
                        const struct field *kept, struct field *to, struct range planes, struct fault *fault)
{
    if (steps != 1)
        return fault_raise(fault, STATUS_FAILURE, "%u steps in one pass: this device takes 1", steps);
    device->kernels->advance(op, from, kept, to, planes, device->threads);
    return true;
}

static bool cpu_change(struct device *device, const struct field *a, const struct field *b, unsigned channels,
                       struct range planes, double *sums, struct fault *fault)
{
    size_t rows = a->shape.rows;
    double *row_sums = mem_alloc(channels * rows, sizeof *row_sums, "row sums", fault);

    if (row_sums == NULL)
        return false;
    for (size_t plane = planes.first; plane < planes.first + planes.count; plane++) {
        device->kernels->change_rows(a, b, channels, plane, row_sums, device->threads);
        for (unsigned channel = 0; channel < channels; channel++) {
            double plane_sum = 0.0;
            for (size_t row = 0; row < rows; row++)
                plane_sum += row_sums[channel * rows + row];
            sums[channel] += plane_sum;
        }
    }
    mem_free(row_sums);
    return true;
}

static const struct tally empty_tally = {.anchored = true, .min = INFINITY, .max = -INFINITY};

static void add_tally(struct tally *total, const struct tally *part)
{
    total->count += part->count;
    total->nans += part->nans;
    total->min = fmin(total->min, part->min);
    total->max = fmax(total->max, part->max);
    total->sum += part->sum;
    total->squares += part->squares;
    total->energy += part->energy;
}

/* The first sample of a channel is the anchor of all its sums. */
static void set_anchor(struct device *device, const struct encoding *encoding, const void *samples,
                       unsigned channel, struct tally *tally)
{
    struct shape first = {.nx = 1, .rows = 1, .planes = 1, .channels = 1};
    struct encoding single = *encoding;
    struct tally probe = empty_tally;

    single.channels = 1;
    device->kernels->survey_rows(
        &single, &first, (const unsigned char *)samples + channel * sample_size(encoding->type), &probe, 1);
    *tally = empty_tally;
    tally->anchor = probe.count == 1 && isfinite(probe.min) ? probe.min : 0.0;
}

static bool cpu_survey(struct device *device, const struct encoding *encoding, const struct shape *shape,
                       const void *samples, size_t planes, struct tally *tallies, struct fault *fault)
{
    size_t plane_bytes = shape->nx * shape->rows * encoding->channels * sample_size(encoding->type);
    struct tally *rows = mem_alloc(encoding->channels * shape->rows, sizeof *rows, "row sums", fault);

    if (rows == NULL)
        return false;
    for (size_t plane = 0; plane < planes; plane++) {
        const unsigned char *plane_samples = (const unsigned char *)samples + plane * plane_bytes;
        for (unsigned channel = 0; channel < encoding->channels; channel++) {
            if (!tallies[channel].anchored)
                set_anchor(device, encoding, plane_samples, channel, &tallies[channel]);
            for (size_t row = 0; row < shape->rows; row++) {
                rows[channel * shape->rows + row] = empty_tally;
                rows[channel * shape->rows + row].anchor = tallies[channel].anchor;
            }
        }
        device->kernels->survey_rows(encoding, shape, plane_samples, rows, device->threads);
        for (unsigned channel = 0; channel < encoding->channels; channel++) {
            struct tally sum = empty_tally;
            for (size_t row = 0; row < shape->rows; row++)
                add_tally(&sum, &rows[channel * shape->rows + row]);
            add_tally(&tallies[channel], &sum);
        }
    }
    mem_free(rows);
    return true;
}

const struct backend backend_cpu = {
    .name = "cpu",
    .rungs = cpu_rungs,
    .open = cpu_open,
    .close = cpu_close,
    .describe = cpu_describe,
    .choose = cpu_choose,
    .fusable_steps = cpu_fusable_steps,
    .predict = cpu_predict,
    .field_create = cpu_field_create,
    .field_destroy = cpu_field_destroy,
    .upload = cpu_upload,
    .download = cpu_download,
    .advance = cpu_advance,
    .change = cpu_change,
    .survey = cpu_survey,
};
