/* Rung `blocked` where all taps lie along one axis, as those of a pass do.
 *
 * Idea: rows are read where they stand. Across the rows or the planes a few sums that follow one another
 * along the axis are open at once, and a sample, once loaded, goes into all of them: raster order is the
 * order in which it comes to each. Along a row, what the edge rule puts at its ends stands beside its samples
 * in scratch. Adds: nothing but that scratch. Costs: a group of sums reads again what the one before it has
 * read. Traffic per sample: 2 words through memory. Wins when: the chain is long and there is one step to
 * take. */

/* Rows of sums that are open at once, and vectors of each; of a single row, OPEN_SUMS. */
#define LINE_VECTORS (OPEN_SUMS / LINE_ROWS)

struct FN(line) {
    const struct op *op;
    const struct field *from;
    struct field *to;
    bool past_caches;
    unsigned channel;
    struct reach reach; /* along the axis */
    size_t taps;
    const REAL *weights; /* of the taps, which are neighbours */
    bool crosses_planes; /* which the axis is, if not the rows or the samples of one */
    const REAL **rows;   /* that a group of sums reads, in the order of the axis */
    REAL *scratch;       /* a row between its ends, or one of what is outside */
    REAL outside;
};

/* Rows next to one another along the axis, on their way to where they are written. */
struct FN(group) {
    size_t rows, samples;
    REAL *out[LINE_ROWS];
    bool past_caches;
};

/* The q-th row that is read goes into the open sums from `first` on, the last of which it may begin. */
ISA_INLINE void FN(add_row)(const struct FN(line) * line, size_t q, size_t x, size_t vectors, size_t first,
                            size_t end, bool begins, FN(vector) open[LINE_ROWS][OPEN_SUMS])
{
    const REAL *values = line->rows[q] + x, *weights = line->weights + q;

#pragma GCC unroll 4
    for (size_t i = first; i < end; i++) {
        FN(vector) weight = FN(vector_splat)(*(weights - i));
#pragma GCC unroll 8
        for (size_t v = 0; v < vectors; v++) {
            FN(vector) value = FN(vector_load)(values + v * LANES);
            open[i][v] = begins && i + 1 == end ? weight * value : FN(isa_fma)(weight, value, open[i][v]);
        }
    }
}

/* So many rows of sums, of which there are no more than taps, and vectors of each. */
ISA_INLINE void FN(line_vectors)(const struct FN(line) * line, const struct FN(group) * group, size_t x,
                                 size_t rows, size_t vectors)
{
    FN(vector) open[LINE_ROWS][OPEN_SUMS];

#pragma GCC unroll 4
    for (size_t q = 0; q < rows; q++)
        FN(add_row)(line, q, x, vectors, 0, q + 1, true, open);
    for (size_t q = rows; q < line->taps; q++)
        FN(add_row)(line, q, x, vectors, 0, rows, false, open);
#pragma GCC unroll 4
    for (size_t i = 1; i < rows; i++)
        FN(add_row)(line, line->taps - 1 + i, x, vectors, i, rows, false, open);
#pragma GCC unroll 4
    for (size_t i = 0; i < rows; i++) {
#pragma GCC unroll 8
        for (size_t v = 0; v < vectors; v++) {
            REAL *out = group->out[i] + x + v * LANES;
            if (group->past_caches)
                FN(isa_stream)(out, open[i][v]);
            else
                FN(vector_store)(out, open[i][v]);
        }
    }
}

/* One sample of each row, where there are fewer than a vector has. */
static void FN(line_sample)(const struct FN(line) * line, const struct FN(group) * group, size_t x)
{
    for (size_t i = 0; i < group->rows; i++) {
        REAL sum = line->weights[0] * line->rows[i][x];
        for (size_t k = 1; k < line->taps; k++)
            sum = FN(arith_fma)(line->weights[k], line->rows[i + k][x], sum);
        group->out[i][x] = sum;
    }
}

