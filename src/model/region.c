/* Regions: the part of the result that is written.

   Options ask for it before the grid is known; region_settle then fits the request to a grid, or refuses it.
   All stages are computed as if the whole grid were written, so that a region has the same bytes as the same
   part of the whole result. */
#include "region.h"

#include "base/number.h"
#include "base/size.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static const char axis_names[] = "xyz";

const char *region_option(enum region_kind kind)
{
    static const char *const options[] = {NULL, "--crop", "--planes", "--slice", "--part", "--piece"};

    return options[kind];
}

bool region_is_part(enum region_kind kind)
{
    return kind == REGION_PART || kind == REGION_PIECE;
}

/* ---- parsing ---- */

/* Read "A:B", in which either may be left out, and move *text behind it. */
static bool read_span(const char **text, struct region_span *span)
{
    *span = (struct region_span){.first = 0};
    if ((**text != ':' && !number_read_count(text, &span->first)) || **text != ':')
        return false;
    ++*text;
    span->bounded = isdigit((unsigned char)**text);
    return !span->bounded || number_read_count(text, &span->end);
}

/* Ranges that have an end, and none there, are empty whatever the grid is. */
static bool check_spans(const char *text, const struct region_request *request, struct fault *fault)
{
    for (size_t i = 0; i < request->span_count; i++) {
        const struct region_span *span = &request->spans[i];
        if (span->bounded && span->first >= span->end)
            return fault_set_for(fault, STATUS_USAGE, text,
                                 "a range is empty: its end is the first index beyond it");
    }
    return true;
}

/* Ranges with commas between them, at most so many. */
static bool parse_spans(const char *text, size_t most, const char *expected, struct region_request *request,
                        struct fault *fault)
{
    for (const char *rest = text; request->span_count < most; rest++) {
        if (!read_span(&rest, &request->spans[request->span_count++]))
            break;
        if (*rest == '\0')
            return check_spans(text, request, fault);
        if (*rest != ',')
            break;
    }
    return fault_set_for(fault, STATUS_USAGE, text, "expected %s, where an end may be left out", expected);
}

static bool parse_slice(const char *text, struct region_request *request, struct fault *fault)
{
    const char *axis = *text == '\0' ? NULL : strchr(axis_names, *text);

    if (axis == NULL || text[1] != '=' || !number_parse_count(text + 2, &request->index))
        return fault_set_for(fault, STATUS_USAGE, text, "expected x=K, y=K or z=K");
    request->axis = (unsigned)(axis - axis_names);
    return true;
}

static bool parse_part(const char *text, struct region_request *request, struct fault *fault)
{
    const char *rest = text;

    if (!number_read_count(&rest, &request->part) || *rest != '/' ||
        !number_parse_count(rest + 1, &request->parts) || request->part < 1 ||
        request->part > request->parts || request->parts > UINT32_MAX)
        return fault_set_for(fault, STATUS_USAGE, text, "expected K/N, with K from 1 to N");
    return true;
}

bool region_parse(enum region_kind kind, const char *text, struct region_request *request,
                  struct fault *fault)
{
    *request = (struct region_request){.kind = kind};
    switch (kind) {
    case REGION_CROP:
        return parse_spans(text, 3, "X0:X1[,Y0:Y1[,Z0:Z1]]", request, fault);
    case REGION_PLANES:
        return parse_spans(text, 1, "A:B", request, fault);
    case REGION_SLICE:
        return parse_slice(text, request, fault);
    case REGION_PART:
    case REGION_PIECE:
        return parse_part(text, request, fault);
    case REGION_WHOLE:
        break;
    }
    return true;
}

/* ---- settling ---- */

static unsigned plane_axis(const struct grid *grid)
{
    return grid->axes == 3 ? 2 : 1;
}

/* Narrow the region, which is whole along this axis. */
static bool set_span(const struct region_request *request, const struct region_span *span, unsigned axis,
                     struct region *region, struct fault *fault)
{
    uint64_t most = region->count[axis], end = span->bounded ? span->end : most;
    char text[32] = "";

    if (span->bounded)
        snprintf(text, sizeof text, "%llu", (unsigned long long)end);
    if (end > most || span->first >= end)
        return fault_set_for(fault, STATUS_USAGE, region_option(request->kind),
                             "%c=%llu:%s is not within 0:%llu", axis_names[axis],
                             (unsigned long long)span->first, text, (unsigned long long)most);
    region->first[axis] = (size_t)span->first;
    region->count[axis] = (size_t)(end - span->first);
    return true;
}

/* Narrow each axis that has a range. */
static bool set_box(const struct region_request *request, const struct grid *grid, struct region *region,
                    struct fault *fault)
{
    if (request->span_count > grid->axes)
        return fault_raise(fault, STATUS_USAGE, "--crop: %zu ranges for %u ax%ss", request->span_count,
                           grid->axes, grid->axes == 1 ? "i" : "e");
    for (unsigned axis = 0; axis < request->span_count; axis++) {
        if (!set_span(request, &request->spans[axis], axis, region, fault))
            return false;
    }
    return true;
}

static bool set_slice(const struct region_request *request, const struct grid *grid, struct region *region,
                      struct fault *fault)
{
    const struct region_span span = {request->index, request->index + 1, true};

