/* Schedules: how often a run goes over the data, in what slabs, and how much memory that takes.

   A list of candidates stands in order of preference: one pass, with what the source holds in memory or in a
   spool file, then several passes over spool files; each with ever fewer steps at once, and last with the
   routines that take the least memory. For each candidate, sizes go from roomy to tight (slabs, batches,
   buffers) until they fit into the memory. Passes over spool files also have a depth, the planes that their
   levels lag behind: the deepest that fits is found by bisection, since the deepest passes are the fewest.
   The first candidate that fits is taken, unless a later one beats it. If none fits, more memory is allowed,
   up to what the machine has; then the job is refused, with the least memory that it needs. Planes that
   devices or ranks share make one pass, and must fit at once. */
#include "schedule.h"

#include "base/memory_limits.h"
#include "base/mem.h"
#include "base/number.h"
#include "base/size.h"
#include "route.h"
#include "shares.h"

/* Levels advance by slabs of about this size. */
#define SLAB_BYTES ((size_t)64 << 20)

/* Planes pass between files and device in batches of about this size: large enough for the loops over them to
   run in parallel, small beside any field. */
#define BATCH_BYTES ((size_t)16 << 20)

/* The same for fields in this process's own memory: so small that few pages are touched, and so large
   that a level takes many threads longer than to be called. */
#define HOST_SLAB_BYTES  ((size_t)16 << 20)
#define HOST_BATCH_BYTES ((size_t)2 << 20)

/* One over the share of the work that may be lost where slabs meet, and of the bytes of planes that levels
   need that may be moved for nothing but to make room. */
#define SEAM_SHARE  20
#define SLIDE_SHARE 10

/* Buffers on each side: one is moved from or to the file, one from or to the fields, and one waits. */
#define BUFFERS 3

/* Seams in a slab, below which more is lost by what is computed twice than is won by taking several steps at
   once. */
#define LEAST_SEAMS 2

/* How much a run takes at a time. */
struct size {
    size_t slab, batch; /* planes */
    size_t slack;       /* planes of a window beyond what is needed */
    size_t buffers;     /* on each side, and one more for each reader beside the first */
    unsigned readers, writers;
};

/* A candidate that is tried: the levels as it would run it, and the schedule as far as it is known. */
struct attempt {
    const struct schedule_request *request;
    struct levels levels;
    struct levels_walk survey; /* of all of them */
    bool unrolled;
    struct schedule schedule;
};

/* ---- how much at a time ---- */

/* How many planes these bytes hold: one at least, and no more than there are. */
static size_t planes_of(size_t bytes, size_t plane_bytes, size_t planes)
{
    return size_most(1, size_least(bytes / size_most(1, plane_bytes), planes));
}

static const struct size tightest = {.slab = 1, .batch = 1, .buffers = 1, .readers = 1, .writers = 1};

/* Whether fields are in this process's own memory. There a window slides without moving anything. */
static bool is_on_host(const struct schedule_request *request)
{
    return request->device_memory == 0;
}

/* Whether levels spend most of their time on reading planes. Ranks in narrow fields do, and extremes, whose
   arithmetic does not grow with the window. */
static bool mostly_reads(const struct schedule_request *request)
{
    const struct levels *levels = request->levels;

    for (size_t i = 0; i < levels->stage_count; i++) {
        const struct step *step = &levels->steps[i].step;
        for (size_t k = 0; k < step->count; k++) {
            if (op_takes_extreme(&step->ops[k]))
                return true;
        }
    }
    return request->wide_plane_bytes > request->field_plane_bytes; /* fields are narrow */
}

/* Planes of a slab. If planes are computed twice where two slabs meet, slabs are so long that these are few.
   Otherwise a slab is small, and the next one takes its memory soon. If planes are too large for that, each
   slab reads planes of the one before again, and is at least as long as one level lags behind another. Where
   levels mostly read, it is at least twice as long as that and as a level reaches on one side: then a level
   reads a plane twice at most, on average. If two such slabs are at least seven eighths of the grid, the
   whole grid is a single slab. Fields would hold nearly all of it anyway, and so each plane is read once.
   Sizes count samples as those of wide fields: narrow slabs take less memory, which is ready sooner. */
