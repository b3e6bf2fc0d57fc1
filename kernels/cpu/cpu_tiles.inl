/* Rungs `blocked` and `fused`.
 *
 * Known as: temporal blocking (time skewing), 2.5D blocking in the second-level cache.
 * Idea: a thread takes a tile, a column of the field. It walks the tile block of rows by block, and streams
 * the planes of a block through its own cache. Each plane is at one level: level 0 is the field before the
 * pass, level n has taken n steps. Planes come in two at a time, and every level computes the two planes for
 * which the level below now has all that a step reads. So a plane enters the cache once and leaves it once
 * after `steps` steps; `blocked` is the same with one level. With three steps whose taps reach one plane to
 * either side, when planes 8 and 9 come in:
 *
 *     plane     3   4   5   6   7   8   9
 *     level 0               .   .   +   +     + comes in, or is computed now
 *     level 1           .   .   +   +         . is read for the last time
 *     level 2       .   .   +   +             > leaves for the field meanwhile
 *     level 3   >   >   +   +
 *
 * A plane of a level has a slot of the thread's arena. When the level above has read a plane for the last
 * time, its slot is free for the next plane that is computed: 2 × steps planes wait to be read again, and two
 * each come in, are computed and leave. Two planes of a star need no free slots. They take those of the two
 * planes below that they are the last to read: planes 7 and 8 of level 1 those of planes 6 and 7 of level 0.
 * Rows are computed from the last to the first, and plane 8 is one row farther on than plane 7 of level 0
 * was, since it is computed from that plane itself. A slot has one row to spare for each level, and `shift`
 * counts the rows. Where rows of the field are whole lines, and no edge rule keeps samples as they are, pairs
 * of the last level need no slots: they are written to the field as they are computed.
 *
 * The next block of rows reads rows of this one. Level 0 reads the field again. Every other level keeps the
 * last rows of each of its planes, and finds them when the next block comes to that plane.
 *
 * Adds: slots, kept rows, and margins around each tile that edge rules fill, so that no loop over samples
 *   knows of edges.
 * Costs: neighbours read and compute the halo of a tile along x and the planes again; the kept rows go to
 *   the third-level cache and come back.
 * Traffic per sample: 2 words through memory a pass, divided by the steps of the pass, and the halo.
 * Wins when: `fused`, a stage has more than one step; `blocked`, it has one. */

/* Rows of a plane that a level computes, each from x.first to x.end. */
struct area {
    unsigned level;
    int64_t plane;
    struct span rows, x;
};

struct cpu_tile;

/* Computes the samples of an area, of which u and out are the first, before the step and after it. */
typedef void tile_area(struct cpu_tile *tile, const struct area *area, const real *u, real *out);

/* The products of the faces between two planes of a level, which cpu_faces.inl leaves for the upper one. */
struct flows {
    real *slot;
    int64_t plane; /* the upper one */
};

struct cpu_tile {
    const struct op *op;
    const struct cpu_tiling *tiling;
    const struct field *from;
    struct field *to;
    tile_area *sum;
    bool goes_in_pairs; /* two planes of a level are computed at once, by the star's loop */
    bool goes_straight; /* pairs of the last level are computed into the field, not into slots */
    struct write_behind behind;
    struct range channels; /* that are computed together: each is a layer of a slot */
    struct axis x, row, plane;
    int64_t block; /* first row of the block that streams, at level 0 */

    real *slots;
    struct cpu_slot *free_slots; /* a stack */
    size_t free_count;
    struct cpu_slot *levels; /* where planes are: for each level a ring of tiling->ring planes */
    real *constant;          /* a slot with the values of EDGE_CONSTANT outside the grid, or NULL */
    const real *weights;
    real *kept;         /* rows of the block before, by level and plane */
    const real **bases; /* where each tap reads for an area; for gradients then where its opposite does */
    struct flows flows[MOST_STEPS + 1]; /* by level */
};

/* ---- rows ---- */

/* Rows that a slot of a level holds: those of the block before that are still read, and the block's own. A
   level lags behind the one below by as many rows as taps reach ahead. */
static struct span slot_span(const struct cpu_tile *tile, unsigned level)
{
    const struct cpu_tiling *tiling = tile->tiling;
    int64_t ahead = (int64_t)tiling->row.after, kept = ahead + (int64_t)tiling->row.before;
    struct span span = {tile->block - level * ahead - kept, 0};

    span.end = span.first + (int64_t)tiling->slot_rows;
    return span;
}

/* Rows that a level gains by the block: level 0 reads all anew. */
static struct span block_span(const struct cpu_tile *tile, unsigned level)
{
    struct span span = slot_span(tile, level);

