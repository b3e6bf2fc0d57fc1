/* Tests of whole runs, linked once for each kind of device: from a file through job, plan and run into a
   file, held against the reference. */
#include "assertions.h"
#include "fixture.h"
#include "harness.h"
#include "reference.h"
#include "running.h"

#include <math.h>
#include <png.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- the same by the reference ---- */

static struct stage *build_stages(const struct command *command, const struct grid *grid)
{
    const struct options *options = &command->options;
    struct stage *stages = fixture_memory(options->job.stage_count, sizeof *stages);
    struct fault fault;

    for (size_t i = 0; i < options->job.stage_count; i++)
        ck_assert_msg(stage_build(&options->stages[i], grid, options->job.force, &stages[i], &fault), "%s",
                      fault.text);
    return stages;
}

/* The job's grid, work type and encodings are the test's to say; its stages come from the command line. */
static struct reference_outcome run_reference(struct reference_job job, const struct command *command,
                                              const void *in, void *out)
{
    struct stage *stages = build_stages(command, &job.grid);
    struct reference_outcome outcome;

    job.stages = stages;
    job.stage_count = command->options.job.stage_count;
    outcome = reference_run(&job, in, out);
    for (size_t i = 0; i < job.stage_count; i++)
        stage_free(&stages[i]);
    free(stages);
    return outcome;
}

static void ck_same_outcome(const struct run_summary *summary, const struct reference_outcome *wanted)
{
    ck_assert_uint_eq(summary->steps, wanted->steps);
    ck_assert_mem_eq(&summary->outcomes, &wanted->outcomes, sizeof wanted->outcomes);
    ck_assert_uint_eq(summary->checks.count, wanted->checks);
    if (isnan(wanted->last_change))
        ck_assert_double_nan(summary->last_change);
    else
        ck_assert_mem_eq(&summary->last_change, &wanted->last_change, sizeof wanted->last_change);
}

/* ---- raw volumes ---- */

