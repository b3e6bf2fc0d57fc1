/* The scheduler: the first way to run that fits the memory, in the roomiest sizes. */
#include "scheduler.h"

#include "base/machine.h"
#include "base/mem.h"
#include "base/number.h"
#include "base/size.h"
#include "candidates.h"
#include "route.h"
#include "sizes.h"
#include "transit.h"

/* A candidate that is tried: the levels as it would run it, and the schedule as far as it is known. */
struct attempt {
    const struct schedule_request *request;
    struct levels levels;
    bool unrolled;
    struct schedule schedule;
};

static struct attempt attempt_of(const struct schedule_request *request, const struct candidate *candidate)
{
    bool on_trial = candidates_look_at_all(request->levels);
    unsigned together = candidate->lean ? 0 : candidate->together;
    struct attempt attempt = {
        .request = request,
        .levels = *request->levels,
        .schedule = {.holds_in_spool = candidate->source_in_spool,
                     .spooled = candidate->spooled,
                     .on_trial = on_trial,
                     .whole = on_trial || request->measures,
                     .together = candidate->together,
                     .lean = candidate->lean,
                     .devices = 1,
                     .lanes = 1,
                     .passes = 1,
                     .routine_bytes = forms_fitting_bytes(request->forms, request->levels, together)}};

    attempt.unrolled = candidate->unrolled;
    attempt.levels.together = candidate->together;
    attempt.levels.on_trial = attempt.levels.unrolled = candidate->spooled;
    return attempt;
}

/* In such sizes, at the depth that it has; false where addresses end. */
static bool count_memory(struct attempt *attempt, const struct schedule_size *size)
{
    return schedule_count(&attempt->schedule, attempt->request, &attempt->levels, size);
}

static bool fits(struct attempt *attempt, const struct schedule_size *size, uint64_t memory)
{
    return count_memory(attempt, size) && schedule_fits(&attempt->schedule, attempt->request, memory);
}

/* The roomiest sizes for levels of such a depth that fit. */
static bool fit_sizes(struct attempt *attempt, const struct levels_walk *survey, uint64_t memory)
{
    struct schedule_size size = sizes_roomy(attempt->request, survey);

    attempt->schedule.depth = survey->depth;
    do {
        if (!sizes_are_worth_seams(attempt->request, survey, size.slab))
            return false;
        if (fits(attempt, &size, memory))
            return true;
    } while (sizes_tighten(&size));
    return false;
}

static struct levels_walk survey_all(const struct levels *levels)
{
    return levels_survey(levels, levels_begin(), levels_end(levels));
}

/* All levels in one pass. */
static bool fit_one_pass(struct attempt *attempt, uint64_t memory)
{
    struct levels_walk survey = survey_all(&attempt->levels);

    if (attempt->schedule.whole)
        survey.depth = attempt->levels.planes;
    return fit_sizes(attempt, &survey, memory);
}

/* Passes of a depth, whose slabs are a quarter of what there is; sliding often costs less than a pass more.
 */
static bool fit_depth(struct attempt *attempt, const struct levels_walk *survey, uint64_t memory)
{
    const struct schedule *shallow = &attempt->schedule;
    size_t least = size_most(SIZES_LEAST_SEAMS * survey->seam, survey->depth / 4);
    size_t slab = size_least(size_most(1, least), sizes_roomy_slab(attempt->request, survey));
    const struct schedule_size size = {.slab = slab,
                                       .batch = size_least(slab, shallow->batch),
                                       .buffers = shallow->out_buffers + 1 - shallow->writers,
                                       .readers = 1,
                                       .writers = 1};

    attempt->schedule.depth = survey->depth;
    return fits(attempt, &size, memory);
}

/* The deepest passes that fit. */
static bool deepen(struct attempt *attempt, uint64_t memory)
{
    struct levels_walk survey = levels_survey_stages(&attempt->levels);
    size_t deep = survey.depth, too_deep = attempt->levels.planes;
    struct attempt shallow;

    if (deep >= attempt->levels.planes || !fit_sizes(attempt, &survey, memory))
        return false;
    shallow = *attempt;
    while (too_deep - deep > 1) {
        struct attempt deeper = shallow;
        survey.depth = deep + (too_deep - deep) / 2;
        if (fit_depth(&deeper, &survey, memory)) {
            *attempt = deeper;
            deep = survey.depth;
        } else {
            too_deep = survey.depth;
        }
    }
    return true;
}

