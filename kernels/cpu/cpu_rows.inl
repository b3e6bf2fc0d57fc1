/* The arithmetic of the operations, on runs of samples of the work type; and rows of fields, with the sums of
 * their changes.
 *
 * No function here knows of grids or edges: for each tap a caller passes a pointer to the values that the tap
 * reads for the first sample, in a field, in a tile's slot or in scratch. Loops are written so that compilers
 * turn them into vectors: one operation for all samples of a run, then the next operation. */

/* One link of a chain: the first is a product, each next one a fused multiply-add. Loops over samples have a
   `first` of all of them, so that the compiler takes it out of the loop. */
ISA_INLINE real chain_link(bool first, real factor, real value, real sum)
{
    return first ? factor * value : real_fma(factor, value, sum);
}

/* A link of constant weight. */
static void chain_weight(bool first, real weight, const real *values, size_t count, real *sums)
{
    for (size_t i = 0; i < count; i++)
        sums[i] = chain_link(first, weight, values[i], sums[i]);
}

/* A link of a weight for each sample. */
static void chain_factors(bool first, const real *factors, const real *values, size_t count, real *sums)
{
    for (size_t i = 0; i < count; i++)
        sums[i] = chain_link(first, factors[i], values[i], sums[i]);
}

/* Colour times alpha, and back. */
static void cover_row(const real *colour, const real *alpha, real max, size_t count, real *covered)
{
    for (size_t i = 0; i < count; i++)
        covered[i] = colour[i] * real_cover(alpha[i], max);
}

static void uncover_row(const real *covered, const real *separate, const real *alpha, real max, size_t count,
                        real *colour)
{
    for (size_t i = 0; i < count; i++)
        colour[i] = real_uncovered(covered[i], separate[i], real_cover(alpha[i], max));
}

/* What a tap reads where neighbours may be missing: the samples themselves in place of these. */
static void present_row(const real *values, const real *own, size_t count, real *present)
{
    for (size_t i = 0; i < count; i++)
        present[i] = real_present(values[i], own[i]);
}

/* A sample that was missing is so afterwards. */
static void keep_missing(const real *old, size_t count, real *out)
{
    for (size_t i = 0; i < count; i++)
        out[i] = old[i] == old[i] ? out[i] : old[i];
}

/* Samples, or their weights; and back, where the samples of the stage's input are `old`. */
static void weigh_row(bool samples, const real *values, size_t count, real *weighed)
{
    for (size_t i = 0; i < count; i++)
        weighed[i] = values[i] != values[i] ? (real)0 : samples ? values[i] : (real)1;
}

static void average_row(const real *sums, const real *weights, real whole, const real *old, size_t count,
                        real *out)
{
    for (size_t i = 0; i < count; i++)
        out[i] = old[i] == old[i] ? real_average(sums[i], weights[i], whole) : old[i];
}

/* c·g(q), the conductivity of a face, where channels do not share it. */
ISA_INLINE real conductivity(enum flux flux, real c, real q)
{
    return c * (flux == FLUX_PM1 ? real_pm1(q) : real_pm2(q));
}

/* The conductivities of the faces between samples and the values beside them. */
static void face_factors(const struct op *op, real weight, const real *values, const real *u, size_t count,
                         real *restrict factors)
{
    real inverse = (real)op->inverse_scale;

    if (op->flux == FLUX_PM1) {
        for (size_t i = 0; i < count; i++)
            factors[i] = conductivity(FLUX_PM1, weight, (values[i] - u[i]) * inverse);
    } else {
        for (size_t i = 0; i < count; i++)
            factors[i] = conductivity(FLUX_PM2, weight, (values[i] - u[i]) * inverse);
    }
}

/* The jumps of a channel over a face: none where a sample on either side is missing. */
ISA_INLINE real jump(bool missing, real value, real own)
{
    return missing ? real_present(value - own, (real)0) : value - own;
}

static void add_flow(bool first, bool missing, const real *factors, const real *values, const real *u,
                     size_t count, real *sums)
{
    for (size_t i = 0; i < count; i++)
        sums[i] = chain_link(first, factors[i], jump(missing, values[i], u[i]), sums[i]);
}