static const struct raw_run {
    const char *options;
    enum sample_type in, out;
    enum work_type work;
    bool in_big, out_big;
    size_t skip;
} raw_runs[] = {
    {"-d 9,7,5 -t u8 -f gauss:1", SAMPLE_U8, SAMPLE_U8, WORK_F32, false, false, 0},
    {"-d 9,7,5 -f gauss:1", SAMPLE_U8, SAMPLE_U8, WORK_F32, false, false, 0},
    {"-d 9,7,5 -t i8 -f heat", SAMPLE_I8, SAMPLE_I8, WORK_F32, false, false, 0},
    {"-d 11,6 -t u16 -f laplace", SAMPLE_U16, SAMPLE_U16, WORK_F32, false, false, 0},
    {"-d 11,6 -f laplace", SAMPLE_U16, SAMPLE_U16, WORK_F32, false, false, 0},
    {"-n 5 -t i16 -f star:6 -s 2", SAMPLE_I16, SAMPLE_I16, WORK_F32, false, false, 0},
    {"-n 5 -t u32 -f box:1", SAMPLE_U32, SAMPLE_U32, WORK_F64, false, false, 0},
    {"-n 5 -t i32 -f gradient", SAMPLE_I32, SAMPLE_I32, WORK_F64, false, false, 0},
    {"-n 5 -f heat --flux pm1 --scale 1", SAMPLE_F32, SAMPLE_F32, WORK_F32, false, false, 0},
    {"-n 5 -f heat --flux tanh --scale 1", SAMPLE_F64, SAMPLE_F64, WORK_F64, false, false, 0},
    {"-n 5 -t u8 -f gauss:1 --work f64", SAMPLE_U8, SAMPLE_U8, WORK_F64, false, false, 0},
    {"-n 5 -t i32 -f gauss:1 --work f32", SAMPLE_I32, SAMPLE_I32, WORK_F32, false, false, 0},
    {"-n 5 -t f64 -f gauss:1 --work f32", SAMPLE_F64, SAMPLE_F64, WORK_F32, false, false, 0},
    {"-n 5 -t u8 -f gauss:1 --out-type f32", SAMPLE_U8, SAMPLE_F32, WORK_F32, false, false, 0},
    {"-n 5 -t u32 -f laplace --out-type i8", SAMPLE_U32, SAMPLE_I8, WORK_F64, false, false, 0},
    {"-n 5 -t u16 -f identity --out-type u8", SAMPLE_U16, SAMPLE_U8, WORK_F32, false, false, 0},
    {"-n 5 -t f64 -f identity --out-type f32", SAMPLE_F64, SAMPLE_F32, WORK_F64, false, false, 0},
    {"-n 5 -t f32 -f seven:9,0,0,0,0,0,0 --out-type i16", SAMPLE_F32, SAMPLE_I16, WORK_F32, false, false, 0},
    {"-n 6 -t f16 -f gauss:1", SAMPLE_F16, SAMPLE_F16, WORK_F32, false, false, 0},
    {"-n 6 -t f16 --endian big -f heat -s 7", SAMPLE_F16, SAMPLE_F16, WORK_F32, true, true, 0},
    {"-n 6 -t f16 -f identity --work f64 --out-type i16", SAMPLE_F16, SAMPLE_I16, WORK_F64, false, false, 0},
    {"-n 5 -t f64 -f scale:70000,0 --out-type f16", SAMPLE_F64, SAMPLE_F16, WORK_F64, false, false, 0},
    {"-n 5 -t f32 -f laplace --out-range auto --out-type f16", SAMPLE_F32, SAMPLE_F16, WORK_F32, false, false,
     0},
    {"-n 5 -t u16 --endian big -f sobel:z", SAMPLE_U16, SAMPLE_U16, WORK_F32, true, true, 0},
    {"-n 5 -t f32 --out-endian big -f sobel:x", SAMPLE_F32, SAMPLE_F32, WORK_F32, false, true, 0},
    {"-n 5 -t f64 --endian big --out-endian little", SAMPLE_F64, SAMPLE_F64, WORK_F64, true, false, 0},
    {"-n 5 -t i32 --endian big --out-type u8", SAMPLE_I32, SAMPLE_U8, WORK_F64, true, true, 0},
    {"-n 5 -t u8 --endian big --out-type f32 -f box:1", SAMPLE_U8, SAMPLE_F32, WORK_F32, true, true, 0},
    {"-n 5 --skip 13 -f box:1", SAMPLE_U16, SAMPLE_U16, WORK_F32, false, false, 13},
    {"-d 7,5,4 --channels 3 -t u8 -f gauss:1 -e wrap", SAMPLE_U8, SAMPLE_U8, WORK_F32, false, false, 0},
    {"-d 7,5 --channels 4 -t f64 -f unsharp:1,2 -e constant:3", SAMPLE_F64, SAMPLE_F64, WORK_F64, false,
     false, 0},
    {"-n 6 -t u8 -f gauss:0.7 -f laplace -e hold -f box:1 -s 2", SAMPLE_U8, SAMPLE_U8, WORK_F32, false, false,
     0},
    {"-n 6 -t u8 -f log:0.8 -e wrap --out-type i16", SAMPLE_U8, SAMPLE_I16, WORK_F32, false, false, 0},
    {"-n 7 -t u8 -f median:1 -s 2 -e wrap", SAMPLE_U8, SAMPLE_U8, WORK_F32, false, false, 0},
    {"-n 7 -t i16 -f morphgrad:1 -s 2 -f tophat:2 -e constant:9", SAMPLE_I16, SAMPLE_I16, WORK_F32, false,
     false, 0},
    {"-d 9,8 --channels 3 -t u16 -f max:2 -f order:1,2,ball -e hold", SAMPLE_U16, SAMPLE_U16, WORK_F32, false,
     false, 0},
    {"-d 5,6,9 -t f64 -f percentile:2,20 -e constant:3 -f min:3,z", SAMPLE_F64, SAMPLE_F64, WORK_F64, false,
     false, 0},
    {"-n 6 -t u8 -f bilateral:0.8,30 -e wrap -s 2", SAMPLE_U8, SAMPLE_U8, WORK_F32, false, false, 0},
    {"-d 7,5,4 --channels 3 -t u16 -f bilateral:1,9000 -e mirror --out-type f32", SAMPLE_U16, SAMPLE_F32,
     WORK_F32, false, false, 0},
    {"-d 9,8 --channels 6 -t f64 -f bilateral:0.6,0.7 -e hold", SAMPLE_F64, SAMPLE_F64, WORK_F64, false,
     false, 0},
    {"-n 6 -t i32 -f bilateral:0.7,1e9 -e constant:7 --until 1e8", SAMPLE_I32, SAMPLE_I32, WORK_F64, false,
     false, 0},
    {"-d 7,5,9 -t i32 -f dog:0.6,1.1 -s 2", SAMPLE_I32, SAMPLE_I32, WORK_F64, false, false, 0},
    {"-d 9,8 --channels 3 -t u16 -f gradmag:1 -e constant:40", SAMPLE_U16, SAMPLE_U16, WORK_F32, false, false,
     0},
    {"-n 7 -t f16 -f gauss:0.9,order=0,1,1 -e hold", SAMPLE_F16, SAMPLE_F16, WORK_F32, false, false, 0},
    {"-d 9,8,7 -t f64 -f gradmag:0.7 --until 0.01 --check-every 2", SAMPLE_F64, SAMPLE_F64, WORK_F64, false,
     false, 0},
    {"-n 6 -t i16 -e mirror -s 3 -f unsharp:1,1 -f heat --flux pm2 --scale 1 --inner 2", SAMPLE_I16,
     SAMPLE_I16, WORK_F32, false, false, 0},
    {"-n 6 -t u8 -f taps:solid.taps -f identity --flip -f taps:solid.taps --flip", SAMPLE_U8, SAMPLE_U8,
     WORK_F32, false, false, 0},
    {"-n 6 -t u8 -f laplace -s 0 -f heat -s 0", SAMPLE_U8, SAMPLE_U8, WORK_F32, false, false, 0},
    {"-n 6 -t u8 -f heat --spacing 1,2,0.5 --sigma 1.3", SAMPLE_U8, SAMPLE_U8, WORK_F32, false, false, 0},
    {"-n 6 -t u8 --sigma 1.3u --spacing 1,2,0.5 -f heat", SAMPLE_U8, SAMPLE_U8, WORK_F32, false, false, 0},
    {"-d 9,8,7 --channels 3 -t u8 -f heat --flux pm1 --scale 40 --flux-channels joint", SAMPLE_U8, SAMPLE_U8,
     WORK_F32, false, false, 0},
    {"-d 9,8,7 --channels 11 -t u16 -f heat --flux pm2 --scale 900 --flux-channels joint -e wrap", SAMPLE_U16,
     SAMPLE_U16, WORK_F32, false, false, 0},
    {"-n 7 -t u8 -f heat --until 2", SAMPLE_U8, SAMPLE_U8, WORK_F32, false, false, 0},
    {"-n 7 -t u8 -f heat --until 2 --check-every 1", SAMPLE_U8, SAMPLE_U8, WORK_F32, false, false, 0},
    {"-n 7 -t u8 -f heat --until 0.4 --check-every 7", SAMPLE_U8, SAMPLE_U8, WORK_F32, false, false, 0},
    {"-n 7 -t u8 -f heat --until 0.4 --check-every 2 -e wrap", SAMPLE_U8, SAMPLE_U8, WORK_F32, false, false,
     0},
    {"-n 7 -t f32 -f heat --until 1e-9 --check-every 4 -s 11", SAMPLE_F32, SAMPLE_F32, WORK_F32, false, false,
     0},
    {"-d 40,30 -t f32 -f heat --until 0.02 --check-every 20", SAMPLE_F32, SAMPLE_F32, WORK_F32, false, false,
     0},
    {"-d 9,8 -f gauss:1 --until 0.01 --check-every 3", SAMPLE_F32, SAMPLE_F32, WORK_F32, false, false, 0},
    {"-n 7 -t u8 --until 0.5 -f box:1 -f gauss:1", SAMPLE_U8, SAMPLE_U8, WORK_F32, false, false, 0},
    {"-d 9,8 --channels 2 -t f64 -f unsharp:1,-0.5 --until 0.01 --check-every 2", SAMPLE_F64, SAMPLE_F64,
     WORK_F64, false, false, 0},
    {"-n 7 -t f32 -f heat --until 1e-9 -s 4", SAMPLE_F32, SAMPLE_F32, WORK_F32, false, false, 0},
    {"-n 7 -t u16 -f scale:0.25,-3.5", SAMPLE_U16, SAMPLE_U16, WORK_F32, false, false, 0},
    {"-n 7 -t u16 -f scale:0.25,-3.5 -s 3 -f scale:2,1 --out-type u8", SAMPLE_U16, SAMPLE_U8, WORK_F32, false,
     false, 0},
    {"-n 7 -f scale:0.3,0.1 -f gauss:1 -f scale:0.7,-2 -s 2 -f laplace -f scale:3,0.5 -f scale:-1,0",
     SAMPLE_F32, SAMPLE_F32, WORK_F32, false, false, 0},
    {"-n 7 -t f64 -f scale:1,1 -f scale:1.1,0 -f scale:1.2,0 -f scale:1.3,0 -f scale:1.4,0 -f scale:1.5,0 "
     "-f scale:1.6,0 -f scale:1.7,0 -f scale:1.8,0",
     SAMPLE_F64, SAMPLE_F64, WORK_F64, false, false, 0},
    {"-n 7 -t i16 -f abs -f power:0.4 -f gauss:1 -f threshold:30,200,-3 -f box:1 -f clamp:-1.5,90 -f ln",
     SAMPLE_I16, SAMPLE_I16, WORK_F32, false, false, 0},
    {"-d 31,5 -f power:3 -s 2 -f heat -f exp -f abs -s 2 -f laplace -f power:-2 -f ln --work f64", SAMPLE_F32,
     SAMPLE_F32, WORK_F64, false, false, 0},
    {"-n 7 -t u64 -f ln -s 2 -f threshold:2.5 --out-type u8", SAMPLE_U64, SAMPLE_U8, WORK_F64, false, false,
     0},
    {"-n 7 -t f16 --channels 2 -f clamp:-1,1 -f exp -f gauss:0.6 -f ln --out-range auto", SAMPLE_F16,
     SAMPLE_F16, WORK_F32, false, false, 0},
    {"-d 9,8,7 -t u8 -f gauss:1 --axes xy -f heat --axes z -s 4 -f box:1,0,2 -f laplace --axes xz", SAMPLE_U8,
     SAMPLE_U8, WORK_F32, false, false, 0},
    {"-d 9,8,7 -t f64 -f heat --axes xy --flux pm2 --scale 1 -s 5 -f gradient --axes yz --until 0.01",
     SAMPLE_F64, SAMPLE_F64, WORK_F64, false, false, 0},
    {"-d 9,8 --axes y -f gauss:1 -f log:0.7 -e wrap", SAMPLE_F32, SAMPLE_F32, WORK_F32, false, false, 0},
    {"-n 7 -t f64 -f power:0.5 --until 0.3", SAMPLE_F64, SAMPLE_F64, WORK_F64, false, false, 0},
    {"-n 7 -t f64 -f scale:0.5,1 --until 0.01", SAMPLE_F64, SAMPLE_F64, WORK_F64, false, false, 0},
    {"-n 7 -t u8 -f scale:2,1 -f box:1 -e constant:9 --out-range auto -f scale:-1,0", SAMPLE_U8, SAMPLE_U8,
     WORK_F32, false, false, 0},
    {"-n 7 -t u8 -f sobel:x --out-range auto", SAMPLE_U8, SAMPLE_U8, WORK_F32, false, false, 0},
    {"-n 7 -t u16 -f laplace --out-range -300,9000 --out-type i8", SAMPLE_U16, SAMPLE_I8, WORK_F32, false,
     false, 0},
    {"-n 7 -t i16 -f identity --out-range 200,-300", SAMPLE_I16, SAMPLE_I16, WORK_F32, false, false, 0},
    {"-n 7 -f gradient --out-range auto --out-type u32", SAMPLE_F32, SAMPLE_U32, WORK_F32, false, false, 0},
    {"-n 7 -t f64 -f laplace --out-range auto --out-type i32", SAMPLE_F64, SAMPLE_I32, WORK_F64, false, false,
     0},
    {"-n 7 -t f64 -f laplace --out-range auto --out-type f32", SAMPLE_F64, SAMPLE_F32, WORK_F64, false, false,
     0},
    {"-n 7 -f box:1 --out-range -0.5,0.5 --out-endian big", SAMPLE_F32, SAMPLE_F32, WORK_F32, false, true, 0},
    {"-n 7 -t u8 -f matrix:0 --out-range auto --out-type i16", SAMPLE_U8, SAMPLE_I16, WORK_F32, false, false,
     0},
    {"-d 1,1,1 -t u8 -f heat", SAMPLE_U8, SAMPLE_U8, WORK_F32, false, false, 0},
    {"-d 1,1,2 -t u8 -f heat -e wrap -f star:4 -e wrap", SAMPLE_U8, SAMPLE_U8, WORK_F32, false, false, 0},
    {"-d 31,2,3 -t u8 -f star:6 -e mirror -s 2", SAMPLE_U8, SAMPLE_U8, WORK_F32, false, false, 0},
    {"-d 33,1,5 -t i16 -f box:2 -e nearest -s 2", SAMPLE_I16, SAMPLE_I16, WORK_F32, false, false, 0},
    {"-d 2,37,7 -t u16 -f star:8 -f scale:0.01,0 -e wrap", SAMPLE_U16, SAMPLE_U16, WORK_F32, false, false, 0},
    {"-d 65,17,11 -f heat -s 13", SAMPLE_F32, SAMPLE_F32, WORK_F32, false, false, 0},
    {"-d 5,3,17 -f heat -s 23 -e wrap", SAMPLE_F32, SAMPLE_F32, WORK_F32, false, false, 0},
    {"-d 7,4,23 -t f64 -f heat -s 9 -e hold -f gauss:1.5 -e hold", SAMPLE_F64, SAMPLE_F64, WORK_F64, false,
     false, 0},
    {"-d 127,31 -t u8 -f heat -s 40", SAMPLE_U8, SAMPLE_U8, WORK_F32, false, false, 0},
    {"-d 33,129 -t f64 -f heat -s 7 -e constant:3 -f gradient -e constant:3", SAMPLE_F64, SAMPLE_F64,
     WORK_F64, false, false, 0},
    {"-d 61,1 -t u16 -f heat -s 5", SAMPLE_U16, SAMPLE_U16, WORK_F32, false, false, 0},
    {"-n 7 -t u8 -f heat --until 2 --out-range auto", SAMPLE_U8, SAMPLE_U8, WORK_F32, false, false, 0},
    {"-d 9,7,15 -t u8 --missing 3 -f gauss:1", SAMPLE_U8, SAMPLE_U8, WORK_F32, false, false, 0},
    {"-d 9,7,15 -t i8 --missing -7 -f heat -s 4 -f box:1 -e hold --out-type f64", SAMPLE_I8, SAMPLE_F64,
     WORK_F32, false, false, 0},
    {"-d 9,7,15 -t f64 --missing nan -f unsharp:1,1 -s 2 -f laplace -e wrap -f gauss:0.7 -e constant:2",
     SAMPLE_F64, SAMPLE_F64, WORK_F64, false, false, 0},
    {"-d 19,17 -t f16 --missing 1 -f gradient -f scale:2,1 -f gauss:1 --out-type i16", SAMPLE_F16, SAMPLE_I16,
     WORK_F32, false, false, 0},
    {"-d 130 -t f32 --missing nan -f gauss:2 -f scale:2,1 --out-range auto", SAMPLE_F32, SAMPLE_F32, WORK_F32,
     false, false, 0},
    {"-d 9,7,5 --channels 3 -t f32 --missing nan -f heat --flux pm2 --scale 1 --flux-channels joint -s 3",
     SAMPLE_F32, SAMPLE_F32, WORK_F32, false, false, 0},
    {"-n 7 -t f32 --missing nan -f heat --until 0.05 --check-every 2", SAMPLE_F32, SAMPLE_F32, WORK_F32,
     false, false, 0},
    {"-d 9,7,15 -t u8 --mask mask -f gauss:1", SAMPLE_U8, SAMPLE_U8, WORK_F32, false, false, 0},
    {"-d 9,7,15 -t i16 --mask mask -f laplace --out-type i8 --endian big", SAMPLE_I16, SAMPLE_I8, WORK_F32,
     true, true, 0},
    {"-d 9,7,15 --channels 2 -t f64 --mask mask -f unsharp:1,1 -s 2 -f laplace -e wrap -f gauss:0.7",
     SAMPLE_F64, SAMPLE_F64, WORK_F64, false, false, 0},
    {"-d 9,7,15 -t f32 --mask mask --missing -0.5 -f box:1 -f heat -s 3 -e constant:2", SAMPLE_F32,
     SAMPLE_F32, WORK_F32, false, false, 0},
    {"-d 19,17 -t f16 --mask mask --missing 0 -f threshold:1 -f gauss:1 -f scale:2,1", SAMPLE_F16, SAMPLE_F16,
     WORK_F32, false, false, 0},
    {"-d 130 -t f32 --mask mask -f gauss:2 -f scale:2,1 --out-range auto --out-type u8", SAMPLE_F32,
     SAMPLE_U8, WORK_F32, false, false, 0},
    {"-d 9,7,5 --channels 3 -t u16 --mask mask -f heat --flux pm2 --scale 900 --flux-channels joint -s 3",
     SAMPLE_U16, SAMPLE_U16, WORK_F32, false, false, 0},
    {"-d 9,7,15 -t u64 --out-endian big --mask mask -f heat -s 4 -f median:1", SAMPLE_U64, SAMPLE_U64,
     WORK_F64, false, true, 0},
    {"-d 9,7,5 --channels 2 -t i64 --endian big --mask mask --missing 3 -f gauss:1 -s 2", SAMPLE_I64,
     SAMPLE_I64, WORK_F64, true, true, 0},
    {"-n 7 -t u32 --mask mask -f heat --until 0.05 --check-every 2", SAMPLE_U32, SAMPLE_U32, WORK_F64, false,
     false, 0},
    {"-n 7 -t u8 --missing 9 -f matrix:0,1,0;1,2,1;0,1,0 --until 0.05 -s 30 --check-every 3", SAMPLE_U8,
     SAMPLE_U8, WORK_F32, false, false, 0},
};

