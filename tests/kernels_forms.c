/* The forms that a kernel takes: many steps a pass, fields that hold a part of the grid, tiles and coarsening
   as asked for, and what is refused. */
#include "assertions.h"
#include "fixture.h"
#include "harness.h"
#include "kernels.h"
#include "reference.h"
#include "seam.h"
#include "trial.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Grids with an inside that no edge touches, for tiles, strips and walks of today's widths. */
static const size_t roomy_extents[][3] = {{70, 33, 9}, {301, 18, 5}, {40, 90, 12}};

/* More steps than a pass takes. */
START_TEST(many_steps)
{
    static const char *const stages[] = {"-f heat -s 11", "-f matrix:.1,.2,.1;.2,-.3,.2;.1,.2,.1 -s 21",
                                         "-f star:4 -s 5", "-f heat --flux pm1 --scale 1 -s 5",
                                         "-f laplace -s 23"};
    char options[200];

    for (size_t i = 0; i < LENGTH(stages) * EDGE_RULES; i++) {
        const size_t *extents = roomy_extents[i % LENGTH(roomy_extents)];
        struct trial trial = {.options = options};
        snprintf(options, sizeof options, "%s -e %s", stages[i / EDGE_RULES], edge_option(i % EDGE_RULES));
        for (unsigned k = 0; k < 4; k++) {
            trial.work = k % 2 == 0 ? WORK_F32 : WORK_F64;
            trial.grid = k / 2 == 0 ? grid_make(2, extents[0], extents[1] * extents[2] / 4, 1)
                                    : grid_make(3, extents[0], extents[1], extents[2]);
            trial_check(&trial, false);
        }
    }
}
END_TEST

/* Pictures of few rows and of many, and volumes whose rows do not read each other: a pass takes rows by the
   handful, and its levels begin and end with fewer. */
START_TEST(rows_of_pictures)
{
    static const char *const stages[] = {"-f heat -s 9", "-f matrix:.1,.2,-.1;.3,-.2,.1;-.2,.1,.2 -s 26",
                                         "-f seven:.3,-.1,.2,0,0,.13,.2 -s 6"};
    static const size_t widths[] = {1, 2, 5, 36, 77};
    char options[200];

    for (size_t rows = 1; rows <= 23; rows++) {
        for (size_t i = 0; i < LENGTH(stages) * EDGE_RULES; i++) {
            size_t nx = widths[(rows + i) % LENGTH(widths)];
            struct trial trial = {.options = options, .work = rows % 2 == 0 ? WORK_F32 : WORK_F64};
            bool is_picture = i / EDGE_RULES < 2;
            trial.grid = is_picture ? grid_make(2, nx, rows, 1) : grid_make(3, nx, 3, rows);
            trial.grid.channels = 1 + (unsigned)rows % 3;
            snprintf(options, sizeof options, "%s -e %s", stages[i / EDGE_RULES],
                     edge_option(i % EDGE_RULES));
            trial_check(&trial, false);
        }
    }
}
END_TEST

/* Rows that are whole lines of memory, which a star may write to the field as it computes them. */
START_TEST(rows_of_whole_lines)
{
    char options[100];

    for (size_t planes = 1; planes <= 12; planes++) {
        for (size_t rule = 0; rule < EDGE_RULES; rule++) {
            struct trial trial = {.options = options, .work = planes % 2 == 0 ? WORK_F32 : WORK_F64};
            trial.grid = grid_make(3, 16 * (1 + planes % 3), 3 + planes, planes);
            trial.grid.channels = 1 + (unsigned)planes % 3;
            snprintf(options, sizeof options, "-f seven:.3,-.1,.2,0,0,.13,.2 -s %zu -e %s", 2 + rule,
                     edge_option(rule));
            trial_check(&trial, false);
        }
    }
}
END_TEST

/* Planes that are a power of two long, which a backend may keep apart in memory. */
START_TEST(planes_apart)
{
    static const char *const stages[] = {"-f gauss:1.5", "-f laplace", "-f heat -s 3"};
    char options[200];

    for (size_t i = 0; i < LENGTH(stages) * 2; i++) {
        const struct grid grids[] = {grid_make(3, 128, 128, 5), grid_make(2, 16384, 5, 1)};
        struct trial trial = {.options = options, .grid = grids[i % 2], .work = WORK_F32};
        snprintf(options, sizeof options, "%s -e %s", stages[i / 2], edge_option(i % EDGE_RULES));
        trial_check(&trial, false);
    }
}
END_TEST

