/* Plans: what will run for a job, on which device, in how much memory, and how long that should take. */
#ifndef PLAN_H
#define PLAN_H

#include "base/diag.h"
#include "kernels/backend.h"
#include "devices.h"
#include "division.h"
#include "levels.h"
#include "job.h"
#include "lane.h"
#include "schedule.h"
#include "share.h"
#include "wisdom.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes in which a rank keeps the changes of its planes, until those of all ranks are added up in the
   order of planes. The changes of one step may take more. */
#define PLAN_CHANGE_BYTES ((size_t)1 << 20)

struct plan_request {
    const char *device; /* as --device gives it; NULL: auto */
    bool alone;         /* of the devices that are named, the run takes one: */
    size_t member;      /* this one, counted around */
    bool spread;        /* a name without numbers means all devices of the kind */
    unsigned threads;   /* 0: all */
    uint64_t
        memory; /* the most bytes to use, of the host's and of the device's memory; 0: no limit of ours */
    struct rung_wish wish, sums; /* of the stages, and of what adds for --stats and --until */
    size_t observer_bytes;       /* what its observers take */
    const uint64_t *stops;       /* steps of the last stage whose states the run writes, too */
    size_t stop_count;
    bool stats;                  /* the run adds up the samples of input and output */
    bool explains;               /* somebody asks for the candidates of the schedule */
    enum division_kind division; /* of a job that several processes have: what is wished, or was decided */
    size_t depth; /* the most planes that passes by several of them may lag behind; 0: as suits this one */
    const struct wisdom *wisdom;      /* NULL: none */
    void (*on_start)(void *listener); /* called before the plan waits for a device that takes long to start */
    void *listener;                   /* NULL: nobody uses that time */
    struct schedule_limits limits;
};

struct plan {
    const struct job *job;
    struct lane lanes[DEVICES_MOST]; /* those of the devices that it takes are open */
    struct shares shares;            /* of the planes; one, of all planes, where there is one device */
    struct shares portions; /* of them, each a rank's in every pass; of no count where one makes them */
    char alone[160];        /* why one device does it although several were named; else empty */
    char device_name[64], device_text[256], device_reason[160];
    bool replaceable;     /* the device was chosen unasked, and the CPU can stand in for it */
    struct fault setback; /* of the device that the CPU stands in for; else its status is STATUS_DONE */
    double start;         /* seconds until the device was open and the routines were ready */
    struct shape shape;
    struct levels_step *steps; /* one a stage; none where the job copies */
    size_t step_count;
    struct levels levels; /* of these steps */
    struct schedule schedule;
    struct schedule_trials trials; /* if the request asks for them */
    bool adds;                     /* the run adds samples up */
    size_t held_bytes;             /* what the source holds */
    size_t slice_bytes;            /* what the sink does */
    size_t beside_bytes;           /* what it takes beside that */
    size_t observer_bytes;         /* what the run's observers take */
    double moved_bytes, seconds;   /* forecast of the steps */
};

/* The devices that the request names, or else the first that may be taken. */
bool plan_find_devices(const struct plan_request *request, struct devices *devices, struct fault *fault);

/* Whether the request leaves the device to the plan, and whether it names one other than the CPU. */
bool plan_chooses_device(const struct plan_request *request);
bool plan_names_device(const struct plan_request *request);

/* How so many processes divide a job with such a link between them, and with so many states to write. */
bool plan_divide(const struct plan_request *request, const struct job *job, const struct source *source,
                 const struct link *link, size_t states, size_t processes, struct division *division,
                 struct fault *fault);

/* Start the devices that the request names. Others may go on meanwhile: the plan that opens it waits for as
   long as that takes. */
void plan_warm_up(const struct plan_request *request);

/* For a source that is open. A plan over the memory limit is refused with STATUS_LIMIT. Whatever becomes of
   the plan, its setback tells whether the CPU was to stand in for another device. */
bool plan_make(const struct plan_request *request, const struct job *job, const struct source *source,
               struct plan *plan, struct fault *fault);

/* The planes that a run computes with: of a part those that it writes, unless all must be there for it. */
struct range plan_window(const struct plan *plan);

/* Planes that a part of them is read with on either side, as far as there are so many; all where it needs
 * all. */
size_t plan_beside(const struct plan *plan);

/* Samples in the fields of so many planes. */
double plan_samples(const struct plan *plan, size_t planes);

void plan_free(struct plan *plan);

#endif
