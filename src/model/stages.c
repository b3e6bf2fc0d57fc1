/* Stages: the chain that a command line asks for, as a whole. */
#include "stages.h"

static bool any_is_heat(const struct stage_request *stages, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (stages[i].call.filter->kind == FILTER_HEAT)
            return true;
    }
    return false;
}

static bool any_takes(const struct stage_request *stages, size_t count, enum stage_option option)
{
    for (size_t i = 0; i < count; i++) {
        if (stage_option_applies(option, stages[i].call.filter))
            return true;
    }
    return false;
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
    if (force && !any_is_heat(stages, count))
        return fault_raise(fault, STATUS_USAGE, "--force: no stage of this chain is heat");
    for (unsigned option = 1; option < 1U << STAGE_OPTIONS; option <<= 1) {
        if ((defaults->given & option) && !any_takes(stages, count, (enum stage_option)option))
            return fault_raise(fault, STATUS_USAGE, "--%s: no stage of this chain is heat",
                               stage_option_name((enum stage_option)option));
    }
    return true;
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

/* Stages whose flux has no use for a default leave it alone; some stage must have taken it. */
static bool check_default_of_flux(const struct stage_request *stages, size_t count,
                                  const struct stage_request *defaults, enum stage_option option,
                                  const char *flux, struct fault *fault)
{
    return !(defaults->given & option) || any_has(stages, count, option) ||
           fault_raise(fault, STATUS_USAGE, "--%s: no stage of this chain has %s", stage_option_name(option),
                       flux);
}

bool stages_settle(struct stage_request *stages, size_t count, const struct stage_request *defaults,
                   bool force, struct fault *fault)
{
    return check_defaults(stages, count, defaults, force, fault) && inherit(stages, count, defaults, fault) &&
           check_default_of_flux(stages, count, defaults, STAGE_SCALE, "a nonlinear flux", fault) &&
           check_default_of_flux(stages, count, defaults, STAGE_FLUX_CHANNELS, "a flux of pm1 or pm2", fault);
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