/* Rows in which no vector fits, one does, or several and a rest; some samples have taps outside, others none.
 */
START_TEST(rows_of_every_width)
{
    static const char *const stages[] = {"-f laplace", "-f matrix:0,1,0,0;2,-3,4,5;0,5,0,0", "-f box:2"};
    char options[200];

    for (size_t nx = 1; nx <= 20; nx++) {
        for (size_t i = 0; i < LENGTH(stages) * EDGE_RULES; i++) {
            struct trial trial = {.options = options, .grid = grid_make(3, nx, 4, 4)};
            snprintf(options, sizeof options, "%s -e %s", stages[i / EDGE_RULES],
                     edge_option(i % EDGE_RULES));
            trial.work = nx % 2 == 0 ? WORK_F32 : WORK_F64;
            trial_check(&trial, false);
        }
    }
}
END_TEST

/* ---- fields that hold a part of the grid ---- */

struct window {
    struct seam seam;
    const struct op *op;
    unsigned steps;
    const unsigned char *in, *whole; /* of the grid, before and after the steps */
};

/* What the steps read for the planes: what the taps or the routine reach, or, at an end of the grid, what
   edge rules take in their place: as far inwards as the taps go outwards, and the other end under wrap. */
static struct range reached(const struct window *window, unsigned reach, struct range planes)
{
    const struct op *op = window->op;
    size_t all = window->seam.shape.planes;
    size_t low = (size_t)-op->plane.low < reach ? reach : (size_t)-op->plane.low;
    size_t high = (size_t)op->plane.high < reach ? reach : (size_t)op->plane.high;
    size_t end = planes.first + planes.count;
    bool before, behind;
    size_t back, ahead;
    struct range range;

    low *= window->steps;
    high *= window->steps;
    before = planes.first < low;
    behind = end + high > all;
    back = behind && high > low ? high : low;
    ahead = before && low > high ? low : high;
    if ((before || behind) && op->edge == EDGE_WRAP)
        return (struct range){0, all};
    range.first = planes.first > back ? planes.first - back : 0;
    range.count = (end + ahead < all ? end + ahead : all) - range.first;
    return range;
}

/* Planes from a field that holds what the steps read, and no more. */
static void check_window(const struct window *window, const struct form *form, struct routine *routine,
                         struct range planes)
{
    const struct backend *backend = window->seam.way->backend;
    const struct shape *shape = &window->seam.shape;
    struct device *device = window->seam.way->device;
    const struct encoding encoding = plain_encoding(window->seam.work, shape->channels);
    const struct range source = reached(window, form->reach, planes);
    size_t plane = shape->nx * shape->rows * shape->channels * work_size(window->seam.work);
    unsigned char *got = fixture_memory(planes.count, plane);
    struct field *from, *to;
    struct fault fault;

    ck_assert(backend->field_create(device, &from, shape, window->seam.work, source, &fault));
    ck_assert(backend->field_create(device, &to, shape, window->seam.work, planes, &fault));
    seam_send(window->seam.way, from, &encoding, window->in + source.first * plane, NULL, plane, source);
    ck_assert_msg(backend->advance(device, routine, window->steps, from, NULL, to, planes, &fault), "%s",
                  fault.text);
    seam_fetch(window->seam.way, to, &encoding, got, plane, planes);
    ck_assert_msg(memcmp(got, window->whole + planes.first * plane, planes.count * plane) == 0,
                  "%s, %u steps: planes %zu + %zu differ", window->seam.way->name, window->steps,
                  planes.first, planes.count);
    backend->field_destroy(device, from);
    backend->field_destroy(device, to);
    free(got);
}

/* Windows at both ends of the grid and between. */
static void check_windows(const struct window *window)
{
    const struct way *way = window->seam.way;
    size_t planes = window->seam.shape.planes;
    struct range ranges[9] = {{0, 1}, {0, 4}, {planes - 3, 3}, {planes - 1, 1}};
    struct routine *routine;
    struct form form;

    for (size_t first = 3; first < 8; first++)
        ranges[first + 1] = (struct range){first, 1 + first % 2};
    if (!seam_settle(&window->seam, window->op, 0, &form) || window->steps > form.steps)
        return;
    routine = seam_prepare(way, &form);
    for (size_t i = 0; i < LENGTH(ranges); i++)
        check_window(window, &form, routine, ranges[i]);
    way->backend->release(way->device, routine);
}

