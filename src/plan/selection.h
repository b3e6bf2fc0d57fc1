/* Selections: the device that a plan takes, or several of them, and why. */
#ifndef SELECTION_H
#define SELECTION_H

#include "base/diag.h"
#include "devices.h"
#include "prediction.h"
#include "schedule.h"
#include "split.h"
#include "wisdom.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A request for a plan, beside the job. */
struct plan_request {
    const char *device; /* as --device gives it; NULL: auto */
    bool alone;         /* of the devices that are named, the run takes one: */
    size_t member;      /* this one, counted around */
    bool spread;        /* a name without numbers means all devices of the kind */
    unsigned threads;   /* 0: all */
    /* If it is one of several ranks, those of all on its node; 0: no more than its own. */
    unsigned threads_of_all;
    /* The most bytes to use, of the host's and of the device's memory; 0: no limit of ours. */
    uint64_t memory;
    struct rung_wish wish, sums; /* of the stages, and of what adds for --stats and --until */
    size_t observer_bytes;       /* what its observers take */
    size_t output_bytes;         /* what the run keeps of its outputs */
    const uint64_t *stops;       /* steps of the last stage whose states the run writes, too */
    size_t stop_count;
    bool stats;                  /* the run adds up the samples of input and output */
    bool explains;               /* somebody asks for the candidates of the schedule */
    enum split_kind split;       /* of a job that several processes have: what is wished, or was decided */
    const struct wisdom *wisdom; /* NULL: none */
    void (*on_start)(void *listener); /* called before the plan waits for a device that takes long to start */
    void *listener;                   /* NULL: nobody uses that time */
    struct schedule_limits limits;
    size_t *least; /* where memory is too short: told how much would do; NULL: nobody asks */
};

/* The devices of a plan, and the reason. */
struct selection {
    struct devices devices; /* one, or several together */
    bool replaceable;       /* chosen unasked, and the CPU can stand in for it */
    double seconds;         /* predicted for the whole job */
    char reason[160];       /* why these; or empty */
    char alone[160];        /* why one device does it although several were named; else empty */
};

/* Select the devices that the request names, or as many of them as help; else the one that is predicted to be
   done first. */
bool selection_make(const struct plan_request *request, const struct prediction_case *expected,
                    struct selection *selection, struct fault *fault);

/* Select the CPU in place of what was selected, which has failed. */
void selection_retreat(struct selection *selection);

/* Whether the request leaves the device to the plan, and whether it names one other than the CPU. */
bool selection_is_free(const struct plan_request *request);
bool selection_names_device(const struct plan_request *request);

/* The backend that the request names, or else that which every machine has. */
const struct backend *selection_expected(const struct plan_request *request);

/* The devices that the request names, or else the first that may be taken. */
bool selection_find_devices(const struct plan_request *request, struct devices *devices, struct fault *fault);

/* Start the devices that the request names. Other threads may go on meanwhile: a plan that opens the devices
   waits until they have started. */
void selection_warm_up(const struct plan_request *request);

#endif
