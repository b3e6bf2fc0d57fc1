/* The shape of the tiles that a sweep over a field works in.
 *
 * cpu_tiling_make settles it in four steps. An engine is chosen: the first that suits the op and the steps of
 * a pass. It says how many slots a tile needs, one for each plane (or row, of a picture) that is in the cache
 * at once. For each of some widths, a tile gets as many rows as fit into the cache with all slots; the width
 * that costs least, by an estimate of arithmetic and moving, is taken. At last a thread's arena is laid out.
 * cpu_tiling_cut then cuts each sweep into parts, so that all threads end at about the same time. */
#include "cpu_tiling.h"

#include "cpu_field.h"

#include "base/memory_limits.h"
#include "base/size.h"

#include <math.h>

/* Bytes that the slots of a tile may take: two thirds of the second-level cache if that is large; else a
   share of the third-level cache, from which planes come one after another, as its prefetching expects. Small
   slots would cost more: a block with more rows leaves fewer of them to the next one. */
#define LARGE_NEAR_CACHE  ((size_t)5 << 18)
#define NEAR_SHARE(bytes) ((bytes) / 3 * 2)
#define FAR_CACHE_BYTES   ((size_t)7 << 19)

/* Bytes of the second-level cache for a tile without slots: the planes that a step reads, and two more on
   their way in and out. */
#define NEAR_CACHE_BYTES ((size_t)3 << 17)

/* Bytes of the third-level cache for kept rows, unless tiles would have too few planes for that. */
#define KEPT_BYTES ((size_t)8 << 20)

/* The most bytes that a thread may have, where taps reach so far that no cache holds a tile. */
#define ARENA_BYTES ((size_t)16 << 20)

/* Bytes of a row of a picture's column: the first-level cache holds a few rows, the second those of all
 * levels. */
#define PICTURE_BYTES ((size_t)4 << 10)

/* The same for a row of orders, which is shorter because a window reads several rows; for extremes along x,
   longer, because what a window reaches is read again for each tile; and for a row that is a whole plane,
   which is read faster in longer parts. Then the samples behind a row that two vectors may write: of 16 bits,
   and of 8 bits. */
#define RANK_BYTES        ((size_t)2 << 10)
#define RANK_LINE_BYTES   ((size_t)16 << 10)
#define RANK_PLANE_BYTES  ((size_t)4 << 10)
#define RANK_VECTORS      64
#define RANK_BYTE_VECTORS 128

/* Where ranks of bytes are found by counting: the columns of a tile, and the least samples of a box in a
   plane for which counting pays. Through several planes, it pays if the box has no network. Samples of two
   bytes need a box of more samples, and a wide one, of which only a small part leaves from one window to the
   next. */
#define COUNTED_COLUMNS 256
#define COUNTED_LEAST   64
#define COUNTED_SHORTS  256
#define COUNTED_WIDTH   11

#define LINE_BYTES 64

/* What an update costs is told in taps of a star of nearest neighbours, as one core of a Zen 5 takes them.
   Reading a sample from memory and writing one, and keeping one for the next block and finding it again: */
#define MOVING_F32   25.0
#define MOVING_F64   31.0
#define KEEPING_TAPS 6.0

/* By how much moving differs if a chain takes a single step. Within planes it costs less, since rows follow
   each other in memory. Across planes it costs more: a plane has left the nearest caches when the next planes
   read it. */
#define MOVING_WITHIN 0.7
#define MOVING_ACROSS 1.7

/* A tap of another engine, and what a level of `tiles` costs beside. */
#define LINE_TAP         1.3
#define PICTURE_STAR_TAP 0.8
#define PICTURE_BOX_TAP  1.5
#define TILES_TAP        1.7
#define TILES_LEVEL      5.0

/* An axis of a gradient, its share of the root included. A tap of tanh. */
#define GRADIENT_AXIS 6.0
#define TANH_TAP      8.5

/* A face: a difference and a division for each channel. With pm1, an exponential for all channels that share
   a conductivity. A reaction. */
#define FACE            5.3  /* that two samples share */
#define FACE_SEPARATE   4.0  /* the same, where each channel has its own conductivity */
#define FACE_ALONE      1.85 /* that they do not share: times as long as FACE and its exponential */
#define EXPONENTIAL_F32 3.75
#define EXPONENTIAL_F64 5.6
#define REACTION        8.0