static void check_partial_fields(const char *stage_options, unsigned steps, unsigned axes,
                                 enum work_type work)
{
    const struct grid grid = axes == 3 ? grid_make(3, 7, 11, 14) : grid_make(2, 37, 14, 1);
    struct encoding encoding = plain_encoding(work, 1);
    struct reference_job job = {
        .grid = grid, .work = work, .in = encoding, .out = encoding, .stage_count = 1};
    size_t bytes = grid_samples(&grid) * work_size(work);
    unsigned char *in = fixture_memory(bytes, 1), *whole = fixture_memory(bytes, 1);
    char options[200];
    struct command command;
    struct stage stage;
    struct step step;
    struct fault fault;

    snprintf(options, sizeof options, "%s -s %u", stage_options, steps);
    command_parse(&command, PROGRAM_VOXFILT, options);
    command_stage(&command, &job.grid, &stage);
    ck_assert(lower_stage(&stage, &job.grid, &encoding, work, &step, &fault));
    ck_assert_uint_eq(step.count, 1);
    job.stages = &stage;
    fill_samples(FILL_RANDOM, encoding.type, in, grid_samples(&grid), steps);
    reference_run(&job, in, whole);
    for (size_t i = 0; i < way_count; i++) {
        const struct seam seam = {.way = &ways[i], .shape = lower_shape(&grid, 1), .work = work};
        check_windows(&(struct window){seam, &step.ops[0], steps, in, whole});
    }
    free(in);
    free(whole);
    lower_free(&step);
    stage_free(&stage);
    command_free(&command);
}

static const char *const stages_of_parts[] = {"-f heat",
                                              "-f heat --flux tanh --scale 1 -e nearest",
                                              "-f heat --flux pm1 --scale 1 -e wrap",
                                              "-f heat --flux pm2 --scale 1",
                                              "-f star:4 -e mirror",
                                              "-f gradient -e constant:2",
                                              "-f taps:lopsided.taps -e hold",
                                              "-f laplace -e hold",
                                              "-f matrix:0,1,0;2,-3,4;0,5,0 -e wrap",
                                              "-f matrix:1,2,1;0,-3,1;0,0,0",
                                              "-f matrix:0,0,0;1,-3,1;0,2,0 -e mirror",
                                              "-f matrix:1,2,1;2,-3,4;1,5,1 -e nearest"};

START_TEST(fields_may_hold_a_part)
{
    static const struct {
        unsigned steps;
        enum work_type work;
    } passes[] = {{1, WORK_F32}, {3, WORK_F64}, {4, WORK_F32}};
    const unsigned turns = harness_thinning() > 1 ? 4 : 1;

    ways_vary((uint64_t)_i);
    for (unsigned k = 0; k < LENGTH(passes) * 2; k++) {
        if (harness_has_turn((uint64_t)_i * LENGTH(passes) * 2 + k, turns))
            check_partial_fields(stages_of_parts[_i], passes[k / 2].steps, 2 + k % 2, passes[k / 2].work);
    }
}
END_TEST

/* ---- wishes ---- */

/* A stage of one op on a grid, to prepare routines for. */
struct subject {
    struct grid grid;
    struct command command;
    struct stage stage;
    struct step step;
    struct seam seam;
};

static void subject_make(struct subject *subject, const struct way *way, const char *options,
                         const struct grid *grid)
{
    const struct encoding encoding = plain_encoding(WORK_F32, 1);
    struct fault fault;

    subject->grid = *grid;
    command_parse(&subject->command, PROGRAM_VOXFILT, options);
    command_stage(&subject->command, &subject->grid, &subject->stage);
    ck_assert(lower_stage(&subject->stage, &subject->grid, &encoding, WORK_F32, &subject->step, &fault));
    ck_assert_uint_eq(subject->step.count, 1);
    subject->seam = (struct seam){.way = way, .shape = lower_shape(grid, 1), .work = WORK_F32};
}

static void subject_free(struct subject *subject)
{
    lower_free(&subject->step);
    stage_free(&subject->stage);
    command_free(&subject->command);
}

static bool subject_settle(const struct subject *subject, const struct rung_wish *wish, struct form *form,
                           struct fault *fault)
{
    const struct way *way = subject->seam.way;

    return way->backend->settle(way->device, &subject->step.ops[0], &subject->seam.shape, wish, form, fault);
}

static void ck_refused(const struct subject *subject, const struct rung_wish *wish, const char *words)
{
    struct fault fault;
    struct form form;

    ck_assert_msg(!subject_settle(subject, wish, &form, &fault), "%s: tile %ux%u, coarsen %u: accepted",
                  subject->seam.way->name, wish->tile_x, wish->tile_y, wish->coarsen);
    ck_assert_int_eq(fault.status, STATUS_USAGE);
    ck_assert_msg(strstr(fault.text, words) != NULL, "%s: %s", subject->seam.way->name, fault.text);
    ck_assert_ptr_null(strchr(fault.text, '\n'));
}

