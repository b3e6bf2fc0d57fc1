/* Edge rules: what a tap reads outside the grid. */
#ifndef EDGE_H
#define EDGE_H

#include "base/diag.h"

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum edge_rule {
    EDGE_REFLECT,  /* d c b a | a b c d | d c b a */
    EDGE_MIRROR,   /* d c b | a b c d | c b a */
    EDGE_NEAREST,  /* a a a | a b c d | d d d */
    EDGE_WRAP,     /* b c d | a b c d | a b c */
    EDGE_CONSTANT, /* v v v | a b c d | v v v */
    EDGE_HOLD,     /* a sample with a tap outside keeps its value */
    EDGE_RULES     /* how many there are */
};

struct edge {
    enum edge_rule rule;
    double value; /* of EDGE_CONSTANT, in units of the file */
};

/* MODE as --edge takes it. */
bool edge_parse(const char *text, struct edge *edge, struct fault *fault);

/* The name of a rule as --edge takes it. */
const char *edge_name(enum edge_rule rule);

#ifdef __cplusplus
}
#endif

#endif