/* A tap of a rank. The depth of a network grows as the square of the logarithm of its taps. */
#define VOLUME_TAP        1.22  /* through a network: a box in a volume, whose columns are sorted once */
#define NETWORK_TAP       1.8   /* the same in a plane */
#define ALONE_TAP         3.5   /* through a network: another window */
#define NEAREST_TAP       4.0   /* the median of all nearest neighbours, which has its own network */
#define BISECTED_TAP      100.0 /* by bisection */
#define EXTREME_TAP       5.0   /* an extreme in any window */
#define EXTREME_LINE_F32  15.0  /* an extreme along one axis, whatever its length */
#define EXTREME_LINE_F64  22.0
#define EXTREME_LINE_TAP  0.15 /* and each of its taps, up to so many */
#define EXTREME_LINE_TAPS 200.0
#define PRESENT_NEAREST   2.2  /* times as long where samples may be missing: nearest neighbours */
#define PRESENT           1.25 /* and other ranks */

/* Ranks in narrow fields, whose keys have one byte or two. Of an extreme that reads many planes, the next
   slab reads most of them again; beyond NARROW_PLANES, slabs are longer, and the share stays the same. */
#define NARROW_BYTES       0.33 /* of the work of wide keys, by keys of one byte */
#define NARROW_SHORTS      0.6  /* and of two bytes */
#define NARROW_NETWORK     5.0  /* for each byte, what a network takes besides */
#define NARROW_NEAREST_TAP 0.75 /* for each byte, a tap of the median of all neighbours in a volume */
#define NARROW_PICTURE_TAP 0.25 /* and in a plane, where slabs of several steps stay in the caches */
#define NARROW_LINE        1.0  /* for each byte, an extreme along one axis */
#define NARROW_LINE_TAP    0.03 /* the same, for each of its taps, up to so many */
#define NARROW_LINE_TAPS   400.0
#define NARROW_PLANE       0.2  /* the same, for each plane that it reads */
#define NARROW_PLANES      40.0 /* the most planes that count */

/* Counting, for each plane of the box; and for each sample of a column, where samples have two bytes. */
#define COUNTED_PLANE 620.0
#define COUNTED_SHORT 230.0

/* Runs of planes of the engines picture, line and direct are at least so many times as long as what two
   neighbours both read or compute, unless threads would have nothing to do. */
#define SEGMENT_LENGTH 8

/* Planes go in pairs, and so do rows. */
#define PAIR 2

/* A part of tiles is at least so many times as long as what it computes of its neighbours. */
#define PART_LENGTH 4

/* The most parts for each thread that are tried; and the share of a part that the first thread to end waits
   for the last one. */
#define PARTS_A_THREAD 4
#define WAITED_PART    0.125

/* A rule that mirrors may ask on either side for what the taps reach on the other. */
static struct cpu_margin margin_of(struct reach reach, enum edge_rule rule)
{
    struct cpu_margin margin = {(size_t) - (int64_t)reach.low, (size_t)reach.high};

    if (edge_has(rule, EDGE_REFLECTS))
        margin.before = margin.after = size_most(margin.before, margin.after);
    return margin;
}

static size_t both(struct cpu_margin margin)
{
    return margin.before + margin.after;
}

/* Cut an extent into even parts, none above `most`. */
static size_t even_part(size_t extent, size_t most)
{
    return size_divided_up(extent, size_divided_up(extent, most));
}

/* ---- what the engines suit ---- */

/* Whether the taps are so many of the sample and its nearest neighbours. */
static bool are_nearest(const struct op *op, size_t count)
{
    return op_is_chain(op) && op_radius(op) <= 1 && op->tap_count == count;
}

static bool moves(struct reach reach)
{
    return reach.low != 0 || reach.high != 0;
}

static bool is_rank(const struct op *op)
{
    return op->kind == OP_RANK;
}

bool cpu_tiling_suits_picture(const struct op *op)
{
    return !moves(op->row) &&
           (are_nearest(op, PICTURE_BOX) || (are_nearest(op, PICTURE_STAR) && op_is_star(op)));
}

static bool has_faces(const struct op *op)
{
    return op->kind == OP_HEAT && !op->missing && flux_conducts(op->flux) &&
           (op->tap_count == FACES_OF_VOLUME ||
            (op->tap_count == FACES_OF_PICTURE && moves(op->x) && moves(op->plane)));
}

/* Taps without a gap on one axis, the only one along which they move; enough of them for all rows of sums
   that are open at once. */
static bool is_line(const struct op *op)
{
    int axes = moves(op->x) + moves(op->row) + moves(op->plane);
    struct reach reach = moves(op->x) ? op->x : moves(op->row) ? op->row : op->plane;

    return op_is_chain(op) && axes == 1 && op->tap_count >= LINE_ROWS && span_of(reach) == op->tap_count;
}

static bool is_short(const struct op *op)
{
    return op_is_chain(op) && op->tap_count <= MOST_FIXED_TAPS;
}

