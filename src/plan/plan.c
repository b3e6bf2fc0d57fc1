/* Plans: what will run for a job, on which device, in how much memory, and how long that should take. */
#include "plan.h"

#include "base/clock.h"
#include "base/crew.h"
#include "base/machine.h"
#include "base/mem.h"
#include "base/number.h"
#include "base/size.h"
#include "base/thread.h"
#include "format/slice.h"
#include "part.h"
#include "prediction.h"
#include "scheduler.h"

#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Threads that read a file at once, and that write one: these move more than a device computes. */
#define MOST_CARRIERS 4

/* What a plan may take. */
struct candidate {
    struct devices devices; /* one, or several together */
    bool automatic;
    double seconds; /* predicted for the whole job */
};

static struct devices first_of(const struct backend *backend)
{
    return (struct devices){.backend = backend, .count = 1};
}

static bool lower_stages(struct plan *plan, struct fault *fault)
{
    const struct job *job = plan->job;

    plan->steps = mem_zeroed(job->stage_count, sizeof *plan->steps, "the plan", fault);
    if (plan->steps == NULL)
        return false;
    for (; plan->step_count < job->stage_count; plan->step_count++) {
        const struct stage *stage = &job->stages[plan->step_count];
        struct levels_step *step = &plan->steps[plan->step_count];
        if (stage->converted)
            continue;
        if (!lower_stage(stage, &job->in.grid, &job->field, job->work, &step->step, fault))
            return false;
        step->keeps = step->step.keeps || stage->until > 0.0;
    }
    return true;
}

/* Two processors are busy with reading, computing and writing as it is. */
static unsigned count_carriers(const struct plan_request *request)
{
    size_t threads = thread_count(request->threads);

    if (threads < 4)
        return 1;
    return (unsigned)size_least(threads / 2, MOST_CARRIERS);
}

struct range plan_window(const struct plan *plan)
{
    const struct range all = {0, plan->shape.planes};
    const struct schedule *schedule = &plan->schedule;
    const struct shares *portions = &plan->portions;
    bool at_once = !schedule->whole && (!schedule->spooled || schedule->passes == 1);

    if (portions->count > 1)
        return shares_own(portions, portions->first);
    return at_once ? job_window(plan->job) : all;
}

size_t plan_beside(const struct plan *plan)
{
    const struct levels *levels = &plan->levels;
    const struct levels_walk survey = levels_survey(levels, levels_begin(), levels_end(levels));

    return survey.depth < levels->planes ? survey.level.lag : levels->planes;
}

double plan_samples(const struct plan *plan, size_t planes)
{
    return lower_samples(&plan->shape, planes);
}

static struct prediction_case case_of(const struct plan_request *request, const struct plan *plan)
{
    return (struct prediction_case){.job = plan->job,
                                    .shape = &plan->shape,
                                    .steps = plan->steps,
                                    .step_count = plan->step_count,
                                    .threads = request->threads,
                                    .memory = request->memory,
                                    .wisdom = request->wisdom};
}

static struct device_request device_request_of(const struct plan_request *request, int index)
{
    return (struct device_request){.index = index, .threads = request->threads, .memory = request->memory};
}

static bool has_rung(const struct rung *rungs, const char *name)
{
    if (name == NULL)
        return true;
    for (; rungs->name != NULL; rungs++) {
        if (strcmp(rungs->name, name) == 0)
            return true;
    }
    return false;
}

/* Whether the backend has all rungs that are asked for by name. */
static bool knows_wishes(const struct plan_request *request, const struct backend *backend)
{
    return has_rung(backend->rungs, request->wish.rung) && has_rung(backend->sum_rungs, request->sums.rung);
}

static void give_reason(struct plan *plan, const char *format, ...) DIAG_PRINTF(2, 3);

static void give_reason(struct plan *plan, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(plan->device_reason, sizeof plan->device_reason, format, arguments);
    va_end(arguments);
}

/* Someone may have use for the time. */
static void tell_of_start(const struct plan_request *request)
{
    if (request->on_start != NULL)
        request->on_start(request->listener);
}

/* Take a backend's first device if it should be done sooner than what was chosen, or if it alone has the rung
   that is asked for. Where its start takes longer than the others' whole run it is not even looked for. */
