/* Plans: what will run for a job, on which device, in how much memory, and how long that should take. */
#ifndef PLAN_H
#define PLAN_H

#include "base/diag.h"
#include "levels.h"
#include "job.h"
#include "lane.h"
#include "schedule.h"
#include "selection.h"
#include "shares.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All that is decided about a run. It is filled in by plan_make and read by all that run, explain and
   report. */
struct plan {
    const struct job *job;
    struct selection selection;
    struct lane lanes[DEVICES_MOST]; /* those of the devices that it takes are open */
    struct shares shares;            /* of the planes; one, of all planes, where there is one device */
    char device_name[64], device_text[256];
    struct fault setback; /* of the device that the CPU stands in for; else its status is STATUS_DONE */
    double start;         /* seconds until the device was open and the routines were ready */
    struct shape shape;
    double plane_samples;      /* in a plane of the fields */
    size_t packed_plane_bytes; /* of them, packed */
    struct levels_step *steps; /* one a stage; none where the job copies */
    size_t step_count;
    struct levels levels; /* the levels of these steps */
    struct schedule schedule;
    /* The planes that the run computes: those that it writes, or all if all must be there. */
    struct range window;
    size_t beside; /* planes that a part of them is read with on either side, as far as there are so many; all
                      if it needs all */
    struct range read;   /* the planes of which the box is read, by all processes together; they may go past
                            the last one and on at the first */
    uint64_t read_bytes; /* of samples of the input, in all volumes and columns; where planes come in turn,
                            all of them */
    struct schedule_candidates candidates; /* if the request asks for them */
    bool adds;                             /* the run adds samples or changes up */
    size_t held_bytes;                     /* what the source itself holds */
    size_t slice_bytes;                    /* what a slice's sink holds */
    size_t beside_bytes;                   /* what the source takes besides */
    size_t observer_bytes;                 /* what the run's observers take */
    size_t output_bytes;                   /* what the run keeps of outputs */
    double moved_bytes, compute_seconds;   /* forecast: bytes that the steps move, and the time of kernels */
    double seconds;                        /* forecast: the time of the run, a device's start included */
};

/* Choose how `processes` processes divide a job, with such a link between them. Nothing is opened. */
bool plan_split(const struct plan_request *request, const struct job *job, const struct link *link,
                size_t processes, struct split *split, struct fault *fault);

/* Make a plan for a source that is open; its devices are then open, and their routines ready. A plan over the
   memory limit is refused with STATUS_LIMIT. Whether it succeeds or not, its setback tells whether the CPU
   was to stand in for another device. */
bool plan_make(const struct plan_request *request, const struct job *job, const struct source *source,
               struct plan *plan, struct fault *fault);

/* Close the devices and release the plan; only its setback stays. */
void plan_free(struct plan *plan);

#endif