static bool must_swap(enum sample_type type, bool big)
{
    return sample_size(type) > 1 && big != (endian_native() == ENDIAN_BIG);
}

static void take_range(struct reference_job *job, const struct command *command)
{
    const struct job_request *request = &command->options.job;

    job->out.ranged = request->ranged;
    job->out.low = request->low;
    job->out.high = request->high;
    job->measures = request->auto_range;
}

/* Samples of raw files and of pictures are values. */
static void take_missing(struct reference_job *job, const struct command *command)
{
    const struct job_request *request = &command->options.job;

    job->in.missing = request->has_missing;
    job->in.marked = job->out.marked = request->has_missing && !isnan(request->missing);
    job->in.mark = job->out.mark = request->missing;
}

/* The mask, to be freed, of a job whose options ask for one; else NULL. */
static unsigned char *take_mask(struct reference_job *job, const struct command *command)
{
    unsigned char *mask;

    if (command->options.mask == NULL)
        return NULL;
    mask = fixture_mask(grid_samples(&job->grid), 3);
    job->mask = mask;
    job->in.missing = job->in.masked = job->out.masked = true;
    job->in.original.scale = 1.0;
    job->in.original.mark = job->out.mark;
    job->in.original.rests = job->out.original.rests =
        (job->in.type == SAMPLE_U64 || job->in.type == SAMPLE_I64) && job->out.type == job->in.type &&
        job->work == WORK_F64;
    return mask;
}

