/* Regions: the part of the result that is written. */
#ifndef REGION_H
#define REGION_H

#include "base/diag.h"
#include "grid.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum region_kind {
    REGION_WHOLE,
    REGION_CROP,   /* a box: --crop */
    REGION_PLANES, /* some planes: --planes */
    REGION_SLICE,  /* one index of an axis: --slice */
    REGION_PART,   /* one of several ranges of planes, a volume of its own: --part */
    REGION_PIECE   /* the same, in a file that goes on where that of the range before ends: --piece */
};

/* Indices from the first up to the one before the end, where there is an end. */
struct region_span {
    uint64_t first, end;
    bool bounded;
};

/* A region as options ask for it, before the grid is known. */
struct region_request {
    enum region_kind kind;
    struct region_span spans[3]; /* of a box, x first; the first one is that of planes */
    size_t span_count;
    unsigned axis; /* of a slice, and its index */
    uint64_t index;
    uint64_t part, parts; /* counted from 1 */
};

/* A box of a grid: its first sample along x, y and z, and its extents. */
struct region {
    size_t first[3], count[3];
};

/* Parse the value of an option: "X0:X1[,Y0:Y1[,Z0:Z1]]" for a crop, with ends that may be left out, "A:B" for
   planes, "z=K" for a slice, "K/N" for a part or a piece. */
bool region_parse(enum region_kind kind, const char *text, struct region_request *request,
                  struct fault *fault);

/* Whether it is one of several ranges of planes, each computed by a run of its own. */
bool region_is_part(enum region_kind kind);

/* The option that asks for such a region. */
const char *region_option(enum region_kind kind);

/* Settle what is asked for. What lies outside the grid is refused. */
bool region_settle(const struct region_request *request, const struct grid *grid, struct region *region,
                   struct fault *fault);

/* Whole planes of the grid. */
struct region region_of_planes(const struct grid *grid, size_t first, size_t planes);

/* The grid of a region's samples, and how many they are, all channels. */
struct grid region_grid(const struct region *region, const struct grid *grid);
size_t region_samples(const struct region *region, const struct grid *grid);

/* Whether the region spans whole planes of the grid. */
bool region_has_whole_planes(const struct region *region, const struct grid *grid);

/* The first plane of the grid that it has samples of, and how many. */
size_t region_first_plane(const struct region *region, const struct grid *grid);
size_t region_planes(const struct region *region, const struct grid *grid);

/* The bytes of a region among those of the packed samples of a grid: runs of equal length, as long as they
   can be, and where each begins. */
struct region_runs {
    size_t count, bytes;
    size_t in_plane; /* of them, in each plane of x and y */
    uint64_t first, row,
        plane; /* bytes before the first run, from a row to the next, and from plane to plane */
};
struct region_runs region_runs_of(const struct region *region, const struct grid *grid, size_t sample_bytes);
uint64_t region_run_place(const struct region_runs *runs, size_t index);

/* Copy the region's samples of packed planes of the grid, packed. A region that goes past the end of an axis
   goes on at its beginning. `cut` may be `samples`, unless it does so. */
void region_cut(const struct region *region, const struct grid *grid, size_t sample_bytes,
                const void *samples, size_t planes, void *cut);

#endif
