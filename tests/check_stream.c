/* Tests of the streaming run: the same samples from slabs of any size, from several passes over spool files,
   in any memory that is enough; and clean ends where a reader, a writer or a device fails in the middle. */
#include "base/file_in.h"
#include "pipeline/pipeline.h"
#include "cli/run_one.h"
#include "assertions.h"
#include "fixture.h"
#include "harness.h"
#include "running_device.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TIMEOUT_SECONDS 300

/* Milliseconds until what is waited for is given up. */
#define PATIENCE 1000

/* ---- files in memory ---- */

/* Both ends of a run: planes to read, and room for those that are written. */
struct tape {
    const unsigned char *in;
    unsigned char *out;
    size_t in_plane, out_plane;  /* bytes */
    atomic_size_t read, written; /* planes */
    size_t freely, until;        /* reading more waits until so many have been written */
    bool tired;                  /* of waiting */
    size_t read_most;            /* reading more fails */
    size_t write_most;
    bool bad_end;
};

static void pause_briefly(void)
{
    const struct timespec moment = {.tv_nsec = 1000000};

    nanosleep(&moment, NULL);
}

static void wait_for_writer(struct tape *tape)
{
    for (int tries = 0; tape->written < tape->until && tries < PATIENCE; tries++)
        pause_briefly();
    tape->tired |= tape->written < tape->until;
}

static bool tape_read(struct source *source, void *samples, size_t planes, struct fault *fault)
{
    struct tape *tape = source->state;

    if (tape->read + planes > tape->read_most)
        return fault_raise(fault, STATUS_INPUT, "tape: it is torn");
    if (tape->read + planes > tape->freely)
        wait_for_writer(tape);
    memcpy(samples, tape->in + tape->read * tape->in_plane, planes * tape->in_plane);
    tape->read += planes;
    return true;
}

static bool tape_read_box(struct source *source, void *samples, size_t volume, const struct region *box,
                          struct fault *fault)
{
    const struct tape *tape = source->state;
    const struct grid *grid = &source->header.grid;
    size_t first = volume * grid_planes(grid) + region_first_plane(box, grid),
           planes = region_planes(box, grid);

    if (first + planes > tape->read_most)
        return fault_raise(fault, STATUS_INPUT, "tape: it is torn");
    region_cut(box, grid, sample_size(source->header.type), tape->in + first * tape->in_plane, planes,
               samples);
    return true;
}

static bool tape_end(struct source *source, struct fault *fault)
{
    const struct tape *tape = source->state;

    return !tape->bad_end || fault_raise(fault, STATUS_INPUT, "tape: it has no end");
}

static bool tape_write(struct sink *sink, const void *samples, size_t planes, struct fault *fault)
{
    struct tape *tape = sink->state;
    size_t plane = header_plane_bytes(&sink->header);

    if (tape->written + planes > tape->write_most)
        return fault_raise(fault, STATUS_IO, "tape: it is full");
    memcpy(tape->out + tape->written * plane, samples, planes * plane);
    tape->written += planes;
    return true;
}

/* The planes of a column come in order, and count as written once those of the last one are. */
static bool tape_write_box(struct sink *sink, const void *samples, size_t volume, const struct region *box,
                           struct fault *fault)
{
    struct tape *tape = sink->state;
    const struct grid *grid = &sink->header.grid;
    const struct region_runs runs = region_runs_of(box, grid, sample_size(sink->header.type));

    (void)volume, (void)fault;
    for (size_t i = 0; i < runs.count; i++)
        memcpy(tape->out + region_run_place(&runs, i), (const unsigned char *)samples + i * runs.bytes,
               runs.bytes);
    if (box->first[0] + box->count[0] == grid->nx && box->first[1] + box->count[1] == grid->ny &&
        box->first[2] == tape->written)
        tape->written += box->count[2];
    return true;
}

static bool tape_finish(struct sink *sink, struct fault *fault)
{
    (void)sink, (void)fault;
    return true;
}

/* The tape of the run under way, and what its header says. */
static struct {
    struct tape *tape;
    struct header header;
    bool random;
} playing;

static bool tape_open(struct source *source, const struct source_request *request, struct fault *fault)
{
    (void)request, (void)fault;
    source->header = playing.header;
    source->random = playing.random;
    source->state = playing.tape;
    return true;
}

static void tape_close(struct source *source)
{
    (void)source;
}

static bool tape_create(struct sink *sink, const struct sink_request *request, struct fault *fault)
{
    (void)request, (void)fault;
    sink->state = playing.tape;
    return true;
}

static void tape_discard(struct sink *sink)
{
    (void)sink;
}

static const struct format format_tape = {
    .name = "tape",
    .open = tape_open,
    .close = tape_close,
    .create = tape_create,
    .discard = tape_discard,
    .read = tape_read,
    .read_box = tape_read_box,
    .end = tape_end,
    .write = tape_write,
    .write_box = tape_write_box,
    .finish = tape_finish,
};

/* ---- a device that counts, and that fails when told ---- */

static bool has_own_memory(void)
{
    return strcmp(running_device, "cpu") != 0;
}

static struct {
    struct backend backend;
    const struct backend *base;
    long fields, staging; /* that are there */
    long advances, most;  /* that worked, and before one fails; −1: none does */
    long slides;
    const struct tape *awaited; /* where planes are read ahead of those that leave; or NULL */
    size_t planes, batch;       /* of the plan */
    size_t taken;               /* planes uploaded */
    size_t given_in_a_row;      /* downloads since the last upload */
    size_t most_in_a_row;       /* of those between two uploads */
} counted;

static bool counted_field_create(struct device *device, struct field **field, const struct shape *shape,
                                 enum work_type work, struct range planes, struct fault *fault)
{
    bool done = counted.base->field_create(device, field, shape, work, planes, fault);

    counted.fields += done;
    return done;
}

static void counted_field_destroy(struct device *device, struct field *field)
{
    counted.fields -= field != NULL;
    counted.base->field_destroy(device, field);
}

static struct staging *counted_staging_create(struct device *device, size_t bytes, void *memory,
                                              struct fault *fault)
{
    struct staging *staging = counted.base->staging_create(device, bytes, memory, fault);

    counted.staging += staging != NULL;
    return staging;
}

static void counted_staging_destroy(struct device *device, struct staging *staging)
{
    counted.staging -= staging != NULL;
    counted.base->staging_destroy(device, staging);
}

static bool counted_advance(struct device *device, struct routine *routine, unsigned steps,
                            const struct field *from, const struct field *kept, struct field *to,
                            struct range planes, struct fault *fault)
{
    if (counted.advances == counted.most)
        return fault_raise(fault, STATUS_DEVICE, "counted: it broke down");
    counted.advances++;
    return counted.base->advance(device, routine, steps, from, kept, to, planes, fault);
}

static bool counted_field_slide(struct device *device, struct field *field, size_t first, struct range keep,
                                struct fault *fault)
{
    counted.slides++;
    return counted.base->field_slide(device, field, first, keep, fault);
}

static bool counted_upload(struct device *device, struct field *field, const struct encoding *encoding,
                           struct staging *staging, struct range planes, struct range counts,
                           struct fault *fault)
{
    if (counted.given_in_a_row > counted.most_in_a_row)
        counted.most_in_a_row = counted.given_in_a_row;
    counted.given_in_a_row = 0;
    counted.taken = planes.first + planes.count;
    return counted.base->upload(device, field, encoding, staging, planes, counts, fault);
}

/* Until the next batch has been passed on, since another one has been read after it. Where there is no other
   one, nobody can tell, and nothing is counted. */
static void await_reader(void)
{
    size_t wanted = counted.taken + 2 * counted.batch;

    if (wanted > counted.planes)
        counted.given_in_a_row = 0;
    for (int tries = 0; wanted <= counted.planes && counted.awaited->read < wanted && tries < PATIENCE;
         tries++)
        pause_briefly();
}

