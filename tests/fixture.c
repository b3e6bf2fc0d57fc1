/* What the tests share: command lines, samples that are random but always the same, and a folder of their
 * own. */
#include "fixture.h"

#include "cli/command_line.h"
#include "model/arith.h"
#include "assertions.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void fixture_require(bool condition, const char *what)
{
    if (condition)
        return;
    perror(what);
    abort();
}

/* ---- command lines ---- */

void command_parse(struct command *command, enum program program, const char *text)
{
    char *rest = NULL;

    *command = (struct command){.argv = {program == PROGRAM_VOXFILT ? "voxfilt" : "imgheat"}, .argc = 1};
    ck_assert_uint_lt(strlen(text), sizeof command->text);
    strcpy(command->text, text);
    for (char *word = strtok_r(command->text, " ", &rest); word != NULL; word = strtok_r(NULL, " ", &rest)) {
        ck_assert_int_lt(command->argc, (int)LENGTH(command->argv) - 1);
        command->argv[command->argc++] = word;
    }
    command->parsed =
        command_line_parse(command->argc, command->argv, program, &command->options, &command->fault);
}

void command_free(struct command *command)
{
    options_free(&command->options);
}

void command_stage(const struct command *command, struct grid *grid, struct stage *stage)
{
    struct fault fault;

    ck_assert_msg(command->parsed, "%s", command->fault.text);
    memcpy(grid->spacing, command->options.source.grid.spacing, sizeof grid->spacing);
    ck_assert_msg(stage_build(&command->options.stages[0], grid, command->options.job.force, stage, &fault),
                  "%s", fault.text);
}

static int stencil_radius(const struct stencil *stencil)
{
    int radius = 0;

    for (size_t i = 0; i < stencil->count; i++) {
        const struct tap *tap = &stencil->taps[i];
        const int reach[3] = {abs(tap->dx), abs(tap->dy), abs(tap->dz)};
        for (int axis = 0; axis < 3; axis++)
            radius = reach[axis] > radius ? reach[axis] : radius;
    }
    return radius;
}

const char *edge_option(size_t rule)
{
    static char texts[EDGE_RULES][32];
    enum edge_rule edge = (enum edge_rule)rule;

    snprintf(texts[rule], sizeof texts[rule], "%s%s", edge_name(edge),
             edge_has(edge, EDGE_HAS_VALUE) ? ":-1.3" : "");
    return texts[rule];
}

int stage_radius(const struct stage *stage)
{
    int radius = stencil_radius(&stage->body.taps);

    for (int i = 0; i < FILTER_PASSES; i++) {
        int along = stencil_radius(&stage->body.along[i]);
        radius = along > radius ? along : radius;
    }
    return radius > 0 ? radius : 1;
}

/* ---- samples ---- */

/* Splitmix64: any seed will do, and nothing of it is the product's. */
static uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

static double random_float(uint64_t *state)
{
    return ldexp((double)(int64_t)next_random(state), -62);
}

/* One in eight: few enough that sums of many samples are not all NaN. */
static double special_float(uint64_t *state)
{
    static const double specials[] = {NAN,       -NAN,         INFINITY, -INFINITY, 0.0,       -0.0,
                                      0x1p-24,   -0x1.8p-16,   65519.0,  -65520.0,  0x1p-149,  -0x1p-140,
                                      0x1p-1074, -0x1.8p-1030, 1e30,     -3e38,     2097152.5, 1e-30};
    uint64_t choice = next_random(state) % (8 * LENGTH(specials));

    return choice < LENGTH(specials) ? specials[choice] : random_float(state);
}

/* Neighbours are often alike, or so far apart that nothing flows between them. */
static double flat_float(uint64_t *state, enum sample_type type)
{
    static const double values[] = {-0.0, -0.0, -40.0, -40.0, -40.0, 0.0, 1.0};
    const double huge = type == SAMPLE_F64 ? 0x1p600 : 0x1p80;
    uint64_t choice = next_random(state) % 128;

    return choice == 0   ? huge
           : choice == 1 ? -huge
           : choice < 8  ? random_float(state)
                         : values[choice % LENGTH(values)];
}

/* `kind` says whether numbers have a sign, and whether there are others. */
static double whole_float(uint64_t *state, uint64_t kind)
{
    static const double others[] = {-0.0, 0.5, 65536.0, -32769.0, -0x1p-30, 0x1p33, NAN};
    uint64_t random = next_random(state);

    if (kind % 4 < 2 && random % 1024 < LENGTH(others))
        return others[random % 1024];
    return (double)(random >> 48) - (kind % 2 == 0 ? 32768.0 : 0.0);
}

