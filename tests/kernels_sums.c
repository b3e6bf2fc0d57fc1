/* Sums in the order of voxfilt(7), ARITHMETIC. */
#include "assertions.h"
#include "fixture.h"
#include "kernels.h"
#include "reference.h"
#include "seam.h"

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

static size_t plane_pixels(const struct shape *shape)
{
    return shape->nx * shape->rows;
}

/* A plane alone, with as many axes as the grid. */
static struct grid grid_of_plane(const struct grid *grid)
{
    return grid_make(grid->axes, grid->nx, grid->axes == 3 ? grid->ny : 1, 1);
}

static void ck_changes(const struct way *way, const struct shape *shape, const struct grid *grid,
                       bool missing, double *const *fields, const double *sums)
{
    const struct grid plane = grid_of_plane(grid);
    size_t pixels = plane_pixels(shape);

    for (size_t i = 0; i < shape->planes * shape->channels; i++) {
        size_t at = i % shape->channels * shape->planes * pixels + i / shape->channels * pixels;
        double wanted = reference_change(&plane, missing, fields[0] + at, fields[1] + at);
        ck_assert_msg(memcmp(&sums[i], &wanted, sizeof wanted) == 0, "%s: %.17g, not %.17g", way->name,
                      sums[i], wanted);
    }
}

/* The sums of changes between two random fields, of the second of which some samples are missing or not. */
static void check_change(const struct way *way, const struct grid *grid, enum work_type work, bool missing,
                         enum cut cut)
{
    const unsigned channels = 2;
    const struct encoding plain = plain_encoding(work, channels);
    size_t pixels = grid->nx * grid->ny * grid->nz;
    struct seam seam = {.way = way, .shape = lower_shape(grid, channels), .work = work, .cut = cut};
    double *fields[2], *sums = fixture_memory(seam.shape.planes, channels * sizeof *sums);
    struct range planes = {0, 0};
    struct fault fault;

