/* Windows: square ones of pictures, those along one axis, and those of volumes, for which GPUs have kernels
 * of their own. */
#include "assertions.h"
#include "fixture.h"
#include "harness.h"
#include "kernels.h"
#include "seam.h"
#include "trial.h"

#include <stdio.h>
#include <string.h>

/* How far windows along an axis reach: a tap more and a tap less than the packs and the turns of a GPU's
   kernels, which take 12, 18 or 20 taps, and more than one launch has, 125 or 250. */
static const int radii[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 16, 17, 18, 40, 62, 63, 124, 125, 127};

/* Rows that are whole packs and rows that are not; wider than a tile, as wide, and narrower than the window;
   tiles below each other, and less than one. */
static const size_t solid_extents[][3] = {{160, 9, 40}, {131, 70, 3}, {36, 5, 19}, {12, 20, 2},
                                          {259, 3, 9},  {1, 65, 3},   {65, 1, 129}};
static const size_t flat_extents[][2] = {{160, 21}, {131, 70}, {36, 19}, {12, 9},
                                         {260, 6},  {1, 67},   {129, 1}};

/* By the kernels that know each size in every trial, by others when it is their turn. */
static void check_size(const struct trial *trial, const char *rung)
{
    struct trial by_rung = *trial;

    by_rung.rung = rung;
    trial_check(&by_rung, true);
    trial_check(trial, false);
}

static void check_everywhere(const char *filter, size_t turn)
{
    char options[200];

    for (size_t i = 0; i < EDGE_RULES; i++) {
        const size_t number = turn + i;
        const size_t *solid = solid_extents[number % LENGTH(solid_extents)];
        const size_t *flat = flat_extents[number % LENGTH(flat_extents)];
        struct trial trial = {.options = options,
                              .grid = number / 2 % 2 == 0 ? grid_make(2, flat[0], flat[1], 1)
                                                          : grid_make(3, solid[0], solid[1], solid[2]),
                              .work = number / 3 % 2 == 0 ? WORK_F32 : WORK_F64,
                              .fill = number % 4 == 3 ? FILL_SPECIAL : FILL_RANDOM};
        trial.grid.channels = 1 + (unsigned)number % 3;
        snprintf(options, sizeof options, "-f %s -e %s", filter, edge_option(i % EDGE_RULES));
        check_size(&trial, "passes");
    }
}

/* Taps along x or down the rows, but for one: a first derivative has none in the middle. */
static void write_gap(const char *name, int radius, int gap)
{
    FILE *file = fopen(name, "w");

    ck_assert_ptr_nonnull(file);
    for (int k = -radius; k <= radius; k++) {
        if (k != gap)
            fprintf(file, radius % 2 == 0 ? "%d 0 0 %.17g\n" : "0 %d 0 %.17g\n", k,
                    (k % 7 - 3.25) / (radius + 4));
    }
    ck_assert_int_eq(fclose(file), 0);
}

/* gauss reaches four times its sigma, half rounded up. The last pass of an unsharp mask does more. */
START_TEST(windows_along_an_axis)
{
    char filter[40];

    snprintf(filter, sizeof filter, "gauss:%g", radii[_i] / 4.0);
    check_everywhere(filter, (size_t)_i);
    snprintf(filter, sizeof filter, "unsharp:%g,0.7", radii[_i] / 4.0);
    check_everywhere(filter, (size_t)_i + 1);
    write_gap("gap.taps", radii[_i], _i % 3 == 0 ? 1 : 0);
    check_everywhere("taps:gap.taps", (size_t)_i + 2);
}
END_TEST