    if (level > 0)
        span.first = span.end - (int64_t)tile->tiling->tile_rows;
    return common_span(span, level_span(&tile->row, tile->tiling->steps - level));
}

/* A sample of a plane in a slot. */
static real *cell(const struct cpu_tile *tile, unsigned level, real *slot, int64_t row, int64_t x)
{
    const struct cpu_tiling *tiling = tile->tiling;
    int64_t slot_row = row - slot_span(tile, level).first;

    return slot + slot_row * (int64_t)tiling->pitch + (x - tile->x.own.first + (int64_t)tiling->lead);
}

/* Where a layer of a slot begins. */
static real *layer_of(const struct cpu_tile *tile, real *slot, size_t layer)
{
    return slot + layer * tile->tiling->layer_samples;
}

static unsigned channel_of(const struct cpu_tile *tile, size_t layer)
{
    return (unsigned)(tile->channels.first + layer);
}

/* ---- slots ---- */

/* The entry for a plane of a level: planes take turns in the level's ring. */
static struct cpu_slot *slot_of(const struct cpu_tile *tile, unsigned level, int64_t plane)
{
    size_t ring = tile->tiling->ring;

    return &tile->levels[level * ring + (size_t)wrapped(plane, (int64_t)ring)];
}

/* The first sample of the plane in a slot. */
static real *samples_in(const struct cpu_tile *tile, struct cpu_slot slot)
{
    return tile->slots + slot.base * tile->tiling->slot_samples + slot.shift * tile->tiling->pitch;
}

static real *plane_at(const struct cpu_tile *tile, unsigned level, int64_t plane)
{
    return samples_in(tile, *slot_of(tile, level, plane));
}

/* Let a plane of a level have a slot. */
static real *put_plane(struct cpu_tile *tile, unsigned level, int64_t plane, struct cpu_slot slot)
{
    *slot_of(tile, level, plane) = slot;
    return samples_in(tile, slot);
}

static struct cpu_slot take_slot(struct cpu_tile *tile)
{
    return tile->free_slots[--tile->free_count];
}

static void give_slot(struct cpu_tile *tile, struct cpu_slot slot)
{
    slot.shift = 0;
    tile->free_slots[tile->free_count++] = slot;
}

/* The plane that a tap reads, NULL where the rule has none. */
static real *plane_read(const struct cpu_tile *tile, unsigned level, int64_t plane)
{
    if (!tile->plane.wraps)
        plane = arith_edge_index(tile->op->edge, plane, tile->plane.extent);
    if (plane < 0 && !tile->plane.wraps)
        return tile->constant;
    return plane_at(tile, level, plane);
}

/* ---- kept rows ---- */

/* Samples that a block keeps of a plane of a level, in all layers. */
static size_t kept_of_plane(const struct cpu_tile *tile)
{
    return tile->tiling->layers * tile->tiling->kept_samples;
}

/* Rows that a level keeps of a plane from one block to the next. Those that the levels find when a plane
   comes in, each of another plane, are next to one another in memory, so that they are fetched as one run. */
static real *kept_rows(const struct cpu_tile *tile, unsigned level, int64_t plane)
{
    const struct cpu_tiling *tiling = tile->tiling;
    int64_t first = tile->plane.own.first - (int64_t)(tiling->plane.before * tiling->steps);
    int64_t coming = plane + level * (int64_t)tiling->plane.after;

    return tile->kept + ((size_t)(coming - first) * (tiling->steps - 1) + level - 1) * kept_of_plane(tile);
}

/* Level 0 reads the field again, and nobody reads the last level: only levels between them keep rows. */
static bool keeps_rows(const struct cpu_tile *tile, unsigned level)
{
    return level > 0 && level < tile->tiling->steps && tile->tiling->kept_samples > 0;
}

/* Put the rows that the block before has kept of a plane into its slot. */
static void find_kept(const struct cpu_tile *tile, unsigned level, int64_t plane, real *slot)
{
    size_t kept = tile->tiling->kept_samples;

    for (size_t layer = 0; layer < tile->channels.count && keeps_rows(tile, level); layer++)
        memcpy(layer_of(tile, slot, layer), kept_rows(tile, level, plane) + layer * kept,
               kept * sizeof *slot);
}

/* Keep the rows of a plane that the next block reads. */
static void keep_rows_of(const struct cpu_tile *tile, unsigned level, int64_t plane, real *slot)
{
    size_t kept = tile->tiling->kept_samples, own = tile->tiling->tile_rows * tile->tiling->pitch;

    for (size_t layer = 0; layer < tile->channels.count && keeps_rows(tile, level); layer++)
        memcpy(kept_rows(tile, level, plane) + layer * kept, layer_of(tile, slot, layer) + own,
               kept * sizeof *slot);
}

