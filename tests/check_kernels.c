/* Tests of the CPU backend through the seam: every filter, edge rule, work type and awkward extent gives the
   bytes of the reference, whatever the threads, the instruction set and the cut into planes. */
#include "backend.h"
#include "fixture.h"
#include "lower.h"
#include "reference.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Sanitizers slow everything down some twenty times: one case in so many is enough there. */
#if defined(__SANITIZE_ADDRESS__)
#define THIN 3
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define THIN 3
#endif
#endif
#ifndef THIN
#define THIN 1
#endif

#define TIMEOUT_SECONDS 600

enum { FLAT = 1 << 2, SOLID = 1 << 3, EITHER = FLAT | SOLID }; /* grids by their number of axes */

/* ---- devices ---- */

static const struct way {
    const char *isa;
    unsigned threads;
} ways[] = {{"baseline", 1}, {"v3", 1}, {"baseline", 2}, {"v3", 7}, {"baseline", 7}, {"v3", 2}};
#define WAYS LENGTH(ways)
#define LONE 2 /* of one thread */

/* Starting threads takes longer than a small grid does, so a threaded way has only one turn in so many. */
#define THREADED_TURNS 16

/* NULL for instructions that this machine or build has not. */
static struct device *devices[WAYS];

static void open_devices(void)
{
    struct fault fault;

    for (size_t i = 0; i < WAYS; i++) {
        const struct device_request request = {.threads = ways[i].threads};
        setenv("VOXFILT_ISA", ways[i].isa, 1);
        if (!backend_cpu.open(&devices[i], &request, &fault)) {
            fixture_require(strcmp(ways[i].isa, "baseline") != 0, ways[i].isa);
            devices[i] = NULL;
        }
    }
    unsetenv("VOXFILT_ISA");
}

static void close_devices(void)
{
    for (size_t i = 0; i < WAYS; i++) {
        if (devices[i] != NULL)
            backend_cpu.close(devices[i]);
    }
}

/* ---- one stage by the backend ---- */

/* How the planes of a grid are cut up for upload, advance and download. */
enum cut { CUT_NONE, CUT_ONE, CUT_UNEVEN };

static bool next_planes(enum cut cut, size_t planes, struct range *range)
{
    size_t size = cut == CUT_NONE ? planes : cut == CUT_ONE ? 1 : range->count % 3 + 2;

    range->first += range->count;
    range->count = planes - range->first < size ? planes - range->first : size;
    return range->count > 0;
}

struct bench {
    struct device *device;
    struct shape shape;
    enum work_type work;
    enum cut cut;
    struct field *fields[3]; /* the first holds the state; the second is written; the third keeps */
};

static void bench_open(struct bench *bench)
{
    struct fault fault;
    struct range all = {0, bench->shape.planes};

    for (size_t i = 0; i < LENGTH(bench->fields); i++)
        ck_assert(backend_cpu.field_create(bench->device, &bench->fields[i], &bench->shape, bench->work, all,
                                           &fault));
}

static void bench_close(struct bench *bench)
{
    for (size_t i = 0; i < LENGTH(bench->fields); i++)
        backend_cpu.field_destroy(bench->device, bench->fields[i]);
}

static size_t plane_bytes(const struct bench *bench, const struct encoding *encoding)
{
    return bench->shape.nx * bench->shape.rows * encoding->channels * sample_size(encoding->type);
}

static void bench_upload(struct bench *bench, struct field *field, const struct encoding *encoding,
                         const unsigned char *samples)
{
    struct range planes = {0, 0};
    struct fault fault;

    while (next_planes(bench->cut, bench->shape.planes, &planes))
        ck_assert(backend_cpu.upload(bench->device, field, encoding,
                                     samples + planes.first * plane_bytes(bench, encoding), planes, &fault));
}

static uint64_t bench_download(struct bench *bench, const struct encoding *encoding, unsigned char *samples)
{
    struct range planes = {0, 0};
    struct fault fault;
    uint64_t nans = 0;

    while (next_planes(bench->cut, bench->shape.planes, &planes))
        ck_assert(backend_cpu.download(bench->device, bench->fields[0], encoding,
                                       samples + planes.first * plane_bytes(bench, encoding), planes, &nans,
                                       &fault));
    return nans;
}

static void swap_fields(struct field **a, struct field **b)
{
    struct field *swapped = *a;

    *a = *b;
    *b = swapped;
}

static void bench_advance(struct bench *bench, const struct op *op, const struct field *kept)
{
    struct range planes = {0, 0};
    struct fault fault;

    while (next_planes(bench->cut, bench->shape.planes, &planes))
        ck_assert(backend_cpu.advance(bench->device, op, 1, bench->fields[0], kept, bench->fields[1], planes,
                                      &fault));
}

/* One step. What must be kept moves to the third field; the two others take turns. */
static void bench_step(struct bench *bench, const struct step *step)
{
    for (size_t i = 0; i < step->count; i++) {
        const struct op *op = &step->ops[i];
        bench_advance(bench, op, op->kind == OP_UNSHARP ? bench->fields[2] : NULL);
        swap_fields(&bench->fields[0], &bench->fields[1]);
        if (i == 0 && step->keeps)
            swap_fields(&bench->fields[1], &bench->fields[2]);
    }
}