static size_t roomy_slab(const struct schedule_request *request, const struct levels_walk *survey)
{
    bool small = survey->seam == 0 && is_on_host(request);
    size_t planes = request->levels->planes;
    size_t slab = planes_of(small ? HOST_SLAB_BYTES : SLAB_BYTES, request->wide_plane_bytes, planes);
    size_t between = (size_t)(survey->depth / (survey->count == 0 ? 1 : survey->count));

    if (request->limits.slab > 0)
        return size_least(request->limits.slab, planes);
    if (mostly_reads(request)) {
        between = 2 * size_most(between, levels_widest_reach(request->levels));
        if (planes - planes / 8 <= 2 * between)
            between = planes;
    }
    return size_least(planes, size_most(slab, small ? between : SEAM_SHARE * survey->seam));
}

/* The sizes where memory is ample. Beyond what levels need, a window on a device has planes for
   a slab that leaves while the next one comes, and so many that it seldom has to slide. */
static struct size roomy_size(const struct schedule_request *request, const struct levels_walk *survey)
{
    const struct schedule_limits *limits = &request->limits;
    bool on_host = is_on_host(request);
    size_t planes = request->levels->planes, slab = roomy_slab(request, survey), batch = limits->batch, slack;

    if (batch == 0)
        batch = planes_of(on_host ? HOST_BATCH_BYTES : BATCH_BYTES, request->file_plane_bytes, planes);
    /* Slabs become whole batches. Rounded down, they would be shorter, and levels would read planes more
       often. */
    if (on_host && mostly_reads(request) && limits->slab == 0 &&
        2 * levels_widest_reach(request->levels) >= batch)
        slab = size_least(planes, size_rounded_up(slab, batch));
    slack = SLIDE_SHARE * 2 * survey->depth / (survey->count == 0 ? 1 : survey->count);
    slack = slab + (limits->slab > 0 ? 0 : size_most(slab, slack));
    return (struct size){.slab = slab,
                         .batch = size_least(batch, slab),
                         .slack = on_host ? 0 : slack,
                         .buffers = BUFFERS,
                         .readers = request->readers,
                         .writers = request->writers};
}

/* Less of everything; false where there is no less. */
static bool tighten(struct size *size)
{
    if (size->slab == 1 && size->batch == 1 && size->slack == 0 && size->buffers == 1)
        return false;
    if (size->slack > size->slab) {
        size->slack = size->slab;
        return true;
    }
    size->slab = size_most(1, size->slab / 2);
    size->slack = size->slab == 1 ? 0 : size_least(size->slack, size->slab);
    size->batch = size_most(1, size_least(size->batch / 2, size->slab));
    size->readers = size->writers = 1;
    size->buffers = size->slab == 1 ? 1 : BUFFERS;
    return true;
}

/* ---- how much memory that takes ---- */

/* Planes of the longest grid that a pass has, which may have to be unrolled. */
static size_t most_planes(const struct schedule *schedule, const struct levels *levels)
{
    return schedule->spooled && levels_wraps(levels) ? levels->planes + 2 * schedule->depth : levels->planes;
}

static size_t count_buffers(const struct schedule *schedule)
{
    return schedule->in_buffers + schedule->out_buffers + schedule->tee_buffers;
}

/* The other side of each buffer, and of planes in transit, in a device's own memory; and what adding up
   takes. */
static size_t scratch_bytes(const struct schedule_request *request, const struct schedule *schedule)
{
    const struct backend *backend = request->forms->backend;
    const struct shape *shape = request->forms->shape;
    size_t sides = count_buffers(schedule) + (request->tallies ? 1 : 0);
    size_t bytes =
        request->device_memory > 0 ? sides * schedule->batch_bytes + schedule->exchange_device_bytes : 0;

    if (request->tallies)
        bytes += backend->tally_bytes(shape, schedule->batch);
    if (request->changes)
        bytes += backend->change_bytes(shape, schedule->window);
    return bytes;
}

/* False where addresses end. */
static bool add_up(size_t *sum, size_t count, const size_t *bytes)
{
    *sum = 0;
    for (size_t i = 0; i < count; i++) {
        if (bytes[i] > SIZE_MAX - *sum)
            return false;
        *sum += bytes[i];
    }
    return true;
}