/* ---- edges ---- */

/* A layer of a plane of a level, and the value of EDGE_CONSTANT around it. */
struct sheet {
    unsigned level;
    real *samples;
    real outside;
};

/* Columns outside the grid, column by column, from those inside. */
static void fill_columns(const struct cpu_tile *tile, const struct sheet *sheet, struct span columns)
{
    const struct span rows = block_span(tile, sheet->level);
    const ptrdiff_t pitch = (ptrdiff_t)tile->tiling->pitch, count = (ptrdiff_t)(rows.end - rows.first);

    for (int64_t x = columns.first; x < columns.end; x++) {
        int64_t inside = arith_edge_index(tile->op->edge, x, tile->x.extent);
        const ptrdiff_t away = inside < 0 ? 0 : (ptrdiff_t)(inside - x);
        real *to = cell(tile, sheet->level, sheet->samples, rows.first, x);
        for (ptrdiff_t row = 0; row < count; row++)
            to[row * pitch] = inside < 0 ? sheet->outside : to[row * pitch + away];
    }
}

/* Rows outside the grid, as far as a slot has room for them. Where it lacks the row inside that a row copies,
   nobody reads that row. */
static void fill_rows(const struct cpu_tile *tile, const struct sheet *sheet, struct span rows)
{
    unsigned level = sheet->level;
    real *slot = sheet->samples;
    size_t pitch = tile->tiling->pitch;
    int64_t first = tile->x.own.first - (int64_t)tile->tiling->lead;
    struct span there = slot_span(tile, level);

    rows = common_span(rows, there);
    for (int64_t row = rows.first; row < rows.end; row++) {
        int64_t inside = arith_edge_index(tile->op->edge, row, tile->row.extent);
        real *to = cell(tile, level, slot, row, first);
        if (inside >= there.first && inside < there.end && inside >= 0) {
            memcpy(to, cell(tile, level, slot, inside, first), pitch * sizeof *to);
        } else if (inside < 0) {
            for (size_t i = 0; i < pitch; i++)
                to[i] = sheet->outside;
        }
    }
}

/* Fill what the next level reads around a plane outside the grid, once, so that its loops know of no edge.
   Under EDGE_HOLD nobody reads it, and periodic axes have computed it. */
static void fill_margins(const struct cpu_tile *tile, unsigned level, real *slot)
{
    unsigned left = tile->tiling->steps - level;

    if (edge_has(tile->op->edge, EDGE_PERIODIC) || edge_has(tile->op->edge, EDGE_KEEPS_SAMPLE))
        return;
    for (size_t layer = 0; layer < tile->channels.count; layer++) {
        struct sheet sheet = {level, layer_of(tile, slot, layer),
                              outside_of(tile->op, channel_of(tile, layer))};
        fill_columns(tile, &sheet, margin_before(&tile->x, left));
        fill_columns(tile, &sheet, margin_behind(&tile->x, left));
        fill_rows(tile, &sheet, margin_before(&tile->row, left));
        fill_rows(tile, &sheet, margin_behind(&tile->row, left));
    }
}

/* Whether EDGE_HOLD keeps samples at an index of an axis: a tap leaves the grid there. */
static bool is_held(const struct axis *axis, struct reach reach, int64_t index)
{
    return index + reach.low < 0 || index + reach.high >= axis->extent;
}

/* A plane of a level under way: its slot, and the slot of the same plane a step before. */
struct step {
    unsigned level;
    real *slot, *old;
};

/* Copy samples that keep their values from the level before. */
static void copy_held(const struct cpu_tile *tile, const struct step *step, struct span rows, struct span x)
{
    for (size_t layer = 0; layer < tile->channels.count; layer++) {
        real *slot = layer_of(tile, step->slot, layer), *old = layer_of(tile, step->old, layer);
        for (int64_t row = rows.first; row < rows.end && x.first < x.end; row++)
            memcpy(cell(tile, step->level, slot, row, x.first),
                   cell(tile, step->level - 1, old, row, x.first), (size_t)(x.end - x.first) * sizeof(real));
    }
}

/* EDGE_HOLD: samples of a plane inside the grid that have a tap outside in its rows. */
static void hold_plane(const struct cpu_tile *tile, const struct step *step, struct span rows, struct span x)
{
    for (int64_t row = rows.first; row < rows.end; row++) {
        struct span line = {row, row + 1};
        struct span low = {x.first, x.first}, high = {x.end, x.end};
        if (is_held(&tile->row, tile->op->row, row)) {
            low.end = x.end;
        } else {
            while (low.end < x.end && low.end + tile->op->x.low < 0)
                low.end++;
            while (high.first > low.end && high.first - 1 + tile->op->x.high >= tile->x.extent)
                high.first--;
        }
        copy_held(tile, step, line, low);
        copy_held(tile, step, line, high);
    }
}

