/* Fluxes: how heat may flow between neighbours, by name. */
#ifndef FLUX_H
#define FLUX_H

#include "base/keyword.h"

#include <stdbool.h>

enum flux {
#define FLUX(constant, name, conducts, scale, others) FLUX_##constant,
#include "fluxes.def"
    FLUXES /* how many there are */
};

/* Whether the channels of a pixel share the conductivity of a face, or each has its own. */
enum flux_channels { FLUX_CHANNELS_JOINT, FLUX_CHANNELS_SEPARATE };

/* The words that --flux takes, in the order of the enumeration. */
extern const struct keyword flux_keywords[];

const char *flux_name(enum flux flux);

/* The meaning of the scale of a nonlinear flux, for a refusal. */
const char *flux_scale_meaning(enum flux flux);

/* Whether each face has a conductivity of its own, which channels may share. */
bool flux_conducts(enum flux flux);

#endif
