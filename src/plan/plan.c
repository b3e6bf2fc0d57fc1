/* Plans: what will run for a job, on which device, in how much memory, and how long that should take.

   plan_make() lowers the stages to operations, selects devices by what they are predicted to need, and
   settles the rest on these: each operation gets its form, and the schedule says in how many passes, slabs
   and fields the levels run, within the memory there is. Until then nothing is allocated but the devices' own
   state; then routines are prepared. If a device that was selected unasked fails on the way, the CPU stands
   in for it, and all of this is done once more. */
#include "plan.h"

#include "base/clock.h"
#include "base/threads.h"
#include "base/file_in.h"
#include "base/mem.h"
#include "base/size.h"
#include "format/gray_slice.h"
#include "prediction.h"

#include <math.h>
#include <stdio.h>

/* Whether samples go through conversion as they are. */
static bool is_bare(const struct encoding *encoding)
{
    return encoding->transfer == TRANSFER_NONE && encoding->point_count == 0 && !encoding->premultiply &&
           !encoding->associated && !encoding->missing && !encoding->masked && !encoding->ranged;
}

/* Whether each sample that an operation makes is one of those that it reads, or a constant that their type
   holds. */
static bool only_takes(const struct op *op, enum sample_type type)
{
    bool takes = op->kind == OP_RANK && !op->missing;

    for (unsigned channel = 0; takes && op->outside != NULL && channel < op->channels; channel++) {
        double outside = op->outside[channel];
        takes = outside >= sample_min(type) && outside <= sample_max(type) && floor(outside) == outside;
    }
    return takes;
}

/* Ranks alone make no value that the file does not have: then fields may be as narrow as its samples. */
static bool is_narrow(const struct plan *plan)
{
    const struct job *job = plan->job;
    const enum sample_type type = job->in.type;
    bool bare = job->work == WORK_F32 && sample_is_integer(type) && sample_size(type) <= 2 &&
                job->out.type == type && is_bare(&job->decode) && is_bare(&job->encode) &&
                is_bare(&job->field) && !job_waits_for_change(job);

    for (size_t i = 0; bare && i < plan->step_count; i++) {
        const struct step *step = &plan->steps[i].step;
        bare = !job->stages[i].converted && step->count > 0;
        for (size_t k = 0; bare && k < step->count; k++)
            bare = only_takes(&step->ops[k], type);
    }
    return bare;
}

static void set_narrow(struct plan *plan, bool narrow)
{
    plan->shape.narrow = narrow;
    plan->shape.type = plan->job->in.type;
    plan->packed_plane_bytes =
        (size_t)plan->plane_samples * sample_size(shape_sample(&plan->shape, plan->job->work));
}

/* Make operations of all stages, but those that are converted with the samples. */
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
        if (!lower_stage(stage, &job->computed, &job->field, job->work, &step->step, fault))
            return false;
        step->keeps = stage->until > 0.0;
    }
    set_narrow(plan, is_narrow(plan));
    return true;
}

/* The job as a prediction sees it. */
static struct prediction_case case_of(const struct plan_request *request, const struct plan *plan)
{
    const struct job *job = plan->job;
    /* The planes that this process is expected to compute, of all volumes: the schedule is not known yet. */
    const bool all = job_waits_for_change(job) || job->measures;
    const size_t of_volume = all ? size_divided_up(plan->shape.planes, job->members) : job->window.count;
    const double planes = (double)job->in.volumes * (double)job_columns(job) * (double)of_volume;

    return (struct prediction_case){.job = job,
                                    .shape = &plan->shape,
                                    .steps = plan->steps,
                                    .step_count = plan->step_count,
                                    .plane_samples = plan->plane_samples,
                                    .samples = plan->plane_samples * planes,
                                    .read_bytes = planes * (double)job->in_plane_bytes,
                                    .file_bytes =
                                        planes * (double)(job->in_plane_bytes + job->out_plane_bytes),
                                    .device = {.threads = request->threads, .memory = request->memory},
                                    .wisdom = request->wisdom};
}

static struct levels levels_of(const struct plan *plan)
{
    return (struct levels){.stages = plan->job->stages,
                           .steps = plan->steps,
                           .stage_count = plan->step_count,
                           .planes = plan->shape.planes};
}

/* The memory of the device that has the least. */
static uint64_t least_memory(const struct plan *plan, size_t count)
{
    const struct lane *lanes = plan->lanes;
    uint64_t least = lanes[0].backend->memory(lanes[0].device);

    for (size_t i = 1; i < count; i++) {
        uint64_t memory = lanes[i].backend->memory(lanes[i].device);
        least = memory < least ? memory : least;
    }
    return least;
}

static void close_lanes(struct plan *plan, size_t first)
{
    for (size_t i = first; i < DEVICES_MOST; i++)
        lane_close(&plan->lanes[i]);
}

