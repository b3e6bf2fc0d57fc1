/* Heat: what a step of diffusion is on a grid, and when it is stable. */
#ifndef HEAT_H
#define HEAT_H

#include "base/diag.h"
#include "grid.h"
#include "stage_request.h"
#include "stencil.h"

#include <stdbool.h>
#include <stdint.h>

/* What the options of a stage give, and what follows on a grid: alpha and dt are settled. */
struct heat {
#define STAGE_OPTION(constant, letter, name, argument, kind, type, member, standard, help)
#define HEAT_OPTION(constant, letter, name, argument, kind, type, member, standard, help) type member;
#include "stage_options.def"
    double rate[3]; /* alpha·dt/h² along x, y, z; 0 for an axis the grid does not have */
    bool joint;     /* FLUX_PM1, FLUX_PM2: channels of a pixel have one conductivity */
    bool reacts;
};

/* Settle alpha, dt and, where --sigma is given, the number of steps on a grid. An unstable step is refused,
   with the limit, unless it is forced. */
bool heat_resolve(const struct stage_request *request, const struct grid *grid, bool force, struct heat *heat,
                  uint64_t *steps, struct fault *fault);

/* The taps that the flux chains: the whole step if it is linear, ∇² for tanh, the faces for pm1 and pm2. */
bool heat_stencil(const struct heat *heat, const struct grid *grid, struct stencil *stencil,
                  struct fault *fault);

#endif
