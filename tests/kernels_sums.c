/* Sums in the order of arith.h. */
#include "fixture.h"
#include "kernels.h"
#include "reference.h"
#include "seam.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const size_t sum_extents[][3] = {{1, 1, 1},    {3, 5, 7},    {1023, 2, 1},
                                        {1024, 1, 3}, {1025, 3, 2}, {4099, 2, 2}};

static struct grid sum_grid(unsigned which)
{
    const size_t *extents = sum_extents[which / 2];
    unsigned axes = 2 + which % 2;

    return grid_make(axes, extents[0], extents[1], axes == 3 ? extents[2] : 1);
}

/* The sums of changes between two random fields. */
static void check_change(const struct way *way, const struct grid *grid, enum work_type work, enum cut cut)
{
    const unsigned channels = 2;
    const struct encoding plain = plain_encoding(work, channels);
    size_t pixels = grid->nx * grid->ny * grid->nz;
    struct seam seam = {.way = way, .shape = lower_shape(grid, channels), .work = work, .cut = cut};
    double *fields[2], sums[2] = {0.0, 0.0};
    struct range planes = {0, 0};
    struct fault fault;

    seam_open(&seam);
    for (size_t i = 0; i < 2; i++) {
        unsigned char *samples = fixture_memory(pixels * channels, work_size(work));
        fields[i] = fixture_memory(pixels * channels, sizeof(double));
        fill_samples(FILL_RANDOM, plain.type, samples, pixels * channels, 10 * cut + i);
        reference_decode(&plain, work, samples, pixels, fields[i]);
        seam_upload(&seam, seam.fields[i], &plain, samples);
        free(samples);
    }
    while (cut_next(cut, seam.shape.planes, &planes))
        ck_assert_msg(
            way->backend->change(way->device, seam.fields[0], seam.fields[1], channels, planes, sums, &fault),
            "%s", fault.text);
    for (unsigned c = 0; c < channels; c++) {
        double wanted = reference_change(grid, fields[0] + c * pixels, fields[1] + c * pixels);
        ck_assert_msg(memcmp(&sums[c], &wanted, sizeof wanted) == 0, "%s: %.17g, not %.17g", way->name,
                      sums[c], wanted);
    }
    seam_close(&seam);
    free(fields[0]);
    free(fields[1]);
}

