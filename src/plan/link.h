/* Links: how fast processes exchange planes, as it was measured or is assumed. */
#ifndef LINK_H
#define LINK_H

#include "base/diag.h"
#include "wisdom.h"

#include <stdbool.h>

struct link {
    double bytes_per_second; /* that come to a process from those beside it, while as many go */
    double seconds;          /* that messages take, however short */
};

/* Where nothing is known. */
struct link link_assumed(void);

/* What wisdom knows of processes that a name stands for; false where that is nothing. And keep it there. */
bool link_find(const struct wisdom *wisdom, const char *name, struct link *link);
bool link_keep(const char *name, const struct link *link, struct fault *fault);

#endif