/* The chain of one relaxation of OP_HEAT: values[k] is NULL for the sample under relaxation itself. */
static void heat_chain(const struct op *op, const real *const *values, const real *u, size_t count,
                       real *sums)
{
    real factors[BLOCK], present[BLOCK];
    bool faces = op->flux == FLUX_PM1 || op->flux == FLUX_PM2;

    if (op->tap_count == 0)
        memset(sums, 0, count * sizeof *sums);
    for (size_t k = 0; k < op->tap_count; k++) {
        const real *v = values[k] == NULL ? u : values[k];
        real weight = (real)op->taps[k].weight;
        if (op->missing) {
            present_row(v, u, count, present);
            v = present;
        }
        if (faces) {
            face_factors(op, weight, v, u, count, factors);
            add_flow(k == 0, false, factors, v, u, count, sums);
        } else {
            chain_weight(k == 0, weight, v, count, sums);
        }
    }
}

/* The reaction after a relaxation, if the op has one. */
static void react(const struct op *op, real *u, size_t count)
{
    real reaction = (real)op->reaction, remainder = (real)op->remainder;

    if (op->reacts) {
        for (size_t i = 0; i < count; i++)
            u[i] = real_react(u[i], reaction, remainder);
    }
}

/* The end of a relaxation: from the sums of a chain to new samples. */
static void move(const struct op *op, const real *sums, real *u, size_t count)
{
    real inverse = (real)op->inverse_scale, rate = (real)op->rate;
    real old[BLOCK];

    if (op->missing)
        memcpy(old, u, count * sizeof *u);
    switch (op->flux) {
    case FLUX_LINEAR:
        memcpy(u, sums, count * sizeof *u);
        break;
    case FLUX_TANH:
        for (size_t i = 0; i < count; i++)
            u[i] = real_fma(rate, real_tanh(sums[i] * inverse), u[i]);
        break;
    default:
        for (size_t i = 0; i < count; i++)
            u[i] = u[i] + sums[i];
        break;
    }
    react(op, u, count);
    if (op->missing)
        keep_missing(old, count, u);
}

/* Relax samples, which change while their neighbours are frozen, so many times: at most BLOCK of them. */
static void relax(const struct op *op, const real *const *values, uint64_t times, size_t count, real *u)
{
    real sums[BLOCK];

    for (uint64_t n = 0; n < times; n++) {
        heat_chain(op, values, u, count, sums);
        move(op, sums, u, count);
    }
}

/* Channels under one conductivity, a run of samples of each. */
struct joint {
    const struct op *op;
    size_t channels, count; /* at most BLOCK samples of a channel */
    real *u;                /* the samples under relaxation, of the first channel */
    size_t stride;          /* samples from one channel to the next */

    /* The values that a tap reads in a channel; scratch has room for a block. */
    const real *(*read)(const void *source, size_t tap, size_t channel, real *scratch);
    const void *source;
};

/* Add a channel's q² to s, the square of the jump over a face in all channels. */
static void add_square(bool first, bool missing, real inverse, const real *values, const real *u,
                       size_t count, real *squares)
{
    for (size_t i = 0; i < count; i++) {
        real q = jump(missing, values[i], u[i]) * inverse;
        squares[i] = chain_link(first, q, q, squares[i]);
    }
}

/* Replace s of one face by c·g(s). */
static void joint_factors(enum flux flux, real weight, size_t count, real *squares)
{
    if (flux == FLUX_PM1) {
        for (size_t i = 0; i < count; i++)
            squares[i] = weight * real_pm1_joint(squares[i]);
    } else {
        for (size_t i = 0; i < count; i++)
            squares[i] = weight * real_pm2_joint(squares[i]);
    }
}

/* What is missing has no weight. */
static void leave_out_missing(const real *factors, const real *values, size_t count, real *own_factors,
                              real *present)
{
    for (size_t i = 0; i < count; i++) {
        own_factors[i] = values[i] == values[i] ? factors[i] : (real)0;
        present[i] = real_present(values[i], (real)0);
    }
}

