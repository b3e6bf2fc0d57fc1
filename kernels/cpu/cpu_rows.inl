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

static void FN(relax)(const struct op *op, const REAL *const *values, REAL *u, size_t count)
{
    REAL sums[BLOCK];
    REAL inverse = (REAL)op->inverse_scale, rate = (REAL)op->rate;

    FN(heat_chain)(op, values, u, count, sums);
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

/* The sample under relaxation changes while its neighbours are frozen: at most BLOCK samples, of which u are
   the values. */
static void FN(heat_row)(const struct op *op, const REAL *const *values, const REAL *u, size_t count,
                         REAL *out)
{
    memcpy(out, u, count * sizeof *out);
    for (uint64_t n = 0; n < op->inner; n++)
        FN(relax)(op, values, out, count);
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

static bool FN(is_centre)(const struct op_tap *tap)
{
    return tap->dx == 0 && tap->drow == 0 && tap->dplane == 0;
}
