/* Fluxes: how heat may flow between neighbours, by name. */
#include "flux.h"

const struct keyword flux_keywords[] = {
#define FLUX(constant, name, conducts, scale, others) {name, "", others},
#include "fluxes.def"
    {NULL, NULL, NULL},
};

/* By the place of the flux in fluxes.def: whether faces have conductivities, and what its scale is called. */
static const struct {
    bool conducts;
    const char *scale;
} flux_traits[] = {
#define FLUX(constant, name, conducts, scale, others) {conducts, scale},
#include "fluxes.def"
};

const char *flux_name(enum flux flux)
{
    return flux_keywords[flux].word;
}

const char *flux_scale_meaning(enum flux flux)
{
    return flux_traits[flux].scale;
}

bool flux_conducts(enum flux flux)
{
    return flux_traits[flux].conducts;
}
