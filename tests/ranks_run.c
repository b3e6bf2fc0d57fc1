/* Runs by several ranks, which are threads here, beside the run of one process. */
#include "ranks_run.h"

#include "cli/run_one.h"
#include "assertions.h"
#include "harness.h"
#include "running_device.h"
#include "scarcity.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

bool ranks_run_on_gpus(void)
{
    return strcmp(running_device, "cuda") == 0;
}

static void *run_rank(void *data)
{
    struct rank *rank = data;
    struct pipeline pipeline;

    scarcity_begin(&rank->lacks);
    rank->done = pipeline_open(&pipeline, &rank->request, &rank->fault) &&
                 pipeline_plan(&pipeline, &rank->fault) && pipeline_run(&pipeline, &rank->fault);
    snprintf(rank->changed, sizeof rank->changed, "%s", pipeline.changed != NULL ? pipeline.changed : "");
    rank->summary = pipeline.summary;
    rank->idle = pipeline.ranks.idle;
    rank->split = pipeline.ranks.split;
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

size_t ranks_run_outputs(const struct ranks_run *run)
{
    return 1 + run->command.options.tee_count;
}

const char *ranks_run_output(const struct ranks_run *run, size_t index)
{
    return index == 0 ? "out" : run->command.options.tees[index - 1].path;
}

const char *ranks_run_aside(const struct ranks_run *run, size_t index)
{
    static char name[64];

    snprintf(name, sizeof name, "alone-%s", ranks_run_output(run, index));
    return name;
}

void ranks_run_remove(const struct ranks_run *run)
{
    for (size_t i = 0; i < ranks_run_outputs(run); i++)
        unlink(ranks_run_output(run, i));
}

void ranks_run_set_aside(const struct ranks_run *run)
{
    for (size_t i = 0; i < ranks_run_outputs(run); i++)
        fixture_require(rename(ranks_run_output(run, i), ranks_run_aside(run, i)) == 0,
                        "the output of one process");
}

void ranks_run_remove_aside(const struct ranks_run *run)
{
    for (size_t i = 0; i < ranks_run_outputs(run); i++)
        unlink(ranks_run_aside(run, i));
}

/* The preview stays in memory; nothing is drawn. */
static void let_observe(struct rank *rank)
{
    rank->observer = (struct observer){&sections_kind, &rank->sections};
    rank->request.run.observers = (struct observers){&rank->observer, 1};
}

void ranks_run_begin(struct ranks_run *run, const char *options, size_t count, enum split_kind split)
{
    static unsigned long runs;
    char text[480];
    struct pipeline_request request;

    *run = (struct ranks_run){.count = count, .threads = peers_threads_open(count)};
    peers_threads_part(run->threads, 1 + runs % 4);
    running_vary(runs++);
    snprintf(text, sizeof text, "-i in -o out -q -j 1 -D %s %s", running_device, options);
    command_parse(&run->command, PROGRAM_VOXFILT, text);
    ck_assert_msg(run->command.parsed, "%s: %s", options, run->command.fault.text);
    ck_assert_uint_le(run->command.options.tee_count, RANKS_RUN_TEES);
    ranks_run_remove(run);
    request = run_one_request(&run->command.options, "in", "out");
    request.plan.split = split;
    for (size_t i = 0; i < count; i++) {
        run->ranks[i] = (struct rank){.request = request, .peers = peers_threads_peers(run->threads, i)};
        run->ranks[i].request.peers = &run->ranks[i].peers;
        run->ranks[i].request.tees = run->command.options.tees;
        run->ranks[i].request.tee_count = run->command.options.tee_count;
        run->ranks[i].request.plan.alone = run->ranks[i].request.plan.spread = true;
        run->ranks[i].request.plan.member = i;
        if (run->command.options.preview != NULL)
            let_observe(&run->ranks[i]);
    }
}

void ranks_run_make(struct ranks_run *run)
{
    for (size_t i = 0; i < run->count; i++)
        fixture_require(pthread_create(&run->ranks[i].thread, NULL, run_rank, &run->ranks[i]) == 0,
                        "a thread");
    for (size_t i = 0; i < run->count; i++)
        pthread_join(run->ranks[i].thread, NULL);
}

void ranks_run_end(struct ranks_run *run)
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

void ranks_run_compare_figures(const struct run_summary *own, const struct run_summary *wanted,
                               size_t channels)
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

void ranks_run_compare_file(const char *own, const char *wanted)
{
    size_t size, wanted_size;
    unsigned char *bytes = file_content(own, &size), *wanted_bytes = file_content(wanted, &wanted_size);

    ck_assert_uint_eq(size, wanted_size);
    ck_assert_mem_eq(bytes, wanted_bytes, size);
    free(bytes);
    free(wanted_bytes);
}

void ranks_run_compare(const struct ranks_run *run)
{
    for (size_t i = 0; i < ranks_run_outputs(run); i++)
        ranks_run_compare_file(ranks_run_output(run, i), ranks_run_aside(run, i));
}

static void check_ranks(const char *options, size_t count, enum split_kind split,
                        const struct ranks_run *alone)
{
    struct ranks_run run;

    ranks_run_begin(&run, options, count, split);
    ranks_run_make(&run);
    for (size_t i = 0; i < count; i++) {
        ck_assert_msg(run.ranks[i].done, "%s: rank %zu of %zu: %s", options, i, count,
                      run.ranks[i].fault.text);
        ck_assert_int_eq(run.ranks[i].status, alone->ranks[0].status);
    }
    ranks_run_compare(&run);
    ck_assert_mem_eq(run.ranks[0].of_tees, alone->ranks[0].of_tees, sizeof run.ranks[0].of_tees);
    ranks_run_compare_figures(&run.ranks[0].summary, &alone->ranks[0].summary,
                              run.command.options.source.grid.channels);
    ck_same_sections(&run.ranks[0].sections, &alone->ranks[0].sections);
    if (run.ranks[0].split.kind == SPLIT_SHARES)
        ck_assert_uint_le(peers_threads_most_bytes(run.threads), run.ranks[0].schedule.exchange_bytes);
    ranks_run_end(&run);
}

void ranks_run_fill(enum sample_type type, size_t samples)
{
    unsigned char *in = fixture_memory(samples, sample_size(type));

    fill_samples(sample_is_integer(type) ? FILL_RANDOM : FILL_SPECIAL, type, in, samples, 7);
    file_fill("in", in, samples * sample_size(type));
    free(in);
}

void ranks_run_pack(void)
{
    size_t size;
    unsigned char *in = file_content("in", &size);
    gzFile packed = gzopen("in", "wb6");

    fixture_require(packed != NULL && gzwrite(packed, in, (unsigned)size) == (int)size &&
                        gzclose(packed) == Z_OK,
                    "a compressed file");
    free(in);
}

void ranks_run_damage(void)
{
    size_t size;
    unsigned char *in = file_content("in", &size);

    in[size - 6] ^= 1;
    file_fill("in", in, size);
    free(in);
}

void ranks_run_check(const char *options, enum sample_type type, size_t samples)
{
    static const size_t counts[] = {1, 2, 3, 5, 8};
    static const enum split_kind splits[] = {SPLIT_PARTS, SPLIT_SHARES};
    static unsigned long jobs;
    struct ranks_run alone;
    size_t files;

    jobs++;
    ranks_run_fill(type, samples);
    ranks_run_begin(&alone, options, 1, SPLIT_CHEAPEST);
    alone.ranks[0].request.peers = NULL;
    ranks_run_make(&alone);
    ck_assert_msg(alone.ranks[0].done, "%s: %s", options, alone.ranks[0].fault.text);
    ranks_run_set_aside(&alone);
    files = folder_count();
    /* A job meets each count under one of the splits, and the next job meets it under the other: five runs of
       ten. */
    for (size_t i = 0; i < LENGTH(counts) * LENGTH(splits); i++) {
        if (running_turns() > 1 ? !harness_has_turn(i + samples, running_turns())
                                : (i / LENGTH(splits) + i + jobs) % LENGTH(splits) != 0)
            continue;
        check_ranks(options, counts[i / LENGTH(splits)], splits[i % LENGTH(splits)], &alone);
        ck_assert_uint_eq(folder_count(), files + ranks_run_outputs(&alone));
        ranks_run_remove(&alone);
    }
    ranks_run_remove_aside(&alone);
    ranks_run_end(&alone);
}