/* ---- planes ---- */

/* A row of a plane in the field; both may be outside the grid along axes that wrap. */
static const real *source(const struct cpu_tile *tile, size_t layer, int64_t plane, int64_t row)
{
    return row_of(tile->from, (size_t)wrapped(plane, tile->plane.extent), channel_of(tile, layer),
                  (size_t)wrapped(row, tile->row.extent));
}

/* Have a plane's rows fetched, in all layers. */
static void expect_plane(struct cpu_tile *tile, int64_t plane, struct span rows, struct span x)
{
    for (size_t layer = 0; layer < tile->channels.count; layer++) {
        const real *from = source(tile, layer, plane, rows.first) + x.first;
        write_behind_expect(&tile->behind,
                            (struct byte_block){.from = (const char *)from,
                                                .bytes = (size_t)(x.end - x.first) * sizeof *from,
                                                .from_stride = (size_t)tile->x.extent * sizeof *from,
                                                .rows = (size_t)(rows.end - rows.first)});
    }
}

/* Have write-behind fetch what the next call of advance_tile reads: planes of the field, and kept rows. */
static void look_ahead(struct cpu_tile *tile, int64_t plane)
{
    const struct cpu_tiling *tiling = tile->tiling;
    struct span rows = block_span(tile, 0), read = level_span(&tile->plane, tiling->steps);
    struct span x = common_span(level_span(&tile->x, tiling->steps), (struct span){0, tile->x.extent});

    for (int64_t i = plane; i < plane + TOGETHER && i < read.end && rows.first < rows.end; i++)
        expect_plane(tile, i, rows, x);
    if (keeps_rows(tile, 1) && plane < read.end)
        write_behind_expect(
            &tile->behind, (struct byte_block){
                               .from = (const char *)kept_rows(tile, 1, plane - (int64_t)tiling->plane.after),
                               .bytes = TOGETHER * (tiling->steps - 1) * kept_of_plane(tile) * sizeof(real),
                               .rows = 1});
}

/* Level 0 of a plane: a copy of the field's rows, edges filled. */
static void load_plane(struct cpu_tile *tile, int64_t plane)
{
    unsigned steps = tile->tiling->steps;
    struct span rows = block_span(tile, 0), x = level_span(&tile->x, steps);
    real *slot = put_plane(tile, 0, plane, take_slot(tile));

    for (size_t layer = 0; layer < tile->channels.count; layer++) {
        for (int64_t row = rows.first; row < rows.end; row++)
            copy_around(source(tile, layer, plane, row), tile->x.extent, x,
                        cell(tile, 0, layer_of(tile, slot, layer), row, x.first));
    }
    fill_margins(tile, 0, slot);
}

/* Where the taps, or their opposites, read for the first sample of an area. */
static void find_bases(struct cpu_tile *tile, const struct area *area, int sign, const real **bases)
{
    unsigned level = area->level - 1;

    for (size_t k = 0; k < tile->op->tap_count; k++) {
        const struct op_tap *tap = &tile->op->taps[k];
        real *slot = plane_read(tile, level, area->plane + sign * tap->dplane);
        bases[k] =
            cell(tile, level, slot, area->rows.first + sign * tap->drow, area->x.first + sign * tap->dx);
    }
}

/* Where the taps of all layers read. */
struct layers {
    const real *const *bases;
    size_t shift, layer_samples;
};

static const real *read_layer(const void *source, size_t tap, size_t layer, real *scratch)
{
    const struct layers *layers = source;

    (void)scratch;
    return layers->bases[tap] + layers->shift + layer * layers->layer_samples;
}

/* Relax an area so many times. */
static void relax_area(const struct cpu_tile *tile, const struct area *area, uint64_t times, real *u)
{
    const struct op *op = tile->op;
    const real *values[OP_HEAT_TAPS];
    size_t rows = (size_t)(area->rows.end - area->rows.first), count = (size_t)(area->x.end - area->x.first);
    struct layers layers = {.bases = tile->bases, .layer_samples = tile->tiling->layer_samples};
    struct joint joint = {.op = op,
                          .channels = tile->channels.count,
                          .stride = layers.layer_samples,
                          .read = read_layer,
                          .source = &layers};

    for (size_t i = 0; i < rows * size_divided_up(count, BLOCK); i++) {
        size_t begin = i / rows * BLOCK;
        layers.shift = i % rows * tile->tiling->pitch + begin;
        joint.u = u + layers.shift;
        joint.count = size_least(BLOCK, count - begin);
        for (size_t k = 0; k < op->tap_count; k++)
            values[k] = is_centre(&op->taps[k]) ? NULL : tile->bases[k] + layers.shift;
        if (op->joint == 0)
            relax(op, values, times, joint.count, joint.u);
        for (uint64_t n = 0; op->joint > 0 && n < times; n++)
            relax_joint(&joint);
    }
}

