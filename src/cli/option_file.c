/* Options of what files are: their names and formats, and how samples are kept in them. */
#include "option_values.h"

#include "base/limits.h"
#include "base/number.h"
#include "parsing.h"

#include <math.h>
#include <string.h>

bool option_input(struct parsing *parsing, const char *value)
{
    return parsing_keep_file(parsing, &parsing->options->input, value);
}

bool option_output(struct parsing *parsing, const char *value)
{
    return parsing_keep_file(parsing, &parsing->options->output, value);
}

static bool read_type(struct parsing *parsing, const char *value, enum sample_type *type)
{
    int place;

    if (!parsing_read_choice(parsing, value, &place))
        return false;
    *type = (enum sample_type)place;
    return true;
}

bool option_type(struct parsing *parsing, const char *value)
{
    parsing->options->source.has_type = true;
    return read_type(parsing, value, &parsing->options->source.type);
}

bool option_out_type(struct parsing *parsing, const char *value)
{
    parsing->options->job.has_out_type = true;
    return read_type(parsing, value, &parsing->options->job.out_type);
}

bool option_out_range(struct parsing *parsing, const char *value)
{
    struct job_request *job = &parsing->options->job;
    double ends[2] = {0.0, 0.0};
    size_t count;

    job->ranged = true;
    job->auto_range = strcmp(value, "auto") == 0;
    if (!job->auto_range && !number_parse_list(value, ',', 2, 2, ends, &count))
        return parsing_refuse(parsing, value, "LO,HI or auto");
    if (!job->auto_range && ends[0] == ends[1])
        return fault_raise_about(parsing->fault, STATUS_USAGE, value, "LO and HI are the same");
    if (!isfinite(ends[1] - ends[0]))
        return fault_raise_about(parsing->fault, STATUS_USAGE, value, "LO and HI are too far apart");
    job->low = ends[0];
    job->high = ends[1];
    return true;
}

static bool read_endian(struct parsing *parsing, const char *value, enum endian *endian)
{
    int order;

    if (!parsing_read_choice(parsing, value, &order))
        return false;
    *endian = (enum endian)order;
    return true;
}

bool option_endian(struct parsing *parsing, const char *value)
{
    parsing->options->source.has_endian = true;
    return read_endian(parsing, value, &parsing->options->source.endian);
}

bool option_out_endian(struct parsing *parsing, const char *value)
{
    parsing->options->job.has_out_endian = true;
    return read_endian(parsing, value, &parsing->options->job.out_endian);
}

bool option_volume(struct parsing *parsing, const char *value)
{
    struct source_request *source = &parsing->options->source;

    source->has_volume = number_parse_count(value, &source->volume);
    return source->has_volume || parsing_refuse(parsing, value, "a whole number");
}

bool option_skip(struct parsing *parsing, const char *value)
{
    return number_parse_bytes(value, &parsing->options->source.skip) ||
           parsing_refuse(parsing, value, "a count of bytes");
}

static bool read_format(struct parsing *parsing, const char *value, const struct format **format)
{
    int place;

    if (!parsing_read_choice(parsing, value, &place))
        return false;
    *format = format_chosen(place);
    return true;
}

bool option_format(struct parsing *parsing, const char *value)
{
    return read_format(parsing, value, &parsing->options->format);
}

bool option_out_format(struct parsing *parsing, const char *value)
{
    return read_format(parsing, value, &parsing->options->out_format);
}

bool option_allow_outside(struct parsing *parsing, const char *value)
{
    (void)value;
    parsing->options->source.allow_outside = true;
    return true;
}

bool option_sync(struct parsing *parsing, const char *value)
{
    (void)value;
    parsing->options->sync = true;
    return true;
}

bool option_linear(struct parsing *parsing, const char *value)
{
    (void)value;
    parsing->options->job.linear_light = true;
    return true;
}

bool option_alpha_mode(struct parsing *parsing, const char *value)
{
    int mode;

    if (!parsing_read_choice(parsing, value, &mode))
        return false;
    parsing->options->job.has_alpha_mode = true;
    parsing->options->job.alpha_mode = (enum alpha_mode)mode;
    return true;
}

bool option_level(struct parsing *parsing, const char *value)
{
    uint64_t level;

    if (!number_parse_count(value, &level) || level > MOST_LEVEL)
        return parsing_refuse(parsing, value, "0 to " TEXT(MOST_LEVEL));
    parsing->options->level = (int)level;
    return true;
}
