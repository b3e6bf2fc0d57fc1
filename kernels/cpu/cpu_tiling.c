/* The shape of the tiles that a sweep over a field works in. */
#include "cpu_tiling.h"

#include <stdint.h>

/* What the slots of a tile may take: a share of the third-level cache, from which planes come one after the
   other, as a cache expects them. A higher block leaves fewer rows to the next one. */
#define CACHE_BYTES ((size_t)7 << 19)

/* What a tile without slots may take of the second-level cache: the planes that a step reads, and two more on
   their way in and out. */
#define NEAR_CACHE_BYTES ((size_t)3 << 17)

/* What kept rows may take of the third level, where that leaves tiles long enough. */
#define KEPT_BYTES ((size_t)8 << 20)

/* The most that a thread may have, where taps reach so far that no cache holds a tile. */
#define ARENA_BYTES ((size_t)16 << 20)

/* A row of a picture's column: a few of them are in the first-level cache, those of all levels in the
   second. */
#define PICTURE_BYTES ((size_t)4 << 10)

#define LINE_BYTES 64

/* Reading a sample from memory and writing one, in taps that are computed in the meantime, and a tap of a
   flux in plain taps. */
#define MOVING_TAPS 30.0
#define FLUX_TAPS   8.0

/* Keeping a sample for the next block and finding it again, in taps. */
#define KEEPING_TAPS 6.0

/* Planes that are computed twice at the seam of two segments may be one in so many. */
#define SEGMENT_LENGTH 8

/* Planes go in pairs, and so do rows. */
#define PAIR 2

/* A part of a sweep is at the least so many times as long as what it computes beside itself. */
#define PART_LENGTH 4

/* More parts for each thread are not tried, and where the threads end, so much of one is waited for. */
#define PARTS_A_THREAD 4
#define WAITED_PART    0.125

static size_t rounded_up(size_t value, size_t unit)
{
    return (value + unit - 1) / unit * unit;
}

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* A rule that mirrors may ask on either side for what the taps reach on the other. */
static struct cpu_margin margin_of(struct reach reach, enum edge_rule rule)
{
    struct cpu_margin margin = {(size_t) - (int64_t)reach.low, (size_t)reach.high};

    if (edge_has(rule, EDGE_TURNS))
        margin.before = margin.after = larger(margin.before, margin.after);
    return margin;
}

static size_t both(struct cpu_margin margin)
{
    return margin.before + margin.after;
}

/* Cut an extent into even parts, none above `most`. */
static size_t even_part(size_t extent, size_t most)
{
    size_t parts = (extent + most - 1) / most;

    return (extent + parts - 1) / parts;
}

/* Raster order leaves one place for each tap of a full star. */
static bool is_nearest_star(const struct op *op)
{
    static const struct op_tap full[7] = {{0, 0, -1, 0}, {0, -1, 0, 0}, {-1, 0, 0, 0}, {0, 0, 0, 0},
                                          {1, 0, 0, 0},  {0, 1, 0, 0},  {0, 0, 1, 0}};

    if (op->kind != OP_TAPS || op->tap_count != 7)
        return false;
    for (size_t k = 0; k < 7; k++) {
        if (op->taps[k].dx != full[k].dx || op->taps[k].drow != full[k].drow ||
            op->taps[k].dplane != full[k].dplane)
            return false;
    }
    return true;
}

/* Raster order leaves one place for each tap. */
bool cpu_tiling_suits_picture(const struct op *op)
{
    size_t k = 0;

    if (op->kind != OP_TAPS || (op->tap_count != PICTURE_STAR && op->tap_count != PICTURE_BOX))
        return false;
    for (int dplane = -1; dplane <= 1; dplane++) {
        for (int dx = -1; dx <= 1; dx++) {
            if (op->tap_count == PICTURE_STAR && dplane != 0 && dx != 0)
                continue;
            if (op->taps[k].dx != dx || op->taps[k].drow != 0 || op->taps[k].dplane != dplane)
                return false;
            k++;
        }
    }
    return true;
}

/* One row, of an odd number of lines: rows of several slots at once never share the same few places of a
   cache. */
static void set_picture_slot(struct cpu_tiling *tiling, size_t line)
{
    if (tiling->pitch / line % 2 == 0)
        tiling->pitch += line;
    tiling->slot_rows = 1;
    tiling->layer_samples = tiling->slot_samples = tiling->pitch;
}

static bool moves(struct reach reach)
{
    return reach.low != 0 || reach.high != 0;
}