/* Windows whose taps lie on one side of a sample, and none of them at it; and one of a single tap. */
START_TEST(windows_beside_a_sample)
{
    static const char *const taps[] = {
        "1 0 0 0.25\n2 0 0 0.5\n3 0 0 -2\n4 0 0 3\n5 0 0 7\n",
        "-9 0 0 2\n-8 0 0 0.3\n",
        "0 1 0 0.25\n0 2 0 0.5\n0 3 0 4\n",
        "0 -3 0 0.5\n",
        "0 0 0 -0.25\n",
        "0 -6 0 1\n0 -5 0 2\n0 -4 0 3\n0 -3 0 -1\n0 -1 0 2\n0 1 0 0.5\n0 2 0 1\n",
        "-9 0 0 2\n-6 0 0 0.3\n-5 0 0 1\n-4 0 0 3\n-3 0 0 4\n-2 0 0 5\n"};
    FILE *file = fopen("beside.taps", "w");

    ck_assert_ptr_nonnull(file);
    ck_assert_int_ge(fputs(taps[_i], file), 0);
    ck_assert_int_eq(fclose(file), 0);
    check_everywhere("taps:beside.taps", (size_t)_i);
}
END_TEST

/* A square of taps, of which no two are alike. */
static void write_square(const char *name, int side)
{
    FILE *file = fopen(name, "w");

    ck_assert_ptr_nonnull(file);
    for (int k = 0; k < side * side; k++)
        fprintf(file, "%d %d 0 %.17g\n", k % side - side / 2, k / side - side / 2,
                (k % 7 - 3.25) / (side * side + k));
    ck_assert_int_eq(fclose(file), 0);
}

static void check_picture(const char *filter, size_t turn)
{
    for (size_t i = 0; i < EDGE_RULES; i++) {
        const size_t *extents = flat_extents[(i + turn) % LENGTH(flat_extents)];
        char options[100];
        struct trial trial = {.options = options,
                              .grid = grid_make(2, extents[0], extents[1], 1),
                              .work = (i + turn) % 3 < 2 ? WORK_F32 : WORK_F64,
                              .fill = i % 4 == 3 ? FILL_SPECIAL : FILL_RANDOM,
                              .few = true};
        trial.grid.channels = 1 + (unsigned)i % 3;
        snprintf(options, sizeof options, "-f %s -e %s", filter, edge_option(i % EDGE_RULES));
        check_size(&trial, "strip");
    }
}

START_TEST(square_windows)
{
    write_square("square.taps", 2 * _i + 1);
    check_picture("taps:square.taps", (size_t)_i);
}
END_TEST

START_TEST(gradients_of_pictures)
{
    for (size_t turn = 0; turn < 3 * LENGTH(flat_extents); turn++) {
        check_picture("gradient", turn);
        check_picture("gradient -s 2 --spacing 1,2.5", turn);
    }
}
END_TEST

/* ---- ranks ---- */

/* Grids of several tiles and runs of rows: widths, rows, planes. The last are for windows of many samples. */
static const size_t rank_extents[][3] = {
    {301, 150, 1}, {128, 131, 1}, {133, 37, 4}, {64, 140, 3}, {41, 27, 5}};

/* Each way to find a rank: the medians with networks of their own, other networks, bisection; extremes along
   each axis, and of balls; counting, in narrow fields, along an axis, in planes and through them.
 */
static const char *const rank_filters[] = {
    "median:1",           "median:2",       "order:1,5",      "median:1,ball", "percentile:4,20,x",
    "percentile:70,50,y", "max:1",          "min:5",          "max:3,ball",    "min:40,y",
    "median:8",           "order:3,8,ball", "percentile:3,40"};

/* An edge with a constant that narrow fields hold. */
static const char *whole_edge_option(size_t rule)
{
    return edge_has((enum edge_rule)rule, EDGE_HAS_VALUE) ? "constant:7" : edge_option(rule);
}