static void check_raw_run(const struct raw_run *run, enum fill fill)
{
    struct command command;
    struct reference_job job = {.work = run->work};
    struct reference_outcome wanted_outcome;
    struct outcome outcome;
    unsigned char *in, *out, *wanted, *mask;
    size_t samples, in_size, out_size;

    command_parse(&command, PROGRAM_VOXFILT, run->options);
    ck_assert_msg(command.parsed, "%s", command.fault.text);
    job.grid = command.options.source.grid;
    job.in = (struct encoding){.type = run->in,
                               .swapped = must_swap(run->in, run->in_big),
                               .channels = job.grid.channels,
                               .gamma = 1.0};
    job.out = job.in;
    job.out.type = run->out;
    job.out.swapped = must_swap(run->out, run->out_big);
    take_range(&job, &command);
    take_missing(&job, &command);
    mask = take_mask(&job, &command);
    if (mask != NULL)
        file_fill("mask", mask, grid_samples(&job.grid) / job.grid.channels);
    samples = grid_samples(&job.grid);
    in_size = run->skip + samples * sample_size(run->in);
    out_size = samples * sample_size(run->out);
    in = fixture_memory(in_size, 1);
    wanted = fixture_memory(out_size, 1);
    fill_samples(FILL_RANDOM, SAMPLE_U8, in, run->skip, 1);
    fill_samples(fill, run->in, in + run->skip, samples, 2);
    if (job.in.swapped)
        sample_swap(run->in, in + run->skip, samples);
    wanted_outcome = run_reference(job, &command, in + run->skip, wanted);
    out = running_bytes(run->options, in, in_size, out_size, &outcome);
    ck_assert_msg(memcmp(out, wanted, out_size) == 0, "%s: the samples differ", run->options);
    ck_same_outcome(&outcome.summary, &wanted_outcome);
    free(in);
    free(out);
    free(wanted);
    free(mask);
    outcome_free(&outcome);
    command_free(&command);
}

