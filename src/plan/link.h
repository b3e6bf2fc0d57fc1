/* Links: how fast processes exchange planes, as it was measured or is assumed. */
#ifndef LINK_H
#define LINK_H

#include "base/diag.h"
#include "wisdom.h"

#include <stdbool.h>

struct link {
    double bytes_per_second; /* that a process gets from its neighbours, while it sends as many */
    double seconds;          /* that a message takes, however short */
};

/* The link if nothing is known. */
struct link link_assumed(void);

/* The link that wisdom has under a name; false if it has none. And keep one there. */
bool link_find(const struct wisdom *wisdom, const char *name, struct link *link);
bool link_keep(const char *name, const struct link *link, struct fault *fault);

#endif