static struct encoding plain_encoding(enum work_type work, unsigned channels)
{
    return (struct encoding){
        .type = work == WORK_F32 ? SAMPLE_F32 : SAMPLE_F64, .channels = channels, .gamma = 1.0};
}

/* ---- a stage on a grid, by the backend and by the reference ---- */

struct trial {
    const char *options; /* as on a command line of voxfilt */
    struct grid grid;
    enum work_type work;
    enum fill fill;
};

static void run_backend(const struct trial *trial, const struct stage *stage, struct device *device,
                        enum cut cut, const void *in, void *out)
{
    const struct encoding encoding = plain_encoding(trial->work, trial->grid.channels);
    struct bench bench = {.device = device,
                          .shape = lower_shape(&trial->grid, trial->grid.channels),
                          .work = trial->work,
                          .cut = cut};
    struct fault fault;
    struct step step;

    ck_assert(lower_stage(stage, &trial->grid, &encoding, trial->work, &step, &fault));
    bench_open(&bench);
    bench_upload(&bench, bench.fields[0], &encoding, in);
    for (uint64_t taken = 0; taken < stage->steps; taken++)
        bench_step(&bench, &step);
    bench_download(&bench, &encoding, out);
    bench_close(&bench);
    lower_free(&step);
}

static void compare(const struct trial *trial, const struct way *way, enum cut cut, const unsigned char *got,
                    const unsigned char *wanted)
{
    size_t size = work_size(trial->work), samples = grid_samples(&trial->grid), i = 0;

    if (memcmp(got, wanted, samples * size) == 0)
        return;
    while (memcmp(got + i * size, wanted + i * size, size) == 0)
        i++;
    ck_abort_msg(
        "%s, %u axes, %zu × %zu × %zu × %u, %s, fill %d, %s with %u threads, cut %d: sample %zu differs",
        trial->options, trial->grid.axes, trial->grid.nx, trial->grid.ny, trial->grid.nz,
        trial->grid.channels, work_name(trial->work), (int)trial->fill, way->isa, way->threads, (int)cut, i);
}

static size_t trials_done;

/* Run a trial, by all ways or by those whose turn it is. The cut changes from turn to turn. */
static void check_trial(struct trial trial, bool all_ways)
{
    struct command command;
    struct stage stage;
    unsigned char *in, *wanted, *got;
    size_t turn = trials_done++, samples;
    struct reference_job job;

    if (turn % THIN != 0)
        return;
    command_parse(&command, PROGRAM_VOXFILT, trial.options);
    command_stage(&command, &trial.grid, &stage);
    samples = grid_samples(&trial.grid);
    in = fixture_memory(samples, work_size(trial.work));
    wanted = fixture_memory(samples, work_size(trial.work));
    got = fixture_memory(samples, work_size(trial.work));
    job = (struct reference_job){.grid = trial.grid, .work = trial.work, .stages = &stage, .stage_count = 1};
    job.in = job.out = plain_encoding(trial.work, trial.grid.channels);
    fill_samples(trial.fill, job.in.type, in, samples, turn);
    reference_run(&job, in, wanted);
    for (size_t i = 0; i < WAYS; i++) {
        enum cut cut = (enum cut)((turn + i) % 3);
        bool threaded_turn = (turn / THIN + i) % THREADED_TURNS == 0;
        if (devices[i] == NULL || (i >= LONE && !threaded_turn && !all_ways))
            continue;
        run_backend(&trial, &stage, devices[i], cut, in, got);
        compare(&trial, &ways[i], cut, got, wanted);
    }
    free(in);
    free(wanted);
    free(got);
    stage_free(&stage);
    command_free(&command);
}

/* ---- what is tried ---- */

/* Filters that take arguments, with some; those without are found in filter_list. */
static const struct spec {
    const char *text;
    unsigned grids;
} specs[] = {
    {"gauss:0.4", EITHER},
    {"gauss:1", EITHER},
    {"box:0", EITHER},
    {"box:1", EITHER},
    {"box:3", EITHER},
    {"star:2", EITHER},
    {"star:4", EITHER},
    {"star:6", EITHER},
    {"star:8", EITHER},
    {"sobel:x", EITHER},
    {"sobel:y", EITHER},
    {"sobel:z", SOLID},
    {"prewitt:x", EITHER},
    {"prewitt:y", EITHER},
    {"prewitt:z", SOLID},
    {"unsharp:0.6,1.5", EITHER},
    {"seven:0.3,-0.1,0.7,1.1,0.13,0,0", EITHER},
    {"seven:0,0.1,0.2,0.3,0.4,0.5,0.6", SOLID},
    {"twentyseven:0.3,0.06,-0.02,0.01", SOLID},
    {"twentyseven:.1,.2,.3,.4,.5,.6,.7,.8,.9,1,1.1,1.2,1.3,1.4,1.5,1.6,1.7,1.8,1.9,2,2.1,2.2,2.3,2.4,2.5,2.6,"
     "2.7",
     SOLID},
    {"matrix:1,2,1;2,4,2;1,2,1/16", EITHER},
    {"matrix:1,0.5;0.25,-3", EITHER},
    {"matrix:1,2,0,-7,0.1", EITHER},
    {"taps:lopsided.taps", EITHER},
    {"taps:solid.taps", SOLID},
    {"taps:none.taps", EITHER},
};

