/* Rung `blocked` where all taps lie along one axis, as those of a pass do.
 *
 * Known as: separable convolution; register blocking along the axis.
 * Idea: rows are read in place. Across rows or planes, the sums of a few rows that follow one another along
 *   the axis are open at once, and a sample, once loaded, goes into all of them, each time as the next tap
 *   in raster order. Along a row, samples and those that the edge rule puts at its ends are copied to
 *   scratch, where each tap reads at a fixed distance.
 * Adds: nothing but that scratch.
 * Costs: a group of sums reads again most rows that the one before it has read.
 * Traffic per sample: 2 words through memory.
 * Wins when: the chain is long and there is one step to take. */

/* Vectors of each of LINE_ROWS rows whose sums are open at once; a single row has OPEN_SUMS. */
#define LINE_VECTORS (OPEN_SUMS / LINE_ROWS)

struct line {
    const struct op *op;
    const struct field *from;
    struct field *to;
    bool past_caches;
    unsigned channel;
    struct reach reach; /* along the axis */
    size_t taps;        /* neighbours along the axis, without a gap */
    const real *weights;
    bool crosses_planes; /* the axis is that of the planes */
    const real **rows;   /* that a group of sums reads, in the order of the axis */
    real *scratch;       /* a row and what the edge rule puts at its ends, or a row of `outside` */
    real outside;        /* the value of EDGE_CONSTANT */
};

/* Rows next to one another along the axis that are computed together. */
struct group {
    size_t rows, samples;
    real *out[LINE_ROWS];
    bool past_caches;
};

/* Add the q-th row that is read to the open sums from `first` on; it begins the last of them, or none. */
ISA_INLINE void add_row(const struct line *line, size_t q, size_t x, size_t vectors, size_t first, size_t end,
                        bool begins, vector open[LINE_ROWS][OPEN_SUMS])
{
    const real *values = line->rows[q] + x, *weights = line->weights + q;

#pragma GCC unroll 4
    for (size_t i = first; i < end; i++) {
        vector weight = vector_splat(*(weights - i));
#pragma GCC unroll 8
        for (size_t v = 0; v < vectors; v++) {
            vector value = vector_load(values + v * LANES);
            open[i][v] = begins && i + 1 == end ? weight * value : vector_fma(weight, value, open[i][v]);
        }
    }
}

/* Vectors of sums of a number of rows, at most as many as there are taps. First each row that is read begins
   another sum, then all sums are open, and at last one sum after another ends. */
ISA_INLINE void line_vectors(const struct line *line, const struct group *group, size_t x, size_t rows,
                             size_t vectors)
{
    vector open[LINE_ROWS][OPEN_SUMS];

#pragma GCC unroll 4
    for (size_t q = 0; q < rows; q++)
        add_row(line, q, x, vectors, 0, q + 1, true, open);
    for (size_t q = rows; q < line->taps; q++)
        add_row(line, q, x, vectors, 0, rows, false, open);
#pragma GCC unroll 4
    for (size_t i = 1; i < rows; i++)
        add_row(line, line->taps - 1 + i, x, vectors, i, rows, false, open);
#pragma GCC unroll 4
    for (size_t i = 0; i < rows; i++) {
#pragma GCC unroll 8
        for (size_t v = 0; v < vectors; v++)
            vector_put(group->past_caches, group->out[i] + x + v * LANES, open[i][v]);
    }
}

/* One sample of each row, in rows that are shorter than a vector. */
static void line_sample(const struct line *line, const struct group *group, size_t x)
{
    for (size_t i = 0; i < group->rows; i++) {
        real sum = line->weights[0] * line->rows[i][x];
        for (size_t k = 1; k < line->taps; k++)
            sum = real_fma(line->weights[k], line->rows[i + k][x], sum);
        group->out[i][x] = sum;
    }
}

