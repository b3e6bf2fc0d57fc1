/* The seam between the run and the devices: the operations that a backend runs (struct op), the fields that
 * it runs them on, and the functions by which the run asks for all of that (struct backend).
 *
 * A stage is lowered to ops. For each, the run asks settle for a form, which says by which rung the op would
 * run and what it would cost, without doing anything; prepare turns a form into a routine. Then planes of a
 * file go through a staging into a field (upload), routines advance fields to other fields some steps at a
 * time, and planes come back (download). Uploads, downloads and advances may overlap on a device; each
 * function says what it waits for. */
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

/* The extents of a field. The rows of a picture are planes of one row. */
struct shape {
    size_t nx;
    size_t rows;   /* in a plane */
    size_t planes; /* in the whole grid */
    unsigned channels;

    /* With `narrow`, every sample that a field ever has is one of `type`: u8, i8, u16 or i16. Planes come and
       go in it, and conversion changes nothing but the byte order; ops are OP_RANK, without samples that are
       missing; and nobody asks for changes or extremes. */
    bool narrow;
    enum sample_type type;
};

/* The type in which planes of a field are packed, without a loss: that of narrow samples, or the work type.
 */
enum sample_type shape_sample(const struct shape *shape, enum work_type work);

/* The encoding of a file's samples, and their conversion into the work type and back. */
enum transfer {
    TRANSFER_NONE, /* values are filtered as they are */
    TRANSFER_SRGB, /* decoded by the sRGB curve */
    TRANSFER_GAMMA /* decoded by a power */
};

#define ENCODING_POINTS 4 /* the most that conversion takes along */

/* Indices: of planes, rows or columns. */
struct range {
    size_t first, count;
};

struct encoding {
    enum sample_type type;
    bool swapped;      /* bytes are in the order that this machine does not use */
    unsigned channels; /* interleaved */
    bool alpha;        /* the last channel is alpha */
    double opaque;     /* with alpha: its greatest value, in a field */
    bool premultiply;  /* with alpha: filter colour times alpha */
    bool associated;   /* with alpha, into files: colour is written times alpha */
    enum transfer transfer;
    double gamma; /* TRANSFER_GAMMA: linear = stored^gamma */

    /* Samples of colour may be missing: NaN in a field. In files these are NaN, too, and with `marked` also
       those that equal `mark`, as which all are written. */
    bool missing, marked;
    double mark;
    bool weighs; /* of a field: behind its channels it has one for the weight of each (OP_WEIGH) */

    /* From files: behind the samples of some planes stands a byte for each of their pixels, where
       encoding_mask_place says; 0: the pixel is outside the mask. All of its channels are missing then, alpha
       as well, and are written as they were: for each channel of the file a field has one more, the last of
       all, with the originals. Such an original is what is to be written of a sample outside, and NaN of one
       inside. Into files: originals are written in place of what is computed. */
    bool masked;
    struct {
        double scale, shift; /* from files: v becomes scale · v + shift, unless that is v */
        double mark;         /* from files with `marked`: the mark of what is written */
        bool rests; /* u64 and i64 in f64: a field has twice as many channels of originals. The second half
                       holds what rounding took, or 0 inside: it is added to a sample when that is stored */
    } original;

    /* These are done to colour in turn, after it is decoded and before it is encoded. */
    unsigned point_count;
    struct point points[ENCODING_POINTS];

    /* Into files: stretch colours, so that low becomes the least and high the greatest value of an integer
       type, 0 and 1 of another; values beyond them are cut off. */
    bool ranged;
    double low, high;

    /* The columns and the rows of each plane whose samples count in the outcomes; of no count: all. */
    struct range counted_columns, counted_rows;
};

/* The columns of a row of nx samples that count in the outcomes; none where the row does not count. */
struct range encoding_counted(const struct encoding *encoding, size_t row, size_t nx);

/* The stretch of an encoding: v becomes least + (v − low)/span · width, cut off at least and greatest. */
struct stretch {
    double low, span;
    double least, width, greatest;
};
struct stretch encoding_stretch(const struct encoding *encoding);

