/* Stages: one filter, applied a number of times under one edge rule; of heat, what a step of diffusion is on
   a grid, and when it is stable; and the steps at which the change of a stage is checked. */
#include "stage.h"

#include "base/mem.h"
#include "limits.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How far a sum of weights may be from 1 (stage_keeps_constants), and what rounding may make of each
   weight. */
#define SUM_TOLERANCE 0x1p-9
#define SUM_ROUNDING  0x1p-40

static uint64_t default_steps(const struct stage_request *request)
{
    if (request->given & STAGE_UNTIL)
        return UNTIL_STEPS;
    return request->call.filter->kind == FILTER_HEAT ? HEAT_STEPS : 1;
}

/* ---- heat ---- */

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

/* The largest number of six digits that is stable as alpha·dt: what a user may give as it is printed. */
static double largest_stable(const struct grid *grid)
{
    struct heat heat = {.alpha = 1.0};
    double curvature[3];
    char text[32];

    /* Six digits may round up to an unstable number; then the limit gives way by a millionth at a time until
       they do not. */
    for (double limit = STABLE_RATE / grid_curvatures(grid, curvature);; limit *= 1.0 - 1e-6) {
        snprintf(text, sizeof text, "%.6g", limit);
        heat.dt = strtod(text, NULL);
        set_rates(&heat, grid);
        if (rate_sum(&heat) <= STABLE_RATE)
            return heat.dt;
    }
}

/* Steps and dt that blur like a Gaussian of this deviation: alpha, dt and steps multiply to half its
   square. */
static bool settle_sigma(const struct stage_request *request, const struct grid *grid, struct heat *heat,
                         uint64_t *steps, struct fault *fault)
{
    double h = grid_min_spacing(grid);
    double sigma = request->fwhm ? request->sigma.value / FILTER_WIDTHS : request->sigma.value;
    double samples = request->sigma.in_spacing ? sigma / h : sigma;
    /* A step spreads heat by a variance of 2 alpha dt. Take enough steps for each to stay small, then the dt
       with which their variances add up to the one that is asked for. */
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

/* Settle alpha, dt and, where --sigma is given, the number of steps. */
static bool settle_heat(const struct stage_request *request, const struct grid *grid, bool force,
                        struct heat *heat, uint64_t *steps, struct fault *fault)
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
    /* A step that is unstable lets errors grow without end; the refusal gives the largest that is not. */
    if (!force && !(rate_sum(heat) <= STABLE_RATE))
        return fault_raise(fault, STATUS_USAGE,
                           "heat: alpha*dt = %g is unstable on this grid: the largest stable value is %g "
                           "(--force runs it anyway)",
                           heat->alpha * heat->dt, largest_stable(grid));
    return true;
}

/* The taps that the flux chains: the whole step if it is linear, ∇² for tanh, the faces for pm1 and pm2. */
static bool heat_taps(const struct heat *heat, const struct grid *grid, struct stencil *stencil,
                      struct fault *fault)
{
    double curvature[3], centre;

    switch (heat->flux) {
    case FLUX_LINEAR:
        return stencil_add(stencil, 0, 0, 0, 1.0 - 2.0 * rate_sum(heat), fault) &&
               stencil_add_faces(stencil, grid->axes, 1, heat->rate, fault);
    case FLUX_TANH:
        centre = -2.0 * grid_curvatures(grid, curvature);
        return stencil_add(stencil, 0, 0, 0, centre, fault) &&
               stencil_add_faces(stencil, grid->axes, 1, curvature, fault);
    default:
        return stencil_add_faces(stencil, grid->axes, 1, heat->rate, fault);
    }
}

/* ---- checks of --until ---- */

/* Multiply-adds that a sample could have had in the time that a check costs: a step on its own, which goes
   through memory where it would have been one of several, and two fields read for their difference. Measured
   on a CPU with AVX-512; an H200 loses 50. */
#define CHECK_TAPS 70.0

/* One over the share of the steps' time that checks may take. */
#define CHECK_SHARE 10.0

/* Multiply-adds of a tap whose weight is a function of the difference. */
#define FLUX_TAPS 8.0

/* Steps between checks, enough for checking to cost less than a tenth of the steps, on any device, for a step
   that goes through memory once for each of its passes. It must depend on nothing else: where a run stops
   follows from it. */
static uint64_t checks_interval(const struct stage *stage)
{
    const struct filter_body *body = &stage->body;
    const bool heats = stage->filter->kind == FILTER_HEAT;
    double taps = (double)body->taps.count * (heats ? (double)stage->heat.inner : 1.0), moving;
    unsigned passes = 0;

    for (size_t i = 0; i < FILTER_PASSES; i++) {
        taps += (double)body->along[i].count;
        passes += body->along[i].count > 0;
    }
    if (stage->filter->kind == FILTER_BILATERAL || (heats && stage->heat.flux != FLUX_LINEAR))
        taps *= FLUX_TAPS;
    moving = passes > 1 ? CHECK_TAPS * passes : 1.0;
    return (uint64_t)ceil(CHECK_SHARE * CHECK_TAPS / fmax(taps, moving));
}

