/* Rung `blocked` where the operation is a short chain of taps.
 *
 * Known as: direct stencil with streaming (non-temporal) stores and software prefetch.
 * Idea: rows are read in place in the field, and summed line of memory by line of memory, each of which is
 *   stored past the caches.
 * Adds: a thread goes plane by plane through few enough rows for the second-level cache to hold them until
 *   the next plane reads them; the plane after that is prefetched.
 * Costs: samples whose taps leave their row are gathered one by one; rows that are short, or at the field's
 *   ends, go through scratch.
 * Traffic per sample: 2 words through memory.
 * Wins when: there is one step to take, so that no sample would be read a second time from a tile. */

/* Samples in a line of memory. */
#define LINE_SAMPLES (ISA_LINE / sizeof(real))

struct direct {
    const struct op *op;
    const struct field *from;
    struct field *to;
    bool past_caches; /* by streaming stores */
    unsigned channel;
    struct span inside;               /* samples of a row whose taps do not leave it */
    bool takes_lines;                 /* rows are so long that a line's vectors end within the rows around */
    const real *first_row, *last_row; /* of the field: there is memory around the rows between them */
    const real *weights;
    const real **rows;  /* that the taps read; NULL: outside the grid, under EDGE_CONSTANT */
    const real **bases; /* the values that taps read for the first sample of a block */
    ptrdiff_t *offsets; /* from a row to the taps' rows, where no edge is near */
    real outside;       /* the value of EDGE_CONSTANT */
    real beyond[BLOCK]; /* a block of that value */
};

/* One sample whose taps may leave the row. */
static real gather_sum(const struct direct *direct, int64_t x)
{
    const struct op *op = direct->op;
    real sum = (real)0;

    for (size_t k = 0; k < op->tap_count; k++) {
        int64_t at = arith_edge_index(op->edge, x + op->taps[k].dx, (int64_t)direct->from->shape.nx);
        real value = at < 0 || direct->rows[k] == NULL ? direct->outside : direct->rows[k][at];
        sum = k == 0 ? direct->weights[k] * value : real_fma(direct->weights[k], value, sum);
    }
    return sum;
}

/* One sample near an end of the row: held, or the sum of what the edge rule supplies. */
static real end_sample(const struct direct *direct, const real *old, int64_t x)
{
    bool held = edge_has(direct->op->edge, EDGE_KEEPS_SAMPLE) &&
                (x < direct->inside.first || x >= direct->inside.end);

    return held ? old[x] : gather_sum(direct, x);
}

/* The samples of a part before and after those in `summed`; `out` is where the part's first sample goes. */
static void sum_ends(const struct direct *direct, struct span part, struct span summed, const real *old,
                     real *out)
{
    for (int64_t x = part.first; x < part.end && x < summed.first; x++)
        out[x - part.first] = end_sample(direct, old, x);
    for (int64_t x = summed.end; x < part.end; x++)
        out[x - part.first] = end_sample(direct, old, x);
}

/* `count` sums from x on, in whole vectors. */
static void sum_vectors(const struct direct *direct, int64_t x, size_t count, real *out)
{
    const struct op *op = direct->op;
    const struct chain chain = {op->tap_count, direct->weights, direct->bases};
    struct write_behind idle;

    write_behind_clear(&idle);
    for (size_t k = 0; k < op->tap_count; k++)
        direct->bases[k] = direct->rows[k] == NULL ? direct->beyond : direct->rows[k] + x + op->taps[k].dx;
    chain_rows(&chain, 0, 1, count, out, &idle);
}

/* The sums of a block; out has room for a vector before the first. The last vector ends where the samples do,
   and so computes some for a second time. */
static void sum_block(const struct direct *direct, struct span x, const real *old, real *out)
{
    struct span inside = common_span(x, direct->inside);
    int64_t lanes = (int64_t)LANES, whole = (inside.end - inside.first) / lanes * lanes;
    bool rest = inside.first + whole < inside.end;

    if (rest && inside.end - lanes < direct->inside.first)
        inside.end = inside.first;
    if (inside.end > inside.first && whole > 0)
        sum_vectors(direct, inside.first, (size_t)whole, out + (inside.first - x.first));
    if (inside.end > inside.first && rest)
        sum_vectors(direct, inside.end - lanes, LANES, out + (inside.end - lanes - x.first));
    sum_ends(direct, x, inside, old, out);
}

/* The row that the next plane will be the first to read, to be fetched now; the last one again if there is
 * none. */
static const real *coming_row(const struct direct *direct, size_t plane, size_t row)
{
    const struct field *from = direct->from;
    size_t last = from->planes.first + from->planes.count - 1;

    return row_of(from, size_least(plane + (size_t)direct->op->plane.high + 1, last), direct->channel, row);
}

