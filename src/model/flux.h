/* Fluxes: how heat may flow between neighbours, by name. */
#ifndef FLUX_H
#define FLUX_H

#include <stdbool.h>

enum flux { FLUX_LINEAR, FLUX_TANH, FLUX_PM1, FLUX_PM2, FLUXES };

bool flux_parse(const char *name, enum flux *flux);

/* The name that somebody may have meant who gave a word that is none; NULL: nobody knows. */
const char *flux_meant(const char *word);

const char *flux_name(enum flux flux);

/* What the scale of a nonlinear flux decides, in a few words. */
const char *flux_scale_meaning(enum flux flux);

/* Whether each face has a conductivity of its own, which channels may share. */
bool flux_conducts(enum flux flux);

#endif
