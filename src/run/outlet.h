/* Outlets: the way from whole planes of a run into a file that may hold a part of each, and that several
   ranks may write. */
#ifndef OUTLET_H
#define OUTLET_H

#include "base/diag.h"
#include "peers/peers.h"
#include "format/format.h"
#include "plan/job.h"
#include "fringe.h"

#include <stdbool.h>
#include <stddef.h>

struct outlet {
    const struct job *job;
    struct sink *sink;

    /* Once it is open. */
    bool joint;           /* several ranks write the file */
    struct fringe fringe; /* if others write the same blocks */
};

/* Open it for one volume of a series. The sink of several ranks has a place for its samples. It is to be
   closed, also after a failure. */
bool outlet_open(struct outlet *outlet, size_t volume, const struct peers *peers, struct fault *fault);

/* The next planes of the result, packed; what of them is not written is gone afterwards. */
bool outlet_write(struct outlet *outlet, void *samples, size_t planes, struct fault *fault);

/* Those planes of one volume of a series, in any order, where the sink has a place for its samples. */
bool outlet_write_at(struct outlet *outlet, void *samples, size_t volume, struct range planes,
                     struct fault *fault);

/* All ranks together, once all have written: rank 0 writes what others kept for it. */
bool outlet_gather(const struct outlet *outlet, struct peers *peers, struct fault *fault);
void outlet_close(struct outlet *outlet);

#endif