static bool is_whole_star(const struct op *op)
{
    return are_nearest(op, STAR_TAPS) && op_is_star(op);
}

static bool is_whole_box(const struct op *op)
{
    return are_nearest(op, BOX_TAPS);
}

/* ---- slots ---- */

/* Rows are read in place, or the rows of a tile say how many slots there are. */
static void count_no_slots(struct cpu_tiling *tiling, const struct op *op)
{
    (void)op;
    tiling->slots = 0;
}

/* Two rows of each level are kept for the next one. PICTURE_ROWS rows each are being read, being written and
   leaving, and one slot holds what is outside the grid. */
static void count_picture_slots(struct cpu_tiling *tiling, const struct op *op)
{
    (void)op;
    tiling->ring = PICTURE_RING;
    tiling->slots = 2 * tiling->steps + 3 * PICTURE_ROWS + 1;
}

/* Each level keeps the planes that the next one reads. Two planes each are being read for the last time,
   being written and leaving; under EDGE_CONSTANT one more slot holds what is outside the grid. */
static void count_tile_slots(struct cpu_tiling *tiling, const struct op *op)
{
    tiling->slots = both(tiling->plane) * tiling->steps + 6 + (edge_has(op->edge, EDGE_HAS_VALUE) ? 1 : 0);
}

/* Each level has one more slot, for the products of the faces between two planes. */
static void count_faces_slots(struct cpu_tiling *tiling, const struct op *op)
{
    count_tile_slots(tiling, op);
    tiling->slots += tiling->steps;
}

/* One row, of an odd number of lines: otherwise rows of several slots could compete for the same sets of a
 * cache. */
static void shape_picture_slot(struct cpu_tiling *tiling, size_t line)
{
    if (tiling->pitch / line % 2 == 0)
        tiling->pitch += line;
    tiling->slot_rows = 1;
    tiling->layer_samples = tiling->pitch;
}

/* One row, with what vectors write behind it. There are as many as a window reaches, or all rows of the tile
   where it reaches several planes; as many as a window has for columns that are sorted, which extremes along
   an axis do not need; and two for the result and what it is made of. Windows in one row have those of the
   rows that are computed together. */
static void shape_rank_slot(struct cpu_tiling *tiling, size_t line)
{
    size_t side = both(tiling->row) + 1, across = both(tiling->plane) + 1;
    size_t rows = side > 1 && across > 1 ? across * (tiling->tile_rows + side - 1) : side * across;
    size_t sorted = tiling->line_of_extremes ? 0 : side * across;
    size_t vectors = tiling->sample == 1 ? RANK_BYTE_VECTORS : RANK_VECTORS;

    (void)line;
    tiling->pitch = size_rounded_up(tiling->pitch + vectors, vectors / 2);
    shape_picture_slot(tiling, vectors / 2);
    if (tiling->counts > 0)
        tiling->counts = tiling->sample == 1
                             ? COUNTED_BYTES
                             : size_divided_up(HISTOGRAM_BYTES, tiling->pitch * tiling->sample);
    tiling->slots = size_most(rows + sorted + 2, RANK_ROWS + 1) + 1 + tiling->counts;
}

static void shape_tile_slot(struct cpu_tiling *tiling, size_t line)
{
    (void)line;
    tiling->slot_rows = tiling->tile_rows + both(tiling->row);
    tiling->layer_samples = tiling->slot_rows * tiling->pitch;
}

/* A plane may be written over the one that it is computed from, one row farther on for each level. */
static void shape_star_slot(struct cpu_tiling *tiling, size_t line)
{
    shape_tile_slot(tiling, line);
    tiling->layer_samples += tiling->steps * tiling->pitch;
}

/* ---- tiles ---- */

static size_t one_row(const struct cpu_tiling *tiling)
{
    (void)tiling;
    return 1;
}

/* Rows of a tile that reads the field in place: so many that the planes of a step stay in the second-level
 * cache. */
static size_t rows_near(const struct cpu_tiling *tiling)
{
    size_t room = NEAR_CACHE_BYTES / tiling->sample;

    return size_most(1, room / (both(tiling->plane) + 2) / tiling->tile_x);
}

/* Rows that are read twice, where one tile ends and the next begins, are few of its rows, unless the
   second-level cache has no room for those of all planes that a window reaches. */
static size_t rows_of_ranks(const struct cpu_tiling *tiling)
{
    size_t room = NEAR_CACHE_BYTES / tiling->sample / tiling->pitch / (both(tiling->plane) + 1);
    size_t rows = SEGMENT_LENGTH * (both(tiling->row) + SEGMENT_LENGTH);

    return tiling->plane.after > 0 && room < rows ? size_most(room, both(tiling->row) + 1) : rows;
}

