/* Boxes: a part of each plane of a source, read as if it were the whole.

   A source whose planes come in turn gives each of them whole, and the box is cut out. Of any other the rows
   are read that the box has. Where it goes around an axis, it is up to four boxes within the grid, which are
   read one by one and put side by side. */
#include "box.h"

#include "base/mem.h"
#include "base/size.h"

#include <string.h>

/* The rows of a box in a plane, which a picture has one of. */
static size_t rows_of(const struct region *box, const struct grid *grid)
{
    return grid->axes == 3 ? box->count[1] : 1;
}

static size_t pixel_bytes(const struct source *source)
{
    return source->header.grid.channels * sample_size(source->header.type);
}

static size_t plane_bytes(const struct source *source, const struct region *box)
{
    return rows_of(box, &source->header.grid) * box->count[0] * pixel_bytes(source);
}

static bool goes_around(const struct source *source, const struct region *box)
{
    const struct grid *grid = &source->header.grid;

    return !source->format->reads_around && (box->first[0] + box->count[0] > grid->nx ||
                                             (grid->axes == 3 && box->first[1] + box->count[1] > grid->ny));
}

/* The box in some planes. */
static struct region box_of_planes(const struct grid *grid, const struct region *box, size_t first,
                                   size_t planes)
{
    struct region part = region_of_planes(grid, first, planes);

    for (unsigned axis = 0; axis + 1 < size_most(grid->axes, 2); axis++) {
        part.first[axis] = box->first[axis];
        part.count[axis] = box->count[axis];
    }
    return part;
}

/* Read a piece that lies within the grid from some planes, one after the other. `to` is its place in the
   first plane of the box, whose rows and planes have `row` and `plane` bytes. */
static bool read_piece(struct source *source, unsigned char *to, size_t volume, struct region piece,
                       size_t planes, size_t row, size_t plane, unsigned char *scratch, struct fault *fault)
{
    const struct grid *grid = &source->header.grid;
    const size_t kept = piece.count[0] * pixel_bytes(source), first = region_first_plane(&piece, grid);

    for (size_t i = 0; i < planes; i++, to += plane) {
        piece = box_of_planes(grid, &piece, first + i, 1);
        if (!source_read_box(source, scratch, volume, &piece, fault))
            return false;
        for (size_t y = 0; y < rows_of(&piece, grid); y++)
            memcpy(to + y * row, scratch + y * kept, kept);
    }
    return true;
}

/* Piece after piece, since a source may hold what stands beside a plane of one. */
static bool read_around(struct source *source, unsigned char *samples, size_t volume,
                        const struct region *box, size_t first, size_t planes, unsigned char *scratch,
                        struct fault *fault)
{
    const struct grid *grid = &source->header.grid;
    const size_t pixel = pixel_bytes(source), row = box->count[0] * pixel, rows = rows_of(box, grid);
    struct region piece = box_of_planes(grid, box, first, planes);
    bool done = true;

    for (size_t y = 0; y < rows; y += rows_of(&piece, grid)) {
        if (grid->axes == 3) {
            piece.first[1] = (box->first[1] + y) % grid->ny;
            piece.count[1] = size_least(rows - y, grid->ny - piece.first[1]);
        }
        for (size_t x = 0; done && x < box->count[0]; x += piece.count[0]) {
            piece.first[0] = (box->first[0] + x) % grid->nx;
            piece.count[0] = size_least(box->count[0] - x, grid->nx - piece.first[0]);
            done = read_piece(source, samples + y * row + x * pixel, volume, piece, planes, row,
                              plane_bytes(source, box), scratch, fault);
        }
    }
    return done;
}

bool box_read_at(struct source *source, void *samples, size_t volume, const struct region *box, size_t first,
                 size_t planes, struct fault *fault)
{
    const struct region part = box_of_planes(&source->header.grid, box, first, planes);
    unsigned char *scratch;
    bool done;

    if (!goes_around(source, box))
        return source_read_box(source, samples, volume, &part, fault);
    scratch = mem_alloc(1, plane_bytes(source, box), "a plane", fault);
    done = scratch != NULL && read_around(source, samples, volume, box, first, planes, scratch, fault);
    mem_free(scratch);
    return done;
}

/* Up to NEAR bytes between two runs take less time to copy than a second read takes, unless rows have more
   than LONG bytes. Runs that are read together have room for TOGETHER bytes. */
enum { NEAR = 8192, LONG = 32 << 10, TOGETHER = 256 << 10 };

bool box_reads_between(uint64_t row, uint64_t run)
{
    return row - run <= NEAR && row <= LONG;
}

/* Memory in which a thread reads runs of a box together. */
static size_t together_bytes(const struct source *source, const struct region *box)
{
    const struct grid *grid = &source->header.grid;
    const size_t pixel = pixel_bytes(source), run = box->count[0] * pixel, row = grid->nx * pixel;

    return source->grain[0] <= 1 && run < row && box_reads_between(row, run)
               ? size_least(TOGETHER, rows_of(box, grid) * row)
               : 0;
}

bool box_read_runs(const struct file_in *file, uint64_t begin, const struct region_runs *runs, void *samples,
                   bool *ended, struct fault *fault)
{
    const bool near = runs->in_plane > 1 && box_reads_between(runs->row, runs->bytes);
    /* How many runs are read at once. */
    const size_t together = near ? size_least(TOGETHER / (size_t)runs->row, runs->in_plane) : 1;
    unsigned char *to = samples,
                  *scratch = mem_scratch(near ? together * (size_t)runs->row : 0, "rows", fault);
    bool done = scratch != NULL;

    *ended = false;
    for (size_t i = 0, count; done && !*ended && i < runs->count; i += count) {
        size_t got, bytes;
        count = size_least(together, runs->in_plane - i % runs->in_plane);
        bytes = (count - 1) * (size_t)runs->row + runs->bytes;
        done = file_in_read_at(file, begin + region_run_place(runs, i), count > 1 ? scratch : to, bytes, &got,
                               fault);
        *ended = done && got < bytes;
        for (size_t k = 0; k < count; k++, to += runs->bytes) {
            if (count > 1)
                memcpy(to, scratch + k * (size_t)runs->row, runs->bytes);
        }
    }
    mem_free(scratch);
    return done;
}

bool box_read(struct source *source, void *samples, const struct region *box, size_t planes,
              struct fault *fault)
{
    size_t bytes = plane_bytes(source, box);
    unsigned char *plane = mem_alloc(1, header_plane_bytes(&source->header), "a plane", fault);
    bool done = plane != NULL;

    for (size_t i = 0; done && i < planes; i++) {
        done = source_read(source, plane, 1, fault);
        if (done && samples != NULL)
            region_cut(box, &source->header.grid, sample_size(source->header.type), plane, 1,
                       (unsigned char *)samples + i * bytes);
    }
    mem_free(plane);
    return done;
}

size_t box_beside_bytes(const struct source *source, const struct region *box, size_t threads)
{
    size_t own = source->beside_bytes;

    if (!source->random)
        return own + header_plane_bytes(&source->header);
    if (source->format->box_bytes != NULL)
        own = source->format->box_bytes(source, box);
    own += threads * together_bytes(source, box);
    return goes_around(source, box) ? own + threads * plane_bytes(source, box) : own;
}
