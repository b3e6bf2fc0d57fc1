/* The bench of several devices that share a grid, as a run on them would. */
#ifndef BENCH_FLEET_H
#define BENCH_FLEET_H

#include "bench_case.h"

#include <stdbool.h>
#include <stddef.h>

/* The work of one device for a step. */
struct bench_share {
    const char *backend;
    int index;
    double compute;      /* seconds, in which it also waits for planes */
    double handed_bytes; /* by the others */
    double handing;      /* seconds that the copies took */
};

/* A kernel on several devices. */
struct bench_fleet_row {
    size_t count;
    bool equal;
    double seconds; /* of one step */
    struct bench_share shares[DEVICES_MOST];
};

/* Measure the fastest kernel of the current table on the first `count` devices of the bench. If their shares
   are too small for it, `fits` is false and nothing was measured. */
bool bench_fleet_measure(struct bench_case *bench, size_t count, struct bench_fleet_row *row, bool *fits);

#endif
