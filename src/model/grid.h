/* The lattice of samples: extents, channels, spacing, and which axis streams. */
#ifndef GRID_H
#define GRID_H

#include "base/diag.h"
#include "base/number.h"

#include <stdbool.h>
#include <stddef.h>

struct grid {
    unsigned axes;      /* 1: a rod, -d X; 2: a picture, or -d X,Y; 3: a volume */
    size_t nx, ny, nz;  /* 1 along an axis the grid does not have */
    unsigned channels;  /* interleaved in files */
    double spacing[3];  /* distance between samples along x, y, z */
    double millimetres; /* in one unit of that distance; 0: nobody said */
};

/* A grid of spacing 1 and one channel. */
struct grid grid_make(unsigned axes, size_t nx, size_t ny, size_t nz);

/* False with STATUS_INPUT when an extent is zero, or STATUS_LIMIT when the sizes leave the address space. */
bool grid_check(const struct grid *grid, struct fault *fault);

/* The extent along an axis: 0 is x, 1 y, 2 z. */
size_t grid_extent(const struct grid *grid, unsigned axis);

/* The extents along its axes: "640 x 480". */
struct number_product grid_format_extents(const struct grid *grid);

/* Whether they have the same extents. */
bool grid_same_extents(const struct grid *grid, const struct grid *other);

/* A plane is one index of the slowest axis: a z-plane of a volume, a row of a picture, the whole of a rod. */
size_t grid_planes(const struct grid *grid);

/* Rows in one plane. */
size_t grid_rows(const struct grid *grid);

/* Samples in one plane, all channels. */
size_t grid_plane_samples(const struct grid *grid);

/* Samples in the grid, all channels. */
size_t grid_samples(const struct grid *grid);

/* The smallest spacing among the axes that the grid has. */
double grid_min_spacing(const struct grid *grid);

/* 1/h² along x, y, z: the weight of a second difference in the Laplacian; 0 for an axis the grid does not
   have. Returns their sum. */
double grid_curvatures(const struct grid *grid, double curvature[3]);

#endif
