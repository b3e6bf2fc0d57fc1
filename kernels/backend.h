/* The seam: everything that the run may ask of a device, and the words it asks in. */
#ifndef BACKEND_H
#define BACKEND_H

#include "base/diag.h"
#include "model/edge.h"
#include "model/flux.h"
#include "model/point.h"
#include "model/sample.h"

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

#define ENCODING_POINTS 4 /* the most that conversion takes along */

struct encoding {
    enum sample_type type;
    bool swapped;      /* bytes stand in the order that this machine does not use */
    unsigned channels; /* interleaved */
    bool alpha;        /* the last channel is alpha */
    double opaque;     /* with alpha: what hides all behind it, as fields have it */
    bool premultiply;  /* with alpha: filter colour times alpha */
    bool associated;   /* with alpha, into files: colour is written times alpha */
    enum transfer transfer;
    double gamma; /* TRANSFER_GAMMA: linear = stored^gamma */

    /* Each of these is done to colour as it stands, in turn: after it is decoded, before it is encoded. */
    unsigned point_count;
    struct point points[ENCODING_POINTS];

    /* Into files: low becomes the least and high the greatest value of an integer type, 0 and 1 of another,
       what is between them follows, what is beyond is cut off. An alpha is left alone. */
    bool ranged;
    double low, high;
};

/* The same as numbers: v becomes least + (v − low)/span · width, cut off at least and greatest. */
struct stretch {
    double low, span;
    double least, width, greatest;
};
struct stretch encoding_stretch(const struct encoding *encoding);

/* The least and the greatest that are not cut off then, but for rounding. */
struct sample_limits encoding_stretched_limits(const struct encoding *encoding);

/* Channels that a field must have for such samples; of more, an upload sets those behind to 0. Premultiplied
   pictures carry colour twice: times alpha, then alpha, then as it stands, which is what remains where the
   filtered alpha is 0. */
unsigned encoding_work_channels(const struct encoding *encoding);

/* Channels of the file that are not alpha. */
unsigned encoding_colours(const struct encoding *encoding);

/* What an alpha is multiplied by on its way into a file, whose type may have another value for opaque. */
double encoding_alpha_factor(const struct encoding *encoding);

/* value, in units of the file, in every channel of a pixel, as it stands in the channels of a field. */
void encoding_outside(const struct encoding *encoding, enum work_type work, double value, double *channels);

enum op_kind {
    OP_TAPS,     /* u ← Σ w·v */
    OP_PASSES,   /* several OP_TAPS, one after another, as one */
    OP_HEAT,     /* relax against the neighbours under a flux, then react: voxfilt(7), HEAT */
    OP_UNSHARP,  /* u ← fma(amount, kept − u, kept): kept is the stage's input, u its blur */
    OP_GRADIENT, /* the length of the vector of central differences */
    OP_POINT,    /* of a sample by itself: points.def */
    OP_COVER,    /* colour as it stands → as premultiplied pictures carry it: times alpha, and once more */
    OP_UNCOVER   /* and back, for the first channels alone */
};

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
    double *outside; /* EDGE_CONSTANT: one value a channel of the field */

    unsigned channels; /* that are computed, from the first on; those behind keep their values */
    unsigned joint;    /* OP_HEAT with FLUX_PM1 or FLUX_PM2: so many channels, from the first on, have one
                          conductivity, and those behind them another; 0: each channel has its own */

    /* In raster order. OP_TAPS: the chain. OP_HEAT: the chain of FLUX_LINEAR, of ∇² for FLUX_TANH, the faces
       with their c_a for FLUX_PM1 and FLUX_PM2. OP_GRADIENT: the neighbour ahead on each axis, with the
       weight of its difference to the one behind; at least one. */
    size_t tap_count; /* OP_PASSES: of all passes */
    struct op_tap *taps;
    struct reach x, row, plane;

    enum flux flux;
    double inverse_scale; /* 1/K */
    double rate;          /* FLUX_TANH: alpha·dt·K */
    uint64_t inner;       /* relaxations against frozen neighbours; 1 for every other op */
    bool reacts;
    double reaction, remainder; /* E and 1 − E */

    /* OP_PASSES: taps along one axis each, which share work, edge, outside and channels. Each rounds to the
       work type and applies the edge rule by itself; what it leaves for the next one is not seen. A backend
       need not have it. */
    size_t pass_count;
    const struct op *passes;

    double amount; /* OP_UNSHARP */

    struct point point; /* OP_POINT, done once */

    unsigned colours; /* OP_COVER, OP_UNCOVER: channels before alpha */
    double max;       /* of alpha */
};

