/* The bench: every rung of a device on one stage, compared with the CPU's bytes and then timed. */
#include "bench.h"

#include "lower.h"
#include "mem.h"
#include "wisdom.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define RUNS          9
#define LEAST_SECONDS 0.02 /* of one run: so many launches that starting them does not show */
#define MOST_LAUNCHES 1000
#define BATCH_BYTES   ((size_t)64 << 20)
#define FIELDS        3 /* the input, and two that take turns */

/* One device with fields of the case at hand. */
struct stand {
    const struct backend *backend;
    struct device *device;
    struct field *fields[FIELDS];
    void *staging;
};

struct row {
    struct routine_facts facts;
    double seconds; /* of one step */
    bool equal;
};

struct benching {
    const struct bench_request *request;
    struct shape shape;
    struct encoding encoding; /* of the samples that go in and come out: the work type itself */
    size_t plane_bytes, batch;
    struct step step;
    const struct op *op; /* of the step, the one at hand */
    struct row best;
    struct stand cpu, device;
    unsigned char *expected; /* by the CPU after `expected_steps` steps */
    unsigned expected_steps;
    char device_text[256];
    double copy_speed; /* bytes read and written a second */
    FILE *stream;
    bool json_begun;
    bool differs; /* some row's bytes are wrong */
    struct fault *fault;
};

static double cells(const struct benching *bench)
{
    const struct shape *shape = &bench->shape;

    return (double)shape->nx * (double)shape->rows * (double)shape->planes * shape->channels;
}

/* What the last operation of an unsharp mask reads beside its input: any field will do to measure it. */
static const struct field *kept_field(const struct benching *bench, const struct stand *stand)
{
    return bench->op->kind == OP_UNSHARP ? stand->fields[0] : NULL;
}

static struct range all_planes(const struct benching *bench)
{
    return (struct range){0, bench->shape.planes};
}