/* The last vector ends where the samples do, and so computes some for a second time. */
ISA_INLINE void FN(line_group)(const struct FN(line) * line, struct FN(group) * group, size_t rows,
                               size_t vectors)
{
    size_t x = 0, count = group->samples;

    for (; x + vectors * LANES <= count; x += vectors * LANES)
        FN(line_vectors)(line, group, x, rows, vectors);
    group->past_caches = false;
    for (; x + LANES <= count; x += LANES)
        FN(line_vectors)(line, group, x, rows, 1);
    if (x < count && count >= LANES)
        FN(line_vectors)(line, group, count - LANES, rows, 1);
    for (; x < count && count < LANES; x++)
        FN(line_sample)(line, group, x);
}

static void FN(sum_group)(const struct FN(line) * line, struct FN(group) * group)
{
    group->past_caches = line->past_caches;
    for (size_t i = 0; i < group->rows; i++)
        group->past_caches = group->past_caches && (uintptr_t)group->out[i] % VECTOR_BYTES == 0;
    if (group->rows == LINE_ROWS)
        FN(line_group)(line, group, LINE_ROWS, LINE_VECTORS);
    else
        FN(line_group)(line, group, 1, OPEN_SUMS);
}

/* A part of a row, all along which the taps read beside it. */
static REAL *FN(line_at)(const struct FN(line) * line, const struct field *field, int64_t plane, int64_t row,
                         int64_t x)
{
    return FN(row_of)(field, (size_t)plane, line->channel, (size_t)row) + x;
}

static void FN(hold_line)(const struct FN(line) * line, int64_t plane, int64_t row, struct span x)
{
    memcpy(FN(line_at)(line, line->to, plane, row, x.first),
           FN(line_at)(line, line->from, plane, row, x.first), (size_t)(x.end - x.first) * sizeof(REAL));
}

/* The part of an axis whose sums are computed; the rest is held. */
static struct span FN(computed)(const struct FN(line) * line, int64_t extent, struct span part)
{
    struct span own = {-(int64_t)line->reach.low, extent - (int64_t)line->reach.high};

    if (line->op->edge != EDGE_HOLD)
        return part;
    own.first = own.first < part.first ? part.first : own.first > part.end ? part.end : own.first;
    own.end = own.end > part.end ? part.end : own.end < own.first ? own.first : own.end;
    return own;
}

/* ---- along the rows ---- */

static void FN(copy_ends)(const struct FN(line) * line, const REAL *row, struct span x, REAL *to)
{
    for (; x.first < x.end; x.first++) {
        int64_t inside = arith_edge_index(line->op->edge, x.first, (int64_t)line->from->shape.nx);
        *to++ = inside < 0 ? line->outside : row[inside];
    }
}

/* Samples of a row that the sums of others read, into scratch. */
static void FN(copy_row)(const struct FN(line) * line, const REAL *row, struct span read)
{
    struct span inside = clipped(read, (int64_t)line->from->shape.nx);

    FN(copy_ends)(line, row, (struct span){read.first, inside.first}, line->scratch);
    memcpy(line->scratch + (inside.first - read.first), row + inside.first,
           (size_t)(inside.end - inside.first) * sizeof *row);
    FN(copy_ends)
    (line, row, (struct span){inside.end, read.end}, line->scratch + (inside.end - read.first));
}

static void FN(line_in_row)(const struct FN(line) * line, int64_t plane, int64_t row, struct span x)
{
    struct span own = FN(computed)(line, (int64_t)line->from->shape.nx, x);
    struct FN(group) group = {.rows = 1, .samples = (size_t)(own.end - own.first)};

    FN(hold_line)(line, plane, row, (struct span){x.first, own.first});
    FN(hold_line)(line, plane, row, (struct span){own.end, x.end});
    if (own.first == own.end)
        return;
    FN(copy_row)
    (line, FN(line_at)(line, line->from, plane, row, 0),
     (struct span){own.first + line->reach.low, own.end + line->reach.high});
    for (size_t k = 0; k < line->taps; k++)
        line->rows[k] = line->scratch + k;
    group.out[0] = FN(line_at)(line, line->to, plane, row, own.first);
    FN(sum_group)(line, &group);
}