START_TEST(rungs_that_do_not_exist_are_refused)
{
    const struct grid grid = grid_make(3, 20, 20, 20);
    const struct rung_wish wish = {.rung = "ladder"};
    struct subject subject;

    for (size_t i = 0; i < way_count; i++) {
        subject_make(&subject, &ways[i], "-f heat -s 1", &grid);
        ck_refused(&subject, &wish, "ladder");
        subject_free(&subject);
    }
}
END_TEST

/* What a wish asks is what the rung then says that it runs, or else the wish is refused; and what it says is
   what can be prepared. Whether it was taken. */
static bool check_wish(const struct subject *subject, const struct rung_wish *wish, struct form *form)
{
    const struct way *way = subject->seam.way;
    struct fault fault;

    if (!subject_settle(subject, wish, form, &fault)) {
        ck_assert_msg(fault.status == STATUS_USAGE, "%s: %s", way->name, fault.text);
        return false;
    }
    ck_assert_str_eq(form->rung->name, way->rung);
    ck_assert_uint_ge(form->steps, 1);
    ck_assert_msg(wish->tile_x == 0 || (form->tile_x == wish->tile_x && form->tile_y == wish->tile_y),
                  "%s: tile %ux%u became %ux%u", way->name, wish->tile_x, wish->tile_y, form->tile_x,
                  form->tile_y);
    ck_assert_msg(wish->coarsen == 0 || form->coarsen == wish->coarsen, "%s: coarsening %u became %u",
                  way->name, wish->coarsen, form->coarsen);
    ck_assert_msg(wish->steps == 0 || form->steps <= wish->steps, "%s: %u steps became %u", way->name,
                  wish->steps, form->steps);
    way->backend->release(way->device, seam_prepare(way, form));
    return true;
}

/* A rung that takes the stage takes the wishes that it says it can take. */
static bool check_wishes(const struct subject *subject)
{
    const char *rung = subject->seam.way->rung;
    struct form own, form;
    bool taken = check_wish(subject, &(struct rung_wish){.rung = rung}, &own);
    bool tall = check_wish(subject, &(struct rung_wish){.rung = rung, .tile_x = 32, .tile_y = 32}, &form);
    bool flat = check_wish(subject, &(struct rung_wish){.rung = rung, .tile_x = 32, .tile_y = 8}, &form);
    bool coarsened = check_wish(subject, &(struct rung_wish){.rung = rung, .coarsen = 4}, &form);
    bool shallow = check_wish(subject, &(struct rung_wish){.rung = rung, .steps = 2}, &form);

    ck_refused(subject, &(struct rung_wish){.rung = rung, .tile_x = 5000, .tile_y = 5000}, rung);
    if (taken) {
        ck_assert_msg((tall || flat) == own.tiles, "%s: tiles: %d", subject->seam.way->name, own.tiles);
        ck_assert_msg(coarsened == own.coarsens, "%s: coarsening: %d", subject->seam.way->name, own.coarsens);
        ck_assert_msg(shallow || own.steps < 2, "%s: 2 steps of %u", subject->seam.way->name, own.steps);
    }
    return taken;
}

static const char *const stages_of_forms[] = {"-f heat -s 1", "-f matrix:1,2,1;2,4,2;1,2,1 -s 1",
                                              "-f heat --flux pm1 --scale 1 -s 1", "-f matrix:1,2,1 -s 1",
                                              "-f gradient"};

START_TEST(forms_are_as_wished)
{
    const struct grid grids[] = {grid_make(2, 300, 200, 1), grid_make(3, 70, 60, 50), grid_make(3, 20, 9, 8)};
    struct subject subject;

    for (size_t i = 0; i < way_count; i++) {
        size_t taken = 0;
        if (ways[i].rung == NULL)
            continue;
        for (size_t k = 0; k < LENGTH(stages_of_forms) * LENGTH(grids); k++) {
            subject_make(&subject, &ways[i], stages_of_forms[k / LENGTH(grids)], &grids[k % LENGTH(grids)]);
            taken += check_wishes(&subject);
            subject_free(&subject);
        }
        ck_assert_msg(taken > 0, "%s: it takes none of these stages", ways[i].name);
    }
}
END_TEST

