/* Outlets: the way from whole planes of a run into a file that may hold a part of each. */
#ifndef OUTLET_H
#define OUTLET_H

#include "base/diag.h"
#include "format/format.h"
#include "plan/job.h"
#include "fringe.h"

#include <stdbool.h>
#include <stddef.h>

struct outlet {
    const struct job *job;
    struct sink *sink;
    const struct fringe *fringe; /* where several ranks write; else NULL */
};

/* Of a sink whose samples have a place: where the file has the bytes that this process writes of a volume. */
struct range outlet_bytes(const struct outlet *outlet, size_t volume);

/* The next planes of the result, packed; what of them is not written is gone afterwards. */
bool outlet_write(struct outlet *outlet, void *samples, size_t planes, struct fault *fault);

/* Those planes of one volume of a series, in any order, where the sink has a place for its samples. */
bool outlet_write_at(struct outlet *outlet, void *samples, size_t volume, struct range planes,
                     struct fault *fault);

#endif