static void consider(const struct plan_request *request, struct plan *plan, const struct backend *backend,
                     struct candidate *chosen)
{
    bool needed = !knows_wishes(request, chosen->devices.backend);
    const struct prediction_case expected = case_of(request, plan);
    struct prediction_overhead overhead = prediction_overhead(&expected, backend);
    double least = overhead.start + overhead.moving, seconds;
    char own[32], other[32];

    if (!knows_wishes(request, backend))
        return;
    if (!needed && least >= chosen->seconds) {
        number_format_seconds(least, other, sizeof other);
        give_reason(plan, "%s predicted; %s would take %s to start and to move the samples",
                    number_format_seconds(chosen->seconds, own, sizeof own), backend->name, other);
        return;
    }
    /* It reserves far more of them than it uses. */
    if (machine_limits_addresses()) {
        give_reason(plan, "%s is not started: the address space is limited", backend->name);
        return;
    }
    tell_of_start(request);
    if (backend->count() == 0)
        return;
    seconds = prediction_alone(&expected, backend, 0);
    if (!needed && seconds >= chosen->seconds) {
        number_format_seconds(seconds, other, sizeof other);
        give_reason(plan, "%s predicted; %s would take %s",
                    number_format_seconds(chosen->seconds, own, sizeof own), backend->name, other);
        return;
    }
    number_format_seconds(seconds, own, sizeof own);
    if (needed)
        give_reason(plan, "it has the requested rung; %s predicted", own);
    else
        give_reason(plan, "%s predicted; %s would take %s", own, chosen->devices.backend->name,
                    number_format_seconds(chosen->seconds, other, sizeof other));
    *chosen = (struct candidate){first_of(backend), true, seconds};
    if (request->spread)
        chosen->devices.indices[0] = (int)(request->member % backend->count());
}

/* The cheapest device by predicted time. */
static void choose_automatically(const struct plan_request *request, struct plan *plan,
                                 struct candidate *chosen)
{
    const struct prediction_case expected = case_of(request, plan);
    char text[32];

    *chosen = (struct candidate){first_of(&backend_cpu), true, prediction_alone(&expected, &backend_cpu, 0)};
    give_reason(plan, "%s predicted", number_format_seconds(chosen->seconds, text, sizeof text));
    for (size_t i = 0; devices_backends[i] != NULL; i++) {
        if (devices_backends[i] != &backend_cpu && !plan->job->copies)
            consider(request, plan, devices_backends[i], chosen);
    }
}

/* Of the devices that are named, that which the request says, or all of them. */
static bool choose_by_name(const struct plan_request *request, struct devices *chosen, struct fault *fault)
{
    char all[64];

    if (!devices_find(request->device, chosen, fault))
        return false;
    if (request->spread && strchr(request->device, ':') == NULL) {
        snprintf(all, sizeof all, "%s:all", request->device);
        if (!devices_find(all, chosen, fault))
            return false;
    }
    if (request->alone) {
        chosen->indices[0] = chosen->indices[request->member % chosen->count];
        chosen->count = 1;
    }
    return true;
}

bool plan_chooses_device(const struct plan_request *request)
{
    return request->device == NULL || strcmp(request->device, "auto") == 0;
}

bool plan_names_device(const struct plan_request *request)
{
    const struct backend *named = plan_chooses_device(request) ? NULL : devices_backend(request->device);

    return named != NULL && named != &backend_cpu;
}

struct warm_up {
    const struct backend *backend;
    int index;
    pthread_t thread;
    bool runs;
};

static void *warm_up_one(void *data)
{
    const struct warm_up *one = data;

    one->backend->warm_up(one->index);
    return NULL;
}

/* All at the same time, the first by this thread. */
void plan_warm_up(const struct plan_request *request)
{
    struct warm_up each[DEVICES_MOST];
    struct devices chosen;
    struct fault refusal;

    if (!choose_by_name(request, &chosen, &refusal))
        return;
    for (size_t i = 1; i < chosen.count; i++) {
        each[i] = (struct warm_up){.backend = chosen.backend, .index = chosen.indices[i]};
        each[i].runs = thread_start_roomy(&each[i].thread, warm_up_one, &each[i]);
    }
    chosen.backend->warm_up(chosen.indices[0]);
    for (size_t i = 1; i < chosen.count; i++) {
        if (each[i].runs)
            pthread_join(each[i].thread, NULL);
    }
}