    seam_open(&seam);
    for (size_t i = 0; i < 2; i++) {
        unsigned char *samples = fixture_memory(pixels * channels, work_size(work));
        fields[i] = fixture_memory(pixels * channels, sizeof(double));
        fill_samples(FILL_RANDOM, plain.type, samples, pixels * channels, 10 * cut + i);
        for (size_t k = i; missing && i == 1 && k < pixels * channels; k += 3)
            memset(samples + k * work_size(work), 0xff, work_size(work));
        reference_decode(&plain, work, samples, NULL, pixels, fields[i]);
        seam_upload(&seam, seam.fields[i], &plain, samples);
        free(samples);
    }
    while (cut_next(cut, seam.shape.planes, &planes))
        ck_assert_msg(way->backend->change(way->device, seam.fields[0], seam.fields[1], channels, missing,
                                           planes, sums + planes.first * channels, &fault),
                      "%s", fault.text);
    ck_changes(way, &seam.shape, grid, missing, fields, sums);
    seam_close(&seam);
    free(sums);
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
        check_change(&ways[i], &grid, WORK_F32, _i % 2 == 0, (enum cut)((i + (size_t)_i) % CUTS));
        check_change(&ways[i], &grid, WORK_F64, _i % 2 == 1, (enum cut)((i + (size_t)_i / 2) % CUTS));
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

static void ck_tallies(const struct way *way, const struct encoding *encoding, const struct grid *grid,
                       const unsigned char *file, const struct tally *tallies)
{
    const struct shape shape = lower_shape(grid, encoding->channels);
    size_t plane = plane_pixels(&shape) * encoding->channels * sample_size(encoding->type);

    for (size_t i = 0; i < shape.planes * encoding->channels; i++) {
        unsigned channel = (unsigned)(i % encoding->channels);
        struct tally wanted =
            reference_plane_tally(grid, encoding, channel, file + i / encoding->channels * plane);
        ck_assert_msg(same_tally(&tallies[i], &wanted), "%s: %s, channel %u of %u, sum %.17g, not %.17g",
                      way->name, sample_name(encoding->type), channel, encoding->channels, tallies[i].sum,
                      wanted.sum);
    }
}

static void check_tally(const struct way *way, const struct encoding *encoding, const struct grid *grid,
                        uint64_t number)
{
    const struct shape shape = lower_shape(grid, encoding_work_channels(encoding));
    size_t samples = shape.planes * plane_pixels(&shape) * encoding->channels;
    size_t plane = plane_pixels(&shape) * encoding->channels * sample_size(encoding->type);
    unsigned char *native = fixture_memory(samples, sample_size(encoding->type)), *file;
    struct tally *tallies = fixture_memory(shape.planes * encoding->channels, sizeof *tallies);
    struct range planes = {0, 0};
    struct fault fault;

    fill_samples(number % 2 == 0 ? FILL_RANDOM : FILL_SPECIAL, encoding->type, native, samples, number);
    file = encoded_copy(encoding, native, samples);
    while (cut_next((enum cut)(number % CUTS), shape.planes, &planes))
        ck_assert_msg(way->backend->tally(way->device, encoding, &shape, file + planes.first * plane,
                                          planes.count, tallies + planes.first * encoding->channels, &fault),
                      "%s", fault.text);
    ck_tallies(way, encoding, grid, file, tallies);
    free(native);
    free(file);
    free(tallies);
}

/* Each grid sees every third encoding, the next grid the next ones. */
START_TEST(statistics_are_summed_in_order)
{
    const struct grid grid = sum_grid((unsigned)_i);

    for (unsigned i = (unsigned)_i % 3; i < SAMPLE_TYPES * 4; i += 3) {
        struct encoding encoding = {
            .type = (enum sample_type)(i % SAMPLE_TYPES), .swapped = i / 8 & 1, .marked = i / 2 % 2};
        encoding.channels = 1 + i / SAMPLE_TYPES;
        ways_vary(i);
        for (size_t k = 0; k < way_count; k++) {
            if (ways[k].rung == NULL)
                check_tally(&ways[k], &encoding, &grid, i + k);
        }
    }
}
END_TEST

/* NaNs are left out, and the first sample that is finite is the anchor. */
START_TEST(statistics_leave_nans_out)
{
    static const float samples[] = {NAN,  3.0f, -NAN, 5.0f, -INFINITY, 1.0f,
                                    2.0f, 2.0f, NAN,  NAN,  INFINITY,  NAN};
    const struct encoding encoding = {.type = SAMPLE_F32, .channels = 1};
    const struct shape shape = {.nx = 4, .rows = 1, .planes = 3, .channels = 1};
    const struct way *way = &ways[0];
    struct tally tallies[3];
    struct fault fault;

    ck_assert(way->backend->tally(way->device, &encoding, &shape, samples, 3, tallies, &fault));
    ck_assert_uint_eq(tallies[0].count, 2);
    ck_assert_uint_eq(tallies[0].nans, 2);
    ck_assert_double_eq(tallies[0].anchor, 3.0);
    ck_assert_double_eq(tallies[0].min, 3.0);
    ck_assert_double_eq(tallies[0].max, 5.0);
    ck_assert_double_eq(tallies[0].sum, 2.0);
    ck_assert_double_eq(tallies[0].squares, 4.0);
    ck_assert_double_eq(tallies[0].energy, 34.0);
    ck_assert_double_eq(tallies[1].anchor, 1.0);
    ck_assert_double_eq(tallies[1].min, -(double)INFINITY);
    ck_assert_double_eq(tallies[1].sum, -(double)INFINITY);
    ck_assert_double_eq(tallies[2].anchor, 0.0);
    ck_assert_uint_eq(tallies[2].count, 1);
    ck_assert_double_eq(tallies[2].sum, (double)INFINITY);
}
END_TEST

/* A total about the first plane's anchor: of planes about 100 and about −20, as of all their samples. */
START_TEST(tallies_of_planes_are_added_about_one_anchor)
{
    static const double samples[] = {100.0, 101.0, 103.0, -20.0, NAN, -26.0, NAN, NAN, NAN};
    const struct encoding encoding = {.type = SAMPLE_F64, .channels = 1};
    const struct shape shape = {.nx = 3, .rows = 1, .planes = 3, .channels = 1};
    const struct way *way = &ways[0];
    struct tally planes[3], total = {.anchored = false};
    struct fault fault;

    ck_assert(way->backend->tally(way->device, &encoding, &shape, samples, 3, planes, &fault));
    for (size_t i = 0; i < 3; i++)
        tally_add_plane(&total, &planes[i]);
    ck_assert_double_eq(total.anchor, 100.0);
    ck_assert_uint_eq(total.count, 5);
    ck_assert_uint_eq(total.nans, 4);
    ck_assert_double_eq(total.min, -26.0);
    ck_assert_double_eq(total.max, 103.0);
    ck_assert_double_eq(total.sum, 4.0 - 120.0 - 126.0);
    ck_assert_double_eq(total.squares, 10.0 + 14400.0 + 15876.0);
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
    check_change(way, grid, WORK_F32, false, CUT_UNEVEN);
    check_tally(way, &encoding, grid, CUT_NONE);
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
    tcase_add_test(tests, tallies_of_planes_are_added_about_one_anchor);
    tcase_add_loop_test(tests, any_rung_adds_the_same, 0, (int)LENGTH(sum_extents));
    return tests;
}