/* The sum of such weights. */
static void add_factors(bool first, const real *factors, size_t count, real *totals)
{
    for (size_t i = 0; i < count; i++)
        totals[i] = first ? factors[i] : totals[i] + factors[i];
}

static void divide_row(const real *totals, size_t count, real *sums)
{
    for (size_t i = 0; i < count; i++)
        sums[i] = sums[i] / totals[i];
}

/* Relax all channels once. None changes before every face's conductivity is known, since that takes them all.
 */
static void relax_joint(const struct joint *joint)
{
    const struct op *op = joint->op;
    real factors[OP_HEAT_TAPS][BLOCK], scratch[BLOCK], sums[BLOCK];

    for (size_t k = 0; k < op->tap_count; k++) {
        for (size_t channel = 0; channel < joint->channels; channel++)
            add_square(channel == 0, op->missing, (real)op->inverse_scale,
                       joint->read(joint->source, k, channel, scratch), joint->u + channel * joint->stride,
                       joint->count, factors[k]);
        joint_factors(op->flux, (real)op->taps[k].weight, joint->count, factors[k]);
    }
    for (size_t channel = 0; channel < joint->channels; channel++) {
        real *u = joint->u + channel * joint->stride;
        if (op->tap_count == 0)
            memset(sums, 0, joint->count * sizeof *sums);
        for (size_t k = 0; k < op->tap_count; k++)
            add_flow(k == 0, op->missing, factors[k], joint->read(joint->source, k, channel, scratch), u,
                     joint->count, sums);
        move(op, sums, u, joint->count);
    }
}

/* One axis of a gradient, added to the squares of the axes before it. */
static void slope_row(bool first, real weight, const real *ahead, const real *behind, size_t count,
                      real *squares)
{
    for (size_t i = 0; i < count; i++) {
        real slope = (ahead[i] - behind[i]) * weight;
        squares[i] = chain_link(first, slope, slope, squares[i]);
    }
}

static void root_row(real *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        values[i] = real_sqrt(values[i]);
}

/* Blurred samples become sharp ones. */
static void unsharp_row(real amount, const real *original, size_t count, real *samples)
{
    for (size_t i = 0; i < count; i++)
        samples[i] = real_fma(amount, original[i] - samples[i], original[i]);
}

/* Samples as whole numbers of the same order, and back. Orders hold all samples. Shorts hold whole numbers of
   16 bits, with their sign or, less a bias, without; a sum with a large number leaves these in the low bits,
   and false says that a sample was none of them. Samples that are missing are last in either; among shorts
   they take the place of the greatest. */
#define ORDERS_MISSING real_order((real)NAN)
#define SHORTS_MISSING INT16_MAX

static bool orders_from_row(const struct op *op, real bias, const real *values, size_t count, order *orders)
{
    (void)bias;
    for (size_t i = 0; i < count; i++)
        orders[i] = real_order(op->descends ? -values[i] : values[i]);
    return true;
}

static void orders_to_row(const struct op *op, real bias, const order *orders, size_t count, real *out)
{
    (void)bias;
    for (size_t i = 0; i < count; i++)
        out[i] = op->descends ? -real_ordered(orders[i]) : real_ordered(orders[i]);
}

static bool shorts_from_row(const struct op *op, real bias, const real *values, size_t count, int16_t *shorts)
{
    const real whole = REAL_WHOLE - bias;
    const counter lowest = real_bits(REAL_WHOLE) - 0x8000, flip = op->descends ? 0xffff : 0;
    const bool missing = op->missing;
    counter strays = 0;

    for (size_t i = 0; i < count; i++) {
        bool there = !missing || values[i] == values[i];
        real sum = (there ? values[i] : (real)0) + whole; /* rounds what is not a whole number */
        counter bits = real_bits(sum);
        strays |= there ? (real_bits(sum - whole) ^ real_bits(values[i])) | (bits - lowest) >> 16 : 0;
        bits = there ? bits ^ flip : SHORTS_MISSING;
        strays |= missing && there && (int16_t)bits == SHORTS_MISSING;
        shorts[i] = (int16_t)bits;
    }
    return strays == 0;
}

