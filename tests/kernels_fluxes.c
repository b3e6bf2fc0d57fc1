/* Heat whose fluxes are not linear: GPUs compute each face between two samples once, by kernels of their own.
 */
#include "assertions.h"
#include "fixture.h"
#include "harness.h"
#include "kernels.h"
#include "seam.h"
#include "trial.h"

#include <stdio.h>
#include <string.h>

/* Less than a pack, a row of whole packs and one of a single column more; planes of several tiles, whose last
   columns have tiles of their own, and more planes than a walk has. */
static const size_t solid_extents[][3] = {{1, 1, 1},   {2, 1, 3},    {3, 4, 2},    {4, 3, 5},   {128, 5, 3},
                                          {129, 9, 4}, {131, 27, 2}, {260, 14, 3}, {19, 3, 70}, {66, 33, 9}};
static const size_t flat_extents[][2] = {{1, 1},   {2, 3},    {3, 150}, {4, 5},   {128, 9},
                                         {129, 6}, {131, 67}, {516, 4}, {260, 35}};

static const char *const fluxes[] = {
    "--flux pm1 --scale 0.5",
    "--flux pm1 --scale 2 --spacing 1,2.5,0.7",
    "--flux pm2 --scale 0.5 -s 2",
    "--flux pm2 --scale 3 --spacing 0.9,1,2",
    "--flux tanh --scale 0.4 -s 2",
    "--flux tanh --scale 2 --spacing 2,1,0.8",
    "--flux pm1 --scale 1 --inner 3 --reaction 0.1",
    "--flux pm2 --scale 1 --inner 4",
    "--flux tanh --scale 1 --reaction 0.3",
    /* Differences whose squares are beyond every number, from the start, or from one relaxation on. */
    "--flux pm2 --scale 1e-25",
    "--flux pm2 --scale 1e-12 --inner 2",
    "--flux pm2 --scale 1000 --dt 1e30 --force --inner 3",
    "--flux pm1 --scale 1000 --dt 1e30 --force -s 2",
};

/* By the kernels that know fluxes in every trial, by others when it is their turn. */
static void check_faces(const struct trial *trial)
{
    struct trial by_rung = *trial;

    by_rung.rung = trial->grid.axes == 3 ? "plane" : "strip";
    trial_check(&by_rung, true);
    trial_check(trial, false);
}

static const enum fill fills[] = {FILL_FLAT, FILL_RANDOM, FILL_FLAT, FILL_SPECIAL};

/* One extent after the other under each rule. */
START_TEST(faces_between_samples)
{
    char options[200];

    for (size_t i = 0; i < EDGE_RULES * LENGTH(solid_extents) * 2; i++) {
        const size_t number = i / EDGE_RULES + (size_t)_i;
        const size_t *solid = solid_extents[number / 2 % LENGTH(solid_extents)];
        const size_t *flat = flat_extents[number / 2 % LENGTH(flat_extents)];
        struct trial trial = {.options = options,
                              .grid = number % 2 == 0 ? grid_make(3, solid[0], solid[1], solid[2])
                                                      : grid_make(2, flat[0], flat[1], 1),
                              .work = (i + number) % 3 == 0 ? WORK_F64 : WORK_F32,
                              .fill = fills[(i + number / 2) % LENGTH(fills)]};
        trial.grid.channels = 1 + (unsigned)number % 2;
        snprintf(options, sizeof options, "-f heat %s -e %s", fluxes[_i], edge_option(i % EDGE_RULES));
        check_faces(&trial);
    }
}
END_TEST

/* Channels under one conductivity, as many as a thread takes. */
START_TEST(faces_of_joint_channels)
{
    static const char *const joint[] = {"--flux pm1 --scale 0.5", "--flux pm2 --scale 0.5 -s 2",
                                        "--flux pm2 --scale 1e-25", "--flux pm1 --scale 2 --spacing 1,2,0.7"};
    char options[200];

    for (size_t i = 0; i < EDGE_RULES * LENGTH(joint) * 8; i++) {
        const size_t number = i / EDGE_RULES;
        const size_t *solid = solid_extents[(number + i) % LENGTH(solid_extents)];
        const size_t *flat = flat_extents[(number + i) % LENGTH(flat_extents)];
        struct trial trial = {.options = options,
                              .grid = number % 2 == 0 ? grid_make(3, solid[0], solid[1], solid[2])
                                                      : grid_make(2, flat[0], flat[1], 1),
                              .work = i % 3 == 0 ? WORK_F64 : WORK_F32,
                              .fill = fills[(i + number) % LENGTH(fills)]};
        trial.grid.channels = 2 + (unsigned)(number / 2) % 3;
        snprintf(options, sizeof options, "-f heat --flux-channels joint %s -e %s", joint[number / 8],
                 edge_option(i % EDGE_RULES));
        check_faces(&trial);
    }
}
END_TEST

TCase *fluxes_case(void)
{
    TCase *tests = tcase_create("fluxes");

    tcase_add_loop_test(tests, faces_between_samples, 0, (int)LENGTH(fluxes));
    tcase_add_test(tests, faces_of_joint_channels);
    return tests;
}
