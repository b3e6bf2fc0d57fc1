/* Geometry: where a grid is in space, as far as its file tells. */
#ifndef GEOMETRY_H
#define GEOMETRY_H

#include "model/unit.h"

#include <stdbool.h>
#include <stddef.h>

/* The geometry of a volume; pictures have none. Coordinates grow to the left, the back and the top of a
 * patient, as in ITK. */
struct geometry {
    bool known;
    double origin[3];       /* of the first sample */
    double direction[3][3]; /* of the axes x, y and z, each of length 1 */
};

/* Signs that convert coordinates in LPS, RAS and LAS into these, and back. */
extern const double geometry_lps[3], geometry_ras[3], geometry_las[3];

/* The length of a vector. */
double geometry_length(const double vector[3]);

/* Make a geometry from vectors of any length along the axes, in coordinates of such signs. It is not known if
 * a vector has no direction, or if all three lie in one plane. */
struct geometry geometry_make(const double origin[3], double vectors[3][3], const double signs[3]);

/* Name the sides of a patient that x, y and z of a known geometry run towards, as three letters of LRPASI:
 * the closest ones, and one of each two opposite sides. */
void geometry_orientation(const struct geometry *geometry, char sides[4]);

/* The coordinates of the sample with these indices, at this distance from sample to sample. */
void geometry_of_sample(const struct geometry *geometry, const size_t index[3], const double spacing[3],
                        double place[3]);

/* Whether they tell no more than the spacing does: the first sample is at 0, and the axes of the grid are
 * those of space. */
bool geometry_is_plain(const double origin[3], double vectors[3][3]);

#endif