/* In thinned runs, as sanitizers make them, one of four has a turn. */
static bool has_turn(int number)
{
    return harness_thinning() == 1 || harness_has_turn((uint64_t)number, 4);
}

START_TEST(raw_volumes)
{
    if (!has_turn(_i))
        return;
    check_raw_run(&raw_runs[_i], FILL_RANDOM);
    if (!sample_is_integer(raw_runs[_i].in))
        check_raw_run(&raw_runs[_i], FILL_SPECIAL);
}
END_TEST

/* All of the devices that are named take part in a run of several planes. */
START_TEST(every_device_has_a_share)
{
    size_t named = 1;
    struct outcome outcome;
    unsigned char in[6 * 6 * 6] = {0};

    free(running_bytes("-n 6 -t u8 -f heat", in, sizeof in, sizeof in, &outcome));
    for (const char *comma = running_device; (comma = strchr(comma, ',')) != NULL; comma++)
        named++;
    ck_assert_uint_eq(outcome.devices, named);
    outcome_free(&outcome);
}
END_TEST

/* A GPU whose rung is named joins the passes of volumes that are small, too. */
static const struct raw_run joined_runs[] = {
    {"-d 21,9,14 -t u8 -f gauss:1 -s 2 --rung passes", SAMPLE_U8, SAMPLE_U8, WORK_F32, false, false, 0},
    {"-d 10,7,30 --channels 2 -t f64 -f box:2 -e hold -f gauss:0.5 -e constant:3 --rung passes", SAMPLE_F64,
     SAMPLE_F64, WORK_F64, false, false, 0},
    {"-d 150,5,9 -f gauss:1.5 -e wrap --rung passes", SAMPLE_F32, SAMPLE_F32, WORK_F32, false, false, 0},
    {"-d 33,12,17 -t i16 -f unsharp:1,0.7 -e hold -s 2 --rung passes", SAMPLE_I16, SAMPLE_I16, WORK_F32,
     false, false, 0},
};

START_TEST(joined_passes)
{
    if (strncmp(running_device, "cuda", 4) == 0)
        check_raw_run(&joined_runs[_i], FILL_RANDOM);
}
END_TEST

/* Until: neither the first step nor the last one allowed, or the runs above would show nothing. */
START_TEST(until_stops_between)
{
    static float samples[7 * 7 * 7];
    struct outcome outcome;

    samples[171] = 100.0f;
    free(running_bytes("-n 7 -f heat --until 0.05 --check-every 1", samples, sizeof samples, sizeof samples,
                       &outcome));
    ck_assert_uint_gt(outcome.summary.steps, 2);
    ck_assert_uint_lt(outcome.summary.steps, 1000);
    ck_assert_double_lt(outcome.summary.last_change, 0.05);
    ck_assert(!outcome.summary.unreached);
    outcome_free(&outcome);
    free(running_bytes("-n 7 -f heat --until 1e-30 -s 12 --check-every 5", samples, sizeof samples,
                       sizeof samples, &outcome));
    ck_assert_uint_eq(outcome.summary.steps, 12);
    ck_assert(outcome.summary.unreached);
    outcome_free(&outcome);
}
END_TEST

/* A chain does not round in between: halving a u8 twice and doubling it twice gives it back. */
START_TEST(chains_do_not_round_in_between)
{
    unsigned char samples[27], *out;
    struct outcome outcome;

    for (size_t i = 0; i < sizeof samples; i++)
        samples[i] = (unsigned char)(i * 9 + 1);
    out = running_bytes("-n 3 -t u8 -f matrix:1/4 -f matrix:8 -f matrix:1/2", samples, sizeof samples,
                        sizeof samples, &outcome);
    ck_assert_mem_eq(out, samples, sizeof samples);
    free(out);
    outcome_free(&outcome);
}
END_TEST

/* ---- identity ---- */

static const uint32_t odd_bits[8] = {0x7fa00001, 0xffc12345, 0x80000000, 0x00000001,
                                     0x7f800000, 0xff800001, 0x3f800000, 0x807fffff};

START_TEST(identity_copies_bits)
{
    static const char *const options[] = {"-n 2 -f identity", "-n 2 -f identity -f identity -s 3 -e hold",
                                          "-n 2 -f identity --work f64", "-n 2 -f identity --out-type f32"};
    struct outcome outcome;
    unsigned char *out = running_bytes(options[_i], odd_bits, sizeof odd_bits, sizeof odd_bits, &outcome);

    ck_assert_mem_eq(out, odd_bits, sizeof odd_bits);
    free(out);
    outcome_free(&outcome);
}
END_TEST

START_TEST(identity_turns_bytes_around)
{
    struct outcome outcome;
    unsigned char *out = running_bytes("-n 2 -f identity --out-endian big", odd_bits, sizeof odd_bits,
                                       sizeof odd_bits, &outcome);

    for (size_t i = 0; i < sizeof odd_bits; i++)
        ck_assert_uint_eq(out[i], ((const unsigned char *)odd_bits)[i ^ 3]);
    free(out);
    outcome_free(&outcome);
}
END_TEST