/* A run of whole planes in the device's memory: plane p of the grid for first ≤ p < first + count. */
struct field;
struct device;

/* Memory for packed planes of a file, from which a device copies fast. */
struct staging {
    void *samples;
};

struct range {
    size_t first, count;
};

/* What became of samples on their way between files and fields. */
struct outcomes {
    uint64_t strays;       /* came as NaN or infinite */
    uint64_t nans;         /* went as NaN, or as 0 where the type has none */
    uint64_t below, above; /* went as what they were not: an end of a range, or infinite */
};

/* The least and the greatest of the finite samples that were measured. */
struct extremes {
    bool any;
    double least, greatest;
};

/* What it is called. */
const char *op_name(const struct op *op);

/* How far the farthest tap is from its sample along any axis. */
int op_radius(const struct op *op);

/* Whether every tap is on an axis: none moves along two at once. */
bool op_is_star(const struct op *op);

/* Channels that are computed together, since each depends on all: one alone, but under a joint flux. */
size_t op_group_count(const struct op *op);
struct range op_group(const struct op *op, size_t index);

/* The most channels of a group. */
size_t op_group_most(const struct op *op);

/* Whether a sample depends on other channels than its own. */
bool op_mixes_channels(const struct op *op);

/* One channel of a file's samples, in double, summed in the order of voxfilt(7), ARITHMETIC. NaNs are left
   out and counted. The second moment is taken about an anchor, so that a large mean does not swallow a small
   deviation. */
struct tally {
    bool anchored;        /* false: of nothing yet */
    uint64_t count, nans; /* count leaves the NaNs out */
    double min, max;
    double anchor;
    double sum;     /* Σ (v − anchor) */
    double squares; /* Σ (v − anchor)² */
    double energy;  /* Σ v² */
};

struct tally tally_empty(double anchor);

/* The anchor of a channel of a plane: its first sample that is finite, or 0 where none is. */
double tally_anchor(const struct encoding *encoding, unsigned channel, const void *samples, size_t pixels);

/* Add what has the same anchor: a row of the plane. */
void tally_add(struct tally *total, const struct tally *part);

/* Add a plane about its own anchor, in the order of planes; the first one's becomes that of the total, which
   was of nothing. */
void tally_add_plane(struct tally *total, const struct tally *plane);

struct rung {
    const char *name;
    const char *summary;
};

struct device_request {
    int index;        /* which device of the backend's kind */
    unsigned threads; /* of the CPU; 0: as many as the machine offers */
    uint64_t memory;  /* the most device memory to use; 0: all that is free */
    bool plain; /* one thread and no instruction that some machine lacks: what others are compared with */
};

/* What a user or wisdom asks of a rung; 0 or NULL leaves the choice to the backend. */
struct rung_wish {
    const char *rung;
    const char *reason; /* for this rung, as --explain gives it; NULL: that it was asked for */
    unsigned tile_x, tile_y;
    unsigned coarsen; /* planes, rows or samples that a thread computes */
    unsigned stride;  /* between them, in samples */
    unsigned steps;   /* that one pass takes */
    bool lean;        /* by the rung that takes the least memory beside fields, where none is named */
};

/* The extents of a tile, in samples. */
struct tile {
    unsigned x, y;
};

#define ROUTINE_TILES 6

#define FORM_WORDS 32 /* of what a backend keeps in a form for itself */

/* How a rung runs an op on a shape, settled to the last number. To have one costs nothing: it owns no memory,
   and may be copied. Fields that mean nothing on a device are 0. */
struct form {
    const struct op *op; /* NULL: it adds up samples */
    struct shape shape;
    const struct rung *rung;
    char reason[160]; /* why this rung and not another */
    unsigned steps;   /* the most that one advance takes */
    bool most_first;  /* a run takes the most steps as often as it can, and the last advance what is left */
    unsigned reach;   /* planes to both sides that each of them reads, where that is more than the op's */
    unsigned tile_x, tile_y, tile_z; /* samples that a block computes */
    unsigned coarsen, stride;
    bool tiles, coarsens, strides;      /* whether a wish may choose them */
    struct tile offers[ROUTINE_TILES];  /* tiles that may be faster than its own; 0 by 0 after the last */
    unsigned suggested_tile;            /* side of the square that the device's own calculator suggests */
    unsigned grid[3], block[3];         /* of a launch over the whole grid */
    unsigned registers;                 /* a thread */
    size_t local_bytes;                 /* a thread, for what registers do not hold */
    size_t shared_bytes;                /* a block */
    unsigned blocks_per_multiprocessor; /* that fit at once */
    const char *bound;                  /* what keeps more blocks from fitting; NULL on a device without */
    double occupancy;                   /* of the multiprocessor's warps, in theory */
    double waves;                       /* launch over what fits at once */
    double bytes_per_update, operations_per_update;
    size_t memory_bytes; /* that its routine holds beside fields */
    uint64_t own[FORM_WORDS];
};