    if (grid->axes != 3)
        return fault_raise(fault, STATUS_USAGE, "--slice: this grid has %s, so it is a slice already",
                           grid->axes == 2 ? "two axes" : "one axis");
    if (request->index >= region->count[request->axis])
        return fault_raise(fault, STATUS_USAGE, "--slice: %c=%llu: the last one is %c=%zu",
                           axis_names[request->axis], (unsigned long long)request->index,
                           axis_names[request->axis], region->count[request->axis] - 1);
    return set_span(request, &span, request->axis, region, fault);
}

/* ⌊part·planes/parts⌋, with products that stay small. */
static size_t part_begin(size_t planes, uint64_t part, uint64_t parts)
{
    return (size_t)(planes / parts * part + planes % parts * part / parts);
}

/* Ranges of parts are as equal as they can be, and join without gaps. */
static bool set_part(const struct region_request *request, const struct grid *grid, struct region *region,
                     struct fault *fault)
{
    const char *option = region_option(request->kind);
    unsigned axis = plane_axis(grid);
    size_t planes = grid_planes(grid);

    if (request->parts > planes)
        return fault_raise(fault, STATUS_USAGE, "%s: %llu %ss of %zu %s%s", option,
                           (unsigned long long)request->parts, option + strlen("--"), planes,
                           grid->axes == 3 ? "plane" : "row", number_plural(planes));
    region->first[axis] = part_begin(planes, request->part - 1, request->parts);
    region->count[axis] = part_begin(planes, request->part, request->parts) - region->first[axis];
    return true;
}

bool region_settle(const struct region_request *request, const struct grid *grid, struct region *region,
                   struct fault *fault)
{
    /* The whole grid; the request then narrows one axis or several. */
    *region = (struct region){{0, 0, 0}, {grid->nx, grid->ny, grid->nz}};
    switch (request->kind) {
    case REGION_WHOLE:
        break;
    case REGION_CROP:
        return set_box(request, grid, region, fault);
    case REGION_PLANES:
        return set_span(request, &request->spans[0], plane_axis(grid), region, fault);
    case REGION_SLICE:
        return set_slice(request, grid, region, fault);
    case REGION_PART:
    case REGION_PIECE:
        return set_part(request, grid, region, fault);
    }
    return true;
}

/* ---- what it is of a grid ---- */

struct region region_of_planes(const struct grid *grid, size_t first, size_t planes)
{
    struct region region = {{0, 0, 0}, {grid->nx, grid->ny, grid->nz}};

    region.first[plane_axis(grid)] = first;
    region.count[plane_axis(grid)] = planes;
    return region;
}

struct grid region_grid(const struct region *region, const struct grid *grid)
{
    struct grid part = *grid;

    part.nx = region->count[0];
    part.ny = region->count[1];
    part.nz = region->count[2];
    return part;
}

size_t region_samples(const struct region *region, const struct grid *grid)
{
    return region->count[0] * region->count[1] * region->count[2] * grid->channels;
}

size_t region_first_plane(const struct region *region, const struct grid *grid)
{
    return region->first[plane_axis(grid)];
}

size_t region_planes(const struct region *region, const struct grid *grid)
{
    return region->count[plane_axis(grid)];
}

bool region_has_whole_planes(const struct region *region, const struct grid *grid)
{
    return region->count[0] == grid->nx && (grid->axes < 3 || region->count[1] == grid->ny);
}

struct region_runs region_runs_of(const struct region *region, const struct grid *grid, size_t sample_bytes)
{
    const size_t *first = region->first, *count = region->count;
    uint64_t pixel = (uint64_t)grid->channels * sample_bytes, row = pixel * grid->nx, plane = row * grid->ny;
    struct region_runs runs = {.count = count[1] * count[2],
                               .bytes = (size_t)(count[0] * pixel),
                               .in_plane = count[1],
                               .first = first[2] * plane + first[1] * row + first[0] * pixel,
                               .row = row,
                               .plane = plane};

    /* Rows that are whole follow each other, and so do planes that are. */
    if (count[0] == grid->nx) {
        runs.bytes *= count[1];
        runs.count = count[2];
        runs.in_plane = 1;
    }
    if (count[0] == grid->nx && count[1] == grid->ny) {
        runs.bytes *= count[2];
        runs.count = 1;
    }
    return runs;
}

uint64_t region_run_place(const struct region_runs *runs, size_t index)
{
    return runs->first + index / runs->in_plane * runs->plane + index % runs->in_plane * runs->row;
}

void region_cut(const struct region *region, const struct grid *grid, size_t sample_bytes,
                const void *samples, size_t planes, void *cut)
{
    const size_t pixel = grid->channels * sample_bytes, row = grid->nx * pixel, rows = grid_rows(grid);
    const size_t kept = region->count[0] * pixel, begin = region->first[0] * pixel;
    const size_t to_end = size_least(kept, row - begin);
    const size_t first = grid->axes == 3 ? region->first[1] : 0,
                 count = grid->axes == 3 ? region->count[1] : 1;
    unsigned char *to = cut;

    /* From the front: in place, what is kept never moves back over what is still to be read. */
    for (size_t plane = 0; plane < planes; plane++) {
        for (size_t y = 0; y < count; y++, to += kept) {
            const unsigned char *from =
                (const unsigned char *)samples + (plane * rows + (first + y) % rows) * row;
            memmove(to, from + begin, to_end);
            memcpy(to + to_end, from, kept - to_end);
        }
    }
}
