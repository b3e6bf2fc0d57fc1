/* Edge rules: what a tap reads outside the grid. */
#ifndef EDGE_H
#define EDGE_H

#include "base/keyword.h"
#include "base/diag.h"

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

enum edge_rule {
#define EDGE(constant, name, syntax, traits, others) EDGE_##constant,
#include "edges.def"
    EDGE_RULES /* how many there are */
};

#define EDGE_DEFAULT ((enum edge_rule)0)

enum edge_trait {
    EDGE_REFLECTS = 1 << 0,    /* the grid comes again in the opposite order, from the edge on */
    EDGE_PERIODIC = 1 << 1,    /* what is outside at one end is at the other */
    EDGE_HAS_VALUE = 1 << 2,   /* a value of its own is outside */
    EDGE_KEEPS_SAMPLE = 1 << 3 /* nothing is outside: a sample with a tap there keeps its value */
};

static const unsigned char edge_traits[EDGE_RULES] = {
#define EDGE(constant, name, syntax, traits, others) (unsigned char)(traits),
#include "edges.def"
};

static inline bool edge_has(enum edge_rule rule, enum edge_trait trait)
{
    return (edge_traits[rule] & trait) != 0;
}

struct edge {
    enum edge_rule rule;
    double value; /* of a rule that supplies one, in units of the file */
};

/* The words that --edge takes, in the order of the enumeration. */
extern const struct keyword edge_keywords[];

/* MODE as --edge takes it. */
bool edge_parse(const char *text, struct edge *edge, struct fault *fault);

/* The name of a rule as --edge takes it. */
const char *edge_name(enum edge_rule rule);

#ifdef __cplusplus
}
#endif

#endif
