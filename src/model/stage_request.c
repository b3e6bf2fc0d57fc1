/* Stage requests: what a command line asks of the stages of a chain, before there is a grid.

   Stage options before the first --filter are defaults. Each stage takes those that apply to its filter and
   its flux and that it has not got itself; --until goes to the last stage alone. A default that no stage
   takes is refused, and so is an option of a stage that contradicts its filter or another option.
   stage_options.def lists the options once, and the loops below run over it. */
#include "stage_request.h"

static const char *const option_names[STAGE_OPTIONS] = {
#define STAGE_OPTION(constant, letter, name, argument, kind, type, member, standard, help) name,
#include "stage_options.def"
};

static const unsigned heat_options = 0
#define STAGE_OPTION(constant, letter, name, argument, kind, type, member, standard, help)
#define HEAT_OPTION(constant, letter, name, argument, kind, type, member, standard, help) | STAGE_##constant
#include "stage_options.def"
    ;

const char *stage_option_name(enum stage_option option)
{
    size_t place = 0;

    while (1U << place != option)
        place++;
    return option_names[place];
}

/* Options that say anything to a stage of this filter. */
static unsigned applicable_options(const struct filter *filter)
{
    unsigned options = filter->kind == FILTER_HEAT ? ~0U : ~heat_options;

    if (!filter_has_sigma(filter) && filter->kind != FILTER_HEAT)
        options &= ~(unsigned)STAGE_FWHM;
    return filter_chooses_axes(filter) ? options : options & ~(unsigned)STAGE_AXES;
}

/* Why such an option says nothing to a filter. */
static const char *reason_against(enum stage_option option)
{
    return option == STAGE_AXES   ? "this filter has its own taps, or reads one sample"
           : option == STAGE_FWHM ? "this filter has no sigma"
                                  : "this filter is not heat";
}

/* The first of some options, in the order of --help. */
static enum stage_option first_of(unsigned options)
{
    return (enum stage_option)(options & (~options + 1));
}

/* Options that mean something to some fluxes only: those that do not suit this one. */
static unsigned unsuitable_options(enum flux flux)
{
    return (flux == FLUX_LINEAR ? (unsigned)STAGE_SCALE : 0) |
           (flux_conducts(flux) ? 0 : (unsigned)STAGE_FLUX_CHANNELS);
}