/* The least and the greatest stretched value that is not cut off, but for rounding. */
struct sample_limits encoding_stretched_limits(const struct encoding *encoding);

/* Channels that a field must have for such samples; an upload sets further ones to 0. Premultiplied pictures
   have colour twice: times alpha, then alpha, then colour as it is, which remains where the filtered alpha is
   0. And the same with the channels of weights and of originals. */
unsigned encoding_work_channels(const struct encoding *encoding);
unsigned encoding_original_channels(const struct encoding *encoding);
unsigned encoding_field_channels(const struct encoding *encoding);

/* Where the bytes of a mask begin behind the samples of some pixels: at a multiple of MASK_ALIGNMENT bytes.
 */
#define MASK_ALIGNMENT 16
size_t encoding_mask_place(const struct encoding *encoding, size_t pixels);

/* Channels of the file that are not alpha. */
unsigned encoding_colours(const struct encoding *encoding);

/* Whether a file's sample says that it is missing. Alpha is never missing. */
bool encoding_is_marked(const struct encoding *encoding, unsigned channel, double value);

/* The factor of alpha on its way into a file, whose type may have another greatest value. */
double encoding_alpha_factor(const struct encoding *encoding);

/* The channels that a pixel with `value`, in units of the file, in every channel has in a field. */
void encoding_outside(const struct encoding *encoding, enum work_type work, double value, double *channels);

enum op_kind {
    OP_TAPS,    /* u ← Σ w·v */
    OP_PASSES,  /* several OP_TAPS, one after another, as one; or OP_WEIGH, these and OP_AVERAGE */
    OP_HEAT,    /* relax against the neighbours under a flux, then react: voxfilt(7), HEAT */
    OP_UNSHARP, /* u ← fma(amount, kept − Σ w·v, kept): kept is the step's input, the sum its blur */
    OP_COMBINE, /* u ← a function of kept and u: combine.def */
    OP_BILATERAL, /* u ← Σ w·g·v / Σ w·g, with g = exp(−q²) and q the difference of v and u times 1/K */
    OP_GRADIENT, /* the length of the vector of central differences */
    OP_RANK,     /* one of the samples that the taps read, by their order: voxfilt(7), ARITHMETIC */
    OP_POINT,    /* a function of a single sample: points.def */
    OP_COVER,    /* colour → colour times alpha, and colour once more, as premultiplied pictures have it */
    OP_UNCOVER,  /* and back, for the first channels only */
    OP_WEIGH,    /* u → u and its weight 1; 0 and 0 where it is missing */
    OP_AVERAGE /* and back, when both have gone through the same chains: u ← u · (whole/weight); kept is the
                  stage's input, and samples that are missing there stay so */
};

/* A tap along the axes of a shape. */
struct op_tap {
    int dx, drow, dplane;
    double weight;
};

/* The reach of taps along an axis: low ≤ 0 ≤ high. Sample i of n has a tap outside the grid if i + low < 0 or
   i + high ≥ n. */
struct reach {
    int low, high;
};

/* The samples along an axis that a window of this reach has. */
static inline size_t span_of(struct reach reach)
{
    return (size_t)(reach.high - reach.low) + 1;
}

#define OP_HEAT_TAPS 7 /* the most that OP_HEAT has */

enum { OP_HELD_X = 1, OP_HELD_ROW = 2, OP_HELD_PLANE = 4 };

/* One level of a step: planes in, planes out. Every number is exact in the work type, no weight is zero. */
struct op {
    enum op_kind kind;
    enum work_type work;
    enum edge_rule edge;
    double *outside; /* EDGE_CONSTANT: a value for each channel of the field */

    unsigned channels; /* that are computed, from the first on; the others keep their values */
    unsigned joint;    /* OP_HEAT with FLUX_PM1 or FLUX_PM2, OP_BILATERAL: this number of channels, from the
                          first on, have one conductivity or g, and those behind them another; 0: each channel
                          has its own */

    /* In raster order. OP_TAPS, OP_UNSHARP: the chain. OP_HEAT: the chain of FLUX_LINEAR, of ∇² for
       FLUX_TANH, the faces with their c_a for FLUX_PM1 and FLUX_PM2. OP_GRADIENT: the neighbour ahead on each
       axis, with the weight of its difference to the one behind; at least one. */
    size_t tap_count; /* OP_PASSES: of all passes */
    struct op_tap *taps;
    struct reach x, row, plane;

