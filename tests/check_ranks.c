/* Tests of runs by several ranks, which are threads here: the samples and the figures of one process, for any
   number of them; and an end at all of them, with one line, where one fails. */
#include "cli/task.h"
#include "pipeline/pipeline.h"
#include "run/gauge.h"
#include "run/sections.h"
#include "fixture.h"
#include "harness.h"
#include "peers_threads.h"
#include "running_device.h"
#include "scarcity.h"

#include <check.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE   300 /* seconds that a test may take */
#define RANKS_MOST 8
#define CALLS_MOST 900
#define TEES_MOST  3

/* ---- one run by several ranks ---- */

struct rank {
    struct pipeline_request request;
    struct peers peers;
    pthread_t thread;
    bool done, idle;
    struct division division;
    struct schedule schedule;
    double moved_bytes; /* as planned */
    int device;
    enum status status;
    struct fault fault;
    struct run_summary summary;
    struct outcomes of_tees[TEES_MOST];
    struct sections sections; /* for --preview */
    struct observer observer;
    unsigned long lacks; /* which of its allocations; its threads lack none */
};

struct ranks_run {
    struct command command;
    struct peers_threads *threads;
    struct rank ranks[RANKS_MOST];
    size_t count;
};

static void *run_rank(void *data)
{
    struct rank *rank = data;
    struct pipeline pipeline;

    scarcity_begin(&rank->lacks);
    rank->done = pipeline_open(&pipeline, &rank->request, &rank->fault) &&
                 pipeline_plan(&pipeline, &rank->fault) && pipeline_run(&pipeline, &rank->fault);
    rank->summary = pipeline.summary;
    rank->idle = pipeline.ranks.idle;
    rank->division = pipeline.ranks.division;
    rank->schedule = pipeline.plan.schedule;
    rank->moved_bytes = pipeline.plan.moved_bytes;
    rank->device = pipeline.plan.lanes[0].index;
    rank->status = pipeline.status;
    for (size_t i = 0; rank->done && i < rank->request.tee_count; i++)
        rank->of_tees[i] = pipeline.tee_ends == NULL ? (struct outcomes){0} : pipeline.tee_ends[i].outcomes;
    pipeline.summary = (struct run_summary){0};
    scarcity_end();
    pipeline_close(&pipeline);
    peers_close(&rank->peers);
    return NULL;
}

/* The output, then the tees. */
static size_t count_outputs(const struct ranks_run *run)
{
    return 1 + run->command.options.tee_count;
}

static const char *output_of(const struct ranks_run *run, size_t index)
{
    return index == 0 ? "out" : run->command.options.tees[index - 1].path;
}

/* Where that of one process is kept. */
static const char *alone_of(const struct ranks_run *run, size_t index)
{
    static char name[64];

    snprintf(name, sizeof name, "alone-%s", output_of(run, index));
    return name;
}

static void remove_outputs(const struct ranks_run *run)
{
    for (size_t i = 0; i < count_outputs(run); i++)
        unlink(output_of(run, i));
}

static void set_outputs_aside(const struct ranks_run *run)
{
    for (size_t i = 0; i < count_outputs(run); i++)
        fixture_require(rename(output_of(run, i), alone_of(run, i)) == 0, "the output of one process");
}

static void remove_set_aside(const struct ranks_run *run)
{
    for (size_t i = 0; i < count_outputs(run); i++)
        unlink(alone_of(run, i));
}

/* The preview stays in memory; nothing is drawn. */
static void let_observe(struct rank *rank)
{
    rank->observer = (struct observer){&sections_kind, &rank->sections};
    rank->request.run.observers = (struct observers){&rank->observer, 1};
}

/* Of the file named in, into that named out. */
static void begin(struct ranks_run *run, const char *options, size_t count, enum division_kind division)
{
    static unsigned long runs;
    char text[480];
    struct task task;

    *run = (struct ranks_run){.count = count, .threads = peers_threads_open(count)};
    peers_threads_part(run->threads, 1 + runs % 4);
    running_vary(runs++);
    snprintf(text, sizeof text, "-i in -o out -q -j 1 -D %s %s", running_device, options);
    command_parse(&run->command, PROGRAM_VOXFILT, text);
    ck_assert_msg(run->command.parsed, "%s: %s", options, run->command.fault.text);
    ck_assert_uint_le(run->command.options.tee_count, TEES_MOST);
    remove_outputs(run);
    task = task_alone(&run->command.options, "in", "out");
    task.request.plan.division = division;
    /* Passes of all depths, few of which do with one. */
    if (division == DIVISION_PASSES)
        task.request.plan.limits.depth = 1 + runs % 5;
    for (size_t i = 0; i < count; i++) {
        run->ranks[i] = (struct rank){.request = task.request, .peers = peers_threads_peers(run->threads, i)};
        run->ranks[i].request.peers = &run->ranks[i].peers;
        run->ranks[i].request.tees = run->command.options.tees;
        run->ranks[i].request.tee_count = run->command.options.tee_count;
        run->ranks[i].request.plan.alone = run->ranks[i].request.plan.spread = true;
        run->ranks[i].request.plan.member = i;
        if (run->command.options.preview != NULL)
            let_observe(&run->ranks[i]);
    }
}

static void make(struct ranks_run *run)
{
    for (size_t i = 0; i < run->count; i++)
        fixture_require(pthread_create(&run->ranks[i].thread, NULL, run_rank, &run->ranks[i]) == 0,
                        "a thread");
    for (size_t i = 0; i < run->count; i++)
        pthread_join(run->ranks[i].thread, NULL);
}

static void end(struct ranks_run *run)
{
    for (size_t i = 0; i < run->count; i++) {
        run_summary_free(&run->ranks[i].summary);
        sections_free(&run->ranks[i].sections);
    }
    peers_threads_close(run->threads);
    command_free(&run->command);
}

static void ck_same_tallies(const struct tally *own, const struct tally *wanted, size_t channels)
{
    for (size_t i = 0; own != NULL && i < channels; i++) {
        ck_assert_uint_eq(own[i].count, wanted[i].count);
        ck_assert_uint_eq(own[i].nans, wanted[i].nans);
        ck_assert_mem_eq(&own[i].min, &wanted[i].min, 6 * sizeof(double));
    }
}

