/* Edge rules: what a tap reads outside the grid. */
#include "edge.h"

#include "base/number.h"
#include "base/suggest.h"

#include <string.h>

static const char *const edge_names[EDGE_RULES] = {
    [EDGE_REFLECT] = "reflect", [EDGE_MIRROR] = "mirror",     [EDGE_NEAREST] = "nearest",
    [EDGE_WRAP] = "wrap",       [EDGE_CONSTANT] = "constant", [EDGE_HOLD] = "hold",
};

/* What other libraries call them: NumPy's padding, OpenCV's borders, textures. */
static const struct alias edge_aliases[] = {
    {"black", "constant"},  {"circular", "wrap"},     {"clamp", "nearest"},
    {"cyclic", "wrap"},     {"dirichlet", "hold"},    {"edge", "nearest"},
    {"extend", "nearest"},  {"fixed", "hold"},        {"keep", "hold"},
    {"neumann", "reflect"}, {"periodic", "wrap"},     {"reflect101", "mirror"},
    {"repeat", "wrap"},     {"replicate", "nearest"}, {"symmetric", "reflect"},
    {"zero", "constant"},   {"zeros", "constant"},    {NULL, NULL},
};

const char *edge_name(enum edge_rule rule)
{
    return edge_names[rule];
}

static const char *meant_rule(const char *word)
{
    struct suggestion suggestion = suggest_for(word, strcspn(word, ":"));

    for (int i = 0; i < EDGE_RULES; i++)
        suggest_name(&suggestion, edge_names[i]);
    suggest_aliases(&suggestion, edge_aliases);
    return suggestion.meant;
}

bool edge_parse(const char *text, struct edge *edge, struct fault *fault)
{
    size_t constant_length = strlen(edge_names[EDGE_CONSTANT]);

    edge->value = 0.0;
    for (int i = 0; i < EDGE_RULES; i++) {
        if (strcmp(text, edge_names[i]) == 0) {
            edge->rule = (enum edge_rule)i;
            return true;
        }
    }
    if (strncmp(text, edge_names[EDGE_CONSTANT], constant_length) == 0 && text[constant_length] == ':') {
        edge->rule = EDGE_CONSTANT;
        if (number_parse_double(text + constant_length + 1, &edge->value))
            return true;
        return fault_raise(fault, STATUS_USAGE, "--edge: %s: the constant is not a finite number", text);
    }
    fault_raise(fault, STATUS_USAGE,
                "--edge: %s: not one of reflect, mirror, nearest, wrap, constant[:V], hold", text);
    return suggest_add(fault, meant_rule(text), "");
}
