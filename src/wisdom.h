/* Wisdom: what was measured to be fastest on a device, kept for plans to come. */
#ifndef WISDOM_H
#define WISDOM_H

#include "backend.h"
#include "diag.h"

#include <stdbool.h>
#include <stddef.h>

/* One line of the file: what was measured, and for what. */
struct wisdom_entry {
    char device[160]; /* as its backend describes it */
    char problem[96]; /* op, work type and class of extents */
    char rung[32];
    unsigned tile_x, tile_y, coarsen, stride; /* 0: the rung's own */
    double updates;                           /* sample updates a second */
};

/* Fill in the device and the problem: alike for ops of one kind and reach on extents of about one size. */
void wisdom_name(struct wisdom_entry *entry, const char *device, const struct op *op,
                 const struct shape *shape);

/* Look up device and problem and fill in the rest; false where nothing is known, or the file cannot be read.
 */
bool wisdom_find(struct wisdom_entry *entry);

/* Write the entry into the file in place of what stood there for its device and problem. */
bool wisdom_keep(const struct wisdom_entry *entry, struct fault *fault);

#endif
