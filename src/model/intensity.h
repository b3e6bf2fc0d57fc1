/* Intensities: the values that stored samples stand for, where a header tells. */
#ifndef INTENSITY_H
#define INTENSITY_H

#include <stdbool.h>

/* A value is slope * sample + intercept. A slope of 0: the header does not tell, and samples are values. */
struct intensity {
    double slope, intercept;
};

/* Whether samples are values. */
bool intensity_is_plain(const struct intensity *intensity);

bool intensity_is_same(const struct intensity *intensity, const struct intensity *other);

/* The value of a sample, and the sample of a value. */
double intensity_value(const struct intensity *intensity, double sample);
double intensity_sample(const struct intensity *intensity, double value);

/* How far values are apart whose samples differ by 1. */
double intensity_unit(const struct intensity *intensity);

#endif