static const char *const edges[EDGE_RULES] = {
    [EDGE_REFLECT] = "reflect", [EDGE_MIRROR] = "mirror",          [EDGE_NEAREST] = "nearest",
    [EDGE_WRAP] = "wrap",       [EDGE_CONSTANT] = "constant:-1.3", [EDGE_HOLD] = "hold",
};

static const size_t solid_extents[][3] = {{1, 1, 1}, {1, 7, 3}, {5, 1, 1},  {1, 1, 4},
                                          {2, 3, 2}, {3, 5, 7}, {8, 2, 11}, {17, 13, 11}};
static const size_t flat_extents[][3] = {{1, 1, 1}, {1, 7, 1}, {5, 1, 1}, {2, 2, 1}, {3, 5, 1}, {31, 19, 1}};

static struct grid grid_of(unsigned axes, const size_t extents[3])
{
    return grid_make(axes, extents[0], extents[1], axes == 3 ? extents[2] : 1);
}

/* The extents that a stencil of radius r finds awkward, along each axis in turn. */
static void check_radius_extents(struct trial trial, unsigned axes)
{
    struct command command;
    struct stage stage;
    size_t r;

    command_parse(&command, PROGRAM_VOXFILT, trial.options);
    trial.grid = grid_make(axes, 1, 1, 1);
    command_stage(&command, &trial.grid, &stage);
    r = (size_t)stage_radius(&stage);
    stage_free(&stage);
    command_free(&command);
    for (size_t turn = 0; turn < 3; turn++) {
        const size_t sizes[5] = {r, 2 * r, 2 * r + 1, r, 2 * r};
        trial.grid = grid_of(axes, sizes + turn);
        check_trial(trial, false);
    }
}

static void check_extents(struct trial trial, unsigned axes)
{
    const size_t(*extents)[3] = axes == 3 ? solid_extents : flat_extents;
    size_t count = axes == 3 ? LENGTH(solid_extents) : LENGTH(flat_extents);

    for (size_t i = 0; i < count; i++) {
        trial.grid = grid_of(axes, extents[i]);
        trial.fill = FILL_RANDOM;
        check_trial(trial, false);
        trial.fill = FILL_SPECIAL;
        if (i >= count - 3)
            check_trial(trial, false);
    }
    trial.fill = FILL_RANDOM;
    check_radius_extents(trial, axes);
}

/* A stage with options under every edge rule and work type. */
static void check_options(const char *stage_options, unsigned grids)
{
    char options[400];

    for (int edge = 0; edge < EDGE_RULES; edge++) {
        snprintf(options, sizeof options, "%s -e %s", stage_options, edges[edge]);
        for (unsigned axes = 2; axes <= 3; axes++) {
            struct trial trial = {.options = options};
            for (int work = WORK_F32; work <= WORK_F64 && (grids & 1U << axes); work++) {
                trial.work = (enum work_type)work;
                check_extents(trial, axes);
            }
        }
    }
}

static void check_spec(const char *spec, unsigned grids)
{
    char options[400];

    snprintf(options, sizeof options, "-f %s", spec);
    check_options(options, grids);
}

/* ---- the tests ---- */

static bool is_spec_of(const char *spec, const struct filter *filter)
{
    struct filter_call call;
    struct fault fault;
    bool is = filter_parse(spec, &call, &fault) && call.filter == filter;

    filter_call_free(&call);
    return is;
}

/* A new filter without arguments is tried by its name; one with arguments needs a line in the table above. */
START_TEST(every_filter_is_tried)
{
    for (const struct filter *filter = filter_list; filter->name != NULL; filter++) {
        bool found = filter->arguments == ARGUMENTS_NONE;
        for (size_t i = 0; i < LENGTH(specs); i++)
            found = found || is_spec_of(specs[i].text, filter);
        ck_assert_msg(found, "%s: the table of specs in check_kernels.c has none of it", filter->name);
    }
}
END_TEST

START_TEST(filters_without_arguments)
{
    for (const struct filter *filter = filter_list; filter->name != NULL; filter++) {
        if (filter->arguments == ARGUMENTS_NONE)
            check_spec(filter->name, EITHER);
    }
}
END_TEST

START_TEST(filters_with_arguments)
{
    check_spec(specs[_i].text, specs[_i].grids);
}
END_TEST

/* Asymmetric taps, convolved. */
START_TEST(flipped_filters)
{
    check_options("-f taps:lopsided.taps --flip", EITHER);
    check_options("-f taps:solid.taps --flip", SOLID);
    check_options("-f matrix:1,0.5;0.25,-3 --flip", EITHER);
    check_options("-f sobel:x --flip", EITHER);
}
END_TEST