    enum flux flux;
    double inverse_scale; /* OP_HEAT, OP_BILATERAL: 1/K */
    double rate;          /* FLUX_TANH: alpha·dt·K */
    uint64_t inner;       /* relaxations against frozen neighbours; 1 for every other op */
    bool reacts;
    double reaction, remainder; /* E and 1 − E */

    /* OP_PASSES: separable convolution. Each pass has taps along one axis; they share work, edge, outside and
       channels. Each pass rounds to the work type and applies the edge rule by itself; nobody sees the
       samples between them. The last pass may be OP_UNSHARP. Of an average, OP_WEIGH comes first and
       OP_AVERAGE last. Channels behind those that are computed are as before, but freed ones may hold
       anything. A backend need not have it. */
    size_t pass_count;
    const struct op *passes;

    /* The operations of a step may be several chains. An operation that begins one reads the step's input;
       any other reads what the one before it wrote, and the first always begins one. What OP_COMBINE reads
       beside that is kept: what was there when the last chain began; of a single chain, the step's input. */
    bool begins;
    enum combine combine;
    double amount; /* OP_UNSHARP; OP_COMBINE: a */

    size_t rank;   /* OP_RANK: samples that come before the one that is taken; fewer than taps */
    bool descends; /* OP_RANK: the greatest comes first, NaN still last */

    /* NaN is a sample that is missing, and stays so; in place of a neighbour that is, a chain reads the
       sample itself. For ops that read neighbours, and OP_POINT. In OP_BILATERAL a missing neighbour weighs
       nothing. OP_RANK counts only samples that are there: then the rank is arith_rank_among of their number,
       `percent` and `rank`, and is not an extreme's. */
    bool missing;
    double percent;

    struct point point; /* OP_POINT, done once */

    unsigned colours; /* OP_COVER, OP_UNCOVER: channels before alpha */
    double max;       /* of alpha */

    /* OP_WEIGH, OP_AVERAGE: so many channels, each with its weight so many channels further on. And the
       weight of a sample where nothing is missing, by the axes along which EDGE_HOLD has kept it: the sum of
       OP_HELD_X, OP_HELD_ROW and OP_HELD_PLANE. It does so where taps of this reach leave the grid. */
    unsigned weighed;
    unsigned freed; /* OP_AVERAGE, OP_PASSES: so many channels behind those weighed may hold anything */
    double whole[8];
    struct reach held[3]; /* along x, rows and planes */
};

/* Whole planes in the device's memory: planes p of the grid with first ≤ p < first + count. */
struct field;
struct device;

/* Memory for packed planes of a file, from which a device copies fast. */
struct staging {
    void *samples;
};

/* Samples that conversion between files and fields could not keep, by number; and what is left out. */
struct outcomes {
    uint64_t outside;      /* pixels outside a mask */
    uint64_t missing;      /* read as missing, of those inside */
    uint64_t strays;       /* read as NaN or infinite */
    uint64_t nans;         /* written as NaN, or as 0 if the type has none */
    uint64_t below, above; /* cut off: written as an end of a range, or as infinite */
};

/* The least and the greatest of the finite samples that were measured. */
struct extremes {
    bool any;
    double least, greatest;
};

/* The name of its kind. */
const char *op_name(const struct op *op);

/* How far the farthest tap is from its sample along any axis. */
int op_radius(const struct op *op);

/* Whether every tap is on an axis: none moves along two at once. */
bool op_is_star(const struct op *op);

/* Whether the op is a chain of taps, whatever comes behind it. */
bool op_is_chain(const struct op *op);

/* Whether it is an OP_RANK that takes the first or the last sample of its window. */
bool op_takes_extreme(const struct op *op);

/* Whether all that a window has outside the grid is what it has inside as well. That is so if it reaches as
   far on both sides, and the edge rule turns back at the end of the grid or repeats the last sample. Under
   EDGE_HOLD, results of windows that reach outside are dropped. */
