/* Passes: how often a run goes over the data, in what slabs, and how much memory that takes. */
#include "passes.h"

#include "base/machine.h"
#include "base/mem.h"
#include "base/number.h"
#include "route.h"

/* Levels advance by slabs of about this size. */
#define SLAB_BYTES ((size_t)64 << 20)

/* Planes pass between files and device in batches of about this size: large enough for the loops over them to
   run in parallel, small beside any field. */
#define BATCH_BYTES ((size_t)16 << 20)

/* The same for fields in this process's own memory, where what is small enough is found in the caches. */
#define CACHED_SLAB_BYTES  ((size_t)32 << 20)
#define CACHED_BATCH_BYTES ((size_t)8 << 20)

/* One over the share of the work that may be lost where slabs meet, and of the bytes of planes that levels
   need that may be moved for nothing but to make room. */
#define SEAM_SHARE  20
#define SLIDE_SHARE 10

/* Seams in a slab, below which more is lost by what is computed twice than is won by taking several steps at
 * once. */
#define LEAST_SEAMS 2

/* Buffers on each side: one is moved from or to the file, one from or to the fields, and one waits. */
#define BUFFERS 3

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

static size_t planes_of(size_t bytes, size_t plane_bytes, size_t planes)
{
    return larger(1, smaller(bytes / larger(1, plane_bytes), planes));
}

/* How much a plan takes, from roomy to tight. */
struct size {
    size_t slab, batch; /* planes */
    size_t slack;       /* planes of a window beyond what is needed */
    size_t buffers;     /* on each side, and one more for each reader beside the first */
    unsigned readers;
};

/* Planes of the longest grid that a pass has, which may have to be unrolled. */
static size_t most_planes(const struct passes_request *request, const struct passes *passes)
{
    size_t planes = request->chain->planes;

    return passes->spooled && chain_wraps(request->chain) ? planes + 2 * passes->depth : planes;
}

