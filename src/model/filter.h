/* Filters: the names that --filter takes, their arguments, and the stencils that they make on a grid. */
#ifndef FILTER_H
#define FILTER_H

#include "base/diag.h"
#include "grid.h"
#include "point.h"
#include "stencil.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum filter_kind {
    FILTER_TAPS,    /* one stencil */
    FILTER_AXES,    /* stencils along one axis each, in the order x, y, z */
    FILTER_HEAT,    /* a stencil that the heat options make */
    FILTER_UNSHARP, /* the difference to a Gaussian, times an amount, added */
    FILTER_SUM, /* several chains of stencils along the axes; an amount times each after the first is added */
    FILTER_LENGTH,     /* several such chains: the length of the vector that they make */
    FILTER_BILATERAL,  /* a window whose weights depend on differences, too */
    FILTER_GRADIENT,   /* the length of the vector of central differences */
    FILTER_RANK,       /* one of the samples of a window, by their order; and another of what comes of it */
    FILTER_DIFFERENCE, /* of such a result and the sample, or of two results */
    FILTER_POINT,      /* of a sample by itself: a row of points.def */
    FILTER_COVER,      /* between stages: colour becomes colour times alpha; not one that --filter takes */
    FILTER_UNCOVER     /* likewise, and back */
};

/* The unit of a filter's offsets. */
enum filter_unit {
    UNIT_SAMPLE, /* samples; a sigma may be marked to be in units of spacing */
    UNIT_SPACING /* distances: differences are divided by the spacing */
};

/* The arguments of a filter, which follow the colon of a SPEC. */
enum filter_arguments {
    ARGUMENTS_NONE,
    ARGUMENTS_NUMBERS, /* separated by commas */
    ARGUMENTS_SIGMA,   /* the same; the first may end in u: in units of spacing */
    ARGUMENTS_ORDERS,  /* the same; behind the last, order= and the order of a derivative along each axis */
    ARGUMENTS_WINDOW,  /* the same; the name of a window may follow */
    ARGUMENTS_AXIS,    /* x, y or z */
    ARGUMENTS_TEXT,    /* a matrix */
    ARGUMENTS_FILE     /* the name of a taps file */
};

#define FILTER_CHAINS 3
#define FILTER_PASSES (3 * FILTER_CHAINS)

#define FILTER_NUMBERS 27 /* the most that a SPEC may hold */

/* The samples within a radius: along all axes of the grid, within a distance, or along one axis. */
enum filter_window { WINDOW_BOX, WINDOW_BALL, WINDOW_X, WINDOW_Y, WINDOW_Z };

/* The most samples among which one is chosen by its rank: 33 along three axes. */
#define FILTER_WINDOW 35937

/* The rank of the greatest sample, whatever the size of the window. */
#define FILTER_GREATEST SIZE_MAX

struct building;

/* A filter on a grid. */
struct filter_body {
    struct stencil taps; /* FILTER_RANK, FILTER_DIFFERENCE: the window, unless it is a box */
    size_t chains;
    struct stencil along[FILTER_PASSES]; /* x, y and z of each chain; or the sides of that box */
    double amount;                       /* FILTER_UNSHARP, FILTER_SUM; FILTER_BILATERAL: SR */
    size_t ranks[2]; /* FILTER_RANK, FILTER_DIFFERENCE: samples that come before the one that is taken */
    size_t rank_count;
    double percent; /* of so many samples come before the one that is taken, however many there are; 0: as
                       many as ranks[0] says, or all others if there are fewer */
    bool apart;     /* FILTER_DIFFERENCE: the second rank is of the input, too, and not of the first result */
    struct point point; /* FILTER_POINT */
};

struct filter {
    const char *name;
    const char *syntax; /* of the arguments, with the colon */
    enum filter_kind kind;
    enum filter_unit unit;
    enum filter_arguments arguments;
    size_t least, most; /* how many numbers */
    const char *summary;
    bool (*build)(const struct building *building);
};

/* A SPEC, parsed. */
struct filter_call {
    const struct filter *filter;
    const char *spec; /* as given; the caller keeps it alive */
    double numbers[FILTER_NUMBERS];
    size_t count;
    bool in_spacing;           /* ARGUMENTS_SIGMA, ARGUMENTS_ORDERS */
    double millimetres;        /* in_spacing: in the unit of the sigmas; 0: it is that of the spacing */
    double orders[3];          /* ARGUMENTS_ORDERS: along x, y, z */
    size_t order_count;        /* how many of them were given */
    int axis;                  /* ARGUMENTS_AXIS: 0, 1, 2 */
    enum filter_window window; /* ARGUMENTS_WINDOW */
    const char *text;          /* ARGUMENTS_TEXT, ARGUMENTS_FILE: into spec */
    struct stencil taps;       /* ARGUMENTS_FILE: read once, however many inputs there are */
};

/* All filters, in the order of filters.def; ends with one without name. */
extern const struct filter filter_list[];

/* Stages that a job inserts where the next one takes colour differently: FILTER_COVER and FILTER_UNCOVER. */
extern const struct filter filter_cover, filter_uncover;

/* Two more, POINT_SCALE: samples become proportional to their values; and values themselves. */
extern const struct filter filter_proportion, filter_values;

/* Parse a SPEC; a taps file is read at once. filter_call_free releases the call, also after a failure. */
bool filter_parse(const char *spec, struct filter_call *call, struct fault *fault);
void filter_call_free(struct filter_call *call);

/* Whether the filter depends on the spacing of the grid. */
bool filter_uses_spacing(const struct filter_call *call);

/* Deviations in a full width at half maximum: 2 sqrt(2 ln 2). */
#define FILTER_WIDTHS 2.3548200450309493

/* Whether the filter has sigmas; and whether it may leave axes of the grid alone. */
bool filter_has_sigma(const struct filter *filter);
bool filter_chooses_axes(const struct filter *filter);

/* How a stage takes a filter: with offsets negated, and with sigmas that are full widths at half maximum. */
struct filter_manner {
    bool flipped, fwhm;
};

/* Build the stencils for a grid; along an axis of infinite spacing there are none. A filter that needs an
 * axis the grid does not have is a usage error. */
bool filter_build(const struct filter_call *call, const struct grid *grid, struct filter_manner manner,
                  struct filter_body *body, struct fault *fault);

void filter_body_free(struct filter_body *body);

#endif
