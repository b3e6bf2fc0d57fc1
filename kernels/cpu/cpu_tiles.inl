/* Rungs `blocked` and `fused`.
 *
 * Idea: a block of rows of the field streams plane by plane through a thread's own cache. A plane that comes
 * in takes the first level on by one plane, which takes the next level on, and so the last level leaves after
 * `steps` steps, once in and once out of memory; `blocked` is the same with one level. The blocks of a tile
 * follow one another along the rows. A level lags behind the one below by what a step reads ahead, so that it
 * finds there all that it reads: rows of its own block, and, kept aside for every plane and level, the last
 * rows of the block before. Planes of a star go in pairs, which take the place of the two planes below that
 * they are the last to read. Adds: a slot a plane, a few planes a level, kept rows, and margins around each
 * tile that edge rules fill, so that no loop over samples knows of edges. Costs: the halo of a tile along x
 * and the planes is read and computed again by its neighbours; the kept rows go to the third-level cache and
 * come back. Traffic per sample: 2 words through memory a pass, divided by the steps of the pass, and the
 * halo. Wins when: `fused`, a stage has more than one step; `blocked`, it has one. */

struct FN(tile) {
    const struct op *op;
    const struct cpu_tiling *tiling;
    const struct field *from;
    struct field *to;
    bool is_box; /* OP_TAPS of the sample and all 26 around it */
    struct pump pump;
    struct range channels; /* that go together: each is a layer of a slot */
    struct axis x, row, plane;
    int64_t block; /* first row of the block that streams, at level 0 */

    REAL *slots;
    REAL **free_slots;
    size_t free_count;
    REAL **levels;  /* slots of planes: ring of them a level */
    REAL *constant; /* a slot of what EDGE_CONSTANT puts outside, or NULL */
    REAL *weights;
    REAL *kept;         /* rows of the block before, by level and plane */
    const REAL **bases; /* of the taps, and of their opposites */
};

/* ---- slots ---- */

/* Rows that a slot of a level holds: those of the block before that are still read, and the block's own. */
static struct span FN(slot_span)(const struct FN(tile) * tile, unsigned level)
{
    const struct cpu_tiling *tiling = tile->tiling;
    int64_t ahead = (int64_t)tiling->row.after, kept = ahead + (int64_t)tiling->row.before;
    struct span span = {tile->block - level * ahead - kept, 0};

    span.end = span.first + (int64_t)tiling->slot_rows;
    return span;
}

/* Rows that a level gains by the block: level 0 reads all anew. */
static struct span FN(block_span)(const struct FN(tile) * tile, unsigned level)
{
    struct span span = FN(slot_span)(tile, level);

    if (level > 0)
        span.first = span.end - (int64_t)tile->tiling->tile_rows;
    return common_span(span, level_span(&tile->row, tile->tiling->steps - level));
}

static REAL *FN(cell)(const struct FN(tile) * tile, unsigned level, REAL *slot, int64_t row, int64_t x)
{
    const struct cpu_tiling *tiling = tile->tiling;
    int64_t slot_row = row - FN(slot_span)(tile, level).first;

    return slot + slot_row * (int64_t)tiling->pitch + (x - tile->x.own.first + (int64_t)tiling->lead);
}

/* Where a layer of a slot begins. */
static REAL *FN(layer_of)(const struct FN(tile) * tile, REAL *slot, size_t layer)
{
    return slot + layer * tile->tiling->layer_samples;
}

static unsigned FN(channel_of)(const struct FN(tile) * tile, size_t layer)
{
    return (unsigned)(tile->channels.first + layer);
}

static REAL **FN(slot_of)(const struct FN(tile) * tile, unsigned level, int64_t plane)
{
    size_t ring = tile->tiling->ring;

    return &tile->levels[level * ring + (size_t)wrapped(plane, (int64_t)ring)];
}

static REAL *FN(take_slot)(struct FN(tile) * tile, unsigned level, int64_t plane)
{
    return *FN(slot_of)(tile, level, plane) = tile->free_slots[--tile->free_count];
}

/* Planes that were written over others may stand some rows behind the start of their slot. */
static void FN(give_slot)(struct FN(tile) * tile, REAL *plane)
{
    size_t at = (size_t)(plane - tile->slots);

    tile->free_slots[tile->free_count++] = plane - at % tile->tiling->slot_samples;
}

/* That a block leaves of all layers of a plane of a level. */
static size_t FN(kept_of_plane)(const struct FN(tile) * tile)
{
    return tile->tiling->layers * tile->tiling->kept_samples;
}