static void ck_same_figures(const struct run_summary *own, const struct run_summary *wanted, size_t channels)
{
    ck_assert_mem_eq(&own->outcomes, &wanted->outcomes, sizeof wanted->outcomes);
    ck_assert_uint_eq(own->steps, wanted->steps);
    ck_assert_int_eq(own->tallies_in == NULL, wanted->tallies_in == NULL);
    ck_same_tallies(own->tallies_in, wanted->tallies_in, channels);
    ck_same_tallies(own->tallies_out, wanted->tallies_out, channels);
}

/* To the last bit. */
static void ck_same_sections(const struct sections *own, const struct sections *wanted)
{
    ck_assert_uint_eq(own->count, wanted->count);
    for (size_t i = 0; i < 2 * own->count; i++) {
        const struct section *section = &own->list[i / 2], *other = &wanted->list[i / 2];
        ck_assert_mem_eq(section->values[i % 2], other->values[i % 2],
                         section->columns * section->rows * sizeof(double));
    }
}

static void ck_same_file(const char *own, const char *wanted)
{
    size_t size, wanted_size;
    unsigned char *bytes = file_content(own, &size), *wanted_bytes = file_content(wanted, &wanted_size);

    ck_assert_uint_eq(size, wanted_size);
    ck_assert_mem_eq(bytes, wanted_bytes, size);
    free(bytes);
    free(wanted_bytes);
}

static void ck_same_outputs(const struct ranks_run *run)
{
    for (size_t i = 0; i < count_outputs(run); i++)
        ck_same_file(output_of(run, i), alone_of(run, i));
}

static void check_ranks(const char *options, size_t count, enum division_kind division,
                        const struct ranks_run *alone)
{
    struct ranks_run run;

    begin(&run, options, count, division);
    make(&run);
    for (size_t i = 0; i < count; i++) {
        ck_assert_msg(run.ranks[i].done, "%s: rank %zu of %zu: %s", options, i, count,
                      run.ranks[i].fault.text);
        ck_assert_int_eq(run.ranks[i].status, alone->ranks[0].status);
    }
    ck_same_outputs(&run);
    ck_assert_mem_eq(run.ranks[0].of_tees, alone->ranks[0].of_tees, sizeof run.ranks[0].of_tees);
    ck_same_figures(&run.ranks[0].summary, &alone->ranks[0].summary,
                    run.command.options.source.grid.channels);
    ck_same_sections(&run.ranks[0].sections, &alone->ranks[0].sections);
    if (run.ranks[0].division.kind == DIVISION_SHARES)
        ck_assert_uint_le(peers_threads_most_bytes(run.threads), run.ranks[0].schedule.trade_bytes);
    end(&run);
}

static void fill_input(enum sample_type type, size_t samples)
{
    unsigned char *in = fixture_memory(samples, sample_size(type));

    fill_samples(sample_is_integer(type) ? FILL_RANDOM : FILL_SPECIAL, type, in, samples, 7);
    file_fill("in", in, samples * sample_size(type));
    free(in);
}

/* By one process, then by ranks. */
static void check_job(const char *options, enum sample_type type, size_t samples)
{
    static const size_t counts[] = {1, 2, 3, 5, 8};
    static const enum division_kind divisions[] = {DIVISION_PARTS, DIVISION_SHARES, DIVISION_PASSES};
    struct ranks_run alone;
    size_t files;

    fill_input(type, samples);
    begin(&alone, options, 1, DIVISION_CHEAPEST);
    alone.ranks[0].request.peers = NULL;
    make(&alone);
    ck_assert_msg(alone.ranks[0].done, "%s: %s", options, alone.ranks[0].fault.text);
    set_outputs_aside(&alone);
    files = folder_count();
    for (size_t i = 0; i < LENGTH(counts) * LENGTH(divisions); i++) {
        if (!harness_has_turn(i + samples, running_turns()))
            continue;
        check_ranks(options, counts[i / LENGTH(divisions)], divisions[i % LENGTH(divisions)], &alone);
        ck_assert_uint_eq(folder_count(), files + count_outputs(&alone));
        remove_outputs(&alone);
    }
    remove_set_aside(&alone);
    end(&alone);
}

/* ---- the same samples ---- */

static const char *const chains[] = {
    "-f heat -s 3",
    "-f gauss:0.7 -f unsharp:1,2",
    "-f laplace --out-type f32 --stats",
    "-f identity --stats",
    "-f heat --flux pm2 --scale 900 -s 2 --stats",
    "-f star:4 -f scale:0.01,5 --crop 1:8,:,3:17",
};

static const enum sample_type types[] = {SAMPLE_U8, SAMPLE_I16, SAMPLE_F32, SAMPLE_F64};

START_TEST(edges_chains_and_types)
{
    enum sample_type type = types[(size_t)_i % LENGTH(types)];
    char options[240];

    for (size_t edge = 0; edge < EDGE_RULES; edge++) {
        snprintf(options, sizeof options, "-d 9,7,19 -t %s -e %s %s", sample_name(type), edge_option(edge),
                 chains[(size_t)_i / LENGTH(types)]);
        check_job(options, type, 9 * 7 * 19);
    }
}
END_TEST