/* Count the memory of the attempt in such sizes, at the depth that it has; false where addresses end. */
static bool count_memory(struct attempt *attempt, const struct size *size)
{
    const struct schedule_request *request = attempt->request;
    const struct levels *levels = &attempt->levels;
    struct schedule *schedule = &attempt->schedule;
    size_t held_bytes = schedule->holds_in_spool ? 0 : request->held_bytes, fields, buffers;
    size_t plane_bytes =
        size_most(request->file_plane_bytes, schedule->spooled ? request->packed_plane_bytes : 0);

    /* How much there is of everything: planes of a batch and a slab, buffers, fields and the planes that they
       hold. */
    schedule->batch = size->batch;
    schedule->slab = size->slab / size->batch * size->batch;
    schedule->readers = size->readers;
    schedule->writers = size->writers;
    schedule->in_buffers = size->buffers + size->readers - 1;
    schedule->out_buffers = size->buffers + size->writers - 1;
    schedule->tee_buffers = request->tees ? size->buffers : 0;
    schedule->field_count = levels->stage_count == 0 ? 0 : levels_field_count(levels);
    schedule->window = size_least(most_planes(schedule, levels), size->slab + schedule->depth + size->slack);
    if (schedule->devices > 1)
        schedule->window = size->slab + schedule->depth;
    /* And the bytes of it. */
    if (!mem_product(&schedule->field_bytes, request->field_plane_bytes, schedule->window) ||
        !mem_product(&fields, schedule->field_bytes, schedule->field_count * schedule->lanes) ||
        !mem_product(&schedule->batch_bytes, plane_bytes, schedule->batch) ||
        !mem_product(&buffers, schedule->batch_bytes, count_buffers(schedule) * schedule->lanes) ||
        !mem_product(&schedule->spool_bytes, request->packed_plane_bytes,
                     schedule->spooled ? levels->planes : 0))
        return false;
    schedule->sum_bytes = scratch_bytes(request, schedule);
    return add_up(&schedule->memory_bytes, 7,
                  (const size_t[]){fields, buffers, held_bytes, request->beside_bytes,
                                   schedule->routine_bytes * schedule->lanes,
                                   schedule->sum_bytes * schedule->lanes, schedule->exchange_bytes});
}

/* The bytes on one device. */
static size_t device_bytes(const struct schedule_request *request, const struct schedule *schedule)
{
    return request->device_memory == 0 ? 0
                                       : schedule->field_bytes * schedule->field_count + schedule->sum_bytes +
                                             schedule->routine_bytes;
}

/* The bytes that count against a ceiling: one that was asked for is for host and device together, that of the
   machine for its own memory. */
static size_t counted_bytes(const struct schedule_request *request, const struct schedule *schedule)
{
    bool asked = request->memory > 0 || request->limits.memory > 0;

    return asked ? schedule->memory_bytes
                 : schedule->memory_bytes - device_bytes(request, schedule) * schedule->lanes;
}

/* ---- the candidates ---- */

/* Whether steps are looked at, over all planes. */
static bool looks_at_all(const struct levels *levels)
{
    return levels->stage_count > 0 && levels->stages[levels->stage_count - 1].until > 0.0;
}

/* A third fewer steps at once; after a single one, none. */
static unsigned fewer_steps(unsigned together)
{
    return together - (together + 2) / 3;
}

/* Levels of fewer steps lag less behind, and get along with narrower slabs. */
static void add_candidates(struct schedule_candidates *candidates, struct schedule_candidate kind,
                           unsigned most)
{
    for (kind.together = most; kind.together > 0; kind.together = fewer_steps(kind.together))
        candidates->list[candidates->count++] = kind;
    kind.together = 1;
    kind.lean = true;
    candidates->list[candidates->count++] = kind;
}

/* Whether a single pass around the grid is a candidate: where an edge wraps, a part needs planes from both
   ends of the grid, but not all. */
static bool may_go_round(const struct schedule_request *request)
{
    return request->part && request->random && levels_wraps(request->levels) &&
           !levels_mix_ends(request->levels) && !looks_at_all(request->levels) && !request->measures;
}

/* One pass, since each costs reading and writing all planes once more. What the source holds stands in
   memory, too, or else in a spool file. */