/* Rows that a level keeps of a plane from one block to the next: what all levels find when a plane comes in
   stands side by side. */
static REAL *FN(kept_rows)(const struct FN(tile) * tile, unsigned level, int64_t plane)
{
    const struct cpu_tiling *tiling = tile->tiling;
    int64_t first = tile->plane.own.first - (int64_t)(tiling->plane.before * tiling->steps);
    int64_t coming = plane + level * (int64_t)tiling->plane.after;

    return tile->kept +
           ((size_t)(coming - first) * (tiling->steps - 1) + level - 1) * FN(kept_of_plane)(tile);
}

static bool FN(keeps_rows)(const struct FN(tile) * tile, unsigned level)
{
    return level > 0 && level < tile->tiling->steps && tile->tiling->kept_samples > 0;
}

/* The rows of a plane that the block before has left. */
static void FN(find_kept)(const struct FN(tile) * tile, unsigned level, int64_t plane, REAL *slot)
{
    size_t kept = tile->tiling->kept_samples;

    for (size_t layer = 0; layer < tile->channels.count && FN(keeps_rows)(tile, level); layer++)
        memcpy(FN(layer_of)(tile, slot, layer), FN(kept_rows)(tile, level, plane) + layer * kept,
               kept * sizeof *slot);
}

/* What the next block reads of a plane. */
static void FN(keep_rows_of)(const struct FN(tile) * tile, unsigned level, int64_t plane, REAL *slot)
{
    size_t kept = tile->tiling->kept_samples, own = tile->tiling->tile_rows * tile->tiling->pitch;

    for (size_t layer = 0; layer < tile->channels.count && FN(keeps_rows)(tile, level); layer++)
        memcpy(FN(kept_rows)(tile, level, plane) + layer * kept, FN(layer_of)(tile, slot, layer) + own,
               kept * sizeof *slot);
}

/* The slot that a tap reads for a plane of a level, NULL where the rule has none. */
static REAL *FN(plane_slot)(const struct FN(tile) * tile, unsigned level, int64_t plane)
{
    if (!tile->plane.wraps)
        plane = arith_edge_index(tile->op->edge, plane, tile->plane.extent);
    if (plane < 0 && !tile->plane.wraps)
        return tile->constant;
    return *FN(slot_of)(tile, level, plane);
}

/* ---- edges ---- */

/* A layer of a plane of a level: where it stands, and what EDGE_CONSTANT puts beside it. */
struct FN(sheet) {
    unsigned level;
    REAL *samples;
    REAL outside;
};

static REAL FN(outside)(const struct FN(tile) * tile, size_t layer)
{
    return tile->op->outside == NULL ? (REAL)0 : (REAL)tile->op->outside[FN(channel_of)(tile, layer)];
}

static void FN(fill_columns)(const struct FN(tile) * tile, const struct FN(sheet) * sheet,
                             struct span columns)
{
    unsigned level = sheet->level;
    REAL *slot = sheet->samples;
    struct span rows = FN(block_span)(tile, level);

    for (int64_t x = columns.first; x < columns.end; x++) {
        int64_t inside = arith_edge_index(tile->op->edge, x, tile->x.extent);
        for (int64_t row = rows.first; row < rows.end; row++)
            *FN(cell)(tile, level, slot, row, x) =
                inside < 0 ? sheet->outside : *FN(cell)(tile, level, slot, row, inside);
    }
}

/* Rows that a slot has room for. Where it lacks the row inside the grid, nobody reads the one outside. */
static void FN(fill_rows)(const struct FN(tile) * tile, const struct FN(sheet) * sheet, struct span rows)
{
    unsigned level = sheet->level;
    REAL *slot = sheet->samples;
    size_t pitch = tile->tiling->pitch;
    int64_t first = tile->x.own.first - (int64_t)tile->tiling->lead;
    struct span there = FN(slot_span)(tile, level);

    rows = common_span(rows, there);
    for (int64_t row = rows.first; row < rows.end; row++) {
        int64_t inside = arith_edge_index(tile->op->edge, row, tile->row.extent);
        REAL *to = FN(cell)(tile, level, slot, row, first);
        if (inside >= there.first && inside < there.end && inside >= 0) {
            memcpy(to, FN(cell)(tile, level, slot, inside, first), pitch * sizeof *to);
        } else if (inside < 0) {
            for (size_t i = 0; i < pitch; i++)
                to[i] = sheet->outside;
        }
    }
}

