/* Sections: the observer that keeps the middle plane across each axis, of both ends of a run, at the size at
   which it is to be drawn: whatever the extents of the grid, they take no more than some megabytes. */
#ifndef SECTIONS_H
#define SECTIONS_H

#include "observer.h"

#include <stddef.h>

/* Pixels a side of a section, at most and at least. */
enum { SECTION_MOST = 384, SECTION_LEAST = 16 };

#define SECTIONS_MOST 3

/* A plane of the grid that is kept for a picture, from both ends of the run. */
struct section {
    unsigned axis;         /* that it stands across */
    size_t at;             /* its index there */
    unsigned across, down; /* the axes that it shows, to the right and downwards */
    size_t width, height;  /* in pixels */
    double scale;          /* pixels a unit of spacing, along both axes but for their stretch */
    double stretch[2];     /* across and down: 1, or more where so thin a section could not be seen */
    size_t each[2];        /* across and down: samples that a value is the mean of */
    size_t columns, rows;  /* of the values that are kept, at most one a pixel */
    double *values[2];     /* by the end of the run */

    /* With several processes, each sees only some of the lines of samples. If another one sees earlier lines
       of its first row of values, it keeps its own lines of that row apart, since lines are added up in
       order. */
    struct range seen;
    size_t apart;
    double *lines[2];
};

struct sections {
    const struct plan *plan;
    size_t count;
    struct section list[SECTIONS_MOST]; /* across z, y, x; across z alone where a grid has fewer axes */
};

/* Release the values of all sections, which show the first channel. */
void sections_free(struct sections *sections);

/* The state of such an observer is a struct sections, of zeros before the first run; each run begins anew. */
extern const struct observer_kind sections_kind;

#endif
