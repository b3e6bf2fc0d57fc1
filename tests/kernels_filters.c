/* Every filter under every edge rule, in every work type, on extents that are awkward. */
#include "model/filter.h"
#include "assertions.h"
#include "fixture.h"
#include "harness.h"
#include "kernels.h"
#include "trial.h"

#include <stdio.h>

enum {
    ROD = 1 << 1,
    FLAT = 1 << 2,
    SOLID = 1 << 3,
    EITHER = FLAT | SOLID,
    ANY = ROD | EITHER
}; /* grids by their axes */

/* ---- what is tried ---- */

/* Filters that take arguments, with some; those without are found in filter_list. */
static const struct spec {
    const char *text;
    unsigned grids;
} specs[] = {
    {"gauss:0.4", ANY},
    {"gauss:1", ANY},
    {"gauss:0.7,order=1,0,0", ANY},
    {"gauss:0.5,order=2,1", FLAT},
    {"gauss:0.6,order=0,3,1", SOLID},
    {"log:0.6", ANY},
    {"dog:0.4,0.9", ANY},
    {"gradmag:0.6", ANY},
    {"gauss:1,0.4,0", SOLID},
    {"gauss:0.3,1.2", FLAT},
    {"bilateral:0.2,1", ANY},
    {"bilateral:0.5,0.4", ANY},
    {"bilateral:1,2", ANY},
    {"box:0", ANY},
    {"box:2,0,1", SOLID},
    {"box:0,3", FLAT},
    {"box:1", ANY},
    {"box:3", ANY},
    {"star:2", ANY},
    {"star:4", ANY},
    {"star:6", ANY},
    {"star:8", ANY},
    {"sobel:x", ANY},
    {"sobel:y", EITHER},
    {"sobel:z", SOLID},
    {"prewitt:x", ANY},
    {"prewitt:y", EITHER},
    {"prewitt:z", SOLID},
    {"unsharp:0.6,1.5", ANY},
    {"scale:-1.5,0.25", ANY},
    {"clamp:-0.25,0.5", ANY},
    {"threshold:0.1", ANY},
    {"threshold:-0,2.5,-1", ANY},
    {"power:2", ANY},
    {"power:-3", ANY},
    {"power:0.4", ANY},
    {"median:0", ANY},
    {"median:1", ANY},
    {"median:2", ANY},
    {"median:3", ROD | FLAT},
    {"median:2,ball", ANY},
    {"median:2,x", ANY},
    {"median:1,y", EITHER},
    {"median:3,z", SOLID},
    {"min:1", ANY},
    {"min:3,ball", ANY},
    {"max:2", ANY},
    {"max:9", ROD | FLAT},
    {"max:4,y", EITHER},
    {"erode:2,ball", EITHER},
    {"dilate:1", ANY},
    {"open:1", ANY},
    {"close:2,ball", ROD | FLAT},
    {"tophat:2", ROD | FLAT},
    {"tophat:1,ball", ANY},
    {"blackhat:1", ANY},
    {"morphgrad:1", ANY},
    {"morphgrad:2,ball", EITHER},
    {"order:1,2", ANY},
    {"order:2,7,ball", EITHER},
    {"percentile:1,30", ANY},
    {"percentile:2,100,ball", ANY},
    {"seven:0.3,-0.1,0.7,1.1,0.13,0,0", EITHER},
    {"seven:0.3,-0.1,0.7,0,0,0,0", ANY},
    {"seven:0,0.1,0.2,0.3,0.4,0.5,0.6", SOLID},
    {"twentyseven:0.3,0.06,-0.02,0.01", SOLID},
    {"twentyseven:.1,.2,.3,.4,.5,.6,.7,.8,.9,1,1.1,1.2,1.3,1.4,1.5,1.6,1.7,1.8,1.9,2,2.1,2.2,2.3,2.4,2.5,2.6,"
     "2.7",
     SOLID},
    {"matrix:1,2,1;2,4,2;1,2,1/16", EITHER},
    {"matrix:1,0.5;0.25,-3", EITHER},
    {"matrix:1,0.5,-2,0.1", ANY},
    {"matrix:1,2,0,-7,0.1", EITHER},
    {"taps:lopsided.taps", EITHER},
    {"taps:solid.taps", SOLID},
    {"taps:none.taps", ANY},
};