static const struct job_case {
    const char *options;
    enum sample_type type;
    size_t samples;
} job_cases[] = {
    {"-d 4,3,1 -t u8", SAMPLE_U8, 12},
    {"-d 4,3,2 -t u8 --stats", SAMPLE_U8, 24},
    {"-d 5,5,7 -t u8 -e wrap -s 9 --stats", SAMPLE_U8, 175},
    {"-d 40,30 -t u16 -f gauss:2 --stats", SAMPLE_U16, 1200},
    {"-d 6,5,12 -t u8 --channels 3 -m 40K --stats", SAMPLE_U8, 1080},
    {"-d 21,15,30 -t f32 -s 5 --stats", SAMPLE_F32, 9450},
    {"-d 21,15,30 -t f32 --out-type u8 --stats", SAMPLE_F32, 9450},
    /* Parts of whole blocks, with ends that are not. */
    {"-d 300,300,41 -t u8 -f box:1", SAMPLE_U8, 3690000},
    {"-d 256,256,64 -t u8 -f box:1", SAMPLE_U8, 4194304},
    /* Headers, files beside them, and outputs that are compressed. */
    {"-d 21,15,30 -t u16 --out-format nrrd", SAMPLE_U16, 9450},
    {"-d 21,15,30 -t u16 --out-format nii", SAMPLE_U16, 9450},
    {"-d 21,15,30 -t u16 --out-format npy", SAMPLE_U16, 9450},
    {"-d 21,15,30 -t u16 --out-format tif", SAMPLE_U16, 9450},
    {"-d 21,15,30 -t u16 --out-format raw.gz", SAMPLE_U16, 9450},
    {"-d 21,15,30 -t u16 --out-format nii.gz --stats", SAMPLE_U16, 9450},
    {"-d 21,15,30 -t u16 --slice z=4", SAMPLE_U16, 9450},
    {"-d 21,15,30 -t u16 --slice y=4", SAMPLE_U16, 9450},
    {"-d 21,15,30 -t f32 --slice x=4", SAMPLE_F32, 9450},
    {"-d 21,15,30 -t u16 --planes 7:22 -s 4 -e wrap", SAMPLE_U16, 9450},
    {"-d 21,15,30 -t u16 --part 2/3", SAMPLE_U16, 9450},
    {"-d 21,15,30 -t u16 --endian big --out-endian little -f identity", SAMPLE_U16, 9450},
    /* What looks at all planes before it ends. */
    {"-d 9,9,9 -t u8 --until 2", SAMPLE_U8, 729},
    {"-d 9,9,29 -t u8 --until 2 --check-every 3 --stats", SAMPLE_U8, 2349},
    {"-d 9,9,9 --channels 3 -t f32 -e wrap --until 1e-9 -s 7", SAMPLE_F32, 2187},
    {"-d 9,9,9 -t u8 --out-range auto --stats", SAMPLE_U8, 729},
    {"-d 9,9,23 -t f64 -f laplace --until 0.01 --out-range auto", SAMPLE_F64, 1863},
    /* Many steps, halos wider than a share, and more planes than a level needs beside it. */
    {"-d 7,5,16 -t f32 -s 60 -e wrap", SAMPLE_F32, 560},
    {"-d 7,5,9 -t u16 -f star:8 -s 5 -f gauss:2", SAMPLE_U16, 315},
    {"-d 7,5,9 -t u16 -f gauss:3 -e wrap -s 2", SAMPLE_U16, 315},
    {"-d 5,5,130 -t u8 -f heat -s 23 -f unsharp:1,2", SAMPLE_U8, 3250},
    {"-d 7,5,40 -t u8 -s 11 --planes 30:39", SAMPLE_U8, 1400},
    {"-d 7,5,40 -t u8 -s 11 --slice z=2", SAMPLE_U8, 1400},
    /* Lines of samples that share a row of a preview, and are of two ranks or more. */
    {"-d 5,4,1300 -t u8 -f gauss:1 --work f64 --out-type f64 --preview p.png", SAMPLE_U8, 26000},
    {"-d 5,1300 -t u8 -f gauss:1 --work f64 --out-type f64 --stats --preview p.png", SAMPLE_U8, 6500},
    {"-d 5,4,9 -t u8 -f gauss:1 --work f64 --out-type f64 --preview p.png", SAMPLE_U8, 180},
    /* States on the way: the first and the last, and several at once; headers, outputs that are compressed,
       and both together. */
    {"-d 9,7,19 -t u8 -f gauss:1 -f heat -s 7 --tee 0:t0 --tee 3:t3 --tee 7:t7", SAMPLE_U8, 1197},
    {"-d 9,7,19 -t f32 -s 9 -e wrap --out-type u8 --tee 4:t4.nrrd --tee 4:t5.raw.gz --stats", SAMPLE_F32,
     1197},
    {"-d 40,30 -t u16 -s 5 --out-format raw.gz --tee 1:t1 --tee 0:t0.nii.gz", SAMPLE_U16, 1200},
    {"-d 21,15,30 -t u16 -s 4 -e hold --planes 7:22 --tee 2:t2 --tee 1:t1.nii.gz", SAMPLE_U16, 9450},
    {"-d 21,15,30 -t u16 -s 4 --crop 1:8,:,3:17 --tee 2:t2", SAMPLE_U16, 9450},
    {"-d 21,15,30 -t u16 -s 4 --slice y=4 --tee 2:t2.png --tee 3:t3.png", SAMPLE_U16, 9450},
    {"-d 21,15,30 -t u16 -f laplace -s 2 --part 2/3 --tee 1:t1", SAMPLE_U16, 9450},
    {"-d 9,7,19 -t u8 -f heat -e wrap -f gauss:1 -s 3 -e hold --tee 0:t0 --tee 2:t2", SAMPLE_U8, 1197},
    {"-d 9,7,19 -t f32 --channels 2 -f taps:wide.taps -s 4 --tee 3:t3 --tee 1:t1", SAMPLE_F32, 2394},
    {"-d 256,256,64 -t u8 -f box:1 -s 2 --tee 1:t1 --tee 0:t0.raw.gz", SAMPLE_U8, 4194304},
    /* Stages that wrap but read no other planes, or none but their own samples. */
    {"-d 9,9,11 -t u8 -f identity -e wrap -f heat -s 3 -e hold", SAMPLE_U8, 891},
    {"-d 9,9,11 -t u8 -f matrix:0,1,0;1,2,1;0,1,0/8 -e wrap -f heat -s 3 -e hold", SAMPLE_U8, 891},
    {"-d 9,9,11 -t u8 -f scale:2,1 -f identity -f heat -s 3 -e wrap", SAMPLE_U8, 891},
    /* What one rank computes. */
    {"-d 9,9,9 -t u8 -f gauss:1 -e wrap -f heat -e hold", SAMPLE_U8, 729},
};

/* More than what is emulated in a second. */
#define MANY_SAMPLES 1000

START_TEST(jobs)
{
    const struct job_case *job = &job_cases[_i];

    if (strcmp(running_device, "cuda") != 0 || job->samples < MANY_SAMPLES)
        check_job(job->options, job->type, job->samples);
}
END_TEST

static double expected_bytes(const char *options, size_t count, enum division_kind division)
{
    struct ranks_run run;
    double bytes = 0.0;

    begin(&run, options, count, division);
    make(&run);
    for (size_t i = 0; i < count; i++) {
        ck_assert(run.ranks[i].done);
        ck_assert_uint_eq(run.ranks[i].division.members, count);
        bytes += run.ranks[i].moved_bytes;
    }
    end(&run);
    return bytes;
}

