/* Records: the figures that follow from what is known of a run once it is over. */
#ifndef RECORD_H
#define RECORD_H

#include "kernels/backend.h"
#include "plan/job.h"
#include "plan/plan.h"
#include "run/run.h"
#include "pipeline/pipeline.h"

/* A part of the time of a run. Parts overlap: planes are read and written while others are computed. */
struct record_span {
    const char *name;
    double seconds; /* of all threads */
    double each;    /* of one of those that do it at once, in the mean */
};

enum { RECORD_SPANS = 7 };

/* The parts of a run's time, RECORD_SPANS of them, in the order of the data. */
void record_spans(const struct run_summary *summary, struct record_span *spans);

/* Mean and standard deviation of what a tally counts. */
double record_mean(const struct tally *tally);
double record_deviation(const struct tally *tally);

/* Updates of the file's samples a second of computing, in all steps but those that are taken while samples
   are converted; NAN where there are no others. */
double record_rate(const struct plan *plan, const struct run_summary *summary);

/* The summary of a run that would have put out the state of a tee, but for its times. */
struct run_summary record_of_tee(const struct pipeline *pipeline, size_t index);

/* The names of what an output or a tee under this path, with this header, leaves out of the input; empty if
   there are none. */
struct dropped record_left_out(const struct pipeline *pipeline, const char *path,
                               const struct header *written);

/* Samples in and out, as files hold them. */
double record_file_bytes(const struct job *job);

/* The samples that a run has lost in its output. */
struct record_loss {
    uint64_t samples;
    bool integers, cuts;            /* floats are cut off at the ends of a range alone */
    double least, greatest;         /* where samples are cut off */
    uint64_t nans, below, above;    /* NaNs of integers */
    uint64_t strays_in, strays_out; /* NaN or infinite; what is written so is a float */
};

struct record_loss record_loss(const struct job *job, const struct run_summary *summary);

/* Add the loss of another output of the same job; the first is added to nothing, {0}. */
void record_add_loss(struct record_loss *all, const struct record_loss *other);

#endif