START_TEST(ranks_in_tiles)
{
    static const enum fill fills[] = {FILL_RANDOM, FILL_WHOLE, FILL_WHOLE, FILL_SPECIAL};
    static const enum sample_type narrow[] = {SAMPLE_U8, SAMPLE_I8, SAMPLE_U16, SAMPLE_I16};
    const char *filter = rank_filters[_i];
    /* The reference looks at each sample of a window. */
    bool flat = strcmp(filter, "median:8") == 0;
    bool counted = strcmp(filter, "percentile:3,40") == 0;
    bool many = flat || counted || strchr(filter, 'b') != NULL || strcmp(filter, "min:5") == 0;
    size_t from = _i < 4 ? 0 : 2;

    for (size_t i = 0; i < EDGE_RULES; i++) {
        size_t turn = i + (size_t)_i;
        const size_t *extents = rank_extents[many ? 4 : from + turn % (LENGTH(rank_extents) - from)];
        char options[100];
        struct trial trial = {.options = options,
                              .grid = grid_make(extents[2] == 1 ? 2 : 3, extents[0], extents[1], extents[2]),
                              .work = turn / 2 % 3 < 2 ? WORK_F32 : WORK_F64,
                              .fill = fills[turn % 4]};
        if (flat)
            trial.grid = grid_make(2, extents[0], extents[1], 1);
        trial.grid.channels = 1 + (unsigned)i % 3;
        snprintf(options, sizeof options, "-f %s -e %s", filter, edge_option(i % EDGE_RULES));
        if (!counted)
            trial_check(&trial, false);
        if (i != (size_t)_i % EDGE_RULES)
            continue;
        trial.work = WORK_F32;
        trial.narrow = true;
        trial.type = narrow[(size_t)_i % LENGTH(narrow)];
        snprintf(options, sizeof options, "-f %s -e %s", filter, whole_edge_option(i % EDGE_RULES));
        trial_check(&trial, false);
    }
}
END_TEST

/* Windows that some GPUs take in several launches: each has one sample more than whole launches do; and, on
   longer lines, so many that some blocks of a launch see nothing of the grid. */
static const char *const launch_filters[] = {"max:125,x", "min:125,y", "max:250,y", "min:250,x", "max:500,x",
                                             "min:500,y", "max:800,x", "min:800,y", "min:780,x"};
#define LONGER_LINES_FROM 6

START_TEST(extremes_in_launches)
{
    const char *filter = launch_filters[_i];

    for (size_t i = 0; i < EDGE_RULES; i++) {
        char options[100];
        bool across = strchr(filter, 'y') != NULL;
        size_t length = _i < LONGER_LINES_FROM ? 523 : 811, lines = _i < LONGER_LINES_FROM ? 3 : 12;
        struct trial trial = {.options = options,
                              .grid = grid_make(2, across ? lines : length, across ? length : lines, 1),
                              .work = (i + (size_t)_i) % 2 == 0 ? WORK_F32 : WORK_F64,
                              .fill = i % 3 == 0 ? FILL_SPECIAL : FILL_RANDOM};
        snprintf(options, sizeof options, "-f %s -e %s", filter, edge_option(i));
        trial_check(&trial, true);
    }
}
END_TEST

/* Windows so long, in so many lines, that a block of an emulated GPU takes several turns. */
static const char *const turn_filters[] = {"max:20,z",  "min:43,y", "max:150,z",
                                           "min:290,y", "max:40,x", "min:150,x"};

START_TEST(extremes_in_turns)
{
    const char *filter = turn_filters[_i];
    const size_t long_z[] = {2, 15, 300}, long_y[] = {2, 300, 15}, long_x[] = {300, 7, 14};
    const size_t *extents = strchr(filter, 'z') != NULL   ? long_z
                            : strchr(filter, 'y') != NULL ? long_y
                                                          : long_x;

    for (size_t i = 0; i < EDGE_RULES; i++) {
        char options[100];
        struct trial trial = {.options = options,
                              .grid = grid_make(3, extents[0], extents[1], extents[2]),
                              .work = i % 2 == 0 ? WORK_F32 : WORK_F64,
                              .fill = i % 3 == 0 ? FILL_SPECIAL : FILL_RANDOM};
        snprintf(options, sizeof options, "-f %s -e %s", filter, edge_option(i));
        trial_check(&trial, true);
    }
}
END_TEST