bool op_reads_itself_outside(const struct op *op);

/* Whether the op ends with what OP_UNSHARP does. */
bool op_sharpens(const struct op *op);

/* Channels that are computed together, since each depends on all of them: one, but under a joint flux. */
size_t op_group_count(const struct op *op);
struct range op_group(const struct op *op, size_t index);

/* The most channels of a group. */
size_t op_group_most(const struct op *op);

/* Whether it reads a second field. */
bool op_reads_kept(const struct op *op);

/* Whether a sample depends on other channels than its own. */
bool op_mixes_channels(const struct op *op);

/* The statistics of one channel of a file's samples, in double, summed in the order of voxfilt(7),
   ARITHMETIC. NaNs are left out and counted. The second moment is taken about an anchor, so that a small
   deviation is not lost in a large mean. */
struct tally {
    bool anchored;        /* false: nothing has been added */
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

/* Add a part with the same anchor, such as a row of the plane. */
void tally_add(struct tally *total, const struct tally *part);

/* Add a plane with an anchor of its own, in the order of planes. The first plane's anchor becomes the
 * total's. */
void tally_add_plane(struct tally *total, const struct tally *plane);

struct rung {
    const char *name;
    const char *summary;
};

struct device_request {
    int index;        /* which device of the backend's kind */
    unsigned threads; /* of the CPU; 0: as many as the machine offers */
    uint64_t memory;  /* the most device memory to use; 0: all that is free */
    bool plain; /* one thread, and no instruction that some machine lacks: the device that others are compared
                   with */
};

/* The wishes of a user or of wisdom; 0 or NULL leaves the choice to the backend. */
struct rung_wish {
    const char *rung;
    const char *reason; /* for this rung, as --explain prints it; NULL: it was asked for */
    unsigned tile_x, tile_y;
    unsigned coarsen; /* planes, rows or samples that a thread computes (thread coarsening) */
    unsigned stride;  /* between them, in samples */
    unsigned steps;   /* of a pass */
    bool lean;        /* if no rung is named: the one that takes the least memory besides fields */
};

/* The extents of a tile, in samples. */
struct tile {
    unsigned x, y;
};

#define ROUTINE_TILES 6

#define FORM_WORDS 32 /* of a form, for the backend's own use */

/* The way in which a rung runs an op on a shape, settled to the last number. A form costs nothing: it owns no
   memory, and may be copied. Fields that mean nothing on a device are 0. */
struct form {
    const struct op *op; /* NULL: the form adds up samples */
    struct shape shape;
    const struct rung *rung;
    char reason[160]; /* why this rung and not another */
    unsigned steps;   /* the most that one advance takes */
    bool most_first;  /* a run takes the most steps as often as it can, and the last advance takes the rest */
    unsigned reach;   /* planes on both sides that each step reads, if more than the op's taps reach */
    unsigned tile_x, tile_y, tile_z; /* samples that a block computes */
    unsigned coarsen, stride;
    bool tiles, coarsens, strides;     /* whether a wish may choose them */
    struct tile offers[ROUTINE_TILES]; /* tiles that may be faster than its own; 0 by 0 after the last */
    unsigned suggested_tile;    /* side of the square that the device's occupancy calculator suggests */
    unsigned grid[3], block[3]; /* of a launch over the whole grid */
    unsigned registers;         /* of a thread */
    size_t local_bytes;         /* of a thread: spilled registers */
    size_t shared_bytes;        /* of a block */
    unsigned blocks_per_multiprocessor; /* that fit at once */
    const char *bound;                  /* the resource that limits them; NULL on a device without blocks */
    double occupancy;                   /* share of a multiprocessor's warps that are resident, in theory */
    double waves;                       /* blocks of the launch over those that the device runs at once */
    double bytes_per_update, operations_per_update;
    double step_seconds, pass_seconds; /* that the device is expected to spend on a sample: in a pass of one
                                          step, and in a pass of all steps */
    double advance_seconds;            /* and on an advance, besides its samples */
    size_t memory_bytes;               /* that its routine holds besides fields */
    uint64_t own[FORM_WORDS];          /* for the backend */
};

/* An op that is ready to run in a form. */
struct routine;

/* The speed of a device before it is opened, to choose one without paying for its start. */
struct forecast {
    double start;   /* seconds until the device is ready */
    double moving;  /* seconds to bring a byte to the device and back */
    double updates; /* sample updates per second, by the op */
    double changes; /* samples per second whose changes are added up */
};

/* A kind of device. Functions that return bool fill in the fault and return false on failure. Ranges are
   always inside the grid. */
struct backend {
    const char *name;         /* as --device takes it */
    const struct rung *rungs; /* ends with a rung without name */
    bool narrows;             /* whether it holds fields of a narrow shape in their type, not the work type */