/* What the next level reads around a plane beyond the grid. A held sample reads nothing there. */
static void FN(fill_margins)(const struct FN(tile) * tile, unsigned level, REAL *slot)
{
    unsigned left = tile->tiling->steps - level;

    if (tile->op->edge == EDGE_WRAP || tile->op->edge == EDGE_HOLD)
        return;
    for (size_t layer = 0; layer < tile->channels.count; layer++) {
        struct FN(sheet) sheet = {level, FN(layer_of)(tile, slot, layer), FN(outside)(tile, layer)};
        FN(fill_columns)(tile, &sheet, margin_before(&tile->x, left));
        FN(fill_columns)(tile, &sheet, margin_behind(&tile->x, left));
        FN(fill_rows)(tile, &sheet, margin_before(&tile->row, left));
        FN(fill_rows)(tile, &sheet, margin_behind(&tile->row, left));
    }
}

static bool FN(is_held)(const struct axis *axis, struct reach reach, int64_t index)
{
    return index + reach.low < 0 || index + reach.high >= axis->extent;
}

/* A plane of a level under way: its slot, and the slot of the same plane a step before. */
struct FN(step) {
    unsigned level;
    REAL *slot, *old;
};

static void FN(copy_held)(const struct FN(tile) * tile, const struct FN(step) * step, struct span rows,
                          struct span x)
{
    for (size_t layer = 0; layer < tile->channels.count; layer++) {
        REAL *slot = FN(layer_of)(tile, step->slot, layer), *old = FN(layer_of)(tile, step->old, layer);
        for (int64_t row = rows.first; row < rows.end && x.first < x.end; row++)
            memcpy(FN(cell)(tile, step->level, slot, row, x.first),
                   FN(cell)(tile, step->level - 1, old, row, x.first),
                   (size_t)(x.end - x.first) * sizeof(REAL));
    }
}

/* EDGE_HOLD: samples of a plane inside the grid that have a tap outside in its rows. */
static void FN(hold_plane)(const struct FN(tile) * tile, const struct FN(step) * step, struct span rows,
                           struct span x)
{
    for (int64_t row = rows.first; row < rows.end; row++) {
        struct span line = {row, row + 1};
        struct span low = {x.first, x.first}, high = {x.end, x.end};
        if (FN(is_held)(&tile->row, tile->op->row, row)) {
            low.end = x.end;
        } else {
            while (low.end < x.end && low.end + tile->op->x.low < 0)
                low.end++;
            while (high.first > low.end && high.first - 1 + tile->op->x.high >= tile->x.extent)
                high.first--;
        }
        FN(copy_held)(tile, step, line, low);
        FN(copy_held)(tile, step, line, high);
    }
}

/* ---- planes ---- */

/* Where a row of a plane stands in the field, from the first sample of a span inside the grid. */
static const REAL *FN(source)(const struct FN(tile) * tile, size_t layer, int64_t plane, int64_t row)
{
    return FN(row_of)(tile->from, (size_t)wrapped(plane, tile->plane.extent), FN(channel_of)(tile, layer),
                      (size_t)wrapped(row, tile->row.extent));
}

static void FN(expect_plane)(struct FN(tile) * tile, int64_t plane, struct span rows, struct span x)
{
    for (size_t layer = 0; layer < tile->channels.count; layer++) {
        const REAL *from = FN(source)(tile, layer, plane, rows.first) + x.first;
        pump_expect(&tile->pump, (struct strip){.from = (const char *)from,
                                                .bytes = (size_t)(x.end - x.first) * sizeof *from,
                                                .from_stride = (size_t)tile->x.extent * sizeof *from,
                                                .rows = (size_t)(rows.end - rows.first)});
    }
}

/* What the next call for planes will read from far away. */
static void FN(look_ahead)(struct FN(tile) * tile, int64_t plane)
{
    const struct cpu_tiling *tiling = tile->tiling;
    struct span rows = FN(block_span)(tile, 0), read = level_span(&tile->plane, tiling->steps);
    struct span x = clipped(level_span(&tile->x, tiling->steps), tile->x.extent);

    for (int64_t i = plane; i < plane + TOGETHER && i < read.end && rows.first < rows.end; i++)
        FN(expect_plane)(tile, i, rows, x);
    if (FN(keeps_rows)(tile, 1) && plane < read.end)
        pump_expect(
            &tile->pump,
            (struct strip){.from = (const char *)FN(kept_rows)(tile, 1, plane - (int64_t)tiling->plane.after),
                           .bytes = TOGETHER * (tiling->steps - 1) * FN(kept_of_plane)(tile) * sizeof(REAL),
                           .rows = 1});
}

