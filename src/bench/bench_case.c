/* The case of a bench: what every row of a table has in common. Two stands hold the same fields. On one of
   them is the device that is measured; on the other the judge, which is the CPU or, where the CPU is
   measured, its plainest build on one thread. A row first takes the steps of one pass on both, and the bytes
   must be the same. Then the pass is timed alone: after a run that warms up, the median of some runs, each of
   enough calls for their start not to show. Most rows of a table are far from the fastest, and a few runs
   show that.

   The stands stay as they are from one stage to the next, where the next needs no other fields. */
#include "bench_case.h"

#include "base/mem.h"
#include "base/number.h"
#include "base/threads.h"

#include <math.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* An odd number has a run in the middle, which is the median. A call that is slow takes few runs. */
#define RUNS             9
#define FEW_RUNS         3
#define LEAST_SECONDS    0.005 /* of one run: enough for the start of launches not to show */
#define MOST_LAUNCHES    1000
/* The backend times the multiply-adds itself. Fields are filled and compared in batches of this many bytes,
   so that the staging buffer stays small beside the fields; members of a pool take this many samples or bytes
   at a time. */
#define MULTIPLYING_RUNS 5
#define BATCH_BYTES      ((size_t)64 << 20)
#define SHARED_TOGETHER  ((size_t)64 << 10)

double bench_case_cells(const struct bench_case *bench)
{
    const struct shape *shape = &bench->shape;

    return (double)shape->nx * (double)shape->rows * (double)shape->planes * shape->channels;
}

double bench_case_rate(const struct bench_case *bench, double seconds)
{
    double pixels = bench_case_cells(bench) / bench->shape.channels;

    return pixels * (bench->request->pictures ? 1 : bench->request->grid.channels) / seconds;
}

/* The rung alone would not do: a sweep prints the same rung with many tiles, and one of them is the
   plan's. */
bool bench_case_is_planned(const struct bench_case *bench, const struct form *form)
{
    const struct form *planned = &bench->planned;

    return form->rung == planned->rung && form->tile_x == planned->tile_x &&
           form->tile_y == planned->tile_y && form->coarsen == planned->coarsen &&
           form->stride == planned->stride && form->steps == planned->steps;
}

struct range bench_case_planes(const struct bench_case *bench)
{
    return (struct range){0, bench->shape.planes};
}

