/* Passes: all planes moved once, from one stop to another, with levels on the way. */
#ifndef PASS_H
#define PASS_H

#include "base/threads.h"
#include "base/diag.h"
#include "base/progress.h"
#include "peers/peers.h"
#include "kernels/backend.h"
#include "plan/levels.h"
#include "plan/plan.h"
#include "io.h"
#include "observer.h"
#include "stops.h"
#include "sweep.h"
#include "tees.h"

#include <stdbool.h>
#include <stddef.h>

/* Seconds by what they were spent on, at the same time where that was possible. The start is that of the
   device, too. */
struct run_seconds {
    double start, read, stats, upload, compute, download, write, total;
    double reading, writing; /* the same for one of the threads that read or write at once, in the mean */
};

/* A run: the things that its passes have in common, and the sums of all of them. */
struct run {
    const struct plan *plan;
    struct sweep_team team; /* its lanes, each with its sweep */
    struct lane *lane;      /* the lane that makes the pass at hand, with the first sweep, */
    size_t share;           /* and its share of the planes */
    const struct job *job;
    struct fault *fault;
    struct peers *peers; /* who make the run together; NULL: it is one's own */
    struct progress *progress;
    struct parallel_loop *loop; /* of lanes that make passes side by side: none of them looks at the
                           source's end; else NULL */
    struct observers observers;
    struct tees tees;
    struct encoding encode; /* of the output, with the range of --out-range=auto once it is known */
    bool unmapped;          /* --out-range=auto has found no finite value */
    struct run_seconds seconds;
    struct outcomes outcomes;
};

/* A file whose planes are read as those of an unrolled grid, where the last come before the first and the
   first after the last; and those of a mask with them. */
struct pass_roll {
    const struct stop *stop; /* the file, which gives planes in any order where the grid is unrolled */
    size_t plane_pixels;
    struct range own; /* the file's planes among those of the grid */
};

/* One pass over the data. Without `from` the planes of the pass before it are still there; without `to` they
   stay. */
struct pass {
    struct levels_mark begin, end;
    size_t overlap; /* planes beyond either end of the grid that it reads */
    const struct stop *from, *to;
    double *changes; /* as a sweep adds them up; may be NULL */
    bool measures;   /* its planes are the result, whose extremes are asked for */

    /* Its own while it is made. */
    struct sweep_frame frame;
    struct io_load load; /* that the reader brings */
    size_t taken;        /* planes of it */
    struct pass_roll roll;
    struct io_threads *reader, *writer;
};

/* Make it; where it succeeds, all planes are where they belong and the devices have nothing to do. All ranks
   that share the planes make it together. */
bool pass_make(struct run *run, struct pass *pass);

/* Look at the extremes of the planes that the last pass left in this process. */
bool pass_measure(struct run *run);

#endif
