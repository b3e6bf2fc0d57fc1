/* Stages: one filter, applied a number of times under one edge rule. */
#include "stage.h"

#include "base/limits.h"

#include <math.h>
#include <string.h>

#define SUM_TOLERANCE 0x1p-9
#define SUM_ROUNDING  0x1p-40

static const char *const option_names[STAGE_OPTIONS] = {
#define STAGE_OPTION(constant, name, type, member) name,
#include "stage_options.def"
};

static const unsigned heat_options = 0
#define STAGE_OPTION(constant, name, type, member)
#define HEAT_OPTION(constant, name, type, member) | STAGE_##constant
#include "stage_options.def"
    ;

const char *stage_option_name(enum stage_option option)
{
    size_t place = 0;

    while (1U << place != option)
        place++;
    return option_names[place];
}

bool stage_option_applies(enum stage_option option, const struct filter *filter)
{
    return (heat_options & option) == 0 || filter->kind == FILTER_HEAT;
}

static enum flux flux_of(const struct stage_request *request)
{
    return request->given & STAGE_FLUX ? request->flux : FLUX_LINEAR;
}

/* Options that mean something to some fluxes only: those that do not suit this one. */
static unsigned unsuitable_options(enum flux flux)
{
    return (flux == FLUX_LINEAR ? (unsigned)STAGE_SCALE : 0) |
           (flux_conducts(flux) ? 0 : (unsigned)STAGE_FLUX_CHANNELS);
}

