/* A sweep takes a field some steps on in one pass. It is cut into parts: groups of channels, runs of planes,
 * runs of rows, tiles of a row. Threads take parts as they become free, and no part waits for another: each
 * reads the field as it was before the pass, and computes again what it needs of its neighbours' samples.
 *
 * An engine gets a part as three axes: along each, which samples are the part's own, and how far around a
 * sample a step reads. With several steps in a pass (temporal blocking), the last step computes the part's
 * own samples, the step before it a margin more on either side, and so on: level_span says what each step
 * must compute. */

/* ---- an axis of a part ---- */

/* Indices from `first` to before `end`. */
struct span {
    int64_t first, end;
};

struct axis {
    struct span own;          /* samples that the part puts out */
    int64_t extent;           /* of the grid */
    struct cpu_margin margin; /* that a step may read around a sample */
    bool wraps;               /* indices outside the grid are those at its other end */
};

/* The margin that steps do read. At an end of the grid a rule that mirrors turns taps round, so that they
   read as far on the other side: the margin of the axis has room for that. Elsewhere taps read just as far as
   they reach, and a field that holds a part of the grid has no more than that. */
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

/* The samples that a level must have if `left` more steps follow, as far as they would be if the grid had no
   ends. */
static struct span unclipped_span(const struct axis *axis, unsigned left)
{
    return (struct span){axis->own.first - (int64_t)(axis->margin.before * left),
                         axis->own.end + (int64_t)(axis->margin.after * left)};
}

/* The indices that two spans share; none: an empty span. */
static struct span common_span(struct span a, struct span b)
{
    struct span span = {a.first > b.first ? a.first : b.first, a.end < b.end ? a.end : b.end};

    if (span.end < span.first)
        span.end = span.first;
    return span;
}

/* The same in the grid. Along an axis that wraps, samples outside the grid are computed like any other, as
   copies of those at the other end; elsewhere the edge rule fills them. */
static struct span level_span(const struct axis *axis, unsigned left)
{
    struct span span = unclipped_span(axis, left);

    return axis->wraps ? span : common_span(span, (struct span){0, axis->extent});
}

/* The indices before the grid, and those behind it, that the next level reads. */
static struct span margin_before(const struct axis *axis, unsigned left)
{
    struct span outside = {-(int64_t)axis->margin.before, 0};

    return common_span(outside, unclipped_span(axis, left));
}

static struct span margin_behind(const struct axis *axis, unsigned left)
{
    struct span outside = {axis->extent, axis->extent + (int64_t)axis->margin.after};

    return common_span(outside, unclipped_span(axis, left));
}

/* The index in [0, n) that a periodic axis has at an index. */
static int64_t wrapped(int64_t index, int64_t n)
{
    return arith_edge_index(EDGE_WRAP, index, n);
}

/* Copy samples of a periodic row. */
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

/* Computes a part, by one thread with an arena of its own: axes[0] is x, axes[1] the rows, axes[2] the
 * planes. */
typedef void sweep_part(const struct cpu_sweep *sweep, struct range channels, const struct axis *axes,
                        char *arena);

static struct axis axis_of(const struct op *op, struct cpu_margin margin, size_t extent, size_t first,
                           size_t count, size_t end)
{
    return (struct axis){.own = {(int64_t)first, (int64_t)size_least(first + count, end)},
                         .extent = (int64_t)extent,
                         .margin = margin,
                         .wraps = edge_has(op->edge, EDGE_PERIODIC)};
}

/* Write the weights of an op, in the work type, to a place of an arena. */
static const real *put_weights(const struct op *op, char *to)
{
    real *weights = (real *)to;

    for (size_t k = 0; k < op->tap_count; k++)
        weights[k] = (real)op->taps[k].weight;
    return weights;
}

/* A sweep and its parts, which are numbered: tiles of a row first, then runs of rows, runs of planes, groups
   of channels. */
struct cut_sweep {
    const struct cpu_sweep *sweep;
    sweep_part *part;
    struct cpu_cut cut; /* rows and planes of a run */
    size_t runs_of_planes, runs_of_rows, tiles;
};

