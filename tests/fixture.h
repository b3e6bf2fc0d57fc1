/* What the tests share: command lines, samples that are random but always the same, and a folder of their
 * own. */
#ifndef FIXTURE_H
#define FIXTURE_H

#include "model/grid.h"
#include "model/sample.h"
#include "model/stage.h"
#include "cli/options.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LENGTH(array) (sizeof(array) / sizeof *(array))

/* What a test's own surroundings owe it; usable outside a running test, where check's assertions are not. */
void fixture_require(bool condition, const char *what);

/* A command line cut at its spaces, and what command_line_parse makes of it. */
struct command {
    char text[512];
    char *argv[64];
    int argc;
    struct options options;
    struct fault fault;
    bool parsed;
};

/* Parse "-f heat --steps 3". What is wrong with it is in the fault. */
void command_parse(struct command *command, enum program program, const char *text);
void command_free(struct command *command);

/* The one stage of a voxfilt command line on a grid, which takes --spacing from it. The command must outlive
 * it. */
void command_stage(const struct command *command, struct grid *grid, struct stage *stage);

/* A rule as --edge takes it, with a value that samples do not have if it supplies one: the same text every
 * time. */
const char *edge_option(size_t rule);

/* The farthest that a stage reaches along any axis; 1 for what has no stencil. */
int stage_radius(const struct stage *stage);

enum fill {
    FILL_RANDOM, /* the whole range of an integer; −2 to 2, hardly any of it short, of a float */
    FILL_FLAT,   /* few values of a float, zeros of both signs among them, and some whose squares are infinite
                  */
    FILL_WHOLE,  /* whole numbers of 16 bits of a float, all with a sign or all without; in half of the grids,
                    here and  there what is none */
    FILL_SPECIAL /* FILL_RANDOM with NaNs, infinities, zeros of both signs, denormals and huge values strewn
                  * in
                  */
};

/* Samples in this machine's order of bytes. */
void fill_samples(enum fill fill, enum sample_type type, void *samples, size_t count, uint64_t seed);

/* A byte a pixel: many are 0 in some stretches, and a few in others. To be freed. */
unsigned char *fixture_mask(size_t pixels, uint64_t seed);

/* Zeroed memory that a test need not check. */
void *fixture_memory(size_t count, size_t size);

/* Work in a new folder, and remove it with all that is in it. Taps files for the tests lie there. */
void folder_enter(void);
void folder_leave(void);

/* Entries of the folder. */
size_t folder_count(void);

void file_fill(const char *name, const void *bytes, size_t size);
bool file_exists(const char *name);

/* The whole file, to be freed. */
unsigned char *file_content(const char *name, size_t *size);

#endif