/* Passes that take all steps at once but for those that do not go together. */
static bool fit_full_depth(struct attempt *attempt, uint64_t memory)
{
    struct levels_walk survey = survey_all(&attempt->levels);

    return survey.depth < attempt->levels.planes && fit_sizes(attempt, &survey, memory);
}

static bool fit_passes(struct attempt *attempt, uint64_t memory)
{
    const struct schedule_request *request = attempt->request;
    struct schedule *schedule = &attempt->schedule;
    struct route_cost cost;

    if (!fit_full_depth(attempt, memory) && (attempt->unrolled || !deepen(attempt, memory)))
        return false;
    cost = route_survey(&attempt->levels, schedule->depth, request->random,
                        (struct route_way){schedule->on_trial, request->measures});
    if (attempt->unrolled && cost.passes > 1)
        return false;
    schedule->passes = cost.passes;
    schedule->again = cost.again;
    schedule->spools = cost.spools;
    return true;
}

static bool fit(struct attempt *attempt, uint64_t memory)
{
    return attempt->schedule.spooled ? fit_passes(attempt, memory) : fit_one_pass(attempt, memory);
}

/* Whether a candidate need not be tried, since another one fitted. Passes over spool files are also tried
   with fewer steps at once, and by the routines that take the least memory: either may need fewer passes. */
static bool is_needless(const struct candidate *candidate, const struct candidate *fitted)
{
    if (fitted == NULL)
        return false;
    if (fitted->unrolled)
        return true;
    if (candidate->spooled)
        return !fitted->spooled;
    return candidate->source_in_spool == fitted->source_in_spool;
}

/* Whether what fits later in the list is better than what fitted before: fewer passes, or at most half as
   many if their routines are slower; or, with the source in a spool file, more steps at once or slabs that
   are much larger. */
static bool beats(const struct schedule *later, const struct schedule *before)
{
    if (later->spooled)
        return later->lean ? later->passes <= before->passes / 2 : later->passes < before->passes;
    return later->together > before->together || later->slab / 4 >= before->slab;
}

/* The first candidate that fits, or a later one that beats it; NULL if none does. */
static const struct candidate *choose(const struct schedule_request *request,
                                      const struct candidates *candidates, uint64_t memory,
                                      struct schedule *schedule)
{
    const struct candidate *fitted = NULL, *taken = NULL;

    for (size_t i = 0; i < candidates->count; i++) {
        const struct candidate *candidate = &candidates->list[i];
        struct attempt attempt;
        if (is_needless(candidate, fitted))
            continue;
        attempt = attempt_of(request, candidate);
        if (!fit(&attempt, memory))
            continue;
        if (fitted == NULL || beats(&attempt.schedule, schedule)) {
            *schedule = attempt.schedule;
            taken = candidate;
        }
        fitted = candidate;
    }
    return taken;
}

/* Where nothing else is said, what the machine can spare is what a grid is held in. */
static uint64_t comfortable_memory(const struct schedule_request *request)
{
    if (request->memory > 0)
        return request->memory;
    if (request->limits.memory > 0)
        return request->limits.memory;
    return machine_spare_memory();
}

/* More than this is not tried: the system might not refuse it, but kill for it. */
static uint64_t most_memory(const struct schedule_request *request)
{
    return request->memory > 0 ? request->memory : machine_whole_memory();
}

/* The least that a candidate takes at such a depth, with the source in a spool file; SIZE_MAX where addresses
   end. */
static size_t least_at(struct attempt *attempt, size_t depth)
{
    const struct schedule_size size = sizes_tightest();

    attempt->schedule.depth = depth;
    return count_memory(attempt, &size) ? attempt->schedule.memory_bytes : SIZE_MAX;
}

