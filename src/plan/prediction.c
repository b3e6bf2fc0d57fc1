/* Predictions: how long a job should take on a device, or on several, by what was measured or is assumed. */
#include "prediction.h"

#include "base/threads.h"
#include "forms.h"

#include <math.h>

struct prediction_overhead prediction_overhead(const struct prediction_case *expected,
                                               const struct backend *backend)
{
    struct forecast forecast;

    if (expected->step_count == 0)
        return (struct prediction_overhead){0.0, 0.0};
    forecast = backend->predict(&expected->device, &expected->steps[0].step.ops[0], expected->shape, true);
    return (struct prediction_overhead){forecast.start, forecast.moving * expected->file_bytes};
}

/* Planes that go from device to device while the levels are computed: the copies, and the waits for them. */
#define ASSUMED_HANDING_BYTES_PER_SECOND 100e9
#define ASSUMED_HANDING_SECONDS          20e-6

/* One or several devices, and what is known of them. */
struct group {
    const struct backend *backend;
    size_t count;
    struct wisdom_entry alone, together; /* keys */
};

/* Updates a second of an op as measured; 0: nobody has. */
static double known_updates(const struct prediction_case *expected, struct wisdom_entry *key,
                            const struct op *op, bool single)
{
    const struct wisdom_entry *known;

    wisdom_name_problem(key, op, expected->shape, single);
    known = wisdom_find(expected->wisdom, key);
    return known != NULL ? known->updates : 0.0;
}

/* The time in which devices of a group hand planes over to each other before a step, where nothing hides it.
 */
static double handing_seconds(const struct prediction_case *expected, const struct group *group,
                              const struct op *op)
{
    double planes = (double)(op->plane.high - op->plane.low);
    double bytes = planes * expected->plane_samples * (double)work_size(expected->job->work);

    return group->count == 1 || bytes == 0.0
               ? 0.0
               : bytes / ASSUMED_HANDING_BYTES_PER_SECOND + ASSUMED_HANDING_SECONDS;
}

/* Seconds of a step of an op: by what was measured of the group, or of one of it; 0: nobody has. */
static double known_seconds(const struct prediction_case *expected, struct group *group, const struct op *op,
                            bool single)
{
    double together, alone;

    /* Wisdom was measured in fields of the work type. */
    if (group->backend->narrows && expected->shape->narrow)
        return 0.0;
    together = known_updates(expected, &group->together, op, single);
    if (together > 0.0)
        return expected->samples / together;
    alone = known_updates(expected, &group->alone, op, single);
    return alone == 0.0
               ? 0.0
               : expected->samples / alone / (double)group->count + handing_seconds(expected, group, op);
}

/* Or as the backend assumes of it. */
static double step_seconds(const struct prediction_case *expected, struct group *group, const struct op *op,
                           bool single)
{
    double known = known_seconds(expected, group, op, single);

    return known > 0.0
               ? known
               : expected->samples / (double)group->count /
                         group->backend->predict(&expected->device, op, expected->shape, single).updates +
                     handing_seconds(expected, group, op);
}

/* Seconds of all steps of an op by its form. */
static double form_seconds(const struct prediction_case *expected, const struct group *group,
                           const struct stage *stage, const struct form *form)
{
    double samples = expected->samples / (double)group->count;
    double passes = forms_passes(stage, form, expected->together);

    return samples * forms_total(stage, form, expected->together, form->step_seconds, form->pass_seconds) +
           passes * (double)expected->slabs * form->advance_seconds +
           (double)stage->steps * handing_seconds(expected, group, form->op);
}

/* Seconds of all steps of an op: by what was measured, by its form once it has one, or as the backend
   assumes. Steps that are looked at are taken one by one. */
static double op_seconds(const struct prediction_case *expected, struct group *group, size_t index, size_t k)
{
    const struct stage *stage = &expected->job->stages[index];
    const struct levels_step *step = &expected->steps[index];
    const struct op *op = &step->step.ops[k];
    double checks = (double)checks_count(&stage->checks), others = (double)stage->steps - checks;
    bool single = forms_is_single(stage, &step->step);

    if (step->forms[k].rung != NULL && known_seconds(expected, group, op, single) == 0.0)
        return form_seconds(expected, group, stage, &step->forms[k]);
    return others * step_seconds(expected, group, op, single) +
           (checks > 0.0 ? checks * step_seconds(expected, group, op, true) : 0.0);
}

/* Seconds for what is done to samples while they are converted, all in registers. */
static double predict_conversion(const struct prediction_case *expected, const struct group *group,
                                 const struct stage *stage)
{
    static const size_t costs[] = {
#define POINT(constant, name, syntax, least, most, a_name, b_name, c_name, intensity, cost, ...) cost,
#include "model/points.def"
    };
    const struct op op = {.kind = OP_POINT,
                          .work = expected->job->work,
                          .tap_count = costs[stage->body.point.kind],
                          .inner = stage->steps};

    if (stage->steps == 0)
        return 0.0;
    return expected->samples / (double)group->count /
           group->backend->predict(&expected->device, &op, expected->shape, true).updates;
}

