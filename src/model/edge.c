/* Edge rules: parsing and names. arith_edge_index has what a tap reads outside the grid. */
#include "edge.h"

#include "base/number.h"

const struct keyword edge_keywords[] = {
#define EDGE(constant, name, syntax, traits, others) {name, syntax, others},
#include "edges.def"
    {NULL, NULL, NULL},
};

const char *edge_name(enum edge_rule rule)
{
    return edge_keywords[rule].word;
}

bool edge_parse(const char *text, struct edge *edge, struct fault *fault)
{
    const char *value;
    int rule;

    if (!keyword_parse(edge_keywords, text, &rule, &value, fault))
        return false;
    /* keyword_parse takes a value only behind a rule that has one. */
    *edge = (struct edge){(enum edge_rule)rule, 0.0};
    return value == NULL || number_parse_double(value, &edge->value) ||
           fault_raise(fault, STATUS_USAGE, "%s: the %s is not a finite number", text, edge_name(edge->rule));
}