/* All ranks together move what one process would. */
START_TEST(each_expects_its_own_planes)
{
    static const char *const options[] = {"-d 5,4,9 -t u8 -f gauss:1", "-d 5,4,9 -t u8 -f gauss:1 --until 2",
                                          "-d 5,4,9 -t u8 -f gauss:1 --out-range auto"};

    fill_input(SAMPLE_U8, 180);
    for (size_t i = 0; i < LENGTH(options); i++) {
        double alone = expected_bytes(options[i], 1, DIVISION_CHEAPEST);
        ck_assert_double_eq(expected_bytes(options[i], 3, DIVISION_SHARES), alone);
        ck_assert_double_eq(expected_bytes(options[i], 3, DIVISION_PASSES), alone);
    }
}
END_TEST

static bool divides(const char *options, size_t count, size_t idle)
{
    struct ranks_run run;
    size_t found = 0;

    begin(&run, options, count, DIVISION_PARTS);
    make(&run);
    for (size_t i = 0; i < count; i++)
        found += run.ranks[i].idle;
    end(&run);
    return found == idle;
}

START_TEST(ranks_that_are_of_no_use_are_idle)
{
    fill_input(SAMPLE_U8, 125);
    ck_assert(divides("-n 5 -t u8", 5, 0));
    ck_assert(divides("-n 5 -t u8", 8, 3));
    ck_assert(divides("-n 5 -t u8 --planes 1:3", 4, 2));
    ck_assert(divides("-n 5 -t u8 --until 3", 3, 2));
    ck_assert(divides("-n 5 -t u8 --out-range auto", 3, 2));
}
END_TEST

static unsigned long count_looks(const char *options)
{
    struct ranks_run run;
    unsigned long looks;

    begin(&run, options, 3, DIVISION_SHARES);
    make(&run);
    ck_assert_msg(run.ranks[0].done, "%s: %s", options, run.ranks[0].fault.text);
    looks = peers_threads_looks(run.threads);
    end(&run);
    return looks;
}

/* Some transports move no message unless they are called. A GPU computes by itself. */
START_TEST(messages_are_looked_at_while_processors_compute)
{
    bool by_itself = strcmp(running_device, "cuda") == 0;

    fill_input(SAMPLE_U8, 1080);
    ck_assert_uint_eq(count_looks("-d 6,6,30 -t u8 -f laplace -f laplace") >= 3, !by_itself);
    ck_assert_uint_eq(count_looks("-d 6,6,30 -t u8 -f laplace"), 0);
    ck_assert_uint_eq(count_looks("-d 36,2,15 -t u8 -f laplace -f laplace"), 0);
}
END_TEST

static struct division division_of(const char *options, size_t count, enum division_kind wish)
{
    struct ranks_run run;
    struct division found;

    begin(&run, options, count, wish);
    make(&run);
    ck_assert_msg(run.ranks[0].done, "%s: %s", options, run.ranks[0].fault.text);
    found = run.ranks[0].division;
    end(&run);
    return found;
}

static void ck_division(const char *options, enum division_kind wish, enum division_kind kind)
{
    struct division found = division_of(options, 3, wish);

    ck_assert_msg(found.kind == kind, "%s: it is %d", options, (int)found.kind);
    ck_assert_int_eq(found.members == 1, kind == DIVISION_ALONE);
    if (kind == wish)
        ck_assert_uint_eq(found.members, 3);
    ck_assert_int_eq(found.why != NULL, kind == DIVISION_ALONE);
}

/* What can be, and what is chosen. */
START_TEST(divisions)
{
    fill_input(SAMPLE_U8, (size_t)40 * 40 * 40);
    ck_division("-n 40 -t u8 -s 4", DIVISION_PARTS, DIVISION_PARTS);
    ck_division("-n 40 -t u8 -s 4", DIVISION_SHARES, DIVISION_SHARES);
    ck_division("-n 40 -t u8 -s 4", DIVISION_CHEAPEST, DIVISION_PARTS);
    ck_division("-n 40 -t u8 -f identity", DIVISION_CHEAPEST, DIVISION_PARTS);
    ck_division("-n 40 -t u8 --until 1 -s 9", DIVISION_SHARES, DIVISION_SHARES);
    ck_division("-n 40 -t u8 --until 1 -s 9", DIVISION_PARTS, DIVISION_ALONE);
    ck_division("-n 40 -t u8 -f heat -e wrap -f heat -e hold", DIVISION_SHARES, DIVISION_ALONE);
    ck_division("-n 40 -t u8 -f heat -e wrap -f heat -e hold", DIVISION_PASSES, DIVISION_PASSES);
    ck_division("-n 40 -t u8 -s 12", DIVISION_PASSES, DIVISION_PASSES);
    ck_division("-n 40 -t u8 -f identity", DIVISION_PASSES, DIVISION_PARTS);
    /* Too little memory for a share: parts, or several passes, do with less. */
    ck_division("-n 40 -t u8 -s 2 -m 190K", DIVISION_SHARES, DIVISION_PARTS);
    ck_division("-n 40 -t u8 --inner 40 --flux tanh --scale 9 --until 1 -s 9 -m 190K", DIVISION_SHARES,
                DIVISION_PASSES);
    ck_division("-n 40 -t u8 --inner 40 --flux tanh --scale 9 -s 12 -m 111K", DIVISION_PARTS,
                DIVISION_PASSES);
    ck_division("-n 40 -t u8 -s 12 -m 55K", DIVISION_PASSES, DIVISION_ALONE);
    ck_division("-n 40 -t u8 -s 2 --planes 3:4", DIVISION_PARTS, DIVISION_ALONE);
    /* So little to do that messages would take longer, and nothing that parts would save. */
    ck_division("-n 40 -t u8 -s 200", DIVISION_CHEAPEST, DIVISION_ALONE);
}
END_TEST