/* Taps without a gap on one axis, the only one along which they move; enough of them for all rows of sums
   that are open at once. */
static bool is_line(const struct op *op)
{
    int axes = moves(op->x) + moves(op->row) + moves(op->plane);
    struct reach reach = moves(op->x) ? op->x : moves(op->row) ? op->row : op->plane;

    return op->kind == OP_TAPS && axes == 1 && op->tap_count >= LINE_ROWS &&
           (size_t)(reach.high - reach.low) + 1 == op->tap_count;
}

static void set_slot(struct cpu_tiling *tiling, const struct op *op)
{
    size_t line = LINE_BYTES / work_size(op->work), steps = tiling->steps;

    tiling->lead = rounded_up(tiling->x.before * steps, line);
    tiling->pitch = tiling->lead + rounded_up(tiling->tile_x + tiling->x.after * steps, line);
    tiling->slot_rows = tiling->tile_rows + both(tiling->row);
    tiling->layer_samples = (tiling->slot_rows + (tiling->is_star ? steps : 0)) * tiling->pitch;
    tiling->slot_samples = tiling->layers * tiling->layer_samples;
    tiling->kept_samples = steps > 1 ? both(tiling->row) * tiling->pitch : 0;
    if (tiling->is_picture)
        set_picture_slot(tiling, line);
}

/* Beside the two rows that the next level reads again there are rows being read, rows being written, and rows
   that leave; one more slot holds what is outside. */
static void set_picture_slots(struct cpu_tiling *tiling)
{
    tiling->ring = PICTURE_RING;
    tiling->slots = 2 * tiling->steps + 3 * PICTURE_ROWS + 1;
}

/* Each level keeps the planes that the next one reads. Beside them there are, two at once, planes that nobody
   reads any more, planes being written, and planes that leave; one more slot holds what is outside. */
static void set_slots(struct cpu_tiling *tiling, const struct op *op)
{
    tiling->is_picture = tiling->steps > 1 && cpu_tiling_suits_picture(op);
    if (tiling->is_picture) {
        set_picture_slots(tiling);
        return;
    }
    tiling->is_line = tiling->steps == 1 && is_line(op);
    tiling->is_direct =
        tiling->is_line || (tiling->steps == 1 && op->kind == OP_TAPS && op->tap_count <= MOST_FIXED_TAPS);
    tiling->ring = both(tiling->plane) + 4;
    tiling->slots = tiling->is_direct ? 0
                                      : both(tiling->plane) * tiling->steps + 6 +
                                            (edge_has(op->edge, EDGE_SUPPLIES) ? 1 : 0);
}

/* Planes of a level, seams included, that rows are kept of. */
static void set_kept(struct cpu_tiling *tiling, const struct op *op, const struct shape *shape)
{
    size_t seams = both(tiling->plane) * tiling->steps, all = shape->planes + seams;
    size_t bytes = (tiling->steps - 1) * tiling->layers * tiling->kept_samples * work_size(op->work);
    size_t fit = bytes == 0 ? all : KEPT_BYTES / bytes;

    fit = larger(fit, seams + PAIR);
    tiling->kept_planes = fit < all ? fit : all;
}

static void set_arena(struct cpu_tiling *tiling, const struct op *op)
{
    size_t kept = (tiling->steps - 1) * tiling->kept_planes * tiling->layers * tiling->kept_samples;
    size_t samples = tiling->slots * tiling->slot_samples + 2 * tiling->pitch + op->tap_count + kept;
    size_t pointers = tiling->slots + tiling->ring * (tiling->steps + 1) + 3 * op->tap_count;

    tiling->pointers_at = rounded_up(samples * work_size(op->work), LINE_BYTES);
    tiling->arena_bytes = rounded_up(tiling->pointers_at + pointers * sizeof(void *), LINE_BYTES);
}

static double work_of(const struct op *op)
{
    double taps = (double)op->tap_count + 1.0;

    return op->kind == OP_HEAT ? FLUX_TAPS * (double)op->inner * taps : taps;
}

double cpu_tiling_cost(const struct cpu_tiling *tiling, const struct op *op)
{
    double x = (double)tiling->tile_x, rows = (double)tiling->tile_rows, steps = tiling->steps;
    double line = LINE_BYTES / (double)work_size(op->work);
    double halo = (double)both(tiling->x) * (steps - 1.0) / 2.0;
    double wide = halo > 0.0 ? x + halo + line / 2.0 : x;
    double moved = 0.5 + 0.5 * (double)tiling->pitch * (rows + (double)both(tiling->row)) / (x * rows);
    double kept = (double)both(tiling->row) / rows * (steps - 1.0) / steps;

    return (work_of(op) + KEEPING_TAPS * kept) * wide / x + MOVING_TAPS * moved / steps;
}