static void FN(load_plane)(struct FN(tile) * tile, int64_t plane)
{
    unsigned steps = tile->tiling->steps;
    struct span rows = FN(block_span)(tile, 0), x = level_span(&tile->x, steps);
    REAL *slot = FN(take_slot)(tile, 0, plane);

    for (size_t layer = 0; layer < tile->channels.count; layer++) {
        for (int64_t row = rows.first; row < rows.end; row++)
            FN(copy_around)
        (FN(source)(tile, layer, plane, row), tile->x.extent, x,
         FN(cell)(tile, 0, FN(layer_of)(tile, slot, layer), row, x.first));
    }
    FN(fill_margins)(tile, 0, slot);
}

/* A run of samples at the same place of every row of a slot. */
struct FN(area) {
    struct span rows, x;
};

/* Where the taps, or their opposites, read for the first sample of an area. */
static void FN(find_bases)(struct FN(tile) * tile, unsigned level, int64_t plane,
                           const struct FN(area) * area, int sign, const REAL **bases)
{
    for (size_t k = 0; k < tile->op->tap_count; k++) {
        const struct op_tap *tap = &tile->op->taps[k];
        REAL *slot = FN(plane_slot)(tile, level, plane + sign * tap->dplane);
        bases[k] =
            FN(cell)(tile, level, slot, area->rows.first + sign * tap->drow, area->x.first + sign * tap->dx);
    }
}

/* Where the taps of all layers read. */
struct FN(layers) {
    const REAL *const *bases;
    size_t shift, layer_samples;
};

static const REAL *FN(read_layer)(const void *source, size_t tap, size_t layer, REAL *scratch)
{
    const struct FN(layers) *layers = source;

    (void)scratch;
    return layers->bases[tap] + layers->shift + layer * layers->layer_samples;
}

static void FN(joint_area)(struct FN(tile) * tile, const struct FN(area) * area, const REAL *u, REAL *out)
{
    size_t rows = (size_t)(area->rows.end - area->rows.first), count = (size_t)(area->x.end - area->x.first);
    struct FN(layers) layers = {.bases = tile->bases, .layer_samples = tile->tiling->layer_samples};
    struct FN(joint) joint = {.op = tile->op,
                              .channels = tile->channels.count,
                              .u_stride = layers.layer_samples,
                              .out_stride = layers.layer_samples,
                              .read = FN(read_layer),
                              .source = &layers};

    for (size_t row = 0; row < rows; row++) {
        for (size_t begin = 0; begin < count; begin += BLOCK) {
            layers.shift = row * tile->tiling->pitch + begin;
            joint.u = u + layers.shift;
            joint.out = out + layers.shift;
            joint.count = least(BLOCK, count - begin);
            FN(joint_row)(&joint);
        }
        pump_once(&tile->pump);
    }
}

static void FN(heat_area)(struct FN(tile) * tile, const struct FN(area) * area, const REAL *u, REAL *out)
{
    const struct op *op = tile->op;
    const REAL *values[OP_HEAT_TAPS];
    size_t rows = (size_t)(area->rows.end - area->rows.first), count = (size_t)(area->x.end - area->x.first);

    for (size_t row = 0; row < rows; row++) {
        for (size_t begin = 0; begin < count; begin += BLOCK) {
            size_t shift = row * tile->tiling->pitch + begin;
            for (size_t k = 0; k < op->tap_count; k++)
                values[k] = FN(is_centre)(&op->taps[k]) ? NULL : tile->bases[k] + shift;
            FN(heat_row)(op, values, u + shift, least(BLOCK, count - begin), out + shift);
        }
        pump_once(&tile->pump);
    }
}

static void FN(gradient_area)(struct FN(tile) * tile, const struct FN(area) * area, REAL *out)
{
    size_t taps = tile->op->tap_count;
    size_t rows = (size_t)(area->rows.end - area->rows.first), count = (size_t)(area->x.end - area->x.first);

    for (size_t row = 0; row < rows; row++) {
        size_t shift = row * tile->tiling->pitch;
        for (size_t k = 0; k < taps; k++)
            FN(slope_row)
        (k == 0, (REAL)tile->op->taps[k].weight, tile->bases[k] + shift, tile->bases[taps + k] + shift, count,
         out + shift);
        FN(root_row)(out + shift, count);
        pump_once(&tile->pump);
    }
}

/* Chains run over whole vectors, from the start of a line: what they write beside the area is read by nobody.
 */
static struct span FN(whole_vectors)(const struct FN(tile) * tile, struct span x)
{
    int64_t origin = tile->x.own.first - (int64_t)tile->tiling->lead, lanes = (int64_t)LANES;