/* What is known of the link between ranks decides for them. */
static void check_link(double bytes_a_second, enum division_kind kind)
{
    struct wisdom_entry entries[] = {
        {"link of 3 ranks, 3 on here", "bytes a second", "link", 0, 0, 0, 0, 0, bytes_a_second},
        {"link of 3 ranks, 3 on here", "messages a second", "link", 0, 0, 0, 0, 0, 1e6}};
    const struct wisdom wisdom = {entries, LENGTH(entries)};
    struct ranks_run run;

    begin(&run, "-n 40 -t u8 -s 300", 3, DIVISION_CHEAPEST);
    run.ranks[0].request.plan.wisdom = &wisdom;
    make(&run);
    ck_assert_msg(run.ranks[0].done, "%s", run.ranks[0].fault.text);
    ck_assert_int_eq(run.ranks[0].division.kind, kind);
    ck_assert_int_eq(run.ranks[2].division.kind, kind);
    end(&run);
}

START_TEST(a_fast_link_lets_ranks_share)
{
    fill_input(SAMPLE_U8, (size_t)40 * 40 * 40);
    check_link(1e11, DIVISION_SHARES);
    check_link(1e6, DIVISION_ALONE);
}
END_TEST

/* Ranks that measure the link between them, all at once; each has its own thread. */
struct measuring {
    struct peers peers;
    pthread_t thread;
    struct link link;
    struct fault fault;
    bool done;
};

static void *measure_link(void *data)
{
    struct measuring *measuring = data;

    measuring->done = gauge_link(&measuring->peers, &measuring->link, &measuring->fault);
    peers_close(&measuring->peers);
    return NULL;
}

static void measure_links(struct measuring *ranks, size_t count, unsigned long failing)
{
    struct peers_threads *threads = peers_threads_open(count);

    if (failing > 0)
        peers_threads_fail(threads, count - 1, failing);
    for (size_t i = 0; i < count; i++) {
        ranks[i] = (struct measuring){.peers = peers_threads_peers(threads, i)};
        fixture_require(pthread_create(&ranks[i].thread, NULL, measure_link, &ranks[i]) == 0, "a thread");
    }
    for (size_t i = 0; i < count; i++)
        pthread_join(ranks[i].thread, NULL);
    peers_threads_close(threads);
}

START_TEST(links_are_measured)
{
    struct measuring ranks[4];

    for (size_t count = 2; count <= LENGTH(ranks); count++) {
        measure_links(ranks, count, 0);
        for (size_t i = 0; i < count; i++) {
            ck_assert_msg(ranks[i].done, "%s", ranks[i].fault.text);
            ck_assert(ranks[i].link.bytes_per_second > 0.0 && ranks[i].link.bytes_per_second < 1e13);
            ck_assert(ranks[i].link.seconds > 0.0 && ranks[i].link.seconds < 1.0);
            ck_assert_mem_eq(&ranks[i].link, &ranks[0].link, sizeof(struct link));
        }
    }
    for (unsigned long call = 1; call <= 9; call++) {
        measure_links(ranks, 3, call);
        ck_assert(!ranks[2].done && ranks[2].fault.text[0] != '\0');
    }
}
END_TEST

/* One rank takes its steps one by one, and the others several at once. */
static void check_unlike(const char *options, enum division_kind kind)
{
    struct ranks_run run;

    begin(&run, options, 3, DIVISION_SHARES);
    run.ranks[1].request.plan.wish.rung = "naive";
    make(&run);
    for (size_t i = 0; i < run.count; i++) {
        ck_assert_msg(run.ranks[i].done, "%s: %s", options, run.ranks[i].fault.text);
        ck_assert_int_eq(run.ranks[i].division.kind, kind);
    }
    if (kind == DIVISION_ALONE)
        ck_assert_str_eq(run.ranks[0].division.why,
                         "the ranks would take different numbers of steps at once");
    ck_assert_int_eq(run.ranks[0].division.setback != NULL, kind == DIVISION_PARTS);
    end(&run);
}

START_TEST(ranks_that_differ_do_not_share)
{
    fill_input(SAMPLE_U8, (size_t)40 * 40 * 40);
    check_unlike("-n 40 -t u8 -s 4", DIVISION_PARTS);
    check_unlike("-n 40 -t u8 -s 30", DIVISION_ALONE);
    check_unlike("-n 40 -t u8 -s 30 --out-range auto", DIVISION_ALONE);
    check_unlike("-n 40 -t u8 -s 1", DIVISION_SHARES);
}
END_TEST

/* Passes that only lend planes to each other, and no more than a plane or two at a time. */
static const struct passes_case {
    const char *options;
    enum sample_type type;
    size_t samples;
} passes_cases[] = {{"-d 7,5,16 -t f32 -s 30 -e wrap --stats", SAMPLE_F32, 560},
                    {"-d 7,5,16 -t u8 -s 9 -e reflect", SAMPLE_U8, 560},
                    {"-d 7,5,16 -t u8 -s 9 -e mirror -m 2K", SAMPLE_U8, 560},
                    {"-d 7,5,16 -t f64 -s 9 -e constant:3 --planes 2:5", SAMPLE_F64, 560},
                    /* Loans that go all the way around, and as many messages at once as there may be. */
                    {"-d 7,5,9 -t u8 -f star:8 -s 4 -e wrap", SAMPLE_U8, 315},
                    {"-d 7,5,16 -t u8 -f gauss:1 -s 3 -e wrap -f heat -s 4 -e hold", SAMPLE_U8, 560},
                    {"-d 7,5,16 -t u8 -s 30 --until 0.5 --check-every 2 --stats", SAMPLE_U8, 560},
                    {"-d 7,5,16 --channels 2 -t f32 -s 9 --until 1e-9 -e wrap", SAMPLE_F32, 1120},
                    {"-d 7,5,16 -t u8 -f laplace -s 5 --out-range auto --out-type u16", SAMPLE_U8, 560},
                    {"-d 7,5,16 -t u8 -s 9 --tee 5:t5 --tee 0:t0.raw.gz", SAMPLE_U8, 560},
                    {"-d 7,5,16 -t u8 -s 9 -e wrap --planes 2:5 --tee 5:t5 --tee 0:t0", SAMPLE_U8, 560}};

