/* The lattice of samples: extents, channels, spacing, and which axis streams. Whatever the number of axes,
   work goes on plane by plane along the slowest axis; a grid is also where sizes are checked, so that later
   products of them do not overflow. */
#include "grid.h"

#include "base/mem.h"

struct grid grid_make(unsigned axes, size_t nx, size_t ny, size_t nz)
{
    return (struct grid){
        .axes = axes, .nx = nx, .ny = ny, .nz = nz, .channels = 1, .spacing = {1.0, 1.0, 1.0}};
}

static bool refuse(const struct grid *grid, enum status status, const char *what, struct fault *fault)
{
    const size_t factors[] = {grid->nx, grid->ny, grid->nz, grid->channels};

    return fault_raise(fault, status, "the grid is %s: %s channel%s", what,
                       number_format_product(factors, 4).text, number_plural(grid->channels));
}

bool grid_check(const struct grid *grid, struct fault *fault)
{
    size_t samples = grid->channels;

    if (grid->nx == 0 || grid->ny == 0 || grid->nz == 0 || grid->channels == 0)
        return refuse(grid, STATUS_INPUT, "empty", fault);
    /* Sixteen bytes a sample leave room for a work type and its fields in every later product. */
    if (!mem_product(&samples, samples, grid->nx) || !mem_product(&samples, samples, grid->ny) ||
        !mem_product(&samples, samples, grid->nz) || samples > PTRDIFF_MAX / 16)
        return refuse(grid, STATUS_LIMIT, "too large", fault);
    return true;
}

size_t grid_extent(const struct grid *grid, unsigned axis)
{
    const size_t extents[3] = {grid->nx, grid->ny, grid->nz};

    return extents[axis];
}

struct number_product grid_format_extents(const struct grid *grid)
{
    return number_format_product((const size_t[]){grid->nx, grid->ny, grid->nz}, grid->axes);
}

bool grid_same_extents(const struct grid *grid, const struct grid *other)
{
    return grid->nx == other->nx && grid->ny == other->ny && grid->nz == other->nz;
}

size_t grid_planes(const struct grid *grid)
{
    return grid->axes == 3 ? grid->nz : grid->ny;
}

size_t grid_rows(const struct grid *grid)
{
    return grid->axes == 3 ? grid->ny : 1;
}

size_t grid_plane_samples(const struct grid *grid)
{
    return grid->nx * grid_rows(grid) * grid->channels;
}

size_t grid_samples(const struct grid *grid)
{
    return grid_plane_samples(grid) * grid_planes(grid);
}

double grid_min_spacing(const struct grid *grid)
{
    double least = grid->spacing[0];

    for (unsigned axis = 1; axis < grid->axes; axis++) {
        if (grid->spacing[axis] < least)
            least = grid->spacing[axis];
    }
    return least;
}

double grid_curvatures(const struct grid *grid, double curvature[3])
{
    for (unsigned axis = 0; axis < 3; axis++) {
        double h = grid->spacing[axis];
        curvature[axis] = axis < grid->axes ? 1.0 / (h * h) : 0.0;
    }
    /* The order of the sum is part of the arithmetic: other orders round to other weights. */
    return (curvature[0] + curvature[1]) + curvature[2];
}