static const size_t solid_extents[][3] = {{1, 1, 1}, {1, 7, 3}, {5, 1, 1},  {1, 1, 4},
                                          {2, 3, 2}, {3, 5, 7}, {8, 2, 11}, {17, 13, 11}};
static const size_t flat_extents[][3] = {{1, 1, 1}, {1, 7, 1}, {5, 1, 1}, {2, 2, 1}, {3, 5, 1}, {31, 19, 1}};

static const size_t rod_extents[][3] = {{1}, {2}, {5}, {31}, {130}, {1027}};

static struct grid grid_of(unsigned axes, const size_t extents[3])
{
    return grid_make(axes, extents[0], axes > 1 ? extents[1] : 1, axes == 3 ? extents[2] : 1);
}

/* The extents that a stencil of radius r finds awkward, along each axis in turn. */
static void check_radius_extents(struct trial trial, unsigned axes)
{
    struct command command;
    struct stage stage;
    size_t r;

    command_parse(&command, PROGRAM_VOXFILT, trial.options);
    trial.grid = grid_make(axes, 1, 1, 1);
    command_stage(&command, &trial.grid, &stage);
    r = (size_t)stage_radius(&stage);
    stage_free(&stage);
    command_free(&command);
    for (size_t turn = 0; turn < 3; turn++) {
        const size_t sizes[5] = {r, 2 * r, 2 * r + 1, r, 2 * r};
        trial.grid = grid_of(axes, sizes + turn);
        trial_check(&trial, false);
    }
}

static void check_extents(struct trial trial, unsigned axes)
{
    const size_t(*extents)[3] = axes == 3 ? solid_extents : axes == 2 ? flat_extents : rod_extents;
    size_t count = axes == 3 ? LENGTH(solid_extents) : axes == 2 ? LENGTH(flat_extents) : LENGTH(rod_extents);

    for (size_t i = 0; i < count; i++) {
        trial.grid = grid_of(axes, extents[i]);
        trial.fill = FILL_RANDOM;
        trial_check(&trial, false);
        trial.fill = FILL_SPECIAL;
        if (i >= count - 3)
            trial_check(&trial, false);
    }
    trial.fill = FILL_RANDOM;
    check_radius_extents(trial, axes);
}

/* A stage with options under every edge rule and work type. */
static void check_trials(const char *stage_options, unsigned grids, bool missing)
{
    char options[400];

    for (size_t edge = 0; edge < EDGE_RULES; edge++) {
        snprintf(options, sizeof options, "%s -e %s", stage_options, edge_option(edge));
        for (unsigned axes = 1; axes <= 3; axes++) {
            struct trial trial = {.options = options, .missing = missing};
            for (int work = WORK_F32; work <= WORK_F64 && (grids & 1U << axes); work++) {
                trial.work = (enum work_type)work;
                check_extents(trial, axes);
            }
        }
    }
}

static void check_options(const char *stage_options, unsigned grids)
{
    check_trials(stage_options, grids, false);
}

static void check_spec(const char *spec, unsigned grids)
{
    char options[400];

    snprintf(options, sizeof options, "-f %s", spec);
    check_options(options, grids);
}

/* ---- the tests ---- */

static bool is_spec_of(const char *spec, const struct filter *filter)
{
    struct filter_call call;
    struct fault fault;
    bool is = filter_parse(spec, &call, &fault) && call.filter == filter;

    filter_call_free(&call);
    return is;
}

/* A new filter without arguments is tried by its name; one with arguments needs a line in the table above. */
START_TEST(every_filter_is_tried)
{
    for (const struct filter *filter = filter_list; filter->name != NULL; filter++) {
        bool found = filter->arguments == ARGUMENTS_NONE;
        for (size_t i = 0; i < LENGTH(specs); i++)
            found = found || is_spec_of(specs[i].text, filter);
        ck_assert_msg(found, "%s: the table of specs in kernels_filters.c has none of it", filter->name);
    }
}
END_TEST

START_TEST(filters_without_arguments)
{
    for (const struct filter *filter = filter_list; filter->name != NULL; filter++) {
        if (filter->arguments == ARGUMENTS_NONE)
            check_spec(filter->name, ANY);
    }
}
END_TEST