static size_t slots_room(void)
{
    size_t near = memory_limits_l2_cache();

    return near >= LARGE_NEAR_CACHE ? NEAR_SHARE(near) : FAR_CACHE_BYTES;
}

/* Rows of a tile with which all its slots fit into the cache. */
static size_t rows_in_slots(const struct cpu_tiling *tiling)
{
    size_t room = slots_room() / tiling->sample;
    size_t rows = room / tiling->slots / tiling->layers / tiling->pitch;

    return rows > both(tiling->row) ? rows - both(tiling->row) : 1;
}

/* ---- cuts ---- */

/* Tiles that lie side by side, in all groups of channels. */
static size_t columns_of(const struct cpu_tiling *tiling, const struct shape *shape)
{
    return size_divided_up(shape->nx, tiling->tile_x) * tiling->groups;
}

/* Whole columns if they keep all threads busy; else parts of columns, as long as possible. */
static struct cpu_cut cut_picture(const struct cpu_tiling *tiling, const struct shape *shape, size_t planes,
                                  int threads)
{
    size_t seam = 2 * tiling->steps + 1;
    size_t columns = columns_of(tiling, shape) * shape->rows;
    size_t fair = planes * columns / (size_t)threads + 1;
    size_t longest = size_most(SEGMENT_LENGTH * seam, fair / 4);
    struct cpu_cut cut = {1, planes};

    if (threads > 1)
        cut.planes = even_part(planes, longest < fair ? longest : size_most(seam, fair));
    return cut;
}

/* Long runs of planes of all rows that a tile has. */
static struct cpu_cut cut_rows(const struct cpu_tiling *tiling, const struct shape *shape, size_t planes,
                               int threads)
{
    size_t wanted = threads == 1 ? 1 : PARTS_A_THREAD * (size_t)threads;
    size_t columns = columns_of(tiling, shape);
    size_t fair =
        size_divided_up(planes * columns * size_divided_up(shape->rows, tiling->tile_rows), (size_t)threads);
    size_t shortest = size_least(SEGMENT_LENGTH * (both(tiling->plane) + 1), fair);

    return (struct cpu_cut){tiling->tile_rows,
                            size_most(shortest, size_divided_up(planes * columns, wanted))};
}

/* An axis that is cut into parts. */
struct cut_axis {
    size_t extent;
    size_t seam;         /* that two neighbours both compute, on the average of all levels */
    size_t fewest, most; /* parts */
};

static size_t part_length(const struct cut_axis *axis, size_t parts)
{
    return size_rounded_up(size_divided_up(axis->extent, parts), PAIR);
}

static size_t parts_of_length(const struct cut_axis *axis, size_t length)
{
    return size_divided_up(axis->extent, length);
}

/* An axis for parts of at most `longest`, and none so short that most of it is seam. */
static struct cut_axis cut_axis_of(size_t extent, struct cpu_margin margin, unsigned steps, size_t longest)
{
    struct cut_axis axis = {.extent = extent, .seam = both(margin) * steps / 2};
    size_t shortest = PART_LENGTH * size_most(1, axis.seam);

    axis.fewest = longest < extent ? parts_of_length(&axis, longest / PAIR * PAIR) : 1;
    axis.most = size_most(axis.fewest, (extent + shortest / 2) / shortest);
    return axis;
}

/* Samples of the axis that a thread computes for a part, seams included. */
static double part_work(const struct cut_axis *axis, size_t length)
{
    double parts = (double)parts_of_length(axis, length);

    return (double)length + (double)axis->seam * (parts - 1.0) / parts;
}

/* Until when the last thread computes, in samples. */
static double time_of(const struct cut_axis *plane, const struct cut_axis *row, const struct cpu_cut *cut,
                      size_t columns, size_t threads)
{
    size_t parts = parts_of_length(plane, cut->planes) * parts_of_length(row, cut->rows) * columns;
    double turns = (double)size_divided_up(parts, threads) + (threads > 1 ? WAITED_PART : 0.0);

    return turns * part_work(plane, cut->planes) * part_work(row, cut->rows);
}

/* The parts with which all threads are done soonest, among all numbers of parts of the two axes. */
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

/* Parts of both axes: in planes because of the kept rows, in rows only to keep threads busy. */
static struct cpu_cut cut_blocks(const struct cpu_tiling *tiling, const struct shape *shape, size_t planes,
                                 int threads)
{
    size_t longest = tiling->kept_planes - both(tiling->plane) * tiling->steps;
    struct cut_axis plane = cut_axis_of(planes, tiling->plane, tiling->steps, longest);
    struct cut_axis row = cut_axis_of(shape->rows, tiling->row, tiling->steps, shape->rows);

    return shared_cut(&plane, &row, columns_of(tiling, shape), (size_t)threads);
}

