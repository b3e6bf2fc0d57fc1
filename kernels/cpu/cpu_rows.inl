/* The arithmetic of the operations on runs of samples of one work type, wherever these stand: every tap
   brings a pointer to the values that it reads. */

/* One link of a chain of constant weight: the first is a product, each next one a fused multiply-add. */
static void FN(chain_weight)(bool first, REAL weight, const REAL *values, size_t count, REAL *sums)
{
    if (first) {
        for (size_t i = 0; i < count; i++)
            sums[i] = weight * values[i];
    } else {
        for (size_t i = 0; i < count; i++)
            sums[i] = FN(arith_fma)(weight, values[i], sums[i]);
    }
}

static void FN(chain_factors)(bool first, const REAL *factors, const REAL *values, size_t count, REAL *sums)
{
    if (first) {
        for (size_t i = 0; i < count; i++)
            sums[i] = factors[i] * values[i];
    } else {
        for (size_t i = 0; i < count; i++)
            sums[i] = FN(arith_fma)(factors[i], values[i], sums[i]);
    }
}

/* Colour times alpha, and back. */
static void FN(cover_row)(const REAL *colour, const REAL *alpha, REAL max, size_t count, REAL *covered)
{
    for (size_t i = 0; i < count; i++)
        covered[i] = colour[i] * FN(arith_cover)(alpha[i], max);
}

static void FN(uncover_row)(const REAL *covered, const REAL *separate, const REAL *alpha, REAL max,
                            size_t count, REAL *colour)
{
    for (size_t i = 0; i < count; i++)
        colour[i] = FN(arith_uncovered)(covered[i], separate[i], FN(arith_cover)(alpha[i], max));
}

/* c·g(q), the weight of one face under a Perona-Malik flux. */
static void FN(face_factors)(const struct op *op, REAL weight, const REAL *differences, size_t count,
                             REAL *factors)
{
    REAL inverse = (REAL)op->inverse_scale;

    if (op->flux == FLUX_PM1) {
        for (size_t i = 0; i < count; i++)
            factors[i] = weight * FN(arith_pm1)(differences[i] * inverse);
    } else {
        for (size_t i = 0; i < count; i++)
            factors[i] = weight * FN(arith_pm2)(differences[i] * inverse);
    }
}

/* The chain of one relaxation of OP_HEAT: values[k] is NULL for the sample under relaxation itself. */
static void FN(heat_chain)(const struct op *op, const REAL *const *values, const REAL *u, size_t count,
                           REAL *sums)
{
    REAL differences[BLOCK], factors[BLOCK];
    bool faces = op->flux == FLUX_PM1 || op->flux == FLUX_PM2;

    if (op->tap_count == 0)
        memset(sums, 0, count * sizeof *sums);
    for (size_t k = 0; k < op->tap_count; k++) {
        const REAL *v = values[k] == NULL ? u : values[k];
        REAL weight = (REAL)op->taps[k].weight;
        if (faces) {
            for (size_t i = 0; i < count; i++)
                differences[i] = v[i] - u[i];
            FN(face_factors)(op, weight, differences, count, factors);
            FN(chain_factors)(k == 0, factors, differences, count, sums);
        } else {
            FN(chain_weight)(k == 0, weight, v, count, sums);
        }
    }
}

/* What a relaxation makes of a chain's sums. */
static void FN(move)(const struct op *op, const REAL *sums, REAL *u, size_t count)
{
    REAL inverse = (REAL)op->inverse_scale, rate = (REAL)op->rate;

    switch (op->flux) {
    case FLUX_LINEAR:
        memcpy(u, sums, count * sizeof *u);
        break;
    case FLUX_TANH:
        for (size_t i = 0; i < count; i++)
            u[i] = FN(arith_fma)(rate, FN(arith_tanh)(sums[i] * inverse), u[i]);
        break;
    default:
        for (size_t i = 0; i < count; i++)
            u[i] = u[i] + sums[i];
        break;
    }
    if (op->reacts) {
        REAL reaction = (REAL)op->reaction, remainder = (REAL)op->remainder;
        for (size_t i = 0; i < count; i++)
            u[i] = FN(arith_react)(u[i], reaction, remainder);
    }
}

static void FN(relax)(const struct op *op, const REAL *const *values, REAL *u, size_t count)
{
    REAL sums[BLOCK];

    FN(heat_chain)(op, values, u, count, sums);
    FN(move)(op, sums, u, count);
}

/* The sample under relaxation changes while its neighbours are frozen: at most BLOCK samples, of which u are
   the values. */
static void FN(heat_row)(const struct op *op, const REAL *const *values, const REAL *u, size_t count,
                         REAL *out)
{
    memcpy(out, u, count * sizeof *out);
    for (uint64_t n = 0; n < op->inner; n++)
        FN(relax)(op, values, out, count);
}

