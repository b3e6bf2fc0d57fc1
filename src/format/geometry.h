/* Geometry: where a grid is in space, as far as its file tells. */
#ifndef GEOMETRY_H
#define GEOMETRY_H

#include <stdbool.h>
#include <stddef.h>

/* Of a volume: pictures have none. Coordinates grow to the left, the back and the top of a patient, as ITK
 * has them. */
struct geometry {
    bool known;
    double origin[3];       /* of the first sample */
    double direction[3][3]; /* of the axes x, y and z, each of length 1 */
};

/* For coordinates in LPS, RAS and LAS: the signs that turn them into these, and back. */
extern const double geometry_lps[3], geometry_ras[3], geometry_las[3];

/* From vectors of any length along the axes, in coordinates of such signs. If a vector has no direction, or
   all three lie in one plane, the position is not known. */
struct geometry geometry_make(const double origin[3], double vectors[3][3], const double signs[3]);

/* The sides of a patient that x, y and z run towards, as three letters of LRPASI: the closest ones, and of
   two opposite sides one. Of a position that is known. */
void geometry_orientation(const struct geometry *geometry, char sides[4]);

/* The coordinates of the sample with these indices, at this distance from sample to sample. */
void geometry_of_sample(const struct geometry *geometry, const size_t index[3], const double spacing[3],
                        double place[3]);

/* Whether they tell no more than the spacing does: the first sample is at 0, and x, y and z of the grid are
   those of space. */
bool geometry_is_plain(const double origin[3], double vectors[3][3]);

#endif