/* Heat relaxes copies of the samples of the level before. */
static void heat_area(struct cpu_tile *tile, const struct area *area, const real *u, real *out)
{
    size_t rows = (size_t)(area->rows.end - area->rows.first), count = (size_t)(area->x.end - area->x.first);

    for (size_t layer = 0; layer < tile->channels.count; layer++) {
        for (size_t row = 0; row < rows; row++) {
            size_t at = layer * tile->tiling->layer_samples + row * tile->tiling->pitch;
            memcpy(out + at, u + at, count * sizeof *out);
        }
    }
    relax_area(tile, area, tile->op->inner, out);
}

/* The first relaxation computes each face once; those that follow have samples that have moved alone. */
static void faces_area(struct cpu_tile *tile, const struct area *area, const real *u, real *out)
{
    struct flows *flows = &tile->flows[area->level];
    size_t rows = (size_t)(area->rows.end - area->rows.first), count = (size_t)(area->x.end - area->x.first);
    const struct faces faces = {
        .op = tile->op,
        .channels = tile->channels.count,
        .layer = tile->tiling->layer_samples,
        .pitch = tile->tiling->pitch,
        .below = tile->bases[0],
        .u = u,
        .above = tile->bases[tile->op->tap_count - 1],
        .products = cell(tile, area->level, flows->slot, area->rows.first, area->x.first),
        .carried = flows->plane == area->plane,
        .out = out,
    };

    for (size_t begin = 0; begin < count; begin += FACES_BLOCK)
        relax_faces(&faces, begin, rows, size_least(FACES_BLOCK, count - begin), &tile->behind);
    flows->plane = area->plane + 1;
    if (tile->op->inner > 1)
        relax_area(tile, area, tile->op->inner - 1, out);
}

static void gradient_area(struct cpu_tile *tile, const struct area *area, const real *u, real *out)
{
    size_t taps = tile->op->tap_count;
    size_t rows = (size_t)(area->rows.end - area->rows.first), count = (size_t)(area->x.end - area->x.first);

    (void)u;
    for (size_t row = 0; row < rows; row++) {
        size_t shift = row * tile->tiling->pitch;
        for (size_t k = 0; k < taps; k++)
            slope_row(k == 0, (real)tile->op->taps[k].weight, tile->bases[k] + shift,
                      tile->bases[taps + k] + shift, count, out + shift);
        root_row(out + shift, count);
        write_behind_once(&tile->behind);
    }
}

/* Chains run over whole vectors, from the start of a line of memory. Nobody reads what they write around the
   area. */
static struct span whole_vectors(const struct cpu_tile *tile, struct span x)
{
    int64_t origin = tile->x.own.first - (int64_t)tile->tiling->lead, lanes = (int64_t)LANES;

    x.first = origin + (x.first - origin) / lanes * lanes;
    x.end = origin + (x.end - origin + lanes - 1) / lanes * lanes;
    return x;
}

static void chain_area(struct cpu_tile *tile, const struct area *area, const real *u, real *out)
{
    const struct chain chain = {tile->op->tap_count, tile->weights, tile->bases};

    (void)u;
    chain_rows(&chain, tile->tiling->pitch, (size_t)(area->rows.end - area->rows.first),
               (size_t)(area->x.end - area->x.first), out, &tile->behind);
}

/* The bases of a box, plane by plane: the middle of each face is where its plane is read. */
static void box_area(struct cpu_tile *tile, const struct area *area, const real *u, real *out)
{
    struct box box = {.weights = tile->weights};

    (void)u;
    for (size_t plane = 0; plane < BOX_SIDE; plane++)
        box.planes[plane] = tile->bases[plane * BOX_FACE + BOX_FACE / 2];
    box_rows(&box, tile->tiling->pitch, (size_t)(area->rows.end - area->rows.first),
             (size_t)(area->x.end - area->x.first), out, &tile->behind);
}

/* Find where taps read, and run the engine's loop. */
static void compute_area(struct cpu_tile *tile, const struct step *step, struct area area)
{
    if (op_is_chain(tile->op) || tile->sum == faces_area)
        area.x = whole_vectors(tile, area.x);
    find_bases(tile, &area, 1, tile->bases);
    if (tile->op->kind == OP_GRADIENT)
        find_bases(tile, &area, -1, tile->bases + tile->op->tap_count);
    tile->sum(tile, &area, cell(tile, step->level - 1, step->old, area.rows.first, area.x.first),
              cell(tile, step->level, step->slot, area.rows.first, area.x.first));
}