static void list_candidates(const struct schedule_request *request, struct schedule_candidates *candidates)
{
    const struct schedule_candidate streamed = {.spooled = false}, relieved = {.holds_in_spool = true};
    const struct schedule_candidate unrolled = {.spooled = true, .unrolled = true};
    const struct schedule_candidate spooled = {.spooled = true, .holds_in_spool = request->held_bytes > 0};
    struct levels on_trial = *request->levels;

    on_trial.on_trial = true;
    candidates->count = 0;
    if (may_go_round(request))
        add_candidates(candidates, unrolled, levels_most_together(request->levels));
    add_candidates(candidates, streamed, levels_most_together(request->levels));
    if (request->at_once)
        return;
    if (request->held_bytes > 0)
        add_candidates(candidates, relieved, levels_most_together(request->levels));
    add_candidates(candidates, spooled, levels_most_together(&on_trial));
}

/* ---- one of them ---- */

/* A candidate with its levels, which take as many steps at once as it says. */
static struct attempt attempt_of(const struct schedule_request *request,
                                 const struct schedule_candidate *candidate)
{
    bool on_trial = looks_at_all(request->levels);
    unsigned together = candidate->lean ? 0 : candidate->together;
    struct attempt attempt = {
        .request = request,
        .levels = *request->levels,
        .schedule = {.holds_in_spool = candidate->holds_in_spool,
                     .spooled = candidate->spooled,
                     .on_trial = on_trial,
                     .whole = on_trial || request->measures,
                     .together = candidate->together,
                     .lean = candidate->lean,
                     .devices = 1,
                     .lanes = 1,
                     .passes = 1,
                     .routine_bytes = forms_fitting_bytes(request->forms, request->levels, together)}};

    attempt.schedule.tight = candidate->lean || candidate->together < levels_most_together(request->levels);
    attempt.unrolled = candidate->unrolled;
    attempt.levels.together = candidate->together;
    attempt.levels.on_trial = attempt.levels.unrolled = candidate->spooled;
    attempt.survey = levels_survey(&attempt.levels, levels_begin(), levels_end(&attempt.levels));
    return attempt;
}

/* Whether the attempt fits in these sizes: into `memory` (0: no limit), and into the memory of the device. */
static bool fits(struct attempt *attempt, const struct size *size, uint64_t memory)
{
    const struct schedule_request *request = attempt->request;
    const struct schedule *schedule = &attempt->schedule;

    return count_memory(attempt, size) && (memory == 0 || counted_bytes(request, schedule) <= memory) &&
           (request->device_memory == 0 || device_bytes(request, schedule) <= request->device_memory);
}

/* The roomiest sizes for levels of such a depth that fit. */
static bool fit_sizes(struct attempt *attempt, const struct levels_walk *survey, uint64_t memory)
{
    const struct schedule_request *request = attempt->request;
    struct size size = roomy_size(request, survey);
    /* Too much must not be computed twice; nothing is where all planes have to be there before a level
       begins. */
    const bool any_slab = request->limits.slab > 0 || survey->depth >= request->levels->planes;

    attempt->schedule.depth = survey->depth;
    do {
        if (!any_slab && size.slab < LEAST_SEAMS * survey->seam)
            return false;
        if (fits(attempt, &size, memory))
            return true;
    } while (tighten(&size));
    return false;
}

/* Passes of a depth, whose slabs are a quarter of what there is; sliding often costs less than a pass more.
 */