static void sweep_parts(void *context, size_t first, size_t count, unsigned member)
{
    const struct cut_sweep *cut = context;
    const struct cpu_sweep *sweep = cut->sweep;
    const struct cpu_tiling *tiling = sweep->tiling;
    const struct shape *shape = &sweep->to->shape;
    size_t end = sweep->planes.first + sweep->planes.count;
    char *arena = sweep->arenas + member * sweep->arena_bytes;

    for (size_t i = first; i < first + count; i++) {
        /* The part's number, digit by digit: tile, run of rows, run of planes, group of channels. */
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

/* Cut the sweep and share its parts among the threads. */
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
}

/* ---- write-behind ---- */

/* Finished planes leave the cache a portion at a time, and planes that will be read soon come in likewise. A
   thread moves one portion after each row that it computes, so that memory is busy while the core computes,
   and neither waits for the other (software pipelining of copies and arithmetic).

   Known as: write-behind with non-temporal (streaming) stores, and software prefetch; double buffering. */

/* Planes that a tile takes in together, and that each level then computes together. */
#define TOGETHER 2

/* Rows that are copied, or only fetched; as rows are done, the block shrinks to those that are left. */
struct byte_block {
    const char *from;
    char *to;                            /* NULL: into the cache */
    size_t bytes;                        /* of a row */
    size_t from_stride, to_stride, rows; /* strides in bytes */
};

struct write_behind {
    struct byte_block leaving[TOGETHER * MOST_LAYERS];
    size_t count, first; /* blocks, and the first that has rows left */
    size_t moved;        /* bytes of its first row that are done */
    size_t portion;      /* bytes at a time */
    bool past_caches;    /* by streaming stores */

    /* Likewise for what comes in. */
    struct byte_block expected[TOGETHER * MOST_LAYERS + 1];
    size_t expected_count, expected_first, fetched, fetch_portion;
};

static size_t rounded_to_lines(size_t bytes)
{
    return (bytes + ISA_LINE - 1) / ISA_LINE * ISA_LINE;
}

static void write_behind_clear(struct write_behind *behind)
{
    behind->count = behind->first = behind->moved = 0;
    behind->expected_count = behind->expected_first = behind->fetched = 0;
}

static void write_behind_add(struct write_behind *behind, struct byte_block block)
{
    behind->leaving[behind->count++] = block;
}

static void write_behind_expect(struct write_behind *behind, struct byte_block block)
{
    behind->expected[behind->expected_count++] = block;
}

/* The bytes at a time that move all blocks in a number of turns. */
static size_t portion_of(const struct byte_block *blocks, size_t count, size_t turns)
{
    size_t bytes = 0;

    for (size_t i = 0; i < count; i++)
        bytes += blocks[i].rows * rounded_to_lines(blocks[i].bytes);
    return rounded_to_lines(bytes / turns + 1);
}

/* Spread what waits over the turns that are coming. */
static void write_behind_pace(struct write_behind *behind, size_t turns)
{
    behind->portion = portion_of(behind->leaving, behind->count, turns);
    behind->fetch_portion = portion_of(behind->expected, behind->expected_count, turns);
}

/* Fetch a portion of the blocks that are expected. */
static void prefetch_portion(struct write_behind *behind)
{
    struct byte_block *block = &behind->expected[behind->expected_first];
    size_t end;

    if (behind->expected_first == behind->expected_count)
        return;
    end = size_least(behind->fetched + behind->fetch_portion, block->bytes);
    for (; behind->fetched < end; behind->fetched += ISA_LINE)
        isa_fetch(block->from + behind->fetched);
    if (end < block->bytes)
        return;
    /* The row is done: on to the next one, or to the next block. */
    behind->fetched = 0;
    block->from += block->from_stride;
    if (--block->rows == 0)
        behind->expected_first++;
}

/* Copy bytes, by streaming stores if nobody would find them in the caches. */
static void copy_out(bool past_caches, void *to, const void *from, size_t bytes)
{
    if (past_caches)
        isa_copy_past_caches(to, from, bytes);
    else
        memcpy(to, from, bytes);
}

/* Portions end where lines do, so that each line leaves whole. */
static void write_portion(struct write_behind *behind)
{
    struct byte_block *block = &behind->leaving[behind->first];
    size_t bytes;

    if (behind->first == behind->count)
        return;
    bytes = behind->portion + -((uintptr_t)block->to + behind->moved) % ISA_LINE;
    bytes = size_least(bytes, block->bytes - behind->moved);
    copy_out(behind->past_caches, block->to + behind->moved, block->from + behind->moved, bytes);
    behind->moved += bytes;
    if (behind->moved < block->bytes)
        return;
    behind->moved = 0;
    block->from += block->from_stride;
    block->to += block->to_stride;
    if (--block->rows == 0)
        behind->first++;
}

/* A turn: one portion in, one portion out. */
static void write_behind_once(struct write_behind *behind)
{
    prefetch_portion(behind);
    write_portion(behind);
}

/* Write the rest now. */
static void write_behind_drain(struct write_behind *behind)
{
    while (behind->first < behind->count)
        write_portion(behind);
}