/* Whether the ring of slots does not begin anew among the planes that the taps read: offsets are valid then.
 */
static bool stands_among(const struct direct *direct, size_t plane)
{
    const struct op *op = direct->op;
    size_t first = plane - (size_t) - (int64_t)op->plane.low, last = plane + (size_t)op->plane.high;

    return slot_in(direct->from, first) <= slot_in(direct->from, last);
}

/* Find the rows that the taps read: by offsets, which is fast, or by the edge rule. False if all samples of
   the row are held. */
static bool find_rows(struct direct *direct, size_t plane, size_t row)
{
    const struct op *op = direct->op;
    const struct shape *shape = &direct->from->shape;
    const real *old = row_of(direct->from, plane, direct->channel, row);
    bool at_edge =
        reaches_outside(op->plane, plane, shape->planes) || reaches_outside(op->row, row, shape->rows);
    bool by_rule = at_edge || !stands_among(direct, plane);

    if (at_edge && edge_has(op->edge, EDGE_KEEPS_SAMPLE))
        return false;
    if (!by_rule) {
        for (size_t k = 0; k < op->tap_count; k++)
            direct->rows[k] = old + direct->offsets[k];
        return true;
    }
    for (size_t k = 0; k < op->tap_count; k++) {
        const struct op_tap *tap = &op->taps[k];
        int64_t from_plane = arith_edge_index(op->edge, (int64_t)plane + tap->dplane, (int64_t)shape->planes);
        int64_t from_row = arith_edge_index(op->edge, (int64_t)row + tap->drow, (int64_t)shape->rows);
        bool outside = from_plane < 0 || from_row < 0;
        direct->rows[k] =
            outside ? NULL : row_of(direct->from, (size_t)from_plane, direct->channel, (size_t)from_row);
    }
    return true;
}

/* Write the part of a line of memory that belongs to x. Sums whose taps leave the row have read values that
   do not count, and are computed again. */
static void put_end(const struct direct *direct, struct span line, struct span x, const real *old,
                    const vector *sums, real *to)
{
    struct span part = common_span(line, x);
    real samples[LINE_SAMPLES], *asked = samples + (part.first - line.first);

    memcpy(samples, sums, sizeof samples);
    sum_ends(direct, part, common_span(part, direct->inside), old, asked);
    copy_out(direct->past_caches, to + part.first, asked, (size_t)(part.end - part.first) * sizeof *to);
}

/* A row under way, from its first sample: the taps' rows, the row that is fetched, the row that is written.
 */
struct streaming {
    vector weights[MOST_FIXED_TAPS];
    const real *rows[MOST_FIXED_TAPS], *coming;
    real *to;
};

/* The sums of a line of memory, in registers, while a line of the coming row is fetched. */
ISA_INLINE void sum_line(size_t taps, const struct streaming *row, int64_t first, vector *sums)
{
    isa_fetch(row->coming + first);
#pragma GCC unroll 4
    for (size_t i = 0; i < LINE_SAMPLES / LANES; i++) {
        int64_t x = first + (int64_t)(i * LANES);
        sums[i] = row->weights[0] * vector_load(row->rows[0] + x);
#pragma GCC unroll 9
        for (size_t k = 1; k < taps; k++)
            sums[i] = vector_fma(row->weights[k], vector_load(row->rows[k] + x), sums[i]);
    }
}

/* A line that is written whole, past the caches straight from registers: lines are fetched, summed and
   written at the same time. */
ISA_INLINE void whole_line(size_t taps, bool past_caches, const struct streaming *row, int64_t first)
{
    vector sums[LINE_SAMPLES / LANES];

    sum_line(taps, row, first, sums);
#pragma GCC unroll 4
    for (size_t i = 0; i < LINE_SAMPLES / LANES; i++)
        vector_put(past_caches, row->to + first + i * LANES, sums[i]);
}

/* A part of a row, line of memory by line of memory of the row that is written. */
ISA_INLINE void lines_fixed(size_t taps, bool past_caches, const struct direct *direct, struct span x,
                            const real *old, const real *coming, real *to)
{
    const int64_t line = (int64_t)LINE_SAMPLES;
    struct streaming row = {.coming = coming, .to = to};
    struct span plain = common_span(x, direct->inside);
    int64_t first = x.first - (int64_t)((uintptr_t)(to + x.first) % ISA_LINE / sizeof *to);
    vector sums[LINE_SAMPLES / LANES];

#pragma GCC unroll 9
    for (size_t k = 0; k < taps; k++) {
        row.weights[k] = vector_splat(direct->weights[k]);
        row.rows[k] = direct->rows[k] + direct->op->taps[k].dx;
    }
    /* Whole lines where all taps stay in the row; a line at either end of the part or the row goes through
     * scratch. */
    while (first < x.end) {
        for (; first >= plain.first && first + line <= plain.end; first += line)
            whole_line(taps, past_caches, &row, first);
        if (first < x.end) {
            sum_line(taps, &row, first, sums);
            put_end(direct, (struct span){first, first + line}, x, old, sums, to);
            first += line;
        }
    }
}

