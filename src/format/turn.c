/* Turning: samples that a file has with the axes of a grid reversed, planes fastest, are held until all have
   come, and then given plane by plane.

   A file of columns x rows x planes, planes fastest, comes in blocks of a few columns. A block is turned in
   memory and held as planes x rows x columns, so that each plane of it lies together. */
#include "turn.h"

#include "base/mem.h"

#include <stdint.h>
#include <string.h>

/* A block has at least one column, however large. */
#define BLOCK_BYTES ((size_t)8 << 20)

struct turn {
    struct turn_shape shape;
    size_t block_columns;
    size_t next_plane;
    bool filled;
    const struct spool *spool;
    unsigned char *held;   /* all of it; NULL where there is a spool */
    unsigned char *block;  /* as it comes */
    unsigned char *turned; /* as it is held */
};

static size_t column_bytes(const struct turn *turn)
{
    return turn->shape.rows * turn->shape.planes * turn->shape.sample_bytes;
}

bool turn_create(struct turn **turn, const struct turn_shape *shape, struct fault *fault)
{
    struct turn *made = mem_zeroed(1, sizeof *made, "turning", fault);

    if (made == NULL)
        return false;
    made->shape = *shape;
    made->block_columns = BLOCK_BYTES / column_bytes(made);
    if (made->block_columns == 0)
        made->block_columns = 1;
    if (made->block_columns > shape->columns)
        made->block_columns = shape->columns;
    *turn = made;
    return true;
}

size_t turn_bytes(const struct turn *turn)
{
    return 2 * turn->block_columns * column_bytes(turn);
}

void turn_hold_in_spool(struct turn *turn, const struct spool *spool)
{
    turn->spool = spool;
}

void turn_free(struct turn *turn)
{
    if (turn == NULL)
        return;
    mem_free(turn->held);
    mem_free(turn->block);
    mem_free(turn->turned);
    mem_free(turn);
}

static bool make_room(struct turn *turn, struct fault *fault)
{
    size_t column = column_bytes(turn);

    turn->block = mem_alloc(turn->block_columns, column, "turning", fault);
    turn->turned = mem_alloc(turn->block_columns, column, "turning", fault);
    if (turn->spool == NULL)
        turn->held = mem_alloc(turn->shape.columns, column, "a volume that is held", fault);
    return turn->block != NULL && turn->turned != NULL && (turn->spool != NULL || turn->held != NULL);
}

static bool store(struct turn *turn, uint64_t offset, size_t size, struct fault *fault)
{
    if (turn->spool != NULL)
        return spool_write(turn->spool, offset, turn->turned, size, fault);
    memcpy(turn->held + offset, turn->turned, size);
    return true;
}

/* A part of the plane of a block. */
static const unsigned char *fetch(struct turn *turn, uint64_t offset, size_t size, struct fault *fault)
{
    if (turn->spool == NULL)
        return turn->held + offset;
    return spool_read(turn->spool, offset, turn->block, size, fault) ? turn->block : NULL;
}

static void turn_block(struct turn *turn, size_t columns)
{
    const struct turn_shape *shape = &turn->shape;
    size_t bytes = shape->sample_bytes;
    const unsigned char *from = turn->block;

    for (size_t x = 0; x < columns; x++) {
        for (size_t y = 0; y < shape->rows; y++) {
            for (size_t z = 0; z < shape->planes; z++, from += bytes)
                memcpy(turn->turned + ((z * shape->rows + y) * columns + x) * bytes, from, bytes);
        }
    }
}

static size_t columns_from(const struct turn *turn, size_t first)
{
    size_t left = turn->shape.columns - first;

    return left < turn->block_columns ? left : turn->block_columns;
}

static bool fill(struct turn *turn, turn_reader read, void *context, struct fault *fault)
{
    size_t column = column_bytes(turn), columns;

    if (!make_room(turn, fault))
        return false;
    for (size_t first = 0; first < turn->shape.columns; first += columns) {
        columns = columns_from(turn, first);
        if (!read(context, turn->block, columns * column, fault))
            return false;
        turn_block(turn, columns);
        if (!store(turn, (uint64_t)first * column, columns * column, fault))
            return false;
    }
    return turn->filled = true;
}

static bool read_plane(struct turn *turn, unsigned char *samples, struct fault *fault)
{
    const struct turn_shape *shape = &turn->shape;
    size_t bytes = shape->sample_bytes, column = column_bytes(turn), columns;

    for (size_t first = 0; first < shape->columns; first += columns) {
        const unsigned char *part;
        size_t size;
        columns = columns_from(turn, first);
        size = shape->rows * columns * bytes;
        part = fetch(turn, (uint64_t)first * column + (uint64_t)turn->next_plane * size, size, fault);
        if (part == NULL)
            return false;
        for (size_t y = 0; y < shape->rows; y++)
            memcpy(samples + (y * shape->columns + first) * bytes, part + y * columns * bytes,
                   columns * bytes);
    }
    turn->next_plane++;
    return true;
}

bool turn_read(struct turn *turn, void *samples, size_t planes, turn_reader read, void *context,
               struct fault *fault)
{
    size_t plane = turn->shape.columns * turn->shape.rows * turn->shape.sample_bytes;
    unsigned char *to = samples;

    if (!turn->filled && !fill(turn, read, context, fault))
        return false;
    for (; planes > 0; planes--, to += plane) {
        if (!read_plane(turn, to, fault))
            return false;
    }
    return true;
}
