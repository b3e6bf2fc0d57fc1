/* Fluxes: how heat may flow between neighbours, by name. */
#include "flux.h"

#include "base/suggest.h"

#include <string.h>

static const char *const flux_names[FLUXES] = {
    [FLUX_LINEAR] = "linear", [FLUX_TANH] = "tanh", [FLUX_PM1] = "pm1", [FLUX_PM2] = "pm2"};

static const struct alias flux_aliases[] = {
    {"catte", "pm2"},       {"edge-preserving", "pm2"}, {"exp", "pm1"},
    {"exponential", "pm1"}, {"gaussian", "pm1"},        {"lorentzian", "pm2"},
    {"none", "linear"},     {"perona-malik", "pm2"},    {"quadratic", "pm2"},
    {NULL, NULL},
};

bool flux_parse(const char *name, enum flux *flux)
{
    for (int i = 0; i < FLUXES; i++) {
        if (strcmp(name, flux_names[i]) == 0) {
            *flux = (enum flux)i;
            return true;
        }
    }
    return false;
}

const char *flux_meant(const char *word)
{
    struct suggestion suggestion = suggest_for(word, strlen(word));

    for (int i = 0; i < FLUXES; i++)
        suggest_name(&suggestion, flux_names[i]);
    suggest_aliases(&suggestion, flux_aliases);
    return suggestion.meant;
}

const char *flux_name(enum flux flux)
{
    return flux_names[flux];
}

const char *flux_scale_meaning(enum flux flux)
{
    if (flux == FLUX_TANH)
        return "no update changes a sample by more than alpha*dt times it";
    return "differences well above it stay, those well below it are smoothed";
}

bool flux_conducts(enum flux flux)
{
    return flux == FLUX_PM1 || flux == FLUX_PM2;
}