    /* The number of devices of this kind, and one line on each; false: the line says why there is none. */
    unsigned (*count)(void);
    bool (*describe)(int index, char *text, size_t size);

    /* Whether one of them can read another's memory without the host's. NULL if there is only one device. */
    bool (*reaches)(int index, int other);

    /* Start a device beforehand, from any thread, so that it opens sooner. Open reports what fails. */
    void (*warm_up)(int index);

    /* Forecast an op's speed without opening anything; `single`: a pass takes one step of it. */
    struct forecast (*predict)(const struct device_request *request, const struct op *op,
                               const struct shape *shape, bool single);

    bool (*open)(struct device **device, const struct device_request *request, struct fault *fault);
    void (*close)(struct device *device);

    /* Device memory that fields may take; 0: the process's own memory, which this backend does not limit. */
    uint64_t (*memory)(const struct device *device);

    /* Bytes of a field of a number of planes. */
    size_t (*field_bytes)(const struct shape *shape, enum work_type work, size_t planes);

    /* The form in which the device would run the op as wished. Nothing is allocated, nothing runs, and the
       same question has the same answer. A wish that the device cannot fulfil is STATUS_USAGE and names the
       limit; an op that no rung can run is STATUS_DEVICE. */
    bool (*settle)(const struct device *device, const struct op *op, const struct shape *shape,
                   const struct rung_wish *wish, struct form *form, struct fault *fault);

    /* Allocate what the form says, and no more. The op must not move or change until the release. */
    bool (*prepare)(struct device *device, const struct form *form, struct routine **routine,
                    struct fault *fault);
    void (*release)(struct device *device, struct routine *routine);

    /* A field for a range of planes, with undefined samples. */
    bool (*field_create)(struct device *device, struct field **field, const struct shape *shape,
                         enum work_type work, struct range planes, struct fault *fault);
    void (*field_destroy)(struct device *device, struct field *field);

    /* Let the field hold as many planes as before, but from `first` on. The planes `keep`, which are in the
       old range and in the new one, keep their samples; the field moves up, unless nothing is kept. In the
       process's own memory no sample is moved. */
    bool (*field_slide)(struct device *device, struct field *field, size_t first, struct range keep,
                        struct fault *fault);

    /* Renumber the planes of a field: the grid has `planes` of them now, and plane p becomes p + shift, which
       may be negative as long as nobody asks for it. No sample moves. NULL if hand_over is. */
    void (*field_renumber)(struct field *field, size_t planes, ptrdiff_t shift);

    /* Copy planes of a field of one device into a field of another, or of its own, from `first` on; both have
       one shape. The copy waits for all that both devices have been asked for so far; an advance that reads
       the one field or writes the other waits for the copy; other work goes on meanwhile. NULL if there is
       only one device. */
    bool (*hand_over)(struct device *device, struct field *from, struct range planes, struct device *other,
                      struct field *to, size_t first, struct fault *fault);

    /* Wait for the copies that came to a device, and add the seconds that they took since the last call. NULL
       if hand_over is. */
    bool (*tell_handings)(struct device *device, double *seconds, struct fault *fault);

    /* A staging with the caller's memory, which must outlive it; NULL: with memory of its own. */
    struct staging *(*staging_create)(struct device *device, size_t bytes, void *memory, struct fault *fault);
    void (*staging_destroy)(struct device *device, struct staging *staging);

