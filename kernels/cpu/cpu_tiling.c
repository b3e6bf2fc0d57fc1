/* The shape of the tiles that a sweep over a field works in. */
#include "cpu_tiling.h"

#include <stdint.h>

/* What a tile may take of the caches: more than the second level has, since its planes come one after the
   other, as a cache expects them, from the third. */
#define CACHE_BYTES ((size_t)2 << 20)

/* The most that a thread may have, where taps reach so far that no cache holds a tile. */
#define ARENA_BYTES ((size_t)16 << 20)

#define LINE_BYTES 64

/* Reading a sample from memory and writing one, in taps that are computed in the meantime, and a tap of a
   flux in plain taps. */
#define MOVING_TAPS 30.0
#define FLUX_TAPS   8.0

/* Planes that are computed twice at the seam of two segments may be one in so many. */
#define SEGMENT_LENGTH 8

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

    if (rule == EDGE_REFLECT || rule == EDGE_MIRROR)
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

static void set_slot(struct cpu_tiling *tiling, const struct op *op)
{
    size_t line = LINE_BYTES / work_size(op->work), steps = tiling->steps;

    tiling->lead = rounded_up(tiling->x.before * steps, line);
    tiling->pitch = tiling->lead + rounded_up(tiling->tile_x + tiling->x.after * steps, line);
    tiling->slot_rows = tiling->tile_rows + both(tiling->row) * steps;
}

/* Each level keeps the planes that the next one reads. Beside them there are, two at once, planes that nobody
   reads any more, planes being written, and planes that leave; one more slot holds what is outside. */
static void set_slots(struct cpu_tiling *tiling, const struct op *op)
{
    tiling->ring = both(tiling->plane) + 4;
    tiling->slots = both(tiling->plane) * tiling->steps + 6 + (op->edge == EDGE_CONSTANT ? 1 : 0);
}

static void set_arena(struct cpu_tiling *tiling, const struct op *op)
{
    size_t samples = (tiling->slots * tiling->slot_rows + 2) * tiling->pitch + op->tap_count;
    size_t pointers = tiling->slots + tiling->ring * (tiling->steps + 1) + 2 * op->tap_count;

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
    double wide = tiling->steps > 1 && both(tiling->x) > 0 ? x + line : x;
    double high = rows + (double)both(tiling->row) * (steps - 1.0) / 2.0;
    double moved = 0.5 + 0.5 * (double)tiling->pitch * (double)tiling->slot_rows / (x * rows);

    return work_of(op) * wide * high / (x * rows) + MOVING_TAPS * moved / steps;
}

/* The rows that a tile of so many columns may have. */
static size_t rows_that_fit(struct cpu_tiling *tiling, const struct op *op)
{
    size_t room = CACHE_BYTES / work_size(op->work), halo = both(tiling->row) * tiling->steps, rows;

    tiling->tile_rows = 1;
    set_slot(tiling, op);
    rows = room / tiling->slots / tiling->pitch;
    return rows > halo ? rows - halo : 1;
}

/* The widest tile of at most so many columns that divides the field evenly, as high as fits. */
static void set_tile(struct cpu_tiling *tiling, const struct op *op, const struct shape *shape, size_t width)
{
    size_t line = LINE_BYTES / work_size(op->work);

    tiling->tile_x = rounded_up(even_part(shape->nx, width), line);
    tiling->tile_rows = even_part(shape->rows, rows_that_fit(tiling, op));
    set_slot(tiling, op);
}

static const size_t widths[] = {64, 128, 192, 256, 384, 512, 768, 1024, 2048};

#define WIDTHS (sizeof widths / sizeof *widths)

static void choose_tile(struct cpu_tiling *tiling, const struct op *op, const struct shape *shape)
{
    struct cpu_tiling best = {0};

    for (size_t i = 0; i < WIDTHS; i++) {
        struct cpu_tiling form = *tiling;
        set_tile(&form, op, shape, widths[i]);
        if (i == 0 || cpu_tiling_cost(&form, op) < cpu_tiling_cost(&best, op))
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
                                  .plane = margin_of(op->plane, op->edge)};
    set_slots(tiling, op);
    if (tile_x > 0) {
        tiling->tile_x = tile_x;
        tiling->tile_rows = tile_rows;
        set_slot(tiling, op);
    } else {
        choose_tile(tiling, op, shape);
    }
    if ((double)tiling->slots * (double)tiling->slot_rows * (double)tiling->pitch > (double)ARENA_BYTES)
        return false;
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

size_t cpu_tiling_segment(const struct cpu_tiling *tiling, const struct shape *shape, size_t planes,
                          int threads)
{
    size_t columns = (shape->nx + tiling->tile_x - 1) / tiling->tile_x;
    size_t tiles = columns * ((shape->rows + tiling->tile_rows - 1) / tiling->tile_rows) * shape->channels;
    size_t wanted = threads == 1 ? 1 : (4 * (size_t)threads + tiles - 1) / tiles;
    size_t least = SEGMENT_LENGTH * (both(tiling->plane) * tiling->steps + 1);

    return larger(least, (planes + wanted - 1) / wanted);
}
