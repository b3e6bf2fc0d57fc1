/* The seam: everything that the run may ask of a device, and the words it asks in. */
#ifndef BACKEND_H
#define BACKEND_H

#include "diag.h"
#include "edge.h"
#include "sample.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The extents of a field. A picture's rows are its planes, so it has one row a plane. */
struct shape {
    size_t nx;
    size_t rows;   /* in a plane */
    size_t planes; /* in the whole grid */
    unsigned channels;
};

/* How samples stand in a file's planes, and what becomes of them on the way into the work type and back. */
enum transfer {
    TRANSFER_NONE, /* values are filtered as they stand */
    TRANSFER_SRGB, /* decoded by the sRGB curve */
    TRANSFER_GAMMA /* decoded by a power */
};

struct encoding {
    enum sample_type type;
    bool swapped;      /* bytes stand in the order that this machine does not use */
    unsigned channels; /* interleaved */
    bool alpha;        /* the last channel is alpha */
    bool premultiply;  /* with alpha: filter colour times alpha */
    enum transfer transfer;
    double gamma; /* TRANSFER_GAMMA: linear = stored^gamma */
};

/* Channels of the field that holds such samples. Premultiplied pictures carry colour twice: times alpha, then
   alpha, then as it stands, which is what remains where the filtered alpha is 0. */
unsigned encoding_work_channels(const struct encoding *encoding);

/* value, in units of the file, in every channel of a pixel, as it stands in the channels of a field. */
void encoding_outside(const struct encoding *encoding, enum work_type work, double value, double *channels);

enum op_kind {
    OP_TAPS,    /* u ← Σ w·v */
    OP_HEAT,    /* relax against the neighbours under a flux, then react: DESIGN 4.6 */
    OP_UNSHARP, /* u ← fma(amount, kept − u, kept): kept is the stage's input, u its blur */
    OP_GRADIENT /* the length of the vector of central differences */
};

enum flux { FLUX_LINEAR, FLUX_TANH, FLUX_PM1, FLUX_PM2, FLUXES };

/* A tap along the axes of a shape. */
struct op_tap {
    int dx, drow, dplane;
    double weight;
};

/* How far taps reach along an axis: low ≤ 0 ≤ high. Sample i of n has a tap outside where i + low < 0 or
   i + high ≥ n. */
struct reach {
    int low, high;
};

#define OP_HEAT_TAPS 7 /* the most that OP_HEAT has */

/* One level of a step: planes in, planes out. Every number is exact in the work type, no weight is zero. */
struct op {
    enum op_kind kind;
    enum work_type work;
    enum edge_rule edge;
    double *outside; /* EDGE_CONSTANT: one value a channel */

    /* In raster order. OP_TAPS: the chain. OP_HEAT: the chain of FLUX_LINEAR, of ∇² for FLUX_TANH, the faces
       with their c_a for FLUX_PM1 and FLUX_PM2. OP_GRADIENT: the neighbour ahead on each axis. */
    size_t tap_count;
    struct op_tap *taps;
    struct reach x, row, plane;

    enum flux flux;
    double inverse_scale; /* 1/K */
    double rate;          /* FLUX_TANH: alpha·dt·K */
    uint64_t inner;       /* relaxations against frozen neighbours */
    bool reacts;
    double reaction, remainder; /* E and 1 − E */

    double amount; /* OP_UNSHARP */
};

/* A run of whole planes in the device's memory: plane p of the grid for first ≤ p < first + count. */
struct field;
struct device;

struct range {
    size_t first, count;
};

/* One channel of a file's samples, in double, summed in the order of DESIGN 4.7. NaNs are left out and
   counted. The second moment is taken about an anchor, so that a large mean does not swallow a small
   deviation. */
struct tally {
    bool anchored;        /* the first sample has set the anchor: itself, or 0 if it is not finite */
    uint64_t count, nans; /* count leaves the NaNs out */
    double min, max;
    double anchor;
    double sum;     /* Σ (v − anchor) */
    double squares; /* Σ (v − anchor)² */
    double energy;  /* Σ v² */
};

struct device_request {
    unsigned threads; /* 0: as many as the machine offers */
};

/* What an advance is expected to cost. */
struct forecast {
    double bytes; /* through the device's memory */
    double seconds;
};

struct rung {
    const char *name;
    const char *summary;
};

/* Functions that return bool fill the fault and return false on failure. Ranges are always inside the grid.
 */
struct backend {
    const char *name;         /* as --device takes it */
    const struct rung *rungs; /* ends with a rung without name */

    bool (*open)(struct device **device, const struct device_request *request, struct fault *fault);
    void (*close)(struct device *device);

    /* One line that names the device. */
    void (*describe)(const struct device *device, char *text, size_t size);

    /* The rung that would run op, or NULL with the reason why none can. */
    const struct rung *(*choose)(const struct device *device, const struct op *op, const struct shape *shape,
                                 char *reason, size_t size);

    /* How many steps of op one advance may take. */
    unsigned (*fusable_steps)(const struct device *device, const struct op *op, const struct shape *shape);

    struct forecast (*predict)(const struct device *device, const struct op *op, const struct shape *shape);

    /* A field for a range of planes; what it holds is undefined until it is written. */
    bool (*field_create)(struct device *device, struct field **field, const struct shape *shape,
                         enum work_type work, struct range planes, struct fault *fault);
    void (*field_destroy)(struct device *device, struct field *field);

    /* Planes of a file, packed, into the field. */
    bool (*upload)(struct device *device, struct field *field, const struct encoding *encoding,
                   const void *samples, struct range planes, struct fault *fault);

    /* Planes of the field into a file's samples; NaNs that became 0 are added to *nans. */
    bool (*download)(struct device *device, const struct field *field, const struct encoding *encoding,
                     void *samples, struct range planes, uint64_t *nans, struct fault *fault);

    /* Planes of `to` from `from`, which holds every plane that the edge rule and steps × the reach of the op
       ask for; the two differ. `kept` is the stage's input for OP_UNSHARP, else NULL. */
    bool (*advance)(struct device *device, const struct op *op, unsigned steps, const struct field *from,
                    const struct field *kept, struct field *to, struct range planes, struct fault *fault);

    /* Add Σ (a − b)² of each of the first `channels` channels to sums, plane after plane. */
    bool (*change)(struct device *device, const struct field *a, const struct field *b, unsigned channels,
                   struct range planes, double *sums, struct fault *fault);

    /* Add planes of a file, packed, to the tallies of its channels, plane after plane. */
    bool (*survey)(struct device *device, const struct encoding *encoding, const struct shape *shape,
                   const void *samples, size_t planes, struct tally *tallies, struct fault *fault);
};

extern const struct backend backend_cpu;

#ifdef __cplusplus
}
#endif

#endif