/* ---- the engines ---- */

/* Widths of tiles that are tried, in samples. */
static const size_t widths[] = {64, 128, 192, 256, 384, 512, 768, 1024, 2048};

#define WIDTHS (sizeof widths / sizeof *widths)

/* Steps of a pass that an engine takes. */
enum pass { ANY_STEPS, ONE_STEP, SEVERAL_STEPS };

/* The differences between engines with tiles, in the order of enum cpu_engine. */
static const struct engine {
    enum pass takes;
    bool (*suits)(const struct op *op); /* NULL: it takes whatever those before it leave */
    void (*count_slots)(struct cpu_tiling *tiling, const struct op *op);
    void (*shape_slot)(struct cpu_tiling *tiling, size_t line);
    size_t (*rows_that_fit)(const struct cpu_tiling *tiling); /* its columns */
    struct cpu_cut (*cut)(const struct cpu_tiling *tiling, const struct shape *shape, size_t planes,
                          int threads);
    size_t width;       /* the bytes of a tile's row, where others are not tried */
    size_t first_width; /* the first of the list that is tried */
} engines[] = {
    {ONE_STEP, is_rank, count_no_slots, shape_rank_slot, rows_of_ranks, cut_rows, RANK_BYTES, 0},
    {SEVERAL_STEPS, cpu_tiling_suits_picture, count_picture_slots, shape_picture_slot, one_row, cut_picture,
     PICTURE_BYTES, 0},
    {ONE_STEP, is_line, count_no_slots, shape_tile_slot, rows_near, cut_rows, 0, WIDTHS - 1},
    {ONE_STEP, is_short, count_no_slots, shape_tile_slot, rows_near, cut_rows, 0, 0},
    {ANY_STEPS, is_whole_star, count_tile_slots, shape_star_slot, rows_in_slots, cut_blocks, 0, 0},
    {ANY_STEPS, is_whole_box, count_tile_slots, shape_tile_slot, rows_in_slots, cut_blocks, 0, 0},
    {ANY_STEPS, has_faces, count_faces_slots, shape_tile_slot, rows_in_slots, cut_blocks, 0, 0},
    {ANY_STEPS, NULL, count_tile_slots, shape_tile_slot, rows_in_slots, cut_blocks, 0, 0},
};

static bool suits(const struct engine *engine, const struct op *op, unsigned steps)
{
    return (engine->takes == ANY_STEPS || (engine->takes == ONE_STEP) == (steps == 1)) &&
           (engine->suits == NULL || engine->suits(op));
}

static void choose_engine(struct cpu_tiling *tiling, const struct op *op)
{
    tiling->engine = 0;
    while (!suits(&engines[tiling->engine], op, tiling->steps))
        tiling->engine++;
    tiling->ring = both(tiling->plane) + 2 * PAIR;
    engines[tiling->engine].count_slots(tiling, op);
}

/* The extents of a slot for a tile's, margins of all steps included; rows begin where lines of memory do. */
static void set_slot(struct cpu_tiling *tiling)
{
    size_t line = LINE_BYTES / tiling->sample, steps = tiling->steps;

    tiling->lead = size_rounded_up(tiling->x.before * steps, line);
    tiling->pitch = tiling->lead + size_rounded_up(tiling->tile_x + tiling->x.after * steps, line);
    engines[tiling->engine].shape_slot(tiling, line);
    tiling->slot_samples = tiling->layers * tiling->layer_samples;
    tiling->kept_samples = steps > 1 ? both(tiling->row) * tiling->pitch : 0;
}

/* Planes of a level, seams included, that rows are kept of. */
static void set_kept(struct cpu_tiling *tiling, const struct shape *shape)
{
    size_t seams = both(tiling->plane) * tiling->steps, all = shape->planes + seams;
    size_t bytes = (tiling->steps - 1) * tiling->layers * tiling->kept_samples * tiling->sample;
    size_t fit = bytes == 0 ? all : KEPT_BYTES / bytes;

    fit = size_most(fit, seams + PAIR);
    tiling->kept_planes = fit < all ? fit : all;
}

