/* Geometry: where a grid is in space, and one table of the units of length for all formats.

   Coordinates grow to the left, the back and the top of a patient. Formats whose coordinates grow elsewhere,
   as NIfTI's to the right and the front, give their signs. Directions have length 1, for distances are in the
   grid. */
#include "geometry.h"

#include <math.h>
#include <string.h>

const double geometry_lps[3] = {1.0, 1.0, 1.0};
const double geometry_ras[3] = {-1.0, -1.0, 1.0};
const double geometry_las[3] = {1.0, -1.0, 1.0};

double geometry_length(const double vector[3])
{
    return sqrt(vector[0] * vector[0] + vector[1] * vector[1] + vector[2] * vector[2]);
}

/* Without the sign of 0, which nobody wants to read. */
static double turned(double value, double sign)
{
    return sign * value + 0.0;
}

static double volume_of(double directions[3][3])
{
    const double *a = directions[0], *b = directions[1], *c = directions[2];

    return fabs(a[0] * (b[1] * c[2] - b[2] * c[1]) + a[1] * (b[2] * c[0] - b[0] * c[2]) +
                a[2] * (b[0] * c[1] - b[1] * c[0]));
}

/* Axes in one plane, but for rounding, place nothing; ITK refuses them. */
#define LEAST_VOLUME 1e-6

struct geometry geometry_make(const double origin[3], double vectors[3][3], const double signs[3])
{
    struct geometry geometry = {.known = true};

    for (unsigned i = 0; i < 3; i++) {
        double length = geometry_length(vectors[i]);
        geometry.known = geometry.known && length > 0.0 && isfinite(length) && isfinite(origin[i]);
        geometry.origin[i] = turned(origin[i], signs[i]);
        for (unsigned k = 0; k < 3; k++)
            geometry.direction[i][k] = turned(vectors[i][k] / length, signs[k]);
    }
    geometry.known = geometry.known && volume_of(geometry.direction) > LEAST_VOLUME;
    return geometry;
}

void geometry_orientation(const struct geometry *geometry, char sides[4])
{
    /* The six ways to give each axis of the grid a side of its own. The best is the one whose axes point
       closest to their sides, taken together: each by itself might choose the same side as another. */
    static const unsigned orders[6][3] = {{0, 1, 2}, {1, 0, 2}, {0, 2, 1}, {2, 1, 0}, {1, 2, 0}, {2, 0, 1}};
    double most = -1.0;

    sides[3] = '\0';
    for (size_t n = 0; n < 6; n++) {
        double sum = 0.0;
        for (unsigned i = 0; i < 3; i++)
            sum += fabs(geometry->direction[i][orders[n][i]]);
        for (unsigned i = 0; i < 3 && sum > most; i++)
            sides[i] = (geometry->direction[i][orders[n][i]] < 0.0 ? "RAI" : "LPS")[orders[n][i]];
        most = fmax(most, sum);
    }
}

void geometry_of_sample(const struct geometry *geometry, const size_t index[3], const double spacing[3],
                        double place[3])
{
    for (unsigned k = 0; k < 3; k++) {
        place[k] = geometry->origin[k];
        for (unsigned i = 0; i < 3; i++)
            place[k] += (double)index[i] * spacing[i] * geometry->direction[i][k];
    }
}

bool geometry_is_plain(const double origin[3], double vectors[3][3])
{
    for (unsigned i = 0; i < 3; i++) {
        if (origin[i] != 0.0 || !(vectors[i][i] > 0.0))
            return false;
        for (unsigned k = 0; k < 3; k++) {
            if (k != i && vectors[i][k] != 0.0)
                return false;
        }
    }
    return true;
}

/* ---- units of length ---- */

#define NAMES(...)                                                                                           \
    (const char *const[])                                                                                    \
    {                                                                                                        \
        __VA_ARGS__, NULL                                                                                    \
    }

/* The micro sign and the Greek letter in UTF-8, the sign in Latin-1, and as Java and XML escape it. */
static const struct length_unit units[] = {
    {.millimetres = 1.0,
     .symbol = "mm",
     .names = NAMES("mm", "millimeter", "millimetre", "millimeters"),
     .nifti = 2},
    {.millimetres = 1000.0, .symbol = "m", .names = NAMES("m", "meter", "metre", "meters"), .nifti = 1},
    {.millimetres = 1e-3,
     .symbol = "um",
     .names = NAMES("micron", "um", "microns", "micrometer", "micrometre", "\302\265m", "\316\274m", "\265m",
                    "\\u00B5m", "&#181;m", "&#xB5;m"),
     .nifti = 3},
    {.millimetres = 1e-6, .symbol = "nm", .names = NAMES("nm", "nanometer", "nanometre", "nanometers")},
    {.millimetres = 10.0,
     .symbol = "cm",
     .names = NAMES("cm", "centimeter", "centimetre", "centimeters"),
     .resolution = 3},
    {.millimetres = 25.4, .symbol = "in", .names = NAMES("inch", "in", "inches"), .resolution = 2},
};
enum { UNITS = sizeof units / sizeof *units };

const struct length_unit *unit_of_name(const char *name)
{
    for (size_t i = 0; i < UNITS; i++) {
        for (const char *const *known = units[i].names; *known != NULL; known++) {
            if (strcmp(*known, name) == 0)
                return &units[i];
        }
    }
    return NULL;
}

const struct length_unit *unit_of_nifti(unsigned code)
{
    for (size_t i = 0; i < UNITS; i++) {
        if (code != 0 && units[i].nifti == code)
            return &units[i];
    }
    return NULL;
}

const struct length_unit *unit_of_resolution(unsigned code)
{
    for (size_t i = 0; i < UNITS; i++) {
        if (code != 0 && units[i].resolution == code)
            return &units[i];
    }
    return NULL;
}

double unit_millimetres(const struct length_unit *unit)
{
    return unit == NULL ? 0.0 : unit->millimetres;
}

const char *unit_symbol(double millimetres)
{
    for (size_t i = 0; i < UNITS; i++) {
        if (!(units[i].millimetres < millimetres || units[i].millimetres > millimetres))
            return units[i].symbol;
    }
    return NULL;
}

const struct length_unit *unit_millimetre(void)
{
    return &units[0];
}
