/* A sweep over a field is cut into parts, which threads take one after the other: groups of channels, runs of
   planes, runs of rows, tiles. A part is told to an engine by its three axes: along each, which samples are
   its own, and how far beside them a step reads. An engine that takes several steps asks how much of an axis
   each of them needs: the first computes most, the last the part's own samples. */

/* ---- an axis of a part ---- */

struct span {
    int64_t first, end;
};

struct axis {
    struct span own;
    int64_t extent; /* of the grid */
    struct cpu_margin margin;
    bool wraps;
};

/* Taps read as far as they reach. Beside an end of the grid a rule that mirrors turns them round, and so the
   other side may be asked for as much: the axis has room for that, which a field that holds a part of the
   grid has nothing for elsewhere. */
static struct cpu_margin margin_read(const struct axis *axis, struct reach reach, unsigned steps)
{
    struct cpu_margin margin = {(size_t) - (int64_t)reach.low, (size_t)reach.high};
    bool before = axis->own.first < (int64_t)(margin.before * steps);
    bool behind = axis->own.end + (int64_t)(margin.after * steps) > axis->extent;

    if (behind)
        margin.before = axis->margin.before;
    if (before)
        margin.after = axis->margin.after;
    return margin;
}

/* What a level must have while `left` more follow; indices outside the grid stand for themselves when an axis
   wraps, and are left to the edge rule when it does not. */
static struct span unclipped_span(const struct axis *axis, unsigned left)
{
    struct span span = {axis->own.first - (int64_t)(axis->margin.before * left),
                        axis->own.end + (int64_t)(axis->margin.after * left)};

    return span;
}

static struct span clipped(struct span span, int64_t extent)
{
    span.first = span.first < 0 ? 0 : span.first;
    span.end = span.end > extent ? extent : span.end;
    return span;
}

/* What two spans share; where that is nothing, an end that is the first. */
static struct span common_span(struct span a, struct span b)
{
    struct span span = {a.first > b.first ? a.first : b.first, a.end < b.end ? a.end : b.end};

    if (span.end < span.first)
        span.end = span.first;
    return span;
}

static struct span level_span(const struct axis *axis, unsigned left)
{
    struct span span = unclipped_span(axis, left);

    return axis->wraps ? span : clipped(span, axis->extent);
}

/* The indices before and behind the grid that the next level reads. */
static struct span margin_before(const struct axis *axis, unsigned left)
{
    struct span span = {unclipped_span(axis, left).first, 0};
    int64_t farthest = -(int64_t)axis->margin.before;

    if (span.first < farthest)
        span.first = farthest;
    return span;
}

static struct span margin_behind(const struct axis *axis, unsigned left)
{
    struct span span = {axis->extent, unclipped_span(axis, left).end};
    int64_t farthest = axis->extent + (int64_t)axis->margin.after;

    if (span.end > farthest)
        span.end = farthest;
    return span;
}

/* The index in [0, n) at the same place of a period. */
static int64_t wrapped(int64_t index, int64_t n)
{
    return arith_edge_index(EDGE_WRAP, index, n);
}

/* Samples of a row of the field, which starts anew as often as they leave it. */
static void copy_around(const real *row, int64_t extent, struct span x, real *to)
{
    while (x.first < x.end) {
        int64_t inside = wrapped(x.first, extent);
        int64_t count = extent - inside < x.end - x.first ? extent - inside : x.end - x.first;
        memcpy(to, row + inside, (size_t)count * sizeof *to);
        to += count;
        x.first += count;
    }
}

/* ---- the parts ---- */

/* What a thread takes on at once: channels of a run of planes, rows and samples, the axes x, row and plane.
 */
typedef void sweep_part(const struct cpu_sweep *sweep, struct range channels, const struct axis *axes,
                        char *arena);

static struct axis axis_of(const struct op *op, struct cpu_margin margin, size_t extent, size_t first,
                           size_t count, size_t end)
{
    struct axis axis = {
        .extent = (int64_t)extent, .margin = margin, .wraps = edge_has(op->edge, EDGE_PERIODIC)};

    axis.own.first = (int64_t)first;
    axis.own.end = (int64_t)(first + count < end ? first + count : end);
    return axis;
}

/* The weights of an op in the work type, at a place of an arena. */
static const real *put_weights(const struct op *op, char *to)
{
    real *weights = (real *)to;

    for (size_t k = 0; k < op->tap_count; k++)
        weights[k] = (real)op->taps[k].weight;
    return weights;
}

struct cut_sweep {
    const struct cpu_sweep *sweep;
    sweep_part *part;
    struct cpu_cut cut;
    size_t runs_of_planes, runs_of_rows, tiles;
};

static void sweep_parts(void *context, struct range parts, unsigned member)
{
    const struct cut_sweep *cut = context;
    const struct cpu_sweep *sweep = cut->sweep;
    const struct cpu_tiling *tiling = sweep->tiling;
    const struct shape *shape = &sweep->to->shape;
    size_t end = sweep->planes.first + sweep->planes.count;
    char *arena = sweep->arenas + member * sweep->arena_bytes;

    for (size_t i = parts.first; i < parts.first + parts.count; i++) {
        size_t x = i % cut->tiles * tiling->tile_x, runs = i / cut->tiles;
        size_t row = runs % cut->runs_of_rows * cut->cut.rows;
        size_t run = runs / cut->runs_of_rows % cut->runs_of_planes;
        const struct axis axes[] = {
            axis_of(sweep->op, tiling->x, shape->nx, x, tiling->tile_x, shape->nx),
            axis_of(sweep->op, tiling->row, shape->rows, row, cut->cut.rows, shape->rows),
            axis_of(sweep->op, tiling->plane, shape->planes, sweep->planes.first + run * cut->cut.planes,
                    cut->cut.planes, end)};
        cut->part(sweep, op_group(sweep->op, runs / cut->runs_of_rows / cut->runs_of_planes), axes, arena);
        isa_stores_done();
    }
}

static void run_parts(const struct cpu_sweep *sweep, sweep_part *part)
{
    const struct shape *shape = &sweep->to->shape;
    struct cut_sweep cut = {
        .sweep = sweep,
        .part = part,
        .cut = cpu_tiling_cut(sweep->tiling, shape, sweep->planes.count, (int)sweep->threads.members)};

    cut.runs_of_planes = size_divided_up(sweep->planes.count, cut.cut.planes);
    cut.runs_of_rows = size_divided_up(shape->rows, cut.cut.rows);
    cut.tiles = size_divided_up(shape->nx, sweep->tiling->tile_x);
    cpu_threads_share(&sweep->threads,
                      sweep->tiling->groups * cut.runs_of_planes * cut.runs_of_rows * cut.tiles, 1,
                      sweep_parts, &cut);
    keep_channels(sweep->op, sweep->from, sweep->to, sweep->planes, &sweep->threads);
}