/* Lay out the arena of a thread, in bytes. */
static void lay_out(struct cpu_tiling *tiling, const struct op *op)
{
    struct cpu_layout *layout = &tiling->layout;
    size_t sample = tiling->sample, row = tiling->pitch * sample;
    size_t entry = size_most(sizeof(void *), sizeof(struct cpu_slot));
    size_t kept = (tiling->steps - 1) * tiling->kept_planes * tiling->layers * tiling->kept_samples;

    layout->slots = row;
    layout->weights = layout->slots + tiling->slots * tiling->slot_samples * sample + row;
    layout->kept = layout->weights + op->tap_count * sample;
    layout->free_slots = size_rounded_up(layout->kept + kept * sample, LINE_BYTES);
    layout->levels = layout->free_slots + tiling->slots * entry;
    layout->bases = layout->levels + tiling->ring * (tiling->steps + 1) * entry;
    layout->bytes = size_rounded_up(layout->bases + 3 * op->tap_count * entry, LINE_BYTES);
}

/* The first relaxation shares its faces with the neighbours, as far as the engine does. */
static double flux_work(const struct cpu_tiling *tiling, const struct op *op)
{
    double taps = (double)op->tap_count, inner = (double)op->inner;
    double reactions = op->reacts ? inner * REACTION : 0.0;
    double exponential = op->flux != FLUX_PM1   ? 0.0
                         : op->work == WORK_F32 ? EXPONENTIAL_F32
                                                : EXPONENTIAL_F64;
    double conductivity = exponential / (double)tiling->layers;
    double shared = (op->joint > 0 ? FACE : FACE_SEPARATE) + conductivity;
    double alone = (FACE + conductivity) * FACE_ALONE;

    if (!flux_conducts(op->flux))
        return inner * taps * TANH_TAP + reactions;
    return taps * (tiling->engine == CPU_ENGINE_FACES ? shared + (inner - 1.0) * alone : inner * alone) +
           reactions;
}

/* Whether windows side by side have columns in common: those of a box in at least two axes. */
static bool shares_columns(const struct op *op)
{
    size_t x = span_of(op->x), column = span_of(op->row) * span_of(op->plane);

    return x > 1 && column > 1 && op->tap_count == x * column;
}

/* The median of nine neighbours in a plane, or of 27 in a volume. */
static bool is_nearest_median(const struct op *op)
{
    return op->rank == op->tap_count / 2 && op_radius(op) == 1 &&
           (op->tap_count == BOX_TAPS || (op->tap_count == PICTURE_BOX && shares_columns(op)));
}

static double wide_rank_work(const struct cpu_tiling *tiling, const struct op *op)
{
    double taps = (double)op->tap_count, depth = log2(taps);
    double sorted = moves(op->row) && moves(op->plane) ? VOLUME_TAP : NETWORK_TAP;

    if (op_takes_extreme(op))
        return tiling->line_of_extremes ? fmin(taps, EXTREME_LINE_TAPS) * EXTREME_LINE_TAP +
                                              (op->work == WORK_F32 ? EXTREME_LINE_F32 : EXTREME_LINE_F64)
                                        : taps * EXTREME_TAP;
    if (is_nearest_median(op))
        return taps * NEAREST_TAP * (op->missing ? PRESENT_NEAREST : 1.0);
    if (op->tap_count > NETWORK_TAPS)
        return taps * BISECTED_TAP;
    return taps * depth * depth * (shares_columns(op) ? sorted : ALONE_TAP) * (op->missing ? PRESENT : 1.0);
}

static double rank_work(const struct cpu_tiling *tiling, const struct op *op)
{
    double bytes = (double)tiling->sample, taps = (double)op->tap_count;

    if (tiling->sample >= work_size(op->work))
        return wide_rank_work(tiling, op);
    if (tiling->counts > 0 && tiling->sample > 1)
        return COUNTED_SHORT * taps / (double)span_of(op->x);
    if (tiling->counts > 0)
        return COUNTED_PLANE * (moves(op->row) ? (double)both(tiling->plane) + 1.0 : 1.0);
    if (tiling->line_of_extremes)
        return bytes * (NARROW_LINE + (tiling->flat ? NARROW_PLANE * fmin(taps, NARROW_PLANES)
                                                    : NARROW_LINE_TAP * fmin(taps, NARROW_LINE_TAPS)));
    if (is_nearest_median(op))
        return taps * bytes * (op->tap_count == PICTURE_BOX ? NARROW_PICTURE_TAP : NARROW_NEAREST_TAP);
    return wide_rank_work(tiling, op) * (tiling->sample == 1 ? NARROW_BYTES : NARROW_SHORTS) +
           (op_takes_extreme(op) ? 0.0 : NARROW_NETWORK * bytes);
}