/* The last vector ends where the samples do, and so computes some for a second time. */
ISA_INLINE void line_group(const struct line *line, struct group *group, size_t rows, size_t vectors)
{
    size_t x = 0, count = group->samples;

    for (; x + vectors * LANES <= count; x += vectors * LANES)
        line_vectors(line, group, x, rows, vectors);
    group->past_caches = false;
    for (; x + LANES <= count; x += LANES)
        line_vectors(line, group, x, rows, 1);
    if (x < count && count >= LANES)
        line_vectors(line, group, count - LANES, rows, 1);
    for (; x < count && count < LANES; x++)
        line_sample(line, group, x);
}

/* By the loop for the group's number of rows. Streaming stores need rows that begin where vectors may. */
static void sum_group(const struct line *line, struct group *group)
{
    group->past_caches = line->past_caches;
    for (size_t i = 0; i < group->rows; i++)
        group->past_caches = group->past_caches && (uintptr_t)group->out[i] % VECTOR_BYTES == 0;
    if (group->rows == LINE_ROWS)
        line_group(line, group, LINE_ROWS, LINE_VECTORS);
    else
        line_group(line, group, 1, OPEN_SUMS);
}

/* A sample of the channel in a field. */
static real *line_at(const struct line *line, const struct field *field, int64_t plane, int64_t row,
                     int64_t x)
{
    return row_of(field, (size_t)plane, line->channel, (size_t)row) + x;
}

static void hold_line(const struct line *line, int64_t plane, int64_t row, struct span x)
{
    memcpy(line_at(line, line->to, plane, row, x.first), line_at(line, line->from, plane, row, x.first),
           (size_t)(x.end - x.first) * sizeof(real));
}

/* The part of an axis whose sums are computed; the rest is held. */
static struct span computed(const struct line *line, int64_t extent, struct span part)
{
    struct span own = {-(int64_t)line->reach.low, extent - (int64_t)line->reach.high};

    if (!edge_has(line->op->edge, EDGE_KEEPS_SAMPLE))
        return part;
    own.first = own.first < part.first ? part.first : own.first > part.end ? part.end : own.first;
    own.end = own.end > part.end ? part.end : own.end < own.first ? own.first : own.end;
    return own;
}

/* ---- along the rows ---- */

/* Samples outside the grid, by the edge rule. */
static void copy_ends(const struct line *line, const real *row, struct span x, real *to)
{
    for (; x.first < x.end; x.first++) {
        int64_t inside = arith_edge_index(line->op->edge, x.first, (int64_t)line->from->shape.nx);
        *to++ = inside < 0 ? line->outside : row[inside];
    }
}

/* Copy the samples of a row that a run of sums reads into scratch. */
static void copy_row(const struct line *line, const real *row, struct span read)
{
    struct span inside = common_span(read, (struct span){0, (int64_t)line->from->shape.nx});

    copy_ends(line, row, (struct span){read.first, inside.first}, line->scratch);
    memcpy(line->scratch + (inside.first - read.first), row + inside.first,
           (size_t)(inside.end - inside.first) * sizeof *row);
    copy_ends(line, row, (struct span){inside.end, read.end}, line->scratch + (inside.end - read.first));
}

/* Taps along x: the tap k reads scratch from k on. */
static void line_in_row(const struct line *line, int64_t plane, int64_t row, struct span x)
{
    struct span own = computed(line, (int64_t)line->from->shape.nx, x);
    struct group group = {.rows = 1, .samples = (size_t)(own.end - own.first)};

    hold_line(line, plane, row, (struct span){x.first, own.first});
    hold_line(line, plane, row, (struct span){own.end, x.end});
    if (own.first == own.end)
        return;
    copy_row(line, line_at(line, line->from, plane, row, 0),
             (struct span){own.first + line->reach.low, own.end + line->reach.high});
    for (size_t k = 0; k < line->taps; k++)
        line->rows[k] = line->scratch + k;
    group.out[0] = line_at(line, line->to, plane, row, own.first);
    sum_group(line, &group);
}

/* ---- across the rows or the planes ---- */