static struct levels levels_of(const struct plan *plan)
{
    return (struct levels){.stages = plan->job->stages,
                           .steps = plan->steps,
                           .stage_count = plan->step_count,
                           .planes = plan->shape.planes};
}

/* Why several devices cannot share the job; NULL where they can. */
static const char *keeps_alone(const struct plan *plan)
{
    if (plan->job->copies)
        return "identity alone is copied: nothing is computed";
    return plan->shape.planes < 2 ? "there is only one plane" : NULL;
}

/* As many as are predicted to be done first, where all may be taken; more than planes never help. */
static void choose_fastest(const struct plan_request *request, struct plan *plan, struct devices *devices)
{
    const struct prediction_case expected = case_of(request, plan);
    struct devices some = *devices;
    double least = 0.0;
    char text[32];

    for (some.count = 1; some.count <= devices->count; some.count++) {
        double seconds = prediction_together(&expected, &some);
        if (some.count > 1 && seconds >= least)
            break;
        least = seconds;
    }
    give_reason(plan, "%s predicted for %zu of %zu", number_format_seconds(least, text, sizeof text),
                some.count - 1, devices->count);
    devices->count = some.count - 1;
}

/* How many of the devices that are named a run takes. */
static bool choose_count(const struct plan_request *request, struct plan *plan, struct devices *devices,
                         struct fault *fault)
{
    const char *why = devices->count > 1 ? keeps_alone(plan) : NULL;

    if (devices->count > 1 && plan->job->region_kind == REGION_PART && !devices->all)
        return fault_raise(fault, STATUS_USAGE, "--device: %s: --part takes one device", request->device);
    if (why != NULL || plan->job->region_kind == REGION_PART) {
        if (why != NULL && !devices->all)
            snprintf(plan->alone, sizeof plan->alone, "%s", why);
        devices->count = 1;
    }
    if (devices->count > plan->shape.planes)
        devices->count = plan->shape.planes;
    if (devices->all && devices->count > 1)
        choose_fastest(request, plan, devices);
    return true;
}

bool plan_find_devices(const struct plan_request *request, struct devices *devices, struct fault *fault)
{
    if (!plan_chooses_device(request))
        return devices_find(request->device, devices, fault);
    *devices = first_of(&backend_cpu);
    for (size_t i = 0; devices_backends[i] != NULL && devices->backend == &backend_cpu; i++) {
        if (devices_backends[i]->count() > 0)
            devices->backend = devices_backends[i];
    }
    return true;
}

static size_t opened(const struct plan *plan)
{
    size_t count = 0;

    while (count < DEVICES_MOST && plan->lanes[count].device != NULL)
        count++;
    return count;
}

/* What the one that has the least may take. */
static uint64_t least_memory(const struct plan *plan)
{
    uint64_t least = plan->lanes[0].backend->memory(plan->lanes[0].device);

    for (size_t i = 1; i < opened(plan); i++) {
        uint64_t memory = plan->lanes[i].backend->memory(plan->lanes[i].device);
        least = memory < least ? memory : least;
    }
    return least;
}

static void keep_first(struct plan *plan)
{
    plan->shares = (struct shares){.planes = plan->shape.planes, .count = 1, .held = 1};
    for (size_t i = 1; i < DEVICES_MOST; i++)
        lane_close(&plan->lanes[i]);
}

/* Whether every two of so many lanes reach each other's memory. */
static bool all_reach(const struct plan *plan, size_t count)
{
    const struct lane *lanes = plan->lanes;
    bool reach = true;

    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < count; k++)
            reach = reach && (i == k || lanes[i].backend->reaches(lanes[i].index, lanes[k].index));
    }
    return reach;
}

/* All planes on the devices that are open; false where that does not fit. */
static bool share(struct plan *plan, const struct schedule_request *request)
{
    size_t count = opened(plan);

    plan->levels.unrolled = levels_wraps(&plan->levels);
    if (scheduler_share(request, count, &plan->schedule)) {
        plan->shares = (struct shares){.planes = plan->shape.planes,
                                       .count = count,
                                       .held = count,
                                       .halo = plan->schedule.halo,
                                       .direct = all_reach(plan, count),
                                       .around = plan->levels.unrolled};
        return true;
    }
    plan->levels.unrolled = false;
    snprintf(plan->alone, sizeof plan->alone, "the grid is too large for the memory of %zu together", count);
    return false;
}

