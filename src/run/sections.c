/* Sections: the observer that keeps the middle plane across each axis, of both ends of a run.

   A section is kept at the size at which it is drawn. Its values are means of as many samples along either
   axis as it takes to fit; lines of samples are added up as they come, and divided at the end. With several
   processes a value may be the mean of lines of two of them. Since doubles are added up in order, the later
   one keeps its lines of that row apart, and rank 0 adds first the row of the one before and then these
   lines. */
#include "sections.h"

#include "base/mem.h"
#include "base/size.h"

#include <math.h>
#include <string.h>

/* Sections share a scale, unless the longer side of one would be shorter than this. */
#define LEAST_LONG_SIDE 64

/* Pixels a sample, at most. */
#define MOST_ENLARGEMENT 32.0

static double length(const struct grid *grid, unsigned axis)
{
    return (double)grid_extent(grid, axis) * grid->spacing[axis];
}

/* Pixels a unit at which the longest of some axes has its place. The samples that are closest together take
   whole pixels, or several of them take one. */
static double scale_of(const struct grid *grid, const unsigned *axes, size_t count)
{
    double longest = 0.0, finest = INFINITY, pixels;

    for (size_t i = 0; i < count; i++) {
        longest = fmax(longest, length(grid, axes[i]));
        finest = fmin(finest, grid->spacing[axes[i]]);
    }
    pixels = SECTION_MOST / (longest / finest);
    return pixels < 1.0 ? 1.0 / (ceil(1.0 / pixels) * finest)
                        : fmin(floor(pixels), MOST_ENLARGEMENT) / finest;
}

/* Pixels of an axis, and by how much more they are than the scale says. */
static size_t pixels_of(double length, double scale, double *stretch)
{
    double exact = length * scale;

    *stretch = exact < SECTION_LEAST ? SECTION_LEAST / exact : 1.0;
    return (size_t)fmax(1.0, round(exact * *stretch));
}

/* The middle plane across an axis, its scale, and how many samples a value is the mean of. */
static struct section place(const struct grid *grid, unsigned axis, double common)
{
    const unsigned shown[2] = {axis == 0 ? 1 : 0, axis == 2 ? 1 : 2};
    double longer = fmax(length(grid, shown[0]), length(grid, shown[1]));
    struct section section = {.axis = axis, .across = shown[0], .down = shown[1]};

    section.at = grid_extent(grid, axis) / 2;
    section.scale = longer * common < LEAST_LONG_SIDE ? scale_of(grid, shown, 2) : common;
    section.width = pixels_of(length(grid, shown[0]), section.scale, &section.stretch[0]);
    section.height = pixels_of(length(grid, shown[1]), section.scale, &section.stretch[1]);
    /* As many samples for every value but the last: means of fewer stand out as stripes where there is
       noise. */
    section.each[0] = size_divided_up(grid_extent(grid, shown[0]), section.width);
    section.each[1] = size_divided_up(grid_extent(grid, shown[1]), section.height);
    section.columns = size_divided_up(grid_extent(grid, shown[0]), section.each[0]);
    section.rows = size_divided_up(grid_extent(grid, shown[1]), section.each[1]);
    return section;
}

/* Where the sections of a grid are, and how large; values are left out. */
static void place_all(struct sections *sections, const struct grid *grid)
{
    static const unsigned all[3] = {0, 1, 2};
    double common = scale_of(grid, all, grid->axes);

    sections->count = grid->axes == 3 ? 3 : 1;
    for (size_t i = 0; i < sections->count; i++)
        sections->list[i] = place(grid, 2 - (unsigned)i, common);
}

void sections_free(struct sections *sections)
{
    for (size_t i = 0; i < sections->count; i++) {
        for (size_t end = 0; end < 2; end++) {
            mem_free(sections->list[i].values[end]);
            mem_free(sections->list[i].lines[end]);
        }
    }
    *sections = (struct sections){0};
}

static size_t row_of(const struct section *section, size_t line)
{
    return line / section->each[1];
}

/* The lines of a section that are in the planes of a process. */
static struct range lines_of(const struct grid *grid, const struct section *section, struct range planes)
{
    bool in_a_plane = grid->axes == 3 && section->axis == 2;

    if (!in_a_plane)
        return planes;
    return (struct range){
        0, section->at >= planes.first && section->at < planes.first + planes.count ? grid->ny : 0};
}

