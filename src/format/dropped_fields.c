/* Dropped fields: the fields, tags and chunks of an input that an output leaves out. */
#include "dropped_fields.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const char others[] = " and others";

static bool is_full(const char *text, size_t used)
{
    const size_t length = sizeof others - 1;

    return used >= length && strcmp(text + used - length, others) == 0;
}

void dropped_fields_add(char *text, size_t size, const char *name)
{
    size_t used = strlen(text);

    if (is_full(text, used))
        return;
    if (used + strlen(", ") + strlen(name) + sizeof others > size)
        snprintf(text + used, size - used, "%s", others);
    else
        snprintf(text + used, size - used, "%s%s", used > 0 ? ", " : "", name);
}

void dropped_fields_add_distances(char *text, size_t size, const char *name, const double *distances,
                                  size_t first, size_t count)
{
    char indexed[64];

    for (size_t i = first; i < count; i++) {
        snprintf(indexed, sizeof indexed, "%s[%zu]", name, i);
        if (!isnan(distances[i]) && distances[i] != 0.0 && distances[i] != 1.0)
            dropped_fields_add(text, size, indexed);
    }
}