/* An op that is ready to run in a form. */
struct routine;

/* The device before it is opened: enough to choose one without paying for its start. */
struct forecast {
    double start;   /* seconds until the device is there */
    double moving;  /* seconds to bring a byte to the device and back */
    double updates; /* sample updates per second of the op given */
    double changes; /* samples per second whose change is added up */
};

/* Functions that return bool fill the fault and return false on failure. Ranges are always inside the grid.
 */
struct backend {
    const char *name;         /* as --device takes it */
    const struct rung *rungs; /* ends with a rung without name */

    /* How many devices of this kind there are, and one line on each; false where it says why there is none.
     */
    unsigned (*count)(void);
    bool (*describe)(int index, char *text, size_t size);

    /* Whether one of them can read another's memory without the host's. NULL where there is but one. */
    bool (*reaches)(int index, int other);

    /* Start a device beforehand, from any thread, so that it opens sooner. What keeps it from it is told
     * there. */
    void (*warm_up)(int index);

    /* What may be expected of an op, without opening anything; `single`: a pass takes one step of it. */
    struct forecast (*predict)(const struct device_request *request, const struct op *op,
                               const struct shape *shape, bool single);

    bool (*open)(struct device **device, const struct device_request *request, struct fault *fault);
    void (*close)(struct device *device);

    /* Device memory that fields may take; 0: the process's own memory, which this backend does not limit. */
    uint64_t (*memory)(const struct device *device);

    /* Bytes of a field of so many planes. */
    size_t (*field_bytes)(const struct shape *shape, enum work_type work, size_t planes);

    /* The form in which the device would run the op as wished: nothing is allocated, nothing runs, and the
       same question has the same answer. What the wish asks and the device cannot do is STATUS_USAGE and
       names the limit; an op that no rung can run is STATUS_DEVICE. */
    bool (*settle)(const struct device *device, const struct op *op, const struct shape *shape,
                   const struct rung_wish *wish, struct form *form, struct fault *fault);

    /* Allocate what the form says, and no more. The op must stay where it is until the release. */
    bool (*prepare)(struct device *device, const struct form *form, struct routine **routine,
                    struct fault *fault);
    void (*release)(struct device *device, struct routine *routine);

    /* A field for a range of planes; what it holds is undefined until it is written. */
    bool (*field_create)(struct device *device, struct field **field, const struct shape *shape,
                         enum work_type work, struct range planes, struct fault *fault);
    void (*field_destroy)(struct device *device, struct field *field);

    /* Let the field hold as many planes as before, but from `first` on. Of the values that it had, those of
       the planes `keep` stay, which lie in the old range and in the new one; the field moves up, unless
       nothing is kept. In the process's own memory values stay where they are. */
    bool (*field_slide)(struct device *device, struct field *field, size_t first, struct range keep,
                        struct fault *fault);

    /* Count the planes of a grid anew: there are so many, and what was plane p is plane p + shift, which may
       be below 0 as long as nobody asks for it. Values stay where they are. NULL where hand_over is. */
    void (*field_renumber)(struct field *field, size_t planes, ptrdiff_t shift);

    /* Copy planes of a field of one device into one of another, or of itself, from `first` on; fields are of
       one shape. It comes behind what both have been asked for so far, and an advance that reads the one
       field or writes the other finds it done; what else they are asked for goes on meanwhile. NULL where
       there is but one device. */
    bool (*hand_over)(struct device *device, struct field *from, struct range planes, struct device *other,
                      struct field *to, size_t first, struct fault *fault);

    /* Wait for the copies that came to a device, and add the seconds that they took since the last call, one
       after the other. NULL where hand_over is. */
    bool (*tell_handings)(struct device *device, double *seconds, struct fault *fault);