/* How many lines of its first row of values a process keeps apart: none if the row begins with them. */
static size_t count_apart(const struct section *section)
{
    size_t first = section->seen.first, count = 0;

    if (first == 0 || row_of(section, first - 1) != row_of(section, first))
        return 0;
    while (count < section->seen.count && row_of(section, first + count) == row_of(section, first))
        count++;
    return count;
}

static void settle(struct sections *sections, const struct job *job)
{
    const struct grid *grid = &job->in.grid;

    place_all(sections, grid);
    for (size_t i = 0; i < sections->count; i++) {
        struct section *section = &sections->list[i];
        section->seen = lines_of(grid, section, job->window);
        section->apart = count_apart(section);
    }
}

static size_t bytes(const struct job *job)
{
    struct sections sections;
    size_t values = 0;

    settle(&sections, job);
    for (size_t i = 0; i < sections.count; i++)
        values += 2 * sections.list[i].columns * (sections.list[i].rows + sections.list[i].apart);
    return values * sizeof(double);
}

static bool create_values(double **values, const struct section *section, size_t rows, struct fault *fault)
{
    *values = mem_zeroed(section->columns * rows, sizeof **values, "the preview", fault);
    return *values != NULL;
}

static bool begin(void *state, const struct plan *plan, struct fault *fault)
{
    struct sections *sections = state;

    sections_free(sections);
    settle(sections, plan->job);
    sections->plan = plan;
    for (size_t i = 0; i < 2 * sections->count; i++) {
        struct section *section = &sections->list[i / 2];
        if (!create_values(&section->values[i % 2], section, section->rows, fault) ||
            !create_values(&section->lines[i % 2], section, section->apart, fault))
            return false;
    }
    return true;
}

/* One end of a run, and the samples of one of its planes. */
struct view {
    const struct encoding *encoding;
    const struct grid *grid;
    const unsigned char *samples;
    enum observer_end end;
};

/* Missing samples are NaN, whatever marks them. */
static double value_at(const struct view *view, size_t index)
{
    const struct encoding *encoding = view->encoding;
    double value = sample_number(encoding->type, encoding->swapped,
                                 view->samples + index * encoding->channels * sample_size(encoding->type));

    return encoding->marked && value == encoding->mark ? (double)NAN : value;
}

static void add_row(double *sums, const double *row, size_t columns)
{
    for (size_t i = 0; i < columns; i++)
        sums[i] += row[i];
}

static double *place_of_line(const struct view *view, struct section *section, size_t line)
{
    size_t own = line - section->seen.first;

    return own < section->apart ? section->lines[view->end] + own * section->columns
                                : section->values[view->end] + row_of(section, line) * section->columns;
}

/* Add a line of the section, whose samples lie so far apart in the plane. */
static void add_line(const struct view *view, struct section *section, size_t line, size_t first,
                     size_t stride)
{
    size_t count = grid_extent(view->grid, section->across);
    double row[SECTION_MOST] = {0.0};

    for (size_t i = 0; i < count; i++)
        row[i / section->each[0]] += value_at(view, first + i * stride);
    add_row(place_of_line(view, section, line), row, section->columns);
}

/* Add what a plane of the run has of a section: one line, or all if the section lies within the plane. */
static void add_plane(const struct view *view, struct section *section, size_t plane)
{
    size_t nx = view->grid->nx;

    if (view->grid->axes == 2)
        add_line(view, section, plane, 0, 1);
    else if (section->axis == 1)
        add_line(view, section, plane, section->at * nx, 1);
    else if (section->axis == 0)
        add_line(view, section, plane, section->at, nx);
    else if (section->at == plane) {
        for (size_t row = 0; row < view->grid->ny; row++)
            add_line(view, section, row, row * nx, 1);
    }
}

static bool see(void *state, enum observer_end end, const void *samples, struct range planes,
                struct fault *fault)
{
    struct sections *sections = state;
    const struct job *job = sections->plan->job;
    const struct header *header = end == OBSERVER_INPUT ? &job->in : &job->out;
    struct view view = {end == OBSERVER_INPUT ? &job->decode : &job->encode, &header->grid, samples, end};

    (void)fault;
    for (size_t i = 0; i < planes.count; i++, view.samples += header_plane_bytes(header)) {
        for (size_t k = 0; k < sections->count; k++)
            add_plane(&view, &sections->list[k], planes.first + i);
    }
    return true;
}