void stage_inherit(struct stage_request *request, const struct stage_request *defaults)
{
    struct stage_request merged = *defaults;
    unsigned own = request->given, usable = defaults->given;

    merged.call = request->call;
#define STAGE_OPTION(constant, name, type, member)                                                           \
    if (own & STAGE_##constant)                                                                              \
        merged.member = request->member;
#include "stage_options.def"
    merged.given = merged.own = own;
    /* A default scale is meant for the stages whose flux has one, and so are channels. */
    usable &= ~unsuitable_options(flux_of(own & STAGE_FLUX ? request : defaults));
    for (unsigned option = 1; option < 1U << STAGE_OPTIONS; option <<= 1) {
        if ((usable & option) && stage_option_applies((enum stage_option)option, request->call.filter))
            merged.given |= option;
    }
    *request = merged;
}

static bool refuse_option(const struct stage_request *request, enum stage_option option, const char *reason,
                          struct fault *fault)
{
    return fault_raise(fault, STATUS_USAGE, "--%s: %s: %s", stage_option_name(option), request->call.spec,
                       reason);
}

/* No number is right for all data, and one that is taken from the data would be another for a part of them,
   and another after the first steps. */
static bool ask_for_scale(const struct stage_request *request, struct fault *fault)
{
    return fault_raise(fault, STATUS_USAGE, "--%s: %s: %s needs a --%s: %s", stage_option_name(STAGE_FLUX),
                       request->call.spec, flux_name(request->flux), stage_option_name(STAGE_SCALE),
                       flux_scale_meaning(request->flux));
}

static bool check_options(const struct stage_request *request, struct fault *fault)
{
    unsigned given = request->given;
    unsigned unsuitable = given & unsuitable_options(flux_of(request));

    for (unsigned option = 1; option < 1U << STAGE_OPTIONS; option <<= 1) {
        if ((given & option) && !stage_option_applies((enum stage_option)option, request->call.filter))
            return refuse_option(request, (enum stage_option)option, "this filter is not heat", fault);
    }
    if (unsuitable & STAGE_SCALE)
        return refuse_option(request, STAGE_SCALE, "a linear flux has no scale", fault);
    if (unsuitable & STAGE_FLUX_CHANNELS)
        return refuse_option(request, STAGE_FLUX_CHANNELS, "only pm1 and pm2 have a conductivity to share",
                             fault);
    if ((given & STAGE_CHECK_EVERY) && !(given & STAGE_UNTIL))
        return refuse_option(request, STAGE_CHECK_EVERY, "it needs --until", fault);
    return flux_of(request) == FLUX_LINEAR || (given & STAGE_SCALE) || ask_for_scale(request, fault);
}

static uint64_t default_steps(const struct stage_request *request)
{
    if (request->given & STAGE_UNTIL)
        return UNTIL_STEPS;
    return request->call.filter->kind == FILTER_HEAT ? HEAT_STEPS : 1;
}

static bool build_heat(const struct stage_request *request, const struct grid *grid, bool force,
                       struct stage *stage, struct fault *fault)
{
    unsigned given = request->given;
    struct heat_request heat = {
        .has_dt = given & STAGE_DT,
        .has_sigma = given & STAGE_SIGMA,
        .has_steps = given & (STAGE_STEPS | STAGE_UNTIL),
        .force = force,
        .alpha = given & STAGE_ALPHA ? request->alpha : 1.0,
        .dt = request->dt,
        .sigma = request->sigma,
        .flux = given & STAGE_FLUX ? request->flux : FLUX_LINEAR,
        .joint = request->joint_flux,
        .scale = given & STAGE_SCALE ? request->scale : 1.0,
        .inner = given & STAGE_INNER ? request->inner : 1,
        .reacts = given & STAGE_REACTION,
        .reaction = given & STAGE_REACTION ? request->reaction : 0.0,
        .steps = stage->steps,
    };

    return heat_resolve(&heat, grid, &stage->heat, &stage->steps, fault) &&
           heat_stencil(&stage->heat, grid, &stage->body.taps, fault);
}

/* A flux is a function of each tap's difference. */
#define FLUX_TAPS 8.0

static double taps_of_heat(const struct stage *stage)
{
    double taps = (double)stage->body.taps.count * (double)stage->heat.inner;

    return stage->heat.flux == FLUX_LINEAR ? taps : taps * FLUX_TAPS;
}

static struct checks checks_of(const struct stage_request *request, const struct stage *stage)
{
    const struct filter_body *body = &stage->body;
    double taps = stage->filter->kind == FILTER_HEAT ? taps_of_heat(stage) : (double)body->taps.count;
    unsigned axes = 0;

    if (!(request->given & STAGE_UNTIL))
        return (struct checks){0, stage->steps};
    if (request->given & STAGE_CHECK_EVERY)
        return (struct checks){request->check_every, stage->steps};
    for (size_t axis = 0; axis < 3; axis++) {
        taps += (double)body->along[axis].count;
        axes += body->along[axis].count > 0;
    }
    return (struct checks){checks_interval(taps, axes), stage->steps};
}

bool stage_build(const struct stage_request *request, const struct grid *grid, bool force,
                 struct stage *stage, struct fault *fault)
{
    unsigned given = request->given;

    *stage = (struct stage){.filter = request->call.filter, .spec = request->call.spec};
    if (!check_options(request, fault))
        return false;
    stage->steps = given & STAGE_STEPS ? request->steps : default_steps(request);
    stage->edge = given & STAGE_EDGE ? request->edge : (struct edge){EDGE_DEFAULT, 0.0};
    stage->given = given;
    stage->own = request->own;
    stage->until = given & STAGE_UNTIL ? request->until : 0.0;
    if (!filter_build(&request->call, grid, request->flipped, &stage->body, fault))
        return false;
    if (stage->filter->kind == FILTER_HEAT && !build_heat(request, grid, force, stage, fault)) {
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
    return stage->filter->kind != FILTER_SCALE && !stage_reacts(stage) &&
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
    case FILTER_SCALE:
        return stage->body.factor;
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
    const struct filter_body *body = &stage->body;

    return repeat(stage->intensity.intercept, body->factor,
                  body->offset - stage->intensity.slope * body->offset, steps);
}

struct intensity stage_intensity(const struct stage *stage, uint64_t steps)
{
    struct intensity after = stage->intensity;

    if (steps == 0 || intensity_is_plain(&after) || stage->keeps_intensity)
        return after;
    if (stage->filter->kind == FILTER_SCALE)
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
    struct filter_body *body = &stage->body;
    double intercept = stage->intensity.intercept;

    body->offset = (body->factor * intercept + body->offset - intercept) / stage->intensity.slope;
    stage->keeps_intensity = true;
}

struct stage stage_proportion(const struct intensity *intensity)
{
    struct stage stage = stage_between(&filter_proportion);

    stage.body.factor = intensity->slope < 0.0 ? -1.0 : 1.0;
    stage.body.offset = intensity->intercept / fabs(intensity->slope);
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