/* Channels under one conductivity: at most BLOCK samples of each. */
struct FN(joint) {
    const struct op *op;
    size_t channels, count;
    const REAL *u; /* the values before the step, and after it, from one channel to the next so far on */
    REAL *out;
    size_t u_stride, out_stride;

    /* What a tap reads in a channel; scratch has room for a block. */
    const REAL *(*read)(const void *source, size_t tap, size_t channel, REAL *scratch);
    const void *source;
};

/* One more channel of s. */
static void FN(add_square)(bool first, REAL inverse, const REAL *values, const REAL *u, size_t count,
                           REAL *squares)
{
    if (first) {
        for (size_t i = 0; i < count; i++) {
            REAL q = (values[i] - u[i]) * inverse;
            squares[i] = q * q;
        }
    } else {
        for (size_t i = 0; i < count; i++) {
            REAL q = (values[i] - u[i]) * inverse;
            squares[i] = FN(arith_fma)(q, q, squares[i]);
        }
    }
}

/* c·g(s) of one face, where s stood. */
static void FN(joint_factors)(enum flux flux, REAL weight, size_t count, REAL *squares)
{
    if (flux == FLUX_PM1) {
        for (size_t i = 0; i < count; i++)
            squares[i] = weight * FN(arith_pm1_joint)(squares[i]);
    } else {
        for (size_t i = 0; i < count; i++)
            squares[i] = weight * FN(arith_pm2_joint)(squares[i]);
    }
}

static void FN(add_flow)(bool first, const REAL *factors, const REAL *values, const REAL *u, size_t count,
                         REAL *sums)
{
    if (first) {
        for (size_t i = 0; i < count; i++)
            sums[i] = factors[i] * (values[i] - u[i]);
    } else {
        for (size_t i = 0; i < count; i++)
            sums[i] = FN(arith_fma)(factors[i], values[i] - u[i], sums[i]);
    }
}

/* All channels are as they were until every face's conductivity is known. */
static void FN(relax_joint)(const struct FN(joint) * joint)
{
    const struct op *op = joint->op;
    REAL factors[OP_HEAT_TAPS][BLOCK], scratch[BLOCK], sums[BLOCK];

    for (size_t k = 0; k < op->tap_count; k++) {
        for (size_t channel = 0; channel < joint->channels; channel++)
            FN(add_square)
        (channel == 0, (REAL)op->inverse_scale, joint->read(joint->source, k, channel, scratch),
         joint->out + channel * joint->out_stride, joint->count, factors[k]);
        FN(joint_factors)(op->flux, (REAL)op->taps[k].weight, joint->count, factors[k]);
    }
    for (size_t channel = 0; channel < joint->channels; channel++) {
        REAL *u = joint->out + channel * joint->out_stride;
        if (op->tap_count == 0)
            memset(sums, 0, joint->count * sizeof *sums);
        for (size_t k = 0; k < op->tap_count; k++)
            FN(add_flow)
        (k == 0, factors[k], joint->read(joint->source, k, channel, scratch), u, joint->count, sums);
        FN(move)(op, sums, u, joint->count);
    }
}

static void FN(joint_row)(const struct FN(joint) * joint)
{
    for (size_t channel = 0; channel < joint->channels; channel++)
        memcpy(joint->out + channel * joint->out_stride, joint->u + channel * joint->u_stride,
               joint->count * sizeof *joint->u);
    for (uint64_t n = 0; n < joint->op->inner; n++)
        FN(relax_joint)(joint);
}

/* One axis of a gradient, added to the squares of the axes before it. */
static void FN(slope_row)(bool first, REAL weight, const REAL *ahead, const REAL *behind, size_t count,
                          REAL *squares)
{
    if (first) {
        for (size_t i = 0; i < count; i++) {
            REAL slope = (ahead[i] - behind[i]) * weight;
            squares[i] = slope * slope;
        }
    } else {
        for (size_t i = 0; i < count; i++) {
            REAL slope = (ahead[i] - behind[i]) * weight;
            squares[i] = FN(arith_fma)(slope, slope, squares[i]);
        }
    }
}

static void FN(root_row)(REAL *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        values[i] = FN(arith_sqrt)(values[i]);
}

static void FN(unsharp_row)(REAL amount, const REAL *original, const REAL *blurred, size_t count, REAL *out)
{
    for (size_t i = 0; i < count; i++)
        out[i] = FN(arith_fma)(amount, original[i] - blurred[i], original[i]);
}

static void FN(scale_row)(REAL factor, REAL offset, const REAL *values, size_t count, REAL *out)
{
    for (size_t i = 0; i < count; i++)
        out[i] = FN(arith_fma)(factor, values[i], offset);
}

static bool FN(is_centre)(const struct op_tap *tap)
{
    return tap->dx == 0 && tap->drow == 0 && tap->dplane == 0;
}
