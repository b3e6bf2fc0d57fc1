/* Geometry: where a grid is in space.

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
