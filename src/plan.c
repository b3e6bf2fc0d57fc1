/* Plans: what will run for a job, on which device, in how much memory, and how long that should take. */
#include "plan.h"

#include "mem.h"
#include "number.h"
#include "wisdom.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

/* Planes pass between files and device in batches of about this size: large enough for the loops over them to
   run in parallel, small beside any field. */
#define BATCH_BYTES ((size_t)16 << 20)

/* What one call of the backend advances, so that progress is seen while a large field is computed. */
#define SLAB_BYTES ((size_t)256 << 20)

const struct backend *const plan_backends[] = {
#ifdef HAVE_CUDA
    &backend_cuda,
#endif
    &backend_cpu,
    NULL,
};

/* A device that a plan may take: a backend and which of its devices. */
struct candidate {
    const struct backend *backend;
    int index;
    bool automatic;
    double seconds; /* predicted for the whole job */
};

static bool lower_stages(struct plan *plan, struct fault *fault)
{
    const struct job *job = plan->job;

    plan->steps = mem_zeroed(job->stage_count, sizeof *plan->steps, "the plan", fault);
    if (plan->steps == NULL)
        return false;
    for (; plan->step_count < job->stage_count; plan->step_count++) {
        const struct stage *stage = &job->stages[plan->step_count];
        struct plan_step *step = &plan->steps[plan->step_count];
        if (!lower_stage(stage, &job->in.grid, &job->decode, job->work, &step->step, fault))
            return false;
        step->keeps = step->step.keeps || stage->until > 0.0;
    }
    return true;
}

/* One field to read and one to write; a third where a step of several operations needs its input until its
   end; none to copy. */
static size_t count_fields(const struct plan *plan)
{
    size_t fields = plan->job->copies ? 0 : 2;

    for (size_t i = 0; i < plan->step_count; i++) {
        if (plan->steps[i].keeps && plan->steps[i].step.count > 1)
            fields = 3;
    }
    return fields;
}

static size_t planes_of(size_t bytes, size_t plane_bytes, size_t planes)
{
    size_t count = plane_bytes >= bytes ? 1 : bytes / plane_bytes;

    return count < planes ? count : planes;
}

static bool measure_memory(struct plan *plan, struct fault *fault)
{
    const struct job *job = plan->job;
    size_t planes = plan->shape.planes;
    size_t in_plane = header_plane_bytes(&job->in), out_plane = header_plane_bytes(&job->out);
    size_t plane_bytes = in_plane > out_plane ? in_plane : out_plane;
    size_t field_plane = plan->backend->field_bytes(&plan->shape, job->work, 1);
    size_t fields_bytes;

    plan->batch = planes_of(BATCH_BYTES, plane_bytes, planes);
    plan->batch_bytes = plan->batch * plane_bytes;
    plan->slab = planes_of(SLAB_BYTES, field_plane, planes);
    plan->field_count = count_fields(plan);
    if (!mem_product(&plan->field_bytes, field_plane, planes) ||
        !mem_product(&fields_bytes, plan->field_bytes, plan->field_count) ||
        fields_bytes > SIZE_MAX - plan->batch_bytes - plan->held_bytes)
        return fault_raise(fault, STATUS_LIMIT, "the grid is too large for this machine's addresses");
    plan->memory_bytes = fields_bytes + plan->batch_bytes + plan->held_bytes;
    return true;
}

static bool check_memory(const struct plan *plan, uint64_t limit, struct fault *fault)
{
    char needed[32], allowed[32];

    if (limit == 0 || plan->memory_bytes <= limit)
        return true;
    return fault_raise(fault, STATUS_LIMIT, "--memory: this job needs %s (%zu bytes), and %s are allowed",
                       number_format_bytes((double)plan->memory_bytes, needed, sizeof needed),
                       plan->memory_bytes, number_format_bytes((double)limit, allowed, sizeof allowed));
}

static bool check_device_memory(const struct plan *plan, struct fault *fault)
{
    uint64_t room = plan->backend->memory(plan->device);
    size_t fields = plan->field_count * plan->field_bytes;
    char needed[32], there[32];

    if (room == 0 || fields <= room)
        return true;
    return fault_raise(fault, STATUS_LIMIT, "%s: the grid takes %s there, and %s are free", plan->device_name,
                       number_format_bytes((double)fields, needed, sizeof needed),
                       number_format_bytes((double)room, there, sizeof there));
}

static double sample_updates(const struct plan *plan)
{
    const struct shape *shape = &plan->shape;

    return (double)shape->nx * (double)shape->rows * (double)shape->planes * shape->channels;
}

