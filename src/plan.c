/* Plans: what will run for a job, on which device, in how much memory, and how long that should take. */
#include "plan.h"

#include "mem.h"
#include "number.h"

#include <string.h>

/* Planes pass between files and device in batches of about this size: large enough for the loops over them to
   run in parallel, small beside any field. */
#define BATCH_BYTES ((size_t)4 << 20)

/* What one call of the backend advances, so that progress is seen while a large field is computed. */
#define SLAB_BYTES ((size_t)64 << 20)

const struct backend *const plan_backends[] = {&backend_cpu, NULL};

static bool choose_backend(const char *name, const struct backend **backend, struct fault *fault)
{
    *backend = &backend_cpu;
    if (name == NULL || strcmp(name, "auto") == 0)
        return true;
    for (size_t i = 0; plan_backends[i] != NULL; i++) {
        if (strcmp(name, plan_backends[i]->name) == 0) {
            *backend = plan_backends[i];
            return true;
        }
    }
    return fault_raise(fault, STATUS_USAGE, "--device: %s: no such device: this version computes on the CPU",
                       name);
}

static bool lower_stages(struct plan *plan, struct fault *fault)
{
    const struct job *job = plan->job;

    plan->steps = mem_zeroed(job->stage_count, sizeof *plan->steps, "the plan", fault);
    if (plan->steps == NULL)
        return false;
    for (; plan->step_count < job->stage_count; plan->step_count++) {
        if (!lower_stage(&job->stages[plan->step_count], &job->in.grid, &job->decode, job->work,
                         &plan->steps[plan->step_count], fault))
            return false;
    }
    return true;
}

bool plan_keeps_input(const struct plan *plan, size_t stage)
{
    return plan->steps[stage].keeps || plan->job->stages[stage].until > 0.0;
}

/* One field to read and one to write; a third where a step of several operations needs its input until its
   end; none to copy. */
static size_t count_fields(const struct plan *plan)
{
    size_t fields = plan->job->copies ? 0 : 2;

    for (size_t i = 0; i < plan->step_count; i++) {
        if (plan_keeps_input(plan, i) && plan->steps[i].count > 1)
            fields = 3;
    }
    return fields;
}

/* The planes of a field that one call of the backend advances. */
static size_t slab_planes(size_t field_plane_bytes, size_t planes)
{
    size_t slab = field_plane_bytes >= SLAB_BYTES ? 1 : SLAB_BYTES / field_plane_bytes;

    return slab < planes ? slab : planes;
}

static bool add_bytes(size_t *total, size_t bytes)
{
    *total += bytes;
    return *total >= bytes;
}

static bool measure_memory(struct plan *plan, struct fault *fault)
{
    const struct job *job = plan->job;
    const struct shape *shape = &plan->shape;
    size_t in_plane = header_plane_bytes(&job->in), out_plane = header_plane_bytes(&job->out);
    size_t plane_bytes = in_plane > out_plane ? in_plane : out_plane;
    size_t field_plane = shape->nx * shape->rows;
    size_t fields_bytes;

    plan->batch = plane_bytes >= BATCH_BYTES ? 1 : BATCH_BYTES / plane_bytes;
    if (plan->batch > shape->planes)
        plan->batch = shape->planes;
    plan->batch_bytes = plan->batch * plane_bytes;
    plan->field_count = count_fields(plan);
    plan->memory_bytes = plan->batch_bytes;
    if (!mem_product(&field_plane, field_plane, shape->channels * work_size(job->work)) ||
        !mem_product(&plan->field_bytes, field_plane, shape->planes) ||
        !mem_product(&fields_bytes, plan->field_bytes, plan->field_count) ||
        !add_bytes(&plan->memory_bytes, fields_bytes) || !add_bytes(&plan->memory_bytes, plan->held_bytes))
        return fault_raise(fault, STATUS_LIMIT, "the grid is too large for this machine's addresses");
    plan->slab = slab_planes(field_plane, shape->planes);
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

static bool check_rungs(const struct plan *plan, struct fault *fault)
{
    char reason[256];

    for (size_t i = 0; i < plan->step_count; i++) {
        for (size_t k = 0; k < plan->steps[i].count; k++) {
            if (plan->backend->choose(plan->device, &plan->steps[i].ops[k], &plan->shape, reason,
                                      sizeof reason) == NULL)
                return fault_raise(fault, STATUS_DEVICE, "--device: %s cannot run %s: %s",
                                   plan->backend->name, plan->job->stages[i].spec, reason);
        }
    }
    return true;
}

static void forecast(struct plan *plan)
{
    for (size_t i = 0; i < plan->step_count; i++) {
        double times = (double)plan->job->stages[i].steps;
        for (size_t k = 0; k < plan->steps[i].count; k++) {
            struct forecast cost = plan->backend->predict(plan->device, &plan->steps[i].ops[k], &plan->shape);
            plan->moved_bytes += times * cost.bytes;
            plan->seconds += times * cost.seconds;
        }
    }
}

static bool fill(const struct plan_request *request, struct plan *plan, struct fault *fault)
{
    const struct device_request device = {.threads = request->threads};

    if (!choose_backend(request->device, &plan->backend, fault))
        return false;
    if (!plan->job->copies && !lower_stages(plan, fault))
        return false;
    if (!measure_memory(plan, fault) || !check_memory(plan, request->memory, fault))
        return false;
    if (!plan->backend->open(&plan->device, &device, fault) || !check_rungs(plan, fault))
        return false;
    forecast(plan);
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
    for (size_t i = 0; i < plan->step_count; i++)
        lower_free(&plan->steps[i]);
    mem_free(plan->steps);
    if (plan->device != NULL)
        plan->backend->close(plan->device);
    *plan = (struct plan){0};
}