/* The changes of steps that are looked at are added up. */
static double predict_stage(const struct prediction_case *expected, struct group *group, size_t index)
{
    const struct stage *stage = &expected->job->stages[index];
    const struct step *step = &expected->steps[index].step;
    double checks = (double)checks_count(&stage->checks), seconds = 0.0;

    if (stage->converted)
        return predict_conversion(expected, group, stage);
    for (size_t k = 0; k < step->count; k++)
        seconds += op_seconds(expected, group, index, k);
    if (checks > 0.0)
        seconds += checks * expected->samples / (double)group->count /
                   group->backend->predict(&expected->device, &step->ops[0], expected->shape, true).changes;
    return seconds;
}

/* The bytes that a thread reads from the system's cache a second, and those that a thread converts; as
   measured on a Zen 5. */
#define ASSUMED_READ_BYTES_PER_SECOND      7.7e9
#define ASSUMED_CONVERTED_BYTES_PER_SECOND 10e9

/* Of the threads that read, one is busy at a time. */
static double reading_seconds(const struct prediction_case *expected)
{
    return expected->read_bytes / ASSUMED_READ_BYTES_PER_SECOND;
}

static double converting_seconds(const struct prediction_case *expected)
{
    return expected->file_bytes / ASSUMED_CONVERTED_BYTES_PER_SECOND /
           (double)thread_count(expected->device.threads);
}

/* Whether a CPU reads while it computes, on a processor that does nothing else. */
static bool reads_aside(const struct prediction_case *expected)
{
    return !expected->held && thread_count(expected->device.threads) < thread_processors();
}

/* The time in which a CPU computes if other threads read meanwhile and have no processor of their own. A part
   of the reading falls into the time in which samples are converted. The thread that reads gets as much of
   the processors as each thread that computes. Writing was found to take little from computing. */
static double beside_reading(const struct prediction_case *expected, double seconds)
{
    const double threads = (double)thread_count(expected->device.threads);
    const double reading = reading_seconds(expected) / (double)thread_processors();

    if (expected->held || reads_aside(expected) || seconds == 0.0)
        return seconds;
    return fmin(seconds + reading * seconds / (seconds + converting_seconds(expected)),
                seconds * (threads + 1.0) / threads);
}

static double predict_computing(const struct prediction_case *expected, const struct backend *backend,
                                int index, size_t count)
{
    struct group group = {.backend = backend, .count = count};
    double seconds = 0.0;

    wisdom_name_device(&group.alone, backend, index, expected->device.threads, 1);
    group.together = group.alone;
    if (count > 1)
        wisdom_name_device(&group.together, backend, index, expected->device.threads, count);
    for (size_t i = 0; i < expected->step_count; i++)
        seconds += predict_stage(expected, &group, i);
    return seconds;
}

/* Reading hides behind what a GPU does, and behind what a CPU does that has a processor left. If all
   processors compute, a run was found to take about the sum. */
double prediction_alone(const struct prediction_case *expected, const struct backend *backend, int index)
{
    struct prediction_overhead overhead = prediction_overhead(expected, backend);
    double computing = predict_computing(expected, backend, index, 1), reading = reading_seconds(expected);

    if (backend != &backend_cpu)
        return overhead.start + fmax(fmax(overhead.moving, reading), computing);
    computing += converting_seconds(expected);
    return reads_aside(expected) ? fmax(reading, computing) : reading + computing;
}

/* The driver makes contexts one after the other, whoever asks, and takes them apart likewise: a second H200
   cost 0.1 s at the start and 0.1 s at the end of the process. */
#define ASSUMED_FURTHER_SECONDS 0.2

/* Several devices hold all planes before a level begins and until the last one ends, so moving them hides
 * nothing. */
double prediction_together(const struct prediction_case *expected, const struct devices *devices)
{
    struct prediction_overhead overhead;

    if (devices->count == 1)
        return prediction_alone(expected, devices->backend, devices->indices[0]);
    overhead = prediction_overhead(expected, devices->backend);
    return overhead.start + ASSUMED_FURTHER_SECONDS * (double)(devices->count - 1) +
           fmax(overhead.moving, reading_seconds(expected)) +
           predict_computing(expected, devices->backend, devices->indices[0], devices->count);
}

double prediction_computing(const struct prediction_case *expected, const struct devices *devices)
{
    const double seconds = predict_computing(expected, devices->backend, devices->indices[0], devices->count);

    return devices->backend == &backend_cpu ? beside_reading(expected, seconds) : seconds;
}
