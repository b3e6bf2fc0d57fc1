/* Runs as the commands make them, from the file named in to the file named out, on the program's device. */
#ifndef RUNNING_H
#define RUNNING_H

#include "base/diag.h"
#include "pipeline/pipeline.h"
#include "cli/run_one.h"
#include "assertions.h"
#include "fixture.h"
#include "running_device.h"

#include <stdbool.h>
#include <stddef.h>

#define RUNNING_PATIENCE 300 /* seconds that a test may take */

struct outcome {
    struct command command;
    bool done;
    struct fault fault;
    struct run_summary summary;
    size_t devices; /* that shared the planes */
};

void running_command(struct outcome *outcome, enum program program, const char *options);
void outcome_free(struct outcome *outcome);

/* The test fails where the run did. */
void outcome_done(const struct outcome *outcome);

/* Run options on raw bytes, and return the output's, to be freed. */
unsigned char *running_bytes(const char *options, const void *in, size_t in_size, size_t out_size,
                             struct outcome *outcome);

/* The exit status of a program of these tests: skipped where the machine has no such device. */
int running_suite(const char *name, TCase *tests);

#endif