/* The row at an index of the axis that is crossed; `other` is the index of planes or rows that is not. */
static real *row_across(const struct line *line, const struct field *field, int64_t index, int64_t other,
                        int64_t x)
{
    return line->crosses_planes ? line_at(line, field, index, other, x)
                                : line_at(line, field, other, index, x);
}

/* Rows that follow one another along the axis, as a group. */
static void group_across(const struct line *line, int64_t first, size_t rows, int64_t other, struct span x)
{
    const struct shape *shape = &line->from->shape;
    int64_t extent = (int64_t)(line->crosses_planes ? shape->planes : shape->rows);
    struct group group = {.rows = rows, .samples = (size_t)(x.end - x.first)};

    for (size_t q = 0; q < line->taps + rows - 1; q++) {
        int64_t index = arith_edge_index(line->op->edge, first + line->reach.low + (int64_t)q, extent);
        line->rows[q] = index < 0 ? line->scratch : row_across(line, line->from, index, other, x.first);
    }
    for (size_t i = 0; i < rows; i++)
        group.out[i] = row_across(line, line->to, first + (int64_t)i, other, x.first);
    sum_group(line, &group);
}

/* Copy rows that EDGE_HOLD keeps. */
static void hold_across(const struct line *line, struct span along, struct span others, struct span x)
{
    for (int64_t i = along.first; i < along.end; i++) {
        for (int64_t other = others.first; other < others.end; other++)
            hold_line(line, line->crosses_planes ? i : other, line->crosses_planes ? other : i, x);
    }
}

/* All rows of a part whose taps cross rows or planes. */
static void lines_across(const struct line *line, const struct axis *along, struct span others, struct span x)
{
    struct span own = computed(line, along->extent, along->own);
    int64_t rows;

    hold_across(line, (struct span){along->own.first, own.first}, others, x);
    hold_across(line, (struct span){own.end, along->own.end}, others, x);
    /* Groups of LINE_ROWS; the last few rows are groups of one. */
    for (int64_t i = own.first; i < own.end; i += rows) {
        rows = own.end - i < LINE_ROWS ? 1 : LINE_ROWS;
        for (int64_t other = others.first; other < others.end; other++)
            group_across(line, i, (size_t)rows, other, x);
    }
}

/* ---- a part of the field ---- */

/* No slots: what is before the weights in an arena is room for two rows. */
static void lay_out_line(struct line *line, const struct cpu_tiling *tiling, char *arena)
{
    const struct op *op = line->op;

    line->weights = put_weights(op, arena + tiling->layout.weights);
    line->scratch = (real *)arena;
    line->rows = (const real **)(arena + tiling->layout.bases);
    line->outside = outside_of(op, line->channel);
    for (size_t i = 0; i < tiling->pitch; i++)
        line->scratch[i] = line->outside;
}

static void line_part(const struct cpu_sweep *sweep, struct range channels, const struct axis *axes,
                      char *arena)
{
    const struct op *op = sweep->op;
    bool crosses_planes = op->plane.low != op->plane.high, crosses_rows = op->row.low != op->row.high;
    struct span planes = axes[2].own, rows = axes[1].own, x = axes[0].own;
    struct line line = {.op = op,
                        .from = sweep->from,
                        .to = sweep->to,
                        .past_caches = sweep->past_caches,
                        .channel = (unsigned)channels.first,
                        .reach = crosses_planes ? op->plane
                                 : crosses_rows ? op->row
                                                : op->x,
                        .taps = op->tap_count,
                        .crosses_planes = crosses_planes};

    lay_out_line(&line, sweep->tiling, arena);
    if (crosses_planes) {
        lines_across(&line, &axes[2], rows, x);
        return;
    }
    for (int64_t plane = planes.first; plane < planes.end; plane++) {
        if (crosses_rows)
            lines_across(&line, &axes[1], (struct span){plane, plane + 1}, x);
        for (int64_t row = rows.first; row < rows.end && !crosses_rows; row++)
            line_in_row(&line, plane, row, x);
    }
}