/* Uniform in [−1, 1), from a counter: the same samples whatever the batch. Seeds give other samples. */
static double noise(uint64_t seed, uint64_t index)
{
    /* The mixing of splitmix64. Of its 64 bits, 53 fill a double's fraction: times 2^-52 they lie between 0
       and 2. */
    uint64_t bits = ((seed << 48) + index + 1) * UINT64_C(0x9e3779b97f4a7c15);

    bits = (bits ^ (bits >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    bits = (bits ^ (bits >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (double)((bits ^ (bits >> 31)) >> 11) * 0x1p-52 - 1.0;
}

/* Samples or bytes of a batch, by all threads: on one of them, those of gigabytes take a while. */
static void share(const struct bench_case *bench, size_t count, pool_work *work, void *context)
{
    pool_share(bench->pool, (unsigned)thread_count(0), count, SHARED_TOGETHER, work, context);
}

struct filling {
    enum work_type work;
    void *batch;
    uint64_t seed, first; /* the index of the batch's first sample */
};

/* A part of a batch, by one member of the pool. */
static void fill_some(void *context, size_t first, size_t count, unsigned member)
{
    const struct filling *filling = context;

    (void)member;
    for (size_t i = first; i < first + count; i++) {
        double sample = noise(filling->seed, filling->first + i);
        if (filling->work == WORK_F32)
            ((float *)filling->batch)[i] = (float)sample;
        else
            ((double *)filling->batch)[i] = sample;
    }
}

/* The next batch of some planes; before the first of them, the range is {planes.first, 0}. */
static bool next_batch(const struct bench_case *bench, struct range planes, struct range *range)
{
    size_t end = planes.first + planes.count;

    range->first += range->count;
    range->count = end - range->first < bench->batch ? end - range->first : bench->batch;
    return range->count > 0;
}

static void close_stand(struct bench_stand *stand)
{
    if (stand->device == NULL)
        return;
    for (size_t i = 0; i < BENCH_FIELDS; i++)
        stand->backend->field_destroy(stand->device, stand->fields[i]);
    stand->backend->staging_destroy(stand->device, stand->staging);
    stand->backend->close(stand->device);
    *stand = (struct bench_stand){0};
}

static bool await_staging(struct bench_case *bench, struct bench_stand *stand)
{
    double unused = 0.0;

    return stand->backend->staging_wait(stand->device, stand->staging, &unused, bench->fault);
}

/* What an average leaves in the channels that it frees is not compared. */
static unsigned compared_channels(const struct bench_case *bench)
{
    return bench->op->freed > 0 ? bench->op->weighed : bench->shape.channels;
}

static size_t compared_bytes(const struct bench_case *bench, size_t planes)
{
    return planes * (bench->plane_bytes / bench->shape.channels) * compared_channels(bench);
}

static bool fetch(struct bench_case *bench, struct bench_stand *stand, const struct field *field,
                  struct range planes)
{
    struct encoding encoding = bench->encoding;

    encoding.channels = compared_channels(bench);
    return stand->backend->download(stand->device, field, &encoding, stand->staging, planes, bench->fault) &&
           await_staging(bench, stand);
}

/* The stands of a fleet number planes from the start of their halo, the judge's from the start of the
   grid. */
static struct range higher_by(struct range planes, size_t higher)
{
    return (struct range){planes.first + higher, planes.count};
}

bool bench_case_fill_planes(struct bench_case *bench, struct bench_stand *stand, size_t field,
                            struct range planes, size_t higher)
{
    size_t plane = bench->plane_bytes / work_size(bench->request->work);
    struct filling filling = {.work = bench->request->work, .batch = stand->staging->samples, .seed = field};
    struct range batch = {planes.first, 0};
    bool filled = true;

    /* Threads rest while a batch is sent: the one staging buffer is free again only once the device has taken
       it. */
    while (filled && next_batch(bench, planes, &batch)) {
        filling.first = batch.first * plane;
        share(bench, batch.count * plane, fill_some, &filling);
        filled = stand->backend->upload(stand->device, stand->fields[field], &bench->encoding, stand->staging,
                                        higher_by(batch, higher), (struct range){0, 0}, bench->fault) &&
                 await_staging(bench, stand);
    }
    return filled;
}

bool bench_case_fill(struct bench_case *bench, struct bench_stand *stand, size_t field)
{
    return bench_case_fill_planes(bench, stand, field, bench_case_planes(bench), 0);
}

/* A device with three fields, of which the first is filled with noise. */
static bool open_stand(struct bench_case *bench, struct bench_stand *stand, const struct backend *backend,
                       const struct device_request *request)
{
    stand->backend = backend;
    if (!backend->open(&stand->device, request, bench->fault))
        return false;
    stand->staging =
        backend->staging_create(stand->device, bench->batch * bench->plane_bytes, NULL, bench->fault);
    if (stand->staging == NULL)
        return false;
    for (size_t i = 0; i < BENCH_FIELDS; i++) {
        if (!backend->field_create(stand->device, &stand->fields[i], &bench->shape, bench->request->work,
                                   bench_case_planes(bench), bench->fault))
            return false;
    }
    return bench_case_fill(bench, stand, 0);
}

bool bench_case_settle(const struct bench_case *bench, const struct rung_wish *wish, struct form *form,
                       struct fault *fault)
{
    const struct bench_stand *stand = &bench->device;

    return stand->backend->settle(stand->device, bench->op, &bench->shape, wish, form, fault);
}

bool bench_case_prepare(const struct bench_case *bench, const struct bench_stand *stand, const struct op *op,
                        const struct rung_wish *wish, struct bench_kernel *kernel, struct fault *fault)
{
    return stand->backend->settle(stand->device, op, &bench->shape, wish, &kernel->form, fault) &&
           stand->backend->prepare(stand->device, &kernel->form, &kernel->routine, fault);
}

bool bench_case_take_steps(struct bench_case *bench, struct bench_stand *stand,
                           const struct bench_kernel *kernel, unsigned steps, struct field **last)
{
    unsigned most = kernel->form.steps;
    double unused = 0.0;

    /* Field 0 is only read, so that every row begins with the same samples; the other two take turns. */
    for (unsigned taken = 0, together; taken < steps; taken += together) {
        struct field *to = *last == stand->fields[1] ? stand->fields[2] : stand->fields[1];
        together = steps - taken < most ? steps - taken : most;
        /* For a single step: nobody takes several of an operation that reads a second field. */
        const struct field *kept = op_reads_kept(kernel->form.op) ? stand->fields[0] : NULL;
        if (!stand->backend->advance(stand->device, kernel->routine, together, *last, kept, to,
                                     bench_case_planes(bench), bench->fault))
            return false;
        *last = to;
    }
    return stand->backend->sync(stand->device, &unused, bench->fault);
}

/* A batch that was fetched, and the place of the judge's bytes of the same planes. */
struct comparison {
    const unsigned char *fetched;
    unsigned char *expected;
    atomic_bool differs;
};

static void keep_some(void *context, size_t first, size_t count, unsigned member)
{
    const struct comparison *kept = context;

    (void)member;
    memcpy(kept->expected + first, kept->fetched + first, count);
}

static void compare_some(void *context, size_t first, size_t count, unsigned member)
{
    struct comparison *compared = context;

    (void)member;
    if (memcmp(compared->fetched + first, compared->expected + first, count) != 0)
        atomic_store(&compared->differs, true);
}

/* Copy the judge's field into memory, where all rows of the table can compare with it. */
static bool keep_expected(struct bench_case *bench, const struct field *field)
{
    struct comparison kept = {.fetched = bench->judge.staging->samples};
    struct range planes = {0, 0};

    while (next_batch(bench, bench_case_planes(bench), &planes)) {
        if (!fetch(bench, &bench->judge, field, planes))
            return false;
        kept.expected = bench->expected + planes.first * bench->plane_bytes;
        share(bench, compared_bytes(bench, planes.count), keep_some, &kept);
    }
    return true;
}

void bench_case_forget(struct bench_case *bench)
{
    bench->expected_steps = 0;
    bench->expected_field = bench->judge.fields[0];
}

static bool judge_op(struct bench_case *bench, const struct op *op, unsigned steps)
{
    const struct rung_wish any = {.rung = NULL};
    struct bench_stand *judge = &bench->judge;
    struct bench_kernel kernel;
    bool done;

    if (!bench_case_prepare(bench, judge, op, &any, &kernel, bench->fault))
        return false;
    done = bench_case_take_steps(bench, judge, &kernel, steps, &bench->expected_field);
    judge->backend->release(judge->device, kernel.routine);
    return done;
}

/* The judge takes passes one by one. */
static bool judge_steps(struct bench_case *bench, unsigned steps)
{
    const struct op *op = bench->op;
    bool done = true;

    if (op->kind != OP_PASSES)
        return judge_op(bench, op, steps);
    for (unsigned step = 0; step < steps; step++) {
        for (size_t i = 0; done && i < op->pass_count; i++)
            done = judge_op(bench, &op->passes[i], 1);
    }
    return done;
}

bool bench_case_expect(struct bench_case *bench, unsigned steps)
{
    bool done;

    if (bench->expected_steps == steps)
        return true;
    /* Fewer steps than the judge has taken cannot be taken back: it begins anew. */
    if (bench->expected_steps > steps)
        bench_case_forget(bench);
    done = judge_steps(bench, steps - bench->expected_steps) && keep_expected(bench, bench->expected_field);
    if (done)
        bench->expected_steps = steps;
    else
        bench_case_forget(bench);
    return done;
}

bool bench_case_compare(struct bench_case *bench, struct bench_stand *stand, const struct field *field,
                        struct range planes, size_t higher, bool *equal)
{
    struct comparison compared = {.fetched = stand->staging->samples};
    struct range batch = {planes.first, 0};

    while (!atomic_load(&compared.differs) && next_batch(bench, planes, &batch)) {
        if (!fetch(bench, stand, field, higher_by(batch, higher)))
            return false;
        compared.expected = bench->expected + batch.first * bench->plane_bytes;
        share(bench, compared_bytes(bench, batch.count), compare_some, &compared);
    }
    *equal = !atomic_load(&compared.differs);
    return true;
}

/* Calls a run, so that a run is long enough to be timed. */
static unsigned calls_for(double seconds)
{
    double launches = seconds > 0.0 ? LEAST_SECONDS / seconds : MOST_LAUNCHES;

    return launches < 1.0 ? 1 : launches > MOST_LAUNCHES ? MOST_LAUNCHES : (unsigned)launches;
}

bool bench_case_measure_by(struct bench_case *bench, const struct bench_watch *watch, bench_call *call,
                           void *context, double slow, double *seconds)
{
    unsigned calls = 1, count = RUNS;
    double runs[RUNS + 1];

    /* The first run is a single call: it warms up caches and clocks, and tells how many calls fill a run. The
       second one is the first that counts, and its time decides how many follow. */
    for (unsigned run = 0; run <= count; run++) {
        runs[run] = 0.0;
        if (!watch->begin(bench, context))
            return false;
        for (unsigned i = 0; i < calls; i++) {
            if (!call(bench, context))
                return false;
        }
        if (!watch->end(bench, context, &runs[run]))
            return false;
        runs[run] /= calls;
        if (run == 0)
            calls = calls_for(runs[0]);
        if (run == 1 && runs[1] > slow)
            count = FEW_RUNS;
    }
    qsort(runs + 1, count, sizeof *runs, number_compare);
    *seconds = runs[1 + count / 2];
    return true;
}

static bool begin_watch(struct bench_case *bench, void *unused)
{
    struct bench_stand *stand = &bench->device;

    (void)unused;
    return stand->backend->begin_span(stand->device, bench->fault);
}

static bool end_watch(struct bench_case *bench, void *unused, double *seconds)
{
    struct bench_stand *stand = &bench->device;

    (void)unused;
    return stand->backend->end_span(stand->device, seconds, bench->fault) &&
           stand->backend->sync(stand->device, seconds, bench->fault);
}

bool bench_case_measure(struct bench_case *bench, bench_call *call, void *context, double slow,
                        double *seconds)
{
    static const struct bench_watch watch = {begin_watch, end_watch};

    return bench_case_measure_by(bench, &watch, call, context, slow, seconds);
}

/* A field of its own, as in a run: what is read anyway would come from the caches. */
static struct field *kept_field(const struct bench_kernel *kernel, const struct bench_stand *stand)
{
    return op_reads_kept(kernel->form.op) ? stand->fields[2] : NULL;
}

bool bench_case_fill_kept(struct bench_case *bench, struct bench_stand *stand,
                          const struct bench_kernel *kernel)
{
    struct field *kept = kept_field(kernel, stand);

    return kept == NULL || stand->backend->copy(stand->device, stand->fields[0], kept, bench->fault);
}

bool bench_case_pass(struct bench_case *bench, void *context)
{
    const struct bench_kernel *kernel = context;
    struct bench_stand *stand = &bench->device;

    return stand->backend->advance(stand->device, kernel->routine, kernel->form.steps, stand->fields[0],
                                   kept_field(kernel, stand), stand->fields[1], bench_case_planes(bench),
                                   bench->fault);
}

static bool copy_field(struct bench_case *bench, void *unused)
{
    struct bench_stand *stand = &bench->device;

    (void)unused;
    return stand->backend->copy(stand->device, stand->fields[0], stand->fields[1], bench->fault);
}

bool bench_case_add_changes(struct bench_case *bench, void *sums)
{
    struct bench_stand *stand = &bench->device;

    return stand->backend->change(stand->device, stand->fields[0], stand->fields[1], bench->shape.channels,
                                  false, bench_case_planes(bench), sums, bench->fault);
}

static bool measure_copy(struct bench_case *bench)
{
    double bytes = 2.0 * bench_case_cells(bench) * (double)work_size(bench->request->work), seconds;

    if (!bench_case_measure(bench, copy_field, NULL, INFINITY, &seconds))
        return false;
    bench->copy_speed = bytes / seconds;
    return true;
}

/* The multiply-adds a second that the device does at best, in the median of some runs; NAN where a backend
   has no such kernel. */
static void measure_multiply_adds(struct bench_case *bench)
{
    struct bench_stand *stand = &bench->device;
    double rates[MULTIPLYING_RUNS];

    bench->multiply_adds = NAN;
    if (stand->backend->multiply_adds == NULL)
        return;
    for (int run = 0; run < MULTIPLYING_RUNS; run++)
        rates[run] = stand->backend->multiply_adds(stand->device, bench->request->work);
    qsort(rates, MULTIPLYING_RUNS, sizeof *rates, number_compare);
    bench->multiply_adds = rates[MULTIPLYING_RUNS / 2];
}

static bool open_stands(struct bench_case *bench)
{
    const struct plan_request *plan = &bench->request->plan;
    struct device_request measured = {.threads = plan->threads};
    struct device_request judging = {.threads = 0};
    const struct backend *backend;
    char text[256];

    /* The judge takes all threads, whatever -j says: its time is not measured. Where the CPU is measured, it
       is told to use its plainest build on one thread, so that vectors and threads are what is judged. */
    if (!selection_find_devices(plan, &bench->devices, bench->fault))
        return false;
    backend = bench->devices.backend;
    measured.index = bench->devices.indices[0];
    judging.plain = backend == &backend_cpu;
    if (!open_stand(bench, &bench->judge, &backend_cpu, &judging) ||
        !open_stand(bench, &bench->device, backend, &measured))
        return false;
    backend->describe(measured.index, text, sizeof text);
    if (!bench->request->json)
        fprintf(bench->stream, "%s: %s\n", backend->name, text);
    return true;
}

/* The stands of a grid, the judge's bytes, and what the device does at best. */
static bool open_all(struct bench_case *bench, const struct grid *grid)
{
    /* Samples go in and come out as the work type itself, so that no rounding hides a difference. */
    bench->encoding = (struct encoding){
        .type = work_sample(bench->request->work), .channels = grid->channels, .gamma = 1.0};
    bench->shape = lower_shape(grid, grid->channels);
    bench->plane_bytes = grid_plane_samples(grid) * work_size(bench->request->work);
    /* Batches are of whole planes: one where a plane alone is larger. */
    bench->batch = bench->plane_bytes >= BATCH_BYTES ? 1 : BATCH_BYTES / bench->plane_bytes;
    if (bench->batch > bench->shape.planes)
        bench->batch = bench->shape.planes;
    bench->expected = mem_alloc(bench->shape.planes, bench->plane_bytes, "the expected bytes", bench->fault);
    if (bench->expected == NULL ||
        !pool_create(&bench->pool, (unsigned)thread_count(0) - 1, THREAD_FULL_STACK, bench->fault) ||
        !open_stands(bench) || !measure_copy(bench))
        return false;
    measure_multiply_adds(bench);
    return true;
}

bool bench_case_open(struct bench_case *bench, const struct stage *stage)
{
    struct encoding encoding = bench->request->encoding;
    struct grid grid = bench->request->grid;

    encoding.weighs = encoding.missing && stage_averages(stage);
    grid.channels = encoding_field_channels(&encoding);
    if (!lower_stage(stage, &grid, &encoding, bench->request->work, &bench->step, bench->fault))
        return false;
    /* Fields of two stages differ in the number of channels alone. */
    if (bench->pool != NULL && bench->shape.channels == grid.channels)
        return true;
    bench_case_close(bench);
    return open_all(bench, &grid);
}

void bench_case_close(struct bench_case *bench)
{
    close_stand(&bench->judge);
    close_stand(&bench->device);
    pool_destroy(bench->pool);
    bench->pool = NULL;
    mem_free(bench->expected);
    bench->expected = NULL;
}