/* Extents less than a window, less than a vector, and around one or two. */
static const size_t narrow_extents[][3] = {{1, 1, 1},  {2, 3, 1},   {7, 1, 5},  {3, 4, 2},  {65, 2, 1},
                                           {64, 3, 2}, {127, 5, 1}, {31, 6, 3}, {33, 1, 4}, {129, 2, 2}};

START_TEST(narrow_ranks)
{
    static const enum sample_type types[] = {SAMPLE_U8, SAMPLE_I8, SAMPLE_U16, SAMPLE_I16};

    /* Each edge rule with two types, which are others for the next filter. */
    for (size_t i = 0; i < (size_t)EDGE_RULES * 2; i++) {
        const size_t *extents = narrow_extents[(i * 3 + (size_t)_i) % LENGTH(narrow_extents)];
        char options[100];
        struct trial trial = {.options = options,
                              .grid = grid_make(extents[2] == 1 ? 2 : 3, extents[0], extents[1], extents[2]),
                              .work = WORK_F32,
                              .narrow = true,
                              .type = types[(i + (size_t)_i) % LENGTH(types)]};
        trial.grid.channels = 1 + (unsigned)i % 3;
        snprintf(options, sizeof options, "-f %s -e %s -s %zu", rank_filters[_i],
                 whole_edge_option(i % EDGE_RULES), 1 + i % 2);
        trial_check(&trial, false);
    }
}
END_TEST

/* ---- windows of volumes ---- */

/* Less than a pack, rows of whole packs and of one column more; less than a tile, several, and more planes
   than one walk has; last columns that fill half of a warp's, a quarter, and an eighth. */
static const size_t volume_extents[][3] = {{1, 1, 1},    {2, 1, 3},   {13, 17, 5},  {31, 13, 33},
                                           {33, 31, 17}, {129, 9, 4}, {4, 33, 13},  {131, 35, 3},
                                           {128, 5, 70}, {17, 2, 31}, {260, 14, 3}, {3, 129, 2},
                                           {34, 5, 133}, {64, 35, 3}, {160, 67, 2}, {16, 133, 2}};

static const char *const volume_windows[] = {
    "gradient",
    "gradient --spacing 1,2.5,0.7",
    "sobel:x",
    "sobel:y -s 2",
    "prewitt:z",
    "twentyseven:.1,.2,.3,.4,.5,.6,.7,.8,.9,1,1.1,1.2,1.3,1.4,1.5,1.6,1.7,1.8,1.9,2,2.1,2.2,2.3,2.4,2.5,4,3",
    "seven:.1,.2,.3,.4,.5,.6,.7 -s 1",
    "star:4",
    "star:6",
    "star:8 -s 2",
    "matrix:1,2,3,4,5;5,4,3,2,1;-1,2,-3,4,-5;7,6,5,4,3;1,9,8,7,2/16",
    "matrix:1,2,0,-7,0.1",
    "taps:five.taps",
    "taps:gaps.taps",
    "taps:corners.taps",
};

/* All taps of a cube, of which no two are alike, or those of them whose numbers leave no rest. */
static void write_cube(const char *name, int radius, int rest)
{
    const int side = 2 * radius + 1;
    FILE *file = fopen(name, "w");

    ck_assert_ptr_nonnull(file);
    for (int k = 0; k < side * side * side; k++) {
        if (k % rest == 0)
            fprintf(file, "%d %d %d %.17g\n", k % side - radius, k / side % side - radius,
                    k / side / side - radius, (k % 7 - 3.25) / (side + k));
    }
    ck_assert_int_eq(fclose(file), 0);
}