    x.first = origin + (x.first - origin) / lanes * lanes;
    x.end = origin + (x.end - origin + lanes - 1) / lanes * lanes;
    return x;
}

static void FN(chain_area)(struct FN(tile) * tile, const struct FN(area) * area, REAL *out)
{
    const struct FN(chain) chain = {tile->op->tap_count, tile->weights, tile->bases};

    FN(chain_rows)
    (&chain, tile->tiling->pitch, (size_t)(area->rows.end - area->rows.first),
     (size_t)(area->x.end - area->x.first), out, &tile->pump);
}

/* The bases of a box, plane by plane: the middle of each face is where its plane is read. */
static void FN(box_area)(struct FN(tile) * tile, const struct FN(area) * area, REAL *out)
{
    struct FN(box) box = {.weights = tile->weights};

    for (size_t plane = 0; plane < BOX_SIDE; plane++)
        box.planes[plane] = tile->bases[plane * BOX_FACE + BOX_FACE / 2];
    FN(box_rows)
    (&box, tile->tiling->pitch, (size_t)(area->rows.end - area->rows.first),
     (size_t)(area->x.end - area->x.first), out, &tile->pump);
}

static void FN(compute_area)(struct FN(tile) * tile, const struct FN(step) * step, int64_t plane,
                             struct FN(area) area)
{
    const REAL *u;
    REAL *out;

    if (tile->op->kind == OP_TAPS)
        area.x = FN(whole_vectors)(tile, area.x);
    u = FN(cell)(tile, step->level - 1, step->old, area.rows.first, area.x.first);
    out = FN(cell)(tile, step->level, step->slot, area.rows.first, area.x.first);
    FN(find_bases)(tile, step->level - 1, plane, &area, 1, tile->bases);
    switch (tile->op->kind) {
    case OP_HEAT:
        if (tile->op->joint > 0)
            FN(joint_area)(tile, &area, u, out);
        else
            FN(heat_area)(tile, &area, u, out);
        break;
    case OP_GRADIENT:
        FN(find_bases)(tile, step->level - 1, plane, &area, -1, tile->bases + tile->op->tap_count);
        FN(gradient_area)(tile, &area, out);
        break;
    default:
        if (tile->is_box)
            FN(box_area)(tile, &area, out);
        else
            FN(chain_area)(tile, &area, out);
        break;
    }
}

/* The edges of a plane that has been computed, and the rows that the next block reads. */
static void FN(finish_plane)(const struct FN(tile) * tile, const struct FN(step) * step, int64_t plane,
                             const struct FN(area) * area)
{
    FN(find_kept)(tile, step->level, plane, step->slot);
    if (tile->op->edge == EDGE_HOLD)
        FN(hold_plane)(tile, step, area->rows, area->x);
    if (step->level < tile->tiling->steps)
        FN(fill_margins)(tile, step->level, step->slot);
    FN(keep_rows_of)(tile, step->level, plane, step->slot);
}

/* Whether two planes next to each other are a pair for the star's own loop. */
static bool FN(is_star_pair)(const struct FN(tile) * tile, unsigned level, int64_t plane)
{
    const struct op *op = tile->op;
    struct span planes = level_span(&tile->plane, tile->tiling->steps - level);
    bool held = op->edge == EDGE_HOLD && (FN(is_held)(&tile->plane, op->plane, plane) ||
                                          FN(is_held)(&tile->plane, op->plane, plane + 1));

    return tile->tiling->is_star && !held && plane >= planes.first && plane + 1 < planes.end;
}

/* Whether a pair may stand where the two planes below did that nobody reads after it. */
static bool FN(replaces)(const struct FN(tile) * tile, unsigned level, int64_t plane)
{
    struct span below = level_span(&tile->plane, tile->tiling->steps - level + 1);

    return tile->op->edge != EDGE_HOLD && plane - 1 >= below.first;
}

/* Slots for a pair; a plane that replaces the one it is computed from stands a row farther on. */
static void FN(place_pair)(struct FN(tile) * tile, unsigned level, int64_t plane, REAL **lower, REAL **upper)
{
    if (FN(replaces)(tile, level, plane)) {
        *lower = *FN(slot_of)(tile, level - 1, plane - 1);
        *upper = *FN(slot_of)(tile, level - 1, plane) + tile->tiling->pitch;
        *FN(slot_of)(tile, level, plane) = *lower;
        *FN(slot_of)(tile, level, plane + 1) = *upper;
    } else {
        *lower = FN(take_slot)(tile, level, plane);
        *upper = FN(take_slot)(tile, level, plane + 1);
    }
}

