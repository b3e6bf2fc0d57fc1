/* Rung `fused` for pictures whose taps are the nearest neighbours: a star or a whole box.
 *
 * Known as: temporal blocking (time skewing) by rows, overlapped tiling along x.
 * Idea: a column of the picture streams through a thread's own cache. A few rows come in at once; with them
 *   the first level computes as many, with these the next level, and so on, and the last level's rows
 *   leave, all before the next rows come in. A level lags a row behind the one below, of which it reads the
 *   rows that were computed a moment ago, and the two before.
 * Adds: two rows for each level. Free slots are a stack: the row that was freed last, which is still in the
 *   first-level cache, is overwritten first.
 * Costs: the halo of a column is read and computed again by its neighbours.
 * Traffic per sample: 2 words through memory a pass, divided by the steps of the pass, and the halo.
 * Wins when: a plane has one row, or rows that do not read each other; for a single step, `blocked` reads
 *   short chains in place.
 *
 * Rows here are planes of one row; if planes have several rows, each of these is a picture of its own. */

struct picture {
    const struct op *op;
    const struct cpu_tiling *tiling;
    const struct field *from;
    struct field *to;
    struct write_behind behind;
    unsigned channel;
    size_t place; /* the row of each plane that is the picture's row */
    struct axis x, row;
    int64_t origin; /* the column where slots begin */

    real **free_slots; /* a stack */
    size_t free_count;
    real **levels; /* slots of rows: for each level a ring of PICTURE_RING */
    real *leaving; /* slots, one after another, of finished rows that write-behind still reads */
    real *beyond;  /* a row outside the grid, under EDGE_CONSTANT */
    const real *weights;
};

/* ---- sums ---- */

/* Rows that are computed at once, from sample `first` to `end` of slots. */
struct lines {
    const real *in[PICTURE_ROWS + 2]; /* one more on either side */
    real *out[PICTURE_ROWS];
    size_t count, first, end;
};

/* Rows are read once: each is the row before, the own row and the row behind of three sums. */
ISA_INLINE void star_lines(size_t rows, const real *weights, const struct lines *lines)
{
    vector splat[PICTURE_STAR];
    struct shifted shifted[PICTURE_ROWS];
    struct lines at = *lines;

#pragma GCC unroll 5
    for (size_t k = 0; k < PICTURE_STAR; k++)
        splat[k] = vector_splat(weights[k]);
#pragma GCC unroll 4
    for (size_t i = 0; i < rows; i++)
        shifted_start(&shifted[i], at.in[i + 1] + at.first);
    for (size_t x = at.first; x < at.end; x += LANES) {
        vector before = vector_load(at.in[0] + x), behind = vector_load(at.in[rows + 1] + x);
        vector sums[PICTURE_ROWS];
#pragma GCC unroll 4
        for (size_t i = 0; i < rows; i++)
            shifted_on(&shifted[i], at.in[i + 1] + x);
#pragma GCC unroll 4
        for (size_t i = 0; i < rows; i++) {
            sums[i] = splat[0] * (i == 0 ? before : shifted[i - 1].centre);
            sums[i] = vector_fma(splat[1], shifted_left(&shifted[i], at.in[i + 1] + x), sums[i]);
            sums[i] = vector_fma(splat[2], shifted[i].centre, sums[i]);
            sums[i] = vector_fma(splat[3], shifted_right(&shifted[i], at.in[i + 1] + x), sums[i]);
            sums[i] = vector_fma(splat[4], i + 1 == rows ? behind : shifted[i + 1].centre, sums[i]);
        }
#pragma GCC unroll 4
        for (size_t i = 0; i < rows; i++)
            vector_store(at.out[i] + x, sums[i]);
    }
}

/* A row of a box continues the sums of the rows around it: the third row of taps of the one before, the first
   of the one behind. */