static unsigned steps_taken_by_itself(const struct way *way, const char *stage)
{
    const struct grid picture = grid_make(2, 300, 200, 1);
    const struct rung_wish any = {.rung = NULL};
    struct subject subject;
    struct fault fault;
    struct form form;

    subject_make(&subject, way, stage, &picture);
    ck_assert_msg(subject_settle(&subject, &any, &form, &fault), "%s: %s", way->name, fault.text);
    subject_free(&subject);
    return form.steps;
}

/* A GPU that takes several steps a pass computes samples twice where patches meet, which pays only where
   moving binds. */
START_TEST(a_gpu_fuses_where_moving_binds)
{
    for (const struct way *way = ways; way < ways + way_count; way++) {
        if (way->rung != NULL || strcmp(way->backend->name, "cuda") != 0)
            continue;
        ck_assert_uint_gt(steps_taken_by_itself(way, "-f heat -s 40"), 1);
        ck_assert_uint_eq(
            steps_taken_by_itself(way, "-f heat --flux tanh --scale 1 --inner 100 --reaction 0.1 -s 40"), 1);
    }
}
END_TEST

/* What a way takes if only its rung is wished for. */
static struct form form_taken(const struct way *way, const char *stage, const struct grid *grid)
{
    const struct rung_wish wish = {.rung = way->rung};
    struct subject subject;
    struct fault fault;
    struct form form;

    subject_make(&subject, way, stage, grid);
    ck_assert_msg(subject_settle(&subject, &wish, &form, &fault), "%s", fault.text);
    subject_free(&subject);
    return form;
}

/* What a GPU that has boxes takes for a volume by itself. It takes the registers if they hold the volume,
   and several steps a pass, unless the grid is so small that much of their work would be wasted, or the taps
   are not a star or a box. */
START_TEST(a_gpu_takes_what_was_measured_as_fastest)
{
    static const struct {
        const char *stage;
        size_t nx, ny, nz;
        const char *rung;
    } taken[] = {{"-f heat", 17, 9, 11, "resident"},
                 {"-f heat", 300, 200, 150, "fused"},
                 {"-f star:4 -s 10", 24, 256, 64, "plane"},
                 {"-f star:4 -s 10", 1024, 64, 512, "fused"},
                 {"-f heat --flux pm1 --scale 1 -s 10", 64, 40, 30, "plane"},
                 {"-f star:8", 200, 150, 100, "plane"},
                 {"-f gradient", 200, 150, 100, "plane"},
                 {"-f gradient", 33000, 33000, 6, "tile"},
                 {"-f heat -s 5 -e constant", 33000, 33000, 6, "naive"},
                 {"-f heat --flux pm2 --scale 1", 33000, 33000, 6, "tile"},
                 {"-f matrix:1,2,3,2,1", 200, 150, 100, "passes"},
                 {"-f matrix:1,2,3;3,2,1;4,5,6", 200, 150, 100, "strip"},
                 {"-f matrix:1,2,3;3,0,1;4,5,6", 201, 150, 100, "plane"},
                 {"-f sobel:x -s 3", 200, 150, 100, "plane"}};

    for (const struct way *way = ways; way < ways + way_count; way++) {
        if (way->rung != NULL || strcmp(way->backend->name, "cuda") != 0)
            continue;
        for (size_t k = 0; k < LENGTH(taken); k++) {
            const struct grid grid = grid_make(3, taken[k].nx, taken[k].ny, taken[k].nz);
            const struct form form = form_taken(way, taken[k].stage, &grid);
            ck_assert_msg(strcmp(form.rung->name, taken[k].rung) == 0, "%s, %zu × %zu × %zu: %s",
                          taken[k].stage, taken[k].nx, taken[k].ny, taken[k].nz, form.rung->name);
        }
    }
}
END_TEST

/* Whether the registers hold a volume depends on the GPU. */
START_TEST(a_gpu_takes_its_registers_for_what_they_hold)
{
    static const size_t sides[] = {24, 48, 64, 91, 96, 128, 200};
    static const char *const stages[] = {"-f heat", "-f heat -e mirror", "-f heat -e constant:3"};
    const struct rung_wish resident = {.rung = "resident"};

    for (const struct way *way = ways; way < ways + way_count; way++) {
        if (way->rung != NULL || strcmp(way->backend->name, "cuda") != 0)
            continue;
        for (size_t k = 0; k < LENGTH(sides) * LENGTH(stages); k++) {
            const size_t side = sides[k / LENGTH(stages)];
            const struct grid grid = grid_make(3, side, side, side);
            const char *stage = stages[k % LENGTH(stages)];
            struct subject subject;
            struct fault fault;
            struct form form;
            subject_make(&subject, way, stage, &grid);
            if (subject_settle(&subject, &resident, &form, &fault)) {
                form = form_taken(way, stage, &grid);
                ck_assert_msg(strcmp(form.rung->name, "resident") == 0, "%s, %zu³: %s", stage, side,
                              form.rung->name);
            }
            subject_free(&subject);
        }
    }
}
END_TEST