/* Uniform in [−1, 1), from a counter: the same samples whatever the batch. */
static double noise(uint64_t index)
{
    uint64_t bits = (index + 1) * UINT64_C(0x9e3779b97f4a7c15);

    bits = (bits ^ (bits >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    bits = (bits ^ (bits >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (double)((bits ^ (bits >> 31)) >> 11) * 0x1p-52 - 1.0;
}

static void fill_batch(const struct benching *bench, void *batch, struct range planes)
{
    size_t plane = bench->plane_bytes / work_size(bench->request->work);
    size_t count = planes.count * plane, first = planes.first * plane;

#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < count; i++) {
        if (bench->request->work == WORK_F32)
            ((float *)batch)[i] = (float)noise(first + i);
        else
            ((double *)batch)[i] = noise(first + i);
    }
}

static bool next_range(const struct benching *bench, struct range *range)
{
    size_t planes = bench->shape.planes;

    range->first += range->count;
    range->count = planes - range->first < bench->batch ? planes - range->first : bench->batch;
    return range->count > 0;
}

static void close_stand(struct stand *stand)
{
    if (stand->device == NULL)
        return;
    for (size_t i = 0; i < FIELDS; i++)
        stand->backend->field_destroy(stand->device, stand->fields[i]);
    stand->backend->staging_destroy(stand->device, stand->staging);
    stand->backend->close(stand->device);
    *stand = (struct stand){0};
}

static bool open_stand(struct benching *bench, struct stand *stand, const struct backend *backend, int index)
{
    const struct device_request request = {.index = index, .threads = bench->request->plan.threads};
    struct range planes = {0, 0};

    stand->backend = backend;
    if (!backend->open(&stand->device, &request, bench->fault))
        return false;
    stand->staging = backend->staging_create(stand->device, bench->batch * bench->plane_bytes, bench->fault);
    if (stand->staging == NULL)
        return false;
    for (size_t i = 0; i < FIELDS; i++) {
        if (!backend->field_create(stand->device, &stand->fields[i], &bench->shape, bench->request->work,
                                   all_planes(bench), bench->fault))
            return false;
    }
    while (next_range(bench, &planes)) {
        fill_batch(bench, stand->staging, planes);
        if (!backend->upload(stand->device, stand->fields[0], &bench->encoding, stand->staging, planes,
                             bench->fault))
            return false;
    }
    return true;
}

/* So many steps of a routine from the input; *last is the field that holds the outcome. */
static bool take_steps(struct benching *bench, struct stand *stand, struct routine *routine, unsigned steps,
                       struct field **last)
{
    unsigned most = stand->backend->facts(routine)->steps;

    *last = stand->fields[0];
    for (unsigned taken = 0, together; taken < steps; taken += together) {
        struct field *to = *last == stand->fields[1] ? stand->fields[2] : stand->fields[1];
        together = steps - taken < most ? steps - taken : most;
        if (!stand->backend->advance(stand->device, routine, together, *last, kept_field(bench, stand), to,
                                     all_planes(bench), bench->fault))
            return false;
        *last = to;
    }
    return stand->backend->sync(stand->device, bench->fault);
}

/* The CPU's bytes after so many steps; kept until another number is asked for. */
static bool expect(struct benching *bench, unsigned steps)
{
    const struct rung_wish any = {.rung = NULL};
    struct stand *cpu = &bench->cpu;
    struct routine *routine;
    struct field *last;
    uint64_t nans = 0;
    bool done;

    if (bench->expected_steps == steps)
        return true;
    if (!cpu->backend->prepare(cpu->device, bench->op, &bench->shape, &any, &routine, bench->fault))
        return false;
    done = take_steps(bench, cpu, routine, steps, &last) &&
           cpu->backend->download(cpu->device, last, &bench->encoding, bench->expected, all_planes(bench),
                                  &nans, bench->fault);
    cpu->backend->release(cpu->device, routine);
    bench->expected_steps = done ? steps : 0;
    return done;
}

static bool compare(struct benching *bench, const struct field *field, bool *equal)
{
    struct stand *stand = &bench->device;
    struct range planes = {0, 0};
    uint64_t nans = 0;

    *equal = true;
    while (*equal && next_range(bench, &planes)) {
        if (!stand->backend->download(stand->device, field, &bench->encoding, stand->staging, planes, &nans,
                                      bench->fault))
            return false;
        *equal = memcmp(stand->staging, bench->expected + planes.first * bench->plane_bytes,
                        planes.count * bench->plane_bytes) == 0;
    }
    return true;
}

static int compare_seconds(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;

    return (left > right) - (left < right);
}

/* Launches a run, so that a run is long enough to be timed. */
static unsigned launches_for(double seconds)
{
    double launches = seconds > 0.0 ? LEAST_SECONDS / seconds : MOST_LAUNCHES;

    return launches < 1.0 ? 1 : launches > MOST_LAUNCHES ? MOST_LAUNCHES : (unsigned)launches;
}

/* The median time of one launch that takes as many steps as the routine can. */
static bool measure(struct benching *bench, struct routine *routine, double *seconds)
{
    struct stand *stand = &bench->device;
    unsigned steps = stand->backend->facts(routine)->steps, launches = 1;
    double runs[RUNS + 1];

    for (int run = 0; run <= RUNS; run++) {
        if (!stand->backend->start_timer(stand->device, bench->fault))
            return false;
        for (unsigned i = 0; i < launches; i++) {
            if (!stand->backend->advance(stand->device, routine, steps, stand->fields[i % 2],
                                         kept_field(bench, stand), stand->fields[2], all_planes(bench),
                                         bench->fault))
                return false;
        }
        if (!stand->backend->stop_timer(stand->device, &runs[run], bench->fault))
            return false;
        runs[run] /= launches;
        if (run == 0)
            launches = launches_for(runs[0]);
    }
    /* The first run warmed up and set the number of launches. */
    qsort(runs + 1, RUNS, sizeof *runs, compare_seconds);
    *seconds = runs[1 + RUNS / 2];
    return true;
}

static bool measure_copy(struct benching *bench)
{
    struct stand *stand = &bench->device;
    double bytes = 2.0 * cells(bench) * (double)work_size(bench->request->work);
    double runs[RUNS];

    for (int run = 0; run < RUNS; run++) {
        if (!stand->backend->start_timer(stand->device, bench->fault) ||
            !stand->backend->copy(stand->device, stand->fields[0], stand->fields[1], bench->fault) ||
            !stand->backend->stop_timer(stand->device, &runs[run], bench->fault))
            return false;
    }
    qsort(runs, RUNS, sizeof *runs, compare_seconds);
    bench->copy_speed = bytes / runs[RUNS / 2];
    return true;
}

static unsigned threads_of(const struct routine_facts *facts)
{
    return facts->block[0] * facts->block[1] * facts->block[2];
}

static void print_head(struct benching *bench, const struct stage *stage)
{
    const struct shape *shape = &bench->shape;

    if (bench->request->json)
        return;
    fprintf(bench->stream, "%s", stage->spec);
    if (bench->step.count > 1)
        fprintf(bench->stream, ", operation %zu of %zu,", (size_t)(bench->op - bench->step.ops) + 1,
                bench->step.count);
    fprintf(bench->stream, " on %zu × %zu × %zu %s, copy %.0f GB/s read and written\n", shape->nx,
            shape->rows, shape->planes, work_name(bench->request->work), bench->copy_speed / 1e9);
    fprintf(bench->stream, "%-10s %-9s %-7s %5s %7s %5s %5s %8s %9s %5s %6s %9s %9s %7s %6s %-6s %s\n",
            "rung", "tile", "coarsen", "steps", "threads", "warps", "regs", "shared", "blocks/SM", "occ.",
            "OP/B", "ms/step", "GCells/s", "GB/s", "copy", "bytes", "why");
}

static void print_text_row(struct benching *bench, const struct row *row)
{
    const struct routine_facts *facts = &row->facts;
    double rate = cells(bench) / row->seconds, moved = rate * facts->bytes_per_update;
    char tile[32], coarsen[32];

    snprintf(tile, sizeof tile, "%ux%ux%u", facts->tile_x, facts->tile_y, facts->tile_z);
    snprintf(coarsen, sizeof coarsen, facts->stride > 0 ? "%ux%u" : "%u", facts->coarsen, facts->stride);
    fprintf(bench->stream, "%-10s %-9s %-7s %5u %7u %5u %5u %8zu %9u %4.0f%% %6.2f ", facts->rung->name,
            facts->tile_x > 0 ? tile : "-", facts->coarsen > 0 ? coarsen : "-", facts->steps,
            threads_of(facts), (threads_of(facts) + 31) / 32, facts->registers, facts->shared_bytes,
            facts->blocks_per_multiprocessor, 100.0 * facts->occupancy,
            facts->operations_per_update / facts->bytes_per_update);
    if (row->equal)
        fprintf(bench->stream, "%9.4f %9.2f %7.0f %5.0f%% %-6s %s\n", 1e3 * row->seconds, rate / 1e9,
                moved / 1e9, 100.0 * moved / bench->copy_speed, "equal", facts->reason);
    else
        fprintf(bench->stream, "%9s %9s %7s %6s %-6s %s\n", "-", "-", "-", "-", "DIFFER", facts->reason);
}

static void print_json_row(struct benching *bench, const struct stage *stage, const struct row *row)
{
    const struct routine_facts *facts = &row->facts;

    fprintf(
        bench->stream,
        "%s{\"stage\": \"%s\", \"operation\": %zu, \"extents\": [%zu, %zu, %zu], \"work\": \"%s\", \"rung\": "
        "\"%s\", "
        "\"tile\": [%u, %u, %u], \"coarsen\": %u, \"stride\": %u, \"steps\": %u, \"threads\": %u, "
        "\"registers\": %u, \"shared_bytes\": %zu, \"blocks_per_multiprocessor\": %u, \"occupancy\": %.4f, "
        "\"operations_per_byte\": %.4f, \"copy_bytes_per_second\": %.6g, \"equal\": %s",
        bench->json_begun ? ",\n " : "[", stage->spec, (size_t)(bench->op - bench->step.ops), bench->shape.nx,
        bench->shape.rows, bench->shape.planes, work_name(bench->request->work), facts->rung->name,
        facts->tile_x, facts->tile_y, facts->tile_z, facts->coarsen, facts->stride, facts->steps,
        threads_of(facts), facts->registers, facts->shared_bytes, facts->blocks_per_multiprocessor,
        facts->occupancy, facts->operations_per_update / facts->bytes_per_update, bench->copy_speed,
        row->equal ? "true" : "false");
    if (row->equal)
        fprintf(bench->stream, ", \"seconds_per_step\": %.6g, \"cells_per_second\": %.6g", row->seconds,
                cells(bench) / row->seconds);
    fprintf(bench->stream, "}");
    bench->json_begun = true;
}

static void print_row(struct benching *bench, const struct stage *stage, const struct row *row)
{
    if (bench->request->json)
        print_json_row(bench, stage, row);
    else
        print_text_row(bench, row);
    fflush(bench->stream);
}

static void print_refusal(struct benching *bench, const char *rung, const struct fault *refusal)
{
    if (!bench->request->json)
        fprintf(bench->stream, "%-10s does not apply: %s\n", rung, refusal->text);
}

/* One line of the table: prepare, compare, then time. A rung that does not apply says why and fails nothing.
 */
static bool bench_form(struct benching *bench, const struct stage *stage, const struct rung_wish *wish)
{
    struct stand *stand = &bench->device;
    struct routine *routine;
    struct fault refusal;
    struct field *last;
    struct row row;
    bool done;

    if (!stand->backend->prepare(stand->device, bench->op, &bench->shape, wish, &routine, &refusal)) {
        print_refusal(bench, wish->rung, &refusal);
        return true;
    }
    row.facts = *stand->backend->facts(routine);
    done = expect(bench, row.facts.steps) && take_steps(bench, stand, routine, row.facts.steps, &last) &&
           compare(bench, last, &row.equal);
    if (done && row.equal)
        done = measure(bench, routine, &row.seconds);
    if (done && row.equal)
        row.seconds /= row.facts.steps;
    stand->backend->release(stand->device, routine);
    if (!done)
        return false;
    bench->differs = bench->differs || !row.equal;
    if (row.equal && (bench->best.facts.rung == NULL || row.seconds < bench->best.seconds))
        bench->best = row;
    print_row(bench, stage, &row);
    return true;
}

/* What is swept where a rung takes a tile or a coarsening; a rung that takes neither has one line. */
static const unsigned swept_tiles[] = {8, 12, 14, 16, 25, 32};
static const unsigned swept_coarsenings[] = {2, 4, 8, 16, 32, 64};

static bool bench_rung(struct benching *bench, const struct stage *stage, const struct rung *rung)
{
    struct rung_wish wish = bench->request->plan.wish;
    struct stand *stand = &bench->device;
    struct routine *routine;
    struct fault refusal;
    struct routine_facts facts = {.rung = NULL};

    if (wish.rung != NULL && strcmp(wish.rung, rung->name) != 0)
        return true;
    wish.rung = rung->name;
    if (stand->backend->prepare(stand->device, bench->op, &bench->shape, &wish, &routine, &refusal)) {
        facts = *stand->backend->facts(routine);
        stand->backend->release(stand->device, routine);
    }
    if (!bench_form(bench, stage, &wish))
        return false;
    for (size_t i = 0; facts.tiles && wish.tile_x == 0 && i < sizeof swept_tiles / sizeof *swept_tiles; i++) {
        struct rung_wish tiled = wish;
        tiled.tile_x = tiled.tile_y = swept_tiles[i];
        if (!bench_form(bench, stage, &tiled))
            return false;
    }
    for (size_t i = 0;
         facts.coarsens && wish.coarsen == 0 && i < sizeof swept_coarsenings / sizeof *swept_coarsenings;
         i++) {
        struct rung_wish coarsened = wish;
        coarsened.coarsen = swept_coarsenings[i];
        if (!bench_form(bench, stage, &coarsened))
            return false;
    }
    return true;
}

/* Keep what was fastest for plans to come. */
static bool keep_best(struct benching *bench)
{
    const struct routine_facts *facts = &bench->best.facts;
    struct wisdom_entry entry = {.tile_x = facts->tiles ? facts->tile_x : 0,
                                 .tile_y = facts->tiles ? facts->tile_y : 0,
                                 .coarsen = facts->coarsens ? facts->coarsen : 0,
                                 .stride = facts->coarsens ? facts->stride : 0,
                                 .updates = cells(bench) / bench->best.seconds};

    if (facts->rung == NULL)
        return true;
    snprintf(entry.rung, sizeof entry.rung, "%s", facts->rung->name);
    wisdom_name(&entry, bench->device_text, bench->op, &bench->shape);
    return wisdom_keep(&entry, bench->fault);
}

static bool bench_ladder(struct benching *bench, const struct stage *stage)
{
    bench->best.facts.rung = NULL;
    bench->expected_steps = 0;
    if (!measure_copy(bench))
        return false;
    print_head(bench, stage);
    for (const struct rung *rung = bench->device.backend->rungs; rung->name != NULL; rung++) {
        if (!bench_rung(bench, stage, rung))
            return false;
    }
    if (!bench->request->json)
        fprintf(bench->stream, "\n");
    return !bench->request->keep || keep_best(bench);
}

static bool name_device(struct benching *bench, const struct backend *backend, int index)
{
    backend->describe(index, bench->device_text, sizeof bench->device_text);
    if (!bench->request->json)
        fprintf(bench->stream, "%s: %s\n", backend->name, bench->device_text);
    return true;
}

static bool prepare_bench(struct benching *bench, const struct stage *stage)
{
    const struct grid *grid = &bench->request->grid;
    const struct backend *backend;
    int index;

    bench->encoding = (struct encoding){.type = bench->request->work == WORK_F32 ? SAMPLE_F32 : SAMPLE_F64,
                                        .channels = grid->channels,
                                        .gamma = 1.0};
    bench->shape = lower_shape(grid, grid->channels);
    bench->plane_bytes = grid_plane_samples(grid) * work_size(bench->request->work);
    bench->batch = bench->plane_bytes >= BATCH_BYTES ? 1 : BATCH_BYTES / bench->plane_bytes;
    if (bench->batch > bench->shape.planes)
        bench->batch = bench->shape.planes;
    if (!lower_stage(stage, grid, &bench->encoding, bench->request->work, &bench->step, bench->fault))
        return false;
    bench->expected = mem_alloc(bench->shape.planes, bench->plane_bytes, "the expected bytes", bench->fault);
    return bench->expected != NULL && open_stand(bench, &bench->cpu, &backend_cpu, 0) &&
           plan_find_device(&bench->request->plan, &backend, &index, bench->fault) &&
           open_stand(bench, &bench->device, backend, index) && name_device(bench, backend, index);
}

static bool bench_ops(struct benching *bench, const struct stage *stage)
{
    for (size_t i = 0; i < bench->step.count; i++) {
        bench->op = &bench->step.ops[i];
        if (!bench_ladder(bench, stage))
            return false;
    }
    return true;
}

static bool bench_stage(struct benching *bench, const struct stage_request *request)
{
    struct stage stage;
    bool done;

    if (!stage_build(request, &bench->request->grid, bench->request->force, &stage, bench->fault))
        return false;
    done = prepare_bench(bench, &stage) && bench_ops(bench, &stage);
    close_stand(&bench->cpu);
    close_stand(&bench->device);
    lower_free(&bench->step);
    mem_free(bench->expected);
    bench->expected = NULL;
    bench->expected_steps = 0;
    stage_free(&stage);
    return done;
}

bool bench_run(FILE *stream, const struct bench_request *request, struct fault *fault)
{
    struct benching bench = {.request = request, .stream = stream, .fault = fault};

    for (size_t i = 0; i < request->stage_count; i++) {
        if (!bench_stage(&bench, &request->stages[i]))
            return false;
    }
    if (request->json)
        fprintf(stream, "%s]\n", bench.json_begun ? "" : "[");
    return !bench.differs ||
           fault_raise(fault, STATUS_DEVICE, "--bench: some rung's bytes differ from the CPU's");
}