ISA_INLINE void box_lines(size_t rows, const real *weights, const struct lines *lines)
{
    vector splat[PICTURE_BOX];
    struct lines at = *lines;

#pragma GCC unroll 9
    for (size_t k = 0; k < PICTURE_BOX; k++)
        splat[k] = vector_splat(weights[k]);
    for (size_t x = at.first; x < at.end; x += LANES) {
        vector sums[PICTURE_ROWS];
#pragma GCC unroll 6
        for (size_t i = 0; i < rows + 2; i++) {
            vector before = vector_load(at.in[i] + x - 1), centre = vector_load(at.in[i] + x);
            vector behind = vector_load(at.in[i] + x + 1);
#pragma GCC unroll 3
            for (size_t line = 0; line < 3; line++) {
                const vector *taps = splat + 3 * line;
                size_t row = i - line;
                if (line > i || row >= rows)
                    continue;
                sums[row] = line == 0 ? taps[0] * before : vector_fma(taps[0], before, sums[row]);
                sums[row] = vector_fma(taps[1], centre, sums[row]);
                sums[row] = vector_fma(taps[2], behind, sums[row]);
            }
        }
#pragma GCC unroll 4
        for (size_t i = 0; i < rows; i++)
            vector_store(at.out[i] + x, sums[i]);
    }
}

/* By the loop for the number of rows and the kind of taps. */
static void sum_picture(const struct picture *picture, const struct lines *lines)
{
    bool is_star = picture->op->tap_count == PICTURE_STAR;

    switch (lines->count) {
#define FIXED(rows)                                                                                          \
    case rows:                                                                                               \
        if (is_star)                                                                                         \
            star_lines(rows, picture->weights, lines);                                                       \
        else                                                                                                 \
            box_lines(rows, picture->weights, lines);                                                        \
        break;
        FIXED(1)
        FIXED(2)
        FIXED(3)
        FIXED(4)
#undef FIXED
    default:
        break;
    }
}

/* ---- slots ---- */

static real **line_of(const struct picture *picture, unsigned level, int64_t row)
{
    return &picture->levels[level * PICTURE_RING + (size_t)row % PICTURE_RING];
}

/* A free slot for a row of a level. */
static real *take_line(struct picture *picture, unsigned level, int64_t row)
{
    return *line_of(picture, level, row) = picture->free_slots[--picture->free_count];
}

/* The slot that a tap reads for a row of a level. Under EDGE_HOLD, values outside do not count: any slot will
 * do. */
static const real *line_read(const struct picture *picture, unsigned level, int64_t row)
{
    if (!picture->row.wraps)
        row = arith_edge_index(picture->op->edge, row, picture->row.extent);
    return row < 0 && !picture->row.wraps ? picture->beyond : *line_of(picture, level, row);
}

/* Rows of a level that can be computed when PICTURE_ROWS rows of level 0 from `row` on are there: a level
   lags a row behind the one below. */
static struct span lines_due(const struct picture *picture, unsigned level, int64_t row)
{
    struct span due = {row - level, row - level + PICTURE_ROWS};

    return common_span(level_span(&picture->row, picture->tiling->steps - level), due);
}

/* When a level has rows, all rows that they read are free but the last two. */
static void let_lines_go(struct picture *picture, unsigned level, struct span rows)
{
    struct span below = level_span(&picture->row, picture->tiling->steps - level + 1);
    struct span done = common_span(below, (struct span){rows.first - 1, rows.end - 1});

    for (int64_t row = done.first; row < done.end; row++)
        picture->free_slots[picture->free_count++] = *line_of(picture, level - 1, row);
}

/* ---- edges ---- */

static real *sample_at(const struct picture *picture, real *slot, int64_t x)
{
    return slot + (x - picture->origin);
}

static void fill_sample(const struct picture *picture, real *slot, int64_t x)
{
    int64_t inside = arith_edge_index(picture->op->edge, x, picture->x.extent);

    *sample_at(picture, slot, x) = inside < 0 ? *picture->beyond : *sample_at(picture, slot, inside);
}