/* Each buffer's other side in a device's own memory, and what adding up takes. */
static size_t scratch_bytes(const struct passes_request *request, const struct passes *passes)
{
    const struct backend *backend = request->chain->backend;
    size_t sides = passes->in_buffers + passes->out_buffers + (request->surveys ? 1 : 0);
    size_t bytes = request->device_memory > 0 ? sides * passes->batch_bytes : 0;

    if (request->surveys)
        bytes += backend->survey_bytes(request->shape, passes->batch);
    if (request->changes)
        bytes += backend->change_bytes(request->shape, passes->window);
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

/* Fill in what follows from sizes and depth; false where addresses end. */
static bool measure(const struct passes_request *request, const struct size *size, struct passes *passes)
{
    size_t fields, buffers;
    size_t plane_bytes = larger(request->file_plane_bytes, passes->spooled ? request->work_plane_bytes : 0);

    passes->batch = size->batch;
    passes->slab = size->slab / size->batch * size->batch;
    passes->readers = size->readers;
    passes->in_buffers = size->buffers + size->readers - 1;
    passes->out_buffers = size->buffers;
    passes->field_count = request->chain->stage_count == 0 ? 0 : chain_field_count(request->chain);
    passes->window = smaller(most_planes(request, passes), size->slab + passes->depth + size->slack);
    if (!mem_product(&passes->field_bytes, request->field_plane_bytes, passes->window) ||
        !mem_product(&fields, passes->field_bytes, passes->field_count) ||
        !mem_product(&passes->batch_bytes, plane_bytes, passes->batch) ||
        !mem_product(&buffers, passes->batch_bytes, passes->in_buffers + passes->out_buffers) ||
        !mem_product(&passes->spool_bytes, request->work_plane_bytes,
                     passes->spooled ? request->chain->planes : 0))
        return false;
    passes->sum_bytes = scratch_bytes(request, passes);
    return add_up(
        &passes->memory_bytes, 5,
        (const size_t[]){fields, buffers, request->held_bytes, passes->routine_bytes, passes->sum_bytes});
}

static size_t device_bytes(const struct passes_request *request, const struct passes *passes)
{
    return request->device_memory == 0
               ? 0
               : passes->field_bytes * passes->field_count + passes->sum_bytes + passes->routine_bytes;
}

/* What is held against a ceiling: one that was asked for is for host and device together, that of the machine
   for its own memory. */
static size_t counted_bytes(const struct passes_request *request, const struct passes *passes)
{
    bool asked = request->memory > 0 || request->limits.memory > 0;

    return asked ? passes->memory_bytes : passes->memory_bytes - device_bytes(request, passes);
}

static bool fits(const struct passes_request *request, const struct size *size, uint64_t memory,
                 struct passes *passes)
{
    return measure(request, size, passes) && (memory == 0 || counted_bytes(request, passes) <= memory) &&
           (request->device_memory == 0 || device_bytes(request, passes) <= request->device_memory);
}

/* Whether little enough is computed twice; nothing is where all planes have to be there before a level
 * begins. */
static bool is_worth_its_seams(const struct passes_request *request, const struct chain_walk *survey,
                               size_t slab)
{
    return request->limits.slab > 0 || survey->depth >= request->chain->planes ||
           slab >= LEAST_SEAMS * survey->seam;
}

static struct size tightest(void)
{
    return (struct size){.slab = 1, .batch = 1, .buffers = 1, .readers = 1};
}

/* Whether fields are in this process's own memory. There a window slides without moving anything. */
static bool is_cached(const struct passes_request *request)
{
    return request->device_memory == 0;
}

static size_t batch_bytes(const struct passes_request *request)
{
    return is_cached(request) ? CACHED_BATCH_BYTES : BATCH_BYTES;
}

/* Where nothing is computed twice, a level finds in the caches what the one before has left. Planes too large
   for that are read again by the next slab, which is why it is no shorter than what lies between the levels.
 */
static size_t cached_slab(const struct passes_request *request, const struct chain_walk *survey)
{
    size_t slab = planes_of(CACHED_SLAB_BYTES, request->field_plane_bytes, request->chain->planes);

    return larger(slab, survey->levels == 0 ? 1 : (size_t)(survey->depth / survey->levels));
}

/* Planes of a slab: enough of them that little is computed twice where two slabs meet. */
static size_t roomy_slab(const struct passes_request *request, const struct chain_walk *survey)
{
    size_t planes = request->chain->planes;

    if (request->limits.slab > 0)
        return smaller(request->limits.slab, planes);
    if (survey->seam == 0 && is_cached(request))
        return smaller(planes, cached_slab(request, survey));
    return smaller(
        planes, larger(planes_of(SLAB_BYTES, request->field_plane_bytes, planes), SEAM_SHARE * survey->seam));
}

/* Planes that a window has beyond what levels need: a slab that leaves while the next one comes, and so many
   that it seldom has to slide. */
static size_t roomy_slack(const struct passes_request *request, const struct chain_walk *survey, size_t slab)
{
    uint64_t levels = survey->levels == 0 ? 1 : survey->levels;

    if (is_cached(request))
        return 0;
    if (request->limits.slab > 0)
        return slab;
    return slab + larger(slab, SLIDE_SHARE * 2 * survey->depth / levels);
}

static struct size roomy(const struct passes_request *request, const struct chain_walk *survey)
{
    size_t planes = request->chain->planes;
    struct size size = {.slab = roomy_slab(request, survey), .readers = request->readers};

    size.batch = request->limits.batch > 0
                     ? smaller(request->limits.batch, planes)
                     : planes_of(batch_bytes(request), request->file_plane_bytes, planes);
    size.batch = smaller(size.batch, size.slab);
    size.slack = roomy_slack(request, survey, size.slab);
    size.buffers = BUFFERS;
    return size;
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
    size->slab = larger(1, size->slab / 2);
    size->slack = size->slab == 1 ? 0 : smaller(size->slack, size->slab);
    size->batch = larger(1, smaller(size->batch / 2, size->slab));
    size->readers = 1;
    size->buffers = size->slab == 1 ? 1 : BUFFERS;
    return true;
}

/* The roomiest sizes for levels of such a depth that fit. */
static bool settle(const struct passes_request *request, const struct chain_walk *survey, uint64_t memory,
                   struct passes *passes)
{
    struct size size = roomy(request, survey);

    passes->depth = survey->depth;
    do {
        if (!is_worth_its_seams(request, survey, size.slab))
            return false;
        if (fits(request, &size, memory, passes))
            return true;
    } while (tighten(&size));
    return false;
}

static bool looks_at_all_planes(const struct chain *chain)
{
    return chain->stage_count > 0 && chain->stages[chain->stage_count - 1].until > 0.0;
}

/* A way to plan: false where the memory does not allow it. What the routines take is known. */
typedef bool planner(const struct passes_request *request, uint64_t memory, struct passes *passes);

/* With no steps together, one step by the routines that take the least. */
static bool settle_together(planner *plan, const struct passes_request *request, unsigned together,
                            uint64_t memory, struct passes *passes)
{
    struct passes_request narrowed = *request;
    struct chain chain = *request->chain;

    chain.together = together > 0 ? together : 1;
    narrowed.chain = &chain;
    *passes = (struct passes){.together = chain.together,
                              .lean = together == 0,
                              .routine_bytes = request->routine_bytes(request->context, together),
                              .on_trial = looks_at_all_planes(&chain),
                              .whole = looks_at_all_planes(&chain) || request->measures};
    return plan(&narrowed, memory, passes);
}

/* A third fewer; after a single one, none. */
static unsigned fewer(unsigned together)
{
    return together - (together + 2) / 3;
}

/* All levels in one pass, however many steps each takes at once. */
static bool settle_on_one_of(const struct passes_request *request, uint64_t memory, struct passes *passes)
{
    const struct chain *chain = request->chain;
    struct chain_walk survey = chain_survey(chain, chain_begin(), chain_end(chain));

    passes->count = 1;
    if (passes->whole)
        survey.depth = chain->planes;
    return settle(request, &survey, memory, passes);
}

/* Levels of fewer steps lag less behind, and get along with narrower slabs. */
static bool settle_on_one(const struct passes_request *request, uint64_t memory, struct passes *passes)
{
    for (unsigned together = chain_most_together(request->chain); together > 0; together = fewer(together)) {
        if (settle_together(settle_on_one_of, request, together, memory, passes))
            return true;
    }
    return settle_together(settle_on_one_of, request, 0, memory, passes);
}

/* Passes of a depth, whose slabs are a quarter of what there is; sliding often costs less than a pass more.
 */
static bool fits_depth(const struct passes_request *request, const struct passes *shallow,
                       const struct chain_walk *survey, uint64_t memory, struct passes *passes)
{
    size_t least = larger(LEAST_SEAMS * survey->seam, survey->depth / 4);
    size_t slab = smaller(larger(1, least), roomy_slab(request, survey));
    const struct size size = {
        .slab = slab, .batch = smaller(slab, shallow->batch), .buffers = shallow->out_buffers, .readers = 1};

    *passes = *shallow;
    passes->depth = survey->depth;
    return fits(request, &size, memory, passes);
}

/* The deepest passes that fit. */
static bool deepen(const struct passes_request *request, struct chain_walk survey, uint64_t memory,
                   struct passes *passes)
{
    size_t deepest = survey.depth, too_deep = request->chain->planes;
    struct passes shallow, deeper;

    if (deepest >= too_deep || !settle(request, &survey, memory, passes))
        return false;
    shallow = *passes;
    while (too_deep - deepest > 1) {
        survey.depth = deepest + (too_deep - deepest) / 2;
        if (fits_depth(request, &shallow, &survey, memory, &deeper)) {
            *passes = deeper;
            deepest = survey.depth;
        } else {
            too_deep = survey.depth;
        }
    }
    return true;
}

/* Passes that take all steps at once but for those that do not go together. */
static bool settle_at_full_depth(const struct passes_request *request, uint64_t memory, struct passes *passes)
{
    const struct chain *chain = request->chain;
    struct chain_walk survey = chain_survey(chain, chain_begin(), chain_end(chain));

    return survey.depth < chain->planes && settle(request, &survey, memory, passes);
}

static bool settle_on_many_of(const struct passes_request *request, uint64_t memory, struct passes *passes)
{
    struct passes_request unrolled = *request;
    struct chain chain = *request->chain;
    struct route_cost cost;

    chain.unrolled = true;
    unrolled.chain = &chain;
    passes->spooled = true;
    if (!settle_at_full_depth(&unrolled, memory, passes) &&
        !deepen(&unrolled, chain_survey_levels(&chain), memory, passes))
        return false;
    cost = route_survey(&chain, passes->depth, request->random,
                        (struct route_way){passes->on_trial, request->measures});
    passes->count = cost.passes;
    passes->again = cost.again;
    passes->spools = cost.spools;
    return true;
}

/* The fewest passes, since each costs reading and writing all planes once more, and then the most steps at
 * once. */
static bool settle_on_many(const struct passes_request *request, uint64_t memory, struct passes *passes)
{
    struct passes_request on_trial = *request;
    struct chain chain = *request->chain;
    bool settled = false;
    struct passes other;

    chain.on_trial = true;
    on_trial.chain = &chain;
    for (unsigned together = chain_most_together(&chain); together > 0; together = fewer(together)) {
        if (settle_together(settle_on_many_of, &on_trial, together, memory, &other) &&
            (!settled || other.count < passes->count)) {
            *passes = other;
            settled = true;
        }
    }
    return settled || settle_together(settle_on_many_of, &on_trial, 0, memory, passes);
}

/* Whether other passes take more steps at once than these, or slabs that are much larger. */
static bool are_roomier(const struct passes *others, const struct passes *passes)
{
    return others->together > passes->together || others->slab / 4 >= passes->slab;
}

static struct passes_request with_source_in_spool(const struct passes_request *request)
{
    struct passes_request relieved = *request;

    relieved.held_bytes = 0;
    return relieved;
}

/* What the source holds stands in memory, too, unless that leaves levels much less. */
static bool settle_on_one_and_source(const struct passes_request *request, uint64_t memory,
                                     struct passes *passes)
{
    const struct passes_request relieved = with_source_in_spool(request);
    bool settled = settle_on_one(request, memory, passes);
    struct passes others;

    if (request->held_bytes > 0 && settle_on_one(&relieved, memory, &others) &&
        (!settled || are_roomier(&others, passes))) {
        *passes = others;
        passes->holds_in_spool = settled = true;
    }
    return settled;
}

static bool settle_within(const struct passes_request *request, uint64_t memory, struct passes *passes)
{
    const struct passes_request relieved = with_source_in_spool(request);

    if (settle_on_one_and_source(request, memory, passes))
        return true;
    if (!settle_on_many(&relieved, memory, passes))
        return false;
    passes->holds_in_spool = request->held_bytes > 0;
    return true;
}

/* Where nothing else is said, what the machine can spare is what a grid is held in. */
static uint64_t comfortable_memory(const struct passes_request *request)
{
    if (request->memory > 0)
        return request->memory;
    if (request->limits.memory > 0)
        return request->limits.memory;
    return machine_spare_memory();
}

/* More than this is not tried: the system might not refuse it, but kill for it. */
static uint64_t most_memory(const struct passes_request *request)
{
    return request->memory > 0 ? request->memory : machine_whole_memory();
}

/* The least that would do; false where addresses end. */
static bool least_memory(const struct passes_request *request, size_t *least)
{
    struct passes_request unlimited = with_source_in_spool(request);
    struct chain chain = *request->chain;
    struct size size = tightest();
    struct passes one, many;

    unlimited.chain = &chain;
    unlimited.device_memory = request->device_memory > 0 ? UINT64_MAX : 0;
    (void)settle_together(settle_on_one_of, &unlimited, 0, 0, &one);
    if (!measure(&unlimited, &size, &one))
        return false;
    *least = one.memory_bytes;
    if (settle_together(settle_on_many_of, &unlimited, 0, 0, &many)) {
        chain.together = 1;
        chain.unrolled = true;
        many.depth = chain_survey_levels(&chain).depth;
        if (measure(&unlimited, &size, &many))
            *least = smaller(*least, many.memory_bytes);
    }
    return true;
}

static bool refuse(const struct passes_request *request, struct fault *fault)
{
    uint64_t whole = machine_whole_memory();
    char needed[32], allowed[32];
    size_t least;

    if (!least_memory(request, &least))
        return fault_raise(fault, STATUS_LIMIT, "the grid is too large for this machine's addresses");
    number_format_bytes((double)least, needed, sizeof needed);
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

/* Where what is comfortable does not suffice, a little more may. 0: as much as is wanted. */
bool passes_make(const struct passes_request *request, struct passes *passes, struct fault *fault)
{
    uint64_t memory = comfortable_memory(request), most = most_memory(request);

    while (!settle_within(request, memory, passes)) {
        if (memory == 0 || (most > 0 && memory >= most))
            return refuse(request, fault);
        memory = most == 0 || memory < most / 2 ? 2 * memory : most;
    }
    return true;
}
