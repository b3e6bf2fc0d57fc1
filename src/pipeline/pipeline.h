/* Pipelines: one input through the stages of a job to one output. Open, plan, run, close. A pipeline prints
   nothing but the progress of its run, if that is asked for; the caller finds in it what there is to print.
 */
#ifndef PIPELINE_H
#define PIPELINE_H

#include "base/diag.h"
#include "format/format.h"
#include "plan/job.h"
#include "plan/plan.h"
#include "run/run.h"
#include "budget.h"
#include "input.h"
#include "ranks.h"
#include "targets.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* A state of the last stage, after some number of steps, and where it goes: as the output does. */
struct pipeline_tee {
    uint64_t step;
    const char *path;
};

/* The outcome of a tee once it is written. */
struct pipeline_tee_end {
    struct outcomes outcomes;
    char note[128]; /* else empty */
};

/* A way to run that was compared with another one, by what it costs. */
struct pipeline_way {
    struct columns columns;
    uint64_t passes;     /* over all planes, or over each column */
    unsigned together;   /* steps that levels take at once, at most */
    uint64_t read_bytes; /* of samples, with all of a chunk that is needed in part; spool files are read and
                            written, too */
    uint64_t written_bytes;
    size_t memory_bytes;
    double seconds; /* forecast, with those in which files are read and written */
};

struct pipeline;

/* A request for a pipeline. It stays the caller's, and must not move. */
struct pipeline_request {
    const char *input, *output;   /* as file_in_open and file_out_open take them */
    const char *mask;             /* likewise; NULL: there is none */
    const struct format *format;  /* of the input; NULL: by what it begins with */
    bool pictures;                /* the input has to be a picture; else it must not be one */
    struct source_request source; /* but for its threads: those of the plan are taken */
    struct job_request job;
    struct plan_request plan;
    const struct format *out_format; /* NULL: what the output's name promises, or that of the input */
    const struct pipeline_tee *tees; /* that the plan stops at; may be given when the pipeline is open */
    size_t tee_count;
    const char
        *tee_pattern; /* that they have their names from, and are told of together; NULL: each is by itself */
    int level;        /* as sinks take it */
    int quality;      /* as sinks take it */
    bool sync;        /* outputs are on the disk when the run is done */

    /* Once all outputs are written, of several ranks by rank 0: complete other files, and add those that get
       their names together with the outputs, before them. If that fails the run has failed, but the outputs
       get their names. NULL: there are none. */
    bool (*add_files)(void *listener, const struct pipeline *pipeline, struct file_set *set,
                      struct fault *fault);
    void *listener;
    struct run_request run;
    bool will_run;         /* after it is planned; what the run needs may be made ready before */
    struct budget *budget; /* NULL: it runs alone */
    uint64_t share; /* of the budget's memory: more is taken where less means more passes over the data */
    struct peers *peers; /* the processes that run it together; NULL: this one alone */
};

/* A pipeline. Members become known in the order in which they stand here. */
struct pipeline {
    const struct pipeline_request *request;

    /* Once it is open. */
    struct input input;
    struct input mask; /* its file is NULL where there is none */
    struct job job;

    /* Once it is planned; plan.setback also where that failed. There is no plan where the rank is idle. */
    struct ranks ranks;
    struct plan plan;
    bool fits_share;             /* the share is enough, without a pass over the data more */
    struct pipeline_way ways[2]; /* where columns were tried: over whole planes and in columns, as far as
                                    these fit; the job tells which is taken */
    size_t way_count;
    const char *obstacle; /* where memory is short: why there are no columns; else NULL */

    /* Once it has run. */
    enum status status; /* STATUS_DONE or, the output complete, STATUS_UNREACHED */
    struct run_summary summary;
    struct pipeline_tee_end *tee_ends; /* one a tee */
    char note[128];                    /* of the output; else empty */
    const char *changed; /* the name of a file that was read, and has changed meanwhile; else NULL */

    /* Once the run has failed: by a device that was chosen unasked, and nobody has seen any output. */
    bool may_retreat;

    /* The pipeline's own. */
    bool written; /* all outputs are written, and only their names are missing */
    struct targets targets;
    uint64_t *stops;    /* of the plan */
    const char *device; /* instead of the request's, after a retreat */
    pthread_t starter;  /* the thread that starts the device which the request names */
    bool starts, holds_device;
    size_t held_device;     /* of the budget's */
    size_t beside_bytes[2]; /* of the input and the mask, where planes of them are read whole */
};

/* Open the input, and settle the job for it. The request stays where it is until the pipeline is closed, and
   so does the pipeline. On failure nothing is left open. Ranks call all of this together, and what one of
   them fails to do all do. */
bool pipeline_open(struct pipeline *pipeline, const struct pipeline_request *request, struct fault *fault);

/* Plan the run: devices, kernels, passes and, of several ranks, who has which planes. */
bool pipeline_plan(struct pipeline *pipeline, struct fault *fault);

/* The format of an output: the one that is asked for, that its name promises, or that of the input; pictures
   stay pictures. */
const struct format *pipeline_output_format(const struct pipeline *pipeline, const char *path);

/* Run the plan. Afterwards the output is complete under its name, or there is none. */
bool pipeline_run(struct pipeline *pipeline, struct fault *fault);

/* After a run that may retreat: go back to the start of the input, to be planned and run again, on the CPU.
 */
bool pipeline_retreat(struct pipeline *pipeline, struct fault *fault);

/* Close it at any point, also after a failure. NULL is allowed. */
void pipeline_close(struct pipeline *pipeline);

/* Whether such a pipeline could do with its share of memory on the CPU, as far as the input's header tells;
   of the input nothing else is read. */
bool pipeline_would_fit(const struct pipeline_request *request);

#endif
