/* Plans: what will run for a job, on which device, in how much memory, and how long that should take. */
#ifndef PLAN_H
#define PLAN_H

#include "backend.h"
#include "diag.h"
#include "job.h"
#include "lower.h"
#include "wisdom.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct plan_request {
    const char *device; /* as --device gives it; NULL: auto */
    unsigned threads;   /* 0: all */
    uint64_t
        memory; /* the most bytes to use, of the host's and of the device's memory; 0: no limit of ours */
    struct rung_wish wish, sums; /* of the stages, and of what adds for --stats and --until */
    bool stats;                  /* the run adds up the samples of input and output */
    const struct wisdom *wisdom; /* NULL: none */
};

/* A stage's step, ready to run: a routine an operation. */
struct plan_step {
    struct step step;
    struct routine *routines[LOWER_OPS];
    bool keeps; /* the step's input is needed until its end */
};

struct plan {
    const struct job *job;
    const struct backend *backend;
    struct device *device;
    int index; /* of the device, among the backend's */
    char device_name[32], device_text[256], device_reason[160];
    bool replaceable; /* the device was chosen unasked, and the CPU can stand in for it */
    double start;     /* seconds until the device was open and the routines were ready */
    struct shape shape;
    struct plan_step *steps; /* one a stage; none where the job copies */
    size_t step_count;
    bool adds; /* the run adds samples up, as `sums` says; sums.rung is NULL on a device with but one way */
    struct routine_facts sums;
    size_t field_count; /* fields of the whole grid */
    size_t batch;       /* planes that pass between files and device together */
    size_t slab;        /* planes that one call of the backend advances */

    size_t field_bytes, batch_bytes, held_bytes; /* a field, the batch buffer, what the source holds */
    size_t memory_bytes;                         /* all of it, on host and device */
    double moved_bytes, seconds;                 /* forecast of the steps */
};

/* Whether a pass takes one step of the stage and never more. */
bool plan_is_single(const struct stage *stage, const struct step *step);

/* What wisdom calls a device of a backend that is asked to run so. */
void plan_wisdom_device(const struct plan_request *request, const struct backend *backend, int index,
                        char *text, size_t size);

/* The backends that this build has; ends with NULL. */
extern const struct backend *const plan_backends[];

/* The device that the request names, or else the first that may be taken. */
bool plan_find_device(const struct plan_request *request, const struct backend **backend, int *index,
                      struct fault *fault);

/* `held_bytes` is what the source itself keeps. A plan over the memory limit is refused with STATUS_LIMIT. */
bool plan_make(const struct plan_request *request, const struct job *job, size_t held_bytes,
               struct plan *plan, struct fault *fault);

void plan_free(struct plan *plan);

#endif