/* A change of type is a calculation, which knows one NaN; so is identity beside another filter. */
START_TEST(identity_with_another_type_is_canonical)
{
    struct outcome outcome;
    uint64_t *wide = (uint64_t *)(void *)running_bytes("-n 2 -f identity --out-type f64", odd_bits,
                                                       sizeof odd_bits, 64, &outcome);
    uint32_t *narrow;

    ck_assert_uint_eq(wide[0], UINT64_C(0x7ff8000000000000));
    ck_assert_uint_eq(wide[1], UINT64_C(0x7ff8000000000000));
    ck_assert_uint_eq(wide[2], UINT64_C(0x8000000000000000));
    ck_assert_uint_eq(wide[3], UINT64_C(0x36a0000000000000));
    free(wide);
    outcome_free(&outcome);
    narrow = (uint32_t *)(void *)running_bytes("-n 2 -f identity -f box:0", odd_bits, sizeof odd_bits, 32,
                                               &outcome);
    ck_assert_uint_eq(narrow[0], UINT32_C(0x7fc00000));
    ck_assert_uint_eq(narrow[2], UINT32_C(0x80000000));
    free(narrow);
    outcome_free(&outcome);
}
END_TEST

/* ---- refusals ---- */

/* The run fails with the status, its line has the words, and neither an output nor a temporary is left. */
static void ck_refused(const char *options, enum status status, const char *words)
{
    struct outcome outcome;
    size_t files;

    unlink("out");
    files = folder_count();
    running_command(&outcome, PROGRAM_VOXFILT, options);
    ck_assert_msg(!outcome.done, "%s: accepted", options);
    ck_assert_msg(outcome.fault.status == status, "%s: status %d", options, (int)outcome.fault.status);
    ck_assert_msg(strstr(outcome.fault.text, words) != NULL, "%s: %s", options, outcome.fault.text);
    ck_assert(!file_exists("out"));
    ck_assert_uint_eq(folder_count(), files);
    outcome_free(&outcome);
}

START_TEST(memory_is_a_ceiling)
{
    static const float samples[1000];
    struct outcome outcome;
    char options[100];
    unsigned long long needed;

    file_fill("in", samples, sizeof samples);
    running_command(&outcome, PROGRAM_VOXFILT, "-n 10 -m 1");
    ck_assert_int_eq(outcome.fault.status, STATUS_LIMIT);
    ck_assert_int_eq(sscanf(strchr(outcome.fault.text, '('), "(%llu bytes)", &needed), 1);
    outcome_free(&outcome);
    snprintf(options, sizeof options, "-n 10 -m %llu", needed - 1);
    ck_refused(options, STATUS_LIMIT, "--memory: this job needs");
    snprintf(options, sizeof options, "-n 10 -m %llu", needed);
    running_command(&outcome, PROGRAM_VOXFILT, options);
    outcome_done(&outcome);
    outcome_free(&outcome);
}
END_TEST

START_TEST(files_of_another_length_are_refused)
{
    static const unsigned char samples[200];

    file_fill("in", samples, 124);
    ck_refused("-n 5 -t u8", STATUS_INPUT, "124 bytes");
    ck_refused("-n 5", STATUS_INPUT, "length");
    ck_refused("-n 5 -t u8 --skip 200", STATUS_INPUT, "length");
    file_fill("in", samples, 126);
    ck_refused("-n 5 -t u8", STATUS_INPUT, "126 bytes");
    ck_refused("-n 5 -t u8 --skip 2", STATUS_INPUT, "length");
    ck_refused("", STATUS_USAGE, "-n N or -d X[,Y[,Z]]");
}
END_TEST

/* A pipe's length shows only while it is read. */
START_TEST(pipes_of_another_length_are_refused)
{
    static const unsigned char samples[200];
    static const struct {
        size_t bytes;
        const char *options, *words;
    } pipes[] = {{124, "-n 5 -t u8", "ends before the last of 125 u8 samples"},
                 {124, "-n 5 -t u8 -f identity", "ends before the last of 125 u8 samples"},
                 {126, "-n 5 -t u8", "goes on after the last of 125 u8 samples"},
                 {126, "-n 5 -t u8 -f identity", "goes on after the last of 125 u8 samples"},
                 {5, "-n 5 -t u8 --skip 6", "ends before the last of 125 u8 samples"}};
    pid_t child;
    int status;

    unlink("in");
    ck_assert_int_eq(mkfifo("in", 0600), 0);
    child = fork();
    if (child == 0) {
        FILE *pipe = fopen("in", "wb");
        _exit(fwrite(samples, 1, pipes[_i].bytes, pipe) == pipes[_i].bytes && fclose(pipe) == 0 ? 0 : 1);
    }
    ck_refused(pipes[_i].options, STATUS_INPUT, pipes[_i].words);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    unlink("in");
}
END_TEST

START_TEST(what_a_type_cannot_hold_is_counted)
{
    static const float samples[8] = {NAN, 300.0f, -NAN, -5.0f, 2.5f, NAN, 3.5f, INFINITY};
    static const unsigned char wanted[8] = {0, 255, 0, 0, 2, 0, 4, 255};
    struct outcome outcome;
    unsigned char *out =
        running_bytes("-n 2 -f identity --out-type u8", samples, sizeof samples, sizeof wanted, &outcome);

    ck_assert_mem_eq(out, wanted, sizeof wanted);
    ck_assert_uint_eq(outcome.summary.outcomes.strays, 4);
    ck_assert_uint_eq(outcome.summary.outcomes.nans, 3);
    ck_assert_uint_eq(outcome.summary.outcomes.below, 1);
    ck_assert_uint_eq(outcome.summary.outcomes.above, 2);
    free(out);
    outcome_free(&outcome);
}
END_TEST

/* ---- statistics ---- */

static void ck_same_tally(const struct tally *got, const struct tally *wanted)
{
    ck_assert_uint_eq(got->count, wanted->count);
    ck_assert_uint_eq(got->nans, wanted->nans);
    ck_assert_double_eq(got->min, wanted->min);
    ck_assert_double_eq(got->max, wanted->max);
    ck_assert_double_eq(got->sum, wanted->sum);
    ck_assert_double_eq(got->squares, wanted->squares);
    ck_assert_double_eq(got->energy, wanted->energy);
}

