/* Schedules: how often a run goes over the data, in what slabs, and how much memory that takes. */
#ifndef SCHEDULE_H
#define SCHEDULE_H

#include "base/diag.h"
#include "forms.h"
#include "levels.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How much at a time. 0: what suits the machine; tests want little of everything. */
struct schedule_limits {
    size_t slab;           /* planes that the levels advance by */
    size_t batch;          /* planes that pass between files and device together */
    uint64_t memory;       /* more than this is not taken where passes over a spool file would do with less */
    uint64_t spare, whole; /* the memory_limits of the machine, if they are known already */
};

/* The fate of a candidate. */
enum schedule_fate {
    SCHEDULE_TAKEN,
    SCHEDULE_BEATEN,     /* it fits, but a later one is better */
    SCHEDULE_NEEDLESS,   /* it fits, but so does one that is preferred */
    SCHEDULE_TOO_LARGE,  /* its memory is the least that it needs; SIZE_MAX where addresses end */
    SCHEDULE_TOO_NARROW, /* slabs that fit are so narrow that too much would be computed twice */
    SCHEDULE_TOO_DEEP    /* it does not get along with a part of the planes */
};

/* A way to run that was considered. */
struct schedule_candidate {
    bool spooled, holds_in_spool, lean; /* as in the schedule */
    bool unrolled;                      /* a single pass, which goes around the grid */
    unsigned together;
    uint64_t passes; /* where it fits */
    size_t memory_bytes;
    enum schedule_fate fate;
};

/* A third fewer steps at once each time come to one within 56 times; four kinds of candidates have so many,
   and a lean one. */
#define SCHEDULE_CANDIDATES 256

/* In order of preference. */
struct schedule_candidates {
    struct schedule_candidate list[SCHEDULE_CANDIDATES];
    size_t count;
    uint64_t memory; /* within which they were tried; 0: no limit */
};

/* The levels that run, and the limits within which they do. */
struct schedule_request {
    const struct levels *levels;       /* without stages where the job copies */
    const struct forms_request *forms; /* of the levels, which are preferred */
    struct schedule_limits limits;
    uint64_t memory;           /* the most bytes to use, 0: no limit */
    uint64_t device_memory;    /* the most bytes of fields, 0: they are in this process's own memory */
    size_t field_plane_bytes;  /* of a plane in a field */
    size_t wide_plane_bytes;   /* likewise, if its samples were of the work type */
    size_t packed_plane_bytes; /* of a plane of a field, packed */
    size_t file_plane_bytes;   /* of a plane of the input or the output, the larger */
    size_t held_bytes;         /* that the source keeps */
    size_t beside_bytes;       /* that it and observers take beside them */
    unsigned readers;          /* threads that may read at once */
    unsigned writers;          /* and those that may write, where planes can be written in any order */
    bool random;               /* the source gives planes in any order */
    bool tallies, changes;     /* samples and steps are added up */
    bool tees;                 /* states on the way leave, too */
    bool part;                 /* what leaves may be fewer planes: a pass that needs no others is preferred */
    bool at_once;              /* nothing else than one pass will do */
    bool measures;             /* all of the result is looked at before any of it leaves */
    bool between_ranks;        /* the devices that share the planes are of ranks, one each */
    size_t change_bytes;       /* what the changes of a step take on their way between them */
    size_t *least;             /* where nothing fits: told how much memory would do; NULL: nobody asks */
    struct schedule_candidates *candidates; /* filled in with the candidates; NULL: nobody asks */
};

/* How a run goes over the data, and the memory that this takes. */
struct schedule {
    bool holds_in_spool; /* what the source holds, since there is no memory for it */
    bool spooled;        /* passes follow a route, and between them the planes are kept in files */
    size_t spools;       /* such files */
    bool on_trial;       /* steps are looked at, over all planes: --until */
    bool whole;          /* so they are, or all planes of the result are there before any leaves */
    unsigned together;   /* the most steps that a level takes at once */
    bool lean;           /* by the routines that take the least memory */
    bool tight;          /* for want of memory, it is lean, or takes fewer steps at once than its forms can */
    size_t devices;      /* that share the planes, each with fields of its own, */
    size_t lanes;        /* and how many of them are this process's */
    size_t halo;         /* planes that each of them holds beside its own, on either side */
    size_t depth;        /* planes that levels lag behind those read */
    size_t slab, batch;  /* planes */
    size_t window;       /* planes that a field holds */
    unsigned readers, writers;
    size_t in_buffers, out_buffers; /* of a batch, before the levels and after them */
    size_t tee_buffers;             /* likewise, of states on the way */
    uint64_t passes;                /* over the data; --until may need fewer */
    double again;                   /* planes that they read once more, where they go around the grid */

    size_t field_count;
    size_t field_bytes, batch_bytes, spool_bytes; /* one of each */
    size_t routine_bytes, sum_bytes;              /* what routines and sums take beside */
    size_t exchange_bytes;        /* and what planes and their changes take on their way between processes */
    size_t exchange_device_bytes; /* what such planes take in a device's own memory, a part of sum_bytes */
    size_t memory_bytes;          /* all of it, on host and devices */
};

/* Schedule a run in which `devices` devices share all planes and hold them at once; false if they do not
   fit. */
bool schedule_share(const struct schedule_request *request, size_t devices, struct schedule *schedule);

/* Find a schedule for one device. If none fits, it is refused with STATUS_LIMIT, and the refusal names the
   least memory that one needs. */
bool schedule_make(const struct schedule_request *request, struct schedule *schedule, struct fault *fault);

#endif
