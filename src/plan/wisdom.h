/* Wisdom: what was measured to be fastest on a device, kept for plans to come. */
#ifndef WISDOM_H
#define WISDOM_H

#include "base/diag.h"
#include "peers/link.h"
#include "kernels/backend.h"

#include <stdbool.h>
#include <stddef.h>

/* One line of the file: what was measured, and for what. */
struct wisdom_entry {
    char device[256];  /* as its backend describes it, toolkit included */
    char problem[128]; /* op, work type, steps a pass and class of extents */
    char rung[32];
    unsigned tile_x, tile_y, coarsen, stride, steps; /* 0: the rung's own */
    double updates;                                  /* sample updates a second */
};

/* All that has been measured, in the order of the file. */
struct wisdom {
    struct wisdom_entry *entries;
    size_t count;
};

/* Read the file. Without one, nothing is known; a damaged one counts as none, and a note says so. */
void wisdom_load(struct wisdom *wisdom);
void wisdom_free(struct wisdom *wisdom);

/* Fill in the device as its backend describes it, with the number of threads if -j asks for one, or of the
   devices that share the planes. */
void wisdom_name_device(struct wisdom_entry *entry, const struct backend *backend, int index,
                        unsigned threads, size_t together);

/* Fill in the problem: alike for ops of one kind and reach on extents of about one size, of which a pass may
   take one step or more. */
void wisdom_name_problem(struct wisdom_entry *entry, const struct op *op, const struct shape *shape,
                         bool single);

/* The entry that is known for the device and the problem of another one; NULL if there is none, or wisdom is
 * NULL. */
const struct wisdom_entry *wisdom_find(const struct wisdom *wisdom, const struct wisdom_entry *entry);

/* Write the entry into the file in place of what stood there for its device and problem. */
bool wisdom_keep(const struct wisdom_entry *entry, struct fault *fault);

/* The link between ranks under a name, which has two entries; false if it has none. And keep one there. */
bool wisdom_find_link(const struct wisdom *wisdom, const char *name, struct link *link);
bool wisdom_keep_link(const char *name, const struct link *link, struct fault *fault);

#endif