START_TEST(change_is_summed_in_order)
{
    const struct grid grid = sum_grid((unsigned)_i);

    for (size_t i = 0; i < way_count; i++) {
        if (ways[i].rung != NULL)
            continue;
        ways_vary((uint64_t)_i);
        check_change(&ways[i], &grid, WORK_F32, (enum cut)((i + (size_t)_i) % CUTS));
        check_change(&ways[i], &grid, WORK_F64, (enum cut)((i + (size_t)_i / 2) % CUTS));
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

static void check_survey(const struct way *way, const struct encoding *encoding, const struct grid *grid,
                         uint64_t number)
{
    const struct shape shape = lower_shape(grid, encoding_work_channels(encoding));
    size_t pixels = grid->nx * grid->ny * grid->nz, samples = pixels * encoding->channels;
    size_t plane = shape.nx * shape.rows * encoding->channels * sample_size(encoding->type);
    unsigned char *native = fixture_memory(samples, sample_size(encoding->type)), *file;
    struct tally tallies[4] = {0};
    struct range planes = {0, 0};
    struct fault fault;

    fill_samples(FILL_RANDOM, encoding->type, native, samples, number);
    file = encoded_copy(encoding, native, samples);
    while (cut_next((enum cut)(number % CUTS), shape.planes, &planes))
        ck_assert_msg(way->backend->survey(way->device, encoding, &shape, file + planes.first * plane,
                                           planes.count, tallies, &fault),
                      "%s", fault.text);
    for (unsigned c = 0; c < encoding->channels; c++) {
        struct tally wanted = reference_tally(grid, encoding, c, file);
        ck_assert_msg(same_tally(&tallies[c], &wanted), "%s: %s, channel %u of %u, sum %.17g, not %.17g",
                      way->name, sample_name(encoding->type), c, encoding->channels, tallies[c].sum,
                      wanted.sum);
    }
    free(native);
    free(file);
}

/* Each grid sees every third encoding, the next grid the next ones. */
START_TEST(statistics_are_summed_in_order)
{
    const struct grid grid = sum_grid((unsigned)_i);

    for (unsigned i = (unsigned)_i % 3; i < SAMPLE_TYPES * 4; i += 3) {
        struct encoding encoding = {.type = (enum sample_type)(i % SAMPLE_TYPES), .swapped = i / 8 & 1};
        encoding.channels = 1 + i / SAMPLE_TYPES;
        ways_vary(i);
        for (size_t k = 0; k < way_count; k++) {
            if (ways[k].rung == NULL)
                check_survey(&ways[k], &encoding, &grid, i + k);
        }
    }
}
END_TEST

/* NaNs are left out, and a first sample that is not finite anchors nothing. */
START_TEST(statistics_leave_nans_out)
{
    static const float first_nan[] = {NAN, 3.0f, -NAN, 5.0f}, first_infinite[] = {-INFINITY, 1.0f, 2.0f};
    const struct encoding encoding = {.type = SAMPLE_F32, .channels = 1};
    const struct shape four = {4, 1, 1, 1}, three = {3, 1, 1, 1};
    const struct way *way = &ways[0];
    struct tally tally = {0}, infinite = {0};
    struct fault fault;

    ck_assert(way->backend->survey(way->device, &encoding, &four, first_nan, 1, &tally, &fault));
    ck_assert_uint_eq(tally.count, 2);
    ck_assert_uint_eq(tally.nans, 2);
    ck_assert_double_eq(tally.anchor, 0.0);
    ck_assert_double_eq(tally.min, 3.0);
    ck_assert_double_eq(tally.max, 5.0);
    ck_assert_double_eq(tally.sum, 8.0);
    ck_assert_double_eq(tally.squares, 34.0);
    ck_assert_double_eq(tally.energy, 34.0);
    ck_assert(way->backend->survey(way->device, &encoding, &three, first_infinite, 1, &infinite, &fault));
    ck_assert_double_eq(infinite.anchor, 0.0);
    ck_assert_double_eq(infinite.min, -(double)INFINITY);
    ck_assert_double_eq(infinite.sum, -(double)INFINITY);
}
END_TEST

static bool settle_sums(const struct way *way, const struct rung_wish *wish, const struct grid *grid,
                        struct form *form, struct fault *fault)
{
    const struct shape shape = lower_shape(grid, 1);

    return way->backend->settle_sums(way->device, &shape, WORK_F32, wish, form, fault);
}

/* Who adds, and in how large portions: NULL or 0 leaves it to the device. */
static void check_sums(const struct way *way, const struct rung_wish *wish, const struct grid *grid)
{
    const struct encoding encoding = {.type = SAMPLE_I16, .channels = 3, .swapped = true};
    struct fault fault;
    struct form form;

    if (!settle_sums(way, wish, grid, &form, &fault)) {
        ck_assert_msg(fault.status == STATUS_USAGE && wish->coarsen != 0, "%s", fault.text);
        return;
    }
    way->backend->add_by(way->device, &form);
    check_change(way, grid, WORK_F32, CUT_UNEVEN);
    check_survey(way, &encoding, grid, CUT_NONE);
}

/* Every way to add gives the same bytes; the device is left to its own choice again. */
START_TEST(any_rung_adds_the_same)
{
    static const unsigned coarsenings[] = {0, 1, 2, 4, 7, 8, 32};
    const struct rung_wish any = {.rung = NULL}, none = {.rung = "abacus"};
    const struct grid grid = sum_grid(2 * (unsigned)_i + 1);
    struct fault fault;
    struct form form;

    for (size_t i = 0; i < way_count; i++) {
        const struct backend *backend = ways[i].backend;
        if (ways[i].rung != NULL)
            continue;
        for (const struct rung *rung = backend->sum_rungs; rung->name != NULL; rung++) {
            for (size_t k = 0; k < LENGTH(coarsenings); k++) {
                ways_vary(k);
                check_sums(&ways[i], &(struct rung_wish){.rung = rung->name, .coarsen = coarsenings[k]},
                           &grid);
            }
        }
        ck_assert(!settle_sums(&ways[i], &none, &grid, &form, &fault));
        ck_assert_int_eq(fault.status, STATUS_USAGE);
        ck_assert(settle_sums(&ways[i], &any, &grid, &form, &fault));
        backend->add_by(ways[i].device, &form);
    }
}
END_TEST

TCase *sums_case(void)
{
    TCase *tests = tcase_create("sums");

    tcase_add_loop_test(tests, change_is_summed_in_order, 0, 2 * (int)LENGTH(sum_extents));
    tcase_add_loop_test(tests, statistics_are_summed_in_order, 0, 2 * (int)LENGTH(sum_extents));
    tcase_add_test(tests, statistics_leave_nans_out);
    tcase_add_loop_test(tests, any_rung_adds_the_same, 0, (int)LENGTH(sum_extents));
    return tests;
}