static void FN(lines_in_rows)(const struct FN(line) * line, int64_t plane, struct span rows, struct span x)
{
    for (int64_t row = rows.first; row < rows.end; row++)
        FN(line_in_row)(line, plane, row, x);
}

/* ---- across the rows or the planes ---- */

/* The row at an index of the axis, and another of the other one. */
static REAL *FN(row_across)(const struct FN(line) * line, const struct field *field, int64_t index,
                            int64_t other, int64_t x)
{
    return line->crosses_planes ? FN(line_at)(line, field, index, other, x)
                                : FN(line_at)(line, field, other, index, x);
}

static void FN(group_across)(const struct FN(line) * line, int64_t first, size_t rows, int64_t other,
                             struct span x)
{
    const struct shape *shape = &line->from->shape;
    int64_t extent = (int64_t)(line->crosses_planes ? shape->planes : shape->rows);
    struct FN(group) group = {.rows = rows, .samples = (size_t)(x.end - x.first)};

    for (size_t q = 0; q < line->taps + rows - 1; q++) {
        int64_t index = arith_edge_index(line->op->edge, first + line->reach.low + (int64_t)q, extent);
        line->rows[q] = index < 0 ? line->scratch : FN(row_across)(line, line->from, index, other, x.first);
    }
    for (size_t i = 0; i < rows; i++)
        group.out[i] = FN(row_across)(line, line->to, first + (int64_t)i, other, x.first);
    FN(sum_group)(line, &group);
}

static void FN(hold_across)(const struct FN(line) * line, struct span along, struct span others,
                            struct span x)
{
    for (int64_t i = along.first; i < along.end; i++) {
        for (int64_t other = others.first; other < others.end; other++) {
            if (line->crosses_planes)
                FN(hold_line)(line, i, other, x);
            else
                FN(hold_line)(line, other, i, x);
        }
    }
}

static void FN(lines_across)(const struct FN(line) * line, const struct axis *along, struct span others,
                             struct span x)
{
    struct span own = FN(computed)(line, along->extent, along->own);
    int64_t rows;

    FN(hold_across)(line, (struct span){along->own.first, own.first}, others, x);
    FN(hold_across)(line, (struct span){own.end, along->own.end}, others, x);
    for (int64_t i = own.first; i < own.end; i += rows) {
        rows = own.end - i < LINE_ROWS ? 1 : LINE_ROWS;
        for (int64_t other = others.first; other < others.end; other++)
            FN(group_across)(line, i, (size_t)rows, other, x);
    }
}

/* ---- a part of the field ---- */

/* A thread's part of its arena is the weights, the scratch and the pointers of a tile's. */
static void FN(lay_out_line)(struct FN(line) * line, const struct cpu_tiling *tiling, char *arena)
{
    const struct op *op = line->op;
    REAL *weights = (REAL *)arena;

    for (size_t k = 0; k < line->taps; k++)
        weights[k] = (REAL)op->taps[k].weight;
    line->weights = weights;
    line->scratch = weights + line->taps;
    line->rows = (const REAL **)(arena + tiling->pointers_at);
    line->outside = op->outside == NULL ? (REAL)0 : (REAL)op->outside[line->channel];
    for (size_t i = 0; i < tiling->pitch; i++)
        line->scratch[i] = line->outside;
}

static void FN(line_tile)(struct FN(line) * line, const struct cpu_tiling *tiling, char *arena,
                          const struct axis *axes)
{
    const struct op *op = line->op;
    struct span planes = axes[2].own, rows = axes[1].own;

    line->taps = op->tap_count;
    line->crosses_planes = op->plane.low != op->plane.high;
    line->reach = line->crosses_planes ? op->plane : op->row.low != op->row.high ? op->row : op->x;
    FN(lay_out_line)(line, tiling, arena);
    if (line->crosses_planes) {
        FN(lines_across)(line, &axes[2], rows, axes[0].own);
        return;
    }
    for (int64_t plane = planes.first; plane < planes.end; plane++) {
        if (op->row.low != op->row.high)
            FN(lines_across)(line, &axes[1], (struct span){plane, plane + 1}, axes[0].own);
        else
            FN(lines_in_rows)(line, plane, rows, axes[0].own);
    }
}