static void shorts_to_row(const struct op *op, real bias, const int16_t *shorts, size_t count, real *out)
{
    const int flip = op->descends ? -1 : 0;

    for (size_t i = 0; i < count; i++)
        out[i] = (real)(shorts[i] ^ flip) + bias;
}

/* A loop for each kind, here and below, so that it becomes vector code. */
static void combine_row(enum combine kind, real a, const real *u, const real *kept, size_t count, real *out)
{
    switch (kind) {
#define COMBINE(constant, name, value)                                                                       \
    case COMBINE_##constant:                                                                                 \
        for (size_t i = 0; i < count; i++)                                                                   \
            out[i] = OF_WORK(arith_combine_##constant)(u[i], kept[i], a);                                    \
        break;
#include "model/combine.def"
    case COMBINES:
        break;
    }
}

static void point_row(const struct point *point, const real *values, size_t count, real *out)
{
    const double *numbers = point->numbers;
    const real a = (real)numbers[0], b = (real)numbers[1], c = (real)numbers[2];

    switch (point->kind) {
#define POINT(constant, ...)                                                                                 \
    case POINT_##constant:                                                                                   \
        for (size_t i = 0; i < count; i++)                                                                   \
            out[i] = point->missing && values[i] != values[i]                                                \
                         ? values[i]                                                                         \
                         : OF_WORK(arith_point_##constant)(values[i], a, b, c);                              \
        break;
#include "model/points.def"
    case POINTS:
        break;
    }
}

static bool is_centre(const struct op_tap *tap)
{
    return tap->dx == 0 && tap->drow == 0 && tap->dplane == 0;
}

/* ---- rows of fields, and the sums of their changes ---- */

/* A row of a field that is not narrow. */
static real *row_of(const struct field *field, size_t plane, unsigned channel, size_t row)
{
    return (real *)field->samples + row_place(field, plane, channel, row);
}

/* A block of a row: x in [begin, begin + count). */
struct site {
    size_t plane, row;
    unsigned channel;
    size_t begin, count;
};

/* The block's samples in a channel. */
static const real *in_channel(const struct field *from, const struct site *site, unsigned channel)
{
    return row_of(from, site->plane, channel, site->row) + site->begin;
}

/* Σ (a − b)² of a row, leaf by leaf in the order of voxfilt(7): each leaf is folded by halves (a tree
   reduction), the last one padded with zeros. Samples that are missing do not change. */
static double change_row(const real *a, const real *b, bool missing, size_t count)
{
    double leaf[ARITH_LEAF];
    double sum = 0.0;

    for (size_t begin = 0; begin < count; begin += ARITH_LEAF) {
        size_t length = size_least(ARITH_LEAF, count - begin);
        for (size_t i = 0; i < length; i++) {
            double difference = (double)a[begin + i] - (double)b[begin + i];
            leaf[i] = missing && b[begin + i] != b[begin + i] ? 0.0 : difference * difference;
        }
        memset(leaf + length, 0, (ARITH_LEAF - length) * sizeof *leaf);
        sum += arith_fold_leaf(leaf);
    }
    return sum;
}

/* Two fields whose difference is added up, row by row. */
struct changing {
    const struct field *a, *b;
    unsigned channels; /* that count, from the first on */
    bool missing;
    size_t first_plane; /* of those that are added up */
    double *sums;       /* one for each row */
};

static void change_rows(void *context, size_t first, size_t count, unsigned member)
{
    const struct changing *changing = context;
    const struct shape *shape = &changing->a->shape;

    (void)member;
    for (size_t i = first; i < first + count; i++) {
        struct place place = place_of(i, changing->channels, shape->rows);
        size_t plane = changing->first_plane + place.plane;
        changing->sums[i] =
            change_row(row_of(changing->a, plane, place.channel, place.row),
                       row_of(changing->b, plane, place.channel, place.row), changing->missing, shape->nx);
    }
}

static void change_planes(const struct field *a, const struct field *b, unsigned channels, bool missing,
                          struct range planes, double *sums, const struct cpu_threads *threads)
{
    struct changing changing = {a, b, channels, missing, planes.first, sums};

    cpu_threads_share_evenly(threads, planes.count * channels * a->shape.rows, change_rows, &changing);
}