/* Arithmetic of an update, in taps of a star. */
static double work_of(const struct cpu_tiling *tiling, const struct op *op)
{
    double taps = (double)op->tap_count;

    if (op->kind == OP_HEAT)
        return flux_work(tiling, op);
    if (op->kind == OP_GRADIENT)
        return taps * GRADIENT_AXIS;
    if (op->kind == OP_RANK)
        return rank_work(tiling, op);
    switch (tiling->engine) {
    case CPU_ENGINE_LINE:
        return taps * LINE_TAP;
    case CPU_ENGINE_PICTURE:
        return taps * (op->tap_count == PICTURE_BOX ? PICTURE_BOX_TAP : PICTURE_STAR_TAP);
    case CPU_ENGINE_STAR:
    case CPU_ENGINE_BOX:
        return taps;
    default:
        return taps * TILES_TAP + (tiling->steps > 1 ? TILES_LEVEL : 0.0);
    }
}

double cpu_tiling_moving(const struct cpu_tiling *tiling, const struct op *op)
{
    double x = (double)tiling->tile_x, rows = (double)tiling->tile_rows;
    /* Half of moving is writing; the other half is reading, halo included. */
    double moved = 0.5 + 0.5 * (double)tiling->pitch * (rows + (double)both(tiling->row)) / (x * rows);
    double sample = op->work == WORK_F32 ? MOVING_F32 * (double)tiling->sample / sizeof(float) : MOVING_F64;

    if (tiling->steps == 1 && (op->kind == OP_TAPS || op->kind == OP_GRADIENT))
        sample *= moves(op->plane) ? MOVING_ACROSS : MOVING_WITHIN;
    return sample * moved / (double)tiling->steps;
}

double cpu_tiling_cost(const struct cpu_tiling *tiling, const struct op *op)
{
    double x = (double)tiling->tile_x, rows = (double)tiling->tile_rows, steps = tiling->steps;
    double line = LINE_BYTES / (double)tiling->sample;
    /* Columns that neighbours compute, too, on the average of all steps, and half a line, since rows are
     * whole lines. */
    double halo = (double)both(tiling->x) * (steps - 1.0) / 2.0;
    double wide = halo > 0.0 ? x + halo + line / 2.0 : x;
    double kept = (double)both(tiling->row) / rows * (steps - 1.0) / steps;

    return (work_of(tiling, op) + KEEPING_TAPS * kept) * wide / x + cpu_tiling_moving(tiling, op);
}

/* The widest tile of at most so many columns that divides the field evenly, as high as fits. */
static void set_tile(struct cpu_tiling *tiling, const struct shape *shape, size_t width)
{
    size_t line = LINE_BYTES / tiling->sample, rows = shape->rows + tiling->row.after * tiling->steps;

    tiling->tile_x = size_rounded_up(even_part(shape->nx, width), line);
    /* The pitch of a slot, which a row more does not change, says how many rows fit. */
    tiling->tile_rows = 1;
    set_slot(tiling);
    tiling->tile_rows = even_part(rows, engines[tiling->engine].rows_that_fit(tiling));
    set_slot(tiling);
}

/* Lay out the arena. False if it would be too large, or if slots are, or what a wished tile reads without
   them: these in floating point, before anything is multiplied in integers, since a user may wish for any
   extents. */
static bool fit_arena(struct cpu_tiling *tiling, const struct op *op, const struct shape *shape, bool wished)
{
    double slots = (double)tiling->slots * (double)tiling->slot_samples;
    double read = (double)(both(tiling->plane) + 1) * (double)tiling->tile_rows * (double)tiling->tile_x;

    if (fmax(slots, wished ? read : 0.0) > (double)ARENA_BYTES)
        return false;
    set_kept(tiling, shape);
    lay_out(tiling, op);
    return tiling->layout.bytes <= ARENA_BYTES;
}

static void choose_tile(struct cpu_tiling *tiling, const struct op *op, const struct shape *shape)
{
    const struct engine *engine = &engines[tiling->engine];
    struct cpu_tiling best = {0};

    if (engine->width > 0) {
        size_t bytes = tiling->flat                               ? RANK_PLANE_BYTES
                       : tiling->line_of_extremes && moves(op->x) ? RANK_LINE_BYTES
                                                                  : engine->width;
        size_t width = tiling->counts > 0 && tiling->sample == 1 ? COUNTED_COLUMNS : bytes / tiling->sample;
        set_tile(tiling, shape, width);
        /* Many rows, as a very large window has, fit if they are short. */
        while (!fit_arena(tiling, op, shape, false) && tiling->tile_x > LINE_BYTES / tiling->sample)
            set_tile(tiling, shape, width /= 2);
        return;
    }
    /* Of equal prices, the widest. */
    for (size_t i = engine->first_width; i < WIDTHS; i++) {
        struct cpu_tiling form = *tiling;
        set_tile(&form, shape, widths[i]);
        if (best.tile_x == 0 || cpu_tiling_cost(&form, op) <= cpu_tiling_cost(&best, op))
            best = form;
    }
    *tiling = best;
}