static bool fit_depth(struct attempt *attempt, const struct levels_walk *survey, uint64_t memory)
{
    const struct schedule *shallow = &attempt->schedule;
    size_t least = size_most(LEAST_SEAMS * survey->seam, survey->depth / 4);
    size_t slab = size_least(size_most(1, least), roomy_slab(attempt->request, survey));
    const struct size size = {.slab = slab,
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
    /* Bisect between a depth that fits and one that does not. */
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

/* Passes over spool files. If it fits, they take all steps at once that may go together; else as many as they
   can. */
static bool fit_passes(struct attempt *attempt, uint64_t memory)
{
    const struct schedule_request *request = attempt->request;
    const struct levels_walk survey = attempt->survey;
    struct schedule *schedule = &attempt->schedule;
    bool all = survey.depth < attempt->levels.planes && fit_sizes(attempt, &survey, memory);
    struct route_cost cost;

    if (!all && (attempt->unrolled || !deepen(attempt, memory)))
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

/* All levels go in one pass, unless it takes several. */
static bool fit(struct attempt *attempt, uint64_t memory)
{
    struct levels_walk survey = attempt->survey;

    if (attempt->schedule.spooled)
        return fit_passes(attempt, memory);
    if (attempt->schedule.whole)
        survey.depth = attempt->levels.planes;
    return fit_sizes(attempt, &survey, memory);
}

/* Whether a candidate need not be tried, since another one fitted. Passes over spool files are also tried
   with fewer steps at once, and by the routines that take the least memory: either may need fewer passes. */
static bool is_needless(const struct schedule_candidate *candidate, const struct schedule_candidate *fitted)
{
    if (fitted == NULL)
        return false;
    if (fitted->unrolled)
        return true;
    if (candidate->spooled)
        return !fitted->spooled;
    return candidate->holds_in_spool == fitted->holds_in_spool;
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
static const struct schedule_candidate *choose(const struct schedule_request *request,
                                               const struct schedule_candidates *candidates, uint64_t memory,
                                               struct schedule *schedule)
{
    const struct schedule_candidate *fitted = NULL, *taken = NULL;

    for (size_t i = 0; i < candidates->count; i++) {
        const struct schedule_candidate *candidate = &candidates->list[i];
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
    return request->limits.spare > 0 ? request->limits.spare : memory_limits_spare();
}

/* More than this is not tried: the system might not refuse it, but kill for it. */
static uint64_t most_memory(const struct schedule_request *request)
{
    if (request->memory > 0)
        return request->memory;
    return request->limits.whole > 0 ? request->limits.whole : memory_limits_whole();
}

/* The least that a candidate takes at such a depth, with the source in a spool file; SIZE_MAX where addresses
   end. */
static size_t least_at(struct attempt *attempt, size_t depth)
{
    attempt->schedule.depth = depth;
    return count_memory(attempt, &tightest) ? attempt->schedule.memory_bytes : SIZE_MAX;
}

/* The depth of the shallowest pass that gets anywhere. */
static size_t least_depth(const struct attempt *attempt)
{
    if (attempt->schedule.spooled && !attempt->unrolled)
        return levels_survey_stages(&attempt->levels).depth;
    return attempt->schedule.whole ? attempt->levels.planes : attempt->survey.depth;
}

/* Why a candidate does not fit. */
static enum schedule_fate misfit_of(struct attempt *attempt, uint64_t memory)
{
    size_t depth = least_depth(attempt);

    if (least_at(attempt, depth) == SIZE_MAX)
        attempt->schedule.memory_bytes = SIZE_MAX;
    else if (attempt->schedule.spooled && depth >= attempt->levels.planes)
        return SCHEDULE_TOO_DEEP;
    else if (fits(attempt, &tightest, memory))
        return SCHEDULE_TOO_NARROW;
    return SCHEDULE_TOO_LARGE;
}

/* Every candidate, tried once more: those that need not have been as well. */
static void explain_candidates(const struct schedule_request *request,
                               const struct schedule_candidates *candidates,
                               const struct schedule_candidate *taken, uint64_t memory)
{
    struct schedule_candidates *explained = request->candidates;

    *explained = *candidates;
    explained->memory = memory;
    for (size_t i = 0; i < candidates->count; i++) {
        const struct schedule_candidate *candidate = &candidates->list[i];
        struct schedule_candidate *entry = &explained->list[i];
        struct attempt attempt = attempt_of(request, candidate);
        entry->fate = candidate == taken  ? SCHEDULE_TAKEN
                      : candidate < taken ? SCHEDULE_BEATEN
                                          : SCHEDULE_NEEDLESS;
        if (!fit(&attempt, memory))
            entry->fate = misfit_of(&attempt, memory);
        entry->passes = attempt.schedule.passes;
        entry->memory_bytes = attempt.schedule.memory_bytes;
    }
}

/* The least memory that would do. Where all steps must go at once, that is one pass, which may go around the
   grid; elsewhere one pass or several, with the source in a spool file. */
static size_t least_memory(const struct schedule_request *request)
{
    const bool once = request->at_once;
    const struct schedule_candidate streamed = {.holds_in_spool = !once, .together = 1, .lean = true};
    const struct schedule_candidate spooled = {
        .spooled = true, .unrolled = once, .holds_in_spool = !once, .together = 1, .lean = true};
    struct attempt one = attempt_of(request, &streamed), other = attempt_of(request, &spooled);
    size_t least = least_at(&one, least_depth(&one)), depth = least_depth(&other);
    bool has_other = (!once || may_go_round(request)) && depth < request->levels->planes;

    return has_other ? size_least(least, least_at(&other, depth)) : least;
}

/* Refuse the job, and name what it needs and what it may have. */
static bool refuse(const struct schedule_request *request, struct fault *fault)
{
    uint64_t whole = memory_limits_whole();
    size_t least = least_memory(request);
    const struct number_printed needed = number_format_bytes((double)least);
    char exactly[32] = "";

    /* Short sizes are exact already. */
    if (least >= 1024)
        snprintf(exactly, sizeof exactly, " (%zu bytes)", least);
    if (request->least != NULL)
        *request->least = least;
    if (least == SIZE_MAX)
        return fault_raise(fault, STATUS_LIMIT, "the grid is too large for the address space");
    if (request->memory > 0 && least > request->memory)
        return fault_raise(fault, STATUS_LIMIT, "--memory: %s needs %s%s, and %s are allowed",
                           request->at_once && request->part ? "a part takes one pass over the data, which"
                                                             : "this job",
                           needed.text, exactly, number_format_bytes((double)request->memory).text);
    if (request->device_memory > 0)
        return fault_raise(fault, STATUS_LIMIT, "the device: this job needs %s there, and %s are free",
                           needed.text, number_format_bytes((double)request->device_memory).text);
    return fault_raise(
        fault, STATUS_LIMIT,
        "this job needs %s of memory, and this process may have %s (--memory=SIZE allows more)", needed.text,
        number_format_bytes((double)whole).text);
}

/* All ranks count the same, so that all choose the same levels. */
static bool count_exchange(const struct schedule_request *request, size_t ranks, struct schedule *schedule)
{
    const struct shares shares = {.planes = request->levels->planes,
                                  .count = ranks,
                                  .halo = schedule->halo,
                                  .around = request->levels->unrolled};
    struct shares_transit transit;

    if (!shares_count_transit(&shares, schedule->halo, request->packed_plane_bytes, &transit))
        return false;
    schedule->exchange_bytes = transit.host_bytes + request->change_bytes;
    schedule->exchange_device_bytes = transit.device_bytes;
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
    struct size roomy = roomy_size(request, &survey), tight = tightest;

    schedule->devices = devices;
    schedule->lanes = request->between_ranks ? 1 : devices;
    schedule->whole = true;
    schedule->halo = levels_widest_reach(&attempt->levels);
    if (request->between_ranks && !count_exchange(request, devices, schedule))
        return false;
    schedule->depth = 2 * schedule->halo;
    /* Devices side by side: each has a part of the threads and of what moves at a time. */
    roomy.batch = size_least(size_divided_up(roomy.batch, schedule->lanes), most);
    roomy.slab = size_rounded_up(most, roomy.batch);
    roomy.readers = (unsigned)size_divided_up(request->readers, schedule->lanes);
    roomy.writers = (unsigned)size_divided_up(request->writers, schedule->lanes);
    tight.slab = most;
    return fits(attempt, &roomy, memory) || fits(attempt, &tight, memory);
}

bool schedule_share(const struct schedule_request *request, size_t devices, struct schedule *schedule)
{
    uint64_t memory = comfortable_memory(request);

    for (unsigned together = levels_most_together(request->levels); together > 0;
         together = fewer_steps(together)) {
        const struct schedule_candidate candidate = {.together = together};
        struct attempt attempt = attempt_of(request, &candidate);
        /* Planes that a level of several steps reads beside a share are computed once more, step by step: no
           more than there is in the share. So no level ever computes more planes than the grid has. */
        if ((together == 1 || 2 * levels_widest_reach(&attempt.levels) <= attempt.levels.planes / devices) &&
            fit_shares(&attempt, devices, memory)) {
            *schedule = attempt.schedule;
            return true;
        }
    }
    return false;
}

/* Where what is comfortable does not suffice, a little more may. 0: as much as is wanted. */
bool schedule_make(const struct schedule_request *request, struct schedule *schedule, struct fault *fault)
{
    uint64_t memory = comfortable_memory(request), most = most_memory(request);
    struct schedule_candidates candidates;
    const struct schedule_candidate *taken;

    list_candidates(request, &candidates);
    while ((taken = choose(request, &candidates, memory, schedule)) == NULL) {
        if (memory == 0 || (most > 0 && memory >= most))
            return refuse(request, fault);
        memory = most == 0 || memory < most / 2 ? 2 * memory : most;
    }
    if (request->candidates != NULL)
        explain_candidates(request, &candidates, taken, memory);
    return true;
}
