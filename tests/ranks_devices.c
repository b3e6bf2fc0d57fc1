/* The devices of ranks, and the memory that planes take on their way between them. */
#include "assertions.h"
#include "ranks_cases.h"
#include "ranks_run.h"
#include "running_device.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Each rank of a node has a device of its own, counted around. */
START_TEST(devices_of_ranks)
{
    int count = ranks_run_on_gpus() ? 3 : 1;
    struct ranks_run run;

    ranks_run_fill(SAMPLE_U8, 125);
    ranks_run_begin(&run, "-n 5 -t u8 -s 2", 5, SPLIT_PARTS);
    ranks_run_make(&run);
    for (int i = 0; i < 5; i++)
        ck_assert_int_eq(run.ranks[i].device, i % count);
    ranks_run_end(&run);
}
END_TEST

/* Planes on their way take no more memory than was planned, and for planes of whole pages no less. */
START_TEST(planes_in_transit)
{
    struct ranks_run run;

    ranks_run_fill(SAMPLE_F32, (size_t)32 * 32 * 40);
    for (size_t together = 1; together <= 4; together++) {
        ranks_run_begin(&run, "-d 32,32,40 -t f32 -s 2 --rung naive", 4, SPLIT_SHARES);
        peers_threads_part(run.threads, together);
        ranks_run_make(&run);
        ck_assert_msg(run.ranks[0].done, "%s", run.ranks[0].fault.text);
        ck_assert_int_eq(run.ranks[0].split.kind, SPLIT_SHARES);
        ck_assert_uint_eq(run.ranks[0].schedule.exchange_bytes, 4 * 32 * 32 * sizeof(float));
        ck_assert_uint_eq(peers_threads_most_bytes(run.threads), run.ranks[0].schedule.exchange_bytes);
        ranks_run_end(&run);
    }
}
END_TEST

/* A rung that was asked for reads planes of which nothing counts: they do not make edges wrap that do not. */
START_TEST(a_rung_that_reads_more_than_the_taps)
{
    ranks_run_check("-d 9,9,11 -t u8 -f matrix:0,1,0;1,2,1;0,1,0/8 -e wrap -f heat -e hold --rung plane",
                    SAMPLE_U8, 891);
}
END_TEST

static const char held_job[] = "-d 12,11,16 -t u8 -s 2 --out-range auto";

/* By one process. */
static void make_held_alone(void)
{
    struct ranks_run run;

    ranks_run_fill(SAMPLE_U8, (size_t)12 * 11 * 16);
    ranks_run_begin(&run, held_job, 1, SPLIT_CHEAPEST);
    ranks_run_make(&run);
    rename("out", "alone");
    ranks_run_end(&run);
}

/* With so much memory on each device, the job is done, or the plan refuses it. Returns the split, or
   SPLIT_KINDS after a refusal. */
static enum split_kind run_with_memory(size_t bytes)
{
    struct ranks_run run;
    enum split_kind kind;

    ranks_run_begin(&run, held_job, 3, SPLIT_SHARES);
    running_limit_memory(bytes);
    ranks_run_make(&run);
    running_limit_memory(0);
    for (size_t i = 0; i < run.count; i++)
        ck_assert_msg(run.ranks[i].done || strstr(run.ranks[i].fault.text, "are free") != NULL,
                      "%zu bytes: %s", bytes, run.ranks[i].fault.text);
    if (run.ranks[0].done)
        ranks_run_compare_file("out", "alone");
    kind = run.ranks[0].done ? run.ranks[0].split.kind : SPLIT_KINDS;
    unlink("out");
    ranks_run_end(&run);
    return kind;
}

START_TEST(a_plan_fits_its_devices)
{
    size_t found[SPLIT_KINDS + 1] = {0};

    make_held_alone();
    for (size_t bytes = 4000; bytes < 60000; bytes += bytes / 16)
        found[run_with_memory(bytes)]++;
    ck_assert_uint_gt(found[SPLIT_SHARES], 0);
    ck_assert_uint_gt(found[SPLIT_KINDS], 0);
    unlink("alone");
}
END_TEST

/* A device of one rank cannot use the memory that ranks of its node see: all send messages. */
START_TEST(memory_that_a_device_cannot_lock)
{
    make_held_alone();
    for (size_t together = 1; together <= 3; together++) {
        struct ranks_run run;
        ranks_run_begin(&run, held_job, 3, SPLIT_SHARES);
        peers_threads_part(run.threads, together);
        running_refuse_locks(true);
        ranks_run_make(&run);
        running_refuse_locks(false);
        for (size_t i = 0; i < run.count; i++) {
            ck_assert_msg(run.ranks[i].done, "%zu a node: %s", together, run.ranks[i].fault.text);
            ck_assert_int_eq(run.ranks[i].split.kind, SPLIT_SHARES);
        }
        ranks_run_compare_file("out", "alone");
        ck_assert_int_eq(peers_threads_most_bytes(run.threads) == 0, together == 3);
        ranks_run_end(&run);
    }
    unlink("alone");
}
END_TEST

TCase *ranks_devices_case(void)
{
    TCase *tests = tcase_create("devices");

    tcase_add_test(tests, devices_of_ranks);
    tcase_add_test(tests, planes_in_transit);
    if (ranks_run_on_gpus()) {
        tcase_add_test(tests, a_rung_that_reads_more_than_the_taps);
        tcase_add_test(tests, a_plan_fits_its_devices);
        tcase_add_test(tests, memory_that_a_device_cannot_lock);
    }
    return tests;
}
