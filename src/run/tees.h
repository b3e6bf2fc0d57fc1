/* Tees: states that the last stage passes through on its way to the result, each written into a sink of its
   own while the run goes on. Of several ranks, each writes its planes of all of them. */
#ifndef TEES_H
#define TEES_H

#include "base/diag.h"
#include "peers/peers.h"
#include "kernels/backend.h"
#include "format/format.h"
#include "plan/plan.h"
#include "io.h"
#include "output.h"
#include "sweep.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tee {
    uint64_t step;            /* the state after this many steps of the last stage */
    struct sink *sink;        /* with the header of the run's output */
    struct outcomes outcomes; /* of the samples that went there */
    struct output output;     /* into the sink, during a run */
};

/* The tees of a run, and the ring that brings planes to them while a pass goes on. */
struct tees {
    struct tee *list;
    size_t count;
    const struct plan *plan;
    struct outcomes aside;   /* of the device, found before planes of a tee came in between */
    const struct lane *lane; /* whose planes they are */
    struct sweep_frame frame;
    struct io_ring *ring; /* of the pass; NULL between passes, and where there are none */
    struct io_threads *writer;
    double seconds; /* that were spent on writing */
};

/* Open all tees, before the first pass. tees_end closes them, also after a failure. */
bool tees_begin(struct tees *tees, const struct peers *peers, struct fault *fault);

/* Before a pass of a lane over such planes, and after it. Where it fails, the other ring stops, too, if there
   is one. */
bool tees_open_pass(struct tees *tees, const struct lane *lane, const struct sweep_frame *frame,
                    struct io_ring *other, struct fault *fault);

/* Wait until all planes of the pass have been written. */
bool tees_finish_pass(struct tees *tees, struct fault *fault);

void tees_close_pass(struct tees *tees, bool done);

/* Take planes of a state, as a sweep_tap; each plane of a state once, in order. Where no pass has been
   opened, because members share the planes, those shown have been written on return. */
bool tees_take(void *tees, const struct sweep *sweep, uint64_t step, unsigned field, struct range planes,
               struct fault *fault);

/* After the last pass, all ranks together: nothing is missing in any file, and rank 0 has the outcomes of
   all. Then end what was written. */
bool tees_gather(struct tees *tees, struct peers *peers, struct fault *fault);
bool tees_finish(struct tees *tees, struct fault *fault);
void tees_end(struct tees *tees);

#endif