START_TEST(windows_of_volumes)
{
    static const enum fill fills[] = {FILL_RANDOM, FILL_SPECIAL, FILL_FLAT};
    char options[250];

    write_cube("five.taps", 2, 1);
    write_cube("gaps.taps", 2, 3);
    write_cube("corners.taps", 2, 124);
    for (size_t i = 0; i < EDGE_RULES * LENGTH(volume_extents); i++) {
        const size_t number = i / EDGE_RULES + (size_t)_i;
        const size_t *extents = volume_extents[number % LENGTH(volume_extents)];
        struct trial trial = {.options = options,
                              .grid = grid_make(3, extents[0], extents[1], extents[2]),
                              .work = (i + number) % 3 == 0 ? WORK_F64 : WORK_F32,
                              .fill = fills[(i + number / 2) % LENGTH(fills)],
                              .rung = "plane"};
        trial.grid.channels = 1 + (unsigned)number % 2;
        snprintf(options, sizeof options, "-f %s -e %s", volume_windows[_i], edge_option(i % EDGE_RULES));
        trial_check(&trial, true);
        trial.rung = "strip";
        trial.few = true;
        trial_check(&trial, true);
    }
}
END_TEST

/* All taps of a star, no two of which weigh the same. */
static void write_star(const char *name, int radius)
{
    FILE *file = fopen(name, "w");

    ck_assert_ptr_nonnull(file);
    for (int axis = 0; axis < 3; axis++) {
        for (int at = -radius; at <= radius; at++) {
            if (at != 0 || axis == 0)
                fprintf(file, "%d %d %d %.17g\n", axis == 0 ? at : 0, axis == 1 ? at : 0, axis == 2 ? at : 0,
                        1.0 / (10 * axis + at + 7.5));
        }
    }
    ck_assert_int_eq(fclose(file), 0);
}

/* Planes as high as a tile of boxes and higher, by a row and by more than another tile; rows that fill large
   tiles, end within a pack, or are shorter than the taps reach. */
START_TEST(stars_of_several_tiles)
{
    static const size_t extents[][3] = {{128, 48, 9},  {129, 49, 5}, {128, 50, 6}, {64, 49, 9},
                                        {250, 50, 11}, {3, 48, 2},   {1, 51, 1},   {64, 24, 70},
                                        {513, 49, 3},  {256, 32, 2}, {131, 97, 7}};
    static const enum fill fills[] = {FILL_RANDOM, FILL_SPECIAL, FILL_FLAT};
    char options[100];

    write_star("star.taps", _i);
    for (size_t i = 0; i < LENGTH(extents) * EDGE_RULES; i++) {
        const size_t *extent = extents[i / EDGE_RULES];
        struct trial trial = {.options = options,
                              .grid = grid_make(3, extent[0], extent[1], extent[2]),
                              .work = (i + i / EDGE_RULES) % 2 == 0 ? WORK_F32 : WORK_F64,
                              .fill = fills[(i + i / EDGE_RULES) % LENGTH(fills)],
                              .large = true,
                              .rung = "plane"};
        trial.grid.channels = 1 + (unsigned)i % 2;
        snprintf(options, sizeof options, "-f taps:star.taps -e %s", edge_option(i % EDGE_RULES));
        trial_check(&trial, true);
    }
}
END_TEST

/* ---- which form serves ---- */

/* Call ask with the step of a stage of f32 samples on a grid, some of which may be missing. */
static void with_step(const char *options, const struct grid *given, bool missing,
                      void (*ask)(struct step *step, void *context), void *context)
{
    struct encoding encoding = plain_encoding(WORK_F32, 1);
    struct grid grid = *given;
    struct command command;
    struct stage stage;
    struct step step;
    struct fault fault;

    encoding.missing = encoding.weighs = missing;
    command_parse(&command, PROGRAM_VOXFILT, options);
    command_stage(&command, &grid, &stage);
    ck_assert(lower_stage(&stage, &grid, &encoding, WORK_F32, &step, &fault));
    ask(&step, context);
    lower_free(&step);
    stage_free(&stage);
    command_free(&command);
}

/* What a way makes of the first op of a step, joined or not. */
struct question {
    const struct way *way;
    const char *rung;
    struct shape shape;
    unsigned steps;
    bool joined, missing, served;
    struct form form;
};

