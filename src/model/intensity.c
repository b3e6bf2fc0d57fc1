/* Intensities: the values that stored samples stand for, where a header tells. */
#include "intensity.h"

#include <math.h>

bool intensity_is_plain(const struct intensity *intensity)
{
    return intensity->slope == 0.0 || (intensity->slope == 1.0 && intensity->intercept == 0.0);
}

bool intensity_is_same(const struct intensity *intensity, const struct intensity *other)
{
    return intensity->slope == other->slope && intensity->intercept == other->intercept;
}

double intensity_value(const struct intensity *intensity, double sample)
{
    return intensity_is_plain(intensity) ? sample : intensity->slope * sample + intensity->intercept;
}

double intensity_sample(const struct intensity *intensity, double value)
{
    return intensity_is_plain(intensity) ? value : (value - intensity->intercept) / intensity->slope;
}

double intensity_unit(const struct intensity *intensity)
{
    return intensity_is_plain(intensity) ? 1.0 : fabs(intensity->slope);
}