/* What devices that have boxes take in a pass: of a volume four steps where samples outside the grid are the
   nearest ones, and where those at the edge are held; of a picture ten of five taps and six of nine, four
   where strips are short, but under wrap and where rows are not of whole packs. */
START_TEST(passes_take_as_many_steps)
{
    static const struct {
        const char *stage;
        unsigned axes;
        size_t nx, ny;
        unsigned steps;
    } passes[] = {{"-f heat", 3, 128, 60, 4},
                  {"-f heat -e nearest", 3, 128, 60, 4},
                  {"-f heat -e hold", 3, 128, 60, 4},
                  {"-f heat", 2, 128, 60, 4},
                  {"-f heat", 2, 16384, 16384, 10},
                  {"-f matrix:1,2,1;2,4,2;1,2,1", 2, 16384, 16384, 6},
                  {"-f matrix:1,2,1;2,4,2;1,2,1 -e mirror", 2, 16384, 16384, 6},
                  {"-f matrix:1,2,1;2,4,2;1,2,1 -e mirror", 2, 128, 60, 4},
                  {"-f matrix:1,2,1;2,4,2;1,2,1 -e wrap", 2, 128, 60, 10},
                  {"-f matrix:1,2,1;2,4,2;1,2,1", 2, 127, 60, 10}};

    for (size_t i = 0; i < way_count; i++) {
        if (ways[i].rung == NULL || strcmp(ways[i].name, "fused") != 0)
            continue;
        for (size_t k = 0; k < LENGTH(passes); k++) {
            const bool is_picture = passes[k].axes == 2;
            const struct grid grid =
                grid_make(passes[k].axes, passes[k].nx, passes[k].ny, is_picture ? 1 : 20);
            const unsigned steps = form_taken(&ways[i], passes[k].stage, &grid).steps;
            ck_assert_msg(steps == passes[k].steps, "%s, %zu × %zu: %u steps", passes[k].stage, passes[k].nx,
                          passes[k].ny, steps);
        }
    }
}
END_TEST

/* A walk through a volume takes tiles of one size, whether its rows end with a pack or within one, and
   whatever stands outside. If registers are scarce, it reads more from shared memory, and its tiles do not
   shrink. */
START_TEST(tiles_are_as_high_for_every_row)
{
    static const char *const stages[] = {"-f heat", "-f heat -e hold", "-f heat -e mirror",
                                         "-f heat -e constant", "-f heat -e wrap"};

    for (size_t i = 0; i < way_count; i++) {
        if (ways[i].rung == NULL || strcmp(ways[i].name, "fused") != 0)
            continue;
        for (size_t k = 0; k < LENGTH(stages) * 4; k++) {
            const struct grid grid = grid_make(3, 128 - k % 4, 60, 20);
            const struct form form = form_taken(&ways[i], stages[k / 4], &grid);
            ck_assert_msg(form.steps == 4 && form.tile_x == 120 && form.tile_y == 40,
                          "%s, rows of %zu: %u steps in tiles of %ux%u", stages[k / 4], grid.nx, form.steps,
                          form.tile_x, form.tile_y);
        }
    }
}
END_TEST

/* Small volumes in tiles along the rows, along the planes and along both, a few launches each: tiles of one
   row, of as few as overlap, and so many that none sees two ends of the grid. */
START_TEST(small_volumes_stay_on_the_device)
{
    static const size_t extents[][3] = {{1, 1, 1},   {3, 1, 13}, {5, 14, 2},
                                        {17, 9, 11}, {64, 7, 8}, {8, 21, 12}};
    char options[200];

    for (size_t i = 0; i < LENGTH(extents) * EDGE_RULES * 4; i++) {
        const size_t *extent = extents[i % LENGTH(extents)];
        struct trial trial = {.options = options,
                              .work = i / LENGTH(extents) % 2 == 0 ? WORK_F32 : WORK_F64,
                              .grid = grid_make(3, extent[0], extent[1], extent[2]),
                              .rung = "resident"};
        trial.grid.channels = 1 + (unsigned)i % 2;
        snprintf(options, sizeof options, "-f heat -s %zu -e %s", 1 + i * 7 % 9,
                 edge_option(i / 4 / LENGTH(extents)));
        trial_check(&trial, true);
    }
}
END_TEST