static void ask_form(struct step *step, void *context)
{
    struct question *question = context;
    const struct backend *backend = question->way->backend;
    const struct rung_wish wish = {.rung = question->rung, .steps = question->steps};
    struct fault refusal;

    ck_assert(!question->joined || lower_join(step, 0, LOWER_OPS) > 0);
    question->served = backend->settle(question->way->device, &step->ops[0], &question->shape, &wish,
                                       &question->form, &refusal);
}

static struct question question_of(const struct way *way, const char *rung, const char *options,
                                   const struct grid *grid, bool joined)
{
    struct question question = {
        .way = way, .rung = rung, .shape = lower_shape(grid, 1), .steps = 1, .joined = joined};

    with_step(options, grid, question.missing, ask_form, &question);
    return question;
}

/* Windows without gaps are chained from registers, by blocks of several warps without shared memory; others
   stream through it. */
static void check_form(const char *rung, const char *filter, unsigned axes, bool from_registers)
{
    const struct grid grid = grid_make(axes, 128, 96, axes == 3 ? 12 : 1);
    char options[100];

    snprintf(options, sizeof options, "-f %s", filter);
    for (size_t i = 0; i < way_count; i++) {
        if (strcmp(ways[i].name, rung) != 0)
            continue;
        const struct question asked = question_of(&ways[i], rung, options, &grid, false);
        const struct form form = asked.form;
        ck_assert(asked.served);
        ck_assert_msg((form.shared_bytes == 0) == from_registers, "%s, %u axes: %zu bytes of shared memory",
                      filter, axes, form.shared_bytes);
        ck_assert_msg((form.block[0] > 32 && form.shared_bytes == 0) == from_registers, "%s: %u threads",
                      filter, form.block[0]);
    }
}

START_TEST(dense_windows_stay_in_registers)
{
    check_form("strip", "matrix:1,2,1;2,4,2;1,2,1", 2, true);
    check_form("strip", "matrix:1,2,1;0,4,2;1,2,1", 2, false);
    for (int side = 5; side <= 31; side += 2) {
        write_square("square.taps", side);
        check_form("strip", "taps:square.taps", 2, true);
    }
}
END_TEST

/* Windows of a volume's planes run in strips, and 27 taps two steps a pass, wherever rows end. */
START_TEST(rows_choose_their_rung)
{
    static const char square[] = "-f matrix:1,2,3,2,1;2,4,6,4,2;3,6,9,6,3;2,4,6,4,2;1,2,3,2,1";
    static const struct {
        const char *options;
        size_t nx;
        unsigned steps;
        const char *rung;
    } rows[] = {{square, 512, 1, "strip"},
                {square, 513, 1, "strip"},
                {square, 255, 1, "strip"},
                {square, 256, 1, "strip"},
                {"-f twentyseven:4,3,2,1", 512, 0, "fused"},
                {"-f twentyseven:4,3,2,1", 513, 0, "fused"},
                {"-f twentyseven:4,3,2,1 -e mirror", 512, 0, "fused"},
                {"-f twentyseven:4,3,2,1 -e wrap", 513, 0, "fused"},
                {"-f twentyseven:4,3,2,1 -e wrap", 100, 0, "plane"}};

    for (size_t i = 0; i < way_count; i++) {
        if (strcmp(ways[i].name, "its own choice") != 0)
            continue;
        for (size_t k = 0; k < LENGTH(rows); k++) {
            const struct grid grid = grid_make(3, rows[k].nx, 64, 12);
            struct question asked = {.way = &ways[i], .shape = lower_shape(&grid, 1), .steps = rows[k].steps};
            with_step(rows[k].options, &grid, false, ask_form, &asked);
            ck_assert(asked.served);
            ck_assert_msg(strcmp(asked.form.rung->name, rows[k].rung) == 0, "%s, %zu columns: %s",
                          rows[k].options, rows[k].nx, asked.form.rung->name);
        }
    }
}
END_TEST