    /* The samples are in the caller's memory, which must outlive the staging; NULL: in memory of its own. */
    struct staging *(*staging_create)(struct device *device, size_t bytes, void *memory, struct fault *fault);
    void (*staging_destroy)(struct device *device, struct staging *staging);

    /* Planes of a file, packed, into the field; and planes of the field into a file's samples. Either may
       still be under way on return: the samples are their owner's again after staging_wait. Whatever is asked
       of the field afterwards finds it done. Strays are looked for in the `counted` ones of the planes that
       come. */
    bool (*upload)(struct device *device, struct field *field, const struct encoding *encoding,
                   struct staging *staging, struct range planes, struct range counted, struct fault *fault);
    bool (*download)(struct device *device, const struct field *field, const struct encoding *encoding,
                     struct staging *staging, struct range planes, struct fault *fault);

    /* Wait for what is under way from or to the samples, and add the seconds that it took to *seconds. From
       any thread. */
    bool (*staging_wait)(struct device *device, struct staging *staging, double *seconds,
                         struct fault *fault);

    /* Add the outcomes of all uploads and downloads since the last call. */
    bool (*tell_outcomes)(struct device *device, struct outcomes *outcomes, struct fault *fault);

    /* Look at what a download of the planes would write, before it is put into a range or cut off; alpha is
       left out. And tell the extremes of all that was looked at since the last call. */
    bool (*measure)(struct device *device, const struct field *field, const struct encoding *encoding,
                    struct range planes, struct fault *fault);
    bool (*tell_extremes)(struct device *device, struct extremes *extremes, struct fault *fault);

    /* Planes of `to` from `from`, which holds every plane that the edge rule and steps × the reach, the op's
       or the routine's, ask for; the two differ. `kept` is the stage's input for OP_UNSHARP, else NULL. The
       work may still be under way on return: sync waits, and reports what failed. */
    bool (*advance)(struct device *device, struct routine *routine, unsigned steps, const struct field *from,
                    const struct field *kept, struct field *to, struct range planes, struct fault *fault);

    /* Spans of work, one after the other, by the device's own stopwatch. Ending one waits until the one
       before it is done and adds its seconds to *seconds, so that no more than one is under way behind the
       caller; sync waits for all but what staging_wait waits for, and adds those that nobody was told. */
    bool (*begin_span)(struct device *device, struct fault *fault);
    bool (*end_span)(struct device *device, double *seconds, struct fault *fault);
    bool (*sync)(struct device *device, double *seconds, struct fault *fault);

    /* Copy one field to another of the same shape, as fast as the device can. */
    bool (*copy)(struct device *device, const struct field *from, struct field *to, struct fault *fault);

    /* Fused multiply-adds a second, a sample each, that all its threads reach from registers alone, measured
       for some hundredths of a second. NULL: this backend does not measure it. */
    double (*multiply_adds)(struct device *device, enum work_type work);

    /* Σ (a − b)² of the first `channels` channels of each plane: sums[plane · channels + channel], from the
       first of the planes on. */
    bool (*change)(struct device *device, const struct field *a, const struct field *b, unsigned channels,
                   struct range planes, double *sums, struct fault *fault);

    /* Tallies of the channels of each plane of a file, packed: tallies[plane · channels + channel], each
       about its own anchor. So neither of the two depends on what planes come together. */
    bool (*tally)(struct device *device, const struct encoding *encoding, const struct shape *shape,
                  const void *samples, size_t planes, struct tally *tallies, struct fault *fault);

    /* Who adds in change and tally, as rungs: the first unless another is chosen. What comes out never
       depends on it. Ends with a rung without name; empty where there is but one way. */
    const struct rung *sum_rungs;

    /* The form in which changes of such fields would be added as wished, without a rung where there is but
       one way; refusals as in settle. And add in a form from here on. */
    bool (*settle_sums)(const struct device *device, const struct shape *shape, enum work_type work,
                        const struct rung_wish *wish, struct form *form, struct fault *fault);
    void (*add_by)(struct device *device, const struct form *form);

    /* Bytes beside fields that adding up takes of the samples of so many packed planes, and of the changes of
       so many planes of a field. */
    size_t (*tally_bytes)(const struct shape *shape, size_t planes);
    size_t (*change_bytes)(const struct shape *shape, size_t planes);
};

extern const struct backend backend_cpu;
extern const struct backend backend_cuda;

#ifdef __cplusplus
}
#endif

#endif
