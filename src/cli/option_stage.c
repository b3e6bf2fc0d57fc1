/* Options of stages: filters, and what belongs to one of them. */
#include "option_values.h"

#include "base/number.h"
#include "parsing.h"
#include "option_table.h"

#include <string.h>

bool option_filter(struct parsing *parsing, const char *value)
{
    struct stage_request *stage = &parsing->options->stages[parsing->options->job.stage_count++];

    *stage = (struct stage_request){.given = 0};
    parsing->stage = stage;
    return filter_parse(value, &stage->call, parsing->fault);
}

bool option_steps(struct parsing *parsing, const char *value)
{
    parsing->stage->given |= STAGE_STEPS;
    return number_parse_count(value, &parsing->stage->steps) ||
           parsing_refuse(parsing, value, "a whole number");
}

bool option_edge(struct parsing *parsing, const char *value)
{
    parsing->stage->given |= STAGE_EDGE;
    return edge_parse(value, &parsing->stage->edge, parsing->fault);
}

static bool read_least(struct parsing *parsing, const char *value, double least, bool itself, double *number)
{
    if (!number_parse_double(value, number))
        return parsing_refuse(parsing, value, "a number");
    if (*number < least || (*number == least && !itself))
        return parsing_refuse(parsing, value, itself ? "0 or more" : "a number above 0");
    return true;
}

bool option_alpha(struct parsing *parsing, const char *value)
{
    parsing->stage->given |= STAGE_ALPHA;
    return read_least(parsing, value, 0.0, true, &parsing->stage->alpha);
}

bool option_dt(struct parsing *parsing, const char *value)
{
    parsing->stage->given |= STAGE_DT;
    return read_least(parsing, value, 0.0, true, &parsing->stage->dt);
}

bool option_sigma(struct parsing *parsing, const char *value)
{
    char number[64];
    size_t length = strlen(value);
    bool in_spacing = length > 0 && value[length - 1] == 'u';

    if (length >= sizeof number)
        return parsing_refuse(parsing, value, "a number");
    memcpy(number, value, length + 1);
    if (in_spacing)
        number[length - 1] = '\0';
    parsing->stage->given |= STAGE_SIGMA;
    parsing->stage->sigma.in_spacing = in_spacing;
    if (!number_parse_double(number, &parsing->stage->sigma.value) || parsing->stage->sigma.value < 0.0)
        return parsing_refuse(parsing, value, "a number, 0 or more, with or without u");
    return true;
}

bool option_flux(struct parsing *parsing, const char *value)
{
    int flux;

    if (!parsing_read_choice(parsing, value, &flux))
        return false;
    parsing->stage->given |= STAGE_FLUX;
    parsing->stage->flux = (enum flux)flux;
    return true;
}

bool option_flux_channels(struct parsing *parsing, const char *value)
{
    int sharing;

    if (!parsing_read_choice(parsing, value, &sharing))
        return false;
    parsing->stage->given |= STAGE_FLUX_CHANNELS;
    parsing->stage->joint_flux = sharing == SHARING_JOINT;
    return true;
}

bool option_scale(struct parsing *parsing, const char *value)
{
    parsing->stage->given |= STAGE_SCALE;
    return read_least(parsing, value, 0.0, false, &parsing->stage->scale);
}

bool option_inner(struct parsing *parsing, const char *value)
{
    parsing->stage->given |= STAGE_INNER;
    if (!number_parse_count(value, &parsing->stage->inner) || parsing->stage->inner == 0)
        return parsing_refuse(parsing, value, "a whole number above 0");
    return true;
}

bool option_reaction(struct parsing *parsing, const char *value)
{
    parsing->stage->given |= STAGE_REACTION;
    return number_parse_double(value, &parsing->stage->reaction) ||
           parsing_refuse(parsing, value, "a number");
}

bool option_until(struct parsing *parsing, const char *value)
{
    parsing->stage->given |= STAGE_UNTIL;
    return read_least(parsing, value, 0.0, false, &parsing->stage->until);
}

bool option_check_every(struct parsing *parsing, const char *value)
{
    parsing->stage->given |= STAGE_CHECK_EVERY;
    if (!number_parse_count(value, &parsing->stage->check_every) || parsing->stage->check_every == 0)
        return parsing_refuse(parsing, value, "a whole number above 0");
    return true;
}

bool option_flip(struct parsing *parsing, const char *value)
{
    (void)value;
    parsing->stage->given |= STAGE_FLIP;
    parsing->stage->flipped = true;
    return true;
}

bool option_force(struct parsing *parsing, const char *value)
{
    (void)value;
    parsing->options->job.force = true;
    return true;
}