/* The last value may be of fewer. */
static size_t samples_on(size_t value, size_t each, size_t count)
{
    return size_least(each, count - value * each);
}

/* Make means of the sums. */
static void divide(const struct grid *grid, struct section *section)
{
    for (size_t row = 0; row < section->rows; row++) {
        size_t down = samples_on(row, section->each[1], grid_extent(grid, section->down));
        for (size_t column = 0; column < section->columns; column++) {
            size_t across = samples_on(column, section->each[0], grid_extent(grid, section->across));
            for (size_t end = 0; end < 2; end++)
                section->values[end][row * section->columns + column] /= (double)down * (double)across;
        }
    }
}

/* ---- of several processes ---- */

/* The lines that a process saw of a section: lines of a row that are kept apart, then whole rows. If there
   are such lines, the whole rows begin with the next row. */
struct excerpt {
    size_t row, lines, rows;
};

/* Which rows, and which lines of the first one, a process has to give. */
static struct excerpt excerpt_of(const struct section *section)
{
    const struct range *seen = &section->seen;
    struct excerpt excerpt = {.lines = section->apart};
    size_t first;

    if (seen->count == 0)
        return excerpt;
    excerpt.row = row_of(section, seen->first);
    first = excerpt.row + (excerpt.lines > 0);
    excerpt.rows = row_of(section, seen->first + seen->count - 1) + 1 - first;
    return excerpt;
}

/* The values of a section on their way to rank 0. */
struct bundle {
    struct section *section;
    size_t end; /* of the run */
    void *bytes;
    size_t size;
};

/* Sets the values to zero, since those of all processes are then added to them. */
static bool pack(struct bundle *bundle, struct fault *fault)
{
    struct section *section = bundle->section;
    const struct excerpt excerpt = excerpt_of(section);
    size_t row = section->columns * sizeof(double), lines = excerpt.lines * row, rows = excerpt.rows * row;
    size_t first = (excerpt.row + (excerpt.lines > 0)) * section->columns;
    unsigned char *next;

    bundle->size = sizeof excerpt + lines + rows;
    bundle->bytes = mem_alloc(bundle->size, 1, "the preview", fault);
    if (bundle->bytes == NULL)
        return false;
    next = bundle->bytes;
    memcpy(next, &excerpt, sizeof excerpt);
    memcpy(next + sizeof excerpt, section->lines[bundle->end], lines);
    memcpy(next + sizeof excerpt + lines, section->values[bundle->end] + first, rows);
    memset(section->values[bundle->end], 0, section->rows * row);
    return true;
}

/* Rank 0 adds what a process has packed. */
static bool unpack(void *data, const void *bytes, size_t size, struct fault *fault)
{
    const struct bundle *bundle = data;
    const struct section *section = bundle->section;
    const struct excerpt *excerpt = bytes;
    const double *next = (const double *)(excerpt + 1);
    double *sums = section->values[bundle->end] + excerpt->row * section->columns;

    (void)size, (void)fault;
    for (size_t i = 0; i < excerpt->lines; i++, next += section->columns)
        add_row(sums, next, section->columns);
    sums += excerpt->lines > 0 ? section->columns : 0;
    for (size_t i = 0; i < excerpt->rows; i++, next += section->columns, sums += section->columns)
        add_row(sums, next, section->columns);
    return true;
}

static bool gather(struct section *section, size_t end, struct peers *peers, struct fault *fault)
{
    struct bundle bundle = {.section = section, .end = end};
    bool done = peers_agree(peers, pack(&bundle, fault), fault) &&
                peers_gather(peers, bundle.bytes, bundle.size, unpack, &bundle, fault);

    mem_free(bundle.bytes);
    return done;
}

static bool finish(void *state, struct peers *peers, struct fault *fault)
{
    struct sections *sections = state;
    const struct grid *grid = &sections->plan->job->in.grid;
    bool done = true;

    for (size_t i = 0; done && peers_count(peers) > 1 && i < 2 * sections->count; i++)
        done = gather(&sections->list[i / 2], i % 2, peers, fault);
    for (size_t i = 0; done && i < sections->count; i++)
        divide(grid, &sections->list[i]);
    return done;
}

const struct observer_kind sections_kind = {.bytes = bytes, .begin = begin, .see = see, .finish = finish};