START_TEST(several_passes)
{
    const struct passes_case *job = &passes_cases[_i];
    struct ranks_run alone, run;

    fill_input(job->type, job->samples);
    begin(&alone, job->options, 1, DIVISION_CHEAPEST);
    make(&alone);
    set_outputs_aside(&alone);
    for (size_t count = 2; count <= RANKS_MOST; count++) {
        begin(&run, job->options, count, DIVISION_PASSES);
        for (size_t i = 0; i < count; i++)
            run.ranks[i].request.plan.limits =
                (struct schedule_limits){.slab = 1, .batch = 1, .depth = 1 + count % 4};
        make(&run);
        for (size_t i = 0; i < count; i++) {
            ck_assert_msg(run.ranks[i].done, "%s: %s", job->options, run.ranks[i].fault.text);
            ck_assert_int_eq(run.ranks[i].division.kind, DIVISION_PASSES);
            ck_assert_uint_gt(run.ranks[i].schedule.passes, 1);
        }
        ck_same_outputs(&run);
        ck_same_figures(&run.ranks[0].summary, &alone.ranks[0].summary,
                        run.command.options.source.grid.channels);
        end(&run);
    }
    remove_set_aside(&alone);
    end(&alone);
}
END_TEST

/* Those with less memory make passes less deep, and the others as they do. */
START_TEST(passes_are_as_deep_at_all_ranks)
{
    struct ranks_run run;

    fill_input(SAMPLE_U8, (size_t)40 * 40 * 40);
    begin(&run, "-n 40 -t u8 -s 12 -m 900K", 3, DIVISION_PASSES);
    run.ranks[1].request.plan.memory = 165000;
    for (size_t i = 0; i < run.count; i++)
        run.ranks[i].request.plan.limits.depth = 0;
    make(&run);
    for (size_t i = 0; i < run.count; i++) {
        ck_assert_msg(run.ranks[i].done, "%s", run.ranks[i].fault.text);
        ck_assert_int_eq(run.ranks[i].division.kind, DIVISION_PASSES);
        ck_assert_uint_eq(run.ranks[i].schedule.depth, run.ranks[1].schedule.depth);
        ck_assert_uint_le(run.ranks[i].schedule.memory_bytes, i == 1 ? 165000 : 900 << 10);
    }
    ck_assert_uint_lt(run.ranks[1].schedule.depth, schedule_depth_among(40, 3));
    end(&run);
}
END_TEST

/* Each rank of a node has a device of its own, counted around. */
START_TEST(devices_of_ranks)
{
    int count = strcmp(running_device, "cuda") == 0 ? 3 : 1;
    struct ranks_run run;

    fill_input(SAMPLE_U8, 125);
    begin(&run, "-n 5 -t u8 -s 2", 5, DIVISION_PARTS);
    make(&run);
    for (int i = 0; i < 5; i++)
        ck_assert_int_eq(run.ranks[i].device, i % count);
    end(&run);
}
END_TEST

/* Planes on their way take no more memory than was planned, and for planes of whole pages no less. */
START_TEST(planes_in_transit)
{
    struct ranks_run run;

    fill_input(SAMPLE_F32, (size_t)32 * 32 * 40);
    for (size_t together = 1; together <= 4; together++) {
        begin(&run, "-d 32,32,40 -t f32 -s 2 --rung naive", 4, DIVISION_SHARES);
        peers_threads_part(run.threads, together);
        make(&run);
        ck_assert_msg(run.ranks[0].done, "%s", run.ranks[0].fault.text);
        ck_assert_int_eq(run.ranks[0].division.kind, DIVISION_SHARES);
        ck_assert_uint_eq(run.ranks[0].schedule.trade_bytes, 4 * 32 * 32 * sizeof(float));
        ck_assert_uint_eq(peers_threads_most_bytes(run.threads), run.ranks[0].schedule.trade_bytes);
        end(&run);
    }
}
END_TEST

/* A rung that was asked for reads planes of which nothing counts: they do not make edges wrap that do not. */
START_TEST(a_rung_that_reads_more_than_the_taps)
{
    check_job("-d 9,9,11 -t u8 -f matrix:0,1,0;1,2,1;0,1,0/8 -e wrap -f heat -e hold --rung plane", SAMPLE_U8,
              891);
}
END_TEST

static const char held_job[] = "-d 12,11,16 -t u8 -s 2 --out-range auto";

/* By one process. */
static void make_held_alone(void)
{
    struct ranks_run run;

    fill_input(SAMPLE_U8, (size_t)12 * 11 * 16);
    begin(&run, held_job, 1, DIVISION_CHEAPEST);
    make(&run);
    rename("out", "alone");
    end(&run);
}

/* With so much memory on each device, the job is done, or the plan refuses it. Returns the division, or
   DIVISION_KINDS after a refusal. */
static enum division_kind run_with_memory(size_t bytes)
{
    struct ranks_run run;
    enum division_kind kind;

    begin(&run, held_job, 3, DIVISION_SHARES);
    running_limit_memory(bytes);
    make(&run);
    running_limit_memory(0);
    for (size_t i = 0; i < run.count; i++)
        ck_assert_msg(run.ranks[i].done || strstr(run.ranks[i].fault.text, "are free") != NULL,
                      "%zu bytes: %s", bytes, run.ranks[i].fault.text);
    if (run.ranks[0].done)
        ck_same_file("out", "alone");
    kind = run.ranks[0].done ? run.ranks[0].division.kind : DIVISION_KINDS;
    unlink("out");
    end(&run);
    return kind;
}

START_TEST(a_plan_fits_its_devices)
{
    size_t found[DIVISION_KINDS + 1] = {0};

    make_held_alone();
    for (size_t bytes = 4000; bytes < 60000; bytes += bytes / 16)
        found[run_with_memory(bytes)]++;
    ck_assert_uint_gt(found[DIVISION_SHARES], 0);
    ck_assert_uint_gt(found[DIVISION_KINDS], 0);
    unlink("alone");
}
END_TEST

/* A device of one rank cannot use the memory that ranks of its node see: all send messages. */
START_TEST(memory_that_a_device_cannot_lock)
{
    make_held_alone();
    for (size_t together = 1; together <= 3; together++) {
        struct ranks_run run;
        begin(&run, held_job, 3, DIVISION_SHARES);
        peers_threads_part(run.threads, together);
        running_refuse_locks(true);
        make(&run);
        running_refuse_locks(false);
        for (size_t i = 0; i < run.count; i++) {
            ck_assert_msg(run.ranks[i].done, "%zu a node: %s", together, run.ranks[i].fault.text);
            ck_assert_int_eq(run.ranks[i].division.kind, DIVISION_SHARES);
        }
        ck_same_file("out", "alone");
        ck_assert_int_eq(peers_threads_most_bytes(run.threads) == 0, together == 3);
        end(&run);
    }
    unlink("alone");
}
END_TEST