/* Passes are of any reach, and in every launch their tiles fit into what all GPUs have of shared memory. */
START_TEST(passes_have_few_gaps)
{
    const struct grid grid = grid_make(3, 128, 96, 12);

    for (size_t i = 0; i < way_count; i++) {
        if (strcmp(ways[i].name, "passes") != 0)
            continue;
        const struct question asked = question_of(&ways[i], "passes", "-f gauss:200", &grid, false);
        ck_assert(asked.served);
        ck_assert_uint_le(asked.form.shared_bytes, 48 * 1024);
        ck_assert(question_of(&ways[i], "passes", "-f matrix:1,2,0,2,1", &grid, false).served);
        ck_assert(!question_of(&ways[i], "passes", "-f matrix:1,2,0,0,1", &grid, false).served);
    }
}
END_TEST

/* ---- passes as one ---- */

static void ask_operations(struct step *step, void *last)
{
    const struct op first = step->ops[0];
    const size_t count = step->count, last_reader = step->last_reader;

    ck_assert_uint_eq(lower_join(step, 0, LOWER_OPS), count);
    ck_assert_uint_eq(step->count, 1);
    ck_assert_int_eq(step->ops[0].kind, OP_PASSES);
    ck_assert_uint_eq(step->ops[0].pass_count, 3);
    ck_assert_uint_eq(step->ops[0].tap_count, 3 * first.tap_count);
    ck_assert_int_eq(step->ops[0].plane.low, first.x.low);
    ck_assert_int_eq(step->ops[0].passes[2].kind, *(const enum op_kind *)last);
    ck_assert_int_eq(op_sharpens(&step->ops[0]), *(const enum op_kind *)last == OP_UNSHARP);
    lower_part(step, 0);
    ck_assert_uint_eq(step->count, count);
    ck_assert_uint_eq(step->last_reader, last_reader);
    ck_assert_int_eq(step->ops[0].kind, OP_TAPS);
    ck_assert_ptr_eq(step->ops[0].taps, first.taps);

    /* Or the first two. */
    ck_assert_uint_eq(lower_join(step, 0, 2), 2);
    ck_assert_uint_eq(step->count, 2);
    ck_assert_uint_eq(step->last_reader, last_reader > 0 ? 1 : 0);
    ck_assert_int_eq(step->ops[0].row.low, first.x.low);
    ck_assert_int_eq(step->ops[0].plane.low, 0);
    ck_assert_int_eq(step->ops[1].kind, *(const enum op_kind *)last);
    lower_part(step, 0);
    ck_assert_uint_eq(step->count, count);
    ck_assert_uint_eq(step->last_reader, last_reader);
}

/* An average becomes one operation, or its passes do. */
static void ask_average(struct step *step, void *unused)
{
    (void)unused;
    ck_assert_uint_eq(step->count, 5);
    ck_assert_uint_eq(lower_join(step, 0, 4), 0);
    ck_assert_uint_eq(lower_join(step, 0, LOWER_OPS), 5);
    ck_assert_uint_eq(step->count, 1);
    ck_assert_uint_eq(step->ops[0].pass_count, 5);
    ck_assert_uint_eq(step->ops[0].channels, 1);
    ck_assert(step->ops[0].begins);
    ck_assert(!op_reads_kept(&step->ops[0]));
    lower_part(step, 0);
    ck_assert_uint_eq(step->count, 5);
    ck_assert_uint_eq(step->last_reader, 4);
    ck_assert_uint_eq(lower_join(step, 1, LOWER_OPS), 3);
    ck_assert_uint_eq(step->count, 3);
    ck_assert_uint_eq(step->ops[1].pass_count, 3);
}

static void ask_single(struct step *step, void *unused)
{
    (void)unused;
    ck_assert_uint_eq(lower_join(step, 0, LOWER_OPS), 0);
}