static bool counted_download(struct device *device, const struct field *field,
                             const struct encoding *encoding, struct staging *staging, struct range planes,
                             struct fault *fault)
{
    counted.given_in_a_row++;
    if (counted.awaited != NULL)
        await_reader();
    return counted.base->download(device, field, encoding, staging, planes, fault);
}

static void count_device(struct plan *plan, long advances)
{
    counted.base = plan->lanes[0].backend;
    counted.backend = *counted.base;
    counted.backend.field_create = counted_field_create;
    counted.backend.field_destroy = counted_field_destroy;
    counted.backend.staging_create = counted_staging_create;
    counted.backend.staging_destroy = counted_staging_destroy;
    counted.backend.advance = counted_advance;
    counted.backend.field_slide = counted_field_slide;
    counted.backend.upload = counted_upload;
    counted.backend.download = counted_download;
    counted.advances = 0;
    counted.slides = 0;
    counted.given_in_a_row = counted.most_in_a_row = 0;
    counted.most = advances;
    plan->lanes[0].backend = &counted.backend;
}

/* ---- an observer ---- */

#define ENDS 2 /* of a run */

/* Keeps what leaves, and holds what comes against the tape. */
struct onlooker {
    const struct tape *tape;
    struct region box, kept; /* those of the job, */
    struct grid grid, computed;
    size_t in_plane, out_plane; /* and the bytes of its planes */
    unsigned char *out;
    size_t seen[ENDS]; /* planes */
    size_t most;       /* seeing more of the output fails */
    bool begun, finished, astray;
};

static bool onlooker_begin(void *state, const struct plan *plan, struct fault *fault)
{
    struct onlooker *onlooker = state;
    const struct job *job = plan->job;

    onlooker->box = job->box;
    onlooker->kept = job->kept;
    onlooker->grid = job->in.grid;
    onlooker->computed = job->computed;
    onlooker->in_plane = job->in_plane_bytes;
    onlooker->out_plane = job->out_plane_bytes;
    onlooker->out = fixture_memory(grid_planes(&job->out.grid), onlooker->tape->out_plane);
    onlooker->begun = true;
    (void)fault;
    return true;
}

/* Whether samples are what the box has of a plane of the tape, around the grid where it leaves it. */
static bool is_boxed(const struct onlooker *onlooker, size_t plane, const unsigned char *samples)
{
    const struct grid *grid = &onlooker->grid;
    const unsigned char *whole = onlooker->tape->in + plane * onlooker->tape->in_plane;
    size_t rows = grid_rows(&onlooker->computed), pixel = onlooker->in_plane / rows / onlooker->computed.nx;
    bool same = true;

    for (size_t i = 0; i < rows * onlooker->computed.nx; i++) {
        size_t x = (onlooker->box.first[0] + i % onlooker->computed.nx) % grid->nx;
        size_t y = (onlooker->box.first[1] + i / onlooker->computed.nx) % grid_rows(grid);
        same = same && memcmp(samples + i * pixel, whole + (y * grid->nx + x) * pixel, pixel) == 0;
    }
    return same;
}

static bool onlooker_see(void *state, enum observer_end end, const void *samples, struct range planes,
                         struct fault *fault)
{
    struct onlooker *onlooker = state;
    const struct tape *tape = onlooker->tape;

    onlooker->astray |= !onlooker->begun || planes.first != onlooker->seen[end];
    onlooker->seen[end] = planes.first + planes.count;
    for (size_t i = 0; end == OBSERVER_INPUT && tape->in != NULL && i < planes.count; i++)
        onlooker->astray |=
            !is_boxed(onlooker, planes.first + i, (const unsigned char *)samples + i * onlooker->in_plane);
    if (end == OBSERVER_INPUT)
        return true;
    if (onlooker->seen[end] > onlooker->most)
        return fault_raise(fault, STATUS_FAILURE, "onlooker: it has seen enough");
    memcpy(onlooker->out + planes.first * onlooker->out_plane, samples, planes.count * onlooker->out_plane);
    return true;
}

static bool onlooker_finish(void *state, struct peers *peers, struct fault *fault)
{
    struct onlooker *onlooker = state;

    (void)peers, (void)fault;
    onlooker->finished = true;
    return true;
}

static const struct observer_kind onlooker_kind = {NULL, onlooker_begin, onlooker_see, onlooker_finish};

/* ---- a run ---- */

struct outcome {
    struct command command;
    struct tape tape;
    struct onlooker onlooker; /* unless nobody adds up samples */
    struct schedule schedule;
    struct run_summary summary;
    bool done;
    struct fault fault;
};

/* What the ends of one run are like, and what is wrong with them. */
struct setting {
    size_t read_most, write_most; /* planes */
    bool bad_end;
    long advances;        /* −1: all of them work */
    bool random;          /* the input gives planes in any order */
    bool untallied;       /* nobody looks at samples, which would be waited for */
    bool awaited;         /* planes do not leave before others have been read */
    size_t freely, until; /* planes read before so many have been written */
    size_t see_most;      /* planes of the output */
    struct region_request region;
    size_t column[2]; /* extents of columns along x and y; 0: the job is not cut */
};

static const struct setting none = {
    .read_most = SIZE_MAX, .write_most = SIZE_MAX, .advances = -1, .freely = SIZE_MAX, .see_most = SIZE_MAX};

/* On the counted device, from a pipeline that is open. */
static void run_counted(struct outcome *outcome, struct pipeline *pipeline, const struct setting *setting)
{
    if (!pipeline_plan(pipeline, &outcome->fault))
        return;
    outcome->schedule = pipeline->plan.schedule;
    count_device(&pipeline->plan, setting->advances);
    counted.awaited = setting->awaited ? &outcome->tape : NULL;
    counted.planes = pipeline->plan.shape.planes;
    counted.batch = pipeline->plan.schedule.batch;
    outcome->done = pipeline_run(pipeline, &outcome->fault);
    outcome->summary = pipeline->summary;
    pipeline->summary = (struct run_summary){0};
}

/* Nothing but the file at the end of the output has its name. */
static void ck_left(const struct outcome *outcome)
{
    ck_assert_int_eq(counted.fields, 0);
    ck_assert_int_eq(counted.staging, 0);
    ck_assert_int_eq(file_exists("out"), outcome->done);
    unlink("out");
}

static size_t first_plane(const struct setting *setting, const struct grid *grid)
{
    struct region region;
    struct fault fault;

    ck_assert_msg(region_settle(&setting->region, grid, &region, &fault), "%s", fault.text);
    return region_first_plane(&region, grid);
}

static void run_request(struct outcome *outcome, struct pipeline_request *request,
                        const struct setting *setting)
{
    const struct observer onlooker = {&onlooker_kind, &outcome->onlooker};
    struct pipeline pipeline;

    outcome->onlooker.tape = &outcome->tape;
    outcome->onlooker.most = setting->see_most;
    outcome->onlooker.seen[OBSERVER_INPUT] = outcome->onlooker.seen[OBSERVER_OUTPUT] =
        first_plane(setting, &playing.header.grid);
    request->job.region = setting->region;
    if (!setting->untallied)
        request->run.observers = (struct observers){&onlooker, 1};
    playing.tape = &outcome->tape;
    playing.random = setting->random;
    ck_assert_msg(pipeline_open(&pipeline, request, &outcome->fault), "%s", outcome->fault.text);
    if (setting->column[0] > 0)
        ck_assert_msg(job_cut(&pipeline.job, setting->column, &outcome->fault), "%s", outcome->fault.text);
    run_counted(outcome, &pipeline, setting);
    pipeline_close(&pipeline);
    ck_left(outcome);
}

static struct header header_of(const struct options *options)
{
    return (struct header){.grid = options->source.grid,
                           .volumes = 1,
                           .type = options->source.has_type ? options->source.type : SAMPLE_F32,
                           .endian = endian_native()};
}