/* Forms that emulation is slow at have few turns above, and fewest in f64. */
START_TEST(slow_forms_have_turns)
{
    static const char *const rungs[] = {"plane", "fused"};
    static const char *const stages[] = {"-f sobel:x",
                                         "-f heat"}; /* plane: the star takes too much of an older GPU */
    char options[200];

    for (size_t i = 0; i < LENGTH(rungs) * EDGE_RULES * 16; i++) {
        struct trial trial = {.options = options,
                              .work = WORK_F64,
                              .grid = grid_make(3, 9 + i % 7, 5 + i % 5, 3 + i % 4),
                              .rung = rungs[i % LENGTH(rungs)]};
        snprintf(options, sizeof options, "%s -s %zu -e %s", stages[i % LENGTH(rungs)], 1 + i % 5,
                 edge_option(i / LENGTH(rungs) % EDGE_RULES));
        trial_check(&trial, true);
    }
}
END_TEST

/* Volumes whose planes are higher than a tile and whose rows are wider, by walks that take several steps: of
   the seven-point star, the star of radius 2, and the cube, whose weights all differ. */
static const char *const walked_stages[] = {
    "seven:.3,-.1,.2,.15,-.2,.13,.2", "taps:wide.taps",
    ("twentyseven:.02,-.03,.05,.07,.01,-.04,.06,.08,.03,-.02,.09,.04,.11,.3,-.05,.02,.03,.06,-.01,.05,.07,"
     ".08,-.02,.04,.01,.03,.02")};

/* Rows of whole packs and not, and as few planes as a walk has levels, or fewer; few steps and more than a
   pass takes. */
START_TEST(volumes_of_several_tiles)
{
    static const size_t extents[][3] = {
        {128, 48, 7}, {124, 49, 12}, {244, 91, 5},  {127, 53, 6}, {8, 48, 11},  {126, 50, 2}, {36, 48, 3},
        {121, 48, 1}, {516, 35, 3},  {257, 64, 19}, {124, 25, 6}, {243, 50, 9}, {17, 49, 5},  {9, 50, 4}};
    char options[300];

    for (size_t i = 0; i < LENGTH(extents) * EDGE_RULES * LENGTH(walked_stages); i++) {
        const size_t *extent = extents[i / EDGE_RULES % LENGTH(extents)];
        const size_t stage = i / EDGE_RULES / LENGTH(extents);
        struct trial trial = {
            .options = options, .grid = grid_make(3, extent[0], extent[1], extent[2]), .large = true};
        snprintf(options, sizeof options, "-f %s -s %zu -e %s", walked_stages[stage],
                 stage == 0 ? 4 + 2 * (i % 3) : 2 + i % 3, edge_option(i % EDGE_RULES));
        for (int work = WORK_F32; work <= WORK_F64; work++) {
            trial.work = (enum work_type)work;
            trial_check(&trial, false);
        }
    }
}
END_TEST

/* Tiles at both ends of a grid that wraps, and beside a constant: rows that end with a pack and within one,
   just as long as a walk takes, and with a few columns in the last tile; rows that the last tile has all
   new, and hardly any; fewer planes than a pass has steps, and chunks of an odd number. One extent after the
   other in f32 and f64, and one filter after the other. */
START_TEST(tiles_at_the_ends_of_rows)
{
    static const size_t extents[][3] = {{124, 48, 5},  {127, 49, 1}, {123, 48, 3}, {61, 55, 2},
                                        {243, 87, 3},  {129, 88, 9}, {62, 121, 4}, {242, 128, 7},
                                        {130, 81, 13}, {360, 50, 6}};
    static const char *const filters[] = {"seven:.3,-.1,.2,.15,-.2,.13,.2 -e wrap",
                                          "seven:.3,-.1,.2,.15,-.2,.13,.2 -e constant:-3",
                                          "twentyseven:.1,-.2,.03,.04 -e wrap"};
    char options[100];

    for (size_t i = 0; i < LENGTH(extents) * LENGTH(filters); i++) {
        const size_t number = i / LENGTH(filters), *extent = extents[number];
        struct trial trial = {
            .options = options, .grid = grid_make(3, extent[0], extent[1], extent[2]), .rung = "fused"};
        trial.grid.channels = 1 + (unsigned)(number / 2 % 2);
        trial.work = (number + i % LENGTH(filters)) % 2 == 0 ? WORK_F32 : WORK_F64;
        snprintf(options, sizeof options, "-s %zu -f %s", 4 + i % 5, filters[i % LENGTH(filters)]);
        trial_check(&trial, true);
    }
}
END_TEST

