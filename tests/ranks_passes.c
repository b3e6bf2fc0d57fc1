/* Several passes by several ranks. */
#include "ranks_cases.h"
#include "ranks_run.h"

#include <check.h>

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

    ranks_run_fill(job->type, job->samples);
    ranks_run_begin(&alone, job->options, 1, DIVISION_CHEAPEST);
    ranks_run_make(&alone);
    ranks_run_set_aside(&alone);
    for (size_t count = 2; count <= RANKS_RUN_MOST; count++) {
        ranks_run_begin(&run, job->options, count, DIVISION_PASSES);
        for (size_t i = 0; i < count; i++)
            run.ranks[i].request.plan.limits =
                (struct schedule_limits){.slab = 1, .batch = 1, .depth = 1 + count % 4};
        ranks_run_make(&run);
        for (size_t i = 0; i < count; i++) {
            ck_assert_msg(run.ranks[i].done, "%s: %s", job->options, run.ranks[i].fault.text);
            ck_assert_int_eq(run.ranks[i].division.kind, DIVISION_PASSES);
            ck_assert_uint_gt(run.ranks[i].schedule.passes, 1);
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

/* Those with less memory make passes less deep, and the others as they do. */
START_TEST(passes_are_as_deep_at_all_ranks)
{
    struct ranks_run run;

    ranks_run_fill(SAMPLE_U8, (size_t)40 * 40 * 40);
    ranks_run_begin(&run, "-n 40 -t u8 -s 12 -m 900K", 3, DIVISION_PASSES);
    run.ranks[1].request.plan.memory = 165000;
    for (size_t i = 0; i < run.count; i++)
        run.ranks[i].request.plan.limits.depth = 0;
    ranks_run_make(&run);
    for (size_t i = 0; i < run.count; i++) {
        ck_assert_msg(run.ranks[i].done, "%s", run.ranks[i].fault.text);
        ck_assert_int_eq(run.ranks[i].division.kind, DIVISION_PASSES);
        ck_assert_uint_eq(run.ranks[i].schedule.depth, run.ranks[1].schedule.depth);
        ck_assert_uint_le(run.ranks[i].schedule.memory_bytes, i == 1 ? 165000 : 900 << 10);
    }
    ck_assert_uint_lt(run.ranks[1].schedule.depth, schedule_depth_among(40, 3));
    ranks_run_end(&run);
}
END_TEST

TCase *ranks_passes_case(void)
{
    TCase *tests = tcase_create("passes");

    tcase_add_loop_test(tests, several_passes, 0, (int)LENGTH(passes_cases));
    tcase_add_test(tests, passes_are_as_deep_at_all_ranks);
    return tests;
}