static size_t packed_plane(const struct grid *grid, enum sample_type type)
{
    return grid_plane_samples(grid) * sample_size(type);
}

static void run_tape(struct outcome *outcome, const char *options, const struct schedule_limits *limits,
                     const void *in, const struct setting *setting)
{
    const struct options *parsed = &outcome->command.options;
    static unsigned long runs;
    char text[480];
    struct pipeline_request request;

    *outcome = (struct outcome){.done = false};
    running_vary(runs++);
    snprintf(text, sizeof text, "-i in -o out -q -D %s %s %s", running_device,
             setting->untallied ? "" : "--stats", options);
    command_parse(&outcome->command, PROGRAM_VOXFILT, text);
    ck_assert_msg(outcome->command.parsed, "%s: %s", options, outcome->command.fault.text);
    request = run_one_request(parsed, "in", "out");
    request.format = &format_tape;
    request.plan.limits = *limits;
    playing.header = header_of(parsed);
    outcome->tape = (struct tape){.in = in,
                                  .out = fixture_memory(grid_samples(&playing.header.grid), 8),
                                  .in_plane = header_plane_bytes(&playing.header),
                                  .out_plane = packed_plane(&playing.header.grid, parsed->job.has_out_type
                                                                                      ? parsed->job.out_type
                                                                                      : playing.header.type),
                                  .freely = setting->freely,
                                  .until = setting->until,
                                  .read_most = setting->read_most,
                                  .write_most = setting->write_most,
                                  .bad_end = setting->bad_end};
    run_request(outcome, &request, setting);
}

static void outcome_free(struct outcome *outcome)
{
    run_summary_free(&outcome->summary);
    free(outcome->onlooker.out);
    free(outcome->tape.out);
    command_free(&outcome->command);
}

static void ck_same_checks(const struct convergence *got, const struct convergence *wanted)
{
    ck_assert_uint_eq(got->count, wanted->count);
    for (size_t i = 0; i < convergence_kept(wanted); i++) {
        const struct convergence_check a = convergence_at(got, i), b = convergence_at(wanted, i);
        ck_assert_uint_eq(a.step, b.step);
        ck_assert_mem_eq(&a.change, &b.change, sizeof a.change);
    }
}

/* An observer has seen each plane of both ends, once and in order. */
static void ck_seen(const struct outcome *outcome, const char *options)
{
    const struct onlooker *onlooker = &outcome->onlooker;
    const struct tape *tape = &outcome->tape;

    if (!onlooker->begun)
        return;
    ck_assert_msg(onlooker->finished && !onlooker->astray, "%s: the onlooker was misled", options);
    ck_assert_uint_eq(onlooker->seen[OBSERVER_INPUT], tape->written);
    ck_assert_uint_eq(onlooker->seen[OBSERVER_OUTPUT], tape->written);
    ck_assert_mem_eq(onlooker->out, tape->out, tape->written * tape->out_plane);
}

static void ck_same(const struct outcome *got, const struct outcome *wanted, const char *options)
{
    const struct run_summary *a = &got->summary, *b = &wanted->summary;
    size_t bytes = wanted->tape.written * wanted->tape.out_plane;
    const char *how = got->schedule.spooled ? "spooled" : "streamed";

    ck_assert_msg(got->done, "%s: %s", options, got->fault.text);
    ck_assert_msg(got->tape.written == wanted->tape.written &&
                      memcmp(got->tape.out, wanted->tape.out, bytes) == 0,
                  "%s: %s in slabs of %zu, batches of %zu, a window of %zu: the samples differ", options, how,
                  got->schedule.slab, got->schedule.batch, got->schedule.window);
    ck_assert_uint_eq(a->steps, b->steps);
    ck_assert_mem_eq(&a->outcomes, &b->outcomes, sizeof a->outcomes);
    ck_assert_mem_eq(&a->last_change, &b->last_change, sizeof a->last_change);
    ck_same_checks(&a->checks, &b->checks);
    ck_assert_int_eq(got->onlooker.begun, got->command.options.run.stats);
    ck_seen(got, options);
    if (!got->command.options.run.stats)
        return;
    for (unsigned c = 0; c < got->command.options.source.grid.channels; c++) {
        ck_assert_mem_eq(&a->tallies_in[c].sum, &b->tallies_in[c].sum, 3 * sizeof(double));
        ck_assert_mem_eq(&a->tallies_out[c].sum, &b->tallies_out[c].sum, 3 * sizeof(double));
        ck_assert_uint_eq(a->tallies_out[c].nans, b->tallies_out[c].nans);
    }
}

/* ---- the same samples ---- */

static const char *const edges[] = {"reflect", "mirror", "nearest", "wrap", "constant:3", "hold"};

static const char *const chains[] = {
    "-d 5,4,9 -f heat -s 3",
    "-d 5,4,9 -t f64 -f gauss:0.7 -f unsharp:0.5,1 -s 2 -f laplace",
    "-d 5,4,12 -t u8 -f unsharp:0.5,1.5 -f heat --flux pm1 --scale 1 -s 2 -f gradient",
    "-d 4,3,11 --channels 2 -f star:4 -s 2 -f box:1",
    "-d 4,3,10 -f taps:below.taps -s 2 -f taps:above.taps",
    "-d 4,3,7 -f taps:above.taps -f identity -f taps:below.taps -s 3",
    "-d 6,5,8 -t i16 --out-type f32 -f matrix:1,2,1/4 -s 3",
    "-d 6,5,8 -t u16 -f heat -s 0 -f heat --flux tanh --scale 1 --inner 2 --reaction 0.1 -s 2",
    "-d 7,13 -t f64 -f gauss:1 -f heat -s 4",
    "-d 7,90 -t f32 -f gauss:1.5 -e constant:0.7 -f unsharp:1,1 -e constant:0.7",
    "-d 9,2,90 -t f32 -f gauss:1.5 -e constant:0.7 --axes xz",
    "-d 5,4,9 -f heat -s 9 --until 0.2 --check-every 1",
    "-d 5,4,9 -f heat -s 40 --until 0.05 --check-every 7",
    "-d 5,4,9 -t f64 -f sharpen -f box:1 -s 9 --until 0.02 --check-every 2",
    "-d 5,4,9 -f unsharp:0.7,0.5 -s 5 --until 0.01 --check-every 1",
    "-d 5,4,9 -f heat -s 4 --until 1e-9",
    "-d 5,4,9 -f laplace -f heat -s 0 --until 1",
    "-d 5,4,1 -f gauss:2",
    "-d 5,4,2 -f star:8 -s 2 -f heat -s 7",
    "-d 5,4,14 -f heat -s 9 -f heat -s 5 --until 1e-9 --check-every 2",
    "-d 5,4,14 -t u8 -f heat -s 3 -e wrap -f gauss:0.5 -e reflect -f identity -f star:4 -s 2 -e wrap",
    ("-d 4,3,13 -f gauss:0.6 -e mirror -f taps:below.taps -e wrap -f box:1 -e wrap -s 9 --until 0.02 "
     "--check-every 1"),
    "-d 6,5,9 -t i16 -f matrix:1,2,1/4 -f unsharp:0.5,1 -e wrap -s 2 -f laplace -e hold",
    "-d 5,4,9 -t i16 -f scale:2,1 -f gauss:0.6 -f scale:0.3,7 -f laplace --out-range auto --out-type u8",
    "-d 5,4,9 -t i16 -f abs -f ln -f gauss:0.6 -f exp -f threshold:900,5,70 -f box:1 -f power:1.5 --out-type "
    "f32",
    "-d 5,4,9 -f heat -s 9 --until 0.2 --out-range auto --out-type u16",
    "-d 4,3,8 -t i32 -f heat -s 2 -f gradient",
    "-d 4,3,8 -t u64 -f gauss:0.6 --out-type f64",
    "-d 9,8 -t i8 -f unsharp:0.5,1 -s 2",
    "-d 5,4,21 -t u8 -f bilateral:0.7,40 -s 3 -f heat -s 2",
    "-d 5,29 -t i16 --channels 3 -f bilateral:1,9000 -f bilateral:0.5,8000 -s 4 --until 100 --check-every 2",
    "-d 5,4,23 -f log:0.7 -s 2 -f heat -s 3",
    "-d 5,4,31 -t u8 -f median:1 -s 2 -f max:3 -f min:2,ball",
    "-d 5,4,37 -t u8 -f morphgrad:1 -s 2 -f tophat:2 -f close:1,ball",
    "-d 5,4,19 -t u8 --out-type f32 -f dog:0.5,1.2 -f gradmag:0.6",
    "-d 5,4,17 -t i16 -f gradmag:0.7 -s 9 --until 0.5 --check-every 2",
    "-d 9,31 -t u16 -f gauss:0.6,order=0,1 -f log:0.9",
    "-d 4,3,8 -t u32 -f scale:0.5,1 -f prewitt:z -f matrix:1,2,1/4 --out-type i64",
    "-d 6,5,9 -t f16 -f gauss:0.6 -f heat -s 5",
    "-d 3,9 -t i64 -f box:1 -s 2 -f heat --flux tanh --scale 1e12",
    "-d 5,4,11 --missing nan -f gauss:0.7 -s 2 -f unsharp:0.5,1 -f heat -s 5",
    "-d 5,4,13 -t u8 --missing 200 -f median:1 -s 2 -f morphgrad:1 -s 2 -f open:2",
    "-d 5,4,9 -t u8 --missing 200 -f laplace -f box:1 -f heat --until 0.2 -s 9 --check-every 1",
    "-d 5,4,11 -t i16 --mask mask -f gauss:0.7 -s 2 -f laplace -f heat -s 5 --out-type f32",
};