/* Fill the one sample at either end of a row that the next level reads outside the grid. */
static void fill_ends(const struct picture *picture, unsigned level, real *slot)
{
    unsigned left = picture->tiling->steps - level;
    struct span before = margin_before(&picture->x, left), behind = margin_behind(&picture->x, left);

    if (left == 0 || edge_has(picture->op->edge, EDGE_PERIODIC) ||
        edge_has(picture->op->edge, EDGE_KEEPS_SAMPLE))
        return;
    if (before.first < before.end)
        fill_sample(picture, slot, before.first);
    if (behind.first < behind.end)
        fill_sample(picture, slot, behind.first);
}

/* EDGE_HOLD: samples that have a tap outside stay as they were. */
static void hold_picture_row(const struct picture *picture, int64_t row, const real *old, real *slot)
{
    size_t first = (size_t)-picture->origin, last = first + (size_t)picture->x.extent - 1;
    size_t pitch = picture->tiling->pitch;

    if (row == 0 || row == picture->row.extent - 1)
        memcpy(slot, old, pitch * sizeof *slot);
    if (first < pitch)
        slot[first] = old[first];
    if (last < pitch)
        slot[last] = old[last];
}

/* ---- rows on their way ---- */

/* A row of the picture in the field, also beyond its ends if they wrap. */
static const real *line_source(const struct picture *picture, int64_t row)
{
    return row_of(picture->from, (size_t)wrapped(row, picture->row.extent), picture->channel, picture->place);
}

/* Copy the rows of level 0 that are due into slots, edges filled. */
static void load_lines(struct picture *picture, int64_t row)
{
    struct span rows = lines_due(picture, 0, row), x = level_span(&picture->x, picture->tiling->steps);

    for (int64_t i = rows.first; i < rows.end; i++) {
        const real *from = line_source(picture, i);
        real *slot = take_line(picture, 0, i);
        copy_around(from, picture->x.extent, x, sample_at(picture, slot, x.first));
        fill_ends(picture, 0, slot);
    }
}

/* How many of the rows from `row` on follow one another in the memory of a field, which goes round. */
static size_t lines_together(const struct field *field, int64_t row, size_t count)
{
    return size_least(count, field->planes.count - slot_in(field, (size_t)row));
}

/* The rows that come in after those from `row` on, as far as they follow one another in the field. */
static void expect_lines(struct picture *picture, int64_t row)
{
    struct span rows = lines_due(picture, 0, row + PICTURE_ROWS);
    struct span x =
        common_span(level_span(&picture->x, picture->tiling->steps), (struct span){0, picture->x.extent});
    int64_t inside = wrapped(rows.first, picture->row.extent);
    size_t left = (size_t)(picture->row.extent - inside), count = (size_t)(rows.end - rows.first);

    if (count == 0)
        return;
    write_behind_expect(
        &picture->behind,
        (struct byte_block){.from = (const char *)(line_source(picture, rows.first) + x.first),
                            .bytes = (size_t)(x.end - x.first) * sizeof(real),
                            .from_stride = picture->from->pitch * sizeof(real),
                            .rows = lines_together(picture->from, inside, size_least(count, left))});
}

/* Rows of the last level, to the field while the next ones go through the levels. */
static void let_lines_leave(struct picture *picture, struct span rows)
{
    const size_t pitch = picture->tiling->pitch;
    const real *from = sample_at(picture, picture->leaving, picture->x.own.first);

    while (rows.first < rows.end) {
        real *to = row_of(picture->to, (size_t)rows.first, picture->channel, picture->place);
        size_t count = lines_together(picture->to, rows.first, (size_t)(rows.end - rows.first));
        write_behind_add(
            &picture->behind,
            (struct byte_block){.from = (const char *)from,
                                .to = (char *)(to + picture->x.own.first),
                                .bytes = (size_t)(picture->x.own.end - picture->x.own.first) * sizeof(real),
                                .from_stride = pitch * sizeof(real),
                                .to_stride = picture->to->pitch * sizeof(real),
                                .rows = count});
        from += count * pitch;
        rows.first += (int64_t)count;
    }
}

/* ---- levels ---- */

