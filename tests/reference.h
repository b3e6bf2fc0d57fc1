/* The reference: the arithmetic of voxfilt(7) once more, scalar and slow, to hold the product against.

   It shares the model (stages, grids, encodings) and exp, tanh, sin and the transfer curves of arith.h with
   the product, because those define the bytes, and nothing else. Every value of a work type is carried in a
   double. */
#ifndef REFERENCE_H
#define REFERENCE_H

#include "model/grid.h"
#include "model/stage.h"
#include "kernels/backend.h"

#include <stddef.h>
#include <stdint.h>

/* A chain of stages from one file's samples to another's. */
struct reference_job {
    struct grid grid;
    enum work_type work;
    const struct stage *stages;
    size_t stage_count;
    struct encoding in, out;
    const unsigned char *mask; /* where `in` is masked: a byte a pixel, 0 outside */
    bool measures;             /* the extremes of the result are the ends of its range */
};

struct reference_outcome {
    uint64_t steps;     /* taken */
    uint64_t checks;    /* at steps of a stage with until: every so many, and the last */
    double last_change; /* RMS of the last of them; else NaN */
    struct outcomes outcomes;
};

struct reference_outcome reference_run(const struct reference_job *job, const void *in, void *out);

/* Channels of a field that are filtered, and all of them, with those of originals behind; and pixels of a
   file, with a mask where they are masked, into a field and back: channel c of the field starts at c ·
   pixels. Decoding returns how many samples are missing, of those inside; encoding, what became of them.
   Strays are looked for in a file's samples. */
unsigned reference_work_channels(const struct encoding *encoding);
unsigned reference_field_channels(const struct encoding *encoding);
uint64_t reference_decode(const struct encoding *encoding, enum work_type work, const void *samples,
                          const unsigned char *mask, size_t pixels, double *field);
/* The extremes of what encoding would write, alpha and what is not finite left out; 0 where nothing remains.
 */
void reference_extremes(const struct encoding *encoding, enum work_type work, const double *field,
                        size_t pixels, double *low, double *high);
struct outcomes reference_encode(const struct encoding *encoding, enum work_type work, const double *field,
                                 size_t pixels, void *samples);
uint64_t reference_strays(const struct encoding *encoding, const void *samples, size_t count);

/* What a constant edge puts into each channel of a field: a pixel of the file whose every channel has the
 * value. */
void reference_outside(const struct encoding *encoding, enum work_type work, double value, double *pixel);

/* The sum of one number a sample of a channel, in the order of voxfilt(7), ARITHMETIC. */
double reference_sum(const struct grid *grid, const double *terms);

/* The sum of squared differences of one channel, of which some samples may be missing. */
double reference_change(const struct grid *grid, bool missing, const double *before, const double *after);

/* The statistics of one channel of a plane of a file: `samples` are the plane's, about its first finite one.
 */
struct tally reference_plane_tally(const struct grid *grid, const struct encoding *encoding, unsigned channel,
                                   const void *samples);

/* The statistics of one channel of a file: those of its planes in order, about the first plane's anchor. */
struct tally reference_tally(const struct grid *grid, const struct encoding *encoding, unsigned channel,
                             const void *samples);

#endif
