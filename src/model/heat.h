/* Heat: what a step of diffusion is on a grid, and when it is stable. */
#ifndef HEAT_H
#define HEAT_H

#include "base/diag.h"
#include "flux.h"
#include "grid.h"
#include "stencil.h"

#include <stdbool.h>
#include <stdint.h>

struct heat_sigma {
    double value;
    bool in_spacing; /* in units of spacing, not samples */
};

/* What the command line may say of a heat stage. */
struct heat_request {
    bool has_dt, has_sigma, has_steps, force;
    double alpha, dt;
    struct heat_sigma sigma;
    enum flux flux;
    bool joint;
    double scale;
    uint64_t inner;
    bool reacts;
    double reaction;
    uint64_t steps;
};

struct heat {
    enum flux flux;
    double alpha, dt;
    double rate[3]; /* alpha·dt/h² along x, y, z; 0 for an axis that the grid has not */
    bool joint;     /* FLUX_PM1, FLUX_PM2: channels of a pixel have one conductivity */
    double scale;
    uint64_t inner;
    bool reacts;
    double reaction;
};

/* Settle alpha, dt and the number of steps on a grid. An unstable step is refused, with the limit. */
bool heat_resolve(const struct heat_request *request, const struct grid *grid, struct heat *heat,
                  uint64_t *steps, struct fault *fault);

/* The taps that the flux chains: the step itself when linear, ∇² for tanh, the faces for pm1 and pm2. */
bool heat_stencil(const struct heat *heat, const struct grid *grid, struct stencil *stencil,
                  struct fault *fault);

#endif