/* Of what stands in the files: in the input before, in the output after conversion. */
START_TEST(statistics_of_both_ends)
{
    const struct grid grid = grid_make(_i == 0 ? 3 : 2, 31, 9, _i == 0 ? 7 : 1);
    const char *options = _i == 0 ? "-d 31,9,7 --channels 2 -t u16 --out-type i8 -f gauss:1 --stats"
                                  : "-d 31,9 --channels 2 -t u16 -f identity --stats";
    const struct encoding in = {.type = SAMPLE_U16, .channels = 2},
                          out = {.type = _i == 0 ? SAMPLE_I8 : SAMPLE_U16, .channels = 2};
    size_t samples = 2 * grid_samples(&grid);
    uint16_t *bytes = fixture_memory(samples, sizeof *bytes);
    unsigned char *result;
    struct outcome outcome;

    fill_samples(FILL_RANDOM, SAMPLE_U16, bytes, samples, 3);
    result = running_bytes(options, bytes, 2 * samples, samples * sample_size(out.type), &outcome);
    for (unsigned c = 0; c < 2; c++) {
        struct tally wanted_in = reference_tally(&grid, &in, c, bytes);
        struct tally wanted_out = reference_tally(&grid, &out, c, result);
        ck_same_tally(&outcome.summary.tallies_in[c], &wanted_in);
        ck_same_tally(&outcome.summary.tallies_out[c], &wanted_out);
    }
    free(bytes);
    free(result);
    outcome_free(&outcome);
}
END_TEST

/* ---- pictures ---- */

static const struct picture_run {
    const char *options;
    bool separate, linear;
    double file_gamma; /* 0: none in the file */
} picture_runs[] = {
    {"-f gauss:1.2", false, false, 0.0},
    {"-f gauss:1.2 --alpha-mode separate", true, false, 0.0},
    {"-f gauss:1.2 --linear", false, true, 0.0},
    {"-f gauss:1.2 --linear", false, true, 0.625},
    {"-f gauss:1.2", false, false, 0.625},
    {"-f unsharp:1,2 --linear --alpha-mode separate -e constant:77", true, true, 0.0},
    {"-f unsharp:1,2 --linear -e constant:77.5", false, true, 0.0},
    {"-f laplace -e hold -f heat --until 1", false, false, 0.0},
    {"-f heat --flux pm1 --scale 30 --work f64", false, false, 0.0},
    {"-f gauss:1.2 --missing 0", true, false, 0.0},
    {"-f unsharp:1,2 -f sobel:x --missing 255 --linear", true, true, 0.0},
    {"-f gradient -f box:1 -s 2 --missing 17 -e constant:3", true, false, 0.0},
    {"-f median:1 -f tophat:2 -f percentile:1,70,ball -f bilateral:0.7,60 --missing 17", true, false, 0.0},
    {"-f gauss:1.2 --mask mask", true, false, 0.0},
    {"-f unsharp:1,2 -f sobel:x --missing 255 --linear --mask mask", true, true, 0.0},
    {"-f heat --flux pm1 --scale 30 -f scale:0.5,30 --mask mask --out-range auto", true, false, 0.0},
    {"-f bilateral:0.8,40", false, false, 0.0},
    {"-f bilateral:1,30 -e constant:77 -f log:0.7", false, false, 0.0},
    {"-f bilateral:0.7,60 --linear --alpha-mode separate", true, true, 0.0},
    {"-f gradmag:0.9 -f dog:0.5,1", false, false, 0.0},
    {"-f identity", false, false, 0.0},
    {"-f identity -f matrix:0", false, false, 0.0},
    {"-f identity -f identity -s 3 --out-range 20,200", false, false, 0.0},
    {"-f scale:0.5,30 -f gauss:0.8 -f scale:-1,255 -s 3 -f scale:0.9,0", false, false, 0.0},
    {"-f scale:0.5,30 -f gauss:0.8 -f scale:-1,255 --linear", false, true, 0.0},
    {"-f gauss:0.8 -f scale:0.5,30 -s 2 -f gauss:0.6 -f laplace -f scale:1,90", false, false, 0.0},
    {"-f scale:0.5,30 -f scale:2,1", false, false, 0.0},
    {"-f power:0.8 -f gauss:0.8 -f threshold:90,10,200 -f gauss:0.6 -f clamp:30,180", false, false, 0.0},
    {"-f scale:0.004,0.1 -f ln -f exp -s 2 -f scale:60,0 --linear", false, true, 0.0},
    {"-f gauss:0.8 -f scale:0.5,30 -f laplace -f scale:1,90 --alpha-mode separate", true, false, 0.0},
    {"-f gauss:0.8 --out-range auto", false, false, 0.0},
    {"-f sharpen --out-range auto --alpha-mode separate", true, false, 0.0},
    {"-f gauss:0.8 --linear --out-range 20,300.5", false, true, 0.0},
    {"-f gradient", false, false, 0.0},
    {"-f gradient -f matrix:3 --alpha-mode separate", true, false, 0.0},
    {"-f gauss:1 -f gradient -f matrix:3", false, false, 0.0},
    {"-f sobel:x -f gauss:1 -e constant:9", false, false, 0.0},
    {"-f gauss:1 -f laplace -s 3 -f box:1 -f prewitt:y -e constant:200 --linear", false, true, 0.0},
    {"-f gradient -s 0 -f gauss:1 -f sobel:x -s 0 -f identity -s 0 -f star:4", false, false, 0.0},
    {"-f laplace -s 0 -f heat -s 0", false, false, 0.0},
    {"-f laplace -s 0 -f sobel:x -f heat --until 30", false, false, 0.0},
    {"-f gauss:1 -f heat --reaction 0.1 -s 3", false, false, 0.0},
    {"-f gauss:0.6 -f gauss:1 -f matrix:1.7 -s 2 --until 0.1", false, false, 0.0},
    {"-f heat --flux pm2 --scale 30 -s 7 -e wrap", false, false, 0.0},
    {"-f heat --flux pm2 --scale 30 --inner 2 -e hold --alpha-mode separate", true, false, 0.0},
    {"-f heat --flux pm1 --scale 30 --flux-channels separate -e constant:50", false, false, 0.0},
    {"-f heat --flux pm1 --scale 30 --reaction 0.05 -e constant:50", false, false, 0.0},
    {"-f sobel:y -f heat --flux pm1 --scale 9 -e constant:50 --linear --flux-channels joint", false, true,
     0.0},
};
enum { PICTURE_WIDTH = 13, PICTURE_HEIGHT = 9, PICTURE_KINDS = 8 }; /* 1 to 4 channels of 8 or 16 bits */

static _Noreturn void fail_png(png_structp png, png_const_charp message)
{
    (void)png;
    ck_abort_msg("libpng: %s", message);
    abort();
}

