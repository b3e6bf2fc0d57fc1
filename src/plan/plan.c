/* Plans: what will run for a job, on which device, in how much memory, and how long that should take. */
#include "plan.h"

#include "base/clock.h"
#include "base/crew.h"
#include "base/file_in.h"
#include "base/mem.h"
#include "base/size.h"
#include "base/thread.h"
#include "format/gray_slice.h"
#include "prediction.h"

#include <stdio.h>

/* Threads that read a file at once, and that write one: these move more than a device computes. */
#define MOST_CARRIERS 4

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
    bool at_once = !schedule->whole && (!schedule->spooled || schedule->passes == 1);

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

static struct levels levels_of(const struct plan *plan)
{
    return (struct levels){.stages = plan->job->stages,
                           .steps = plan->steps,
                           .stage_count = plan->step_count,
                           .planes = plan->shape.planes};
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
    if (schedule_share(request, count, &plan->schedule)) {
        plan->shares = (struct shares){.planes = plan->shape.planes,
                                       .count = count,
                                       .held = count,
                                       .halo = plan->schedule.halo,
                                       .direct = all_reach(plan, count),
                                       .around = plan->levels.unrolled};
        return true;
    }
    plan->levels.unrolled = false;
    snprintf(plan->selection.alone, sizeof plan->selection.alone,
             "the grid is too large for the memory of %zu together", count);
    return false;
}

/* Some of them on the one device that is open, the others on those of other processes. */
static bool share_with_others(struct plan *plan, const struct schedule_request *request, struct fault *fault)
{
    const struct job *job = plan->job;

    keep_first(plan);
    if (levels_mix_ends(&plan->levels))
        return fault_raise(fault, STATUS_LIMIT, "--rung: it reads planes at the other end of the grid");
    plan->levels.unrolled = levels_wraps(&plan->levels);
    if (!schedule_share(request, job->members, &plan->schedule))
        return fault_raise(fault, STATUS_LIMIT, "the grid is too large for the memory of all ranks together");
    plan->shares = (struct shares){.planes = plan->shape.planes,
                                   .count = job->members,
                                   .first = job->member,
                                   .held = 1,
                                   .halo = plan->schedule.halo,
                                   .around = plan->levels.unrolled};
    return true;
}

/* Those of one rank, and those that come from another one. */
static size_t change_bytes(const struct plan *plan)
{
    size_t planes = size_divided_up(plan->shape.planes, plan->job->members);

    return job_waits_for_change(plan->job) ? 2 * planes * plan->job->in.grid.channels * sizeof(double) : 0;
}

/* Where a part is asked for: whether it can be had without the rest. */
static bool check_part(const struct job *job, const struct source *source, const struct levels *levels,
                       struct fault *fault)
{
    const char *option = region_option(job->region_kind);

    if (!region_is_part(job->region_kind))
        return true;
    if (!source->random)
        return fault_raise_about(fault, STATUS_USAGE, file_in_name(source->file),
                                 "%s needs samples at fixed places in one file: a pipe, compressed samples "
                                 "and lists of files have none",
                                 option);
    if (job_waits_for_change(job))
        return fault_raise_about(fault, STATUS_USAGE, option,
                                 "not allowed with --until: every part would need the whole grid");
    if (job->measures)
        return fault_raise_about(fault, STATUS_USAGE, option,
                                 "not allowed with --out-range=auto: every part would need the whole grid");
    if (levels_mix_ends(levels))
        return fault_raise_about(fault, STATUS_USAGE, option,
                                 "an edge that wraps is followed or preceded by one that does not: every "
                                 "part would need the whole grid");
    return true;
}