/* Compute rows of a level, in whole vectors: nobody reads what they write around the level's columns. */
static void advance_lines(struct picture *picture, unsigned level, struct span rows)
{
    const struct cpu_tiling *tiling = picture->tiling;
    struct span x = level_span(&picture->x, tiling->steps - level);
    struct lines lines = {.count = (size_t)(rows.end - rows.first)};

    lines.first = (size_t)(x.first - picture->origin) / LANES * LANES;
    lines.end = (size_t)(x.end - picture->origin);
    for (size_t i = 0; i < lines.count + 2; i++)
        lines.in[i] = line_read(picture, level - 1, rows.first - 1 + (int64_t)i);
    for (size_t i = 0; i < lines.count; i++)
        lines.out[i] = level == tiling->steps ? picture->leaving + i * tiling->pitch
                                              : take_line(picture, level, rows.first + (int64_t)i);
    sum_picture(picture, &lines);
    /* Edges, for the next level; then rows that it no longer needs are free. */
    for (size_t i = 0; i < lines.count; i++) {
        if (edge_has(picture->op->edge, EDGE_KEEPS_SAMPLE))
            hold_picture_row(picture, rows.first + (int64_t)i, lines.in[i + 1], lines.out[i]);
        fill_ends(picture, level, lines.out[i]);
    }
    let_lines_go(picture, level, rows);
}

/* Take in PICTURE_ROWS rows, and let each level compute as many, the lowest first. Meanwhile the rows that
   the last call finished leave: they are gone before the last level writes its slots anew. */
static void advance_picture(struct picture *picture, int64_t row)
{
    unsigned steps = picture->tiling->steps;

    load_lines(picture, row);
    expect_lines(picture, row);
    write_behind_pace(&picture->behind, steps * PICTURE_ROWS);
    for (unsigned level = 1; level <= steps; level++) {
        struct span rows = lines_due(picture, level, row);
        for (int i = 0; i < PICTURE_ROWS; i++)
            write_behind_once(&picture->behind);
        if (level == steps)
            write_behind_drain(&picture->behind);
        if (rows.first < rows.end)
            advance_lines(picture, level, rows);
    }
    write_behind_clear(&picture->behind);
    let_lines_leave(picture, lines_due(picture, steps, row));
}

/* Find the places of a thread's arena for a column. */
static void lay_out_picture(struct picture *picture, char *arena)
{
    const struct cpu_tiling *tiling = picture->tiling;
    const struct cpu_layout *layout = &tiling->layout;
    real *slots = (real *)(arena + layout->slots);

    picture->leaving = slots;
    picture->beyond = slots + PICTURE_ROWS * tiling->pitch;
    picture->weights = put_weights(picture->op, arena + layout->weights);
    picture->free_slots = (real **)(arena + layout->free_slots);
    picture->levels = (real **)(arena + layout->levels);
    for (size_t i = PICTURE_ROWS + 1; i < tiling->slots; i++)
        picture->free_slots[picture->free_count++] = slots + i * tiling->pitch;
    for (size_t i = 0; i < tiling->pitch; i++)
        picture->beyond[i] = outside_of(picture->op, picture->channel);
}

static void picture_part(const struct cpu_sweep *sweep, struct range channels, const struct axis *axes,
                         char *arena)
{
    unsigned steps = sweep->tiling->steps;
    struct picture picture = {.op = sweep->op,
                              .tiling = sweep->tiling,
                              .from = sweep->from,
                              .to = sweep->to,
                              .behind = {.past_caches = sweep->past_caches},
                              .channel = (unsigned)channels.first,
                              .place = (size_t)axes[1].own.first,
                              .x = axes[0],
                              .row = axes[2],
                              .origin = axes[0].own.first - (int64_t)sweep->tiling->lead};

    lay_out_picture(&picture, arena);
    write_behind_clear(&picture.behind);
    for (int64_t row = level_span(&picture.row, steps).first; row - steps < picture.row.own.end;
         row += PICTURE_ROWS)
        advance_picture(&picture, row);
    write_behind_pace(&picture.behind, 1);
    write_behind_drain(&picture.behind);
}