/* Samples in the order of bytes that PNG has. */
static void write_picture(const char *name, const unsigned char *samples, const struct encoding *encoding,
                          double file_gamma)
{
    static const int colours[] = {PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA, PNG_COLOR_TYPE_RGB,
                                  PNG_COLOR_TYPE_RGB_ALPHA};
    size_t row = PICTURE_WIDTH * encoding->channels * sample_size(encoding->type);
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, fail_png, NULL);
    png_infop info = png_create_info_struct(png);
    FILE *file = fopen(name, "wb");

    ck_assert_ptr_nonnull(file);
    png_init_io(png, file);
    png_set_IHDR(png, info, PICTURE_WIDTH, PICTURE_HEIGHT, 8 * (int)sample_size(encoding->type),
                 colours[encoding->channels - 1], PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
                 PNG_FILTER_TYPE_DEFAULT);
    if (file_gamma > 0.0)
        png_set_gAMA(png, info, file_gamma);
    png_write_info(png, info);
    for (size_t y = 0; y < PICTURE_HEIGHT; y++)
        png_write_row(png, samples + y * row);
    png_write_end(png, info);
    png_destroy_write_struct(&png, &info);
    ck_assert_int_eq(fclose(file), 0);
}

/* The samples of the output in PNG's order of bytes, to be freed. */
static unsigned char *read_picture(const struct encoding *encoding)
{
    size_t row = PICTURE_WIDTH * encoding->channels * sample_size(encoding->type);
    unsigned char *samples = fixture_memory(PICTURE_HEIGHT, row);
    png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, NULL, fail_png, NULL);
    png_infop info = png_create_info_struct(png);
    FILE *file = fopen("out", "rb");

    ck_assert_ptr_nonnull(file);
    png_init_io(png, file);
    png_read_info(png, info);
    ck_assert_uint_eq(png_get_image_width(png, info), PICTURE_WIDTH);
    ck_assert_uint_eq(png_get_image_height(png, info), PICTURE_HEIGHT);
    ck_assert_uint_eq(png_get_rowbytes(png, info), row);
    for (size_t y = 0; y < PICTURE_HEIGHT; y++)
        png_read_row(png, samples + y * row, NULL);
    png_destroy_read_struct(&png, &info, NULL);
    fclose(file);
    return samples;
}

/* Some pixels fully covered, some not at all. */
static void spread_alpha(unsigned char *samples, const struct encoding *encoding)
{
    size_t size = sample_size(encoding->type), pixel = encoding->channels * size;

    for (size_t i = 0; i < PICTURE_WIDTH * PICTURE_HEIGHT && encoding->alpha; i++) {
        if (i % 13 < 6)
            memset(samples + (i + 1) * pixel - size, i % 3 == 0 ? 0xff : 0, size);
    }
}

static void check_picture(const struct picture_run *run, unsigned kind)
{
    const struct grid grid = grid_make(2, PICTURE_WIDTH, PICTURE_HEIGHT, 1);
    struct encoding encoding = {.type = kind / 4 == 0 ? SAMPLE_U8 : SAMPLE_U16, .channels = kind % 4 + 1};
    size_t samples = grid_samples(&grid) * encoding.channels;
    unsigned char *in = fixture_memory(samples, 2), *wanted = fixture_memory(samples, 2), *out;
    const struct encoding gray = {.type = SAMPLE_U8, .channels = 1};
    unsigned char *mask = fixture_mask(samples, 3);
    struct outcome outcome;
    struct reference_job job = {.grid = grid};
    struct reference_outcome wanted_outcome;

    encoding.swapped = must_swap(encoding.type, true);
    encoding.alpha = encoding.channels % 2 == 0;
    encoding.opaque = sample_max(encoding.type);
    encoding.premultiply = encoding.alpha && !run->separate;
    encoding.transfer = !run->linear ? TRANSFER_NONE : run->file_gamma > 0.0 ? TRANSFER_GAMMA : TRANSFER_SRGB;
    encoding.gamma = run->file_gamma > 0.0 ? 1.0 / run->file_gamma : 1.0;
    job.grid.channels = encoding.channels;
    job.in = job.out = encoding;
    fill_samples(FILL_RANDOM, encoding.type, in, samples, kind);
    spread_alpha(in, &encoding);
    write_picture("in", in, &encoding, run->file_gamma);
    write_picture("mask", mask, &gray, 0.0);
    running_command(&outcome, PROGRAM_IMGHEAT, run->options);
    outcome_done(&outcome);
    job.work = outcome.command.options.job.has_work ? WORK_F64 : WORK_F32;
    take_range(&job, &outcome.command);
    take_missing(&job, &outcome.command);
    free(mask);
    mask = take_mask(&job, &outcome.command);
    wanted_outcome = run_reference(job, &outcome.command, in, wanted);
    out = read_picture(&encoding);
    ck_assert_msg(memcmp(out, strcmp(run->options, "-f identity") == 0 ? in : wanted,
                         samples * sample_size(encoding.type)) == 0,
                  "%s, %u channels of %s: the samples differ", run->options, encoding.channels,
                  sample_name(encoding.type));
    if (strcmp(run->options, "-f identity") != 0)
        ck_same_outcome(&outcome.summary, &wanted_outcome);
    free(in);
    free(out);
    free(wanted);
    free(mask);
    outcome_free(&outcome);
}

START_TEST(pictures)
{
    if (!has_turn(_i))
        return;
    check_picture(&picture_runs[_i / PICTURE_KINDS], (unsigned)_i % PICTURE_KINDS);
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("run");

    tcase_add_loop_test(tests, raw_volumes, 0, (int)LENGTH(raw_runs));
    tcase_add_loop_test(tests, joined_passes, 0, (int)LENGTH(joined_runs));
    tcase_add_loop_test(tests, every_device_has_a_share, 0, 3);
    tcase_add_test(tests, until_stops_between);
    tcase_add_test(tests, chains_do_not_round_in_between);
    tcase_add_loop_test(tests, identity_copies_bits, 0, 4);
    tcase_add_test(tests, identity_turns_bytes_around);
    tcase_add_test(tests, identity_with_another_type_is_canonical);
    tcase_add_test(tests, memory_is_a_ceiling);
    tcase_add_test(tests, files_of_another_length_are_refused);
    tcase_add_loop_test(tests, pipes_of_another_length_are_refused, 0, 5);
    tcase_add_test(tests, what_a_type_cannot_hold_is_counted);
    tcase_add_loop_test(tests, statistics_of_both_ends, 0, 2);
    tcase_add_loop_test(tests, pictures, 0, (int)LENGTH(picture_runs) * PICTURE_KINDS);
    return running_suite("run", tests);
}