static void sum_lines(const struct direct *direct, struct span x, const real *old, const real *coming,
                      real *to)
{
    switch (direct->op->tap_count) {
#define FIXED(taps)                                                                                          \
    case taps:                                                                                               \
        if (direct->past_caches)                                                                             \
            lines_fixed(taps, true, direct, x, old, coming, to);                                             \
        else                                                                                                 \
            lines_fixed(taps, false, direct, x, old, coming, to);                                            \
        break;
        FOR_FIXED_TAPS(FIXED)
#undef FIXED
    default:
        break;
    }
}

/* Whether vectors may read beyond either end of all rows that taps read: there are other rows of the field
 * there. */
static bool have_neighbours(const struct direct *direct)
{
    for (size_t k = 0; k < direct->op->tap_count; k++) {
        const real *row = direct->rows[k];
        if (row == NULL || row <= direct->first_row || row >= direct->last_row)
            return false;
    }
    return true;
}

/* Other rows are summed block by block, in scratch. */
static void sum_blocks(const struct direct *direct, struct span x, const real *old, const real *coming,
                       real *to)
{
    real sums[LANES + BLOCK];

    for (struct span block = {x.first, x.first}; block.first < x.end; block.first = block.end) {
        size_t count = size_least(BLOCK, (size_t)(x.end - block.first));
        block.end = block.first + (int64_t)count;
        for (size_t i = 0; i < count; i += ISA_LINE / sizeof *to)
            isa_fetch(coming + block.first + i);
        sum_block(direct, block, old, sums + LANES);
        copy_out(direct->past_caches, to + block.first, sums + LANES, count * sizeof *to);
    }
}

/* A row of the part, by the fastest way that its neighbours in memory allow. */
static void direct_row(struct direct *direct, size_t plane, size_t row, struct span x)
{
    const real *old = row_of(direct->from, plane, direct->channel, row);
    const real *coming = coming_row(direct, plane, row);
    real *to = row_of(direct->to, plane, direct->channel, row);

    if (!find_rows(direct, plane, row)) {
        copy_out(direct->past_caches, to + x.first, old + x.first, (size_t)(x.end - x.first) * sizeof *to);
        return;
    }
    if (direct->takes_lines && have_neighbours(direct))
        sum_lines(direct, x, old, coming, to);
    else
        sum_blocks(direct, x, old, coming, to);
}

/* All that is the same for all rows of a part. */
static void know_field(struct direct *direct)
{
    const struct op *op = direct->op;
    const struct field *from = direct->from;
    const struct shape *shape = &from->shape;
    int64_t nx = (int64_t)shape->nx, line = (int64_t)LINE_SAMPLES;

    direct->inside =
        common_span((struct span){-(int64_t)op->x.low, nx - (int64_t)op->x.high}, (struct span){0, nx});
    direct->takes_lines = op->tap_count > 0 && nx >= 2 * line && -op->x.low <= line && op->x.high <= line;
    direct->first_row = from->samples;
    direct->last_row = direct->first_row + (from->planes.count - 1) * from->pitch +
                       (shape->channels * shape->rows - 1) * shape->nx;
    direct->outside = outside_of(op, direct->channel);
    for (size_t i = 0; i < BLOCK; i++)
        direct->beyond[i] = direct->outside;
}

static void direct_part(const struct cpu_sweep *sweep, struct range channels, const struct axis *axes,
                        char *arena)
{
    const struct op *op = sweep->op;
    ptrdiff_t nx = (ptrdiff_t)axes[0].extent, pitch = (ptrdiff_t)sweep->from->pitch;
    struct direct direct = {.op = op,
                            .from = sweep->from,
                            .to = sweep->to,
                            .past_caches = sweep->past_caches,
                            .channel = (unsigned)channels.first};

    direct.weights = put_weights(op, arena + sweep->tiling->layout.weights);
    direct.rows = (const real **)(arena + sweep->tiling->layout.bases);
    direct.bases = direct.rows + op->tap_count;
    direct.offsets = (ptrdiff_t *)(direct.bases + op->tap_count);
    know_field(&direct);
    for (size_t k = 0; k < op->tap_count; k++)
        direct.offsets[k] = op->taps[k].dplane * pitch + op->taps[k].drow * nx;
    for (int64_t plane = axes[2].own.first; plane < axes[2].own.end; plane++) {
        for (int64_t row = axes[1].own.first; row < axes[1].own.end; row++)
            direct_row(&direct, (size_t)plane, (size_t)row, axes[0].own);
    }
}
