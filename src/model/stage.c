/* Stages: one filter, applied a number of times under one edge rule. */
#include "stage.h"

#include "limits.h"

#include <math.h>
#include <string.h>

#define SUM_TOLERANCE 0x1p-9
#define SUM_ROUNDING  0x1p-40

static uint64_t default_steps(const struct stage_request *request)
{
    if (request->given & STAGE_UNTIL)
        return UNTIL_STEPS;
    return request->call.filter->kind == FILTER_HEAT ? HEAT_STEPS : 1;
}

/* ---- checks of --until ---- */

/* Multiply-adds that a sample could have had in the time that a check costs: a step on its own, which goes
   through memory where it would have been one of several, and two fields read for their difference. Measured
   on a CPU with AVX-512; an H200 loses 50. */
#define CHECK_TAPS 70.0

/* One over the share of the steps' time that checks may take. */
#define CHECK_SHARE 10.0

/* Multiply-adds of the tap of a flux, which is a function of the difference. */
#define FLUX_TAPS 8.0

static double taps_of_heat(const struct stage *stage)
{
    double taps = (double)stage->body.taps.count * (double)stage->heat.inner;

    return stage->heat.flux == FLUX_LINEAR ? taps : taps * FLUX_TAPS;
}

/* Steps between checks, so many that checking costs less than a tenth of the steps, on any device, for a step
   that goes through memory once for each axis along which it has passes. It must depend on nothing else:
   where a run stops follows from it. */
static uint64_t checks_interval(const struct stage *stage)
{
    const struct filter_body *body = &stage->body;
    double taps = stage->filter->kind == FILTER_HEAT ? taps_of_heat(stage) : (double)body->taps.count;
    double moving;
    unsigned axes = 0;

    for (size_t axis = 0; axis < 3; axis++) {
        taps += (double)body->along[axis].count;
        axes += body->along[axis].count > 0;
    }
    moving = axes > 1 ? CHECK_TAPS * axes : 1.0;
    return (uint64_t)ceil(CHECK_SHARE * CHECK_TAPS / fmax(taps, moving));
}

static struct checks checks_of(const struct stage_request *request, const struct stage *stage)
{
    uint64_t every = request->given & STAGE_CHECK_EVERY ? request->check_every : checks_interval(stage);

