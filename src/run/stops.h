/* Stops: the files that the planes of a run stand in between its passes.

   The first stop is the source, the last one the sink. In between there may be one or two spool files, which
   hold planes in the work type: one is enough where each plane is written after it has been read; a grid that
   goes around, and steps on trial, need two. All stops look alike to a pass: planes are moved from or to
   them, in order or anywhere, by one thread or by several. */
#ifndef STOPS_H
#define STOPS_H

#include "base/diag.h"
#include "base/spool.h"
#include "kernels/backend.h"
#include "format/format.h"
#include "plan/plan.h"
#include "plan/route.h"
#include "io.h"
#include "observer.h"
#include "output.h"

#include <stdbool.h>
#include <stddef.h>

#define STOPS_SPOOLS 2

/* Where a pass has its planes from, or puts them. */
struct stop {
    struct io_end end;
    /* Of an end whose samples have a mask: a byte for each pixel of the planes that were moved last, or that
       are read at the same time. NULL: there is none. */
    bool (*mask)(void *file, void *bytes, struct range planes, struct fault *fault);
    const struct encoding *encoding;
    size_t plane_bytes;
    unsigned threads;
    bool random;             /* it gives or takes planes in any order, */
    bool one_reader;         /* but several who take turns are slower than one after the other */
    bool of_run;             /* it is one of the run's ends: observed, and counted in its outcomes */
    enum observer_end which; /* of them */
};

/* A spool file of packed planes, which are written and read in any order. */
struct plane_spool {
    struct spool spool;
    size_t plane_bytes;
};

/* All stops of a run, which is for one volume of the source's series. */
struct stops {
    const struct plan *plan;
    const struct job *job;
    size_t volume;
    struct source *source;
    struct source *mask;           /* NULL: the job reads none */
    struct output output;          /* of the sink */
    bool reserved;                 /* disk space for all of its samples has been allocated, or need not be */
    const struct encoding *encode; /* of the sink */
    struct plane_spool spools[STOPS_SPOOLS];
    struct encoding spooled; /* how planes stand in them */
    struct spool held;       /* for what the source itself holds, as an interlaced picture */
};

/* The stops of a run; nothing is open yet. Between passes the job may go to another column. The encoding is
   read when planes go into the sink, so it may change until then. */
struct stops stops_of(const struct plan *plan, const struct job *job, size_t volume, struct source *source,
                      struct source *mask, struct sink *sink, const struct encoding *encode);

/* Create the spool files that the plan asks for. They are to be closed, also after a failure; source and sink
   stay open. */
bool stops_open(struct stops *stops, struct fault *fault);
void stops_close(struct stops *stops);

/* The last column of the last volume ends the source, and its run the sink. */
bool stops_is_last(const struct stops *stops);

/* Let the sink begin to take room for all of its samples; and wait until it has taken it. */
void stops_begin_to_reserve(struct stops *stops);
bool stops_reserve(struct stops *stops, struct fault *fault);

/* A stop as a pass reads from it, and as one writes to it. */
struct stop stops_from(struct stops *stops, enum route_stop stop);
struct stop stops_to(struct stops *stops, enum route_stop stop);

#endif