static const char *const heats[] = {
    "--steps 3",
    "--steps 1 --dt 0",
    "--steps 2 --inner 3",
    "--steps 2 --reaction 0.9",
    "--steps 2 --flux tanh --scale 0.7",
    "--steps 2 --flux tanh --inner 3 --reaction -0.2",
    "--steps 1 --flux tanh --dt 0",
    "--steps 2 --flux pm1 --scale 0.3",
    "--steps 2 --flux pm1 --inner 3 --dt 0.1 --alpha 1.3",
    "--steps 2 --flux pm2 --scale 3",
    "--steps 2 --flux pm2 --inner 2 --reaction 0.05 --scale 0.9",
    "--steps 1 --flux pm2 --dt 0",
    "--steps 2 --spacing 1,2.5,0.7",
    "--steps 2 --spacing 0.3,1,1.1 --flux tanh",
    "--steps 2 --spacing 1,0.9,3 --flux pm1",
    "--sigma 0.8",
};

START_TEST(heat_of_every_kind)
{
    char options[300];

    snprintf(options, sizeof options, "-f heat %s", heats[_i]);
    check_options(options, EITHER);
}
END_TEST

START_TEST(several_steps)
{
    check_options("-f gauss:0.5 --steps 3", EITHER);
    check_options("-f unsharp:0.5,0.7 --steps 3", EITHER);
    check_options("-f gradient --steps 2", EITHER);
    check_options("-f laplace --steps 4", EITHER);
    check_options("-f laplace --steps 0", EITHER);
}
END_TEST

/* Rows as long as the blocks that they are computed in, and the leaves that they are summed in, and one more
 * or less. */
START_TEST(long_rows)
{
    static const size_t lengths[] = {1023, 1024, 1025, 2047, 2048, 2049};
    static const char *const stages[] = {
        "-f heat --steps 2",  "-f taps:lopsided.taps",        "-f box:2", "-f unsharp:1,2", "-f gradient",
        "-f heat --flux pm1", "-f heat --flux tanh --steps 1"};
    char options[200];

    for (size_t i = 0; i < LENGTH(stages) * EDGE_RULES; i++) {
        snprintf(options, sizeof options, "%s -e %s", stages[i / EDGE_RULES], edges[i % EDGE_RULES]);
        for (size_t k = 0; k < LENGTH(lengths); k++) {
            const size_t extents[3] = {lengths[k], 2, 1 + k % 2};
            check_trial((struct trial){.options = options,
                                       .grid = grid_of(2 + (unsigned)(i + k) % 2, extents),
                                       .work = (i + k / 2) % 2 == 0 ? WORK_F32 : WORK_F64},
                        false);
        }
    }
}
END_TEST

/* The same bytes from each instruction set, number of threads and cut, on a grid with channels. */
START_TEST(every_way)
{
    static const char *const stages[] = {"-f heat --flux pm2", "-f gauss:1.5",
                                         "-f unsharp:1,0.5",   "-f gradient -s 2",
                                         "-f sobel:y",         "-f heat --inner 2 --reaction 0.1"};
    char options[200];

    for (size_t i = 0; i < LENGTH(stages) * EDGE_RULES; i++) {
        struct trial trial = {.options = options,
                              .grid = i % 2 == 0 ? grid_make(3, 9, 7, 8) : grid_make(2, 23, 17, 1),
                              .work = i % 3 == 0 ? WORK_F64 : WORK_F32,
                              .fill = i % 4 == 0 ? FILL_SPECIAL : FILL_RANDOM};
        snprintf(options, sizeof options, "%s -e %s", stages[i / EDGE_RULES], edges[i % EDGE_RULES]);
        trial.grid.channels = 1 + (unsigned)i % 3;
        check_trial(trial, true);
    }
}
END_TEST

/* ---- fields that hold a part of the grid ---- */

struct window {
    struct trial trial;
    struct device *device;
    const struct op *op;
    const unsigned char *in, *whole; /* of the grid, by one advance of all of it */
};

/* Planes [first, first + count) from a field that holds them and the op's reach around them, and no more. */
static void check_window(const struct window *window, struct range planes)
{
    const struct grid *grid = &window->trial.grid;
    const struct encoding encoding = plain_encoding(window->trial.work, grid->channels);
    const struct shape shape = lower_shape(grid, grid->channels);
    size_t low = (size_t)-window->op->plane.low, high = (size_t)window->op->plane.high;
    struct range source = {planes.first - low, planes.count + low + high};
    size_t bytes = grid_plane_samples(grid) * work_size(window->trial.work);
    unsigned char *got = fixture_memory(planes.count, bytes);
    struct field *from, *to;
    struct fault fault;
    uint64_t nans = 0;

    ck_assert(backend_cpu.field_create(window->device, &from, &shape, window->trial.work, source, &fault));
    ck_assert(backend_cpu.field_create(window->device, &to, &shape, window->trial.work, planes, &fault));
    ck_assert(backend_cpu.upload(window->device, from, &encoding, window->in + source.first * bytes, source,
                                 &fault));
    ck_assert(backend_cpu.advance(window->device, window->op, 1, from, NULL, to, planes, &fault));
    ck_assert(backend_cpu.download(window->device, to, &encoding, got, planes, &nans, &fault));
    ck_assert_int_eq(memcmp(got, window->whole + planes.first * bytes, planes.count * bytes), 0);
    backend_cpu.field_destroy(window->device, from);
    backend_cpu.field_destroy(window->device, to);
    free(got);
}

