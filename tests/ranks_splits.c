/* How ranks divide a job, how many of them, and what each then expects. */
#include "assertions.h"
#include "ranks_cases.h"
#include "ranks_run.h"

static double expected_bytes(const char *options, size_t count, enum split_kind split)
{
    struct ranks_run run;
    double bytes = 0.0;

    ranks_run_begin(&run, options, count, split);
    ranks_run_make(&run);
    for (size_t i = 0; i < count; i++) {
        ck_assert(run.ranks[i].done);
        ck_assert_uint_eq(run.ranks[i].split.members, count);
        bytes += run.ranks[i].moved_bytes;
    }
    ranks_run_end(&run);
    return bytes;
}

/* All ranks together move what one process would. */
START_TEST(each_expects_its_own_planes)
{
    static const char *const options[] = {"-d 5,4,9 -t u8 -f gauss:1", "-d 5,4,9 -t u8 -f gauss:1 --until 2",
                                          "-d 5,4,9 -t u8 -f gauss:1 --out-range auto"};

    ranks_run_fill(SAMPLE_U8, 180);
    for (size_t i = 0; i < LENGTH(options); i++) {
        double alone = expected_bytes(options[i], 1, SPLIT_CHEAPEST);
        ck_assert_double_eq(expected_bytes(options[i], 3, SPLIT_SHARES), alone);
    }
}
END_TEST

static bool divides(const char *options, size_t count, size_t idle)
{
    struct ranks_run run;
    size_t found = 0;

    ranks_run_begin(&run, options, count, SPLIT_PARTS);
    ranks_run_make(&run);
    for (size_t i = 0; i < count; i++)
        found += run.ranks[i].idle;
    ranks_run_end(&run);
    return found == idle;
}

START_TEST(ranks_that_are_of_no_use_are_idle)
{
    ranks_run_fill(SAMPLE_U8, 125);
    ck_assert(divides("-n 5 -t u8", 5, 0));
    ck_assert(divides("-n 5 -t u8", 8, 3));
    ck_assert(divides("-n 5 -t u8 --planes 1:3", 4, 2));
    ck_assert(divides("-n 5 -t u8 --until 3", 3, 2));
    ck_assert(divides("-n 5 -t u8 --out-range auto", 3, 2));
}
END_TEST

static struct split split_of(const char *options, size_t count, enum split_kind wish)
{
    struct ranks_run run;
    struct split found;

    ranks_run_begin(&run, options, count, wish);
    ranks_run_make(&run);
    ck_assert_msg(run.ranks[0].done, "%s: %s", options, run.ranks[0].fault.text);
    found = run.ranks[0].split;
    ranks_run_end(&run);
    return found;
}

static void ck_split(const char *options, enum split_kind wish, enum split_kind kind)
{
    struct split found = split_of(options, 3, wish);

    ck_assert_msg(found.kind == kind, "%s: it is %d", options, (int)found.kind);
    ck_assert_int_eq(found.members == 1, kind == SPLIT_ALONE);
    if (kind == wish)
        ck_assert_uint_eq(found.members, 3);
    ck_assert_int_eq(found.why != NULL, kind == SPLIT_ALONE);
}

/* What can be, and what is chosen. */
START_TEST(splits)
{
    ranks_run_fill(SAMPLE_U8, (size_t)40 * 40 * 40);
    ck_split("-n 40 -t u8 -s 4", SPLIT_PARTS, SPLIT_PARTS);
    ck_split("-n 40 -t u8 -s 4", SPLIT_SHARES, SPLIT_SHARES);
    ck_split("-n 40 -t u8 -s 4", SPLIT_CHEAPEST, SPLIT_PARTS);
    ck_split("-n 40 -t u8 -f identity", SPLIT_CHEAPEST, SPLIT_PARTS);
    ck_split("-n 40 -t u8 --until 1 -s 9", SPLIT_SHARES, SPLIT_SHARES);
    ck_split("-n 40 -t u8 --until 1 -s 9", SPLIT_PARTS, SPLIT_ALONE);
    ck_split("-n 40 -t u8 -f heat -e wrap -f heat -e hold", SPLIT_SHARES, SPLIT_ALONE);
    ck_split("-n 40 -t u8 -f identity", SPLIT_SHARES, SPLIT_PARTS);
    /* Too little memory for a share: parts do with less, and one rank alone, in several passes, with the
     * least. */
    ck_split("-n 40 -t u8 -s 2 -m 190K", SPLIT_SHARES, SPLIT_PARTS);
    ck_split("-n 40 -t u8 --inner 40 --flux tanh --scale 9 --until 1 -s 9 -m 190K", SPLIT_SHARES,
             SPLIT_ALONE);
    ck_split("-n 40 -t u8 --inner 40 --flux tanh --scale 9 -s 12 -m 111K", SPLIT_PARTS, SPLIT_ALONE);
    ck_split("-n 40 -t u8 -s 12 -m 55K", SPLIT_SHARES, SPLIT_ALONE);
    ck_split("-n 40 -t u8 -s 2 --planes 3:4", SPLIT_PARTS, SPLIT_ALONE);
    /* So little to do that messages would take longer, and nothing that parts would save. */
    ck_split("-n 40 -t u8 -s 200", SPLIT_CHEAPEST, SPLIT_ALONE);
}
END_TEST

/* One rank takes its steps one by one, and the others several at once. */
static void check_unlike(const char *options, enum split_kind kind)
{
    struct ranks_run run;

    ranks_run_begin(&run, options, 3, SPLIT_SHARES);
    run.ranks[1].request.plan.wish.rung = "naive";
    ranks_run_make(&run);
    for (size_t i = 0; i < run.count; i++) {
        ck_assert_msg(run.ranks[i].done, "%s: %s", options, run.ranks[i].fault.text);
        ck_assert_int_eq(run.ranks[i].split.kind, kind);
    }
    if (kind == SPLIT_ALONE)
        ck_assert_str_eq(run.ranks[0].split.why, "the ranks would take different numbers of steps at once");
    ck_assert_int_eq(run.ranks[0].split.setback != NULL, kind == SPLIT_PARTS);
    ranks_run_end(&run);
}

START_TEST(ranks_that_differ_do_not_share)
{
    ranks_run_fill(SAMPLE_U8, (size_t)40 * 40 * 40);
    check_unlike("-n 40 -t u8 -s 4", SPLIT_PARTS);
    check_unlike("-n 40 -t u8 -s 30", SPLIT_ALONE);
    check_unlike("-n 40 -t u8 -s 30 --out-range auto", SPLIT_ALONE);
    check_unlike("-n 40 -t u8 -s 1", SPLIT_SHARES);
}
END_TEST

TCase *ranks_splits_case(void)
{
    TCase *tests = tcase_create("splits");

    tcase_add_test(tests, ranks_that_are_of_no_use_are_idle);
    tcase_add_test(tests, each_expects_its_own_planes);
    tcase_add_test(tests, splits);
    tcase_add_test(tests, ranks_that_differ_do_not_share);
    return tests;
}