/* ---- faults ---- */

/* A raw volume that one rank cannot read. The others wait for that, and their planes are counted. */
static atomic_bool torn;
static atomic_size_t read_by_others;

static bool tear(struct source *source, void *samples, size_t first, size_t planes, struct fault *fault)
{
    (void)source, (void)samples, (void)first, (void)planes;
    torn = true;
    return fault_raise(fault, STATUS_IO, "in: torn");
}

static bool read_slowly(struct source *source, void *samples, size_t first, size_t planes,
                        struct fault *fault)
{
    const struct timespec moment = {.tv_nsec = 1000000};

    do
        nanosleep(&moment, NULL);
    while (!torn);
    read_by_others += planes;
    return format_raw.read_at(source, samples, first, planes, fault);
}

static void ck_all_failed(const struct ranks_run *run, enum status status, const char *line)
{
    for (size_t i = 0; i < run->count; i++) {
        ck_assert(!run->ranks[i].done);
        ck_assert_str_eq(run->ranks[i].fault.text, line);
        ck_assert_int_eq(run->ranks[i].fault.status, status);
    }
    ck_assert(!file_exists("out"));
}

START_TEST(what_one_meets_ends_all_soon)
{
    struct format broken = format_raw, slow = format_raw;
    struct ranks_run run;
    size_t files;

    broken.read_at = tear;
    slow.read_at = read_slowly;
    torn = false;
    read_by_others = 0;
    fill_input(SAMPLE_U8, 4 * 4 * 300);
    unlink("out");
    files = folder_count();
    begin(&run, "-d 4,4,300 -t u8 --stats", 3, (enum division_kind)_i);
    for (size_t i = 0; i < run.count; i++) {
        run.ranks[i].request.format = i == 1 ? &broken : &slow;
        run.ranks[i].request.plan.limits = (struct schedule_limits){.slab = 1, .batch = 1};
    }
    make(&run);
    ck_all_failed(&run, STATUS_IO, "rank 1 (here): in: torn");
    ck_assert_uint_lt(read_by_others, 100);
    ck_assert_uint_eq(folder_count(), files);
    end(&run);
}
END_TEST

/* One rank sees another file than the others do. */
static void check_input_of_one(size_t size, const char *name, enum status status, const char *line)
{
    struct ranks_run run;

    fill_input(SAMPLE_U8, 64);
    if (size > 0)
        file_fill(name, "0123456789012345678901234567890123456789012345678901234567890123", size);
    begin(&run, "-n 4 -t u8", 3, DIVISION_PARTS);
    run.ranks[2].request.input = name;
    make(&run);
    ck_all_failed(&run, status, line);
    end(&run);
    unlink(name);
}

START_TEST(inputs_that_differ)
{
    check_input_of_one(63, "short", STATUS_INPUT, "rank 2 (here): short: 63 bytes here, but 64 on rank 0");
    check_input_of_one(0, "none", STATUS_IO, "rank 2 (here): none: No such file or directory");
}
END_TEST

START_TEST(headers_that_differ)
{
    static const char form[] = "NRRD0004\ntype: uint8\ndimension: 3\nsizes: %s\nencoding: raw\n\n01234567";
    char text[200];
    struct ranks_run run;

    unlink("in");
    file_fill("in", text, (size_t)snprintf(text, sizeof text, form, "2 2 2"));
    file_fill("other", text, (size_t)snprintf(text, sizeof text, form, "4 2 1"));
    begin(&run, "", 2, DIVISION_PARTS);
    run.ranks[1].request.input = "other";
    make(&run);
    ck_assert(!run.ranks[0].done);
    ck_assert_str_eq(fault_reason(&run.ranks[0].fault) + strlen("other: "),
                     run.ranks[0].fault.text + strlen("rank 1 (here): other: "));
    ck_assert_ptr_nonnull(strstr(run.ranks[0].fault.text, " u8 here, but 2 "));
    end(&run);
    unlink("other");
}
END_TEST

/* What all of them meet is no rank's own. */
START_TEST(everybodys_faults)
{
    struct ranks_run run;

    fill_input(SAMPLE_U8, 64);
    begin(&run, "-n 4 -t u16", 3, DIVISION_PARTS);
    make(&run);
    ck_assert(!run.ranks[0].done);
    ck_assert_ptr_null(strstr(run.ranks[0].fault.text, "rank"));
    end(&run);
}
END_TEST

/* Nobody waits for a rank that has no memory for its team. */
START_TEST(a_team_without_memory)
{
    struct ranks_run run;

    fill_input(SAMPLE_U8, 64);
    begin(&run, "-n 4 -t u8", 3, DIVISION_PARTS);
    peers_threads_lack(run.threads, 1);
    make(&run);
    ck_all_failed(&run, STATUS_LIMIT, "rank 1 (here): no memory for a team");
    end(&run);
}
END_TEST

static const struct lost_run {
    const char *options;
    enum division_kind division;
} lost_runs[] = {{"-d 5,4,9 -t u8 --stats", DIVISION_PARTS},
                 {"-d 5,4,9 -t u8 --out-format raw.gz", DIVISION_PARTS},
                 {"-d 5,4,9 -t u8 --planes 3:5", DIVISION_PARTS},
                 {"-d 5,4,9 -t u8 -f heat -e wrap -f gauss:1 -e hold", DIVISION_CHEAPEST},
                 {"-d 5,4,9 -t u8 -s 3 --stats --preview p.png", DIVISION_SHARES},
                 {"-d 5,4,9 -t u8 --until 2 --check-every 2 -s 5", DIVISION_SHARES},
                 {"-d 5,4,9 -t u8 -s 2 --out-range auto", DIVISION_SHARES},
                 {"-d 5,4,9 -t u8 -s 5 --stats", DIVISION_PASSES},
                 {"-d 5,4,9 -t u8 --until 2 --check-every 2 -s 5 -e wrap", DIVISION_PASSES},
                 {"-d 5,4,9 -t u8 -s 3 --out-range auto --out-format raw.gz", DIVISION_PASSES},
                 {"-d 5,4,9 -t u8 -s 2 --tee 1:t1 --tee 0:t0.raw.gz", DIVISION_PARTS},
                 {"-d 5,4,9 -t u8 -s 2 --tee 1:t1 --tee 0:t0.raw.gz", DIVISION_SHARES},
                 {"-d 5,4,9 -t u8 -s 5 --out-format nii.gz --tee 3:t3.nii.gz", DIVISION_PASSES}};

