/* Losses: samples that were not written as what they came to. */
#ifndef LOSS_H
#define LOSS_H

#include "plan/job.h"
#include "run/run.h"

#include <stdbool.h>
#include <stdint.h>

/* What a run has lost, of so many samples. */
struct loss {
    uint64_t samples;
    bool of_planes;              /* which are those of whole planes, though only a part of each is written */
    bool integers, cuts;         /* floats are cut off at the ends of a range alone */
    double least, greatest;      /* where samples are cut off */
    uint64_t nans, below, above; /* NaNs of integers */
    uint64_t strays_in, strays_out; /* NaN or infinite; what is written so is a float */
};

struct loss loss_of(const struct job *job, const struct run_summary *summary);

/* Another output of the same job: the loss is that of both. */
void loss_add(struct loss *all, const struct loss *other);

#endif