/* The rows that a block of so many columns may have. */
static size_t rows_that_fit(struct cpu_tiling *tiling, const struct op *op)
{
    size_t room = (tiling->is_direct ? NEAR_CACHE_BYTES : CACHE_BYTES) / work_size(op->work), rows;

    tiling->tile_rows = 1;
    set_slot(tiling, op);
    if (tiling->is_picture)
        return 1;
    if (tiling->is_direct)
        return larger(1, room / (both(tiling->plane) + 2) / tiling->tile_x);
    rows = room / tiling->slots / tiling->layers / tiling->pitch;
    return rows > both(tiling->row) ? rows - both(tiling->row) : 1;
}

/* The widest tile of at most so many columns that divides the field evenly, as high as fits. */
static void set_tile(struct cpu_tiling *tiling, const struct op *op, const struct shape *shape, size_t width)
{
    size_t line = LINE_BYTES / work_size(op->work);

    tiling->tile_x = rounded_up(even_part(shape->nx, width), line);
    tiling->tile_rows = even_part(shape->rows + tiling->row.after * tiling->steps, rows_that_fit(tiling, op));
    set_slot(tiling, op);
}

static const size_t widths[] = {64, 128, 192, 256, 384, 512, 768, 1024, 2048};

#define WIDTHS (sizeof widths / sizeof *widths)

static void choose_tile(struct cpu_tiling *tiling, const struct op *op, const struct shape *shape)
{
    struct cpu_tiling best = {0};

    if (tiling->is_picture) {
        set_tile(tiling, op, shape, PICTURE_BYTES / work_size(op->work));
        return;
    }
    for (size_t i = tiling->is_line ? WIDTHS - 1 : 0; i < WIDTHS; i++) {
        struct cpu_tiling form = *tiling;
        set_tile(&form, op, shape, widths[i]);
        if (best.tile_x == 0 || cpu_tiling_cost(&form, op) <= cpu_tiling_cost(&best, op))
            best = form;
    }
    *tiling = best;
}

/* Narrow fields have the same tile for several widths. */
void cpu_tiling_offers(const struct cpu_tiling *tiling, const struct op *op, const struct shape *shape,
                       struct tile *offers, size_t most)
{
    size_t count = 0, last = 0;

    for (size_t i = 0; i < WIDTHS && count < most; i++) {
        struct cpu_tiling form = *tiling;
        set_tile(&form, op, shape, widths[i]);
        if (form.tile_x != last && form.tile_x != tiling->tile_x)
            offers[count++] = (struct tile){(unsigned)form.tile_x, (unsigned)form.tile_rows};
        last = form.tile_x;
    }
}

bool cpu_tiling_make(struct cpu_tiling *tiling, const struct op *op, const struct shape *shape,
                     unsigned steps, size_t tile_x, size_t tile_rows)
{
    *tiling = (struct cpu_tiling){.steps = steps,
                                  .x = margin_of(op->x, op->edge),
                                  .row = margin_of(op->row, op->edge),
                                  .plane = margin_of(op->plane, op->edge),
                                  .groups = op_group_count(op),
                                  .layers = op_group_most(op),
                                  .is_star = is_nearest_star(op)};
    set_slots(tiling, op);
    if (tile_x > 0) {
        tiling->tile_x = tile_x;
        tiling->tile_rows = tile_rows;
        set_slot(tiling, op);
    } else {
        choose_tile(tiling, op, shape);
    }
    if ((double)tiling->slots * (double)tiling->slot_samples > (double)ARENA_BYTES ||
        (double)(both(tiling->plane) + 1) * (double)tile_rows * (double)tile_x > (double)ARENA_BYTES)
        return false;
    set_kept(tiling, op, shape);
    set_arena(tiling, op);
    return tiling->arena_bytes <= ARENA_BYTES;
}

void cpu_tiling_fewer(struct cpu_tiling *fewer, const struct cpu_tiling *tiling, const struct op *op,
                      unsigned steps)
{
    *fewer = *tiling;
    fewer->steps = steps;
    set_slots(fewer, op);
    set_slot(fewer, op);
    set_arena(fewer, op);
}