/* Seconds that a backend should take, from its start to the last sample back on the host. */
static double predict(const struct plan_request *request, const struct plan *plan,
                      const struct backend *backend, int index)
{
    const struct device_request device = {.index = index, .threads = request->threads};
    const struct header *in = &plan->job->in, *out = &plan->job->out;
    double file_bytes =
        (double)plan->shape.planes * (double)(header_plane_bytes(in) + header_plane_bytes(out));
    double seconds = 0.0;

    for (size_t i = 0; i < plan->step_count; i++) {
        const struct step *step = &plan->steps[i].step;
        for (size_t k = 0; k < step->count; k++) {
            struct forecast forecast = backend->predict(&device, &step->ops[k], &plan->shape);
            if (i == 0 && k == 0)
                seconds += forecast.start + forecast.moving * file_bytes;
            seconds += (double)plan->job->stages[i].steps * sample_updates(plan) / forecast.updates;
        }
    }
    return seconds;
}

/* CUDA reserves far more addresses than it uses: where they are limited it is not started unasked. */
static bool addresses_are_limited(void)
{
    struct rlimit limit;

    return getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

/* The cheapest device by predicted time. */
static void choose_automatically(const struct plan_request *request, struct plan *plan,
                                 struct candidate *chosen)
{
    *chosen = (struct candidate){&backend_cpu, 0, true, predict(request, plan, &backend_cpu, 0)};
    snprintf(plan->device_reason, sizeof plan->device_reason, "%.3g s predicted", chosen->seconds);
    for (size_t i = 0; plan_backends[i] != NULL; i++) {
        const struct backend *backend = plan_backends[i];
        double seconds;
        if (backend == &backend_cpu || plan->job->copies)
            continue;
        seconds = predict(request, plan, backend, 0);
        if (seconds >= chosen->seconds) {
            snprintf(plan->device_reason, sizeof plan->device_reason,
                     "%.3g s predicted; %s would take %.3g s", chosen->seconds, backend->name, seconds);
        } else if (addresses_are_limited()) {
            snprintf(plan->device_reason, sizeof plan->device_reason,
                     "%s is not started: addresses are limited", backend->name);
        } else if (backend->count() > 0) {
            snprintf(plan->device_reason, sizeof plan->device_reason,
                     "%.3g s predicted; %s would take %.3g s", seconds, chosen->backend->name,
                     chosen->seconds);
            *chosen = (struct candidate){backend, 0, true, seconds};
        }
    }
}

/* "cuda:1" → a backend and an index. */
static bool choose_by_name(const char *name, struct candidate *chosen, struct fault *fault)
{
    for (size_t i = 0; plan_backends[i] != NULL; i++) {
        const struct backend *backend = plan_backends[i];
        size_t length = strlen(backend->name);
        uint64_t index = 0;
        if (strncmp(name, backend->name, length) != 0)
            continue;
        if (name[length] != '\0' && (name[length] != ':' || !number_parse_count(name + length + 1, &index)))
            continue;
        if (index >= backend->count())
            return fault_raise(fault, STATUS_DEVICE, "--device: %s: this machine has %u", name,
                               backend->count());
        *chosen = (struct candidate){.backend = backend, .index = (int)index};
        return true;
    }
    return fault_raise(fault, STATUS_USAGE, "--device: %s: no such device (--list names them)", name);
}

bool plan_find_device(const struct plan_request *request, const struct backend **backend, int *index,
                      struct fault *fault)
{
    struct candidate chosen = {.backend = &backend_cpu};

    if (request->device != NULL && strcmp(request->device, "auto") != 0) {
        if (!choose_by_name(request->device, &chosen, fault))
            return false;
    } else {
        for (size_t i = 0; plan_backends[i] != NULL && chosen.backend == &backend_cpu; i++) {
            if (plan_backends[i]->count() > 0)
                chosen.backend = plan_backends[i];
        }
    }
    *backend = chosen.backend;
    *index = chosen.index;
    return true;
}

static bool is_free(const struct rung_wish *wish)
{
    return wish->rung == NULL && wish->tile_x == 0 && wish->coarsen == 0;
}

/* Wisdom stands in for a wish that the user does not have; where it no longer fits the device, nothing is
 * lost. */
static bool prepare_by_wisdom(struct plan *plan, const struct op *op, struct routine **routine)
{
    struct wisdom_entry entry;
    struct rung_wish wish = {.rung = entry.rung};
    struct fault refusal;

    wisdom_name(&entry, plan->device_text, op, &plan->shape);
    if (!wisdom_find(&entry))
        return false;
    wish.tile_x = entry.tile_x;
    wish.tile_y = entry.tile_y;
    wish.coarsen = entry.coarsen;
    wish.stride = entry.stride;
    wish.reason = "measured to be fastest here: wisdom";
    return plan->backend->prepare(plan->device, op, &plan->shape, &wish, routine, &refusal);
}

static bool prepare_routines(const struct plan_request *request, struct plan *plan, struct fault *fault)
{
    for (size_t i = 0; i < plan->step_count; i++) {
        struct plan_step *step = &plan->steps[i];
        for (size_t k = 0; k < step->step.count; k++) {
            const struct op *op = &step->step.ops[k];
            if (is_free(&request->wish) && prepare_by_wisdom(plan, op, &step->routines[k]))
                continue;
            if (!plan->backend->prepare(plan->device, op, &plan->shape, &request->wish, &step->routines[k],
                                        fault))
                return false;
        }
    }
    return true;
}

static void release_routines(struct plan *plan)
{
    for (size_t i = 0; i < plan->step_count; i++) {
        for (size_t k = 0; k < LOWER_OPS; k++) {
            if (plan->steps[i].routines[k] != NULL)
                plan->backend->release(plan->device, plan->steps[i].routines[k]);
            plan->steps[i].routines[k] = NULL;
        }
    }
}

static void close_device(struct plan *plan)
{
    if (plan->device == NULL)
        return;
    release_routines(plan);
    plan->backend->close(plan->device);
    plan->device = NULL;
}

static void name_device(struct plan *plan, const struct candidate *candidate)
{
    if (candidate->backend->count() > 1)
        snprintf(plan->device_name, sizeof plan->device_name, "%s:%d", candidate->backend->name,
                 candidate->index);
    else
        snprintf(plan->device_name, sizeof plan->device_name, "%s", candidate->backend->name);
    candidate->backend->describe(candidate->index, plan->device_text, sizeof plan->device_text);
}

/* Make the plan whole on a device; what fails leaves the device closed. */
static bool settle_on(const struct plan_request *request, struct plan *plan,
                      const struct candidate *candidate, struct fault *fault)
{
    const struct device_request device = {
        .index = candidate->index, .threads = request->threads, .memory = request->memory};

    plan->backend = candidate->backend;
    name_device(plan, candidate);
    if (measure_memory(plan, fault) && check_memory(plan, request->memory, fault) &&
        plan->backend->open(&plan->device, &device, fault) && check_device_memory(plan, fault) &&
        prepare_routines(request, plan, fault)) {
        plan->seconds = predict(request, plan, candidate->backend, candidate->index);
        return true;
    }
    close_device(plan);
    return false;
}

static void forecast_bytes(struct plan *plan)
{
    for (size_t i = 0; i < plan->step_count; i++) {
        for (size_t k = 0; k < plan->steps[i].step.count; k++) {
            const struct routine_facts *facts = plan->backend->facts(plan->steps[i].routines[k]);
            plan->moved_bytes +=
                (double)plan->job->stages[i].steps * sample_updates(plan) * facts->bytes_per_update;
        }
    }
}

static bool fill(const struct plan_request *request, struct plan *plan, struct fault *fault)
{
    const struct candidate cpu = {.backend = &backend_cpu};
    struct candidate chosen;

    if (!plan->job->copies && !lower_stages(plan, fault))
        return false;
    if (request->device != NULL && strcmp(request->device, "auto") != 0) {
        if (!choose_by_name(request->device, &chosen, fault))
            return false;
    } else {
        choose_automatically(request, plan, &chosen);
    }
    if (!settle_on(request, plan, &chosen, fault)) {
        if (!chosen.automatic || chosen.backend == &backend_cpu || fault->status == STATUS_USAGE)
            return false;
        diag_note("%s; computing on the CPU", fault->text);
        snprintf(plan->device_reason, sizeof plan->device_reason, "%s failed", chosen.backend->name);
        if (!settle_on(request, plan, &cpu, fault))
            return false;
    }
    forecast_bytes(plan);
    return true;
}

bool plan_make(const struct plan_request *request, const struct job *job, size_t held_bytes,
               struct plan *plan, struct fault *fault)
{
    *plan = (struct plan){.job = job,
                          .shape = lower_shape(&job->in.grid, encoding_work_channels(&job->decode)),
                          .held_bytes = held_bytes};
    if (fill(request, plan, fault))
        return true;
    plan_free(plan);
    return false;
}

void plan_free(struct plan *plan)
{
    close_device(plan);
    for (size_t i = 0; i < plan->step_count; i++)
        lower_free(&plan->steps[i].step);
    mem_free(plan->steps);
    *plan = (struct plan){0};
}