static void FN(advance_star_pair)(struct FN(tile) * tile, unsigned level, int64_t plane)
{
    struct FN(area) area = {FN(block_span)(tile, level), level_span(&tile->x, tile->tiling->steps - level)};
    struct span whole = FN(whole_vectors)(tile, area.x);
    struct FN(step) lower = {level, NULL, FN(plane_slot)(tile, level - 1, plane)};
    struct FN(step) upper = {level, NULL, FN(plane_slot)(tile, level - 1, plane + 1)};
    int64_t row = area.rows.first;
    struct FN(star) star = {.weights = tile->weights};

    star.below = FN(cell)(tile, level - 1, FN(plane_slot)(tile, level - 1, plane - 1), row, whole.first);
    star.lower = FN(cell)(tile, level - 1, lower.old, row, whole.first);
    star.upper = FN(cell)(tile, level - 1, upper.old, row, whole.first);
    star.above = FN(cell)(tile, level - 1, FN(plane_slot)(tile, level - 1, plane + 2), row, whole.first);
    FN(place_pair)(tile, level, plane, &lower.slot, &upper.slot);
    star.lower_out = FN(cell)(tile, level, lower.slot, row, whole.first);
    star.upper_out = FN(cell)(tile, level, upper.slot, row, whole.first);
    FN(star_planes)
    (&star, tile->tiling->pitch, (size_t)(area.rows.end - row), (size_t)(whole.end - whole.first),
     &tile->pump);
    FN(finish_plane)(tile, &lower, plane, &area);
    FN(finish_plane)(tile, &upper, plane + 1, &area);
}

static void FN(advance_plane)(struct FN(tile) * tile, unsigned level, int64_t plane)
{
    struct FN(area) area = {FN(block_span)(tile, level), level_span(&tile->x, tile->tiling->steps - level)};
    struct FN(step) step = {level, FN(take_slot)(tile, level, plane), FN(plane_slot)(tile, level - 1, plane)};

    if (tile->op->edge == EDGE_HOLD && FN(is_held)(&tile->plane, tile->op->plane, plane))
        FN(copy_held)(tile, &step, area.rows, area.x);
    else
        FN(compute_area)(tile, &step, plane, area);
    FN(finish_plane)(tile, &step, plane, &area);
}

/* The planes below that nobody reads any more when a level has a plane. */
static void FN(let_go)(struct FN(tile) * tile, unsigned level, int64_t plane)
{
    struct span planes = level_span(&tile->plane, tile->tiling->steps - level);
    struct span below = level_span(&tile->plane, tile->tiling->steps - level + 1);
    int64_t last_use = plane - (int64_t)tile->plane.margin.before;

    if (plane >= planes.first && plane < planes.end && last_use >= below.first)
        FN(give_slot)(tile, *FN(slot_of)(tile, level - 1, last_use));
}

/* Planes of a level, as far as the level has them. */
static void FN(advance_level)(struct FN(tile) * tile, unsigned level, int64_t plane)
{
    struct span planes = level_span(&tile->plane, tile->tiling->steps - level);

    if (FN(is_star_pair)(tile, level, plane)) {
        FN(advance_star_pair)(tile, level, plane);
        if (FN(replaces)(tile, level, plane))
            return;
    } else {
        for (int64_t i = plane; i < plane + TOGETHER; i++) {
            if (i >= planes.first && i < planes.end)
                FN(advance_plane)(tile, level, i);
        }
    }
    for (int64_t i = plane; i < plane + TOGETHER; i++)
        FN(let_go)(tile, level, i);
}

/* A finished plane, on its way to the field. */
static void FN(let_leave)(struct FN(tile) * tile, int64_t plane)
{
    unsigned level = tile->tiling->steps;
    struct span rows = FN(block_span)(tile, level), x = tile->x.own;
    REAL *slot = *FN(slot_of)(tile, level, plane);
    struct strip strip = {.bytes = (size_t)(x.end - x.first) * sizeof(REAL),
                          .from_stride = tile->tiling->pitch * sizeof(REAL),
                          .to_stride = (size_t)tile->x.extent * sizeof(REAL),
                          .rows = (size_t)(rows.end - rows.first)};

    for (size_t layer = 0; layer < tile->channels.count && rows.first < rows.end; layer++) {
        REAL *to =
            FN(row_of)(tile->to, (size_t)plane, FN(channel_of)(tile, layer), (size_t)rows.first) + x.first;
        strip.from =
            (const char *)FN(cell)(tile, level, FN(layer_of)(tile, slot, layer), rows.first, x.first);
        strip.to = (char *)to;
        pump_add(&tile->pump, strip);
    }
}