START_TEST(filters_with_arguments)
{
    check_spec(specs[_i].text, specs[_i].grids);
}
END_TEST

/* Asymmetric taps, convolved. */
START_TEST(flipped_filters)
{
    check_options("-f taps:lopsided.taps --flip", EITHER);
    check_options("-f taps:solid.taps --flip", SOLID);
    check_options("-f matrix:1,0.5;0.25,-3 --flip", EITHER);
    check_options("-f sobel:x --flip", ANY);
}
END_TEST

static const struct spec partial[] = {
    {"-f gauss:0.7 --axes y", EITHER},
    {"-f gauss:1,0.4 --axes xz -s 2", SOLID},
    {"-f box:2,1 --axes yz", SOLID},
    {"-f unsharp:0.6,1.5 --axes xy", SOLID},
    {"-f log:0.6 --axes xz", SOLID},
    {"-f gradmag:0.6 --axes y", EITHER},
    {"-f median:1 --axes xz", SOLID},
    {"-f max:2 --axes y", EITHER},
    {"-f laplace --axes yz --spacing 1,2,0.5", SOLID},
    {"-f star:4 --axes y", EITHER},
    {"-f sobel:x --axes xz", SOLID},
    {"-f gradient --axes xz --spacing 0.3,1.7,2", SOLID},
    {"-f heat --axes xy -s 3", SOLID},
    {"-f heat --axes z -s 4", SOLID},
    {"-f heat --axes yz --flux pm1 --scale 0.5 -s 2", SOLID},
    {"-f heat --axes x --flux pm2 --scale 0.5 --inner 2 --reaction 0.1", EITHER},
    {"-f heat --axes xz --flux tanh --scale 0.7 -s 2 --spacing 1,2,0.5", SOLID},
};

START_TEST(some_of_the_axes)
{
    check_options(partial[_i].text, partial[_i].grids);
}
END_TEST

static const char *const heats[] = {
    "--steps 3",
    "--steps 1 --dt 0",
    "--steps 2 --inner 3",
    "--steps 2 --reaction 0.9",
    "--steps 2 --flux tanh --scale 0.7",
    "--steps 2 --flux tanh --scale 1 --inner 3 --reaction -0.2",
    "--steps 1 --flux tanh --scale 1 --dt 0",
    "--steps 2 --flux pm1 --scale 0.3",
    "--steps 2 --flux pm1 --scale 1 --inner 3 --dt 0.1 --alpha 1.3",
    "--steps 2 --flux pm2 --scale 3",
    "--steps 2 --flux pm2 --inner 2 --reaction 0.05 --scale 0.9",
    "--steps 1 --flux pm2 --scale 1 --dt 0",
    "--steps 2 --spacing 1,2.5,0.7",
    "--steps 2 --spacing 0.3,1,1.1 --flux tanh --scale 1",
    "--steps 2 --spacing 1,0.9,3 --flux pm1 --scale 1",
    "--sigma 0.8",
};

START_TEST(heat_of_every_kind)
{
    char options[300];

    snprintf(options, sizeof options, "-f heat %s", heats[_i]);
    check_options(options, ANY);
}
END_TEST

START_TEST(several_steps)
{
    check_options("-f gauss:0.5 --steps 3", ANY);
    check_options("-f unsharp:0.5,0.7 --steps 3", ANY);
    check_options("-f close:1 --steps 2", ANY);
    check_options("-f morphgrad:1 --steps 3", ANY);
    check_options("-f tophat:1 --steps 2", ANY);
    check_options("-f log:0.5 --steps 2", ANY);
    check_options("-f gradmag:0.4 --steps 2", ANY);
    check_options("-f gradient --steps 2", ANY);
    check_options("-f laplace --steps 4", ANY);
    check_options("-f laplace --steps 0", ANY);
}
END_TEST

