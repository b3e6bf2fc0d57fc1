/* One step of one operation in one work type: blocks of rows, each tap's values side by side. */

/* A block of a row to compute: x in [begin, begin + count) of one row. */
struct FN(site) {
    size_t plane, row;
    unsigned channel;
    size_t begin, count;
};

/* The values that a tap reads along a block. Inside the grid they stand in the field already; what an edge
   rule supplies is gathered into scratch. */
static const REAL *FN(tap_values)(const struct op *op, const struct field *from, const struct op_tap *tap,
                                  const struct FN(site) * site, REAL *scratch)
{
    const struct shape *shape = &from->shape;
    int64_t nx = (int64_t)shape->nx;
    int64_t plane = arith_edge_index(op->edge, (int64_t)site->plane + tap->dplane, (int64_t)shape->planes);
    int64_t row = arith_edge_index(op->edge, (int64_t)site->row + tap->drow, (int64_t)shape->rows);
    int64_t first = (int64_t)site->begin + tap->dx;
    REAL outside = op->outside == NULL ? (REAL)0 : (REAL)op->outside[site->channel];
    const REAL *values;

    if (plane < 0 || row < 0) {
        for (size_t i = 0; i < site->count; i++)
            scratch[i] = outside;
        return scratch;
    }
    values = FN(row_of)(from, (size_t)plane, site->channel, (size_t)row);
    if (first >= 0 && first + (int64_t)site->count <= nx)
        return values + first;
    for (size_t i = 0; i < site->count; i++) {
        int64_t x = arith_edge_index(op->edge, first + (int64_t)i, nx);
        scratch[i] = x < 0 ? outside : values[x];
    }
    return scratch;
}

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

static void FN(advance_taps)(const struct op *op, const struct field *from, const struct FN(site) * site,
                             REAL *out)
{
    REAL scratch[BLOCK];

    if (op->tap_count == 0)
        memset(out, 0, site->count * sizeof *out);
    for (size_t k = 0; k < op->tap_count; k++) {
        const REAL *values = FN(tap_values)(op, from, &op->taps[k], site, scratch);
        FN(chain_weight)(k == 0, (REAL)op->taps[k].weight, values, site->count, out);
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

static void FN(advance_heat)(const struct op *op, const struct field *from, const struct FN(site) * site,
                             REAL *out)
{
    REAL scratch[OP_HEAT_TAPS][BLOCK];
    const REAL *values[OP_HEAT_TAPS];

    for (size_t k = 0; k < op->tap_count; k++) {
        const struct op_tap *tap = &op->taps[k];
        bool centre = tap->dx == 0 && tap->drow == 0 && tap->dplane == 0;
        /* The sample under relaxation changes while its neighbours are frozen. */
        values[k] = centre ? NULL : FN(tap_values)(op, from, tap, site, scratch[k]);
    }
    memcpy(out, FN(row_of)(from, site->plane, site->channel, site->row) + site->begin,
           site->count * sizeof *out);
    for (uint64_t n = 0; n < op->inner; n++)
        FN(relax)(op, values, out, site->count);
}

static void FN(advance_gradient)(const struct op *op, const struct field *from, const struct FN(site) * site,
                                 REAL *out)
{
    REAL ahead_scratch[BLOCK], behind_scratch[BLOCK];
    const REAL half = (REAL)0.5;

    for (size_t k = 0; k < op->tap_count; k++) {
        struct op_tap ahead = op->taps[k];
        struct op_tap behind = {-ahead.dx, -ahead.drow, -ahead.dplane, ahead.weight};
        const REAL *a = FN(tap_values)(op, from, &ahead, site, ahead_scratch);
        const REAL *b = FN(tap_values)(op, from, &behind, site, behind_scratch);
        if (k == 0) {
            for (size_t i = 0; i < site->count; i++) {
                REAL slope = (a[i] - b[i]) * half;
                out[i] = slope * slope;
            }
        } else {
            for (size_t i = 0; i < site->count; i++) {
                REAL slope = (a[i] - b[i]) * half;
                out[i] = FN(arith_fma)(slope, slope, out[i]);
            }
        }
    }
    for (size_t i = 0; i < site->count; i++)
        out[i] = FN(arith_sqrt)(out[i]);
}

static void FN(advance_unsharp)(const struct op *op, const struct field *from, const struct field *kept,
                                const struct FN(site) * site, REAL *out)
{
    const REAL *blurred = FN(row_of)(from, site->plane, site->channel, site->row) + site->begin;
    const REAL *original = FN(row_of)(kept, site->plane, site->channel, site->row) + site->begin;
    REAL amount = (REAL)op->amount;

    for (size_t i = 0; i < site->count; i++)
        out[i] = FN(arith_fma)(amount, original[i] - blurred[i], original[i]);
}

static bool FN(reaches_outside)(struct reach reach, size_t index, size_t extent)
{
    return (int64_t)index + reach.low < 0 || (int64_t)index + reach.high >= (int64_t)extent;
}

/* EDGE_HOLD: give samples of the block with a tap outside their old values back. */
static void FN(hold)(const struct op *op, const struct field *from, const struct FN(site) * site, REAL *out)
{
    const REAL *old = FN(row_of)(from, site->plane, site->channel, site->row) + site->begin;
    bool whole = FN(reaches_outside)(op->plane, site->plane, from->shape.planes) ||
                 FN(reaches_outside)(op->row, site->row, from->shape.rows);

    for (size_t i = 0; i < site->count; i++) {
        if (whole || FN(reaches_outside)(op->x, site->begin + i, from->shape.nx))
            out[i] = old[i];
    }
}

static void FN(advance_block)(const struct op *op, const struct field *from, const struct field *kept,
                              struct field *to, const struct FN(site) * site)
{
    REAL *out = FN(row_of)(to, site->plane, site->channel, site->row) + site->begin;

    switch (op->kind) {
    case OP_TAPS:
        FN(advance_taps)(op, from, site, out);
        break;
    case OP_HEAT:
        FN(advance_heat)(op, from, site, out);
        break;
    case OP_GRADIENT:
        FN(advance_gradient)(op, from, site, out);
        break;
    case OP_UNSHARP:
        FN(advance_unsharp)(op, from, kept, site, out);
        break;
    }
    if (op->edge == EDGE_HOLD)
        FN(hold)(op, from, site, out);
}

static void FN(advance_planes)(const struct op *op, const struct field *from, const struct field *kept,
                               struct field *to, struct range planes, int threads)
{
    const struct shape *shape = &to->shape;

#pragma omp parallel for collapse(3) num_threads(threads) schedule(static)
    for (size_t plane = planes.first; plane < planes.first + planes.count; plane++) {
        for (unsigned channel = 0; channel < shape->channels; channel++) {
            for (size_t row = 0; row < shape->rows; row++) {
                for (size_t begin = 0; begin < shape->nx; begin += BLOCK) {
                    struct FN(site) site = {plane, row, channel, begin, least(BLOCK, shape->nx - begin)};
                    FN(advance_block)(op, from, kept, to, &site);
                }
            }
        }
    }
}
