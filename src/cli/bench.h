/* The bench: every rung of a device on one stage, compared with the CPU's bytes and then timed. */
#ifndef BENCH_H
#define BENCH_H

#include "base/diag.h"
#include "model/grid.h"
#include "model/stage.h"
#include "plan/plan.h"

#include <stdbool.h>
#include <stdio.h>

struct bench_request {
    const struct stage_request *stages; /* each is a table of its own */
    size_t stage_count;
    bool force;
    struct grid grid;
    struct encoding encoding; /* of the samples, with the channels of the grid: what they are to each other */
    enum work_type work;
    struct plan_request plan; /* the device, threads, and a wish that narrows the ladder */
    bool pictures;            /* rates are told in pixels */
    bool json;
    bool keep; /* the fastest as wisdom */
};

/* Measure and print. Bytes are compared with the CPU's or, where the CPU is measured, with those of its
   plainest build on one thread; a row whose bytes differ carries no figure, and makes the bench fail. */
bool bench_run(FILE *stream, const struct bench_request *request, struct fault *fault);

#endif
