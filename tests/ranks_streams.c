/* Several ranks and an input that can be read only from its beginning on: each rank reads all of it, and
   keeps the planes that are its own. */
#include "assertions.h"
#include "ranks_cases.h"
#include "ranks_run.h"

#include <stdio.h>
#include <string.h>

static const struct streams_case {
    const char *options;
    enum sample_type type;
    size_t samples;
} streams_cases[] = {{"-d 7,5,16 -t f32 -s 30 -e wrap --stats", SAMPLE_F32, 560},
                     {"-d 7,5,16 -t u8 -s 9 -e reflect", SAMPLE_U8, 560},
                     {"-d 7,5,16 -t f64 -s 9 -e constant:3 --planes 2:5", SAMPLE_F64, 560},
                     /* Halos that go all the way around. */
                     {"-d 7,5,9 -t u8 -f star:8 -s 4 -e wrap", SAMPLE_U8, 315},
                     {"-d 7,5,16 -t u8 -f gauss:1 -s 3 -e mirror -f heat -s 4 -e hold", SAMPLE_U8, 560},
                     {"-d 7,5,16 -t u8 -s 30 --until 0.5 --check-every 2 --stats", SAMPLE_U8, 560},
                     {"-d 7,5,16 --channels 2 -t f32 -s 9 --until 1e-9 -e wrap", SAMPLE_F32, 1120},
                     {"-d 7,5,16 -t u8 -f laplace -s 5 --out-range auto --out-type u16", SAMPLE_U8, 560},
                     {"-d 7,5,16 -t u8 -s 9 --tee 5:t5 --tee 0:t0.raw.gz", SAMPLE_U8, 560},
                     {"-d 7,5,16 -t u8 -s 9 -e wrap --planes 2:5 --tee 5:t5 --tee 0:t0", SAMPLE_U8, 560}};

START_TEST(each_reads_all)
{
    const struct streams_case *job = &streams_cases[_i];
    struct ranks_run alone, run;
    char options[160];

    snprintf(options, sizeof options, "--format raw.gz --out-format raw %s", job->options);
    ranks_run_fill(job->type, job->samples);
    ranks_run_pack();
    ranks_run_begin(&alone, options, 1, SPLIT_CHEAPEST);
    ranks_run_make(&alone);
    ranks_run_set_aside(&alone);
    for (size_t count = 2; count <= RANKS_RUN_MOST; count++) {
        ranks_run_begin(&run, options, count, SPLIT_SHARES);
        for (size_t i = 0; i < count; i++)
            run.ranks[i].request.plan.limits = (struct schedule_limits){.slab = 1, .batch = 1 + count % 3};
        ranks_run_make(&run);
        for (size_t i = 0; i < count; i++) {
            ck_assert_msg(run.ranks[i].done, "%s: %s", options, run.ranks[i].fault.text);
            ck_assert_int_eq(run.ranks[i].split.kind, SPLIT_SHARES);
            ck_assert_uint_eq(run.ranks[i].split.members, count);
        }
        ranks_run_compare(&run);
        ranks_run_compare_figures(&run.ranks[0].summary, &alone.ranks[0].summary,
                                  run.command.options.source.grid.channels);
        ranks_run_end(&run);
    }
    ranks_run_remove_aside(&alone);
    ranks_run_end(&alone);
}
END_TEST

/* The damage is behind the planes of the first ranks, who read it all the same. */
START_TEST(each_sees_damage)
{
    struct ranks_run run;

    ranks_run_fill(SAMPLE_U8, 560);
    ranks_run_pack();
    ranks_run_damage();
    ranks_run_begin(&run, "--format raw.gz --out-format raw -d 7,5,16 -t u8 -s 5", 3, SPLIT_SHARES);
    ranks_run_make(&run);
    for (size_t i = 0; i < run.count; i++) {
        ck_assert(!run.ranks[i].done);
        ck_assert_int_eq(run.ranks[i].fault.status, STATUS_INPUT);
        ck_assert_ptr_nonnull(strstr(run.ranks[i].fault.text, "in: "));
    }
    ck_assert(!file_exists("out"));
    ranks_run_end(&run);
}
END_TEST

TCase *ranks_streams_case(void)
{
    TCase *tests = tcase_create("streams");

    tcase_add_loop_test(tests, each_reads_all, 0, (int)LENGTH(streams_cases));
    tcase_add_test(tests, each_sees_damage);
    return tests;
}