/* The least that one pass over the planes takes. */
static size_t least_at_once(const struct schedule_request *request)
{
    const struct candidate streamed = {.together = 1, .lean = true};
    const struct candidate unrolled = {.spooled = true, .unrolled = true, .together = 1, .lean = true};
    struct attempt one = attempt_of(request, &streamed), around = attempt_of(request, &unrolled);
    size_t least = least_at(&one, survey_all(&one.levels).depth), depth = survey_all(&around.levels).depth;

    return candidates_go_round(request) && depth < request->levels->planes
               ? size_least(least, least_at(&around, depth))
               : least;
}

/* The depth of the shallowest pass that gets anywhere. */
static size_t least_depth(const struct attempt *attempt)
{
    if (attempt->schedule.spooled && !attempt->unrolled)
        return levels_survey_stages(&attempt->levels).depth;
    return attempt->schedule.whole ? attempt->levels.planes : survey_all(&attempt->levels).depth;
}

/* Why a candidate does not fit. */
static enum schedule_fate misfit_of(struct attempt *attempt, uint64_t memory)
{
    const struct schedule_size size = sizes_tightest();
    size_t depth = least_depth(attempt);

    if (least_at(attempt, depth) == SIZE_MAX)
        attempt->schedule.memory_bytes = SIZE_MAX;
    else if (attempt->schedule.spooled && depth >= attempt->levels.planes)
        return SCHEDULE_TOO_DEEP;
    else if (fits(attempt, &size, memory))
        return SCHEDULE_TOO_NARROW;
    return SCHEDULE_TOO_LARGE;
}

/* Every candidate, tried once more: those that need not have been as well. */
static void tell_trials(const struct schedule_request *request, const struct candidates *candidates,
                        const struct candidate *taken, uint64_t memory)
{
    struct schedule_trials *trials = request->trials;

    trials->count = candidates->count;
    trials->memory = memory;
    for (size_t i = 0; i < candidates->count; i++) {
        const struct candidate *candidate = &candidates->list[i];
        struct attempt attempt = attempt_of(request, candidate);
        enum schedule_fate fate = candidate == taken  ? SCHEDULE_TAKEN
                                  : candidate < taken ? SCHEDULE_BEATEN
                                                      : SCHEDULE_NEEDLESS;
        if (!fit(&attempt, memory))
            fate = misfit_of(&attempt, memory);
        trials->list[i] = (struct schedule_trial){candidate->spooled,
                                                  candidate->source_in_spool,
                                                  candidate->lean,
                                                  candidate->unrolled,
                                                  candidate->together,
                                                  attempt.schedule.passes,
                                                  attempt.schedule.memory_bytes,
                                                  fate};
    }
}

/* The least that would do, in one pass or in many. */
static size_t least_memory(const struct schedule_request *request)
{
    const struct candidate streamed = {.source_in_spool = true, .together = 1, .lean = true};
    const struct candidate spooled = {.spooled = true, .source_in_spool = true, .together = 1, .lean = true};
    struct attempt one = attempt_of(request, &streamed), many = attempt_of(request, &spooled);
    size_t planes = request->levels->planes, shallowest = levels_survey_stages(&many.levels).depth;
    size_t least = least_at(&one, one.schedule.whole ? planes : survey_all(&one.levels).depth);

    return shallowest < planes ? size_least(least, least_at(&many, shallowest)) : least;
}

static bool refuse(const struct schedule_request *request, struct fault *fault)
{
    uint64_t whole = machine_whole_memory();
    char needed[32], allowed[32];
    size_t least = request->at_once ? least_at_once(request) : least_memory(request);

    if (least == SIZE_MAX)
        return fault_raise(fault, STATUS_LIMIT, "the grid is too large for the address space");
    number_format_bytes((double)least, needed, sizeof needed);
    if (request->memory > 0 && least > request->memory && request->at_once)
        return fault_raise(
            fault, STATUS_LIMIT,
            "--memory: a part takes one pass over the data, which needs %s (%zu bytes), and %s "
            "are allowed",
            needed, least, number_format_bytes((double)request->memory, allowed, sizeof allowed));
    if (request->memory > 0 && least > request->memory)
        return fault_raise(fault, STATUS_LIMIT, "--memory: this job needs %s (%zu bytes), and %s are allowed",
                           needed, least,
                           number_format_bytes((double)request->memory, allowed, sizeof allowed));
    if (request->device_memory > 0)
        return fault_raise(fault, STATUS_LIMIT, "the device: this job needs %s there, and %s are free",
                           needed,
                           number_format_bytes((double)request->device_memory, allowed, sizeof allowed));
    return fault_raise(
        fault, STATUS_LIMIT,
        "this job needs %s of memory, and this process may have %s (--memory=SIZE allows more)", needed,
        number_format_bytes((double)whole, allowed, sizeof allowed));
}

