/* Selections: the device that a plan takes, or several of them, and why. */
#ifndef SELECTION_H
#define SELECTION_H

#include "base/diag.h"
#include "devices.h"
#include "prediction.h"
#include "request.h"

#include <stdbool.h>

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

/* The CPU stands in for what was selected. */
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