/* Some of them on the one device that is open, the others on those of other processes. */
static bool share_with_others(struct plan *plan, const struct schedule_request *request, struct fault *fault)
{
    const struct job *job = plan->job;

    keep_first(plan);
    plan->levels.unrolled = levels_wraps(&plan->levels);
    if (!scheduler_share(request, job->members, &plan->schedule))
        return fault_raise(fault, STATUS_LIMIT, "the grid is too large for the memory of all ranks together");
    plan->shares = (struct shares){.planes = plan->shape.planes,
                                   .count = job->members,
                                   .first = job->member,
                                   .held = 1,
                                   .halo = plan->schedule.halo,
                                   .around = plan->levels.unrolled};
    return true;
}

/* The same planes in every pass. */
static bool make_passes_with_others(struct plan *plan, const struct schedule_request *request,
                                    struct fault *fault)
{
    const struct job *job = plan->job;

    keep_first(plan);
    plan->portions =
        (struct shares){.planes = plan->shape.planes, .count = job->members, .first = job->member, .held = 1};
    return scheduler_make(request, &plan->schedule, fault);
}

/* The steps whose changes ranks keep for each of their planes: as many as fit, but at least one. */
static size_t kept_steps(const struct plan *plan, size_t step_bytes)
{
    const struct stage *last = &plan->job->stages[plan->job->stage_count - 1];
    size_t most = size_most(1, PLAN_CHANGE_BYTES / step_bytes);

    return last->steps < most ? (size_t)last->steps : most;
}

/* Those of one rank, and those that come from another one. */
static size_t change_bytes(const struct plan *plan)
{
    size_t planes = size_divided_up(plan->shape.planes, plan->job->members);
    size_t step_bytes = planes * plan->job->in.grid.channels * sizeof(double);

    return job_waits_for_change(plan->job) ? 2 * step_bytes * kept_steps(plan, step_bytes) : 0;
}

static bool make_schedule(const struct plan_request *request, struct plan *plan,
                          const struct forms_request *forms, const struct source *source, struct fault *fault)
{
    const struct job *job = plan->job;
    size_t in_plane = header_plane_bytes(&job->in), out_plane = header_plane_bytes(&job->out);

    plan->held_bytes = source->held_bytes;
    plan->beside_bytes = source->beside_bytes;
    plan->observer_bytes = request->observer_bytes;
    plan->slice_bytes = job->region_kind == REGION_SLICE ? slice_bytes(&job->written) : 0;
    struct schedule_request schedule = {
        .levels = &plan->levels,
        .forms = forms,
        .limits = request->limits,
        .memory = request->memory,
        .device_memory = least_memory(plan),
        .field_plane_bytes = plan->lanes[0].backend->field_bytes(&plan->shape, job->work, 1),
        .work_plane_bytes = (size_t)plan_samples(plan, 1) * work_size(job->work),
        .file_plane_bytes = in_plane > out_plane ? in_plane : out_plane,
        .held_bytes = source->held_bytes,
        .beside_bytes = source->beside_bytes + plan->observer_bytes + plan->slice_bytes,
        .readers = source->format->read_at != NULL && source->random ? count_carriers(request) : 1,
        .writers = count_carriers(request),
        .random = source->random,
        .tallies = request->stats,
        .changes = job_waits_for_change(job),
        .part = job->region_kind == REGION_PART || (job_window(job).count < plan->shape.planes),
        .at_once = job->region_kind == REGION_PART || request->division == DIVISION_PARTS,
        .measures = job->measures,
        .trades = request->division == DIVISION_SHARES,
        .among = request->division == DIVISION_PASSES ? job->members : 0,
        .change_bytes = change_bytes(plan),
        .tees = request->stop_count > 0,
        .trials = request->explains ? &plan->trials : NULL,
    };

    if (request->division == DIVISION_SHARES)
        return share_with_others(plan, &schedule, fault);
    if (request->depth > 0)
        schedule.limits.depth = request->depth;
    if (request->division == DIVISION_PASSES)
        return make_passes_with_others(plan, &schedule, fault);
    if (opened(plan) > 1 && share(plan, &schedule))
        return true;
    keep_first(plan);
    schedule.device_memory = least_memory(plan);
    return scheduler_make(&schedule, &plan->schedule, fault);
}