/* All ranks count the same, so that all choose the same levels. */
static bool count_trade(const struct schedule_request *request, size_t ranks, struct schedule *schedule)
{
    const struct shares shares = {.planes = request->levels->planes,
                                  .count = ranks,
                                  .halo = schedule->halo,
                                  .around = request->levels->unrolled};
    struct transit transit;

    if (!transit_count(&shares, schedule->halo, request->work_plane_bytes, &transit))
        return false;
    schedule->trade_bytes = transit.host_bytes + request->change_bytes;
    schedule->trade_device_bytes = transit.device_bytes;
    return true;
}

/* Each device has its share, and beside it what its levels read. All of them together move as many bytes at a
   time, by as many threads, as one alone. */
static bool fit_shares(struct attempt *attempt, size_t devices, uint64_t memory)
{
    const struct schedule_request *request = attempt->request;
    struct schedule *schedule = &attempt->schedule;
    const struct levels_walk survey = {.depth = request->levels->planes};
    size_t most = size_divided_up(request->levels->planes, devices);
    struct schedule_size roomy_size = sizes_roomy(request, &survey), tight = sizes_tightest();

    schedule->devices = devices;
    schedule->lanes = request->trades ? 1 : devices;
    schedule->whole = true;
    schedule->halo = levels_widest_reach(&attempt->levels);
    if (request->trades && !count_trade(request, devices, schedule))
        return false;
    schedule->depth = 2 * schedule->halo;
    roomy_size.batch = size_least(size_divided_up(roomy_size.batch, schedule->lanes), most);
    roomy_size.slab = size_rounded_up(most, roomy_size.batch);
    roomy_size.readers = (unsigned)size_divided_up(request->readers, schedule->lanes);
    roomy_size.writers = (unsigned)size_divided_up(request->writers, schedule->lanes);
    tight.slab = most;
    return fits(attempt, &roomy_size, memory) || fits(attempt, &tight, memory);
}

/* What a level of several steps reads beside a share is computed once more, step by step: no more than there
   is in the share. So no level ever computes more planes than the grid has. */
static bool is_worth_its_halos(const struct attempt *attempt, size_t devices)
{
    return 2 * levels_widest_reach(&attempt->levels) <= attempt->levels.planes / devices;
}

bool scheduler_share(const struct schedule_request *request, size_t devices, struct schedule *schedule)
{
    uint64_t memory = comfortable_memory(request);

    for (unsigned together = levels_most_together(request->levels); together > 0;
         together = candidates_fewer(together)) {
        const struct candidate candidate = {.together = together};
        struct attempt attempt = attempt_of(request, &candidate);
        if ((together == 1 || is_worth_its_halos(&attempt, devices)) &&
            fit_shares(&attempt, devices, memory)) {
            *schedule = attempt.schedule;
            return true;
        }
    }
    return false;
}

/* Where what is comfortable does not suffice, a little more may. 0: as much as is wanted. */
bool scheduler_make(const struct schedule_request *request, struct schedule *schedule, struct fault *fault)
{
    uint64_t memory = comfortable_memory(request), most = most_memory(request);
    struct candidates candidates;
    const struct candidate *taken;

    candidates_list(request, &candidates);
    while ((taken = choose(request, &candidates, memory, schedule)) == NULL) {
        if (memory == 0 || (most > 0 && memory >= most))
            return refuse(request, fault);
        memory = most == 0 || memory < most / 2 ? 2 * memory : most;
    }
    if (request->trials != NULL)
        tell_trials(request, &candidates, taken, memory);
    return true;
}
