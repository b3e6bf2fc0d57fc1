/* Heat: what a step of diffusion is on a grid, and when it is stable. */
#include "heat.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_DT         0.125 /* of min(h)²/alpha */
#define STABLE_RATE        0.5   /* (cx + cy) + cz may be this much */
#define STEPS_PER_VARIANCE 4.0   /* T = ⌈4·S²/min(h)²⌉ keeps --sigma far inside the limit */

static void set_rates(struct heat *heat, const struct grid *grid)
{
    for (unsigned axis = 0; axis < 3; axis++) {
        double h = grid->spacing[axis];
        heat->rate[axis] = axis < grid->axes ? heat->alpha * heat->dt / (h * h) : 0.0;
    }
}

static double rate_sum(const struct heat *heat)
{
    return (heat->rate[0] + heat->rate[1]) + heat->rate[2];
}

static bool is_stable(double alpha_dt, const struct grid *grid)
{
    struct heat heat = {.alpha = 1.0, .dt = alpha_dt};

    set_rates(&heat, grid);
    return rate_sum(&heat) <= STABLE_RATE;
}

/* The largest number of six digits that is stable as alpha·dt: what a user may give as it is printed. */
static double largest_stable(const struct grid *grid)
{
    double inverse = 0.0, shown;
    char text[32];

    for (unsigned axis = 0; axis < grid->axes; axis++)
        inverse += 1.0 / (grid->spacing[axis] * grid->spacing[axis]);
    for (double limit = STABLE_RATE / inverse;; limit *= 1.0 - 1e-6) {
        snprintf(text, sizeof text, "%.6g", limit);
        shown = strtod(text, NULL);
        if (is_stable(shown, grid))
            return shown;
    }
}

static bool settle_sigma(const struct stage_request *request, const struct grid *grid, struct heat *heat,
                         uint64_t *steps, struct fault *fault)
{
    double h = grid_min_spacing(grid);
    double samples = request->sigma.in_spacing ? request->sigma.value / h : request->sigma.value;
    double count = ceil(STEPS_PER_VARIANCE * samples * samples);

    if (request->given & (STAGE_DT | STAGE_STEPS | STAGE_UNTIL))
        return fault_raise(fault, STATUS_USAGE,
                           "--sigma chooses steps and dt itself: it excludes --steps, --dt and --until");
    if (heat->alpha <= 0.0)
        return fault_raise(fault, STATUS_USAGE, "--sigma needs an --alpha above 0");
    if (count > 1e9)
        return fault_raise(fault, STATUS_USAGE, "--sigma %g takes %.3g steps: more than 10^9",
                           request->sigma.value, count);
    *steps = (uint64_t)count;
    heat->dt = *steps == 0 ? 0.0 : (samples * h) * (samples * h) / (2.0 * heat->alpha * count);
    return true;
}

bool heat_resolve(const struct stage_request *request, const struct grid *grid, bool force, struct heat *heat,
                  uint64_t *steps, struct fault *fault)
{
    double h = grid_min_spacing(grid);

    *heat = (struct heat){
#define STAGE_OPTION(constant, letter, name, argument, kind, type, member, standard, help)
#define HEAT_OPTION(constant, letter, name, argument, kind, type, member, standard, help)                    \
    .member = request->member,
#include "stage_options.def"
        .joint = request->flux_channels == FLUX_CHANNELS_JOINT && flux_conducts(request->flux),
        .reacts = request->given & STAGE_REACTION,
    };
    if (!(request->given & STAGE_DT))
        heat->dt = heat->alpha > 0.0 ? DEFAULT_DT * h * h / heat->alpha : 0.0;
    if ((request->given & STAGE_SIGMA) && !settle_sigma(request, grid, heat, steps, fault))
        return false;
    if (!isfinite(heat->dt))
        return fault_raise(fault, STATUS_USAGE,
                           "--alpha: %g: too small: the default time step is not finite (give --dt)",
                           heat->alpha);
    set_rates(heat, grid);
    if (!force && !(rate_sum(heat) <= STABLE_RATE))
        return fault_raise(fault, STATUS_USAGE,
                           "heat: alpha*dt = %g is unstable on this grid: the largest stable value is %g "
                           "(--force runs it anyway)",
                           heat->alpha * heat->dt, largest_stable(grid));
    return true;
}

static bool add_faces(struct stencil *stencil, const double weight[3], unsigned axes, struct fault *fault)
{
    for (unsigned axis = 0; axis < axes; axis++) {
        int dx = axis == 0, dy = axis == 1, dz = axis == 2;
        if (!stencil_add(stencil, dx, dy, dz, weight[axis], fault) ||
            !stencil_add(stencil, -dx, -dy, -dz, weight[axis], fault))
            return false;
    }
    return true;
}

bool heat_stencil(const struct heat *heat, const struct grid *grid, struct stencil *stencil,
                  struct fault *fault)
{
    double curvature[3], centre;

    switch (heat->flux) {
    case FLUX_LINEAR:
        return stencil_add(stencil, 0, 0, 0, 1.0 - 2.0 * rate_sum(heat), fault) &&
               add_faces(stencil, heat->rate, grid->axes, fault);
    case FLUX_TANH:
        centre = -2.0 * grid_curvatures(grid, curvature);
        return stencil_add(stencil, 0, 0, 0, centre, fault) &&
               add_faces(stencil, curvature, grid->axes, fault);
    default:
        return add_faces(stencil, heat->rate, grid->axes, fault);
    }
}