    return (struct checks){request->given & STAGE_UNTIL ? every : 0, stage->steps};
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

/* ---- stages ---- */

bool stage_build(const struct stage_request *request, const struct grid *grid, bool force,
                 struct stage *stage, struct fault *fault)
{
    *stage = (struct stage){.filter = request->call.filter,
                            .spec = request->call.spec,
                            .edge = request->edge,
                            .until = request->until,
                            .given = request->given,
                            .own = request->own};
    if (!stage_request_check(request, fault))
        return false;
    stage->steps = request->given & STAGE_STEPS ? request->steps : default_steps(request);
    if (!filter_build(&request->call, grid, request->flipped, &stage->body, fault))
        return false;
    if (stage->filter->kind == FILTER_HEAT &&
        !(heat_resolve(request, grid, force, &stage->heat, &stage->steps, fault) &&
          heat_stencil(&stage->heat, grid, &stage->body.taps, fault))) {
        stage_free(stage);
        return false;
    }
    stage->checks = checks_of(request, stage);
    return true;
}

bool stage_reacts(const struct stage *stage)
{
    return stage->heat.reacts && stage->heat.reaction != 0.0;
}

bool stage_keeps_constants(const struct stage *stage)
{
    return stage->filter->kind != FILTER_POINT && !stage_reacts(stage) &&
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

double stage_weight(const struct stage *stage)
{
    switch (stage->filter->kind) {
    case FILTER_TAPS:
        return weight_of_taps(&stage->body.taps);
    case FILTER_GRADIENT:
        return 0.0;
    case FILTER_POINT:
        return stage->body.point.a;
    case FILTER_HEAT:
    case FILTER_AXES:
    case FILTER_UNSHARP:
    case FILTER_COVER:
    case FILTER_UNCOVER:
        break;
    }
    return 1.0;
}

/* A number that is multiplied and added to so many times. */
static double repeat(double number, double factor, double offset, uint64_t times)
{
    for (; times > 0; times /= 2) {
        if (times % 2 == 1)
            number = factor * number + offset;
        offset += factor * offset;
        factor *= factor;
    }
    return number;
}

/* Samples become A v + B as they are stored, and values too. */
static double scaled_intercept(const struct stage *stage, uint64_t steps)
{
    const struct point *scale = &stage->body.point;

    return repeat(stage->intensity.intercept, scale->a, scale->b - stage->intensity.slope * scale->b, steps);
}

struct intensity stage_intensity(const struct stage *stage, uint64_t steps)
{
    struct intensity after = stage->intensity;

    if (steps == 0 || intensity_is_plain(&after) || stage->keeps_intensity)
        return after;
    if (stage->filter->kind == FILTER_POINT)
        after.intercept = scaled_intercept(stage, steps);
    else if (after.intercept != 0.0)
        after.intercept = repeat(after.intercept, stage_weight(stage), 0.0, steps);
    if (stage->filter->kind == FILTER_GRADIENT)
        after.slope = fabs(after.slope);
    return after;
}

bool stage_mixes_intensities(const struct stage *stage)
{
    const struct intensity after = stage_intensity(stage, stage->steps);
    enum edge_rule edge = stage->edge.rule;
    bool mixes = edge_has(edge, EDGE_KEEPS_SAMPLE) || (edge_has(edge, EDGE_HAS_VALUE) && stage->steps > 1);

    /* Headers may hold no more than a float. */
    return !intensity_is_same(&after, &stage->intensity) &&
           (stage->until > 0.0 || !isfinite((float)after.intercept) ||
            (mixes && stage_reads_neighbours(stage)));
}

void stage_keep_intensity(struct stage *stage)
{
    struct point *scale = &stage->body.point;
    double intercept = stage->intensity.intercept;

    scale->b = (scale->a * intercept + scale->b - intercept) / stage->intensity.slope;
    stage->keeps_intensity = true;
}

struct stage stage_proportion(const struct intensity *intensity)
{
    struct stage stage = stage_between(&filter_proportion);

    stage.body.point = (struct point){POINT_SCALE, intensity->slope < 0.0 ? -1.0 : 1.0,
                                      intensity->intercept / fabs(intensity->slope), 1};
    return stage;
}

struct stage stage_between(const struct filter *filter)
{
    return (struct stage){.filter = filter, .spec = filter->name, .steps = 1, .edge = {EDGE_DEFAULT, 0.0}};
}

bool stage_is_from_user(const struct stage *stage)
{
    return stage->filter != &filter_cover && stage->filter != &filter_uncover &&
           stage->filter != &filter_proportion;
}

bool stage_is_identity(const struct stage *stage)
{
    return strcmp(stage->filter->name, "identity") == 0;
}

bool stage_reads_neighbours(const struct stage *stage)
{
    const struct filter_body *body = &stage->body;

    return stage->filter->kind == FILTER_GRADIENT || stencil_leaves_centre(&body->taps) ||
           stencil_leaves_centre(&body->along[0]) || stencil_leaves_centre(&body->along[1]) ||
           stencil_leaves_centre(&body->along[2]);
}

/* The length of a gradient is that of its negative. */
bool stage_is_asymmetric(const struct stage *stage)
{
    const struct filter_body *body = &stage->body;

    return !stencil_is_symmetric(&body->taps) || !stencil_is_symmetric(&body->along[0]) ||
           !stencil_is_symmetric(&body->along[1]) || !stencil_is_symmetric(&body->along[2]);
}

void stage_free(struct stage *stage)
{
    filter_body_free(&stage->body);
}
