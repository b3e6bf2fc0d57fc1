/* Stencils: taps in raster order of their offsets, made one by one or read from a file. */
#ifndef STENCIL_H
#define STENCIL_H

#include "base/diag.h"

#include <stdbool.h>
#include <stddef.h>

/* The farthest that a tap may reach along an axis. */
#define STENCIL_REACH (1 << 20)

/* A weight, and the place of its sample beside the one that is computed. */
struct tap {
    int dx, dy, dz;
    double weight;
};

/* Begins as {0}. Taps of weight zero do not exist. */
struct stencil {
    size_t count, capacity;
    struct tap *taps;
};

/* Put in one more tap, at its place in raster order. A weight of zero adds nothing. An offset that is there
   already or lies beyond STENCIL_REACH is refused. */
bool stencil_add(struct stencil *stencil, int dx, int dy, int dz, double weight, struct fault *fault);

/* Put in the two neighbours at a distance along each axis, with a weight for each axis. */
bool stencil_add_faces(struct stencil *stencil, unsigned axes, int distance, const double weight[3],
                       struct fault *fault);

/* The sum of the weights in raster order, before the work type rounds them. */
double stencil_sum(const struct stencil *stencil);

/* Negate every offset: correlation becomes convolution. */
void stencil_flip(struct stencil *stencil);

/* Whether flipping leaves it as it is. */
bool stencil_is_symmetric(const struct stencil *stencil);

/* Whether no tap lies off the centre. */
bool stencil_stays_at_centre(const struct stencil *stencil);

/* How many axes a grid needs to have every axis along which a tap lies off the centre; at least 1. */
unsigned stencil_axes(const struct stencil *stencil);

/* Add the taps of a file, which may be a pipe: a tap a line, dx dy dz weight; # begins a comment. There is at
   least one tap, and there are at most 254 bytes a line and a million lines. */
bool stencil_read(const char *path, struct stencil *stencil, struct fault *fault);

void stencil_free(struct stencil *stencil);

#endif
