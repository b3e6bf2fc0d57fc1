/* The bench: every rung of a device on one stage, compared with the CPU's bytes and then timed. */
#include "bench.h"

#include "base/json.h"
#include "base/mem.h"
#include "base/number.h"
#include "base/pool.h"
#include "base/thread.h"
#include "plan/forms.h"
#include "plan/lower.h"
#include "plan/wisdom.h"

#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define RUNS             9
#define LEAST_SECONDS    0.005 /* of one run: so many launches that starting them does not show */
#define MOST_LAUNCHES    1000
#define MULTIPLYING_RUNS 5
#define BATCH_BYTES      ((size_t)64 << 20)
#define FILLED_TOGETHER  ((size_t)64 << 10)
#define FIELDS           3 /* the input, and two that take turns */

/* One device with fields of the case at hand. */
struct stand {
    const struct backend *backend;
    struct device *device;
    struct field *fields[FIELDS];
    struct staging *staging;
};

/* A routine, and the form that it was prepared in. */
struct kernel {
    struct form form;
    struct routine *routine;
};

struct row {
    struct rung_wish wish;
    struct form form;
    double seconds; /* of one step */
    bool equal;
};

struct benching {
    const struct bench_request *request;
    const char *title; /* of the table at hand: a stage, or sums */
    struct shape shape;
    struct encoding encoding; /* of the samples that go in and come out: the work type itself */
    size_t plane_bytes, batch;
    struct step step;
    const struct op *op; /* of the step, the one at hand */
    bool single;         /* a pass takes one step */
    struct row best;
    struct form planned; /* what a plan takes of itself */
    struct stand judge, device;
    int index;               /* of the device */
    unsigned char *expected; /* by the judge after `expected_steps` steps */
    unsigned expected_steps;
    struct field *expected_field; /* the judge's that they stand in */
    double copy_speed;            /* bytes read and written a second */
    double multiply_adds;         /* a second; NAN: not measured on this device */
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

/* Uniform in [−1, 1), from a counter: the same samples whatever the batch. Seeds give other samples. */
static double noise(uint64_t seed, uint64_t index)
{
    uint64_t bits = ((seed << 48) + index + 1) * UINT64_C(0x9e3779b97f4a7c15);

    bits = (bits ^ (bits >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    bits = (bits ^ (bits >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (double)((bits ^ (bits >> 31)) >> 11) * 0x1p-52 - 1.0;
}

struct filling {
    enum work_type work;
    void *batch;
    uint64_t seed, first; /* the index of the batch's first sample */
};

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

static void fill_batch(const struct benching *bench, struct pool *pool, uint64_t seed, void *batch,
                       struct range planes)
{
    size_t plane = bench->plane_bytes / work_size(bench->request->work);
    struct filling filling = {bench->request->work, batch, seed, planes.first * plane};

    pool_share(pool, (unsigned)thread_count(0), planes.count * plane, FILLED_TOGETHER, fill_some, &filling);
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

static bool await_staging(struct benching *bench, struct stand *stand)
{
    double unused = 0.0;

    return stand->backend->staging_wait(stand->device, stand->staging, &unused, bench->fault);
}

static bool fetch(struct benching *bench, struct stand *stand, const struct field *field, struct range planes)
{
    return stand->backend->download(stand->device, field, &bench->encoding, stand->staging, planes,
                                    bench->fault) &&
           await_staging(bench, stand);
}

static bool fill_field_by(struct benching *bench, struct pool *pool, struct stand *stand, size_t field)
{
    const struct range none = {0, 0};
    struct range planes = {0, 0};

    while (next_range(bench, &planes)) {
        fill_batch(bench, pool, field, stand->staging->samples, planes);
        if (!stand->backend->upload(stand->device, stand->fields[field], &bench->encoding, stand->staging,
                                    planes, none, bench->fault) ||
            !await_staging(bench, stand))
            return false;
    }
    return true;
}

/* Noise into a field, the same on every stand. */
static bool fill_field(struct benching *bench, struct stand *stand, size_t field)
{
    struct pool *pool;
    bool filled;

    if (!pool_create(&pool, (unsigned)thread_count(0) - 1, POOL_FULL_STACKS, bench->fault))
        return false;
    filled = fill_field_by(bench, pool, stand, field);
    pool_destroy(pool);
    return filled;
}

static bool open_stand(struct benching *bench, struct stand *stand, const struct backend *backend,
                       const struct device_request *request)
{
    stand->backend = backend;
    if (!backend->open(&stand->device, request, bench->fault))
        return false;
    stand->staging = backend->staging_create(stand->device, bench->batch * bench->plane_bytes, bench->fault);
    if (stand->staging == NULL)
        return false;
    for (size_t i = 0; i < FIELDS; i++) {
        if (!backend->field_create(stand->device, &stand->fields[i], &bench->shape, bench->request->work,
                                   all_planes(bench), bench->fault))
            return false;
    }
    return fill_field(bench, stand, 0);
}

static bool settle(const struct benching *bench, const struct stand *stand, const struct rung_wish *wish,
                   struct form *form, struct fault *fault)
{
    return stand->backend->settle(stand->device, bench->op, &bench->shape, wish, form, fault);
}

static bool prepare(const struct benching *bench, const struct stand *stand, const struct rung_wish *wish,
                    struct kernel *kernel, struct fault *fault)
{
    return settle(bench, stand, wish, &kernel->form, fault) &&
           stand->backend->prepare(stand->device, &kernel->form, &kernel->routine, fault);
}

/* So many steps from a field on; *last is the field at hand, and in the end the one that holds the outcome.
 */
static bool take_steps(struct benching *bench, struct stand *stand, const struct kernel *kernel,
                       unsigned steps, struct field **last)
{
    unsigned most = kernel->form.steps;
    double unused = 0.0;

    for (unsigned taken = 0, together; taken < steps; taken += together) {
        struct field *to = *last == stand->fields[1] ? stand->fields[2] : stand->fields[1];
        together = steps - taken < most ? steps - taken : most;
        if (!stand->backend->advance(stand->device, kernel->routine, together, *last,
                                     kept_field(bench, stand), to, all_planes(bench), bench->fault))
            return false;
        *last = to;
    }
    return stand->backend->sync(stand->device, &unused, bench->fault);
}

static bool keep_expected(struct benching *bench, const struct field *field)
{
    struct range planes = {0, 0};

    while (next_range(bench, &planes)) {
        if (!fetch(bench, &bench->judge, field, planes))
            return false;
        memcpy(bench->expected + planes.first * bench->plane_bytes, bench->judge.staging->samples,
               planes.count * bench->plane_bytes);
    }
    return true;
}

/* Whoever asks for the judge's bytes next begins anew. */
static void forget_expected(struct benching *bench)
{
    bench->expected_steps = 0;
    bench->expected_field = bench->judge.fields[0];
}

/* The judge's bytes after so many steps; a higher number than the last one takes the steps between. */
static bool expect(struct benching *bench, unsigned steps)
{
    const struct rung_wish any = {.rung = NULL};
    struct stand *judge = &bench->judge;
    struct kernel kernel;
    bool done;

    if (bench->expected_steps == steps)
        return true;
    if (bench->expected_steps > steps)
        forget_expected(bench);
    if (!prepare(bench, judge, &any, &kernel, bench->fault))
        return false;
    done = take_steps(bench, judge, &kernel, steps - bench->expected_steps, &bench->expected_field) &&
           keep_expected(bench, bench->expected_field);
    judge->backend->release(judge->device, kernel.routine);
    if (done)
        bench->expected_steps = steps;
    else
        forget_expected(bench);
    return done;
}

static bool compare(struct benching *bench, const struct field *field, bool *equal)
{
    struct stand *stand = &bench->device;
    struct range planes = {0, 0};

    *equal = true;
    while (*equal && next_range(bench, &planes)) {
        if (!fetch(bench, stand, field, planes))
            return false;
        *equal = memcmp(stand->staging->samples, bench->expected + planes.first * bench->plane_bytes,
                        planes.count * bench->plane_bytes) == 0;
    }
    return true;
}

static int compare_numbers(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;

    return (left > right) - (left < right);
}

/* Calls a run, so that a run is long enough to be timed. */
static unsigned calls_for(double seconds)
{
    double launches = seconds > 0.0 ? LEAST_SECONDS / seconds : MOST_LAUNCHES;

    return launches < 1.0 ? 1 : launches > MOST_LAUNCHES ? MOST_LAUNCHES : (unsigned)launches;
}

/* What is measured: one call, on the stand of the device. */
typedef bool measured_call(struct benching *bench, void *context);

/* The median time of a call. */
static bool measure(struct benching *bench, measured_call *call, void *context, double *seconds)
{
    struct stand *stand = &bench->device;
    unsigned calls = 1;
    double runs[RUNS + 1];

    for (int run = 0; run <= RUNS; run++) {
        runs[run] = 0.0;
        if (!stand->backend->begin_span(stand->device, bench->fault))
            return false;
        for (unsigned i = 0; i < calls; i++) {
            if (!call(bench, context))
                return false;
        }
        if (!stand->backend->end_span(stand->device, &runs[run], bench->fault) ||
            !stand->backend->sync(stand->device, &runs[run], bench->fault))
            return false;
        runs[run] /= calls;
        if (run == 0)
            calls = calls_for(runs[0]);
    }
    /* The first run warmed up and set the number of calls. */
    qsort(runs + 1, RUNS, sizeof *runs, compare_numbers);
    *seconds = runs[1 + RUNS / 2];
    return true;
}

/* One pass that takes as many steps as it can. */
static bool pass(struct benching *bench, void *context)
{
    const struct kernel *kernel = context;
    struct stand *stand = &bench->device;

    return stand->backend->advance(stand->device, kernel->routine, kernel->form.steps, stand->fields[0],
                                   kept_field(bench, stand), stand->fields[1], all_planes(bench),
                                   bench->fault);
}

static bool copy_field(struct benching *bench, void *unused)
{
    struct stand *stand = &bench->device;

    (void)unused;
    return stand->backend->copy(stand->device, stand->fields[0], stand->fields[1], bench->fault);
}

static bool add_changes(struct benching *bench, void *sums)
{
    struct stand *stand = &bench->device;

    return stand->backend->change(stand->device, stand->fields[0], stand->fields[1], bench->shape.channels,
                                  all_planes(bench), sums, bench->fault);
}

static bool measure_copy(struct benching *bench)
{
    double bytes = 2.0 * cells(bench) * (double)work_size(bench->request->work), seconds;

    if (!measure(bench, copy_field, NULL, &seconds))
        return false;
    bench->copy_speed = bytes / seconds;
    return true;
}

static void measure_multiply_adds(struct benching *bench)
{
    struct stand *stand = &bench->device;
    double rates[MULTIPLYING_RUNS];

    bench->multiply_adds = NAN;
    if (stand->backend->multiply_adds == NULL)
        return;
    for (int run = 0; run < MULTIPLYING_RUNS; run++)
        rates[run] = stand->backend->multiply_adds(stand->device, bench->request->work);
    qsort(rates, MULTIPLYING_RUNS, sizeof *rates, compare_numbers);
    bench->multiply_adds = rates[MULTIPLYING_RUNS / 2];
}

/* ---- the table ---- */

static unsigned threads_of(const struct form *form)
{
    return form->block[0] * form->block[1] * form->block[2];
}

static const char *judge_name(const struct benching *bench)
{
    return bench->device.backend == &backend_cpu ? "one thread of the baseline build" : "the CPU";
}

/* Cells, or pixels with all their channels, a second. */
static double rate_of(const struct benching *bench, double seconds)
{
    double count = bench->request->pictures ? cells(bench) / bench->shape.channels : cells(bench);

    return count / seconds;
}

/* Taps added up a second by the multiply-adds that the device could do; NAN where either is unknown: an
   update that is not a chain of taps is more than multiply-adds. */
static double share_of_multiply_adds(const struct benching *bench, const struct row *row)
{
    if (bench->op == NULL || bench->op->kind != OP_TAPS)
        return NAN;
    return cells(bench) / row->seconds * (double)bench->op->tap_count / bench->multiply_adds;
}

/* Blocks of threads, with registers and shared memory of their own: columns of a GPU's table. */
static bool has_blocks(const struct benching *bench)
{
    return bench->device.backend != &backend_cpu;
}

static void print_extents(const struct benching *bench)
{
    const struct grid *grid = &bench->request->grid;
    size_t extents[3] = {grid->nx, grid->ny, grid->nz};
    char text[96];

    fprintf(bench->stream, "%s: %s %s", bench->title,
            number_format_product(extents, grid->axes, text, sizeof text), work_name(bench->request->work));
}

static void print_head(struct benching *bench)
{
    const struct shape *shape = &bench->shape;

    if (bench->request->json)
        return;
    print_extents(bench);
    if (shape->channels > 1)
        fprintf(bench->stream, " with %u channels", shape->channels);
    fprintf(bench->stream, ", copy %.4g GB/s read and written", bench->copy_speed / 1e9);
    if (!isnan(bench->multiply_adds))
        fprintf(bench->stream, ", %.4g G multiply-adds/s", bench->multiply_adds / 1e9);
    fprintf(bench->stream, ", bytes compared with those of %s\n", judge_name(bench));
    fprintf(bench->stream, "%-11s %-9s %-8s %5s ", "rung", "tile", "coarsen", "steps");
    if (has_blocks(bench))
        fprintf(bench->stream, "%7s %5s %4s %8s %9s %5s ", "threads", "warps", "regs", "shared", "blocks/SM",
                "occ.");
    fprintf(bench->stream, "%6s %9s %9s %7s %6s %6s %-6s %s\n", "OP/B", "ms/step",
            bench->request->pictures ? "Mpx/s" : "GCells/s", "GB/s", "copy", "fma", "bytes", "comment");
}

static bool is_planned(const struct benching *bench, const struct form *form)
{
    const struct form *planned = &bench->planned;

    return form->rung == planned->rung && form->tile_x == planned->tile_x &&
           form->tile_y == planned->tile_y && form->coarsen == planned->coarsen &&
           form->stride == planned->stride && form->steps == planned->steps;
}

static void remark(char *text, size_t size, const char *format, ...) DIAG_PRINTF(3, 4);

/* Add to a comment. */
static void remark(char *text, size_t size, const char *format, ...)
{
    size_t used = strlen(text);
    va_list arguments;

    if (used > 0 && used + 2 < size)
        used += (size_t)snprintf(text + used, size - used, ", ");
    va_start(arguments, format);
    if (used < size)
        vsnprintf(text + used, size - used, format, arguments);
    va_end(arguments);
}

/* What a reader would ask about the row next. */
static void comment(const struct benching *bench, const struct row *row, char *text, size_t size)
{
    const struct form *form = &row->form;

    *text = '\0';
    if (is_planned(bench, form))
        remark(text, size, "what a plan takes");
    if (row->wish.tile_x > 0 && row->wish.tile_x == form->suggested_tile)
        remark(text, size, "tile suggested by the occupancy calculator");
    if (form->local_bytes > 0)
        remark(text, size, "%zu bytes a thread spilled", form->local_bytes);
    if (form->bound != NULL)
        remark(text, size, "blocks limited by %s", form->bound);
    if (form->bound != NULL && form->waves < 1.0)
        remark(text, size, "fills %.0f %% of the device", 100.0 * form->waves);
}

static void print_text_row(struct benching *bench, const struct row *row)
{
    const struct form *form = &row->form;
    double moved = cells(bench) / row->seconds * form->bytes_per_update;
    double share = share_of_multiply_adds(bench, row);
    char tile[32], coarsen[32], multiplied[32] = "-", words[256];

    snprintf(tile, sizeof tile, form->tile_z > 1 ? "%ux%ux%u" : "%ux%u", form->tile_x, form->tile_y,
             form->tile_z);
    snprintf(coarsen, sizeof coarsen, form->stride > 1 ? "%ux%u" : "%u", form->coarsen, form->stride);
    if (row->equal && !isnan(share))
        snprintf(multiplied, sizeof multiplied, "%.0f%%", 100.0 * share);
    comment(bench, row, words, sizeof words);
    fprintf(bench->stream, "%-11s %-9s %-8s %5u ", form->rung->name, form->tile_x > 0 ? tile : "-",
            form->coarsen > 0 ? coarsen : "-", form->steps);
    if (has_blocks(bench))
        fprintf(bench->stream, "%7u %5u %4u %8zu %9u %4.0f%% ", threads_of(form),
                (threads_of(form) + 31) / 32, form->registers, form->shared_bytes,
                form->blocks_per_multiprocessor, 100.0 * form->occupancy);
    fprintf(bench->stream, "%6.2f ", form->operations_per_update / form->bytes_per_update);
    if (row->equal)
        fprintf(bench->stream, "%9.4f %9.2f %7.0f %5.0f%% %6s %-6s %s\n", 1e3 * row->seconds,
                rate_of(bench, row->seconds) / (bench->request->pictures ? 1e6 : 1e9), moved / 1e9,
                100.0 * moved / bench->copy_speed, multiplied, "equal", words);
    else
        fprintf(bench->stream, "%9s %9s %7s %6s %6s %-6s %s\n", "-", "-", "-", "-", multiplied, "DIFFER",
                words);
}

/* What rows and refusals have in common. */
static void begin_json_row(struct benching *bench, const char *rung)
{
    const struct grid *grid = &bench->request->grid;
    FILE *stream = bench->stream;

    fprintf(stream, "%s{\"table\": ", bench->json_begun ? ",\n " : "[");
    json_text(stream, bench->title);
    fprintf(stream,
            ", \"extents\": [%zu, %zu, %zu], \"channels\": %u, \"work\": \"%s\", \"rung\": ", grid->nx,
            grid->ny, grid->nz, bench->shape.channels, work_name(bench->request->work));
    json_text(stream, rung);
    bench->json_begun = true;
}

static void print_json_times(const struct benching *bench, const struct row *row)
{
    double rate = cells(bench) / row->seconds, moved = rate * row->form.bytes_per_update;
    FILE *stream = bench->stream;

    fprintf(stream, ", ");
    json_number(stream, "seconds_per_step", row->seconds);
    fprintf(stream, ", ");
    json_number(stream, bench->request->pictures ? "pixels_per_second" : "cells_per_second",
                rate_of(bench, row->seconds));
    fprintf(stream, ", ");
    json_number(stream, "bytes_per_second", moved);
    fprintf(stream, ", ");
    json_number(stream, "share_of_copy", moved / bench->copy_speed);
    fprintf(stream, ", ");
    json_number(stream, "share_of_multiply_adds", share_of_multiply_adds(bench, row));
}

static void print_json_row(struct benching *bench, const struct row *row)
{
    const struct form *form = &row->form;
    FILE *stream = bench->stream;
    char words[256];

    begin_json_row(bench, form->rung->name);
    fprintf(stream, ", \"tile\": [%u, %u, %u], \"coarsen\": %u, \"stride\": %u, \"steps\": %u, ",
            form->tile_x, form->tile_y, form->tile_z, form->coarsen, form->stride, form->steps);
    fprintf(stream, "\"threads\": %u, \"warps\": %u, \"registers\": %u, \"local_bytes\": %zu, ",
            threads_of(form), (threads_of(form) + 31) / 32, form->registers, form->local_bytes);
    fprintf(stream, "\"shared_bytes\": %zu, \"blocks_per_multiprocessor\": %u, ", form->shared_bytes,
            form->blocks_per_multiprocessor);
    json_number(stream, "occupancy", form->occupancy);
    fprintf(stream, ", ");
    json_number(stream, "operations_per_byte", form->operations_per_update / form->bytes_per_update);
    fprintf(stream, ", ");
    json_number(stream, "copy_bytes_per_second", bench->copy_speed);
    fprintf(stream, ", ");
    json_number(stream, "multiply_adds_per_second", bench->multiply_adds);
    fprintf(stream, ", \"equal\": %s, \"compared_with\": \"%s\"", row->equal ? "true" : "false",
            judge_name(bench));
    if (row->equal)
        print_json_times(bench, row);
    comment(bench, row, words, sizeof words);
    fprintf(stream, ", \"comment\": ");
    json_text(stream, words);
    fprintf(stream, "}");
}

static void print_row(struct benching *bench, const struct row *row)
{
    if (bench->request->json)
        print_json_row(bench, row);
    else
        print_text_row(bench, row);
    fflush(bench->stream);
}

static void print_refusal(struct benching *bench, const char *rung, const struct fault *refusal)
{
    if (bench->request->json) {
        begin_json_row(bench, rung);
        fprintf(bench->stream, ", \"refused\": ");
        json_text(bench->stream, refusal->text);
        fprintf(bench->stream, "}");
    } else {
        fprintf(bench->stream, "%-11s does not apply: %s\n", rung, refusal->text);
    }
}

static void take_row(struct benching *bench, const struct row *row)
{
    bench->differs = bench->differs || !row->equal;
    if (row->equal && (bench->best.form.rung == NULL || row->seconds < bench->best.seconds))
        bench->best = *row;
    print_row(bench, row);
}

/* ---- rungs of stages ---- */

/* One line of the table: prepare, compare, then time. A rung that does not apply says why and fails nothing.
 */
static bool bench_form(struct benching *bench, const struct rung_wish *wish)
{
    struct stand *stand = &bench->device;
    struct row row = {.wish = *wish};
    struct field *last = stand->fields[0];
    struct kernel kernel;
    struct fault refusal;
    bool done;

    if (!prepare(bench, stand, wish, &kernel, &refusal)) {
        print_refusal(bench, wish->rung, &refusal);
        return true;
    }
    row.form = kernel.form;
    done = expect(bench, row.form.steps) && take_steps(bench, stand, &kernel, row.form.steps, &last) &&
           compare(bench, last, &row.equal);
    if (done && row.equal)
        done = measure(bench, pass, &kernel, &row.seconds);
    row.seconds /= row.form.steps;
    stand->backend->release(stand->device, kernel.routine);
    if (done)
        take_row(bench, &row);
    return done;
}

/* What is swept where a rung takes a coarsening, a stride. */
static const unsigned swept_factors[] = {1, 2, 4, 8, 16, 32, 64};
static const unsigned swept_strides[] = {1, 2, 8, 32};

static size_t count_offers(const struct form *form)
{
    size_t count = 0;

    while (count < ROUTINE_TILES && form->offers[count].x > 0)
        count++;
    return count;
}

static bool is_offered(const struct form *form, unsigned side)
{
    for (size_t i = 0; i < count_offers(form); i++) {
        if (form->offers[i].x == side && form->offers[i].y == side)
            return true;
    }
    return false;
}

static bool bench_tile(struct benching *bench, const struct rung_wish *wish, struct tile tile)
{
    struct rung_wish tiled = *wish;

    tiled.tile_x = tile.x;
    tiled.tile_y = tile.y;
    return bench_form(bench, &tiled);
}

/* What the rung offers, and the square that the device's own calculator suggests. */
static bool sweep_tiles(struct benching *bench, const struct rung_wish *wish, const struct form *form)
{
    const struct tile suggested = {form->suggested_tile, form->suggested_tile};

    if (suggested.x > 0 && !is_offered(form, suggested.x) && !bench_tile(bench, wish, suggested))
        return false;
    for (size_t i = 0; i < count_offers(form); i++) {
        if (!bench_tile(bench, wish, form->offers[i]))
            return false;
    }
    return true;
}

/* One line of a sweep: of a stage's rung, or of sums. */
typedef bool form_bench(struct benching *bench, const struct rung_wish *wish);

/* Factors, and strides where the rung has any. */
static bool sweep_coarsenings(struct benching *bench, form_bench *line, const struct rung_wish *wish,
                              bool strides)
{
    for (size_t i = 0; i < sizeof swept_factors / sizeof *swept_factors; i++) {
        for (size_t k = 0; k < (strides ? sizeof swept_strides / sizeof *swept_strides : 1); k++) {
            struct rung_wish coarsened = *wish;
            coarsened.coarsen = swept_factors[i];
            coarsened.stride = strides ? swept_strides[k] : 0;
            if (!line(bench, &coarsened))
                return false;
        }
    }
    return true;
}

/* Fewer steps a pass than the rung can take, where it takes so few. */
static bool sweep_depths(struct benching *bench, const struct rung_wish *wish, unsigned most)
{
    struct rung_wish shallow = *wish;
    struct fault refusal;
    struct form form;

    for (shallow.steps = 1; shallow.steps < most; shallow.steps++) {
        if (settle(bench, &bench->device, &shallow, &form, &refusal) && !bench_form(bench, &shallow))
            return false;
    }
    return true;
}

/* A rung's own form, then what can be swept and is not asked for by the command line. */
static bool bench_rung(struct benching *bench, const struct rung *rung)
{
    struct rung_wish wish = bench->request->plan.wish;
    struct fault refusal;
    struct form form;

    wish.rung = rung->name;
    wish.steps = bench->single ? 1 : 0;
    if (!settle(bench, &bench->device, &wish, &form, &refusal)) {
        print_refusal(bench, rung->name, &refusal);
        return true;
    }
    if (!bench_form(bench, &wish))
        return false;
    if (form.tiles && wish.tile_x == 0 && !sweep_tiles(bench, &wish, &form))
        return false;
    if (form.coarsens && wish.coarsen == 0 && !sweep_coarsenings(bench, bench_form, &wish, form.strides))
        return false;
    return sweep_depths(bench, &wish, form.steps);
}

/* Keep what was fastest for plans to come. */
static bool keep_best(struct benching *bench)
{
    const struct rung_wish *wish = &bench->best.wish;
    struct wisdom_entry entry = {.tile_x = wish->tile_x,
                                 .tile_y = wish->tile_y,
                                 .coarsen = wish->coarsen,
                                 .stride = wish->stride,
                                 .steps = wish->steps,
                                 .updates = cells(bench) / bench->best.seconds};

    if (bench->best.form.rung == NULL)
        return true;
    snprintf(entry.rung, sizeof entry.rung, "%s", bench->best.form.rung->name);
    wisdom_name_device(&entry, bench->device.backend, bench->index, bench->request->plan.threads);
    wisdom_name_problem(&entry, bench->op, &bench->shape, bench->single);
    return wisdom_keep(&entry, bench->fault);
}

static void print_end(struct benching *bench)
{
    const struct row *best = &bench->best;

    if (bench->request->json)
        return;
    if (best->form.rung != NULL)
        fprintf(bench->stream, "fastest: %s, %.4f ms a step%s\n", best->form.rung->name, 1e3 * best->seconds,
                bench->request->keep && bench->op != NULL ? ": kept as wisdom" : "");
    fprintf(bench->stream, "\n");
}

static bool bench_ladder(struct benching *bench)
{
    const struct rung_wish free = {.steps = bench->single ? 1 : 0};
    const char *asked = bench->request->plan.wish.rung;
    struct fault refusal;

    bench->best.form.rung = NULL;
    forget_expected(bench);
    if (!settle(bench, &bench->device, &free, &bench->planned, &refusal))
        bench->planned.rung = NULL;
    print_head(bench);
    for (const struct rung *rung = bench->device.backend->rungs; rung->name != NULL; rung++) {
        if ((asked == NULL || strcmp(asked, rung->name) == 0) && !bench_rung(bench, rung))
            return false;
    }
    if (bench->request->keep && !keep_best(bench))
        return false;
    print_end(bench);
    return true;
}

static bool bench_ops(struct benching *bench, const struct stage *stage)
{
    char title[DIAG_TEXT];

    bench->title = title;
    bench->single = forms_is_single(stage, &bench->step);
    for (size_t i = 0; i < bench->step.count; i++) {
        bench->op = &bench->step.ops[i];
        if (bench->step.count > 1)
            snprintf(title, sizeof title, "%s, operation %zu of %zu", stage->spec, i + 1, bench->step.count);
        else
            snprintf(title, sizeof title, "%s", stage->spec);
        if (!bench_ladder(bench))
            return false;
    }
    return true;
}

/* ---- sums ---- */

static bool settle_sums(const struct benching *bench, const struct rung_wish *wish, struct form *form,
                        struct fault *fault)
{
    const struct stand *stand = &bench->device;

    return stand->backend->settle_sums(stand->device, &bench->shape, bench->request->work, wish, form, fault);
}

/* One line of the table of sums: the changes between two fields. */
static bool bench_sum_form(struct benching *bench, const struct rung_wish *wish)
{
    struct stand *stand = &bench->device, *judge = &bench->judge;
    size_t count = bench->shape.channels * bench->shape.planes, bytes = count * sizeof(double);
    struct row row = {.wish = *wish};
    struct fault refusal;
    double *sums;
    bool done;

    if (!settle_sums(bench, wish, &row.form, &refusal)) {
        print_refusal(bench, wish->rung, &refusal);
        return true;
    }
    sums = mem_zeroed(2, bytes, "the sums", bench->fault);
    if (sums == NULL)
        return false;
    stand->backend->add_by(stand->device, &row.form);
    done = add_changes(bench, sums) &&
           judge->backend->change(judge->device, judge->fields[0], judge->fields[1], bench->shape.channels,
                                  all_planes(bench), sums + count, bench->fault);
    row.equal = done && memcmp(sums, sums + count, bytes) == 0;
    if (done && row.equal)
        done = measure(bench, add_changes, sums, &row.seconds);
    mem_free(sums);
    if (done)
        take_row(bench, &row);
    return done;
}

static bool bench_sum_rung(struct benching *bench, const struct rung *rung)
{
    struct rung_wish wish = bench->request->plan.sums;
    struct form form;

    wish.rung = rung->name;
    if (wish.coarsen > 0)
        return bench_sum_form(bench, &wish);
    return bench_sum_form(bench, &wish) && settle_sums(bench, &wish, &form, bench->fault) &&
           sweep_coarsenings(bench, bench_sum_form, &wish, form.strides);
}

/* The ways to add, where the device has several and no rung of a stage alone is asked for. */
static bool bench_sums(struct benching *bench)
{
    const struct plan_request *plan = &bench->request->plan;
    const struct backend *backend = bench->device.backend;
    const struct rung_wish free = {.rung = NULL};

    if (backend->sum_rungs->name == NULL || (plan->wish.rung != NULL && plan->sums.rung == NULL))
        return true;
    bench->title = "changes of a step, added up";
    bench->op = NULL;
    bench->best.form.rung = NULL;
    if (!fill_field(bench, &bench->judge, 1) || !fill_field(bench, &bench->device, 1) ||
        !settle_sums(bench, &free, &bench->planned, bench->fault))
        return false;
    print_head(bench);
    for (const struct rung *rung = backend->sum_rungs; rung->name != NULL; rung++) {
        if ((plan->sums.rung == NULL || strcmp(plan->sums.rung, rung->name) == 0) &&
            !bench_sum_rung(bench, rung))
            return false;
    }
    print_end(bench);
    return true;
}

/* ---- stages ---- */

static bool open_stands(struct benching *bench)
{
    const struct plan_request *plan = &bench->request->plan;
    struct device_request measured = {.threads = plan->threads};
    struct device_request judging = {.threads = 0};
    const struct backend *backend;
    char text[256];

    if (!plan_find_device(plan, &backend, &bench->index, bench->fault))
        return false;
    measured.index = bench->index;
    judging.plain = backend == &backend_cpu;
    if (!open_stand(bench, &bench->judge, &backend_cpu, &judging) ||
        !open_stand(bench, &bench->device, backend, &measured))
        return false;
    backend->describe(bench->index, text, sizeof text);
    if (!bench->request->json)
        fprintf(bench->stream, "%s: %s\n", backend->name, text);
    return true;
}

static bool prepare_bench(struct benching *bench, const struct stage *stage)
{
    const struct grid *grid = &bench->request->grid;

    bench->encoding = (struct encoding){
        .type = work_sample(bench->request->work), .channels = grid->channels, .gamma = 1.0};
    bench->shape = lower_shape(grid, grid->channels);
    bench->plane_bytes = grid_plane_samples(grid) * work_size(bench->request->work);
    bench->batch = bench->plane_bytes >= BATCH_BYTES ? 1 : BATCH_BYTES / bench->plane_bytes;
    if (bench->batch > bench->shape.planes)
        bench->batch = bench->shape.planes;
    if (!lower_stage(stage, grid, &bench->request->encoding, bench->request->work, &bench->step,
                     bench->fault))
        return false;
    bench->expected = mem_alloc(bench->shape.planes, bench->plane_bytes, "the expected bytes", bench->fault);
    if (bench->expected == NULL || !open_stands(bench) || !measure_copy(bench))
        return false;
    measure_multiply_adds(bench);
    return true;
}

static bool bench_stage(struct benching *bench, const struct stage_request *request, bool last)
{
    bool only_sums = bench->request->plan.sums.rung != NULL && bench->request->plan.wish.rung == NULL;
    struct stage stage;
    bool done;

    if (!stage_build(request, &bench->request->grid, bench->request->force, &stage, bench->fault))
        return false;
    done = prepare_bench(bench, &stage) && (only_sums || bench_ops(bench, &stage)) &&
           (!last || bench_sums(bench));
    close_stand(&bench->judge);
    close_stand(&bench->device);
    lower_free(&bench->step);
    mem_free(bench->expected);
    bench->expected = NULL;
    stage_free(&stage);
    return done;
}

bool bench_run(FILE *stream, const struct bench_request *request, struct fault *fault)
{
    struct benching bench = {.request = request, .stream = stream, .fault = fault};

    for (size_t i = 0; i < request->stage_count; i++) {
        if (!bench_stage(&bench, &request->stages[i], i + 1 == request->stage_count))
            return false;
    }
    if (request->json)
        fprintf(stream, "%s]\n", bench.json_begun ? "" : "[");
    return !bench.differs ||
           fault_raise(fault, STATUS_DEVICE, "--bench: the bytes of some rung differ: the table says which");
}
