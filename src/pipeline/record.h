/* Records: the figures that follow from what is known of a run once it is over. */
#ifndef RECORD_H
#define RECORD_H

#include "kernels/backend.h"
#include "plan/job.h"
#include "plan/plan.h"
#include "run/run.h"
#include "pipeline.h"

/* What a run spends its time on, some of it at the same time. */
struct record_span {
    const char *name;
    double seconds; /* of all threads */
    double each;    /* of one of those that do it at once, in the mean */
};

enum { RECORD_SPANS = 7 };

void record_spans(const struct run_summary *summary, struct record_span *spans);

double record_mean(const struct tally *tally);
double record_deviation(const struct tally *tally);

/* Updates of the file's samples a second of computing, in all steps but those that are taken while samples
   are converted; NAN where there are no others. */
double record_rate(const struct plan *plan, const struct run_summary *summary);

/* The summary of a run that would have put out the state of a tee, but for its times. */
struct run_summary record_of_tee(const struct pipeline *pipeline, size_t index);

/* The names of what an output or a tee under this path, with this header, leaves out of the input; empty if
   there are none. */
struct record_left_out {
    char text[512];
};

struct record_left_out record_left_out(const struct pipeline *pipeline, const char *path,
                                       const struct header *written);

/* Samples in and out, as files hold them. */
double record_file_bytes(const struct job *job);

#endif