/* Each call of a rank fails once: all of them end, and nothing is left but perhaps the output, which is
 * complete. */
static bool check_lost_call(const struct lost_run *lost, size_t index, unsigned long call, size_t files)
{
    struct ranks_run run;
    bool failed;

    begin(&run, lost->options, 3, lost->division);
    peers_threads_fail(run.threads, index, call);
    make(&run);
    failed = peers_threads_have_failed(run.threads);
    ck_assert(failed != run.ranks[index].done);
    for (size_t i = 0; i < run.count && failed; i++)
        ck_assert(run.ranks[i].done || run.ranks[i].fault.text[0] != '\0');
    for (size_t i = 0; i < count_outputs(&run); i++) {
        if (file_exists(output_of(&run, i)))
            ck_same_file(output_of(&run, i), alone_of(&run, i));
    }
    remove_outputs(&run);
    ck_assert_uint_eq(folder_count(), files);
    end(&run);
    return failed;
}

/* Make the outputs by one process, and set them aside. Returns how many files there are then. The run is to
   be ended. */
static size_t make_alone(struct ranks_run *run, const struct lost_run *lost)
{
    fill_input(SAMPLE_U8, 180);
    begin(run, lost->options, 1, DIVISION_CHEAPEST);
    make(run);
    set_outputs_aside(run);
    return folder_count();
}

START_TEST(calls_that_fail)
{
    struct ranks_run alone;
    unsigned long call = 1;
    size_t files = make_alone(&alone, &lost_runs[_i]);

    for (size_t index = 0; index < 3; index++) {
        for (call = 1; call < CALLS_MOST && check_lost_call(&lost_runs[_i], index, call, files); call++)
            continue;
        ck_assert_uint_gt(call, 10);
        ck_assert_uint_lt(call, CALLS_MOST);
    }
    remove_set_aside(&alone);
    end(&alone);
}
END_TEST

/* An allocation of a rank is refused: all of them end, and in the same way. Whether it came to that. */
static bool check_lacking(const struct lost_run *lost, size_t index, unsigned long allocation, size_t files)
{
    struct ranks_run run;
    bool lacked;

    begin(&run, lost->options, 3, lost->division);
    run.ranks[index].lacks = allocation;
    make(&run);
    lacked = run.ranks[index].lacks == 0;
    if (run.ranks[0].done) {
        for (size_t i = 0; i < run.count; i++)
            ck_assert(run.ranks[i].done);
        ck_same_outputs(&run);
        remove_outputs(&run);
    } else {
        ck_assert(lacked);
        for (size_t i = 0; i < run.count; i++) {
            ck_assert(!run.ranks[i].done);
            ck_assert_int_eq(run.ranks[i].fault.status, STATUS_LIMIT);
            ck_assert_ptr_nonnull(strstr(run.ranks[i].fault.text, "memory"));
        }
    }
    ck_assert_uint_eq(folder_count(), files);
    end(&run);
    return lacked;
}

/* Where there is too little for one division of the planes, another one may do. */
START_TEST(memory_that_is_lacking)
{
    struct ranks_run alone;
    size_t files = make_alone(&alone, &lost_runs[_i]);

    for (size_t index = 0; index < 3; index++) {
        unsigned long allocation = 1;
        while (check_lacking(&lost_runs[_i], index, allocation, files))
            allocation++;
        ck_assert_uint_gt(allocation, 5);
    }
    remove_set_aside(&alone);
    end(&alone);
}
END_TEST

/* A GPU in emulation is slow: it shows that ranks have one each, and what they hand over. */
static bool is_emulated(void)
{
    return strcmp(running_device, "cuda") == 0;
}

int main(void)
{
    TCase *same = tcase_create("same"), *faults = tcase_create("faults"), *cases[] = {same, faults};

    setenv("CUDA_EMULATION_DEVICES", "3", 1);
    tcase_add_loop_test(same, jobs, 0, (int)LENGTH(job_cases));
    tcase_add_test(same, devices_of_ranks);
    tcase_add_test(same, planes_in_transit);
    tcase_add_loop_test(faults, what_one_meets_ends_all_soon, DIVISION_PARTS, DIVISION_KINDS);
    if (is_emulated()) {
        tcase_add_test(same, a_rung_that_reads_more_than_the_taps);
        tcase_add_test(same, a_plan_fits_its_devices);
        tcase_add_test(same, memory_that_a_device_cannot_lock);
        return harness_run("ranks on GPUs", cases, LENGTH(cases), PATIENCE);
    }
    tcase_add_loop_test(same, edges_chains_and_types, 0, (int)(LENGTH(chains) * LENGTH(types)));
    tcase_add_test(same, ranks_that_are_of_no_use_are_idle);
    tcase_add_test(same, each_expects_its_own_planes);
    tcase_add_test(same, messages_are_looked_at_while_processors_compute);
    tcase_add_test(same, divisions);
    tcase_add_test(same, ranks_that_differ_do_not_share);
    tcase_add_loop_test(same, several_passes, 0, (int)LENGTH(passes_cases));
    tcase_add_test(same, passes_are_as_deep_at_all_ranks);
    tcase_add_test(same, a_fast_link_lets_ranks_share);
    tcase_add_test(same, links_are_measured);
    tcase_add_test(faults, inputs_that_differ);
    tcase_add_test(faults, headers_that_differ);
    tcase_add_test(faults, everybodys_faults);
    tcase_add_test(faults, a_team_without_memory);
    tcase_add_loop_test(faults, memory_that_is_lacking, 0, (int)LENGTH(lost_runs));
    tcase_add_loop_test(faults, calls_that_fail, 0, (int)LENGTH(lost_runs));
    return harness_run("ranks", cases, LENGTH(cases), PATIENCE);
}