bool checks_is_due(const struct checks *checks, uint64_t step)
{
    return checks->every > 0 && (step % checks->every == 0 || step == checks->last);
}

uint64_t checks_next(const struct checks *checks, uint64_t step)
{
    uint64_t ahead = checks->every - step % checks->every;

    return checks->last - step <= ahead ? checks->last : step + ahead;
}

uint64_t checks_count(const struct checks *checks)
{
    return checks->every == 0 ? 0 : checks->last / checks->every + (checks->last % checks->every > 0);
}

uint64_t checks_longest_gap(const struct checks *checks)
{
    uint64_t longest = checks->every < checks->last ? checks->every : checks->last;

    return longest > 0 ? longest - 1 : 0;
}

/* ---- what the checks found ---- */

bool convergence_open(struct convergence *convergence, uint64_t most, struct fault *fault)
{
    *convergence = (struct convergence){.room = most < CONVERGENCE_KEPT ? (size_t)most : CONVERGENCE_KEPT};
    convergence->checks = mem_alloc(convergence->room, sizeof *convergence->checks, "the convergence", fault);
    return convergence->checks != NULL;
}

void convergence_add(struct convergence *convergence, uint64_t step, double change)
{
    convergence->checks[convergence->count % convergence->room] = (struct convergence_check){step, change};
    convergence->count++;
}

size_t convergence_kept(const struct convergence *convergence)
{
    return convergence->count < convergence->room ? (size_t)convergence->count : convergence->room;
}

struct convergence_check convergence_at(const struct convergence *convergence, size_t index)
{
    /* The array is a ring: once it is full, the newest check takes the place of the oldest. */
    uint64_t first = convergence->count - convergence_kept(convergence);

    return convergence->checks[(first + index) % convergence->room];
}

void convergence_close(struct convergence *convergence)
{
    mem_free(convergence->checks);
    *convergence = (struct convergence){0};
}

/* ---- stages ---- */

/* The grid with infinite distances along axes that --axes leaves out: nothing flows across them. */
static bool leave_axes(const struct stage_request *request, const struct grid *grid, struct grid *acting,
                       struct fault *fault)
{
    *acting = *grid;
    for (unsigned axis = 0; axis < 3; axis++) {
        bool asked = request->axes & 1U << axis;
        if ((request->given & STAGE_AXES) && asked && axis >= grid->axes)
            return fault_raise(fault, STATUS_USAGE, "--axes: %s: this grid has no %c axis",
                               request->call.spec, "xyz"[axis]);
        if ((request->given & STAGE_AXES) && !asked && axis < grid->axes)
            acting->spacing[axis] = (double)INFINITY;
    }
    return true;
}

bool stage_build(const struct stage_request *request, const struct grid *grid, bool force,
                 struct stage *stage, struct fault *fault)
{
    struct grid acting;

    *stage = (struct stage){.filter = request->call.filter,
                            .spec = request->call.spec,
                            .edge = request->edge,
                            .until = request->until,
                            .axes = request->axes,
                            .given = request->given,
                            .own = request->own};
    if (!stage_request_check(request, fault))
        return false;
    stage->steps = request->given & STAGE_STEPS ? request->steps : default_steps(request);
    if (!leave_axes(request, grid, &acting, fault) ||
        !filter_build(&request->call, &acting, (struct filter_manner){request->flipped, request->fwhm},
                      &stage->body, fault))
        return false;
    memcpy(stage->spacing, acting.spacing, sizeof stage->spacing);
    if (stage->filter->kind == FILTER_HEAT &&
        !(settle_heat(request, &acting, force, &stage->heat, &stage->steps, fault) &&
          heat_taps(&stage->heat, &acting, &stage->body.taps, fault))) {
        stage_free(stage);
        return false;
    }
    stage->checks.last = stage->steps;
    if (request->given & STAGE_UNTIL)
        stage->checks.every =
            request->given & STAGE_CHECK_EVERY ? request->check_every : checks_interval(stage);
    return true;
}

const char *stage_axes(const struct stage *stage, char text[4])
{
    size_t length = 0;

    for (unsigned axis = 0; axis < 3; axis++) {
        if (stage->axes & 1U << axis)
            text[length++] = "xyz"[axis];
    }
    text[length] = '\0';
    return text;
}

bool stage_leaves_axes(const struct stage *stage)
{
    return isinf(stage->spacing[0]) || isinf(stage->spacing[1]) || isinf(stage->spacing[2]);
}