void fill_samples(enum fill fill, enum sample_type type, void *samples, size_t count, uint64_t seed)
{
    unsigned char *bytes = samples;
    const uint64_t kind = seed;
    size_t size = sample_size(type);

    for (size_t i = 0; i < count; i++, bytes += size) {
        uint64_t bits = next_random(&seed);
        double value = fill == FILL_SPECIAL ? special_float(&seed)
                       : fill == FILL_FLAT  ? flat_float(&seed, type)
                       : fill == FILL_WHOLE ? whole_float(&seed, kind)
                                            : random_float(&seed);
        float narrow = (float)value;
        arith_half half = arith_store_f16_f64(value);
        memcpy(bytes,
               type == SAMPLE_F64   ? (void *)&value
               : type == SAMPLE_F32 ? (void *)&narrow
               : type == SAMPLE_F16 ? (void *)&half
                                    : (void *)&bits,
               size);
    }
}

void *fixture_memory(size_t count, size_t size)
{
    void *memory = calloc(count + 1, size);

    fixture_require(memory != NULL, "memory");
    return memory;
}

unsigned char *fixture_mask(size_t pixels, uint64_t seed)
{
    unsigned char *mask = fixture_memory(pixels, 1);

    for (size_t i = 0; i < pixels; i++) {
        bool many = (i / 40 + seed) % 3 == 0;
        seed = seed * UINT64_C(0x5851f42d4c957f2d) + 1;
        mask[i] = (seed >> 60) < (many ? 13 : 2) ? 0 : (unsigned char)(seed >> 40 | 1);
    }
    return mask;
}

/* ---- files ---- */

static char folder[512];

/* Far, lopsided, out of order, and with a weight that f32 rounds to zero. */
/* A star of radius 2, no two of whose weights are the same. */
static const char wide_taps[] =
    "0 0 -2 .03\n0 0 -1 .11\n0 -2 0 -.04\n0 -1 0 .13\n-2 0 0 .02\n-1 0 0 .12\n0 0 0 .2\n"
    "1 0 0 .14\n2 0 0 -.05\n0 1 0 .09\n0 2 0 .01\n0 0 1 .15\n0 0 2 -.06\n";

static const char lopsided_taps[] = "# dx dy dz w\n"
                                    "2 -1 0 0.75\n"
                                    "-3 0 0 -0.3\n"
                                    "0 1 0 1e-60\n"
                                    "0 2 0 0.11  # after the weight\n"
                                    "0 -2 0 0.7\n";
static const char solid_taps[] = "0 0 2 0.25\n1 0 -1 -0.6\n0 0 0 0.1\n-1 2 1 0.9\n0 -1 -3 0.3\n";
static const char no_taps[] = "# none\n\n0 0 0 0\n";

void folder_enter(void)
{
    const char *parent = getenv("TMPDIR");

    snprintf(folder, sizeof folder, "%s/voxfilt-test.XXXXXX", parent == NULL ? "/tmp" : parent);
    fixture_require(mkdtemp(folder) != NULL && chdir(folder) == 0, folder);
    file_fill("lopsided.taps", lopsided_taps, strlen(lopsided_taps));
    file_fill("wide.taps", wide_taps, strlen(wide_taps));
    file_fill("solid.taps", solid_taps, strlen(solid_taps));
    file_fill("none.taps", no_taps, strlen(no_taps));
}

void folder_leave(void)
{
    DIR *directory = opendir(folder);
    struct dirent *entry;

    while (directory != NULL && (entry = readdir(directory)) != NULL)
        unlink(entry->d_name);
    if (directory != NULL)
        closedir(directory);
    if (chdir("/") == 0)
        rmdir(folder);
}

void file_fill(const char *name, const void *bytes, size_t size)
{
    FILE *file = fopen(name, "wb");

    fixture_require(file != NULL, name);
    fixture_require(fwrite(bytes, 1, size, file) == size, name);
    fixture_require(fclose(file) == 0, name);
}

bool file_exists(const char *name)
{
    return access(name, F_OK) == 0;
}

unsigned char *file_content(const char *name, size_t *size)
{
    FILE *file = fopen(name, "rb");
    unsigned char *bytes;
    long length;

    ck_assert_msg(file != NULL, "%s is not there", name);
    ck_assert_int_eq(fseek(file, 0, SEEK_END), 0);
    length = ftell(file);
    rewind(file);
    *size = (size_t)length;
    bytes = fixture_memory(*size, 1);
    ck_assert_uint_eq(fread(bytes, 1, *size, file), *size);
    fclose(file);
    return bytes;
}

size_t folder_count(void)
{
    DIR *directory = opendir(".");
    size_t count = 0;

    ck_assert_ptr_nonnull(directory);
    while (readdir(directory) != NULL)
        count++;
    closedir(directory);
    return count;
}
