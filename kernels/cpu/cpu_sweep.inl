/* A sweep cut into parts, which threads take one after the other: groups of channels, runs of planes, runs of
   rows, tiles. */

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
        .cut = cpu_tiling_cut(sweep->tiling, shape, sweep->planes.count, (int)sweep->crew.members)};

    cut.runs_of_planes = size_divided_up(sweep->planes.count, cut.cut.planes);
    cut.runs_of_rows = size_divided_up(shape->rows, cut.cut.rows);
    cut.tiles = size_divided_up(shape->nx, sweep->tiling->tile_x);
    cpu_crew_share(&sweep->crew, sweep->tiling->groups * cut.runs_of_planes * cut.runs_of_rows * cut.tiles, 1,
                   sweep_parts, &cut);
    keep_channels(sweep->op, sweep->from, sweep->to, sweep->planes, &sweep->crew);
}