static bool make_schedule(const struct plan_request *request, struct plan *plan,
                          const struct forms_request *forms, const struct source *source, struct fault *fault)
{
    const struct job *job = plan->job;
    size_t in_plane = header_plane_bytes(&job->in), out_plane = header_plane_bytes(&job->out);

    plan->held_bytes = source->held_bytes;
    plan->beside_bytes = source->beside_bytes;
    plan->observer_bytes = request->observer_bytes;
    plan->output_bytes = request->output_bytes;
    plan->slice_bytes = job->region_kind == REGION_SLICE ? gray_slice_bytes(&job->written) : 0;
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
        .beside_bytes = source->beside_bytes + plan->observer_bytes + plan->output_bytes + plan->slice_bytes,
        .readers = source->format->read_at != NULL && source->random ? count_carriers(request) : 1,
        .writers = count_carriers(request),
        .random = source->random,
        .tallies = request->stats,
        .changes = job_waits_for_change(job),
        .part = region_is_part(job->region_kind) || (job_window(job).count < plan->shape.planes),
        .at_once = region_is_part(job->region_kind) || request->split == SPLIT_PARTS,
        .measures = job->measures,
        .trades = request->split == SPLIT_SHARES,
        .change_bytes = change_bytes(plan),
        .tees = request->stop_count > 0,
        .candidates = request->explains ? &plan->candidates : NULL,
    };

    if (request->split == SPLIT_SHARES)
        return share_with_others(plan, &schedule, fault);
    if (opened(plan) > 1 && share(plan, &schedule))
        return true;
    keep_first(plan);
    schedule.device_memory = least_memory(plan);
    return schedule_make(&schedule, &plan->schedule, fault);
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

    if (!forms_settle(&forms, &plan->levels, plan->steps, fault))
        return false;
    if (levels_mix_ends(&plan->levels))
        forms_narrow(&forms, &plan->levels, plan->steps);
    if (!settle_sums(request, plan, fault) || !check_part(plan->job, source, &plan->levels, fault) ||
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
static bool settle_on_selected(const struct plan_request *request, struct plan *plan,
                               const struct source *source, struct fault *fault)
{
    const struct devices *devices = &plan->selection.devices;

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
    double checks = (double)checks_count(&stage->checks), others = (double)stage->steps - checks;
    double bytes = checks * 2.0 * (double)work_size(plan->job->work);

    for (size_t k = 0; k < step->step.count; k++) {
        const struct form *form = &step->forms[k];
        bytes += (others + checks * form->steps) * form->bytes_per_update;
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

static bool select_devices(const struct plan_request *request, struct plan *plan, struct fault *fault)
{
    const struct prediction_case expected = case_of(request, plan);

    return selection_make(request, &expected, &plan->selection, fault);
}

/* On what is selected, or else on what can stand in for it. */
static bool settle(const struct plan_request *request, struct plan *plan, const struct source *source,
                   struct fault *fault)
{
    if (settle_on_selected(request, plan, source, fault))
        return true;
    if (!plan->selection.replaceable || fault->status == STATUS_USAGE)
        return false;
    plan->setback = *fault;
    selection_retreat(&plan->selection);
    return settle_on_selected(request, plan, source, fault);
}

static bool fill(const struct plan_request *request, const struct source *source, struct plan *plan,
                 struct fault *fault)
{
    if (!check_copy(request, plan, fault) || (!plan->job->copies && !lower_stages(plan, fault)) ||
        !select_devices(request, plan, fault) || !settle(request, plan, source, fault))
        return false;
    forecast_bytes(plan);
    return true;
}

static struct plan plan_of(const struct job *job)
{
    return (struct plan){.job = job,
                         .shape = lower_shape(&job->in.grid, encoding_work_channels(&job->field))};
}

bool plan_split(const struct plan_request *request, const struct job *job, const struct link *link,
                size_t processes, struct split *split, struct fault *fault)
{
    struct plan plan = plan_of(job);
    bool done = job->copies || lower_stages(&plan, fault);
    const struct levels levels = levels_of(&plan);
    const struct prediction_case expected = case_of(request, &plan);
    const struct split_case splitting = {.expected = &expected,
                                         .backend = selection_expected(request),
                                         .levels = &levels,
                                         .link = *link,
                                         .processes = processes};

    if (done)
        *split = split_choose(&splitting, request->split);
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