#define EDGES  ((int)LENGTH(edges))
#define CHAINS ((int)LENGTH(chains))

struct example {
    char options[200];
    size_t planes;
    unsigned char *in;
    struct outcome whole; /* in one slab */
};

/* Numbers of planes, chains and edges have no common factor with either. */
static bool is_left_out(int number)
{
    return running_turns() > 1 && number % (running_turns() < 32 ? 7 : 29) != 0;
}

/* Whether it is the turn of a try of an example. What else goes by the number of the try shall not be the
   same in all that have a turn. */
static bool has_turn(unsigned tried)
{
    return harness_has_turn(tried, running_turns());
}

/* Whether the edge rule of an example meets a pair of numbers. All pairs under all rules would be 27,000 runs
   of slabs alone, so the rules share them: each chain meets every pair, under one of the rules at least, and
   each rule every number, in 7,000 runs. Where only some have a turn anyway, nothing is shared. */
static bool meets(int number, size_t a, size_t b)
{
    return running_turns() > 1 || (a + b) % LENGTH(edges) == (size_t)(number % EDGES);
}

static void make_example(struct example *example, const char *chain, const char *edge)
{
    const struct schedule_limits unlimited = {0};
    struct command command;
    struct header header;

    snprintf(example->options, sizeof example->options, "-e %s %s", edge, chain);
    command_parse(&command, PROGRAM_VOXFILT, example->options);
    ck_assert_msg(command.parsed, "%s: %s", example->options, command.fault.text);
    header = header_of(&command.options);
    example->planes = grid_planes(&header.grid);
    example->in = fixture_memory(grid_samples(&header.grid), 8);
    fill_samples(strstr(example->options, "--missing") == NULL ? FILL_RANDOM : FILL_SPECIAL, header.type,
                 example->in, grid_samples(&header.grid), 5);
    run_tape(&example->whole, example->options, &unlimited, example->in, &none);
    ck_assert_msg(example->whole.done, "%s: %s", example->options, example->whole.fault.text);
    command_free(&command);
}

/* Each chain under each edge rule. */
static void make_numbered(struct example *example, int number)
{
    make_example(example, chains[number / EDGES], edges[number % EDGES]);
}

static void free_example(struct example *example)
{
    outcome_free(&example->whole);
    free(example->in);
}

static void ck_like_whole_from(const struct example *example, const char *more,
                               const struct schedule_limits *limits, const struct setting *setting,
                               struct outcome *outcome)
{
    char options[240];

    snprintf(options, sizeof options, "%s %s", more, example->options);
    run_tape(outcome, options, limits, example->in, setting);
    ck_same(outcome, &example->whole, options);
}

static void ck_like_whole(const struct example *example, const char *more,
                          const struct schedule_limits *limits, struct outcome *outcome)
{
    ck_like_whole_from(example, more, limits, &none, outcome);
}

START_TEST(any_slab)
{
    static unsigned tried;
    struct setting setting = none;
    struct example example;

    if (is_left_out(_i))
        return;
    make_numbered(&example, _i);
    for (size_t slab = 1; slab <= example.planes; slab++) {
        for (size_t batch = 1; batch <= slab; batch++) {
            const struct schedule_limits limits = {.slab = slab, .batch = batch};
            struct outcome outcome;
            if ((batch < slab && !meets(_i, slab, batch)) || !has_turn(tried++))
                continue;
            setting.untallied = has_own_memory() && !setting.untallied;
            ck_like_whole_from(&example, slab % 2 == 0 ? "-j 3" : "-j 1", &limits, &setting, &outcome);
            outcome_free(&outcome);
        }
    }
    free_example(&example);
}
END_TEST

/* The bytes that a refusal says are needed: in parentheses, if not at once. */
static unsigned long long least_named(const char *refusal)
{
    const char *exactly = strchr(refusal, '('), *needs = strstr(refusal, " needs ");
    unsigned long long least = 0;

    ck_assert_ptr_nonnull(needs);
    ck_assert_msg((exactly != NULL ? sscanf(exactly, "(%llu bytes)", &least)
                                   : sscanf(needs, " needs %llu B,", &least)) == 1,
                  "%s", refusal);
    return least;
}

/* The least memory that a job names as it refuses less. */
static unsigned long long least_memory(const struct example *example)
{
    const struct schedule_limits unlimited = {0};
    unsigned long long least = 0;
    struct outcome outcome;
    char options[240];

    snprintf(options, sizeof options, "-m 1 %s", example->options);
    run_tape(&outcome, options, &unlimited, example->in, &none);
    ck_assert_int_eq(outcome.fault.status, STATUS_LIMIT);
    least = least_named(outcome.fault.text);
    outcome_free(&outcome);
    snprintf(options, sizeof options, "-m %llu %s", least - 1, example->options);
    run_tape(&outcome, options, &unlimited, example->in, &none);
    ck_assert_int_eq(outcome.fault.status, STATUS_LIMIT);
    outcome_free(&outcome);
    return least;
}

static struct region_request planes_from_to(size_t first, size_t end)
{
    return (struct region_request){.kind = REGION_PLANES, .spans = {{first, end, true}}, .span_count = 1};
}

static struct region region_of(const struct region_request *request, const struct grid *grid)
{
    struct region region;
    struct fault fault;

    ck_assert_msg(region_settle(request, grid, &region, &fault), "%s", fault.text);
    return region;
}

/* What a region has of the whole result, sample by sample. */
static size_t cut_out(const struct example *example, const struct region *region, unsigned char *samples)
{
    const struct grid *grid = &example->whole.command.options.source.grid;
    size_t pixel = example->whole.tape.out_plane / grid->nx / grid_rows(grid), size = 0;

    for (size_t z = 0; z < region->count[2]; z++) {
        for (size_t y = 0; y < region->count[1]; y++) {
            for (size_t x = 0; x < region->count[0]; x++, size += pixel)
                memcpy(samples + size,
                       example->whole.tape.out +
                           (((region->first[2] + z) * grid->ny + region->first[1] + y) * grid->nx +
                            region->first[0] + x) *
                               pixel,
                       pixel);
        }
    }
    return size;
}

