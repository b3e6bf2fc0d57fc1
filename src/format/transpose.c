/* Transposing: samples that a file has with the axes of a grid reversed, planes fastest, are held until all
   have come, and then given plane by plane.

   A file of columns x rows x planes, planes fastest, comes in blocks of a few columns. A block is turned in
   memory and held as planes x rows x columns, so that each plane of it lies together. */
#include "transpose.h"

#include "base/mem.h"
#include "base/size.h"

#include <stdint.h>
#include <string.h>

/* A block has at least one column, however large. */
#define BLOCK_BYTES ((size_t)8 << 20)

struct transpose {
    struct transpose_shape shape;
    size_t block_columns;
    size_t next_plane;
    bool filled;
    const struct spool *spool;
    unsigned char *held;   /* all of it; NULL where there is a spool */
    unsigned char *block;  /* as it comes */
    unsigned char *turned; /* as it is held */
};

static size_t column_bytes(const struct transpose *transpose)
{
    return transpose->shape.rows * transpose->shape.planes * transpose->shape.sample_bytes;
}

bool transpose_create(struct transpose **transpose, const struct transpose_shape *shape, struct fault *fault)
{
    struct transpose *made = mem_zeroed(1, sizeof *made, "turning", fault);

    if (made == NULL)
        return false;
    made->shape = *shape;
    made->block_columns = size_least(size_most(1, BLOCK_BYTES / column_bytes(made)), shape->columns);
    *transpose = made;
    return true;
}

size_t transpose_bytes(const struct transpose *transpose)
{
    return 2 * transpose->block_columns * column_bytes(transpose);
}

void transpose_hold_in_spool(struct transpose *transpose, const struct spool *spool)
{
    transpose->spool = spool;
}

void transpose_free(struct transpose *transpose)
{
    if (transpose == NULL)
        return;
    mem_free(transpose->held);
    mem_free(transpose->block);
    mem_free(transpose->turned);
    mem_free(transpose);
}

static bool make_room(struct transpose *transpose, struct fault *fault)
{
    size_t column = column_bytes(transpose);

    transpose->block = mem_alloc(transpose->block_columns, column, "turning", fault);
    transpose->turned = mem_alloc(transpose->block_columns, column, "turning", fault);
    if (transpose->spool == NULL)
        transpose->held = mem_alloc(transpose->shape.columns, column, "a volume that is held", fault);
    return transpose->block != NULL && transpose->turned != NULL &&
           (transpose->spool != NULL || transpose->held != NULL);
}

static bool store(struct transpose *transpose, uint64_t offset, size_t size, struct fault *fault)
{
    if (transpose->spool != NULL)
        return spool_write(transpose->spool, offset, transpose->turned, size, fault);
    memcpy(transpose->held + offset, transpose->turned, size);
    return true;
}

/* A part of the plane of a block. */
static const unsigned char *fetch(struct transpose *transpose, uint64_t offset, size_t size,
                                  struct fault *fault)
{
    if (transpose->spool == NULL)
        return transpose->held + offset;
    return spool_read(transpose->spool, offset, transpose->block, size, fault) ? transpose->block : NULL;
}

/* Turn a block: planes, which are fastest in the file, become slowest. */
static void transpose_block(struct transpose *transpose, size_t columns)
{
    const struct transpose_shape *shape = &transpose->shape;
    size_t bytes = shape->sample_bytes;
    const unsigned char *from = transpose->block;

    for (size_t x = 0; x < columns; x++) {
        for (size_t y = 0; y < shape->rows; y++) {
            for (size_t z = 0; z < shape->planes; z++, from += bytes)
                memcpy(transpose->turned + ((z * shape->rows + y) * columns + x) * bytes, from, bytes);
        }
    }
}

static size_t columns_from(const struct transpose *transpose, size_t first)
{
    size_t left = transpose->shape.columns - first;

    return left < transpose->block_columns ? left : transpose->block_columns;
}

/* Read the whole file, block by block, and hold each block turned. */
static bool fill(struct transpose *transpose, transpose_reader read, void *context, struct fault *fault)
{
    size_t column = column_bytes(transpose), columns;

    if (!make_room(transpose, fault))
        return false;
    for (size_t first = 0; first < transpose->shape.columns; first += columns) {
        columns = columns_from(transpose, first);
        if (!read(context, transpose->block, columns * column, fault))
            return false;
        transpose_block(transpose, columns);
        if (!store(transpose, (uint64_t)first * column, columns * column, fault))
            return false;
    }
    return transpose->filled = true;
}

/* Gather a plane from its parts in all blocks. */
static bool read_plane(struct transpose *transpose, unsigned char *samples, struct fault *fault)
{
    const struct transpose_shape *shape = &transpose->shape;
    size_t bytes = shape->sample_bytes, column = column_bytes(transpose), columns;

    for (size_t first = 0; first < shape->columns; first += columns) {
        const unsigned char *part;
        size_t size;
        columns = columns_from(transpose, first);
        /* A block holds its planes one after the other, each of `size` bytes; the block itself begins at its
           first column. */
        size = shape->rows * columns * bytes;
        part =
            fetch(transpose, (uint64_t)first * column + (uint64_t)transpose->next_plane * size, size, fault);
        if (part == NULL)
            return false;
        for (size_t y = 0; y < shape->rows; y++)
            memcpy(samples + (y * shape->columns + first) * bytes, part + y * columns * bytes,
                   columns * bytes);
    }
    transpose->next_plane++;
    return true;
}

bool transpose_read(struct transpose *transpose, void *samples, size_t planes, transpose_reader read,
                    void *context, struct fault *fault)
{
    size_t plane = transpose->shape.columns * transpose->shape.rows * transpose->shape.sample_bytes;
    unsigned char *to = samples;

    if (!transpose->filled && !fill(transpose, read, context, fault))
        return false;
    for (; planes > 0; planes--, to += plane) {
        if (!read_plane(transpose, to, fault))
            return false;
    }
    return true;
}