/* Distances, and distances so large that f32 has no weight for what lies along them. */
START_TEST(spaced_derivatives)
{
    check_options("-f gradient --steps 2 --spacing 0.3,1.7,2", ANY);
    check_options("-f gradient --spacing 1e60,0.7,3", EITHER);
    check_options("-f laplace --spacing 0.3,1.7,2", ANY);
    check_options("-f star:6 --spacing 2,1e40,0.9", EITHER);
    check_options("-f sobel:y --spacing 1,0.6,1", EITHER);
    check_options("-f gauss:0.5,order=1,2,0 --spacing 2,0.6,1", EITHER);
    check_options("-f bilateral:0.8u,0.5 --spacing 2,0.6,1", EITHER);
    check_options("-f log:0.8u --spacing 2,0.6,1", ANY);
    check_options("-f gradmag:0.5 --spacing 1e-3,0.6,2", ANY);
}
END_TEST

/* Rows as long as the blocks that they are computed in, and the leaves that they are summed in, and one more
 * or less. */
START_TEST(long_rows)
{
    static const size_t lengths[] = {1023, 1024, 1025, 2047, 2048, 2049};
    static const char *const stages[] = {"-f heat --steps 2",
                                         "-f taps:lopsided.taps",
                                         "-f box:2",
                                         "-f unsharp:1,2",
                                         "-f gradmag:0.6",
                                         "-f bilateral:0.5,0.7",
                                         "-f gradient",
                                         "-f heat --flux pm1 --scale 1",
                                         "-f heat --flux tanh --scale 1 --steps 1"};
    char options[200];

    for (size_t i = 0; i < LENGTH(stages) * EDGE_RULES; i++) {
        snprintf(options, sizeof options, "%s -e %s", stages[i / EDGE_RULES], edge_option(i % EDGE_RULES));
        for (size_t k = 0; k < LENGTH(lengths); k++) {
            const size_t extents[3] = {lengths[k], 2, 1 + k % 2};
            const struct trial trial = {.options = options,
                                        .grid = grid_of(2 + (unsigned)(i + k) % 2, extents),
                                        .work = (i + k / 2) % 2 == 0 ? WORK_F32 : WORK_F64};
            trial_check(&trial, false);
        }
    }
}
END_TEST

/* The same bytes from each way, on grids with channels. */
START_TEST(every_way)
{
    static const char *const stages[] = {"-f heat --flux pm2 --scale 1",
                                         "-f gauss:1.5",
                                         "-f unsharp:1,0.5",
                                         "-f log:1",
                                         "-f gradmag:0.8 -s 2",
                                         "-f dog:1,1.4",
                                         "-f gradient -s 2",
                                         "-f sobel:y",
                                         "-f heat --inner 2 --reaction 0.1"};
    char options[200];

    for (size_t i = 0; i < LENGTH(stages) * EDGE_RULES; i++) {
        struct trial trial = {.options = options,
                              .grid = i % 2 == 0 ? grid_make(3, 9, 7, 8) : grid_make(2, 23, 17, 1),
                              .work = i % 3 == 0 ? WORK_F64 : WORK_F32,
                              .fill = i % 4 == 0 ? FILL_SPECIAL : FILL_RANDOM};
        snprintf(options, sizeof options, "%s -e %s", stages[i / EDGE_RULES], edge_option(i % EDGE_RULES));
        trial.grid.channels = 1 + (unsigned)i % 3;
        trial_check(&trial, true);
    }
}
END_TEST

/* A stage under every edge rule, on grids whose pixels have channels, with the last one as alpha or not: one
   of so many trials in all ways. */
static void check_channels(const char *stage_options, bool missing, const unsigned *channels, size_t count,
                           unsigned whole)
{
    char options[400];

    for (size_t i = 0; i < count * EDGE_RULES * 2; i++) {
        struct trial trial = {.options = options,
                              .grid = i % 2 == 0 ? grid_make(3, 9, 7, 8) : grid_make(2, 37, 17, 1),
                              .work = i / 2 % 3 == 0 ? WORK_F64 : WORK_F32,
                              .fill = i % 5 == 0 ? FILL_SPECIAL : FILL_RANDOM,
                              .missing = missing,
                              .alpha = i / 3 % 2 == 0};
        snprintf(options, sizeof options, "%s -e %s", stage_options, edge_option(i / 2 % EDGE_RULES));
        trial.grid.channels = channels[i / 2 / EDGE_RULES];
        trial_check(&trial, harness_has_turn(trial_number(&trial), whole));
    }
}