/* Where memory allows less than the forms that are preferred take. */
static void fit_forms(struct plan *plan, const struct forms_request *forms)
{
    const struct schedule *schedule = &plan->schedule;
    unsigned together = schedule->lean ? 0 : schedule->together;
    bool fewer = forms_are_fewer(&plan->levels, together);

    forms_fit(forms, &plan->levels, plan->steps, together);
    if (fewer)
        plan->levels.together = schedule->together;
    plan->levels.on_trial = schedule->spooled;
    plan->levels.unrolled = schedule->spooled || plan->shares.around;
}

static bool settle_sums_of(const struct plan_request *request, struct plan *plan, struct lane *lane,
                           struct fault *fault)
{
    if (!lane->backend->settle_sums(lane->device, &plan->shape, plan->job->work, &request->sums, &lane->sums,
                                    fault))
        return false;
    lane->backend->add_by(lane->device, &lane->sums);
    return true;
}

static bool settle_sums(const struct plan_request *request, struct plan *plan, struct fault *fault)
{
    size_t count = opened(plan);

    plan->adds = request->stats || job_waits_for_change(plan->job);
    if (!plan->adds && request->sums.rung == NULL)
        return true;
    for (size_t i = 0; i < count; i++) {
        if (!settle_sums_of(request, plan, &plan->lanes[i], fault))
            return false;
    }
    return true;
}

static void name_device(struct plan *plan, const struct devices *devices)
{
    devices_name(devices, plan->device_name, sizeof plan->device_name);
    devices->backend->describe(devices->indices[0], plan->device_text, sizeof plan->device_text);
}

/* What is done for each of several devices at the same time. */
struct opening {
    const struct plan_request *request;
    const struct devices *devices;
    struct plan *plan;
};

static bool open_lane(void *context, size_t index, struct crew *crew, struct fault *fault)
{
    const struct opening *opening = context;
    const struct devices *devices = opening->devices;
    const struct device_request device = device_request_of(opening->request, devices->indices[index]);

    (void)crew;
    return lane_open(&opening->plan->lanes[index], devices->backend, &device, fault);
}

static bool open_devices(const struct plan_request *request, struct plan *plan, const struct devices *devices,
                         struct fault *fault)
{
    struct opening opening = {request, devices, plan};
    double begun = clock_seconds();
    bool opened = crew_share(devices->count, open_lane, &opening, fault);

    plan->start = clock_seconds() - begun;
    return opened;
}

static bool prepare_lane(void *context, size_t index, struct crew *crew, struct fault *fault)
{
    struct plan *plan = context;

    (void)crew;
    return lane_prepare(&plan->lanes[index], plan->steps, plan->step_count, fault);
}

/* Decide all, then allocate it. */
static bool settle_and_prepare(const struct plan_request *request, struct plan *plan,
                               const struct source *source, struct fault *fault)
{
    const struct forms_request forms = {.backend = plan->lanes[0].backend,
                                        .device = plan->lanes[0].device,
                                        .index = plan->lanes[0].index,
                                        .threads = request->threads,
                                        .shape = &plan->shape,
                                        .wish = request->wish,
                                        .wisdom = request->wisdom};
    double begun = clock_seconds();

    if (!forms_settle(&forms, &plan->levels, plan->steps, fault) || !settle_sums(request, plan, fault) ||
        !part_check(plan->job, source, &plan->levels, fault) ||
        !make_schedule(request, plan, &forms, source, fault))
        return false;
    fit_forms(plan, &forms);
    if (!crew_share(plan->shares.held, prepare_lane, plan, fault))
        return false;
    plan->start += clock_seconds() - begun;
    return true;
}

static void close_lanes(struct plan *plan)
{
    for (size_t i = 0; i < DEVICES_MOST; i++)
        lane_close(&plan->lanes[i]);
}

/* Make the plan whole on some devices; what fails leaves them closed. */
static bool settle_on(const struct plan_request *request, struct plan *plan, const struct source *source,
                      const struct candidate *candidate, struct fault *fault)
{
    const struct devices *devices = &candidate->devices;

    plan->replaceable =
        candidate->automatic && devices->backend != &backend_cpu && knows_wishes(request, &backend_cpu);
    plan->levels = levels_of(plan);
    plan->levels.stops = request->stops;
    plan->levels.stop_count = request->stop_count;
    if (open_devices(request, plan, devices, fault) && settle_and_prepare(request, plan, source, fault)) {
        const struct prediction_case expected = case_of(request, plan);
        struct devices taken = *devices;
        taken.count = plan->shares.held;
        name_device(plan, &taken);
        plan->seconds = prediction_together(&expected, &taken);
        return true;
    }
    close_lanes(plan);
    return false;
}