/* A region is what the whole has there; the onlooker sees it with its halo. */
static void ck_region(const struct example *example, const char *more, const struct schedule_limits *limits,
                      const struct setting *setting)
{
    const struct grid *grid = &example->whole.command.options.source.grid;
    const struct region region = region_of(&setting->region, grid);
    size_t first = region_first_plane(&region, grid), count = region_planes(&region, grid);
    unsigned char *expected = fixture_memory(grid_samples(grid), 8), *seen;
    struct outcome outcome;
    const struct onlooker *onlooker = &outcome.onlooker;
    size_t size;
    char options[240];

    snprintf(options, sizeof options, "%s %s", more, example->options);
    run_tape(&outcome, options, limits, example->in, setting);
    ck_assert_msg(outcome.done, "%s: %s", options, outcome.fault.text);
    ck_assert_uint_eq(outcome.tape.written, count);
    size = cut_out(example, &region, expected);
    ck_assert_msg(memcmp(outcome.tape.out, expected, size) == 0, "%s: planes %zu to %zu differ", options,
                  first, first + count - 1);
    ck_assert(outcome.onlooker.finished && !outcome.onlooker.astray);
    ck_assert_uint_eq(outcome.onlooker.seen[OBSERVER_INPUT], first + count);
    seen = onlooker->out + first * onlooker->out_plane;
    region_cut(&onlooker->kept, &onlooker->computed,
               onlooker->out_plane / grid_plane_samples(&onlooker->computed), seen, count, seen);
    ck_assert_mem_eq(seen, expected, size);
    free(expected);
    outcome_free(&outcome);
}

/* Of so many parts in a row, numbered from 0, each rule meets one end. */
static bool meets_part(int number, size_t k, size_t parts)
{
    return k == (parts % 2 == 0 ? 0 : parts - 1) || meets(number, parts, k);
}

/* Ranges of planes of any number, one after the other, are the whole. */
START_TEST(any_planes)
{
    static unsigned tried;
    struct setting setting = none;
    struct example example;

    if (is_left_out(_i))
        return;
    make_numbered(&example, _i);
    for (size_t parts = 1; parts <= example.planes; parts++) {
        for (size_t k = 0; k < parts; k++) {
            const struct schedule_limits limits = {.slab = 1 + tried % 5, .batch = 1 + tried % 2};
            if (!meets_part(_i, k, parts))
                continue;
            setting.random = tried % 3 > 0;
            setting.region = planes_from_to(k * example.planes / parts, (k + 1) * example.planes / parts);
            if (has_turn(tried++))
                ck_region(&example, tried % 2 == 0 ? "-j 3" : "-j 1", &limits, &setting);
        }
    }
    free_example(&example);
}
END_TEST

/* A box that leaves out something of every axis, if it has more than one index. */
static struct region_request box_within(const struct grid *grid, unsigned number)
{
    const size_t extents[3] = {grid->nx, grid->ny, grid->nz};
    struct region_request request = {.kind = REGION_CROP, .span_count = grid->axes};

    for (unsigned axis = 0; axis < grid->axes; axis++) {
        size_t most = extents[axis] - 1, first = (number + axis) % (most + 1);
        size_t end = first + 1 + (number / 3) % (extents[axis] - first);
        request.spans[axis] = (struct region_span){first, end, true};
    }
    return request;
}

enum { BOXES = 12 };

/* Boxes, of planes that are streamed and of those that are held or spooled. */
START_TEST(any_box)
{
    static unsigned tried;
    struct setting setting = none;
    struct example example;
    char memory[40];

    if (is_left_out(_i))
        return;
    make_numbered(&example, _i);
    snprintf(memory, sizeof memory, "-j 2 -m %llu", least_memory(&example)); /* more threads read with more */
    for (unsigned box = 0; box < BOXES; box++) {
        const struct schedule_limits limits = {.slab = 1 + tried % 4, .batch = 1 + tried % 2};
        const struct schedule_limits unlimited = {0};
        bool tight = box % 3 == 0;
        setting.random = box % 2 == 0;
        setting.region = box_within(&example.whole.command.options.source.grid, box);
        if (has_turn(tried++))
            ck_region(&example, tight ? memory : "", tight ? &unlimited : &limits, &setting);
    }
    free_example(&example);
}
END_TEST

/* Of such stages every part would need the whole grid. */
static bool takes_the_whole(const char *chain)
{
    return strstr(chain, "--until") != NULL || strstr(chain, "auto") != NULL || strstr(chain, " -e ") != NULL;
}

static void ck_like_columns(const struct example *example, const struct schedule_limits *limits,
                            const struct setting *setting)
{
    struct outcome outcome;

    ck_like_whole_from(example, "", limits, setting, &outcome);
    outcome_free(&outcome);
}

/* Columns of any extents, one after the other, are the whole. */
START_TEST(any_columns)
{
    static unsigned tried;
    struct setting setting = none;
    struct example example;
    const struct grid *grid = &example.whole.command.options.source.grid;

    if (is_left_out(_i) || strstr(chains[_i / EDGES], "--until") != NULL ||
        strstr(chains[_i / EDGES], "auto") != NULL)
        return;
    make_numbered(&example, _i);
    setting.random = setting.untallied = true;
    for (size_t i = 0; grid->axes == 3 && i < grid->nx * grid->ny - 1; i++) {
        const struct schedule_limits limits = {.slab = 1 + tried % 3, .batch = 1 + tried % 2};
        setting.column[0] = 1 + i % grid->nx;
        setting.column[1] = 1 + i / grid->nx;
        if (meets(_i, setting.column[0], setting.column[1]) && has_turn(tried++))
            ck_like_columns(&example, &limits, &setting);
    }
    free_example(&example);
}
END_TEST

static struct region_request part_of(size_t k, size_t parts)
{
    return (struct region_request){.kind = REGION_PART, .part = k, .parts = parts};
}

/* The least memory of a part, told where there is less. It is one pass, and enough. */
static void ck_least_part(const struct example *example, const struct setting *setting)
{
    const struct schedule_limits unlimited = {0};
    unsigned long long least = 0;
    struct outcome outcome;
    char options[240];

    snprintf(options, sizeof options, "-m 1 %s", example->options);
    run_tape(&outcome, options, &unlimited, example->in, setting);
    ck_assert_int_eq(outcome.fault.status, STATUS_LIMIT);
    ck_assert_ptr_nonnull(
        strstr(outcome.fault.text, "--memory: a part takes one pass over the data, which needs "));
    least = least_named(outcome.fault.text);
    outcome_free(&outcome);
    snprintf(options, sizeof options, "-m %llu", least);
    ck_region(example, options, &unlimited, setting);
    snprintf(options, sizeof options, "-m %llu %s", least - 1, example->options);
    run_tape(&outcome, options, &unlimited, example->in, setting);
    ck_assert_int_eq(outcome.fault.status, STATUS_LIMIT);
    outcome_free(&outcome);
}

/* Parts, one after the other, are the whole. */
START_TEST(any_part)
{
    static unsigned tried;
    struct setting setting = none;
    struct example example;

    if (is_left_out(_i) || takes_the_whole(chains[_i / EDGES]))
        return;
    make_numbered(&example, _i);
    setting.random = true;
    for (size_t parts = 1; parts <= example.planes; parts++) {
        for (size_t k = 1; k <= parts; k++) {
            const struct schedule_limits limits = {.slab = 1 + tried % 5, .batch = 1 + tried % 2};
            setting.region = part_of(k, parts);
            if (!meets_part(_i, k - 1, parts) || !has_turn(tried++))
                continue;
            ck_region(&example, tried % 2 == 0 ? "-j 3" : "-j 1", &limits, &setting);
            if (tried % 3 == 0)
                ck_least_part(&example, &setting);
        }
    }
    free_example(&example);
}
END_TEST