static const char *const joint_stages[] = {
    "--steps 1 --flux pm1 --scale 0.7", "--steps 3 --flux pm2 --scale 0.4",
    "--steps 2 --flux pm1 --scale 0.9 --inner 3 --dt 0.1",
    "--steps 2 --flux pm2 --scale 0.6 --inner 2 --reaction 0.3", "--steps 1 --flux pm2 --scale 2 --dt 0"};

/* A pixel's channels have one weight. */
START_TEST(bilateral_channels)
{
    static const unsigned channels[] = {2, 3, 4, 5, 9};

    check_channels("-f bilateral:0.6,0.3", false, channels, LENGTH(channels), 1);
    check_channels("-f bilateral:0.5,0.8 -s 2", false, channels, LENGTH(channels), 3);
}
END_TEST

/* Up to as many as a tile takes together, and more. */
START_TEST(joint_conductivity)
{
    static const unsigned channels[] = {2, 3, 4, 8, 9, 16};
    char options[300];

    snprintf(options, sizeof options, "-f heat --flux-channels joint %s", joint_stages[_i]);
    check_channels(options, false, channels, LENGTH(channels), 1);
}
END_TEST

static const char *const stages_without_alpha[] = {
    "-f gradient -s 2", "-f sobel:y", "-f laplace -s 5",        "-f matrix:1,2,0,-7,0.1",
    "-f star:4",        "-f log:0.7", "-f gauss:1,order=0,1,0", "-f matrix:1,2,1;2,4,2;1,2,1/17 -s 4"};

/* Alpha stays as it is, whichever rung computes the others. */
START_TEST(alpha_left_alone)
{
    static const unsigned channels[] = {2, 4};

    check_channels(stages_without_alpha[_i], false, channels, LENGTH(channels), 3);
}
END_TEST

/* Averages and ranks of what is there, and chains that read the sample itself instead of what is not. */
static const struct {
    const char *options;
    unsigned grids;
} stages_of_missing[] = {
    {"-f gauss:1 --steps 2", ANY},
    {"-f gauss:0.4", ANY},
    {"-f box:2", ANY},
    {"-f unsharp:0.6,1.5 --steps 2", ANY},
    {"-f matrix:1,2,1;2,4,2;1,2,1/16 --steps 3", EITHER},
    {"-f matrix:1,2,0,7,0.1 --steps 2", EITHER},
    {"-f twentyseven:0.3,0.06,0.02,0.01", SOLID},
    {"-f laplace --steps 3", ANY},
    {"-f sharpen", EITHER},
    {"-f sobel:x", ANY},
    {"-f gradient --steps 2", ANY},
    {"-f gauss:0.6,order=1,0,0 --steps 2", SOLID},
    {"-f log:0.6", ANY},
    {"-f dog:0.5,0.9 --steps 2", ANY},
    {"-f gradmag:0.6", ANY},
    {"-f taps:lopsided.taps", EITHER},
    {"-f taps:none.taps", ANY},
    {"-f scale:-1.5,0.25", ANY},
    {"-f median:1", ANY},
    {"-f median:2 --steps 2", FLAT},
    {"-f median:2,ball --steps 2", EITHER},
    {"-f percentile:2,30", EITHER},
    {"-f order:1,13", SOLID},
    {"-f order:1,4 -e wrap", FLAT},
    {"-f percentile:4,99,x", ANY},
    {"-f order:1,5,ball", SOLID},
    {"-f order:3,5,y", EITHER},
    {"-f min:2 --steps 2", ANY},
    {"-f max:1,ball", EITHER},
    {"-f open:1", ANY},
    {"-f blackhat:1", EITHER},
    {"-f tophat:2,ball", EITHER},
    {"-f morphgrad:1 --steps 2", ANY},
    {"-f bilateral:0.7,0.5 --steps 2", ANY},
    {"-f bilateral:1.2,3", EITHER},
    {"-f heat --steps 5", ANY},
    {"-f heat --steps 2 --dt 0", ANY},
    {"-f heat --steps 2 --inner 3 --reaction 0.2", ANY},
    {"-f heat --steps 2 --flux tanh --scale 0.7 --inner 2", ANY},
    {"-f heat --steps 3 --flux pm1 --scale 0.3", ANY},
    {"-f heat --steps 2 --flux pm2 --scale 3 --inner 2 --reaction 0.05", ANY},
};

