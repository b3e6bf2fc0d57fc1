/* Points: filters of one sample, which read no neighbours; and what combines samples of two fields. */
#ifndef POINT_H
#define POINT_H

#include <stdint.h>

enum point_kind {
#define POINT(constant, name, syntax, numbers, a_name, b_name, summary, value) POINT_##constant,
#include "points.def"
    POINTS /* how many there are */
};

enum combine {
#define COMBINE(constant, name, value) COMBINE_##constant,
#include "combine.def"
    COMBINES /* how many there are */
};

/* A point filter with its two numbers, whose names and meaning points.def has. */
struct point {
    enum point_kind kind;
    double a, b;
    uint64_t times; /* that it is done, one after another */
};

#endif
