/* Points: filters of one sample, which read no neighbours; and what combines samples of two fields. */
#ifndef POINT_H
#define POINT_H

#include <stdbool.h>
#include <stdint.h>

enum point_kind {
#define POINT(constant, ...) POINT_##constant,
#include "points.def"
    POINTS /* how many there are */
};

enum combine {
#define COMBINE(constant, name, value) COMBINE_##constant,
#include "combine.def"
    COMBINES /* how many there are */
};

/* What a point filter makes of a header's slope and intercept. */
enum point_intensity {
    POINT_SCALES,       /* values become what samples do: the intercept follows */
    POINT_TAKES_SIZES,  /* the slope loses its sign; where there is an intercept, as MAKES_VALUES */
    POINT_TAKES_BOUNDS, /* both stay, and its numbers become samples */
    POINT_TAKES_VALUES, /* samples become values before it, and what it makes is given as values */
    POINT_MAKES_VALUES  /* the same, but an integer would round what it makes: it needs another type */
};

#define POINT_NUMBERS 3 /* the most that a point filter has */

/* A point filter with its numbers a, b and c, whose names and meaning points.def has. */
struct point {
    enum point_kind kind;
    double numbers[POINT_NUMBERS];
    uint64_t times; /* that it is done, one after another */
    bool missing;   /* NaN is a sample that is missing, and stays so */
};

#endif