/* After a plane has been computed: the rows that it takes over from the block before, its edges, and the rows
   that it keeps for the next block. */
static void finish_plane(const struct cpu_tile *tile, const struct step *step, const struct area *area)
{
    find_kept(tile, step->level, area->plane, step->slot);
    if (edge_has(tile->op->edge, EDGE_KEEPS_SAMPLE))
        hold_plane(tile, step, area->rows, area->x);
    if (step->level < tile->tiling->steps)
        fill_margins(tile, step->level, step->slot);
    keep_rows_of(tile, step->level, area->plane, step->slot);
}

/* Whether two planes next to each other are a pair for the star's own loop. */
static bool is_star_pair(const struct cpu_tile *tile, unsigned level, int64_t plane)
{
    const struct op *op = tile->op;
    struct span planes = level_span(&tile->plane, tile->tiling->steps - level);
    bool held = edge_has(op->edge, EDGE_KEEPS_SAMPLE) &&
                (is_held(&tile->plane, op->plane, plane) || is_held(&tile->plane, op->plane, plane + 1));

    return tile->goes_in_pairs && !held && plane >= planes.first && plane + 1 < planes.end;
}

/* Whether a pair may overwrite the two planes below that it is the last to read. */
static bool replaces(const struct cpu_tile *tile, unsigned level, int64_t plane)
{
    struct span below = level_span(&tile->plane, tile->tiling->steps - level + 1);

    return !edge_has(tile->op->edge, EDGE_KEEPS_SAMPLE) && plane - 1 >= below.first;
}

/* Find slots for a pair: those of the planes below, or free ones. */
static void place_pair(struct cpu_tile *tile, unsigned level, int64_t plane, real **lower, real **upper)
{
    struct cpu_slot first, second;

    if (replaces(tile, level, plane)) {
        first = *slot_of(tile, level - 1, plane - 1);
        second = *slot_of(tile, level - 1, plane);
        second.shift++;
    } else {
        first = take_slot(tile);
        second = take_slot(tile);
    }
    *lower = put_plane(tile, level, plane, first);
    *upper = put_plane(tile, level, plane + 1, second);
}

/* Whether a pair is written to the field at once, instead of into slots from which it leaves later. */
static bool is_straight(const struct cpu_tile *tile, unsigned level, int64_t plane)
{
    return level == tile->tiling->steps && tile->goes_straight && is_star_pair(tile, level, plane);
}

static real *place_in_field(const struct cpu_tile *tile, int64_t plane, int64_t row)
{
    return row_of(tile->to, (size_t)plane, channel_of(tile, 0), (size_t)row) + tile->x.own.first;
}

/* Let the star's loop write into the field. */
static void write_straight(const struct cpu_tile *tile, struct star *star, int64_t plane, int64_t row)
{
    star->lower_out = place_in_field(tile, plane, row);
    star->upper_out = place_in_field(tile, plane + 1, row);
    star->out_pitch = (size_t)tile->x.extent;
    star->past_caches = tile->behind.past_caches;
}

/* Two planes of a level by the star's loop. */
static void advance_star_pair(struct cpu_tile *tile, unsigned level, int64_t plane)
{
    struct area area = {level, plane, block_span(tile, level),
                        level_span(&tile->x, tile->tiling->steps - level)};
    struct span whole = whole_vectors(tile, area.x);
    struct step lower = {level, NULL, plane_read(tile, level - 1, plane)};
    struct step upper = {level, NULL, plane_read(tile, level - 1, plane + 1)};
    int64_t row = area.rows.first;
    size_t rows = (size_t)(area.rows.end - row), count = (size_t)(whole.end - whole.first);
    struct star star = {.weights = tile->weights, .out_pitch = tile->tiling->pitch};

    /* Four planes of the level below, and the two that are written: straight to the field, or into slots. */
    star.below = cell(tile, level - 1, plane_read(tile, level - 1, plane - 1), row, whole.first);
    star.lower = cell(tile, level - 1, lower.old, row, whole.first);
    star.upper = cell(tile, level - 1, upper.old, row, whole.first);
    star.above = cell(tile, level - 1, plane_read(tile, level - 1, plane + 2), row, whole.first);
    if (is_straight(tile, level, plane)) {
        write_straight(tile, &star, plane, row);
        star_planes(&star, tile->tiling->pitch, rows, count, &tile->behind);
        return;
    }
    place_pair(tile, level, plane, &lower.slot, &upper.slot);
    star.lower_out = cell(tile, level, lower.slot, row, whole.first);
    star.upper_out = cell(tile, level, upper.slot, row, whole.first);
    star_planes(&star, tile->tiling->pitch, rows, count, &tile->behind);
    finish_plane(tile, &lower, &area);
    area.plane++;
    finish_plane(tile, &upper, &area);
}