START_TEST(parts_that_are_refused)
{
    static const struct {
        const char *options;
        bool random;
        const char *words;
    } refused[] = {
        {"-d 5,4,24 -f heat -s 3", false,
         "in: --part needs samples at fixed places in one file: a pipe, compressed samples and lists of "
         "files have none"},
        {"-d 5,4,24 -f heat --until 0.1", true,
         "--part: not allowed with --until: every part would need the whole grid"},
        {"-d 5,4,24 -f heat --out-range auto", true,
         "--part: not allowed with --out-range=auto: every part would need the whole grid"},
        {"-d 5,4,24 -f heat -e wrap -f identity -f gauss:1 -e reflect", true,
         "--part: an edge that wraps is followed or preceded by one that does not: every part would need the "
         "whole grid"},
    };
    const struct schedule_limits unlimited = {0};
    static const float samples[480];
    struct setting setting = none;
    struct outcome outcome;

    setting.random = refused[_i].random;
    setting.region = part_of(2, 3);
    run_tape(&outcome, refused[_i].options, &unlimited, samples, &setting);
    ck_assert(!outcome.done);
    ck_assert_int_eq(outcome.fault.status, STATUS_USAGE);
    ck_assert_str_eq(outcome.fault.text, refused[_i].words);
    outcome_free(&outcome);
}
END_TEST

/* What goes around the grid needs no held one: of a long volume the planes beside a part, at the other end
   where it is one of the ends, from a tape that is torn elsewhere. */
START_TEST(parts_go_round)
{
    static const float samples[5 * 4 * 90];
    struct setting setting = none;
    struct schedule_limits limits = {.slab = 4, .batch = 1};
    struct outcome outcome;

    setting.random = true;
    setting.region = part_of(3, 9);
    setting.read_most = 33;
    run_tape(&outcome, "-d 5,4,90 -f heat -e wrap -s 3 --rung naive", &limits, samples, &setting);
    ck_assert_msg(outcome.done, "%s", outcome.fault.text);
    ck_assert_uint_lt(outcome.schedule.window, 20);
    outcome_free(&outcome);
    setting.read_most = 32;
    run_tape(&outcome, "-d 5,4,90 -f heat -e wrap -s 3 --rung naive", &limits, samples, &setting);
    ck_assert_str_eq(outcome.fault.text, "tape: it is torn");
    outcome_free(&outcome);
    setting = none;
    setting.random = true;
    setting.region = part_of(1, 1);
    run_tape(&outcome, "-d 5,4,90 -f heat -e wrap -s 3 --rung naive", &limits, samples, &setting);
    ck_assert_msg(outcome.done, "%s", outcome.fault.text);
    ck_assert_uint_lt(outcome.schedule.window, 20);
    outcome_free(&outcome);
}
END_TEST

/* What comes in order is read to its end, and the last planes leave after that. */
START_TEST(regions_of_streams_end_well)
{
    const struct schedule_limits limits = {.slab = 2, .batch = 1};
    static const char *const options[] = {"-d 5,4,24 -f heat -s 3", "-d 5,4,24 -f identity"};
    static const float samples[480];
    struct setting setting = none;
    struct outcome outcome;

    setting.region = planes_from_to(7, 9);
    run_tape(&outcome, options[_i], &limits, samples, &setting);
    ck_assert_msg(outcome.done, "%s", outcome.fault.text);
    ck_assert_uint_eq(outcome.tape.read, 24);
    ck_assert_uint_eq(outcome.tape.written, 2);
    outcome_free(&outcome);
    setting.bad_end = true;
    run_tape(&outcome, options[_i], &limits, samples, &setting);
    ck_assert_int_eq(outcome.fault.status, STATUS_INPUT);
    ck_assert_uint_lt(outcome.tape.written, 2);
    outcome_free(&outcome);
}
END_TEST

/* A part of a long volume reads no more than it needs beside it: the lag of three steps, from a tape that is
   torn elsewhere. */
START_TEST(parts_read_what_they_need)
{
    const struct schedule_limits limits = {.slab = 4, .batch = 1};
    static const float samples[5 * 4 * 90];
    struct setting setting = none;
    struct outcome outcome;

    setting.random = true;
    setting.region = planes_from_to(30, 50);
    setting.read_most = 53;
    run_tape(&outcome, "-d 5,4,90 -f heat -s 3 --rung naive", &limits, samples, &setting);
    ck_assert_msg(outcome.done, "%s", outcome.fault.text);
    outcome_free(&outcome);
    setting.read_most = 52;
    run_tape(&outcome, "-d 5,4,90 -f heat -s 3 --rung naive", &limits, samples, &setting);
    ck_assert_str_eq(outcome.fault.text, "tape: it is torn");
    outcome_free(&outcome);
}
END_TEST

static unsigned together_in(const struct example *example, unsigned long long memory)
{
    const struct schedule_limits unlimited = {0};
    struct outcome outcome;
    unsigned together;
    char limit[40];

    snprintf(limit, sizeof limit, "-m %llu", memory);
    ck_like_whole(example, limit, &unlimited, &outcome);
    together = outcome.schedule.together;
    outcome_free(&outcome);
    return together;
}

START_TEST(any_memory)
{
    const struct schedule_limits unlimited = {0};
    const struct schedule *schedule;
    struct example example;
    struct outcome outcome;
    struct setting setting = none;
    bool all = false;

    if (is_left_out(_i))
        return;
    make_numbered(&example, _i);
    schedule = &example.whole.schedule;
    for (unsigned long long memory = least_memory(&example); !all;
         memory += (running_turns() + 1) * memory / 6 + 1) {
        char limit[40];
        setting.random = !setting.random;
        snprintf(limit, sizeof limit, "-m %llu -j %d", memory, setting.random ? 8 : 1);
        ck_like_whole_from(&example, limit, &unlimited, &setting, &outcome);
        ck_assert_uint_le(outcome.schedule.memory_bytes, memory);
        all = memory >= schedule->memory_bytes;
        outcome_free(&outcome);
    }
    free_example(&example);
}
END_TEST

/* A rung that takes several steps at once needs no more memory than one that takes one at a time, and takes
   as many as it can where there is more. */
START_TEST(steps_at_once_follow_memory)
{
    static const char *const jobs[] = {"-d 5,4,90 -f heat", "-d 5,4,90 -f star:4 -s 9 -f heat -s 8",
                                       "-d 6,90 -f heat"};
    unsigned long long least, more;
    struct example example, single;
    char naive[80];

    snprintf(naive, sizeof naive, "--rung naive %s", jobs[_i]);
    make_example(&single, naive, "reflect");
    make_example(&example, jobs[_i], "reflect");
    least = least_memory(&example);
    ck_assert_uint_eq(least, least_memory(&single));
    ck_assert_uint_eq(single.whole.schedule.together, 1);
    ck_assert_uint_gt(example.whole.schedule.together, 2);
    more = example.whole.schedule.memory_bytes;
    ck_assert_uint_eq(together_in(&example, least), 1);
    ck_assert_uint_eq(together_in(&example, more), example.whole.schedule.together);
    while (together_in(&example, more) == example.whole.schedule.together)
        more -= more / 8;
    ck_assert_uint_gt(together_in(&example, more), 1);
    free_example(&single);
    free_example(&example);
}
END_TEST