/* Pictures wider than a strip, rows of whole packs and not, an odd number of them and as few as a pass has
   levels; as many steps as a pass takes, fewer and more. */
START_TEST(pictures_of_several_strips)
{
    static const char *const filters[] = {"seven:.3,-.1,.2,.15,-.2,0,0",
                                          "matrix:.1,.2,-.1;.3,-.2,.1;-.2,.1,.2"};
    static const size_t extents[][2] = {{480, 41}, {237, 64}, {500, 33}, {112, 11},
                                        {240, 23}, {259, 11}, {2, 70}};
    char options[200];

    for (size_t i = 0; i < LENGTH(filters) * LENGTH(extents) * EDGE_RULES; i++) {
        const size_t *extent = extents[i / EDGE_RULES % LENGTH(extents)];
        struct trial trial = {
            .options = options, .grid = grid_make(2, extent[0], extent[1], 1), .large = true};
        const size_t filter = i / EDGE_RULES / LENGTH(extents);
        trial.grid.channels = 1 + (unsigned)(i % 2) * 2;
        snprintf(options, sizeof options, "-f %s -s %d -e %s", filters[filter],
                 (filter == 0 ? 8 : 6) + (int)(i % 7), edge_option(i % EDGE_RULES));
        for (int work = WORK_F32; work <= WORK_F64; work++) {
            trial.work = (enum work_type)work;
            trial_check(&trial, false);
        }
    }
}
END_TEST

static size_t served_under(const struct way *way, enum edge_rule edge)
{
    return trial_served(way, WORK_F32, edge) + trial_served(way, WORK_F64, edge);
}

/* The one rung that has no way for an edge rule. */
static bool never_serves(const struct way *way, enum edge_rule edge)
{
    return way->rung != NULL && strcmp(way->rung, "resident") == 0 && edge == EDGE_WRAP;
}

/* After all trials: a rung that never applied has not been tested. A thinned run leaves some pairs of rung
   and edge rule to another. */
START_TEST(every_way_has_served)
{
    for (const struct way *way = ways; way < ways + way_count; way++) {
        for (int work = WORK_F32; work <= WORK_F64; work++)
            ck_assert_msg(trial_served_in(way, (enum work_type)work) > 20 / harness_thinning(),
                          "%s: %zu trials in %s", way->name, trial_served_in(way, (enum work_type)work),
                          work_name((enum work_type)work));
        for (size_t edge = 0; edge < EDGE_RULES && harness_thinning() == 1; edge++)
            ck_assert_msg((served_under(way, (enum edge_rule)edge) > 0) ==
                              !never_serves(way, (enum edge_rule)edge),
                          "%s: %zu trials under %s", way->name, served_under(way, (enum edge_rule)edge),
                          edge_option(edge));
    }
}
END_TEST

TCase *forms_case(void)
{
    TCase *tests = tcase_create("forms");

    tcase_add_test(tests, many_steps);
    tcase_add_test(tests, small_volumes_stay_on_the_device);
    tcase_add_test(tests, slow_forms_have_turns);
    tcase_add_test(tests, volumes_of_several_tiles);
    tcase_add_test(tests, tiles_at_the_ends_of_rows);
    tcase_add_test(tests, pictures_of_several_strips);
    tcase_add_test(tests, passes_take_as_many_steps);
    tcase_add_test(tests, tiles_are_as_high_for_every_row);
    tcase_add_test(tests, rows_of_pictures);
    tcase_add_test(tests, rows_of_whole_lines);
    tcase_add_test(tests, rows_of_every_width);
    tcase_add_test(tests, planes_apart);
    tcase_add_loop_test(tests, fields_may_hold_a_part, 0, (int)LENGTH(stages_of_parts));
    tcase_add_test(tests, rungs_that_do_not_exist_are_refused);
    tcase_add_test(tests, forms_are_as_wished);
    tcase_add_test(tests, a_gpu_fuses_where_moving_binds);
    tcase_add_test(tests, a_gpu_takes_what_was_measured_as_fastest);
    tcase_add_test(tests, a_gpu_takes_its_registers_for_what_they_hold);
    return tests;
}

TCase *service_case(void)
{
    TCase *tests = tcase_create("service");

    tcase_add_test(tests, every_way_has_served);
    return tests;
}