/* Whole columns where they keep all threads busy, else parts of them as long as do. */
static struct cpu_cut picture_cut(const struct cpu_tiling *tiling, const struct shape *shape, size_t planes,
                                  int threads)
{
    size_t seam = 2 * tiling->steps + 1;
    size_t columns = (shape->nx + tiling->tile_x - 1) / tiling->tile_x * tiling->groups * shape->rows;
    size_t fair = planes * columns / (size_t)threads + 1;
    size_t longest = larger(SEGMENT_LENGTH * seam, fair / 4);
    struct cpu_cut cut = {1, planes};

    if (threads > 1)
        cut.planes = even_part(planes, longest < fair ? longest : larger(seam, fair));
    return cut;
}

/* Long runs of planes of all rows that a tile has. */
static struct cpu_cut direct_cut(const struct cpu_tiling *tiling, size_t columns, size_t planes, int threads)
{
    size_t wanted = threads == 1 ? 1 : PARTS_A_THREAD * (size_t)threads;
    size_t shortest = SEGMENT_LENGTH * (both(tiling->plane) + 1);

    return (struct cpu_cut){tiling->tile_rows, larger(shortest, (planes * columns + wanted - 1) / wanted)};
}

/* An axis that is cut. */
struct cut_axis {
    size_t extent;
    size_t seam;         /* of which two parts that meet compute so much twice, over all levels */
    size_t fewest, most; /* parts */
};

static size_t part_length(const struct cut_axis *axis, size_t parts)
{
    return rounded_up((axis->extent + parts - 1) / parts, PAIR);
}

static size_t parts_of_length(const struct cut_axis *axis, size_t length)
{
    return (axis->extent + length - 1) / length;
}

static struct cut_axis cut_axis_of(size_t extent, struct cpu_margin margin, unsigned steps, size_t longest)
{
    struct cut_axis axis = {.extent = extent, .seam = both(margin) * steps / 2};
    size_t shortest = PART_LENGTH * larger(1, axis.seam);

    axis.fewest = longest < extent ? parts_of_length(&axis, longest / PAIR * PAIR) : 1;
    axis.most = larger(axis.fewest, (extent + shortest / 2) / shortest);
    return axis;
}

/* What a thread computes of the axis for a part of it. */
static double part_work(const struct cut_axis *axis, size_t length)
{
    double parts = (double)parts_of_length(axis, length);

    return (double)length + (double)axis->seam * (parts - 1.0) / parts;
}

/* When the last thread is done. */
static double time_of(const struct cut_axis *plane, const struct cut_axis *row, const struct cpu_cut *cut,
                      size_t columns, size_t threads)
{
    size_t parts = parts_of_length(plane, cut->planes) * parts_of_length(row, cut->rows) * columns;
    double turns = (double)((parts + threads - 1) / threads) + (threads > 1 ? WAITED_PART : 0.0);

    return turns * part_work(plane, cut->planes) * part_work(row, cut->rows);
}

/* Parts with which all threads are done soonest. */
static struct cpu_cut shared_cut(const struct cut_axis *plane, const struct cut_axis *row, size_t columns,
                                 size_t threads)
{
    size_t most = PARTS_A_THREAD * threads;
    struct cpu_cut best = {part_length(row, row->fewest), part_length(plane, plane->fewest)};

    for (size_t i = plane->fewest; i <= plane->most && (i == plane->fewest || i * columns <= most); i++) {
        for (size_t k = row->fewest; k <= row->most && i * k * columns <= most; k++) {
            struct cpu_cut cut = {part_length(row, k), part_length(plane, i)};
            if (time_of(plane, row, &cut, columns, threads) < time_of(plane, row, &best, columns, threads))
                best = cut;
        }
    }
    return best;
}

struct cpu_cut cpu_tiling_cut(const struct cpu_tiling *tiling, const struct shape *shape, size_t planes,
                              int threads)
{
    size_t columns = (shape->nx + tiling->tile_x - 1) / tiling->tile_x * tiling->groups;
    size_t longest = tiling->kept_planes - both(tiling->plane) * tiling->steps;
    struct cut_axis plane, row;

    if (tiling->is_picture)
        return picture_cut(tiling, shape, planes, threads);
    if (tiling->is_direct)
        return direct_cut(tiling, columns, planes, threads);
    plane = cut_axis_of(planes, tiling->plane, tiling->steps, longest);
    row = cut_axis_of(shape->rows, tiling->row, tiling->steps, shape->rows);
    return shared_cut(&plane, &row, columns, (size_t)threads);
}