START_TEST(missing_samples)
{
    check_trials(stages_of_missing[_i].options, stages_of_missing[_i].grids, true);
}
END_TEST

START_TEST(missing_samples_of_channels)
{
    static const unsigned channels[] = {2, 3}, more[] = {3, 9};

    check_channels("-f bilateral:0.6,0.5 --steps 2", true, more, LENGTH(more), 3);
    check_channels("-f gauss:1 --steps 2", true, channels, LENGTH(channels), 3);
    check_channels("-f unsharp:1,0.5", true, channels, LENGTH(channels), 3);
    check_channels("-f matrix:1,2,1;2,4,2;1,2,1 --steps 2", true, channels, LENGTH(channels), 3);
    check_channels("-f laplace --steps 2", true, channels, LENGTH(channels), 3);
    check_channels("-f median:1 --steps 2", true, channels, LENGTH(channels), 3);
    check_channels("-f heat --steps 3", true, channels, LENGTH(channels), 3);
    for (size_t i = 0; i < LENGTH(joint_stages); i++) {
        char options[300];
        snprintf(options, sizeof options, "-f heat --flux-channels joint %s", joint_stages[i]);
        check_channels(options, true, channels, LENGTH(channels), 3);
    }
}
END_TEST

/* Pictures of several tiles, and planes of volumes, by passes that are joined or not. */
START_TEST(averages_in_tiles)
{
    static const char *const stages[] = {"gauss:1.5 --steps 2", "box:2,7", "gauss:3", "gauss:1 --axes xy",
                                         "gauss:1.5 --axes xz"};
    static const size_t flat[][3] = {{300, 200, 1}, {128, 97, 1}, {61, 130, 1}},
                        solid[][3] = {{140, 40, 5}, {130, 3, 70}};
    char options[100];

    for (unsigned i = 0; i < LENGTH(stages) * EDGE_RULES * 4; i++) {
        const bool planes = i / EDGE_RULES % LENGTH(stages) >= 3;
        const unsigned turn = i / EDGE_RULES / (unsigned)LENGTH(stages) + i;
        struct trial trial = {.options = options,
                              .grid = planes ? grid_of(3, solid[turn % LENGTH(solid)])
                                             : grid_of(2, flat[turn % LENGTH(flat)]),
                              .work = turn % 2 == 0 ? WORK_F32 : WORK_F64,
                              .fill = i % 7 == 0 ? FILL_SPECIAL : FILL_RANDOM,
                              .missing = true,
                              .seldom = i / 2 % 2 == 0,
                              .rung = "passes"};
        trial.grid.channels = 1 + i % 5 / 4;
        snprintf(options, sizeof options, "-f %s -e %s", stages[i / EDGE_RULES % LENGTH(stages)],
                 edge_option(i % EDGE_RULES));
        trial_check(&trial, true);
    }
}
END_TEST

TCase *filters_case(void)
{
    TCase *tests = tcase_create("filters");

    tcase_add_test(tests, every_filter_is_tried);
    tcase_add_test(tests, filters_without_arguments);
    tcase_add_loop_test(tests, filters_with_arguments, 0, (int)LENGTH(specs));
    tcase_add_loop_test(tests, some_of_the_axes, 0, (int)LENGTH(partial));
    tcase_add_test(tests, flipped_filters);
    tcase_add_loop_test(tests, heat_of_every_kind, 0, (int)LENGTH(heats));
    tcase_add_test(tests, several_steps);
    tcase_add_test(tests, spaced_derivatives);
    tcase_add_test(tests, long_rows);
    tcase_add_test(tests, every_way);
    tcase_add_test(tests, bilateral_channels);
    tcase_add_loop_test(tests, joint_conductivity, 0, (int)LENGTH(joint_stages));
    tcase_add_loop_test(tests, missing_samples, 0, (int)LENGTH(stages_of_missing));
    tcase_add_test(tests, missing_samples_of_channels);
    tcase_add_test(tests, averages_in_tiles);
    tcase_add_loop_test(tests, alpha_left_alone, 0, (int)LENGTH(stages_without_alpha));
    return tests;
}