/* While a slab leaves, the next one comes: whoever reads and whoever writes work at the same time. */
START_TEST(planes_come_while_others_leave)
{
    static const char *const jobs[] = {"-d 5,4,90 -f heat", "-d 5,4,90 -f heat -s 3",
                                       "-d 5,4,90 -f unsharp:1,0.5 -s 2", "-d 9,90 -f gauss:2 -f laplace"};
    static const struct schedule_limits limits[] = {{.slab = 8, .batch = 1}, {.slab = 9, .batch = 3}};
    struct setting setting = none;
    struct example example;
    struct outcome outcome;

    if (harness_thinning() > 1 && _i % 3 != 0)
        return;
    setting.awaited = true;
    make_example(&example, jobs[_i / 2], "reflect");
    run_tape(&outcome, example.options, &limits[_i % 2], example.in, &setting);
    ck_same(&outcome, &example.whole, example.options);
    ck_assert_uint_eq(counted.most_in_a_row, 1);
    if (has_own_memory()) /* where it costs something, each field slides no more than once a slab */
        ck_assert_int_le(counted.slides,
                         (long)(outcome.schedule.field_count * (90 / limits[_i % 2].slab + 2)));
    outcome_free(&outcome);
    free_example(&example);
}
END_TEST

/* What is done leaves, also when nothing more comes: of two slabs all but what three steps still need. */
START_TEST(nothing_waits_for_the_reader)
{
    const struct schedule_limits limits = {.slab = 8, .batch = 1};
    static const float samples[5 * 4 * 90];
    struct setting setting = none;
    struct outcome outcome;

    setting.freely = 16;
    setting.until = 13;
    run_tape(&outcome, "-d 5,4,90 -f heat -s 3", &limits, samples, &setting);
    ck_assert_msg(outcome.done, "%s", outcome.fault.text);
    ck_assert(!outcome.tape.tired);
    outcome_free(&outcome);
}
END_TEST

/* The cases above reach what they are for. */
START_TEST(ways_are_taken)
{
    static const struct {
        const char *options;
        struct schedule_limits limits;
        bool random, spooled, whole, held;
        size_t spools;
        uint64_t passes;
        double again;
    } ways[] = {
        {"-d 5,4,30 -f heat -s 3", {.slab = 2, .batch = 1}, false, false, false, false, 0, 1, 0},
        {"-d 5,4,30 -f heat -s 3", {0}, false, false, false, true, 0, 1, 0},
        {"-d 5,4,30 -f heat -s 40", {.slab = 2, .batch = 1}, false, false, false, true, 0, 1, 0},
        {"-d 5,4,30 -f heat -s 3 -e wrap", {.slab = 2, .batch = 1}, true, false, false, true, 0, 1, 0},
        {"-d 5,4,30 -f gauss:1 -s 3 -m 3K", {.slab = 2, .batch = 1}, false, true, false, false, 1, 3, 0},
        {"-d 5,4,30 -f heat -s 9 --until 0.01", {.slab = 2, .batch = 1}, false, false, true, true, 0, 1, 0},
        {"-d 5,4,30 -f heat -s 9 --until 0.01 -m 1100",
         {.slab = 2, .batch = 1},
         false,
         true,
         true,
         false,
         2,
         11,
         0},
        {"-d 5,4,30 -f heat -e wrap -s 3 -m 3K", {.slab = 2, .batch = 1}, true, true, false, false, 0, 1, 6},
        {"-d 5,4,30 -f heat -e wrap -s 3 -m 3K", {.slab = 2, .batch = 1}, false, true, false, false, 1, 2, 6},
        {"-d 5,4,30 -f heat -e wrap -s 20 -m 2K",
         {.slab = 2, .batch = 1},
         true,
         true,
         false,
         false,
         2,
         4,
         40},
        {"-d 5,4,30 -f heat -e wrap -s 3", {.memory = 3 << 10}, true, true, false, false, 0, 1, 6},
    };
    static const float samples[600];
    struct setting setting = none;
    struct outcome outcome;
    char options[80];

    /* Kernels take memory for each thread. */
    snprintf(options, sizeof options, "-j 2 %s", ways[_i].options);
    setting.random = ways[_i].random;
    run_tape(&outcome, options, &ways[_i].limits, samples, &setting);
    ck_assert_msg(outcome.done, "%s", outcome.fault.text);
    ck_assert_int_eq(outcome.schedule.spooled, ways[_i].spooled);
    ck_assert_int_eq(outcome.schedule.whole, ways[_i].whole);
    ck_assert_int_eq(!outcome.schedule.spooled && outcome.schedule.window == 30, ways[_i].held);
    ck_assert_uint_eq(outcome.schedule.spools, ways[_i].spools);
    ck_assert_uint_eq(outcome.schedule.passes, ways[_i].passes);
    ck_assert_double_eq(outcome.schedule.again, ways[_i].again);
    outcome_free(&outcome);
}
END_TEST

/* Memory does not follow the length of the volume, as soon as that has more planes than kernels keep rows of.
 */
START_TEST(long_volumes_take_no_more)
{
    static const float samples[4 * 4 * 16000];
    const struct schedule_limits limits = {.slab = 4, .batch = 2};
    struct outcome brief, lengthy;

    run_tape(&brief, "-d 4,4,4000 -f heat", &limits, samples, &none);
    run_tape(&lengthy, "-d 4,4,16000 -f heat", &limits, samples, &none);
    ck_assert(brief.done && lengthy.done);
    ck_assert_uint_eq(brief.schedule.memory_bytes, lengthy.schedule.memory_bytes);
    ck_assert_uint_lt(lengthy.schedule.window, 25);
    outcome_free(&brief);
    outcome_free(&lengthy);
}
END_TEST

/* ---- faults ---- */

#define PLANES 24

static float volume[6 * 5 * PLANES];

/* With so little memory that passes go over spools, or as much as is wanted. */
static const struct fault_job {
    const char *options;
    unsigned kilobytes;
} fault_jobs[] = {
    {"-d 6,5,24 -f heat -s 3", 0},
    {"-d 6,5,24 -f identity", 0},
    {"-d 6,5,24 -f gauss:1 -s 3", 3},
    {"-d 6,5,24 -f heat --until 1e-9 -s 8 --check-every 3", 0},
    {"-d 6,5,24 -f heat --until 1e-9 -s 8 --check-every 3", 2},
    {"-d 6,5,24 -f heat -e wrap -s 9", 3},
};

/* Each buffer has another side where a device has memory of its own. */
static void write_options(const struct fault_job *job, int threads, char *text, size_t size)
{
    unsigned sides = has_own_memory() ? 2 : 1;
    int used = snprintf(text, size, "%s -j %d", job->options, threads);

    if (job->kilobytes > 0)
        snprintf(text + used, size - (size_t)used, " -m %uK", sides * job->kilobytes);
}

static size_t count_threads(void)
{
    struct stat tasks;

    return stat("/proc/self/task", &tasks) == 0 ? (size_t)tasks.st_nlink : 0;
}

/* A thread that has been joined may be seen a moment longer, before the run as well as after it. */
static void ck_threads(size_t wanted)
{
    for (int tries = 0; count_threads() > wanted && tries < PATIENCE; tries++)
        pause_briefly();
    ck_assert_uint_le(count_threads(), wanted);
}

static void ck_fails(const struct fault_job *job, const struct setting *setting, enum status status,
                     const char *words)
{
    const struct schedule_limits limits = {.slab = 2, .batch = 1};
    struct outcome outcome;
    size_t threads = count_threads();
    char options[120];

    write_options(job, setting->random ? 8 : 1, options, sizeof options);
    run_tape(&outcome, options, &limits, volume, setting);
    ck_assert_msg(!outcome.done, "%s: done", options);
    ck_assert_int_eq(outcome.fault.status, status);
    ck_assert_str_eq(outcome.fault.text, words);
    ck_assert_uint_lt(outcome.tape.written, PLANES);
    ck_threads(threads);
    outcome_free(&outcome);
}

START_TEST(torn_inputs)
{
    struct setting setting = none;

    if (is_left_out(_i))
        return;
    setting.read_most = (size_t)_i % PLANES;
    setting.random = _i % 2 == 1;
    ck_fails(&fault_jobs[_i / PLANES], &setting, STATUS_INPUT, "tape: it is torn");
}
END_TEST