void stage_inherit(struct stage_request *request, const struct stage_request *defaults)
{
    const struct stage_request standards = {
#define STAGE_OPTION(constant, letter, name, argument, kind, type, member, standard, help) .member = standard,
#include "stage_options.def"
    };
    unsigned own = request->given, usable = defaults->given & applicable_options(request->call.filter);

    /* A default scale is meant for the stages whose flux has one, and so are channels. */
    usable &= ~unsuitable_options((own & STAGE_FLUX ? request : defaults)->flux);
    if (request->call.filter->kind == FILTER_HEAT && !((own | usable) & STAGE_SIGMA))
        usable &= ~(unsigned)STAGE_FWHM;
    request->own = own;
    request->given = own | usable;
#define STAGE_OPTION(constant, letter, name, argument, kind, type, member, standard, help)                   \
    if (!(own & STAGE_##constant))                                                                           \
        request->member = (usable & STAGE_##constant ? defaults : &standards)->member;
#include "stage_options.def"
}

static bool refuse_option(const struct stage_request *request, enum stage_option option, const char *reason,
                          struct fault *fault)
{
    return fault_raise(fault, STATUS_USAGE, "--%s: %s: %s", stage_option_name(option), request->call.spec,
                       reason);
}

bool stage_request_check(const struct stage_request *request, struct fault *fault)
{
    unsigned given = request->given;
    unsigned pointless = given & ~applicable_options(request->call.filter);
    unsigned unsuitable = given & unsuitable_options(request->flux);

    if (pointless != 0)
        return refuse_option(request, first_of(pointless), reason_against(first_of(pointless)), fault);
    if ((given & STAGE_FWHM) && request->call.filter->kind == FILTER_HEAT && !(given & STAGE_SIGMA))
        return refuse_option(request, STAGE_FWHM, "it needs --sigma", fault);
    if (unsuitable & STAGE_SCALE)
        return refuse_option(request, STAGE_SCALE, "a linear flux has no scale", fault);
    if (unsuitable & STAGE_FLUX_CHANNELS)
        return refuse_option(request, STAGE_FLUX_CHANNELS, "only pm1 and pm2 have a conductivity to share",
                             fault);
    if ((given & STAGE_CHECK_EVERY) && !(given & STAGE_UNTIL))
        return refuse_option(request, STAGE_CHECK_EVERY, "it needs --until", fault);
    /* No number is right for all data, and one that is taken from the data would be another for a part of
       them, and another after the first steps. */
    return request->flux == FLUX_LINEAR || (given & STAGE_SCALE) ||
           fault_raise(fault, STATUS_USAGE, "--%s: %s: %s needs a --%s: %s", stage_option_name(STAGE_FLUX),
                       request->call.spec, flux_name(request->flux), stage_option_name(STAGE_SCALE),
                       flux_scale_meaning(request->flux));
}

static bool any_has(const struct stage_request *stages, size_t count, enum stage_option option)
{
    for (size_t i = 0; i < count; i++) {
        if (stages[i].given & option)
            return true;
    }
    return false;
}

/* An option that no stage of the chain can use would be parsed and ignored; it is refused. */
static bool check_defaults(const struct stage_request *stages, size_t count,
                           const struct stage_request *defaults, bool force, struct fault *fault)
{
    unsigned pointless = defaults->given & heat_options;

    for (size_t i = 0; i < count; i++) {
        if (stages[i].call.filter->kind == FILTER_HEAT)
            return true;
    }
    if (force)
        return fault_raise(fault, STATUS_USAGE, "--force: no stage of this chain is heat");
    return pointless == 0 || fault_raise(fault, STATUS_USAGE, "--%s: no stage of this chain is heat",
                                         stage_option_name(first_of(pointless)));
}

/* Only the end of the chain can be waited for: nothing runs after it. */
static bool inherit(struct stage_request *stages, size_t count, const struct stage_request *defaults,
                    struct fault *fault)
{
    struct stage_request early = *defaults;

    early.given &= ~(unsigned)(STAGE_UNTIL | STAGE_CHECK_EVERY);
    for (size_t i = 0; i + 1 < count; i++) {
        if (stages[i].given & STAGE_UNTIL)
            return fault_raise(fault, STATUS_USAGE, "--until: %s: only the last stage can wait for it",
                               stages[i].call.spec);
        stage_inherit(&stages[i], &early);
    }
    stage_inherit(&stages[count - 1], defaults);
    return true;
}

/* Stages whose filter or flux has no use for a default leave it alone; some stage must have taken it. */
static bool check_default_of(const struct stage_request *stages, size_t count,
                             const struct stage_request *defaults, enum stage_option option, const char *flux,
                             struct fault *fault)
{
    return !(defaults->given & option) || any_has(stages, count, option) ||
           fault_raise(fault, STATUS_USAGE, "--%s: no stage of this chain has %s", stage_option_name(option),
                       flux);
}

bool stages_settle(struct stage_request *stages, size_t count, const struct stage_request *defaults,
                   bool force, struct fault *fault)
{
    return check_defaults(stages, count, defaults, force, fault) && inherit(stages, count, defaults, fault) &&
           check_default_of(stages, count, defaults, STAGE_FWHM, "a sigma", fault) &&
           check_default_of(stages, count, defaults, STAGE_AXES, "a filter that acts along axes", fault) &&
           check_default_of(stages, count, defaults, STAGE_SCALE, "a nonlinear flux", fault) &&
           check_default_of(stages, count, defaults, STAGE_FLUX_CHANNELS, "a flux of pm1 or pm2", fault);
}

bool stages_use_spacing(const struct stage_request *stages, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (filter_uses_spacing(&stages[i].call))
            return true;
    }
    return false;
}

bool stages_have_until(const struct stage_request *stages, size_t count)
{
    return any_has(stages, count, STAGE_UNTIL);
}