/* Go on with the first device alone. */
static void keep_first(struct plan *plan)
{
    plan->shares = (struct shares){.planes = plan->shape.planes, .count = 1, .held = 1};
    close_lanes(plan, 1);
}

/* Whether each of the first `count` lanes reaches the memory of all others. */
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

/* Divide the planes among so many devices, of this process or of several; false where that does not fit. */
static bool share_among(struct plan *plan, const struct schedule_request *request, size_t count)
{
    plan->levels.unrolled = levels_wraps(&plan->levels);
    if (!schedule_share(request, count, &plan->schedule))
        return false;
    plan->shares = (struct shares){.planes = plan->shape.planes,
                                   .count = count,
                                   .held = count,
                                   .halo = plan->schedule.halo,
                                   .around = plan->levels.unrolled};
    return true;
}

/* All planes on the devices that are open; false where that does not fit. */
static bool share(struct plan *plan, const struct schedule_request *request)
{
    size_t count = plan->selection.devices.count;

    if (share_among(plan, request, count)) {
        plan->shares.direct = all_reach(plan, count);
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
    if (!share_among(plan, request, job->members))
        return fault_raise(fault, STATUS_LIMIT, "the grid is too large for the memory of all ranks together");
    plan->shares.first = job->member;
    plan->shares.held = 1;
    return true;
}

/* Bytes for the changes of one rank, and for those that come from another one. */
static size_t change_bytes(const struct plan *plan)
{
    size_t planes = size_divided_up(plan->shape.planes, plan->job->members);

    return job_waits_for_change(plan->job) ? 2 * planes * plan->job->in.grid.channels * sizeof(double) : 0;
}

/* Where a part is asked for: whether it can be had without the rest. */
static bool check_part(const struct job *job, const struct source *source, const struct levels *levels,
                       struct fault *fault)
{
    const char *option = region_option(job->region_kind), *why;

    if (!region_is_part(job->region_kind))
        return true;
    if (!source->random)
        return fault_set_for(fault, STATUS_USAGE, file_in_name(source->file),
                             "%s needs samples at fixed places in one file: a pipe, compressed samples "
                             "and lists of files have none",
                             option);
    why = job_waits_for_change(job) ? "not allowed with --until"
          : job->measures           ? "not allowed with --out-range=auto"
          : levels_mix_ends(levels) ? "an edge that wraps is followed or preceded by one that does not"
                                    : NULL;
    return why == NULL ||
           fault_set_for(fault, STATUS_USAGE, option, "%s: every part would need the whole grid", why);
}

/* The plan as a schedule sees it: planes and their bytes, what moves them, and which ways to run are
   allowed. */
static struct schedule_request schedule_request_of(const struct plan_request *request,
                                                   const struct forms_request *forms,
                                                   const struct source *source, struct plan *plan)
{
    const unsigned carriers = thread_carriers(thread_count(request->threads));
    const struct backend *backend = plan->lanes[0].backend;
    const struct job *job = plan->job;
    struct shape wide = plan->shape;

    wide.narrow = false;

    return (struct schedule_request){
        .levels = &plan->levels,
        .forms = forms,
        .limits = request->limits,
        .memory = request->memory,
        .device_memory = least_memory(plan, plan->selection.devices.count),
        .field_plane_bytes = backend->field_bytes(&plan->shape, job->work, 1),
        .wide_plane_bytes = backend->field_bytes(&wide, job->work, 1),
        .packed_plane_bytes = plan->packed_plane_bytes,
        .file_plane_bytes = size_most(
            job->in_plane_bytes + (job->mask_plane_bytes > 0 ? job->mask_plane_bytes + MASK_ALIGNMENT : 0),
            job->out_plane_bytes),
        .held_bytes = plan->held_bytes,
        .beside_bytes = source->beside_bytes + plan->observer_bytes + plan->output_bytes + plan->slice_bytes,
        .readers = source->random && !source->one_reader ? carriers : 1,
        .writers = carriers,
        .random = source->random,
        .tallies = request->stats,
        .changes = job_waits_for_change(job),
        .part = region_is_part(job->region_kind) || (job->window.count < plan->shape.planes),
        .at_once = region_is_part(job->region_kind) || request->split == SPLIT_PARTS || job_columns(job) > 1,
        .measures = job->measures,
        .between_ranks = request->split == SPLIT_SHARES,
        .change_bytes = change_bytes(plan),
        .tees = request->stop_count > 0,
        .least = request->least,
        .candidates = request->explains ? &plan->candidates : NULL,
    };
}

/* On all devices that are open, if the grid fits into their memory; else on the first. */
static bool make_schedule(struct plan *plan, enum split_kind split, struct schedule_request *request,
                          struct fault *fault)
{
    size_t devices = plan->selection.devices.count;

    if (split == SPLIT_SHARES)
        return share_with_others(plan, request, fault);
    if (devices > 1 && share(plan, request))
        return true;
    keep_first(plan);
    request->device_memory = least_memory(plan, 1);
    return schedule_make(request, &plan->schedule, fault);
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

/* By what each device adds, if the run adds anything up. */
static bool settle_sums(const struct plan_request *request, struct plan *plan, struct fault *fault)
{
    plan->adds = request->stats || job_waits_for_change(plan->job);
    if (!plan->adds && request->sums.rung == NULL)
        return true;
    for (size_t i = 0; i < plan->selection.devices.count; i++) {
        struct lane *lane = &plan->lanes[i];
        if (!lane->backend->settle_sums(lane->device, &plan->shape, plan->job->work, &request->sums,
                                        &lane->sums, fault))
            return false;
        lane->backend->add_by(lane->device, &lane->sums);
    }
    return true;
}

/* Devices are opened and prepared side by side. */
struct opening {
    const struct plan_request *request;
    struct plan *plan;
};

static bool open_lane(void *context, size_t index, struct parallel_loop *loop, struct fault *fault)
{
    const struct opening *opening = context;
    const struct devices *devices = &opening->plan->selection.devices;
    const struct device_request device = {.index = devices->indices[index],
                                          .threads = opening->request->threads,
                                          .memory = opening->request->memory};

    (void)loop;
    return lane_open(&opening->plan->lanes[index], devices->backend, &device, fault);
}

static bool prepare_lane(void *context, size_t index, struct parallel_loop *loop, struct fault *fault)
{
    const struct opening *opening = context;
    struct plan *plan = opening->plan;

    (void)loop;
    return lane_prepare(&plan->lanes[index], plan->steps, plan->step_count, fault);
}

/* Bytes a sample of a stage. To add up the change of a step that is looked at, two fields are read. */
static double stage_bytes(const struct plan *plan, size_t index)
{
    const struct stage *stage = &plan->job->stages[index];
    const struct levels_step *step = &plan->steps[index];
    double sample = (double)work_size(plan->job->work);
    double bytes = (double)checks_count(&stage->checks) * 2.0 * sample;

    for (size_t k = 0; k < step->step.count; k++) {
        const struct form *form = &step->forms[k];
        double full = form->steps * form->bytes_per_update;
        double single = form->steps > 1 ? 2.0 * sample : full;
        bytes += forms_total(stage, form, plan->levels.together, single, full);
    }
    return bytes;
}

/* The bytes that all steps move through memory, and the seconds of the run. */
static void forecast(struct plan *plan, struct prediction_case *expected, const struct devices *devices)
{
    const size_t slab = plan->schedule.slab;

    for (size_t i = 0; i < plan->step_count; i++)
        plan->moved_bytes += stage_bytes(plan, i) * expected->samples;
    expected->together = plan->levels.together;
    expected->slabs = slab > 0 ? size_divided_up(plan->shape.planes, slab) : 1;
    expected->held = plan->schedule.whole;
    plan->seconds = prediction_together(expected, devices);
    plan->compute_seconds = prediction_computing(expected, devices);
}

/* No kernel runs where bits are copied. */
static bool check_copy(const struct plan_request *request, struct fault *fault)
{
    const struct rung_wish *wish = &request->wish;
    const char *option = wish->rung != NULL   ? "rung"
                         : wish->tile_x != 0  ? "tile"
                         : wish->coarsen != 0 ? "coarsen"
                                              : NULL;

    return option == NULL ||
           fault_raise(fault, STATUS_USAGE, "--%s: identity alone is copied: no kernel runs", option);
}

/* The planes to be read: those that are written and those beside them, unless all must be there. */
static struct range read_by(const struct plan *plan)
{
    const struct range planes = plan->job->planes;
    const size_t all = plan->shape.planes, beside = plan->beside;
    const bool some = plan->window.count < all && plan->shares.count == 1 && planes.count + 2 * beside < all;
    struct range read = {planes.first - size_least(planes.first, beside), 0};

    if (!some)
        return (struct range){0, all};
    if (levels_wraps(&plan->levels))
        return (struct range){(planes.first + all - beside) % all, planes.count + 2 * beside};
    read.count = size_least(all, planes.first + planes.count + beside) - read.first;
    return read;
}

/* Find out which planes are computed: those that are written, or all, if all must be there before the first
   is written. Also which planes are read for them, and how many bytes these have. */
static void settle_planes(struct plan *plan, const struct source *source)
{
    const struct job *job = plan->job;
    const struct schedule *schedule = &plan->schedule;
    const bool at_once = !schedule->whole && (!schedule->spooled || schedule->passes == 1);
    const struct levels *levels = &plan->levels;
    const struct levels_walk survey = levels_survey(levels, levels_begin(), levels_end(levels));

    plan->window = at_once ? job->window : (struct range){0, plan->shape.planes};
    plan->beside = survey.depth < levels->planes ? survey.level.lag : levels->planes;
    plan->read = read_by(plan);
    plan->read_bytes = (uint64_t)job->in.volumes * job_columns(job) *
                       (source->random ? (uint64_t)plan->read.count * job->in_plane_bytes
                                       : (uint64_t)plan->shape.planes * header_plane_bytes(&job->in));
}

/* The plan as far as it follows from the job alone. */
static struct plan plan_of(const struct job *job)
{
    struct plan plan = {.job = job,
                        .shape = lower_shape(&job->computed, encoding_field_channels(&job->field))};

    plan.plane_samples = (double)plan.shape.nx * (double)plan.shape.rows * plan.shape.channels;
    set_narrow(&plan, false);
    return plan;
}

/* Make the plan whole on the devices that are selected. */
static bool complete(struct plan *plan, const struct plan_request *request, const struct source *source,
                     struct fault *fault)
{
    struct prediction_case expected = case_of(request, plan);
    struct opening opening = {request, plan};
    struct devices taken = plan->selection.devices;
    struct schedule_request schedule;
    struct forms_request forms;
    double begun = clock_seconds();

    plan->levels = levels_of(plan);
    plan->levels.stops = request->stops;
    plan->levels.stop_count = request->stop_count;
    if (!parallel_for(taken.count, open_lane, &opening, fault))
        return false;

    /* All devices are of one kind, so that forms of the first suit the others. */
    forms = (struct forms_request){.backend = taken.backend,
                                   .device = plan->lanes[0].device,
                                   .index = plan->lanes[0].index,
                                   .threads = request->threads,
                                   .shape = &plan->shape,
                                   .wish = request->wish,
                                   .wisdom = request->wisdom};
    if (!forms_settle(&forms, &plan->levels, plan->steps, fault))
        return false;
    if (levels_mix_ends(&plan->levels))
        forms_go_straight(&forms, &plan->levels, plan->steps);

    /* The schedule needs to know what the forms read and keep. Where memory is short, it asks for other
     * forms. */
    if (!settle_sums(request, plan, fault) || !check_part(plan->job, source, &plan->levels, fault))
        return false;
    schedule = schedule_request_of(request, &forms, source, plan);
    if (!make_schedule(plan, request->split, &schedule, fault))
        return false;
    fit_forms(plan, &forms);

    /* All is decided: allocate it. */
    if (!parallel_for(plan->shares.held, prepare_lane, &opening, fault))
        return false;
    plan->start = clock_seconds() - begun;

    settle_planes(plan, source);
    taken.count = plan->shares.held;
    devices_name(&taken, plan->device_name, sizeof plan->device_name);
    taken.backend->describe(taken.indices[0], plan->device_text, sizeof plan->device_text);
    forecast(plan, &expected, &taken);
    return true;
}

bool plan_make(const struct plan_request *request, const struct job *job, const struct source *source,
               struct plan *plan, struct fault *fault)
{
    struct prediction_case expected;
    bool planned;

    /* The bytes beside fields and buffers are known from the start. */
    *plan = plan_of(job);
    plan->held_bytes = source->held_bytes;
    plan->beside_bytes = source->beside_bytes;
    plan->observer_bytes = request->observer_bytes;
    plan->output_bytes = request->output_bytes;
    plan->slice_bytes = job->region_kind == REGION_SLICE ? gray_slice_bytes(&job->written) : 0;

    /* Where bits are copied, nothing is lowered. */
    planned = job->copies ? check_copy(request, fault) : lower_stages(plan, fault);
    expected = case_of(request, plan);
    planned = planned && selection_make(request, &expected, &plan->selection, fault);
    if (planned && complete(plan, request, source, fault))
        return true;

    if (planned && plan->selection.replaceable && fault->status != STATUS_USAGE) {
        close_lanes(plan, 0);
        plan->setback = *fault;
        selection_retreat(&plan->selection);
        if (complete(plan, request, source, fault))
            return true;
    }
    plan_free(plan);
    return false;
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
                                         .processes = processes,
                                         .threads_of_all = request->threads_of_all};

    if (done)
        *split = split_choose(&splitting, request->split);
    plan_free(&plan);
    return done;
}

void plan_free(struct plan *plan)
{
    close_lanes(plan, 0);
    for (size_t i = 0; i < plan->step_count; i++)
        lower_free(&plan->steps[i].step);
    mem_free(plan->steps);
    *plan = (struct plan){.setback = plan->setback};
}