/* One plane of a level, by the loop of the engine. */
static void advance_plane(struct cpu_tile *tile, unsigned level, int64_t plane)
{
    struct area area = {level, plane, block_span(tile, level),
                        level_span(&tile->x, tile->tiling->steps - level)};
    struct step step = {level, put_plane(tile, level, plane, take_slot(tile)),
                        plane_read(tile, level - 1, plane)};

    if (edge_has(tile->op->edge, EDGE_KEEPS_SAMPLE) && is_held(&tile->plane, tile->op->plane, plane))
        copy_held(tile, &step, area.rows, area.x);
    else
        compute_area(tile, &step, area);
    finish_plane(tile, &step, &area);
}

/* When a level has a plane, the last plane below that it has read is free, unless a level still reads it. */
static void let_go(struct cpu_tile *tile, unsigned level, int64_t plane)
{
    struct span planes = level_span(&tile->plane, tile->tiling->steps - level);
    struct span below = level_span(&tile->plane, tile->tiling->steps - level + 1);
    int64_t last_use = plane - (int64_t)tile->plane.margin.before;

    if (plane >= planes.first && plane < planes.end && last_use >= below.first)
        give_slot(tile, *slot_of(tile, level - 1, last_use));
}

/* TOGETHER planes of a level, as far as the part needs them of it. A pair in the slots of two planes below
   has let go of these; else they become free here. */
static void advance_level(struct cpu_tile *tile, unsigned level, int64_t plane)
{
    struct span planes = level_span(&tile->plane, tile->tiling->steps - level);

    if (is_star_pair(tile, level, plane)) {
        advance_star_pair(tile, level, plane);
        if (replaces(tile, level, plane) && !is_straight(tile, level, plane))
            return;
    } else {
        for (int64_t i = plane; i < plane + TOGETHER; i++) {
            if (i >= planes.first && i < planes.end)
                advance_plane(tile, level, i);
        }
    }
    for (int64_t i = plane; i < plane + TOGETHER; i++)
        let_go(tile, level, i);
}

/* Hand a finished plane to write-behind. */
static void let_leave(struct cpu_tile *tile, int64_t plane)
{
    unsigned level = tile->tiling->steps;
    struct span rows = block_span(tile, level), x = tile->x.own;
    real *slot = plane_at(tile, level, plane);
    struct byte_block block = {.bytes = (size_t)(x.end - x.first) * sizeof(real),
                               .from_stride = tile->tiling->pitch * sizeof(real),
                               .to_stride = (size_t)tile->x.extent * sizeof(real),
                               .rows = (size_t)(rows.end - rows.first)};

    for (size_t layer = 0; layer < tile->channels.count && rows.first < rows.end; layer++) {
        real *to = row_of(tile->to, (size_t)plane, channel_of(tile, layer), (size_t)rows.first) + x.first;
        block.from = (const char *)cell(tile, level, layer_of(tile, slot, layer), rows.first, x.first);
        block.to = (char *)to;
        write_behind_add(&tile->behind, block);
    }
}

/* Turns that the levels' loops will give write-behind until the next planes come in: one for each row, or two
   rows of a pair. */
static size_t write_behind_turns(const struct cpu_tile *tile)
{
    size_t rows = tile->tiling->tile_rows * tile->tiling->steps;

    return tile->goes_in_pairs ? (rows + 1) / 2 : TOGETHER * rows;
}

/* Take in TOGETHER planes, and let each level compute as many from those of the level below, the lowest level
   first. Meanwhile the planes that the last call finished leave, and those for the next call are fetched. */
static void advance_tile(struct cpu_tile *tile, int64_t plane)
{
    unsigned steps = tile->tiling->steps;
    struct span read = level_span(&tile->plane, steps), written = tile->plane.own;
    int64_t ahead = (int64_t)tile->plane.margin.after, leaving = plane - steps * ahead - TOGETHER;
    bool left = is_straight(tile, steps, leaving);

    /* New planes come in; the last level's planes of the last call are handed over. */
    write_behind_clear(&tile->behind);
    for (int64_t i = 0; i < TOGETHER; i++) {
        if (plane + i < read.end)
            load_plane(tile, plane + i);
        if (!left && leaving + i >= written.first && leaving + i < written.end)
            let_leave(tile, leaving + i);
    }
    look_ahead(tile, plane + TOGETHER);
    write_behind_pace(&tile->behind, write_behind_turns(tile));
    /* Each level lags behind the one below by the planes that taps reach ahead. */
    for (unsigned level = 1; level <= steps; level++)
        advance_level(tile, level, plane - level * ahead);
    /* Slots of planes that have left are free only when write-behind has read them. */
    write_behind_drain(&tile->behind);
    for (int64_t i = leaving; i < leaving + TOGETHER; i++) {
        if (!left && i >= written.first && i < written.end)
            give_slot(tile, *slot_of(tile, steps, i));
    }
}

