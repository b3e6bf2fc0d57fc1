/* Devices: those that --device names. */
#ifndef DEVICES_H
#define DEVICES_H

#include "base/diag.h"
#include "kernels/backend.h"

#include <stdbool.h>
#include <stddef.h>

#define DEVICES_MOST 16 /* the most that a run takes */

/* The backends that this build has; ends with NULL. */
extern const struct backend *const devices_backends[];

/* Some of the devices of a backend. */
struct devices {
    const struct backend *backend;
    int indices[DEVICES_MOST];
    size_t count;
    bool all; /* each that there is was asked for */
};

/* The backend that "cpu", "cuda", "cuda:1", "cuda:0,2" or "cuda:all" begins with; NULL where it is none of
   these. Nothing is asked of the machine. */
const struct backend *devices_backend(const char *name);

/* Whether a ladder has a rung of this name; true for NULL. */
bool devices_has_rung(const struct rung *rungs, const char *name);

/* Find the devices that such a name means on this machine. Devices that it lacks, one named twice and devices
   of different kinds are refused, with what there is. */
bool devices_find(const char *name, struct devices *devices, struct fault *fault);

/* "cuda:0,2" → as --device takes it; "cuda" where there is but one. */
void devices_name(const struct devices *devices, char *text, size_t size);

#endif