/* Turns of the pump while planes go through all levels. */
static size_t FN(pump_turns)(const struct FN(tile) * tile)
{
    size_t rows = tile->tiling->tile_rows * tile->tiling->steps;

    return tile->tiling->is_star ? (rows + 1) / 2 : TOGETHER * rows;
}

/* Take in planes, and every level on by as many; meanwhile the last ones leave. */
static void FN(advance_tile)(struct FN(tile) * tile, int64_t plane)
{
    unsigned steps = tile->tiling->steps;
    struct span read = level_span(&tile->plane, steps), written = tile->plane.own;
    int64_t ahead = (int64_t)tile->plane.margin.after, leaving = plane - steps * ahead - TOGETHER;

    pump_empty(&tile->pump);
    for (int64_t i = 0; i < TOGETHER; i++) {
        if (plane + i < read.end)
            FN(load_plane)(tile, plane + i);
        if (leaving + i >= written.first && leaving + i < written.end)
            FN(let_leave)(tile, leaving + i);
    }
    FN(look_ahead)(tile, plane + TOGETHER);
    pump_pace(&tile->pump, FN(pump_turns)(tile));
    for (unsigned level = 1; level <= steps; level++)
        FN(advance_level)(tile, level, plane - level * ahead);
    pump_drain(&tile->pump);
    for (int64_t i = leaving; i < leaving + TOGETHER; i++) {
        if (i >= written.first && i < written.end)
            FN(give_slot)(tile, *FN(slot_of)(tile, steps, i));
    }
}

/* Take all slots back from the block before. */
static void FN(clear_slots)(struct FN(tile) * tile)
{
    const struct cpu_tiling *tiling = tile->tiling;

    tile->free_count = 0;
    for (size_t i = 0; i < tiling->slots; i++)
        FN(give_slot)(tile, tile->slots + i * tiling->slot_samples);
    tile->constant = NULL;
    if (tile->op->edge == EDGE_CONSTANT) {
        tile->constant = tile->free_slots[--tile->free_count];
        for (size_t i = 0; i < tile->channels.count * tiling->layer_samples; i++)
            tile->constant[i] = FN(outside)(tile, i / tiling->layer_samples);
    }
}

/* All planes of a block of rows. */
static void FN(stream_block)(struct FN(tile) * tile)
{
    unsigned steps = tile->tiling->steps;
    struct span read = level_span(&tile->plane, steps), written = tile->plane.own;
    int64_t end = written.end + steps * (int64_t)tile->plane.margin.after + TOGETHER;

    FN(clear_slots)(tile);
    for (int64_t plane = read.first; plane < end; plane += TOGETHER)
        FN(advance_tile)(tile, plane);
}

static void FN(run_tile)(struct FN(tile) * tile)
{
    unsigned steps = tile->tiling->steps;
    int64_t lag = steps * (int64_t)tile->row.margin.after;

    tile->block = level_span(&tile->row, steps).first;
    for (; tile->block - lag < tile->row.own.end; tile->block += (int64_t)tile->tiling->tile_rows)
        FN(stream_block)(tile);
}

/* ---- the field ---- */

/* Put a thread's arena in order for a tile. */
static void FN(lay_out)(struct FN(tile) * tile, void *arena)
{
    const struct cpu_tiling *tiling = tile->tiling;
    REAL *samples = (REAL *)arena + tiling->pitch; /* a row ahead that rounding may read */
    REAL *weights = samples + tiling->slots * tiling->slot_samples + tiling->pitch;

    tile->slots = samples;
    tile->weights = weights;
    tile->kept = weights + tile->op->tap_count;
    tile->free_slots = (REAL **)((char *)arena + tiling->pointers_at);
    tile->levels = tile->free_slots + tiling->slots;
    tile->bases = (const REAL **)(tile->levels + tiling->ring * (tiling->steps + 1));
    for (size_t k = 0; k < tile->op->tap_count; k++)
        weights[k] = (REAL)tile->op->taps[k].weight;
}

/* Raster order leaves one place for each tap of a full box. */
static bool FN(is_box)(const struct op *op)
{
    if (op->kind != OP_TAPS || op->tap_count != BOX_TAPS)
        return false;
    for (int k = 0; k < BOX_TAPS; k++) {
        const struct op_tap *tap = &op->taps[k];
        if (tap->dx != k % BOX_SIDE - 1 || tap->drow != k / BOX_SIDE % BOX_SIDE - 1 ||
            tap->dplane != k / BOX_FACE - 1)
            return false;
    }
    return true;
}

