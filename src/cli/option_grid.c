/* Options of where samples are: extents, distances, and the region that is written. */
#include "option_values.h"

#include "base/limits.h"
#include "base/number.h"
#include "base/suggest.h"
#include "parsing.h"

#include <stdio.h>

static bool read_extents(const char *value, size_t least, size_t most, double *extents, size_t *count)
{
    if (!number_parse_list(value, ',', least, most, extents, count))
        return false;
    for (size_t i = 0; i < *count; i++) {
        /* Beyond 2^53 a double no longer holds every whole number. */
        if (extents[i] < 1.0 || extents[i] > 0x1p53 || extents[i] != (double)(size_t)extents[i])
            return false;
    }
    return true;
}

static bool set_extents(struct parsing *parsing, unsigned axes, double x, double y, double z)
{
    struct source_request *source = &parsing->options->source;

    source->has_dims = true;
    source->grid.axes = axes;
    source->grid.nx = (size_t)x;
    source->grid.ny = (size_t)y;
    source->grid.nz = (size_t)z;
    return true;
}

/* "512x512x300" as -d takes it, with the option before it if that was another one; NULL where it is no list
   of extents, either. */
static const char *meant_dims(const char *option, const char *value, size_t most, char *meant, size_t size)
{
    char list[64];
    double extents[3];
    size_t count;

    if (!read_extents(suggest_separator(value, ',', list, sizeof list), 2, most, extents, &count))
        return NULL;
    snprintf(meant, size, "%s%s", option, list);
    return meant;
}

bool option_cube(struct parsing *parsing, const char *value)
{
    uint64_t side;
    char meant[72];

    if (!number_parse_count(value, &side) || side == 0 || side > (uint64_t)1 << 53)
        return parsing_refuse_for(parsing, value, "a whole number above 0",
                                  meant_dims("-d ", value, 3, meant, sizeof meant));
    if (parsing->has_cube)
        return parsing_refuse_twice(parsing);
    if (parsing->options->source.has_dims)
        return fault_raise_about(parsing->fault, STATUS_USAGE, value, "-d already gives the extents");
    parsing->has_cube = true;
    return set_extents(parsing, 3, (double)side, (double)side, (double)side);
}

static bool refuse_dims(struct parsing *parsing, const char *value, size_t most)
{
    const char *expected = most == 2 ? "X,Y, whole numbers above 0" : "X[,Y[,Z]], whole numbers above 0";
    char list[72];

    return parsing_refuse_for(parsing, value, expected, meant_dims("", value, most, list, sizeof list));
}

bool option_dims(struct parsing *parsing, const char *value)
{
    bool picture = parsing->options->program == PROGRAM_IMGHEAT;
    size_t most = picture ? 2 : 3, count;
    double extents[3] = {1.0, 1.0, 1.0};

    if (!read_extents(value, picture ? 2 : 1, most, extents, &count))
        return refuse_dims(parsing, value, most);
    if (parsing->has_cube)
        return fault_raise_about(parsing->fault, STATUS_USAGE, value, "-n already gives the extents");
    if (parsing->options->source.has_dims)
        return parsing_refuse_twice(parsing);
    return set_extents(parsing, (unsigned)count, extents[0], extents[1], extents[2]);
}

bool option_channels(struct parsing *parsing, const char *value)
{
    uint64_t channels;

    if (!number_parse_count(value, &channels) || channels == 0 || channels > MOST_CHANNELS)
        return parsing_refuse(parsing, value, "a whole number from 1 to " TEXT(MOST_CHANNELS));
    parsing->options->source.has_channels = true;
    parsing->options->source.grid.channels = (unsigned)channels;
    return true;
}

typedef bool (*region_parser)(const char *value, struct region_request *region, struct fault *fault);

/* Of two regions one would be left out in silence. */
static bool option_region(struct parsing *parsing, const char *value, region_parser parse)
{
    struct region_request *region = &parsing->options->job.region, before = *region;

    if (!parse(value, region, parsing->fault))
        return false;
    if (before.kind == region->kind)
        return parsing_refuse_twice(parsing);
    return before.kind == REGION_WHOLE || fault_raise_about(parsing->fault, STATUS_USAGE, value,
                                                            "%s is given, too", region_option(before.kind));
}

bool option_crop(struct parsing *parsing, const char *value)
{
    return option_region(parsing, value, region_parse_crop);
}

bool option_planes(struct parsing *parsing, const char *value)
{
    return option_region(parsing, value, region_parse_planes);
}

bool option_part(struct parsing *parsing, const char *value)
{
    return option_region(parsing, value, region_parse_part);
}

bool option_piece(struct parsing *parsing, const char *value)
{
    return option_region(parsing, value, region_parse_piece);
}

bool option_slice(struct parsing *parsing, const char *value)
{
    return option_region(parsing, value, region_parse_slice);
}

bool option_spacing(struct parsing *parsing, const char *value)
{
    struct source_request *source = &parsing->options->source;
    double spacing[3] = {1.0, 1.0, 1.0};
    size_t count;

    if (!number_parse_list(value, ',', 1, 3, spacing, &count))
        return parsing_refuse(parsing, value, "X[,Y[,Z]]");
    for (size_t i = 0; i < 3; i++) {
        if (spacing[i] < LEAST_SPACING || spacing[i] > MOST_SPACING)
            return parsing_refuse(parsing, value,
                                  "distances from " TEXT(LEAST_SPACING) " to " TEXT(MOST_SPACING));
        source->grid.spacing[i] = spacing[i];
    }
    source->spacing_count = count;
    return true;
}