START_TEST(fields_may_hold_a_part)
{
    static const char *const stages[] = {"-f heat -s 1", "-f heat --flux tanh -s 1", "-f star:4",
                                         "-f gradient", "-f taps:lopsided.taps -e hold"};
    struct trial trial = {.options = stages[_i], .grid = grid_make(_i % 2 == 0 ? 3 : 2, 7, 11, 1)};
    const struct encoding encoding = plain_encoding(WORK_F32, 1);
    struct command command;
    struct stage stage;
    struct step step;
    struct fault fault;
    unsigned char *in, *whole;

    trial.grid.nz = trial.grid.axes == 3 ? 12 : 1;
    in = fixture_memory(grid_samples(&trial.grid), sizeof(float));
    whole = fixture_memory(grid_samples(&trial.grid), sizeof(float));
    command_parse(&command, PROGRAM_VOXFILT, trial.options);
    command_stage(&command, &trial.grid, &stage);
    ck_assert(lower_stage(&stage, &trial.grid, &encoding, trial.work, &step, &fault));
    ck_assert_uint_eq(step.count, 1);
    fill_samples(FILL_RANDOM, encoding.type, in, grid_samples(&trial.grid), 1);
    run_backend(&trial, &stage, devices[0], CUT_NONE, in, whole);
    for (size_t first = 3; first < 8; first++)
        check_window(&(struct window){trial, devices[0], &step.ops[0], in, whole},
                     (struct range){first, 1 + first % 2});
    free(in);
    free(whole);
    lower_free(&step);
    stage_free(&stage);
    command_free(&command);
}
END_TEST

/* ---- conversions ---- */

/* A file's pixels into a field, out of it as they stand there, and back into a file of another encoding. */
struct conversion {
    struct encoding in, out;
    enum work_type work;
    enum fill fill;
    struct grid grid;
    uint64_t seed;
};

static unsigned char *swapped_copy(const struct encoding *encoding, const unsigned char *samples,
                                   size_t count)
{
    unsigned char *copy = fixture_memory(count, sample_size(encoding->type));

    memcpy(copy, samples, count * sample_size(encoding->type));
    if (encoding->swapped)
        sample_swap(encoding->type, copy, count);
    return copy;
}

static void describe(const struct conversion *conversion, const char *what)
{
    const struct encoding *in = &conversion->in, *out = &conversion->out;

    ck_abort_msg("%s: %s%s → %s → %s%s, %u channels, alpha %d, premultiply %d, transfer %d, fill %d", what,
                 sample_name(in->type), in->swapped ? " swapped" : "", work_name(conversion->work),
                 sample_name(out->type), out->swapped ? " swapped" : "", in->channels, in->alpha,
                 in->premultiply, (int)in->transfer, (int)conversion->fill);
}

static void compare_download(struct bench *bench, const struct conversion *conversion,
                             const struct encoding *encoding, const double *field)
{
    size_t pixels = conversion->grid.nx * conversion->grid.ny * conversion->grid.nz;
    size_t bytes = pixels * encoding->channels * sample_size(encoding->type);
    unsigned char *got = fixture_memory(bytes, 1), *wanted = fixture_memory(bytes, 1);
    uint64_t nans = bench_download(bench, encoding, got);

    if (nans != reference_encode(encoding, conversion->work, field, pixels, wanted))
        describe(conversion, "the count of NaNs differs");
    if (memcmp(got, wanted, bytes) != 0)
        describe(conversion,
                 encoding == &conversion->out ? "what is written differs" : "what is read differs");
    free(got);
    free(wanted);
}

static void check_conversion(struct conversion conversion, struct device *device, enum cut cut)
{
    const struct encoding *in = &conversion.in;
    unsigned channels = reference_work_channels(in);
    size_t pixels = conversion.grid.nx * conversion.grid.ny * conversion.grid.nz;
    size_t samples = pixels * in->channels;
    const struct encoding plain = plain_encoding(conversion.work, channels);
    struct bench bench = {.device = device,
                          .shape = lower_shape(&conversion.grid, channels),
                          .work = conversion.work,
                          .cut = cut};
    unsigned char *native = fixture_memory(samples, sample_size(in->type)), *file;
    double *field = fixture_memory(pixels * channels, sizeof *field);

    ck_assert_uint_eq(encoding_work_channels(in), channels);
    fill_samples(conversion.fill, in->type, native, samples, conversion.seed);
    file = swapped_copy(in, native, samples);
    reference_decode(in, conversion.work, file, pixels, field);
    bench_open(&bench);
    bench_upload(&bench, bench.fields[0], in, file);
    compare_download(&bench, &conversion, &plain, field);
    compare_download(&bench, &conversion, &conversion.out, field);
    bench_close(&bench);
    free(native);
    free(file);
    free(field);
}