/* Whether it is heat with a reaction, which is not linear. */
static bool reacts(const struct stage *stage)
{
    return stage->heat.reacts && stage->heat.reaction != 0.0;
}

bool stage_keeps_constants(const struct stage *stage)
{
    return stage->filter->kind != FILTER_POINT && !reacts(stage) &&
           fabs(stage_weight(stage) - 1.0) <= SUM_TOLERANCE;
}

/* Taps of thirds, or divided by a spacing, do not sum up exactly. */
static double weight_of_taps(const struct stencil *taps)
{
    double sum = stencil_sum(taps), rounding = 0.0;

    for (size_t i = 0; i < taps->count; i++)
        rounding += SUM_ROUNDING * fabs(taps->taps[i].weight);
    if (fabs(sum) <= rounding)
        return 0.0;
    return fabs(sum - 1.0) <= rounding ? 1.0 : sum;
}

/* What the passes of a chain make of a constant of 1. */
static double weight_of_chain(const struct stage *stage, size_t chain)
{
    double weight = 1.0;

    for (size_t axis = 0; axis < 3; axis++) {
        const struct stencil *along = &stage->body.along[3 * chain + axis];
        if (along->count > 0)
            weight *= weight_of_taps(along);
    }
    return weight;
}

static double weight_of_sum(const struct stage *stage)
{
    double weight = weight_of_chain(stage, 0);

    for (size_t chain = 1; chain < stage->body.chains; chain++)
        weight += stage->body.amount * weight_of_chain(stage, chain);
    return weight;
}

double stage_weight(const struct stage *stage)
{
    switch (stage->filter->kind) {
    case FILTER_TAPS:
        return weight_of_taps(&stage->body.taps);
    case FILTER_AXES:
    case FILTER_SUM:
        return weight_of_sum(stage);
    case FILTER_GRADIENT:
    case FILTER_LENGTH:
    case FILTER_DIFFERENCE:
        return 0.0;
    default:
        return 1.0;
    }
}

/* A number that is multiplied and added to this many times. */
static double repeat(double number, double factor, double offset, uint64_t times)
{
    /* The map x -> factor x + offset is composed with itself, so that a power of it takes as many turns as
       `times` has bits. */
    for (; times > 0; times /= 2) {
        if (times % 2 == 1)
            number = factor * number + offset;
        offset += factor * offset;
        factor *= factor;
    }
    return number;
}

static enum point_intensity intensity_of(enum point_kind kind)
{
    static const enum point_intensity intensities[] = {
#define POINT(constant, name, syntax, least, most, a_name, b_name, c_name, intensity, ...) POINT_##intensity,
#include "points.def"
    };

    return intensities[kind];
}

/* A point leaves the intercept alone, unless it scales: samples become A v + B as they are stored, and values
   too. */
static struct intensity intensity_after_point(const struct stage *stage, uint64_t steps)
{
    const double *numbers = stage->body.point.numbers;
    struct intensity after = stage->intensity;

    if (intensity_of(stage->body.point.kind) == POINT_SCALES)
        after.intercept = repeat(after.intercept, numbers[0], numbers[1] - after.slope * numbers[1], steps);
    if (intensity_of(stage->body.point.kind) == POINT_TAKES_SIZES)
        after.slope = fabs(after.slope);
    return after;
}

struct intensity stage_intensity(const struct stage *stage, uint64_t steps)
{
    struct intensity after = stage->intensity;

    if (steps == 0 || intensity_is_plain(&after) || stage->keeps_intensity)
        return after;
    if (stage->filter->kind == FILTER_POINT)
        return intensity_after_point(stage, steps);
    if (after.intercept != 0.0)
        after.intercept = repeat(after.intercept, stage_weight(stage), 0.0, steps);
    if (stage->filter->kind == FILTER_GRADIENT || stage->filter->kind == FILTER_LENGTH ||
        stage->filter->kind == FILTER_DIFFERENCE)
        after.slope = fabs(after.slope);
    return after;
}

/* Whether a step has a pass that changes the intercept, and another pass behind it. */
static bool changes_between_passes(const struct stage *stage)
{
    for (size_t chain = 0; chain < stage->body.chains; chain++) {
        double weight = 1.0;
        for (size_t axis = 0; axis < 3; axis++) {
            const struct stencil *along = &stage->body.along[3 * chain + axis];
            if (along->count == 0)
                continue;
            if (weight != 1.0)
                return true;
            weight = weight_of_taps(along);
        }
    }
    return false;
}