/* Take all slots back from the block before. */
static void clear_slots(struct cpu_tile *tile)
{
    const struct cpu_tiling *tiling = tile->tiling;

    tile->free_count = 0;
    for (uint32_t i = 0; i < tiling->slots; i++)
        give_slot(tile, (struct cpu_slot){.base = i});
    tile->constant = NULL;
    if (edge_has(tile->op->edge, EDGE_HAS_VALUE)) {
        tile->constant = samples_in(tile, take_slot(tile));
        for (size_t i = 0; i < tile->channels.count * tiling->layer_samples; i++)
            tile->constant[i] = outside_of(tile->op, channel_of(tile, i / tiling->layer_samples));
    }
    for (unsigned level = 1; level <= tiling->steps && tile->sum == faces_area; level++)
        tile->flows[level] = (struct flows){samples_in(tile, take_slot(tile)), INT64_MIN};
}

/* Stream all planes of a block of rows. The planes run on behind the last one until the last level has it. */
static void stream_block(struct cpu_tile *tile)
{
    unsigned steps = tile->tiling->steps;
    struct span read = level_span(&tile->plane, steps), written = tile->plane.own;
    int64_t end = written.end + steps * (int64_t)tile->plane.margin.after + TOGETHER;

    clear_slots(tile);
    for (int64_t plane = read.first; plane < end; plane += TOGETHER)
        advance_tile(tile, plane);
}

/* A part, block of rows by block. Blocks run on until the last level has the part's last row. */
static void run_tile(struct cpu_tile *tile)
{
    unsigned steps = tile->tiling->steps;
    int64_t lag = steps * (int64_t)tile->row.margin.after;

    tile->block = level_span(&tile->row, steps).first;
    for (; tile->block - lag < tile->row.own.end; tile->block += (int64_t)tile->tiling->tile_rows)
        stream_block(tile);
}

/* Find the places of a thread's arena for a tile. */
static void lay_out(struct cpu_tile *tile, char *arena)
{
    const struct cpu_layout *layout = &tile->tiling->layout;

    tile->slots = (real *)(arena + layout->slots);
    tile->weights = put_weights(tile->op, arena + layout->weights);
    tile->kept = (real *)(arena + layout->kept);
    tile->free_slots = (struct cpu_slot *)(arena + layout->free_slots);
    tile->levels = (struct cpu_slot *)(arena + layout->levels);
    tile->bases = (const real **)(arena + layout->bases);
}

/* The engine's loop over an area. */
static tile_area *area_of(enum cpu_engine engine, enum op_kind kind)
{
    if (engine == CPU_ENGINE_BOX)
        return box_area;
    if (engine == CPU_ENGINE_FACES)
        return faces_area;
    return kind == OP_HEAT ? heat_area : kind == OP_GRADIENT ? gradient_area : chain_area;
}

/* Whether the tile's rows in the field are whole lines of memory, and no sample is put back after it was
 * computed. */
static bool stands_in_lines(const struct cpu_tile *tile)
{
    size_t ends = (size_t)(tile->x.own.first | tile->x.own.end | tile->x.extent) | tile->to->pitch;

    return (uintptr_t)tile->to->samples % ISA_LINE == 0 && ends * sizeof(real) % ISA_LINE == 0 &&
           !edge_has(tile->op->edge, EDGE_KEEPS_SAMPLE);
}

static void tiles_part(const struct cpu_sweep *sweep, struct range channels, const struct axis *axes,
                       char *arena)
{
    struct cpu_tile tile = {.op = sweep->op,
                            .tiling = sweep->tiling,
                            .from = sweep->from,
                            .to = sweep->to,
                            .behind = {.past_caches = sweep->past_caches},
                            .sum = area_of(sweep->tiling->engine, sweep->op->kind),
                            .goes_in_pairs = sweep->tiling->engine == CPU_ENGINE_STAR,
                            .channels = channels,
                            .x = axes[0],
                            .row = axes[1],
                            .plane = axes[2]};

    tile.plane.margin = margin_read(&tile.plane, sweep->op->plane, sweep->tiling->steps);
    tile.goes_straight = tile.goes_in_pairs && stands_in_lines(&tile);
    lay_out(&tile, arena);
    run_tile(&tile);
}