static size_t conversions_done;

/* By one of the devices in turn. */
static void try_conversion(struct conversion conversion)
{
    size_t turn = conversions_done++;
    bool threaded_turn = turn / THIN % THREADED_TURNS == 0;
    size_t way = threaded_turn ? turn / THIN / THREADED_TURNS % WAYS : turn / THIN % LONE;
    struct device *device = devices[way] != NULL ? devices[way] : devices[0];

    if (turn % THIN != 0)
        return;
    conversion.seed = turn;
    conversion.grid = turn % 2 == 0 ? grid_make(3, 13, 4, 3) : grid_make(2, 11, 5, 1);
    check_conversion(conversion, device, (enum cut)(turn % 3));
}

START_TEST(every_type_into_every_other)
{
    struct conversion conversion = {0};

    conversion.in.type = (enum sample_type)_i;
    conversion.in.gamma = 1.0;
    for (unsigned i = 0; i < SAMPLE_TYPES * 2 * 2 * 2 * 2 * 4; i++) {
        unsigned rest = i / SAMPLE_TYPES;
        conversion.in.swapped = rest & 1;
        conversion.in.channels = rest / 16 + 1;
        conversion.out = conversion.in;
        conversion.out.type = (enum sample_type)(i % SAMPLE_TYPES);
        conversion.out.swapped = rest & 2;
        conversion.work = rest & 4 ? WORK_F32 : WORK_F64;
        conversion.fill = rest & 8 ? FILL_SPECIAL : FILL_RANDOM;
        try_conversion(conversion);
    }
}
END_TEST

START_TEST(every_kind_of_picture)
{
    static const double gammas[] = {2.2, 1.0, 1.0 / 1.8};
    struct conversion conversion = {0};

    conversion.in.type = (enum sample_type)_i;
    for (unsigned i = 0; i < 2 * 2 * 2 * 2 * 4 * 3; i++) {
        unsigned rest = i / 16;
        conversion.in.swapped = i & 1;
        conversion.work = i & 2 ? WORK_F32 : WORK_F64;
        conversion.in.alpha = i & 4;
        conversion.in.premultiply = (i & 4) && (i & 8);
        conversion.in.channels = rest % 4 + 1;
        conversion.in.transfer = (enum transfer)(rest / 4);
        conversion.in.gamma = gammas[i % 3];
        conversion.out = conversion.in;
        try_conversion(conversion);
    }
}
END_TEST

/* A field of floats, as a filter may leave it, into an integer picture: NaN, infinite, negative and huge
   colours and alphas. */
static void check_settling(const struct encoding *out, enum work_type work, struct device *device)
{
    const struct grid grid = grid_make(2, 1030, 3, 1);
    size_t pixels = grid.nx * grid.ny;
    unsigned channels = reference_work_channels(out);
    const struct encoding plain = plain_encoding(work, channels);
    struct conversion conversion = {plain, *out, work, FILL_SPECIAL, grid, 0};
    struct bench bench = {.device = device, .shape = lower_shape(&grid, channels), .work = work};
    unsigned char *samples = fixture_memory(pixels * channels, work_size(work));
    double *field = fixture_memory(pixels * channels, sizeof *field);

    fill_samples(FILL_SPECIAL, plain.type, samples, pixels * channels, 5);
    reference_decode(&plain, work, samples, pixels, field);
    bench_open(&bench);
    bench_upload(&bench, bench.fields[0], &plain, samples);
    compare_download(&bench, &conversion, &conversion.out, field);
    bench_close(&bench);
    free(samples);
    free(field);
}

START_TEST(what_filters_leave_is_settled)
{
    for (unsigned i = 0; i < 48; i++) {
        struct encoding out = {
            .type = i & 1 ? SAMPLE_U8 : SAMPLE_U16, .swapped = i & 2, .channels = 4, .alpha = true};
        out.premultiply = i & 4;
        out.transfer = (enum transfer)(i / 16);
        out.gamma = 2.2;
        if (devices[i % WAYS] != NULL)
            check_settling(&out, i & 8 ? WORK_F32 : WORK_F64, devices[i % WAYS]);
    }
}
END_TEST

/* Ties, limits and neighbours of limits of every integer type, from both work types. */
START_TEST(integers_round_and_saturate)
{
    static const double values[] = {
        0.5,
        1.5,
        2.5,
        -0.5,
        -1.5,
        -2.5,
        126.5,
        127.4999,
        127.5,
        -128.5,
        -128.6,
        -129,
        254.5,
        255.5,
        256,
        32767.5,
        -32768.5,
        65534.5,
        65535.5,
        65536,
        2147483646.5,
        2147483647.5,
        -2147483648.5,
        -2147483649.0,
        4294967294.5,
        4294967295.5,
        4294967296.0,
        1e300,
        -1e300,
        0.49999999999999994,
        8388607.5,
        16777217.0,
        -0.0,
        (double)NAN,
        (double)INFINITY,
        -(double)INFINITY,
    };
    const struct grid grid = grid_make(2, LENGTH(values), 1, 1);
    enum work_type work = _i & 1 ? WORK_F32 : WORK_F64;
    const struct encoding in = {.type = SAMPLE_F64, .channels = 1, .gamma = 1.0};
    struct conversion conversion = {.in = in, .out = in, .work = work, .grid = grid};
    struct bench bench = {.device = devices[_i & 2 ? 1 : 0], .shape = lower_shape(&grid, 1), .work = work};
    double field[LENGTH(values)];

    if (bench.device == NULL)
        return;
    conversion.out.type = (enum sample_type)(_i / 4);
    reference_decode(&in, work, values, LENGTH(values), field);
    bench_open(&bench);
    bench_upload(&bench, bench.fields[0], &in, (const unsigned char *)values);
    compare_download(&bench, &conversion, &conversion.out, field);
    bench_close(&bench);
}
END_TEST