static struct axis FN(axis_of)(const struct op *op, struct cpu_margin margin, size_t extent, size_t first,
                               size_t count, size_t end)
{
    struct axis axis = {.extent = (int64_t)extent, .margin = margin, .wraps = op->edge == EDGE_WRAP};

    axis.own.first = (int64_t)first;
    axis.own.end = (int64_t)(first + count < end ? first + count : end);
    return axis;
}

/* What a thread takes on at once: channels of a run of planes, rows and samples. */
static void FN(sweep_part)(const struct cpu_sweep *sweep, struct range channels, const struct axis *axes,
                           char *arena)
{
    unsigned channel = (unsigned)channels.first;

    if (sweep->tiling->is_line) {
        struct FN(line) line = {.op = sweep->op,
                                .from = sweep->from,
                                .to = sweep->to,
                                .past_caches = sweep->past_caches,
                                .channel = channel};
        FN(line_tile)(&line, sweep->tiling, arena, axes);
    } else if (sweep->tiling->is_direct) {
        struct FN(direct) direct = {.op = sweep->op,
                                    .from = sweep->from,
                                    .to = sweep->to,
                                    .past_caches = sweep->past_caches,
                                    .channel = channel};
        FN(direct_tile)(&direct, sweep->tiling, arena, axes);
    } else if (sweep->tiling->is_picture) {
        struct FN(picture) picture = {.op = sweep->op,
                                      .tiling = sweep->tiling,
                                      .from = sweep->from,
                                      .to = sweep->to,
                                      .pump = {.past_caches = sweep->past_caches},
                                      .channel = channel,
                                      .place = (size_t)axes[1].own.first,
                                      .x = axes[0],
                                      .row = axes[2]};
        FN(run_picture)(&picture, arena);
    } else {
        struct FN(tile) tile = {.op = sweep->op,
                                .tiling = sweep->tiling,
                                .from = sweep->from,
                                .to = sweep->to,
                                .pump = {.past_caches = sweep->past_caches},
                                .is_box = FN(is_box)(sweep->op),
                                .channels = channels,
                                .x = axes[0],
                                .row = axes[1],
                                .plane = axes[2]};
        tile.plane.margin = margin_read(&tile.plane, sweep->op->plane, sweep->tiling->steps);
        FN(lay_out)(&tile, arena);
        FN(run_tile)(&tile);
    }
    isa_stores_done();
}

/* A sweep cut into parts: groups of channels, runs of planes, runs of rows, tiles. */
struct FN(cut_sweep) {
    const struct cpu_sweep *sweep;
    struct cpu_cut cut;
    size_t runs_of_planes, runs_of_rows, tiles;
};

static size_t FN(parts_of)(size_t extent, size_t part)
{
    return (extent + part - 1) / part;
}

static void FN(sweep_parts)(void *context, struct range parts, unsigned member)
{
    const struct FN(cut_sweep) *cut = context;
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
            FN(axis_of)(sweep->op, tiling->x, shape->nx, x, tiling->tile_x, shape->nx),
            FN(axis_of)(sweep->op, tiling->row, shape->rows, row, cut->cut.rows, shape->rows),
            FN(axis_of)(sweep->op, tiling->plane, shape->planes, sweep->planes.first + run * cut->cut.planes,
                        cut->cut.planes, end)};
        FN(sweep_part)
        (sweep, op_group(sweep->op, runs / cut->runs_of_rows / cut->runs_of_planes), axes, arena);
    }
}

static void FN(sweep)(const struct cpu_sweep *sweep)
{
    const struct shape *shape = &sweep->to->shape;
    struct FN(cut_sweep)
        cut = {.sweep = sweep,
               .cut = cpu_tiling_cut(sweep->tiling, shape, sweep->planes.count, (int)sweep->crew.members)};

    cut.runs_of_planes = FN(parts_of)(sweep->planes.count, cut.cut.planes);
    cut.runs_of_rows = FN(parts_of)(shape->rows, cut.cut.rows);
    cut.tiles = FN(parts_of)(shape->nx, sweep->tiling->tile_x);
    cpu_team_share(&sweep->crew, sweep->tiling->groups * cut.runs_of_planes * cut.runs_of_rows * cut.tiles, 1,
                   FN(sweep_parts), &cut);
    FN(keep_channels)(sweep->op, sweep->from, sweep->to, sweep->planes, &sweep->crew);
}
