/* Requests: what is asked of a plan, beside the job. */
#ifndef REQUEST_H
#define REQUEST_H

#include "kernels/backend.h"
#include "split.h"
#include "schedule.h"
#include "wisdom.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
    size_t output_bytes;         /* what the run keeps of its outputs for rank 0 to write */
    const uint64_t *stops;       /* steps of the last stage whose states the run writes, too */
    size_t stop_count;
    bool stats;                  /* the run adds up the samples of input and output */
    bool explains;               /* somebody asks for the candidates of the schedule */
    enum split_kind split;       /* of a job that several processes have: what is wished, or was decided */
    const struct wisdom *wisdom; /* NULL: none */
    void (*on_start)(void *listener); /* called before the plan waits for a device that takes long to start */
    void *listener;                   /* NULL: nobody uses that time */
    struct schedule_limits limits;
};

#endif
