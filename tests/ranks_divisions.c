/* How ranks divide a job, how many of them, and what each then expects. */
#include "ranks_cases.h"
#include "ranks_run.h"

#include <check.h>

static double expected_bytes(const char *options, size_t count, enum division_kind division)
{
    struct ranks_run run;
    double bytes = 0.0;

    ranks_run_begin(&run, options, count, division);
    ranks_run_make(&run);
    for (size_t i = 0; i < count; i++) {
        ck_assert(run.ranks[i].done);
        ck_assert_uint_eq(run.ranks[i].division.members, count);
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
        double alone = expected_bytes(options[i], 1, DIVISION_CHEAPEST);
        ck_assert_double_eq(expected_bytes(options[i], 3, DIVISION_SHARES), alone);
    }
}
END_TEST

static bool divides(const char *options, size_t count, size_t idle)
{
    struct ranks_run run;
    size_t found = 0;

    ranks_run_begin(&run, options, count, DIVISION_PARTS);
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

static struct division division_of(const char *options, size_t count, enum division_kind wish)
{
    struct ranks_run run;
    struct division found;

    ranks_run_begin(&run, options, count, wish);
    ranks_run_make(&run);
    ck_assert_msg(run.ranks[0].done, "%s: %s", options, run.ranks[0].fault.text);
    found = run.ranks[0].division;
    ranks_run_end(&run);
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
    ranks_run_fill(SAMPLE_U8, (size_t)40 * 40 * 40);
    ck_division("-n 40 -t u8 -s 4", DIVISION_PARTS, DIVISION_PARTS);
    ck_division("-n 40 -t u8 -s 4", DIVISION_SHARES, DIVISION_SHARES);
    ck_division("-n 40 -t u8 -s 4", DIVISION_CHEAPEST, DIVISION_PARTS);
    ck_division("-n 40 -t u8 -f identity", DIVISION_CHEAPEST, DIVISION_PARTS);
    ck_division("-n 40 -t u8 --until 1 -s 9", DIVISION_SHARES, DIVISION_SHARES);
    ck_division("-n 40 -t u8 --until 1 -s 9", DIVISION_PARTS, DIVISION_ALONE);
    ck_division("-n 40 -t u8 -f heat -e wrap -f heat -e hold", DIVISION_SHARES, DIVISION_ALONE);
    ck_division("-n 40 -t u8 -f identity", DIVISION_SHARES, DIVISION_PARTS);
    /* Too little memory for a share: parts do with less, and one rank alone, in several passes, with the
     * least. */
    ck_division("-n 40 -t u8 -s 2 -m 190K", DIVISION_SHARES, DIVISION_PARTS);
    ck_division("-n 40 -t u8 --inner 40 --flux tanh --scale 9 --until 1 -s 9 -m 190K", DIVISION_SHARES,
                DIVISION_ALONE);
    ck_division("-n 40 -t u8 --inner 40 --flux tanh --scale 9 -s 12 -m 111K", DIVISION_PARTS, DIVISION_ALONE);
    ck_division("-n 40 -t u8 -s 12 -m 55K", DIVISION_SHARES, DIVISION_ALONE);
    ck_division("-n 40 -t u8 -s 2 --planes 3:4", DIVISION_PARTS, DIVISION_ALONE);
    /* So little to do that messages would take longer, and nothing that parts would save. */
    ck_division("-n 40 -t u8 -s 200", DIVISION_CHEAPEST, DIVISION_ALONE);
}
END_TEST

/* One rank takes its steps one by one, and the others several at once. */
static void check_unlike(const char *options, enum division_kind kind)
{
    struct ranks_run run;

    ranks_run_begin(&run, options, 3, DIVISION_SHARES);
    run.ranks[1].request.plan.wish.rung = "naive";
    ranks_run_make(&run);
    for (size_t i = 0; i < run.count; i++) {
        ck_assert_msg(run.ranks[i].done, "%s: %s", options, run.ranks[i].fault.text);
        ck_assert_int_eq(run.ranks[i].division.kind, kind);
    }
    if (kind == DIVISION_ALONE)
        ck_assert_str_eq(run.ranks[0].division.why,
                         "the ranks would take different numbers of steps at once");
    ck_assert_int_eq(run.ranks[0].division.setback != NULL, kind == DIVISION_PARTS);
    ranks_run_end(&run);
}

START_TEST(ranks_that_differ_do_not_share)
{
    ranks_run_fill(SAMPLE_U8, (size_t)40 * 40 * 40);
    check_unlike("-n 40 -t u8 -s 4", DIVISION_PARTS);
    check_unlike("-n 40 -t u8 -s 30", DIVISION_ALONE);
    check_unlike("-n 40 -t u8 -s 30 --out-range auto", DIVISION_ALONE);
    check_unlike("-n 40 -t u8 -s 1", DIVISION_SHARES);
}
END_TEST

TCase *ranks_divisions_case(void)
{
    TCase *tests = tcase_create("divisions");

    tcase_add_test(tests, ranks_that_are_of_no_use_are_idle);
    tcase_add_test(tests, each_expects_its_own_planes);
    tcase_add_test(tests, divisions);
    tcase_add_test(tests, ranks_that_differ_do_not_share);
    return tests;
}