    /* Convert packed planes of a file into the field; and planes of the field into a file's samples. Either
       may still be under way on return: the samples must be left alone until staging_wait. Whatever is asked
       of the field afterwards waits for it. An upload counts NaNs and infinities, and what is missing or
       outside a mask, among the `counted` planes.
     */
    bool (*upload)(struct device *device, struct field *field, const struct encoding *encoding,
                   struct staging *staging, struct range planes, struct range counted, struct fault *fault);
    bool (*download)(struct device *device, const struct field *field, const struct encoding *encoding,
                     struct staging *staging, struct range planes, struct fault *fault);

    /* Wait for the copy from or to the samples, and add the seconds that it took to *seconds. From any
     * thread. */
    bool (*staging_wait)(struct device *device, struct staging *staging, double *seconds,
                         struct fault *fault);

    /* Add the outcomes of all uploads and downloads since the last call. */
    bool (*tell_outcomes)(struct device *device, struct outcomes *outcomes, struct fault *fault);

    /* Find the extremes of the values that a download of the planes would write, before they are stretched or
       cut off, without alpha. And return the extremes of all planes measured since the last call. */
    bool (*measure)(struct device *device, const struct field *field, const struct encoding *encoding,
                    struct range planes, struct fault *fault);
    bool (*tell_extremes)(struct device *device, struct extremes *extremes, struct fault *fault);

    /* Compute planes of `to` from `from`, another field, which holds every plane that steps × the reach (the
       op's or the routine's) and the edge rule need. `kept` is another one for ops that read one, else NULL.
       The work may still be under way on return: sync waits, and reports what failed. */
    bool (*advance)(struct device *device, struct routine *routine, unsigned steps, const struct field *from,
                    const struct field *kept, struct field *to, struct range planes, struct fault *fault);

    /* Time spans of work, one after another, by the device's own stopwatch. Ending one waits until the one
       before it is done and adds its seconds to *seconds, so that at most one is under way behind the caller.
       sync waits for all work but copies of stagings, and adds the seconds that have not been reported. */
    bool (*begin_span)(struct device *device, struct fault *fault);
    bool (*end_span)(struct device *device, double *seconds, struct fault *fault);
    bool (*sync)(struct device *device, double *seconds, struct fault *fault);

    /* Copy one field to another of the same shape, as fast as the device can. */
    bool (*copy)(struct device *device, const struct field *from, struct field *to, struct fault *fault);

    /* Fused multiply-adds per second, one sample each, that all threads reach with operands in registers,
       measured for some hundredths of a second. NULL: this backend does not measure it. */
    double (*multiply_adds)(struct device *device, enum work_type work);

    /* Σ (a − b)² of the first `channels` channels of each plane: sums[plane · channels + channel], from the
       first of the planes on. Where samples may be `missing`, those that are so in b do not count. */
    bool (*change)(struct device *device, const struct field *a, const struct field *b, unsigned channels,
                   bool missing, struct range planes, double *sums, struct fault *fault);

    /* Tallies of the channels of each packed plane of a file: tallies[plane · channels + channel], each with
       its own anchor. Neither change nor tally depends on how planes are divided among calls. */
    bool (*tally)(struct device *device, const struct encoding *encoding, const struct shape *shape,
                  const void *samples, size_t planes, struct tally *tallies, struct fault *fault);

    /* The ways to add in change and tally, as rungs: the first one unless another is chosen. The sums never
       depend on it. Ends with a rung without name; empty if there is only one way. */
    const struct rung *sum_rungs;

    /* The form in which changes of such fields would be added as wished, without a rung if there is only one
       way; refusals as in settle. And add in a form from now on. */
    bool (*settle_sums)(const struct device *device, const struct shape *shape, enum work_type work,
                        const struct rung_wish *wish, struct form *form, struct fault *fault);
    void (*add_by)(struct device *device, const struct form *form);

    /* Bytes besides fields that it takes to add up the samples of a number of packed planes, and the changes
       of a number of planes of a field. */
    size_t (*tally_bytes)(const struct shape *shape, size_t planes);
    size_t (*change_bytes)(const struct shape *shape, size_t planes);
};

extern const struct backend backend_cpu;
extern const struct backend backend_cuda;

#ifdef __cplusplus
}
#endif

#endif