bool stage_mixes_intensities(const struct stage *stage)
{
    const struct intensity after = stage_intensity(stage, stage->steps);
    enum edge_rule edge = stage->edge.rule;
    bool mixes = edge_has(edge, EDGE_KEEPS_SAMPLE) ||
                 (edge_has(edge, EDGE_HAS_VALUE) && (stage->steps > 1 || changes_between_passes(stage)));

    /* With a negative slope, a step of tophat or blackhat turns the order of samples around, so that the next
       one would take them in the wrong order. Headers may hold an intercept as a float. */
    return !intensity_is_same(&after, &stage->intensity) &&
           (stage->until > 0.0 || !isfinite((float)after.intercept) ||
            (stage->filter->kind == FILTER_DIFFERENCE && !stage->body.apart && stage->steps > 1 &&
             stage->intensity.slope < 0.0) ||
            (mixes && stage_reads_neighbours(stage)));
}

void stage_keep_intensity(struct stage *stage)
{
    struct point *scale = &stage->body.point;
    double intercept = stage->intensity.intercept;

    if (stage->filter->kind != FILTER_POINT || intensity_of(scale->kind) != POINT_SCALES)
        return;
    scale->numbers[1] =
        (scale->numbers[0] * intercept + scale->numbers[1] - intercept) / stage->intensity.slope;
    stage->keeps_intensity = true;
}

bool stage_takes_values(const struct stage *stage)
{
    enum point_intensity follows = intensity_of(stage->body.point.kind);

    if (stage->steps == 0 || intensity_is_plain(&stage->intensity))
        return false;
    if (stage->filter->kind != FILTER_POINT)
        return reacts(stage);
    return follows == POINT_TAKES_VALUES || follows == POINT_MAKES_VALUES ||
           (follows == POINT_TAKES_SIZES && stage->intensity.intercept != 0.0);
}

bool stage_makes_fractions(const struct stage *stage)
{
    return stage->filter->kind != FILTER_POINT || intensity_of(stage->body.point.kind) != POINT_TAKES_VALUES;
}

/* Where samples fall as values rise, the lower bound of the one is the upper of the other. */
struct point stage_point(const struct stage *stage)
{
    const struct intensity *intensity = &stage->intensity;
    const double *bounds = stage->body.point.numbers;
    struct point point = stage->body.point;
    size_t lower = intensity->slope < 0.0 ? 1 : 0;

    if (intensity_of(point.kind) == POINT_TAKES_BOUNDS) {
        point.numbers[0] = intensity_sample(intensity, bounds[lower]);
        point.numbers[1] = intensity_sample(intensity, bounds[1 - lower]);
    }
    return point;
}

static struct stage scaling_stage(const struct filter *filter, double factor, double offset)
{
    struct stage stage = stage_between(filter);

    stage.body.point = (struct point){.kind = POINT_SCALE, .numbers = {factor, offset}, .times = 1};
    return stage;
}

struct stage stage_proportion(const struct intensity *intensity)
{
    return scaling_stage(&filter_proportion, intensity->slope < 0.0 ? -1.0 : 1.0,
                         intensity->intercept / fabs(intensity->slope));
}

struct stage stage_values(const struct intensity *intensity)
{
    return scaling_stage(&filter_values, intensity->slope, intensity->intercept);
}

struct stage stage_between(const struct filter *filter)
{
    return (struct stage){.filter = filter, .spec = filter->name, .steps = 1, .edge = {EDGE_DEFAULT, 0.0}};
}

/* A filter that the job inserts has no builder. */
bool stage_is_from_user(const struct stage *stage)
{
    return stage->filter->build != NULL;
}

bool stage_is_identity(const struct stage *stage)
{
    return strcmp(stage->filter->name, "identity") == 0;
}

/* Whether something holds for the taps of a filter, and for those of all its passes. */
static bool all_stencils(const struct filter_body *body, bool (*holds)(const struct stencil *stencil))
{
    bool all = holds(&body->taps);

    for (size_t i = 0; i < FILTER_PASSES; i++)
        all = all && holds(&body->along[i]);
    return all;
}

bool stage_reads_neighbours(const struct stage *stage)
{
    return stage->filter->kind == FILTER_GRADIENT || !all_stencils(&stage->body, stencil_stays_at_centre);
}

static bool has_no_negative(const struct stencil *stencil)
{
    for (size_t i = 0; i < stencil->count; i++) {
        if (stencil->taps[i].weight < 0.0)
            return false;
    }
    return true;
}

bool stage_averages(const struct stage *stage)
{
    enum filter_kind kind = stage->filter->kind;

    return (kind == FILTER_TAPS || kind == FILTER_AXES || kind == FILTER_UNSHARP) &&
           stage_reads_neighbours(stage) && all_stencils(&stage->body, has_no_negative);
}

/* The length of a gradient is that of its negative. */
bool stage_is_asymmetric(const struct stage *stage)
{
    return stage->filter->kind != FILTER_LENGTH && !all_stencils(&stage->body, stencil_is_symmetric);
}

void stage_free(struct stage *stage)
{
    filter_body_free(&stage->body);
}
