/* Records: what is known of a run once it is over, and the figures that follow from it. */
#ifndef RECORD_H
#define RECORD_H

#include "base/diag.h"
#include "kernels/backend.h"
#include "plan/job.h"
#include "plan/plan.h"
#include "run/run.h"
#include "options.h"

/* The ends of a run as messages name them. */
struct record_ends {
    const char *input, *output;
};

/* By their paths, of which "-" is standard input and output. */
struct record_ends record_ends(const char *input, const char *output);

/* A run that was carried out. */
struct record {
    const struct options *options;
    struct record_ends ends;
    enum status status;
    const struct plan *plan;
    const struct run_summary *summary;
};

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

/* Samples in and out, as files hold them. */
double record_file_bytes(const struct job *job);

#endif