START_TEST(passes_join_and_part)
{
    const struct grid grid = grid_make(3, 40, 30, 20);
    enum op_kind blurred = OP_TAPS, sharp = OP_UNSHARP;

    with_step("-f gauss:1.5", &grid, false, ask_operations, &blurred);
    with_step("-f unsharp:1.5,0.5", &grid, false, ask_operations, &sharp);
    with_step("-f heat", &grid, false, ask_single, NULL);
    with_step("-f gauss:1.5", &grid, true, ask_average, NULL);
}
END_TEST

/* Without a wish, passes are joined where that is worth it; windows that reach too far are never joined. */
static void check_joined(const struct way *way, const char *rung, const char *filter, const struct grid *grid,
                         bool served)
{
    const struct question asked = question_of(way, rung, filter, grid, true);

    ck_assert_msg(asked.served == served, "%s on %zu: %s", filter, grid->nz,
                  asked.served ? "served" : "refused");
    ck_assert_msg(!served || asked.form.tile_x == 128, "%u columns", asked.form.tile_x);
}

START_TEST(volumes_are_joined)
{
    static const struct {
        const char *options;
        bool served;
    } averages[] = {{"-f gauss:1.5", true}, {"-f gauss:1.5 -e wrap", true}, {"-f gauss:1.5 -e hold", false}};
    const struct grid large = grid_make(3, 512, 512, 512), small = grid_make(3, 40, 30, 20),
                      flat = grid_make(2, 512, 512, 1);

    for (size_t i = 0; i < way_count; i++) {
        if (strcmp(ways[i].name, "passes") != 0)
            continue;
        check_joined(&ways[i], NULL, "-f gauss:1.5", &large, true);
        check_joined(&ways[i], NULL, "-f gauss:1.5", &small, false);
        check_joined(&ways[i], "passes", "-f gauss:1.5", &small, true);
        check_joined(&ways[i], "passes", "-f unsharp:1.5,1", &small, true);
        check_joined(&ways[i], "passes", "-f box:9", &large, false);
        check_joined(&ways[i], "passes", "-f gauss:1.5", &flat, true);
        for (size_t k = 0; k < LENGTH(averages); k++) {
            struct question asked = {.way = &ways[i],
                                     .shape = lower_shape(&small, 2),
                                     .steps = 1,
                                     .rung = "passes",
                                     .joined = true,
                                     .missing = true};
            with_step(averages[k].options, &small, true, ask_form, &asked);
            ck_assert_int_eq(asked.served, averages[k].served);
        }
    }
}
END_TEST

TCase *windows_case(void)
{
    TCase *tests = tcase_create("windows");

    tcase_add_test(tests, dense_windows_stay_in_registers);
    tcase_add_test(tests, rows_choose_their_rung);
    tcase_add_test(tests, passes_join_and_part);
    tcase_add_test(tests, volumes_are_joined);
    tcase_add_test(tests, passes_have_few_gaps);
    tcase_add_loop_test(tests, windows_along_an_axis, 0, LENGTH(radii));
    tcase_add_loop_test(tests, windows_beside_a_sample, 0, 7);
    tcase_add_loop_test(tests, square_windows, 1, 17);
    tcase_add_test(tests, gradients_of_pictures);
    tcase_add_loop_test(tests, ranks_in_tiles, 0, (int)LENGTH(rank_filters));
    tcase_add_loop_test(tests, extremes_in_launches, 0, (int)LENGTH(launch_filters));
    tcase_add_loop_test(tests, extremes_in_turns, 0, (int)LENGTH(turn_filters));
    tcase_add_loop_test(tests, narrow_ranks, 0, (int)LENGTH(rank_filters));
    return tests;
}

TCase *volumes_case(void)
{
    TCase *tests = tcase_create("volumes");

    tcase_add_loop_test(tests, windows_of_volumes, 0, (int)LENGTH(volume_windows));
    tcase_add_loop_test(tests, stars_of_several_tiles, 1, 5);
    return tests;
}