/* A constant edge in a picture with alpha and a curve: what stands outside is a pixel of the file. */
START_TEST(outside_is_a_pixel_of_the_file)
{
    struct encoding encoding = {
        .type = _i & 1 ? SAMPLE_U8 : SAMPLE_U16, .channels = 4, .alpha = true, .gamma = 2.2};
    enum work_type work = _i & 2 ? WORK_F32 : WORK_F64;
    double got[7];

    encoding.premultiply = _i & 4;
    encoding.transfer = (enum transfer)(_i / 8);
    for (int i = -3; i < 600; i += 7) {
        double value = i / 2.0, wanted[7];
        encoding_outside(&encoding, work, value, got);
        reference_outside(&encoding, work, value, wanted);
        for (unsigned c = 0; c < reference_work_channels(&encoding); c++)
            ck_assert_double_eq(got[c], wanted[c]);
    }
}
END_TEST

/* ---- sums ---- */

static const size_t sum_extents[][3] = {{1, 1, 1},    {3, 5, 7},    {1023, 2, 1},
                                        {1024, 1, 3}, {1025, 3, 2}, {4099, 2, 2}};

static struct grid sum_grid(unsigned which)
{
    return grid_of(2 + which % 2, sum_extents[which / 2]);
}

START_TEST(change_is_summed_in_order)
{
    const unsigned channels = 2;
    struct grid grid = sum_grid((unsigned)_i);
    size_t pixels = grid.nx * grid.ny * grid.nz;

    for (size_t way = 0; way < WAYS; way++) {
        enum work_type work = way % 2 == 0 ? WORK_F32 : WORK_F64;
        const struct encoding plain = plain_encoding(work, channels);
        struct bench bench = {.device = devices[way], .shape = lower_shape(&grid, channels), .work = work};
        double *fields[2], sums[2] = {0.0, 0.0};
        struct range planes = {0, 0};
        struct fault fault;
        if (devices[way] == NULL)
            continue;
        bench_open(&bench);
        for (size_t i = 0; i < 2; i++) {
            unsigned char *samples = fixture_memory(pixels * channels, work_size(work));
            fields[i] = fixture_memory(pixels * channels, sizeof(double));
            fill_samples(FILL_RANDOM, plain.type, samples, pixels * channels, 10 * way + i);
            reference_decode(&plain, work, samples, pixels, fields[i]);
            bench_upload(&bench, bench.fields[i], &plain, samples);
            free(samples);
        }
        while (next_planes((enum cut)(way % 3), bench.shape.planes, &planes))
            ck_assert(backend_cpu.change(devices[way], bench.fields[0], bench.fields[1], channels, planes,
                                         sums, &fault));
        for (unsigned c = 0; c < channels; c++) {
            double wanted = reference_change(&grid, fields[0] + c * pixels, fields[1] + c * pixels);
            ck_assert_msg(memcmp(&sums[c], &wanted, sizeof wanted) == 0, "%.17g, not %.17g", sums[c], wanted);
        }
        bench_close(&bench);
        free(fields[0]);
        free(fields[1]);
    }
}
END_TEST

static bool same_tally(const struct tally *a, const struct tally *b)
{
    /* Zeros of either sign are the same least and greatest value. */
    return a->anchored == b->anchored && a->count == b->count && a->nans == b->nans && a->min == b->min &&
           a->max == b->max && a->anchor == b->anchor &&
           memcmp(&a->squares, &b->squares, sizeof a->squares) == 0 &&
           memcmp(&a->energy, &b->energy, sizeof a->energy) == 0 &&
           memcmp(&a->sum, &b->sum, sizeof a->sum) == 0;
}

