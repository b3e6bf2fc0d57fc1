/* Predictions: how long a job should take on a device, or on several, by what was measured or is assumed. */
#ifndef PREDICTION_H
#define PREDICTION_H

#include "kernels/backend.h"
#include "devices.h"
#include "job.h"
#include "levels.h"
#include "wisdom.h"

#include <stdbool.h>
#include <stddef.h>

/* The job whose time is predicted, and on what. */
struct prediction_case {
    const struct job *job;
    const struct shape *shape;
    const struct levels_step *steps; /* one a stage; none where the job copies */
    size_t step_count;
    double plane_samples;         /* of work, in a plane of the fields */
    double samples;               /* in all planes that the process is expected to compute, of all volumes */
    double read_bytes;            /* of these planes, as they are read */
    double file_bytes;            /* and written, too */
    struct device_request device; /* but for its index */
    const struct wisdom *wisdom;  /* NULL: none */

    /* Known once forms and schedule are; before, 0. */
    unsigned together; /* the most steps that a level takes at once */
    size_t slabs;      /* by which each level advances, on a device that has memory of its own */
    bool held;         /* all planes have been read before the first level begins */
};

/* The start of a device, and the time in which samples move to it and back while levels are computed. */
struct prediction_overhead {
    double start, moving; /* seconds */
};

struct prediction_overhead prediction_overhead(const struct prediction_case *expected,
                                               const struct backend *backend);

/* Seconds in all: of a GPU, from its start to the last sample back on the host; of a CPU, for reading,
   converting and computing; and of several devices together. */
double prediction_alone(const struct prediction_case *expected, const struct backend *backend, int index);
double prediction_together(const struct prediction_case *expected, const struct devices *devices);

/* The seconds of these in which devices compute, waiting for a processor included. */
double prediction_computing(const struct prediction_case *expected, const struct devices *devices);

#endif