/* Damage behind the last plane: the output has no end. */
START_TEST(inputs_without_end)
{
    struct setting setting = none;

    setting.bad_end = true;
    ck_fails(&fault_jobs[_i], &setting, STATUS_INPUT, "tape: it has no end");
}
END_TEST

START_TEST(full_outputs)
{
    struct setting setting = none;

    if (is_left_out(_i))
        return;
    setting.write_most = (size_t)_i % PLANES;
    ck_fails(&fault_jobs[_i / PLANES], &setting, STATUS_IO, "tape: it is full");
}
END_TEST

/* Whoever looks on can end a run. */
START_TEST(onlookers_that_fail)
{
    struct setting setting = none;

    if (is_left_out(_i))
        return;
    setting.see_most = (size_t)_i % PLANES;
    setting.random = _i % 2 == 1;
    ck_fails(&fault_jobs[_i / PLANES], &setting, STATUS_FAILURE, "onlooker: it has seen enough");
}
END_TEST

/* Advances of the device that the job asks for when all goes well. */
static long count_advances(const struct fault_job *job)
{
    const struct schedule_limits limits = {.slab = 2, .batch = 1};
    struct outcome outcome;
    char options[120];

    write_options(job, 1, options, sizeof options);
    run_tape(&outcome, options, &limits, volume, &none);
    ck_assert_msg(outcome.done, "%s: %s", options, outcome.fault.text);
    outcome_free(&outcome);
    return counted.advances;
}

START_TEST(devices_that_break_down)
{
    static const int filtering[] = {0, 2, 3, 4, 5};
    const struct fault_job *job = &fault_jobs[filtering[_i]];
    struct setting setting = none;
    long advances = count_advances(job);

    ck_assert_int_gt(advances, 3);
    for (setting.advances = 0; setting.advances < advances; setting.advances += advances / 3)
        ck_fails(job, &setting, STATUS_DEVICE, "counted: it broke down");
    setting.advances = advances - 1;
    ck_fails(job, &setting, STATUS_DEVICE, "counted: it broke down");
}
END_TEST

/* A writer fails while the levels wait for the reader, and the reader for a pipe that stays open and gives no
 * more. */
START_TEST(a_reader_that_waits_is_called_off)
{
    struct outcome outcome = {
        .tape = {.out = fixture_memory(sizeof volume, 1), .out_plane = 120, .freely = SIZE_MAX}};
    struct pipeline_request request;
    pid_t child;
    int gate[2];
    char words[80];

    ck_assert_int_eq(pipe(gate), 0);
    ck_assert_int_eq(mkfifo("waiting", 0600), 0);
    child = fork();
    if (child == 0) {
        FILE *stream = fopen("waiting", "wb");
        char byte;
        close(gate[1]);
        _exit(fwrite(volume, 120, 5, stream) == 5 && fflush(stream) == 0 && read(gate[0], &byte, 1) == 0 ? 0
                                                                                                         : 1);
    }
    close(gate[0]);
    snprintf(words, sizeof words, "-i in -o out -q -D %s -d 6,5,24 -t f32 -f heat -s 2", running_device);
    command_parse(&outcome.command, PROGRAM_VOXFILT, words);
    ck_assert(outcome.command.parsed);
    request = run_one_request(&outcome.command.options, "waiting", "out");
    request.format = &format_raw;
    request.out_format = &format_tape;
    request.plan.limits = (struct schedule_limits){.slab = 2, .batch = 1};
    run_request(&outcome, &request, &none);
    ck_assert(!outcome.done);
    ck_assert_str_eq(outcome.fault.text, "tape: it is full");
    close(gate[1]);
    ck_assert_int_eq(waitpid(child, NULL, 0), child);
    unlink("waiting");
    outcome_free(&outcome);
}
END_TEST

/* A pipe gives each byte once, and in order, whatever a reader asks for. */
START_TEST(pipes_are_read_in_order_alone)
{
    struct fault fault;
    struct file_in *file;
    char words[80], bytes[4] = "";
    size_t got;
    int ends[2];

    ck_assert_int_eq(pipe(ends), 0);
    ck_assert_int_eq(write(ends[1], "abc", 3), 3);
    close(ends[1]);
    snprintf(words, sizeof words, "/dev/fd/%d", ends[0]);
    ck_assert(file_in_open(&file, words, &fault));
    ck_assert(!file_in_read_at(file, 0, bytes, 1, &got, &fault));
    ck_assert_int_eq(fault.status, STATUS_IO);
    ck_assert(file_in_read(file, bytes, 4, &got, &fault));
    ck_assert_uint_eq(got, 3);
    ck_assert_str_eq(bytes, "abc");
    file_in_close(file);
    close(ends[0]);
}
END_TEST

static void write_text(const char *name, const char *text)
{
    file_fill(name, text, strlen(text));
}

static Suite *stream_suite(void)
{
    Suite *suite = suite_create("stream");
    TCase *tests = tcase_create("stream");

    tcase_set_timeout(tests, TIMEOUT_SECONDS);
    tcase_add_loop_test(tests, any_slab, 0, CHAINS * EDGES);
    tcase_add_loop_test(tests, any_planes, 0, CHAINS * EDGES);
    tcase_add_loop_test(tests, any_box, 0, CHAINS * EDGES);
    tcase_add_loop_test(tests, any_columns, 0, CHAINS * EDGES);
    tcase_add_loop_test(tests, any_part, 0, CHAINS * EDGES);
    tcase_add_loop_test(tests, parts_that_are_refused, 0, 4);
    tcase_add_test(tests, parts_go_round);
    tcase_add_loop_test(tests, regions_of_streams_end_well, 0, 2);
    tcase_add_test(tests, parts_read_what_they_need);
    tcase_add_loop_test(tests, any_memory, 0, CHAINS * EDGES);
    tcase_add_test(tests, pipes_are_read_in_order_alone);
    tcase_add_test(tests, nothing_waits_for_the_reader);
    tcase_add_loop_test(tests, planes_come_while_others_leave, 0, 8);
    if (!has_own_memory()) { /* bytes that they name are those that it takes */
        tcase_add_loop_test(tests, steps_at_once_follow_memory, 0, 3);
        tcase_add_loop_test(tests, ways_are_taken, 0, 11);
        tcase_add_test(tests, long_volumes_take_no_more);
    }
    tcase_add_loop_test(tests, torn_inputs, 0, (int)LENGTH(fault_jobs) * PLANES);
    tcase_add_loop_test(tests, inputs_without_end, 0, (int)LENGTH(fault_jobs));
    tcase_add_loop_test(tests, full_outputs, 0, (int)LENGTH(fault_jobs) * PLANES);
    tcase_add_loop_test(tests, onlookers_that_fail, 0, (int)LENGTH(fault_jobs) * PLANES);
    tcase_add_loop_test(tests, devices_that_break_down, 0, 5);
    tcase_add_test(tests, a_reader_that_waits_is_called_off);
    suite_add_tcase(suite, tests);
    return suite;
}

int main(void)
{
    SRunner *runner = srunner_create(stream_suite());
    unsigned char *mask;
    int failed;

    /* As in harness.h, tests stay in this process, where a run that never ends has to be ended from outside.
     */
    srunner_set_fork_status(runner, CK_NOFORK);
    alarm(TIMEOUT_SECONDS);
    folder_enter();
    fill_samples(FILL_RANDOM, SAMPLE_F32, volume, LENGTH(volume), 5);
    write_text("in", "");
    mask = fixture_mask(5 * 4 * 11, 5);
    file_fill("mask", mask, 5 * 4 * 11);
    free(mask);
    write_text("above.taps", "0 0 0 0.5\n0 0 2 0.25\n");
    write_text("below.taps", "0 0 -3 0.5\n0 1 0 0.25\n");
    srunner_run_all(runner, CK_ENV);
    folder_leave();
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