/* Narrow fields have the same tile for several widths. */
void cpu_tiling_offers(const struct cpu_tiling *tiling, const struct shape *shape, struct tile *offers,
                       size_t most)
{
    const struct shape tiled = cpu_tiling_shape(tiling, *shape);
    size_t count = 0, last = 0;

    for (size_t i = 0; i < WIDTHS && count < most; i++) {
        struct cpu_tiling form = *tiling;
        set_tile(&form, &tiled, widths[i]);
        if (form.tile_x != last && form.tile_x != tiling->tile_x)
            offers[count++] = (struct tile){(unsigned)form.tile_x, (unsigned)form.tile_rows};
        last = form.tile_x;
    }
}

struct shape cpu_tiling_shape(const struct cpu_tiling *tiling, struct shape shape)
{
    if (tiling->flat) {
        shape.nx *= shape.rows;
        shape.rows = 1;
    }
    return shape;
}

void cpu_tiling_none(struct cpu_tiling *tiling)
{
    *tiling = (struct cpu_tiling){.engine = CPU_ENGINE_NAIVE, .steps = 1};
}

/* Whether ranks are those of large boxes of narrow samples, whose numbers fit into counts. */
static bool is_counted(const struct op *op, const struct shape *shape)
{
    size_t box = span_of(op->x) * span_of(op->row) * span_of(op->plane);
    size_t least = moves(op->row) && moves(op->plane) ? NETWORK_TAPS + 1 : COUNTED_LEAST;

    if (sample_bytes(shape, op->work) > 1)
        least = span_of(op->x) < COUNTED_WIDTH ? SIZE_MAX : COUNTED_SHORTS;
    return op->kind == OP_RANK && shape->narrow && !op_takes_extreme(op) && op->tap_count == box &&
           box >= least && box <= INT16_MAX;
}

/* Whether a rank is the extreme of a window without gaps along one axis. */
static bool is_line_of_extremes(const struct op *op)
{
    return op_takes_extreme(op) && (op->tap_count == span_of(op->x) || op->tap_count == span_of(op->row) ||
                                    op->tap_count == span_of(op->plane));
}

/* Bytes of a sample in a slot. Bisection counts in keys, which hold the number of a window's samples. */
static size_t slot_sample(const struct op *op, const struct shape *shape)
{
    size_t bytes = sample_bytes(shape, op->work);

    if (!shape->narrow || op_takes_extreme(op) || op->tap_count <= NETWORK_TAPS || is_counted(op, shape))
        return bytes;
    return op->tap_count > INT16_MAX ? work_size(op->work) : size_most(bytes, sizeof(int16_t));
}

bool cpu_tiling_make(struct cpu_tiling *tiling, const struct op *op, const struct shape *shape,
                     unsigned steps, size_t tile_x, size_t tile_rows)
{
    struct shape tiled;

    *tiling = (struct cpu_tiling){.steps = steps,
                                  .flat = is_rank(op) && shape->narrow && shape->rows > 1 && !moves(op->x) &&
                                          !moves(op->row),
                                  .line_of_extremes = is_line_of_extremes(op),
                                  .sample = slot_sample(op, shape),
                                  .counts = is_counted(op, shape),
                                  .x = margin_of(op->x, op->edge),
                                  .row = margin_of(op->row, op->edge),
                                  .plane = margin_of(op->plane, op->edge),
                                  .groups = op_group_count(op),
                                  .layers = op_group_most(op)};
    tiled = cpu_tiling_shape(tiling, *shape);
    choose_engine(tiling, op);
    /* A wished tile is taken as it is, another is chosen by its price. */
    if (tile_x > 0) {
        tiling->tile_x = tile_x;
        tiling->tile_rows = tile_rows;
        set_slot(tiling);
    } else {
        choose_tile(tiling, op, &tiled);
    }
    return fit_arena(tiling, op, &tiled, tile_x > 0);
}

void cpu_tiling_fewer(struct cpu_tiling *fewer, const struct cpu_tiling *tiling, const struct op *op,
                      unsigned steps)
{
    *fewer = *tiling;
    if (steps == tiling->steps)
        return;
    fewer->steps = steps;
    choose_engine(fewer, op);
    set_slot(fewer);
    lay_out(fewer, op);
}

struct cpu_cut cpu_tiling_cut(const struct cpu_tiling *tiling, const struct shape *shape, size_t planes,
                              int threads)
{
    return engines[tiling->engine].cut(tiling, shape, planes, threads);
}