/* Bytes a sample of a stage. A step that is looked at goes through memory by itself, and two fields are read
   to add up its change. */
static double stage_bytes(const struct plan *plan, size_t index)
{
    const struct stage *stage = &plan->job->stages[index];
    const struct levels_step *step = &plan->steps[index];
    double looks = (double)looks_count(&stage->looks), others = (double)stage->steps - looks;
    double bytes = looks * 2.0 * (double)work_size(plan->job->work);

    for (size_t k = 0; k < step->step.count; k++) {
        const struct form *form = &step->forms[k];
        bytes += (others + looks * form->steps) * form->bytes_per_update;
    }
    return bytes;
}

static void forecast_bytes(struct plan *plan)
{
    const double samples = plan_samples(plan, 1) * prediction_planes(plan->job, &plan->shape);

    for (size_t i = 0; i < plan->step_count; i++)
        plan->moved_bytes += stage_bytes(plan, i) * samples;
}

/* No kernel runs where bits are copied. */
static bool check_copy(const struct plan_request *request, const struct plan *plan, struct fault *fault)
{
    return !plan->job->copies || forms_is_free(&request->wish) ||
           fault_raise(fault, STATUS_USAGE, "--%s: identity alone is copied: no kernel runs",
                       request->wish.rung != NULL  ? "rung"
                       : request->wish.tile_x != 0 ? "tile"
                                                   : "coarsen");
}

static bool fill(const struct plan_request *request, const struct source *source, struct plan *plan,
                 struct fault *fault)
{
    const struct candidate cpu = {.devices = first_of(&backend_cpu)};
    struct candidate chosen = {.automatic = false};

    if (!check_copy(request, plan, fault))
        return false;
    if (!plan->job->copies && !lower_stages(plan, fault))
        return false;
    if (plan_names_device(request))
        tell_of_start(request);
    if (!plan_chooses_device(request)) {
        if (!choose_by_name(request, &chosen.devices, fault) ||
            !choose_count(request, plan, &chosen.devices, fault))
            return false;
    } else {
        choose_automatically(request, plan, &chosen);
    }
    if (!settle_on(request, plan, source, &chosen, fault)) {
        if (!plan->replaceable || fault->status == STATUS_USAGE)
            return false;
        plan->setback = *fault;
        give_reason(plan, "%s failed", chosen.devices.backend->name);
        if (!settle_on(request, plan, source, &cpu, fault))
            return false;
    }
    forecast_bytes(plan);
    return true;
}

static struct plan plan_of(const struct job *job)
{
    return (struct plan){.job = job,
                         .shape = lower_shape(&job->in.grid, encoding_work_channels(&job->field))};
}

/* The backend that is named, or else that which every machine has. */
static const struct backend *expected_backend(const struct plan_request *request)
{
    const struct backend *named = plan_chooses_device(request) ? NULL : devices_backend(request->device);

    return named != NULL ? named : &backend_cpu;
}

bool plan_divide(const struct plan_request *request, const struct job *job, const struct source *source,
                 const struct link *link, size_t states, size_t processes, struct division *division,
                 struct fault *fault)
{
    struct plan plan = plan_of(job);
    bool done = job->copies || lower_stages(&plan, fault);
    const struct levels levels = levels_of(&plan);
    const struct prediction_case expected = case_of(request, &plan);
    const struct division_case dividing = {.expected = &expected,
                                           .backend = expected_backend(request),
                                           .levels = &levels,
                                           .link = *link,
                                           .states = states,
                                           .random = source->random,
                                           .processes = processes};

    if (done)
        *division = division_choose(&dividing, request->division);
    plan_free(&plan);
    return done;
}

bool plan_make(const struct plan_request *request, const struct job *job, const struct source *source,
               struct plan *plan, struct fault *fault)
{
    *plan = plan_of(job);
    if (fill(request, source, plan, fault))
        return true;
    plan_free(plan);
    return false;
}

void plan_free(struct plan *plan)
{
    close_lanes(plan);
    for (size_t i = 0; i < plan->step_count; i++)
        lower_free(&plan->steps[i].step);
    mem_free(plan->steps);
    *plan = (struct plan){.setback = plan->setback};
}