static void check_survey(const struct encoding *encoding, const struct grid *grid, size_t way, enum fill fill)
{
    const struct shape shape = lower_shape(grid, 1);
    size_t pixels = grid->nx * grid->ny * grid->nz, samples = pixels * encoding->channels;
    size_t plane = shape.nx * shape.rows * encoding->channels * sample_size(encoding->type);
    unsigned char *native = fixture_memory(samples, sample_size(encoding->type)), *file;
    struct tally tallies[4] = {0};
    struct range planes = {0, 0};
    struct fault fault;

    fill_samples(fill, encoding->type, native, samples, way);
    file = swapped_copy(encoding, native, samples);
    while (next_planes((enum cut)(way % 3), shape.planes, &planes))
        ck_assert(backend_cpu.survey(devices[way], encoding, &shape, file + planes.first * plane,
                                     planes.count, tallies, &fault));
    for (unsigned c = 0; c < encoding->channels; c++) {
        struct tally wanted = reference_tally(grid, encoding, c, file);
        ck_assert_msg(same_tally(&tallies[c], &wanted), "%s, channel %u of %u, sum %.17g, not %.17g",
                      sample_name(encoding->type), c, encoding->channels, tallies[c].sum, wanted.sum);
    }
    free(native);
    free(file);
}

START_TEST(statistics_are_summed_in_order)
{
    struct grid grid = sum_grid((unsigned)_i);

    for (unsigned i = 0; i < SAMPLE_TYPES * 4; i++) {
        struct encoding encoding = {.type = (enum sample_type)(i % SAMPLE_TYPES), .swapped = i / 8 & 1};
        encoding.channels = 1 + i / SAMPLE_TYPES;
        if (devices[i % WAYS] == NULL || (i + (unsigned)_i) % THIN != 0)
            continue;
        check_survey(&encoding, &grid, i % WAYS, FILL_RANDOM);
    }
}
END_TEST

/* NaNs are left out, and a first sample that is not finite anchors nothing. */
START_TEST(statistics_leave_nans_out)
{
    static const float first_nan[] = {NAN, 3.0f, -NAN, 5.0f}, first_infinite[] = {-INFINITY, 1.0f, 2.0f};
    const struct encoding encoding = {.type = SAMPLE_F32, .channels = 1};
    const struct shape four = {4, 1, 1, 1}, three = {3, 1, 1, 1};
    struct tally tally = {0}, infinite = {0};
    struct fault fault;

    ck_assert(backend_cpu.survey(devices[0], &encoding, &four, first_nan, 1, &tally, &fault));
    ck_assert_uint_eq(tally.count, 2);
    ck_assert_uint_eq(tally.nans, 2);
    ck_assert_double_eq(tally.anchor, 0.0);
    ck_assert_double_eq(tally.min, 3.0);
    ck_assert_double_eq(tally.max, 5.0);
    ck_assert_double_eq(tally.sum, 8.0);
    ck_assert_double_eq(tally.squares, 34.0);
    ck_assert_double_eq(tally.energy, 34.0);
    ck_assert(backend_cpu.survey(devices[0], &encoding, &three, first_infinite, 1, &infinite, &fault));
    ck_assert_double_eq(infinite.anchor, 0.0);
    ck_assert_double_eq(infinite.min, -(double)INFINITY);
    ck_assert_double_eq(infinite.sum, -(double)INFINITY);
}
END_TEST

static TCase *new_case(Suite *suite, const char *name)
{
    TCase *tests = tcase_create(name);

    tcase_set_timeout(tests, TIMEOUT_SECONDS);
    suite_add_tcase(suite, tests);
    return tests;
}

static Suite *kernels_suite(void)
{
    Suite *suite = suite_create("kernels");
    TCase *filters = new_case(suite, "filters"), *cuts = new_case(suite, "cuts");
    TCase *conversions = new_case(suite, "conversions"), *sums = new_case(suite, "sums");

    tcase_add_test(filters, every_filter_is_tried);
    tcase_add_test(filters, filters_without_arguments);
    tcase_add_loop_test(filters, filters_with_arguments, 0, (int)LENGTH(specs));
    tcase_add_test(filters, flipped_filters);
    tcase_add_loop_test(filters, heat_of_every_kind, 0, (int)LENGTH(heats));
    tcase_add_test(filters, several_steps);
    tcase_add_test(filters, long_rows);
    tcase_add_test(cuts, every_way);
    tcase_add_loop_test(cuts, fields_may_hold_a_part, 0, 5);
    tcase_add_loop_test(conversions, every_type_into_every_other, 0, SAMPLE_TYPES);
    tcase_add_loop_test(conversions, every_kind_of_picture, 0, SAMPLE_F32);
    tcase_add_test(conversions, what_filters_leave_is_settled);
    tcase_add_loop_test(conversions, integers_round_and_saturate, 0, 4 * SAMPLE_TYPES);
    tcase_add_loop_test(conversions, outside_is_a_pixel_of_the_file, 0, 24);
    tcase_add_loop_test(sums, change_is_summed_in_order, 0, 2 * (int)LENGTH(sum_extents));
    tcase_add_loop_test(sums, statistics_are_summed_in_order, 0, 2 * (int)LENGTH(sum_extents));
    tcase_add_test(sums, statistics_leave_nans_out);
    return suite;
}

int main(void)
{
    SRunner *runner = srunner_create(kernels_suite());
    int failed;

    /* A child of a process that has run OpenMP loops may not run one: tests stay in this process. */
    srunner_set_fork_status(runner, CK_NOFORK);
    folder_enter();
    open_devices();
    srunner_run_all(runner, CK_ENV);
    close_devices();
    folder_leave();
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
